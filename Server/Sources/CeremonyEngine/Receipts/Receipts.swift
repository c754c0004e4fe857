import Crypto
public import Records
import Settings
import UAF
import UAFRelyingParty
public import _Primitives

/// Signs receipts with the server's keys for receipts.
public struct ReceiptSigner: Sendable {
    let sign: @Sendable (_ claims: JSONObject, _ now: Timestamp) async throws -> String

    /// Creates a signer. `sign` adds the issuer to the claims, and returns a compact JWS of ``ReceiptFormat/type``.
    public init(_ sign: @escaping @Sendable (_ claims: JSONObject, _ now: Timestamp) async throws -> String) {
        self.sign = sign
    }
}

/// The receipts of confirmed transactions (decision 121): makes a receipt with each confirmation, and hands receipts to
/// the client that asked and to the person.
public struct Receipts: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any ReceiptStore
    let subjects: Subjects
    /// `nil` for a server that makes no receipts.
    let signer: ReceiptSigner?

    /// Returns the receipt of a session for the client that dispatched the session; `nil` if the client has no such
    /// receipt, or the time of the receipt is over (``Limits/receiptRetention``).
    public func receipt(ofSession session: String, clientID: String) async throws -> ReceiptRecord? {
        try await self.store.receipt(session: session, clientID: clientID, at: self.time.now())
    }

    /// Returns a person's newest receipts, the newest first, at most ``Limits/listedReceipts``.
    public func receipts(accountID: String) async throws -> [ReceiptRecord] {
        try await self.store.receipts(accountID: accountID, at: self.time.now(), limit: self.limits.listedReceipts)
    }

    /// Returns the document of the keys that sign receipts, and that have signed receipts: for verifiers, to keep.
    ///
    /// Cost: one query.
    public func keys() async throws -> JSONObject {
        let keys = try await self.store.receiptKeys()
        return [
            "issuer": .string(self.configuration.issuer),
            "keys": .array(try keys.map { .object(try Self.document(of: $0)) }),
        ]
    }

    private static func document(of key: ReceiptKeyRecord) throws -> JSONObject {
        guard case .object(var object)? = try? JSON(parsing: Array(key.publicKey.utf8)) else {
            throw StoreError(.corrupt, "a key of receipts")
        }
        object["signs_from"] = .integer(key.signsFrom.seconds)
        object["signs_until"] = key.signsUntil.map { .integer($0.seconds) }
        object["seen_since"] = key.seenSince.map { .integer($0.seconds) }
        return object
    }

    /// Returns the receipt of a transaction that a person confirms now; `nil` for any other ceremony, and if no client
    /// asked.
    ///
    /// Cost: one ES256 signature, two hashes for each signature of the device, and for a client's sector one query.
    func receipt(
        of ceremony: CeremonyRecord, _ verified: VerifiedAuthentication, _ assurance: AuthenticationAssurance,
        _ response: UnverifiedAuthentication, _ stored: [StoredCredential?], at now: Timestamp
    ) async throws -> ReceiptRecord? {
        guard let signer, ceremony.kind == .transaction, let client = ceremony.clientID,
            let hash = verified.confirmedContentHash, let type = ceremony.detail.contentType
        else { return nil }
        let evidence = zip(response.assertionBytes, stored).compactMap { assertion, stored in
            stored.map { self.evidence(of: $0.credential, assertion) }
        }
        var claims: JSONObject = [
            "sub": .string(try await self.subjects.subject(verified.account, client)), "iat": .integer(now.seconds),
            "session_id": .string(ceremony.id), "client_id": .string(client),
            "transaction_hash": .string(Base64URL.encode(hash)), "transaction_content_type": .string(type),
            "amr": .array(assurance.methods.map(JSON.string)), "acr": .string(assurance.level.rawValue),
            "verified": .array(Self.verified.map(JSON.string)),
            "evidence": .array(evidence.map { .object($0.hashes) }),
        ]
        claims["client_name"] = ceremony.detail.service.map(JSON.string)
        claims["client_origin"] = ceremony.detail.origin.map(JSON.string)
        return ReceiptRecord(
            session: ceremony.id, clientID: client, accountID: verified.account,
            receipt: try await signer.sign(claims, now), evidence: evidence,
            keptUntil: now + self.limits.receiptRetention)
    }

    /// The server's statement of what it has verified, before it signs: a registered key of the person's has signed this
    /// very content in answer to this server's challenge, by a model that the policy takes, with a counter that has
    /// grown.
    private static let verified = ["challenge", "content", "counter", "key", "policy", "signature"]

    private func evidence(of key: CredentialRecord, _ assertion: [UInt8]) -> ReceiptRecord.Evidence {
        ReceiptRecord.Evidence(
            aaid: key.aaid, assertion: assertion, assertionSalt: self.random.bytes(ReceiptFormat.saltBytes),
            key: key.publicKey, keySalt: self.random.bytes(ReceiptFormat.saltBytes), keyFormat: key.keyFormat,
            algorithm: key.algorithm)
    }
}

