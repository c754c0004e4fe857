import Records
import Settings
import Testing
import _Primitives

extension IdentityWrite {
    /// The name of the write, with its most telling part.
    fileprivate var label: String {
        switch self {
        case .enrolment(let activation, _): "enrolment \(activation.device.id)"
        case .consent(let consent): "consent \(consent.record.session)"
        case .offer(let offer): "offer \(offer.id)"
        case .mailedOffer(let offer, _): "mailed offer \(offer.id)"
        case .merge: "merge"
        case .endOfSessions(let device, let session, _, _): "end of \(device.id) except \(session)"
        case .erasedAnswers(let caller, let session): "erased answers \(caller) \(session)"
        case .deletedAccount(let account, _): "deleted \(account)"
        case .answer(let answer, let session): "answer \(answer.request) \(session ?? "-")"
        case .audit(let event): "audit \(event.kind) \(event.accountID ?? "-")"
        case .notice(let notice): "notice \(notice.id)"
        }
    }
}

/// The writes of steps of sessions, offers and activations, in their order.
struct IdentityWriteTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let device = DeviceRecord(
        id: "device", accountID: "ada", name: "Phone", isActive: true, createdAt: Self.now)
    private static let answer = GivenAnswer(
        caller: "device", request: "jti", requestHash: [1], answer: [2], keptUntil: Self.now)
    private static let event = AuditEvent(.personalValueAdded, at: Self.now)

    private static func ceremony(_ phase: CeremonyRecord.Phase) -> CeremonyRecord {
        var ceremony = CeremonyRecord(
            id: "session", kind: .identity, createdAt: Self.now, expiresAt: Self.now, detail: CeremonyDetail())
        ceremony.phase = phase
        return ceremony
    }

    private static func offer(letter: String?) -> OfferRecord {
        var offer = OfferRecord(
            id: "offer", accountID: "ada", claimDigest: [1], pinKey: [2], pinParameters: "{}", name: nil,
            inviteID: "invite", challenge: "challenge", createdAt: Self.now, expiresAt: Self.now)
        offer.letter = letter
        return offer
    }

    private static func writes(
        from before: CeremonyRecord.Phase = .claimed, to after: CeremonyRecord.Phase = .claimed,
        _ change: (inout IdentityChange) -> Void
    ) -> [String] {
        var made = IdentityChange()
        change(&made)
        return made.writes(of: Self.device, before: Self.ceremony(before), after: Self.ceremony(after)).map(\.label)
    }

    @Test("A step of a session writes each part of its change")
    func session() {
        #expect(Self.writes { _ in } == [])
        #expect(Self.writes { $0.answer = Self.answer } == ["answer jti session"])
        #expect(Self.writes { $0.offer = Self.offer(letter: nil) } == ["offer offer"])
        #expect(Self.writes { $0.offer = Self.offer(letter: "code") } == ["mailed offer offer"])
        #expect(Self.writes { $0.deletesAccount = true } == ["deleted ada"])
        #expect(Self.writes { $0.endOfOtherSessions = { _ in nil } } == ["end of device except session"])
    }

    @Test("The end of a session erases its answers once")
    func end() {
        #expect(Self.writes(from: .claimed, to: .ended) { _ in } == ["erased answers device session"])
        #expect(Self.writes(from: .ended, to: .ended) { _ in } == [])
        #expect(Self.writes(from: .created, to: .answering) { _ in } == [])
    }

    @Test("The answer of a step is kept after everything else")
    func order() {
        let writes = Self.writes(from: .answering, to: .ended) { change in
            change.answer = Self.answer
            change.deletesAccount = true
            change.endOfOtherSessions = { _ in nil }
            change.merge = InviteMerge(
                invite: "invite", tokenDigest: [1], addressID: "address", addresses: 1, audit: Self.event)
            change.offer = Self.offer(letter: nil)
            change.consent = KeptConsent(
                IdentityConsentRecord(
                    session: "session", accountID: "ada", service: nil, at: Self.now, document: [], finalChallenge: "",
                    factors: []), limits: Limits())
        }
        #expect(
            writes == [
                "consent session", "offer offer", "merge", "end of device except session",
                "erased answers device session", "deleted ada", "answer jti session",
            ])
    }

    @Test("A begun session keeps its answer outside the session")
    func beginning() {
        #expect(IdentityWrite.beginning(Self.answer, nil).map(\.label) == ["answer jti -"])
        #expect(
            IdentityWrite.beginning(Self.answer, Self.event).map(\.label)
                == ["answer jti -", "audit personal-value-added -"])
    }

    @Test("A step of an offer enrols, answers and reports, in this order")
    func offered() {
        var change = OfferChange()
        #expect(change.writes.isEmpty)
        let notice = NoticeRecord(id: "notice", accountID: "ada", kind: .deviceAdded, at: Self.now, subject: "Phone")
        change.notices = [notice]
        change.audit = [Self.event, Self.event]
        change.answer = Self.answer
        change.enrolled = (
            ActivationRecord(device: Self.device, signingKey: [1], encryptionKey: [2], pinVersion: nil), []
        )
        #expect(
            change.writes.map(\.label) == [
                "enrolment device", "answer jti -", "audit personal-value-added -",
                "audit personal-value-added -", "notice notice",
            ])
    }

    @Test("The event of a step on an activation is about the activation's account")
    func activation() {
        #expect(ActivationChange().writes(accountID: "ada").isEmpty)
        let notice = NoticeRecord(id: "notice", accountID: "ada", kind: .deviceAdded, at: Self.now, subject: "Phone")
        #expect(
            ActivationChange(audit: Self.event, notice: notice).writes(accountID: "ada").map(\.label)
                == ["audit personal-value-added ada", "notice notice"])
    }

    @Test("A repeated request is answered the same, and other bytes of its name are refused")
    func answeredBefore() {
        let request = RequestName(caller: "device", request: "jti", hash: [1, 2])
        #expect(AnsweredBefore(request, answeredHash: [1, 2], answer: [9]) == .same([9]))
        #expect(AnsweredBefore(request, answeredHash: [1, 3], answer: [9]) == .other)
        #expect(AnsweredBefore(request, answeredHash: [], answer: [9]) == .other)
        let again: IdentityStep<Void> = AnsweredBefore.same([9]).step()
        let replayed: IdentityStep<Void> = AnsweredBefore.other.step()
        guard case .again([9]) = again else { Issue.record("the answer is not given again"); return }
        guard case .replayed = replayed else { Issue.record("other bytes are not refused"); return }
    }

    @Test(
        "A key to seal to follows keys that were made before a moment",
        arguments: [([], true), ([-1], true), ([0], false), ([1], false), ([-9, 0, -1], false)] as [([Int64], Bool)])
    func followingKey(after moments: [Int64], isAdded: Bool) {
        let key = SealingKeyRecord(id: "key", privateKey: SecretBytes([1]), createdAt: Self.now, erasedAt: Self.now)
        let kept = moments.map { Self.now + .seconds($0) }
        #expect(key.additions(toKeysMadeAt: kept, unlessMadeSince: Self.now).map(\.id) == (isAdded ? ["key"] : []))
    }
}
