import Ceremony
import UAF
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What came of an authentication.
public struct AuthenticationResult: Sendable {
    /// Whose it was.
    public let account: Account
    /// What the server gave to act for the person, for instance for a further registration.
    public let authorizationProvider: (any AuthorizationProvider)?
    /// The address that ends the sign-in of a browser on this same device: open it there. It works once, and its code
    /// is a secret.
    public let location: URL?
}

extension AuthenticationResult: CustomStringConvertible, CustomReflectable {
    /// Without the address, whose code signs a browser in, and without the token.
    public var description: String {
        "AuthenticationResult(hasLocation: \(self.location != nil), hasToken: \(self.authorizationProvider != nil))"
    }
    public var customMirror: Mirror {
        Mirror(self, children: ["account": self.account, "hasLocation": self.location != nil])
    }
}

/// One authentication from the server's request to its judgement.
struct AuthenticationRun: Sendable {
    let core: ClientCore
    let recording: Recording
    let request: ReceivedRequest
    /// The account that the app has named, in the app.
    var username: Username?
    let screens: Screens

    /// What the person is to agree to: the bytes, what they are, and their fields where they are a payment.
    private struct Confirmable {
        let data: Data
        let contentType: Transaction.ContentType
        let payment: PaymentDetails?
    }

    /// An account and its ways to answer.
    private struct Candidate {
        let record: AccountRecord
        /// By the authenticator that the person chooses; the server's preference first.
        let ways: [(aaid: Aaid, keys: [KeyName])]
    }

    func run() async throws(OperationError) -> AuthenticationResult {
        do {
            return try await self.answer()
        } catch let error as Unanswered {
            throw OperationError(translating: error.cause)
        } catch {
            throw OperationError(translating: error)
        }
    }

    private func answer() async throws -> AuthenticationResult {
        let message = Array((self.request.message.uafRequest ?? "").utf8)
        let exchange = ServerExchange(core: self.core, recording: self.recording)
        do {
            let prepared = try await self.core.messages(self.recording).prepareAuthentication(
                message, channel: self.request.channel)
            let text = try Self.confirmable(prepared.transaction)
            let candidates = try await self.candidates(prepared)
            let (candidate, wasShown) = try await self.selectAccount(candidates, prepared, text)
            try await self.verifyRequester(candidate.record)
            let interaction = await self.core.interaction(
                candidate.record.username, self.screens, showing: prepared.transaction)
            var ways = candidate.ways
            var signed: (keys: [KeyName], response: ServerResponse)?
            while signed == nil {
                let keys = try await self.selectKeys(ways, candidate.record, wasShown ? nil : text)
                do {
                    signed = (keys, try await self.sign(prepared, keys, interaction, exchange))
                } catch let failure as OperationFailure {
                    guard
                        let left = failure.ways(
                            leftOf: ways, models: { $0.keys.compactMap { AuthenticatorModel(aaid: $0.aaid) } })
                    else { throw failure }
                    ways = left
                }
            }
            guard let (keys, response) = signed else { throw OperationError(.unknown, "no answer") }
            do {
                return try await self.conclude(response, keys, candidate.record, exchange)
            } catch {
                throw Unanswered(cause: error)
            }
        } catch let error as Unanswered {
            throw error
        } catch {
            if let header = self.request.header(of: .authentication) {
                let empty = AuthenticationResponse(header: header, fcParams: "", assertions: []).serialized
                let failure = FailureReport(error)
                await exchange.reportFailure(
                    empty, code: failure.code, asmStatus: failure.asmStatus,
                    path: self.core.configuration.authenticationResponsePath)
            }
            throw error
        }
    }

    private func sign(
        _ prepared: PreparedAuthentication, _ keys: [KeyName], _ interaction: AppInteraction,
        _ exchange: ServerExchange
    ) async throws -> ServerResponse {
        // Until the server has judged: a later signature of the same key must not overtake this one.
        try await self.core.module.withExclusiveUse(of: keys) {
            let answer = try await prepared.authenticate(keys, verification: interaction)
            self.recording.note(.personVerified)
            do {
                return try await exchange.send(
                    answer.message, as: .authenticationSent, context: [:],
                    path: self.core.configuration.authenticationResponsePath)
            } catch {
                throw Unanswered(cause: error)
            }
        }
    }

