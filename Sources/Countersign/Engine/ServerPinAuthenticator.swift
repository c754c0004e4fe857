package import Ceremony
import Crypto
import JOSE
package import UAF
import UAFClient
package import _Primitives

/// The authenticator of the PIN that only the server can judge (decision 58), for one activation.
///
/// The authenticator makes a key of the PIN and of the phone's half, signs once with the key and forgets it. Every
/// PIN signs: no function here says that a PIN is wrong. A holder of the server's key of the PIN can tell from the
/// returned value if the PIN was right. The value leaves the phone sealed to the server, and is not kept.
package struct ServerPinAuthenticator: Sendable {
    private let device: DeviceIdentity
    private let random: RandomSource
    private let keys: PinKeyQueue

    /// Creates the authenticator of an activation. The device seals the secrets to its own key, which is in a chip if
    /// the device has one. `keys` makes the PINs' keys.
    package init(device: DeviceIdentity, random: RandomSource = .system, keys: PinKeyQueue = PinKeyQueue()) {
        self.keys = keys
        self.device = device
        self.random = random
    }

    /// Makes the secret for a new PIN: of a new activation, or at a change. The caller must store the secret before
    /// ``register(pin:secret:finalChallenge:service:)``.
    ///
    /// - Parameter serviceKey: With `pin/2`, the key of the PIN service, with which every evaluation is compared from
    ///   now on.
    ///
    /// Throws `JOSEError`, and `PinSchemeError` `malformed` for an invalid key, or for a key that does not fit the
    /// scheme.
    package func newSecret(
        for context: PinScheme.Context, parameters: PinParameters, serviceKey: [UInt8]? = nil
    ) throws -> ServerPinSecret {
        if let serviceKey { try PinQuestion.check(serviceKey: serviceKey) }
        guard (parameters.scheme == .pin2) == (serviceKey != nil) else {
            throw PinSchemeError(.malformed, "serviceKey")
        }
        return ServerPinSecret(
            context: context, parameters: parameters,
            keyID: try KeyID(self.random.bytes(32)), serviceKey: serviceKey,
            sealed: try self.device.seal(self.random.bytes(PinScheme.phoneHalfBytes)))
    }

    /// Registers a PIN (Register): the public key, attested by itself. `finalChallenge` is the text of the final
    /// challenge parameters, as in all assertions of the response. With `pin/2`, `service` is asked.
    ///
    /// Throws `PinSchemeError` (`notProven` if the PIN service is not the service of the enrolment), ``ServerPinError``
    /// `secretGone`, `StorageError`, `CancellationError`, and the errors of asking.
    package func register(
        pin: SecretBytes, secret: ServerPinSecret, finalChallenge: String, service: PinEvaluator? = nil
    ) async throws -> EncodedAssertion {
        let key = try await self.key(pin, secret, service)
        let data = try KeyRegistrationData(
            aaid: ServerPinModel.aaid, authenticatorVersion: ServerPinModel.authenticatorVersion,
            signatureAlgorithm: ServerPinModel.info.authenticationAlgorithm,
            publicKeyFormat: ServerPinModel.publicKeyFormat,
            finalChallengeHash: FinalChallengeParams.hash(ofEncoded: finalChallenge), keyID: secret.keyID,
            signCounter: 0, registrationCounter: 0,
            publicKey: P256Encoding.bytes(of: key.publicKey, format: ServerPinModel.publicKeyFormat))
        let attestation = Attestation(type: .basicSurrogate, signature: try Self.sign(data.signedBytes, key))
        return EncodedAssertion(
            bytes: try RegistrationAssertion(keyRegistrationData: data, attestation: attestation).serialized())
    }

    /// Signs with a PIN (Sign), right or wrong, for the version that the server has named.
    ///
    /// Throws the errors of ``register(pin:secret:finalChallenge:service:)``.
    package func authenticate(
        pin: SecretBytes, secret: ServerPinSecret, finalChallenge: String, service: PinEvaluator? = nil
    ) async throws -> EncodedAssertion {
        let key = try await self.key(pin, secret, service)
        let data = try SignedData(
            aaid: ServerPinModel.aaid, authenticatorVersion: ServerPinModel.authenticatorVersion, mode: .userVerified,
            signatureAlgorithm: ServerPinModel.info.authenticationAlgorithm, nonce: self.random.bytes(32),
            finalChallengeHash: FinalChallengeParams.hash(ofEncoded: finalChallenge), keyID: secret.keyID,
            signCounter: 0)
        return EncodedAssertion(
            bytes: try AuthenticationAssertion(signedData: data, signature: try Self.sign(data.signedBytes, key))
                .serialized())
    }

    private func key(_ pin: SecretBytes, _ secret: ServerPinSecret, _ service: PinEvaluator?) async throws
        -> P256.Signing.PrivateKey
    {
        guard let serviceKey = secret.serviceKey else {
            return try await self.keys.key(
                pin: pin, phoneHalf: try self.phoneHalf(of: secret), parameters: secret.parameters,
                context: secret.context)
        }
        guard let service else { throw PinSchemeError(.unsupported, "nobody evaluates here") }
        let question = try await service.asked.question(about: pin, of: secret.keyID) {
            try await self.keys.question(
                pin: pin, phoneHalf: try self.phoneHalf(of: secret), parameters: secret.parameters,
                context: secret.context, serviceKey: serviceKey)
        }
        let evaluated = try await service.evaluate(question.blinded)
        return try await self.keys.run { try question.key(evaluated: evaluated) }
    }

    private func phoneHalf(of secret: ServerPinSecret) throws -> SecretBytes {
        let phoneHalf: SecretBytes
        do {
            phoneHalf = SecretBytes(try self.device.open(secret.sealed))
        } catch is JOSEError {
            throw ServerPinError.secretGone
        } catch is DeviceKeyError {
            throw ServerPinError.secretGone
        }
        guard phoneHalf.count == PinScheme.phoneHalfBytes else { throw ServerPinError.secretGone }
        return phoneHalf
    }

    private static func sign(_ message: [UInt8], _ key: P256.Signing.PrivateKey) throws -> [UInt8] {
        try P256Encoding.bytes(
            of: key.signature(for: message), algorithm: ServerPinModel.info.authenticationAlgorithm)
    }
}

extension DeviceIdentity {
    /// Seals a secret that only this device can open again.
    fileprivate func seal(_ secret: [UInt8]) throws(JOSEError) -> String {
        try JWE.seal(secret, to: self.encryptionKey, algorithm: .ecdhES)
    }
}
