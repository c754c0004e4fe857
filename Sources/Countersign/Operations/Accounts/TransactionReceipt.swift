import Ceremony
import Crypto
import JOSE
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A receipt: the server's signed statement that the person confirmed a content for a service.
///
/// The content itself is not in a receipt. The SDK reads the receipt and does not verify the signature: a verifier does,
/// with ``copy``, the content and the server's keys for receipts.
public struct TransactionReceipt: Hashable, Sendable, Identifiable {
    /// The `typ` of a receipt.
    private static let type = "transaction-receipt+jwt"
    /// The last second of the year 9999.
    private static let lastSecond: Int64 = 253_402_300_799

    /// The server's identifier of the session in which the person confirmed: letters, digits, `-` and `_`.
    public let id: String
    /// The service's name, as the person saw the name. One line, fit to be shown.
    public let service: String
    /// Scheme, host and port of the service, fit to be compared by a person.
    public let origin: String?
    /// The time of the confirmation.
    public let date: Date
    /// The SHA-256 of the confirmed content.
    public let contentHash: [UInt8]
    /// The media type of the content, such as `text/plain`. One line, fit to be shown.
    public let contentType: String
    /// The methods of the person's authentication (RFC 8176). Each is one line, fit to be shown.
    public let methods: [String]
    /// The receipt as the server signed the receipt: a JWS in compact form, the same that the service can fetch.
    public let compact: String
    /// The person's copy, to be saved as a file: a JSON object with the receipt, and the evidence of the device that
    /// opens the salted hashes of the receipt. `countersign receipt verify` takes the file. Services do not get the
    /// evidence.
    public let copy: [UInt8]

    /// Reads a copy. Throws `JSONError` for any other object, and for evidence of another receipt.
    init(copy: JSONObject) throws {
        let compact = try copy.requiredString("receipt")
        let claims = try Self.claims(of: compact)
        let id = try claims.requiredString("session_id")
        guard AccountExchange.isIdentifier(id) else { throw JSONError(.wrongType, "session_id") }
        let seconds: Int64 = try claims.requiredInteger("iat")
        guard (0...Self.lastSecond).contains(seconds) else { throw JSONError(.wrongType, "iat") }
        guard let hash = Base64URL.decode(try claims.requiredString("transaction_hash")),
            hash.count == SHA256.byteCount
        else { throw JSONError(.wrongType, "transaction_hash") }
        guard let methods = try claims.strings("amr") else { throw JSONError(.missing, "amr") }
        let evidence = try Self.evidence(in: copy, openingThe: claims)
        self.id = id
        self.service = DisplayText.line(try claims.string("client_name") ?? claims.requiredString("client_id"))
        self.origin = try claims.string("client_origin").map { DisplayText.origin($0) }
        self.date = Date(timeIntervalSince1970: TimeInterval(seconds))
        self.contentHash = hash
        self.contentType = DisplayText.line(try claims.requiredString("transaction_content_type"))
        self.methods = methods.map { DisplayText.line($0) }
        self.compact = compact
        self.copy = JSON.object(["receipt": .string(compact), "evidence": .array(evidence)]).serialized
    }

    /// Returns the claims of a receipt.
    private static func claims(of compact: String) throws -> JSONObject {
        guard let token = try? UnverifiedJWS(compact: compact), token.header.hasType(Self.type),
            let payload = Base64URL.decode(compact.splitBytes(at: ".")[1]),
            case .object(let claims) = try JSON(parsing: payload)
        else { throw JSONError(.wrongType, "receipt") }
        return claims
    }

    /// Returns the evidence of a copy, which must open the hashes of the receipt one by one.
    private static func evidence(in copy: JSONObject, openingThe claims: JSONObject) throws -> [JSON] {
        guard let evidence = try copy.array("evidence"), let hashes = try claims.array("evidence"),
            evidence.count == hashes.count
        else { throw JSONError(.wrongType, "evidence") }
        return try zip(evidence, hashes).map { evidence, hashes in
            guard case .object(let evidence) = evidence, case .object(let hashes) = hashes else {
                throw JSONError(.wrongType, "evidence")
            }
            let aaid = try evidence.requiredString("aaid")
            guard aaid.hasSameBytes(as: try hashes.requiredString("aaid")) else {
                throw JSONError(.wrongType, "evidence of another model")
            }
            for part in ["assertion", "key"] {
                let bytes = try Self.bytes(part, of: evidence)
                let salt = try Self.bytes("\(part)_salt", of: evidence)
                let hash = Base64URL.encode(Array(SHA256.hash(data: salt + bytes)))
                guard hash.hasSameBytes(as: try hashes.requiredString("\(part)_hash")) else {
                    throw JSONError(.wrongType, "\(part) of another receipt")
                }
            }
            for number in ["key_format", "algorithm"] { _ = try evidence.requiredInteger(number, as: UInt16.self) }
            return .object(evidence)
        }
    }

    private static func bytes(_ name: String, of evidence: JSONObject) throws -> [UInt8] {
        guard let bytes = Base64URL.decode(try evidence.requiredString(name)) else { throw JSONError(.wrongType, name) }
        return bytes
    }
}
