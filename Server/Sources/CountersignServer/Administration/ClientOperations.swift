import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Store
import _Primitives

/// The services that people sign in to.
struct ClientOperations: Sendable {
    let provider: OpenIDProvider

    private static let client: [AdminOperation.Field] = [
        .required("clientId", "What the service calls itself in requests."),
        .required("name", "What people see on their phones."),
        .required("redirectUris", .strings, "Where a sign-in may return to."),
        .required("postLogoutRedirectUris", .strings, "Where a sign-out may return to."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .post, path: "/clients", id: "addClient", summary: "Register a service.",
                body: [
                    .required("name", "1 to 128 characters."),
                    .required("redirectUris", .strings, "Absolute addresses, compared letter by letter."),
                    .optional("postLogoutRedirectUris", .strings, "Absolute addresses."),
                ],
                answer: Self.client + [.required("clientSecret", "Shown this once.")], status: .created,
                refusals: [(409, "There are as many services as one server takes.")], handler: self.add),
            AdminOperation(
                method: .get, path: "/clients", id: "listClients", summary: "List the services.",
                answer: [.required("clients", .objects(Self.client), "The oldest first.")],
                handler: self.list),
            AdminOperation(
                method: .delete, path: "/clients/{id}", id: "deleteClient",
                summary: "Delete a service; its tokens end at once.", status: .noContent,
                refusals: [(404, "There is no such client.")], handler: self.delete),
        ]
    }

    private static func json(_ client: ClientRecord) -> JSONObject {
        [
            "clientId": .string(client.id), "name": .string(client.name),
            "redirectUris": .array(client.redirectURIs.map(JSON.string)),
            "postLogoutRedirectUris": .array(client.postLogoutRedirectURIs.map(JSON.string)),
        ]
    }

    @Sendable private func add(_ call: AdminOperation.Call) async throws -> JSONObject {
        let redirects = try call.body.strings("redirectUris")
        guard let redirects else { throw JSONError(.missing, "redirectUris") }
        do {
            let registered = try await self.provider.registerClient(
                name: try call.body.requiredString("name"), redirectURIs: redirects,
                postLogoutRedirectURIs: try call.body.strings("postLogoutRedirectUris") ?? [], by: call.actor)
            var object = Self.json(registered.client)
            object["clientSecret"] = .string(registered.secret)
            return object
        } catch let error as OAuthError {
            throw Problem(.badRequest, "invalid-client-metadata", error.message)
        } catch let error as StoreError where error.code == .conflict {
            throw Problem(
                .conflict, "too-many-clients",
                "There are as many services as one server takes. Delete one that is not used any more.")
        }
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        ["clients": .array(try await self.provider.clients().map { .object(Self.json($0)) })]
    }

    @Sendable private func delete(_ call: AdminOperation.Call) async throws -> JSONObject {
        guard try await self.provider.deleteClient(call.parameters["id"] ?? "", by: call.actor) else {
            throw Problem(.notFound, "not-found", "There is no such client.")
        }
        return [:]
    }
}
