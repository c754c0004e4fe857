import PersonalInformation
public import Records
import Settings
import _Primitives

/// The personalised identities of people, as people see and change their own on their own pages.
public struct OwnIdentities: Sendable {
    /// The result of giving an address.
    public enum GivenEmail: Sendable, Equatable {
        /// The address is a verified value from now on: the address was known to be the person's before.
        case added
        /// The address becomes a value once the person has confirmed the address by a mailed link. `further` is the
        /// identifier of an additional address; `nil` for the first address.
        case unconfirmed(further: String?)
        /// An operator must verify the address, because no link can be mailed.
        case unconfirmable
        /// The address was a verified value before, or was verified meanwhile.
        case known
        /// The text is not an address.
        case invalid
        /// The attribute has the maximum number of values.
        case tooManyValues
        /// The account has the maximum number of additional addresses.
        case tooManyAddresses
    }

    /// The result of giving a number.
    public enum GivenPhone: Sendable, Equatable {
        /// The number is a value from now on, without verification.
        case added
        /// The number was a value before.
        case known
        /// The text is not a number.
        case invalid
        /// The attribute has the maximum number of values.
        case tooManyValues
    }

    let directory: IdentityDirectory

    /// Creates the identities of a directory.
    public init(_ directory: IdentityDirectory) { self.directory = directory }

    /// `true` if the server can send mail to people.
    public var sendsMail: Bool { self.directory.sendsMail }
    var store: any IdentityDirectory.Stores { self.directory.store }
    private var limits: Limits { self.directory.limits }
    private var random: RandomSource { self.directory.random }
    private var time: TimeSource { self.directory.time }

    // MARK: Values

    /// Returns an e-mail address in the spelling of values; `nil` for an invalid address.
    public func spelling(ofEmail typed: String) -> String? { try? self.directory.spelling(of: typed, for: .email) }

    /// Returns a phone number in the spelling of values; `nil` for an invalid number.
    public func spelling(ofPhone typed: String) -> String? {
        try? self.directory.spelling(of: typed, for: .phoneNumber)
    }

    /// Takes an address that a person gives on their own page. The address, like every additional address, is no value
    /// until it is known to be the person's. Mails nothing: for ``GivenEmail/unconfirmed(further:)`` the caller mails
    /// the link. Throws `notFound`.
    ///
    /// Cost: three queries, one store step; one more query if the step finds the address, or the maximum number of
    /// addresses.
    public func giveEmail(_ address: String, accountID: String) async throws -> GivenEmail {
        guard let address = try? self.directory.spelling(of: address, for: .email) else { return .invalid }
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
        let audit = self.directory.event(.additionalEmailAdded, email.id, account: accountID, by: nil)
        do {
            let isThere = try await self.store.addEmail(
                email, accountID: accountID, limit: self.limits.emailsPerAccount, audit: audit)
            guard isThere else { throw AccountError(.notFound) }
        } catch let error as StoreError where error.code == .conflict {
            // Another request of the same person may have added the address meanwhile.
            let added = try await self.store.additionalEmails(accountID: accountID).first { isSame($0.address) }
            guard let added else { return .tooManyAddresses }
            return added.isVerified ? .known : .unconfirmed(further: added.id)
        }
        return .unconfirmed(further: email.id)
    }

    /// Adds an address that is known to be the person's as a value, or marks the existing value as verified.
    private func keepVerified(
        _ address: String, in own: PersonalValueRecord?, beside count: Int, accountID: String
    ) async throws -> GivenEmail {
        if let own {
            let isThere = try await self.store.changePersonalValue(
                own.id, accountID: accountID, to: PersonalValueChange(isVerified: true),
                audit: self.directory.event(.personalValueChanged, own.id, account: accountID, by: nil))
            if isThere { return .added }
            // Another request of the same person has deleted the value meanwhile.
        }
        return try await self.keep(address, of: .email, beside: count, isVerified: true, accountID: accountID)
            ? .added : .tooManyValues
    }

    /// Takes a phone number that a person gives on their own page. The server does not call the number: services are
    /// told that the number is not verified. Throws `notFound`.
    ///
    /// Cost: one query, one store step.
    public func givePhone(_ number: String, accountID: String) async throws -> GivenPhone {
        guard let number = try? self.directory.spelling(of: number, for: .phoneNumber) else { return .invalid }
        let values = try await self.store.personalValues(accountID: accountID).filter { $0.attribute == .phoneNumber }
        guard !values.contains(where: { $0.value.hasSameBytes(as: number) }) else { return .known }
        return try await self.keep(
            number, of: .phoneNumber, beside: values.count, isVerified: false, accountID: accountID)
            ? .added : .tooManyValues
    }

    /// Adds a value of the person; `false` if the attribute has the maximum number of values.
    private func keep(
        _ value: String, of attribute: PersonalAttribute, beside count: Int, isVerified: Bool, accountID: String
    ) async throws -> Bool {
        let record = PersonalValueRecord(
            id: self.random.identifier(), attribute: attribute,
            alias: count == 0 ? attribute.rawValue : "\(attribute.rawValue) \(count + 1)", value: value,
            isVerified: isVerified, source: .person, createdAt: self.time.now())
        let audit = self.directory.event(
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

    /// Renames a value of the person; `false` if the account has no such value. Throws `invalidRequest` for an alias
    /// that cannot be shown.
    public func renameValue(_ id: String, to alias: String, accountID: String) async throws -> Bool {
        try IdentityDirectory.check(alias: alias)
        return try await self.store.changePersonalValue(
            id, accountID: accountID, to: PersonalValueChange(alias: alias),
            audit: self.directory.event(.personalValueChanged, id, account: accountID, by: nil))
    }

    /// Deletes a value of the person; `false` if the account has no such value. Services that got the value ask again.
    public func removeValue(_ id: String, accountID: String) async throws -> Bool {
        try await self.store.removePersonalValue(
            id, accountID: accountID,
            audit: self.directory.event(.personalValueRemoved, id, account: accountID, by: nil))
    }

    /// Deletes an additional address of the person; `false` if the account has no such address. Values of `email` with
    /// the address stay, but are no longer verified unless the address is also the verified first address.
    public func removeEmail(_ id: String, accountID: String) async throws -> Bool {
        try await self.store.removeEmail(
            id, accountID: accountID,
            audit: self.directory.event(.additionalEmailRemoved, id, account: accountID, by: nil))
    }

    /// Returns a value of an account by its identifier, and the names of the services that get the value; `nil` if
    /// there is none.
    ///
    /// Cost: two queries, and two for each service that the account has to do with.
    public func value(_ id: String, accountID: String) async throws -> (alias: PersonalAlias, services: [String])? {
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

    /// Returns an additional address of an account; `nil` if there is none of this identifier. Cost: one query.
    public func email(_ id: String, accountID: String) async throws -> AdditionalEmail? {
        try await self.store.additionalEmails(accountID: accountID).first { $0.id.hasSameBytes(as: id) }
    }
    // MARK: Choices

    /// Deletes a person's choices for a service. The service then asks the person again. `false` without a choice.
    public func forgetChoice(accountID: String, service: String) async throws -> Bool {
        try await self.directory.forgetChoice(accountID: accountID, service: service, by: nil)
    }
}
