import PersonalInformation
public import Store
import _Primitives

/// What people enter, call otherwise and take away on their own pages, of what services can ask for.
extension IdentityDirectory {
    /// What comes of an address that a person gives.
    public enum GivenEmail: Sendable, Equatable {
        /// It is a value from now on: the address was known to be the person's before.
        case added
        /// It is one once its person has shown that it is theirs, by a link that is mailed there. `further` is the address's
        /// identifier where it is one beside the first.
        case unconfirmed(further: String?)
        /// Somebody has to see to it that it is the person's, and no link can be mailed.
        case unconfirmable
        /// It was a value before.
        case known
        /// It is no address.
        case invalid
        /// There are as many values as an attribute can have.
        case tooManyValues
        /// There are as many further addresses as an account can have.
        case tooManyAddresses
    }

    /// What comes of a number that a person gives.
    public enum GivenPhone: Sendable, Equatable {
        /// It is a value from now on, of which nobody has seen to it that it is true.
        case added
        /// It was a value before.
        case known
        /// It is no number.
        case invalid
        /// There are as many values as an attribute can have.
        case tooManyValues
    }

    /// An e-mail address as values have the address; `nil` for what is none.
    public func spelling(ofEmail typed: String) -> String? { try? self.spelling(of: typed, for: .email) }

    /// A phone number as values have the number; `nil` for what is none.
    public func spelling(ofPhone typed: String) -> String? { try? self.spelling(of: typed, for: .phoneNumber) }

    /// Takes an address that a person gives on their own page. Until it is known to be theirs it is no value, as every further
    /// address. Throws `notFound`.
    ///
    /// Cost: three queries, one store step; one more query where that finds the address, or enough of them.
    public func giveEmail(_ address: String, accountID: String) async throws -> GivenEmail {
        guard let address = try? self.spelling(of: address, for: .email) else { return .invalid }
        func isSame(_ other: String) -> Bool { other.asciiLowercased.hasSameBytes(as: address.asciiLowercased) }
        guard let account = try await self.store.account(id: accountID) else { throw AccountError(.notFound) }
        let values = try await self.store.personalValues(accountID: accountID).filter { $0.attribute == .email }
        let own = values.first { isSame($0.value) }
        if own?.isVerified == true { return .known }
        guard own != nil || values.count < self.limits.valuesPerAttribute else { return .tooManyValues }
        if let first = account.email, isSame(first.address) {
            guard first.isVerified else { return self.sendsMail ? .unconfirmed(further: nil) : .unconfirmable }
            return try await self.keepVerified(first.address, in: own, beside: values.count, accountID: accountID)
        }
        let further = try await self.store.additionalEmails(accountID: accountID).first { isSame($0.address) }
        if let further, further.isVerified {
            return try await self.keepVerified(further.address, in: own, beside: values.count, accountID: accountID)
        }
        guard self.sendsMail else { return .unconfirmable }
        if let further { return .unconfirmed(further: further.id) }
        let email = AdditionalEmail(id: self.random.identifier(), address: address, createdAt: self.time.now())
        let audit = self.event(.additionalEmailAdded, email.id, account: accountID, by: nil)
        do {
            let isThere = try await self.store.addEmail(
                email, accountID: accountID, limit: self.limits.emailsPerAccount, audit: audit)
            guard isThere else { throw AccountError(.notFound) }
        } catch let error as StoreError where error.code == .conflict {
            // Another request of the same person's may have added it meanwhile.
            let added = try await self.store.additionalEmails(accountID: accountID).first { isSame($0.address) }
            guard let added else { return .tooManyAddresses }
            return added.isVerified ? .known : .unconfirmed(further: added.id)
        }
        return .unconfirmed(further: email.id)
    }

    /// Makes an address that is known to be the person's a value, or says so of the value that is there.
    private func keepVerified(
        _ address: String, in own: PersonalValueRecord?, beside count: Int, accountID: String
    ) async throws -> GivenEmail {
        guard let own else {
            return try await self.keep(address, of: .email, beside: count, isVerified: true, accountID: accountID)
                ? .added : .tooManyValues
        }
        _ = try await self.store.changePersonalValue(
            own.id, accountID: accountID, to: PersonalValueChange(isVerified: true),
            audit: self.event(.personalValueChanged, own.id, account: accountID, by: nil))
        return .added
    }

