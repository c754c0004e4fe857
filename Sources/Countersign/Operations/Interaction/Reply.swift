import Foundation
import UAFClient

/// Where a screen's answer goes: to the SDK, or to an app's own test of that screen.
struct Reply<Value: Sendable>: Sendable {
    let give: @Sendable (Value) -> Void
    let cancel: @Sendable () -> Void

    /// To the SDK, where the first call counts.
    init(to answer: Answer<Value>) {
        self.give = { answer.give(.success($0)) }
        self.cancel = { answer.give(.failure(UserVerificationError.cancelled)) }
    }

    /// To whoever gave the two closures, of which one is called once.
    init(_ give: @escaping @Sendable (Value) -> Void, cancel: @escaping @Sendable () -> Void) {
        let once = OneShot()
        self.give = { if once.take() { give($0) } }
        self.cancel = { if once.take() { cancel() } }
    }
}

/// As ``Reply``, where giving up is also possible after the answer: while the operating system's dialog shows.
struct ListeningReply<Value: Sendable>: Sendable {
    let listen: @Sendable (Value) -> Void
    let cancel: @Sendable () -> Void

    /// To the SDK: `refusal` ends what began with `listening`.
    init<Reading: Sendable>(to listening: Answer<Value>, refusal: Answer<Reading>) {
        self.listen = { listening.give(.success($0)) }
        self.cancel = {
            listening.give(.failure(UserVerificationError.cancelled))
            refusal.give(.failure(UserVerificationError.cancelled))
        }
    }

    /// To whoever gave the two closures, each of which is called once.
    init(_ listen: @escaping @Sendable (Value) -> Void, cancel: @escaping @Sendable () -> Void) {
        let listening = OneShot()
        let cancelling = OneShot()
        self.listen = { if listening.take() { listen($0) } }
        self.cancel = { if cancelling.take() { cancel() } }
    }
}
