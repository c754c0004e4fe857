import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import OAuthProvider
import Records
import _Primitives

/// The routes of receipts (decision 121): the keys for everybody, a session's receipt for the client that dispatched the
/// session, and a person's own copies for the person's phone.
struct ReceiptRoutes: Sendable {
    let receipts: Receipts
    let clients: ClientAuthorization
    let authorization: DeviceAuthorization

    private static let own = "/account/v1/receipts"

    /// The endpoints for everybody and for back ends.
    var serviceEndpoints: [Endpoint] {
        [
            Endpoint(
                method: .get, path: "/receipts/keys", id: "receiptKeys", summary: "What receipts are verified with.",
                effect: .none, caller: .anybody,
                answers: [
                    .init(
                        status: 200, meaning: "Every key that signs receipts or has signed some.",
                        type: "application/json",
                        members: [
                            .required("issuer", "Whose receipts."),
                            .required("keys", .objects(Self.key), "The newest first."),
                        ])
                ], handler: self.keys),
            Endpoint(
                method: .get, path: "/receipts/{session}", id: "receipt",
                summary: "The receipt of a confirmed transaction.", effect: .none, caller: .clientByHeader,
                answers: [
                    .init(
                        status: 200, meaning: "The receipt.", type: "application/json",
                        members: [.required("receipt", "Signed.")])
                ], refusing: [(404, "There is no such thing.")], handler: self.receipt),
        ]
    }

    private static let key: [DescribedField] = [
        .required("kid", "The name."), .required("signs_from", .integer, "From when, in seconds since 1970."),
        .optional("signs_until", .integer, "Until when."),
        .optional("seen_since", .integer, "Since when others may have it: its receipts need the audit trail."),
    ]

    /// The endpoints for a person's own phone.
    var phoneEndpoints: [Endpoint] {
        [
            Endpoint(
                method: .get, path: Self.own, id: "receipts", summary: "What the person has confirmed.", effect: .none,
                caller: .device,
                answers: [
                    .init(
                        status: 200, meaning: "Copies of receipts.", type: "application/json",
                        members: [
                            .required("username", "Whose."),
                            .required(
                                "receipts",
                                .objects([
                                    .required("receipt", "Signed."),
                                    .required("evidence", .objects([.required("aaid", "The model.")]), "Its openings."),
                                ]), "The newest first."),
                        ])
                ], refusing: [(403, "The account is locked."), Endpoint.tooMany], handler: self.ownReceipts)
        ]
    }

    @Sendable private func keys(_ request: Request, _ context: ServerContext) async throws -> Response {
        .json(try await self.receipts.keys())
    }

    @Sendable private func receipt(_ request: Request, _ context: ServerContext) async throws -> Response {
        let client = try await self.clients.client(of: request)
        context.notes.note(client: client.id)
        let session = try context.pathParameter("session")
        guard let receipt = try await self.receipts.receipt(ofSession: session, clientID: client.id) else {
            throw Problem(.notFound, "not-found", "There is no receipt of that session.")
        }
        return .json(["receipt": .string(receipt.receipt)])
    }

    @Sendable private func ownReceipts(_ request: Request, _ context: ServerContext) async throws -> Response {
        let account = try await self.authorization.caller(of: request, at: Self.own, context).account
        let receipts = try await self.receipts.receipts(accountID: account.id)
        return .json([
            "username": .string(account.reference.text), "receipts": .array(receipts.map { .object($0.copy) }),
        ])
    }
}
