import Foundation
import Logging
import Settings
import Synchronization
import _Primitives

/// The deadline of a stop. The time counts from the signal, and every part of the stop has the rest of the time.
struct StopDeadline: Sendable, Equatable {
    /// The moment at which the signal arrived.
    let begin: ContinuousClock.Instant
    /// The time that the whole stop may take.
    let time: Duration
    /// The part of that time that belongs to the steps after the connections.
    let reserve: Duration

    /// Returns the rest of the whole time.
    func left(at now: ContinuousClock.Instant) -> Duration { max(.zero, self.begin + self.time - now) }

    /// Returns the time that connections may still take, at most `longest`.
    func drain(atMost longest: Duration, at now: ContinuousClock.Instant) -> Duration {
        max(.zero, min(longest, self.left(at: now) - self.reserve))
    }
}

/// Counts the looks in a row that found that a peer read nothing while the server stops.
struct UnreadLooks: Sendable {
    private var sent: Int
    private var looks = 0

    /// Creates a count. `sent` is the number of bytes that had left when the stop began.
    init(sent: Int) { self.sent = sent }

    /// Looks once more: `sent` bytes have left until now. Returns `true` if nothing has left for
    /// ``Limits/Fixed/looksOfStop`` looks in a row.
    mutating func isOver(sent: Int) -> Bool {
        self.looks = sent == self.sent ? self.looks + 1 : 0
        self.sent = sent
        return self.looks >= Limits.Fixed.looksOfStop
    }
}

/// The stop of the process: the deadline, the parts that still go on, and the ends of the connections.
final class ServerStop: Sendable {
    /// The end of a connection since the signal.
    enum Ending: Sendable {
        /// The connection had nothing more to tell, or its client went.
        case closed
        /// The client read nothing of a ready answer.
        case unread
        /// The request under way was not answered in time.
        case requestCut
    }

    /// The ends of the connections that were open at the signal.
    struct Account: Sendable, Equatable {
        var closed = 0
        var unread = 0
        var requestsCut = 0
    }

    private struct State {
        var deadline: StopDeadline?
        var account = Account()
        /// The parts that still go on.
        var parts: Set<String> = []
        /// The time from the signal to the end of each part.
        var ended: [(part: String, after: Duration)] = []
        var isOver = false
    }

    private let time: Duration
    private let reserve: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())
    /// Gives one element when the signal has come.
    let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation
    private let over = DispatchSemaphore(value: 0)

    init(
        limits: Limits, now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.time = limits.stopTime
        self.reserve = Limits.Fixed.stopReserve
        self.now = now
        (self.signals, self.signal) = AsyncStream.makeStream()
    }

    /// Begins the stop at the signal. Returns `true` for the first signal. Later signals do not count.
    @discardableResult
    func begin() -> Bool {
        let isFirst = self.state.withLock { state in
            guard state.deadline == nil else { return false }
            state.deadline = StopDeadline(begin: self.now(), time: self.time, reserve: self.reserve)
            return true
        }
        if isFirst { self.signal.yield() }
        return isFirst
    }

    var hasBegun: Bool { self.state.withLock { $0.deadline != nil } }

    /// The rest of the whole time; before the signal the whole time.
    var left: Duration { self.state.withLock { $0.deadline }?.left(at: self.now()) ?? self.time }

    /// Returns the time that connections may still take, at most `longest`.
    func drain(atMost longest: Duration) -> Duration {
        self.state.withLock { $0.deadline }?.drain(atMost: longest, at: self.now()) ?? longest
    }

    /// Notes that a connection has ended. Before the signal the function counts nothing.
    func note(_ ending: Ending) {
        self.state.withLock { state in
            guard state.deadline != nil else { return }
            switch ending {
            case .closed: state.account.closed += 1
            case .unread: state.account.unread += 1
            case .requestCut: state.account.requestsCut += 1
            }
        }
    }

    var account: Account { self.state.withLock { $0.account } }

    // MARK: Parts

    /// Runs a part of the process that has to end before the process ends.
    func part<Value>(
        _ name: String, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
    ) async rethrows -> Value {
        self.state.withLock { _ = $0.parts.insert(name) }
        defer { self.end(name) }
        return try await body()
    }

    private func end(_ name: String) {
        let now = self.now()
        self.state.withLock { state in
            state.parts.remove(name)
            if let deadline = state.deadline { state.ended.append((name, now - deadline.begin)) }
        }
    }

    /// The parts that still go on, in the order of their names.
    var parts: [String] { self.state.withLock { $0.parts.sorted() } }

    // MARK: The end

    /// Waits for the end on a thread of its own, which no other work of the process can hold up. If the deadline passes
    /// first, calls `end` with the parts that still go on.
    func watch(_ end: @escaping @Sendable (_ parts: [String]) -> Void) {
        Thread.detachNewThread {
            guard self.over.wait(timeout: .now() + .milliseconds(Int(self.left.milliseconds))) == .timedOut else {
                return
            }
            // The end may have come at the same moment.
            let isLate = self.state.withLock { state in
                defer { state.isOver = true }
                return !state.isOver
            }
            if isLate { end(self.parts) }
        }
    }

    /// Notes that everything has ended, and logs one line about the stop.
    func finish(_ logger: Logger) {
        let isFirst = self.state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver && state.deadline != nil
        }
        self.over.signal()
        if isFirst { logger.info("The server has stopped", metadata: self.metadata) }
    }

    /// The fields of the log's line about the stop.
    var metadata: Logger.Metadata {
        let now = self.now()
        let state = self.state.withLock { ($0.deadline, $0.account, $0.ended) }
        let (deadline, account, ended) = state
        let parts = ended.map { "\($0.part) \($0.after.milliseconds)" }.joined(separator: ", ")
        return [
            "milliseconds": "\(deadline.map { (now - $0.begin).milliseconds } ?? 0)", "closed": "\(account.closed)",
            "unread": "\(account.unread)", "requestsCut": "\(account.requestsCut)", "parts": "\(parts)",
        ]
    }
}
