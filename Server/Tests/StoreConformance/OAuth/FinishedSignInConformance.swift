public import Records
import _Primitives

/// The rules for the finished sign-ins of every store, whatever the method of a sign-in is.
public enum FinishedSignInConformance {
    /// The store protocols that the rules use. Sign-ins by a password and by another provider are finished here.
    public typealias Subject = any AccountStore & AuthorizationStore & ConsentStore & PasswordStore & SessionStore
        & UpstreamStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = [
        ConformanceCheck("of a request each method has one finished sign-in, and the last to finish comes first") {
            store in
            try await Self.prepare(store)
            try expect(try await store.finishedSignIns(request: "request-1").isEmpty, "none yet")
            let (password, provider) = (Self.byPassword(seconds: 2), Self.byProvider(seconds: 2))
            try await Self.finish(password, in: store)
            try await Self.finishByProvider(at: provider.finishedAt, in: store)
            try expect(
                try await store.finishedSignIns(request: "request-1") == [password, provider], "whole, by their methods"
            )
            try expect(try await store.finishedSignIns(request: "request-2").isEmpty, "of one request")
            let later = Self.byProvider(seconds: 3)
            try await Self.finishByProvider(at: later.finishedAt, in: store)
            try expect(
                try await store.finishedSignIns(request: "request-1") == [later, password], "the last to finish")
            var bare = Self.byPassword(seconds: 4)
            (bare.amr, bare.browser, bare.address) = ([], nil, nil)
            try await Self.finish(bare, in: store)
            try expect(try await store.finishedSignIns(request: "request-1") == [bare, later], "in its place")
        },
        ConformanceCheck("a request is completed by the method, the account and the request of a finished sign-in") {
            store in
            try await Self.prepare(store)
            try await Self.finish(Self.byPassword(), in: store)
            for (request, account, method) in [
                ("request-1", Self.alice, "provider:up"), ("request-1", Self.alice, "Password"),
                ("request-1", Self.alice, "another"), ("request-1", "account-bob", "password"),
                ("request-2", Self.alice, "password"),
            ] {
                try await Self.expectRefused(request, account, method, in: store)
            }
            // A phone's authentication ends with the phone, and needs no row.
            for (request, method) in [("request-1", "password"), ("request-2", "phone")] {
                try await store.complete(Self.completed(request, method: method), replacing: nil)
                let digest = Self.digest(request)
                try expect(try await store.session(cookieDigest: digest)?.authentication.method == method, "signed in")
            }
        },
        ConformanceCheck("a finished sign-in ends with what ends the account's authentications by its method") {
            store in
            try await Self.prepare(store)
            func left(_ end: () async throws -> Void) async throws -> [String] {
                try await Self.finish(Self.byPassword(), in: store)
                try await Self.finishByProvider(in: store)
                try await end()
                let left = try await store.finishedSignIns(request: "request-1").map(\.method).sorted()
                for method in ["password", "provider:up"] where !left.contains(method) {
                    try await Self.expectRefused("request-1", Self.alice, method, in: store)
                }
                return left
            }
            let isLocked = try await left {
                _ = try await store.setAccountLocked(true, id: Self.alice, audit: sampleAudit())
                _ = try await store.setAccountLocked(false, id: Self.alice, audit: sampleAudit())
            }
            try expect(isLocked.isEmpty, "a lock ends all")
            let other = try await left {
                _ = try await store.setAccountLocked(true, id: "account-bob", audit: sampleAudit())
                _ = try await store.setAccountLocked(false, id: "account-bob", audit: sampleAudit())
            }
            try expect(other == ["password", "provider:up"], "another person's lock ends nothing")
            let unlinked = try await left {
                let link = try await store.links(ofAccount: Self.alice)[0]
                _ = try await store.removeLink(link.id, ofAccount: Self.alice, audit: sampleAudit())
                // The next sign-in by the provider needs the link.
                try await Self.connect(store)
            }
            try expect(unlinked == ["password"], "a link ends with its own method")
            let removed = try await left { _ = try await store.removeProvider("up", audit: sampleAudit()) }
            try expect(removed == ["password"], "a provider, too")
        },
        ConformanceCheck("a finished sign-in goes with its request, and with its account") { store in
            try await Self.prepare(store)
            try await Self.finish(Self.byPassword(), in: store)
            try expect(try await store.removeRequest("request-1"), "removed")
            try expect(try await store.finishedSignIns(request: "request-1").isEmpty, "with the request")
            var second = Self.byPassword()
            second.request = "request-2"
            try await Self.finish(second, in: store)
            try expect(try await store.deleteAccount(id: Self.alice, audit: sampleAudit()), "deleted")
            try expect(try await store.finishedSignIns(request: "request-2").isEmpty, "with the account")
        },
    ]

