public import Records
import Settings
import UAF
import _Primitives

/// The store protocols for sessions and activations of personalised identities.
public typealias IdentityConformanceSubject = any AccountStore & AuditStore & IdentityConsentStore
    & IdentityHistoryStore & IdentityStore
    & NoticeStore

/// Returns an activation in which every value is different, and its keys: the silent key and the PIN's key.
func sampleActivation(
    _ name: String = "phone", account: String = "account-alice"
) -> (activation: ActivationRecord, credentials: [CredentialRecord]) {
    let registration = sampleRegistration(name, account: account)
    var activation = ActivationRecord(
        device: registration.device, signingKey: [2] + Array("signs \(name)".utf8),
        encryptionKey: [3] + Array("opens \(name)".utf8), pinVersion: 7)
    activation.lockout = LockoutRecord(
        failuresInARow: 2, failures: [.start - .seconds(60), .start - .seconds(30)],
        lockedUntil: .start + .seconds(5),
        reservation: .init(request: [UInt8](repeating: 8, count: 32), at: .start - .seconds(30)))
    activation.lastUsedAt = .start - .seconds(90)
    var pin = registration.credentials[0]
    (pin.id, pin.aaid, pin.counter) = ("pin-\(name)", "C516#0007", 0)
    return (activation, registration.credentials + [pin])
}

func sampleOffer(
    _ id: String = "device-phone", account: String = "account-alice", name: String? = "Alice's phone",
    lifetime: Duration = .seconds(600), after seconds: Int = 0
) -> OfferRecord {
    OfferRecord(
        id: id, accountID: account, claimDigest: [UInt8](repeating: 1, count: 32),
        pinKey: [2] + [UInt8](repeating: 2, count: 32), pinParameters: "{\"salt\":\"\(id)\"}", name: name,
        inviteID: "invite", challenge: "challenge of \(id)", createdAt: .start + .seconds(seconds),
        expiresAt: .start + .seconds(seconds) + lifetime)
}

func sampleName(
    _ request: String = "jti", caller: String = "device-phone", hash: UInt8 = 1
) -> RequestName {
    RequestName(caller: caller, request: request, hash: [UInt8](repeating: hash, count: 32))
}

func sampleAnswer(_ request: RequestName, _ text: String = "answer", keptFor duration: Duration = .seconds(60))
    -> GivenAnswer
{
    GivenAnswer(
        caller: request.caller, request: request.request, requestHash: request.hash, answer: Array(text.utf8),
        keptUntil: .start + duration)
}

func sampleSession(
    _ id: String = "session", account: String? = nil, device: String? = nil, progress: String = "{}"
) -> CeremonyRecord {
    var session = sampleCeremony(id, kind: .identity, account: account)
    session.deviceID = device
    session.progress = Array(progress.utf8)
    return session
}

extension IdentityStep {
    /// The result of a step that was decided now; `nil` for any other outcome.
    var decision: Result? { if case .decided(let result) = self { result } else { nil } }

    /// The answer that was given before; `nil` for any other outcome.
    var repetition: String? {
        if case .again(let answer) = self { String(decoding: answer, as: UTF8.self) } else { nil }
    }

    var isReplayed: Bool { if case .replayed = self { true } else { false } }

    var isMissing: Bool { if case .missing = self { true } else { false } }
}

extension IdentityStore {
    /// Adds an offer without a limit on the number of offers.
    func offer(_ offer: OfferRecord, replacing: Bool = false, audit: AuditEvent) async throws {
        try await self.offer(offer, replacing: replacing, limit: nil, audit: audit)
    }
}

/// Adds the account, unless the account exists, and an activation as it arises from an offer.
func activate(
    _ store: IdentityConformanceSubject, _ name: String = "phone", account: String = "alice"
) async throws {
    if try await store.account(id: "account-\(account)") == nil {
        try await store.createAccount(sampleAccount(account), audit: sampleAudit())
    }
    let offer = sampleOffer("device-\(name)", account: "account-\(account)")
    try await store.offer(offer, audit: sampleAudit())
    let enrolled = sampleActivation(name, account: "account-\(account)")
    let step = try await store.step(offer: offer.id, request: nil) { offer in
        offer.state = .enrolled
        var change = OfferChange()
        change.enrolled = enrolled
        return (change, true)
    }
    try expect(step.decision == true, "an offer becomes an activation")
}

/// Returns a consent in which every value is different, kept for a minute.
func sampleConsent(_ session: String = "session", account: String = "account-alice", rows: Int = 3) -> KeptConsent {
    let keys = sampleActivation().credentials
    var kept = KeptConsent(
        IdentityConsentRecord(
            session: session, accountID: account, service: "portal", at: .start,
            document: Array("document of \(session)".utf8), finalChallenge: "challenge of \(session)",
            factors: [
                .init(type: "device", key: keys[0].id, signature: .init(of: keys[0], assertion: [1, 2, 3])),
                .init(type: "pin", key: keys[1].id, signature: nil),
            ]), limits: Limits())
    kept.until = .start + .seconds(60)
    kept.rows = rows
    return kept
}

/// Returns the token of a session.
func sampleToken(of session: String) -> DispatchTokenRecord {
    DispatchTokenRecord(
        digest: Array("token of \(session)".utf8), channel: .qrCode, expiresAt: .start + .seconds(60))
}

/// Adds a session that nobody has claimed.
func open(_ store: IdentityConformanceSubject, _ id: String = "session") async throws {
    try await store.createCeremony(sampleSession(id), tokens: [sampleToken(of: id)], audit: nil)
}

/// Takes a step that changes something, and answers with `text`.
func takeStep(
    _ store: IdentityConformanceSubject, _ session: String = "session", activation: String = "device-phone",
    token: [UInt8]? = nil, request: RequestName? = nil, answer text: String = "answer",
    _ body: @escaping @Sendable (inout IdentityScene, inout IdentityChange) throws -> Void = { _, _ in }
) async throws -> IdentityStep<String> {
    try await store.step(session: session, activation: activation, tokenDigest: token, request: request) { scene in
        var change = IdentityChange()
        try body(&scene, &change)
        change.answer = request.map { sampleAnswer($0, text) }
        return (change, text)
    }
}
