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
        attestationType: AttestationType, options: BiometricOptions = BiometricOptions(),
        verification: any UserInteraction
    ) async throws -> RegisteredKey {
        guard model.keyStore == self.configuration.keyStore, (1...512).contains(appID.unicodeScalars.count),
            (1...128).contains(username.unicodeScalars.count), !finalChallenge.isEmpty
        else { throw OperationFailure(.parametersInvalid, of: .register, "parameters of Register") }
        guard model.info.attestationTypes.contains(attestationType) else {
            throw OperationFailure(.attestationNotSupported, of: .register, "\(attestationType)")
        }
        let proof = try await self.verifyForRegistration(model, options, verification)
        try Task.checkCancellation()
        // From here to the end nothing waits: the module's state is the same throughout.
        guard self.database.keys.count < self.configuration.maximumKeys,
            self.database.registrationCounter < UInt32.max
        else {
            throw OperationFailure(.insufficientResources, of: .register, "no room for another key")
        }
        let name = KeyName(aaid: model.aaid, keyID: try KeyID(self.platform.random.bytes(32)))
        let privateKey = P256.Signing.PrivateKey()
        let handle = KeyHandle(
            accessToken: self.keyHandleAccessToken(appID: appID), privateKey: privateKey, username: username)
        var protection = KeyProtectionRecord()
        var wrapKey = KeyWrap.key(secret: self.wrapSecret, keyID: name.keyID.bytes)
        switch proof {
        case .none: break
        case .system(let enrolment):
            // A key that ends with new fingers must not open to the passcode, with which new fingers are enrolled.
            let endsWithEnrolment = model.factor == .devicePasscode || options.invalidatesOnNewBiometrics
            protection.enrolment = endsWithEnrolment ? enrolment : nil
            protection.allowsPasscode = !endsWithEnrolment && options.allowsDevicePasscode
        case .newSecret(let typed):
            (wrapKey, protection.secretSalt) = try self.newWrapKey(typed, keyID: name.keyID)
        }
        let record = KeyRecord(
            aaid: name.aaid, keyID: name.keyID, appID: appID, callerID: self.configuration.callerID.text,
            personaID: self.configuration.personaID,
            keyHandle: try handle.wrapped(under: wrapKey, name: name, random: self.platform.random),
            created: self.platform.clock.now().milliseconds, protection: protection)
        if protection.secretSalt != nil { try self.ledger.open(name.keyID.base64URL) }
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
        return RegisteredKey(
            name: name,
            assertion: EncodedAssertion(
                bytes: try assertion.serialized(), pngCharacteristics: self.info(of: model).pngCharacteristics))
    }

    /// Signs with one key (Sign): verifies the person by what the key's model wants, counts, signs.
    ///
    /// With a `transaction` verification confirms it: mode 2 with its hash. The person has seen a text; a picture is
    /// shown here. A silent authenticator confirms nothing and refuses one. Throws ``OperationFailure``,
    /// `CancellationError` and ``StorageError``; after the last one no signature has left.
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
