import Accounts
import CountersignServer
import Records
import Synchronization
import _Primitives

/// A store over another, whose end of a sign-in fails once with the error that a test names, and which counts how often
/// a ceremony is looked at. All else passes through.
final class FailingStore: ServerAssembly.ServerStore {
    let store: any ServerAssembly.ServerStore
    private let failure = Mutex<StoreError?>(nil)
    private let failedMove = Mutex<StoreError?>(nil)
    private let failedAudit = Mutex<StoreError?>(nil)
    private let losesValue = Mutex(false)
    private let reads = Mutex(0)

    private let hiddenAddresses = Mutex<Int?>(nil)
    private let lockedAccounts = Mutex<Set<String>>([])
    private let calls = Mutex<[String]>([])

    init(_ store: any ServerAssembly.ServerStore) { self.store = store }

    /// Has the next sign-in fail at its last step.
    func failNextCompletion(_ error: StoreError) { self.failure.withLock { $0 = error } }

    /// Has the next sign-in without a browser fail before its step is judged.
    func failNextMove(_ error: StoreError) { self.failedMove.withLock { $0 = error } }

    /// Has the next entry of the trail fail.
    func failNextAudit(_ error: StoreError) { self.failedAudit.withLock { $0 = error } }

    /// Removes the next value that changes just before: as if another request of the person had.
    func loseNextValue() { self.losesValue.withLock { $0 = true } }

    func losesNextValue() -> Bool {
        self.losesValue.withLock { loses in
            defer { loses = false }
            return loses
        }
    }

    /// Shows one look at further addresses none, after so many that see them: as if one came or went meanwhile.
    func hideAddresses(after looks: Int) { self.hiddenAddresses.withLock { $0 = looks } }

    func hidesAddresses() -> Bool {
        self.hiddenAddresses.withLock { left in
            guard let looks = left else { return false }
            left = looks == 0 ? nil : looks - 1
            return looks == 0
        }
    }

    /// Shows an account as locked whenever the whole account is read. Steps of the store take the account as it was.
    func showLocked(account: String) { self.lockedAccounts.withLock { _ = $0.insert(account) } }

    /// How often a ceremony was looked at.
    var ceremonyReads: Int { self.reads.withLock { $0 } }

    /// What was asked of it for names and passwords while `body` ran.
    func calls(during body: () async throws -> Void) async throws -> [String] {
        self.calls.withLock { $0 = [] }
        try await body()
        return self.calls.withLock { $0 }
    }

    func note(_ call: String) { self.calls.withLock { $0.append(call) } }

    func account(username: AccountName) async throws -> AccountRecord? {
        self.note("account")
        return try await self.store.account(username: username)
    }

    func device(ofKey name: String) async throws -> ProvingDevice? { try await self.store.device(ofKey: name) }

    func isKey(_ name: String, ofDevice id: String) async throws -> Bool {
        try await self.store.isKey(name, ofDevice: id)
    }

    func setAccountNames(
        id: String, audit: [AuditEvent], username: AccountName?, displayName: String?
    ) async throws -> Bool {
        try await self.store.setAccountNames(id: id, audit: audit, username: username, displayName: displayName)
    }

    func setAccountEmail(_ email: AccountEmail?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.setAccountEmail(email, id: id, audit: audit)
    }

    func setAccountPhone(_ phone: AccountPhone?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.setAccountPhone(phone, id: id, audit: audit)
    }

    func setAccountAddress(_ address: PostalAddress?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.setAccountAddress(address, id: id, audit: audit)
    }

    func setAccountProfile(_ profile: PersonProfile?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.setAccountProfile(profile, id: id, audit: audit)
    }

    func createAccount(_ account: AccountRecord, audit: AuditEvent) async throws {
        try await self.store.createAccount(account, audit: audit)
    }

    func account(id: String) async throws -> AccountRecord? {
        var account = try await self.store.account(id: id)
        if self.lockedAccounts.withLock({ $0.contains(id) }) { account?.isLocked = true }
        return account
    }

