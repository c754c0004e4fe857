import Crypto
import UAF
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How strictly a key of finger or face is bound to what the operating system has enrolled. It holds for the key's life.
public struct BiometricOptions: Hashable, Sendable {
    /// Whether the key ends when fingers or faces are added or removed.
    public var invalidatesOnNewBiometrics: Bool
    /// Whether the operating system may ask for the device's passcode instead. Of no effect together with
    /// ``invalidatesOnNewBiometrics``.
    public var allowsDevicePasscode: Bool

    /// By default the strictest.
    public init(invalidatesOnNewBiometrics: Bool = true, allowsDevicePasscode: Bool = false) {
        self.invalidatesOnNewBiometrics = invalidatesOnNewBiometrics
        self.allowsDevicePasscode = allowsDevicePasscode
    }
}

/// What a person has shown at a registration, and what the new key is bound to.
enum RegistrationProof {
    case none
    case newSecret(SecretBytes)
    /// A hash of the enrolment's name.
    case system(enrolment: [UInt8])
}

extension AuthenticatorModule {
    /// Verifies the person, or enrols the one who gives a new PIN or password (§10, Register).
    func verifyForRegistration(
        _ model: AuthenticatorModel, _ options: BiometricOptions, _ verification: any UserInteraction
    ) async throws -> RegistrationProof {
        switch model.factor {
        case .devicePossession: return .none
        case .pin, .password:
            return .newSecret(try await self.asking(.register) { try await verification.enrollSecret(model) })
        case .fingerprint, .face, .devicePasscode:
            let enrolment = try await self.enrolment(model, .register)
            let allowsPasscode = options.allowsDevicePasscode && !options.invalidatesOnNewBiometrics
            try await self.verifyBySystem(model, allowsPasscode: allowsPasscode, .register, verification)
            // Somebody who was enrolled while the dialog waited may have answered it.
            guard constantTimeEqual(enrolment, try await self.enrolment(model, .register)) else {
                throw OperationFailure(.accessDenied, of: .register, "the enrolment has changed meanwhile")
            }
            return .system(enrolment: enrolment)
        }
    }

    /// Verifies the person and opens the key's handle.
    func open(_ record: KeyRecord, _ model: AuthenticatorModel, _ verification: any UserInteraction) async throws
        -> KeyHandle
    {
        switch model.factor {
        case .pin, .password:
            return try await self.openBySecret(record.name) { status, lastError in
                try await verification.verifySecret(model, status: status, lastError: lastError)
            }
        case .devicePossession: break
        case .fingerprint, .face, .devicePasscode:
            try await self.checkEnrolment(of: record, model)
            try await self.verifyBySystem(
                model, allowsPasscode: record.protection.allowsPasscode, .sign, verification)
            // And after the match: somebody who knows the device's passcode can have enrolled a finger while the dialog
            // waited.
            try await self.checkEnrolment(of: record, model)
        }
        let wrapKey = KeyWrap.key(secret: self.wrapSecret, keyID: record.keyID.bytes)
        guard let handle = KeyHandle(wrapped: record.keyHandle, under: wrapKey, name: record.name) else {
            throw OperationFailure(.accessDenied, of: .sign, "the key handle does not open")
        }
        return handle
    }
}

// MARK: - PIN and password

