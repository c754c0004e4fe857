import Crypto
import Foundation
package import UAF
import _Primitives

/// The strictness of the link between a key of finger or face and the operating system's enrolment. The options hold
/// for the key's life.
package struct BiometricOptions: Hashable, Sendable {
    /// `true` if the key ends when fingers or faces are added or removed. Such a key never opens to the device's
    /// passcode, even if its model allows this.
    package var invalidatesOnNewBiometrics: Bool
    /// `true` if the app wants the device's passcode to open a key of finger or face too.
    package var allowsPasscode: Bool

    /// Creates options, by default the strictest.
    package init(invalidatesOnNewBiometrics: Bool = true, allowsPasscode: Bool = false) {
        self.invalidatesOnNewBiometrics = invalidatesOnNewBiometrics
        self.allowsPasscode = allowsPasscode
    }

    /// `true` if new keys of finger or face open to the passcode, and are therefore keys of the models that say so. A
    /// key that ends with new fingers does not open to the passcode, because the passcode allows enrolling new fingers.
    package var offersPasscode: Bool { self.allowsPasscode && !self.invalidatesOnNewBiometrics }
}

/// The person's proof at a registration, which the new key is bound to.
enum RegistrationProof {
    case none
    case newSecret(SecretBytes)
    /// A hash of the enrolment's name.
    case system(enrolment: [UInt8])
}

/// The binding of a new key to the person's proof.
struct KeyBinding {
    var protection: StoredKeyProtection
    let lock: KeyLock
    /// The unlock for the key's attestation.
    let unlock: KeyUnlock
    /// The enrolment at the operating system that recognises the person, before the attestation or during it.
    var enrolment: [UInt8]?
}

extension AuthenticatorModule {
    /// Verifies the person, or enrols a person who gives a new PIN or password (§10, Register).
    ///
    /// If the key's own signature asks the operating system, the question comes with the key's attestation.
    func verifyForRegistration(
        _ model: AuthenticatorModel, _ options: BiometricOptions, _ verification: any UserInteraction
    ) async throws -> RegistrationProof {
        switch model.factor {
        case .devicePossession: return .none
        case .pin, .password:
            return .newSecret(try await self.asking(.register) { try await verification.enrollSecret(model) })
        case .fingerprint, .face, .devicePasscode:
            let enrolment = try await self.enrolment(model, .register)
            guard !self.keys.verifiesWhileSigning else { return .system(enrolment: enrolment) }
            let allowsPasscode = model.allowsPasscode && !options.invalidatesOnNewBiometrics
            try await self.askSystem(model, allowsPasscode: allowsPasscode, .register, verification)
            try await self.checkEnrolment(enrolment, of: model)
            return .system(enrolment: enrolment)
        }
    }

    /// Throws if the enrolment has changed: a person enrolled while the dialog waited may have answered the dialog.
    private func checkEnrolment(_ enrolment: [UInt8], of model: AuthenticatorModel) async throws {
        guard constantTimeEqual(enrolment, try await self.enrolment(model, .register)) else {
            throw OperationFailure(.accessDenied, of: .register, "the enrolment has changed meanwhile")
        }
    }

    func binding(_ model: AuthenticatorModel, _ proof: RegistrationProof, _ options: BiometricOptions) throws
        -> KeyBinding
    {
        var protection = StoredKeyProtection()
        switch proof {
        case .none: return KeyBinding(protection: protection, lock: .none, unlock: .none)
        case .newSecret(let typed):
            let salt = SecretSalt(random: self.platform.random, hardening: self.configuration.pinHardening)
            protection.secretSalt = salt
            let secret = try salt.stretched(typed)
            return KeyBinding(protection: protection, lock: .secret(secret), unlock: .secret(secret))
        case .system(let enrolment):
            // A key that ends with new fingers must not open to the passcode, because the passcode allows enrolling new
            // fingers.
            let endsWithEnrolment = model.factor == .devicePasscode || options.invalidatesOnNewBiometrics
            protection.enrolment = endsWithEnrolment ? enrolment : nil
            protection.allowsPasscode = !endsWithEnrolment && model.allowsPasscode
            return KeyBinding(
                protection: protection,
                lock: .system(
                    model.factor, endingWithEnrolment: endsWithEnrolment, allowingPasscode: protection.allowsPasscode),
                unlock: .system(SystemPrompt()), enrolment: enrolment)
        }
    }