    func accounts(after: String?, limit: Int) async throws -> [AccountRecord] {
        try await self.store.accounts(after: after, limit: limit)
    }

    func setAccountLocked(_ isLocked: Bool, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.setAccountLocked(isLocked, id: id, audit: audit)
    }

    func deleteAccount(id: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.deleteAccount(id: id, audit: audit)
    }

    func devices(accountID: String) async throws -> [DeviceRecord] {
        try await self.store.devices(accountID: accountID)
    }

    func credentials(accountID: String) async throws -> [CredentialRecord] {
        try await self.store.credentials(accountID: accountID)
    }

    func keys(username: AccountName) async throws -> NamedKeys { try await self.store.keys(username: username) }

    func inventedAccounts() async throws -> String? { try await self.store.inventedAccounts() }

    func setInventedAccounts(_ document: String?, audit: AuditEvent) async throws {
        try await self.store.setInventedAccounts(document, audit: audit)
    }

    func keyStatistics(limit: Int) async throws -> KeyStatistics { try await self.store.keyStatistics(limit: limit) }

    func deregister(
        _ selection: CredentialSelection, accountID: String, asker: DeregistrationAsker, audit: AuditEvent,
        notice: NoticeRecord?, ending: @escaping SessionEnding
    ) async throws -> DeregistrationOutcome {
        try await self.store.deregister(
            selection, accountID: accountID, asker: asker, audit: audit, notice: notice, ending: ending)
    }

    func deleteDevice(id: String, audit: AuditEvent, ending: @escaping SessionEnding) async throws -> Bool {
        try await self.store.deleteDevice(id: id, audit: audit, ending: ending)
    }

    func account(id: String, ofDevice device: String) async throws -> AccountRecord? {
        try await self.store.account(id: id, ofDevice: device)
    }

    func createCeremony(_ ceremony: CeremonyRecord, tokens: [DispatchTokenRecord], audit: AuditEvent?) async throws {
        try await self.store.createCeremony(ceremony, tokens: tokens, audit: audit)
    }

    func ceremony(ofToken digest: [UInt8]) async throws -> OfferedCeremony? {
        try await self.store.ceremony(ofToken: digest)
    }

    func redeem(
        tokenDigest: [UInt8], screen: @escaping @Sendable (OfferedCeremony) throws -> RedeemedCeremony?,
        judge: @escaping @Sendable (inout CeremonyRecord, DispatchTokenRecord) throws -> CeremonyChange
    ) async throws -> RedeemedCeremony? {
        try await self.store.redeem(tokenDigest: tokenDigest, screen: screen, judge: judge)
    }

    func change(_ key: CeremonyKey, judge: @escaping CeremonyJudge) async throws -> CeremonyRecord? {
        try await self.store.change(key, judge: judge)
    }

    func answer<Result: Sendable>(
        _ challenge: AnsweredChallenge, keys: [(aaid: String, keyID: [UInt8])], at now: Timestamp,
        judge: @escaping @Sendable ([StoredCredential?]) throws -> (CeremonyChange, Result)
    ) async throws -> Result? {
        try await self.store.answer(challenge, keys: keys, at: now, judge: judge)
    }

    func ceremony(_ key: CeremonyKey) async throws -> CeremonyRecord? {
        self.reads.withLock { $0 += 1 }
        return try await self.store.ceremony(key)
    }

    func verificationMaterial(ceremonyID: String, keys: [(aaid: String, keyID: [UInt8])]) async throws -> (
        ceremony: CeremonyRecord?, credentials: [StoredCredential?]
    ) {
        try await self.store.verificationMaterial(ceremonyID: ceremonyID, keys: keys)
    }

    func verificationMaterial(challengeDigest: [UInt8], keys: [(aaid: String, keyID: [UInt8])]) async throws
        -> [StoredCredential?]?
    {
        try await self.store.verificationMaterial(challengeDigest: challengeDigest, keys: keys)
    }

