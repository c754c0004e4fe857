import Crypto
public import UAF
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A new key, as the authenticator attests it.
public struct RegisteredKey: Hashable, Sendable {
    /// The new key's name.
    public let name: KeyName
    /// The attestation for the server.
    public let assertion: EncodedAssertion
}

extension AuthenticatorModule {
    /// Makes a key (Register): verifies or enrols the person, then attests the new key by itself.
    ///
    /// The key is pending until ``notify(_:_:)`` hears of the server's answer. Throws ``OperationFailure``,
    /// `CancellationError` and ``StorageError``.
    public func register(
        _ model: AuthenticatorModel, appID: String, username: String, finalChallenge: String,
        attestationType: AttestationType, verification: any UserInteraction
    ) async throws -> RegisteredKey {
        guard model.keyStore == self.configuration.keyStore, (1...512).contains(appID.unicodeScalars.count),
            (1...128).contains(username.unicodeScalars.count), !finalChallenge.isEmpty
        else { throw OperationFailure(.parametersInvalid, of: .register, "parameters of Register") }
        guard model.info.attestationTypes.contains(attestationType) else {
            throw OperationFailure(.attestationNotSupported, of: .register, "\(attestationType)")
        }
        let proof = try await self.verifyForRegistration(model, verification)
        try Task.checkCancellation()
        // From here to the end nothing waits: the module's state is the same throughout.
        guard self.database.keys.count < self.configuration.maximumKeys else {
            throw OperationFailure(.insufficientResources, of: .register, "no room for another key")
        }
        let name = KeyName(aaid: model.aaid, keyID: try KeyID(self.platform.random.bytes(32)))
        let privateKey = P256.Signing.PrivateKey()
        let handle = KeyHandle(
            accessToken: self.keyHandleAccessToken(appID: appID), privateKey: privateKey, username: username)
        var salt: PinSalt?
        var enrolledFingers: [UInt8]?
        var wrapKey = KeyWrap.key(secret: self.wrapSecret, keyID: name.keyID.bytes)
        switch proof {
        case .none: break
        case .fingers(let set): enrolledFingers = set
        case .newPin(let pin):
            let pinSalt = PinSalt(random: self.platform.random, hardening: self.configuration.pinHardening)
            wrapKey = try KeyWrap.key(pin: pin, salt: pinSalt, secret: self.wrapSecret, keyID: name.keyID.bytes)
            salt = pinSalt
        }
        let record = KeyRecord(
            aaid: name.aaid, keyID: name.keyID, appID: appID,
            keyHandle: try handle.wrapped(under: wrapKey, name: name, random: self.platform.random),
            created: self.platform.clock.now().milliseconds, pinSalt: salt, enrolledFingers: enrolledFingers)
        if salt != nil { try self.ledger.open(name.keyID.base64URL) }
        try self.change { database in
            database.registrationCounter += 1
            database.keys.append(record)
        }
        let data = try KeyRegistrationData(
            aaid: model.aaid, authenticatorVersion: AuthenticatorModel.authenticatorVersion,
            signatureAlgorithm: model.info.authenticationAlgorithm, publicKeyFormat: AuthenticatorModel.publicKeyFormat,
            finalChallengeHash: FinalChallengeParams.hash(ofEncoded: finalChallenge), keyID: name.keyID, signCounter: 0,
            registrationCounter: self.database.registrationCounter,
            publicKey: P256Encoding.bytes(of: privateKey.publicKey, format: AuthenticatorModel.publicKeyFormat))
        let signature = try P256Encoding.bytes(
            of: privateKey.signature(for: data.signedBytes), algorithm: model.info.authenticationAlgorithm)
        let assertion = RegistrationAssertion(
            keyRegistrationData: data, attestation: Attestation(type: attestationType, signature: signature))
        return RegisteredKey(name: name, assertion: EncodedAssertion(bytes: try assertion.serialized()))
    }

