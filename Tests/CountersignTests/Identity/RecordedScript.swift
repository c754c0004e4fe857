import Countersign
import CountersignTestKit
import Foundation
import PersonalInformation
import UAF
import UAFClient

/// Runs something where an app would block: on a thread that is neither the main one nor a task's.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread { continuation.resume(with: Result { try body() }) }.start()
    }
}

/// An app's whole life with an identity, called by one form of the functions, and what came of each call.
///
/// The answers that a person sees are written down whole; what is new each time, such as identifiers, is not.
actor RecordedScript {
    /// Which form is called.
    enum Form: Sendable { case async, blocking }

    struct Sound: SecurityInspection {
        func inspect() -> SecurityFindings {
            SecurityFindings(checkVersion: 7, osVersion: "Test 1.2", isRooted: false, isHooked: false)
        }
    }

    private let form: Form
    private let sdk = CountersignSDK()
    private let server: VirtualIdentityServer
    private let transport: any Transport
    private let sensor = ScriptedSensor()
    private(set) var record: [String] = []

    init(_ form: Form, through wrap: (VirtualIdentityServer) -> any Transport = { $0 }) throws {
        self.form = form
        self.server = try VirtualIdentityServer()
        self.transport = wrap(self.server)
    }

    /// Calls one of the two forms, and writes down what came of it.
    private func call<Value: Sendable>(
        _ name: String, _ waiting: () async throws -> Value, _ blocking: @escaping @Sendable () throws -> Value,
        _ told: (Value) -> String = { _ in "done" }
    ) async throws -> Value {
        do {
            let value = try await self.form == .async ? waiting() : onThread(blocking)
            self.record.append("\(name): \(told(value))")
            return value
        } catch let error as CountersignLockoutError {
            self.record.append("\(name): \(error), until \(error.information.lockedUntil)")
            throw error
        } catch let error as CountersignError {
            self.record.append("\(name): \(error)")
            throw error
        }
    }

    private func prepare(_ data: AuthenticationInitializationData, givenName: String? = nil) async throws
        -> AuthenticationUserInformation?
    {
        let authenticator = self.sdk.authenticator
        let request = try await self.call(
            "start", { try await authenticator.startAuthentication(data: data) },
            { try authenticator.startAuthenticationSynchronous(data: data) },
            { "\($0.serviceName), \($0.roles.map(\.requestedAuthenticators)), \($0.identitySession.nextRequestUntil)" })
        request.info.givenName?.setValue(value: givenName)
        let result = try await self.call(
            "prepare", { try await authenticator.prepareAuthenticationUserInformation(request: request) },
            { try authenticator.prepareAuthenticationUserInformationSynchronous(request: request) },
            { result in
                switch result {
                case .failure(let request): "failure, \(request.info.givenName?.error.rawValue ?? "")"
                case .success(let info): "success, \(info.requestedAuthenticators)"
                }
            })
        guard case .success(let info) = result else { return nil }
        return info
    }

    private func finish(_ info: AuthenticationUserInformation?, pin: String = VirtualIdentityPhone.pin) async throws
        -> AuthenticationResult
    {
        guard let info else { throw WrongCode() }
        if info.requestedAuthenticators[0].contains(.pin) {
            try info.sign(factor: PinFactor(pin))
        } else {
            let biometrics = self.sdk.biometrics
            let server = self.server.identifier
            self.sensor.feel(.match)
            _ = try await self.call(
                "finger",
                { try info.sign(factor: try await biometrics.factor(idmIdentifier: server)) },
                { try info.sign(factor: try biometrics.factorSynchronous(idmIdentifier: server)) })
        }
        try info.sign(factor: DeviceFactor())
        let authenticator = self.sdk.authenticator
        return try await self.call(
            "finish", { try await authenticator.finishAuthentication(userInfo: info) },
            { try authenticator.finishAuthenticationSynchronous(userInfo: info) },
            { result in
                switch result {
                case .userLogin(let login): "\(login)"
                case .serviceLogin(let login): "\(login.login), until \(login.validUntil as Any)"
                case .lockout(let lockout, _): "\(lockout)"
                case .apiAccessMergeComplete(let server): "merged at \(server)"
                case .apiAccessAddFactor(let access): "\(access)"
                case .apiAccessChangePin(let access): "\(access)"
                case .apiAccessRequestNewActivationData(let access): "\(access)"
                case .apiAccessDelete(let access): "\(access)"
                }
            })
    }

    private func codeData() async throws -> AuthenticationInitializationData {
        try self.sdk.common.parseProcessInitializationData(try await self.server.authenticationCode())
            .authenticationData
    }

    /// Goes through everything that has two forms.
    func run() async throws {
        try await self.begin()
        try await self.personalize()
        try await self.authenticate()
        try await self.signIn()
        try await self.access()
        try await self.end()
        self.record.append(
            contentsOf: await self.server.requests.map { request in
                let parts = request.url.path().split(separator: "/").map { $0.utf8.count == 22 ? "ID" : String($0) }
                return "\(request.method) \(parts.joined(separator: "/"))"
            })
    }

    private func begin() async throws {
        let sdk = self.sdk
        var built = IdentityConfiguration(servers: [self.server.trusted])
        built.facetID = "linux:program:test"
        built.securityInspection = Sound()
        let configuration = built
        let platform = DevicePlatform(
            storage: InMemoryStorage(), fingerprintSensor: self.sensor, clock: FakeClock(wall: self.server.now))
        let transport = self.transport
        for _ in 0..<2 {
            _ = try? await self.call(
                "initialize",
                { try await sdk.initialize(configuration, platform: platform, transport: transport) },
                { try sdk.initializeSynchronous(configuration, platform: platform, transport: transport) })
        }
        _ = try await self.call(
            "refresh", { try await sdk.common.refreshServerKeys() }, { try sdk.common.refreshServerKeysSynchronous() })
        _ = try await self.call(
            "check", { try await sdk.common.executeSecurityCheck() },
            { try sdk.common.executeSecurityCheckSynchronous() },
            { "\($0)" })
    }

    private func open(_ code: String, pin: String) async throws -> PersonalizationResponse {
        let personalizer = self.sdk.personalizer
        let data = try self.sdk.common.parseProcessInitializationData(code).personalizationData
        return try await self.call(
            "decrypt", { try await personalizer.decryptPersonalizationInitializationData(data: data, pin: pin) },
            { try personalizer.decryptPersonalizationInitializationDataSynchronous(data: data, pin: pin) },
            { response in
                switch response {
                case .newPersonalization(let request): "\(request)"
                case .mergePersonalization(let server, _): "merge at \(server)"
                case .alreadyPersonalized(let server): "already at \(server)"
                }
            })
    }

    private func personalize() async throws {
        let pin = VirtualIdentityPhone.pin
        let code = try await self.server.activationCode(pin: pin)
        _ = try? await self.open(code, pin: "824194")
        _ = try? await self.open(code, pin: pin)
        self.server.advance(by: .seconds(6))
        guard case .newPersonalization(let request) = try await self.open(code, pin: pin) else { throw WrongCode() }
        let personalizer = self.sdk.personalizer
        _ = try await self.call(
            "personalize", { try await personalizer.finishPersonalization(request: request) },
            { try personalizer.finishPersonalizationSynchronous(request: request) },
            { "\($0.idmIdentifier), \($0.alias), \($0.enrolledFactors.map(\.rawValue).sorted()), \($0.createdAt)" })
        _ = try? await self.open(code, pin: pin)
        _ = try await self.open(try await self.server.activationCode(pin: "135802"), pin: "135802")
        let invitation = try await self.server.activationCode(pin: "135802", mayMerge: true)
        guard case .mergePersonalization(_, let data) = try await self.open(invitation, pin: "135802") else {
            throw WrongCode()
        }
        let authenticator = self.sdk.authenticator
        let merge = try await self.call(
            "start a merge", { try await authenticator.startAuthentication(data: data) },
            { try authenticator.startAuthenticationSynchronous(data: data) }, { "\($0)" })
        guard
            case .success(let info) = try await authenticator.prepareAuthenticationUserInformation(request: merge)
        else { throw WrongCode() }
        _ = try await self.finish(info)
    }

    private func authenticate() async throws {
        let data = try await self.codeData()
        _ = try await self.finish(try await self.prepare(data))
        _ = try? await self.prepare(data)
        await self.server.ask { $0.attributes = [RequestedAttribute(.givenName)] }
        _ = try await self.prepare(try await self.codeData())
        _ = try await self.finish(try await self.prepare(try await self.codeData(), givenName: "Ada"))
        await self.server.ask { $0.attributes = [] }
        let info = try await self.prepare(try await self.codeData())
        _ = try await self.finish(info, pin: "000000")
        _ = try? await self.finish(info)
        self.server.advance(by: .seconds(61))
        _ = try? await self.finish(info)
        let common = self.sdk.common
        let holder = try await self.prepare(try await self.codeData())
        guard let holder else { throw WrongCode() }
        self.server.advance(by: .seconds(20))
        _ = try await self.call(
            "prolong", { try await common.prolongSession(holder: holder) },
            { try common.prolongSessionSynchronous(holder: holder) }, { "\($0.nextRequestUntil)" })
        for _ in 0..<2 {
            _ = try? await self.call(
                "abort", { try await common.abort(holder) }, { try common.abortSynchronous(holder) })
        }
        await self.server.goDown(true)
        _ = try? await self.call(
            "abort without a network", { try await common.abort(holder) }, { try common.abortSynchronous(holder) })
        await self.server.goDown(false)
    }

    private func signIn() async throws {
        let authenticator = self.sdk.authenticator
        let asked = InAppAuthenticationRequest(
            idmIdentifier: self.server.identifier, clientID: "app", redirectURI: "app:/back", state: "s-1",
            codeChallenge: String(repeating: "a", count: 43))
        let data = try await self.call(
            "in-app", { try await authenticator.fetchInAppAuthenticationInitializationData(asked) },
            { try authenticator.fetchInAppAuthenticationInitializationDataSynchronous(asked) },
            { "\($0), \($0.expiresAt)" })
        guard case .serviceLogin(let login) = try await self.finish(try await self.prepare(data)) else {
            throw WrongCode()
        }
        for _ in 0..<2 {
            _ = try? await self.call(
                "code", { try await authenticator.fetchAuthorizationCode(login) },
                { try authenticator.fetchAuthorizationCodeSynchronous(login) },
                { "\($0.code), \($0.state ?? ""), \($0.issuer)" })
        }
    }

    private func access() async throws {
        let personalizer = self.sdk.personalizer
        let biometrics = self.sdk.biometrics
        let server = self.server.identifier
        let factor = try await self.call(
            "start a factor", { try await personalizer.startAddAuthenticationFactor(server) },
            { try personalizer.startAddAuthenticationFactorSynchronous(server) })
        guard case .apiAccessAddFactor(let added) = try await self.finish(try await self.prepare(factor)) else {
            throw WrongCode()
        }
        _ = try? await self.call(
            "add nothing", { try await personalizer.finishAddAuthenticationFactor(request: added) },
            { try personalizer.finishAddAuthenticationFactorSynchronous(request: added) })
        for set in [nil, Array("enrolled".utf8)] {
            self.sensor.enroll(set)
            _ = try await self.call(
                "sensor", { try await biometrics.isAvailable }, { try biometrics.isAvailableSynchronous }, { "\($0)" })
        }
        self.sensor.feel(.match)
        _ = try await self.call(
            "finger to enrol", { added.setFactor(try await biometrics.factorForEnrolment()) },
            { added.setFactor(try biometrics.factorForEnrolmentSynchronous()) })
        _ = try await self.call(
            "add", { try await personalizer.finishAddAuthenticationFactor(request: added) },
            { try personalizer.finishAddAuthenticationFactorSynchronous(request: added) })
        await self.server.ask { $0.roles = [("a", "A", [["biometric", "device"]])] }
        _ = try await self.finish(try await self.prepare(try await self.codeData()))
        await self.server.ask { $0.roles = [("a", "A", [["pin", "device"]])] }
        let change = try await self.call(
            "start a PIN", { try await personalizer.startChangePin(idmIdentifier: server) },
            { try personalizer.startChangePinSynchronous(idmIdentifier: server) })
        guard case .apiAccessChangePin(let changed) = try await self.finish(try await self.prepare(change)) else {
            throw WrongCode()
        }
        changed.pinSpec.setPin("970358")
        for _ in 0..<2 {
            _ = try? await self.call(
                "change the PIN", { try await personalizer.finishChangePin(request: changed) },
                { try personalizer.finishChangePinSynchronous(request: changed) })
        }
        let activation = try await self.call(
            "start an activation", { try await personalizer.startRequestNewActivationData(idmIdentifier: server) },
            { try personalizer.startRequestNewActivationDataSynchronous(idmIdentifier: server) })
        guard
            case .apiAccessRequestNewActivationData(let made) = try await self.finish(
                try await self.prepare(activation), pin: "970358")
        else { throw WrongCode() }
        made.pinSpec.setPin("735041")
        let code = try await self.call(
            "make an activation", { try await personalizer.finishRequestNewActivationData(made) },
            { try personalizer.finishRequestNewActivationDataSynchronous(made) })
        _ = try await self.open(code, pin: "735041")
    }

    private func end() async throws {
        let personalizer = self.sdk.personalizer
        let server = self.server.identifier
        let deletion = try await self.call(
            "start a deletion", { try await personalizer.startDeletion(idmIdentifier: server) },
            { try personalizer.startDeletionSynchronous(idmIdentifier: server) })
        guard
            case .apiAccessDelete(let access) = try await self.finish(
                try await self.prepare(deletion), pin: "970358")
        else { throw WrongCode() }
        _ = try await self.call(
            "delete", { try await personalizer.finishDeletion(request: access) },
            { try personalizer.finishDeletionSynchronous(request: access) })
        let pin = VirtualIdentityPhone.pin
        let code = try await self.server.activationCode(pin: pin)
        guard case .newPersonalization(let request) = try await self.open(code, pin: pin) else { throw WrongCode() }
        try await personalizer.finishPersonalization(request: request)
        for _ in 0..<2 {
            _ = try? await self.call(
                "depersonalize", { try await personalizer.depersonalizeIdentityManager(idmIdentifier: server) },
                { try personalizer.depersonalizeIdentityManagerSynchronous(idmIdentifier: server) })
        }
    }
}
