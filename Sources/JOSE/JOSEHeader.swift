public import _Primitives

/// The protected header of a JWS or JWE in compact form (RFC 7515, section 4; RFC 7516, section 4).
///
/// The header was read strictly: no member occurs twice, and `crit` is refused, because no extension is understood.
/// Members that name or carry keys (`jku`, `jwk`, `x5u`, `x5c`) are never followed.
public struct JOSEHeader: Hashable, Sendable {
    /// All members, in their order.
    public let members: JSONObject
    /// The algorithm (`alg`).
    public let algorithm: String

    /// The name of the key (`kid`).
    public let keyID: String?
    /// The media type of the whole object (`typ`).
    public let type: String?

    /// Reads a header from the decoded first part of a compact form.
    ///
    /// Throws ``JOSEError``: `malformed`, `tooLarge`, `criticalHeader`.
    init(parsing bytes: [UInt8], limits: JOSELimits) throws(JOSEError) {
        guard bytes.count <= limits.headerLength else { throw JOSEError(.tooLarge, "header of \(bytes.count) bytes") }
        do {
            let document = try JSON(
                parsing: bytes, limits: JSONLimits(bytes: limits.headerLength, depth: 4, values: 256))
            guard case .object(let members) = document else {
                throw JOSEError(.malformed, "the header is not an object")
            }
            self.members = members
            self.algorithm = try members.requiredString("alg")
            self.keyID = try members.string("kid")
            self.type = try members.string("typ")
        } catch let error as JSONError {
            throw JOSEError(.malformed, "header: \(error.reason)")
        } catch let error as JOSEError {
            throw error
        } catch {
            throw JOSEError(.malformed, "header")
        }
        if self.members["crit"] != nil { throw JOSEError(.criticalHeader, "crit") }
    }

    /// Returns `true` if `typ` is `type`. The comparison follows the rules of media types: letter case does not count,
    /// and `application/` may be left out (RFC 7515, section 4.1.9).
    public func hasType(_ type: String) -> Bool {
        guard let own = self.type else { return false }
        return Self.fullType(own).hasSameBytes(as: Self.fullType(type))
    }

    private static func fullType(_ type: String) -> String {
        let lowered = type.asciiLowercased
        return lowered.utf8.contains(UInt8(ascii: "/")) ? lowered : "application/\(lowered)"
    }
}

/// The parts of a compact form, decoded.
struct CompactParts {
    /// The decoded parts, in their order.
    let decoded: [[UInt8]]
    /// The letters of each part, as received. Signatures and tags cover these letters.
    let letters: [ArraySlice<UInt8>]

    /// Splits `text` into exactly `count` parts of strict base64url.
    init(_ text: String, count: Int, limits: JOSELimits) throws(JOSEError) {
        let utf8 = Array(text.utf8)
        guard utf8.count <= limits.compactLength else { throw JOSEError(.tooLarge, "\(utf8.count) letters") }
        let letters = utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard letters.count == count else { throw JOSEError(.malformed, "\(letters.count) parts, not \(count)") }
        var decoded: [[UInt8]] = []
        for (index, part) in letters.enumerated() {
            guard let bytes = Base64URL.decode(utf8: part) else {
                throw JOSEError(.malformed, "part \(index + 1) is not base64url")
            }
            decoded.append(bytes)
        }
        self.letters = letters
        self.decoded = decoded
    }
}
