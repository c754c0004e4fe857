import Ceremony
public import PersonalInformation
public import Records
import Settings
import _Primitives

extension IdentityDirectory {
    /// A value that an operator enters for a person.
    public struct Entry: Sendable, Equatable {
        /// The name of the attribute.
        public var attribute: String
        /// The value.
        public var value: String
        /// The owner's name for the value; `nil` for the attribute's name, followed by a number if there are other
        /// values.
        public var alias: String?
        /// `true` if the operator vouches for the value.
        public var isVerified: Bool

        /// Creates a value.
        public init(attribute: String, value: String, alias: String? = nil, isVerified: Bool = false) {
            self.attribute = attribute
            self.value = value
            self.alias = alias
            self.isVerified = isVerified
        }
    }

    /// A person's choice of the value that a service gets for an attribute.
    public struct Choice: Sendable, Equatable {
        /// The service, by its client's identifier.
        public let service: String
        /// The attribute.
        public let attribute: PersonalAttribute
        /// The value, by its identifier.
        public let value: String
        /// The owner's name for the value.
        public let alias: String
    }

    /// The names of the attributes, for an operator.
    public static let attributeNames = PersonalAttribute.allCases.map(\.rawValue).joined(separator: ", ")

    /// Returns the values of an account, by attribute, the primary value first. Throws `notFound`.
    public func values(_ account: String) async throws -> [PersonalValueRecord] {
        try await self.store.personalValues(accountID: try await self.account(account).id)
    }

    /// Returns the aliases of an account's values, without opening a value. Throws `notFound`.
    public func aliases(_ account: String) async throws -> [PersonalAlias] {
        try await self.store.personalAliases(
            accountID: try await self.account(account).id, attributes: Set(PersonalAttribute.allCases))
    }

    /// Adds a value. Throws `notFound`, `invalidRequest` for an unknown attribute, an invalid value or an invalid
    /// alias, and `conflict` at the maximum number of values of an attribute.
    public func addValue(_ entry: Entry, to account: String, by operator: String) async throws -> PersonalAlias {
        guard let attribute = PersonalAttribute(exactly: entry.attribute) else {
            throw AccountError(
                .invalidRequest, "there is no attribute of that name; there are \(Self.attributeNames)")
        }
        let value = try self.spelling(of: entry.value, for: attribute)
        let id = try await self.account(account).id
        let others = try await self.store.personalAliases(accountID: id, attributes: [attribute])
        let alias = entry.alias ?? (others.isEmpty ? attribute.rawValue : "\(attribute.rawValue) \(others.count + 1)")
        try Self.check(alias: alias)
        let record = PersonalValueRecord(
            id: self.random.identifier(), attribute: attribute, alias: alias, value: value,
            isVerified: entry.isVerified, source: .administrator, createdAt: self.time.now())
        let audit = self.event(
            .personalValueAdded, "\(attribute.rawValue) \(record.id)", account: id, by: `operator`)
        let limit = self.limits.valuesPerAttribute
        let isThere = try await self.step(
            conflict: "There are \(limit) values of the attribute, as many as an account can have: remove one first."
        ) { try await self.store.addPersonalValue(record, accountID: id, limit: limit, audit: audit) }
        guard isThere else { throw AccountError(.notFound) }
        return try await self.alias(record.id, of: id)
    }

    /// Changes the alias of a value, its verification, or its place as the primary value. Throws `notFound`, and
    /// `invalidRequest` for an alias that cannot be shown.
    public func changeValue(
        _ value: String, of account: String, to change: PersonalValueChange, by operator: String
    ) async throws -> PersonalAlias {
        if let alias = change.alias { try Self.check(alias: alias) }
        let id = try await self.account(account).id
        let audit = self.event(.personalValueChanged, value, account: id, by: `operator`)
        guard try await self.store.changePersonalValue(value, accountID: id, to: change, audit: audit) else {
            throw AccountError(.notFound)
        }
        return try await self.alias(value, of: id)
    }

    /// Deletes a value. Throws `notFound`.
    public func removeValue(_ value: String, of account: String, by operator: String) async throws {
        let id = try await self.account(account).id
        let audit = self.event(.personalValueRemoved, value, account: id, by: `operator`)
        guard try await self.store.removePersonalValue(value, accountID: id, audit: audit) else {
            throw AccountError(.notFound)
        }
    }

    /// Returns the newest sessions of an account before a number, the newest first, at most a page. Throws `notFound`.
    public func history(_ account: String, before number: Int64? = nil, limit: Int? = nil) async throws
        -> IdentityHistoryPart
    {
        try await self.history(accountID: try await self.account(account).id, before: number, limit: limit)
    }

