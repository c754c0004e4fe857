import Ceremony
import Foundation
import UAF
import UAFClient
import _Primitives

/// A factor that a person has supplied for an authentication, before it signs.
enum SuppliedFactor: Sendable {
    /// The device itself.
    case device
    /// A PIN, right or wrong: this device does not know.
    case pin(SecretBytes)
    /// A finger or a face.
    case biometric(BiometricWitness)

    /// The factor's type, as roles name the types.
    var type: AuthenticatorType {
        switch self {
        case .device: .device
        case .pin: .pin
        case .biometric: .biometric
        }
    }

    /// The factor's place in the order of signing.
    fileprivate var place: Int {
        switch self {
        case .biometric: 0
        case .pin: 1
        case .device: 2
        }
    }
}

/// A finger or face that a person has shown, or is about to show: the sensor's model, and the texts of its dialog.
///
/// If the operating system checks the person with each signature of a key, the person is asked when the key signs.
/// Otherwise the person was asked before, and the match counts once.
struct BiometricWitness: Sendable {
    let model: AuthenticatorModel
    let prompt: SystemPrompt
    /// A match that is still unused; `nil` if the key's own signature asks the person.
    fileprivate let match: UnusedMatch?
}

/// A match of a sensor, valid for one signature within a short time.
// Safe to share: every access to `isUsed` is within `lock`.
private final class UnusedMatch: @unchecked Sendable {
    /// The maximum time between the recognition of the person and the signature.
    private static let validity = Duration.seconds(120)

    private let lock = NSLock()
    private var isUsed = false
    private let clock: any DeviceClock
    private let made: Duration

    init(clock: any DeviceClock) {
        self.clock = clock
        self.made = clock.uptime()
    }

    /// Returns `true` once, and only while the match is valid.
    func take() -> Bool {
        self.lock.withLock {
            defer { self.isUsed = true }
            let age = self.clock.uptime() - self.made
            return !self.isUsed && age >= .zero && age < Self.validity
        }
    }
}

/// The answers to an identity's authenticators. Only the operating system answers; its dialog has the app's texts.
private struct WitnessInteraction: UserInteraction {
    let witness: BiometricWitness?

    func enrollSecret(_ model: AuthenticatorModel) async throws -> SecretBytes {
        throw UserVerificationError.unavailable
    }

    func verifySecret(_ model: AuthenticatorModel, status: AuthenticatorProtectionStatus, lastError: SecretRefusal?)
        async throws -> SecretBytes
    { throw UserVerificationError.unavailable }

    func verifyBiometric(
        _ model: AuthenticatorModel, hint: String?,
        read: @escaping @Sendable (SystemPrompt) async throws -> BiometricReading
    ) async throws -> BiometricReading {
        guard let witness else { throw UserVerificationError.unavailable }
        // If the app wants another try, it asks again with another factor.
        guard hint == nil else { throw UserVerificationError.cancelled }
        if let match = witness.match, match.take() { return .match }
        return try await read(witness.prompt)
    }

    func verifyDevicePasscode(
        _ model: AuthenticatorModel, ask: @escaping @Sendable (SystemPrompt) async throws -> DevicePasscodeReading
    ) async throws -> DevicePasscodeReading { throw UserVerificationError.unavailable }
}

/// The operations that make the keys of an identity's factors and sign with them.
struct IdentityFactors: Sendable {
    let core: IdentityCore

    // MARK: Fingers and faces

    /// Asks the operating system for a finger or a face: with an identity, for the identity's existing key; without,
    /// for a key that will be made.
    ///
    /// Throws `UserVerificationError`: `unavailable` if no finger or face is enrolled, `cancelled` if the finger or
    /// face did not match or the person cancelled. Throws ``EngineError``: `noSuchFactor` if the identity has no such
    /// key, `factorInvalidated` if the key has ended with another enrolment, `sensorLocked`. Throws
    /// ``OperationFailure`` and `SensorError` if the state is unknown.
    func witness(for identity: StoredIdentity?, prompt: SystemPrompt) async throws -> BiometricWitness {
        let model = try await self.biometricModel(of: identity)
        if let identity { try await self.checkEnrolment(of: identity, model) }
        guard !self.core.module.asksWhileSigning(model) else {
            return BiometricWitness(model: model, prompt: prompt, match: nil)
        }
        guard let sensor = self.sensor(of: model) else { throw UserVerificationError.unavailable }
        let before = try await sensor.enrolledSet()
        switch try await sensor.read(prompt, allowingDevicePasscode: false) {
        case .match: break
        case .noMatch, .cancelled: throw UserVerificationError.cancelled
        case .lockedOut:
            throw EngineError(.sensorLocked, "the operating system has locked the sensor")
        }
        // A person who was enrolled while the dialog waited may have answered the dialog.
        guard try await sensor.enrolledSet() == before else { throw UserVerificationError.cancelled }
        return BiometricWitness(model: model, prompt: prompt, match: UnusedMatch(clock: self.core.platform.clock))
    }