    /// Attests a new key. For keys that verify while they sign, the operating system asks the person now.
    func attest(
        _ data: KeyRegistrationData, of record: StoredKey, _ model: AuthenticatorModel, as type: AttestationType,
        _ binding: KeyBinding, _ verification: any UserInteraction
    ) async throws -> Attestation {
        let keys = self.keys
        let name = self.deviceName(of: record.name, appID: record.appID)
        let message = data.signedBytes
        let attestation = try await self.usingKeys(.register) {
            guard keys.verifiesWhileSigning, let enrolment = binding.enrolment else {
                return try await keys.attest(
                    message, as: type, with: record.keyHandle, of: name, unlocking: binding.unlock)
            }
            let attestation = try await self.signingBySystem(model, .register, verification) { prompt in
                try await keys.attest(
                    message, as: type, with: record.keyHandle, of: name, unlocking: .system(prompt))
            }
            try await self.checkEnrolment(enrolment, of: model)
            return attestation
        }
        let signature = try P256Encoding.signature(attestation.signature, algorithm: .p256Raw)
        return Attestation(
            type: attestation.type,
            signature: try P256Encoding.bytes(of: signature, algorithm: model.info.authenticationAlgorithm),
            certificates: attestation.certificates)
    }

    /// Verifies the person as the key's model requires, counts, and signs the result of `data` for the counter. A
    /// counter is durable before its signature is made, and serves for at most one signature.
    func sign(
        with record: StoredKey, _ model: AuthenticatorModel, _ verification: any UserInteraction,
        _ data: (_ counter: UInt32) throws -> SignedData
    ) async throws -> (data: SignedData, signature: [UInt8]) {
        guard let keys = self.keys(of: model) else {
            throw OperationFailure(.accessDenied, of: .sign, "the place is gone where the key was kept")
        }
        let name = self.deviceName(of: record.name, appID: record.appID)
        return try await self.usingKeys(.sign, record) {
            guard keys.verifiesWhileSigning else {
                let unlock = try await self.verify(record, model, keys, verification)
                try Task.checkCancellation()
                // Nothing has waited since the key was seen to open, and nothing waits until this signature has its
                // counter.
                let (data, handle) = try self.count(record.name, data)
                let signature = try await keys.sign(data.signedBytes, with: handle, of: name, unlocking: unlock)
                return (data, signature)
            }
            switch model.factor {
            case .devicePossession:
                let (data, handle) = try self.count(record.name, data)
                return (data, try await keys.sign(data.signedBytes, with: handle, of: name, unlocking: .none))
            case .pin, .password:
                // All attempts use the same counter, because only the last attempt makes a signature.
                var counted: SignedData?
                var lastError: SecretRefusal?
                while true {
                    let typed = try await self.nextTry(of: record.name, &lastError) { status, lastError in
                        try await verification.verifySecret(model, status: status, lastError: lastError)
                    }
                    let signed = try counted ?? self.count(record.name, data).data
                    counted = signed
                    do {
                        let signature = try await keys.sign(
                            signed.signedBytes, with: typed.handle, of: name, unlocking: .secret(typed.secret))
                        try self.ledger.reset(record.name.keyID.base64URL, spent: typed.spent)
                        return (signed, signature)
                    } catch DeviceKeyError.wrongSecret {
                        lastError = .wrong
                    } catch let error as DeviceKeyError where error.takesNoAttempt {
                        throw try self.givingBack(record.name, error)
                    }
                }
            case .fingerprint, .face, .devicePasscode:
                try await self.checkEnrolment(of: record, model)
                let (data, handle) = try self.count(record.name, data)
                let message = data.signedBytes
                let signature = try await self.signingBySystem(model, .sign, verification) { prompt in
                    try await keys.sign(message, with: handle, of: name, unlocking: .system(prompt))
                }
                try await self.checkEnrolment(of: record, model)
                return (data, signature)
            }
        }
    }

