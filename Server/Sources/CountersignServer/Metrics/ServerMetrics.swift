import CoreMetrics
import HTTPTypes
import OAuthProvider
import Passwords
public import Records
import Settings
import _Primitives

/// The counters and timers of this server.
///
/// The values of labels are the server's own words, never a caller's. Paths are the mounted paths, and codes are the
/// codes of the server's answers.
public struct ServerMetrics: Sendable {
    /// The way in which a person signed in.
    enum Way: String {
        /// By an answer of a phone to a sign-in page.
        case phone
        /// By a session that the browser had, without a phone.
        case session
        /// In an app, by the app's own device.
        case app
        /// By a password.
        case password
        /// By another provider.
        case provider

        /// Creates the way of a sign-in method. For another provider the way has no name of the provider, because the
        /// name is an operator's word.
        init?(method: String) {
            self.init(
                rawValue: method.hasBytes(atStart: UpstreamProvider.methodPrefix) ? Self.provider.rawValue : method)
        }
    }

    private static let methods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete, .options]

    /// The registry of the numbers.
    public let registry: PrometheusMetrics
    /// The timers are made once: the server measures every step and every read.
    private let stepTimer: Timer
    private let readTimer: Timer
    /// The counters and timers of requests, by kind. Spelling the labels each time would cost more than counting.
    private let answers = RecentValues<AnswerKind, (Counter, Timer)>(capacity: Limits.Fixed.seriesPerName)

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
        func timer(_ work: StoreMeasurement.Work) -> Timer {
            Timer(label: "countersign_store_seconds", dimensions: [("work", work.rawValue)], factory: registry)
        }
        (self.stepTimer, self.readTimer) = (timer(.step), timer(.read))
        registry.describe([
            "countersign_requests_total": "Requests, by the path that is mounted, the method and the status.",
            "countersign_request_seconds": "From a request's head to its answer's head, by the path that is mounted.",
            "countersign_sign_ins_total":
                "Sign-ins: by a phone, by a session that was there, in an app, by a password, by another provider.",
            "countersign_refusals_total": "Requests that were refused, by the code that the answer has.",
            "countersign_password_attempts_total": "Passwords, and codes beside them, by what became of them.",
            "countersign_provider_steps_total": "Steps of sign-ins by other providers, by what became of them.",
            "countersign_provider_waiting":
                "People who have come back from other providers and wait for their turn.",
            "countersign_hashing_waiting": "Passwords that wait for a thread to hash them.",
            "countersign_hashing_memory_bytes": "Memory of the passwords that are hashed now.",
            "countersign_store_seconds": "What the store took, with the wait for it: a step (writes) or a read.",
            "countersign_store_failures_total": "Steps and reads that the store could not do.",
            "countersign_store_waiting": "Steps and reads that wait for the store.",
            "countersign_deliveries_total":
                "What services were told, or not: that somebody has signed out, or has answered.",
            "countersign_mails_total":
                "Letters to people, by what became of them; dropped are those that were not kept, as too many waited.",
            "countersign_deliveries_waiting": "What services have still to be told.",
            "countersign_deliveries_oldest_seconds": "How long the oldest of them has waited.",
            "countersign_mails_waiting": "Letters that wait to be sent.",
            "countersign_mails_oldest_seconds": "How long the oldest of them has waited.",
            "countersign_sessions": "Browsers' and apps' sessions that have not run out.",
            "countersign_signing_key_age_seconds": "How long the key has signed that signs now, by its algorithm.",
            "countersign_build_info": "1, with the release of the program.",
            "countersign_database_bytes": "What the database takes on the disk.",
            "countersign_disk_free_bytes": "What is free on the disk of the data folder, for users other than root.",
            "countersign_disk_bytes": "What the disk of the data folder holds.",
            "countersign_certificate_remaining_seconds":
                "How long the certificate is valid still that a listener shows; below 0 it has run out.",
            "countersign_key_file_age_seconds": "How long ago the file of the key-encryption keys was changed.",
            "countersign_last_backup_age_seconds":
                "How long ago the last backup was begun that was made of this data folder; missing before the first.",
            "countersign_signing_keys_rotated_total": "Signing keys that took the place of others by themselves.",
            "countersign_resealed_values":
                "Stored values that were sealed anew under another key-encryption key since the start.",
        ])
    }

    func answered(_ method: HTTPRequest.Method, route: String, status: Int, after duration: Duration) {
        let method = Self.methods.contains(method) ? method.rawValue : "other"
        let (counter, timer) = self.answers.value(AnswerKind(route: route, method: method, status: status)) {
            (
                Counter(
                    label: "countersign_requests_total",
                    dimensions: [("path", route), ("method", method), ("status", String(status))],
                    factory: self.registry),
                Timer(label: "countersign_request_seconds", dimensions: [("path", route)], factory: self.registry)
            )
        }
        counter.increment()
        timer.recordNanoseconds(duration.nanoseconds)
    }

    func refused(_ code: String) {
        Counter(label: "countersign_refusals_total", dimensions: [("code", code)], factory: self.registry).increment()
    }

    func signedIn(by way: Way) {
        Counter(label: "countersign_sign_ins_total", dimensions: [("by", way.rawValue)], factory: self.registry)
            .increment()
    }

    /// Counts the verdict about a password, or about a code beside a password. `verdict` is the server's own word.
    func judgedPassword(_ verdict: String) {
        Counter(
            label: "countersign_password_attempts_total", dimensions: [("verdict", verdict)], factory: self.registry
        ).increment()
    }

    /// Counts a browser that the server sent to another provider, or that came back. `result` is the server's own word.
    func went(to result: String) {
        Counter(
            label: "countersign_provider_steps_total", dimensions: [("result", result)], factory: self.registry
        ).increment()
    }

    /// Reads the number of people who came back from other providers and wait, whenever somebody reads the numbers.
    func watch(arrivals waiting: @escaping @Sendable () -> Int) {
        let gauge = Gauge(label: "countersign_provider_waiting", factory: self.registry)
        self.registry.collect { gauge.record(waiting()) }
    }

    /// Reads the load of the hashing threads whenever somebody reads the numbers.
    func watch(hashing load: @escaping @Sendable () -> HashingLoad) {
        let waiting = Gauge(label: "countersign_hashing_waiting", factory: self.registry)
        let memory = Gauge(label: "countersign_hashing_memory_bytes", factory: self.registry)
        self.registry.collect {
            let load = load()
            waiting.record(load.waiting)
            memory.record(load.memoryKiB * 1024)
        }
    }

    /// Records the time that the store took for a step or a read.
    public func stored(_ measurement: StoreMeasurement) {
        let timer = measurement.work == .step ? self.stepTimer : self.readTimer
        timer.recordNanoseconds(measurement.duration.nanoseconds)
        guard measurement.isFailed else { return }
        Counter(
            label: "countersign_store_failures_total", dimensions: [("work", measurement.work.rawValue)],
            factory: self.registry
        ).increment()
    }

    /// Counts the result of a delivery to a service.
    func told(_ result: DeliveryResult) {
        Counter(
            label: "countersign_deliveries_total", dimensions: [("result", result.rawValue)], factory: self.registry
        )
        .increment()
    }

    /// Counts the results of letters to people. `result` is the server's own word.
    func mailed(_ result: String, _ count: Int = 1) {
        Counter(label: "countersign_mails_total", dimensions: [("result", result)], factory: self.registry)
            .increment(by: count)
    }

    /// Reads the number of waiting deliveries to services, and the age of the oldest, whenever somebody reads the
    /// numbers.
    func watch(deliveries: @escaping @Sendable () -> (count: Int, age: Duration)) {
        let count = Gauge(label: "countersign_deliveries_waiting", dimensions: [], factory: self.registry)
        let age = Gauge(label: "countersign_deliveries_oldest_seconds", dimensions: [], factory: self.registry)
        self.registry.collect {
            let waiting = deliveries()
            count.record(waiting.count)
            age.record(waiting.age.components.seconds)
        }
    }

    /// Counts signing keys that the server has added by itself.
    func rotatedSigningKeys(_ count: Int) {
        Counter(label: "countersign_signing_keys_rotated_total", dimensions: [], factory: self.registry)
            .increment(by: count)
    }

    /// Reads the number of values that were sealed anew, whenever somebody reads the numbers.
    func watch(resealing progress: @escaping @Sendable () -> Resealed) {
        let gauge = Gauge(label: "countersign_resealed_values", dimensions: [], factory: self.registry)
        self.registry.collect { gauge.record(progress().resealed) }
    }

    /// Reads the last numbers of the store, and the age of the signing keys, whenever somebody reads the numbers.
    func watch(
        store numbers: @escaping @Sendable () -> StoreCounts,
        signingKeys: @escaping @Sendable () -> [(algorithm: String, age: Duration)]
    ) {
        let registry = self.registry
        registry.collect {
            let seen = numbers()
            Gauge(label: "countersign_mails_waiting", factory: registry).record(seen.mails)
            Gauge(label: "countersign_mails_oldest_seconds", factory: registry).record(seen.mailAge.components.seconds)
            Gauge(label: "countersign_sessions", factory: registry).record(seen.sessions)
            for key in signingKeys() {
                Gauge(
                    label: "countersign_signing_key_age_seconds", dimensions: [("algorithm", key.algorithm)],
                    factory: registry
                ).record(key.age.components.seconds)
            }
        }
    }

    /// Reads the numbers of the machine whenever somebody reads the numbers.
    public func watch(host numbers: @escaping @Sendable () -> HostNumbers) {
        let registry = self.registry
        @Sendable func record(_ name: String, _ number: Int64?, _ dimensions: [(String, String)] = []) {
            guard let number else { return }
            Gauge(label: "countersign_\(name)", dimensions: dimensions, factory: registry).record(number)
        }
        registry.collect {
            let numbers = numbers()
            record("build_info", 1, [("version", numbers.version)])
            record("database_bytes", numbers.databaseBytes)
            record("disk_free_bytes", numbers.disk?.free)
            record("disk_bytes", numbers.disk?.all)
            for certificate in numbers.certificates {
                record(
                    "certificate_remaining_seconds", certificate.remaining.components.seconds,
                    [("listener", certificate.listener)])
            }
            record("key_file_age_seconds", numbers.keyFileAge?.components.seconds)
            record("last_backup_age_seconds", numbers.backupAge?.components.seconds)
        }
    }

    /// Reads the number of steps and reads that wait for the store, whenever somebody reads the numbers.
    public func watch(waiting: @escaping @Sendable () -> (steps: Int, reads: Int)) {
        func gauge(_ work: StoreMeasurement.Work) -> Gauge {
            Gauge(label: "countersign_store_waiting", dimensions: [("work", work.rawValue)], factory: self.registry)
        }
        let (steps, reads) = (gauge(.step), gauge(.read))
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
