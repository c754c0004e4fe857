public import UAF
import _Primitives

/// The items that an operator refuses with 1493: models, attestation certificates, and keys of attestations and of
/// people.
public struct RevocationList: Hashable, Sendable {
    /// The refused models.
    public var models: Set<AAID>
    /// The refused attestation certificates.
    public var certificates: Set<Certificate>
    /// The SHA-256 digests of refused keys as DER SubjectPublicKeyInfo, in whatever format the keys came: keys of
    /// attestation certificates, and keys that people registered.
    public var keys: Set<[UInt8]>

    /// A certificate, at any position in an attestation of the model.
    public struct Certificate: Hashable, Sendable {
        /// The model.
        public var aaid: AAID
        /// The serial number, big-endian without leading zeros.
        public var serialNumber: [UInt8]

        /// Names a certificate. Leading zeros of the number do not count.
        public init(aaid: AAID, serialNumber: [UInt8]) {
            self.aaid = aaid
            self.serialNumber = Array(serialNumber.drop { $0 == 0 })
        }
    }

    /// Makes a list of these items.
    public init(models: Set<AAID> = [], certificates: Set<Certificate> = [], keys: Set<[UInt8]> = []) {
        self.models = models
        self.certificates = certificates
        self.keys = keys
    }

    /// Reads a JSON object of at most 1 MiB with the members `models` (AAIDs), `certificates` (objects of `aaid` and
    /// `serialNumber`, hexadecimal) and `keys` (SHA-256, hexadecimal). Each member may be missing.
    ///
    /// Throws ``UAF/UAFError``. An unknown member is an error too, since it would revoke nothing.
    public init(parsing bytes: some Collection<UInt8>) throws(UAFError) {
        self.init()
        do throws(JSONError) {
            guard
                case .object(let list) = try JSON(
                    parsing: bytes, limits: JSONLimits(bytes: VerificationLimits.revocationListBytes))
            else {
                throw JSONError(.wrongType, "a list of revocations is an object")
            }
            for member in list.members where !["models", "certificates", "keys"].contains(member.name) {
                throw JSONError(.wrongType, "a member that revokes nothing")
            }
            for text in try list.strings("models") ?? [] { self.models.insert(try Self.model(text)) }
            for text in try list.strings("keys") ?? [] { self.keys.insert(try Self.bytes(text, 32...32)) }
            for value in try list.array("certificates") ?? [] {
                guard case .object(let certificate) = value else { throw JSONError(.wrongType, "certificates") }
                self.certificates.insert(
                    Certificate(
                        aaid: try Self.model(try certificate.requiredString("aaid")),
                        serialNumber: try Self.bytes(
                            try certificate.requiredString("serialNumber"), 1...VerificationLimits.serialNumberBytes)))
            }
        } catch { throw UAFError(.invalidValue, "revocations: \(error.code) (\(error.reason))") }
    }

    private static func model(_ text: String) throws(JSONError) -> AAID {
        do { return try AAID(text) } catch { throw JSONError(.wrongType, "not an AAID") }
    }

    private static func bytes(_ text: String, _ count: ClosedRange<Int>) throws(JSONError) -> [UInt8] {
        let digits = text.utf8.map { Character(Unicode.Scalar($0)).hexDigitValue }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count - 1, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else {
                throw JSONError(.wrongType, "not hexadecimal")
            }
            bytes.append(UInt8(high << 4 | low))
        }
        guard digits.count.isMultiple(of: 2), count.contains(bytes.count) else {
            throw JSONError(.wrongType, "a number of another length")
        }
        return bytes
    }

    /// Adds the items of another list.
    public mutating func formUnion(_ other: RevocationList) {
        self.models.formUnion(other.models)
        self.certificates.formUnion(other.certificates)
        self.keys.formUnion(other.keys)
    }
}
