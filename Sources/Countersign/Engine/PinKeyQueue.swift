import Ceremony
import Crypto
import Dispatch
import Foundation
import _Primitives

/// A queue that makes the keys of an app's PINs, one after the other. Each key takes the memory and the time of its
/// parameters (``PinScheme``). No thread of the tasks' pool, which may have only two threads, does such work or waits
/// for it.
// Safe to share: every access to changing state is within `lock`.
package final class PinKeyQueue: @unchecked Sendable {
    /// The default maximum number of waiting keys: more than an app has screens for PINs.
    package static let capacity = 16

    /// The queue's work runs on the threads of the operating system's queue, which has as many threads as processors.
    /// At most so many keys are made at once, whatever the number of these queues is.
    private let queue = DispatchQueue(label: "countersign.pin-keys", target: .global(qos: .userInitiated))
    private let lock = NSLock()
    private let capacity: Int
    /// The waiting work, by its number. Nothing else holds the work, and with it a PIN. The work is released before its
    /// result is reported, and at once if nobody waits for it any more.
    private var waiting: [Int: Waiting] = [:]
    private var lastNumber = 0

    private struct Waiting {
        /// Does the work, and returns the function that reports the result.
        let finish: () -> () -> Void
        /// Reports that the work is not done.
        let refuse: (any Error) -> Void
    }

    package init(capacity: Int = PinKeyQueue.capacity) { self.capacity = capacity }

    /// Returns the key of a PIN; see ``PinScheme/key(pin:phoneHalf:parameters:context:)``. A task that is cancelled
    /// while waiting leaves the queue; a key whose work has begun is finished.
    ///
    /// Throws the errors of that function, `PinSchemeError` `unavailable` if too many keys wait, and
    /// `CancellationError`.
    func key(
        pin: SecretBytes, phoneHalf: SecretBytes, parameters: PinParameters, context: PinScheme.Context
    ) async throws -> P256.Signing.PrivateKey {
        try await self.run {
            try parameters.scheme.key(
                pin: pin, phoneHalf: phoneHalf, parameters: parameters, context: context)
        }
    }

    /// Returns the question to the PIN service about a PIN; see `PinQuestion`. Waits and throws like
    /// ``key(pin:phoneHalf:parameters:context:)``.
    func question(
        pin: SecretBytes, phoneHalf: SecretBytes, parameters: PinParameters, context: PinScheme.Context,
        serviceKey: [UInt8]
    ) async throws -> PinQuestion {
        try await self.run {
            try PinQuestion(
                pin: pin, phoneHalf: phoneHalf, parameters: parameters, context: context, serviceKey: serviceKey)
        }
    }

    /// Runs work on the queue's thread. Throws the errors of the work, `PinSchemeError` `unavailable` and
    /// `CancellationError`.
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
                // A cancelled caller has already been told.
                self.queue.async { self.done(number)?() }
            }
        } onCancel: {
            self.refusal(number)?(CancellationError())
        }
    }

    /// Removes the waiting work of this number from the queue, and does the work. Returns the function that reports the
    /// result to the caller; `nil` if the work no longer waits.
    private func done(_ number: Int) -> (() -> Void)? { self.remove(number)?.finish() }

    /// Removes the waiting work of this number from the queue, without doing the work. Returns the function that
    /// reports the refusal to the caller; `nil` if the work no longer waits.
    private func refusal(_ number: Int) -> ((any Error) -> Void)? { self.remove(number)?.refuse }

    /// Adds work to the waiting work, or returns the reason for a refusal.
    private func add(_ number: Int, _ work: Waiting) -> (any Error)? {
        self.lock.withLock {
            // The check runs with the lock held: a cancellation after the check finds the work.
            guard !Task.isCancelled else { return CancellationError() }
            guard self.waiting.count < self.capacity else { return PinSchemeError(.unavailable) }
            self.waiting[number] = work
            return nil
        }
    }

    /// Removes waiting work.
    private func remove(_ number: Int) -> Waiting? {
        self.lock.withLock { self.waiting.removeValue(forKey: number) }
    }
}
