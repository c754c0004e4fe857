import PersonalInformation
public import Records
import _Primitives

/// The personalised identity of an account, as its own person sees the identity, with the values.
public struct IdentityOverview: Sendable {
    /// A service that the person has to do with.
    public struct Service: Sendable, Equatable {
        /// The identifier of the service's client.
        public let id: String
        /// The name of the service.
        public let name: String
        /// The names of the roles that the person has at the service, in the service's order.
        public let roles: [String]
        /// The person's choice of a value for each attribute, by the person's names for the values.
        public let choices: [(attribute: String, alias: String)]

        public static func == (lhs: Self, rhs: Self) -> Bool {
            lhs.id.hasSameBytes(as: rhs.id) && lhs.name.hasSameBytes(as: rhs.name) && lhs.roles == rhs.roles
                && lhs.choices.elementsEqual(rhs.choices) { $0 == $1 }
        }
    }

    /// A session with a result, in the names that people know.
    public struct Session: Sendable, Equatable {
        /// The record of the session.
        public let record: IdentityHistoryRecord
        /// The name of the service; `nil` for an action on the account itself.
        public let service: String?
        /// The present name of the role at the service, or else the role's identifier.
        public let role: String?
    }

    /// The name of the account.
    public let name: String
    /// The names of the account's organisations.
    public let organisations: [String]
    /// The services that the account has to do with, ordered by name.
    public let services: [Service]
    /// All values of the account.
    public let values: [PersonalValueRecord]
    /// The account's additional addresses.
    public let emails: [AdditionalEmail]
}

/// A part of an account's history.
public struct IdentityHistoryPart: Sendable, Equatable {
    /// The sessions, the newest first.
    public let entries: [IdentityHistoryEntry]
    /// The number before which older sessions exist; `nil` if these are the oldest.
    public let older: Int64?
}

extension OwnIdentities {
    /// Returns the overview of an account; `nil` if there is no such account, or the account is locked.
    ///
    /// Cost: six queries, and three for each service that the account has to do with.
    public func overview(accountID: String) async throws -> IdentityOverview? {
        guard let account = try await self.store.account(id: accountID), !account.isLocked else { return nil }
        let values = try await self.store.personalValues(accountID: accountID)
        let known = try await self.store.services(ofAccount: accountID)
        let visited = try await self.store.visitedServices(accountID: accountID)
        var services: [IdentityOverview.Service] = []
        for id in Set(known + visited).sorted() {
            guard let standing = try await self.store.standing(accountID: accountID, service: id),
                let client = try await self.store.client(id)
            else { continue }
            let chosen = try await self.store.attributeSelection(accountID: accountID, service: id)
            let choices = PersonalAttribute.allCases.compactMap { attribute in
                values.first { value in chosen[attribute].map { $0.hasSameBytes(as: value.id) } ?? false }
                    .map { (attribute: attribute.rawValue, alias: $0.alias) }
            }
            services.append(
                IdentityOverview.Service(
                    id: id, name: client.name, roles: standing.roles.map(\.name), choices: choices))
        }
        return IdentityOverview(
            name: account.shownName,
            organisations: try await self.store.organisations(accountID: accountID).map(\.name),
            services: services.sorted { $0.name < $1.name }, values: values,
            emails: try await self.store.additionalEmails(accountID: accountID))
    }

    /// Returns a page of an account's sessions before a number, the newest first, with the names that people know.
    /// `older` is the number before which older sessions exist.
    ///
    /// Cost: one query, and two for each service on the page.
    public func namedHistory(accountID: String, before number: Int64? = nil) async throws -> (
        sessions: [IdentityOverview.Session], older: Int64?
    ) {
        let part = try await self.directory.history(accountID: accountID, before: number)
        let records = part.entries.map(\.record)
        var names: [ExactText: (name: String, profile: ServiceProfile?)] = [:]
        for id in Set(records.compactMap(\.service)) {
            names[ExactText(id)] = (
                try await self.store.client(id)?.name ?? id, try await self.store.serviceProfile(id)
            )
        }
        let sessions = records.map { record in
            let service = record.service.flatMap { names[ExactText($0)] }
            return IdentityOverview.Session(
                record: record, service: service?.name,
                role: record.role.map { service?.profile?.role($0)?.name ?? $0 })
        }
        return (sessions, part.older)
    }
}
