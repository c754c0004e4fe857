import CoreMetrics
import HTTPTypes
package import OAuthProvider
package import Passwords
public import Records
import Settings
import _Primitives

/// The counters and timers of this server.
///
/// The values of labels are the server's own words, never a caller's. Paths are the mounted paths, and codes are the
/// codes of the server's answers.
public struct ServerMetrics: Sendable {
    /// The way in which a person signed in.
    package struct Way: Sendable {
        /// By a session that the browser had, without any method.
        package static let session = Self(word: "session")
        /// In an app, by the app's own device.
        package static let app = Self(word: "app")

        fileprivate let word: String

        private init(word: String) { self.word = word }

        /// Creates the way of a sign-in method. For another provider the way has no name of the provider, because the
        /// name is an operator's word.
        package init(of method: any SignInMethod) { self.init(word: method.name) }
    }

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

    func refused(_ code: String) {
        self.registry.counter(.refusals, code).increment()
    }

    package func signedIn(by way: Way) {
        self.registry.counter(.signIns, way.word).increment()
    }

    /// Counts the verdict about a password, or about a code beside a password. `verdict` is the server's own word.
    package func judgedPassword(_ verdict: String) {
        self.registry.counter(.passwordAttempts, verdict).increment()
    }

    /// Counts a browser that the server sent to another provider, or that came back. `result` is the server's own word.
    package func went(to result: String) {
        self.registry.counter(.providerSteps, result).increment()
    }

    /// Reads the number of people who came back from other providers and wait, whenever somebody reads the numbers.
    package func watch(arrivals waiting: @escaping @Sendable () -> Int) {
        let gauge = self.registry.gauge(.providerWaiting)
        self.registry.collect { gauge.record(waiting()) }
    }

    /// Reads the load of the hashing threads whenever somebody reads the numbers.
    package func watch(hashing load: @escaping @Sendable () -> HashingLoad) {
        let waiting = self.registry.gauge(.hashingWaiting)
        let memory = self.registry.gauge(.hashingMemory)
        self.registry.collect {
            let load = load()
            waiting.record(load.waiting)
            memory.record(load.memoryKiB * 1024)
        }
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
        self.registry.counter(.storeFailures, measurement.work.rawValue).increment()
    }

    /// Counts the result of a delivery to a service.
    package func told(_ result: DeliveryResult) {
        self.registry.counter(.deliveries, result.rawValue).increment()
    }

    /// Counts the results of letters to people. `result` is the server's own word.
    package func mailed(_ result: String, _ count: Int = 1) {
        self.registry.counter(.mails, result).increment(by: count)
    }

    /// Reads the number of waiting deliveries to services, and the age of the oldest, whenever somebody reads the
    /// numbers.
    package func watch(deliveries: @escaping @Sendable () -> (count: Int, age: Duration)) {
        let count = self.registry.gauge(.deliveriesWaiting)
        let age = self.registry.gauge(.oldestDelivery)
        self.registry.collect {
            let waiting = deliveries()
            count.record(waiting.count)
            age.record(waiting.age.components.seconds)
        }
    }

    /// Counts signing keys that the server has added by itself.
    package func rotatedSigningKeys(_ count: Int) {
        self.registry.counter(.signingKeysRotated).increment(by: count)
    }

    /// Reads the number of values that were sealed anew, whenever somebody reads the numbers.
    package func watch(resealing progress: @escaping @Sendable () -> Resealed) {
        let gauge = self.registry.gauge(.resealedValues)
        self.registry.collect { gauge.record(progress().resealed) }
    }

    /// Reads the last numbers of the store, and the age of the signing keys, whenever somebody reads the numbers.
    package func watch(
        store numbers: @escaping @Sendable () -> StoreCounts,
        signingKeys: @escaping @Sendable () -> [(algorithm: String, age: Duration)]
    ) {
        let registry = self.registry
        registry.collect {
            let seen = numbers()
            registry.gauge(.mailsWaiting).record(seen.mails)
            registry.gauge(.oldestMail).record(seen.mailAge.components.seconds)
            registry.gauge(.sessions).record(seen.sessions)
            for key in signingKeys() {
                registry.gauge(.signingKeyAge, key.algorithm).record(key.age.components.seconds)
            }
        }
    }

    /// Reads the numbers of the machine whenever somebody reads the numbers.
    public func watch(host numbers: @escaping @Sendable () -> HostNumbers) {
        let registry = self.registry
        registry.collect {
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
        let steps = self.registry.gauge(.storeWaiting, StoreMeasurement.Work.step.rawValue)
        let reads = self.registry.gauge(.storeWaiting, StoreMeasurement.Work.read.rawValue)
        self.registry.collect {
            let waiting = waiting()
            steps.record(waiting.steps)
            reads.record(waiting.reads)
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
