import Countersign
import CountersignTestKit
import Foundation
import UAF
import UAFClient
import _Primitives

/// The code with which a call ends; `nil` where it does not throw.
func identityError(_ body: () async throws -> Void) async -> CountersignErrorCode? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CountersignError)?.errorCode ?? .unexpected
    }
}

/// The codes with which two calls at once end.
func identityErrors(_ body: @escaping @Sendable () async throws -> Void) async -> [CountersignErrorCode?] {
    async let first = identityError(body)
    async let second = identityError(body)
    return await [first, second]
}

extension VirtualIdentityPhone {
    static let pin = "824193"

    /// A phone that is personalised, and its server.
    static func personalized(
        withFinger: Bool = false, configuration: @Sendable (inout IdentityConfiguration) -> Void = { _ in }
    ) async throws -> VirtualIdentityPhone {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer(), configuration: configuration)
        try await phone.personalize(withFinger: withFinger)
        return phone
    }

    /// What an authentication begins with that somebody elsewhere has begun.
    func data() async throws -> AuthenticationInitializationData {
        try self.authenticationData(try await self.server.authenticationCode())
    }

    func start() async throws -> AuthenticateRequest {
        try await self.sdk.authenticator.startAuthentication(data: try await self.data())
    }

    func prepare() async throws -> AuthenticationUserInformation { try await self.prepare(try await self.data()) }

    /// Prepares what a person has answered, where it is all right.
    func prepare(_ request: AuthenticateRequest) async throws -> AuthenticationUserInformation {
        guard
            case .success(let info) = try await self.sdk.authenticator.prepareAuthenticationUserInformation(
                request: request)
        else { throw WrongCode() }
        return info
    }

    func finish(_ info: AuthenticationUserInformation, _ factors: AuthenticationFactor...) async throws
        -> AuthenticationResult
    {
        for factor in factors { try info.sign(factor: factor) }
        return try await self.sdk.authenticator.finishAuthentication(userInfo: info)
    }

    /// Signs with the device and a PIN, and finishes.
    func finishByPin(_ info: AuthenticationUserInformation, pin: String = Self.pin) async throws -> AuthenticationResult
    {
        try await self.finish(info, DeviceFactor(), PinFactor(pin))
    }

    /// Authenticates with the device and a finger, at a service that asks for both.
    func authenticateByFinger() async throws -> AuthenticationResult {
        await self.server.ask { $0.roles = [("a", "A", [["biometric", "device"]])] }
        let info = try await self.prepare()
        self.sensor.feel(.match)
        let finger = try await self.sdk.biometrics.factor(idmIdentifier: self.server.identifier)
        return try await self.finish(info, DeviceFactor(), finger)
    }

    var activation: String {
        get throws { try self.sdk.personalizer.personalizedIdentities[0].activation }
    }
}

/// How identities come onto a phone.
extension VirtualIdentityPhone {
    /// What an activation's code makes new here, of one of this phone's server where none is given.
    func newIdentity(_ code: String? = nil, pin: String = Self.pin) async throws -> Personalization {
        let code = if let code { code } else { try await self.server.activationCode(pin: pin) }
        guard case .newPersonalization(let personalization) = try await self.open(code, pin: pin) else {
            throw WrongCode()
        }
        return personalization
    }

    /// Personalises the app with a code that is there.
    func personalize(_ code: String, pin: String) async throws {
        try await self.sdk.personalizer.finishPersonalization(request: try await self.newIdentity(code, pin: pin))
    }
}

/// What an authentication permits that was begun for something of the person's own.
extension VirtualIdentityPhone {
    func accessToAddFactor() async throws -> ApiAccessAddFactor {
        let data = try await self.sdk.personalizer.startAddAuthenticationFactor(self.server.identifier)
        guard case .apiAccessAddFactor(let access) = try await self.authenticate(data) else { throw WrongCode() }
        return access
    }

    func accessToChangePin(pin: String = Self.pin) async throws -> ApiAccessChangePin {
        let data = try await self.sdk.personalizer.startChangePin(idmIdentifier: self.server.identifier)
        guard case .apiAccessChangePin(let access) = try await self.authenticate(data, pin: pin) else {
            throw WrongCode()
        }
        return access
    }

    func accessToNewActivation() async throws -> ApiAccessRequestNewActivationData {
        let data = try await self.sdk.personalizer.startRequestNewActivationData(idmIdentifier: self.server.identifier)
        guard case .apiAccessRequestNewActivationData(let access) = try await self.authenticate(data) else {
            throw WrongCode()
        }
        return access
    }

    func accessToDelete() async throws -> ApiAccessDelete {
        let data = try await self.sdk.personalizer.startDeletion(idmIdentifier: self.server.identifier)
        guard case .apiAccessDelete(let access) = try await self.authenticate(data) else { throw WrongCode() }
        return access
    }
}

/// An app on the phone that signs its own person in.
extension VirtualIdentityPhone {
    func inAppData(scope: String = "openid", state: String? = nil) async throws -> AuthenticationInitializationData {
        try await self.sdk.authenticator.fetchInAppAuthenticationInitializationData(
            InAppAuthenticationRequest(
                idmIdentifier: self.server.identifier, clientID: "app", redirectURI: "app:/back", scope: scope,
                state: state, codeChallenge: String(repeating: "a", count: 43)))
    }

    func serviceLogin(state: String? = nil) async throws -> ServiceLoginResult {
        guard case .serviceLogin(let login) = try await self.authenticate(try await self.inAppData(state: state)) else {
            throw WrongCode()
        }
        return login
    }
}

extension TransportRequest {
    /// By what the device proves that the request is its own, where it does.
    var deviceProof: String? { self.headers.first { $0.name == "Device-Proof" }?.value }
}

extension AuthenticationResult {
    var isUserLogin: Bool { if case .userLogin = self { true } else { false } }
    var lockout: LockoutInformation? {
        if case .lockout(let information, _) = self { information } else { nil }
    }
}

/// A PIN that goes when nobody else holds it.
struct WeakPin {
    weak var bytes: SecretBytes?
    var isKept: Bool { self.bytes != nil }
}
