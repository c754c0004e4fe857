import Ceremony
import UAF
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The result of a successful authentication.
public struct AuthenticationSuccess: Sendable {
    /// The account that authenticated.
    public let account: RegisteredAccount
    /// The server's authorization to act for the person, for instance for a further registration; `nil` if the server
    /// gave none.
    public let authorizationProvider: (any AuthorizationProvider)?
    /// The address that completes the sign-in of a browser on this same device: open the address in that browser. The
    /// address works once, and its code is a secret. `nil` if no browser of this device waits, or if the address is not
    /// at a configured host (``ClientConfiguration/redeemHosts``).
    public let location: URL?
    /// The session to which the authentication was bound (``OperationBuilder/sessionProvider(_:)``), as the session
    /// goes on: with a new cookie or a new token, which the app keeps in place of the former. `nil` without a session.
    public let sessionProvider: (any SessionProvider)?
}

extension AuthenticationSuccess: CustomStringConvertible, CustomReflectable {
    /// A description without the address, whose code signs a browser in, and without the token.
    public var description: String {
        "AuthenticationSuccess(hasLocation: \(self.location != nil), hasToken: \(self.authorizationProvider != nil))"
    }
    public var customMirror: Mirror {
        Mirror(self, children: ["account": self.account, "hasLocation": self.location != nil])
    }
}

/// The content that a selector or a confirmer must show before anything is signed, and the record of shown content.
private struct Presentation {
    private let content: Confirmable?
    var disclosure: Disclosure

    init(_ content: Confirmable?) {
        self.content = content
        self.disclosure = Disclosure(hasContent: content != nil)
    }

    /// The content that a screen still has to show.
    var unseen: Confirmable? { self.disclosure.isContentUnseen ? self.content : nil }
}

/// One authentication: its questions on the app's screens, and its answer.
struct AuthenticationRun: Sendable {
    private let core: ClientCore
    private let request: ReceivedRequest
    private let exchange: AuthenticationExchange
    /// The account that the app has named in an authentication started in the app.
    private let username: Username?
    private let session: (any SessionProvider)?
    private let screens: Screens

    init(
        core: ClientCore, recording: Recording, request: ReceivedRequest, username: Username? = nil,
        session: (any SessionProvider)? = nil, screens: Screens
    ) {
        self.core = core
        self.request = request
        self.exchange = AuthenticationExchange(core: core, recording: recording, request: request, session: session)
        self.session = session
        self.username = username
        self.screens = screens
    }

    func run() async throws(OperationError) -> AuthenticationSuccess {
        do {
            return try await self.answer()
        } catch let error as Unanswered {
            throw OperationError(error)
        } catch let denied as Denied {
            await self.exchange.report(denied)
            throw OperationError(translating: denied)
        } catch {
            let failure = FailureReport(error)
            await self.exchange.report(failure.code, failure.asmStatus)
            throw OperationError(translating: error)
        }
    }

    private func answer() async throws -> AuthenticationSuccess {
        try await self.exchange.checkName(where: self.isMeant)
        let prepared = try await self.exchange.prepare()
        guard let selector = self.screens.authenticatorSelector else {
            throw OperationError(.missingInteraction, "no authenticator selector")
        }
        guard self.request.message.numberLength == nil || self.screens.numberMatcher != nil else {
            throw OperationError(.missingInteraction, "no number matcher")
        }
        var presentation = Presentation(try prepared.transaction.map(Confirmable.init))
        let candidates = try await self.candidates(prepared)
        var denier = candidates.first(where: \.record.isIdentityKnown)?.record
        do {
            let candidate = try await self.selectAccount(candidates, prepared, &presentation)
            denier = candidate.record
            return try await self.answer(prepared, by: candidate, selector, &presentation)
        } catch var denied as Denied {
            denied.account = denier
            throw denied
        }
    }

    /// Answers for the chosen account.
    private func answer(
        _ prepared: PreparedAuthentication, by candidate: AuthenticationCandidate,
        _ selector: any AuthenticatorSelector, _ presentation: inout Presentation
    ) async throws -> AuthenticationSuccess {
        try await self.verifyRequester(candidate.record, &presentation.disclosure)
        try await self.confirm(candidate.record, &presentation)
        let number = try await self.number(candidate.record)
        let interaction = await AppInteraction(
            candidate.record.username, self.screens, showing: prepared.transaction, self.core)
        var ways = candidate.ways
        while true {
            let keys = try await self.selectKeys(selector, ways, candidate, &presentation)
            do {
                let response = try await self.exchange.sign(
                    prepared, keys, of: candidate.record, number: number, interaction,
                    try presentation.disclosure.complete())
                let accepted = try await self.exchange.conclude(response, keys, candidate.record)
                return AuthenticationSuccess(
                    account: candidate.record.account,
                    authorizationProvider: accepted.token.map { JwtAuthorizationProvider($0) },
                    location: accepted.location,
                    sessionProvider: self.session.map { self.renewed($0, by: accepted.tokens) })
            } catch let failure as OperationFailure {
                guard
                    let left = failure.ways(
                        leftOf: ways, models: { $0.keys.compactMap { AuthenticatorModel(aaid: $0.aaid) } })
                else { throw failure }
                ways = left
            }
        }
    }

    /// Returns the session as it goes on after the server has accepted the answer.
    private func renewed(_ session: any SessionProvider, by tokens: [Token]) -> any SessionProvider {
        let configuration = self.core.configuration
        guard let url = configuration.address(configuration.authenticationResponsePath) else { return session }
        return session.renewed(by: tokens, from: url, at: self.core.platform.clock.now())
    }

