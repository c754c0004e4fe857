import Ceremony
import Foundation
import UAF
import _Primitives

/// The PIN service of a server, as one step of a ceremony asks it (`PinQuestion`).
package struct PinEvaluator: Sendable {
    /// The earlier questions of the same step.
    let asked: AskedPins
    /// Asks the service with the blinded value.
    let evaluate: @Sendable (_ blinded: [UInt8]) async throws -> [UInt8]

    package init(
        asked: AskedPins = AskedPins(), evaluate: @escaping @Sendable (_ blinded: [UInt8]) async throws -> [UInt8]
    ) {
        self.asked = asked
        self.evaluate = evaluate
    }
}

/// The last question of a step. If a PIN is typed again because the answer was lost, the question has the same bytes
/// again: the server has counted these bytes, and accepts no others for the same challenge.
// Safe to share: every access to `last` is within `lock`.
package final class AskedPins: @unchecked Sendable {
    private let lock = NSLock()
    private var last: (pin: SecretBytes, key: KeyID, question: PinQuestion)?

    package init() {}

    /// Returns the question about a PIN of a key: the earlier question if the PIN and the key are the same, otherwise a
    /// new question.
    func question(
        about pin: SecretBytes, of key: KeyID, make: () async throws -> PinQuestion
    ) async throws -> PinQuestion {
        let known = self.lock.withLock { self.last.flatMap { $0.pin == pin && $0.key == key ? $0.question : nil } }
        if let known { return known }
        let question = try await make()
        self.lock.withLock { self.last = (pin, key, question) }
        return question
    }

    /// Forgets the PIN and the question, because the step is over.
    func forget() { self.lock.withLock { self.last = nil } }
}
