import CoreMetrics
import CountersignServer
import Foundation
import HummingbirdCore
import Store
import Synchronization
import _Primitives

/// The open connections of the public listener: so many and no more, so that the store, the operations listener and
/// the administrators' socket have descriptors whatever strangers do; and of each source its share and no more, so that
/// nobody takes them all.
///
/// A new connection comes in, and another one gives way: past a source's share one of its own, at the bound one of all.
/// First goes the connection that has waited the longest for its client, be it to send a whole request or to read an
/// answer that is there; then the oldest channel that waits for events (at the bound one of the source that has the
/// most): its page asks again. A connection whose answer is being made is never cut. At the bound, as long as no more
/// than a quarter of all wait, none is cut either that has just begun to: its client's next request may be on its way,
/// and clients that do not read are known as such only after that time. Where there is nobody else, no more are
/// accepted until one ends or has waited long enough; those who come wait in the system's queue.
final class OpenConnections: AvailableConnectionsDelegate {
    /// A connection's place, from ``open(source:cut:)`` to ``end(_:)``.
    struct Connection: Hashable, Sendable {
        fileprivate let slot: Int
        fileprivate let source: String?
    }

    private struct State {
        /// What the listener has accepted, until it is closed.
        var accepted = 0
        var table = ConnectionTable()
        /// Room is to be made at a later time already.
        var isLooking = false
        var reported: Timestamp?
        var shareReported: Timestamp?
    }

    /// What the operator is told of, from time to time: anybody can bring it about.
    enum Report: Equatable, Sendable {
        /// All connections are in use.
        case bound
        /// A source has more than its share.
        case share(source: String)
    }

    let limit: Int
    let share: Int
    private let courtesy: Duration
    private let time: TimeSource
    private let later: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
    private let pauseOfReports: Duration
    private let report: @Sendable (Report) -> Void
    private let registry: PrometheusMetrics
    /// Connections that were cut to make room.
    private let cut: Counter
    /// Connections that were cut because their source had more than its share.
    private let overShare: Counter
    private let late: Counter
    private let unread: Counter
    private let state = Mutex(State())

    /// `limit` connections in all, and `share` of each source. `courtesy` is how long one that has begun to wait for
    /// its client is kept at the bound where few wait; `later` does something after a time. What happens is counted in
    /// `registry`.
    init(
        limit: Int, share: Int, courtesy: Duration, pauseOfReports: Duration, time: TimeSource = .system,
        registry: PrometheusMetrics = PrometheusMetrics(),
        later: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void = { pause, action in
            Task {
                try? await Task.sleep(for: pause)
                action()
            }
        },
        report: @escaping @Sendable (Report) -> Void
    ) {
        self.limit = limit
        self.share = share
        self.courtesy = courtesy
        self.pauseOfReports = pauseOfReports
        self.time = time
        self.later = later
        self.report = report
        self.registry = registry
        self.cut = Counter(label: "countersign_connections_cut_total", factory: registry)
        self.overShare = Counter(label: "countersign_connections_over_share_total", factory: registry)
        self.late = Counter(label: "countersign_requests_late_total", factory: registry)
        self.unread = Counter(label: "countersign_answers_unread_total", factory: registry)
        self.describe()
    }

    // MARK: What the listener asks

    func connectionOpened() { self.state.withLock { $0.accepted += 1 } }

    func connectionClosed() { self.state.withLock { $0.accepted -= 1 } }

    func isAcceptingNewConnections() -> Bool { self.state.withLock { $0.accepted < self.limit } }

    // MARK: What connections tell

    /// A new connection waits for its first request. `source` is by what it is counted; `nil` for a named proxy's,
    /// which has no share. `cut` closes it, from any thread.
    func open(source: String?, cut: @escaping @Sendable () -> Void) -> Connection {
        let now = self.time.now()
        let slot = self.state.withLock { $0.table.add(source: source, at: now, cut: cut) }
        self.settle(Connection(slot: slot, source: source), at: now, sparing: slot) { _ in }
        return Connection(slot: slot, source: source)
    }

    /// The connection has answered everything, and waits for a request again.
    func wait(_ connection: Connection) { self.change(connection, to: .waiting) }

    /// A whole request is there, or its client reads on.
    func answer(_ connection: Connection) {
        self.state.withLock { $0.table.move(connection.slot, to: .answering) }
    }

    /// The client has read nothing of what is there of its answer for as long as one that begins to wait is kept.
    func stall(_ connection: Connection) {
        self.change(connection, to: .stalled, for: self.courtesy)
    }

    /// The answer is a channel that waits for events.
    func holdChannel(_ connection: Connection) { self.change(connection, to: .channel) }

    /// The connection has ended, and its place is given to another.
    func end(_ connection: Connection) { self.state.withLock { $0.table.remove(connection.slot) } }