    /// Takes a phone number that a person gives on their own page. Nobody calls it: services are told that it is not verified.
    /// Throws `notFound`.
    ///
    /// Cost: one query, one store step.
    public func givePhone(_ number: String, accountID: String) async throws -> GivenPhone {
        guard let number = try? self.spelling(of: number, for: .phoneNumber) else { return .invalid }
        let values = try await self.store.personalValues(accountID: accountID).filter { $0.attribute == .phoneNumber }
        guard !values.contains(where: { $0.value.hasSameBytes(as: number) }) else { return .known }
        return try await self.keep(
            number, of: .phoneNumber, beside: values.count, isVerified: false, accountID: accountID)
            ? .added : .tooManyValues
    }

    /// Adds a value of a person's own; `false` where there are as many as can be.
    private func keep(
        _ value: String, of attribute: PersonalAttribute, beside count: Int, isVerified: Bool, accountID: String
    ) async throws -> Bool {
        let record = PersonalValueRecord(
            id: self.random.identifier(), attribute: attribute,
            alias: count == 0 ? attribute.rawValue : "\(attribute.rawValue) \(count + 1)", value: value,
            isVerified: isVerified, source: .person, createdAt: self.time.now())
        let audit = self.event(
            .personalValueAdded, "\(attribute.rawValue) \(record.id)", account: accountID, by: nil)
        do {
            let isThere = try await self.store.addPersonalValue(
                record, accountID: accountID, limit: self.limits.valuesPerAttribute, audit: audit)
            guard isThere else { throw AccountError(.notFound) }
            return true
        } catch let error as StoreError where error.code == .conflict {
            return false
        }
    }

    /// Calls a value of a person's own otherwise; `false` where the account has no such value. Throws `invalidRequest` for an
    /// alias that cannot be shown.
    public func renameOwnValue(_ id: String, to alias: String, accountID: String) async throws -> Bool {
        try Self.check(alias: alias)
        return try await self.store.changePersonalValue(
            id, accountID: accountID, to: PersonalValueChange(alias: alias),
            audit: self.event(.personalValueChanged, id, account: accountID, by: nil))
    }

    /// Deletes a value of a person's own; `false` where the account has no such value. Services that got it ask again.
    public func removeOwnValue(_ id: String, accountID: String) async throws -> Bool {
        try await self.store.removePersonalValue(
            id, accountID: accountID, audit: self.event(.personalValueRemoved, id, account: accountID, by: nil))
    }

    /// Deletes a further address of a person's own; `false` where the account has no such address.
    public func removeOwnEmail(_ id: String, accountID: String) async throws -> Bool {
        try await self.store.removeEmail(
            id, accountID: accountID, audit: self.event(.additionalEmailRemoved, id, account: accountID, by: nil))
    }

    /// A value of an account's own, by its identifier, and the names of the services that get it; `nil` where there is none.
    ///
    /// Cost: two queries, and two for each service that the account has to do with.
    public func ownValue(_ id: String, accountID: String) async throws -> (alias: PersonalAlias, services: [String])? {
        let aliases = try await self.store.personalAliases(
            accountID: accountID, attributes: Set(PersonalAttribute.allCases))
        guard let alias = aliases.first(where: { $0.id.hasSameBytes(as: id) }) else { return nil }
        var services: [String] = []
        for service in try await self.store.services(ofAccount: accountID) {
            let chosen = try await self.store.attributeSelection(accountID: accountID, service: service)
            guard chosen[alias.attribute]?.hasSameBytes(as: id) == true else { continue }
            services.append(try await self.store.client(service)?.name ?? service)
        }
        return (alias, services.sorted())
    }

    /// A further address of an account's own; `nil` where there is none of that identifier. Cost: one query.
    public func ownEmail(_ id: String, accountID: String) async throws -> AdditionalEmail? {
        try await self.store.additionalEmails(accountID: accountID).first { $0.id.hasSameBytes(as: id) }
    }
}
