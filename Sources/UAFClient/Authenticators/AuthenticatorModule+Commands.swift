import Crypto
package import UAF
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A new key, with the authenticator's attestation.
package struct RegisteredKey: Hashable, Sendable {
    /// The new key's name.
    package let name: KeyName
    /// The attestation for the server.
    package let assertion: EncodedAssertion
    /// The device that the attestation announces; `nil` if the attestation announces none.
    package let device: DeviceIdentityKeys?
}

extension AuthenticatorModule {
    /// Creates a key (Register): verifies or enrols the person, then attests the new key with the key itself.
    ///
    /// The key is pending until the server's answer reaches ``notify(_:_:)``. The attestation announces the `device` if
    /// the device's key can sign. Throws ``OperationFailure``, `CancellationError` and ``StorageError``. No key remains
    /// then, except a pending key that the storage could not delete.
    package func register(
        _ model: AuthenticatorModel, appID: String, username: String, finalChallenge: String,
        attestationType: AttestationType, announcing device: AnnouncedDevice = .nobody,
        options: BiometricOptions = BiometricOptions(), verification: any UserInteraction
    ) async throws -> RegisteredKey {
        guard model.keyStore == self.keyStore, (1...512).contains(appID.unicodeScalars.count),
            (1...128).contains(username.unicodeScalars.count), !finalChallenge.isEmpty
        else { throw OperationFailure(.parametersInvalid, of: .register, "parameters of Register") }
        guard model.info.attestationTypes.contains(attestationType) else {
            throw OperationFailure(.attestationNotSupported, of: .register, "\(attestationType)")
        }
        let proof = try await self.verifyForRegistration(model, options, verification)
        try Task.checkCancellation()
        // Nothing waits from here until the key is written down, so the module's state stays the same.
        guard self.database.keys.count < self.configuration.maximumKeys,
            self.database.registrationCounter < UInt32.max
        else {
            throw OperationFailure(.insufficientResources, of: .register, "no room for another key")
        }
        let name = KeyName(aaid: model.aaid, keyID: try KeyID(self.platform.random.bytes(32)))
        let deviceName = self.deviceName(of: name, appID: appID)
        let binding = try self.binding(model, proof, options)
        let key: NewDeviceKey
        do { key = try self.keys.make(deviceName, owner: username, lock: binding.lock) } catch let error
            as DeviceKeyError
        {
            throw OperationFailure(error.status, of: .register, "the key: \(error)")
        }
        let record = StoredKey(
            aaid: name.aaid, keyID: name.keyID, appID: appID, callerID: self.configuration.callerID.text,
            personaID: self.configuration.personaID, keyHandle: key.handle,
            created: self.platform.clock.now().milliseconds, protection: binding.protection)
        do {
            if binding.protection.secretSalt != nil { try self.ledger.open(name.keyID.base64URL) }
            try self.change { database in
                database.registrationCounter += 1
                database.keys.append(record)
            }
        } catch {
            // The module has no record of this key. A device that stores the key outside the handle would keep the key
            // for ever.
            try? self.keys.delete(key.handle, of: deviceName)
            throw error
        }
        let registrationCounter = self.database.registrationCounter
        // The announcement comes after the key: if the device lacks room for both, the person is still enrolled.
        let announcement = await self.announcement(of: device, answering: finalChallenge)
        do {
            let data = try KeyRegistrationData(
                aaid: model.aaid, authenticatorVersion: AuthenticatorModel.authenticatorVersion,
                signatureAlgorithm: model.info.authenticationAlgorithm,
                publicKeyFormat: AuthenticatorModel.publicKeyFormat,
                finalChallengeHash: FinalChallengeParams.hash(ofEncoded: finalChallenge), keyID: name.keyID,
                signCounter: 0, registrationCounter: registrationCounter,
                publicKey: P256Encoding.bytes(
                    of: P256Encoding.publicKey(key.publicKey, format: .eccX962Raw),
                    format: AuthenticatorModel.publicKeyFormat),
                extensions: announcement.map { [$0.signed] } ?? [])
            let attestation = try await self.attest(
                data, of: record, model, as: attestationType, binding, verification)
            if case .system = proof { await verification.credentialsWereValid(model) }
            let assertion = RegistrationAssertion(keyRegistrationData: data, attestation: attestation)
            return RegisteredKey(
                name: name,
                assertion: EncodedAssertion(
                    bytes: try assertion.serialized(), pngCharacteristics: self.info(of: model).pngCharacteristics),
                device: announcement?.keys)
        } catch {
            self.forgetIfNew(announcement?.keys, of: device)
            // The app needs the reason. A key that cannot be deleted now is deleted at the next start.
            try? self.delete([name])
            throw error
        }
    }

