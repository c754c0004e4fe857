import PersonalInformation
public import Store
import _Primitives

/// What an account has of personalised identities, as its own person sees it: values, too.
public struct IdentityOverview: Sendable {
    /// A service that the person has to do with.
    public struct Service: Sendable, Equatable {
        /// Its client's identifier.
        public let id: String
        /// What the service is called.
        public let name: String
        /// As what the person can come, in the service's order.
        public let roles: [String]
        /// Which value of each attribute it gets, by what the person calls the values.
        public let choices: [(attribute: String, alias: String)]

        public static func == (lhs: Self, rhs: Self) -> Bool {
            lhs.id.hasSameBytes(as: rhs.id) && lhs.name.hasSameBytes(as: rhs.name) && lhs.roles == rhs.roles
                && lhs.choices.elementsEqual(rhs.choices) { $0 == $1 }
        }
    }

    /// A session that has come to something, with the words that people know.
    public struct Session: Sendable, Equatable {
        /// What it was and came to.
        public let record: IdentityHistoryRecord
        /// What the service is called; `nil` for what the account has done with itself.
        public let service: String?
        /// What the role is called there now, or was called by its identifier.
        public let role: String?
    }

    /// What the account is called.
    public let name: String
    /// The names of the organisations that it is a member of.
    public let organisations: [String]
    /// The services that it has to do with, by their names.
    public let services: [Service]
    /// What it has of the attributes that services ask for.
    public let values: [PersonalValueRecord]
    /// Its addresses beside the first one.
    public let emails: [AdditionalEmail]
}

/// Some of an account's history.
public struct IdentityHistoryPart: Sendable, Equatable {
    /// The sessions, the newest first.
    public let entries: [IdentityHistoryEntry]
    /// The number before which there are older ones; `nil` where these are the oldest.
    public let older: Int64?
}

extension IdentityDirectory {
    /// What an account has; `nil` where there is no such account, or it is locked.
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

    /// A page of an account's sessions before a number, the newest first, with the names that people know, and the number
    /// before which there are older ones.
    ///
    /// Cost: one query, and two for each service that is among them.
    public func namedHistory(accountID: String, before number: Int64? = nil) async throws -> (
        sessions: [IdentityOverview.Session], older: Int64?
    ) {
        let part = try await self.history(accountID: accountID, before: number)
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
