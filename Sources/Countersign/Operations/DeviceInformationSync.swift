import UAF
import UAFClient
import _Primitives

/// An operation that repairs differences between this device and the servers of its accounts. Configure the operation
/// and execute it once.
///
/// The device's own data count for the name, the push address and the push setting: the servers get them. A missing
/// dispatch target is created. A key that only the server has is deleted at the server, by the device's own proof. A key
/// that only this device has is deleted on the device, after the server has confirmed the key by name in a message of a
/// deregistration. The account is removed with its last key that a person uses.
///
/// Device keys that the server does not accept need the person: the next authentication announces the keys. If the app
/// sets an authenticator selector and verifiers, the operation authenticates the person for this, and then states all
/// of the device's data anew. Otherwise the difference stays, with the error `notAuthorized`.
///
/// A failure ends nothing: the operation repairs everything else, and the result has the failures. Each difference is
/// looked for again before its repair, so that an old list of differences does no harm.
///
/// Ends with ``OperationError``: `operationReused`, `invalidRequestHeader` for the app's own header fields, and
/// ``FidoErrorCode`` `userCanceled` if the task is cancelled.
public struct DeviceInformationSync: InteractiveOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var mismatches: [DeviceInformationMismatch]?
    /// The screens, used by the SDK only.
    public var screens = Screens()
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// Repairs the differences, account by account.
    public func perform() async throws(OperationError) -> DeviceInformationSyncResult {
        guard self.once.take() else { throw OperationError(.operationReused) }
        let core = try self.requestOptions.configure(self.core)
        var result = DeviceInformationSyncResult()
        for record in await core.register.records {
            let wanted = self.mismatches.map { all in all.filter { $0.account == record.account } }
            guard wanted?.isEmpty != true else { continue }
            do {
                try await DeviceRepair(core: core, account: record.key, screens: self.screens).run(wanted, &result)
            } catch is CancellationError {
                throw OperationError(translating: CancellationError())
            } catch {
                result.failures.append(
                    DeviceInformationFailure(
                        account: record.account, mismatch: nil, error: OperationError(translating: error)))
            }
        }
        return result
    }
}

extension OperationBuilder where Operation == DeviceInformationSync {
    /// Sets the differences to repair: those of a ``DeviceInformationCheck``, or the app's choice among them. By default
    /// the operation repairs all differences. A difference that other device keys or a missing target hid is repaired
    /// along with the difference that hid it.
    public func mismatches(_ mismatches: [DeviceInformationMismatch]) -> Self {
        self.changing { $0.mismatches = mismatches }
    }
    /// Sets the screen that asks for the PIN, for device keys that the server does not accept.
    public func pinUserVerifier(_ verifier: any PinUserVerifier) -> Self {
        self.changing { $0.screens.pinUserVerifier = verifier }
    }
    /// Sets the screen that asks for the password, for device keys that the server does not accept.
    public func passwordUserVerifier(_ verifier: any PasswordUserVerifier) -> Self {
        self.changing { $0.screens.passwordUserVerifier = verifier }
    }
}

/// The result of a ``DeviceInformationSync``.
public struct DeviceInformationSyncResult: Hashable, Sendable {
    /// The differences that were repaired.
    public internal(set) var repaired: [DeviceInformationMismatch] = []
    /// The differences that stay, and the accounts whose servers could not be asked.
    public internal(set) var failures: [DeviceInformationFailure] = []
}

/// The repair of one account's differences.
private struct DeviceRepair {
    let core: ClientCore
    let account: AccountKey
    let screens: Screens

    /// Repairs the wanted differences that still exist; `nil` for all differences.
    ///
    /// Throws the errors of the check, and `CancellationError`. A failed repair is a failure of the result.
    func run(_ wanted: [DeviceInformationMismatch]?, _ result: inout DeviceInformationSyncResult) async throws {
        var left = try await self.found().filter { wanted?.contains($0) ?? true }
        // Each of these differences hides all others, and the first one hides the second.
        for kind in [DeviceInformationMismatch.Kind.deviceKeys, .dispatchTarget] {
            guard let hiding = left.first(where: { $0.kind == kind }) else { continue }
            guard try await self.repair(hiding, &result) else { return }
            left = try await self.found()
        }
        for mismatch in left { _ = try await self.repair(mismatch, &result) }
    }

