import CoreMetrics
import Endpoints
import Foundation
import HummingbirdCore
import Settings
import Synchronization
import _Primitives

/// The open connections of the public listener, with a bound for all connections and a share for each source.
///
/// The bound keeps descriptors for the store, the operations listener and the administrators' socket, whatever
/// strangers do. The share keeps a source from taking all connections.
///
/// A new connection comes in, and another connection gives way. If a source is above its share, a connection of the
/// source gives way. At the bound, a connection of any source gives way.
///
/// While the stream of a device goes on that has proved itself, the connection counts for the device's account, and not
/// for its source.
///
/// The first to go is the connection that has waited the longest for its client, either to send a complete request or
/// to read an answer. The next to go is the oldest channel that waits for events, at the bound a channel of the source
/// with the most channels: the channel's page asks again. A connection whose answer is being made is never cut.
///
/// At the bound, a connection that has just begun to wait is not cut either, as long as at most a quarter of all
/// connections wait. The client's next request may be on its way, and only the time shows if a client does not read. If
/// no other connection can go, the listener accepts no more until a connection ends or has waited long enough. New
/// connections then wait in the system's queue.
final class OpenConnections: AvailableConnectionsDelegate {
    /// A connection's place, from ``open(source:cut:)`` to ``end(_:)``.
    struct Connection: Hashable, Sendable {
        fileprivate let slot: Int
        fileprivate let source: String?

        fileprivate var owner: ConnectionTable.Owner { self.source.map { .source($0) } ?? .proxy }
    }

    private struct State {
        /// The number of connections that the listener has accepted and not yet closed.
        var accepted = 0
        var table = ConnectionTable()
        /// `true` if a later attempt to make room is already planned.
        var isLooking = false
        var reported: Timestamp?
        var shareReported: Timestamp?
    }

    /// A report to the operator. The record pauses between reports, because anybody can cause a report.
    enum Report: Equatable, Sendable {
        /// All connections are in use.
        case bound
        /// A source has more than its share.
        case share(source: String)
    }

    let limit: Int
    let share: Int
    /// The share of an account whose devices have streams.
    private let accountShare: Int
    private let courtesy: Duration
    private let time: TimeSource
    private let later: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
    private let pauseOfReports: Duration
    private let report: @Sendable (Report) -> Void
    private let registry: PrometheusMetrics
    /// Connections cut to make room.
    private let cut: Counter
    /// Connections cut because their source was above its share.
    private let overShare: Counter
    private let late: Counter
    private let unread: Counter
    private let state = Mutex(State())

    /// Creates a record for `limit` connections in all, and `share` connections of each source.
    ///
    /// If few connections wait, a connection that has begun to wait for its client stays for `courtesy` at the bound.
    /// `later` runs a function after a time. `registry` counts the events. `accountShare` is the number of connections
    /// of an account whose devices have streams.
    init(
        limit: Int, share: Int, accountShare: Int = .max, courtesy: Duration, pauseOfReports: Duration,
        time: TimeSource = .system,
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
        self.accountShare = accountShare
        self.courtesy = courtesy
        self.pauseOfReports = pauseOfReports
        self.time = time
        self.later = later
        self.report = report
        self.registry = registry
        self.cut = registry.counter(.connectionsCut)
        self.overShare = registry.counter(.connectionsOverShare)
        self.late = registry.counter(.requestsLate)
        self.unread = registry.counter(.answersUnread)
        self.watch()
    }

    // MARK: What the listener asks

    func connectionOpened() { self.state.withLock { $0.accepted += 1 } }

    func connectionClosed() { self.state.withLock { $0.accepted -= 1 } }

    func isAcceptingNewConnections() -> Bool { self.state.withLock { $0.accepted < self.limit } }

    // MARK: What connections tell

    /// Adds a new connection, which waits for its first request. `cut` closes the connection, from any thread.
    ///
    /// `source` is the source of the connection; `nil` for a named proxy's connection, which has no share.
    func open(source: String?, cut: @escaping @Sendable () -> Void) -> Connection {
        let now = self.time.now()
        let owner: ConnectionTable.Owner = source.map { .source($0) } ?? .proxy
        let slot = self.state.withLock { $0.table.add(source: owner, at: now, cut: cut) }
        self.settle(Connection(slot: slot, source: source), at: now, sparing: slot) { _ in }
        return Connection(slot: slot, source: source)
    }

    /// Notes that a connection counts for the account of a device from now on; `nil` for its source again.
    func count(_ connection: Connection, forAccount accountID: String?) {
        self.settle(connection, at: self.time.now(), sparing: nil) { table in
            table.move(connection.slot, to: accountID.map { .account($0) } ?? connection.owner)
        }
    }

    /// Notes that the connection has answered everything, and waits for a request again.
    func wait(_ connection: Connection) { self.change(connection, to: .waiting) }

