import _Primitives

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
        // Watching before the first read: a change between the two is a wake that waits.
        let (watch, wakes) = self.hub.watch(self.id)
        return Iterator(events: self, watch: watch, wakes: wakes.makeAsyncIterator())
    }

    /// Reads the ceremony again after each wake.
    public struct Iterator: AsyncIteratorProtocol {
        /// Ends the events from elsewhere.
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

        /// The next state that differs from the one before; `nil` after the last. Throws what the store throws.
        public mutating func next() async throws -> Element? {
            while let news = try await self.next(patience: nil) {
                if case .state(let element) = news { return element }
            }
            return nil
        }

        /// The next state that differs from the one before, or that nothing has happened for `patience`; `nil` after the
        /// last. Throws what the store throws.
        public mutating func next(patience: Duration?) async throws -> CeremonyNews<Element>? {
            while !self.isOver {
                if self.last != nil {
                    guard await self.isWoken(patience: patience) else { break }
                    guard self.watch.takeChange() || self.isPhaseOver else { return .quiet }
                } else {
                    _ = self.watch.takeChange()
                }
                let now = self.events.time.now()
                // In a task of its own, which takes its stack with it: this one waits as long as the watcher does.
                let read = self.events.read
                let (element, isFinal, until) = try await Task { try await read() }.value
                self.isOver = isFinal
                // Of a moment that had passed before, nothing more is to be read: waiting for it would never end.
                self.until = until.flatMap { $0 > now ? $0 : nil }
                guard element != self.last else { continue }
                self.last = element
                return .state(element)
            }
            self.isOver = true
            return nil
        }

        private var isPhaseOver: Bool { self.until.map { self.events.time.now() >= $0 } ?? false }

        /// Waits for a wake; the end of the phase is one. Whether there was one before the watching ended.
        private mutating func isWoken(patience: Duration?) async -> Bool {
            // Passed since the last reading.
            if self.isPhaseOver { return true }
            self.watch.ask(until: self.until, patience: patience)
            return await self.wakes.next() != nil
        }
    }
}

/// What a watcher of a ceremony is told.
public enum CeremonyNews<Element: Equatable & Sendable>: Equatable, Sendable {
    /// The ceremony's state is another one.
    case state(Element)
    /// Nothing has happened for a while.
    case quiet
}
