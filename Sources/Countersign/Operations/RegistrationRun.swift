import Ceremony
import UAF
import UAFClient
import _Primitives

/// The result of a registration.
public struct RegistrationResult: Hashable, Sendable {
    /// The account that can answer now, or as soon as the registration is confirmed.
    public let account: RegisteredAccount
    /// The number that confirms the registration; show it to the person. `nil` if the registration needs no
    /// confirmation at the place where it was requested.
    public let confirmation: RegistrationConfirmation?
    /// `true` if the keys are stored in a store for development: tell the person.
    public let isDevelopmentStore: Bool
}

/// A number that confirms a registration. Until the person enters the number at the place where the registration was
/// requested, the server refuses authentications with the new keys (1403). This device signs with an account's newest
/// keys.
public struct RegistrationConfirmation: Hashable, Sendable {
    /// The number in decimal digits.
    public let number: String
    /// The time in seconds, from the server's answer, during which the number can be entered.
    public let expiresInSeconds: Int
}

/// One registration: its questions on the app's screens, and its answer.
struct RegistrationRun: Sendable {
    private let core: ClientCore
    private let request: ReceivedRequest
    private let exchange: RegistrationExchange
    /// The person for whom the app registers, in a registration started in the app.
    private let username: Username?
    private let screens: Screens

    init(core: ClientCore, recording: Recording, request: ReceivedRequest, username: Username? = nil, screens: Screens)
    {
        self.core = core
        self.request = request
        self.exchange = RegistrationExchange(core: core, recording: recording, request: request)
        self.username = username
        self.screens = screens
    }

    /// Runs the registration. Unless the server has accepted a key, no key is left on the device.
    func run() async throws(OperationError) -> RegistrationResult {
        do {
            return try await self.answer()
        } catch let error as Unanswered {
            throw self.ended(by: error)
        } catch {
            let failure = FailureReport(error)
            await self.exchange.report(failure.code, failure.asmStatus)
            throw OperationError(translating: error)
        }
    }

    private func answer() async throws -> RegistrationResult {
        let prepared = try await self.exchange.prepare()
        guard let username = prepared.request.username.normalizedUsername else {
            throw OperationError.fido(.protocolError, "the server's request is for nobody's name")
        }
        guard self.username.map({ $0.hasSameBytes(as: username) }) ?? true else {
            throw OperationError.fido(.protocolError, "the server's request is for somebody else")
        }
        let interaction = await AppInteraction(username, self.screens, self.core)
        guard let selector = self.screens.authenticatorSelector else {
            throw OperationError(.missingInteraction, "no authenticator selector")
        }
        let owner = RegistrationExchange.Owner(
            account: AccountKey(server: self.core.configuration.baseURL, username: username), username: username,
            device: self.screens.deviceInformation.map {
                StoredDevice(
                    name: $0.name, pushAddress: $0.pushAddress, isPushEnabled: $0.isPushEnabled,
                    random: self.core.platform.random)
            }, joinsDevice: self.username != nil)
        var (selections, screenless) = try await self.selections(prepared, owner)
        while true {
            let selection = try await self.select(selector, among: selections, screenless, username)
            do {
                return self.result(
                    try await self.exchange.register(
                        prepared, selection, for: owner, options: self.screens.biometricOptions,
                        verification: interaction), username)
            } catch let failure as OperationFailure {
                guard let left = failure.ways(leftOf: selections, models: { $0 }) else { throw failure }
                selections = left
            }
        }
    }