    /// What to show: a picture of a kind that the app shows as it is; a text only where it reads one way, and does not
    /// pass itself off as a payment without being one.
    private static func confirmable(_ transaction: Transaction?) throws -> Confirmable? {
        guard let transaction else { return nil }
        guard transaction.contentType == .textPlain else {
            return Confirmable(
                data: Data(transaction.content), contentType: transaction.contentType, payment: nil)
        }
        do {
            let text = try TransactionText(received: transaction.content)
            return Confirmable(
                data: Data(text.bytes), contentType: .textPlain,
                payment: try Payment(recognizing: text).map(PaymentDetails.init))
        } catch let error as TransactionTextError {
            throw OperationError.fido(.invalidTransactionContent, "\(error.code)")
        } catch let error as PaymentError {
            throw OperationError.fido(.invalidTransactionContent, "payment: \(error.code)")
        }
    }

    /// The accounts of this server that can meet the policy with what the app can ask for.
    private func candidates(_ prepared: PreparedAuthentication) async throws -> [Candidate] {
        let usable = await self.core.module.authenticators.filter { status in
            status.isSupportedByHardware && self.screens.canVerify(status.model.factor)
        }.map(\.model.aaid)
        let candidates = await self.core.register.records.filter { record in
            record.baseUrl == self.core.configuration.baseUrl && record.appID == prepared.appID
                && self.username.map { $0 == record.username } ?? true
        }.map { record in
            let keys = record.keys.filter { usable.contains($0.aaid) }
            let ways = prepared.selections(among: keys).compactMap { keys in
                keys.first { AuthenticatorModel(aaid: $0.aaid)?.info.isSilent == false }
                    .map { (aaid: $0.aaid.text, keys: keys) }
            }
            return Candidate(record: record, ways: ways)
        }.filter { !$0.ways.isEmpty }
        guard !candidates.isEmpty else {
            throw OperationError.fido(.noSuitableAuthenticator, "no account of this device meets the policy")
        }
        return candidates
    }

    /// The account, and whether the person has seen there what is to be confirmed.
    private func selectAccount(_ candidates: [Candidate], _ prepared: PreparedAuthentication, _ text: Confirmable?)
        async throws -> (Candidate, Bool)
    {
        if candidates.count == 1, self.username != nil || prepared.namesKeys || self.screens.accountSelector == nil {
            return (candidates[0], false)
        }
        guard let selector = self.screens.accountSelector else {
            throw OperationError(.missingInteraction, "several accounts and no account selector")
        }
        let records = candidates.map(\.record)
        let context = AccountSelectionContext(
            accounts: records.map(\.account), authenticators: await self.core.descriptors(),
            transactionConfirmationData: text?.data, transactionConfirmationContentType: text?.contentType,
            payment: text?.payment,
            requester: await self.core.requester(of: self.request.message, for: records),
            compliant: Dictionary(
                uniqueKeysWithValues: candidates.map { ($0.record.username, Set($0.ways.map(\.aaid))) }))
        let username = try await self.core.patience.ask { answer in
            selector.selectAccount(context: context, handler: AccountSelectionHandler(answer: answer))
        }
        guard let chosen = candidates.first(where: { $0.record.username == username }) else {
            throw OperationError.fido(.noSuitableAuthenticator, "the chosen account does not meet the policy")
        }
        return (chosen, true)
    }

    private func verifyRequester(_ record: AccountRecord) async throws {
        guard let verifier = self.screens.requesterVerifier,
            let requester = await self.core.requester(of: self.request.message, for: [record]), requester.isNewBrowser
        else { return }
        let context = RequesterVerificationContext(account: record.account, requester: requester)
        _ = try await self.core.patience.ask { answer in
            verifier.verifyRequester(context: context, handler: RequesterVerificationHandler(answer: answer))
        }
    }

