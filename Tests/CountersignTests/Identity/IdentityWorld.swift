import Countersign
import CountersignTestKit
import Foundation
import UAF
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

    func finish(_ info: AuthenticationUserInformation, _ factors: AuthenticationFactor...) async throws
        -> AuthenticationResult
    {
        for factor in factors { try info.sign(factor: factor) }
        return try await self.sdk.authenticator.finishAuthentication(userInfo: info)
    }

    var activation: String {
        get throws { try self.sdk.personalizer.personalizedIdentities[0].activation }
    }
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
