import Countersign

/// The named values of one service in a Keychain, with the errors of a storage.
package struct KeychainValues: Sendable {
    private let keychain: any Keychain
    private let service: String
    private let protection: ItemProtection

    /// Creates the values of a service.
    package init(_ keychain: any Keychain, service: String, protection: ItemProtection = .afterFirstUnlock) {
        self.keychain = keychain
        self.service = service
        self.protection = protection
    }

    /// Returns a value; `nil` only if the Keychain says that there is no item. Throws ``StorageError``.
    package func read(_ name: String) throws -> [UInt8]? {
        switch self.keychain.value(of: self.item(name), approvedBy: nil) {
        case .value(let value): return value
        case .refused(.itemNotFound): return nil
        case .refused(let status): throw status.failure("read")
        }
    }

    /// Sets a value. The item of an earlier value is updated and not replaced, so that a crash leaves the old or the new
    /// value. Throws ``StorageError``.
    package func write(_ value: [UInt8], to name: String) throws {
        let item = self.item(name)
        var status = self.keychain.update(value, of: item)
        if status == .itemNotFound {
            status = self.keychain.add(value, as: item, self.protection)
            // Another process has added the item in between.
            if status == .duplicateItem { status = self.keychain.update(value, of: item) }
        }
        guard status == .success else { throw status.failure("write") }
    }

    /// Removes a value; does nothing if there is none. Throws ``StorageError``.
    package func remove(_ name: String) throws {
        let status = self.keychain.remove(self.item(name))
        guard [.success, .itemNotFound].contains(status) else { throw status.failure("remove") }
    }

    private func item(_ name: String) -> KeychainItem { KeychainItem(service: self.service, account: name) }
}
