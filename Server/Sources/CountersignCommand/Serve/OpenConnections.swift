import Foundation
import HummingbirdCore
import Synchronization
import _Primitives

/// The open connections of the public listener: so many and no more, so that the store, the operations listener and
/// the administrators' socket have descriptors whatever strangers do; and of each source its share and no more, so that
/// nobody takes them all.
///
/// Who is new comes in, and somebody else gives way: past a source's share one of its own, at the bound one of all. First
/// goes the connection that has waited the longest for its client to send a whole request, then the one that has gone the
/// longest without its client reading an answer that is there, then the oldest channel that waits for events (at the bound
/// one of the source that has the most): its page asks again. A connection whose answer is being made is never cut. Where
/// all are, no more are accepted until one ends; those who come wait in the system's queue.
final class OpenConnections: AvailableConnectionsDelegate {
    /// A connection's place, from ``open(source:cut:)`` to ``end(_:)``.
    struct Connection: Hashable, Sendable {
        fileprivate let slot: Int
    }

    private struct State {
        /// What the listener has accepted, until it is closed.
        var accepted = 0
        var table = ConnectionTable()
        /// Connections that were cut to make room.
        var cut = 0
        /// Connections that were cut because their source had more than its share.
        var overShare = 0
        var late = 0
        var unread = 0
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
    private let time: TimeSource
    private let pauseOfReports: Duration
    private let report: @Sendable (Report) -> Void
    private let state = Mutex(State())

    /// `limit` connections in all, and `share` of each source.
    init(
        limit: Int, share: Int, pauseOfReports: Duration, time: TimeSource = .system,
        report: @escaping @Sendable (Report) -> Void
    ) {
        self.limit = limit
        self.share = share
        self.pauseOfReports = pauseOfReports
        self.time = time
        self.report = report
    }

    // MARK: What the listener asks

    func connectionOpened() { self.state.withLock { $0.accepted += 1 } }

    func connectionClosed() { self.state.withLock { $0.accepted -= 1 } }

    func isAcceptingNewConnections() -> Bool { self.state.withLock { $0.accepted < self.limit } }

    // MARK: What connections tell

    /// A new connection waits for its first request. `source` is by what it is counted; `nil` for a named proxy's, which
    /// has no share. `cut` closes it, from any thread.
    func open(source: String?, cut: @escaping @Sendable () -> Void) -> Connection {
        let now = self.time.now()
        let (slot, displaced, isReported) = self.state.withLock { state in
            let slot = state.table.add(source: source, cut: cut)
            guard source != nil, state.table.liveConnections(ofSourceOf: slot) > self.share,
                let displaced = state.table.takeMostStalled(ofSourceOf: slot)
            else { return (slot, nil as ConnectionTable.Cut?, false) }
            state.overShare += 1
            let isReported = state.shareReported.map { now >= $0 + self.pauseOfReports } ?? true
            if isReported { state.shareReported = now }
            return (slot, displaced, isReported)
        }
        if isReported, let source { self.report(.share(source: source)) }
        displaced?()
        // Who is new has had no time to ask for anything.
        self.makeRoom(sparing: slot)
        return Connection(slot: slot)
    }

    /// The connection has answered everything, and waits for a request again.
    func wait(_ connection: Connection) { self.change(connection, to: .waiting) }

    /// A whole request is there, or its client reads on.
    func answer(_ connection: Connection) {
        self.state.withLock { $0.table.move(connection.slot, to: .answering) }
    }

    /// The client does not read what is there of its answer.
    func stall(_ connection: Connection) { self.change(connection, to: .stalled) }

    /// The answer is a channel that waits for events.
    func holdChannel(_ connection: Connection) { self.change(connection, to: .channel) }

    /// The connection has ended, and its place is given to another.
    func end(_ connection: Connection) { self.state.withLock { $0.table.remove(connection.slot) } }

    /// A request did not come whole in time.
    func countLateRequest() { self.state.withLock { $0.late += 1 } }

    /// A connection is cut because too little of an answer was read.
    func countUnreadAnswer() { self.state.withLock { $0.unread += 1 } }

    private func change(_ connection: Connection, to place: ConnectionTable.Place) {
        let isFull = self.state.withLock { state in
            state.table.move(connection.slot, to: place)
            return state.table.live >= self.limit
        }
        if isFull { self.makeRoom(sparing: nil) }
    }

    private func makeRoom(sparing spared: Int?) {
        let now = self.time.now()
        let (isReported, cut) = self.state.withLock { state -> (Bool, ConnectionTable.Cut?) in
            guard state.table.live >= self.limit else { return (false, nil) }
            let cut = state.table.takeMostStalled(sparing: spared)
            if cut != nil { state.cut += 1 }
            if let reported = state.reported, now < reported + self.pauseOfReports { return (false, cut) }
            state.reported = now
            return (true, cut)
        }
        if isReported { self.report(.bound) }
        cut?()
    }

    // MARK: What the operator sees

    /// The numbers in the text format of Prometheus.
    var metrics: String {
        let (open, cut, overShare, late, unread) = self.state.withLock {
            ($0.accepted, $0.cut, $0.overShare, $0.late, $0.unread)
        }
        return """
            # HELP countersign_connections_open Open connections of the public listener.
            # TYPE countersign_connections_open gauge
            countersign_connections_open \(open)
            # HELP countersign_connections_limit So many can be open.
            # TYPE countersign_connections_limit gauge
            countersign_connections_limit \(self.limit)
            # HELP countersign_connections_share So many of them one source can have.
            # TYPE countersign_connections_share gauge
            countersign_connections_share \(self.share)
            # HELP countersign_connections_cut_total Connections that were cut to make room for others.
            # TYPE countersign_connections_cut_total counter
            countersign_connections_cut_total \(cut)
            # HELP countersign_connections_over_share_total Connections that were cut because their source had more than its share.
            # TYPE countersign_connections_over_share_total counter
            countersign_connections_over_share_total \(overShare)
            # HELP countersign_requests_late_total Requests that did not come whole in time.
            # TYPE countersign_requests_late_total counter
            countersign_requests_late_total \(late)
            # HELP countersign_answers_unread_total Connections that were cut because their client did not read its answers.
            # TYPE countersign_answers_unread_total counter
            countersign_answers_unread_total \(unread)

            """
    }
}

/// The files and connections that this process may have open at a time.
enum Descriptors {
    /// Kept for the store, the operations listener, the administrators' socket, and files that are read again.
    static let reserve = 128
    /// Past it a connection costs more memory than a small machine has.
    static let mostConnections = 10_000

    /// The process's soft limit.
    static var limit: Int {
        var limits = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0 else { return 1024 }
        return Int(clamping: limits.rlim_cur)
    }

    /// How many connections the public listener may have: `wanted`, or what the limit leaves.
    ///
    /// Throws ``CommandFailure`` where the limit does not leave so many.
    static func connections(_ wanted: Int?, limit: Int = Self.limit) throws -> Int {
        let possible = limit - self.reserve
        guard possible > 0, wanted ?? 1 <= possible else {
            throw CommandFailure(
                .failed, "this process may open \(limit) files, which leaves \(max(possible, 0)) connections",
                remedy: "Raise the limit (LimitNOFILE= of the unit, ulimit -n), or lower --connections.")
        }
        return wanted ?? min(possible, self.mostConnections)
    }
}
