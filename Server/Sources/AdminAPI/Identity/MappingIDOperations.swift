import Accounts
import Endpoints
import HTTPTypes
import Records
import _Primitives

/// The operations for subjects: the names by which clients know people, and the accounts behind the names.
struct MappingIDOperations: Sendable {
    let mappingIDs: MappingIDs

    private static let entry: [AdminOperation.Field] = [
        .required("clientId", "The client."), .required("subject", "What the client calls the person: `sub`."),
        .required("username", "What operators call the account."), .required("accountId", "Its identifier."),
        .required("told", .boolean, "Whether the client was ever told the name."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: "/accounts/{username}/subjects", id: "listSubjects",
                summary: "List what clients were told to call a person. The audit trail says who has asked.",
                query: [.optional("after", "The clientId that the page before ended with.")],
                answer: [.required("subjects", .objects(Self.entry), "A page of them, by their clients' identifiers.")],
                refusals: [(400, "The query is not encoded."), (404, "There is no such account.")], handler: self.list),
            AdminOperation(
                method: .get, path: "/accounts/{username}/subjects/{id}", id: "showSubject",
                summary: "Show what a client calls a person. The audit trail says who has asked.",
                answer: Self.entry, refusals: [(404, "There is no such account or client.")], handler: self.subject),
            AdminOperation(
                method: .get, path: "/clients/{id}/subjects/{subject}", id: "findSubject",
                summary: "Find the person whom a client means by a name. The audit trail says who has asked.",
                answer: Self.entry, refusals: [(404, "The client was never told that name, or the account is gone.")],
                handler: self.account),
        ]
    }

    private static func json(_ entry: MappingIDs.Entry) -> JSONObject {
        [
            "clientId": .string(entry.client), "subject": .string(entry.subject),
            "username": .string(entry.account.reference.text), "accountId": .string(entry.account.id),
            "told": .bool(entry.isTold),
        ]
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        let entries = try await self.mappingIDs.entries(
            of: call.account, after: try call.parameter("after"), by: call.actor)
        return ["subjects": .array(entries.map { .object(Self.json($0)) })]
    }

    @Sendable private func subject(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.json(try await self.mappingIDs.entry(of: call.account, at: call.id, by: call.actor))
    }

    @Sendable private func account(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.json(
            try await self.mappingIDs.entry(
                ofSubject: call.parameters["subject"] ?? "", at: call.id, by: call.actor))
    }
}
