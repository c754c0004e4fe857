import Ceremony
import Foundation
import _Primitives

/// One operation in a trace: the id that all requests of the operation carry, and the recorder of its events.
// Safe to share: every access to `written` and `heard` is within `lock`.
final class Recording: @unchecked Sendable {
    private let trace: TraceID
    private let random: RandomSource
    private let recorder: TraceRecorder?
    private let lock = NSLock()
    /// The last event of this operation.
    private var written: TraceEventID?
    /// The last event that the server has reported and that no event of this operation has followed yet.
    private var heard: TraceEventID?

    /// Creates a recording with an id: the given id if the server can know the run by it, else a new id. Without a
    /// recorder no event is written; the requests carry the id all the same.
    init(recorder: TraceRecorder?, random: RandomSource, trace: TraceID? = nil) {
        self.trace = trace ?? TraceID(random: random)
        self.random = random
        self.recorder = recorder
    }

    /// Writes an event. The caller has just done what the event says, or does it with its next statement.
    func note(_ event: TraceEvent) {
        guard let recorder else { return }
        self.lock.withLock {
            self.written = recorder.record(event, in: TraceContext(trace: self.trace, cause: self.heard))
            self.heard = nil
        }
    }

    /// The header that joins a request to this operation and to its last event (W3C Trace Context, section 3.2).
    var header: (name: String, value: String) {
        let context = TraceContext(trace: self.trace, cause: self.lock.withLock { self.written })
        return ("traceparent", context.header(random: self.random))
    }

    /// Reads the server's event from an answer's header `traceresponse`, so that later events of this operation are
    /// known to follow the server's event.
    func hear(_ header: String?) {
        guard let context = header.flatMap(TraceContext.init(header:)), context.trace == self.trace else { return }
        self.lock.withLock { self.heard = context.cause }
    }
}
