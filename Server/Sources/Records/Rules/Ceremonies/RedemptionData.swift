package import UAF

/// The data beside the ceremony that the answer to a redeemed token needs.
extension CeremonyRecord {
    /// The account that the answer describes: a registration's; `nil` for every other kind, and if the account is not
    /// known yet.
    package var describedAccountID: String? { self.kind == .registration ? self.accountID : nil }

    /// The account whose active keys the answer names; `nil` for a deregistration, and if the account is not known yet.
    package var accountIDOfKeys: String? { self.kind == .deregistration ? nil : self.accountID }

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

extension DispatchChannel {
    /// The number that stands for the channel in the store.
    package var stored: Int {
        switch self {
        case .linkQRCode: 1
        case .link: 2
        case .typed: 3
        case .qrCode: 4
        case .device: 5
        }
    }

    /// Reads a stored channel. Throws ``StoreError/Code/corrupt`` for an unknown number.
    package init(stored number: Int) throws(StoreError) {
        guard let channel = Self.allCases.first(where: { $0.stored == number }) else {
            throw StoreError(.corrupt, "an unknown channel")
        }
        self = channel
    }
}
