import _Primitives

/// The key-encryption keys that a database lists: the keys that its values can lie under.
package struct ListedKeys: Sendable, Equatable {
    /// The identifiers of the keys, the newest first.
    package let identifiers: [String]

    /// Makes a list of keys by their identifiers, the newest first.
    package init(_ identifiers: [String]) { self.identifiers = identifiers }

    /// `true` if the database is from before databases listed their keys.
    package var isOfFormerSchema: Bool { self.identifiers.isEmpty }

    /// Returns `true` if the key with the identifier is the newest key of the list.
    package func isNewest(_ identifier: String) -> Bool {
        self.identifiers.first?.hasSameBytes(as: identifier) ?? false
    }

    /// Throws ``StoreError/Code/wrongKey`` if none of the keys is available, and ``StoreError/Code/missingKey`` if some
    /// are not.
    package func check(available: [String]) throws(StoreError) {
        let missing = self.identifiers.filter { !available.containsBytes(of: $0) }
        guard missing.count < self.identifiers.count else { throw StoreKeyRequirement.key.error }
        guard missing.isEmpty else {
            throw StoreError(
                .missingKey,
                "values of the database still lie under the key-encryption key \(missing.joined(separator: ", "))")
        }
    }
}

/// A requirement that the values of a database's own keys have to meet when the database is opened.
package enum StoreKeyRequirement: Sendable, CaseIterable {
    /// One of the available keys is the key of the database.
    case key
    /// The root secret of codes opens.
    case root
    /// The check value opens, and is the expected text.
    case check
    /// The database has an epoch.
    case epoch

    fileprivate var error: StoreError {
        switch self {
        case .key: StoreError(.wrongKey, "the key-encryption key is not the one of this store")
        case .root: StoreError(.corrupt, "the root secret of the database does not open")
        case .check: StoreError(.corrupt, "the check of the database's key does not open")
        case .epoch: StoreError(.corrupt, "the store has no epoch")
        }
    }

    /// Throws the requirement's error unless the requirement is met.
    package func check(_ isMet: Bool) throws(StoreError) {
        guard isMet else { throw self.error }
    }

    /// Returns the value that meets the requirement. Throws the requirement's error for `nil`: the store has found no
    /// value.
    package func found<Value>(_ value: Value?) throws(StoreError) -> Value {
        guard let value else { throw self.error }
        return value
    }
}