    /// Signs with one key (Sign): verifies the person by what the key's model wants, counts, signs.
    ///
    /// With a `transaction` the person has seen it, and verification confirms it: mode 2 with its hash. A silent
    /// authenticator confirms nothing and refuses one. Throws ``OperationFailure``, `CancellationError` and
    /// ``StorageError``; after the last one no signature has left.
    public func authenticate(
        _ name: KeyName, appID: String, finalChallenge: String, transaction: Transaction?,
        verification: any UserInteraction
    ) async throws -> EncodedAssertion {
        guard let model = AuthenticatorModel(aaid: name.aaid), !finalChallenge.isEmpty else {
            throw OperationFailure(.parametersInvalid, of: .sign, "parameters of Sign")
        }
        if let transaction {
            guard !model.info.isSilent, model.info.tcDisplay != [] else {
                throw OperationFailure(.accessDenied, of: .sign, "a silent authenticator confirms no transaction")
            }
            guard transaction.contentType == model.info.tcDisplayContentType else {
                throw OperationFailure(.cannotRenderTransactionContent, of: .sign, "\(transaction.contentType)")
            }
        }
        guard let record = self.database.index(of: name).map({ self.database.keys[$0] }), record.appID == appID else {
            throw OperationFailure(.accessDenied, of: .sign, "no such key for this AppID")
        }
        let handle = try await self.open(record, model, verification)
        try Task.checkCancellation()
        // From here to the end nothing waits: the counter below is this signature's alone.
        guard constantTimeEqual(handle.accessToken, self.keyHandleAccessToken(appID: appID)),
            let index = self.database.index(of: name)
        else { throw OperationFailure(.accessDenied, of: .sign, "the key handle is not this caller's, or it is gone") }
        let counter = self.database.keys[index].signCounter
        guard counter < UInt32.max else {
            throw OperationFailure(.keyDisappearedPermanently, of: .sign, "the key has signed as often as it can")
        }
        try self.change { $0.keys[index].signCounter = counter + 1 }
        let algorithm = model.info.authenticationAlgorithm
        let data = try SignedData(
            aaid: name.aaid, authenticatorVersion: AuthenticatorModel.authenticatorVersion,
            mode: transaction == nil ? .userVerified : .transactionConfirmed, signatureAlgorithm: algorithm,
            nonce: self.platform.random.bytes(32),
            finalChallengeHash: FinalChallengeParams.hash(ofEncoded: finalChallenge),
            transactionContentHash: transaction?.contentHash ?? [], keyID: name.keyID, signCounter: counter + 1)
        let signature = try P256Encoding.bytes(
            of: handle.privateKey.signature(for: data.signedBytes), algorithm: algorithm)
        return EncodedAssertion(
            bytes: try AuthenticationAssertion(signedData: data, signature: signature).serialized())
    }
}

// MARK: - Verification of the person

extension AuthenticatorModule {
    private enum RegistrationProof {
        case none
        case newPin(SecretBytes)
        case fingers([UInt8])
    }

    private func verifyForRegistration(_ model: AuthenticatorModel, _ verification: any UserInteraction) async throws
        -> RegistrationProof
    {
        switch model.factor {
        case .devicePossession: return .none
        case .pin:
            return .newPin(try await Self.asking(.register) { try await verification.enrollPin(model.aaid) })
        case .fingerprint:
            guard let sensor = self.platform.fingerprintSensor, let set = await sensor.enrolledFingers() else {
                throw OperationFailure(.userNotEnrolled, of: .register, "no enrolled finger")
            }
            try await Self.readFinger(sensor, model.aaid, .register, verification)
            return .fingers(Array(SHA256.hash(data: set)))
        }
    }

