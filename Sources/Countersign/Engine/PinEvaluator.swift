import Ceremony
import Foundation
import UAF
import _Primitives

/// The PIN service of a server, as one step of a ceremony asks it (`PinQuestion`).
package struct PinEvaluator: Sendable {
    /// What was asked in the same step before.
    let asked: AskedPins
    /// Asks, with what is blinded.
    let evaluate: @Sendable (_ blinded: [UInt8]) async throws -> [UInt8]

    package init(
        asked: AskedPins = AskedPins(), evaluate: @escaping @Sendable (_ blinded: [UInt8]) async throws -> [UInt8]
    ) {
        self.asked = asked
        self.evaluate = evaluate
    }
}

/// The last question of a step. A PIN that is typed again because the answer was lost is asked about with the very same
/// bytes: the server has counted them, and takes no others for the same challenge.
// Safe to share: every access to `last` is within `lock`.
package final class AskedPins: @unchecked Sendable {
    private let lock = NSLock()
    private var last: (pin: SecretBytes, key: KeyID, question: PinQuestion)?

    package init() {}

    /// The question about a PIN of a key: that of before where it is the same, and else a new one.
    func question(
        about pin: SecretBytes, of key: KeyID, make: () async throws -> PinQuestion
    ) async throws -> PinQuestion {
        let known = self.lock.withLock { self.last.flatMap { $0.pin == pin && $0.key == key ? $0.question : nil } }
        if let known { return known }
        let question = try await make()
        self.lock.withLock { self.last = (pin, key, question) }
        return question
    }

    /// Forgets the PIN and the question: what it was for is over.
    func forget() { self.lock.withLock { self.last = nil } }
}
