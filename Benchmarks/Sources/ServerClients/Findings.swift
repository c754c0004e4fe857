import Foundation

/// The checks of rules, and the violations.
package struct Findings<Rule: RawRepresentable & CaseIterable & Hashable & Sendable>: Sendable
where Rule.RawValue == String {
    private var violations: [Rule: [String]] = [:]
    private var checks: [Rule: Int] = [:]

    package init() {}

    /// Notes one check of a rule.
    package mutating func check(_ rule: Rule, _ holds: Bool, _ text: @autoclosure () -> String) {
        self.checks[rule, default: 0] += 1
        if !holds { self.violations[rule, default: []].append("\(rule.rawValue): \(text())") }
    }

    /// The violations. A rule that was never checked counts as a violation.
    package var texts: [String] {
        Rule.allCases.flatMap { rule in
            self.checks[rule] == nil ? ["\(rule.rawValue): never checked"] : self.violations[rule] ?? []
        }
    }

    package var summary: String {
        Rule.allCases.map { "\($0.rawValue): \(self.checks[$0] ?? 0) checks" }.joined(separator: "\n  ")
    }

    /// Writes a report in the form of the other runners. A rule that was never checked counts as failed.
    package func writeReport(of suite: String, to path: String) throws {
        var lines = ["<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<testsuites><testsuite name=\"\(suite)\">"]
        for rule in Rule.allCases {
            lines.append("<testcase classname=\"\(suite)\" name=\"\(rule.rawValue)\">")
            let failed = self.violations[rule] != nil || (self.checks[rule] ?? 0) == 0
            if failed { lines.append("<failure message=\"see the log\"/>") }
            lines.append("</testcase>")
        }
        lines.append("</testsuite></testsuites>")
        try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
    }
}