    func overdueCeremonies(at now: Timestamp, limit: Int) async throws -> [String] {
        try await self.store.overdueCeremonies(at: now, limit: limit)
    }

    func deleteStale(endedBefore: Timestamp, deregisteredBefore: Timestamp, now: Timestamp, limit: Int) async throws
        -> Int
    {
        try await self.store.deleteStale(
            endedBefore: endedBefore, deregisteredBefore: deregisteredBefore, now: now, limit: limit)
    }

    func appendAudit(_ event: AuditEvent) async throws {
        let failure = self.failedAudit.withLock { failure in
            defer { failure = nil }
            return failure
        }
        if let failure { throw failure }
        try await self.store.appendAudit(event)
    }

    func auditEntries(after: Int64, limit: Int) async throws -> [AuditEntry] {
        try await self.store.auditEntries(after: after, limit: limit)
    }

    func verifyAudit() async throws -> AuditVerdict {
        try await self.store.verifyAudit()
    }

    func notices(accountID: String, limit: Int) async throws -> [NoticeRecord] {
        try await self.store.notices(accountID: accountID, limit: limit)
    }

    func deleteNotices(before moment: Timestamp, limit: Int) async throws -> Int {
        try await self.store.deleteNotices(before: moment, limit: limit)
    }

    func createAdministratorLink(digest: [UInt8], expiresAt: Timestamp, audit: AuditEvent) async throws -> Bool {
        try await self.store.createAdministratorLink(digest: digest, expiresAt: expiresAt, audit: audit)
    }

    func redeemAdministratorLink(
        digest: [UInt8], at now: Timestamp, administrator: AdministratorRecord, audit: AuditEvent
    ) async throws -> Bool {
        try await self.store.redeemAdministratorLink(
            digest: digest, at: now, administrator: administrator, audit: audit)
    }

    func administrator(tokenDigest: [UInt8], at now: Timestamp) async throws -> AdministratorRecord? {
        try await self.store.administrator(tokenDigest: tokenDigest, at: now)
    }

    func administrators(at now: Timestamp, limit: Int) async throws -> [AdministratorRecord] {
        try await self.store.administrators(at: now, limit: limit)
    }

    func deleteAdministrator(id: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.deleteAdministrator(id: id, audit: audit)
    }

    func replaceAdministrator(_ administrator: AdministratorRecord, at now: Timestamp, audit: AuditEvent) async throws
        -> Bool
    {
        try await self.store.replaceAdministrator(administrator, at: now, audit: audit)
    }

    func addRequest(_ request: AuthorizationRequestRecord) async throws {
        try await self.store.addRequest(request)
    }

    func request(_ id: String) async throws -> AuthorizationRequestRecord? {
        try await self.store.request(id)
    }

    func moveRequest(_ id: String, from digest: [UInt8], to next: [UInt8]) async throws -> Bool {
        let failure = self.failedMove.withLock { failure in
            defer { failure = nil }
            return failure
        }
        if let failure { throw failure }
        return try await self.store.moveRequest(id, from: digest, to: next)
    }

    func removeRequest(_ id: String) async throws -> Bool {
        try await self.store.removeRequest(id)
    }

    func complete(_ completed: CompletedAuthorization, replacing cookieDigest: [UInt8]?) async throws {
        let failure = self.failure.withLock { failure in
            defer { failure = nil }
            return failure
        }
        if let failure { throw failure }
        try await self.store.complete(completed, replacing: cookieDigest)
    }

    func consent(account: String, client: String, content: [UInt8]) async throws -> ConsentRecord? {
        try await self.store.consent(account: account, client: client, content: content)
    }

    func consents(account: String, limit: Int) async throws -> [ConsentRecord] {
        try await self.store.consents(account: account, limit: limit)
    }

    func endConsent(_ id: String, account: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.endConsent(id, account: account, audit: audit)
    }

