import UAFClient
import _Primitives

/// The rule by which the SDK repeats a request that failed for a transient reason.
///
/// The SDK repeats a request only if the repetition cannot do anything twice. A request that fetches, ends or deletes
/// is repeated after every transient failure: no connection, no answer in time, and the HTTP statuses 408, 429, 502,
/// 503 and 504. A request that works only once is repeated only if the transport says that the failed request was not
/// sent (``TransportError/isUnsent``): such requests redeem a token or carry a signed answer.
///
/// The signed answer of an authentication is also repeated if the server's judgement was lost, and the server knows this
/// device's own keys. The server gives the same judgement to the same bytes, and the device proves the repetition. The
/// same applies to a registration that the app starts, which needs no proof.
///
/// All numbers are bounded, whatever a policy says: at most ``maximumRetries`` retries, at most ``maximumDelay`` before
/// each retry, and at most ``maximumTime`` from the first try to the begin of the last retry. The last retry can then
/// take as long as ``ClientConfiguration/networkTimeout``. A server can ask for a longer delay than the policy's with
/// `Retry-After` (RFC 9110, section 10.2.3). A request whose server asks for more than ``maximumDelay`` is not repeated.
/// Cancelling the operation's task ends a delay at once.
public enum RetryPolicy: Hashable, Sendable {
    /// No retry.
    case noRetry
    /// A number of retries with the same delay before each retry.
    case constant(maxRetries: Int, delay: Duration)
    /// A number of retries. The first delay is `initialDelay`; each further delay is `multiplier` times the delay
    /// before, and at most `maximumDelay`. A multiplier below 1 counts as 1.
    case exponential(maxRetries: Int, initialDelay: Duration, multiplier: Double, maximumDelay: Duration)

    /// The maximum number of retries of one request: 10.
    public static let maximumRetries = 10
    /// The maximum delay before one retry: a minute.
    public static let maximumDelay = Duration.seconds(60)
    /// The maximum time from the first try of a request to the begin of the last retry: three minutes.
    public static let maximumTime = Duration.seconds(180)

    /// Returns the delay before a retry, or `nil` if the policy has no such retry.
    ///
    /// - Parameter number: The number of the retry; the first retry has the number 1.
    func delay(beforeRetry number: Int) -> Duration? {
        switch self {
        case .noRetry: return nil
        case .constant(let maxRetries, let delay):
            return number <= min(maxRetries, Self.maximumRetries) ? Self.bounded(delay) : nil
        case .exponential(let maxRetries, let initialDelay, let multiplier, let maximumDelay):
            guard number <= min(maxRetries, Self.maximumRetries) else { return nil }
            let limit = Self.bounded(maximumDelay)
            let factor = multiplier.isFinite ? min(max(multiplier, 1), 1000) : 1
            var delay = min(Self.bounded(initialDelay), limit)
            for _ in 1..<max(number, 1) { delay = min(delay * factor, limit) }
            return delay
        }
    }

    private static func bounded(_ delay: Duration) -> Duration { min(max(delay, .zero), Self.maximumDelay) }
}

/// The retries of one request by a policy.
struct Retries {
    private let policy: RetryPolicy
    private let clock: any DeviceClock
    private let start: Duration
    private var count = 0
    /// `true` if an earlier try of a repeated request may have reached the server.
    private(set) var mayHaveArrivedBefore = false

    /// Begins the count at the first try of a request.
    init(_ policy: RetryPolicy, clock: any DeviceClock) {
        self.policy = policy
        self.clock = clock
        self.start = clock.uptime()
    }

    /// Waits before the next retry. Returns `false` at once if the policy or the bounds allow no further retry.
    ///
    /// - Parameter demanded: The delay that the server asks for.
    ///
    /// Throws `CancellationError` as soon as the task is cancelled.
    mutating func wait(atLeast demanded: Duration = .zero) async throws -> Bool {
        guard let planned = self.policy.delay(beforeRetry: self.count + 1), demanded <= RetryPolicy.maximumDelay else {
            return false
        }
        let delay = max(planned, demanded)
        guard self.clock.uptime() - self.start + delay <= RetryPolicy.maximumTime else { return false }
        self.count += 1
        try Task.checkCancellation()
        if delay > .zero { try await self.clock.sleep(for: delay) }
        return true
    }

    /// Sends a request that can be repeated without harm, until the failure is not transient or no retry is left.
    mutating func send(_ body: () async throws -> TransportResponse) async throws -> TransportResponse {
        while true {
            do {
                let response = try await body()
                guard Self.isTransient(response.status),
                    try await self.wait(atLeast: Self.demandedDelay(of: response, at: self.clock.now()))
                else { return response }
                self.mayHaveArrivedBefore = true
            } catch let error as TransportError where error.isTransient {
                guard try await self.wait() else { throw error }
                if !error.isUnsent { self.mayHaveArrivedBefore = true }
            }
        }
    }

    /// Sends a request that works only once. The request is repeated only if the transport says that it was not sent.
    mutating func sendOnce<Value>(_ body: () async throws -> Value) async throws -> Value {
        while true {
            do { return try await body() } catch let error as TransportError where error.isTransient && error.isUnsent {
                guard try await self.wait() else { throw error }
            }
        }
    }

    private static func isTransient(_ status: Int) -> Bool { [408, 429, 502, 503, 504].contains(status) }

    /// Reads the delay that an answer asks for, in seconds or as a date; zero for an answer without a readable field.
    static func demandedDelay(of response: TransportResponse, at now: Timestamp) -> Duration {
        guard let field = response.header("Retry-After") else { return .zero }
        if let date = Timestamp(httpDate: field) { return max(date - now, .zero) }
        guard !field.isEmpty, field.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return .zero }
        // A number that does not fit is longer than every bound.
        return .seconds(Int64(field).map { min($0, 1_000_000_000) } ?? 1_000_000_000)
    }
}

extension TransportError {
    /// `true` if a later try can succeed.
    var isTransient: Bool { self.code == .unreachable || self.code == .timedOut }
}
