import Foundation
import HummingbirdCore
import Synchronization
import _Primitives

/// The open connections of the public listener: so many and no more, so that the store, the operations listener and
/// the administrators' socket have descriptors whatever strangers do.
///
/// At the bound the connection is cut that has waited the longest for its client to send a whole request: who opens
/// many and says nothing loses theirs to those who come to sign in, and who comes back opens another one. A connection
/// that is being answered is never cut, and a waiting page is answered until its end. Where all are, no more are
/// accepted until one ends; those who come wait in the system's queue.
final class OpenConnections: AvailableConnectionsDelegate {
    /// One wait of a connection for a whole request.
    struct Wait: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct State {
        /// What the listener has accepted, until it is closed.
        var open = 0
        /// Those that have waited or answered, and were not cut.
        var live = 0
        /// How to cut those that wait.
        var waiting: [UInt64: @Sendable () -> Void] = [:]
        /// Those that were cut, and have not ended yet.
        var ending: Set<UInt64> = []
        var next: UInt64 = 0
        /// No smaller number waits.
        var oldest: UInt64 = 0
        var cut = 0
        var late = 0
        var reported: Timestamp?

        /// Takes the oldest wait but `spared` out; `nil` where there is none.
        mutating func takeOldest(but spared: UInt64?) -> (@Sendable () -> Void)? {
            while self.oldest < self.next, self.waiting[self.oldest] == nil { self.oldest += 1 }
            guard self.oldest < self.next, self.oldest != spared,
                let cut = self.waiting.removeValue(forKey: self.oldest)
            else { return nil }
            self.ending.insert(self.oldest)
            self.live -= 1
            self.cut += 1
            return cut
        }
    }

    let limit: Int
    private let time: TimeSource
    private let report: @Sendable () -> Void
    private let state = Mutex(State())
    /// It is reported at most so often that the bound is reached: anybody can bring that about.
    static let pauseOfReports: Duration = .seconds(60)

    /// `report` is called where the bound is reached, from time to time.
    init(limit: Int, time: TimeSource = .system, report: @escaping @Sendable () -> Void) {
        self.limit = limit
        self.time = time
        self.report = report
    }

    // MARK: What the listener asks

    func connectionOpened() { self.state.withLock { $0.open += 1 } }

    func connectionClosed() { self.state.withLock { $0.open -= 1 } }

    func isAcceptingNewConnections() -> Bool { self.state.withLock { $0.open < self.limit } }

    // MARK: What connections tell

    /// A connection waits for a request: a new one, or one that has answered everything and waits again after
    /// `previous`. `cut` closes it, from any thread.
    func wait(after previous: Wait? = nil, cut: @escaping @Sendable () -> Void) -> Wait {
        let wait = self.state.withLock { state in
            let wait = Wait(number: state.next)
            state.next += 1
            if previous == nil { state.live += 1 }
            if let previous, state.ending.remove(previous.number) != nil {
                // Its request came while it was being cut.
                state.ending.insert(wait.number)
            } else {
                state.waiting[wait.number] = cut
            }
            return wait
        }
        // Who is new has had no time to ask for anything.
        self.makeRoom(sparing: previous == nil ? wait : nil)
        return wait
    }

    /// The wait is over: a whole request is there.
    func answer(_ wait: Wait) { self.state.withLock { $0.waiting[wait.number] = nil } }

    /// The connection, whose last wait this is, has ended.
    func end(_ wait: Wait) {
        self.state.withLock { state in
            state.waiting[wait.number] = nil
            if state.ending.remove(wait.number) == nil { state.live -= 1 }
        }
    }

    /// A request did not come whole in time.
    func countLateRequest() { self.state.withLock { $0.late += 1 } }

    private func makeRoom(sparing spared: Wait?) {
        let (isReported, cut) = self.state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard state.live >= self.limit else { return (false, nil) }
            let cut = state.takeOldest(but: spared?.number)
            let now = self.time.now()
            if let reported = state.reported, now < reported + Self.pauseOfReports { return (false, cut) }
            state.reported = now
            return (true, cut)
        }
        if isReported { self.report() }
        cut?()
    }

    // MARK: What the operator sees

    /// The numbers in the text format of Prometheus.
    var metrics: String {
        let (open, cut, late) = self.state.withLock { ($0.open, $0.cut, $0.late) }
        return """
            # HELP countersign_connections_open Open connections of the public listener.
            # TYPE countersign_connections_open gauge
            countersign_connections_open \(open)
            # HELP countersign_connections_limit So many can be open.
            # TYPE countersign_connections_limit gauge
            countersign_connections_limit \(self.limit)
            # HELP countersign_connections_cut_total Connections without a request that were cut to make room.
            # TYPE countersign_connections_cut_total counter
            countersign_connections_cut_total \(cut)
            # HELP countersign_requests_late_total Requests that did not come whole in time.
            # TYPE countersign_requests_late_total counter
            countersign_requests_late_total \(late)

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
