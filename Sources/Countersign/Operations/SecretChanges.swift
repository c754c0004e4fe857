import UAF
import UAFClient
import _Primitives

/// An operation that replaces the PIN of an account on this device. Configure the operation and execute it once.
///
/// The PIN protects a key of this device, and no server knows the PIN: the operation sends nothing and works without a
/// network. The key stays the same, so the person need not enrol again. Finger, face and password are not touched.
///
/// ```swift
/// try await client.operations.pinChange.username("alice").pinChanger(screen).execute()
/// ```
///
/// Ends with ``OperationError``: `pinLocked`, `pinNotEnrolled`, `unknownUsername`, `appRenamed`, `missingInteraction`,
/// `operationReused`, `storageError`, and ``FidoErrorCode`` `userCanceled`, `userNotResponsive` or
/// `keyDisappearedPermanently`. After each of these errors, the old PIN or the new PIN holds, never neither.
public struct PinChange: SingleOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var username: Username?
    fileprivate var pinChanger: (any PinChanger)?

    init(core: ClientCore) { self.core = core }

    /// Changes the PIN. A wrong old PIN is a try like a wrong PIN in an authentication: the SDK stores the try on disk
    /// before it checks the PIN, and the fifth wrong try locks the PIN.
    public func perform() async throws(OperationError) {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let pinChanger else { throw OperationError(.missingInteraction, "no PIN changer") }
        let patience = self.core.patience
        try await self.core.changeSecret(.pin, of: self.username) {
            PinChangeQuestions(
                changer: pinChanger, policy: try await patience.compute { await pinChanger.pinPolicy() },
                patience: patience)
        }
    }
}

extension OperationBuilder where Operation == PinChange {
    /// Sets the name of the person whose PIN is changed. Required.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// Sets the screen that asks for the present and the new PIN. Required.
    public func pinChanger(_ changer: any PinChanger) -> Self { self.changing { $0.pinChanger = changer } }
}

/// An operation that replaces the password of an account on this device. Configure the operation and execute it once.
///
/// The password protects a key of this device, and no server knows the password: the operation sends nothing and works
/// without a network, unless the app's own ``PasswordPolicy`` asks a server. The key stays the same. A password for
/// sign-ins at the server's pages is another password, and is not changed.
///
/// ```swift
/// try await client.operations.passwordChange.username("alice").passwordChanger(screen).execute()
/// ```
///
/// Ends with ``OperationError``: `passwordLocked`, `passwordNotEnrolled`, `unknownUsername`, `appRenamed`,
/// `missingInteraction`, `operationReused`, `storageError`, and ``FidoErrorCode`` `userCanceled`, `userNotResponsive`
/// or `keyDisappearedPermanently`. After each of these errors, the old or the new password holds, never neither.
public struct PasswordChange: SingleOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var username: Username?
    fileprivate var passwordChanger: (any PasswordChanger)?

    init(core: ClientCore) { self.core = core }

    /// Changes the password. A wrong old password is a try like a wrong password in an authentication: the SDK stores
    /// the try on disk before it checks the password, and the fifth wrong try locks the password.
    public func perform() async throws(OperationError) {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let passwordChanger else { throw OperationError(.missingInteraction, "no password changer") }
        let patience = self.core.patience
        try await self.core.changeSecret(.password, of: self.username) {
            PasswordChangeQuestions(
                changer: passwordChanger,
                policy: try await patience.compute { await passwordChanger.passwordPolicy() }, patience: patience)
        }
    }
}

extension OperationBuilder where Operation == PasswordChange {
    /// Sets the name of the person whose password is changed. Required.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// Sets the screen that asks for the present and the new password. Required.
    public func passwordChanger(_ changer: any PasswordChanger) -> Self {
        self.changing { $0.passwordChanger = changer }
    }
}

extension ClientCore {
    /// Replaces the PIN or the password of an account's latest key of the factor, without the network. `makeQuestions`
    /// is called after the key is found.
    fileprivate func changeSecret<Questions: SecretChangeQuestions>(
        _ factor: AuthenticatorModel.Factor, of username: Username?, _ makeQuestions: () async throws -> Questions
    ) async throws(OperationError) {
        guard let username = username?.normalizedUsername else {
            throw OperationError(.missingInteraction, "no username, or nobody's")
        }
        guard let record = await self.record(named: username) else { throw OperationError(unknown: username) }
        do {
            try self.checkName(of: record)
            guard let key = record.latestKey(of: factor) else {
                throw OperationError(
                    factor == .pin ? .pinNotEnrolled : .passwordNotEnrolled, "the account has no such key here")
            }
            let questions = try await makeQuestions()
            try await self.module.changeSecret(of: key) { status, refusal in
                try await self.acceptableChange(of: key, username, questions, status, refusal)
            }
        } catch let failure as OperationFailure where failure.code == .userLockout && failure.lockHolder == nil {
            throw OperationError(factor == .pin ? .pinLocked : .passwordLocked, failure.reason)
        } catch {
            throw OperationError(translating: error)
        }
    }

    /// Asks until the new secret is acceptable. Each question has the present state of the tries.
    private func acceptableChange<Questions: SecretChangeQuestions>(
        of key: KeyName, _ username: Username, _ questions: Questions, _ status: AuthenticatorProtectionStatus,
        _ refusal: SecretRefusal?
    ) async throws -> SecretChange {
        var (status, lastError) = (status, refusal.map(Questions.error))
        while true {
            switch try await questions.ask(username, status, lastError) {
            case .change(let change): return change
            case .refused(let reason): lastError = reason
            }
            // The person may have taken long, and another operation may have used the tries meanwhile.
            status = try await self.module.protectionStatus(of: key)
            guard status != .lockedOut else { throw OperationFailure(.userLockout, "too many wrong tries") }
        }
    }
}
