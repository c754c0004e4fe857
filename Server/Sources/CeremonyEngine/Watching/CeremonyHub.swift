import Records
import Settings
import Synchronization
import _Primitives

/// The topic that a watcher waits for.
enum WatchTopic: Hashable, Sendable {
    /// The state of a ceremony.
    case ceremony(String)
    /// The operations that wait for a device, by the device's identifier.
    case device(String)
}

/// Wakes the watchers of a topic in this process. A wake is a hint: the row is the authority and is read again.
///
/// Watchers cost memory as long as they wait, and each waiting page is a watcher. A single task reports the ends of
/// phases and the quiet periods for all watchers, so that a watcher needs no task or timer.
final class CeremonyHub: Sendable {
    /// A watcher of a topic.
    private struct Watcher {
        let number: UInt64
        let continuation: AsyncStream<Void>.Continuation
        /// `true` if the topic may have changed since the last read.
        var mayHaveChanged = true
        /// The moment of the next change that comes by itself, such as the end of a ceremony's phase.
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
        var watchers: [WatchTopic: [Watcher]] = [:]
        /// The watched devices of each account. Identifiers are our own words: a watcher has the record of the device.
        var devices: [String: [String]] = [:]  // check: unicode-words
        var isTicking = false

        /// Notes that a topic may have changed, and returns the continuations of its watchers.
        mutating func wake(_ topic: WatchTopic) -> [AsyncStream<Void>.Continuation] {
            for index in (self.watchers[topic] ?? []).indices { self.watchers[topic]?[index].mayHaveChanged = true }
            return self.watchers[topic]?.map(\.continuation) ?? []
        }
    }

    /// The precision with which the end of a phase is reported.
    private static let tick = Limits.Fixed.watchTick

    private let state = Mutex(State())
    private let watchersPerTopic: Int
    private let time: TimeSource

    init(watchersPerTopic: Int, time: TimeSource) {
        self.watchersPerTopic = watchersPerTopic
        self.time = time
    }