    func authenticate(_ authenticated: AuthenticatedRequest, replacing cookieDigest: [UInt8]?) async throws {
        try await self.store.authenticate(authenticated, replacing: cookieDigest)
    }

    func consent(_ consented: ConsentedAuthorization, usedAt moment: Timestamp, audit: AuditEvent) async throws {
        try await self.store.consent(consented, usedAt: moment, audit: audit)
    }

    func stepUp(_ completed: CompletedAuthorization, from cookieDigest: [UInt8]) async throws {
        try await self.store.stepUp(completed, from: cookieDigest)
    }

    func addGrant(_ grant: GrantRecord, code: CodeRecord, usedAt moment: Timestamp, audit: AuditEvent) async throws {
        try await self.store.addGrant(grant, code: code, usedAt: moment, audit: audit)
    }

    func takeOnce(digest: [UInt8], until end: Timestamp) async throws -> Bool {
        try await self.store.takeOnce(digest: digest, until: end)
    }

    func takeCode(
        digest: [UInt8], at moment: Timestamp, replay: AuditEvent,
        isRight: @escaping @Sendable (CodeRecord, StandingGrant) -> Bool
    ) async throws -> CodeTaking {
        try await self.store.takeCode(digest: digest, at: moment, replay: replay, isRight: isRight)
    }

    func addPushedRequest(_ request: PushedRequestRecord) async throws {
        try await self.store.addPushedRequest(request)
    }

    func pushedRequest(digest: [UInt8]) async throws -> PushedRequestRecord? {
        try await self.store.pushedRequest(digest: digest)
    }

    func begin(_ request: AuthorizationRequestRecord, pushed digest: [UInt8]) async throws -> String? {
        try await self.store.begin(request, pushed: digest)
    }

    func endPushedRequest(digest: [UInt8], browserDigest: [UInt8]) async throws -> Bool {
        try await self.store.endPushedRequest(digest: digest, browserDigest: browserDigest)
    }

    func delayedChanges(accountID: String, at now: Timestamp, limit: Int) async throws -> [CeremonyRecord] {
        try await self.store.delayedChanges(accountID: accountID, at: now, limit: limit)
    }

    func waitingQuestions(accountID: String, at now: Timestamp, limit: Int) async throws -> [String] {
        try await self.store.waitingQuestions(accountID: accountID, at: now, limit: limit)
    }

    func addBackchannelRequest(_ request: BackchannelRequestRecord, keptUntil end: Timestamp) async throws {
        try await self.store.addBackchannelRequest(request, keptUntil: end)
    }

    func backchannelRequest(_ id: String, at moment: Timestamp) async throws -> NotifiedBackchannelRequest? {
        try await self.store.backchannelRequest(id, at: moment)
    }

    func backchannelAnswer(_ question: PollingQuestion, at moment: Timestamp) async throws -> BackchannelAnswer {
        try await self.store.backchannelAnswer(question, at: moment)
    }

    func grant(_ given: BackchannelGrant, at moment: Timestamp, audit: AuditEvent) async throws {
        try await self.store.grant(given, at: moment, audit: audit)
    }

    func addDeviceCode(_ code: DeviceCodeRecord, keptUntil end: Timestamp) async throws {
        try await self.store.addDeviceCode(code, keptUntil: end)
    }

    func deviceCode(userCode: TypedCode) async throws -> DeviceCodeRecord? {
        try await self.store.deviceCode(userCode: userCode)
    }

    func deviceCode(request: String) async throws -> DeviceCodeRecord? {
        try await self.store.deviceCode(request: request)
    }

    func begin(_ request: AuthorizationRequestRecord, userCode: TypedCode) async throws -> String? {
        try await self.store.begin(request, userCode: userCode)
    }

    func confirm(_ confirmed: ConfirmedDevice, audit: AuditEvent) async throws {
        try await self.store.confirm(confirmed, audit: audit)
    }

