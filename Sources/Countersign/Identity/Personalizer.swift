import Ceremony
import Foundation
import UAFClient
public import _Primitives

/// The functions that make identities on this device, change them and remove them.
///
/// Each function has an asynchronous form and a blocking form (`…Synchronous`). Never call the blocking form on the
/// main thread or in a task. Both forms do the same and throw the same errors: ``CountersignError`` and nothing else.
/// Each may throw `notInitialized` and the errors of the network and the server. A function that needs an existing
/// identity may also throw `notPersonalized` and `appRenamed`. A process that a person must confirm begins with
/// `start…`, continues with ``Authenticator``, and ends with `finish…`.
public struct Personalizer: Sendable {
    let life: SDKLife

    // MARK: Personalization

    /// Opens an activation with its PIN. Only the server can judge the PIN.
    ///
    /// Throws ``CountersignError``: `activationDataExpired`, `activationDataConsumed`, `unknownManager`,
    /// `mergeConflict` if the invitation's account cannot be merged into this device's account, `malformedData` for an
    /// empty PIN, `storageUnavailable` if the device has no room for keys; ``CountersignLockoutError`` for a wrong PIN,
    /// and while the activation is locked out; ``CountersignSecurityInsufficientError``.
    public func decryptPersonalizationInitializationData(data: PersonalizationInitializationData, pin: String)
        async throws -> PersonalizationResponse
    { try await self.decryptPersonalizationInitializationData(data: data, pin: SecretBytes(utf8: pin)) }

    /// Does the same as ``decryptPersonalizationInitializationData(data:pin:)-(_,String)``, but blocks.
    public func decryptPersonalizationInitializationDataSynchronous(
        data: PersonalizationInitializationData, pin: String
    ) throws -> PersonalizationResponse {
        let pin = SecretBytes(utf8: pin)
        return try Blocking.wait { try await self.decryptPersonalizationInitializationData(data: data, pin: pin) }
    }

    /// Does the same as ``decryptPersonalizationInitializationData(data:pin:)-(_,String)``, for an app whose keyboard
    /// gives bytes.
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

    /// Makes the identity: its keys, whose public halves the server receives, and its PIN, which is the activation's
    /// PIN.
    ///
    /// Throws ``CountersignError``: `alreadyPersonalized`, `activationDataExpired`, `activationDataConsumed`, the
    /// errors of fingers and faces; `sessionSuperseded` if the PIN was proven on another device in the meantime (open
    /// the code again).
    ///
    /// After `connectionError` and `timeout`, call the function again, with the same request. If the server had already
    /// accepted the keys, the identity is complete; otherwise the keys are sent again. If the app was terminated
    /// meanwhile, open the code again.
    @discardableResult
    public func finishPersonalization(request: Personalization) async throws -> PersonalizedIdentity {
        try await self.life.running { core in
            let identity = try await IdentityActivations(core: core).enroll(
                request.code, name: request.alias ?? core.configuration.deviceName, witness: request.biometric)
            return PersonalizedIdentity(identity, IdentityFactors(core: core).types(of: identity))
        }
    }

    /// Does the same as ``finishPersonalization(request:)``, but blocks.
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

    /// Removes an identity from this device, at once and without a question: its keys are deleted. The server is told
    /// now if it can be reached, otherwise at a later initialisation of the app. The account remains.
    ///
    /// Throws ``CountersignError``: `notPersonalized`, `storageUnavailable`.
    public func depersonalizeIdentityManager(idmIdentifier: String) async throws {
        try await self.life.running { core in
            try await IdentityActivations(core: core).remove(try core.keptIdentity(of: idmIdentifier))
        }
    }

    /// Does the same as ``depersonalizeIdentityManager(idmIdentifier:)``, but blocks.
    public func depersonalizeIdentityManagerSynchronous(idmIdentifier: String) throws {
        try Blocking.wait { try await self.depersonalizeIdentityManager(idmIdentifier: idmIdentifier) }
    }
}
