import Ceremony
import _Primitives

/// One operation as a trace tells it: the id that all its requests carry, and where its events go.
struct Recording: Sendable {
    private let id: TraceID
    private let random: RandomSource
    private let recorder: TraceRecorder?

    /// A new id. Without a recorder nothing is written; the requests carry the id all the same.
    init(recorder: TraceRecorder?, random: RandomSource) {
        self.id = TraceID(random: random)
        self.random = random
        self.recorder = recorder
    }

    /// Writes an event: called by the code that has just done it, or does it with its next statement.
    func note(_ event: TraceEvent) { self.recorder?.record(event, trace: self.id) }

    /// What joins a request to this operation (W3C Trace Context, section 3.2).
    var header: (name: String, value: String) { ("traceparent", self.id.traceparent(random: self.random)) }
}
