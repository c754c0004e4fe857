public import CeremonyEngine
import CoreMetrics
public import Logging
public import Settings
import Synchronization
public import _Primitives

/// The channels that wait for events, by their owners. Each source has a share of the channels.
///
/// A source above its share loses its oldest channel. So a new channel always comes in, and a source that opens
/// channels without end takes none from other sources. A page without its channel asks again.
///
/// The stream of a device that has proved itself counts for the device, its account and all devices together, and for
/// no source: the customers of a service can all come from the address of one carrier. A displaced stream is told that
/// another stream has taken its place (decision 115).
///
/// Channels count by the caller's address, which behind a named proxy is the address that the proxy forwards.
/// Connections count by the address of the other end.
public final class EventChannels: Sendable {
    /// The owner of a channel.
    public enum Owner: Sendable, Equatable {
        /// The network of an address.
        case source(String)
        /// A device that has proved itself, and its account.
        case device(id: String, accountID: String)
    }

    /// The greatest numbers of streams of devices.
    public struct DeviceShares: Sendable {
        let ofDevice: Int
        let ofAccount: Int
        let ofAll: Int

        /// Sets the greatest numbers of streams of one device, of one account's devices, and of all devices. Each
        /// number is at least 1.
        public init(ofDevice: Int, ofAccount: Int, ofAll: Int) {
            self.ofDevice = max(1, ofDevice)
            self.ofAccount = max(1, ofAccount)
            self.ofAll = max(1, ofAll)
        }

        /// Takes the numbers of a server's limits.
        public init(_ limits: Limits) {
            self.init(
                ofDevice: limits.streamsPerDevice, ofAccount: limits.deviceStreamsPerAccount,
                ofAll: limits.deviceStreams)
        }
    }

    fileprivate struct State {
        var next: UInt64 = 0
        /// The channels by source, in our own words: the network of an address. The oldest channel comes first.
        var channels: [String: [(number: UInt64, watch: CeremonyWatch)]] = [:]  // check: unicode-words
        /// The latest channel of each connection, until the connection ends.
        var connections: [ObjectIdentifier: Watched] = [:]
        /// The streams of devices by account, in our own words: identifiers. The oldest stream comes first.
        var streams: [String: [Stream]] = [:]  // check: unicode-words
        var open = 0
        var openStreams = 0
        var reported: Timestamp?
    }

    fileprivate struct Watched {
        weak var watch: CeremonyWatch?
    }

    fileprivate struct Stream {
        let number: UInt64
        let device: String
        let watch: CeremonyWatch
    }

    /// The place of one channel.
    public struct Place: Sendable {
        fileprivate let number: UInt64
        fileprivate let owner: Owner
    }

    /// The greatest number of channels of a source.
    public let share: Int
    private let deviceShares: DeviceShares
    private let time: TimeSource
    private let pauseOfReports: Duration
    private let registry: PrometheusMetrics
    private let open: Gauge
    private let openStreams: Gauge
    private let lost: Counter
    private let replaced: Counter
    private let state = Mutex(State())

    /// Creates an empty record.
    ///
    /// - Parameters:
    ///   - share: The greatest number of channels of a source.
    ///   - deviceShares: The greatest numbers of streams of devices.
    ///   - pauseOfReports: The time after a report in which the log names no source again, whichever it is.
    ///   - registry: The registry of the counters.
    public init(
        share: Int, deviceShares: DeviceShares = DeviceShares(Limits()), time: TimeSource = .system,
        pauseOfReports: Duration, registry: PrometheusMetrics = PrometheusMetrics()
    ) {
        self.share = max(1, share)
        self.deviceShares = deviceShares
        self.time = time
        self.pauseOfReports = pauseOfReports
        self.registry = registry
        self.open = registry.gauge(.channelsOpen)
        self.openStreams = registry.gauge(.deviceStreamsOpen)
        self.lost = registry.counter(.channelsLost)
        self.replaced = registry.counter(.deviceStreamsReplaced)
        registry.gauge(.channelsShare).record(self.share)
    }

