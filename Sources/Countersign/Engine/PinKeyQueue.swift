import Ceremony
import Crypto
import Dispatch
import Foundation
import _Primitives

/// Makes the keys of an app's PINs, one after the other: each takes the memory and the time that its parameters name
/// (``PinScheme``), and no thread of the tasks' pool, which may have but two, does such work or waits for it.
// Safe to share: every access to what changes is within `lock`.
package final class PinKeyQueue: @unchecked Sendable {
    /// How many keys can wait, by default: more than an app has screens for PINs.
    package static let capacity = 16

    /// On the threads of the operating system's queue, which are as many as there are processors: so many keys are made at
    /// once at most, however many of these queues there are.
    private let queue = DispatchQueue(label: "countersign.pin-keys", target: .global(qos: .userInitiated))
    private let lock = NSLock()
    private let capacity: Int
    /// What waits, by its number. Nothing else holds the work, and with it a PIN: it is let go of before anybody hears of its
    /// end, and at once where nobody waits for it any more.
    private var waiting: [Int: Waiting] = [:]
    private var lastNumber = 0

    private struct Waiting {
        /// Does the work, and gives back what tells of it.
        let finish: () -> () -> Void
        /// Tells that it is not done.
        let refuse: (any Error) -> Void
    }

    package init(capacity: Int = PinKeyQueue.capacity) { self.capacity = capacity }

    /// The key of a PIN; see ``PinScheme/key(pin:deviceSecret:parameters:context:)``. A task that is cancelled while it waits
    /// leaves the queue; a key that has been begun is made to its end.
    ///
    /// Throws what that throws, `PinSchemeError` `unavailable` where too many wait, and `CancellationError`.
    func key(
        pin: SecretBytes, deviceSecret: SecretBytes, parameters: PinParameters, context: PinScheme.Context
    ) async throws -> P256.Signing.PrivateKey {
        try await self.run {
            try parameters.scheme.key(
                pin: pin, deviceSecret: deviceSecret, parameters: parameters, context: context)
        }
    }

    /// What the PIN service is asked about a PIN; see `PinQuestion`. As ``key(pin:deviceSecret:parameters:context:)``.
    func question(
        pin: SecretBytes, deviceSecret: SecretBytes, parameters: PinParameters, context: PinScheme.Context,
        serviceKey: [UInt8]
    ) async throws -> PinQuestion {
        try await self.run {
            try PinQuestion(
                pin: pin, deviceSecret: deviceSecret, parameters: parameters, context: context, serviceKey: serviceKey)
        }
    }

    /// Has work done by the queue's thread. Throws what it throws, `PinSchemeError` `unavailable` and `CancellationError`.
    package func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        let number = self.lock.withLock {
            self.lastNumber += 1
            return self.lastNumber
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
                let waiting = Waiting(
                    finish: {
                        let result = Result { try work() }
                        return { continuation.resume(with: result) }
                    }, refuse: { continuation.resume(throwing: $0) })
                if let refusal = self.add(number, waiting) {
                    continuation.resume(throwing: refusal)
                    return
                }
                // Whoever has been cancelled has been told.
                self.queue.async { self.done(number)?() }
            }
        } onCancel: {
            self.refusal(number)?(CancellationError())
        }
    }

    /// Does what waits by a number, and lets go of it. What tells of it; `nil` where it waits no more.
    private func done(_ number: Int) -> (() -> Void)? { self.remove(number)?.finish() }

    /// Lets go of what waits by a number. What tells that it is not done; `nil` where it waits no more.
    private func refusal(_ number: Int) -> ((any Error) -> Void)? { self.remove(number)?.refuse }

    /// Lets work wait; or says why not.
    private func add(_ number: Int, _ work: Waiting) -> (any Error)? {
        self.lock.withLock {
            // Asked with the lock held: who is cancelled after this finds the work.
            guard !Task.isCancelled else { return CancellationError() }
            guard self.waiting.count < self.capacity else { return PinSchemeError(.unavailable) }
            self.waiting[number] = work
            return nil
        }
    }

    /// Takes work out that waits.
    private func remove(_ number: Int) -> Waiting? {
        self.lock.withLock { self.waiting.removeValue(forKey: number) }
    }
}
