import Foundation

/// Lets a person confirm a transfer on the phone, with two calls from the bank's back end.
struct Confirmations: Sendable {
    let calls: ProviderCalls

    /// A running confirmation, with the link and the code that the page shows while the bank waits for the phone.
    struct Pending: Sendable {
        let sessionID: String
        let link: String
        let qrCode: Data
    }

    /// The progress of a confirmation.
    enum Progress: Sendable, Equatable {
        case waiting
        case onPhone
        /// With the provider's signed statement, not yet verified.
        case confirmed(result: String)
        case denied
        case expired
        case failed
    }

    private struct Content: Decodable {
        let contentType: String
        let content: String
    }

    /// Sends the fields of an order to the phones of `subject`.
    ///
    /// The provider answers with the bytes that the phone will sign. The bytes must be the same as the bank makes of
    /// its own fields. A bank that accepted another text here would act on a text that no person was shown.
    func begin(subject: String, order: TransferOrder, run: TracedRun) async throws -> Pending {
        struct Context: Encodable {
            struct Payment: Encodable {
                let amount: String
                let currency: String
                let payee: String
                let iban: String
                let reference: String?
            }
            let subject: String
            let payment: Payment
        }
        struct Dispatch: Encodable {
            struct Operation: Encodable {
                let op = "Auth"
                let context: String
            }
            let dispatcher = "link-png-qr-code"
            let getUafRequest: Operation
        }
        struct Answer: Decodable {
            let sessionId: String?
            let dispatchResult: String
            let link: String?
            let qrCodeSvg: String?
            let transaction: [Content]?
        }
        let payment = Context.Payment(
            amount: order.amount.decimal, currency: "EUR", payee: order.payee, iban: order.iban,
            reference: order.reference.isEmpty ? nil : order.reference)
        let context = try JSONEncoder().encode(Context(subject: subject, payment: payment))
        let answer = try await self.calls.post(
            "\(self.calls.issuer)/token/dispatch/authentication",
            json: Dispatch(getUafRequest: .init(context: String(decoding: context, as: UTF8.self))),
            run: run
        ).decoded(as: Answer.self)
        guard answer.dispatchResult == "dispatched", let session = answer.sessionId, let link = answer.link,
            let picture = answer.qrCodeSvg
        else { throw ProviderError.refused("the confirmation was not sent: \(answer.dispatchResult)") }
        let own = Base64.encodeURL(Data(order.text.utf8))
        guard let shown = answer.transaction, shown.count == 1, shown[0].contentType == "text/plain",
            shown[0].content.isSame(as: own)
        else {
            throw ProviderError.refused("the provider would show another text")
        }
        return Pending(sessionID: session, link: link, qrCode: Data(picture.utf8))
    }

    private struct Status: Decodable {
        struct TokenInformation: Decodable { let tokenResult: String }
        /// The phases of a confirmation, as the provider names them, that the bank tells apart.
        enum Phase: String { case tokenCreated, clientAuthenticating, succeeded, failed }
        /// The results of a confirmation's token that the bank tells apart.
        enum TokenResult: String { case tokenTimedOut }
        let status: String
        let clientErrorCode: Int?
        let tokenInformation: TokenInformation?
        let result: String?

        /// The progress that the status stands for. A client error of 3 says that the person denied or gave up.
        var progress: Progress {
            let tokenResult = self.tokenInformation.flatMap { TokenResult(rawValue: $0.tokenResult) }
            return switch Phase(rawValue: self.status) {
            case .tokenCreated: .waiting
            case .clientAuthenticating: .onPhone
            case .succeeded: self.result.map { .confirmed(result: $0) } ?? .failed
            case .failed where tokenResult == .tokenTimedOut: .expired
            case .failed where self.clientErrorCode == 3: .denied
            case .failed, nil: .failed
            }
        }
    }

    /// Returns the present progress of the confirmation.
    func progress(of sessionID: String, run: TracedRun) async throws -> Progress {
        try await self.calls.ask(
            "\(self.calls.issuer)/status", json: ["sessionId": sessionID], run: run
        ).decoded(as: Status.self).progress
    }

    /// Returns the progress each time that the progress changes, until the confirmation has ended.
    func changes(of sessionID: String) async throws -> AsyncThrowingStream<Progress, any Error> {
        let events = try await self.calls.events("\(self.calls.issuer)/status/\(Form.encode(sessionID))/events")
        return AsyncThrowingStream { continuation in
            let task = Task {
                do {
                    for try await data in events {
                        continuation.yield(try JSONDecoder().decode(Status.self, from: data).progress)
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}
