import Crypto
import Foundation
package import UAF
import _Primitives

/// How strictly a key of finger or face is bound to what the operating system has enrolled. It holds for the key's life.
package struct BiometricOptions: Hashable, Sendable {
    /// Whether the key ends when fingers or faces are added or removed. Such a key never opens to the device's passcode,
    /// whatever its model would let it.
    package var invalidatesOnNewBiometrics: Bool

    /// By default the strictest.
    package init(invalidatesOnNewBiometrics: Bool = true) {
        self.invalidatesOnNewBiometrics = invalidatesOnNewBiometrics
    }
}

/// What a person has shown at a registration, and what the new key is bound to.
enum RegistrationProof {
    case none
    case newSecret(SecretBytes)
    /// A hash of the enrolment's name.
    case system(enrolment: [UInt8])
}

/// How a new key is bound to what a person has shown.
struct KeyBinding {
    var protection: KeyProtectionRecord
    let lock: KeyLock
    /// What opens it now, for its attestation.
    let unlock: KeyUnlock
    /// The enrolment at the operating system that the person was, or is to be, recognised by.
    var enrolment: [UInt8]?
}

extension AuthenticatorModule {
    /// Verifies the person, or enrols the one who gives a new PIN or password (§10, Register). Where the operating system
    /// is asked by the key's own signature, it is asked when the key is attested.
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

    /// Somebody who was enrolled while the dialog waited may have answered it.
    private func checkEnrolment(_ enrolment: [UInt8], of model: AuthenticatorModel) async throws {
        guard constantTimeEqual(enrolment, try await self.enrolment(model, .register)) else {
            throw OperationFailure(.accessDenied, of: .register, "the enrolment has changed meanwhile")
        }
    }

