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

    /// An account and its ways to answer.
    private struct Candidate {
        let record: StoredAccount
        /// By the authenticator that the person chooses; the server's preference first.
        let ways: [(aaid: Aaid, keys: [KeyName])]
        /// The authenticators that could answer if the app had a screen for them.
        let screenless: Set<Aaid>
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
            guard let selector = self.screens.authenticatorSelector else {
                throw OperationError(.missingInteraction, "no authenticator selector")
            }
            var disclosure = Disclosure(try prepared.transaction.map(Confirmable.init))
            let candidate = try await self.selectAccount(
                try await self.candidates(prepared), prepared, &disclosure)
            try await self.verifyRequester(candidate.record, &disclosure)
            try await self.confirm(candidate.record, &disclosure)
            let interaction = await self.core.interaction(
                candidate.record.username, self.screens, showing: prepared.transaction)
            var ways = candidate.ways
            var signed: (keys: [KeyName], response: ServerResponse)?
            while signed == nil {
                let keys = try await self.selectKeys(selector, ways, candidate, &disclosure)
                do {
                    signed = (
                        keys, try await self.sign(prepared, keys, interaction, exchange, try disclosure.complete())
                    )
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
                throw Unanswered(cause: OperationError(lost: error))
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
        _ exchange: ServerExchange, _: Disclosure.Complete
    ) async throws -> ServerResponse {
        // Until the server has judged: a later signature of the same key must not overtake this one.
        try await self.core.module.withExclusiveUse(of: keys) {
            let answer = try await prepared.authenticate(keys, verification: interaction)
            self.recording.note(.personVerified)
            // The last moment to give up: nothing has left yet.
            try Task.checkCancellation()
            do {
                return try await exchange.sendToTheEnd(
                    answer.message, as: .authenticationSent, context: [:],
                    path: self.core.configuration.authenticationResponsePath)
            } catch {
                throw Unanswered(cause: OperationError(lost: error))
            }
        }
    }

    /// The accounts of this server that can meet the policy with what the app can ask for.
    ///
    /// Throws ``OperationError``: `missingInteraction` where one could with a screen that the app has not given, else
    /// `noSuitableAuthenticator`.
    private func candidates(_ prepared: PreparedAuthentication) async throws -> [Candidate] {
        let supported = await self.core.module.authenticators.filter(\.isSupportedByHardware).map(\.model)
        let usable = supported.filter { self.screens.canVerify($0.factor) }
        let all = await self.core.register.records.filter { record in
            record.baseUrl == self.core.configuration.baseUrl && record.appID.hasSameBytes(as: prepared.appID)
                && self.username.map { $0.hasSameBytes(as: record.username) } ?? true
        }.map { record in
            let ways = Self.ways(record, prepared, usable)
            let possible = Set(Self.ways(record, prepared, supported).map(\.aaid))
            return Candidate(record: record, ways: ways, screenless: possible.subtracting(ways.map(\.aaid)))
        }
        let candidates = all.filter { !$0.ways.isEmpty }
        guard !candidates.isEmpty else {
            guard all.allSatisfy(\.screenless.isEmpty) else {
                throw OperationError(.missingInteraction, "no verifier for any authenticator that could answer")
            }
            throw OperationError.fido(.noSuitableAuthenticator, "no account of this device meets the policy")
        }
        return candidates
    }

    /// How an account can answer with those models, by the authenticator that the person chooses.
    private static func ways(
        _ record: StoredAccount, _ prepared: PreparedAuthentication, _ models: [AuthenticatorModel]
    ) -> [(aaid: Aaid, keys: [KeyName])] {
        let aaids = models.map(\.aaid)
        return prepared.selections(among: record.keys.filter { aaids.contains($0.aaid) }).compactMap { keys in
            keys.first { AuthenticatorModel(aaid: $0.aaid)?.info.isSilent == false }
                .map { (aaid: $0.aaid.text, keys: keys) }
        }
    }

    /// What a selector gets to show: nothing where the app has a screen for nothing else.
    private func exhibit(_ disclosure: Disclosure) -> Exhibit {
        Exhibit(self.screens.transactionConfirmer == nil ? disclosure.unseen : nil)
    }

    private func selectAccount(
        _ candidates: [Candidate], _ prepared: PreparedAuthentication, _ disclosure: inout Disclosure
    ) async throws -> Candidate {
        if candidates.count == 1, self.username != nil || prepared.namesKeys || self.screens.accountSelector == nil {
            return candidates[0]
        }
        guard let selector = self.screens.accountSelector else {
            throw OperationError(.missingInteraction, "several accounts and no account selector")
        }
        let records = candidates.map(\.record)
        let exhibit = self.exhibit(disclosure)
        let context = AccountSelectionContext(
            accounts: records.map(\.account), authenticators: await self.core.descriptors(), exhibit: exhibit,
            requester: await self.core.requester(of: self.request.message, for: records),
            compliant: Dictionary(
                uniqueKeysWithValues: candidates.map { (ExactText($0.record.username), Set($0.ways.map(\.aaid))) }))
        let selection = try await self.core.patience.ask { answer in
            await selector.selectAccount(
                context: context, handler: AccountSelectionHandler(answer: answer, exhibit: exhibit))
        }
        if selection.hasTakenContent { disclosure.contentWasShown() }
        let name = selection.choice.normalizedUsername
        guard let chosen = candidates.first(where: { name?.hasSameBytes(as: $0.record.username) ?? false }) else {
            throw OperationError.fido(.noSuitableAuthenticator, "the chosen account does not meet the policy")
        }
        return chosen
    }

    private func verifyRequester(_ record: StoredAccount, _ disclosure: inout Disclosure) async throws {
        guard let requester = await self.core.requester(of: self.request.message, for: [record]), requester.isNewBrowser
        else { return }
        disclosure.expectApprovalOfBrowser()
        guard let verifier = self.screens.requesterVerifier else {
            // Nothing else can approve it: the person is spared the other questions.
            _ = try disclosure.complete()
            return
        }
        let context = RequesterVerificationContext(account: record.account, requester: requester)
        try await self.core.patience.ask { answer in
            await verifier.verifyRequester(context: context, handler: RequesterVerificationHandler(answer: answer))
        }
        disclosure.browserWasApproved()
    }

    private func confirm(_ record: StoredAccount, _ disclosure: inout Disclosure) async throws {
        guard let confirmer = self.screens.transactionConfirmer, let content = disclosure.unseen else { return }
        let context = TransactionConfirmationContext(
            account: record.account, content: content,
            requester: await self.core.requester(of: self.request.message, for: [record]))
        try await self.core.patience.ask { answer in
            await confirmer.confirmTransaction(
                context: context, handler: TransactionConfirmationHandler(answer: answer))
        }
        disclosure.contentWasShown()
    }

    private func selectKeys(
        _ selector: any AuthenticatorSelector, _ ways: [(aaid: Aaid, keys: [KeyName])], _ candidate: Candidate,
        _ disclosure: inout Disclosure
    ) async throws -> [KeyName] {
        let aaids = ways.map(\.aaid)
        let exhibit = self.exhibit(disclosure)
        let context = AuthenticatorSelectionContext(
            account: candidate.record.account, authenticators: await self.core.descriptors(preferring: aaids),
            exhibit: exhibit,
            requester: await self.core.requester(of: self.request.message, for: [candidate.record]),
            compliant: Set(aaids))
        let selection = try await self.core.patience.ask { answer in
            await selector.selectAuthenticator(
                context: context, handler: AuthenticatorSelectionHandler(answer: answer, exhibit: exhibit))
        }
        if selection.hasTakenContent { disclosure.contentWasShown() }
        guard let way = ways.first(where: { $0.aaid == selection.choice }) else {
            if candidate.screenless.contains(selection.choice) {
                throw OperationError(.missingInteraction, "no verifier for the chosen authenticator")
            }
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
        _ response: ServerResponse, _ keys: [KeyName], _ record: StoredAccount, _ exchange: ServerExchange
    ) async throws -> AuthenticationResult {
        switch response.statusCode {
        case .ok:
            // It is done, whatever the storage says now: an error would have a payment made twice. What is not written
            // down here is written down after the next answer of these keys, and a browser is asked about once more.
            for key in keys { try? await self.core.module.notify(key, .ok) }
            try? await self.core.settle(keys, of: record.username, record.appID)
            if let browser = self.request.message.requester?.browserID {
                try? await self.core.register.approve(browser: browser, by: record.username)
            }
            let jwt = response.additionalTokens.first { $0.kind == .jwt }
            return AuthenticationResult(
                account: record.account, authorizationProvider: jwt.map { JwtAuthorizationProvider($0.value) },
                location: exchange.continuation(response.location))
        case .unknownKeyID:
            // Where the storage fails, the next answer with these keys ends here again.
            try? await self.core.forget(Self.unknown(among: keys, in: response), of: record)
            throw ServerExchange.refused(response.statusCode)
        default: throw ServerExchange.refused(response.statusCode)
        }
    }
}

extension ClientCore {
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
