import _Primitives

/// The reach of a deregistration: whose keys it deletes, and everything that ends with the keys.
package struct DeregistrationReach: Sendable, Equatable {
    /// The device whose phone's keys alone are deleted, by the phone's identity key; `nil` for the keys of every phone.
    package let phone: String?
    /// `true` if the account loses its authentications too, and every device without a key: also the devices that had
    /// no key before, for example after a disabled activation.
    package let isWholeAccount: Bool

    /// Describes the reach of a request.
    package init(of selection: CredentialSelection, by asker: DeregistrationAsker) {
        let phone: String? =
            switch asker {
            case .anybody, .person: nil
            case .device(let device): device
            }
        self.phone = phone
        self.isWholeAccount = selection == .all && phone == nil
    }

    /// Returns the devices that may go if they have no key left.
    ///
    /// - Parameter touched: The devices whose keys were deleted.
    package func emptied(_ touched: [String]) -> EmptiedDevices { self.isWholeAccount ? .any : .only(touched) }
}

/// The devices of an account that go if they have no key left.
package enum EmptiedDevices: Sendable, Equatable {
    /// Every device of the account.
    case any
    /// These devices. A device that had no key before stays.
    case only([String])

    /// Returns the devices that go.
    ///
    /// - Parameter empty: The devices of the account that have no key.
    package func revoked(among empty: [String]) -> [String] {
        switch self {
        case .any: empty
        case .only(let devices): empty.filter { devices.containsBytes(of: $0) }
        }
    }
}

extension DeregistrationAsker {
    /// Returns the refusal of a request about an existing account; `nil` if the request may go on. A device asks only
    /// while it is an active device of an account that is not locked.
    ///
    /// - Parameter isActiveDevice: `nil` if no device asks.
    package func refusal(isAccountLocked: Bool, isActiveDevice: Bool?) -> DeregistrationOutcome? {
        switch self {
        case .anybody: nil
        case .person, .device:
            if isActiveDevice != true { .unknown } else if isAccountLocked { .locked } else { nil }
        }
    }
}
