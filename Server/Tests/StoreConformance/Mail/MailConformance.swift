import PersonalInformation
public import Records
import _Primitives

/// The rules for every outbox of mail, and for every store of the links in mail.
public enum MailConformance {
    /// The store protocols that the rules use. The steps of passwords put mail into the outbox, and mail belongs to an
    /// account.
    public typealias Subject = AccountStore & AdditionalEmailStore & AuditStore & MailStore & OutboxStore
        & PasswordStore
        & PersonalInformationStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<any Subject>] = Self.asks + Self.outbox + Self.links

    private static let alice = "account-alice"
    private static let later = Timestamp.start + .seconds(100)

    private static func code(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }

    /// Adds an account with a password and an address.
    private static func begin(_ store: any Subject) async throws {
        try await store.createAccount(sampleAccount(), audit: sampleAudit())
        _ = try await store.setPassword(
            PasswordChange(
                to: PasswordRecord(accountID: Self.alice, hash: "$hash$1", setAt: .start), endsSessions: false,
                audit: sampleAudit()))
        _ = try await store.setAccountEmail(
            AccountEmail(address: "alice@post.example", isVerified: false), id: Self.alice, audit: sampleAudit())
    }

    private static func mail(
        _ byte: UInt8, _ purpose: MailedLinkRecord.Purpose = .passwordReset, about: String? = nil,
        turn: MailRecord.Turn? = nil
    ) -> MailRecord {
        MailRecord(
            accountID: Self.alice, subject: .passwordReset, turn: turn,
            link: (
                "name-\(byte)",
                MailedLinkRecord(
                    digest: Self.code(byte), accountID: Self.alice, purpose: purpose, about: about,
                    expiresAt: .start + .seconds(900))
            ), about: about, createdAt: .start, expiresAt: .start + .seconds(900))
    }

    /// Puts mail into the outbox, as a person's request does.
    private static func leave(_ mail: MailRecord, _ store: any Subject, most: Int = 9) async throws {
        _ = try await store.countAttempt(.mail(account: Self.alice), leaving: (mail, most)) { _ in
            (AttemptCount(count: 1, at: .start), nil)
        }
    }

    private static func take(_ store: any Subject, at moment: Timestamp = .start, limit: Int = 9, strangers: Int = 9)
        async throws -> [OutboxMessage]
    {
        let shares = OutboxShares(most: limit, share: limit, sharesOfLanes: ["strangers": strangers])
        return try await store.takeMessages(
            to: .mailbox, at: moment, lease: moment + .seconds(100), shares: shares)
    }

    private static let asks: [ConformanceCheck<any Subject>] = [
        ConformanceCheck(
            "what is asked for a name waits whoever has the name, and is one taker's until the lease is over"
        ) {
            store in
            try await Self.begin(store)
            for name: AccountName in ["alice", "nobody", "alice"] {
                try expect(try await store.keepAsk(for: name, at: .start, most: 3), "there is room")
            }
            try expect(try await store.keepAsk(for: "alice", at: .start, most: 3) == false, "three wait")
            let first = try await store.takeAsks(at: .start, lease: Self.later, limit: 2)
            try expect(first.map(\.accountID) == [Self.alice, nil], "the oldest, with who has the name")
            try expect(first.allSatisfy { $0.askedAt == .start }, "since when")
            let count = try await winners(16) { _ in
                try await !store.takeAsks(at: .start, lease: Self.later, limit: 9).isEmpty
            }
            try expect(count == 1, "one of 16 has the third, not \(count)")
            try await store.removeAsk(first[0])
            try await store.removeAsk(
                ResetAsk(number: first[1].number, accountID: nil, askedAt: .start + .seconds(1)))
            let again = try await store.takeAsks(at: Self.later, lease: Self.later, limit: 9)
            try expect(again.map(\.accountID) == [nil, Self.alice], "due again, but for what was removed")
        }
    ]

    private static let outbox: [ConformanceCheck<any Subject>] = [
        ConformanceCheck(
            "mail is one taker's until the lease is over, the oldest first, and says how often it was taken"
        ) {
            store in
            try await Self.begin(store)
            for byte: UInt8 in 1...3 { try await Self.leave(Self.mail(byte), store) }
            let first = try await Self.take(store, limit: 2)
            try expect(first.map(\.name) == ["name-1", "name-2"], "the oldest")
            let letter = try MailDelivery(first[0])
            try expect(letter.accountID == Self.alice && letter.subject == .passwordReset, "as it was left")
            try expect(letter.turn == .awaited && letter.linkName == "name-1" && letter.about == nil, "as it was left")
            try expect(letter.attempt == 1 && letter.expiresAt == .start + .seconds(900), "as it was left")
            let count = try await winners(16) { _ in try await !Self.take(store).isEmpty }
            try expect(count == 1, "one of 16 has the third, not \(count)")
            try expect(try await Self.take(store, at: Self.later - .seconds(1)).isEmpty, "the leases go on")
            let again = try await Self.take(store, at: Self.later)
            try expect(again.map(\.attempt) == [2, 2, 2], "due again, whatever became of the taker")
        },
        ConformanceCheck("what somebody waits for goes first, and strangers' letters are no more than their share") {
            store in
            try await Self.begin(store)
            for (byte, turn): (UInt8, MailRecord.Turn) in [
                (1, .stranger), (2, .stranger), (3, .stranger), (4, .told), (5, .awaited), (6, .told), (7, .awaited),
            ] {
                try await Self.leave(Self.mail(byte, turn: turn), store)
            }
            let first = try await Self.take(store, limit: 3, strangers: 2)
            try expect(first.map(\.name) == ["name-5", "name-7", "name-4"], "in their turns: \(first)")
            try expect(try first.map { try MailDelivery($0).turn } == [.awaited, .awaited, .told], "which they say")
            let second = try await Self.take(store, limit: 4, strangers: 2)
            try expect(second.map(\.name) == ["name-6", "name-1", "name-2"], "two of strangers: \(second)")
            try expect(try await Self.take(store, strangers: 0).isEmpty, "and no more while those are under way")
            try expect(try await Self.take(store, strangers: 1).map(\.name) == ["name-3"], "the last")
        },
        ConformanceCheck("what is not left because too many wait is counted once; strangers' letters count apart") {
            store in
            try await Self.begin(store)
            for byte: UInt8 in 1...4 { try await Self.leave(Self.mail(byte, turn: .stranger), store, most: 2) }
            for byte: UInt8 in 5...8 { try await Self.leave(Self.mail(byte), store, most: 5) }
            let waiting = try await store.waitingMessages(to: .mailbox)
            try expect(waiting.count == 5 && waiting.oldest != nil, "as many wait: \(waiting)")
            try expect(try await Self.take(store).count == 5, "two of strangers, and three beside them")
            try expect(try await store.waitingMessages(to: .mailbox) == waiting, "also while they are under way")
            try expect(try await store.keepAsk(for: "alice", at: .start, most: 0) == false, "no room")
            let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<16 { group.addTask { try await store.takeDroppedMails().values.reduce(0, +) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            try expect(counts.filter { $0 > 0 } == [4], "two, one, and the one that was asked for: \(counts)")
            try await Self.leave(Self.mail(9), store, most: 0)
            try expect(try await store.takeDroppedMails() == [.passwordReset: 1], "by what it was to say")
        },
        ConformanceCheck("mail is removed with what the trail says of it, or waits, where nobody has taken it since") {
            store in
            try await Self.begin(store)
            for byte: UInt8 in 1...2 { try await Self.leave(Self.mail(byte), store) }
            let taken = try await Self.take(store)
            try await store.postponeMessage(taken[0], until: .start + .seconds(5))
            try expect(try await Self.take(store, at: .start + .seconds(4)).isEmpty, "it waits")
            let second = try await Self.take(store, at: .start + .seconds(5))
            try expect(second.map(\.attempt) == [2], "and then no more")
            try await store.postponeMessage(taken[0], until: .start)
            try expect(try await Self.take(store, at: .start + .seconds(6)).isEmpty, "it is another's by now")
            let entries = try await store.auditEntries(after: 0, limit: 99).count
            try await store.removeMessage(taken[0], audit: sampleAudit("unsent"))
            try expect(try await store.waitingMessages(to: .mailbox).count == 2, "a late try gives nothing up")
            try expect(try await store.auditEntries(after: 0, limit: 99).count == entries, "and says nothing")
            try await store.removeMessage(taken[1], audit: nil)
            try await store.removeMessage(second[0], audit: sampleAudit("unsent"))
            try await store.removeMessage(second[0], audit: sampleAudit("unsent"))
            try expect(try await store.auditEntries(after: 0, limit: 99).count == entries + 1, "once")
            try expect(try await Self.take(store, at: Self.later + .seconds(999)).isEmpty, "gone")
        },
        ConformanceCheck("no more mail waits than may, and an attempt that may not be made leaves none") { store in
            try await Self.begin(store)
            for byte: UInt8 in 1...3 { try await Self.leave(Self.mail(byte), store, most: 2) }
            try expect(try await Self.take(store).count == 2, "two")
            try expect(
                try await store.mailedLink(digest: Self.code(3), purpose: .passwordReset, at: .start) == nil,
                "nor its link")
            let isMade = try await store.countAttempt(.mail(account: Self.alice), leaving: (Self.mail(4), 9)) { _ in nil
            }
            try expect(!isMade, "not made")
            try expect(try await Self.take(store).isEmpty, "and nothing left")
        },
        ConformanceCheck("a change leaves its mail in the same step, and mail goes with its account") { store in
            try await Self.begin(store)
            let told = MailRecord(
                accountID: Self.alice, subject: .passwordChanged, createdAt: .start, expiresAt: Self.later)
            var change = PasswordChange(
                to: PasswordRecord(accountID: Self.alice, hash: "$hash$2", setAt: .start),
                shown: ShownPassword(accountID: Self.alice, hash: "$hash$9"),
                endsSessions: true, audit: sampleAudit())
            change.mail = told
            try expect(try await store.setPassword(change) == false, "another password by now")
            try expect(try await Self.take(store).isEmpty, "nobody is told")
            change.shown?.hash = "$hash$1"
            for _ in 0..<2 {
                try expect(try await store.setPassword(change), "it is changed")
                change.shown?.hash = "$hash$2"
            }
            let taken = try await Self.take(store, limit: 1)
            try expect(
                taken.map(\.subject) == ["password-changed"] && taken.first?.name == nil, "as it was left")
            _ = try await store.deleteAccount(id: Self.alice, audit: sampleAudit())
            try expect(try await Self.take(store, at: Self.later).isEmpty, "gone with the account")
        },
    ]

    private static let links: [ConformanceCheck<any Subject>] = [
        ConformanceCheck("of 16 that show one link at once one has a new password, and a code beside it is spent") {
            store in
            try await Self.begin(store)
            let totp = TOTPRecord(
                accountID: Self.alice, secret: SecretBytes(Self.code(7)), algorithm: "SHA1", digits: 6,
                periodSeconds: 30, setAt: .start)
            for byte: UInt8 in 1...3 { try await Self.leave(Self.mail(byte), store) }
            func change(_ byte: UInt8, _ spent: PasswordSignInStep.Spent?, at moment: Timestamp = .start)
                -> PasswordChange
            {
                var change = PasswordChange(
                    to: PasswordRecord(accountID: Self.alice, hash: "$hash$2", setAt: .start), endsSessions: true,
                    audit: AuditEvent(.passwordReset, at: moment, accountID: Self.alice))
                change.link = Self.code(byte)
                change.spent = spent
                return change
            }
            let right = change(1, nil)
            try expect(try await store.setPassword(change(9, nil)) == false, "no such link")
            try expect(try await store.setPassword(change(1, nil, at: .start + .seconds(900))) == false, "too late")
            try expect(try await store.setPassword(change(1, .totp(step: 5))) == false, "there is no second factor")
            _ = try await store.setAccountLocked(true, id: Self.alice, audit: sampleAudit())
            try expect(try await store.setPassword(right) == false, "a locked account")
            _ = try await store.setAccountLocked(false, id: Self.alice, audit: sampleAudit())
            try expect(try await store.setPassword(right) == false, "a lock ends links")
            for byte: UInt8 in 1...3 { try await Self.leave(Self.mail(byte), store) }
            try expect(try await winners(16) { _ in try await store.setPassword(right) } == 1, "one of 16")
            try expect(
                try await store.mailedLink(digest: Self.code(2), purpose: .passwordReset, at: .start) == nil,
                "the account's others are over with it")
            _ = try await store.setSecondFactor(totp, recoveryCodes: [Self.code(1)], audit: sampleAudit())
            try await Self.leave(Self.mail(4), store)
            try expect(try await store.setPassword(change(4, nil)) == false, "a code is missing")
            try expect(
                try await store.setPassword(change(4, .recoveryCode(Self.code(9)))) == false, "no such code")
            try expect(try await store.setPassword(change(4, .recoveryCode(Self.code(1)))), "and then it is")
            try expect(try await store.passwordAccount(id: Self.alice)?.recoveryCodes == 0, "the code is spent")
        },
        ConformanceCheck("a link gives a password to no account without one") { store in
            try await Self.begin(store)
            try await Self.leave(Self.mail(1), store)
            _ = try await store.removePassword(accountID: Self.alice, audit: sampleAudit())
            try await Self.leave(Self.mail(2), store)
            for byte: UInt8 in 1...2 {
                var change = PasswordChange(
                    to: PasswordRecord(accountID: Self.alice, hash: "$hash$2", setAt: .start), endsSessions: true,
                    audit: sampleAudit())
                change.link = Self.code(byte)
                try expect(try await store.setPassword(change) == false, "none")
            }
        },
        ConformanceCheck("a link confirms the address that it was sent to, once") { store in
            try await Self.begin(store)
            @Sendable func confirm(_ byte: UInt8, at moment: Timestamp = .start) async throws -> Bool {
                try await store.confirmAddress(
                    byLink: Self.code(byte), values: 9, audit: AuditEvent(.accountEmailChanged, at: moment))
                    == .complete
            }
            try await Self.leave(Self.mail(1), store)
            try expect(try await confirm(1) == false, "a link for something else")
            try await Self.leave(Self.mail(2, .addressConfirmation), store)
            try expect(
                try await store.mailedLink(digest: Self.code(2), purpose: .passwordReset, at: .start) == nil,
                "nor the other way")
            try expect(try await confirm(2, at: .start + .seconds(900)) == false, "too late")
            _ = try await store.setAccountEmail(
                AccountEmail(address: "new@post.example", isVerified: false), id: Self.alice, audit: sampleAudit())
            try expect(try await confirm(2) == false, "another address by now")
            try await Self.leave(Self.mail(3, .addressConfirmation), store)
            try expect(try await winners(16) { _ in try await confirm(3) } == 1, "one of 16")
            try expect(
                try await store.passwordAccount(id: Self.alice)?.account.email
                    == AccountEmail(address: "new@post.example", isVerified: true), "it is confirmed")
        },
        ConformanceCheck("the confirmation of the first address ends no other link; another address ends all") {
            store in
            try await Self.begin(store)
            let purposes: [MailedLinkRecord.Purpose] = [
                .passwordReset, .addressConfirmation, .addressConfirmation, .addressConfirmation,
            ]
            for (byte, purpose) in zip(UInt8(1)..., purposes) {
                try await Self.leave(Self.mail(byte, purpose, about: byte == 4 ? "further" : nil), store)
            }
            func valid() async throws -> [UInt8] {
                var valid: [UInt8] = []
                for (byte, purpose) in zip(UInt8(1)..., purposes) {
                    let link = try await store.mailedLink(digest: Self.code(byte), purpose: purpose, at: .start)
                    if link != nil { valid.append(byte) }
                }
                return valid
            }
            func set(_ address: String, isVerified: Bool) async throws -> [UInt8] {
                _ = try await store.setAccountEmail(
                    AccountEmail(address: address, isVerified: isVerified), id: Self.alice, audit: sampleAudit())
                return try await valid()
            }
            let confirmation = try await store.confirmAddress(
                byLink: Self.code(2), values: 9, audit: AuditEvent(.accountEmailChanged, at: .start))
            try expect(confirmation == .complete, "confirmed")
            try expect(try await valid() == [1, 4], "the links that confirm this address are spent")
            try expect(try await set("alice@post.example", isVerified: true) == [1, 4], "an operator says the same")
            try expect(try await set("alice@post.example", isVerified: false) == [], "no longer confirmed")
            try await Self.leave(Self.mail(1), store)
            try expect(try await set("new@post.example", isVerified: true) == [], "another address")
        },
        ConformanceCheck("a link about a further address confirms that one, once, which is a verified value then") {
            store in
            try await Self.begin(store)
            for (id, address) in [("one", "one@post.example"), ("two", "Two@post.example")] {
                _ = try await store.addEmail(
                    AdditionalEmail(id: id, address: address, createdAt: .start), accountID: Self.alice, limit: 9,
                    audit: sampleAudit())
            }
            @Sendable func confirm(_ byte: UInt8, values: Int = 9, at moment: Timestamp = .start) async throws -> Bool {
                try await store.confirmAddress(
                    byLink: Self.code(byte), values: values, audit: AuditEvent(.additionalEmailChanged, at: moment))
                    == .complete
            }
            @Sendable func verified() async throws -> [String] {
                try await store.additionalEmails(accountID: Self.alice).filter(\.isVerified).map(\.id)
            }
            @Sendable func values() async throws -> [String] {
                try await store.personalValues(accountID: Self.alice).map {
                    "\($0.alias): \($0.value)\($0.isVerified ? "" : "?")"
                }
            }
            for (byte, id) in [(1, "one"), (2, "one"), (3, "two"), (4, "gone")] as [(UInt8, String)] {
                try await Self.leave(Self.mail(byte, .addressConfirmation, about: id), store)
            }
            let link = try await store.mailedLink(digest: Self.code(1), purpose: .addressConfirmation, at: .start)
            try expect(link?.about == "one", "it says which")
            try expect(try await confirm(1, at: .start + .seconds(900)) == false, "too late")
            try expect(try await confirm(4) == false, "an address that is none")
            try expect(try await verified() == [], "none yet")
            try expect(try await winners(16) { _ in try await confirm(1) } == 1, "one of 16")
            try expect(try await confirm(2) == false, "another link to the same is spent with it")
            try expect(try await verified() == ["one"], "that one")
            try expect(try await values() == ["email: one@post.example"], "a verified value")
            try expect(
                try await store.passwordAccount(id: Self.alice)?.account.email
                    == AccountEmail(address: "alice@post.example", isVerified: false), "the first is as it was")

            // The account already has the second address as an unverified value.
            let held = PersonalValueRecord(
                id: "held", attribute: .email, alias: "Two", value: "two@post.example", source: .person,
                createdAt: .start)
            _ = try await store.addPersonalValue(held, accountID: Self.alice, limit: 9, audit: sampleAudit())
            try expect(try await confirm(3, values: 2), "it is no further one")
            try expect(try await values() == ["email: one@post.example", "Two: two@post.example"], "both")

            // A withdrawn confirmation makes the values unverified again.
            for id in ["one", "two"] {
                _ = try await store.setEmailVerified(false, id: id, accountID: Self.alice, audit: sampleAudit())
            }
            try expect(try await values() == ["email: one@post.example?", "Two: two@post.example?"], "taken back")
            _ = try await store.setEmailVerified(true, id: "one", accountID: Self.alice, audit: sampleAudit())
            try await Self.leave(Self.mail(5, .addressConfirmation, about: "one"), store)
            try expect(try await confirm(5), "confirmed once more")
            try expect(try await store.removeEmail("one", accountID: Self.alice, audit: sampleAudit()), "it goes")
            try expect(try await values() == ["email: one@post.example?", "Two: two@post.example?"], "with its word")

            // If the account has no room for a value, the address is still confirmed.
            _ = try await store.addEmail(
                AdditionalEmail(id: "three", address: "three@post.example", createdAt: .start), accountID: Self.alice,
                limit: 9, audit: sampleAudit())
            try await Self.leave(Self.mail(6, .addressConfirmation, about: "three"), store)
            try expect(
                try await store.confirmAddress(
                    byLink: Self.code(6), values: 2, audit: AuditEvent(.additionalEmailChanged, at: .start))
                    == .withoutValue, "confirmed, and that is all")
            try expect(try await verified() == ["three"], "it is the person's")
            try expect(try await values().count == 2, "and no value")
            try await Self.leave(Self.mail(7, .addressConfirmation, about: "two"), store)
            _ = try await store.setAccountLocked(true, id: Self.alice, audit: sampleAudit())
            try expect(try await confirm(7) == false, "of a locked account nothing is confirmed")
        },
        ConformanceCheck("a link's time begins when its letter is handed over, by whoever has the letter") { store in
            try await Self.begin(store)
            for byte: UInt8 in 1...2 { try await Self.leave(Self.mail(byte), store) }
            let taken = try await Self.take(store)
            let end = Timestamp.start + .seconds(1200)
            try expect(try await store.beginLink(of: taken[0], until: end), "it is the taker's")
            let link = try await store.mailedLink(
                digest: Self.code(1), purpose: .passwordReset, at: end - .milliseconds(1))
            try expect(link?.expiresAt == end, "from then on")
            _ = try await Self.take(store, at: Self.later)
            try expect(try await store.beginLink(of: taken[1], until: end) == false, "another's by now")
            try expect(
                try await store.mailedLink(digest: Self.code(2), purpose: .passwordReset, at: .start)?.expiresAt
                    == .start + .seconds(900), "and nothing has changed")
            _ = try await store.removePassword(accountID: Self.alice, audit: sampleAudit())
            try expect(try await store.beginLink(of: taken[0], until: end) == false, "it went with the password")
        },
        ConformanceCheck("a link whose letter is still to be sent is not forgotten before that") { store in
            try await Self.begin(store)
            try await Self.leave(Self.mail(1), store)
            let taken = try await Self.take(store)
            try expect(try await store.beginLink(of: taken[0], until: .start + .seconds(10)), "handed over")
            try expect(try await store.deleteMailedLinks(before: .start + .seconds(899), limit: 9) == 0, "it may come")
            try await store.removeMessage(taken[0], audit: nil)
            try expect(try await store.deleteMailedLinks(before: .start + .seconds(10), limit: 9) == 1, "it has come")
        },
        ConformanceCheck("links whose time is over are forgotten, with their mail, as many as may") { store in
            try await Self.begin(store)
            for byte: UInt8 in 1...3 { try await Self.leave(Self.mail(byte), store) }
            try expect(try await store.deleteMailedLinks(before: .start + .seconds(899), limit: 9) == 0, "none yet")
            try expect(try await store.deleteMailedLinks(before: .start + .seconds(900), limit: 2) == 2, "two")
            try expect(try await store.deleteMailedLinks(before: .start + .seconds(900), limit: 2) == 1, "one")
            try expect(try await Self.take(store).isEmpty, "and their mail")
        },
    ]
}
