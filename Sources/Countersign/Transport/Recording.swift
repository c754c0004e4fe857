import Ceremony
import Foundation
import _Primitives

/// One operation as a trace tells it: the id that all its requests carry, and where its events go.
// Safe to share: every access to `written` and `heard` is within `lock`.
final class Recording: @unchecked Sendable {
    private let trace: TraceID
    private let random: RandomSource
    private let recorder: TraceRecorder?
    private let lock = NSLock()
    /// The last event of this operation.
    private var written: TraceEventID?
    /// The last event that the server has told of, and that nothing here has followed yet.
    private var heard: TraceEventID?

    /// An id, a new one unless the run has one that the server can know. Without a recorder nothing is written; the
    /// requests carry the id all the same.
    init(recorder: TraceRecorder?, random: RandomSource, trace: TraceID? = nil) {
        self.trace = trace ?? TraceID(random: random)
        self.random = random
        self.recorder = recorder
    }

    /// Writes an event: called by the code that has just done it, or does it with its next statement.
    func note(_ event: TraceEvent) {
        guard let recorder else { return }
        self.lock.withLock {
            self.written = recorder.record(event, in: TraceContext(trace: self.trace, cause: self.heard))
            self.heard = nil
        }
    }

    /// What joins a request to this operation and to its last event (W3C Trace Context, section 3.2).
    var header: (name: String, value: String) {
        let context = TraceContext(trace: self.trace, cause: self.lock.withLock { self.written })
        return ("traceparent", context.header(random: self.random))
    }

    /// Takes from an answer's header `traceresponse` which event of the server it was, so that what follows here is known
    /// to come after it.
    func hear(_ header: String?) {
        guard let context = header.flatMap(TraceContext.init(header:)), context.trace == self.trace else { return }
        self.lock.withLock { self.heard = context.cause }
    }
}
