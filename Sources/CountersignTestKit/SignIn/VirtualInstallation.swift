public import Countersign
import Foundation
import UAFClient

/// The mark that the app was started since its installation, in memory.
// Safe to share: every access to `isStarted` is within `lock`.
public final class VirtualInstallation: InstallationMark, @unchecked Sendable {
    private let lock = NSLock()
    private var isStarted: Bool
    private var isProtected = false

    /// Creates the mark of an app that was just installed or that has been started.
    public init(isStarted: Bool = false) { self.isStarted = isStarted }

    /// Removes and installs the app again: the mark is gone, and the device's storage stays unchanged.
    public func reinstall() { self.lock.withLock { self.isStarted = false } }

    /// Makes the mark unreadable, as before the first unlock of a device, or readable again.
    public func protect(_ isProtected: Bool) { self.lock.withLock { self.isProtected = isProtected } }

    /// Returns `true` if the app was started; see ``InstallationMark``.
    public func isSet() throws -> Bool {
        try self.lock.withLock {
            guard !self.isProtected else { throw StorageError(.locked, "the device was not unlocked yet") }
            return self.isStarted
        }
    }
    /// Sets the mark; see ``InstallationMark``.
    public func set() { self.lock.withLock { self.isStarted = true } }
}
