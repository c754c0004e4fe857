/// The data beside the ceremony that the answer to a redeemed token needs.
package enum RedemptionData: Sendable, Equatable {
    /// No further data: the account is not known yet.
    case nothing
    /// The keys that the ceremony has deleted.
    case deletedKeys
    /// The account, and its active keys.
    case accountAndKeys(account: String)
    /// The active keys of the account.
    case keys(account: String)
}

extension CeremonyRecord {
    /// The data that the answer to a redeemed token of the ceremony needs.
    package var redemptionData: RedemptionData {
        guard let accountID = self.accountID else { return .nothing }
        return switch self.kind {
        case .deregistration: .deletedKeys
        case .registration: .accountAndKeys(account: accountID)
        case .authentication, .transaction, .identity: .keys(account: accountID)
        }
    }

    /// The ceremony's identifier if its redemption deletes keys; `nil` for every other kind.
    package var deregistrationID: String? { self.kind == .deregistration ? self.id : nil }

    /// Reads the kind and the phase of a stored ceremony. Throws ``StoreError/Code/corrupt`` for unknown numbers.
    package static func state(storedKind kind: Int, phase: Int) throws -> (kind: Kind, phase: Phase) {
        guard let kind = Kind(rawValue: kind), let phase = Phase(rawValue: phase) else {
            throw StoreError(.corrupt, "a ceremony of an unknown kind or phase")
        }
        return (kind, phase)
    }
}

extension CeremonyRecord.Channel {
    /// Reads the stored channel of a token. Throws ``StoreError/Code/corrupt`` for an unknown number.
    package init(storedForToken number: Int) throws {
        guard let channel = Self(rawValue: number) else {
            throw StoreError(.corrupt, "a token of an unknown channel")
        }
        self = channel
    }
}