    private static let alice = "account-alice"
    private static let identity = UpstreamIdentity(provider: "up", issuer: "https://up.example", subject: "subject")

    /// Adds two accounts, two requests, and the link of the first account to an identity at a provider.
    private static func prepare(_ store: Subject) async throws {
        for name in ["alice", "bob"] { try await store.createAccount(sampleAccount(name), audit: sampleAudit()) }
        for number: UInt8 in 1...2 {
            try await store.addRequest(SampleSignIn("\(number)", secret: [number], at: .start).request)
        }
        try await store.addProvider(
            UpstreamProvider(
                name: "up", title: "Up", kind: .openID, issuer: "https://up.example", clientID: "client",
                secret: SecretBytes(utf8: "secret"), usualLevel: "urn:x", createdAt: .start), limit: 9,
            audit: sampleAudit())
        try await Self.connect(store)
    }

    /// Links the first account, by the second request.
    private static func connect(_ store: Subject) async throws {
        _ = try await Self.arrive("request-2", at: .start, in: store)
        try expect(try await store.wantLink(request: "request-2", provider: "up"), "the identity waits")
        let notice = RandomSource.system.identifier()
        let refusal = try await store.connect(request: "request-2", provider: "up", account: Self.alice, limit: 9) {
            identity in
            (
                UpstreamLink(id: "link", identity: identity, accountID: Self.alice, createdAt: .start), sampleAudit(),
                NoticeRecord(id: notice, accountID: Self.alice, kind: .identityLinked, at: .start, subject: "Up")
            )
        }
        try expect(refusal == nil, "linked")
    }

    private static func arrive(_ request: String, at moment: Timestamp, in store: Subject) async throws -> String? {
        let notice = RandomSource.system.identifier()
        return try await store.arrive(
            UpstreamArrival(
                request: request, identity: Self.identity, at: .start - .seconds(9), acr: "urn:y", amr: ["otp", "mfa"],
                browser: "Another browser", address: "192.0.2.8"), at: moment, newcomer: nil
        ) { account in
            (
                sampleAudit("signed-in", account: account),
                NoticeRecord(id: notice, accountID: account, kind: .signedIn, at: moment, subject: "Bank")
            )
        }
    }

    private static func byPassword(seconds: Int = 1) -> FinishedSignInRecord {
        FinishedSignInRecord(
            request: "request-1", method: "password", account: Self.alice, at: .start + .seconds(seconds),
            acr: "urn:x", amr: ["pwd"], browser: "A browser", address: "192.0.2.7",
            finishedAt: .start + .seconds(seconds))
    }

    private static func byProvider(seconds: Int) -> FinishedSignInRecord {
        FinishedSignInRecord(
            request: "request-1", method: "provider:up", account: Self.alice, at: .start - .seconds(9), acr: "urn:y",
            amr: ["otp", "mfa"], browser: "Another browser", address: "192.0.2.8",
            finishedAt: .start + .seconds(seconds))
    }

    /// Finishes a sign-in by a password.
    private static func finish(_ signIn: FinishedSignInRecord, in store: Subject) async throws {
        let record = PasswordSignInRecord(
            request: signIn.request, accountID: signIn.account, needsSecondFactor: false, needsNewPassword: false)
        try expect(try await store.advance(PasswordSignInStep(to: record, finishing: signIn)), "finished")
    }

    /// Finishes a sign-in of the first request by the provider.
    private static func finishByProvider(
        at moment: Timestamp = .start + .seconds(1), in store: Subject
    ) async throws {
        try expect(try await Self.arrive("request-1", at: moment, in: store) == Self.alice, "finished")
    }

    private static func digest(_ request: String) -> [UInt8] { Array(request.utf8) }

    private static func completed(
        _ request: String, account: String = alice, method: String
    ) -> CompletedAuthorization {
        let sample = SampleSignIn(
            "\(request)-\(method)", secret: Self.digest(request), account: account, at: .start, method: method)
        return CompletedAuthorization(
            request: request, session: sample.session, grant: sample.grant, code: sample.code)
    }

    /// Checks that a request is neither completed nor taken to a person's decision.
    private static func expectRefused(
        _ request: String, _ account: String, _ method: String, in store: Subject
    ) async throws {
        let completed = Self.completed(request, account: account, method: method)
        let asked = AuthenticatedRequest(request: request, session: completed.session, isStepUp: false)
        try await expectError(StoreError(.notFound, "")) { try await store.complete(completed, replacing: nil) }
        try await expectError(StoreError(.notFound, "")) { try await store.authenticate(asked, replacing: nil) }
        try expect(try await store.session(cookieDigest: Self.digest(request)) == nil, "nobody is signed in")
    }
}
