/// The data that a challenge for a user name needs, in a single read.
public struct NamedKeys: Sendable, Equatable {
    /// The names of the account's active keys; `nil` if no account has the name.
    public var active: ActiveKeys?
    /// The look of invented accounts, as an operator has set it (``InventedAccountStore``); `nil` if no look is set.
    public var inventedAccounts: String?

    /// Joins the two parts.
    public init(active: ActiveKeys?, inventedAccounts: String?) {
        self.active = active
        self.inventedAccounts = inventedAccounts
    }
}

/// Counts of the keys that people's devices have.
public struct KeyStatistics: Sendable, Equatable {
    /// A model, and the length of its keys' names.
    public struct Key: Sendable, Hashable {
        public var aaid: String
        public var keyIDLength: Int

        public init(aaid: String, keyIDLength: Int) {
            self.aaid = aaid
            self.keyIDLength = keyIDLength
        }

        /// Reads the text `aaid:length`. Throws ``StoreError`` `corrupt`.
        package init(stored text: some StringProtocol) throws {
            let parts = text.split(separator: ":")
            guard parts.count == 2, let length = Int(parts[1]) else {
                throw StoreError(.corrupt, "a key without a model")
            }
            self.init(aaid: String(parts[0]), keyIDLength: length)
        }
    }

    /// The active keys that a device has together, in the order of their models.
    public struct DeviceKeys: Sendable, Equatable {
        public var keys: [Key]
        /// The number of accounts that have such a device.
        public var accounts: Int

        public init(keys: [Key], accounts: Int) {
            self.keys = keys
            self.accounts = accounts
        }
    }

    /// The sets of keys, the most common set first.
    public var sets: [DeviceKeys]
    /// The number of accounts for each number of devices with active keys.
    public var accountsByDevices: [Int: Int]

    /// Joins the counts.
    public init(sets: [DeviceKeys], accountsByDevices: [Int: Int]) {
        self.sets = sets
        self.accountsByDevices = accountsByDevices
    }
}

/// The look of invented accounts: a document that an operator sets, the same for every node.
public protocol InventedAccountStore: Sendable {
    /// Returns the document; `nil` if no document is set.
    func inventedAccounts() async throws -> String?

    /// Sets the document, or removes it.
    func setInventedAccounts(_ document: String?, audit: AuditEvent) async throws

    /// Counts the active keys of all accounts. The result has at most `limit` sets of keys, and at most `limit` numbers
    /// of devices. The method reads every key. It is for an operator's request, never for a client's.
    func keyStatistics(limit: Int) async throws -> KeyStatistics
}