    /// Notes that a complete request has come, or that the client reads on.
    func answer(_ connection: Connection) {
        self.state.withLock { $0.table.move(connection.slot, to: .answering) }
    }

    /// Notes that the client has read nothing of a ready answer, for as long as a connection that begins to wait may
    /// stay.
    func stall(_ connection: Connection) {
        self.change(connection, to: .stalled, for: self.courtesy)
    }

    /// Notes that the answer is a channel that waits for events.
    func holdChannel(_ connection: Connection) { self.change(connection, to: .channel) }

    /// Notes that the connection has ended, and gives its place to another connection.
    func end(_ connection: Connection) { self.state.withLock { $0.table.remove(connection.slot) } }

    /// Counts a request that did not come completely in time.
    func countLateRequest() { self.late.increment() }

    /// Counts a connection that is cut because its client read too little of an answer.
    func countUnreadAnswer() { self.unread.increment() }

    private func change(_ connection: Connection, to place: ConnectionTable.Place, for span: Duration = .zero) {
        let now = self.time.now()
        self.settle(connection, at: now, sparing: nil) { table in
            table.move(connection.slot, to: place, since: now - span)
        }
    }

    /// Keeps the connection's source to its share and all connections to the bound, after a change. Connections that
    /// are being answered cannot give way.
    private func settle(
        _ connection: Connection, at now: Timestamp, sparing newcomer: Int?, _ change: (inout ConnectionTable) -> Void
    ) {
        let (cuts, isReported, isFull) = self.state.withLock { state in
            change(&state.table)
            let cuts = state.table.takePastShare(self.share(of:), ofSourceOf: connection.slot, sparing: newcomer)
            let isReported = !cuts.isEmpty && state.shareReported.map { now >= $0 + self.pauseOfReports } ?? true
            if isReported { state.shareReported = now }
            return (cuts, isReported, state.table.live >= self.limit)
        }
        self.overShare.increment(by: cuts.count)
        if isReported, let source = connection.source { self.report(.share(source: source)) }
        for cut in cuts { cut() }
        if isFull { self.makeRoom(sparing: newcomer) }
    }

    /// Returns the share of an owner; `nil` for a named proxy.
    private func share(of owner: ConnectionTable.Owner) -> Int? {
        switch owner {
        case .source: self.share
        case .account: self.accountShare
        case .proxy: nil
        }
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

    /// The number of connections whose clients do not read a ready answer.
    var stalled: Int { self.state.withLock { $0.table.stalled } }

    /// The numbers in the text format of Prometheus.
    var metrics: String { self.registry.text }

    private func watch() {
        self.registry.gauge(.connectionsLimit).record(self.limit)
        self.registry.gauge(.connectionsShare).record(self.share)
        self.registry.collect { [weak self] registry in
            guard let self else { return }
            registry.gauge(.connectionsOpen).record(self.state.withLock { $0.accepted })
            registry.gauge(.connectionsStalled).record(self.stalled)
        }
    }
}

extension GaugeMetric {
    /// Open connections of the public listener.
    fileprivate static var connectionsOpen: Self {
        Self("countersign_connections_open", "Open connections of the public listener.")
    }
    /// Connections whose clients do not read the available part of an answer.
    fileprivate static var connectionsStalled: Self {
        Self(
            "countersign_connections_stalled", "Open connections whose clients do not read what is there of an answer.")
    }
    /// The highest possible number of open connections of the public listener.
    fileprivate static var connectionsLimit: Self { Self("countersign_connections_limit", "So many can be open.") }
    /// The connections that one source can have.
    fileprivate static var connectionsShare: Self {
        Self("countersign_connections_share", "So many of them one source can have.")
    }
}

extension CounterMetric {
    /// Connections that were cut to make room for others.
    fileprivate static var connectionsCut: Self {
        Self("countersign_connections_cut_total", "Connections that were cut to make room for others.")
    }
    /// Connections that were cut because their source had more than one source can have.
    fileprivate static var connectionsOverShare: Self {
        Self(
            "countersign_connections_over_share_total",
            "Connections that were cut because their source had more than its share.")
    }
    /// Requests whose body did not arrive completely in time: 408 `request-timeout` if the answer had not begun, and
    /// the connection is closed.
    fileprivate static var requestsLate: Self {
        Self("countersign_requests_late_total", "Requests that did not come whole in time.")
    }
    /// Connections that were cut because their client did not read its answers.
    fileprivate static var answersUnread: Self {
        Self(
            "countersign_answers_unread_total",
            "Connections that were cut because their client did not read its answers.")
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

    /// Returns the number of connections that the public listener may have: `wanted`, or the rest of the limit up to
    /// ``Limits/Fixed/mostConnections``.
    ///
    /// Throws ``CommandFailure`` if the limit leaves too few connections.
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
