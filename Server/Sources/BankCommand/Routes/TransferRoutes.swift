import Foundation
import HTTPTypes
import Hummingbird
import Logging
import ServiceLifecycle

/// The routes for accounts and transfers. Only a person who is signed in can use these routes.
extension Bank {
    private struct TransferFields: Decodable {
        let amount: String
        let payee: String
        let iban: String
        let reference: String
    }

    func addTransferRoutes(to router: Router<BasicRequestContext>) {
        router.get("/accounts") { request, _ in
            let session = await self.session(request)
            guard let person = session.person else { return self.redirect("/") }
            let account = await self.ledger.account(of: person.subject)
            return self.page(
                AccountPages.accounts(name: person.name, formToken: session.formToken, account: account))
        }
        router.post("/transfers") { request, context in try await self.beginTransfer(request, context) }
        router.get("/transfers/:id") { request, context in
            let session = await self.session(request)
            guard let person = session.person else { return self.redirect("/") }
            guard let transfer = await self.ledger.transfer(try context.parameters.require("id"), of: person.subject)
            else { return self.unknownTransfer(context) }
            return await self.transferPage(transfer, person, session, context)
        }
        router.get("/transfers/:id/events") { request, context in
            guard let person = await self.session(request).person,
                let transfer = await self.ledger.transfer(try context.parameters.require("id"), of: person.subject)
            else { return self.unknownTransfer(context) }
            return self.events(transfer)
        }
    }

    private func unknownTransfer(_ context: BasicRequestContext) -> Response {
        self.problem(
            "No such transfer", "It is not yours, or it is long gone.", status: .notFound, context: context)
    }

    private func tooManyTransfers(_ context: BasicRequestContext) -> Response {
        self.problem(
            "Too many transfers wait for your phone",
            "Confirm or decline those first. What you leave alone ends by itself after a few minutes.",
            status: .tooManyRequests, context: context)
    }

    /// Sends an order to the phone. A place for the order has been taken.
    private func send(_ order: TransferOrder, of person: OpenIDClient.Person) async throws -> Transfer {
        let run = TracedRun()
        await self.record(.transferWanted, run)
        await self.record(.transactionDispatched, run)
        do {
            let pending = try await self.confirmations.begin(subject: person.subject, order: order, run: run)
            await self.record(.transactionCodeShown, run)
            let transfer = Transfer(
                id: Base64.random(16), subject: person.subject, order: order, pending: pending, run: run,
                created: Date())
            await self.ledger.add(transfer)
            return transfer
        } catch {
            await self.ledger.abandon(person.subject)
            throw error
        }
    }

    private func beginTransfer(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
        let session = await self.session(request)
        guard let person = session.person else { return self.redirect("/") }
        guard let fields = try await self.form(TransferFields.self, request, session) else {
            return self.forgedForm(context)
        }
        do {
            let order = try TransferOrder(
                amount: fields.amount, payee: fields.payee, iban: fields.iban, reference: fields.reference)
            guard await self.ledger.takePlace(for: person.subject) else { return self.tooManyTransfers(context) }
            let transfer = try await self.send(order, of: person)
            self.begun.yield(transfer)
            return self.redirect("/transfers/\(transfer.id)")
        } catch let problems as TransferOrder.Problems {
            let account = await self.ledger.account(of: person.subject)
            let typed = AccountPages.Typed(
                amount: fields.amount, payee: fields.payee, iban: fields.iban, reference: fields.reference)
            return self.page(
                AccountPages.accounts(
                    name: person.name, formToken: session.formToken, account: account, typed: typed,
                    problems: problems),
                status: .unprocessableContent)
        } catch {
            return self.failure(error, title: "The transfer was not sent", context: context)
        }
    }

    /// Returns the waiting page, the receipt or the refusal, by the present state of the transfer.
    private func transferPage(
        _ transfer: Transfer, _ person: OpenIDClient.Person, _ session: SessionTable.Session,
        _ context: BasicRequestContext
    ) async -> Response {
        let visitor = (name: person.name, formToken: session.formToken)
        do {
            var current = transfer
            if current.outcome == nil {
                switch try await self.settlement.settle(transfer) {
                case .open(let progress):
                    return self.page(TransferPages(visitor: visitor, transfer: transfer).waiting(progress))
                case .ended(let ended): current = ended
                }
            }
            let pages = TransferPages(visitor: visitor, transfer: current)
            switch current.outcome {
            case .booked(let date):
                if await self.ledger.isFirstReceipt(of: current.id) {
                    await self.record(.receiptShown, current.run)
                }
                return self.page(pages.receipt(bookedAt: date))
            case .refused(let refusal):
                let reference = LogReference()
                context.logger.notice(
                    "A transfer was not sent", metadata: ["reference": "\(reference)", "reason": "\(refusal)"])
                return self.page(pages.refused(refusal, reference: reference))
            case nil: return self.unknownTransfer(context)
            }
        } catch {
            return self.failure(error, title: "The transfer’s state is not known", context: context)
        }
    }

    /// Passes the provider's events on to the customer's page, as words.
    private func events(_ transfer: Transfer) -> Response {
        let body = ResponseBody { writer in
            let changes = try await self.confirmations.changes(of: transfer.pending.sessionID)
            do {
                for try await progress in changes.cancelOnGracefulShutdown() {
                    let words = TransferPages.words(progress)
                    let data = try JSONEncoder().encode(["state": words.state, "text": words.text])
                    let event = "event: state\ndata: \(String(decoding: data, as: UTF8.self))\n\n"
                    try await writer.write(ByteBuffer(string: event))
                }
            } catch is ProviderError {
                // The stream ends here; the browser opens a new stream by itself.
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: self.headers(type: "text/event-stream", cache: "no-store"), body: body)
    }
}
