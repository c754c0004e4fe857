import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import Records
import _Primitives

/// The operations for the look of invented accounts. The server invents an account for a name that nobody has.
struct InventedAccountOperations: Sendable {
    let inventedAccounts: InventedAccounts
    let proposalAccounts: Int

    private static let path = "/invented-accounts"

    private static let document: [AdminOperation.Field] = [
        .required(
            "devices",
            .objects([
                .required("count", .integer, "Devices of an account, 1 to 3."),
                .required("weight", .integer, "How many sixteenths of the accounts have so many."),
            ]), "Weights that add up to 16."),
        .required(
            "sets",
            .objects([
                .required("weight", .integer, "How many sixteenths of the devices have these keys."),
                .required(
                    "keys",
                    .objects([
                        .required("aaid", "The model."),
                        .required("keyIdLength", .integer, "Bytes of its keys' names, 32 to 2048."),
                    ]), "The keys that a device has together, one of a model."),
            ]), "Weights that add up to 16."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: Self.path, id: "showInventedAccounts",
                summary: "Show what invented accounts look like.", answer: Self.document,
                handler: { _ in try await self.inventedAccounts.keyDistribution().json }),
            AdminOperation(
                method: .put, path: Self.path, id: "setInventedAccounts",
                summary:
                    "Set what invented accounts look like. Whoever asked by a name before sees whether it changed.",
                body: Self.document, answer: Self.document,
                refusals: [(422, "The document cannot be used; the detail says why.")], handler: self.set),
            AdminOperation(
                method: .delete, path: Self.path, id: "resetInventedAccounts",
                summary: "Go by what the program brings.", status: .noContent,
                handler: { call in
                    try await self.inventedAccounts.setKeyDistribution(nil, by: call.actor)
                    return [:]
                }),
            AdminOperation(
                method: .get, path: Self.path + "/proposal", id: "proposeInventedAccounts",
                summary: "Compute a document from the accounts that there are, and set nothing. Reads every key.",
                answer: Self.document, refusals: [(409, "Too few accounts have the same keys.")],
                handler: self.propose),
        ]
    }

    @Sendable private func set(_ call: AdminOperation.Call) async throws -> JSONObject {
        do {
            let distribution = try KeyDistribution(json: call.body)
            try await self.inventedAccounts.setKeyDistribution(distribution, by: call.actor)
            return distribution.json
        } catch let error as CeremonyError where error.code == .invalidRequest {
            throw Problem(.unprocessableContent, "unusable-document", "Nothing was changed: \(error.reason).")
        }
    }

    @Sendable private func propose(_ call: AdminOperation.Call) async throws -> JSONObject {
        guard let proposal = try await self.inventedAccounts.proposedKeyDistribution() else {
            throw Problem(
                .conflict, "too-few-accounts",
                "No keys are those of \(self.proposalAccounts) accounts; a document made of "
                    + "fewer would tell of them.")
        }
        return proposal.json
    }
}
