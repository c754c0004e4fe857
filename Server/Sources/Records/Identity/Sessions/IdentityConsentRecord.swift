public import _Primitives

/// A person's consent with a personalised identity, with its evidence: the signed document and the signatures, except a
/// PIN's signature.
///
/// With a PIN's signature, a holder of the phone could try PINs against it. So the record has no place for such a
/// signature. The server itself states that the PIN was right, in a statement that the server signs on request.
public struct IdentityConsentRecord: Sendable, Equatable {
    /// The session. A session has at most one consent.
    public var session: String
    /// The account of the person who gave the consent.
    public var accountID: String
    /// The service that asked, by its client's identifier; `nil` for an action of the account on itself.
    public var service: String?
    /// The moment when the factors were accepted.
    public var at: Timestamp
    /// The document, byte by byte as it was shown and signed. The document has aliases. For typed values it has only
    /// digests whose keys are forgotten.
    public var document: [UInt8]
    /// The final challenge of UAF, which holds the document's hash. Every factor has signed the hash of this challenge.
    public var finalChallenge: String
    /// Every judged factor. All factors were right.
    public var factors: [Factor]

    /// A factor of a consent.
    public struct Factor: Sendable, Equatable {
        /// The factor's type, by the name that roles have for it.
        public var type: String
        /// The factor's key, by the credential's identifier.
        public var key: String
        /// The factor's signature; `nil` for a PIN, whose signature is never kept.
        public var signature: Signature?

        /// Describes a factor.
        public init(type: String, key: String, signature: Signature?) {
            self.type = type
            self.key = key
            self.signature = signature
        }
    }

    /// A signature, with all data for its verification: the key itself may be gone by then.
    public struct Signature: Sendable, Equatable {
        /// The authenticator's model.
        public var aaid: String
        /// The key's name within its model.
        public var keyID: [UInt8]
        /// The public key, in the encoding that ``keyFormat`` names.
        public var publicKey: [UInt8]
        /// UAF registry number of the key's encoding.
        public var keyFormat: UInt16
        /// UAF registry number of the signature algorithm.
        public var algorithm: UInt16
        /// The assertion as it was sent (UAF Authenticator Commands, section 5.2).
        public var assertion: [UInt8]

        /// Makes a signature of a registered key.
        public init(of key: CredentialRecord, assertion: [UInt8]) {
            self.aaid = key.aaid
            self.keyID = key.keyID
            self.publicKey = key.publicKey
            self.keyFormat = key.keyFormat
            self.algorithm = key.algorithm
            self.assertion = assertion
        }
    }

    /// Describes a consent.
    public init(
        session: String, accountID: String, service: String?, at: Timestamp, document: [UInt8], finalChallenge: String,
        factors: [Factor]
    ) {
        self.session = session
        self.accountID = accountID
        self.service = service
        self.at = at
        self.document = document
        self.finalChallenge = finalChallenge
        self.factors = factors
    }
}

/// Keeps people's consents with personalised identities.
public protocol IdentityConsentStore: Sendable {
    /// Returns the newest consents of an account, the newest first, at most `limit`.
    func identityConsents(accountID: String, limit: Int) async throws -> [IdentityConsentRecord]

    /// Returns an account's consent in a session; `nil` if the account has no consent in the session.
    func identityConsent(session: String, accountID: String) async throws -> IdentityConsentRecord?
}

// MARK: - The sealed document

extension IdentityConsentRecord {
    /// The sealed part of the consent: everything but the session and the account, to which the sealing is bound.
    package var evidence: [UInt8] {
        var object: JSONObject = [
            "at": .integer(self.at.milliseconds), "document": .string(Base64URL.encode(self.document)),
            "finalChallenge": .string(self.finalChallenge), "factors": .array(self.factors.map { .object($0.json) }),
        ]
        object["service"] = self.service.map(JSON.string)
        return JSON.object(object).serialized
    }

    /// Reads the bytes that ``evidence`` writes. Throws ``StoreError/Code/corrupt`` for anything else.
    package init(session: String, accountID: String, evidence: [UInt8]) throws {
        do {
            guard case .object(let object) = try JSON(parsing: evidence),
                let document = Base64URL.decode(try object.requiredString("document"))
            else { throw JSONError(.wrongType, "evidence") }
            self.init(
                session: session, accountID: accountID, service: try object.string("service"),
                at: Timestamp(milliseconds: try object.requiredInteger("at")), document: document,
                finalChallenge: try object.requiredString("finalChallenge"),
                factors: try (object.array("factors") ?? []).map { factor in
                    guard case .object(let factor) = factor else { throw JSONError(.wrongType, "factors") }
                    return try Factor(json: factor)
                })
        } catch {
            throw StoreError(.corrupt, "what somebody has agreed to")
        }
    }
}

extension IdentityConsentRecord.Factor {
    /// The factor as a document. The store keeps the document, and operators are shown it.
    public var json: JSONObject {
        var object: JSONObject = ["type": .string(self.type), "key": .string(self.key)]
        guard let signature else { return object }
        object["aaid"] = .string(signature.aaid)
        object["keyID"] = .string(Base64URL.encode(signature.keyID))
        object["publicKey"] = .string(Base64URL.encode(signature.publicKey))
        object["keyFormat"] = .integer(Int64(signature.keyFormat))
        object["algorithm"] = .integer(Int64(signature.algorithm))
        object["assertion"] = .string(Base64URL.encode(signature.assertion))
        return object
    }

    fileprivate init(json object: JSONObject) throws(JSONError) {
        self.init(
            type: try object.requiredString("type"), key: try object.requiredString("key"),
            signature: try object.string("aaid") == nil ? nil : try IdentityConsentRecord.Signature(json: object))
    }
}

extension IdentityConsentRecord.Signature {
    fileprivate init(json object: JSONObject) throws(JSONError) {
        func bytes(_ name: String) throws(JSONError) -> [UInt8] {
            guard let bytes = Base64URL.decode(try object.requiredString(name)) else {
                throw JSONError(.wrongType, name)
            }
            return bytes
        }
        self.aaid = try object.requiredString("aaid")
        self.keyID = try bytes("keyID")
        self.publicKey = try bytes("publicKey")
        self.keyFormat = try object.requiredInteger("keyFormat")
        self.algorithm = try object.requiredInteger("algorithm")
        self.assertion = try bytes("assertion")
    }
}