    /// Verifies the person before a signature, and checks that the key opens.
    private func verify(
        _ record: StoredKey, _ model: AuthenticatorModel, _ keys: any DeviceKeys, _ verification: any UserInteraction
    ) async throws -> KeyUnlock {
        let name = self.deviceName(of: record.name, appID: record.appID)
        let unlock: KeyUnlock
        switch model.factor {
        case .pin, .password:
            var lastError: SecretRefusal?
            while true {
                let typed = try await self.nextTry(of: record.name, &lastError) { status, lastError in
                    try await verification.verifySecret(model, status: status, lastError: lastError)
                }
                do {
                    try keys.check(typed.handle, of: name, unlocking: .secret(typed.secret))
                    try self.ledger.reset(record.name.keyID.base64URL, spent: typed.spent)
                    return .secret(typed.secret)
                } catch DeviceKeyError.wrongSecret {
                    lastError = .wrong
                } catch let error as DeviceKeyError where error.takesNoAttempt {
                    throw try self.givingBack(record.name, error)
                }
            }
        case .devicePossession: unlock = .none
        case .fingerprint, .face, .devicePasscode:
            try await self.checkEnrolment(of: record, model)
            try await self.askSystem(model, allowsPasscode: record.protection.allowsPasscode, .sign, verification)
            // The check also runs after the match: a person who knows the device's passcode can have enrolled a finger
            // while the dialog waited.
            try await self.checkEnrolment(of: record, model)
            unlock = .system(SystemPrompt())
        }
        try keys.check(record.keyHandle, of: name, unlocking: unlock)
        return unlock
    }

    /// Counts a signature durably. Returns the data to sign with the counter, and the handle of the key.
    private func count(_ name: KeyName, _ data: (UInt32) throws -> SignedData) throws -> (
        data: SignedData, handle: [UInt8]
    ) {
        guard let index = self.database.index(of: name) else {
            throw OperationFailure(.accessDenied, of: .sign, "the key is gone")
        }
        let counter = self.database.keys[index].signCounter
        guard counter < UInt32.max else {
            throw OperationFailure(.keyDisappearedPermanently, of: .sign, "the key has signed as often as it can")
        }
        let signed = try data(counter + 1)
        try self.change { $0.keys[index].signCounter = counter + 1 }
        return (signed, self.database.keys[index].keyHandle)
    }

    /// Runs `body`, and turns errors of the device's keys into the authenticator's status. If the device has lost a
    /// key, the module deletes its record too, now or at the next use.
    func usingKeys<Value>(
        _ command: CommandStatus.Command, _ record: StoredKey? = nil, _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch let error as DeviceKeyError {
            if case .uncounted(let failure) = error { throw failure }
            if error == .gone, let record { try? self.delete([record.name]) }
            throw OperationFailure(
                error.status, of: command, lockedBy: error == .lockedOut ? .keyStore : nil, "the key: \(error)")
        }
    }

    /// Gives back an attempt that the key store has not counted. Returns the error of the key store.
    ///
    /// Without this, a person who meets a locked or missing key store a few times would lose the key for good.
    private func givingBack(_ name: KeyName, _ error: DeviceKeyError) throws -> DeviceKeyError {
        try self.ledger.giveBack(name.keyID.base64URL)
        return error
    }
}

// MARK: - PIN and password

