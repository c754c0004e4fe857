import Records
import _Primitives

/// Passwords pass through.
extension FailingStore {
    func passwordAccount(username: AccountName) async throws -> PasswordAccount? {
        self.note("passwordAccount")
        return try await self.store.passwordAccount(username: username)
    }

    func passwordAccount(id: String) async throws -> PasswordAccount? {
        self.note("passwordAccount")
        return try await self.store.passwordAccount(id: id)
    }

    func setPassword(_ change: PasswordChange) async throws -> Bool { try await self.store.setPassword(change) }

    func removePassword(accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.removePassword(accountID: accountID, audit: audit)
    }

    func setFactors(_ change: FactorChange) async throws -> Bool { try await self.store.setFactors(change) }

    func removeSecondFactor(accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.removeSecondFactor(accountID: accountID, audit: audit)
    }

    func countAttempt(
        _ holder: AttemptHolder, leaving mail: (MailRecord, most: Int)?,
        judge: @escaping @Sendable (AttemptCount?) -> (AttemptCount, AuditEvent?)?
    ) async throws -> Bool {
        self.note("countAttempt")
        return try await self.store.countAttempt(holder, leaving: mail, judge: judge)
    }

    func reserveAttempt(
        _ holder: AttemptHolder, browser: [UInt8]?, since day: Int64,
        judge: @escaping @Sendable (AttemptHistory) -> AttemptDecision
    ) async throws -> AttemptDecision {
        self.note("reserveAttempt")
        return try await self.store.reserveAttempt(holder, browser: browser, since: day, judge: judge)
    }

    func giveBackAttempt(_ attempt: ReservedAttempt, unlessItMade kept: Int) async throws {
        try await self.store.giveBackAttempt(attempt, unlessItMade: kept)
    }

    func knownVisit(
        accountID: String, network: String, browser: [UInt8]?
    ) async throws -> (network: Timestamp?, browser: KnownBrowserRecord?) {
        self.note("knownVisit")
        return try await self.store.knownVisit(accountID: accountID, network: network, browser: browser)
    }

    func knowBrowser(byLink digest: [UInt8], _ visit: KnownVisit, audit: AuditEvent) async throws -> Bool {
        self.note("knowBrowser")
        return try await self.store.knowBrowser(byLink: digest, visit, audit: audit)
    }

    func advance(_ step: PasswordSignInStep) async throws -> Bool { try await self.store.advance(step) }

    func confirm(
        _ shown: ShownPassword, attempt: ReservedAttempt?, spent: PasswordSignInStep.Spent?, audit: AuditEvent?
    ) async throws -> Bool {
        try await self.store.confirm(shown, attempt: attempt, spent: spent, audit: audit)
    }

    func passwordSignIn(request: String) async throws -> PasswordSignInRecord? {
        try await self.store.passwordSignIn(request: request)
    }

    func deleteAttempts(before moment: Timestamp, day: Int64, limit: Int) async throws -> Int {
        try await self.store.deleteAttempts(before: moment, day: day, limit: limit)
    }
}

/// So does mail.
extension FailingStore {
    func keepAsk(for username: AccountName, at moment: Timestamp, most: Int) async throws -> Bool {
        self.note("keepAsk")
        return try await self.store.keepAsk(for: username, at: moment, most: most)
    }

    func takeAsks(at moment: Timestamp, lease: Timestamp, limit: Int) async throws -> [ResetAsk] {
        try await self.store.takeAsks(at: moment, lease: lease, limit: limit)
    }

    func removeAsk(_ ask: ResetAsk) async throws { try await self.store.removeAsk(ask) }

    func beginLink(of delivery: MailDelivery, until moment: Timestamp) async throws -> Bool {
        try await self.store.beginLink(of: delivery, until: moment)
    }

    func waitingMails() async throws -> WaitingMails { try await self.store.waitingMails() }

    func takeDroppedMails() async throws -> [MailRecord.Subject: Int] { try await self.store.takeDroppedMails() }

    func takeMails(at moment: Timestamp, lease: Timestamp, limit: Int, strangers: Int) async throws -> [MailDelivery] {
        try await self.store.takeMails(at: moment, lease: lease, limit: limit, strangers: strangers)
    }

    func removeMail(_ delivery: MailDelivery, audit: AuditEvent?) async throws {
        try await self.store.removeMail(delivery, audit: audit)
    }

    func postponeMail(_ delivery: MailDelivery, until moment: Timestamp) async throws {
        try await self.store.postponeMail(delivery, until: moment)
    }

    func mailedLink(digest: [UInt8], purpose: MailedLinkRecord.Purpose, at moment: Timestamp) async throws
        -> MailedLinkRecord?
    {
        try await self.store.mailedLink(digest: digest, purpose: purpose, at: moment)
    }

    func confirmAddress(byLink digest: [UInt8], values: Int, audit: AuditEvent) async throws -> AddressConfirmation? {
        try await self.store.confirmAddress(byLink: digest, values: values, audit: audit)
    }

    func deleteMailedLinks(before moment: Timestamp, limit: Int) async throws -> Int {
        try await self.store.deleteMailedLinks(before: moment, limit: limit)
    }
}