    /// `true` if a finger or a face is enrolled in the operating system for which a key can be made.
    var canEnrollBiometric: Bool { get async { (try? await self.biometricModel(of: nil)) != nil } }

    private func biometricModel(of identity: StoredIdentity?) async throws -> AuthenticatorModel {
        if let identity {
            guard let key = self.biometricKey(of: identity), let model = AuthenticatorModel(aaid: key.aaid) else {
                throw EngineError(.noSuchFactor, "no finger and no face")
            }
            return model
        }
        let available = await self.core.module.authenticators.filter { authenticator in
            authenticator.model.type == .biometric && authenticator.isUserEnrolled && authenticator.makesKeys
        }
        guard let first = available.first else { throw UserVerificationError.unavailable }
        return first.model
    }

    /// Returns `true` if the identity's own finger or face can still sign. A key that has ended is forgotten.
    ///
    /// Throws `UserVerificationError` `unavailable` if no finger or face is enrolled, ``OperationFailure`` and
    /// `SensorError` if the state is unknown, and ``StorageError``.
    func hasBiometric(_ identity: StoredIdentity) async throws -> Bool {
        guard let key = self.biometricKey(of: identity), let model = AuthenticatorModel(aaid: key.aaid) else {
            return false
        }
        do {
            try await self.checkEnrolment(of: identity, model)
            return true
        } catch let error as EngineError where error.cause == .factorInvalidated {
            return false
        }
    }

    /// Checks that an identity's key for a finger or face still exists. Throws ``EngineError`` `factorInvalidated` if
    /// the key is gone, for example because other fingers are enrolled, and `UserVerificationError` `unavailable` if no
    /// finger or face is enrolled.
    private func checkEnrolment(of identity: StoredIdentity, _ model: AuthenticatorModel) async throws {
        guard let key = self.biometricKey(of: identity) else { return }
        // Without any enrolled finger or face, the key does not belong to another enrolment: the missing enrolment is
        // reported as such.
        if let sensor = self.sensor(of: model), try await sensor.enrolledSet() == nil {
            throw UserVerificationError.unavailable
        }
        do {
            try await self.core.module.checkEnrolment(of: key)
        } catch let error as OperationFailure where error.code == .keyDisappearedPermanently {
            throw try self.invalidated(key, of: identity)
        }
    }

    /// Forgets a key that is gone, and returns the error.
    private func invalidated(_ key: KeyName, of identity: StoredIdentity) throws -> EngineError {
        try self.core.register.change(identity) { identity in identity.keys.removeAll { $0 == key } }
        return EngineError(.factorInvalidated, "the enrolment has changed")
    }

    private func sensor(of model: AuthenticatorModel) -> (any BiometricSensor)? {
        model.factor == .face ? self.core.platform.faceSensor : self.core.platform.fingerprintSensor
    }

    private func biometricKey(of identity: StoredIdentity) -> KeyName? {
        identity.keys.last { AuthenticatorModel(aaid: $0.aaid)?.type == .biometric }
    }

    // MARK: Which there are

    /// Returns the types of factors with which an identity can sign on this device.
    func types(of identity: StoredIdentity) -> Set<AuthenticatorType> {
        var types = Set(identity.keys.compactMap { AuthenticatorModel(aaid: $0.aaid)?.type })
        if identity.pin != nil { types.insert(.pin) }
        return types
    }

    // MARK: Registering

    /// Makes a key with each model, and the message for the server. The keys are pending: ``settle(_:isKept:)``.
    ///
    /// Throws ``OperationFailure``, `CancellationError` and ``StorageError``; after an error no key is left.
    func register(
        _ models: [AuthenticatorModel], witness: BiometricWitness?, for target: Target,
        beside others: [EncodedAssertion] = [], finalChallenge: String
    ) async throws -> (keys: [KeyName], message: String) {
        var keys: [RegisteredKey] = []
        do {
            for model in models {
                keys.append(
                    try await self.core.module.register(
                        model, appID: target.appID, username: target.username, finalChallenge: finalChallenge,
                        attestationType: .basicSurrogate, verification: WitnessInteraction(witness: witness)))
            }
        } catch {
            await self.settle(keys.map(\.name), isKept: false)
            throw error
        }
        let response = RegistrationResponse(
            header: OperationHeader(operation: .registration, appID: target.appID), fcParams: finalChallenge,
            assertions: keys.map(\.assertion) + others)
        return (keys.map(\.name), String(decoding: response.serialized, as: UTF8.self))
    }