    private func found() async throws -> [DeviceInformationMismatch] {
        guard let record = await self.core.register.record(of: self.account),
            let device = await self.core.register.device
        else { return [] }
        return try await DeviceComparison(core: self.core, device: device).mismatches(of: record)
    }

    /// Repairs one difference. Returns `false` if the difference stays.
    private func repair(_ mismatch: DeviceInformationMismatch, _ result: inout DeviceInformationSyncResult) async throws
        -> Bool
    {
        do {
            // An earlier repair may have removed the account with its last key.
            guard let record = await self.core.register.record(of: self.account),
                let device = await self.core.register.device
            else { return false }
            try await self.repair(mismatch, of: record, device)
            result.repaired.append(mismatch)
            return true
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // The authentication of a cancelled task ends with an error of its own.
            try Task.checkCancellation()
            result.failures.append(
                DeviceInformationFailure(
                    account: mismatch.account, mismatch: mismatch, error: OperationError(translating: error)))
            return false
        }
    }

    private func repair(_ mismatch: DeviceInformationMismatch, of record: StoredAccount, _ device: StoredDevice)
        async throws
    {
        switch mismatch.kind {
        case .deviceKeys:
            try await self.announceKeys(of: record)
            // The server may have the device by another identifier now.
            return try await self.createTarget(device)
        case .authenticator: return try await self.deleteKey(mismatch.key, of: record)
        case .dispatchTarget:
            do { return try await self.createTarget(device) } catch let error as EngineError
                where error.cause == .notAuthorized
            {
                // Only the creation could find out that the server does not accept the keys.
                try await self.announceKeys(of: record)
                return try await self.createTarget(device)
            }
        default: break
        }
        guard let exchange = DispatchTargetExchange(self.core, record, self.core.newRecording()) else {
            throw OperationError(.notAuthorized, "the server does not know the device's keys")
        }
        guard let id = record.targetID else { throw OperationError(.dispatchTargetUnknown, "no identifier") }
        var change = StoredDevice.Change()
        switch mismatch.kind {
        case .name: change.name = device.shownName
        case .pushAddress: change.pushAddress = device.pushAddress.map { .set($0) } ?? .removed
        default: change.isPushEnabled = device.isPushEnabled
        }
        try await exchange.change(id, change)
    }

    private func createTarget(_ device: StoredDevice) async throws {
        guard let record = await self.core.register.record(of: self.account),
            let exchange = DispatchTargetExchange(self.core, record, self.core.newRecording())
        else { throw EngineError(.notAuthorized, "the server does not know the device's keys") }
        try await self.core.register.note(targetID: try await exchange.create(device), of: self.account)
    }

    /// Has the person authenticate, which announces the device's keys to the server.
    private func announceKeys(of record: StoredAccount) async throws {
        guard self.screens.authenticatorSelector != nil else {
            throw OperationError(.notAuthorized, "the server does not know the device's keys")
        }
        var authentication = Operations(core: self.core.atServer(of: record)).authentication.username(record.username)
        authentication.screens = self.screens
        _ = try await authentication.perform()
        guard await self.core.register.record(of: self.account)?.isIdentityKnown ?? false else {
            throw OperationError(.notAuthorized, "the server does not take the device's keys")
        }
    }

    /// Deletes a key at the server, by the device's own proof, and then on this device if the device has the key. The
    /// server's message has to name the key.
    private func deleteKey(_ key: KeyName?, of record: StoredAccount) async throws {
        guard let key, let identity = record.identity else { return }
        let core = self.core.atServer(of: record)
        try await Deregistration.deregister(
            [key], record.username, by: .device(identity, of: record.key), core)
        if record.keys.contains(key) { try await core.forget([key], of: record) }
    }
}