extension ReceiptRecord {
    /// The event of the receipt in the audit trail: the session and the hash of the receipt, by which a receipt whose key
    /// was seen is told from an invented receipt.
    func event(at now: Timestamp) -> AuditEvent {
        AuditEvent(
            .receiptIssued, at: now, accountID: self.accountID, ceremonyID: self.session, actor: self.clientID,
            detail: ReceiptDigest.text(of: self.receipt))
    }

    /// The person's copy: the receipt, and the evidence with the salts, which open the hashes of the receipt.
    public var copy: JSONObject {
        [
            "receipt": .string(self.receipt),
            "evidence": .array(
                self.evidence.map { evidence in
                    .object([
                        "aaid": .string(evidence.aaid), "assertion": .string(Base64URL.encode(evidence.assertion)),
                        "assertion_salt": .string(Base64URL.encode(evidence.assertionSalt)),
                        "key": .string(Base64URL.encode(evidence.key)),
                        "key_salt": .string(Base64URL.encode(evidence.keySalt)),
                        "key_format": .integer(Int64(evidence.keyFormat)),
                        "algorithm": .integer(Int64(evidence.algorithm)),
                    ])
                }),
        ]
    }
}

/// The statement of a receipt, for people.
public struct ReceiptContent: Sendable {
    /// The service's name, as the person saw the name; without a name the client's identifier.
    public let service: String
    /// Scheme, host and port of the service.
    public let origin: String?
    /// The media type of the content.
    public let contentType: String
    /// The SHA-256 of the content in base64url.
    public let contentHash: String
    /// The moment of the confirmation.
    public let at: Timestamp
}

extension ReceiptRecord {
    /// Returns the statement of the receipt. Throws ``StoreError/Code/corrupt`` if the stored text is no receipt.
    public func content() throws(StoreError) -> ReceiptContent {
        let parts = self.receipt.splitBytes(at: ".")
        do {
            guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
                case .object(let claims) = try JSON(parsing: payload)
            else { throw StoreError(.corrupt, "a receipt") }
            return ReceiptContent(
                service: try claims.string("client_name") ?? self.clientID,
                origin: try claims.string("client_origin"),
                contentType: try claims.requiredString("transaction_content_type"),
                contentHash: try claims.requiredString("transaction_hash"),
                at: Timestamp(seconds: try claims.requiredInteger("iat")))
        } catch { throw StoreError(.corrupt, "a receipt") }
    }
}

extension ReceiptRecord.Evidence {
    /// The member of a receipt for the evidence: salted hashes.
    fileprivate var hashes: JSONObject {
        [
            "aaid": .string(self.aaid),
            "assertion_hash": .string(ReceiptDigest.text(of: self.assertion, salt: self.assertionSalt)),
            "key_hash": .string(ReceiptDigest.text(of: self.key, salt: self.keySalt)),
        ]
    }
}

/// The hashes of receipts.
enum ReceiptDigest {
    /// Returns the hash of a receipt: SHA-256 of the compact form, as base64url.
    static func text(of receipt: String) -> String { Base64URL.encode(Array(SHA256.hash(data: Array(receipt.utf8)))) }

    /// Returns a salted hash: SHA-256 over the salt and the bytes, as base64url.
    static func text(of bytes: [UInt8], salt: [UInt8]) -> String {
        Base64URL.encode(Array(SHA256.hash(data: salt + bytes)))
    }
}

extension AuditEvent.Kind {
    /// A receipt was issued for a confirmed transaction; the actor is the client, the detail is the SHA-256 of the
    /// receipt in base64url.
    static let receiptIssued = Self(rawValue: "receipt-issued")
}
