import Ceremony
import Records
import Settings
public import UAF
import UAFRelyingParty
public import _Primitives

/// A back end's request to a phone.
public struct DispatchRequest: Sendable {
    /// The name of one of the server's ``Dispatchers``.
    public var dispatcher: String
    /// `dispatchTargetId`: the device that the dispatcher sends to; `nil` for a dispatcher without targets.
    public var target: String?
    /// `dispatchInformation`: data for the dispatcher.
    public var information: JSONObject?
    /// `op` of the wrapped request; `nil` is an authentication.
    public var operation: UAF.Operation?
    /// `context` of the wrapped request.
    ///
    /// For an authentication: `subject` for a known person, `transaction` for a text or a picture or `payment` for
    /// typed fields to agree to, `policy` for a named policy, and `channelLinking` for a text that page and phone show,
    /// if the client may have one. For a registration: `subject` and `policy`. For a deregistration: the context of
    /// ``Deregistrations/deregister(_:client:)``.
    public var context: JSONObject?

    /// Creates a request for a dispatch.
    public init(
        dispatcher: String, target: String? = nil, information: JSONObject? = nil, operation: UAF.Operation?,
        context: JSONObject?
    ) {
        self.dispatcher = dispatcher
        self.target = target
        self.information = information
        self.operation = operation
        self.context = context
    }
}

/// The result of a dispatch (`dispatchResult`).
public enum DispatchResult: String, Sendable, CaseIterable {
    case dispatched, dispatchError, dispatchTargetExpired, dispatchTargetNotFound, dispatcherNotFound, userNotFound
    case internalError

    /// `true` for a result that only a dispatcher with targets has.
    var isOfTarget: Bool { self == .dispatchTargetExpired || self == .dispatchTargetNotFound }
}

/// The answer to a dispatch. Unless the result is `dispatched`, all other members but the dispatcher are missing.
public struct DispatchAnswer: Sendable, Equatable {
    /// The result of the dispatch.
    public var result: DispatchResult
    /// The key for the status service.
    public var sessionID: String?
    /// The token, which the back end should keep to itself; `nil` for a dispatch to a device that the server knows: only
    /// the device can redeem such a token (decision 129).
    public var token: String?
    /// The dispatcher's name as in the request.
    public var dispatcher: String
    /// The link for the phone; `nil` for a dispatcher that makes none.
    public var link: String?
    /// The content for a QR code; `nil` for a dispatcher that makes none.
    public var qrContent: String?
    /// The dispatcher's own text for the back end; `nil` if link and QR code say everything.
    public var response: String?
    /// The time until which the token can be redeemed.
    public var expiresAt: Timestamp?
    /// The number for the back end to show, which the person types on the phone; `nil` for a dispatch without a number.
    public var number: String?
    /// The transactions in the normalised form that the phone shows and signs.
    public var transaction: [Transaction]
    /// The text that the phone shows too, for a comparison by the person; `nil` if the dispatch asked for none.
    public var channelLinking: String?

    init(_ result: DispatchResult, dispatcher: String) {
        self.result = result
        self.dispatcher = dispatcher
        self.transaction = []
    }
}

