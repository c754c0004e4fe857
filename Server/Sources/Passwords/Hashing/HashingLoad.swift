/// What a pool of hashing threads does, for metrics.
public struct HashingLoad: Sendable, Hashable {
    /// Hashes that wait for a thread.
    public var waiting = 0
    /// Memory of the hashes that run, in KiB.
    public var memoryKiB = 0
    /// The most that it has been since the start, in KiB.
    public var mostMemoryKiB = 0
    /// Hashes that were finished since the start.
    public var done = 0
    /// Whether it takes nothing more.
    public var isClosed = false
}
