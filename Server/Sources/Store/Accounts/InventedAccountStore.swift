/// What a challenge by a name needs, in one read.
public struct NamedKeys: Sendable, Equatable {
    /// The names of the account's active keys; `nil` where nobody has the name.
    public var active: ActiveKeys?
    /// What invented accounts look like, as an operator has set it (``InventedAccountStore``); `nil` where none has.
    public var inventedAccounts: String?

    /// Joins them.
    public init(active: ActiveKeys?, inventedAccounts: String?) {
        self.active = active
        self.inventedAccounts = inventedAccounts
    }
}

/// Which keys people's devices have, counted.
public struct KeyStatistics: Sendable, Equatable {
    /// A model, and the length of its keys' names.
    public struct Key: Sendable, Hashable {
        public var aaid: String
        public var keyIDLength: Int

        public init(aaid: String, keyIDLength: Int) {
            self.aaid = aaid
            self.keyIDLength = keyIDLength
        }
    }

    /// The active keys that a device has together, in the order of their models.
    public struct DeviceKeys: Sendable, Equatable {
        public var keys: [Key]
        /// How many accounts have such a device.
        public var accounts: Int

        public init(keys: [Key], accounts: Int) {
            self.keys = keys
            self.accounts = accounts
        }
    }

    /// The commonest first.
    public var sets: [DeviceKeys]
    /// How many accounts have so many devices with active keys.
    public var accountsByDevices: [Int: Int]

    /// Joins the counts.
    public init(sets: [DeviceKeys], accountsByDevices: [Int: Int]) {
        self.sets = sets
        self.accountsByDevices = accountsByDevices
    }
}

/// What invented accounts look like: a document that an operator sets, the same for every node.
public protocol InventedAccountStore: Sendable {
    /// The document; `nil` where none is set.
    func inventedAccounts() async throws -> String?

    /// Sets the document, or takes it away.
    func setInventedAccounts(_ document: String?, audit: AuditEvent) async throws

    /// Counts the active keys of all accounts, with at most `limit` kinds of devices. Reads every key: for an operator who
    /// asks, never for a request.
    func keyStatistics(limit: Int) async throws -> KeyStatistics
}
