import CountersignServer
import Records
import _Primitives

/// Sessions, activations and their keys pass through.
extension FailingStore {
    func activation(id: String) async throws -> ActivationRecord? { try await self.store.activation(id: id) }

    func activations(accountID: String) async throws -> [ActivationRecord] {
        try await self.store.activations(accountID: accountID)
    }

    func answer(to request: RequestName) async throws -> IdentityStep<Never>? {
        try await self.store.answer(to: request)
    }

    func scene(session: String, activation: String, tokenDigest: [UInt8]?) async throws -> IdentityScene? {
        try await self.store.scene(session: session, activation: activation, tokenDigest: tokenDigest)
    }

    func terms(session: String, activation: String) async throws -> IdentityTerms? {
        try await self.store.terms(session: session, activation: activation)
    }

    func step<Result: Sendable>(
        session: String, activation: String, tokenDigest: [UInt8]?, request: RequestName?,
        judge: @escaping @Sendable (inout IdentityScene) throws -> (IdentityChange, Result)
    ) async throws -> IdentityStep<Result> {
        try await self.store.step(
            session: session, activation: activation, tokenDigest: tokenDigest, request: request, judge: judge)
    }

    func openIdentitySessions(accountID: String, at now: Timestamp, limit: Int) async throws -> [CeremonyRecord] {
        try await self.store.openIdentitySessions(accountID: accountID, at: now, limit: limit)
    }

    func begin(
        _ session: CeremonyRecord, token: DispatchTokenRecord, request: RequestName, answer: GivenAnswer,
        audit: AuditEvent?
    ) async throws -> IdentityStep<Void> {
        try await self.store.begin(session, token: token, request: request, answer: answer, audit: audit)
    }

    func offer(_ activation: PendingActivationRecord, replacing: Bool, limit: Int?, audit: AuditEvent) async throws {
        try await self.store.offer(activation, replacing: replacing, limit: limit, audit: audit)
    }

    func withdrawOffer(id: String, accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.withdrawOffer(id: id, accountID: accountID, audit: audit)
    }

    func offer(id: String) async throws -> PendingActivationRecord? { try await self.store.offer(id: id) }

    func offers(accountID: String, at now: Timestamp) async throws -> [PendingActivationRecord] {
        try await self.store.offers(accountID: accountID, at: now)
    }

    func step<Result: Sendable>(
        offer id: String, request: RequestName?,
        judge: @escaping @Sendable (inout PendingActivationRecord) throws -> (OfferChange, Result)
    ) async throws -> IdentityStep<Result> {
        try await self.store.step(offer: id, request: request, judge: judge)
    }

    func revokeActivation(
        id: String, audit: AuditEvent, notice: NoticeRecord?, ending: @escaping SessionEnding
    ) async throws -> Bool {
        try await self.store.revokeActivation(id: id, audit: audit, notice: notice, ending: ending)
    }

    func renameActivation(id: String, name: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.renameActivation(id: id, name: name, audit: audit)
    }

    func step<Result: Sendable>(
        onActivation id: String,
        judge: @escaping @Sendable (inout ActivationRecord, [CredentialRecord]) throws -> (ActivationChange, Result)
    ) async throws -> Result? {
        try await self.store.step(onActivation: id, judge: judge)
    }

    func disableForsaken(countedBy moment: Timestamp, limit: Int, audit: AuditEvent, ending: @escaping SessionEnding)
        async throws -> Int
    {
        try await self.store.disableForsaken(countedBy: moment, limit: limit, audit: audit, ending: ending)
    }

    func deleteStaleIdentities(now: Timestamp, historyBefore: Timestamp, limit: Int) async throws -> Int {
        try await self.store.deleteStaleIdentities(now: now, historyBefore: historyBefore, limit: limit)
    }

    func identityConsents(accountID: String, limit: Int) async throws -> [IdentityConsentRecord] {
        try await self.store.identityConsents(accountID: accountID, limit: limit)
    }

    func identityConsent(session: String, accountID: String) async throws -> IdentityConsentRecord? {
        try await self.store.identityConsent(session: session, accountID: accountID)
    }

    func identityRoot(orElse made: SecretBytes, audit: AuditEvent) async throws -> SecretBytes {
        try await self.store.identityRoot(orElse: made, audit: audit)
    }

    func identitySealingKeys() async throws -> [SealingKeyRecord] { try await self.store.identitySealingKeys() }

    func addSealingKey(_ key: SealingKeyRecord, limit: Int, audit: AuditEvent) async throws -> [SealingKeyRecord] {
        try await self.store.addSealingKey(key, limit: limit, audit: audit)
    }

    func followSealingKeys(by key: SealingKeyRecord, unlessMadeSince: Timestamp, at now: Timestamp) async throws
        -> [SealingKeyRecord]
    {
        try await self.store.followSealingKeys(by: key, unlessMadeSince: unlessMadeSince, at: now)
    }
}
