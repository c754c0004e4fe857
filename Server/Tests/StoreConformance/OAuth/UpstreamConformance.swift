public import Records
import _Primitives

/// The rules for every ``UpstreamStore``, about other providers and the people who sign in through them.
public enum UpstreamConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any AccountStore & AuditStore & AuthorizationStore & ConsentStore & NoticeStore
        & SessionStore
        & UpstreamStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = Self.providers + Self.trips + Self.arrivals + Self.links

    private static let start = Timestamp.start
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start)
    private static let browser = [UInt8](repeating: 7, count: 32)

    private static func bytes(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private static func provider(_ name: String = "up", seconds: Int = 0) -> UpstreamProvider {
        UpstreamProvider(
            name: name, title: "Title of \(name)", kind: .oauth2, issuer: "https://\(name).example",
            endpoints: .init(authorization: "https://a/", token: "https://b/", userinfo: "https://c/"),
            clientID: "client",
            authentication: .secretPost, secret: SecretBytes(utf8: "secret of \(name)"), scopes: ["a", "b"],
            levels: [.init(theirs: "x=y", ours: "urn:z"), .init(theirs: "v", ours: "urn:w")], usualLevel: "urn:w",
            newcomers: .created, emailDomains: ["a.example"], subjectClaim: "id",
            createdAt: Self.start + .seconds(seconds))
    }

    private static func request(_ id: String, in store: Subject) async throws {
        try await store.addRequest(
            AuthorizationRequestRecord(
                id: id, browserDigest: Self.browser, client: "client", redirectURI: "https://client.example/",
                scope: "openid", state: nil, nonce: nil, codeChallenge: nil, expiresAt: Self.start + .seconds(900)))
    }

    private static func trip(_ number: UInt8, request: String = "request-1", provider: String = "up") -> UpstreamTrip {
        UpstreamTrip(
            request: request, provider: provider, stateDigest: Self.bytes(number),
            verifier: SecretBytes(utf8: "verifier"), nonce: SecretBytes(utf8: "nonce"), isSecond: number > 1,
            begunAt: Self.start, expiresAt: Self.start + .seconds(60))
    }

    private static func identity(_ subject: String = "subject", provider: String = "up") -> UpstreamIdentity {
        UpstreamIdentity(provider: provider, issuer: "https://\(provider).example", subject: subject)
    }

    private static func arrival(
        _ subject: String = "subject", request: String = "request-1", provider: String = "up"
    ) -> UpstreamArrival {
        UpstreamArrival(
            request: request, identity: Self.identity(subject, provider: provider), at: Self.start - .seconds(9),
            acr: "urn:z", amr: ["pwd", "otp"], browser: "a browser", address: "192.0.2.1")
    }

    private static func account(_ id: String) -> AccountRecord {
        AccountRecord(id: id, username: nil, displayName: nil, createdAt: Self.start)
    }

    private static func newcomer(_ id: String, _ subject: String = "subject") -> UpstreamNewcomer {
        UpstreamNewcomer(
            account: Self.account(id),
            link: UpstreamLink(
                id: "link-\(id)", identity: Self.identity(subject), accountID: id, createdAt: Self.start),
            audit: [Self.event])
    }

    private static func arrive(
        _ arrival: UpstreamArrival, _ store: Subject, newcomer: UpstreamNewcomer? = nil,
        at moment: Timestamp = Self.start
    ) async throws -> String? {
        try await store.arrive(arrival, at: moment, newcomer: newcomer) { account in
            (
                AuditEvent(AuditEvent.Kind(rawValue: "signed-in"), at: moment, accountID: account),
                NoticeRecord(
                    id: "notice-\(account)-\(arrival.request)", accountID: account, kind: .signedIn, at: moment,
                    subject: "service")
            )
        }
    }

    /// Adds a provider and a request.
    private static func prepare(_ store: Subject) async throws {
        try await store.addProvider(Self.provider(), limit: 9, audit: Self.event)
        try await Self.request("request-1", in: store)
    }

    private static let providers: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a provider comes back as it was kept, and is listed, the oldest first") { store in
            try await store.addProvider(Self.provider("later", seconds: 9), limit: 2, audit: Self.event)
            try await store.addProvider(Self.provider(), limit: 2, audit: Self.event)
            try expect(try await store.upstreamProvider("up") == Self.provider(), "whole")
            try expect(try await store.upstreamProvider("gone") == nil, "no other")
            try expect(try await store.upstreamProviders().map(\.name) == ["up", "later"], "both")
            for name in ["up", "third"] {
                try await expectError(StoreError(.conflict, "")) {
                    try await store.addProvider(Self.provider(name), limit: name == "up" ? 9 : 2, audit: Self.event)
                }
            }
            try expect(try await store.auditEntries(after: 0, limit: 9).count == 2, "an event each")
        },
        ConformanceCheck("a provider is changed in one step") { store in
            try await store.addProvider(Self.provider(), limit: 9, audit: Self.event)
            let changed = try await store.changeProvider("up") { provider in
                provider.title = "Another"
                provider.secret = nil
                provider.endpoints = nil
                provider.signsOut = true
                return [Self.event]
            }
            try expect(changed?.title == "Another" && changed?.signsOut == true, "given")
            let kept = try await store.upstreamProvider("up")
            try expect(kept == changed && kept?.secret == nil && kept?.issuer == "https://up.example", "kept")
            try expect(try await store.changeProvider("gone") { _ in [Self.event] } == nil, "none")
            try await expectError(StoreError(.forbidden, "")) {
                _ = try await store.changeProvider("up") { provider in
                    provider.title = "Half"
                    throw StoreError(.forbidden, "not so")
                }
            }
            try expect(try await store.upstreamProvider("up")?.title == "Another", "all or nothing")
            try expect(try await store.auditEntries(after: 0, limit: 9).count == 2, "an event each")
        },
        ConformanceCheck("a provider that is removed takes links and what was authenticated by it with it") { store in
            try await Self.prepare(store)
            try expect(try await Self.arrive(Self.arrival(), store, newcomer: Self.newcomer("a")) == "a", "there")
            let signIn = SampleSignIn(
                "own", secret: Self.bytes(3), account: "a", client: "client", at: Self.start, method: "provider:up")
            try await store.addRequest(signIn.request)
            _ = try await Self.arrive(Self.arrival(request: signIn.request.id), store)
            try await store.complete(signIn.completed, replacing: nil)
            let other = SampleSignIn("other", secret: Self.bytes(4), account: "a", client: "client", at: Self.start)
            try await other.keep(in: store)
            try expect(try await store.removeProvider("up", audit: Self.event), "removed")
            try expect(try await store.removeProvider("up", audit: Self.event) == false, "once")
            try expect(try await store.account(linkedTo: Self.identity()) == nil, "no link")
            try expect(try await store.finishedSignIns(request: "request-1").isEmpty, "nothing under way")
            try expect(try await store.session(cookieDigest: Self.bytes(3)) == nil, "its session")
            try expect(try await store.session(cookieDigest: Self.bytes(4)) != nil, "no other session")
            try expect(try await store.account(id: "a") != nil, "the account stays")
        },
    ]

    private static let trips: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a trip is taken once, by its browser, at its provider, before its end") { store in
            try await Self.prepare(store)
            try await store.addProvider(Self.provider("other"), limit: 9, audit: Self.event)
            try await store.begin(Self.trip(1))
            func take(
                _ state: UInt8 = 1, _ provider: String = "up", _ browser: [UInt8] = Self.browser, seconds: Int = 59
            ) async throws -> UpstreamTrip? {
                try await store.takeTrip(
                    stateDigest: Self.bytes(state), provider: provider, browserDigest: browser,
                    at: Self.start + .seconds(seconds))
            }
            func request(
                _ state: UInt8 = 1, _ provider: String = "up", _ browser: [UInt8] = Self.browser, seconds: Int = 59
            ) async throws -> String? {
                try await store.requestOfTrip(
                    stateDigest: Self.bytes(state), provider: provider, browserDigest: browser,
                    at: Self.start + .seconds(seconds))
            }
            try expect(try await request(2) == nil, "another state can be taken by nobody")
            try expect(try await request(1, "other") == nil, "nor from another provider")
            try expect(try await request(1, "up", Self.bytes(1)) == nil, "nor by another browser")
            try expect(try await request(seconds: 60) == nil, "nor later")
            for _ in 0..<2 { try expect(try await request() == "request-1", "its own can, as often as is asked") }
            try expect(try await take(2) == nil, "another state")
            try expect(try await take(1, "other") == nil, "another provider")
            try expect(try await take(1, "up", Self.bytes(1)) == nil, "another browser")
            try expect(try await take(seconds: 60) == nil, "too late")
            try expect(try await take() == Self.trip(1), "whole")
            try expect(try await take() == nil, "once")
            try expect(try await request() == nil, "and nobody is told that it was there")
            try await store.begin(Self.trip(2))
            try await store.begin(Self.trip(3))
            try await store.begin(Self.trip(4, provider: "other"))
            try expect(try await take(2) == nil, "another has taken its place")
            try expect(try await take(3)?.isSecond == true, "the last one")
            try expect(try await take(4, "other") == Self.trip(4, provider: "other"), "one for each provider")
            for trip in [Self.trip(5, request: "none"), Self.trip(5, provider: "none")] {
                try await expectError(StoreError(.notFound, "")) { try await store.begin(trip) }
            }
        },
        ConformanceCheck("of 50 that take a trip at once one has it") { store in
            try await Self.prepare(store)
            try await store.begin(Self.trip(1))
            let count = try await winners(50) { _ in
                try await store.takeTrip(
                    stateDigest: Self.bytes(1), provider: "up", browserDigest: Self.browser, at: Self.start) != nil
            }
            try expect(count == 1, "one, not \(count)")
        },
    ]

    private static let arrivals: [ConformanceCheck<Subject>] = [
        ConformanceCheck("who is linked is signed in, who is new is added, and everybody else waits") { store in
            try await Self.prepare(store)
            try expect(try await Self.arrive(Self.arrival(), store) == nil, "nobody")
            try expect(try await store.finishedSignIns(request: "request-1").isEmpty, "not signed in")
            try expect(try await Self.arrive(Self.arrival(), store, newcomer: Self.newcomer("a")) == "a", "added")
            try expect(try await store.account(linkedTo: Self.identity()) == "a", "linked")
            let signIn = FinishedSignInRecord(
                request: "request-1", method: "provider:up", account: "a", at: Self.start - .seconds(9), acr: "urn:z",
                amr: ["pwd", "otp"], browser: "a browser", address: "192.0.2.1", finishedAt: Self.start)
            try expect(try await store.finishedSignIns(request: "request-1") == [signIn], "whole")
            try expect(try await store.wantLink(request: "request-1", provider: "up") == false, "nothing waits")
            try expect(try await store.account(id: "a") == Self.account("a"), "without a name")
            try await Self.request("request-2", in: store)
            let again = Self.arrival(request: "request-2")
            try expect(try await Self.arrive(again, store, newcomer: Self.newcomer("b")) == "a", "known by now")
            try expect(try await store.account(id: "b") == nil, "nobody is added")
            try expect(try await store.notices(accountID: "a", limit: 9).count == 2, "a notice each")
            let kinds = try await store.auditEntries(after: 0, limit: 9).map(\.event.kind.rawValue)
            try expect(kinds == ["test", "test", "signed-in", "signed-in"], "\(kinds)")
            try await expectError(StoreError(.notFound, "")) {
                _ = try await Self.arrive(Self.arrival(request: "none"), store)
            }
            let gone = UpstreamNewcomer(
                account: Self.account("c"),
                link: UpstreamLink(
                    id: "link-c", identity: Self.identity(provider: "gone"), accountID: "c", createdAt: Self.start),
                audit: [Self.event])
            try await expectError(StoreError(.notFound, "")) {
                _ = try await Self.arrive(Self.arrival(provider: "gone"), store, newcomer: gone)
            }
            try expect(try await store.account(id: "c") == nil, "nobody comes from a provider that is gone")
        },
        ConformanceCheck("identities are told apart by issuer, subject and provider, letter by letter") { store in
            try await Self.prepare(store)
            _ = try await Self.arrive(Self.arrival(), store, newcomer: Self.newcomer("a"))
            for other in [
                Self.identity("Subject"), Self.identity("subject "), Self.identity(provider: "other"),
                UpstreamIdentity(provider: "up", issuer: "https://UP.example", subject: "subject"),
            ] {
                try expect(try await store.account(linkedTo: other) == nil, "\(other)")
            }
        },
        ConformanceCheck("of 50 that arrive as one new person one adds an account") { store in
            try await Self.prepare(store)
            for number in 0..<50 { try await Self.request("at-once-\(number)", in: store) }
            let accounts = try await withThrowingTaskGroup(of: String?.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        try await Self.arrive(
                            Self.arrival(request: "at-once-\(number)"), store, newcomer: Self.newcomer("a\(number)"))
                    }
                }
                return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            try expect(accounts.count == 1 && accounts.first != .some(nil), "one account for all")
            try expect(try await store.accounts(after: nil, limit: 99).count == 1, "one account")
        },
        ConformanceCheck("a locked account is not signed in, and nothing is left of it") { store in
            try await Self.prepare(store)
            _ = try await Self.arrive(Self.arrival(), store, newcomer: Self.newcomer("a"))
            _ = try await store.setAccountLocked(true, id: "a", audit: Self.event)
            try expect(try await store.finishedSignIns(request: "request-1").isEmpty, "what was under way has ended")
            try await expectError(StoreError(.forbidden, "")) { _ = try await Self.arrive(Self.arrival(), store) }
            try expect(try await store.finishedSignIns(request: "request-1").isEmpty, "nothing")
        },
        ConformanceCheck("who comes late by an older way ends no way that was begun since") { store in
            try await Self.prepare(store)
            try await store.begin(Self.trip(1))
            let taken = try await store.takeTrip(
                stateDigest: Self.bytes(1), provider: "up", browserDigest: Self.browser, at: Self.start)
            try expect(taken != nil, "the browser is back")
            try await store.begin(Self.trip(2))
            _ = try await Self.arrive(Self.arrival(), store, newcomer: Self.newcomer("a"))
            let newer = try await store.takeTrip(
                stateDigest: Self.bytes(2), provider: "up", browserDigest: Self.browser, at: Self.start)
            try expect(newer == Self.trip(2), "it goes on")
        },
        ConformanceCheck("a request takes what is under way for it with it") { store in
            try await Self.prepare(store)
            _ = try await Self.arrive(Self.arrival(), store, newcomer: Self.newcomer("a"))
            try await store.begin(Self.trip(1, provider: "up"))
            try expect(try await store.finishedSignIns(request: "request-1").isEmpty, "a new trip begins anew")
            try expect(try await store.removeRequest("request-1"), "removed")
            try expect(
                try await store.takeTrip(
                    stateDigest: Self.bytes(1), provider: "up", browserDigest: Self.browser, at: Self.start) == nil,
                "no trip")
        },
    ]

    private static func connect(
        _ request: String, to account: String, _ store: Subject, by provider: String = "up", limit: Int = 9
    ) async throws -> LinkRefusal? {
        try await store.connect(request: request, provider: provider, account: account, limit: limit) { identity in
            let id = "\(identity.subject)-\(account)"
            return (
                UpstreamLink(id: id, identity: identity, accountID: account, createdAt: Self.start), Self.event,
                NoticeRecord(id: id, accountID: account, kind: .identityLinked, at: Self.start, subject: "Up")
            )
        }
    }

    private static let links: [ConformanceCheck<Subject>] = [
        ConformanceCheck("what waits is connected where it is wanted, once, and within the limit") { store in
            try await Self.prepare(store)
            for id in ["a", "b"] { try await store.createAccount(Self.account(id), audit: Self.event) }
            _ = try await Self.arrive(Self.arrival("one"), store)
            try expect(try await Self.connect("request-1", to: "a", store) == .over, "nobody wants it")
            try expect(try await store.links(ofAccount: "a").isEmpty, "nobody wants it")
            try expect(try await store.wantLink(request: "request-1", provider: "other") == false, "another provider")
            try expect(try await store.wantedLink(request: "request-1") == nil, "nothing yet")
            try expect(try await store.wantLink(request: "request-1", provider: "up"), "wanted")
            try expect(try await store.wantedLink(request: "request-1")?.provider == "up", "by whom")
            try expect(try await Self.connect("request-1", to: "a", store, by: "other") == .over, "another provider")
            try expect(try await store.links(ofAccount: "a").isEmpty, "not by another provider's name")
            try await store.forgetWantedLink(request: "request-1", provider: "up")
            try expect(try await Self.connect("request-1", to: "a", store) == .over, "it is wanted no more")
            try expect(try await store.links(ofAccount: "a").isEmpty, "it is wanted no more")
            _ = try await store.wantLink(request: "request-1", provider: "up")
            _ = try await store.setAccountLocked(true, id: "a", audit: Self.event)
            try expect(try await Self.connect("request-1", to: "a", store) == .over, "the account is locked")
            try expect(try await store.links(ofAccount: "a").isEmpty, "the account is locked")
            _ = try await store.setAccountLocked(false, id: "a", audit: Self.event)
            _ = try await Self.arrive(Self.arrival("one"), store)
            _ = try await store.wantLink(request: "request-1", provider: "up")
            try expect(try await Self.connect("request-1", to: "a", store) == nil, "connected")
            try expect(try await Self.connect("request-1", to: "b", store) == .over, "once")
            try expect(
                try await store.notices(accountID: "a", limit: 9).map(\.kind) == [.identityLinked], "the person is told"
            )
            let link = UpstreamLink(id: "one-a", identity: Self.identity("one"), accountID: "a", createdAt: Self.start)
            try expect(try await store.links(ofAccount: "a") == [link], "whole")
            try expect(try await store.links(ofAccount: "b").isEmpty, "once")
            try await Self.request("request-2", in: store)
            _ = try await Self.arrive(Self.arrival("two", request: "request-2"), store)
            _ = try await store.wantLink(request: "request-2", provider: "up")
            try expect(try await Self.connect("request-2", to: "a", store, limit: 1) == .full, "no more than the limit")
            try expect(try await store.account(linkedTo: Self.identity("two")) == nil, "no more than the limit")
            // An identity that was linked meanwhile stays linked with its account.
            try await Self.request("request-3", in: store)
            _ = try await Self.arrive(Self.arrival("three", request: "request-3"), store)
            _ = try await store.wantLink(request: "request-3", provider: "up")
            try await Self.request("request-4", in: store)
            _ = try await Self.arrive(
                Self.arrival("three", request: "request-4"), store, newcomer: Self.newcomer("c", "three"))
            try expect(try await Self.connect("request-3", to: "b", store) == .taken, "another's")
            try expect(try await store.account(linkedTo: Self.identity("three")) == "c", "the first")
            try expect(try await store.wantLink(request: "request-4", provider: "up") == false, "nothing waits there")
            // Linking an identity again with its own account succeeds.
            try await Self.request("request-5", in: store)
            try await store.begin(Self.trip(5, request: "request-5"))
            _ = try await Self.arrive(Self.arrival("four", request: "request-5"), store)
            _ = try await store.wantLink(request: "request-5", provider: "up")
            try await Self.request("request-6", in: store)
            _ = try await Self.arrive(
                Self.arrival("four", request: "request-6"), store, newcomer: Self.newcomer("d", "four"))
            try expect(try await Self.connect("request-5", to: "d", store) == nil, "it is theirs")
            try expect(try await store.links(ofAccount: "d").count == 1, "as it was")
        },
        ConformanceCheck("a link that is removed lets nobody complete a sign-in that had come by it") { store in
            try await Self.prepare(store)
            _ = try await Self.arrive(Self.arrival(), store, newcomer: Self.newcomer("a"))
            let signIn = SampleSignIn(
                "s1", secret: Self.bytes(1), account: "a", client: "client", at: Self.start, method: "provider:up")
            let completed = CompletedAuthorization(
                request: "request-1", session: signIn.session, grant: signIn.grant, code: signIn.code)
            let asked = AuthenticatedRequest(request: "request-1", session: signIn.session, isStepUp: false)
            _ = try await store.removeLink("link-a", ofAccount: "a", audit: Self.event)
            try await expectError(StoreError(.notFound, "")) { try await store.complete(completed, replacing: nil) }
            try await expectError(StoreError(.notFound, "")) { try await store.authenticate(asked, replacing: nil) }
            try expect(try await store.session(cookieDigest: Self.bytes(1)) == nil, "nobody is signed in")
            // After the link was removed, the same identity is a newcomer, and the newcomer's sign-in succeeds.
            try expect(try await Self.arrive(Self.arrival(), store, newcomer: Self.newcomer("b")) == "b", "added")
            let again = SampleSignIn(
                "s2", secret: Self.bytes(2), account: "b", client: "client", at: Self.start, method: "provider:up")
            try await store.complete(
                CompletedAuthorization(
                    request: "request-1", session: again.session, grant: again.grant, code: again.code), replacing: nil)
            try expect(try await store.session(cookieDigest: Self.bytes(2)) != nil, "signed in")
        },
        ConformanceCheck("a link that is removed ends what its account has authenticated by its provider") { store in
            try await Self.prepare(store)
            _ = try await Self.arrive(Self.arrival(), store, newcomer: Self.newcomer("a"))
            for (number, account, method) in [(1, "a", "provider:up"), (2, "a", "phone"), (3, "b", "provider:up")] {
                let signIn = SampleSignIn(
                    "s\(number)", secret: Self.bytes(UInt8(number)), account: account, client: "client", at: Self.start,
                    method: method)
                try await store.addRequest(signIn.request)
                if method != "phone" {
                    let subject = account == "a" ? "subject" : "other"
                    let arrival = Self.arrival(subject, request: signIn.request.id)
                    _ = try await Self.arrive(arrival, store, newcomer: Self.newcomer("b", "other"))
                }
                try await store.complete(signIn.completed, replacing: nil)
            }
            try expect(try await store.removeLink("link-a", ofAccount: "b", audit: Self.event) == false, "another's")
            try expect(try await store.removeLink("link-a", ofAccount: "a", audit: Self.event), "removed")
            try expect(try await store.removeLink("link-a", ofAccount: "a", audit: Self.event) == false, "once")
            var left: [Bool] = []
            for number: UInt8 in 1...3 {
                left.append(try await store.session(cookieDigest: Self.bytes(number)) != nil)
            }
            try expect(left == [false, true, true], "one session")
            try expect(try await store.finishedSignIns(request: "request-1").isEmpty, "nothing under way")
        },
        ConformanceCheck("a link goes with its account") { store in
            try await Self.prepare(store)
            _ = try await Self.arrive(Self.arrival(), store, newcomer: Self.newcomer("a"))
            try expect(try await store.deleteAccount(id: "a", audit: Self.event), "deleted")
            try expect(try await store.account(linkedTo: Self.identity()) == nil, "no link")
        },
    ]
}