extension AuthenticatorModule {
    /// Replaces a key's PIN or password. Nothing of it leaves the device, and the key stays the same.
    ///
    /// A wrong old one is a try like any other. `ask` is called until the old one is right, the tries are used up or it
    /// throws ``UserVerificationError``. Throws ``OperationFailure`` (`userLockout`, `userCancelled`,
    /// `userNotResponsive`; `authenticatorAccessDenied` where there is no such key, or none with a secret) and
    /// ``StorageError``: the old one then still holds, or the new one, never neither.
    public func changeSecret(
        of name: KeyName,
        ask:
            @Sendable (_ status: AuthenticatorProtectionStatus, _ lastError: SecretRefusal?) async throws
            -> SecretChange
    ) async throws {
        guard let index = self.ownIndex(of: name), self.database.keys[index].protection.secretSalt != nil else {
            throw OperationFailure(.accessDenied, of: .sign, "no key with a secret")
        }
        var new: SecretBytes?
        let handle = try await self.openBySecret(name) { status, lastError in
            let change = try await ask(status, lastError)
            new = change.new
            return change.old
        }
        try Task.checkCancellation()
        guard let new, let index = self.database.index(of: name) else {
            throw OperationFailure(.accessDenied, of: .sign, "the key is gone")
        }
        let (wrapKey, salt) = try self.newWrapKey(new, keyID: name.keyID)
        let wrapped = try handle.wrapped(under: wrapKey, name: name, random: self.platform.random)
        try self.change { database in
            database.keys[index].keyHandle = wrapped
            database.keys[index].protection.secretSalt = salt
        }
    }

    /// The wrapping key of a new PIN or password.
    func newWrapKey(_ typed: SecretBytes, keyID: KeyID) throws -> (SymmetricKey, SecretSalt) {
        let salt = SecretSalt(random: self.platform.random, hardening: self.configuration.pinHardening)
        return (try KeyWrap.key(typed: typed, salt: salt, secret: self.wrapSecret, keyID: keyID.bytes), salt)
    }

    /// Asks until the PIN or the password is right, the tries are used up, or the person gives up.
    private func openBySecret(
        _ name: KeyName, ask: (AuthenticatorProtectionStatus, SecretRefusal?) async throws -> SecretBytes
    ) async throws -> KeyHandle {
        let ledgerName = name.keyID.base64URL
        var lastError: SecretRefusal?
        while true {
            let status = try self.ledger.status(ledgerName)
            guard status != .lockedOut else { throw OperationFailure(.userLockout, of: .sign, "too many wrong tries") }
            let refusal = lastError
            let typed = try await self.asking(.sign) { try await ask(status, refusal) }
            // The person may have taken long, and another operation may have used tries: judge by what is true now.
            switch try self.ledger.status(ledgerName) {
            case .lockedOut: throw OperationFailure(.userLockout, of: .sign, "too many wrong tries")
            case .lastAttemptFailed(_, let rest) where rest > 0: lastError = .coolingDown
            case .unlocked, .lastAttemptFailed:
                if let handle = try self.trySecret(typed, name) { return handle }
                lastError = .wrong
            }
        }
    }

    /// One try: spent on disk before anything is looked at, given back only when the key has opened.
    private func trySecret(_ typed: SecretBytes, _ name: KeyName) throws -> KeyHandle? {
        // Read again: the secret may have been changed while the person typed.
        guard let index = self.database.index(of: name), let salt = self.database.keys[index].protection.secretSalt
        else { throw OperationFailure(.accessDenied, of: .sign, "the key is gone") }
        try self.ledger.reserve(name.keyID.base64URL)
        let wrapKey = try KeyWrap.key(typed: typed, salt: salt, secret: self.wrapSecret, keyID: name.keyID.bytes)
        guard let handle = KeyHandle(wrapped: self.database.keys[index].keyHandle, under: wrapKey, name: name) else {
            return nil
        }
        try self.ledger.reset(name.keyID.base64URL)
        return handle
    }
}

// MARK: - What the operating system judges

extension AuthenticatorModule {
    /// What tells one enrolment of the operating system from another.
    private func enrolment(_ model: AuthenticatorModel, _ command: CommandStatus.Command) async throws -> [UInt8] {
        let enrolment: [UInt8]? = try await self.answering(model, command) {
            switch model.factor {
            case .fingerprint: try await self.platform.fingerprintSensor?.enrolledSet()
            case .face: try await self.platform.faceSensor?.enrolledSet()
            case .devicePasscode: try await self.platform.devicePasscode?.enrolment()
            case .pin, .password, .devicePossession: nil
            }
        }
        guard let enrolment else { throw OperationFailure(.userNotEnrolled, of: command, "nobody is enrolled") }
        return Array(SHA256.hash(data: enrolment))
    }

