import Settings
import Synchronization
import _Primitives

/// Wakes the watchers of a ceremony in this process. A wake is a hint: the row is the authority and is read again.
///
/// Watchers cost memory as long as they wait, and each waiting page is a watcher. A single task reports the ends of
/// phases and the quiet periods for all watchers, so that a watcher needs no task or timer.
final class CeremonyHub: Sendable {
    /// A watcher of a ceremony.
    private struct Watcher {
        let number: UInt64
        let continuation: AsyncStream<Void>.Continuation
        /// `true` if the ceremony may have changed since the last read.
        var mayHaveChanged = true
        /// The end of the ceremony's phase.
        var end: Timestamp?
        /// The number of ticks after which the watcher wants to hear of a quiet period.
        var patience: Int?
        var quietTicks = 0

        /// Counts a tick, and returns `true` if the watcher must be woken.
        mutating func passTick(at now: Timestamp) -> Bool {
            self.quietTicks += 1
            if let end = self.end, now >= end {
                self.mayHaveChanged = true
                return true
            }
            return self.patience.map { self.quietTicks >= $0 } ?? false
        }
    }

    private struct State {
        var next: UInt64 = 0
        // Identifiers are our own words: a watcher has the record of the ceremony.
        var ceremonies: [String: [Watcher]] = [:]  // check: unicode-words
        var isTicking = false
    }

    /// The precision with which the end of a phase is reported.
    private static let tick = Limits.Fixed.watchTick

    private let state = Mutex(State())
    private let watchersPerCeremony: Int
    private let time: TimeSource

    init(watchersPerCeremony: Int, time: TimeSource) {
        self.watchersPerCeremony = watchersPerCeremony
        self.time = time
    }

    /// Begins to watch a ceremony. Past the limit the oldest watcher's events end.
    func watch(_ id: String) -> (watch: CeremonyWatch, wakes: AsyncStream<Void>) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (number, displaced, isFirst) = self.state.withLock { state in
            state.next += 1
            var watchers = state.ceremonies[id] ?? []
            let displaced = watchers.count >= self.watchersPerCeremony ? watchers.removeFirst() : nil
            watchers.append(Watcher(number: state.next, continuation: continuation))
            state.ceremonies[id] = watchers
            let isFirst = !state.isTicking
            state.isTicking = true
            return (state.next, displaced?.continuation, isFirst)
        }
        displaced?.finish()
        if isFirst { self.beginTicking() }
        return (CeremonyWatch(hub: self, ceremony: id, number: number), stream)
    }

    /// Wakes all watchers of a ceremony.
    func wake(_ id: String) {
        let continuations = self.state.withLock { state in
            for index in (state.ceremonies[id] ?? []).indices { state.ceremonies[id]?[index].mayHaveChanged = true }
            return state.ceremonies[id]?.map(\.continuation) ?? []
        }
        for continuation in continuations { continuation.yield() }
    }

    /// Returns `true` if the ceremony may have changed since the last call.
    fileprivate func takeChange(_ number: UInt64, of id: String) -> Bool {
        self.state.withLock { state in
            guard let index = state.ceremonies[id]?.firstIndex(where: { $0.number == number }) else { return false }
            let mayHaveChanged = state.ceremonies[id]?[index].mayHaveChanged ?? false
            state.ceremonies[id]?[index].mayHaveChanged = false
            return mayHaveChanged
        }
    }

    /// Wakes the watcher at `end`, and after `patience` without a wake.
    fileprivate func await(_ number: UInt64, of id: String, until end: Timestamp?, patience: Duration?) {
        let ticks = patience.map { max(1, Int($0.components.seconds / Self.tick.components.seconds)) }
        self.state.withLock { state in
            guard let index = state.ceremonies[id]?.firstIndex(where: { $0.number == number }) else { return }
            state.ceremonies[id]?[index].end = end
            state.ceremonies[id]?[index].patience = ticks
            state.ceremonies[id]?[index].quietTicks = 0
        }
    }

    fileprivate func remove(_ number: UInt64, of id: String) {
        let removed = self.state.withLock { state -> AsyncStream<Void>.Continuation? in
            guard let index = state.ceremonies[id]?.firstIndex(where: { $0.number == number }) else { return nil }
            let removed = state.ceremonies[id]?.remove(at: index)
            if state.ceremonies[id]?.isEmpty == true { state.ceremonies[id] = nil }
            return removed?.continuation
        }
        removed?.finish()
    }

    // MARK: Time

    /// Starts the ticks, which run as long as there are watchers.
    private func beginTicking() {
        Task { [weak self] in
            while (try? await Task.sleep(for: Self.tick)) != nil, self?.passTick() == true {}
        }
    }

    /// Wakes the watchers whose time has come. Returns `true` if watchers remain.
    private func passTick() -> Bool {
        let now = self.time.now()
        let (due, isTicking) = self.state.withLock { state in
            var due: [AsyncStream<Void>.Continuation] = []
            var position = state.ceremonies.startIndex
            // By position, because a copy of the keys would be a copy of the whole dictionary.
            while position != state.ceremonies.endIndex {
                for index in state.ceremonies.values[position].indices {
                    let isDue = state.ceremonies.values[position][index].passTick(at: now)
                    if isDue { due.append(state.ceremonies.values[position][index].continuation) }
                }
                state.ceremonies.formIndex(after: &position)
            }
            state.isTicking = !state.ceremonies.isEmpty
            return (due, state.isTicking)
        }
        for continuation in due { continuation.yield() }
        return isTicking
    }
}

/// The watching of a ceremony, for the lifetime of this object.
public final class CeremonyWatch: Sendable {
    private let hub: CeremonyHub
    private let ceremony: String
    private let number: UInt64

    init(hub: CeremonyHub, ceremony: String, number: UInt64) {
        self.hub = hub
        self.ceremony = ceremony
        self.number = number
    }

    deinit { self.hub.remove(self.number, of: self.ceremony) }

    /// Ends the events of the watcher, from any thread.
    public func end() { self.hub.remove(self.number, of: self.ceremony) }

    /// Returns `true` if the ceremony may have changed since the last call.
    func takeChange() -> Bool { self.hub.takeChange(self.number, of: self.ceremony) }

    /// Asks for a wake at `end`, and after `patience` without a wake.
    func ask(until end: Timestamp?, patience: Duration?) {
        self.hub.await(self.number, of: self.ceremony, until: end, patience: patience)
    }
}