    func answer(_ question: PollingQuestion, at moment: Timestamp) async throws -> DeviceAnswer {
        try await self.store.answer(question, at: moment)
    }

    func beginFamily(_ start: RefreshFamilyStart, at moment: Timestamp) async throws -> Bool {
        try await self.store.beginFamily(start, at: moment)
    }

    func lastingGrants(account: String, at moment: Timestamp, limit: Int) async throws -> [GrantListing] {
        try await self.store.lastingGrants(account: account, at: moment, limit: limit)
    }

    func endGrants(_ selection: GrantSelection, account: String, audit: AuditEvent) async throws -> Int {
        try await self.store.endGrants(selection, account: account, audit: audit)
    }

    func addInitialToken(
        _ token: InitialTokenRecord, limit: Int, at moment: Timestamp, audit: AuditEvent
    ) async throws {
        try await self.store.addInitialToken(token, limit: limit, at: moment, audit: audit)
    }

    func initialToken(digest: [UInt8], at moment: Timestamp) async throws -> InitialTokenRecord? {
        try await self.store.initialToken(digest: digest, at: moment)
    }

    func initialTokens(at moment: Timestamp) async throws -> [InitialTokenRecord] {
        try await self.store.initialTokens(at: moment)
    }

    func deleteInitialToken(_ id: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.deleteInitialToken(id, audit: audit)
    }

    func register(
        _ client: ClientRecord, by digest: [UInt8], at moment: Timestamp, limit: Int, audit: AuditEvent
    ) async throws {
        try await self.store.register(client, by: digest, at: moment, limit: limit, audit: audit)
    }

    func addStranger(_ client: ClientRecord, limit: Int, unusedSince: Timestamp, audit: AuditEvent) async throws {
        try await self.store.addStranger(client, limit: limit, unusedSince: unusedSince, audit: audit)
    }

    func takeDeliveries(
        at moment: Timestamp, lease: Timestamp, share: Int, most: Int, underWay: [ExactText: Int]
    ) async throws -> [ClientDelivery] {
        try await self.store.takeDeliveries(at: moment, lease: lease, share: share, most: most, underWay: underWay)
    }

    func removeDelivery(_ delivery: ClientDelivery, audit: AuditEvent?) async throws {
        try await self.store.removeDelivery(delivery, audit: audit)
    }

    func postponeDelivery(_ delivery: ClientDelivery, until moment: Timestamp) async throws {
        try await self.store.postponeDelivery(delivery, until: moment)
    }

    func waitingDeliveries() async throws -> WaitingDeliveries { try await self.store.waitingDeliveries() }

    func endSessions(account: String, audit: AuditEvent) async throws -> Int {
        try await self.store.endSessions(account: account, audit: audit)
    }

    func refresh(
        _ exchange: RefreshExchange, at moment: Timestamp,
        judge: @escaping @Sendable (StandingGrant) throws -> Void
    ) async throws -> RefreshOutcome {
        try await self.store.refresh(exchange, at: moment, judge: judge)
    }

    func grant(_ id: String, token: String?, at moment: Timestamp) async throws -> StandingGrant? {
        try await self.store.grant(id, token: token, at: moment)
    }

    func deleteGrant(_ id: String, client: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.deleteGrant(id, client: client, audit: audit)
    }

    func grant(_ id: String, tokens: [String], at moment: Timestamp) async throws -> StandingGrant? {
        try await self.store.grant(id, tokens: tokens, at: moment)
    }

    func addDeviceSecret(_ secret: DeviceSecretRecord, ofGrant grant: String) async throws -> Bool {
        try await self.store.addDeviceSecret(secret, ofGrant: grant)
    }

    func deviceSecret(digest: [UInt8]) async throws -> HeldDeviceSecret? {
        try await self.store.deviceSecret(digest: digest)
    }

    func addGrant(
        _ grant: GrantRecord, byDeviceSecret digest: [UInt8], redirectURI: String, usedAt moment: Timestamp,
        audit: AuditEvent
    ) async throws {
        try await self.store.addGrant(
            grant, byDeviceSecret: digest, redirectURI: redirectURI, usedAt: moment, audit: audit)
    }

