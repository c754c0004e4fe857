import Records
import Testing
import _Primitives

@Suite("Threat model: the end of an account, its names and its keys")
struct AccountRulesTests {
    private static let moment = Timestamp(seconds: 1_000_000)

    @Test("Everything but unlocking ends the authentications of an account", arguments: AccountFate.allCases)
    func authentications(fate: AccountFate) {
        #expect(fate.ends.contains(.authentications) == (fate != .unlocked))
    }

    @Test("A deletion leaves nothing, except the invitation of a withdrawn account")
    func traces() {
        #expect(AccountFate.locked.ends == [.authentications])
        #expect(AccountFate.unlocked.ends.isEmpty)
        #expect(Set(AccountFate.deleted.ends) == Set(AccountFate.Trace.allCases))
        #expect(
            Set(AccountFate.withdrawn.ends)
                == Set(AccountFate.Trace.allCases).subtracting([.provisionalInvitation]))
    }

    @Test("A fate follows from the lock, or from the fate of the invitation")
    func fates() {
        #expect(AccountFate.lock(true) == .locked)
        #expect(AccountFate.lock(false) == .unlocked)
        #expect(AccountFate.deletion(keepsInvite: false) == .deleted)
        #expect(AccountFate.deletion(keepsInvite: true) == .withdrawn)
    }

    /// A change of names, and the parts of the row that it writes.
    struct Names: Sendable {
        let username: AccountName?
        let displayName: String?
        let changes: [AccountNamesChange]
    }

    @Test(
        "Only names that change are written",
        arguments: [
            Names(username: "ada", displayName: "Ada", changes: []),
            Names(username: "Ada", displayName: "Ada", changes: [.username("Ada")]),
            Names(username: nil, displayName: "Ada", changes: [.username(nil)]),
            Names(username: "ada", displayName: nil, changes: [.displayName(nil)]),
            Names(username: "ada", displayName: "Ada L.", changes: [.displayName("Ada L.")]),
            Names(username: "bob", displayName: "Bob", changes: [.username("bob"), .displayName("Bob")]),
        ])
    func names(given: Names) {
        let account = AccountRecord(id: "1", username: "ada", displayName: "Ada", createdAt: Self.moment)
        let first = AuditEvent(.accountRenamed, at: Self.moment)
        let last = AuditEvent(.accountDisplayNameChanged, at: Self.moment + .seconds(1))
        #expect(
            AccountNamesChange.changes(of: account, to: given.username, displayName: given.displayName, audit: [])
                == given.changes)
        #expect(
            AccountNamesChange.changes(
                of: account, to: given.username, displayName: given.displayName, audit: [first, last])
                == given.changes + [.updatedAt(last.at), .audit(first), .audit(last)])
    }

    @Test("Nothing changes for an account that does not exist")
    func noAccount() {
        let event = AuditEvent(.accountRenamed, at: Self.moment)
        #expect(AccountNamesChange.changes(of: nil, to: "ada", displayName: nil, audit: [event]).isEmpty)
    }

    @Test("A display name with other bytes is another name, even if Unicode treats both as the same")
    func exactDisplayName() {
        let account = AccountRecord(id: "1", username: nil, displayName: "\u{E9}", createdAt: Self.moment)
        #expect(
            AccountNamesChange.changes(of: account, to: nil, displayName: "e\u{301}", audit: [])
                == [.displayName("e\u{301}")])
    }

    @Test("Accounts with spellings of one name answer to their exact bytes alone")
    func spellings() {
        let assigned = AccountNameSpelling.assigned(
            to: [(id: "1", name: "Ada"), (id: "2", name: "bob"), (id: "3", name: "ada")])
        #expect(assigned.map(\.id) == ["1", "2", "3"])
        #expect(assigned.map(\.name) == ["Ada", "bob", "ada"])
        #expect(assigned.map(\.spelling) == [.exact, .any, .exact])
    }

    @Test("A name is composed once")
    func composed() throws {
        let composed = try #require(AccountNameSpelling.composed("e\u{301}"))
        #expect(composed.hasSameBytes(as: "\u{E9}"))
        #expect(AccountNameSpelling.composed(composed) == nil)
        #expect(AccountNameSpelling.composed("ada") == nil)
    }

    @Test(
        "A further key needs an active device of an account that is not locked",
        arguments: [(nil, StoreError.Code.notFound), (true, .forbidden), (false, nil)] as [(Bool?, StoreError.Code?)])
    func joining(isLocked: Bool?, code: StoreError.Code?) {
        var refusal: StoreError.Code?
        do { try KeyRefusal.checkJoining(isAccountLocked: isLocked) } catch { refusal = error.code }
        #expect(refusal == code)
    }

    @Test(
        "A counter that was not taken is refused for the key's sake first",
        arguments: [(nil, StoreError.Code.notFound), (false, .forbidden), (true, .conflict)]
            as [(Bool?, StoreError.Code)])
    func advance(mayBeUsed: Bool?, code: StoreError.Code) {
        #expect(KeyRefusal.ofAdvance(mayBeUsed: mayBeUsed).code == code)
        #expect(throws: StoreError(code, "")) {
            try KeyRefusal.checkAdvance(isTaken: false, mayBeUsed: mayBeUsed)
        }
    }

    @Test("A counter that was taken is not refused, and nothing is read of the key")
    func taken() throws {
        func read() throws -> Bool? {
            Issue.record("read")
            return nil
        }
        try KeyRefusal.checkAdvance(isTaken: true, mayBeUsed: read())
    }

    @Test("The activation of a device that is gone is a conflict")
    func activation() {
        #expect(KeyRefusal.ofActivation.code == .conflict)
    }

    @Test("A stored profile and a stored address are read, and nothing else")
    func contacts() throws {
        #expect(
            try PersonProfile(stored: #"{"given_name":"Ada"}"#).claims
                == #require(PersonProfile(["given_name": .string("Ada")])).claims)
        #expect(
            try PostalAddress(stored: #"{"country":"PL"}"#).parts
                == #require(PostalAddress(["country": .string("PL")])).parts)
        for text in ["", "[]", "{}", #"{"other":"x"}"#] {
            #expect(throws: StoreError(.corrupt, "")) { try PersonProfile(stored: text) }
            #expect(throws: StoreError(.corrupt, "")) { try PostalAddress(stored: text) }
        }
    }

    @Test("A counted key is a model and a length")
    func statistics() throws {
        #expect(
            try KeyStatistics.Key(stored: "0001#0001:32") == KeyStatistics.Key(aaid: "0001#0001", keyIDLength: 32))
        for text in ["", "0001#0001", "0001#0001:x", "a:1:2"] {
            #expect(throws: StoreError(.corrupt, "")) { try KeyStatistics.Key(stored: text) }
        }
    }
}
