public import CoreMetrics

/// A number that the server counts or measures: the name, the kind, the names of the labels and the help in one place.
///
/// The kind is `Handle`: a `Counter`, a `Gauge` or a `Timer`.
public struct Metric<Handle>: Sendable {
    let name: String
    let labels: [String]
    let help: String

    /// Creates a metric. `help` is a sentence for operators.
    public init(_ name: String, labels: [String] = [], _ help: String) {
        self.name = name
        self.labels = labels
        self.help = help
    }
}

/// A metric that counts events.
public typealias CounterMetric = Metric<Counter>
/// A metric that is measured now and then.
public typealias GaugeMetric = Metric<Gauge>

extension PrometheusMetrics {
    /// Returns the counter of a metric for values of the metric's labels.
    public func counter(_ metric: CounterMetric, _ values: String...) -> Counter {
        Counter(label: metric.name, dimensions: self.dimensions(metric, values), factory: self)
    }

    /// Returns the gauge of a metric for values of the metric's labels.
    public func gauge(_ metric: GaugeMetric, _ values: String...) -> Gauge {
        Gauge(label: metric.name, dimensions: self.dimensions(metric, values), factory: self)
    }

    /// Returns the timer of a metric for values of the metric's labels.
    public func timer(_ metric: Metric<Timer>, _ values: String...) -> Timer {
        Timer(label: metric.name, dimensions: self.dimensions(metric, values), factory: self)
    }

    /// Counts events under values of the metric's labels.
    func count(_ metric: CounterMetric, of values: [String], by count: Int = 1) {
        Counter(label: metric.name, dimensions: self.dimensions(metric, values), factory: self).increment(by: count)
    }

    /// Notes the help of a metric, and returns the metric's labels with their values.
    private func dimensions<Handle>(_ metric: Metric<Handle>, _ values: [String]) -> [(String, String)] {
        self.describe(metric.name, metric.help)
        return Array(zip(metric.labels, values))
    }
}
