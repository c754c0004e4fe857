import Ceremony
import Store
import UAF
public import _Primitives

/// What a client wants asked of a person whom it names.
public struct BackchannelQuestion: Sendable {
    /// What is answered by it, in whose name the outcome is taken up.
    public var reference: String
    /// Whom the client means; a random identifier where that is nobody, so that nothing tells the two apart.
    public var accountID: String
    /// What the budget of the person is counted by: what the client has said.
    public var hint: String
    /// What the person is to see and sign, beside who asks.
    public var message: String?
    /// Until when it can be answered.
    public var end: Timestamp

    /// A question.
    public init(reference: String, accountID: String, hint: String, message: String?, end: Timestamp) {
        self.reference = reference
        self.accountID = accountID
        self.hint = hint
        self.message = message
        self.end = end
    }
}

/// A question that waits for a person, as their own phone finds it.
public struct WaitingQuestion: Sendable, Equatable {
    /// Its name. It opens nothing.
    public let id: String
    /// Who asks.
    public let service: String
    /// The web origin of who asks.
    public let origin: String?
    /// The link that gives the request to the app on this phone, once. Listing the questions again makes another, and this
    /// one dies.
    public let link: String
    /// Until when it can be taken up.
    public let expiresAt: Timestamp
}

/// What has become of a question.
public enum BackchannelState: Sendable, Equatable {
    case waiting
    case denied
    /// Its time is over, or there is no such question.
    case over
    case answered(SignInOutcome)
}

/// Sign-ins without a browser: a client names a person, whose phone finds the question and answers it.
///
/// No token leaves with the question: the phone asks for one, after its person has authenticated in the app. So nobody else
/// can take the question up, and nothing has to reach the phone.
public struct BackchannelSignIns: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any CeremonyStore
    let budgets: Budgets

    /// Has a person asked.
    ///
    /// A message is shown and signed as a transaction's text. Throws `invalidRequest` for one that cannot be shown, and
    /// `tooManyRequests` for a client that has used up its budget for this person, or altogether.
    public func ask(_ question: BackchannelQuestion, client: DispatchingClient) async throws {
        var content: [UInt8]?
        if let message = question.message {
            do {
                let text = try TransactionText(normalizing: message, maximumLength: self.limits.transactionCharacters)
                // A phone would refuse a text that only looks like a payment.
                _ = try Payment(recognizing: text)
                content = text.bytes
            } catch {
                throw CeremonyError(.invalidRequest, "the message cannot be shown: \(error)")
            }
        }
        let now = self.time.now()
        try self.budgets.countDispatch(of: client.id, subject: question.hint, at: now)
        let ceremony = CeremonyRecord(
            id: self.newIdentifier(), kind: content == nil ? .authentication : .transaction, clientID: client.id,
            reference: question.reference, accountID: question.accountID, createdAt: now, expiresAt: question.end,
            detail: CeremonyDetail(
                service: client.name, origin: client.origin,
                contentType: content.map { Transaction(content: $0).contentType.rawValue }, content: content))
        try await self.store.createCeremony(ceremony, tokens: [], audit: nil)
    }

    /// The questions that wait for a person, the newest first, each with a new link.
    public func waiting(accountID: String) async throws -> [WaitingQuestion] {
        let now = self.time.now()
        var questions: [WaitingQuestion] = []
        for id in try await self.store.waitingQuestions(
            accountID: accountID, at: now, limit: self.limits.activityRows)
        {
            let codes = DispatchCodes(expiresAt: now, random: self.random, limits: self.limits)
            let record = try await self.store.change(.id(id)) { record in
                var change = CeremonyChange()
                // Another phone may have been quicker.
                guard record.phase == .created else { return change }
                change.newTokens = [
                    DispatchTokenRecord(
                        digest: Sealing.digest(ofSecret: codes.linkToken), channel: .link, expiresAt: record.expiresAt)
                ]
                change.tokensKeptSince = now - self.limits.replacedCodeRetention
                return change
            }
            guard let record, record.phase == .created else { continue }
            questions.append(
                WaitingQuestion(
                    id: record.id, service: record.detail.service ?? "", origin: record.detail.origin,
                    link: try self.configuration.link(token: codes.linkToken, kind: record.kind),
                    expiresAt: record.expiresAt))
        }
        return questions
    }

    /// What has become of a question of a client's. An answer leaves the person's devices a notice, the first time that it
    /// is asked for.
    public func state(reference: String, client: String) async throws -> BackchannelState {
        let now = self.time.now()
        guard let record = try await self.store.ceremony(.reference(reference)), record.browserDigest == nil,
            record.clientID?.hasSameBytes(as: client) ?? false
        else { return .over }
        switch (record.phase, record.outcome) {
        case (.ended, .succeeded): break
        case (.ended, .denied), (.ended, .failed): return .denied
        case (.ended, _): return .over
        default: return now < record.expiresAt ? .waiting : .over
        }
        let noticeID = self.newIdentifier()
        let taken = try await self.store.change(.reference(reference)) { record in
            var change = CeremonyChange()
            guard !record.isConsumed, let accountID = record.accountID else { return change }
            record.isConsumed = true
            let detail = AuditEvent.signInDetail(service: client, methods: record.methods)
            change.audit = [
                AuditEvent(.signedIn, at: now, accountID: accountID, ceremonyID: record.id, detail: detail)
            ]
            change.notices = [
                NoticeRecord(
                    id: noticeID, accountID: accountID, kind: .signedIn, at: now, subject: record.detail.service ?? "")
            ]
            return change
        }
        guard let taken, let accountID = taken.accountID else { return .over }
        return .answered(
            SignInOutcome(
                accountID: accountID, authTime: taken.changedAt, amr: taken.methods, acr: taken.assurance, browser: nil,
                address: nil, deviceID: taken.deviceID, contentHash: taken.contentHash, role: nil))
    }
}
