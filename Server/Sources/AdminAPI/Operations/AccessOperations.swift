import Accounts
import Endpoints
import HTTPTypes
import Hummingbird
import OAuthProvider
import Records
import _Primitives

/// The operations by which an operator sees and ends the sessions of people and the lasting grants of services.
struct AccessOperations: Sendable {
    let directory: AccountDirectory
    let provider: OpenIDProvider
    let grants: AccountGrants

    private static let service: [AdminOperation.Field] = [
        .required("name", "What it is called."), .required("origin", "Scheme, host and port."),
    ]

    private static let session: [AdminOperation.Field] = [
        .required("id", "By what it is ended; it opens nothing."),
        .required("services", .objects(Self.service), "Those that it was signed in to, the last one first."),
        .optional("browser", "The browser and its system, as at the sign-in."),
        .optional("address", "The browser's network address, as at the sign-in."),
        .required("authenticatedAt", "When the person authenticated, RFC 3339."),
        .required("usedAt", "When it last signed the person in somewhere, RFC 3339."),
        .required("expiresAt", "Its end, RFC 3339."),
    ]

    private static let grant: [AdminOperation.Field] = [
        .required("kind", "grant, or device-secret: other apps of the device sign in by it, until the session ends."),
        .required("id", "By what it is ended; it opens nothing."),
        .required("client", "Whose it is, by the client id."),
        .required("service", "What the client is called."), .required("scopes", .strings, "What was granted."),
        .required("since", "When it was given, RFC 3339."),
        .optional("usedAt", "When the client last renewed its tokens by it, or an app signed in by it, RFC 3339."),
        .required("expiresAt", "When it ends, if it is not used, RFC 3339."),
    ]

    private static let noAccount = [(status: 404, meaning: "There is no such account.")]
    private static let noSession = [(status: 404, meaning: "The account has no such session.")]
    private static let noGrant = [(status: 404, meaning: "The account has no such grant.")]

    private static let ended: [AdminOperation.Field] = [.required("ended", .integer, "How many there were.")]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: "/accounts/{username}/sessions", id: "listSessions",
                summary: "List the browsers that a person is signed in with.",
                answer: [.required("sessions", .objects(Self.session), "The one used last first.")],
                refusals: Self.noAccount, handler: self.sessions),
            AdminOperation(
                method: .delete, path: "/accounts/{username}/sessions", id: "endSessions",
                summary: "Sign a person out of every browser; all that was granted in them ends.", answer: Self.ended,
                refusals: Self.noAccount, handler: self.endSessions),
            AdminOperation(
                method: .delete, path: "/accounts/{username}/sessions/{id}", id: "endSession",
                summary: "Sign a person out of a browser; all that was granted in it ends.", status: .noContent,
                refusals: Self.noSession, handler: self.endSession),
            AdminOperation(
                method: .get, path: "/accounts/{username}/grants", id: "listGrants",
                summary: "List what services have of a person that goes on without a browser (offline_access).",
                answer: [.required("grants", .objects(Self.grant), "The newest first.")],
                refusals: Self.noAccount, handler: self.lastingGrants),
            AdminOperation(
                method: .delete, path: "/accounts/{username}/grants", id: "endGrants",
                summary: "Take back what a service has of a person, or what all have.",
                query: [.optional("client", "The service, by its client id. Without it: all of them.")],
                answer: Self.ended, refusals: Self.noAccount + [(400, "The query names something else.")],
                handler: self.endGrants),
            AdminOperation(
                method: .delete, path: "/accounts/{username}/grants/{id}", id: "endGrant",
                summary: "Take back one of the things that services have of a person.", status: .noContent,
                refusals: Self.noGrant, handler: self.endGrant),
        ]
    }

    private func account(_ call: AdminOperation.Call) async throws -> AccountRecord {
        try await self.directory.account(written: call.parameters["username"] ?? "")
    }

    @Sendable private func sessions(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.account(call)
        return [
            "sessions": .array(
                try await self.provider.sessions.running(ofAccount: account.id).map { .object($0.json) })
        ]
    }

    @Sendable private func endSession(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.account(call)
        let id = call.parameters["id"] ?? ""
        guard try await self.provider.sessions.end(id, ofAccount: account.id, by: call.actor) else {
            throw AccountError(.notFound)
        }
        return [:]
    }

    @Sendable private func endSessions(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.account(call)
        let count = try await self.provider.sessions.endAll(ofAccount: account.id, by: call.actor)
        return ["ended": .integer(Int64(count))]
    }

    @Sendable private func lastingGrants(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.account(call)
        return ["grants": .array(try await self.grants.lasting(ofAccount: account.id).map { .object($0.json) })]
    }

    @Sendable private func endGrants(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.account(call)
        let selection = try GrantSelection(query: call.query)
        let count = try await self.grants.end(selection, ofAccount: account.id, by: call.actor)
        return ["ended": .integer(Int64(count))]
    }

    @Sendable private func endGrant(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.account(call)
        let id = call.parameters["id"] ?? ""
        guard try await self.grants.end(.grant(id), ofAccount: account.id, by: call.actor) > 0 else {
            throw AccountError(.notFound)
        }
        return [:]
    }
}