    /// A request did not come whole in time.
    func countLateRequest() { self.late.increment() }

    /// A connection is cut because too little of an answer was read.
    func countUnreadAnswer() { self.unread.increment() }

    private func change(_ connection: Connection, to place: ConnectionTable.Place, for span: Duration = .zero) {
        let now = self.time.now()
        self.settle(connection, at: now, sparing: nil) { table in
            table.move(connection.slot, to: place, since: now - span)
        }
    }

    /// Keeps the connection's source to its share and all to the bound, after something has changed: as long as they
    /// are being answered, connections cannot give way.
    private func settle(
        _ connection: Connection, at now: Timestamp, sparing newcomer: Int?, _ change: (inout ConnectionTable) -> Void
    ) {
        let (cuts, isReported, isFull) = self.state.withLock { state in
            change(&state.table)
            let cuts = state.table.takePastShare(self.share, ofSourceOf: connection.slot, sparing: newcomer)
            let isReported = !cuts.isEmpty && state.shareReported.map { now >= $0 + self.pauseOfReports } ?? true
            if isReported { state.shareReported = now }
            return (cuts, isReported, state.table.live >= self.limit)
        }
        self.overShare.increment(by: cuts.count)
        if isReported, let source = connection.source { self.report(.share(source: source)) }
        for cut in cuts { cut() }
        if isFull { self.makeRoom(sparing: newcomer) }
    }

    private func makeRoom(sparing newcomer: Int?) {
        let now = self.time.now()
        let (isReported, cut, pause) = self.state.withLock { state -> (Bool, ConnectionTable.Cut?, Duration?) in
            guard state.table.live >= self.limit else { return (false, nil, nil) }
            let isReported = state.reported.map { now >= $0 + self.pauseOfReports } ?? true
            if isReported { state.reported = now }
            switch state.table.makeRoom(sparing: newcomer, courtesy: self.courtesy, now: now) {
            case .cut(let cut):
                self.cut.increment()
                return (isReported, cut, nil)
            case .later(let pause) where !state.isLooking:
                state.isLooking = true
                return (isReported, nil, pause)
            case .later, .none: return (isReported, nil, nil)
            }
        }
        if isReported { self.report(.bound) }
        cut?()
        guard let pause else { return }
        self.later(pause) {
            self.state.withLock { $0.isLooking = false }
            self.makeRoom(sparing: nil)
        }
    }

    // MARK: What the operator sees

    /// Connections whose clients do not read what is there of an answer.
    var stalled: Int { self.state.withLock { $0.table.stalled } }

    /// The numbers in the text format of Prometheus.
    var metrics: String { self.registry.text }

    private func describe() {
        self.registry.describe([
            "countersign_connections_open": "Open connections of the public listener.",
            "countersign_connections_stalled":
                "Open connections whose clients do not read what is there of an answer.",
            "countersign_connections_limit": "So many can be open.",
            "countersign_connections_share": "So many of them one source can have.",
            "countersign_connections_cut_total": "Connections that were cut to make room for others.",
            "countersign_connections_over_share_total":
                "Connections that were cut because their source had more than its share.",
            "countersign_requests_late_total": "Requests that did not come whole in time.",
            "countersign_answers_unread_total":
                "Connections that were cut because their client did not read its answers.",
        ])
        Gauge(label: "countersign_connections_limit", factory: self.registry).record(self.limit)
        Gauge(label: "countersign_connections_share", factory: self.registry).record(self.share)
        let open = Gauge(label: "countersign_connections_open", factory: self.registry)
        let stalled = Gauge(label: "countersign_connections_stalled", factory: self.registry)
        self.registry.collect { [weak self] in
            guard let self else { return }
            open.record(self.state.withLock { $0.accepted })
            stalled.record(self.stalled)
        }
    }
}

/// The files and connections that this process may have open at a time.
enum Descriptors {
    /// The process's soft limit.
    static var limit: Int {
        var limits = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0 else {
            return Limits.Fixed.assumedFiles
        }
        return Int(clamping: limits.rlim_cur)
    }

    /// How many connections the public listener may have: `wanted`, or what the limit leaves.
    ///
    /// Throws ``CommandFailure`` where the limit does not leave so many.
    static func connections(_ wanted: Int?, limit: Int = Self.limit) throws -> Int {
        let possible = limit - Limits.Fixed.reservedFiles
        guard possible > 0, wanted ?? 1 <= possible else {
            throw CommandFailure(
                .failed, "this process may open \(limit) files, which leaves \(max(possible, 0)) connections",
                remedy: "Raise the limit (LimitNOFILE= of the unit, ulimit -n), or lower --connections.")
        }
        return wanted ?? min(possible, Limits.Fixed.mostConnections)
    }
}