    func history(accountID: String, before number: Int64?, limit: Int? = nil) async throws -> IdentityHistoryPart {
        let most = min(limit ?? self.limits.pageSize, self.limits.pageSize)
        // A query for one more entry shows whether older entries exist.
        let entries = try await self.store.identityHistory(accountID: accountID, before: number, limit: most + 1)
        let shown = Array(entries.prefix(most))
        return IdentityHistoryPart(entries: shown, older: entries.count > most ? shown.last?.number : nil)
    }

    /// Returns a value of an account. Throws `notFound`.
    public func value(_ value: String, of account: String) async throws -> PersonalValueRecord {
        guard let found = try await self.values(account).first(where: { $0.id.hasSameBytes(as: value) }) else {
            throw AccountError(.notFound)
        }
        return found
    }

    /// Returns the alias of an account's value, without opening the value. Throws `notFound`.
    public func alias(ofValue value: String, of account: String) async throws -> PersonalAlias {
        try await self.alias(value, of: try await self.account(account).id)
    }

    private func alias(_ value: String, of account: String) async throws -> PersonalAlias {
        let aliases = try await self.store.personalAliases(
            accountID: account, attributes: Set(PersonalAttribute.allCases))
        guard let alias = aliases.first(where: { $0.id.hasSameBytes(as: value) }) else {
            throw AccountError(.notFound)
        }
        return alias
    }

    static func check(alias: String) throws {
        guard ShownName.isAccepted(alias) else {
            throw AccountError(
                .invalidRequest,
                "an alias is one line of 1 to \(Limits.Fixed.shownNameCharacters) characters that can be shown")
        }
    }

    /// Returns the canonical spelling of a value, as in the validators of services.
    func spelling(of value: String, for attribute: PersonalAttribute) throws -> String {
        guard let today = CalendarDay(self.time.now().description.prefix(Self.dayCharacters)) else {
            throw AccountError(.invalidRequest, "the server's clock says no day")
        }
        let rules = PersonalInformationRules(birthdate: BirthdateValidator(latest: today))
        guard let spelling = rules.validator(for: attribute).spelling(of: value) else {
            throw AccountError(.invalidRequest, "\(attribute.rawValue): \(Self.form(of: attribute))")
        }
        return spelling
    }

    /// The number of characters of `YYYY-MM-DD`.
    private static let dayCharacters = "YYYY-MM-DD".utf8.count

    /// Returns a description of an attribute's valid form, for an operator who has entered an invalid value.
    private static func form(of attribute: PersonalAttribute) -> String {
        switch attribute {
        case .birthdate: "a day that is not to come, as YYYY-MM-DD"
        case .address:
            "{\"street\":…,\"houseNumber\":…,\"postalCode\":…,\"city\":…,\"country\":…} without spaces between, its country as two letters"
        case .nationality: "a country as two letters, such as DE"
        case .gender: Gender.allCases.map(\.rawValue).joined(separator: ", ")
        case .email: "NAME@HOST in ASCII"
        case .phoneNumber: "a plus sign, the country's code and the number, such as +49 30 123456"
        case .username: "letters, digits and . _ - + @ without spaces"
        default: "one line that can be shown, of as many characters as its bounds allow"
        }
    }

    // MARK: Choices

    /// Returns the choices of an account, by service and attribute, without opening a value. Throws `notFound`.
    ///
    /// Cost: three queries, and one for each service that the account has to do with.
    public func choices(_ account: String) async throws -> [Choice] {
        let id = try await self.account(account).id
        let aliases = try await self.store.personalAliases(
            accountID: id, attributes: Set(PersonalAttribute.allCases))
        var choices: [Choice] = []
        for service in try await self.store.services(ofAccount: id) {
            let chosen = try await self.store.attributeSelection(accountID: id, service: service)
            choices += aliases.compactMap { alias in
                guard let value = chosen[alias.attribute], value.hasSameBytes(as: alias.id) else { return nil }
                return Choice(service: service, attribute: alias.attribute, value: value, alias: alias.text)
            }
        }
        return choices
    }

    /// Deletes an account's choices for a service. The service then asks the person again. Throws `notFound` for an
    /// unknown account, and without a choice.
    public func removeChoice(_ account: String, service: String, by operator: String) async throws {
        guard
            try await self.forgetChoice(
                accountID: try await self.account(account).id, service: service, by: `operator`)
        else { throw AccountError(.notFound) }
    }

    /// Deletes an account's choices for a service. The service then asks the person again. `false` without a choice.
    ///
    /// - Parameter operator: The name of the operator, for the trail; `nil` for the person.
    func forgetChoice(accountID: String, service: String, by operator: String?) async throws -> Bool {
        try await self.store.removeAttributeSelection(
            accountID: accountID, service: service,
            audit: self.event(.attributeChoiceRemoved, service, account: accountID, by: `operator`))
    }
}
