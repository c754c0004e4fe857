package import _Primitives

/// The columns of an activation that a step writes.
package enum ActivationWrite: Sendable, Equatable {
    /// The step leaves the activation as it was.
    case nothing
    /// The step writes failed attempts, the version of the PIN and the last use.
    case state
    /// The step writes the columns of ``state``, and both keys.
    case stateAndKeys
}

extension ActivationRecord {
    /// Returns the columns that differ from the activation before the step. Throws `conflict` if the device differs.
    package func write(from before: ActivationRecord) throws(StoreError) -> ActivationWrite {
        guard self.device == before.device else { throw StoreError(.conflict, "a step does not change a device") }
        guard self != before else { return .nothing }
        guard self.signingKey != before.signingKey || self.encryptionKey != before.encryptionKey else { return .state }
        return .stateAndKeys
    }

    /// Throws if the account of an enrolment takes no activation: `notFound` for no account, `forbidden` for a locked
    /// account.
    ///
    /// - Parameter isLocked: The account's lock; `nil` if the account does not exist.
    package static func requireAccount(isLocked: Bool?) throws(StoreError) {
        guard let isLocked else { throw StoreError(.notFound, "the account is gone") }
        guard !isLocked else { throw StoreError(.forbidden, "the account is locked") }
    }
}

extension OfferRecord {
    /// The key of the PIN as it is kept: only as long as the code can be used.
    package var keptPinKey: [UInt8]? { self.state == .offered && !self.pinKey.isEmpty ? self.pinKey : nil }

    /// The code as it is kept for a letter. A code that cannot be used is in no letter.
    package var keptLetter: String? { self.state == .offered ? self.letter : nil }

    /// Returns the offer as it is kept after an attempt to leave its letter: without the code if no letter was left.
    package func afterLetter(isLeft: Bool) -> Self {
        guard !isLeft else { return self }
        var offer = self
        offer.letter = nil
        return offer
    }
}

extension LockoutRecord {
    /// Reads the moments of failed attempts from their stored text. Throws `corrupt` for any other text.
    package static func failures(kept text: String) throws(StoreError) -> [Timestamp] {
        var failures: [Timestamp] = []
        for part in text.split(separator: " ") {
            guard let moment = Int64(part) else { throw StoreError(.corrupt, "when an attempt failed") }
            failures.append(Timestamp(milliseconds: moment))
        }
        return failures
    }

    /// The stored text of the moments of failed attempts.
    package var keptFailures: String { self.failures.map { "\($0.milliseconds)" }.joined(separator: " ") }
}
