import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An event, as read from a line of a recorded file.
struct RecordedEvent {
    let id: TraceEventID
    let trace: TraceID
    let event: TraceEvent
    let cause: TraceEventID?
    /// The time in milliseconds, by the recorder's own clock.
    let time: Int64

    /// Creates an event from a line. Throws ``JSONError`` if the line is not an event.
    init(line: String) throws {
        guard case .object(let object) = try JSON(parsing: line) else { throw JSONError(.wrongType, "no object") }
        let time = try object.requiredString("time")
        let sequence: UInt32 = try object.requiredInteger("sequence")
        guard let event = TraceEvent(rawValue: try object.requiredString("event")),
            time.utf8.count == "2026-01-01T00:00:00.000Z".utf8.count,
            let date = try? Date(time, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
            let trace = TraceID(try object.requiredString("trace")),
            let id = TraceEventID(recorderText: try object.requiredString("recorder"), sequence: sequence)
        else { throw JSONError(.wrongType, "no event") }
        if let cause = try object.string("cause") {
            guard let id = TraceEventID(cause) else { throw JSONError(.wrongType, "no cause") }
            self.cause = id
        } else {
            self.cause = nil
        }
        self.id = id
        self.trace = trace
        self.event = event
        self.time = Int64((date.timeIntervalSince1970 * 1000).rounded())
    }
}

/// Recorded events in the order in which they happened, as far as the events determine the order.
///
/// An event comes after its cause and after the earlier events of its own recorder, whatever the clocks say. If nothing
/// else orders two events, the time decides, after a correction of the clocks. Some messages have no header that could
/// name a cause: a code that a phone scans, and a message by way of a browser.
struct RecordedRun {
    /// Clocks that differ by less than this, in milliseconds, count as equal: the time that a message was on its way is
    /// unknown.
    private static let tolerance: Int64 = 2000

    private(set) var events: [RecordedEvent] = []

    /// Orders the events.
    ///
    /// Throws ``TraceError`` `contradictory` if an event would have to come before itself, or appears twice.
    init(_ events: [RecordedEvent]) throws(TraceError) {
        var byID: [TraceEventID: RecordedEvent] = [:]
        var recorders: [UInt32] = []
        var chains: [UInt32: [RecordedEvent]] = [:]
        for event in events {
            guard byID.updateValue(event, forKey: event.id) == nil else {
                throw TraceError(.contradictory, "event \(event.id.sequence) of a recorder is there twice")
            }
            if chains[event.id.recorder] == nil { recorders.append(event.id.recorder) }
            chains[event.id.recorder, default: []].append(event)
        }
        let offsets = Self.offsets(recorders, events, byID)
        var left = recorders.map { recorder in
            (
                chain: (chains[recorder] ?? []).sorted { $0.id.sequence < $1.id.sequence }[...],
                offset: offsets[recorder] ?? 0
            )
        }
        var done: Set<TraceEventID> = []
        while done.count < events.count {
            // Only the next event of a recorder can come, and only after its cause.
            let next = left.indices.filter { index in
                guard let event = left[index].chain.first else { return false }
                return event.cause.map { byID[$0] == nil || done.contains($0) } ?? true
            }.min { first, second in
                guard let one = left[first].chain.first, let other = left[second].chain.first else { return false }
                return (one.time + left[first].offset, one.event.rank)
                    < (other.time + left[second].offset, other.event.rank)
            }
            guard let next, let event = left[next].chain.popFirst() else {
                throw TraceError(.contradictory, "the events would have led to one another in a circle")
            }
            done.insert(event.id)
            self.events.append(event)
        }
    }

    /// A cause and its effect at different recorders.
    private struct Link {
        let cause: RecordedEvent
        let effect: RecordedEvent
    }

    /// Returns the correction that each recorder's clock needs.
    ///
    /// After the correction, each clock agrees with the clock of the first recorder that it is connected to by
    /// messages.
    private static func offsets(
        _ recorders: [UInt32], _ events: [RecordedEvent], _ byID: [TraceEventID: RecordedEvent]
    ) -> [UInt32: Int64] {
        let links = events.compactMap { effect in
            effect.cause.flatMap { byID[$0] }.map { Link(cause: $0, effect: effect) }
        }.filter { $0.cause.id.recorder != $0.effect.id.recorder }
        var offsets: [UInt32: Int64] = [:]
        for start in recorders where offsets[start] == nil {
            offsets[start] = 0
            var reached = [start]
            while let known = reached.popLast() {
                let from = links.filter { $0.cause.id.recorder == known }
                let to = links.filter { $0.effect.id.recorder == known }
                for other in Set(from.map(\.effect.id.recorder) + to.map(\.cause.id.recorder)).sorted()
                where offsets[other] == nil {
                    offsets[other] =
                        (offsets[known] ?? 0)
                        + self.difference(
                            to: from.filter { $0.effect.id.recorder == other },
                            from: to.filter { $0.cause.id.recorder == other })
                    reached.append(other)
                }
            }
        }
        return offsets
    }

    /// Returns by how much a clock is behind another, from the messages `to` and `from` the recorder of this clock.
    ///
    /// A message that a program answers at once has no travel time that counts. A message that a person answers only
    /// bounds the difference.
    private static func difference(to: [Link], from: [Link]) -> Int64 {
        func least(_ links: [Link]) -> Int64? { links.map { $0.cause.time - $0.effect.time }.max() }
        func most(_ links: [Link]) -> Int64? { links.map { $0.effect.time - $0.cause.time }.min() }
        let best = most(from.filter(\.cause.event.isToProgram)) ?? least(to.filter(\.cause.event.isToProgram))
        let difference = best ?? min(max(0, least(to) ?? .min), most(from) ?? .max)
        return abs(difference) < Self.tolerance ? 0 : difference
    }
}