extension AuthenticatorModule {
    /// Replaces a key's PIN or password. No secret leaves the device, and the key stays the same.
    ///
    /// A wrong old secret counts as an attempt. The function calls `ask` until the old secret is right, the attempts
    /// are used up, or `ask` throws ``UserVerificationError``.
    ///
    /// Throws ``OperationFailure`` (`userLockout`, `userCancelled`, `userNotResponsive`; `authenticatorAccessDenied` if
    /// the key does not exist or has no secret), `CancellationError` and ``StorageError``. After a ``StorageError``
    /// either the old secret or the new secret holds, never neither.
    package func changeSecret(
        of name: KeyName,
        ask:
            @Sendable (_ status: AuthenticatorProtectionStatus, _ lastError: SecretRefusal?) async throws
            -> SecretChange
    ) async throws {
        guard let index = self.ownIndex(of: name), self.database.keys[index].protection.secretSalt != nil,
            let keys = AuthenticatorModel(aaid: name.aaid).flatMap(self.keys)
        else {
            throw OperationFailure(.accessDenied, of: .sign, "no key with a secret")
        }
        let record = self.database.keys[index]
        let deviceName = self.deviceName(of: name, appID: record.appID)
        let salt = SecretSalt(random: self.platform.random, hardening: self.configuration.pinHardening)
        try await self.usingKeys(.sign, record) {
            var new: SecretBytes?
            var lastError: SecretRefusal?
            while true {
                let typed = try await self.nextTry(of: name, &lastError) { status, lastError in
                    let change = try await ask(status, lastError)
                    new = change.new
                    return change.old
                }
                guard let new else { throw OperationFailure(.parametersInvalid, of: .sign, "no new secret") }
                do {
                    // If the keys can tell, a wrong old secret is found out before any work on the new secret.
                    try keys.check(typed.handle, of: deviceName, unlocking: .secret(typed.secret))
                    let handle = try keys.relock(
                        typed.handle, of: deviceName, from: typed.secret, to: try salt.stretched(new))
                    return try self.adopt(handle, salt, in: keys, as: deviceName, of: name, spent: typed.spent)
                } catch DeviceKeyError.wrongSecret {
                    lastError = .wrong
                } catch let error as DeviceKeyError where error.takesNoAttempt {
                    throw try self.givingBack(name, error)
                }
            }
        }
    }

    /// Puts the handle for a new secret in the place of a key's handle, and deletes the former handle. If the change
    /// fails or is cancelled, the function deletes the new handle, which no record names.
    private func adopt(
        _ handle: [UInt8], _ salt: SecretSalt, in keys: any DeviceKeys, as deviceName: DeviceKeyName, of name: KeyName,
        spent: Int
    ) throws {
        let former: [UInt8]
        do {
            try self.ledger.reset(name.keyID.base64URL, spent: spent)
            try Task.checkCancellation()
            guard let index = self.database.index(of: name) else {
                throw OperationFailure(.accessDenied, of: .sign, "the key is gone")
            }
            former = self.database.keys[index].keyHandle
            try self.change { database in
                database.keys[index].keyHandle = handle
                database.keys[index].protection.secretSalt = salt
            }
        } catch {
            try? keys.delete(handle, of: deviceName)
            throw error
        }
        // If a crash in between leaves the former handle on the device, nothing refers to it any more.
        try? keys.delete(former, of: deviceName)
    }

