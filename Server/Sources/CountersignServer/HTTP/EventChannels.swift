public import CeremonyEngine
import CoreMetrics
public import Logging
import Synchronization
public import _Primitives

/// The channels that wait for events, by the source that opened them: each source has its share of them.
///
/// Past its share a source loses the one that has waited the longest, so that a new one always comes in, and somebody
/// who opens channels without end takes none of anybody else's. A page asks again for a channel that it has lost.
///
/// Channels are counted by the caller's address, which behind a named proxy is the one that the proxy forwards, while
/// connections are counted by the other end's.
public final class EventChannels: Sendable {
    private struct State {
        var next: UInt64 = 0
        /// By source in our own words, the network of an address; the oldest first.
        var channels: [String: [(number: UInt64, watch: CeremonyWatch)]] = [:]
        /// The channel of each connection that has had one, until the connection ends.
        var connections: [ObjectIdentifier: Watched] = [:]
        var open = 0
        var reported: Timestamp?
    }

    private struct Watched {
        weak var watch: CeremonyWatch?
    }

    /// One channel's place.
    public struct Place: Sendable {
        fileprivate let number: UInt64
        fileprivate let source: String
    }

    /// How many channels one source can have.
    public let share: Int
    private let time: TimeSource
    private let pauseOfReports: Duration
    private let registry: PrometheusMetrics
    private let open: Gauge
    private let lost: Counter
    private let state = Mutex(State())

    /// Counts nothing yet.
    ///
    /// - Parameters:
    ///   - share: How many channels one source can have.
    ///   - pauseOfReports: How long the operator is not told again of a source that has more.
    ///   - registry: Where they are counted.
    public init(
        share: Int, time: TimeSource = .system, pauseOfReports: Duration,
        registry: PrometheusMetrics = PrometheusMetrics()
    ) {
        self.share = max(1, share)
        self.time = time
        self.pauseOfReports = pauseOfReports
        self.registry = registry
        self.open = Gauge(label: "countersign_channels_open", factory: registry)
        self.lost = Counter(label: "countersign_channels_lost_total", factory: registry)
        registry.describe([
            "countersign_channels_open": "Channels that wait for events, of pages and of back ends.",
            "countersign_channels_share": "So many of them one source can have.",
            "countersign_channels_lost_total": "Channels that were ended because their source had more than its share.",
        ])
        Gauge(label: "countersign_channels_share", factory: registry).record(self.share)
    }

    /// Counts a channel of `source` until ``leave(_:)``. Past its share the source's oldest is ended.
    ///
    /// The channel ends with its connection. `whenEnded` asks the connection to say so, at the first channel that it
    /// has and never again: what is asked of a connection is kept as long as it lives, and it can have any number of
    /// channels one after another.
    public func enter(
        _ watch: CeremonyWatch, of source: String, on connection: ObjectIdentifier, logger: Logger,
        whenEnded: (@escaping @Sendable () -> Void) -> Void
    ) -> Place {
        let now = self.time.now()
        let isFirst = self.state.withLock {
            $0.connections.updateValue(Watched(watch: watch), forKey: connection) == nil
        }
        if isFirst {
            whenEnded { self.state.withLock { $0.connections.removeValue(forKey: connection) }?.watch?.end() }
        }
        let (place, oldest, isReported) = self.state.withLock { state in
            state.next += 1
            state.open += 1
            var isReported = false
            var oldest: CeremonyWatch?
            if let count = state.channels[source]?.count, count >= self.share {
                oldest = state.channels[source]?.removeFirst().watch
                state.open -= 1
                self.lost.increment()
                isReported = state.reported.map { now >= $0 + self.pauseOfReports } ?? true
                if isReported { state.reported = now }
            }
            state.channels[source, default: []].append((state.next, watch))
            self.open.record(state.open)
            return (Place(number: state.next, source: source), oldest, isReported)
        }
        if isReported {
            logger.error(
                "A source has more than its share of waiting pages: it loses its oldest",
                metadata: ["source": "\(source)", "channelsPerSource": "\(self.share)"])
        }
        oldest?.end()
        return place
    }

    /// The channel has ended.
    public func leave(_ place: Place) {
        self.state.withLock { state in
            guard let index = state.channels[place.source]?.firstIndex(where: { $0.number == place.number }) else {
                return
            }
            state.channels[place.source]?.remove(at: index)
            if state.channels[place.source]?.isEmpty == true { state.channels[place.source] = nil }
            state.open -= 1
            self.open.record(state.open)
        }
    }

    /// The numbers in the text format of Prometheus.
    public var metrics: String { self.registry.text }
}