    /// Signs with one key (Sign): verifies the person as the key's model requires, counts, and signs.
    ///
    /// With a `transaction`, the verification also confirms the transaction: mode 2 with the transaction's hash. The
    /// person has already seen a text; a picture is shown here. A silent authenticator confirms nothing and refuses a
    /// transaction. The signed data announces the `device` if the device's key can sign, and has the `number` that the
    /// person has typed.
    ///
    /// Throws ``OperationFailure``, `CancellationError` and ``StorageError``. After a ``StorageError`` no signature has
    /// left.
    package func authenticate(
        _ name: KeyName, appID: String, finalChallenge: String, transaction: Transaction?,
        announcing device: DeviceIdentityKeys? = nil, number: String? = nil, verification: any UserInteraction
    ) async throws -> EncodedAssertion {
        guard let model = AuthenticatorModel(aaid: name.aaid), !finalChallenge.isEmpty else {
            throw OperationFailure(.parametersInvalid, of: .sign, "parameters of Sign")
        }
        if let transaction {
            guard !model.info.isSilent, model.info.tcDisplay != [] else {
                throw OperationFailure(.accessDenied, of: .sign, "a silent authenticator confirms no transaction")
            }
            guard
                transaction.isText
                    || transaction.isPicture(for: self.info(of: model).pngCharacteristics)
            else {
                throw OperationFailure(.cannotRenderTransactionContent, of: .sign, "neither text nor such a picture")
            }
        }
        guard let record = self.ownIndex(of: name).map({ self.database.keys[$0] }),
            record.appID.hasSameBytes(as: appID)
        else {
            throw OperationFailure(.accessDenied, of: .sign, "no such key for this AppID")
        }
        if let transaction, transaction.contentType == .imagePNG {
            try await self.show(transaction, model, verification)
        }
        let algorithm = model.info.authenticationAlgorithm
        let nonce = self.platform.random.bytes(32)
        let announcement = await self.announcement(of: device.map { .kept($0) } ?? .nobody, answering: finalChallenge)
        let typed = number.map { NumberAnswer.assertionExtension(number: $0, finalChallenge: finalChallenge) }
        let (data, signature) = try await self.sign(with: record, model, verification) { counter in
            try SignedData(
                aaid: name.aaid, authenticatorVersion: AuthenticatorModel.authenticatorVersion,
                mode: transaction == nil ? .userVerified : .transactionConfirmed, signatureAlgorithm: algorithm,
                nonce: nonce, finalChallengeHash: FinalChallengeParams.hash(ofEncoded: finalChallenge),
                transactionContentHash: transaction?.contentHash ?? [], keyID: name.keyID, signCounter: counter,
                extensions: [announcement?.signed, typed].compactMap(\.self))
        }
        // The announcement comes after the signature: nothing may wait between the check of the key and the signature.
        if model.factor != .devicePossession { await verification.credentialsWereValid(model) }
        return EncodedAssertion(
            bytes: try AuthenticationAssertion(
                signedData: data,
                signature: try P256Encoding.bytes(
                    of: P256Encoding.signature(signature, algorithm: .p256Raw), algorithm: algorithm)
            ).serialized())
    }
}