    /// Asks for the PIN or the password, and takes an attempt. The attempt is spent on disk before any check; the
    /// caller gives it back after the key has opened.
    ///
    /// The function asks until an attempt is allowed, and throws after the last attempt.
    private func nextTry(
        of name: KeyName, _ lastError: inout SecretRefusal?,
        _ ask: (AuthenticatorProtectionStatus, SecretRefusal?) async throws -> SecretBytes
    ) async throws -> SecretTry {
        let ledgerName = name.keyID.base64URL
        while true {
            let status = try self.ledger.status(ledgerName)
            guard status != .lockedOut else { throw OperationFailure(.userLockout, of: .sign, "too many wrong tries") }
            let refusal = lastError
            let typed = try await self.asking(.sign) { try await ask(status, refusal) }
            // The person may have taken long, and another operation may have used attempts, so the present state
            // decides. From here until the storage's key is seen to open, nothing waits.
            switch try self.ledger.status(ledgerName) {
            case .lockedOut: throw OperationFailure(.userLockout, of: .sign, "too many wrong tries")
            case .lastAttemptFailed(_, let rest) where rest > 0: lastError = .coolingDown
            case .unlocked, .lastAttemptFailed:
                // The record is read again, because the secret may have changed while the person typed.
                guard let index = self.database.index(of: name),
                    let salt = self.database.keys[index].protection.secretSalt
                else { throw OperationFailure(.accessDenied, of: .sign, "the key is gone") }
                return SecretTry(
                    spent: try self.ledger.reserve(ledgerName), secret: try salt.stretched(typed),
                    handle: self.database.keys[index].keyHandle)
            }
        }
    }
}

/// A typed PIN or password after stretching, and the key that the secret may open.
private struct SecretTry {
    /// The number of attempts spent, this attempt included.
    let spent: Int
    let secret: SecretBytes
    let handle: [UInt8]
}

// MARK: - What the operating system judges

extension AuthenticatorModule {
    /// Returns the value that distinguishes enrolments at the operating system.
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

    /// Returns `true` if each signature of a model's keys asks the operating system. No question is needed before such
    /// a signature.
    package nonisolated func asksWhileSigning(_ model: AuthenticatorModel) -> Bool {
        self.keys(of: model)?.verifiesWhileSigning ?? false
    }

    /// Checks, without a signature, that the enrolment at the operating system is still the enrolment of the key. A key
    /// that ended with its enrolment is deleted.
    ///
    /// Throws ``OperationFailure``: `keyDisappearedPermanently` for an ended key and for a missing key,
    /// `userNotEnrolled` if no person is enrolled, and the failures of a sensor that does not answer.
    package func checkEnrolment(of name: KeyName) async throws {
        guard let index = self.ownIndex(of: name), let model = AuthenticatorModel(aaid: name.aaid) else {
            throw OperationFailure(.keyDisappearedPermanently, of: .sign, "no such key")
        }
        guard [.fingerprint, .face, .devicePasscode].contains(model.factor) else { return }
        try await self.checkEnrolment(of: self.database.keys[index], model)
    }

    /// Throws if a key ends with its enrolment and the enrolment has changed. The key is deleted, now or at the next
    /// use.
    private func checkEnrolment(of record: StoredKey, _ model: AuthenticatorModel) async throws {
        let enrolment = try await self.enrolment(model, .sign)
        guard let expected = record.protection.enrolment, !constantTimeEqual(expected, enrolment) else { return }
        try? self.deregister(appID: record.appID, aaid: record.aaid, keyID: record.keyID)
        throw OperationFailure(.keyDisappearedPermanently, of: .sign, "the enrolment has changed")
    }

    /// Makes the operating system ask the person, before a signature.
    private func askSystem(
        _ model: AuthenticatorModel, allowsPasscode: Bool, _ command: CommandStatus.Command,
        _ verification: any UserInteraction
    ) async throws {
        let platform = self.platform
        try await self.verifyBySystem(model, command, verification) { prompt in
            try await platform.reading(model, prompt, allowsPasscode)
        }
    }

    /// Makes the operating system ask the person as a part of a signature, which `sign` makes.
    private func signingBySystem<Value: Sendable>(
        _ model: AuthenticatorModel, _ command: CommandStatus.Command, _ verification: any UserInteraction,
        _ sign: @escaping @Sendable (SystemPrompt) async throws -> Value
    ) async throws -> Value {
        let signed = Signed<Value>()
        try await self.verifyBySystem(model, command, verification) { prompt in
            do {
                signed.set(try await sign(prompt))
                return .match
            } catch DeviceKeyError.unverified(let reading) {
                return reading
            }
        }
        // An app's code may report a match although no key has signed.
        guard let value = signed.value else { throw OperationFailure(.accessDenied, of: command, "nothing has signed") }
        return value
    }