    /// Counts a channel of `owner` until ``leave(_:)``. If the owner is above its share, its oldest channel ends. A
    /// stream of a device takes the place of the device's oldest stream, then of the account's oldest stream, and at
    /// the bound of all devices of the oldest stream of the account with the most streams.
    ///
    /// The channel ends with its connection. `whenEnded` asks the connection to report its end, at the connection's
    /// first channel and never again. A connection keeps each such request as long as the connection lives, and can
    /// have any number of channels one after another.
    public func enter(
        _ watch: CeremonyWatch, of owner: Owner, on connection: ObjectIdentifier, logger: Logger,
        whenEnded: (@escaping @Sendable () -> Void) -> Void
    ) -> Place {
        let isFirst = self.state.withLock {
            $0.connections.updateValue(Watched(watch: watch), forKey: connection) == nil
        }
        if isFirst {
            whenEnded { self.state.withLock { $0.connections.removeValue(forKey: connection) }?.watch?.end() }
        }
        switch owner {
        case .source(let source): return self.enter(watch, ofSource: source, logger)
        case .device(let device, let accountID): return self.enter(watch, ofDevice: device, accountID)
        }
    }

    private func enter(_ watch: CeremonyWatch, ofSource source: String, _ logger: Logger) -> Place {
        let now = self.time.now()
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
            return (Place(number: state.next, owner: .source(source)), oldest, isReported)
        }
        if isReported {
            logger.error(
                "A source has more than its share of waiting pages: it loses its oldest",
                metadata: ["source": "\(source)", "channelsPerSource": "\(self.share)"])
        }
        oldest?.end()
        return place
    }

    private func enter(_ watch: CeremonyWatch, ofDevice device: String, _ accountID: String) -> Place {
        let (place, displaced) = self.state.withLock { state in
            state.next += 1
            let displaced = state.displaceStream(ofDevice: device, accountID, self.deviceShares)
            if displaced != nil { self.replaced.increment() }
            state.streams[accountID, default: []].append(Stream(number: state.next, device: device, watch: watch))
            state.openStreams += 1
            self.openStreams.record(state.openStreams)
            return (Place(number: state.next, owner: .device(id: device, accountID: accountID)), displaced)
        }
        displaced?.replace()
        return place
    }

    /// Removes a channel that has ended.
    public func leave(_ place: Place) {
        self.state.withLock { state in
            switch place.owner {
            case .source(let source):
                guard let index = state.channels[source]?.firstIndex(where: { $0.number == place.number }) else {
                    return
                }
                state.channels[source]?.remove(at: index)
                if state.channels[source]?.isEmpty == true { state.channels[source] = nil }
                state.open -= 1
                self.open.record(state.open)
            case .device(_, let accountID):
                guard let index = state.streams[accountID]?.firstIndex(where: { $0.number == place.number }) else {
                    return
                }
                _ = state.removeStream(at: index, ofAccount: accountID)
                self.openStreams.record(state.openStreams)
            }
        }
    }

    /// The numbers in the text format of Prometheus.
    public var metrics: String { self.registry.text }
}

extension EventChannels.State {
    /// Takes out the stream whose place a new stream of a device takes; `nil` if there is room.
    ///
    /// The search for the account with the most streams reads all accounts. It runs only at the bound, for a caller that
    /// has proved itself, and costs less than the proof's verification.
    fileprivate mutating func displaceStream(
        ofDevice device: String, _ accountID: String, _ shares: EventChannels.DeviceShares
    ) -> CeremonyWatch? {
        let own = self.streams[accountID] ?? []
        if own.count(where: { $0.device.hasSameBytes(as: device) }) >= shares.ofDevice,
            let index = own.firstIndex(where: { $0.device.hasSameBytes(as: device) })
        {
            return self.removeStream(at: index, ofAccount: accountID)
        }
        if own.count >= shares.ofAccount { return self.removeStream(at: 0, ofAccount: accountID) }
        guard self.openStreams >= shares.ofAll,
            let largest = self.streams.max(by: { $0.value.count < $1.value.count })?.key
        else { return nil }
        return self.removeStream(at: 0, ofAccount: largest)
    }

    fileprivate mutating func removeStream(at index: Int, ofAccount accountID: String) -> CeremonyWatch? {
        let removed = self.streams[accountID]?.remove(at: index)
        if self.streams[accountID]?.isEmpty == true { self.streams[accountID] = nil }
        self.openStreams -= 1
        return removed?.watch
    }
}

extension GaugeMetric {
    /// Streams of devices that have proved themselves.
    fileprivate static var deviceStreamsOpen: Self {
        Self("countersign_device_streams_open", "Streams of devices that have proved themselves.")
    }
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
    /// Streams of devices that ended because a newer stream has taken their place.
    fileprivate static var deviceStreamsReplaced: Self {
        Self(
            "countersign_device_streams_replaced_total",
            "Streams of devices that ended because a newer stream has taken their place.")
    }
    /// Channels that were ended because their source had more than one source can have.
    fileprivate static var channelsLost: Self {
        Self(
            "countersign_channels_lost_total", "Channels that were ended because their source had more than its share.")
    }
}
