import UAFClient

/// The keys of a device that belongs to no identity yet: the keys that the proof of an activation's PIN has named. Only
/// these keys can enrol (decision 79). The keys are deleted with this object, unless an identity has them by then.
final class NewDevice: Sendable {
    let keys: DeviceIdentityKeys
    private let core: IdentityCore

    /// Makes keys. Throws `DeviceKeyError` `noRoom` and ``StorageError``.
    init(_ core: IdentityCore) throws {
        self.core = core
        self.keys = try core.module.makeIdentity()
        core.newDevices.insert(self.keys)
    }

    /// Hands the keys over to an identity, which deletes them from now on.
    func handOver() { self.core.newDevices.remove(self.keys) }

    deinit {
        let keys = self.keys
        // The removal precedes the look at the register, because code that forgets an identity looks in the opposite
        // order.
        self.core.newDevices.remove(keys)
        guard !self.core.register.identities.contains(where: { $0.device == keys }) else { return }
        try? self.core.module.deleteIdentity(keys)
    }
}
