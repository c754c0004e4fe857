import Accounts
import Ceremony
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import Pages
import Records
import Texts
import _Primitives

/// The page on which a person sees what they have confirmed for services, and saves their copies of the receipts
/// (decision 121).
///
/// A session alone is enough, as for the history: a copy proves what the person's device signed, and lets nobody act as
/// the person.
extension OwnIdentityRoutes {
    /// The endpoints of the page.
    var receiptEndpoints: [Endpoint] {
        [
            self.page(
                IdentityPaths.receipts, "ownReceipts", "What a person has confirmed for services.", self.showReceipts),
            Endpoint(
                method: .get, path: IdentityPaths.receiptCopy, id: "ownReceiptCopy",
                summary: "A person's copy of a receipt, to be saved as a file.", effect: .none,
                query: [.required("session", "The session in which the person confirmed.")],
                answers: [
                    .init(
                        status: 200, meaning: "The copy.", type: "application/json",
                        members: [
                            .required("receipt", "Signed."),
                            .required("evidence", .objects([.required("aaid", "The model.")]), "Its openings."),
                        ])
                ], refusals: .pages, refusing: [Self.nobodyMeaning, (404, "The person has no such receipt.")],
                handler: self.answers.page(self.saveReceipt)),
        ]
    }

    @Sendable private func showReceipts(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        let entries = try await self.receipts.receipts(accountID: visitor.accountID).map { receipt in
            let content = try receipt.content()
            return ReceiptsPage.Entry(
                session: receipt.session, service: content.service, origin: content.origin.map(DisplayText.origin),
                contentType: content.contentType, contentHash: content.contentHash, moment: content.at.description,
                shownMoment: content.at.shownMinute)
        }
        return .page(self.answers.pages.html(ReceiptsPage(entries: entries)))
    }

    @Sendable private func saveReceipt(_ request: Request, _ context: ServerContext) async throws -> Response {
        let session = try SignInAddress.parameter("session", of: request.uri.query ?? "")
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        let receipts = try await self.receipts.receipts(accountID: visitor.accountID)
        guard let receipt = receipts.first(where: { $0.session.hasSameBytes(as: session) }) else {
            return .page(
                self.answers.pages.html(ResultPage(.refused, .noReceipt, target: IdentityPaths.receipts)),
                status: .notFound)
        }
        // The session's identifier is of the server's own letters, so the name of the file needs no escape.
        return .json(
            receipt.copy, headers: [.contentDisposition: "attachment; filename=\"receipt-\(receipt.session).json\""])
    }
}
