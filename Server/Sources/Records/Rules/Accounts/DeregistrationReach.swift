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

extension DeregistrationReach {
    /// Returns the audit event and the notice of a deregistration; neither if no key was deleted.
    package static func report(
        ofDeleted names: [CredentialSelection.Name], audit: AuditEvent?, notice: NoticeRecord?
    ) -> (audit: AuditEvent?, notice: NoticeRecord?) {
        names.isEmpty ? (nil, nil) : (audit, notice)
    }
}

/// A pattern for keys of an account.
package struct KeyPattern: Sendable, Equatable {
    /// The model of the keys; `nil` for every model.
    package let aaid: String?
    /// The name of the key within the model; `nil` for every name.
    package let keyID: [UInt8]?

    /// Describes keys by a model and a name.
    package init(aaid: String?, keyID: [UInt8]?) {
        self.aaid = aaid
        self.keyID = keyID
    }
}

extension CredentialSelection {
    /// The patterns of the selected keys.
    package var patterns: [KeyPattern] {
        switch self {
        case .all: [KeyPattern(aaid: nil, keyID: nil)]
        case .model(let aaid): [KeyPattern(aaid: aaid, keyID: nil)]
        case .keys(let names): names.map { KeyPattern(aaid: $0.aaid, keyID: $0.keyID) }
        }
    }
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
    /// `true` if a disabled activation of the asking device refuses the request. A device whose activation is disabled
    /// proves no person any more, and still deletes the keys of its own phone.
    package var needsActivation: Bool {
        switch self {
        case .anybody, .device: false
        case .person: true
        }
    }

    /// Returns the refusal of a request; `nil` if the request may go on. A device asks only while it is an active device
    /// of an account that is not locked.
    ///
    /// - Parameters:
    ///   - isAccountLocked: `nil` if the account does not exist.
    ///   - isActiveDevice: `nil` if no device asks.
    package func refusal(isAccountLocked: Bool?, isActiveDevice: Bool?) -> DeregistrationOutcome? {
        guard let isAccountLocked else { return .unknown }
        return switch self {
        case .anybody: nil
        case .person, .device:
            if isActiveDevice != true { .unknown } else if isAccountLocked { .locked } else { nil }
        }
    }
}
