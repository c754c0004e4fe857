public import PersonalInformation
import Records
import _Primitives

extension IdentityDirectory {
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
    public func forgetChoice(accountID: String, service: String, by operator: String? = nil) async throws -> Bool {
        try await self.store.removeAttributeSelection(
            accountID: accountID, service: service,
            audit: self.event(.attributeChoiceRemoved, service, account: accountID, by: `operator`))
    }
}
