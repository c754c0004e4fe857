public import CeremonyEngine
import CoreMetrics
public import Logging
import Synchronization
public import _Primitives

/// The channels that wait for events, by the source that opened the channels. Each source has a share of the channels.
///
/// A source above its share loses its oldest channel. So a new channel always comes in, and a source that opens
/// channels without end takes none from other sources. A page without its channel asks again.
///
/// Channels count by the caller's address, which behind a named proxy is the address that the proxy forwards.
/// Connections count by the address of the other end.
public final class EventChannels: Sendable {
    private struct State {
        var next: UInt64 = 0
        /// The channels by source, in our own words: the network of an address. The oldest channel comes first.
        var channels: [String: [(number: UInt64, watch: CeremonyWatch)]] = [:]  // check: unicode-words
        /// The latest channel of each connection, until the connection ends.
        var connections: [ObjectIdentifier: Watched] = [:]
        var open = 0
        var reported: Timestamp?
    }

    private struct Watched {
        weak var watch: CeremonyWatch?
    }

    /// The place of one channel.
    public struct Place: Sendable {
        fileprivate let number: UInt64
        fileprivate let source: String
    }

    /// The greatest number of channels of a source.
    public let share: Int
    private let time: TimeSource
    private let pauseOfReports: Duration
    private let registry: PrometheusMetrics
    private let open: Gauge
    private let lost: Counter
    private let state = Mutex(State())

    /// Creates an empty record.
    ///
    /// - Parameters:
    ///   - share: The greatest number of channels of a source.
    ///   - pauseOfReports: The time after a report in which the log names no source again, whichever it is.
    ///   - registry: The registry of the counters.
    public init(
        share: Int, time: TimeSource = .system, pauseOfReports: Duration,
        registry: PrometheusMetrics = PrometheusMetrics()
    ) {
        self.share = max(1, share)
        self.time = time
        self.pauseOfReports = pauseOfReports
        self.registry = registry
        self.open = registry.gauge(.channelsOpen)
        self.lost = registry.counter(.channelsLost)
        registry.gauge(.channelsShare).record(self.share)
    }

    /// Counts a channel of `source` until ``leave(_:)``. If the source is above its share, its oldest channel ends.
    ///
    /// The channel ends with its connection. `whenEnded` asks the connection to report its end, at the connection's
    /// first channel and never again. A connection keeps each such request as long as the connection lives, and can
    /// have any number of channels one after another.
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

    /// Removes a channel that has ended.
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

extension GaugeMetric {
    /// Channels that wait for events.
    fileprivate static var channelsOpen: Self {
        Self("countersign_channels_open", "Channels that wait for events, of pages and of back ends.")
    }
    /// The channels that one source can have.
    fileprivate static var channelsShare: Self {
        Self("countersign_channels_share", "So many of them one source can have.")
    }
}

extension CounterMetric {
    /// Channels that were ended because their source had more than one source can have.
    fileprivate static var channelsLost: Self {
        Self(
            "countersign_channels_lost_total", "Channels that were ended because their source had more than its share.")
    }
}