    /// The account for which new keys are made.
    struct Target: Sendable {
        let appID: String
        let username: String
    }

    /// Returns the final challenge, which all assertions of one message sign.
    func finalChallenge(_ challenge: Challenge, appID: String) -> String {
        FinalChallengeParams(appID: appID, challenge: challenge, facetID: self.core.facetID).encoded
    }

    /// Makes new keys final, or deletes them.
    func settle(_ keys: [KeyName], isKept: Bool) async {
        for key in keys { try? await self.core.module.notify(key, isKept ? .ok : .requestTimeout) }
    }

    // MARK: Signing

    /// Signs with each factor, and makes the message for the server. The person's finger comes first, then the PIN,
    /// then the silent factor. A failure of the finger therefore costs no attempt at the PIN service, and no failure
    /// counts a use of the silent factor.
    ///
    /// - Parameters:
    ///   - pinVersion: The version of the PIN that the server has.
    ///   - service: Evaluates the PIN if its scheme is `pin/2`.
    ///
    /// Throws ``OperationFailure``, ``EngineError`` (`noSuchFactor`, `factorInvalidated`), ``ServerPinError``,
    /// `PinSchemeError`, ``StorageError``, the errors of asking the service, and `CancellationError` until the service
    /// has been asked.
    func sign(
        _ factors: [SuppliedFactor], of identity: StoredIdentity, appID: String, challenge: Challenge,
        pinVersion: UInt32?, service: PinEvaluator, _: Disclosure.Complete
    ) async throws -> String {
        guard appID.hasSameBytes(as: identity.appID) else { throw EngineError(.malformed, "another AppID") }
        let finalChallenge = self.finalChallenge(challenge, appID: appID)
        var assertions: [EncodedAssertion] = []
        var hasAsked = false
        for factor in factors.sorted(by: { $0.place < $1.place }) {
            switch factor {
            case .device:
                let key = identity.keys.last { AuthenticatorModel(aaid: $0.aaid)?.type == .device }
                guard let key else { throw EngineError(.noSuchFactor, "no key of the device") }
                assertions.append(try await self.signature(of: key, appID, finalChallenge, nil))
            case .biometric(let witness):
                guard let key = self.biometricKey(of: identity), key.aaid == witness.model.aaid else {
                    throw EngineError(.noSuchFactor, "no finger and no face")
                }
                do {
                    assertions.append(try await self.signature(of: key, appID, finalChallenge, witness))
                } catch let error as OperationFailure where error.code == .keyDisappearedPermanently {
                    throw try self.invalidated(key, of: identity)
                }
            case .pin(let pin):
                guard let record = identity.pin else { throw EngineError(.noSuchFactor, "no PIN") }
                guard let secret = record.secret(of: pinVersion ?? record.secrets[0].version) else {
                    throw ServerPinError.unknownVersion
                }
                hasAsked = secret.serviceKey != nil
                assertions.append(
                    try await self.pinAuthenticator(of: identity).authenticate(
                        pin: pin, secret: secret, finalChallenge: finalChallenge, service: service))
            }
        }
        // This is the last moment to give up: nothing was sent yet.
        if !hasAsked { try Task.checkCancellation() }
        let response = AuthenticationResponse(
            header: OperationHeader(operation: .authentication, appID: appID), fcParams: finalChallenge,
            assertions: assertions)
        return String(decoding: response.serialized, as: UTF8.self)
    }

    private func signature(
        of key: KeyName, _ appID: String, _ finalChallenge: String, _ witness: BiometricWitness?
    ) async throws -> EncodedAssertion {
        try await self.core.module.authenticate(
            key, appID: appID, finalChallenge: finalChallenge, transaction: nil,
            verification: WitnessInteraction(witness: witness))
    }

    /// Returns the authenticator of an identity's PIN.
    func pinAuthenticator(of identity: StoredIdentity) throws -> ServerPinAuthenticator {
        try self.pinAuthenticator(identity.device, server: identity.server)
    }

    /// Returns the authenticator of the PIN of a device with the keys.
    func pinAuthenticator(_ device: DeviceIdentityKeys, server: String) throws -> ServerPinAuthenticator {
        ServerPinAuthenticator(
            device: try DeviceIdentity(device, server: server, self.core.module, self.core.platform),
            random: self.core.platform.random, keys: self.core.pinKeys)
    }
}
