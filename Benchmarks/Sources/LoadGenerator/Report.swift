import Foundation
import ServerClients

/// A Markdown table of measured numbers, with the place and the way of the measurements.
struct Report {
    private var rows: [String] = []
    private var notes: [String] = []

    mutating func add(_ what: String, _ measured: String, _ goal: String) {
        self.rows.append("| \(what) | \(measured) | \(goal) |")
    }

    mutating func note(_ text: String) { self.notes.append("- " + text) }

    var markdown: String {
        (["| What | Measured | Goal |", "|---|---|---|"] + self.rows + [""] + self.notes).joined(separator: "\n")
    }

    static func milliseconds(_ duration: Duration) -> String { String(format: "%.0f ms", seconds(of: duration) * 1000) }

    static func rate(_ measurement: Measurement) -> String {
        String(format: "%.0f/s (%d in %.1f s)", measurement.perSecond, measurement.count, measurement.seconds)
    }
}
