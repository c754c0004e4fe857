import Accounts
import Endpoints
import HTTPTypes
import OAuthProvider
import Records
import _Primitives

/// The operations for the consents that people have given to services.
struct ConsentOperations: Sendable {
    let directory: AccountDirectory
    let provider: OpenIDProvider

    private static let consent: [AdminOperation.Field] = [
        .required("id", "The consent."), .required("clientId", "The service."), .required("name", "Its name."),
        .required("items", .strings, "What it gets."), .required("grantedAt", "RFC 3339."),
    ]

    private static let noAccount = (status: 404, meaning: "There is no such account.")

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: "/accounts/{username}/consents", id: "listConsents",
                summary: "List what a person has let services have.",
                answer: [.required("consents", .objects(Self.consent), "The one given last first.")],
                refusals: [Self.noAccount], handler: self.list),
            AdminOperation(
                method: .delete, path: "/accounts/{username}/consents/{id}", id: "revokeConsent",
                summary: "Take back what a person has let a service have; what it was given for that ends at once.",
                status: .noContent, refusals: [(404, "There is no such account or consent.")], handler: self.revoke),
        ]
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.directory.account(written: call.parameters["username"] ?? "")
        let given = try await self.provider.authorizations.consents.given(byAccount: account.id)
        return ["consents": .array(given.map { .object($0.json) })]
    }

    @Sendable private func revoke(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.directory.account(written: call.parameters["username"] ?? "")
        let id = call.parameters["id"] ?? ""
        guard try await self.provider.authorizations.consents.end(id, ofAccount: account.id, by: call.actor) else {
            throw Problem(.notFound, Problem.Name.notFound, "The account has no such consent.")
        }
        return [:]
    }
}
