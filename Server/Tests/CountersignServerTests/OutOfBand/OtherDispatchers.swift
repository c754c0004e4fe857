import Ceremony
import CeremonyEngine
import JOSE
import Synchronization
import UAF
import _Primitives

// Dispatchers of somebody else. They use public declarations only, as a program in another package would.

/// Brings a message to one of the phones that it knows.
final class CourierDispatcher: TargetedDispatcher {
    struct Phone: Sendable {
        let accountID: String
        var isExpired = false
        /// The key to which the phone's payloads are encrypted; `nil` for plain payloads.
        var encryptionKey: JWK?
    }
    struct Failure: Error {}

    let name: String
    let takesInformation = true
    private let phones = Mutex<[String: Phone]>([:])
    private let received = Mutex<[DispatchMessage]>([])
    private let isBroken = Mutex(false)
    private let isForgetful = Mutex(false)
    /// The calls that do not end; `nil` if calls end.
    private let stalled = Mutex<[CheckedContinuation<Void, Never>]?>(nil)

    init(name: String = "courier") { self.name = name }

    /// What came to the phones.
    var messages: [DispatchMessage] { self.received.withLock { $0 } }

    func add(_ phone: Phone, as target: String) { self.phones.withLock { $0[target] = phone } }
    /// From now on deliveries fail after the message has gone, or no longer fail.
    func breakDown(_ isBroken: Bool = true) { self.isBroken.withLock { $0 = isBroken } }
    /// From now on deliveries do not end, whether they are cancelled or not, until ``goOn()``.
    func stall() { self.stalled.withLock { $0 = [] } }
    func goOn() {
        let calls = self.stalled.withLock { calls in
            defer { calls = nil }
            return calls ?? []
        }
        for call in calls { call.resume() }
    }
    /// From now on it cannot look for its phones.
    func forgetPhones() { self.isForgetful.withLock { $0 = true } }

    func dispatcherInformation(for operation: DispatchedOperation) throws -> DispatcherInformation {
        _ = try self.greeting(in: operation)
        return DispatcherInformation(response: "on its way until \(operation.expiresAt)")
    }

    func delivery(of operation: DispatchedOperation, to target: String) async throws -> DispatchDelivery {
        if self.isForgetful.withLock({ $0 }) { throw Failure() }
        guard let phone = self.phones.withLock({ $0[target] }), phone.accountID == operation.accountID else {
            return .targetNotFound
        }
        if phone.isExpired { return .targetExpired }
        let payload =
            try phone.encryptionKey.map { try operation.payload.encryptedJSON(to: $0) } ?? operation.payload.json
        let content = try self.greeting(in: operation) + "\n" + payload
        return .message(DispatchMessage(target: target, content: Array(content.utf8)))
    }

    func deliver(_ message: DispatchMessage) async throws {
        self.received.withLock { $0.append(message) }
        await withCheckedContinuation { call in
            let isStalled = self.stalled.withLock { calls in
                calls?.append(call)
                return calls != nil
            }
            if !isStalled { call.resume() }
        }
        if self.isBroken.withLock({ $0 }) { throw Failure() }
    }

    /// What the back end wants to have said.
    private func greeting(in operation: DispatchedOperation) throws -> String {
        let information = operation.dispatchInformation ?? [:]
        guard information.members.allSatisfy({ $0.name.hasSameBytes(as: "greeting") }),
            let greeting = try? information.string("greeting") ?? "Hello"
        else { throw CeremonyError(.invalidRequest, "a courier takes a greeting and nothing else") }
        return greeting
    }
}

/// Says a link in words, for the page of a back end.
struct SpokenLinkDispatcher: Dispatcher {
    let name = "spoken-link"
    let channel = DispatchChannel.link

    func dispatcherInformation(for operation: DispatchedOperation) -> DispatcherInformation {
        DispatcherInformation(link: operation.link, response: "Open \(operation.link)")
    }
}

/// Has a text of its own in the QR code.
struct PaintedDispatcher: Dispatcher {
    let name = "painted"
    let channel = DispatchChannel.qrCode
    let content: String

    func dispatcherInformation(for operation: DispatchedOperation) -> DispatcherInformation {
        DispatcherInformation(qrContent: self.content)
    }
}

/// A dispatcher with any name and channel, which is never asked.
struct SilentDispatcher: Dispatcher {
    let name: String
    var channel = DispatchChannel.link

    func dispatcherInformation(for operation: DispatchedOperation) -> DispatcherInformation { DispatcherInformation() }
}

/// A dispatcher with targets over a channel that needs none.
struct LostDispatcher: TargetedDispatcher {
    let name = "lost"
    let channel = DispatchChannel.qrCode

    func dispatcherInformation(for operation: DispatchedOperation) -> DispatcherInformation { DispatcherInformation() }
    func delivery(of operation: DispatchedOperation, to target: String) -> DispatchDelivery { .targetNotFound }
    func deliver(_ message: DispatchMessage) {}
}
