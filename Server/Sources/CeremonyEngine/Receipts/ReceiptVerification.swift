import Crypto
import JOSE
import Records
public import _Primitives

/// The reason why a receipt is refused. Two refusals are equal if their codes are equal.
public struct ReceiptRefusal: CodedError {
    /// The kind of refusal.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String, CaseIterable {
            case receiptMalformed = "receipt-malformed"
            case keysMalformed = "keys-malformed"
            case wrongType = "wrong-type"
            case wrongAlgorithm = "wrong-algorithm"
            case unknownKey = "unknown-key"
            case signatureInvalid = "signature-invalid"
            case wrongIssuer = "wrong-issuer"
            case keyOutsideItsTime = "key-outside-its-time"
            case contentDiffers = "content-differs"
            case evidenceDiffers = "evidence-differs"
        }
        private let base: Base

        /// The file is neither a compact JWS nor a person's copy, or a member is missing or of the wrong kind.
        public static let receiptMalformed = Self(base: .receiptMalformed)
        /// The file of keys is no document of keys.
        public static let keysMalformed = Self(base: .keysMalformed)
        /// The text is signed, and is no receipt.
        public static let wrongType = Self(base: .wrongType)
        /// The receipt names another algorithm than ES256.
        public static let wrongAlgorithm = Self(base: .wrongAlgorithm)
        /// The document of keys has no key of the name that the receipt names, or the receipt names none.
        public static let unknownKey = Self(base: .unknownKey)
        /// The key did not sign these bytes.
        public static let signatureInvalid = Self(base: .signatureInvalid)
        /// The receipt names another server than the document of keys.
        public static let wrongIssuer = Self(base: .wrongIssuer)
        /// The time of the receipt is not within the time in which the key signed.
        public static let keyOutsideItsTime = Self(base: .keyOutsideItsTime)
        /// The receipt is about another content.
        public static let contentDiffers = Self(base: .contentDiffers)
        /// The evidence of the copy does not belong to the receipt.
        public static let evidenceDiffers = Self(base: .evidenceDiffers)
        public var description: String { self.base.rawValue }
    }

    /// The kind of refusal.
    public let code: Code
    /// The problem in words.
    public let reason: String

    /// Creates a refusal.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}

/// A receipt whose signature, time, issuer and content are right.
public struct VerifiedReceipt: Sendable {
    /// The claims of the receipt.
    public let claims: JSONObject
    /// SHA-256 of the receipt in base64url: the detail of the event `receipt-issued` in the audit trail.
    public let digest: String
    /// `true` if others may have seen the key. The receipt then proves nothing unless the audit trail has ``digest``.
    public let needsTrail: Bool
    /// `true` if the file is a person's copy, whose evidence belongs to the receipt.
    public let hasEvidence: Bool
}

/// Verifies receipts without a network and without a database (decision 121). Trusts no key but the keys of the given
/// document.
public struct ReceiptVerification: Sendable {
    private struct Key: Sendable {
        let jwk: JWK
        let signsFrom: Int64
        let signsUntil: Int64?
        let isSeen: Bool
    }

    /// The most bytes of a receipt or of a copy.
    private static let limits = JOSELimits(compactLength: 65_536)
    private let issuer: String
    private let keys: [Key]

    /// Reads a document of keys (`/receipts/keys`). Throws ``ReceiptRefusal/Code/keysMalformed``.
    public init(keys document: [UInt8]) throws(ReceiptRefusal) {
        do {
            guard case .object(let object) = try JSON(parsing: document) else {
                throw ReceiptRefusal(.keysMalformed, "no object")
            }
            self.issuer = try object.requiredString("issuer")
            guard let keys = try object.array("keys") else { throw ReceiptRefusal(.keysMalformed, "no keys") }
            self.keys = try keys.map { value in
                guard case .object(let key) = value else { throw ReceiptRefusal(.keysMalformed, "a key") }
                return Key(
                    jwk: try JWK(publicJSON: key), signsFrom: try key.requiredInteger("signs_from"),
                    signsUntil: try key.integer("signs_until", as: Int64.self),
                    isSeen: try key.integer("seen_since", as: Int64.self) != nil)
            }
        } catch let error as ReceiptRefusal {
            throw error
        } catch {
            throw ReceiptRefusal(.keysMalformed, "\(error)")
        }
    }

    /// Verifies a receipt, or a person's copy, about a content.
    ///
    /// - Parameter file: A compact JWS, or the JSON object of a copy. White space around both is passed over.
    public func verify(_ file: [UInt8], content: [UInt8]) throws(ReceiptRefusal) -> VerifiedReceipt {
        let (receipt, evidence) = try Self.read(file)
        let (claims, key) = try self.claims(of: receipt)
        guard try Self.text("iss", of: claims).hasSameBytes(as: self.issuer) else {
            throw ReceiptRefusal(.wrongIssuer, "the receipt names another server")
        }
        let at = try Self.member { () throws(JSONError) in try claims.requiredInteger("iat", as: Int64.self) }
        guard key.signsFrom <= at, key.signsUntil.map({ at <= $0 }) ?? true else {
            throw ReceiptRefusal(.keyOutsideItsTime, "the key did not sign at that time")
        }
        let hash = Base64URL.encode(Array(SHA256.hash(data: content)))
        guard try Self.text("transaction_hash", of: claims).hasSameBytes(as: hash) else {
            throw ReceiptRefusal(.contentDiffers, "the receipt is about another content")
        }
        if let evidence { try Self.check(evidence, against: claims) }
        return VerifiedReceipt(
            claims: claims, digest: ReceiptDigest.text(of: receipt), needsTrail: key.isSeen,
            hasEvidence: evidence != nil)
    }

