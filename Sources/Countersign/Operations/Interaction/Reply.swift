import Ceremony
import Foundation
import UAFClient

/// The receiver of a screen's answer: the SDK, or an app's own test of the screen.
struct Reply<Value: Sendable>: Sendable {
    let give: @Sendable (Value) -> Void
    let cancel: @Sendable () -> Void
    let deny: @Sendable (DenialStatement) -> Void

    /// Creates a reply to the SDK. The first call counts.
    init(to answer: Answer<Value>) {
        self.give = { answer.give(.success($0)) }
        self.cancel = { answer.give(.failure(UserVerificationError.cancelled)) }
        self.deny = { answer.give(.failure(Denied(statement: $0))) }
    }

    /// Creates a reply to closures of the caller. One of the closures is called, once.
    init(
        _ give: @escaping @Sendable (Value) -> Void, cancel: @escaping @Sendable () -> Void,
        deny: @escaping @Sendable (DenialStatement) -> Void = { _ in }
    ) {
        let once = OneShot()
        self.give = { if once.take() { give($0) } }
        self.cancel = { if once.take() { cancel() } }
        self.deny = { if once.take() { deny($0) } }
    }
}

/// A ``Reply`` with which the person can also give up after the answer, while the operating system's dialog shows.
struct ListeningReply<Value: Sendable>: Sendable {
    let listen: @Sendable (Value) -> Void
    let cancel: @Sendable () -> Void

    /// Creates a reply to the SDK: `refusal` ends the process that began with `listening`.
    init<Reading: Sendable>(to listening: Answer<Value>, refusal: Answer<Reading>) {
        self.listen = { listening.give(.success($0)) }
        self.cancel = {
            listening.give(.failure(UserVerificationError.cancelled))
            refusal.give(.failure(UserVerificationError.cancelled))
        }
    }

    /// Creates a reply to two closures of the caller. Each closure is called at most once.
    init(_ listen: @escaping @Sendable (Value) -> Void, cancel: @escaping @Sendable () -> Void) {
        let listening = OneShot()
        let cancelling = OneShot()
        self.listen = { if listening.take() { listen($0) } }
        self.cancel = { if cancelling.take() { cancel() } }
    }
}