    /// Returns `true` if the account is the account that the app has named. If the app has named no account, every
    /// account matches.
    private func isMeant(_ record: StoredAccount) -> Bool {
        self.username.map { $0.hasSameBytes(as: record.username) } ?? true
    }

    /// Returns the accounts of this server that can meet the policy with the app's screens.
    ///
    /// Throws ``OperationError``: `missingInteraction` if an account could meet the policy with a screen that the app
    /// has not given, else `noSuitableAuthenticator`.
    private func candidates(_ prepared: PreparedAuthentication) async throws -> [AuthenticationCandidate] {
        let all = await self.exchange.candidates(prepared, where: self.isMeant) { self.screens.canVerify($0) }
        let candidates = all.filter { !$0.ways.isEmpty }
        guard !candidates.isEmpty else {
            guard all.allSatisfy(\.unasked.isEmpty) else {
                throw OperationError(.missingInteraction, "no verifier for any authenticator that could answer")
            }
            throw OperationError.fido(.noSuitableAuthenticator, "no account of this device meets the policy")
        }
        return candidates
    }

    /// Returns the content for a selector: nothing if the app has a screen that shows only the content.
    private func exhibit(_ presentation: Presentation) -> Exhibit {
        Exhibit(self.screens.transactionConfirmer == nil ? presentation.unseen : nil)
    }

    private func selectAccount(
        _ candidates: [AuthenticationCandidate], _ prepared: PreparedAuthentication, _ presentation: inout Presentation
    ) async throws -> AuthenticationCandidate {
        if candidates.count == 1, self.username != nil || prepared.namesKeys || self.screens.accountSelector == nil {
            return candidates[0]
        }
        guard let selector = self.screens.accountSelector else {
            throw OperationError(.missingInteraction, "several accounts and no account selector")
        }
        let records = candidates.map(\.record)
        let exhibit = self.exhibit(presentation)
        let context = AccountSelectionContext(
            accounts: records.map(\.account), authenticators: await self.core.descriptors(), exhibit: exhibit,
            requester: await self.core.requester(of: self.request.message, for: records),
            compliant: Dictionary(
                uniqueKeysWithValues: candidates.map { (ExactText($0.record.username), Set($0.ways.map(\.aaid))) }))
        let selection = try await self.core.patience.ask { answer in
            await selector.selectAccount(
                context: context, handler: AccountSelectionHandler(answer: answer, exhibit: exhibit))
        }
        if selection.hasShownContent { presentation.disclosure.contentWasShown() }
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
            // Nothing else can approve the browser. The person is therefore spared the other questions.
            _ = try disclosure.complete()
            return
        }
        let context = RequesterVerificationContext(account: record.account, requester: requester)
        try await self.core.patience.ask { answer in
            await verifier.verifyRequester(context: context, handler: RequesterVerificationHandler(answer: answer))
        }
        disclosure.browserWasApproved()
    }

    private func confirm(_ record: StoredAccount, _ presentation: inout Presentation) async throws {
        guard let confirmer = self.screens.transactionConfirmer, let content = presentation.unseen else { return }
        let context = TransactionConfirmationContext(
            account: record.account, content: content,
            requester: await self.core.requester(of: self.request.message, for: [record]))
        try await self.core.patience.ask { answer in
            await confirmer.confirmTransaction(
                context: context, handler: TransactionConfirmationHandler(answer: answer))
        }
        presentation.disclosure.contentWasShown()
    }

    /// Returns the number that the person types, if the server asks for a number. An answer that is no such number is
    /// asked for again: only the server counts tries, and only of numbers.
    private func number(_ record: StoredAccount) async throws -> String? {
        guard let length = self.request.message.numberLength, let matcher = self.screens.numberMatcher else {
            return nil
        }
        let requester = await self.core.requester(of: self.request.message, for: [record])
        var lastError: NumberMatchError?
        while true {
            let context = NumberMatchContext(
                account: record.account, requester: requester, length: length, lastRecoverableError: lastError)
            let answer = try await self.core.patience.ask { answer in
                await matcher.matchNumber(context: context, handler: NumberMatchHandler(answer: answer))
            }
            if let digits = context.digits(of: answer) { return digits }
            lastError = .invalidNumberFormat
        }
    }

    private func selectKeys(
        _ selector: any AuthenticatorSelector, _ ways: [(aaid: Aaid, keys: [KeyName])],
        _ candidate: AuthenticationCandidate, _ presentation: inout Presentation
    ) async throws -> [KeyName] {
        let aaids = ways.map(\.aaid)
        let exhibit = self.exhibit(presentation)
        let context = AuthenticatorSelectionContext(
            account: candidate.record.account, authenticators: await self.core.descriptors(preferring: aaids),
            exhibit: exhibit,
            requester: await self.core.requester(of: self.request.message, for: [candidate.record]),
            compliant: Set(aaids))
        let selection = try await self.core.patience.ask { answer in
            await selector.selectAuthenticator(
                context: context, handler: AuthenticatorSelectionHandler(answer: answer, exhibit: exhibit))
        }
        if selection.hasShownContent { presentation.disclosure.contentWasShown() }
        guard let way = ways.first(where: { $0.aaid == selection.choice }) else {
            if candidate.unasked.contains(selection.choice) {
                throw OperationError(.missingInteraction, "no verifier for the chosen authenticator")
            }
            throw OperationError.fido(.noSuitableAuthenticator, "the chosen authenticator does not meet the policy")
        }
        return way.keys
    }
}
