import Records
import Settings
import Testing
import UAF
import _Primitives

@Suite("Rules of stored ceremonies")
struct CeremonyRuleTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "event"), at: Self.now)
    private static let notice = NoticeRecord(
        id: "notice", accountID: "alice", kind: .authenticatorsRemoved, at: Self.now, subject: "bank")
    private static let key = CredentialRecord(
        id: "key", deviceID: "phone", accountID: "alice", aaid: "ABCD#0001", keyID: [1], publicKey: [2],
        keyFormat: 1, algorithm: 1, counter: 1, registrationCounter: 1, authenticatorVersion: 1, isActive: true,
        createdAt: Self.now)

    private static func ceremony(
        _ kind: CeremonyRecord.Kind = .authentication, browser: [UInt8]? = nil, account: String? = "alice",
        device: String? = nil
    ) -> CeremonyRecord {
        var ceremony = CeremonyRecord(
            id: "ceremony", kind: kind, reference: "reference", browserDigest: browser, accountID: account,
            createdAt: Self.now, expiresAt: Self.now + .seconds(60), detail: CeremonyDetail())
        ceremony.deviceID = device
        ceremony.progress = [1]
        return ceremony
    }

    // MARK: Superseded ceremonies

    @Test(
        "A later ceremony ends an open ceremony, and leaves the end of an ended ceremony",
        arguments: CeremonyRecord.Phase.allCases)
    func superseded(phase: CeremonyRecord.Phase) throws {
        var earlier = Self.ceremony(browser: [1])
        earlier.phase = phase
        earlier.outcome = phase == .ended ? .succeeded : nil
        var later = Self.ceremony(browser: [1])
        later.createdAt = Self.now + .seconds(5)
        var expected = earlier
        expected.reference = nil
        if phase != .ended {
            (expected.phase, expected.outcome, expected.progress) = (.ended, .cancelled, nil)
            expected.changedAt = later.createdAt
        }
        #expect(try earlier.superseded(by: later) == expected)
    }

    @Test(
        "No browser takes over another browser's ceremony",
        arguments: [
            (nil, nil, true), ([1], [1], true), ([1], [2], false), ([1], nil, false), (nil, [1], false),
        ] as [([UInt8]?, [UInt8]?, Bool)])
    func browsers(earlier: [UInt8]?, later: [UInt8]?, isAllowed: Bool) throws {
        let (earlier, later) = (Self.ceremony(browser: earlier), Self.ceremony(browser: later))
        if isAllowed {
            _ = try earlier.superseded(by: later)
        } else {
            #expect(throws: StoreError(.conflict, "")) { try earlier.superseded(by: later) }
        }
    }

    // MARK: Ended references

    @Test("A change ends a reference if the change ends the ceremony, and the ceremony keeps the reference")
    func endedReferences() {
        for before in CeremonyRecord.Phase.allCases {
            for after in CeremonyRecord.Phase.allCases {
                var (former, changed) = (Self.ceremony(), Self.ceremony())
                (former.phase, changed.phase) = (before, after)
                let isEnd = after == .ended && before != .ended
                #expect(changed.endedReference(before: former) == (isEnd ? "reference" : nil))
                changed.reference = nil
                #expect(changed.endedReference(before: former) == nil)
            }
        }
    }

    // MARK: Redeemed tokens

    @Test("The answer to a redeemed token carries the data of its kind")
    func redemptionData() {
        for kind in CeremonyRecord.Kind.allCases {
            let data: (described: String?, ofKeys: String?) =
                switch kind {
                case .deregistration: (nil, nil)
                case .registration: ("alice", "alice")
                case .authentication, .transaction, .identity: (nil, "alice")
                }
            #expect(Self.ceremony(kind).describedAccountID == data.described)
            #expect(Self.ceremony(kind).accountIDOfKeys == data.ofKeys)
            #expect(Self.ceremony(kind, account: nil).describedAccountID == nil)
            #expect(Self.ceremony(kind, account: nil).accountIDOfKeys == nil)
            #expect(Self.ceremony(kind).deregistrationID == (kind == .deregistration ? "ceremony" : nil))
        }
    }

    // MARK: Writes

    private static func words(_ change: CeremonyChange, to ceremony: CeremonyRecord?) -> [String] {
        var words: [String] = []
        change.forEachWrite(to: ceremony) { words.append(Self.word(for: $0)) }
        return words
    }

    private static func word(for write: CeremonyWrite) -> String {
        switch write {
        case .register(let registration): "register \(registration.device.id)"
        case .join(let keys): "join \(keys.count)"
        case .addIdentity(let addition): "identity of \(addition.deviceID)"
        case .keepApp(let app): "app \(app.bundleID) of \(app.deviceID)"
        case .advanceApp(let advance): "app's counter \(advance.counter) of \(advance.deviceID)"
        case .activate(let device, nil): "activate \(device)"
        case .activate(let device, let end?): "activate \(device), limited until \(end.seconds)"
        case .replaceKeys(let device, let account): "replace keys of \(account) by \(device)"
        case .discard(let device): "discard \(device)"
        case .deregister(_, let account, let ceremony): "deregister \(account) for \(ceremony)"
        case .deleteTokens(let ceremony, let moment): "delete tokens of \(ceremony) before \(moment.seconds)"
        case .replaceTokens(let tokens, let ceremony): "\(tokens.count) tokens of \(ceremony)"
        case .addTokens(let tokens, let ceremony): "\(tokens.count) further tokens of \(ceremony)"
        case .leaveMessages: "messages"
        case .keepOutcome: "outcome"
        case .keepChange(let change): "change \(change.id)"
        case .returnNumberAttempt(let attempt): "attempt \(attempt) back"
        case .forgivePushes(let account): "pushes to \(account) forgiven"
        case .rest(let account, let requester, let moment): "\(requester) rests for \(account) at \(moment.seconds)"
        case .receipt(let receipt, let rows): "receipt of \(receipt.session), at most \(rows)"
        case .letter(let letter, let most): "letter to \(letter.accountID), at most \(most)"
        case .audit(let event): "audit \(event.kind)"
        case .notice(let notice): "notice \(notice.id)"
        }
    }

    private static func fullChange() -> CeremonyChange {
        let identity = DeviceIdentityRecord(
            signing: DeviceIdentityRecord.Key(name: "signing", point: [1]),
            encryption: DeviceIdentityRecord.Key(name: "encryption", point: [2]))
        let mail = MailRecord(
            accountID: "alice", subject: .accountChanged, createdAt: Self.now, expiresAt: Self.now + .seconds(60))
        var change = CeremonyChange()
        change.advances = [CounterAdvance(credentialID: "key", counter: 2)]
        change.registration = DeviceRegistration(
            device: DeviceRecord(
                id: "phone", accountID: "alice", name: "Phone", isActive: false, createdAt: Self.now),
            credentials: [Self.key])
        change.newCredentials = [Self.key]
        change.identityAddition = DeviceIdentityAddition(
            deviceID: "phone", accountID: "alice", identity: identity, audit: Self.event)
        change.attestedApp = AttestedAppRecord(
            deviceID: "phone", teamID: "team", bundleID: "bundle", environment: "production", keyID: [1],
            publicKey: [4], counter: 0)
        change.appAdvance = AppCounterAdvance(deviceID: "phone", keyID: [1], counter: 3)
        change.deviceFate = .activate
        change.deregistration = .all
        change.newTokens = [DispatchTokenRecord(digest: [1], channel: .link, expiresAt: Self.now)]
        change.tokensKeptSince = Timestamp(seconds: 7)
        change.messages = [DeviceMessageRecord(dispatcher: "courier", target: "phone", content: [1])]
        change.identityOutcome = IdentityOutcomeChange(
            accountID: "alice", service: nil, at: Self.now, limits: Limits())
        change.accountChange = (
            record: AccountChangeRecord(
                id: "change", accountID: "alice", addition: .password, words: "Password", madeAt: Self.now),
            mail: (mail, most: 3)
        )
        change.letter = (mail, most: 4)
        change.returnedNumberAttempt = "attempt"
        change.forgivenPushes = "alice"
        change.rest = (accountID: "alice", requester: "bank", at: Timestamp(seconds: 8))
        change.audit = [Self.event]
        change.notices = [Self.notice]
        return change
    }

    @Test("A device to activate has to exist, unless the same change adds the device")
    func deviceToActivate() {
        var change = CeremonyChange()
        #expect(change.deviceToActivate(of: Self.ceremony(device: "phone")) == nil)
        change.deviceFate = .activate
        #expect(change.deviceToActivate(of: Self.ceremony(device: "phone")) == "phone")
        #expect(change.deviceToActivate(of: Self.ceremony()) == nil)
        #expect(change.deviceToActivate(of: nil) == nil)
        change.registration = Self.fullChange().registration
        #expect(change.deviceToActivate(of: Self.ceremony(device: "phone")) == nil)
        #expect(change.deviceToActivate(of: Self.ceremony(device: "other")) == "other")
    }

    @Test("The writes of a whole change, in their order")
    func wholeChange() {
        let before = [
            "register phone", "join 1", "identity of phone", "app bundle of phone", "app's counter 3 of phone",
        ]
        let after = [
            "outcome", "change change", "letter to alice, at most 3", "letter to alice, at most 4",
            "attempt attempt back", "pushes to alice forgiven", "bank rests for alice at 8", "audit event",
            "notice notice",
        ]
        let own = [
            "activate phone", "replace keys of alice by phone", "deregister alice for ceremony",
            "delete tokens of ceremony before 7", "1 tokens of ceremony", "messages",
        ]
        #expect(Self.words(Self.fullChange(), to: Self.ceremony(device: "phone")) == before + own + after)
        // Without a ceremony the parts that need a ceremony have no effect.
        #expect(Self.words(Self.fullChange(), to: nil) == before + after)
        #expect(Self.words(CeremonyChange(), to: Self.ceremony(device: "phone")).isEmpty)
    }

    @Test(
        "The fate of a device, for a ceremony with and without a device and an account",
        arguments: [
            (.keep, "phone", "alice", []), (.discard, "phone", "alice", ["discard phone"]),
            (.discard, nil, "alice", []), (.activate, nil, "alice", []),
            (.activate, "phone", nil, ["activate phone"]),
            (.activate, "phone", "alice", ["activate phone", "replace keys of alice by phone"]),
        ] as [(CeremonyChange.DeviceFate, String?, String?, [String])])
    func fates(fate: CeremonyChange.DeviceFate, device: String?, account: String?, words: [String]) {
        var change = CeremonyChange()
        change.deviceFate = fate
        #expect(Self.words(change, to: Self.ceremony(account: account, device: device)) == words)
    }

    @Test("An activated device is limited until the moment that the change names")
    func limit() {
        var change = CeremonyChange()
        change.deviceFate = .activate
        change.deviceLimit = Timestamp(seconds: 1_900_000_000)
        let words = Self.words(change, to: Self.ceremony(account: nil, device: "phone"))
        #expect(words == ["activate phone, limited until 1900000000"])
    }

    @Test("A deregistration needs an account, and tokens are deleted with new tokens alone")
    func ownWrites() {
        var change = CeremonyChange()
        change.deregistration = .all
        change.tokensKeptSince = Self.now
        #expect(Self.words(change, to: Self.ceremony(account: nil)).isEmpty)
        change.newTokens = []
        change.tokensKeptSince = nil
        #expect(Self.words(change, to: Self.ceremony(account: nil)) == ["0 tokens of ceremony"])
        change.newTokens = nil
        change.addedTokens = [DispatchTokenRecord(digest: [1], channel: .device, expiresAt: Self.now)]
        #expect(Self.words(change, to: Self.ceremony(account: nil)) == ["1 further tokens of ceremony"])
    }

    @Test("A change of the account without a letter leaves no letter")
    func changeWithoutLetter() {
        var change = CeremonyChange()
        change.accountChange = (
            record: AccountChangeRecord(
                id: "change", accountID: "alice", addition: .password, words: "Password", madeAt: Self.now),
            mail: nil
        )
        #expect(Self.words(change, to: nil) == ["change change"])
    }

    @Test("Each device that lost keys has an event, and a deregistration is reported if a key was deleted")
    func reports() {
        var change = CeremonyChange()
        #expect(change.replacementEvents(for: ["old"]).isEmpty)
        change.replacementAudit = Self.event
        #expect(change.replacementEvents(for: []).isEmpty)
        #expect(change.replacementEvents(for: ["old", "older"]).map(\.detail) == ["old", "older"])
        (change.deregistrationAudit, change.deregistrationNotice) = (Self.event, Self.notice)
        let none = change.deregistrationReport(ofDeleted: [])
        #expect(none.audit == nil)
        #expect(none.notice == nil)
        let one = change.deregistrationReport(ofDeleted: [CredentialSelection.Name(aaid: "ABCD#0001", keyID: [1])])
        #expect(one.audit == Self.event)
        #expect(one.notice == Self.notice)
    }

    // MARK: Rests

    @Test("A client rests for an hour, twice as long after each kept rest, and for a day at most")
    func rests() {
        var rest: AskingRest?
        for (number, hours) in [1, 2, 4, 8, 16, 24, 24].enumerated() {
            let begin = Self.now + .seconds(number * 100_000)
            rest = AskingRest(accountID: "alice", requester: "bank", after: rest, at: begin)
            #expect(rest?.length == .seconds(hours * 3600) && rest?.until == begin + .seconds(hours * 3600))
        }
    }

    // MARK: Pushes

    @Test(
        "The budgets of pushes: the first of them that leaves no further message",
        arguments: [
            (PushCounts(requester: 2, requesterDay: 9, person: 4, personDay: 19), nil),
            (PushCounts(requester: 3, requesterDay: 10, person: 5, personDay: 20), .requester),
            (PushCounts(requester: 0, requesterDay: 10, person: 5, personDay: 20), .requesterDay),
            (PushCounts(requester: 0, requesterDay: 0, person: 5, personDay: 20), .person),
            (PushCounts(requester: 0, requesterDay: 0, person: 0, personDay: 20), .personDay),
        ] as [(PushCounts, PushBudget?)])
    func pushBudgets(counts: PushCounts, budget: PushBudget?) {
        var bounds = Limits().push
        (bounds.pushesPerPerson, bounds.pushesPerPersonDay) = (5, 20)
        #expect(counts.usedUp(bounds) == budget)
    }

    // MARK: Stored values

    @Test("Stored kinds, phases and channels are known numbers")
    func storedNumbers() throws {
        for kind in CeremonyRecord.Kind.allCases {
            for phase in CeremonyRecord.Phase.allCases {
                let state = try CeremonyRecord.state(storedKind: kind.rawValue, phase: phase.rawValue)
                #expect(state.kind == kind)
                #expect(state.phase == phase)
            }
        }
        let numbers: [DispatchChannel: Int] = [.linkQRCode: 1, .link: 2, .typed: 3, .qrCode: 4, .device: 5]
        for channel in DispatchChannel.allCases {
            #expect(channel.stored == numbers[channel])
            #expect(try DispatchChannel(stored: channel.stored) == channel)
        }
        #expect(throws: StoreError(.corrupt, "")) { try CeremonyRecord.state(storedKind: 9, phase: 1) }
        #expect(throws: StoreError(.corrupt, "")) { try CeremonyRecord.state(storedKind: 1, phase: 9) }
        for number in [0, 9] {
            #expect(throws: StoreError(.corrupt, "")) { try DispatchChannel(stored: number) }
        }
    }

    @Test("A detail comes back from its stored form")
    func storedDetail() throws {
        let detail = CeremonyDetail(
            service: "bank", origin: "https://bank.example", address: "192.0.2.1", browser: "Firefox",
            browserID: "browser", contentType: "text/plain", content: [1, 2], deregistration: "{}", policy: "policy",
            client: "client", change: "{}", number: "004711", approver: "key", approval: "enrolment")
        #expect(try CeremonyDetail(stored: detail.stored) == detail)
        #expect(try CeremonyDetail(stored: CeremonyDetail().stored) == CeremonyDetail())
        #expect(throws: StoreError(.corrupt, "")) { try CeremonyDetail(stored: Array("[]".utf8)) }
    }
}