    /// Verifies the person and opens the key's handle.
    private func open(_ record: KeyRecord, _ model: AuthenticatorModel, _ verification: any UserInteraction)
        async throws -> KeyHandle
    {
        switch model.factor {
        case .pin: return try await self.openWithPin(record, verification)
        case .devicePossession: break
        case .fingerprint:
            guard let sensor = self.platform.fingerprintSensor, let set = await sensor.enrolledFingers() else {
                throw OperationFailure(.userNotEnrolled, of: .sign, "no enrolled finger")
            }
            guard let expected = record.enrolledFingers, constantTimeEqual(expected, Array(SHA256.hash(data: set)))
            else {
                try self.deregister(appID: record.appID, aaid: record.aaid, keyID: record.keyID)
                throw OperationFailure(.keyDisappearedPermanently, of: .sign, "the enrolled fingers have changed")
            }
            try await Self.readFinger(sensor, model.aaid, .sign, verification)
        }
        let wrapKey = KeyWrap.key(secret: self.wrapSecret, keyID: record.keyID.bytes)
        guard let handle = KeyHandle(wrapped: record.keyHandle, under: wrapKey, name: record.name) else {
            throw OperationFailure(.accessDenied, of: .sign, "the key handle does not open")
        }
        return handle
    }

    /// Asks for the PIN until it is right, the tries are used up, or the person gives up.
    private func openWithPin(_ record: KeyRecord, _ verification: any UserInteraction) async throws -> KeyHandle {
        let ledgerName = record.keyID.base64URL
        var lastError: PinRefusal?
        while true {
            let status = try self.ledger.status(ledgerName)
            guard status != .lockedOut else {
                throw OperationFailure(.userLockout, of: .sign, "too many wrong PINs")
            }
            let refusal = lastError
            let pin = try await Self.asking(.sign) {
                try await verification.verifyPin(record.aaid, status: status, lastError: refusal)
            }
            // The person may have taken long, and another operation may have used tries: judge by what is true now.
            switch try self.ledger.status(ledgerName) {
            case .lockedOut: throw OperationFailure(.userLockout, of: .sign, "too many wrong PINs")
            case .lastAttemptFailed(_, let rest) where rest > 0: lastError = .coolingDown
            case .unlocked, .lastAttemptFailed:
                if let handle = try self.tryPin(pin, record) { return handle }
                lastError = .invalidPin
            }
        }
    }

    /// One try: spent on disk before the PIN is looked at, given back only when the PIN has opened the key.
    private func tryPin(_ pin: SecretBytes, _ record: KeyRecord) throws -> KeyHandle? {
        guard let salt = record.pinSalt, self.database.index(of: record.name) != nil else {
            throw OperationFailure(.accessDenied, of: .sign, "the key is gone")
        }
        try self.ledger.reserve(record.keyID.base64URL)
        let wrapKey = try KeyWrap.key(pin: pin, salt: salt, secret: self.wrapSecret, keyID: record.keyID.bytes)
        guard let handle = KeyHandle(wrapped: record.keyHandle, under: wrapKey, name: record.name) else { return nil }
        try self.ledger.reset(record.keyID.base64URL)
        return handle
    }

    private static func readFinger(
        _ sensor: any FingerprintSensor, _ aaid: AAID, _ command: CommandStatus.Command,
        _ verification: any UserInteraction
    ) async throws {
        var hint: String?
        while true {
            let lastHint = hint
            let reading = try await self.asking(command) {
                try await verification.verifyFingerprint(aaid, hint: lastHint) { try await sensor.readFinger() }
            }
            switch reading {
            case .match: return
            case .noMatch(let advice): hint = advice
            case .cancelled: throw OperationFailure(.userCancelled, of: command, "cancelled at the sensor")
            case .lockedOut: throw OperationFailure(.userLockout, of: command, "the sensor is locked")
            }
        }
    }

    private static func asking<Answer>(_ command: CommandStatus.Command, _ body: () async throws -> Answer)
        async throws -> Answer
    {
        do {
            return try await body()
        } catch let error as UserVerificationError {
            throw OperationFailure(error.status, of: command, "the person: \(error)")
        }
    }
}
