import CeremonyEngine
import CoreMetrics
import Endpoints
import Logging
import Push
import Records
import Settings
import _Primitives

extension PushSettings.Services {
    /// Returns the standard dispatchers with a dispatcher for each push service. The dispatchers count their messages,
    /// and wake the operator when a push service refuses this server.
    func dispatchers(
        targets: any DispatchTargetStore, limits: Limits, metrics: ServerMetrics, logger: Logger
    ) throws -> Dispatchers {
        let reports = PushReports(metrics: metrics, limits: limits, logger: logger)
        func dispatcher<Provider>(_ provider: Provider) -> PushDispatcher<Provider> {
            let dispatcher = PushDispatcher(provider, targets: targets, limits: limits.push, report: reports.note)
            metrics.registry.collect { registry in
                registry.gauge(.stoppedPushServices, Provider.name).record(dispatcher.stoppedServices)
            }
            return dispatcher
        }
        var all = Dispatchers.standard
        if let apns { all = try all.adding(dispatcher(apns)) }
        if let fcm { all = try all.adding(dispatcher(fcm)) }
        if let webPush {
            all = try all.adding(dispatcher(webPush))
            logger.info(
                "Apps subscribe to Web Push with this server's public key",
                metadata: ["applicationServerKey": "\(webPush.identification.applicationServerKey)"])
        }
        if let unifiedPush { all = try all.adding(dispatcher(unifiedPush)) }
        return all
    }
}

/// Counts the messages of push services, and tells the operator what only the operator can mend.
private struct PushReports: Sendable {
    private let metrics: ServerMetrics
    private let logger: Logger
    private let time = TimeSource.system
    /// Lines about dropped messages, by dispatcher.
    private let lines: SourceBudget
    /// Lines about services that refuse this server, by dispatcher.
    private let stops: SourceBudget

    init(metrics: ServerMetrics, limits: Limits, logger: Logger) {
        self.metrics = metrics
        self.logger = logger
        self.lines = SourceBudget(oneIn: limits.pauseOfReports, sources: 4, protecting: .node)
        self.stops = SourceBudget(oneIn: limits.pauseOfReports, sources: 4, protecting: .node)
    }

    @Sendable func note(_ event: PushEvent) {
        self.metrics.count(.pushes, event.dispatcher, event.kind.rawValue)
        let metadata: Logger.Metadata = [
            "dispatcher": "\(event.dispatcher)", "reason": "\(event.word ?? "")",
        ]
        switch event.kind {
        case .stopped:
            guard self.stops.spend(event.dispatcher, at: self.time.now()) == nil else { return }
            // Any device can name a push service of the web that refuses everybody.
            let isNamed = [WebPush.name, UnifiedPush.name].containsBytes(of: event.dispatcher)
            let level = isNamed ? Logger.Level.error : .critical
            var remedy = metadata
            remedy["remedy"] =
                "`countersign push test` tries the service with the settings of this server; the guide for operators has a row for each reason (Push)."
            self.logger.log(
                level: level,
                "A push service refuses this server: no device gets a push by it until it takes one", metadata: remedy)
        case .dropped:
            if self.lines.spend(event.dispatcher, at: self.time.now()) == nil {
                self.logger.notice("A push message was dropped", metadata: metadata)
            }
        case .delivered, .targetEnded, .waiting, .held: break
        }
    }
}

extension CounterMetric {
    /// Tries to send a push message, by the dispatcher: `delivered`, `target-ended`, `waiting` (tried again), `dropped`,
    /// `stopped` (the push service refuses this server, and the operator has to act) and `held` (not tried, because the
    /// dispatcher stands still).
    fileprivate static var pushes: Self {
        Self(
            "countersign_pushes_total", labels: ["dispatcher", "result"],
            "Tries to send a push message, by what became of them.")
    }
}

extension GaugeMetric {
    /// Push services that refuse this server, by the dispatcher. No device gets a push by such a service.
    fileprivate static var stoppedPushServices: Self {
        Self(
            "countersign_push_services_stopped", labels: ["dispatcher"],
            "Push services that refuse this server: no device gets a push by them.")
    }
}