    /// Deletes a key that ends with its enrolment, once that is another one.
    private func checkEnrolment(of record: KeyRecord, _ model: AuthenticatorModel) async throws {
        let enrolment = try await self.enrolment(model, .sign)
        guard let expected = record.protection.enrolment, !constantTimeEqual(expected, enrolment) else { return }
        try self.deregister(appID: record.appID, aaid: record.aaid, keyID: record.keyID)
        throw OperationFailure(.keyDisappearedPermanently, of: .sign, "the enrolment has changed")
    }

    private func verifyBySystem(
        _ model: AuthenticatorModel, allowsPasscode: Bool, _ command: CommandStatus.Command,
        _ verification: any UserInteraction
    ) async throws {
        var hint: String?
        try await self.answering(model, command) {
            while true {
                let lastHint = hint
                switch try await self.asking(
                    command, { try await self.platform.reading(model, lastHint, allowsPasscode, verification) })
                {
                case .match: return
                case .noMatch(let advice): hint = advice
                case .cancelled:
                    throw OperationFailure(.userCancelled, of: command, "cancelled at the operating system")
                case .lockedOut:
                    throw OperationFailure(
                        .userLockout, of: command, isLockOfOperatingSystem: true, "the operating system has locked it")
                }
            }
        }
    }

    /// How often in one operation something that does not answer is asked.
    private static let triesOfSilence = 3

    /// What a sensor or the operating system says. One that does not answer is asked again, and the person with it, a
    /// few times; one that is gone ends the operation at once (§5.3).
    private func answering<Answer>(
        _ model: AuthenticatorModel, _ command: CommandStatus.Command, _ body: () async throws -> Answer
    ) async throws -> Answer {
        var silences = 0
        while true {
            do {
                return try await body()
            } catch let error as SensorError {
                guard error == .timedOut else { throw OperationFailure(disconnected: model) }
                silences += 1
                guard silences < Self.triesOfSilence else {
                    throw OperationFailure(.timeout, of: command, "no answer of the sensor")
                }
                try Task.checkCancellation()
            }
        }
    }

    /// Shows a picture that is to be confirmed. An app without a screen for it cannot render it.
    func show(_ picture: Transaction, _ model: AuthenticatorModel, _ verification: any UserInteraction) async throws {
        do {
            try await verification.show(picture: picture.content, model)
        } catch let error as UserVerificationError {
            let status = error == .unavailable ? .cannotRenderTransactionContent : error.status
            throw OperationFailure(status, of: .sign, "the picture: \(error)")
        }
    }

    private func asking<Answer>(_ command: CommandStatus.Command, _ body: () async throws -> Answer) async throws
        -> Answer
    {
        do {
            return try await body()
        } catch let error as UserVerificationError {
            throw OperationFailure(error.status, of: command, "the person: \(error)")
        }
    }
}

extension Platform {
    /// One answer of the operating system, once the app has asked the person.
    fileprivate func reading(
        _ model: AuthenticatorModel, _ hint: String?, _ allowsPasscode: Bool, _ verification: any UserInteraction
    ) async throws -> BiometricReading {
        if model.factor == .devicePasscode {
            guard let passcode = self.devicePasscode else { throw UserVerificationError.unavailable }
            switch try await verification.verifyDevicePasscode(model, ask: { try await passcode.ask($0) }) {
            case .match: return .match
            case .cancelled: return .cancelled
            case .lockedOut: return .lockedOut
            }
        }
        guard let sensor = model.factor == .face ? self.faceSensor : self.fingerprintSensor else {
            throw UserVerificationError.unavailable
        }
        return try await verification.verifyBiometric(model, hint: hint) {
            try await sensor.read($0, allowingDevicePasscode: allowsPasscode)
        }
    }
}

extension UserVerificationError {
    /// The authenticator's status for it.
    fileprivate var status: CommandStatus {
        switch self {
        case .cancelled: .userCancelled
        case .notResponsive: .userNotResponsive
        default: .accessDenied
        }
    }
}
