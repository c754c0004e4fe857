import Accounts
import Ceremony
import CeremonyEngine
import Endpoints
import HTTPTypes
import Records
import _Primitives

/// The operations by which an operator sees the running sessions of personalised identities, and gives a session up for
/// a person.
struct IdentitySessionOperations: Sendable {
    let sessions: SessionListings
    let directory: AccountDirectory

    private static let path = "/accounts/{username}/identity-sessions/{id}"
    private static let notFound = [
        (status: 404, meaning: "There is no such account, or it has no session of that identifier (any more).")
    ]

    private static let session: [AdminOperation.Field] = [
        .required("id", "The session, which the trail has as the ceremony."), .required("purpose", "What it is for."),
        .required(
            "state",
            "How far it is: started, correcting, prepared, lockedTemporarily, granted, codeIssued, or how it ended."),
        .required("ended", .boolean, "Whether nothing more happens in it."),
        .required("activation", "The personalised app that takes part."),
        .optional("service", "The client that asks; missing for what the account does with itself."),
        .optional("role", "The role in which the person comes, once that is fixed."),
        .required("createdAt", "RFC 3339."),
        .required("nextRequestUntil", "Until when the app's next step has to come, RFC 3339."),
        .required("lastRequestBefore", "After which nothing prolongs it, RFC 3339."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: "/accounts/{username}/open-identity-sessions", id: "listOpenIdentitySessions",
                summary: "List the sessions of a person's personalised apps that go on.",
                answer: [.required("sessions", .objects(Self.session), "The newest first, a page at most.")],
                refusals: [(404, "There is no such account.")], handler: self.list),
            AdminOperation(
                method: .get, path: Self.path, id: "showIdentitySession",
                summary: "Show how far a session of a personalised app is. After its end it is kept for some minutes.",
                answer: Self.session, refusals: Self.notFound, handler: self.show),
            AdminOperation(
                method: .delete, path: Self.path, id: "abortIdentitySession",
                summary:
                    "Give a session up in the place of its app. One that was given up before is answered in the same way.",
                answer: Self.session,
                refusals: Self.notFound + [
                    (
                        409,
                        "It has come to another end already, which is named, or its PIN is being judged at this moment."
                    )
                ],
                handler: self.abort),
        ]
    }

    private static func json(_ session: ListedIdentitySession) -> JSONObject {
        var object: JSONObject = [
            "id": .string(session.id), "purpose": .string(session.purpose), "state": .string(session.state),
            "ended": .bool(session.isEnded), "activation": .string(session.activation),
            "createdAt": .string(session.createdAt.description),
            "nextRequestUntil": .string(session.nextRequestUntil.description),
            "lastRequestBefore": .string(session.lastRequestBefore.description),
        ]
        object["service"] = session.service.map(JSON.string)
        object["role"] = session.role.map(JSON.string)
        return object
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.directory.account(written: call.account)
        let sessions = try await self.sessions.running(accountID: account.id)
        return ["sessions": .array(sessions.map { .object(Self.json($0)) })]
    }

    @Sendable private func show(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.directory.account(written: call.account)
        guard let session = try await self.sessions.session(call.id, accountID: account.id) else {
            throw AccountError(.notFound)
        }
        return Self.json(session)
    }

    @Sendable private func abort(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.directory.account(written: call.account)
        switch try await self.sessions.abort(call.id, accountID: account.id, by: call.actor) {
        case .aborted(let session)?: return Self.json(session)
        case .ended(let session)?:
            throw Problem(.conflict, "session-ended", "The session has ended already: \(session.state).")
        case .judging?:
            throw Problem(
                .conflict, "attempt-judged",
                "The PIN is being judged, and the person would be left with a failed attempt. Try again when it is over, in a few minutes."
            )
        case nil: throw AccountError(.notFound)
        }
    }
}
