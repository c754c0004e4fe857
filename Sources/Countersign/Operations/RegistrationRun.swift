import Ceremony
import UAF
import UAFClient
import _Primitives

/// What came of a registration.
public struct RegistrationResult: Hashable, Sendable {
    /// The account that can answer now, or as soon as the registration is confirmed.
    public let account: Account
    /// There when the registration has to be confirmed where it was asked for: show the number to the person.
    public let confirmation: RegistrationConfirmation?
    /// Whether the keys lie in a store for development: say so to the person.
    public let isDevelopmentStore: Bool
}

/// A number that confirms a registration. Until it is given where the registration was asked for, the server refuses
/// the account's authentications with 1403.
public struct RegistrationConfirmation: Hashable, Sendable {
    /// Decimal digits.
    public let number: String
    /// How long it can be given, from now.
    public let expiresInSeconds: Int
}

/// One registration from the server's request to its judgement.
struct RegistrationRun: Sendable {
    let core: ClientCore
    let recording: Recording
    let request: ReceivedRequest
    /// For whom the app registers, in the app.
    var username: Username?
    let screens: Screens

    /// Unless the server has taken a key, none is left.
    func run() async throws(OperationError) -> RegistrationResult {
        do {
            return try await self.answer()
        } catch let error as Unanswered {
            throw OperationError(translating: error.cause)
        } catch {
            throw OperationError(translating: error)
        }
    }

    private func answer() async throws -> RegistrationResult {
        let message = Array((self.request.message.uafRequest ?? "").utf8)
        let exchange = ServerExchange(core: self.core, recording: self.recording)
        let path = self.core.configuration.registrationResponsePath
        do {
            let prepared = try await self.core.messages(self.recording).prepareRegistration(
                message, channel: self.request.channel)
            guard let username = prepared.request.username.normalizedUsername else {
                throw OperationError.fido(.protocolError, "the server's request is for nobody's name")
            }
            guard self.username.map({ $0.hasSameBytes(as: username) }) ?? true else {
                throw OperationError.fido(.protocolError, "the server's request is for somebody else")
            }
            let interaction = await self.core.interaction(username, self.screens)
            guard let selector = self.screens.authenticatorSelector else {
                throw OperationError(.missingInteraction, "no authenticator selector")
            }
            var (selections, screenless) = try await self.selections(prepared, username)
            while true {
                let selection = try await self.select(selector, among: selections, screenless, username)
                do {
                    try await self.core.makeRoom(
                        for: selection.count, of: await self.core.register.record(of: username))
                    let answer = try await prepared.register(
                        selection, options: self.screens.biometricOptions, verification: interaction)
                    if selection.contains(where: { !$0.info.isSilent }) { self.recording.note(.personVerified) }
                    return try await self.send(answer, for: username, prepared.appID, exchange, path)
                } catch let failure as OperationFailure {
                    guard let left = failure.ways(leftOf: selections, models: { $0 }) else { throw failure }
                    selections = left
                }
            }
        } catch let error as Unanswered {
            throw error
        } catch {
            if let header = self.request.header(of: .registration) {
                let empty = RegistrationResponse(header: header, fcParams: "", assertions: []).serialized
                let failure = FailureReport(error)
                await exchange.reportFailure(empty, code: failure.code, asmStatus: failure.asmStatus, path: path)
            }
            throw error
        }
    }

    /// What meets the policy, of the authenticators that the app can ask for; and by what the person would choose what
    /// needs a screen that the app has not given.
    private func selections(_ prepared: PreparedRegistration, _ username: Username) async throws -> (
        usable: [[AuthenticatorModel]], screenless: Set<Aaid>
    ) {
        let baseUrl = self.core.configuration.baseUrl
        let record = await self.core.register.record(of: username)
        guard record.map({ $0.baseUrl == baseUrl }) ?? true else {
            throw OperationError(.userAlreadyRegisteredInAnotherServer, "another server has an account of that name")
        }
        if let flaw = self.screens.deviceInformation?.flaw {
            throw OperationError(.missingInteraction, "the device cannot have that name: \(flaw)")
        }
        guard await self.core.register.deviceInformation != nil || self.screens.deviceInformation != nil else {
            throw OperationError(.missingInteraction, "the first registration needs a name for the device")
        }
        let supported = await self.core.module.authenticators.filter(\.isSupportedByHardware).map(\.model)
        // A key that cannot answer any more stands in nobody's way.
        let spent = try await self.core.spentKeys(of: record)
        let selections = await prepared.selections(
            among: supported.filter { self.screens.canEnroll($0.factor) }, passingOver: spent)
        let possible = await prepared.selections(among: supported, passingOver: spent)
        guard !selections.isEmpty else {
            guard possible.isEmpty else {
                throw OperationError(.missingInteraction, "no enroller or verifier for any authenticator that fits")
            }
            throw OperationError.fido(.noSuitableAuthenticator, "nothing on this device meets the policy")
        }
        let screenless = Set(possible.map(Self.name)).subtracting(selections.map(Self.name))
        return (selections, screenless)
    }

