import CoreMetrics
import HTTPTypes
public import Records
import Settings
import _Primitives

/// The counters and timers of this server.
///
/// The values of labels are the server's own words, never a caller's. Paths are the mounted paths, and codes are the
/// codes of the server's answers.
public struct ServerMetrics: Sendable {
    private static let methods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete, .options]

    /// The registry of the numbers.
    public let registry: PrometheusMetrics
    /// The timers are made once: the server measures every step and every read.
    private let stepTimer: Timer
    private let readTimer: Timer
    /// The counters and timers of requests, by kind. Spelling the labels each time would cost more than counting.
    private let answers = RecentValues<AnswerKind, (Counter, Timer)>(capacity: Limits.Fixed.seriesPerName)
    /// The counters of steps, by the addresses of the steps' names. A name keeps its place as long as the program runs.
    private let steps = RecentValues<UInt, Counter>(capacity: Limits.Fixed.seriesPerName)

    /// The properties by which requests are told apart. All values are the server's own words.
    private struct AnswerKind: Hashable {
        /// The mounted path.
        let route: String
        let method: String
        let status: Int
    }

    /// Creates counters that count from zero.
    public init(_ registry: PrometheusMetrics = PrometheusMetrics()) {
        self.registry = registry
        self.stepTimer = registry.timer(.storeTime, StoreMeasurement.Work.step.rawValue)
        self.readTimer = registry.timer(.storeTime, StoreMeasurement.Work.read.rawValue)
    }

    func answered(_ method: HTTPRequest.Method, route: String, status: Int, after duration: Duration) {
        let method = Self.methods.contains(method) ? method.rawValue : "other"
        let (counter, timer) = self.answers.value(AnswerKind(route: route, method: method, status: status)) {
            (
                self.registry.counter(.requests, route, method, String(status)),
                self.registry.timer(.requestTime, route)
            )
        }
        counter.increment()
        timer.recordNanoseconds(duration.nanoseconds)
    }

    /// Counts events under values of the metric's labels. The values are the server's own words.
    package func count(_ metric: CounterMetric, _ values: String..., by count: Int = 1) {
        self.registry.count(metric, of: values, by: count)
    }

    /// Measures whenever somebody reads the numbers.
    package func watch(_ metric: GaugeMetric, _ measure: @escaping @Sendable () -> Int) {
        self.registry.collect { $0.gauge(metric).record(measure()) }
    }

    /// Records the time that the store took for a step or a read, and counts a step by its name.
    public func stored(_ measurement: StoreMeasurement) {
        let timer = measurement.work == .step ? self.stepTimer : self.readTimer
        timer.recordNanoseconds(measurement.duration.nanoseconds)
        if let step = measurement.step {
            self.steps.value(UInt(bitPattern: step.utf8Start)) {
                self.registry.counter(.storeSteps, step.description)
            }.increment()
        }
        guard measurement.isFailed else { return }
        self.count(.storeFailures, measurement.work.rawValue)
    }

    /// Reads the last numbers of the store, and the age of the signing keys, whenever somebody reads the numbers.
    package func watch(
        store numbers: @escaping @Sendable () -> StoreCounts,
        signingKeys: @escaping @Sendable () -> [(algorithm: String, age: Duration)]
    ) {
        self.registry.collect { registry in
            let seen = numbers()
            for (channel, waiting) in seen.messages {
                registry.gauge(.messagesWaiting, channel.rawValue).record(waiting.count)
                registry.gauge(.oldestMessage, channel.rawValue).record(waiting.age.components.seconds)
            }
            registry.gauge(.sessions).record(seen.sessions)
            for key in signingKeys() {
                registry.gauge(.signingKeyAge, key.algorithm).record(key.age.components.seconds)
            }
        }
    }

    /// Reads the numbers of the machine whenever somebody reads the numbers.
    public func watch(host numbers: @escaping @Sendable () -> HostNumbers) {
        self.registry.collect { registry in
            let numbers = numbers()
            registry.gauge(.buildInfo, numbers.version).record(1)
            registry.gauge(.databaseSize).record(numbers.databaseBytes)
            if let disk = numbers.disk {
                registry.gauge(.diskFree).record(disk.free)
                registry.gauge(.diskSize).record(disk.all)
            }
            for certificate in numbers.certificates {
                registry.gauge(.certificateRemaining, certificate.listener)
                    .record(certificate.remaining.components.seconds)
            }
            if let age = numbers.keyFileAge { registry.gauge(.keyFileAge).record(age.components.seconds) }
            if let age = numbers.backupAge { registry.gauge(.lastBackupAge).record(age.components.seconds) }
        }
    }

    /// Reads the number of steps and reads that wait for the store, whenever somebody reads the numbers.
    public func watch(waiting: @escaping @Sendable () -> (steps: Int, reads: Int)) {
        self.registry.collect { registry in
            let waiting = waiting()
            registry.gauge(.storeWaiting, StoreMeasurement.Work.step.rawValue).record(waiting.steps)
            registry.gauge(.storeWaiting, StoreMeasurement.Work.read.rawValue).record(waiting.reads)
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
