import Ceremony
import Records
import Sealing
import Settings
import UAF
public import _Primitives

/// A question that a client wants a named person to answer.
public struct BackchannelQuestion: Sendable {
    /// The reference of the client's request. The client collects the outcome by this reference.
    public var reference: String
    /// The identifier of the person's account. A name without an account gets a random identifier, so that the two
    /// cases look the same.
    public var accountID: String
    /// The client's hint about the person, as sent. The person's budget is counted by the hint.
    public var hint: String
    /// The text that the person sees and signs, beside the name of the client.
    public var message: String?
    /// The number that the client shows, and that the person has to type on the phone; `nil` for none.
    public var number: String?
    /// The time until which the question can be answered.
    public var end: Timestamp

    /// Creates a question.
    public init(
        reference: String, accountID: String, hint: String, message: String?, number: String? = nil, end: Timestamp
    ) {
        self.number = number
        self.reference = reference
        self.accountID = accountID
        self.hint = hint
        self.message = message
        self.end = end
    }
}

/// A question that waits for a person, as the person's own phone finds the question.
public struct WaitingQuestion: Sendable, Equatable {
    /// The identifier of the question. The identifier opens nothing.
    public let id: String
    /// The name of the service that asks.
    public let service: String
    /// The web origin of the service that asks.
    public let origin: String?
    /// The link that gives the request to the app on this phone, once. Each device has a link of its own, the same at
    /// each listing.
    public let link: String
    /// The time until which the question can be taken up.
    public let expiresAt: Timestamp
}

/// The state of a question.
public enum BackchannelState: Sendable, Equatable {
    case waiting
    /// The person has refused, or the phone's answer has failed.
    case denied
    /// The question's time is over, or there is no such question.
    case over
    case answered(SignInOutcome)
}

/// Sign-ins without a browser: a client names a person, and the person's phone finds the question and answers.
///
/// No token leaves with the question: the phone requests a token after its person has authenticated in the app. So no
/// other device can take up the question, and nothing has to be sent to the phone.
public struct BackchannelSignIns: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any CeremonyStore & ServiceStore
    let hub: CeremonyHub
    let budgets: Budgets
    let announcements: DeviceAnnouncements

    /// Puts a question to a person, and begins to tell the person's devices.
    ///
    /// The phone shows and signs a message as the text of a transaction. Throws `forbidden` for a service of personalised
    /// identities that may not push (``ServiceProfile/allowsPush``), `invalidRequest` for a message that cannot be shown,
    /// and `tooManyRequests` after the client has used up its budget for this person, or the whole budget.
    @discardableResult
    public func ask(_ question: BackchannelQuestion, client: DispatchingClient) async throws -> DeviceAnnouncement {
        guard try await self.store.serviceProfile(client.id)?.allowsPush ?? true else {
            throw CeremonyError(.forbidden, "a service that may not have people's devices asked")
        }
        var content: [UInt8]?
        if let message = question.message {
            do {
                let text = try TransactionText(shown: message, maximumLength: self.limits.transactionCharacters)
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
                contentType: content.map { Transaction(content: $0).contentType.rawValue }, content: content,
                number: question.number))
        try await self.store.createCeremony(ceremony, tokens: [], audit: nil)
        self.hub.wakeDevices(ofAccount: question.accountID)
        return self.announcements.begin(ceremony)
    }

    /// Returns the questions that wait for a device's person, the newest first, at most ``Limits/activityRows``, each
    /// with the device's own link.
    ///
    /// Cost: one query and one more for each question; the first listing of a question is a store step.
    public func waiting(for device: AuthenticatedDevice) async throws -> [WaitingQuestion] {
        // The phone gets a link, and phones take from a link only tokens that were made for links.
        let offers = try await WaitingOperations(environment: self.environment, store: self.store).offers(
            to: device, over: .link, limit: self.limits.activityRows)
        // A sign-in of a browser is not answered by a link: the browser that opens the link would complete it.
        return try offers.filter { $0.ceremony.reference != nil && !$0.ceremony.isAskedByName }.map { offer in
            let record = offer.ceremony
            return WaitingQuestion(
                id: record.id, service: record.detail.service ?? "", origin: record.detail.origin,
                link: try self.configuration.link(token: offer.token, kind: record.kind),
                expiresAt: record.expiresAt)
        }
    }

    /// Returns the state of a client's question; `over` also for a question that does not exist or belongs to another
    /// client.
    ///
    /// The first call after the person's approval counts as the sign-in: the call writes the audit entry, and leaves a
    /// notice of the sign-in on the person's devices. Later calls return the same answer and leave nothing. A denial
    /// leaves nothing.
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