    /// Begins to watch a topic. Past the limit the oldest watcher's events end.
    ///
    /// `accountID` is the account of a device: ``wakeDevices(ofAccount:)`` wakes the watcher, too.
    func watch(_ topic: WatchTopic, ofAccount accountID: String? = nil) -> (
        watch: CeremonyWatch, wakes: AsyncStream<Void>
    ) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (number, displaced, isFirst) = self.state.withLock { state in
            state.next += 1
            var watchers = state.watchers[topic] ?? []
            let displaced = watchers.count >= self.watchersPerTopic ? watchers.removeFirst() : nil
            watchers.append(Watcher(number: state.next, continuation: continuation))
            state.watchers[topic] = watchers
            if case .device(let device) = topic, let accountID {
                state.devices[accountID, default: []].append(device)
            }
            let isFirst = !state.isTicking
            state.isTicking = true
            return (state.next, displaced?.continuation, isFirst)
        }
        displaced?.finish()
        if isFirst { self.beginTicking() }
        return (CeremonyWatch(hub: self, topic: topic, accountID: accountID, number: number), stream)
    }

    /// Wakes all watchers of a topic.
    func wake(_ topic: WatchTopic) {
        for continuation in self.state.withLock({ $0.wake(topic) }) { continuation.yield() }
    }

    /// Wakes all watchers of a ceremony, and the watchers of the devices of its account, whose lists may have the
    /// ceremony.
    ///
    /// The page of a named person is not woken by what happens on the phone (decision 126): a wake puts off the page's
    /// next heartbeat, and so tells that a phone has the request. An approval wakes the ceremony's topic by itself.
    func wake(_ ceremony: CeremonyRecord) {
        if !ceremony.isAskedByName || ceremony.outcome == .cancelled { self.wake(.ceremony(ceremony.id)) }
        if let accountID = ceremony.accountID { self.wakeDevices(ofAccount: accountID) }
    }

    /// Wakes the watchers of all devices of an account.
    func wakeDevices(ofAccount accountID: String) {
        let continuations = self.state.withLock { state in
            Set(state.devices[accountID] ?? []).flatMap { state.wake(.device($0)) }
        }
        for continuation in continuations { continuation.yield() }
    }

    /// `true` if somebody watches a device.
    var isWatchingDevices: Bool { self.state.withLock { !$0.devices.isEmpty } }

    /// Returns `true` if the topic may have changed since the last call.
    fileprivate func takeChange(_ number: UInt64, of topic: WatchTopic) -> Bool {
        self.state.withLock { state in
            guard let index = state.watchers[topic]?.firstIndex(where: { $0.number == number }) else { return false }
            let mayHaveChanged = state.watchers[topic]?[index].mayHaveChanged ?? false
            state.watchers[topic]?[index].mayHaveChanged = false
            return mayHaveChanged
        }
    }

    /// Wakes the watcher at `end`, and after `patience` without a wake.
    fileprivate func await(_ number: UInt64, of topic: WatchTopic, until end: Timestamp?, patience: Duration?) {
        let ticks = patience.map { max(1, Int($0.components.seconds / Self.tick.components.seconds)) }
        self.state.withLock { state in
            guard let index = state.watchers[topic]?.firstIndex(where: { $0.number == number }) else { return }
            state.watchers[topic]?[index].end = end
            state.watchers[topic]?[index].patience = ticks
            state.watchers[topic]?[index].quietTicks = 0
        }
    }

    fileprivate func remove(_ number: UInt64, of topic: WatchTopic) {
        let removed = self.state.withLock { state -> AsyncStream<Void>.Continuation? in
            guard let index = state.watchers[topic]?.firstIndex(where: { $0.number == number }) else { return nil }
            let removed = state.watchers[topic]?.remove(at: index)
            if state.watchers[topic]?.isEmpty == true { state.watchers[topic] = nil }
            return removed?.continuation
        }
        removed?.finish()
    }

    /// Removes a watcher's entry among the watched devices of its account, once for each watcher.
    fileprivate func forget(device: String, ofAccount accountID: String) {
        self.state.withLock { state in
            guard let index = state.devices[accountID]?.firstIndex(of: device) else { return }
            state.devices[accountID]?.remove(at: index)
            if state.devices[accountID]?.isEmpty == true { state.devices[accountID] = nil }
        }
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
            var position = state.watchers.startIndex
            // By position, because a copy of the keys would be a copy of the whole dictionary.
            while position != state.watchers.endIndex {
                for index in state.watchers.values[position].indices {
                    let isDue = state.watchers.values[position][index].passTick(at: now)
                    if isDue { due.append(state.watchers.values[position][index].continuation) }
                }
                state.watchers.formIndex(after: &position)
            }
            state.isTicking = !state.watchers.isEmpty
            return (due, state.isTicking)
        }
        for continuation in due { continuation.yield() }
        return isTicking
    }
}

/// The watching of a topic, for the lifetime of this object.
public final class CeremonyWatch: Sendable {
    private let hub: CeremonyHub
    private let topic: WatchTopic
    private let accountID: String?
    private let number: UInt64
    private let replacement = Mutex(false)

    init(hub: CeremonyHub, topic: WatchTopic, accountID: String?, number: UInt64) {
        self.hub = hub
        self.topic = topic
        self.accountID = accountID
        self.number = number
    }

    deinit {
        self.hub.remove(self.number, of: self.topic)
        if case .device(let device) = self.topic, let accountID {
            self.hub.forget(device: device, ofAccount: accountID)
        }
    }

    /// `true` if another watcher has taken the place of this watcher.
    public var isReplaced: Bool { self.replacement.withLock { $0 } }

    /// Ends the events of the watcher, from any thread.
    public func end() { self.hub.remove(self.number, of: self.topic) }

    /// Ends the events of the watcher because another watcher takes its place.
    public func replace() {
        self.replacement.withLock { $0 = true }
        self.end()
    }

    /// Returns `true` if the topic may have changed since the last call.
    func takeChange() -> Bool { self.hub.takeChange(self.number, of: self.topic) }

    /// Asks for a wake at `end`, and after `patience` without a wake.
    func ask(until end: Timestamp?, patience: Duration?) {
        self.hub.await(self.number, of: self.topic, until: end, patience: patience)
    }
}