    private func verifyBySystem(
        _ model: AuthenticatorModel, _ command: CommandStatus.Command, _ verification: any UserInteraction,
        _ read: @escaping @Sendable (SystemPrompt) async throws -> BiometricReading
    ) async throws {
        var hint: String?
        try await self.answering(model, command) {
            while true {
                let lastHint = hint
                switch try await self.asking(command, { try await verification.reading(model, lastHint, read) }) {
                case .match: return
                case .noMatch(let advice): hint = advice
                case .cancelled:
                    throw OperationFailure(.userCancelled, of: command, "cancelled at the operating system")
                case .lockedOut:
                    throw OperationFailure(
                        .userLockout, of: command, lockedBy: .operatingSystem, "the operating system has locked it")
                }
            }
        }
    }

    /// The number of questions to a silent sensor within one operation.
    private static let triesOfSilence = 3

    /// Returns the answer of a sensor or of the operating system.
    ///
    /// If the sensor does not answer, the function asks the sensor, and with it the person, a few times more. A
    /// disconnected sensor ends the operation at once (§5.3).
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

    /// Shows a picture to confirm. An app without a screen for pictures cannot render the picture.
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

extension DevicePlatform {
    /// Returns one answer of the operating system. A missing sensor counts as an authenticator without a screen in the
    /// app.
    fileprivate func reading(_ model: AuthenticatorModel, _ prompt: SystemPrompt, _ allowsPasscode: Bool) async throws
        -> BiometricReading
    {
        if model.factor == .devicePasscode {
            guard let devicePasscode else { throw UserVerificationError.unavailable }
            return BiometricReading(try await devicePasscode.ask(prompt))
        }
        guard let sensor = model.factor == .face ? self.faceSensor : self.fingerprintSensor else {
            throw UserVerificationError.unavailable
        }
        return try await sensor.read(prompt, allowingDevicePasscode: allowsPasscode)
    }
}

extension UserInteraction {
    /// Returns one answer of the operating system, after the app has asked the person.
    fileprivate func reading(
        _ model: AuthenticatorModel, _ hint: String?,
        _ read: @escaping @Sendable (SystemPrompt) async throws -> BiometricReading
    ) async throws -> BiometricReading {
        guard model.factor == .devicePasscode else {
            return try await self.verifyBiometric(model, hint: hint, read: read)
        }
        return BiometricReading(
            try await self.verifyDevicePasscode(model) { prompt in
                switch try await read(prompt) {
                case .match: .match
                case .lockedOut: .lockedOut
                case .cancelled, .noMatch: .cancelled
                }
            })
    }
}

extension BiometricReading {
    fileprivate init(_ passcode: DevicePasscodeReading) {
        switch passcode {
        case .match: self = .match
        case .cancelled: self = .cancelled
        case .lockedOut: self = .lockedOut
        }
    }
}

/// The signature that a key made while the app's code waited for the operating system.
// Safe to share: every access to `made` is within `lock`.
private final class Signed<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var made: Value?

    var value: Value? { self.lock.withLock { self.made } }
    func set(_ value: Value) { self.lock.withLock { self.made = value } }
}

extension DeviceKeyError {
    /// The authenticator's status for the error.
    var status: CommandStatus {
        switch self {
        case .gone: .keyDisappearedPermanently
        case .noRoom: .insufficientResources
        case .unattested: .attestationNotSupported
        case .lockedOut: .userLockout
        case .wrongSecret, .uncounted, .closed, .unverified: .accessDenied
        }
    }
}

extension UserVerificationError {
    /// The authenticator's status for the error.
    fileprivate var status: CommandStatus {
        switch self {
        case .cancelled: .userCancelled
        case .notResponsive: .userNotResponsive
        default: .accessDenied
        }
    }
}
