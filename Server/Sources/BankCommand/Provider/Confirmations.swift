import Foundation

/// Having a text confirmed on a person's phone: two calls from the bank's back end.
struct Confirmations: Sendable {
    let calls: ProviderCalls

    /// A running confirmation: what the page shows while the phone is looked at.
    struct Pending: Sendable {
        let sessionID: String
        let link: String
        let qrCode: Data
    }

    /// How far a confirmation is.
    enum Progress: Sendable, Equatable {
        case waiting
        case onPhone
        /// With the provider's signed statement, not yet verified.
        case confirmed(result: String)
        case denied
        case expired
        case failed
    }

    private struct Content: Codable {
        let contentType: String
        let content: String
    }

    /// Sends `text` to the phones of `subject`.
    ///
    /// The provider answers with the bytes that will be signed. They must be the bank's own: a bank that would accept
    /// another text here would act on something that nobody was shown.
    func begin(subject: String, text: String, trace: TraceID) async throws -> Pending {
        struct Context: Encodable {
            let subject: String
            let transaction: [Content]
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
        let own = Content(contentType: "text/plain", content: Base64.encodeURL(Data(text.utf8)))
        let context = try JSONEncoder().encode(Context(subject: subject, transaction: [own]))
        let answer = try await self.calls.post(
            "\(self.calls.issuer)/token/dispatch/authentication",
            json: Dispatch(getUafRequest: .init(context: String(decoding: context, as: UTF8.self))),
            traceparent: trace.traceparent
        ).decoded(as: Answer.self)
        guard answer.dispatchResult == "dispatched", let session = answer.sessionId, let link = answer.link,
            let picture = answer.qrCodeSvg
        else { throw ProviderError.refused("the confirmation was not sent: \(answer.dispatchResult)") }
        guard answer.transaction?.count == 1, answer.transaction?.first?.content == own.content else {
            throw ProviderError.refused("the provider would show another text")
        }
        return Pending(sessionID: session, link: link, qrCode: Data(picture.utf8))
    }

    private struct Status: Decodable {
        struct TokenInformation: Decodable { let tokenResult: String }
        let status: String
        let clientErrorCode: Int?
        let tokenInformation: TokenInformation?
        let result: String?

        /// A client error of 3 says that the person denied or gave up.
        var progress: Progress {
            switch self.status {
            case "tokenCreated": .waiting
            case "clientAuthenticating": .onPhone
            case "succeeded": self.result.map { .confirmed(result: $0) } ?? .failed
            case "failed" where self.tokenInformation?.tokenResult == "tokenTimedOut": .expired
            case "failed" where self.clientErrorCode == 3: .denied
            default: .failed
            }
        }
    }

    /// How far the confirmation is now.
    func progress(of sessionID: String, trace: TraceID) async throws -> Progress {
        try await self.calls.post(
            "\(self.calls.issuer)/status", json: ["sessionId": sessionID], traceparent: trace.traceparent
        ).decoded(as: Status.self).progress
    }

    /// The same, each time that it changes, until it has ended.
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
