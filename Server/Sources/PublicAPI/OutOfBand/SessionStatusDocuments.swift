package import CeremonyEngine
package import OAuthProvider
package import Settings
import UAF
package import _Primitives

/// The status of a dispatched session as a document for the back end that dispatched the session: the answer to a
/// question, the data of an event, and a member of the statement about the end.
package struct SessionStatusDocuments: Sendable {
    private let provider: OpenIDProvider
    private let limits: Limits

    /// Makes the documents with the provider's signatures.
    package init(provider: OpenIDProvider, limits: Limits) {
        self.provider = provider
        self.limits = limits
    }

    /// Returns the document of a status for a client.
    ///
    /// Cost: one ES256 signature for a confirmed transaction, and none otherwise. Throws if no key can sign.
    package func document(of status: CeremonyStatus, for client: String) throws -> JSONObject {
        var document: JSONObject = [
            "status": .string(status.state.rawValue), "timestamp": .string(status.timestamp.description),
        ]
        document["subject"] = status.subject.map(JSON.string)
        document["uafStatusCode"] = status.uafStatusCode.map { .integer(Int64($0)) }
        document["clientErrorCode"] = status.clientErrorCode.map { .integer(Int64($0)) }
        document["asmStatusCode"] = status.asmStatusCode.map { .integer(Int64($0)) }
        document["refusal"] = status.refusal.map { .string($0.rawValue) }
        if let result = status.tokenResult {
            document["tokenInformation"] = .object(["tokenResult": .string(result.rawValue)])
        }
        if !status.authenticators.isEmpty {
            document["authenticators"] = .array(
                status.authenticators.map { .object(["aaid": .string($0.text)]) })
        }
        if let confirmation = status.confirmation {
            document["result"] = .string(try self.signed(confirmation, for: client))
        }
        return document
    }

    /// Returns the server's signed statement of the text that a person confirmed. The statement is enough for the
    /// client to check against its own text.
    private func signed(_ confirmation: ConfirmedTransaction, for client: String) throws -> String {
        let issued = confirmation.at.seconds
        return try self.provider.tokens.sign(
            [
                "aud": .string(client), "sub": .string(confirmation.subject),
                "jti": .string(confirmation.sessionID), "session_id": .string(confirmation.sessionID),
                "exp": .integer(issued + self.limits.resultLifetime.components.seconds),
                "auth_time": .integer(issued),
                "transaction_hash": .string(Base64URL.encode(confirmation.contentHash)),
                "transaction_content_type": .string(confirmation.contentType),
                "amr": .array(confirmation.amr.map(JSON.string)), "acr": .string(confirmation.acr),
            ], type: "transaction-confirmation+jwt")
    }
}
