import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import Records
import _Primitives

/// The operations for the audit trail.
struct AuditOperations: Sendable {
    let trail: any AuditStore
    let pageSize: Int

    private static let entry: [AdminOperation.Field] = [
        .required("number", .integer, "From 1, without gaps."), .required("at", "RFC 3339."),
        .required("kind", "What happened."), .optional("account", "Whom it is about, by identifier."),
        .optional("ceremony", "In which sign-in, transaction or enrolment."),
        .optional("actor", "Who did it; left out for the person's own device."),
        .optional("detail", "A code that says more."),
        .optional("address", "The network address of the browser that was signed in."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: "/audit", id: "listAudit", summary: "Read the audit trail, a page at a time.",
                query: [.optional("after", "The last number of the page before.")],
                answer: [.required("entries", .objects(Self.entry), "At most a page, the oldest first.")],
                refusals: [(400, "after is not a number.")], handler: self.list),
            AdminOperation(
                method: .get, path: "/audit/verification", id: "verifyAudit",
                summary: "Check every entry of the audit trail against the one before.",
                answer: [
                    .required("intact", .boolean, "Whether every entry follows from the one before."),
                    .optional("entries", .integer, "How many there are, where it is intact."),
                    .optional("brokenAt", .integer, "The first entry that does not follow, where it is not."),
                ],
                handler: self.verify),
        ]
    }

    private static func json(_ entry: AuditEntry) -> JSON {
        var object: JSONObject = [
            "number": .integer(entry.number), "at": .string(entry.event.at.description),
            "kind": .string(entry.event.kind.rawValue),
        ]
        object["account"] = entry.event.accountID.map(JSON.string)
        object["ceremony"] = entry.event.ceremonyID.map(JSON.string)
        object["actor"] = entry.event.actor.map(JSON.string)
        object["detail"] = entry.event.detail.map(JSON.string)
        object["address"] = entry.event.address.map(JSON.string)
        return .object(object)
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        guard let query = try? Parameters(parsing: call.query ?? ""), let after = Int64(query["after"] ?? "0"),
            after >= 0
        else { throw Problem(.badRequest, "invalid-request", "after is not a number.") }
        return ["entries": .array(try await self.trail.auditEntries(after: after, limit: self.pageSize).map(Self.json))]
    }

    @Sendable private func verify(_ call: AdminOperation.Call) async throws -> JSONObject {
        switch try await self.trail.verifyAudit() {
        case .intact(let entries): ["intact": .bool(true), "entries": .integer(entries)]
        case .broken(let number): ["intact": .bool(false), "brokenAt": .integer(number)]
        }
    }
}
