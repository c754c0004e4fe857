/// Which keys of an account are to go.
public enum CredentialSelection: Sendable, Equatable {
    /// The name of a key: its model and its name within that.
    public struct Name: Sendable, Equatable {
        public var aaid: String
        public var keyID: [UInt8]

        /// Names a key.
        public init(aaid: String, keyID: [UInt8]) {
            self.aaid = aaid
            self.keyID = keyID
        }
    }

    /// All, with every device and every session of the account.
    case all
    /// Those of one model, on every device.
    case model(String)
    /// These.
    case keys([Name])
}

/// What a deregistration came to.
public enum DeregistrationOutcome: Sendable, Equatable {
    /// So many keys were there, and are gone.
    case deregistered(credentials: Int)
    /// The account, or the device that asked, is not there (any more). Nothing was changed.
    case unknown
    /// The account of the device that asked is locked. Nothing was changed.
    case locked
}

/// Who has keys deleted.
public enum DeregistrationAsker: Sendable, Equatable {
    /// Somebody who may have any of the account deleted.
    case anybody
    /// The account's person, on this device.
    case person(onDevice: String)
    /// This device alone, without its person: of what is selected its own keys go, those of its other registrations among
    /// them.
    case device(String)

    /// The device that asks.
    public var device: String? {
        switch self {
        case .anybody: nil
        case .person(let device), .device(let device): device
        }
    }
}
