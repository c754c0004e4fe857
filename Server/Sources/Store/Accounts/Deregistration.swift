/// The keys of an account that are to be deleted.
public enum CredentialSelection: Sendable, Equatable {
    /// The name of a key: its model and its name within the model.
    public struct Name: Sendable, Equatable {
        public var aaid: String
        public var keyID: [UInt8]

        /// Names a key.
        public init(aaid: String, keyID: [UInt8]) {
            self.aaid = aaid
            self.keyID = keyID
        }
    }

    /// All keys, with every device and every session of the account.
    case all
    /// The keys of one model, on every device.
    case model(String)
    /// These keys.
    case keys([Name])
}

/// The result of a deregistration.
public enum DeregistrationOutcome: Sendable, Equatable {
    /// The keys were found and deleted, in this number.
    case deregistered(credentials: Int)
    /// The account, or the asking device, does not exist (any more). Nothing was changed.
    case unknown
    /// The account of the asking device is locked. Nothing was changed.
    case locked
}

/// The party that has keys deleted.
public enum DeregistrationAsker: Sendable, Equatable {
    /// A party that may have any key of the account deleted.
    case anybody
    /// The account's person, on this device.
    case person(onDevice: String)
    /// This device alone, without its person. Only the device's own keys among the selected keys are deleted, with the
    /// keys of its other registrations.
    case device(String)

    /// The asking device; `nil` for `anybody`.
    public var device: String? {
        switch self {
        case .anybody: nil
        case .person(let device), .device(let device): device
        }
    }
}
