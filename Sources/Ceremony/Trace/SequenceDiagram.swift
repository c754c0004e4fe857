import _Primitives

/// A recorded run as a Mermaid sequence diagram.
public struct SequenceDiagram: Sendable {
    private struct Entry {
        let time: String
        let event: TraceEvent
        /// The line's place among all files' lines.
        let order: Int
    }

    /// The run's events, in order.
    public let events: [TraceEvent]

    /// Merges recorded files, given as their whole text, by time; events of the same millisecond stand in the order of a
    /// run. Throws ``TraceError/Code/malformedLine``.
    public init(files: [String]) throws(TraceError) {
        var entries: [Entry] = []
        for text in files {
            for line in text.split(separator: "\n") {
                entries.append(try Self.entry(of: String(line), order: entries.count))
            }
        }
        entries.sort { left, right in
            (left.time, left.event.rank, left.order) < (right.time, right.event.rank, right.order)
        }
        self.events = entries.map(\.event)
    }

    private static func entry(of line: String, order: Int) throws(TraceError) -> Entry {
        do {
            guard case .object(let object) = try JSON(parsing: line) else { throw JSONError(.wrongType, "no object") }
            let time = try object.requiredString("time")
            guard let event = TraceEvent(rawValue: try object.requiredString("event")),
                time.utf8.count == "2026-01-01T00:00:00.000Z".utf8.count
            else { throw JSONError(.wrongType, "no event") }
            return Entry(time: time, event: event, order: order)
        } catch {
            throw TraceError(.malformedLine, "line \(order + 1) is not a trace event")
        }
    }

    /// The diagram's text. `labels`, the caller's own words, replaces names, e.g. `relyingParty` by `Demo Bank`.
    ///
    /// Throws ``TraceError/Code/unknownParticipant`` for a label of somebody else.
    public func mermaid(labels: [String: String] = [:]) throws(TraceError) -> String {
        for name in labels.keys where TraceParticipant(rawValue: name) == nil {
            throw TraceError(.unknownParticipant, "\(name); there are: \(Self.participantNames)")
        }
        let present = TraceParticipant.allCases.filter { participant in
            self.events.contains { $0.participants.from == participant || $0.participants.to == participant }
        }
        var lines = ["sequenceDiagram"]
        for participant in present {
            let name = labels[participant.rawValue] ?? participant.defaultLabel
            lines.append("    participant \(participant.rawValue) as \(DisplayText.line(name))")
        }
        for event in self.events {
            let (from, to) = event.participants
            lines.append("    \(from.rawValue)->>\(to.rawValue): \(event.label)")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static var participantNames: String {
        TraceParticipant.allCases.map(\.rawValue).joined(separator: ", ")
    }
}

extension TraceParticipant {
    fileprivate var defaultLabel: String {
        switch self {
        case .administrator: "Administrator"
        case .browser: "Browser"
        case .relyingParty: "Relying party"
        case .server: "Countersign"
        case .phone: "Phone"
        }
    }
}