    func binding(_ model: AuthenticatorModel, _ proof: RegistrationProof, _ options: BiometricOptions) throws
        -> KeyBinding
    {
        var protection = KeyProtectionRecord()
        switch proof {
        case .none: return KeyBinding(protection: protection, lock: .none, unlock: .none)
        case .newSecret(let typed):
            let salt = SecretSalt(random: self.platform.random, hardening: self.configuration.pinHardening)
            protection.secretSalt = salt
            let secret = try salt.stretched(typed)
            return KeyBinding(protection: protection, lock: .secret(secret), unlock: .secret(secret))
        case .system(let enrolment):
            // A key that ends with new fingers must not open to the passcode, with which new fingers are enrolled.
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

    /// Attests a new key. Keys that verify while they sign have the operating system ask now.
    func attest(
        _ data: KeyRegistrationData, of record: KeyRecord, _ model: AuthenticatorModel, as type: AttestationType,
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

    /// Verifies the person by what the key's model wants, counts, and signs what `data` says with the counter. A counter is
    /// durable before its signature is made, and is used for one signature at the most.
    func sign(
        with record: KeyRecord, _ model: AuthenticatorModel, _ verification: any UserInteraction,
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
                // Nothing has waited since the key was seen to open, and nothing does until the counter is this one's.
                let (data, handle) = try self.count(record.name, data)
                let signature = try await keys.sign(data.signedBytes, with: handle, of: name, unlocking: unlock)
                return (data, signature)
            }
            switch model.factor {
            case .devicePossession:
                let (data, handle) = try self.count(record.name, data)
                return (data, try await keys.sign(data.signedBytes, with: handle, of: name, unlocking: .none))
            case .pin, .password:
                // One counter for all tries: none but the last makes a signature.
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

    /// Verifies the person before a signature, and that the key opens.
    private func verify(
        _ record: KeyRecord, _ model: AuthenticatorModel, _ keys: any DeviceKeys, _ verification: any UserInteraction
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
                }
            }
        case .devicePossession: unlock = .none
        case .fingerprint, .face, .devicePasscode:
            try await self.checkEnrolment(of: record, model)
            try await self.askSystem(model, allowsPasscode: record.protection.allowsPasscode, .sign, verification)
            // And after the match: somebody who knows the device's passcode can have enrolled a finger while the dialog
            // waited.
            try await self.checkEnrolment(of: record, model)
            unlock = .system(SystemPrompt())
        }
        try keys.check(record.keyHandle, of: name, unlocking: unlock)
        return unlock
    }

    /// Counts a signature durably, and returns what is signed with that counter, and by which handle.
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

    /// What the device's keys throw, as the authenticator's status. A key that is gone there goes here too.
    func usingKeys<Value>(
        _ command: CommandStatus.Command, _ record: KeyRecord? = nil, _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch let error as DeviceKeyError {
            if error == .gone, let record { try self.delete([record.name]) }
            throw OperationFailure(error.status, of: command, "the key: \(error)")
        }
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
        let handle = try await self.usingKeys(.sign, record) {
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
                    // A wrong one is found out before there is any work on the new one, where that can be.
                    try keys.check(typed.handle, of: deviceName, unlocking: .secret(typed.secret))
                    let handle = try keys.relock(
                        typed.handle, of: deviceName, from: typed.secret, to: try salt.stretched(new))
                    try self.ledger.reset(name.keyID.base64URL, spent: typed.spent)
                    return handle
                } catch DeviceKeyError.wrongSecret {
                    lastError = .wrong
                }
            }
        }
        try Task.checkCancellation()
        guard let index = self.database.index(of: name) else {
            throw OperationFailure(.accessDenied, of: .sign, "the key is gone")
        }
        let former = self.database.keys[index].keyHandle
        do {
            try self.change { database in
                database.keys[index].keyHandle = handle
                database.keys[index].protection.secretSalt = salt
            }
        } catch {
            try? keys.delete(handle, of: deviceName)
            throw error
        }
        // What the old one opened. A device that keeps it for a crash in between has nobody who knows of it.
        try? keys.delete(former, of: deviceName)
    }

    /// Asks for the PIN or the password and takes a try for it: spent on disk before anything is looked at, for the caller
    /// to give back once the key has opened. It asks until it may be tried, and ends with the last try.
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
            // The person may have taken long, and another operation may have used tries: judge by what is true now. From
            // here until a key in the storage is seen to open nothing waits.
            switch try self.ledger.status(ledgerName) {
            case .lockedOut: throw OperationFailure(.userLockout, of: .sign, "too many wrong tries")
            case .lastAttemptFailed(_, let rest) where rest > 0: lastError = .coolingDown
            case .unlocked, .lastAttemptFailed:
                // Read again: the secret may have been changed while the person typed.
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

/// A typed PIN or password, after the work on it, and the key that it may open.
private struct SecretTry {
    /// How many tries are spent with it.
    let spent: Int
    let secret: SecretBytes
    let handle: [UInt8]
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

    /// Whether a model's keys have the operating system asked by each of their signatures, so that there is nothing to ask
    /// before.
    package nonisolated func asksWhileSigning(_ model: AuthenticatorModel) -> Bool {
        self.keys(of: model)?.verifiesWhileSigning ?? false
    }

    /// Finds out, without a signature, whether what the operating system judges for a key is still what it was made for. A
    /// key that ended with its enrolment is deleted.
    ///
    /// Throws ``OperationFailure``: `keyDisappearedPermanently` for such a key and for one that is not there,
    /// `userNotEnrolled` where nobody is enrolled, and what a sensor's silence comes to; ``StorageError``.
    package func checkEnrolment(of name: KeyName) async throws {
        guard let index = self.ownIndex(of: name), let model = AuthenticatorModel(aaid: name.aaid) else {
            throw OperationFailure(.keyDisappearedPermanently, of: .sign, "no such key")
        }
        guard [.fingerprint, .face, .devicePasscode].contains(model.factor) else { return }
        try await self.checkEnrolment(of: self.database.keys[index], model)
    }

    /// Deletes a key that ends with its enrolment, once that is another one.
    private func checkEnrolment(of record: KeyRecord, _ model: AuthenticatorModel) async throws {
        let enrolment = try await self.enrolment(model, .sign)
        guard let expected = record.protection.enrolment, !constantTimeEqual(expected, enrolment) else { return }
        try self.deregister(appID: record.appID, aaid: record.aaid, keyID: record.keyID)
        throw OperationFailure(.keyDisappearedPermanently, of: .sign, "the enrolment has changed")
    }

    /// Has the operating system ask, before a signature.
    private func askSystem(
        _ model: AuthenticatorModel, allowsPasscode: Bool, _ command: CommandStatus.Command,
        _ verification: any UserInteraction
    ) async throws {
        let platform = self.platform
        try await self.verifyBySystem(model, command, verification) { prompt in
            try await platform.reading(model, prompt, allowsPasscode)
        }
    }

    /// Has the operating system ask as a part of a signature, which `sign` makes.
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
        // An app's code may say that there was a match where no key has signed.
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

extension DevicePlatform {
    /// One answer of the operating system. A sensor that is not there is one that the app has no screen for.
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
    /// One answer of the operating system, once the app has asked the person.
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

/// What a key has signed while the app's code waited for the operating system.
// Safe to share: every access to `made` is within `lock`.
private final class Signed<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var made: Value?

    var value: Value? { self.lock.withLock { self.made } }
    func set(_ value: Value) { self.lock.withLock { self.made = value } }
}

extension DeviceKeyError {
    /// The authenticator's status for it.
    var status: CommandStatus {
        switch self {
        case .gone: .keyDisappearedPermanently
        case .noRoom: .insufficientResources
        case .unattested: .attestationNotSupported
        case .wrongSecret, .closed, .unverified: .accessDenied
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
