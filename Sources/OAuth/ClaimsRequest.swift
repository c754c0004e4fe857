public import _Primitives

/// The claims that a client requests by name (`claims`, OpenID Connect Core 1.0, section 5.5).
public struct ClaimsRequest: Hashable, Sendable {
    /// A requested claim (section 5.5.1).
    public struct Claim: Hashable, Sendable {
        /// The claim's name.
        public let name: String
        /// `true` if the client needs the claim. A server without the claim still answers.
        public let isEssential: Bool
        /// The acceptable values; empty if any value is acceptable.
        public let values: [JSON]
    }

    /// The claims for the ID token.
    public let idToken: [Claim]
    /// The claims for the userinfo endpoint.
    public let userinfo: [Claim]
    private let members: JSONObject

    /// The most claims for each of the two places.
    public static let mostClaims = 64

    /// Reads the value of the parameter.
    ///
    /// A claim that is `null` is requested without further conditions. Unknown members are ignored, as section 5.5
    /// requires.
    ///
    /// Throws ``OAuthError`` `invalid_request`.
    public init(_ text: String) throws(OAuthError) {
        let document: JSON
        do {
            document = try JSON(
                parsing: NullableJSON.replacing(Array(text.utf8), by: "{}"),
                limits: JSONLimits(bytes: 8192, depth: 8, values: 1024))
        } catch {
            throw Self.refusal(error.reason)
        }
        guard case .object(let object) = document else { throw Self.refusal("no object") }
        self.members = object
        self.idToken = try Self.claims(object, "id_token")
        self.userinfo = try Self.claims(object, "userinfo")
    }

    /// The request as JSON for a record, with the members in the order of their names' bytes. Each `null` is an empty
    /// object, which means the same.
    public var text: String { JSON.object(self.members).orderedText }

    private static func claims(_ object: JSONObject, _ name: String) throws(OAuthError) -> [Claim] {
        do throws(JSONError) {
            let members = try object.object(name)?.members ?? []
            guard members.count <= Self.mostClaims else { throw JSONError(.tooLarge, "claims of \(name)") }
            var claims: [Claim] = []
            for (name, value) in members {
                guard !name.isEmpty, case .object(let claim) = value else { throw JSONError(.wrongType, "a claim") }
                let values = try claim.array("values") ?? claim["value"].map { [$0] } ?? []
                claims.append(Claim(name: name, isEssential: try claim.bool("essential") ?? false, values: values))
            }
            return claims
        } catch {
            throw self.refusal(error.reason)
        }
    }

    private static func refusal(_ detail: String) -> OAuthError {
        OAuthError(.invalidRequest, "The claims parameter is malformed.", detail: detail)
    }
}

/// Reads JSON with `null`, for the single parameter that allows `null`. The JSON reader knows no `null`, because no
/// other message uses the value.
enum NullableJSON {
    /// Reads an object whose member with the given name may contain nulls.
    ///
    /// Each null becomes an empty object. A null in another member is refused.
    static func object(_ bytes: [UInt8], nullsIn name: String) throws(JSONError) -> JSONObject {
        do {
            return try self.object(bytes)
        } catch  where error.code == .null {
            // The two readings differ exactly at the places of a null.
            let object = try self.object(self.replacing(bytes, by: "{}"))
            let other = try self.object(self.replacing(bytes, by: "[]"))
            for (one, two) in zip(object.members, other.members) where !one.name.hasSameBytes(as: name) {
                guard one.value == two.value else { throw JSONError(.null, "of another member") }
            }
            return object
        }
    }

    private static func object(_ bytes: [UInt8]) throws(JSONError) -> JSONObject {
        guard case .object(let object) = try JSON(parsing: bytes) else { throw JSONError(.wrongType, "no object") }
        return object
    }

    /// Returns the text with every `null` outside a string replaced.
    static func replacing(_ bytes: [UInt8], by text: StaticString) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var isInside = false
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if isInside, byte == UInt8(ascii: "\\"), index + 1 < bytes.count {
                result.append(byte)
                index += 1
            } else if byte == UInt8(ascii: "\"") {
                isInside.toggle()
            } else if !isInside, byte == UInt8(ascii: "n"), bytes[index...].starts(with: "null".utf8) {
                result.append(contentsOf: text.description.utf8)
                index += 4
                continue
            }
            result.append(bytes[index])
            index += 1
        }
        return result
    }
}

extension JSON {
    /// The value as text, with the members of every object in the order of their names' bytes. The same values always
    /// give the same text.
    var orderedText: String {
        var bytes: [UInt8] = []
        Self.append(self, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func append(_ value: JSON, to bytes: inout [UInt8]) {
        switch value {
        case .object(let object):
            let members = object.members.map { (name: ExactText($0.name), value: $0.value) }
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.sorted(by: { $0.name < $1.name }).enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                bytes.append(contentsOf: JSON.string(member.name.text).serialized)
                bytes.append(UInt8(ascii: ":"))
                Self.append(member.value, to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.append(value, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        default: bytes.append(contentsOf: value.serialized)
        }
    }
}
