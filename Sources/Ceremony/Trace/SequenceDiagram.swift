import _Primitives

/// A recorded run as a Mermaid sequence diagram.
public struct SequenceDiagram: Sendable {
    /// The run's events, in order.
    public let events: [TraceEvent]

    /// Merges recorded files, given as their whole text, in the order in which the events happened.
    ///
    /// Causes come before their effects, a recorder's events come in its own numbering, and the time orders all other
    /// events. The diagram has the events of `traces`, or all events if `traces` is empty.
    ///
    /// Throws ``TraceError``: `malformedLine`, `contradictory`, and `unknownTrace` if a trace has no event.
    public init(files: [String], traces: Set<TraceID> = []) throws(TraceError) {
        var recorded: [RecordedEvent] = []
        for text in files {
            for line in text.split(separator: "\n") {
                do { recorded.append(try RecordedEvent(line: String(line))) } catch {
                    throw TraceError(.malformedLine, "line \(recorded.count + 1) is not a trace event")
                }
            }
        }
        if let unknown = traces.subtracting(recorded.map(\.trace)).map(\.text).min() {
            throw TraceError(.unknownTrace, "no event is of the trace \(unknown)")
        }
        // Events that are not drawn also help to determine the order.
        self.events = try RecordedRun(recorded).events.filter { traces.isEmpty || traces.contains($0.trace) }
            .map(\.event)
    }

    /// Returns the same run with arrows of the wanted kinds alone. The order still comes from all events.
    public func only(_ wanted: Set<TraceEvent>) -> SequenceDiagram {
        SequenceDiagram(events: self.events.filter(wanted.contains))
    }

    private init(events: [TraceEvent]) { self.events = events }

    /// Returns the diagram's text.
    ///
    /// `labels`, the caller's own words, replaces names, e.g. `relyingParty` by `Demo Bank`.
    ///
    /// Throws ``TraceError/Code/unknownParticipant`` for a label of an unknown participant.
    public func mermaid(labels: [String: String] = [:]) throws(TraceError) -> String {  // check: unicode-words
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
            lines.append("    \(from.rawValue)\(event.isAnswer ? "-->>" : "->>")\(to.rawValue): \(event.label)")
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
        case .user: "User"
        case .storage: "Secure app storage"
        case .app: "App"
        case .webView: "Web view"
        case .server: "Countersign"
        case .identityProvider: "Identity provider"
        case .phone: "Phone"
        }
    }
}