    func deleteDeviceSecret(digest: [UInt8], group: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.deleteDeviceSecret(digest: digest, group: group, audit: audit)
    }

    func isRevoked(tokens: [String]) async throws -> Bool { try await self.store.isRevoked(tokens: tokens) }

    func revokeToken(_ id: String, ofGrant grant: String?, until end: Timestamp) async throws {
        try await self.store.revokeToken(id, ofGrant: grant, until: end)
    }

    func account(subject: String, client: String) async throws -> String? {
        try await self.store.account(subject: subject, client: client)
    }

    func clients(knowingAccount id: String, after client: String?, limit: Int) async throws -> [String] {
        try await self.store.clients(knowingAccount: id, after: client, limit: limit)
    }

    func sweepAuthorizations(at moment: Timestamp, idleSince: Timestamp, limit: Int) async throws -> Int {
        try await self.store.sweepAuthorizations(at: moment, idleSince: idleSince, limit: limit)
    }

    func client(owning resource: String) async throws -> ClientRecord? {
        try await self.store.client(owning: resource)
    }

    func addClient(_ client: ClientRecord, limit: Int, audit: AuditEvent) async throws {
        try await self.store.addClient(client, limit: limit, audit: audit)
    }

    func client(_ id: String) async throws -> ClientRecord? {
        try await self.store.client(id)
    }

    func clients() async throws -> [ClientRecord] {
        try await self.store.clients()
    }

    func hasOrigin(_ origin: String, client: String?) async throws -> Bool {
        try await self.store.hasOrigin(origin, client: client)
    }

    func changeClient(
        _ id: String, change: @escaping @Sendable (inout ClientRecord) throws -> [AuditEvent]
    ) async throws -> ClientRecord? {
        try await self.store.changeClient(id, change: change)
    }

    func deleteClient(_ id: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.deleteClient(id, audit: audit)
    }

    func sessionCount(at moment: Timestamp, idleSince: Timestamp) async throws -> Int {
        try await self.store.sessionCount(at: moment, idleSince: idleSince)
    }

    func session(cookieDigest: [UInt8]) async throws -> SessionRecord? {
        try await self.store.session(cookieDigest: cookieDigest)
    }

    func endSession(_ id: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.endSession(id, audit: audit)
    }

    func sessions(account: String, at moment: Timestamp, idleSince: Timestamp, limit: Int, services: Int) async throws
        -> [SessionListing]
    {
        try await self.store.sessions(
            account: account, at: moment, idleSince: idleSince, limit: limit, services: services)
    }

    func endSession(_ id: String, account: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.endSession(id, account: account, audit: audit)
    }

    func providerKeys(orFirst offered: ProviderKeys) async throws -> ProviderKeys {
        try await self.store.providerKeys(orFirst: offered)
    }

    func providerKeys() async throws -> ProviderKeys {
        try await self.store.providerKeys()
    }

    func addSigningKey(_ key: SigningKeyRecord, audit: AuditEvent) async throws -> ProviderKeys {
        try await self.store.addSigningKey(key, audit: audit)
    }

    func rotateSigningKeys(
        to keys: [SigningKeyRecord], replacing present: [String]?, from takeover: Timestamp,
        forgettingRetiredBefore moment: Timestamp, audit: AuditEvent
    ) async throws -> ProviderKeys {
        try await self.store.rotateSigningKeys(
            to: keys, replacing: present, from: takeover, forgettingRetiredBefore: moment, audit: audit)
    }

    func sealingKeys() async throws -> [String] { try await self.store.sealingKeys() }

    func reseal(
        audit: @escaping @Sendable () -> AuditEvent, told: @escaping @Sendable (Resealed) -> Void
    ) async throws -> Resealed {
        try await self.store.reseal(audit: audit, told: told)
    }
}