    /// Returns the compact form, and the evidence if the file is a copy.
    private static func read(_ file: [UInt8]) throws(ReceiptRefusal) -> (receipt: String, evidence: [JSON]?) {
        let space: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]
        let start = file.firstIndex { !space.contains($0) } ?? file.endIndex
        let end = file.lastIndex { !space.contains($0) }.map { $0 + 1 } ?? start
        let bytes = Array(file[start..<max(start, end)])
        guard bytes.first == UInt8(ascii: "{") else {
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw ReceiptRefusal(.receiptMalformed, "no text")
            }
            return (text, nil)
        }
        return try Self.member {
            () throws(JSONError) in
            guard case .object(let copy) = try JSON(parsing: bytes), let evidence = try copy.array("evidence") else {
                throw JSONError(.missing, "evidence")
            }
            return (try copy.requiredString("receipt"), evidence)
        }
    }

    private func claims(of receipt: String) throws(ReceiptRefusal) -> (JSONObject, Key) {
        do {
            let token = try UnverifiedJWS(compact: receipt, limits: Self.limits)
            guard token.header.hasType(ReceiptFormat.type) else {
                throw ReceiptRefusal(.wrongType, "the text is no receipt")
            }
            guard token.header.algorithm.hasSameBytes(as: JWSAlgorithm.es256.rawValue) else {
                throw ReceiptRefusal(.wrongAlgorithm, "the receipt is not signed with ES256")
            }
            let name = token.header.keyID
            let named = self.keys.first { key in name.map { key.jwk.keyID?.hasSameBytes(as: $0) ?? false } ?? false }
            guard let named else { throw ReceiptRefusal(.unknownKey, "the document has no key of that name") }
            let verified = try token.verified(by: VerificationKey(named.jwk, algorithm: .es256))
            guard case .object(let claims) = try JSON(parsing: verified.payload) else {
                throw ReceiptRefusal(.receiptMalformed, "no claims")
            }
            return (claims, named)
        } catch let error as ReceiptRefusal {
            throw error
        } catch let error as JOSEError where error.code == .invalidSignature {
            throw ReceiptRefusal(.signatureInvalid, "the key did not sign this receipt")
        } catch let error as JOSEError where error.code == .invalidKey || error.code == .unsupportedKey {
            throw ReceiptRefusal(.keysMalformed, "the key of that name is not for ES256")
        } catch {
            throw ReceiptRefusal(.receiptMalformed, "\(error)")
        }
    }

    /// Compares the evidence of a copy with the hashes of a receipt: as many, in the same order.
    private static func check(_ evidence: [JSON], against claims: JSONObject) throws(ReceiptRefusal) {
        let hashes = try Self.member { () throws(JSONError) in try claims.array("evidence") ?? [] }
        guard evidence.count == hashes.count else {
            throw ReceiptRefusal(.evidenceDiffers, "the copy has evidence of another number of signatures")
        }
        for (evidence, hashes) in zip(evidence, hashes) {
            guard case .object(let evidence) = evidence, case .object(let hashes) = hashes else {
                throw ReceiptRefusal(.receiptMalformed, "evidence")
            }
            for (value, hash) in [("assertion", "assertion_hash"), ("key", "key_hash")] {
                let told = ReceiptDigest.text(
                    of: try Self.bytes(value, of: evidence), salt: try Self.bytes(value + "_salt", of: evidence))
                guard try Self.text(hash, of: hashes).hasSameBytes(as: told) else {
                    throw ReceiptRefusal(.evidenceDiffers, "the \(value) is not the one of the receipt")
                }
            }
            guard try Self.text("aaid", of: evidence).hasSameBytes(as: Self.text("aaid", of: hashes)) else {
                throw ReceiptRefusal(.evidenceDiffers, "the model is not the one of the receipt")
            }
        }
    }

    private static func text(_ name: String, of object: JSONObject) throws(ReceiptRefusal) -> String {
        try Self.member { () throws(JSONError) in try object.requiredString(name) }
    }

    private static func bytes(_ name: String, of object: JSONObject) throws(ReceiptRefusal) -> [UInt8] {
        guard let bytes = Base64URL.decode(try Self.text(name, of: object)) else {
            throw ReceiptRefusal(.receiptMalformed, name)
        }
        return bytes
    }

    private static func member<Value>(_ read: () throws(JSONError) -> Value) throws(ReceiptRefusal) -> Value {
        do throws(JSONError) { return try read() } catch { throw ReceiptRefusal(.receiptMalformed, "\(error)") }
    }
}
