public import Records
import _Primitives

/// The rules for every store of accounts.
public enum AccountConformance {
    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<any AccountStore & CeremonyStore & AuditStore & NoticeStore>] = [
        ConformanceCheck("an account is found by name and identifier, exactly as it was added") { store in
            let account = sampleAccount()
            try await store.createAccount(account, audit: sampleAudit())
            try expect(try await store.account(username: "alice") == account, "found by name")
            try expect(try await store.account(id: account.id) == account, "found by identifier")
            for name in ["Alice", "ALICE"] as [AccountName] {
                try expect(try await store.account(username: name)?.id == account.id, "A to Z have no case")
                try expect(try await store.keys(username: name).active?.accountID == account.id, "nor for keys")
                var other = sampleAccount("other")
                other.username = name
                do {
                    try await store.createAccount(other, audit: sampleAudit())
                    try expect(false, "the name is taken in all spellings")
                } catch let error as StoreError where error.code == .conflict {}
            }
            try expect(try await store.account(username: "alic\u{130}") == nil, "other letters are as they are")
            for name in ["zo\u{EB}", "zoe\u{308}"] {
                try await store.createAccount(sampleAccount(name), audit: sampleAudit())
                let found = try await store.account(username: AccountName(stored: name))
                try expect(found.map { $0.id.utf8.elementsEqual("account-\(name)".utf8) } == true, "by its bytes")
                try expect(found?.username?.text.utf8.elementsEqual(name.utf8) == true, "as it was given")
            }
            try expect(try await store.account(id: "other") == nil, "nothing else is found")
        },
        ConformanceCheck("a user name is taken once, also by parallel calls") { store in
            let count = try await winners(16) { index in
                var account = sampleAccount()
                account.id = "account-\(index)"
                do { try await store.createAccount(account, audit: sampleAudit()) } catch let error as StoreError
                    where error == .conflict
                {
                    return false
                }
                return true
            }
            try expect(count == 1, "one of 16 gets the name, not \(count)")
            try expect(try await store.accounts(after: nil, limit: 99).count == 1, "one account exists")
            try expect(try await store.auditEntries(after: 0, limit: 99).count == 1, "a refused step leaves no trail")
        },
        ConformanceCheck("an account gets an e-mail address, another one, and none again") { store in
            for name in ["alice", "bob"] {
                try await store.createAccount(sampleAccount(name), audit: sampleAudit())
            }
            for email in [AccountEmail(address: "a@other.example", isVerified: false), nil] {
                try expect(
                    try await store.setAccountEmail(email, id: "account-alice", audit: sampleAudit()), "it exists")
                try expect(try await store.account(username: "alice")?.email == email, "it is kept")
            }
            try expect(
                try await store.setAccountEmail(nil, id: "other", audit: sampleAudit()) == false, "no such account")
            try expect(try await store.account(username: "bob") == sampleAccount("bob"), "another stays as it is")
            try expect(try await store.auditEntries(after: 0, limit: 99).count == 4, "an event for each change")
        },
        ConformanceCheck("an account gets a telephone number and an address, others, and none again") { store in
            for name in ["alice", "bob"] {
                try await store.createAccount(sampleAccount(name), audit: sampleAudit())
            }
            var expected = sampleAccount()
            for phone in [AccountPhone(number: "+1", isVerified: false), nil] {
                try expect(
                    try await store.setAccountPhone(phone, id: "account-alice", audit: sampleAudit()), "it exists")
                expected.phone = phone
                try expect(try await store.account(username: "alice") == expected, "the number is kept")
            }
            for address in [PostalAddress(["formatted": .string("a\n\u{20AC}")]), nil] {
                try expect(
                    try await store.setAccountAddress(address, id: "account-alice", audit: sampleAudit()), "it exists")
                expected.address = address
                try expect(try await store.account(username: "alice") == expected, "the address is kept")
            }
            for profile in [PersonProfile(["given_name": .string("\u{20AC}"), "locale": .string("de-CH")]), nil] {
                try expect(
                    try await store.setAccountProfile(profile, id: "account-alice", audit: sampleAudit()), "it exists")
                expected.profile = profile
                try expect(try await store.account(username: "alice") == expected, "the profile is kept")
            }
            let isAnyThere = (
                try await store.setAccountPhone(nil, id: "other", audit: sampleAudit()),
                try await store.setAccountAddress(nil, id: "other", audit: sampleAudit()),
                try await store.setAccountProfile(nil, id: "other", audit: sampleAudit())
            )
            try expect(isAnyThere == (false, false, false), "no such account")
            try expect(try await store.account(username: "bob") == sampleAccount("bob"), "another stays as it is")
            try expect(try await store.auditEntries(after: 0, limit: 99).count == 8, "an event for each change")
        },
        ConformanceCheck("whatever changes of a person is dated by its event") { store in
            try await store.createAccount(sampleAccount(), audit: sampleAudit())
            try expect(try await store.account(username: "alice")?.updatedAt == .start, "when it was added")
            let id = "account-alice"
            func event(_ minutes: Int64) -> AuditEvent {
                AuditEvent(AuditEvent.Kind(rawValue: "sample"), at: .start + .seconds(60 * minutes), accountID: id)
            }
            let changes: [@Sendable (AuditEvent) async throws -> Bool] = [
                { try await store.setAccountEmail(nil, id: id, audit: $0) },
                { try await store.setAccountPhone(nil, id: id, audit: $0) },
                { try await store.setAccountAddress(nil, id: id, audit: $0) },
                { try await store.setAccountProfile(nil, id: id, audit: $0) },
                { try await store.setAccountNames(id: id, audit: [$0], username: "alice", displayName: "Al") },
            ]
            for (index, change) in changes.enumerated() {
                let event = event(Int64(index) + 1)
                try expect(try await change(event), "it exists")
                try expect(try await store.account(username: "alice")?.updatedAt == event.at, "change \(index)")
            }
            let last = try await store.account(username: "alice")?.updatedAt
            _ = try await store.setAccountLocked(true, id: id, audit: event(99))
            try expect(try await store.account(username: "alice")?.updatedAt == last, "a lock says nothing of them")
        },
        ConformanceCheck("accounts are listed in the order of their creation, in pages") { store in
            for name in ["c", "a", "b"] {
                try await store.createAccount(sampleAccount(name), audit: sampleAudit())
            }
            let first = try await store.accounts(after: nil, limit: 2)
            try expect(first.map(\.username) == ["c", "a"], "the first page")
            let second = try await store.accounts(after: first.last?.id, limit: 2)
            try expect(second.map(\.username) == ["b"], "the second page")
        },
        ConformanceCheck("a locked account keeps its keys from becoming durable signatures") { store in
            try await enrol(store)
            try expect(
                try await store.setAccountLocked(true, id: "account-alice", audit: sampleAudit()), "the account exists")
            try expect(try await store.account(username: "alice")?.isLocked == true, "it is locked")
            var change = CeremonyChange()
            change.advances = [CounterAdvance(credentialID: "credential-phone-alice", counter: 6)]
            try await expectError(StoreError(.forbidden, "")) {
                _ = try await store.answer(
                    AnsweredChallenge(digest: [1], expiresAt: .start), change: change, at: .start)
            }
            try expect(
                try await store.setAccountLocked(false, id: "nobody", audit: sampleAudit()) == false,
                "an unknown account is not locked")
        },
        ConformanceCheck("an account goes by other names, and by none that another has") { store in
            try await enrol(store)
            try await store.createAccount(sampleAccount("bob"), audit: sampleAudit())
            let isRenamed = try await store.setAccountNames(
                id: "account-alice", audit: [sampleAudit()], username: "alicia", displayName: "Alicia")
            try expect(isRenamed, "the account exists")
            try expect(try await store.account(username: "alice") == nil, "nobody has the former name")
            let account = try await store.account(username: "alicia")
            try expect(account?.id == "account-alice" && account?.displayName == "Alicia", "the same account")
            try expect(try await store.keys(username: "alicia").active?.keys.isEmpty == false, "with its keys")
            let entries = try await store.auditEntries(after: 0, limit: 99).count
            try await expectError(StoreError(.conflict, "")) {
                _ = try await store.setAccountNames(
                    id: "account-alice", audit: [sampleAudit()], username: "bob", displayName: nil)
            }
            try expect(try await store.account(username: "alicia")?.displayName == "Alicia", "left as it was")
            let nobody = try await store.setAccountNames(
                id: "nobody", audit: [sampleAudit()], username: "x", displayName: nil)
            try expect(!nobody, "an unknown account has no name")
            try expect(try await store.auditEntries(after: 0, limit: 99).count == entries, "and no event")
        },
        ConformanceCheck("keys are read as they were written, with their account's state") { store in
            try await enrol(store)
            let expected = sampleRegistration("phone-alice")
            try expect(try await store.credentials(accountID: "account-alice") == expected.credentials, "by account")
            try expect(try await store.devices(accountID: "account-alice") == [expected.device], "the device")
            let named = ActiveKeys(
                accountID: "account-alice", isAccountLocked: false,
                keys: expected.credentials.map {
                    ActiveKeys.Key(aaid: $0.aaid, keyID: $0.keyID, deviceID: $0.deviceID)
                })
            try expect(
                try await store.keys(username: "alice") == NamedKeys(active: named, inventedAccounts: nil),
                "the keys' names by the account's")
            try expect(try await store.keys(username: "bob").active == nil, "an unknown name has none")
            let key = expected.credentials[0]
            let names = [(aaid: key.aaid, keyID: [9]), (key.aaid, key.keyID), ("C516#0003", key.keyID)]
            let stored = [nil, StoredCredential(credential: key, isAccountLocked: false), nil]
            try expect(
                try await store.verificationMaterial(ceremonyID: "none", keys: names).credentials == stored,
                "by model and name, in the order asked for")
            try expect(
                try await store.verificationMaterial(challengeDigest: [9], keys: names) == stored,
                "the same for a challenge")
            _ = try await store.answer(
                AnsweredChallenge(digest: [9], expiresAt: .start), change: CeremonyChange(), at: .start)
            try expect(
                try await store.verificationMaterial(challengeDigest: [9], keys: names) == nil,
                "nothing for a challenge that was answered")
        },
        ConformanceCheck("a key's model and name are unique across accounts") { store in
            try await enrol(store)
            try await store.createAccount(sampleAccount("bob"), audit: sampleAudit())
            var change = CeremonyChange()
            var copy = sampleRegistration("phone-alice", account: "account-bob")
            copy.device.id = "device-copy"
            copy.credentials[0].id = "credential-copy"
            copy.credentials[0].deviceID = "device-copy"
            change.registration = copy
            let wanted = change
            try await expectError(StoreError(.conflict, "")) {
                _ = try await store.answer(
                    AnsweredChallenge(digest: [1], expiresAt: .start), change: wanted, at: .start)
            }
            try expect(try await store.devices(accountID: "account-bob").isEmpty, "nothing is left of the step")
        },
        ConformanceCheck("a device goes with its keys, an account with everything but its trail") { store in
            try await enrol(store)
            try await addDevice(store, sampleRegistration("second"))
            try expect(try await store.deleteDevice(id: "device-second", audit: sampleAudit()), "it existed")
            try expect(try await store.credentials(accountID: "account-alice").count == 1, "its keys are gone")
            try expect(try await store.deleteDevice(id: "device-second", audit: sampleAudit()) == false, "once")
            try await store.createCeremony(
                sampleCeremony(account: "account-alice"), tokens: [], audit: sampleAudit())
            let trail = try await store.auditEntries(after: 0, limit: 99).count
            try expect(try await store.deleteAccount(id: "account-alice", audit: sampleAudit()), "it existed")
            try expect(try await store.credentials(accountID: "account-alice").isEmpty, "no keys")
            try expect(try await store.devices(accountID: "account-alice").isEmpty, "no devices")
            try expect(try await store.ceremony(.id("ceremony")) == nil, "no ceremonies")
            try expect(try await store.auditEntries(after: 0, limit: 99).count == trail + 1, "the trail goes on")
            try expect(try await store.deleteAccount(id: "account-alice", audit: sampleAudit()) == false, "once")
        },
        ConformanceCheck("the trail and the notices keep what steps wrote, in order") { store in
            try await store.appendAudit(sampleAudit("first", account: "a"))
            try await store.appendAudit(AuditEvent(AuditEvent.Kind(rawValue: "second"), at: .start + .seconds(1)))
            let entries = try await store.auditEntries(after: 0, limit: 99)
            try expect(entries.map(\.number) == [1, 2], "numbers without gaps")
            try expect(entries[0].event == sampleAudit("first", account: "a"), "every field is kept")
            try expect(try await store.auditEntries(after: 1, limit: 99) == [entries[1]], "a later page")
            try expect(try await store.verifyAudit() == .intact(entries: 2), "the trail is whole")
            var change = CeremonyChange()
            let notices = (1...3).map { second in
                NoticeRecord(
                    id: "n\(second)", accountID: "a", kind: .signedIn, at: .start + .seconds(second), subject: "Bank")
            }
            change.notices = notices
            _ = try await store.answer(AnsweredChallenge(digest: [1], expiresAt: .start), change: change, at: .start)
            try expect(
                try await store.notices(accountID: "a", limit: 2) == [notices[2], notices[1]], "the newest come first")
            try expect(try await store.notices(accountID: "b", limit: 2).isEmpty, "to each their own")
            try expect(try await store.deleteNotices(before: .start + .seconds(1), limit: 9) == 0, "none is old yet")
            try expect(try await store.deleteNotices(before: .start + .seconds(3), limit: 1) == 1, "a limit")
            try expect(
                try await store.notices(accountID: "a", limit: 9) == [notices[2], notices[1]], "the oldest go first")
            try expect(try await store.deleteNotices(before: .start + .seconds(3), limit: 9) == 1, "one more was old")
            try expect(try await store.notices(accountID: "a", limit: 9) == [notices[2]], "what is new enough stays")
        },
    ]
}

extension StoreError {
    /// The error that checks of a conflict expect.
    static let conflict = StoreError(.conflict, "")
}
