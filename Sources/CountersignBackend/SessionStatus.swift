import JOSE
public import _Primitives

/// The state of a session that a back end has dispatched (`POST /token/dispatch/…`).
public struct SessionStatus: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The states of a session.
    public enum State: String, Sendable, CaseIterable {
        /// No phone has redeemed the token.
        case tokenCreated
        /// A phone has redeemed the token and asks the person.
        case clientAuthenticating
        /// A phone has redeemed the token of an enrolment.
        case clientRegistering
        /// The server accepted the phone's answer. Carry a transaction out only by ``SessionStatus/confirmation``.
        case succeeded
        /// The session ended without success. The codes of the status say why.
        case failed
        /// The server has no such session of this client, or has it no longer: ten minutes after its end.
        case unknown

        /// `true` if no other state follows.
        public var isFinal: Bool { self == .succeeded || self == .failed || self == .unknown }
    }

    /// The state.
    public let state: State
    /// The person, by the service's identifier; `nil` while no person is known. A status is no signed statement: for a
    /// transaction read the person from ``confirmation``.
    public let subject: String?
    /// `true` if no phone redeemed the token in time.
    public let isTokenOverdue: Bool
    /// The server's judgement of the phone's answer (UAF Protocol 1.1, status codes); `nil` before an answer.
    public let uafStatusCode: Int?
    /// The result of the phone's client; 3 if the person said no (UAF Application API 1.1, error codes).
    public let clientErrorCode: Int?
    /// The result of the phone's authenticator module.
    public let asmStatusCode: Int?
    /// The confirmed transaction, from the server's signed result; `nil` unless a transaction succeeded.
    public let confirmation: TransactionConfirmation?

    /// Reads a status document. `confirmation` is the verified result of the document.
    init(_ document: JSONObject, confirmation: TransactionConfirmation?) throws(BackendError) {
        do throws(JSONError) {
            guard let state = State(rawValue: try document.requiredString("status")) else {
                throw JSONError(.wrongType, "status")
            }
            self.state = state
            self.subject = try document.string("subject")
            self.isTokenOverdue =
                try document.object("tokenInformation")?.string("tokenResult")?.hasSameBytes(as: "tokenTimedOut")
                ?? false
            self.uafStatusCode = try document.integer("uafStatusCode")
            self.clientErrorCode = try document.integer("clientErrorCode")
            self.asmStatusCode = try document.integer("asmStatusCode")
        } catch {
            throw BackendError(.answerNotTrusted, "a status: \(error)")
        }
        self.confirmation = confirmation
    }

    /// The state and the codes only: the other members are about a person.
    public var description: String { "SessionStatus(\(self.state.rawValue))" }
    public var customMirror: Mirror { Mirror(self, children: ["state": self.state.rawValue]) }
}

/// The text or picture that a person confirmed on a phone, from the server's signed result.
///
/// The back end has verified the signature, the issuer, the audience, the end of validity and the session. Two checks
/// remain for the service, by the service's own record: compare ``subject`` with the person whose transaction it is, and
/// ``contentHash`` with the SHA-256 of the transaction that the service is about to carry out.
public struct TransactionConfirmation: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The person who confirmed, by the service's identifier.
    public let subject: String
    /// SHA-256 of the bytes that the phone showed and signed.
    public let contentHash: [UInt8]
    /// The media type of the content: `text/plain` or `image/png`.
    public let contentType: String
    /// The methods of the confirmation (RFC 8176).
    public let methods: [String]
    /// The assurance level; `nil` if the server names none.
    public let assurance: String?
    /// The time when the server accepted the phone's answer.
    public let confirmedAt: Timestamp
    /// The signed result, a compact JWS. Keep the JWS as evidence.
    public let signedResult: String

    /// Reads the claims of a verified result of the session.
    init(_ claims: JWTClaims, session: String, signedResult: String) throws(BackendError) {
        do throws(JSONError) {
            guard try claims.members.requiredString("session_id").hasSameBytes(as: session) else {
                throw JSONError(.wrongType, "session_id is another session")
            }
            guard let subject = claims.subject else { throw JSONError(.missing, "sub") }
            let hash = Base64URL.decode(try claims.members.requiredString("transaction_hash"))
            guard let hash, hash.count == 32 else { throw JSONError(.wrongType, "transaction_hash") }
            self.subject = subject
            self.contentHash = hash
            self.contentType = try claims.members.requiredString("transaction_content_type")
            self.methods = try claims.members.strings("amr") ?? []
            self.assurance = try claims.members.string("acr")
            self.confirmedAt = Timestamp(seconds: try claims.members.requiredInteger("auth_time"))
        } catch {
            throw BackendError(.answerNotTrusted, "a result: \(error)")
        }
        self.signedResult = signedResult
    }

    /// The media type only: the other members are about a person and a payment.
    public var description: String { "TransactionConfirmation(\(self.contentType))" }
    public var customMirror: Mirror { Mirror(self, children: ["contentType": self.contentType]) }
}
