import UAFClient
import _Primitives

/// An operation that changes the name, the push address or the push setting of this device, at the server of each
/// account and on the device. Configure the operation and execute it once.
///
/// ```swift
/// try await client.operations.deviceInformationChange.name("Alice's new phone").execute()
/// ```
///
/// The device authenticates the requests itself, and the person is asked nothing. An operation without a change
/// succeeds and sends nothing.
///
/// The push address and the push setting are facts of the device: the SDK stores them first, and
/// ``DeviceInformationSync`` tells a server that the operation did not reach. A name is stored only after each server
/// has accepted the name. If the name of one server's account is taken, the device keeps its former name, and
/// ``DeviceInformationSync`` restores the former name at the other servers.
///
/// Ends with ``OperationError``: `nameAlreadyExists`, `dispatcherUnknown`, `dispatchTargetUnknown`, `notAuthorized` if
/// a server does not know the device's keys, `unknownUsername` if this device has no account, `missingInteraction` for
/// a name or an address that no server accepts, and the errors of every request. With several servers, the error is the
/// first error that a server caused, and `nameAlreadyExists` before all others.
public struct DeviceInformationChange: SingleOperation, ServerOperation {
    private let core: ClientCore
    private let once = OneShot()
    fileprivate var change = StoredDevice.Change()
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// Changes the data. Sends one request for each account, and a second request if the push address is removed along
    /// with another change.
    public func perform() async throws(OperationError) {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard !self.change.isEmpty else { return }
        if let flaw = self.change.flaw {
            throw OperationError(.missingInteraction, "the device's information: \(flaw)")
        }
        let core = try self.requestOptions.configure(self.core)
        var facts = self.change
        facts.name = nil
        let changed: StoredDevice
        do {
            guard let device = try await core.register.change(facts) else {
                throw OperationError(.unknownUsername, "this device has no account")
            }
            changed = device.applying(self.change)
        } catch {
            throw OperationError(translating: error)
        }
        var failures: [OperationError] = []
        for record in await core.register.records {
            do {
                try await self.tell(record, changed, core)
            } catch {
                failures.append(OperationError(translating: error))
            }
        }
        if let failure = failures.first(where: { $0.code == .nameAlreadyExists }) ?? failures.first { throw failure }
        // The facts are stored. A change that was executed meanwhile may have stored later facts.
        var name = StoredDevice.Change()
        name.name = self.change.name
        do { try await core.register.change(name) } catch { throw OperationError(translating: error) }
    }

    /// Tells the server of one account. A server without a target for the device gets all of the changed data.
    private func tell(_ record: StoredAccount, _ changed: StoredDevice, _ core: ClientCore) async throws {
        try core.checkName(of: record)
        guard let exchange = DispatchTargetExchange(core, record, core.newRecording()) else {
            // The registration's target is created with the changed data.
            if record.isTargetOwed { return }
            throw OperationError(.notAuthorized, "the server does not know the device's keys")
        }
        if let id = record.targetID {
            try await exchange.change(id, self.change)
        } else {
            try await core.register.note(targetID: try await exchange.create(changed), of: record.key)
        }
    }
}

extension OperationBuilder where Operation == DeviceInformationChange {
    /// Sets the device's new name: see ``DeviceInformation/name``.
    public func name(_ name: String) -> Self { self.changing { $0.change.name = name } }
    /// Sets the device's new push address, or removes the address with `nil`. The push setting stays as it is: a new
    /// address turns push on for nobody who has turned push off.
    public func pushAddress(_ address: PushAddress?) -> Self {
        self.changing { $0.change.pushAddress = address.map { .set($0) } ?? .removed }
    }
    /// Sets the app's new token of Firebase Cloud Messaging as the push address: see ``pushAddress(_:)``.
    public func fcmRegistrationToken(_ token: String) -> Self {
        self.pushAddress(.firebaseCloudMessaging(registrationToken: token))
    }
    /// Turns push off: no server pushes to this device until ``enablePushNotifications()``. The push address stays.
    public func disablePushNotifications() -> Self { self.changing { $0.change.isPushEnabled = false } }
    /// Turns push on again.
    public func enablePushNotifications() -> Self { self.changing { $0.change.isPushEnabled = true } }
}