/// Dispatches: back ends ask a person on a phone.
public struct Dispatches: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & CeremonyStore & DispatchTargetStore & AskingRestStore & PushCountStore
    let hub: CeremonyHub
    let budgets: Budgets
    let subjects: Subjects
    let targets: DispatchTargets
    /// The dispatchers that back ends can use.
    public let dispatchers: Dispatchers

    /// Starts an authentication, a transaction, a registration or a deregistration for a back end.
    ///
    /// An unknown subject is answered with `userNotFound`, an unknown dispatcher with `dispatcherNotFound`, and an
    /// authentication of a person without an active key with `dispatchError`. A dispatcher with targets adds
    /// `dispatchTargetNotFound` and `dispatchTargetExpired`. A dispatcher that fails gives `internalError`. The answer
    /// does not wait for the delivery to a target (``outboxEntry(sleep:report:)``).
    ///
    /// Throws `invalidRequest` for an unknown policy, a context that is not understood, a text that
    /// cannot be shown, a payment with an unacceptable field, a missing target or person, and a target or data that the
    /// dispatcher does not take. Throws `invalidPicture`, `pictureNotShown` if no authenticator of the person can show
    /// the picture, `forbidden` for a registration or a deregistration by a client without the permission and for
    /// channel linking by a client without this setting, and `tooManyRequests` for a client that has used up its budget.
    ///
    /// Past a budget of messages to the person's devices the answer is the usual answer, and no message is sent: the
    /// operation waits in the device's list (``Limits/Push``).
    ///
    /// The audit trail begins with the phone that takes the token: a dispatch that no phone takes leaves no entry. The
    /// exceptions are dispatches that a dispatcher could not deliver, with at most one entry an hour for each client and
    /// dispatcher, and the first message that a budget refuses.
    public func dispatch(_ request: DispatchRequest, client: DispatchingClient) async throws -> DispatchAnswer {
        guard let chosen = try self.dispatchers.dispatcher(of: request) else {
            return DispatchAnswer(.dispatcherNotFound, dispatcher: request.dispatcher)
        }
        switch request.operation {
        case .registration?: return try await self.dispatchRegistration(request, chosen, client)
        case .deregistration?: return try await self.dispatchDeregistration(request, chosen, client)
        case .authentication?, nil: return try await self.dispatchAuthentication(request, chosen, client)
        default: throw CeremonyError(.invalidRequest, "an operation that is not dispatched")
        }
    }

    private func dispatchAuthentication(
        _ request: DispatchRequest, _ chosen: ChosenDispatcher, _ client: DispatchingClient
    ) async throws -> DispatchAnswer {
        let context = try Context(request.context ?? [:], limits: self.limits)
        guard chosen.target == nil || context.subject != nil else {
            throw CeremonyError(.invalidRequest, "a dispatch to a device without the person whose device it is")
        }
        guard !context.linksChannels || client.linksChannels else {
            throw CeremonyError(.forbidden, "the client may not have a text for a comparison")
        }
        _ = try self.rules.value.policy(named: context.policy, for: .authentication)
        let now = self.time.now()
        try self.budgets.countDispatch(of: client.id, subject: context.subject, at: now)
        var accountID: String?
        if let subject = context.subject {
            guard let known = try await self.subjects.accountID(subject, client.id),
                try await self.store.account(id: known) != nil
            else { return DispatchAnswer(.userNotFound, dispatcher: request.dispatcher) }
            let keys = try await self.store.credentials(accountID: known).filter(\.isActive)
            guard !keys.isEmpty else { return DispatchAnswer(.dispatchError, dispatcher: request.dispatcher) }
            if let transaction = context.transaction { try Self.check(transaction, isShownByOneOf: keys) }
            accountID = known
        }
        let expiresAt = now + self.limits.dispatchLifetime
        let text = context.linksChannels ? ChannelLinking.text(self.random) : nil
        let ceremony = CeremonyRecord(
            id: self.newIdentifier(), kind: context.transaction == nil ? .authentication : .transaction,
            clientID: client.id, accountID: accountID, createdAt: now, expiresAt: expiresAt,
            detail: CeremonyDetail(
                service: client.name, origin: client.origin, contentType: context.transaction?.contentType.rawValue,
                content: context.transaction?.content, policy: context.policy,
                number: self.number(for: context, by: chosen, client), channelLinking: text))
        var answer = try await self.offer(ceremony, by: chosen)
        guard answer.result == .dispatched else { return answer }
        answer.number = ceremony.detail.number
        answer.transaction = context.transaction.map { [$0] } ?? []
        answer.channelLinking = text
        return answer
    }

    /// Returns the number for a dispatch to a device, which asks the person without a code; `nil` for every other
    /// dispatch, and for a transaction of a client that shows no numbers. The result of a transaction is signed for the
    /// client and leads to no session (NIST SP 800-63B-4, section 3.1.3).
    private func number(for context: Context, by chosen: ChosenDispatcher, _ client: DispatchingClient) -> String? {
        guard chosen.target != nil, context.transaction == nil || client.matchesNumbers else { return nil }
        return self.random.digits(Limits.Fixed.matchedDigits)
    }

    /// Creates the ceremony of a dispatch, with the message to the target if there is one, and returns the token in the
    /// dispatcher's form. A dispatcher that refuses leaves no ceremony. The token of a dispatch to a device stays with
    /// the message.
    func offer(_ ceremony: CeremonyRecord, by chosen: ChosenDispatcher) async throws -> DispatchAnswer {
        let codes = DispatchCodes(expiresAt: ceremony.expiresAt, random: self.random, limits: self.limits)
        let (name, channel) = (chosen.dispatcher.name, chosen.dispatcher.channel)
        let token = codes.token(of: channel)
        let payload = try self.configuration.payload(token: token, kind: ceremony.kind)
        let operation = DispatchedOperation(
            payload: payload, link: payload.link(base: self.configuration.issuer), accountID: ceremony.accountID,
            expiresAt: ceremony.expiresAt, dispatchInformation: chosen.information)
        switch try await chosen.prepare(operation, for: ceremony, self.targets) {
        case .refused(let result): return DispatchAnswer(result, dispatcher: name)
        case .ready(let information, var message):
            let isForDevice = chosen.dispatcher is any DeviceDispatcher
            // A client that rests for the person gets the usual answer, and the person's device gets no message.
            if message != nil, try await self.isRested(ceremony) { message = nil }
            var ceremony = ceremony
            if let message, isForDevice {
                ceremony.target = CeremonyRecord.Target(deviceID: message.target, dispatcher: name)
            }
            // Without a target, a dispatch to a device has no token: any device could redeem the token.
            let tokens =
                isForDevice && ceremony.target == nil ? [] : codes.records([channel], sealing: self.sealing)
            do {
                // Past a budget the operation waits in the device's list, and the person's device gets no message.
                if message != nil, try await !self.isPushLeft(ceremony) { message = nil }
                try await self.store.createCeremony(
                    ceremony, tokens: tokens,
                    message: message.map {
                        DeviceMessageRecord(dispatcher: name, target: $0.target, content: $0.content)
                    }, audit: nil)
            } catch let error as StoreError where error.code == .notFound {
                return DispatchAnswer(.userNotFound, dispatcher: name)
            }
            if message != nil, let target = ceremony.target { self.hub.wake(.device(target.deviceID)) }
            var answer = DispatchAnswer(.dispatched, dispatcher: name)
            answer.sessionID = ceremony.id
            answer.token = isForDevice ? nil : token
            answer.expiresAt = ceremony.expiresAt
            answer.link = information.link
            answer.qrContent = information.qrContent
            answer.response = information.response
            return answer
        }
    }

    /// Returns `true` if the person has disowned a request of the client a short time ago.
    private func isRested(_ ceremony: CeremonyRecord) async throws -> Bool {
        guard let accountID = ceremony.accountID, let client = ceremony.clientID else { return false }
        return try await self.store.isAskingRested(
            accountID: accountID, requester: client, at: ceremony.createdAt)
    }

    /// Counts a message to the person of a ceremony. Returns `false` if a budget is used up (decision 125). A ceremony
    /// without a person or a client sends no message.
    private func isPushLeft(_ ceremony: CeremonyRecord) async throws -> Bool {
        guard let accountID = ceremony.accountID, let client = ceremony.clientID else { return false }
        let push = PushCount(
            id: self.newIdentifier(), accountID: accountID, requester: client, ceremonyID: ceremony.id,
            at: ceremony.createdAt)
        return try await self.store.countPush(push, bounds: self.limits.push) == nil
    }

    /// Refuses a picture that no authenticator of the person can show. Throws `pictureNotShown` with the displays of
    /// the authenticators: a relying party has no other way to learn which pictures are possible.
    private static func check(_ transaction: Transaction, isShownByOneOf keys: [CredentialRecord]) throws {
        let keys = try keys.map { try RegisteredCredential($0) }
        guard !keys.contains(where: { $0.shows(transaction) }) else { return }
        var displays: [DisplayPNGCharacteristics] = []
        for display in keys.flatMap(\.pictureDisplays) where !displays.contains(display) { displays.append(display) }
        throw CeremonyError(
            .pictureNotShown, "no authenticator of the person shows pictures of this kind", displays: displays)
    }

    /// The members of a dispatch's `context`.
    private struct Context {
        let subject: String?
        let transaction: Transaction?
        let policy: String?
        let linksChannels: Bool

        init(_ object: JSONObject, limits: Limits) throws {
            do {
                let known: Set<ExactText> = [
                    "subject", "transaction", ExactText(Payment.word), "policy", "channelLinking",
                ]
                guard object.members.allSatisfy({ known.contains(ExactText($0.name)) }) else {
                    throw CeremonyError(.invalidRequest, "a context member that is not known")
                }
                self.subject = try object.string("subject")
                self.policy = try object.string("policy")
                self.linksChannels = try object.bool("channelLinking") ?? false
                self.transaction = try Self.transaction(
                    object.array("transaction"), payment: object.object(Payment.word), limits: limits)
            } catch let error as CeremonyError {
                throw error
            } catch let error as TransactionTextError {
                throw CeremonyError(.invalidRequest, "the transaction's text: \(error.code)")
            } catch let error as PaymentError {
                throw CeremonyError(.invalidRequest, "the payment: \(error.code)")
            } catch {
                throw CeremonyError(.invalidRequest, "a context that is not understood")
            }
            guard self.transaction != nil else { return }
            guard self.subject != nil else {
                throw CeremonyError(.invalidRequest, "a transaction without the person who is to agree")
            }
        }

        /// Returns the content for the phone to show and sign: the text or the picture of one transaction, or the text
        /// from typed fields.
        private static func transaction(_ transactions: [JSON]?, payment: JSONObject?, limits: Limits) throws
            -> Transaction?
        {
            let maximumLength = limits.transactionCharacters
            switch (transactions, payment) {
            case (nil, nil): return nil
            case (nil, let payment?):
                return Transaction(content: try Payment(json: payment, maximumLength: maximumLength).text.bytes)
            case (let transactions?, nil):
                // Exactly one text: the person would have to guess the combined meaning of several.
                guard transactions.count == 1, case .object(let content) = transactions[0] else {
                    throw CeremonyError(.invalidRequest, "not exactly one transaction")
                }
                let sent = try Transaction(json: content)
                if sent.contentType == .imagePNG { return try Self.picture(sent, limits: limits) }
                guard sent.contentType == .textPlain, let text = String(validating: sent.content, as: UTF8.self) else {
                    throw CeremonyError(
                        .invalidRequest, "a transaction that is neither plain text in UTF-8 nor a picture")
                }
                return Transaction(content: try TransactionText(shown: text, maximumLength: maximumLength).bytes)
            default: throw CeremonyError(.invalidRequest, "a transaction and a payment")
            }
        }

        /// Returns the picture with the description from the file's own header, in place of the sender's description.
        /// The file must be a whole PNG file that can be read in only one way.
        private static func picture(_ sent: Transaction, limits: Limits) throws -> Transaction {
            guard sent.content.count <= limits.pictureBytes else {
                throw CeremonyError(.invalidPicture, "a picture of more than \(limits.pictureBytes) bytes")
            }
            let found: DisplayPNGCharacteristics
            do { found = try DisplayPNGCharacteristics(ofPNG: sent.content) } catch {
                throw CeremonyError(.invalidPicture, "no whole PNG file without animation (\(error.reason))")
            }
            guard found.interlace == 0 else {
                throw CeremonyError(.invalidPicture, "an interlaced picture, which looks another way while it is drawn")
            }
            guard Int(max(found.width, found.height)) <= limits.picturePixels else {
                throw CeremonyError(.invalidPicture, "a side of more than \(limits.picturePixels) pixels")
            }
            guard sent.pngCharacteristics?.shows(found) ?? true else {
                throw CeremonyError(.invalidPicture, "tcDisplayPNGCharacteristics that are not the picture's")
            }
            return Transaction(contentType: .imagePNG, content: sent.content, pngCharacteristics: found)
        }
    }
}

/// The text that a page and a phone show, so that a person can compare the two (channel linking).
enum ChannelLinking {
    /// Letters and digits that nobody confuses.
    private static let alphabet = Array("23456789ABCDEFGHJKLMNPQRSTUVWXYZ".unicodeScalars)

    /// Returns a new text: four of 32 signs, with the same chance for each.
    static func text(_ random: RandomSource) -> String {
        random.bytes(4).reduce(into: "") { $0.unicodeScalars.append(Self.alphabet[Int($1 & 31)]) }
    }
}
