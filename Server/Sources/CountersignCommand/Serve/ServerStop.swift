import Foundation
import Logging
import Store
import Synchronization
import _Primitives

/// When a stop has to be over. The time is counted from the signal, and every part of the stop has what is left of that
/// time.
struct StopDeadline: Sendable, Equatable {
    /// When the signal arrived.
    let begin: ContinuousClock.Instant
    /// How long the whole stop may take.
    let time: Duration
    /// How much of that time belongs to what follows the connections.
    let reserve: Duration

    /// How much of the whole time is left.
    func left(at now: ContinuousClock.Instant) -> Duration { max(.zero, self.begin + self.time - now) }

    /// How long connections may still take, which have `longest` at most.
    func drain(atMost longest: Duration, at now: ContinuousClock.Instant) -> Duration {
        max(.zero, min(longest, self.left(at: now) - self.reserve))
    }
}

/// Counts how many looks in a row have found that a peer read nothing while the server stops.
struct UnreadLooks: Sendable {
    private var sent: Int
    private var looks = 0

    /// `sent` is how many bytes had left when the stop began.
    init(sent: Int) { self.sent = sent }

    /// Looks once more: `sent` bytes have left until now. Returns `true` if nothing has left for
    /// ``Limits/Fixed/looksOfStop`` looks in a row.
    mutating func isOver(sent: Int) -> Bool {
        self.looks = sent == self.sent ? self.looks + 1 : 0
        self.sent = sent
        return self.looks >= Limits.Fixed.looksOfStop
    }
}

/// The stop of the process: when the stop has to be over, which parts still go on, and how connections have ended.
final class ServerStop: Sendable {
    /// How a connection has ended since the signal.
    enum Ending: Sendable {
        /// The connection had nothing more to tell, or its client went.
        case closed
        /// The client read nothing of what was there.
        case unread
        /// The request under way was not answered in time.
        case requestCut
    }

    /// What became of the connections that were open at the signal.
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
        /// How long after the signal each part has ended.
        var ended: [(part: String, after: Duration)] = []
        var isOver = false
    }

    private let time: Duration
    private let reserve: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())
    /// Gives one element, when the signal is there.
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

    /// The signal is there. Only the first one counts. Returns whether this is the first one.
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

    /// How much of the whole time is left. Before the signal the whole time is left.
    var left: Duration { self.state.withLock { $0.deadline }?.left(at: self.now()) ?? self.time }

    /// How long connections may still take, which have `longest` at most.
    func drain(atMost longest: Duration) -> Duration {
        self.state.withLock { $0.deadline }?.drain(atMost: longest, at: self.now()) ?? longest
    }

    /// A connection has ended. Before the signal nothing is counted.
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

    /// Waits for the end on a thread of its own, which no other work of the process can hold up. Where the deadline
    /// passes first, `end` is told the parts that still go on.
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

    /// Everything has ended. One line of the log tells of the stop.
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
