import PersonalInformation
public import Records
import _Primitives

/// The rules for every ``AccountChangeStore``.
public enum AccountChangeConformance {
    /// The stores that the rules use.
    public typealias Subject = any AccountChangeStore & DeviceIdentityStore & IdentityStores & MailStore & PasswordStore
        & SessionStore & UpstreamStore

    private static let alice = "account-alice"
    private static let made = Timestamp.start + .seconds(10)
    private static let decided = Timestamp.start + .seconds(20)
    private static let identity = UpstreamIdentity(provider: "up", issuer: "https://up.example", subject: "s")

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] =
        [
            Self.records, Self.codes, Self.rest, Self.besideFactors, Self.twoPasswords, Self.threeFactors,
            Self.laterAdditions,
        ].flatMap(\.self)

    private static func bytes(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private static func change(
        _ addition: AccountAddition, _ id: String = "change", at moment: Timestamp = made
    ) -> AccountChangeRecord {
        AccountChangeRecord(
            id: id, accountID: Self.alice, addition: addition, words: "words of \(id) \u{20AC}", madeAt: moment)
    }

    /// Makes the step of a ceremony keep a change of alice's account.
    private static func keep(
        _ change: AccountChangeRecord, _ store: Subject, mail: (MailRecord, most: Int)? = nil
    ) async throws {
        if try await store.account(id: Self.alice) == nil {
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
        }
        try await store.createCeremony(
            sampleCeremony(change.id, reference: "of \(change.id)", account: Self.alice), tokens: [], audit: nil)
        let changed = try await store.change(.reference("of \(change.id)")) { _ in
            var step = CeremonyChange()
            step.accountChange = (change, mail)
            return step
        }
        try expect(changed != nil, "the ceremony is there")
    }

    private static func decide(
        _ state: AccountChangeRecord.State, _ store: Subject, _ id: String = "change", account: String = alice,
        after seconds: Int = 0
    ) async throws -> Bool {
        try await store.decide(
            AccountChangeDecision(
                change: id, accountID: account, state: state, unusableHash: "$unusable$",
                audit: event(.init(rawValue: "decided"), account, at: Self.decided + .seconds(seconds)), mail: nil))
    }

    private static func password(_ hash: String, at moment: Timestamp, _ store: Subject) async throws {
        let record = PasswordRecord(accountID: Self.alice, hash: hash, setAt: moment)
        _ = try await store.setPassword(PasswordChange(to: record, endsSessions: false, audit: sampleAudit()))
    }

    private static func hash(_ store: Subject) async throws -> String? {
        try await store.passwordAccount(id: Self.alice)?.password?.hash
    }

    private static let records: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a change comes back as it was kept, by identifier and in the account's list, latest first") {
            store in
            let additions: [AccountAddition] = [
                .device, .provider("a b"), .email("a@b.example"), .phone("+49 1"), .password, .secondFactor,
                .recoveryCodes, .nothing, .email(" \u{301}"), .approvedDevice("device-a"),
            ]
            for (number, addition) in additions.enumerated() {
                let change = Self.change(addition, "change-\(number)")
                try await Self.keep(change, store)
                try expect(try await store.accountChange(change.id) == change, "as it was kept")
            }
            let listed = try await store.accountChanges(accountID: Self.alice, after: .start, limit: 99)
            try expect(listed.count == additions.count, "all of them")
            try expect(
                try await store.accountChanges(accountID: Self.alice, after: Self.made, limit: 9).isEmpty, "late")
            try expect(
                try await store.accountChanges(accountID: Self.alice, after: .start, limit: 1).count == 1, "limit")
            try expect(try await store.accountChanges(accountID: "b", after: .start, limit: 9).isEmpty, "nobody's")
            try expect(try await store.accountChange("none") == nil, "none")
            try expect(try await Self.decide(.disowned, store, "change-3"), "decided")
            let first = try await store.accountChanges(accountID: Self.alice, after: .start, limit: 9).first
            try expect(first?.id == "change-3" && first?.decidedAt == Self.decided, "the latest decision is first")
            try expect(try await store.deleteAccountChanges(before: Self.decided, limit: 3) == 3, "so many")
            try expect(try await store.deleteAccountChanges(before: Self.decided, limit: 99) == 6, "the others")
            try expect(try await store.accountChange("change-3") != nil, "decided later")
        },
        ConformanceCheck("a device that another device approved rests with its change, and wakes with it alone") {
            store in
            try await enrol(store)
            let device = "device-phone-alice"
            try await Self.keep(Self.change(.approvedDevice(device)), store)
            let standing: () async throws -> DeviceStanding? = {
                let devices = try await store.devices(accountID: Self.alice)
                return devices.first { $0.id == device }?.standing
            }
            try expect(try await Self.decide(.disowned, store), "disowned")
            try expect(try await standing()?.restedAt == Self.decided, "it rests")
            try expect(try await Self.decide(.reclaimed, store, after: 1), "reclaimed")
            try expect(try await standing() == DeviceStanding(), "it is in use")
        },
        ConformanceCheck("a decision is made once in each direction, for its own account, with an event") { store in
            try await Self.keep(Self.change(.nothing), store)
            try expect(try await Self.decide(.reclaimed, store) == false, "nothing rests")
            try expect(try await Self.decide(.made, store) == false, "no decision")
            try expect(try await Self.decide(.disowned, store, account: "b") == false, "another account")
            try expect(try await Self.decide(.disowned, store, "none") == false, "no change")
            let winners = try await winners(9) { _ in try await Self.decide(.disowned, store) }
            try expect(winners == 1, "of many at once one")
            try expect(try await Self.decide(.reclaimed, store, after: 1), "the other direction")
            try expect(try await store.accountChange("change")?.state == .reclaimed, "final")
            for state in AccountChangeRecord.State.allCases {
                try expect(try await Self.decide(state, store, after: 2) == false, "an operator decides")
            }
            let kind = AuditEvent.Kind(rawValue: "decided")
            let events = try await store.auditEntries(after: 0, limit: 99).count { $0.event.kind == kind }
            try expect(events == 2, "two events")
        },
        ConformanceCheck("a decision of a locked account is none") { store in
            try await Self.keep(Self.change(.nothing), store)
            _ = try await store.setAccountLocked(true, id: Self.alice, audit: sampleAudit())
            try expect(try await Self.decide(.disowned, store) == false, "locked")
        },
        ConformanceCheck("a link opens its question once, outlives a new password, and goes with the decision") {
            store in
            func link(_ number: UInt8, about id: String) -> (name: String, record: MailedLinkRecord) {
                (
                    "link-\(number)",
                    MailedLinkRecord(
                        digest: Self.bytes(number), accountID: Self.alice, purpose: .changeQuestion, about: id,
                        expiresAt: Self.made + .seconds(900))
                )
            }
            func letter(_ number: UInt8, about id: String) -> (MailRecord, most: Int) {
                (
                    MailRecord(
                        accountID: Self.alice, subject: .accountChanged, link: link(number, about: id), about: id,
                        createdAt: Self.made, expiresAt: Self.made + .seconds(900)), 9
                )
            }
            try await Self.keep(Self.change(.nothing, "one"), store, mail: letter(1, about: "one"))
            try await Self.keep(Self.change(.nothing, "two"), store, mail: letter(2, about: "two"))
            try await Self.password("$1$", at: Self.made, store)
            try expect(try await store.takeChangeLink(digest: Self.bytes(9), at: Self.made) == nil, "no link")
            try expect(
                try await store.takeChangeLink(digest: Self.bytes(1), at: Self.made + .seconds(900)) == nil, "too late")
            try expect(try await store.takeChangeLink(digest: Self.bytes(1), at: Self.made) == "one", "its question")
            try expect(try await store.takeChangeLink(digest: Self.bytes(1), at: Self.made) == nil, "once")
            try expect(try await Self.decide(.disowned, store, "two"), "decided")
            try expect(try await store.takeChangeLink(digest: Self.bytes(2), at: Self.made) == nil, "gone with it")
        },
    ]

    private static let codes: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a code is spent once, by its own account, in its time, and wrong attempts are forgotten") {
            store in
            try await Self.keep(Self.change(.nothing), store)
            let link = MailedLinkRecord(
                digest: Self.bytes(3), accountID: Self.alice, purpose: .changeCode, about: "reference",
                expiresAt: Self.made + .seconds(900))
            let letter = MailRecord(
                accountID: Self.alice, subject: .changeCode, link: ("code", link), about: "reference",
                createdAt: Self.made, expiresAt: Self.made + .seconds(900))
            let holder = AttemptHolder.secondFactor(account: Self.alice)
            for number in 1...3 {
                _ = try await store.countAttempt(holder, leaving: number == 1 ? (letter, 9) : nil) { _ in
                    (AttemptCount(count: number, at: Self.made), nil)
                }
            }
            func take(_ digest: UInt8 = 3, account: String = alice, after seconds: Int = 0) async throws -> Bool {
                try await store.takeChangeCode(
                    digest: Self.bytes(digest), accountID: account, at: Self.made + .seconds(seconds))
            }
            try expect(try await take(4) == false, "another code")
            try expect(try await take(account: "account-bob") == false, "another account")
            try expect(try await take(after: 900) == false, "too late")
            try expect(try await store.takeChangeLink(digest: Self.bytes(3), at: Self.made) == nil, "no question")
            try expect(try await take(), "the code")
            try expect(try await take() == false, "once")
            let isForgotten = try await store.countAttempt(holder, leaving: nil) { present in
                present == nil ? (AttemptCount(count: 1, at: Self.made), nil) : nil
            }
            try expect(isForgotten, "no wrong attempt counts any more")
        }
    ]

    private static let rest: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a password rests by one that nobody knows, and comes back unless another was set") { store in
            try await Self.keep(Self.change(.password), store)
            try await Self.password("$older$", at: .start, store)
            try expect(try await Self.decide(.disowned, store), "disowned")
            try expect(try await Self.hash(store) == "$older$", "a password from before the change stays")

            try await Self.keep(Self.change(.password, "second"), store)
            try await Self.password("$newer$", at: Self.made, store)
            try expect(try await Self.decide(.disowned, store, "second"), "disowned")
            try expect(try await Self.hash(store) == "$unusable$", "nobody knows it")
            try expect(try await Self.decide(.reclaimed, store, "second", after: 1), "reclaimed")
            try expect(try await Self.hash(store) == "$newer$", "it counts again")

            try await Self.keep(Self.change(.password, "third"), store)
            try expect(try await Self.decide(.disowned, store, "third"), "disowned")
            try await Self.password("$reset$", at: Self.decided + .seconds(5), store)
            try expect(try await Self.decide(.reclaimed, store, "third", after: 9), "reclaimed")
            try expect(try await Self.hash(store) == "$reset$", "what was set since stays")
        },
        ConformanceCheck("a second factor rests with its codes and with the password, and all come back") { store in
            try await Self.keep(Self.change(.secondFactor), store)
            try await Self.password("$older$", at: .start, store)
            let totp = TOTPRecord(
                accountID: Self.alice, secret: SecretBytes(Self.bytes(7)), algorithm: "SHA1", digits: 6,
                periodSeconds: 30, setAt: Self.made)
            _ = try await store.setSecondFactor(
                totp, recoveryCodes: [Self.bytes(1), Self.bytes(2)], audit: sampleAudit())
            let before = try await store.passwordAccount(id: Self.alice)
            try expect(try await Self.decide(.disowned, store), "disowned")
            let resting = try await store.passwordAccount(id: Self.alice)
            try expect(resting?.totp == nil && resting?.recoveryCodes == 0, "neither code counts")
            try expect(resting?.password?.hash == "$unusable$", "and the password alone is not enough")
            try expect(try await Self.decide(.reclaimed, store, after: 1), "reclaimed")
            try expect(try await store.passwordAccount(id: Self.alice) == before, "as it was")
        },
        ConformanceCheck("a second factor from before the change stays") { store in
            try await Self.keep(Self.change(.secondFactor), store)
            try await Self.password("$older$", at: .start, store)
            let totp = TOTPRecord(
                accountID: Self.alice, secret: SecretBytes(Self.bytes(7)), algorithm: "SHA1", digits: 6,
                periodSeconds: 30, setAt: .start)
            _ = try await store.setSecondFactor(totp, recoveryCodes: [Self.bytes(1)], audit: sampleAudit())
            let before = try await store.passwordAccount(id: Self.alice)
            try expect(try await Self.decide(.disowned, store), "disowned")
            try expect(try await store.passwordAccount(id: Self.alice) == before, "nothing rests")
        },
        ConformanceCheck("recovery codes rest alone, and come back") { store in
            try await Self.keep(Self.change(.recoveryCodes), store)
            try await Self.password("$older$", at: .start, store)
            let totp = TOTPRecord(
                accountID: Self.alice, secret: SecretBytes(Self.bytes(7)), algorithm: "SHA1", digits: 6,
                periodSeconds: 30, setAt: .start)
            _ = try await store.setSecondFactor(
                totp, recoveryCodes: [Self.bytes(1), Self.bytes(2)], audit: sampleAudit())
            try expect(try await Self.decide(.disowned, store), "disowned")
            let resting = try await store.passwordAccount(id: Self.alice)
            try expect(resting?.recoveryCodes == 0 && resting?.totp == totp, "the app's codes still count")
            try expect(resting?.password?.hash == "$older$", "and the password")
            try expect(try await Self.decide(.reclaimed, store, after: 1), "reclaimed")
            try expect(try await store.passwordAccount(id: Self.alice)?.recoveryCodes == 2, "as before")
        },
        ConformanceCheck("reclaimed recovery codes do not come back beside newer codes") { store in
            try await Self.keep(Self.change(.recoveryCodes), store)
            try await Self.setFactor(at: .start, codes: [1, 2], store)
            try expect(try await Self.decide(.disowned, store), "disowned")
            _ = try await store.setRecoveryCodes([Self.bytes(3)], accountID: Self.alice, audit: sampleAudit())
            try expect(try await Self.decide(.reclaimed, store, after: 1), "reclaimed")
            try expect(try await Self.spendCodes(store) == [3], "the newer codes alone")
        },
        ConformanceCheck("reclaimed recovery codes do not come back without their second factor") { store in
            for id in ["removed", "replaced"] {
                try await Self.keep(Self.change(.recoveryCodes, id), store)
                try await Self.setFactor(at: .start, codes: [1, 2], store)
                try expect(try await Self.decide(.disowned, store, id), "disowned")
                if id == "removed" {
                    _ = try await store.removeSecondFactor(accountID: Self.alice, audit: sampleAudit())
                } else {
                    try await Self.setFactor(at: Self.decided + .seconds(1), codes: [3], store)
                }
                let before = try await store.passwordAccount(id: Self.alice)
                try expect(try await Self.decide(.reclaimed, store, id, after: 2), "reclaimed")
                try expect(try await store.accountChange(id)?.state == .reclaimed, "final")
                try expect(try await store.passwordAccount(id: Self.alice) == before, "no other factor has the codes")
            }
            try expect(try await Self.spendCodes(store) == [3], "the newer factor keeps its own")
        },
        ConformanceCheck("a second factor that something newer has replaced does not come back, nor do its codes") {
            store in
            try await Self.keep(Self.change(.secondFactor), store)
            try await Self.setFactor(at: Self.made, codes: [1, 2], store)
            try expect(try await Self.decide(.disowned, store), "disowned")
            try await Self.setFactor(at: Self.decided + .seconds(1), codes: [3], store)
            let newer = try await store.passwordAccount(id: Self.alice)?.totp
            try expect(try await Self.decide(.reclaimed, store, after: 2), "reclaimed")
            try expect(try await store.passwordAccount(id: Self.alice)?.totp == newer, "the newer factor")
            try expect(try await Self.spendCodes(store) == [3], "with its own codes alone")
        },
        ConformanceCheck("of two second factors that rest the later alone comes back, with its own codes") { store in
            for (seconds, id) in ["earlier", "later"].enumerated() {
                try await Self.keep(Self.change(.secondFactor, id), store)
                let codes: [UInt8] = seconds == 0 ? [1, 2] : [3]
                try await Self.setFactor(at: Self.decided + .seconds(2 * seconds - 1), codes: codes, store)
                try expect(try await Self.decide(.disowned, store, id, after: 2 * seconds), "disowned")
            }
            try expect(try await Self.decide(.reclaimed, store, "earlier", after: 5), "reclaimed")
            let between = try await store.passwordAccount(id: Self.alice)
            try expect(between?.totp == nil && between?.recoveryCodes == 0, "the later factor has taken its place")
            try expect(between?.password?.hash == "$unusable$", "and the password alone is not enough")
            try expect(try await Self.decide(.reclaimed, store, "later", after: 6), "reclaimed")
            try expect(try await Self.spendCodes(store) == [3], "as they were")
        },
        ConformanceCheck("a provider's connection rests, and comes back unless somebody else has it") { store in
            try await Self.keep(Self.change(.provider("up")), store)
            try await Self.connect(store)
            try expect(try await store.account(linkedTo: Self.identity) == Self.alice, "connected")
            try expect(try await Self.decide(.disowned, store), "disowned")
            try expect(try await store.account(linkedTo: Self.identity) == nil, "it signs nobody in")
            try expect(try await store.links(ofAccount: Self.alice).isEmpty, "and is not listed")
            try expect(try await Self.decide(.reclaimed, store, after: 1), "reclaimed")
            try expect(try await store.account(linkedTo: Self.identity) == Self.alice, "it signs in again")

            try await Self.keep(Self.change(.provider("up"), "second"), store)
            try expect(try await Self.decide(.disowned, store, "second", after: 2), "disowned")
            try await store.createAccount(sampleAccount("bob"), audit: sampleAudit())
            try await Self.connect(store, "account-bob", request: "request-2")
            try expect(try await Self.decide(.reclaimed, store, "second", after: 3), "reclaimed")
            try expect(try await store.account(linkedTo: Self.identity) == "account-bob", "somebody else's stays")
        },
        ConformanceCheck("an address rests in all its places, and comes back") { store in
            let address = "New@post.example"
            try await Self.keep(Self.change(.email("new@post.example")), store)
            _ = try await store.addEmail(
                AdditionalEmail(id: "further", address: address, isVerified: true, createdAt: Self.made),
                accountID: Self.alice, limit: 9, audit: sampleAudit())
            for (id, value) in [("older", "old@post.example"), ("newer", address)] {
                let record = PersonalValueRecord(
                    id: id, attribute: .email, alias: id, value: value, isVerified: true, source: .person,
                    createdAt: id == "older" ? .start : Self.made)
                _ = try await store.addPersonalValue(record, accountID: Self.alice, limit: 9, audit: sampleAudit())
            }
            func values() async throws -> [String] {
                try await store.personalValues(accountID: Self.alice).map(\.value).sorted()
            }
            try expect(try await Self.decide(.disowned, store), "disowned")
            try expect(try await store.additionalEmails(accountID: Self.alice).isEmpty, "no letter")
            try expect(try await values() == ["old@post.example"], "no service")
            try expect(try await store.accounts(verifiedEmail: address, limit: 9).isEmpty, "nobody is found by it")
            try expect(try await Self.decide(.reclaimed, store, after: 1), "reclaimed")
            try expect(try await store.additionalEmails(accountID: Self.alice).map(\.id) == ["further"], "as before")
            try expect(try await values() == [address, "old@post.example"], "as before")
        },
        ConformanceCheck("addresses that were confirmed before the change stay, and rest as values alone") { store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            _ = try await store.addEmail(
                AdditionalEmail(id: "further", address: "further@post.example", isVerified: true, createdAt: .start),
                accountID: Self.alice, limit: 9, audit: sampleAudit())
            for address in ["alice@post.example", "further@post.example"] {
                try await Self.keep(Self.change(.email(address), address), store)
                let record = PersonalValueRecord(
                    id: address, attribute: .email, alias: address, value: address, isVerified: true, source: .person,
                    createdAt: Self.made)
                _ = try await store.addPersonalValue(record, accountID: Self.alice, limit: 9, audit: sampleAudit())
                try expect(try await Self.decide(.disowned, store, address), "disowned")
            }
            try expect(try await store.personalValues(accountID: Self.alice).isEmpty, "no service")
            try expect(try await store.account(id: Self.alice)?.email?.isVerified == true, "letters still go there")
            try expect(try await store.additionalEmails(accountID: Self.alice).map(\.isVerified) == [true], "and there")
        },
        ConformanceCheck("a resting password comes back by its own change, a factor disowned after it") { store in
            try await Self.disownBoth(["password", "factor"], store)
        },
        ConformanceCheck("a resting password comes back by its own change, a factor disowned before it") { store in
            try await Self.disownBoth(["factor", "password"], store)
        },
        ConformanceCheck("a resting password of a later change does not come back by an earlier change") { store in
            for first in ["earlier", "later"] {
                for (id, moment) in Self.twoChanges {
                    try await Self.keep(Self.change(.password, "\(first) \(id)", at: moment), store)
                    try await Self.password("$\(id)$", at: moment, store)
                }
                let order = first == "earlier" ? ["earlier", "later"] : ["later", "earlier"]
                for (seconds, id) in order.enumerated() {
                    try expect(
                        try await Self.decide(.disowned, store, "\(first) \(id)", after: seconds), "disowned")
                }
                try expect(try await Self.decide(.reclaimed, store, "\(first) earlier", after: 2), "reclaimed")
                try expect(try await Self.hash(store) == "$unusable$", "the later change is still disowned")
                try expect(try await Self.decide(.reclaimed, store, "\(first) later", after: 3), "reclaimed")
                try expect(try await Self.hash(store) == "$later$", "it counts again")
            }
        },
        ConformanceCheck("the account's first address is not confirmed while it rests; a number rests as a value") {
            store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            func setFirst(isVerified: Bool) async throws {
                _ = try await store.setAccountEmail(
                    AccountEmail(address: "alice@post.example", isVerified: isVerified), id: Self.alice,
                    audit: sampleAudit())
            }
            try await setFirst(isVerified: false)
            try await Self.keep(Self.change(.email("alice@post.example")), store)
            try await setFirst(isVerified: true)
            try expect(try await Self.decide(.disowned, store), "disowned")
            try expect(try await store.account(id: Self.alice)?.email?.isVerified == false, "not confirmed")
            try expect(try await Self.decide(.reclaimed, store, after: 1), "reclaimed")
            try expect(try await store.account(id: Self.alice)?.email?.isVerified == true, "confirmed")

            try await Self.keep(Self.change(.phone("+491"), "number"), store)
            let record = PersonalValueRecord(
                id: "number", attribute: .phoneNumber, alias: "a", value: "+491", source: .person, createdAt: Self.made)
            _ = try await store.addPersonalValue(record, accountID: Self.alice, limit: 9, audit: sampleAudit())
            try expect(try await Self.decide(.disowned, store, "number", after: 2), "disowned")
            try expect(try await store.personalValues(accountID: Self.alice).isEmpty, "no service")
            try expect(try await Self.decide(.reclaimed, store, "number", after: 3), "reclaimed")
            try expect(try await store.personalValues(accountID: Self.alice).map(\.isPrimary) == [true], "as before")
        },
        ConformanceCheck("a decision ends everything that the account has authenticated, and nobody else's") { store in
            try await Self.keep(Self.change(.nothing), store)
            try await store.createAccount(sampleAccount("bob"), audit: sampleAudit())
            for (number, account) in [(UInt8(1), Self.alice), (2, "account-bob")] {
                let sample = SampleSignIn("\(number)", secret: Self.bytes(number), account: account, at: Self.made)
                try await store.addRequest(sample.request)
                try await store.complete(sample.completed, replacing: nil)
            }
            try expect(try await Self.decide(.disowned, store), "disowned")
            try expect(try await store.session(cookieDigest: Self.bytes(1)) == nil, "ended")
            try expect(try await store.session(cookieDigest: Self.bytes(2)) != nil, "goes on")
        },
    ]

    /// Gives alice's account a password from the start, and a second factor with recovery codes.
    private static func setFactor(at moment: Timestamp, codes: [UInt8], _ store: Subject) async throws {
        if try await Self.hash(store) == nil { try await Self.password("$older$", at: .start, store) }
        let totp = TOTPRecord(
            accountID: Self.alice, secret: SecretBytes(Self.bytes(codes[0] + 10)), algorithm: "SHA1", digits: 6,
            periodSeconds: 30, setAt: moment)
        _ = try await store.setSecondFactor(totp, recoveryCodes: codes.map(Self.bytes), audit: sampleAudit())
    }

    /// Spends the recovery codes of alice's account, and returns the spent ones among the codes 1 to 9.
    private static func spendCodes(_ store: Subject) async throws -> [UInt8] {
        let account = try await store.passwordAccount(id: Self.alice)
        let shown = ShownPassword(
            accountID: Self.alice, hash: account?.password?.hash ?? "", secondFactorSetAt: account?.totp?.setAt)
        var spent: [UInt8] = []
        for code: UInt8 in 1...9 {
            let isSpent = try await store.confirm(
                shown, attempt: nil, spent: .recoveryCode(Self.bytes(code)), use: nil)
            if isSpent { spent.append(code) }
        }
        return spent
    }

    /// The pairs of changes, the earlier first, whose credentials replace each other or rest beside each other.
    private static let pairs: [(earlier: AccountAddition, later: AccountAddition)] = [
        (.password, .password), (.password, .secondFactor), (.password, .recoveryCodes), (.secondFactor, .password),
        (.secondFactor, .secondFactor), (.secondFactor, .recoveryCodes), (.recoveryCodes, .password),
        (.recoveryCodes, .secondFactor), (.recoveryCodes, .recoveryCodes),
    ]

    /// The rules for each of the pairs.
    private static let besideFactors: [ConformanceCheck<Subject>] =
        Self.pairs.map { earlier, later in
            ConformanceCheck("\(earlier.stored), then \(later.stored): nothing disowned counts, and nothing is lost") {
                store in try await Self.decideAboutPairs(earlier, later, store)
            }
        }

    /// The rule for a password that rests in the place of another.
    private static let twoPasswords: [ConformanceCheck<Subject>] = [
        ConformanceCheck("of two passwords that rest the later alone comes back, whichever is reclaimed first") {
            store in
            for (start, first) in [(0, "earlier"), (1000, "later")] {
                let (earlier, later) = ("\(first): earlier", "\(first): later")
                let (made, decided) = (Self.made + .seconds(start), Self.decided + .seconds(start))
                try await Self.keep(Self.change(.password, earlier, at: made), store)
                try await Self.password("$earlier$", at: made, store)
                try expect(try await Self.decide(.disowned, store, earlier, after: start), "disowned")
                try await Self.keep(Self.change(.password, later, at: decided + .seconds(1)), store)
                try await Self.password("$later$", at: decided + .seconds(1), store)
                try expect(try await Self.decide(.disowned, store, later, after: start + 2), "disowned")
                let order = first == "earlier" ? [earlier, later] : [later, earlier]
                for (seconds, id) in order.enumerated() {
                    try expect(
                        try await Self.decide(.reclaimed, store, id, after: start + 3 + seconds), "reclaimed")
                    let expected = id == "earlier: earlier" ? "$unusable$" : "$later$"
                    try expect(try await Self.hash(store) == expected, id)
                }
            }
        }
    ]

    /// The rule for a second factor that was set while another rests.
    private static let threeFactors: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a factor that was set while another rests comes back with its own codes and the old password")
        { store in
            try await Self.keep(Self.change(.nothing), store)
            try await Self.password("$older$", at: .start, store)
            try await Self.setFactor(at: .start, codes: [1], store)
            for (id, moment, code) in [("first", Self.made, UInt8(2)), ("second", Self.made + .seconds(5), 3)] {
                try await Self.keep(Self.change(.secondFactor, id, at: moment), store)
                try await Self.setFactor(at: moment, codes: [code], store)
            }
            try expect(try await Self.decide(.disowned, store, "first"), "the second factor rests")
            let moment = Self.decided + .seconds(1)
            try await Self.keep(Self.change(.secondFactor, "third", at: moment), store)
            try await Self.setFactor(at: moment, codes: [4], store)
            try expect(try await Self.decide(.disowned, store, "second", after: 2), "the third factor rests")
            try expect(try await Self.decide(.disowned, store, "third", after: 3), "disowned")
            try expect(try await Self.decide(.reclaimed, store, "third", after: 4), "reclaimed")
            let account = try await store.passwordAccount(id: Self.alice)
            try expect(account?.totp?.setAt == moment, "the third factor counts")
            try expect(account?.password?.hash == "$older$", "the password beside the factor is not lost")
            try expect(try await Self.spendCodes(store) == [4], "no code of the second factor counts")
        }
    ]

    /// For every order of the decisions, makes two changes and looks at the password, the factor and the codes after
    /// each decision. Nothing of a disowned change counts, no password counts without the factor that stood beside it,
    /// and everything counts again after both reclaims.
    private static func decideAboutPairs(
        _ earlier: AccountAddition, _ later: AccountAddition, _ store: Subject
    ) async throws {
        for (number, order) in Self.orders.enumerated() {
            // Each order has its hour, so that no order's changes are later changes of another.
            let start = number * 3600
            func moment(_ seconds: Int) -> Timestamp { Self.made + .seconds(start + seconds) }
            let name = "\(earlier.stored) \(later.stored) \(number)"
            try await Self.keep(Self.change(.nothing, name), store)
            try await Self.password("$older$", at: moment(-2), store)
            try await Self.setFactor(at: moment(-2), codes: [1], store)
            for (id, addition, seconds) in [("earlier", earlier, 0), ("later", later, 5)] {
                try await Self.keep(Self.change(addition, "\(id) \(name)", at: moment(seconds)), store)
                switch addition {
                case .password: try await Self.password("$\(id)$", at: moment(seconds), store)
                case .secondFactor:
                    try await Self.setFactor(at: moment(seconds), codes: id == "later" ? [4, 5, 6] : [2, 3], store)
                default:
                    let codes: [UInt8] = id == "later" ? [4, 5, 6] : [2, 3]
                    _ = try await store.setRecoveryCodes(
                        codes.map(Self.bytes), accountID: Self.alice, audit: sampleAudit())
                }
            }
            let before = try await store.passwordAccount(id: Self.alice)
            var states: [String: AccountChangeRecord.State] = [:]
            for (seconds, decision) in order.enumerated() {
                try expect(
                    try await Self.decide(
                        decision.state, store, "\(decision.id) \(name)", after: start + seconds), "decided")
                states[decision.id] = decision.state
                let now = try await store.passwordAccount(id: Self.alice)
                let place = "\(name): \(order.prefix(seconds + 1))"
                for (id, addition, setAt) in [("earlier", earlier, moment(0)), ("later", later, moment(5))]
                where states[id] == .disowned {
                    switch addition {
                    case .password: try expect(now?.password?.hash != "$\(id)$", place)
                    case .secondFactor: try expect(now?.totp?.setAt != setAt, place)
                    default: try expect(now?.recoveryCodes != (id == "later" ? 3 : 2), place)
                    }
                }
                try expect(now?.totp != nil || now?.password?.hash == "$unusable$", "\(place): a password alone")
                try expect(now?.totp != nil || now?.recoveryCodes == 0, "\(place): codes alone")
            }
            try expect(try await store.passwordAccount(id: Self.alice) == before, "\(name): as before")
        }
    }

    /// The rules for two changes of one kind, of which the earlier change is disowned first.
    private static let laterAdditions: [ConformanceCheck<Subject>] = [
        ConformanceCheck(
            "a disowned device does not come back by an attempt, or with a device that was added before it"
        ) { store in
            for (id, moment) in Self.twoChanges {
                try await Self.keep(Self.change(.device, id, at: moment), store)
                try await store.offer(sampleOffer("device-\(id)"), audit: sampleAudit())
                _ = try await store.step(offer: "device-\(id)", request: nil) { offer in
                    offer.state = .enrolled
                    var (change, enrolled) = (OfferChange(), sampleActivation(id))
                    enrolled.activation.device.createdAt = moment
                    change.enrolled = enrolled
                    return (change, ())
                }
            }
            func active() async throws -> [String] {
                try await store.activations(accountID: Self.alice).filter(\.isActive).map(\.device.id).sorted()
            }
            try expect(try await active() == ["device-earlier", "device-later"], "both")
            try await Self.disownTwo(store)
            try expect(try await active().isEmpty, "neither")
            let judged = try await store.activations(accountID: Self.alice).compactMap(\.lockout.reservation)
            try expect(judged.isEmpty, "no attempt can still be right")
            try expect(try await Self.decide(.reclaimed, store, "earlier", after: 2), "reclaimed")
            try expect(try await active() == ["device-earlier"], "the other device is still disowned")
            try expect(try await Self.decide(.reclaimed, store, "later", after: 3), "reclaimed")
            try expect(try await active() == ["device-earlier", "device-later"], "both again")
        },
        ConformanceCheck(
            "a disowned device confirms and proves nothing, and its token counts no more, until it is reclaimed"
        ) {
            store in
            try await Self.keep(Self.change(.device), store)
            try await store.offer(sampleOffer("device-phone"), audit: sampleAudit())
            _ = try await store.step(offer: "device-phone", request: nil) { offer in
                offer.state = .enrolled
                var (change, enrolled) = (OfferChange(), sampleActivation("phone"))
                enrolled.activation.device.createdAt = Self.made
                change.enrolled = enrolled
                return (change, ())
            }
            func sign(counter: UInt32) async throws {
                _ = try await store.change(.reference("of change")) { _ in
                    var step = CeremonyChange()
                    step.advances = [CounterAdvance(credentialID: "credential-phone", counter: counter)]
                    return step
                }
            }
            func isKnown() async throws -> Bool {
                try await store.account(id: Self.alice, ofDevice: "device-phone") != nil
            }
            func isGone() async throws -> Bool? {
                let device = try await store.device(ofKey: "signing")
                return device?.isGone
            }
            _ = try await store.change(.reference("of change")) { _ in
                var step = CeremonyChange()
                step.identityAddition = DeviceIdentityAddition(
                    deviceID: "device-phone", accountID: Self.alice,
                    identity: DeviceIdentityRecord(
                        signing: .init(name: "signing", point: [4, 1]),
                        encryption: .init(name: "encryption", point: [4, 2])), audit: sampleAudit())
                return step
            }
            try await sign(counter: 6)
            try expect(try await isKnown(), "its token counts")
            try expect(try await isGone() == false, "and its proofs")
            try expect(try await Self.decide(.disowned, store), "disowned")
            try await expectError(StoreError(.forbidden, "")) { try await sign(counter: 7) }
            try expect(try await isKnown() == false, "its token counts no more")
            try expect(try await isGone() == true, "and its proofs prove no more than a removed device's")
            let outcome = try await store.deregister(
                .all, accountID: Self.alice, asker: .person(onDevice: "device-phone"), audit: sampleAudit(), notice: nil
            )
            try expect(outcome == .unknown, "nor has it keys deleted")
            try expect(try await Self.decide(.reclaimed, store, after: 1), "reclaimed")
            try await sign(counter: 7)
            try expect(try await isKnown(), "its token counts again")
            try expect(try await isGone() == false, "and its proofs")
        },
        ConformanceCheck("the open sessions of a disowned device end in the same step, and no other device's") {
            store in
            try await Self.keep(Self.change(.device), store)
            for (name, moment) in [("phone", Self.made), ("older", Timestamp.start)] {
                try await store.offer(sampleOffer("device-\(name)"), audit: sampleAudit())
                _ = try await store.step(offer: "device-\(name)", request: nil) { offer in
                    offer.state = .enrolled
                    var (change, enrolled) = (OfferChange(), sampleActivation(name))
                    enrolled.activation.device.createdAt = moment
                    change.enrolled = enrolled
                    return (change, ())
                }
                try await store.createCeremony(
                    sampleSession(name, account: Self.alice, device: "device-\(name)"), tokens: [], audit: nil)
            }
            try expect(try await Self.decide(.disowned, store), "disowned")
            let ended = try await store.ceremony(.id("phone"))
            try expect(ended?.phase == .ended && ended?.outcome == .failed, "its session is over")
            try expect(ended?.changedAt == Self.decided && ended?.progress == nil, "in the step of the decision")
            try expect(try await store.ceremony(.id("older"))?.outcome == nil, "the other device's goes on")
        },
        ConformanceCheck("a disowned connection does not come back with a connection that was made before it") {
            store in
            for (id, moment) in Self.twoChanges {
                try await Self.keep(Self.change(.provider("up"), id, at: moment), store)
                try await Self.connect(
                    store, request: id,
                    identity: UpstreamIdentity(
                        provider: "up", issuer: "https://up.example", subject: id), at: moment)
            }
            func links() async throws -> [String] {
                try await store.links(ofAccount: Self.alice).map(\.identity.subject).sorted()
            }
            try expect(try await links() == ["earlier", "later"], "both")
            try await Self.disownTwo(store)
            try expect(try await links().isEmpty, "neither")
            try expect(try await Self.decide(.reclaimed, store, "earlier", after: 2), "reclaimed")
            try expect(try await links() == ["earlier"], "the other connection is still disowned")
            try expect(try await Self.decide(.reclaimed, store, "later", after: 3), "reclaimed")
            try expect(try await links() == ["earlier", "later"], "both again")
        },
        ConformanceCheck("an equal value comes back by the reclaim of its own change, in every order of the decisions")
        {
            store in
            for (number, order) in Self.orders.enumerated() {
                for attribute in [PersonalAttribute.email, .phoneNumber] {
                    try await Self.decideAboutEqualValues(attribute, order, "\(number) \(attribute.rawValue)", store)
                }
            }
        },
        ConformanceCheck("an address that rests comes back by the later of the two changes that may have added it") {
            store in
            try await Self.keep(Self.change(.nothing), store)
            for (id, moment) in Self.twoChanges {
                try await Self.keep(Self.change(.email("x@post.example"), id, at: moment), store)
            }
            _ = try await store.addEmail(
                AdditionalEmail(
                    id: "x", address: "x@post.example", isVerified: true, createdAt: Self.made + .seconds(6)),
                accountID: Self.alice, limit: 9, audit: sampleAudit())
            try await Self.disownTwo(store)
            try expect(try await Self.decide(.reclaimed, store, "earlier", after: 2), "reclaimed")
            try expect(try await store.additionalEmails(accountID: Self.alice).isEmpty, "still disowned")
            try expect(try await Self.decide(.reclaimed, store, "later", after: 3), "reclaimed")
            try expect(try await store.additionalEmails(accountID: Self.alice).map(\.id) == ["x"], "as before")
        },
        ConformanceCheck(
            "the first address is confirmed again by the later of the two changes that may have confirmed it"
        ) { store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            func setFirst(isVerified: Bool) async throws {
                _ = try await store.setAccountEmail(
                    AccountEmail(address: "x@post.example", isVerified: isVerified), id: Self.alice,
                    audit: sampleAudit())
            }
            for (id, moment) in Self.twoChanges {
                // Somebody has put the address in again, and so the address was not confirmed.
                try await setFirst(isVerified: false)
                try await Self.keep(Self.change(.email("x@post.example"), id, at: moment), store)
                try await setFirst(isVerified: true)
            }
            try await Self.disownTwo(store)
            try expect(try await Self.decide(.reclaimed, store, "earlier", after: 2), "reclaimed")
            try expect(try await store.account(id: Self.alice)?.email?.isVerified == false, "still disowned")
            try expect(try await Self.decide(.reclaimed, store, "later", after: 3), "reclaimed")
            try expect(try await store.account(id: Self.alice)?.email?.isVerified == true, "as before")
        },
        ConformanceCheck("a disowned second factor does not come back with the factor that it has replaced") { store in
            try await Self.keep(Self.change(.nothing), store)
            try await Self.password("$older$", at: .start, store)
            for (id, moment) in Self.twoChanges {
                try await Self.keep(Self.change(.secondFactor, id, at: moment), store)
                let totp = TOTPRecord(
                    accountID: Self.alice, secret: SecretBytes(Self.bytes(7)), algorithm: "SHA1", digits: 6,
                    periodSeconds: 30, setAt: moment)
                _ = try await store.setSecondFactor(totp, recoveryCodes: [Self.bytes(1)], audit: sampleAudit())
            }
            let before = try await store.passwordAccount(id: Self.alice)
            try await Self.disownTwo(store)
            try expect(try await Self.decide(.reclaimed, store, "earlier", after: 2), "reclaimed")
            let resting = try await store.passwordAccount(id: Self.alice)
            try expect(resting?.totp == nil && resting?.recoveryCodes == 0, "the factor is still disowned")
            try expect(resting?.password?.hash == "$unusable$", "and the password alone is not enough")
            try expect(try await Self.decide(.reclaimed, store, "later", after: 3), "reclaimed")
            try expect(try await store.passwordAccount(id: Self.alice) == before, "all come back")
        },
        ConformanceCheck("recovery codes stay if the codes are disowned that they have replaced") { store in
            try await Self.keep(Self.change(.nothing), store)
            try await Self.setFactor(at: .start, codes: [1], store)
            for (id, moment) in Self.twoChanges {
                try await Self.keep(Self.change(.recoveryCodes, id, at: moment), store)
                _ = try await store.setRecoveryCodes(
                    (id == "later" ? [2, 3] : [4]).map(Self.bytes), accountID: Self.alice, audit: sampleAudit())
            }
            try expect(try await Self.decide(.disowned, store, "earlier"), "disowned")
            try expect(try await store.passwordAccount(id: Self.alice)?.recoveryCodes == 2, "the later codes stay")
            try expect(try await Self.decide(.disowned, store, "later", after: 1), "disowned")
            try expect(try await store.passwordAccount(id: Self.alice)?.recoveryCodes == 0, "until they are disowned")
        },
        ConformanceCheck("disowned recovery codes do not come back with the codes that they have replaced") { store in
            try await Self.keep(Self.change(.nothing), store)
            let totp = TOTPRecord(
                accountID: Self.alice, secret: SecretBytes(Self.bytes(7)), algorithm: "SHA1", digits: 6,
                periodSeconds: 30, setAt: .start)
            _ = try await store.setSecondFactor(totp, recoveryCodes: [], audit: sampleAudit())
            for (id, moment) in Self.twoChanges {
                try await Self.keep(Self.change(.recoveryCodes, id, at: moment), store)
                _ = try await store.setRecoveryCodes(
                    (id == "later" ? [1, 2] : [3]).map(Self.bytes), accountID: Self.alice, audit: sampleAudit())
            }
            try await Self.disownTwo(store)
            try expect(try await Self.decide(.reclaimed, store, "earlier", after: 2), "reclaimed")
            try expect(
                try await store.passwordAccount(id: Self.alice)?.recoveryCodes == 0, "the codes are still disowned")
            try expect(try await Self.decide(.reclaimed, store, "later", after: 3), "reclaimed")
            try expect(
                try await store.passwordAccount(id: Self.alice)?.recoveryCodes == 2, "they count again")
        },
    ]

    /// The orders of decisions about the changes `earlier` and `later`: each change is disowned, and then reclaimed.
    private static let orders: [[(id: String, state: AccountChangeRecord.State)]] = [
        [("earlier", .disowned), ("later", .disowned), ("earlier", .reclaimed), ("later", .reclaimed)],
        [("earlier", .disowned), ("later", .disowned), ("later", .reclaimed), ("earlier", .reclaimed)],
        [("later", .disowned), ("earlier", .disowned), ("earlier", .reclaimed), ("later", .reclaimed)],
        [("later", .disowned), ("earlier", .disowned), ("later", .reclaimed), ("earlier", .reclaimed)],
        [("earlier", .disowned), ("earlier", .reclaimed), ("later", .disowned), ("later", .reclaimed)],
        [("later", .disowned), ("later", .reclaimed), ("earlier", .disowned), ("earlier", .reclaimed)],
    ]

    /// Adds a value by the earlier change and an equal value by the later change, decides about both in an order, and
    /// looks at the values after each decision.
    private static func decideAboutEqualValues(
        _ attribute: PersonalAttribute, _ order: [(id: String, state: AccountChangeRecord.State)], _ name: String,
        _ store: Subject
    ) async throws {
        let value =
            attribute == .email ? "value\(name.utf8.count)\(name.prefix(1))@post.example" : "+49\(name.prefix(1))"
        let addition: AccountAddition = attribute == .email ? .email(value) : .phone(value)
        for (id, moment) in Self.twoChanges {
            try await Self.keep(Self.change(addition, "\(id) \(name)", at: moment), store)
            let record = PersonalValueRecord(
                id: "\(id) \(name)", attribute: attribute, alias: id, value: value, source: .person, createdAt: moment)
            _ = try await store.addPersonalValue(record, accountID: Self.alice, limit: 99, audit: sampleAudit())
        }
        var states: [String: AccountChangeRecord.State] = ["earlier": .made, "later": .made]
        for (seconds, decision) in order.enumerated() {
            try expect(
                try await Self.decide(decision.state, store, "\(decision.id) \(name)", after: seconds), "decided")
            states[decision.id] = decision.state
            // The earlier change takes the value of a later change that stands to rest.
            let laterCounts =
                states["later"] == .reclaimed || (states["later"] == .made && states["earlier"] != .disowned)
            let hasReclaimedLast = states["later"] == .reclaimed && decision.id == "earlier"
            let values = try await store.personalValues(accountID: Self.alice).filter { $0.value == value }.map(\.id)
            try expect(values.contains("later \(name)") == laterCounts, "\(name) \(states): the later value")
            // A value that equals a reclaimed value of a later change is the person's.
            let earlierCounts = states["earlier"] != .disowned || hasReclaimedLast
            try expect(values.contains("earlier \(name)") == earlierCounts, "\(name) \(states): the earlier value")
        }
    }

    /// Two changes, and the moments at which they are made.
    private static let twoChanges = [("earlier", Self.made), ("later", Self.made + .seconds(5))]

    /// Disowns both changes, the earlier change first.
    private static func disownTwo(_ store: Subject) async throws {
        for (seconds, (id, _)) in Self.twoChanges.enumerated() {
            try expect(try await Self.decide(.disowned, store, id, after: seconds), "disowned")
        }
    }

    /// Disowns a password and a second factor in an order, reclaims the second factor, and then the password.
    private static func disownBoth(_ order: [String], _ store: Subject) async throws {
        try await Self.keep(Self.change(.password, "password"), store)
        try await Self.keep(Self.change(.secondFactor, "factor"), store)
        try await Self.password("$newer$", at: Self.made, store)
        let totp = TOTPRecord(
            accountID: Self.alice, secret: SecretBytes(Self.bytes(7)), algorithm: "SHA1", digits: 6, periodSeconds: 30,
            setAt: Self.made)
        _ = try await store.setSecondFactor(totp, recoveryCodes: [Self.bytes(1)], audit: sampleAudit())
        for (seconds, id) in order.enumerated() {
            try expect(try await Self.decide(.disowned, store, id, after: seconds), "disowned")
            try expect(try await Self.hash(store) == "$unusable$", "nobody knows it")
        }
        try expect(try await Self.decide(.reclaimed, store, "factor", after: 2), "reclaimed")
        try expect(try await Self.hash(store) == "$unusable$", "its own change is still disowned")
        try expect(try await Self.decide(.reclaimed, store, "password", after: 3), "reclaimed")
        try expect(try await Self.hash(store) == "$newer$", "it counts again")
    }

    /// Connects an account with the identity at the provider.
    private static func connect(
        _ store: Subject, _ account: String = alice, request: String = "request-1",
        identity: UpstreamIdentity = identity, at moment: Timestamp = made
    ) async throws {
        if try await store.upstreamProviders().isEmpty {
            try await store.addProvider(
                UpstreamProvider(
                    name: "up", title: "Up", kind: .openID, issuer: "https://up.example", clientID: "here",
                    usualLevel: "urn:x", createdAt: .start), limit: 9, audit: sampleAudit())
        }
        try await store.addRequest(
            AuthorizationRequestRecord(
                id: request, browserDigest: Self.bytes(8), client: "client", redirectURI: "https://client.example/",
                scope: "openid", state: nil, nonce: nil, codeChallenge: nil, expiresAt: Self.made + .seconds(900)))
        _ = try await store.arrive(
            UpstreamArrival(request: request, identity: identity, at: moment, acr: "urn:x", amr: []),
            at: Self.made, newcomer: nil
        ) { (sampleAudit(), NoticeRecord(id: $0, accountID: $0, kind: .signedIn, at: Self.made, subject: "")) }
        try expect(try await store.wantLink(request: request, provider: "up"), "wanted")
        _ = try await store.connect(request: request, provider: "up", account: account, limit: 9) { identity in
            (
                UpstreamLink(
                    id: "link-\(request)", identity: identity, accountID: account, createdAt: moment), sampleAudit(),
                NoticeRecord(
                    id: "linked-\(request)", accountID: account, kind: .identityLinked, at: Self.made, subject: "Up")
            )
        }
    }
}
