public import Countersign
import Foundation
import UAFClient

/// Whether the app was started since it was installed, in memory.
// Safe to share: every access to `isStarted` is within `lock`.
public final class VirtualInstallation: InstallationMark, @unchecked Sendable {
    private let lock = NSLock()
    private var isStarted: Bool
    private var isProtected = false

    /// An app that was just installed, or one that has been started.
    public init(isStarted: Bool = false) { self.isStarted = isStarted }

    /// The app was removed and installed again: its mark is gone, and the device's storage is as it was.
    public func reinstall() { self.lock.withLock { self.isStarted = false } }

    /// Whether the mark cannot be read, as before the first unlock of a device.
    public func protect(_ isProtected: Bool) { self.lock.withLock { self.isProtected = isProtected } }

    /// See ``InstallationMark``.
    public func isSet() throws -> Bool {
        try self.lock.withLock {
            guard !self.isProtected else { throw StorageError(.locked, "the device was not unlocked yet") }
            return self.isStarted
        }
    }
    /// See ``InstallationMark``.
    public func set() { self.lock.withLock { self.isStarted = true } }
}