    /// Returns the combinations of authenticators that meet the policy with the app's screens, and the authenticators
    /// that meet the policy but need a screen that the app has not given. Each of the latter is named by the
    /// authenticator that a person would choose.
    private func selections(_ prepared: PreparedRegistration, _ owner: RegistrationExchange.Owner) async throws -> (
        usable: [[AuthenticatorModel]], screenless: Set<Aaid>
    ) {
        let namesakes = await self.core.register.records.filter {
            $0.username.hasSameBytes(as: owner.username) && $0.key.server != owner.account.server
        }
        guard namesakes.isEmpty else {
            throw OperationError(.userAlreadyRegisteredInAnotherServer, "another server has an account of that name")
        }
        if let flaw = self.screens.deviceInformation?.flaw {
            throw OperationError(.missingInteraction, "the device's information: \(flaw)")
        }
        guard await self.core.register.device != nil || self.screens.deviceInformation != nil else {
            throw OperationError(.missingInteraction, "the first registration needs a name for the device")
        }
        let (usable, possible) = try await self.exchange.selections(
            prepared, over: await self.core.register.record(of: owner.account),
            options: self.screens.biometricOptions, canEnroll: { self.screens.canEnroll($0) })
        guard !usable.isEmpty else {
            guard possible.isEmpty else {
                throw OperationError(.missingInteraction, "no enroller or verifier for any authenticator that fits")
            }
            throw OperationError.fido(.noSuitableAuthenticator, "nothing on this device meets the policy")
        }
        return (usable, Set(possible.map(Self.name)).subtracting(usable.map(Self.name)))
    }

    /// Returns the authenticator by which a person chooses a combination: the authenticator with an action of the
    /// person. Silent authenticators come along.
    private static func name(_ selection: [AuthenticatorModel]) -> Aaid {
        (selection.first { !$0.info.isSilent } ?? selection[0]).aaid.text
    }

    /// Returns the combination to register: the app's choice among the combinations that meet the policy.
    private func select(
        _ selector: any AuthenticatorSelector, among selections: [[AuthenticatorModel]], _ screenless: Set<Aaid>,
        _ username: Username
    ) async throws -> [AuthenticatorModel] {
        let named = selections.map { (aaid: Self.name($0), selection: $0) }
        let exhibit = Exhibit(nil)
        let context = AuthenticatorSelectionContext(
            account: RegisteredAccount(
                username: username, server: RegisteredAccount.Server(baseURL: self.core.configuration.baseURL)),
            authenticators: await self.core.descriptors(
                preferring: named.map(\.aaid), with: self.screens.biometricOptions),
            exhibit: exhibit, requester: await self.core.requester(of: self.request.message, for: []),
            compliant: Set(named.map(\.aaid)))
        let aaid = try await self.core.patience.ask { answer in
            await selector.selectAuthenticator(
                context: context, handler: AuthenticatorSelectionHandler(answer: answer, exhibit: exhibit))
        }.choice
        guard let chosen = named.first(where: { $0.aaid == aaid }) else {
            if screenless.contains(aaid) {
                throw OperationError(.missingInteraction, "no enroller or verifier for the chosen authenticator")
            }
            throw OperationError.fido(.noSuitableAuthenticator, "the chosen authenticator does not meet the policy")
        }
        return chosen.selection
    }

    private func result(_ response: ServerResponse, _ username: Username) -> RegistrationResult {
        let confirmation = response.confirmation.map {
            RegistrationConfirmation(number: $0.number, expiresInSeconds: $0.expiresInSeconds)
        }
        return RegistrationResult(
            account: RegisteredAccount(
                username: username, server: RegisteredAccount.Server(baseURL: self.core.configuration.baseURL)),
            confirmation: response.statusCode == .accepted ? confirmation : nil,
            isDevelopmentStore: self.core.platform.storage.isDevelopmentStore)
    }

    /// Returns the error for the app. If the server's answer is lost, the key is gone from this device, and the token
    /// of an out-of-band registration is used up.
    private func ended(by error: Unanswered) -> OperationError {
        let known = OperationError(error)
        guard error.isJudgementLost, known.recovery == .checkOutcome else { return known }
        return OperationError(
            known.code, fidoErrorCode: known.fidoErrorCode, httpStatus: known.httpStatus,
            recovery: self.username == nil ? .enrollAgain : .tryAgain, known.reason)
    }
}
