import Synchronization
import _Primitives

/// Wakes whoever watches a ceremony in this process. A wake is a hint: the row is the authority and is read again.
final class CeremonyHub: Sendable {
    private struct Watchers {
        var streams: [(number: UInt64, continuation: AsyncStream<Void>.Continuation)] = []
    }

    private let state = Mutex<(next: UInt64, ceremonies: [String: Watchers])>((0, [:]))
    private let watchersPerCeremony: Int

    init(watchersPerCeremony: Int) { self.watchersPerCeremony = watchersPerCeremony }

    /// A stream of wakes for a ceremony. Wakes that nobody has taken yet are one. Past the limit the oldest watcher's
    /// stream ends.
    func watch(_ id: String) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (number, displaced) = self.state.withLock { state in
            state.next += 1
            var watchers = state.ceremonies[id] ?? Watchers()
            let displaced =
                watchers.streams.count >= self.watchersPerCeremony ? watchers.streams.removeFirst() : nil
            watchers.streams.append((state.next, continuation))
            state.ceremonies[id] = watchers
            return (state.next, displaced?.continuation)
        }
        displaced?.finish()
        continuation.onTermination = { [weak self] _ in self?.remove(number, of: id) }
        return stream
    }

    /// Wakes all watchers of a ceremony.
    func wake(_ id: String) {
        let continuations = self.state.withLock { state in
            state.ceremonies[id]?.streams.map(\.continuation) ?? []
        }
        for continuation in continuations { continuation.yield() }
    }

    private func remove(_ number: UInt64, of id: String) {
        self.state.withLock { state in
            state.ceremonies[id]?.streams.removeAll { $0.number == number }
            if state.ceremonies[id]?.streams.isEmpty == true { state.ceremonies[id] = nil }
        }
    }
}

/// What somebody sees of a ceremony while it runs: first as it is, then after each change, until its last state.
///
/// The ceremony is read from the store each time; a state that was skipped is never shown late. A phase whose time is
/// over is told then, whoever sweeps and when. The sequence ends after a final state, and when too many watch the same
/// ceremony.
public struct CeremonyEvents<Element: Equatable & Sendable>: AsyncSequence, Sendable {
    /// What is seen, whether it is the last of it, and when it is over by itself.
    typealias Reading = (element: Element, isFinal: Bool, until: Timestamp?)

    let hub: CeremonyHub
    let id: String
    let time: TimeSource
    let read: @Sendable () async throws -> Reading

    /// Begins to watch. Dropping the iterator ends it.
    public func makeAsyncIterator() -> Iterator {
        // Subscribed before the first read: a change between the two is a wake that waits.
        Iterator(events: self, wakes: self.hub.watch(self.id).makeAsyncIterator())
    }

    /// Reads the ceremony again after each wake.
    public struct Iterator: AsyncIteratorProtocol {
        private let events: CeremonyEvents
        private var wakes: AsyncStream<Void>.Iterator
        private var last: Element?
        private var until: Timestamp?
        private var isOver = false

        init(events: CeremonyEvents, wakes: AsyncStream<Void>.Iterator) {
            self.events = events
            self.wakes = wakes
        }

        /// The next state that differs from the one before; `nil` after the last. Throws what the store throws.
        public mutating func next() async throws -> Element? {
            while !self.isOver {
                if self.last != nil, await self.nextWake() == nil { break }
                let now = self.events.time.now()
                let (element, isFinal, until) = try await self.events.read()
                self.isOver = isFinal
                // Of a moment that had passed before, nothing more is to be read: waiting for it would never end.
                self.until = until.flatMap { $0 > now ? $0 : nil }
                guard element != self.last else { continue }
                self.last = element
                return element
            }
            self.isOver = true
            return nil
        }

        /// Waits for a wake; the end of the phase is one.
        private mutating func nextWake() async -> Void? {
            let (hub, id) = (self.events.hub, self.events.id)
            let rest = self.until.map { $0 - self.events.time.now() }
            // Passed since the last reading.
            if let rest, rest <= .zero { return () }
            let alarm = rest.map { rest in
                Task {
                    try await Task.sleep(for: rest)
                    hub.wake(id)
                }
            }
            defer { alarm?.cancel() }
            return await self.wakes.next()
        }
    }
}