    /// A person chooses by what they do; what needs nothing of them comes along.
    private static func name(_ selection: [AuthenticatorModel]) -> Aaid {
        (selection.first { !$0.info.isSilent } ?? selection[0]).aaid.text
    }

    /// What to register with: the app's choice among what meets the policy.
    private func select(
        _ selector: any AuthenticatorSelector, among selections: [[AuthenticatorModel]], _ screenless: Set<Aaid>,
        _ username: Username
    ) async throws -> [AuthenticatorModel] {
        let named = selections.map { (aaid: Self.name($0), selection: $0) }
        let exhibit = Exhibit(nil)
        let context = AuthenticatorSelectionContext(
            account: Account(
                username: username, server: Account.Server(baseUrl: self.core.configuration.baseUrl)),
            authenticators: await self.core.descriptors(preferring: named.map(\.aaid)),
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

    private func send(
        _ answer: PreparedAnswer, for username: Username, _ appID: String, _ exchange: ServerExchange, _ path: String
    ) async throws -> RegistrationResult {
        let response: ServerResponse
        var proof: EnrolmentProof?
        do {
            var context: JSONObject = [:]
            context["deviceName"] = self.screens.deviceInformation.map { .string($0.name) }
            // In the app the keys join the device that has authenticated.
            if self.username == nil {
                proof = try await EnrolmentProof(
                    for: answer.keys, of: await self.core.register.record(of: username), self.core)
                proof?.add(to: &context)
            }
            response = try await exchange.sendToTheEnd(
                answer.message, as: .registrationSent, context: context, path: path)
        } catch {
            // The server may have the key all the same, and lists it until its operator takes it away: a key that nobody
            // knows of would be worse, and a new enrolment is the way out of both.
            for key in answer.keys { try? await self.core.module.notify(key, .requestTimeout) }
            throw Unanswered(cause: self.lost(error))
        }
        do {
            guard response.statusCode == .ok || response.statusCode == .accepted else {
                throw ServerExchange.refused(response.statusCode)
            }
            let confirmed = await self.core.confirmedKeys(of: await self.core.register.record(of: username))
            let gone = try await self.core.register.add(
                answer.keys, to: username, baseUrl: self.core.configuration.baseUrl, appID: appID,
                deviceName: self.screens.deviceInformation?.name, confirmed: confirmed,
                enrolment: proof?.enrolment(of: answer.keys))
            // The account is there: what the storage fails at now is done at the next start, or by the first answer.
            for key in gone {
                try? await self.core.module.deregister(appID: appID, aaid: key.aaid, keyID: key.keyID)
            }
        } catch {
            for key in answer.keys { try? await self.core.module.notify(key, .requestTimeout) }
            throw Unanswered(cause: error)
        }
        for key in answer.keys { try? await self.core.module.notify(key, response.statusCode) }
        if response.statusCode == .ok { try? await self.core.settle(answer.keys, of: username, appID) }
        let confirmation = response.confirmation.map {
            RegistrationConfirmation(number: $0.number, expiresInSeconds: $0.expiresInSeconds)
        }
        return RegistrationResult(
            account: Account(
                username: username, server: Account.Server(baseUrl: self.core.configuration.baseUrl)),
            confirmation: response.statusCode == .accepted ? confirmation : nil,
            isDevelopmentStore: self.core.platform.storage.isDevelopmentStore)
    }
}

extension RegistrationRun {
    /// Where the answer of the server is lost: the key is gone from here, and a code is used up.
    private func lost(_ error: any Error) -> OperationError {
        let lost = OperationError(lost: error)
        guard lost.recovery == .checkOutcome else { return lost }
        return OperationError(
            lost.code, fidoErrorCode: lost.fidoErrorCode, httpStatus: lost.httpStatus,
            recovery: self.username == nil ? .enrollAgain : .tryAgain, lost.reason)
    }
}

/// An error after which the server gets no report: it has answered, or the answer is on its way.
struct Unanswered: Error {
    let cause: any Error
}

/// How an error of an operation is named to the server.
struct FailureReport {
    let code: ErrorCode
    let asmStatus: ASMStatusCode?

    init(_ error: any Error) {
        if let failure = error as? OperationFailure {
            self.code = failure.code
            self.asmStatus = failure.asmStatus
        } else {
            self.code =
                OperationError(translating: error).fidoErrorCode.map { ErrorCode(rawValue: $0.rawValue) } ?? .unknown
            self.asmStatus = nil
        }
    }
}