    private func selectKeys(
        _ ways: [(aaid: Aaid, keys: [KeyName])], _ record: AccountRecord, _ text: Confirmable?
    ) async throws -> [KeyName] {
        guard let selector = self.screens.authenticatorSelector else {
            throw OperationError(.missingInteraction, "no authenticator selector")
        }
        let aaids = ways.map(\.aaid)
        let context = AuthenticatorSelectionContext(
            account: record.account, authenticators: await self.core.descriptors(preferring: aaids),
            transactionConfirmationData: text?.data, transactionConfirmationContentType: text?.contentType,
            payment: text?.payment,
            requester: await self.core.requester(of: self.request.message, for: [record]),
            compliant: Set(aaids))
        let aaid = try await self.core.patience.ask { answer in
            selector.selectAuthenticator(context: context, handler: AuthenticatorSelectionHandler(answer: answer))
        }
        guard let way = ways.first(where: { $0.aaid == aaid }) else {
            throw OperationError.fido(.noSuitableAuthenticator, "the chosen authenticator does not meet the policy")
        }
        return way.keys
    }

    /// Which keys of an answer the server does not know: those that its message has the device delete, where it sent
    /// one about them, else all.
    private static func unknown(among keys: [KeyName], in response: ServerResponse) -> [KeyName] {
        guard let message = response.newUAFRequest,
            let request = try? RequestMessage(parsing: message.utf8).request(among: [.uaf11]),
            case .deregistration(let deregistration) = request
        else { return keys }
        let named = keys.filter { key in
            deregistration.authenticators.contains { $0.aaid == key.aaid && $0.keyID == key.keyID }
        }
        return named.isEmpty ? keys : named
    }

    private func conclude(
        _ response: ServerResponse, _ keys: [KeyName], _ record: AccountRecord, _ exchange: ServerExchange
    ) async throws -> AuthenticationResult {
        switch response.statusCode {
        case .ok:
            for key in keys { try await self.core.module.notify(key, .ok) }
            try await self.core.settle(keys, of: record.username, record.appID)
            if let browser = self.request.message.requester?.browserID {
                try await self.core.register.approve(browser: browser, by: record.username)
            }
            let jwt = response.additionalTokens.first { $0.kind == .jwt }
            return AuthenticationResult(
                account: record.account, authorizationProvider: jwt.map { JwtAuthorizationProvider($0.value) },
                location: exchange.continuation(response.location))
        case .unknownKeyID:
            try await self.core.forget(Self.unknown(among: keys, in: response), of: record)
            throw ServerExchange.refused(response.statusCode)
        default: throw ServerExchange.refused(response.statusCode)
        }
    }
}

extension ClientCore {
    /// The device's authenticators, those in `aaids` first and in their order.
    func descriptors(preferring aaids: [Aaid]) async -> [AuthenticatorDescriptor] {
        let all = await self.descriptors()
        let preferred = aaids.reduce(into: [Aaid]()) { if !$0.contains($1) { $0.append($1) } }
        return preferred.compactMap { aaid in all.first { $0.aaid == aaid } }
            + all.filter { !preferred.contains($0.aaid) }
    }

    /// Who asks, fit to be shown. A browser is new where none of the accounts has confirmed anything from it.
    func requester(of request: ReturnUAFRequest, for records: [AccountRecord]) async -> Requester? {
        guard let requester = request.requester else { return nil }
        var isNew = false
        if let browser = requester.browserID {
            isNew = true
            for record in records where await self.register.isApproved(browser: browser, by: record.username) {
                isNew = false
            }
        }
        return Requester(
            service: requester.service.map { DisplayText.line($0) },
            origin: requester.origin.map { DisplayText.origin($0) },
            address: requester.address.map { DisplayText.line($0) },
            browser: requester.browser.map { DisplayText.line($0) }, browserId: requester.browserID,
            isNewBrowser: isNew,
            channel: request.dispatchChannel.map { DisplayText.line($0) })
    }

    /// The app's screens for one operation, as the authenticators see them.
    func interaction(_ username: Username, _ screens: Screens, showing transaction: Transaction? = nil) async
        -> AppInteraction
    {
        let descriptors = Dictionary(
            await self.descriptors().map { ($0.aaid, $0) }, uniquingKeysWith: { first, _ in first })
        return AppInteraction(
            username: username, patience: self.patience, descriptors: descriptors, screens: screens,
            shown: transaction)
    }
}
