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

    /// All keys, with every device and every session of the account. For ``DeregistrationAsker/device(_:)`` only the
    /// keys that this asker reaches, and only the sessions of devices that have no key left.
    case all
    /// The keys of one model, on every device.
    case model(String)
    /// These keys.
    case keys([Name])
}

/// The result of a deregistration.
public enum DeregistrationOutcome: Sendable, Equatable {
    /// The selected keys that existed are deleted. The number can be 0.
    case deregistered(credentials: Int)
    /// The account does not exist (any more), or the asking device is no active device of the account. Nothing was
    /// changed.
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
    /// This device alone, without its person. Among the selected keys, only keys of registrations with this device's
    /// identity key are deleted: the keys of this registration and of the same phone's other registrations. A device
    /// without an identity key has nothing deleted.
    case device(String)

    /// The asking device; `nil` for `anybody`.
    public var device: String? {
        switch self {
        case .anybody: nil
        case .person(let device), .device(let device): device
        }
    }
}
