public import Countersign
import Foundation

/// Whether the app was started since it was installed, in memory.
// Safe to share: every access to `isStarted` is within `lock`.
public final class VirtualInstallation: InstallationMark, @unchecked Sendable {
    private let lock = NSLock()
    private var isStarted: Bool

    /// An app that was just installed, or one that has been started.
    public init(isStarted: Bool = false) { self.isStarted = isStarted }

    /// The app was removed and installed again: its mark is gone, and the device's storage is as it was.
    public func reinstall() { self.lock.withLock { self.isStarted = false } }

    /// See ``InstallationMark``.
    public func isSet() -> Bool { self.lock.withLock { self.isStarted } }
    /// See ``InstallationMark``.
    public func set() { self.lock.withLock { self.isStarted = true } }
}
