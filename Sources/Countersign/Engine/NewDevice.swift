import UAFClient

/// The keys of a device that does not speak for any identity yet: those that the proof of an activation's PIN has named, and
/// that nobody else can enrol with (decision 79). They are deleted with it, unless an identity has them by then.
final class NewDevice: Sendable {
    let keys: IdentityKeys
    private let core: IdentityCore

    /// Makes keys. Throws `DeviceKeyError` `noRoom` and ``StorageError``.
    init(_ core: IdentityCore) throws {
        self.core = core
        self.keys = try core.module.makeIdentity()
        core.newDevices.insert(self.keys)
    }

    /// The keys are an identity's from now on, and go with that.
    func handOver() { self.core.newDevices.remove(self.keys) }

    deinit {
        let keys = self.keys
        // Before the register is looked at: whoever forgets an identity looks the other way round.
        self.core.newDevices.remove(keys)
        guard !self.core.register.identities.contains(where: { $0.device == keys }) else { return }
        try? self.core.module.deleteIdentity(keys)
    }
}
