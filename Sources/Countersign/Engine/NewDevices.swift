import Foundation
import UAFClient

/// The keys of all present ``NewDevice`` objects. A message that did not arrive can be sent again with these keys, even
/// if the identity made of them has been forgotten meanwhile.
// Safe to share: every access to `keys` is within `lock`.
final class NewDevices: @unchecked Sendable {
    private let lock = NSLock()
    private var keys: Set<DeviceIdentityKeys> = []

    func insert(_ keys: DeviceIdentityKeys) { self.lock.withLock { _ = self.keys.insert(keys) } }
    func remove(_ keys: DeviceIdentityKeys) { self.lock.withLock { _ = self.keys.remove(keys) } }
    func contains(_ keys: DeviceIdentityKeys) -> Bool { self.lock.withLock { self.keys.contains(keys) } }
}
