import Ceremony
import Foundation
import UAFClient
public import _Primitives

/// Makes identities on this device, changes them and takes them away.
///
/// Each function has a form that waits asynchronously, and one that blocks (`…Synchronous`): never call that one on the main
/// thread, or in a task. They do the same and throw the same: ``CountersignError``, and nothing else. What a person has to
/// confirm begins with `start…`, goes on with ``Authenticator``, and ends with `finish…`.
public struct Personalizer: Sendable {
    let life: SDKLife

    // MARK: Personalization

    /// Opens an activation with the PIN that goes with it. Only the server can say whether it is the right one.
    ///
    /// Throws ``CountersignError``: `activationDataExpired`, `activationDataConsumed`, `unknownManager`, `malformedData` for
    /// an empty PIN, `storageUnavailable` where the device has no room for keys; ``CountersignLockoutError`` for a wrong PIN,
    /// and while the activation rests; ``CountersignSecurityInsufficientError``.
    public func decryptPersonalizationInitializationData(data: PersonalizationInitializationData, pin: String)
        async throws -> PersonalizationResponse
    { try await self.decryptPersonalizationInitializationData(data: data, pin: SecretBytes(utf8: pin)) }

    /// As ``decryptPersonalizationInitializationData(data:pin:)-(_,String)``. It blocks.
    public func decryptPersonalizationInitializationDataSynchronous(
        data: PersonalizationInitializationData, pin: String
    ) throws -> PersonalizationResponse {
        let pin = SecretBytes(utf8: pin)
        return try Blocking.wait { try await self.decryptPersonalizationInitializationData(data: data, pin: pin) }
    }

    /// As ``decryptPersonalizationInitializationData(data:pin:)-(_,String)``, for an app whose keyboard gives bytes.
    public func decryptPersonalizationInitializationData(data: PersonalizationInitializationData, pin: SecretBytes)
        async throws -> PersonalizationResponse
    {
        try await self.life.running { core in
            await IdentityActivations(core: core).settleInterrupted(at: data.idmIdentifier)
            let code = try await IdentityActivations(core: core).open(data.code, pin: pin)
            guard code.device == nil else { return .newPersonalization(Personalization(code)) }
            guard code.proven.mayMerge else { return .alreadyPersonalized(idmIdentifier: data.idmIdentifier) }
            let offer = try await IdentitySessions(core: core).offer(
                AccessRequest(
                    purpose: .merge, token: code.proven.token, invitation: code.proven.activation),
                at: data.idmIdentifier)
            return .mergePersonalization(
                data.idmIdentifier,
                AuthenticationInitializationDataWithSession(
                    data: AuthenticationInitializationData(offer, at: data.idmIdentifier, for: .merge)))
        }
    }

    /// Makes the identity: its keys, of which the server gets the public halves, and its PIN, which stays the activation's.
    ///
    /// Throws ``CountersignError``: `alreadyPersonalized`, `activationDataExpired`, `activationDataConsumed`, the errors of
    /// fingers and faces; `sessionSuperseded` where the PIN was proven on another device in between: open the code again. After `connectionError` and `timeout` call it again, with the same request: what the server had taken
    /// already is this identity, and what did not arrive is sent again. Where the app was ended meanwhile, open the code again.
    @discardableResult
    public func finishPersonalization(request: Personalization) async throws -> PersonalizedIdentity {
        try await self.life.running { core in
            let identity = try await IdentityActivations(core: core).enroll(
                request.code, name: request.alias ?? core.configuration.deviceName, witness: request.biometric)
            return PersonalizedIdentity(identity, IdentityFactors(core: core).types(of: identity))
        }
    }

    /// As ``finishPersonalization(request:)``. It blocks.
    @discardableResult
    public func finishPersonalizationSynchronous(request: Personalization) throws -> PersonalizedIdentity {
        try Blocking.wait { try await self.finishPersonalization(request: request) }
    }

    // MARK: What there is

    /// The identities on this device, oldest first. Throws ``CountersignError`` `notInitialized`.
    public var personalizedIdentities: [PersonalizedIdentity] {
        get throws {
            let core = try self.life.core()
            return core.register.identities.filter { $0.state == .active }.map {
                PersonalizedIdentity($0, IdentityFactors(core: core).types(of: $0))
            }
        }
    }

    /// Takes an identity off this device, at once and without a question: its keys are gone. The server is told now where it
    /// can be reached, and else the next time that the app is initialised. The account stays.
    ///
    /// Throws ``CountersignError``: `notPersonalized`, `storageUnavailable`.
    public func depersonalizeIdentityManager(idmIdentifier: String) async throws {
        try await self.life.running { core in
            try await IdentityActivations(core: core).remove(try core.keptIdentity(of: idmIdentifier))
        }
    }

    /// As ``depersonalizeIdentityManager(idmIdentifier:)``. It blocks.
    public func depersonalizeIdentityManagerSynchronous(idmIdentifier: String) throws {
        try Blocking.wait { try await self.depersonalizeIdentityManager(idmIdentifier: idmIdentifier) }
    }
}
