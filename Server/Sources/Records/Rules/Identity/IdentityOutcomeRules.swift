package import PersonalInformation
import _Primitives

/// A write of the outcome of a session.
package enum IdentityOutcomeWrite: Sendable, Equatable {
    /// The account has a further value, with this event.
    case supplied(PersonalValueRecord, AuditEvent)
    /// The choice of values for the service takes the place of the earlier choice.
    case selection([PersonalAttribute: String])
    /// The account's history gets an entry.
    case history(IdentityHistoryRecord)
}

extension IdentityOutcomeChange {
    /// The writes of the change, in their order: a selection can name a supplied value.
    package var writes: [IdentityOutcomeWrite] {
        var writes = self.supplied.map { value in
            IdentityOutcomeWrite.supplied(
                value,
                AuditEvent(
                    .personalValueAdded, at: self.at, accountID: self.accountID,
                    detail: "\(value.attribute.rawValue) \(value.id)"))
        }
        if let selection { writes.append(.selection(selection)) }
        if let history { writes.append(.history(history)) }
        return writes
    }

    /// Returns the writes of the change for an account that exists or is gone. Throws as ``requireNothingForAccount()``
    /// for an account that is gone.
    package func writes(forExisting isThere: Bool) throws(StoreError) -> [IdentityOutcomeWrite] {
        guard !isThere else { return self.writes }
        try self.requireNothingForAccount()
        return []
    }

    /// Throws `notFound` if the change has values or a selection for an account that is gone. A change without both is
    /// passed over: the history was deleted with the account, and the end of the account's last sessions has nothing to
    /// write.
    package func requireNothingForAccount() throws(StoreError) {
        guard self.supplied.isEmpty, self.selection == nil else {
            throw StoreError(.notFound, "the account of a session")
        }
    }

    /// Returns the service of a selection. Throws `notFound` for a session without a service.
    package func serviceOfSelection() throws(StoreError) -> String {
        guard let service = self.service else { throw Self.missingService }
        return service
    }

    /// Throws `notFound` if the service of a selection is gone.
    package func requireService(exists: Bool) throws(StoreError) {
        guard exists else { throw Self.missingService }
    }

    /// Throws `outdated` if an attribute has no room for a supplied value.
    ///
    /// - Parameter present: Returns the number of values that the account has of an attribute.
    package func requireRoom(beside present: (PersonalAttribute) throws -> Int) throws {
        var counts: [PersonalAttribute: Int] = [:]
        for attribute in self.supplied.map(\.attribute) {
            let count = try counts[attribute] ?? present(attribute)
            try IdentityBound.suppliedValues.requireRoom(count, most: self.valuesPerAttribute)
            counts[attribute] = count + 1
        }
    }

    /// Throws as ``serviceOfSelection()``, ``requireService(exists:)`` and ``requireChosen(_:exists:)``. Checks nothing
    /// without a selection. A supplied value can be chosen.
    ///
    /// - Parameters:
    ///   - service: Returns `true` if a service exists.
    ///   - value: Returns the attribute of a value of the account; `nil` if the account has no such value.
    package func requireSelection(
        service: (String) throws -> Bool, value: (_ id: String) throws -> String?
    ) throws {
        guard let selection else { return }
        try self.requireService(exists: service(self.serviceOfSelection()))
        for (attribute, id) in selection where self.required.contains(attribute) {
            let isSupplied = self.supplied.contains { $0.id.hasSameBytes(as: id) && $0.attribute == attribute }
            try self.requireChosen(attribute, exists: isSupplied || value(id) == attribute.rawValue)
        }
    }

    private static var missingService: StoreError { StoreError(.notFound, "the service of a session") }

    /// Throws `outdated` if the chosen value of an attribute is gone, and the service has to have the value.
    package func requireChosen(_ attribute: PersonalAttribute, exists: Bool) throws(StoreError) {
        guard exists || !self.required.contains(attribute) else {
            throw StoreError(.outdated, "a value that the service has to have is gone")
        }
    }
}

extension PersonalValueRecord {
    /// Returns `true` if a further value of an attribute becomes the primary value: `count` is the number of values
    /// that the attribute has.
    package static func isPrimary(afterOthers count: Int) -> Bool { count == 0 }
}

/// A write of an operator's change to a value.
package enum PersonalValueWrite: Sendable, Equatable {
    /// The value gets another label.
    case alias(String)
    /// The value becomes the primary value. The former primary value is cleared first, so that two values are never
    /// primary at the same time.
    case primary
    /// The value is verified or not.
    case verified(Bool)
}

extension PersonalValueChange {
    /// The writes of the change, in their order.
    package var writes: [PersonalValueWrite] {
        var writes: [PersonalValueWrite] = []
        if let alias { writes.append(.alias(alias)) }
        if self.becomesPrimary { writes.append(.primary) }
        if let isVerified { writes.append(.verified(isVerified)) }
        return writes
    }
}
