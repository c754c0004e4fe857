import Countersign

/// The name of the time between two starts of the device.
package struct BootName: Hashable, Sendable {
    package let text: String

    /// Creates the name from the system's own name of the start (`kern.bootsessionuuid`), or from the moment of the
    /// start (`kern.boottime`).
    ///
    /// The system moves the moment of the start when a person sets the clock. The name is then new, and a waiting time
    /// begins again: a person who sets the clock waits longer, and never shorter. Throws ``StorageError`` `unavailable`
    /// without both.
    package init(session: String?, startedAt: (seconds: Int, microseconds: Int)?) throws {
        if let session, !session.isEmpty {
            self.text = session
        } else if let startedAt, startedAt.seconds > 0 {
            self.text = "\(startedAt.seconds).\(startedAt.microseconds)"
        } else {
            throw StorageError(.unavailable, "the system does not name its start")
        }
    }
}
