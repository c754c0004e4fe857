import _Primitives

/// The states of a topic for a watcher: first the present state, then later states, until the last state. The topic is
/// a running ceremony, or the operations that wait for a device.
///
/// The state is read from the store each time. States between two reads are skipped, and never shown late. The end
/// of a phase is reported at its time, independent of the sweep. The sequence ends after a final state, if too many
/// watchers follow the same topic, and after ``CeremonyWatch/end()``.
public struct CeremonyEvents<Element: Equatable & Sendable>: AsyncSequence, Sendable {
    /// The state, `true` if the state is the last, and the time of the phase's end.
    typealias Reading = (element: Element, isFinal: Bool, until: Timestamp?)

    let hub: CeremonyHub
    let topic: WatchTopic
    /// The account of a device; `nil` for a ceremony.
    var accountID: String?
    let time: TimeSource
    let read: @Sendable () async throws -> Reading

    /// Begins to watch. Dropping the iterator ends the watching.
    public func makeAsyncIterator() -> Iterator {
        // The watching begins before the first read, so that a change between the two leaves a waiting wake.
        let (watch, wakes) = self.hub.watch(self.topic, ofAccount: self.accountID)
        return Iterator(events: self, watch: watch, wakes: wakes.makeAsyncIterator())
    }

    /// Reads the state again after each wake.
    public struct Iterator: AsyncIteratorProtocol {
        /// The watch, with which other code can end the events.
        public let watch: CeremonyWatch
        private let events: CeremonyEvents
        private var wakes: AsyncStream<Void>.Iterator
        private var last: Element?
        private var until: Timestamp?
        private var isOver = false

        init(events: CeremonyEvents, watch: CeremonyWatch, wakes: AsyncStream<Void>.Iterator) {
            self.events = events
            self.watch = watch
            self.wakes = wakes
        }

        /// Returns the next state that differs from the last; `nil` after the final state, and if the watching has
        /// ended. Throws the store's errors.
        public mutating func next() async throws -> Element? {
            while let news = try await self.next(patience: nil) {
                if case .state(let element) = news { return element }
            }
            return nil
        }

        /// Returns the next state that differs from the last, or `quiet` if nothing has happened for `patience`; `nil`
        /// after the final state, and if the watching has ended. Throws the store's errors.
        public mutating func next(patience: Duration?) async throws -> CeremonyNews<Element>? {
            while !self.isOver {
                if self.last != nil {
                    guard await self.isWoken(patience: patience) else { break }
                    guard self.watch.takeChange() || self.isPhaseOver else { return .quiet }
                } else {
                    _ = self.watch.takeChange()
                }
                let now = self.events.time.now()
                // The read runs in its own task, and its stack goes with the task. The present task waits as long as
                // the watcher does.
                let read = self.events.read
                let (element, isFinal, until) = try await Task { try await read() }.value
                self.isOver = isFinal
                // An end in the past needs no further read. Waiting for such an end would never stop.
                self.until = until.flatMap { $0 > now ? $0 : nil }
                guard element != self.last else { continue }
                self.last = element
                return .state(element)
            }
            self.isOver = true
            return nil
        }

        private var isPhaseOver: Bool { self.until.map { self.events.time.now() >= $0 } ?? false }

        /// Waits for a wake or the end of the phase. Returns `false` if the watching ended first.
        private mutating func isWoken(patience: Duration?) async -> Bool {
            // The end has passed since the last read.
            if self.isPhaseOver { return true }
            self.watch.ask(until: self.until, patience: patience)
            return await self.wakes.next() != nil
        }
    }
}

/// The news for a watcher.
public enum CeremonyNews<Element: Equatable & Sendable>: Equatable, Sendable {
    /// The topic has another state.
    case state(Element)
    /// Nothing has happened for a while.
    case quiet
}
