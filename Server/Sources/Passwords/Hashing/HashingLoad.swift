/// The load of a pool of hashing threads, for metrics. A search in the list of breached passwords alone counts as a
/// hash without memory.
public struct HashingLoad: Sendable, Hashable {
    /// The number of hashes that wait for a thread.
    public var waiting = 0
    /// The memory of the running hashes, in KiB.
    public var memoryKiB = 0
    /// The maximum of `memoryKiB` since the start, in KiB.
    public var mostMemoryKiB = 0
    /// The number of finished hashes since the start.
    public var done = 0
    /// `true` if the pool takes no more work.
    public var isClosed = false
}
