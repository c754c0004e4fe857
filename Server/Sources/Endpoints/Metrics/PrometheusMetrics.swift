public import CoreMetrics
import Settings
import Synchronization

/// The numbers of this process, kept in memory and written as Prometheus reads them (text format 0.0.4).
///
/// Counters, gauges and histograms come in through swift-metrics; a timer is a histogram in seconds. The growth by
/// labels is bounded: a name with ``seriesPerName`` sets of labels counts every further set under `other`.
public final class PrometheusMetrics: MetricsFactory {
    /// The number of sets of labels that a name can have.
    public static let seriesPerName = Limits.Fixed.seriesPerName
    /// The upper bounds of a histogram's buckets.
    static let bounds = Limits.Fixed.histogramBounds

    private struct Family {
        let kind: Series.Kind
        /// The series by their written labels, which are our own words.
        var series: [String: Series] = [:]  // check: unicode-words
    }

    private struct State {
        /// The families by the names of metrics, which are our own words.
        var families: [String: Family] = [:]  // check: unicode-words
        var help: [String: String] = [:]  // check: unicode-words
        var collectors: [@Sendable (PrometheusMetrics) -> Void] = []
    }

    private let state = Mutex(State())

    /// Creates a registry without numbers.
    public init() {}

    /// Notes the help of a name, a sentence for operators.
    func describe(_ name: String, _ help: String) { self.state.withLock { $0.help[name] = help } }

    /// Calls `collect` with the registry whenever the numbers are about to be written, so that `collect` can set its
    /// gauges. A gauge holds its registry: a function that captured one would keep the registry, and itself.
    public func collect(_ collect: @escaping @Sendable (PrometheusMetrics) -> Void) {
        self.state.withLock { $0.collectors.append(collect) }
    }

    /// The present numbers, with names and labels in their order.
    public var text: String {
        for collect in self.state.withLock(\.collectors) { collect(self) }
        let (families, help) = self.state.withLock { ($0.families, $0.help) }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            if let help = help[name] { text += "# HELP \(name) \(Self.escaped(help))\n" }
            text += "# TYPE \(name) \(family.kind.rawValue)\n"
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                text += series.lines(name: name, labels: labels)
            }
        }
        return text
    }

    // MARK: What swift-metrics asks for

    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        self.series(label, dimensions, .counter)
    }

    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        self.series(label, dimensions, aggregate ? .histogram : .gauge)
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        self.series(label, dimensions, .histogram)
    }

    // A number stays once it has appeared: to Prometheus, a counter that vanishes has begun anew.
    public func destroyCounter(_ handler: any CounterHandler) {}
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    public func destroyTimer(_ handler: any TimerHandler) {}

    private func series(_ name: String, _ dimensions: [(String, String)], _ kind: Series.Kind) -> Series {
        self.state.withLock { state in
            var labels = Self.labels(dimensions)
            let family = state.families[name]
            if let series = family?.series[labels] { return series }
            if let family, family.series.count >= Self.seriesPerName {
                labels = Self.labels(dimensions.map { ($0.0, "other") })
                if let series = family.series[labels] { return series }
            }
            let series = Series(family?.kind ?? kind)
            state.families[name, default: Family(kind: kind)].series[labels] = series
            return series
        }
    }

    private static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.map { "\($0.0)=\"\(self.escaped($0.1, inQuotes: true))\"" }.joined(separator: ",")
    }

    /// Returns a text with escaped characters. The function looks at the bytes first: nearly no text needs escaping,
    /// and every request writes labels.
    private static func escaped(_ text: String, inQuotes: Bool = false) -> String {
        let needsIt = text.utf8.contains { letter in
            letter == UInt8(ascii: "\\") || letter == UInt8(ascii: "\n") || letter == UInt8(ascii: "\"")
        }
        guard needsIt else { return text }
        let escaped = text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        return inQuotes ? escaped.replacing("\"", with: "\\\"") : escaped
    }
}

/// The values of one name with one set of labels.
private final class Series: CounterHandler, RecorderHandler, TimerHandler {
    enum Kind: String { case counter, gauge, histogram }

    private struct Value {
        var count: Int64 = 0
        var sum = 0.0
        var buckets: [Int64]
    }

    private let kind: Kind
    private let value: Mutex<Value>

    init(_ kind: Kind) {
        self.kind = kind
        self.value = Mutex(
            Value(buckets: kind == .histogram ? [Int64](repeating: 0, count: PrometheusMetrics.bounds.count) : []))
    }

    func increment(by amount: Int64) { self.value.withLock { $0.count += amount } }

    func reset() { self.value.withLock { $0.count = 0 } }

    func record(_ value: Int64) { self.record(Double(value)) }

    func record(_ number: Double) {
        self.value.withLock { value in
            guard self.kind == .histogram else {
                value.sum = number
                return
            }
            value.count += 1
            value.sum += number
            for (index, bound) in PrometheusMetrics.bounds.enumerated() where number <= bound {
                value.buckets[index] += 1
            }
        }
    }

    func recordNanoseconds(_ duration: Int64) { self.record(Double(duration) / 1e9) }

    func lines(name: String, labels: String) -> String {
        let value = self.value.withLock { $0 }
        let set = labels.isEmpty ? "" : "{\(labels)}"
        switch self.kind {
        case .counter: return "\(name)\(set) \(value.count)\n"
        case .gauge: return "\(name)\(set) \(Self.number(value.sum))\n"
        case .histogram:
            let more = labels.isEmpty ? "" : "\(labels),"
            let buckets = zip(PrometheusMetrics.bounds, value.buckets).map { bound, count in
                "\(name)_bucket{\(more)le=\"\(Self.number(bound))\"} \(count)\n"
            }
            return buckets.joined() + "\(name)_bucket{\(more)le=\"+Inf\"} \(value.count)\n"
                + "\(name)_sum\(set) \(Self.number(value.sum))\n\(name)_count\(set) \(value.count)\n"
        }
    }

    /// Returns a number as text. Whole numbers, such as all counts, have no fraction.
    private static func number(_ number: Double) -> String {
        Int64(exactly: number).map(String.init) ?? String(number)
    }
}
