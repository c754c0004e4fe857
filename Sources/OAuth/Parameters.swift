import _Primitives

/// The parameters of an OAuth request, from a query or an `application/x-www-form-urlencoded` body.
///
/// Reading is strict (RFC 6749, sections 3.1, 3.2 and appendix B). Two hexadecimal digits follow each percent sign. The
/// result is UTF-8 without control characters, and has no more combining marks in a row than a text may have. No name
/// occurs twice, unless the parameter's own specification allows this; names are equal if their bytes are equal. A
/// parameter without a value counts as absent.
public struct Parameters: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// The limits of the requests that are accepted.
    public struct Limits: Sendable {
        /// The most bytes of the encoded text.
        public var bytes: Int
        /// The most parameters.
        public var count: Int

        /// Creates limits, by default of 8 KiB and 64 parameters.
        public init(bytes: Int = 8192, count: Int = 64) {
            self.bytes = bytes
            self.count = count
        }
    }

    /// The parameters with a value, in their order.
    public private(set) var members: [(name: String, value: String)] = []

    /// Creates parameters for writing, in this order.
    public init(_ members: KeyValuePairs<String, String>) {
        for (name, value) in members { self.members.append((name, value)) }
    }

    /// Creates parameters as ``init(_:)``.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { self.members.append((name, value)) }
    }

    /// Adds a parameter for writing after the other parameters.
    public mutating func append(_ name: String, _ value: String) { self.members.append((name, value)) }

    /// Reads the encoded text, without a leading question mark.
    ///
    /// - Parameter repeatable: The names that may occur more than once, such as `resource` (RFC 8707, section 2) and
    ///   `audience` (RFC 8693, section 2.1).
    /// - Throws: ``OAuthError`` `invalid_request`.
    public init(parsing text: some StringProtocol, limits: Limits = Limits(), repeating repeatable: [String] = [])
        throws(OAuthError)
    {
        guard text.utf8.count <= limits.bytes else {
            throw OAuthError(.invalidRequest, "The request is too long.", detail: "\(text.utf8.count) bytes")
        }
        var seen: Set<ExactText> = []
        var count = 0
        for pair in text.utf8.split(separator: UInt8(ascii: "&")) {
            let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            let name = try FormEncoding.decode(pair[..<equals])
            let value = try FormEncoding.decode(equals == pair.endIndex ? pair[equals...] : pair[equals...].dropFirst())
            guard !name.isEmpty else {
                throw OAuthError(.invalidRequest, "A parameter has no name.")
            }
            guard seen.insert(ExactText(name)).inserted || repeatable.containsBytes(of: name) else {
                throw OAuthError(.invalidRequest, "A parameter occurs twice.", detail: String(name.prefix(64)))
            }
            count += 1
            guard count <= limits.count else {
                throw OAuthError(.invalidRequest, "There are too many parameters.")
            }
            if !value.isEmpty { self.members.append((name, value)) }
        }
    }

    /// Returns the value of a parameter, the first value if the parameter is repeated; `nil` if the parameter is absent
    /// or empty.
    public subscript(name: String) -> String? { self.members.first { $0.name.hasSameBytes(as: name) }?.value }

    /// Returns all values of a parameter that may occur more than once, in their order.
    public func values(_ name: String) -> [String] {
        self.members.compactMap { $0.name.hasSameBytes(as: name) ? $0.value : nil }
    }

    /// Returns the value of a required parameter. Throws ``OAuthError`` `invalid_request`.
    public func required(_ name: String) throws(OAuthError) -> String {
        guard let value = self[name] else { throw OAuthError(.invalidRequest, "The parameter \(name) is missing.") }
        return value
    }

    /// Returns a form body with the missing encoding added: raw spaces and raw letters beyond ASCII, as `curl -d
    /// "scope=openid profile"` sends them.
    ///
    /// Control characters stay unchanged, and ``init(parsing:limits:repeating:)`` refuses them. A query needs no such
    /// treatment, because an address cannot have such letters.
    public static func encodingRest(ofForm text: String) -> String {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: " ") || $0 >= 0x80 }) else { return text }
        var letters: [UInt8] = []
        for byte in text.utf8 {
            if byte == UInt8(ascii: " ") {
                letters.append(UInt8(ascii: "+"))
            } else if byte >= 0x80 {
                letters.append(UInt8(ascii: "%"))
                letters.append(contentsOf: FormEncoding.hexadecimal(byte))
            } else {
                letters.append(byte)
            }
        }
        return String(decoding: letters, as: UTF8.self)
    }

    /// The encoded text, for a query or a body.
    public var encoded: String {
        self.members.map { FormEncoding.encode($0.name) + "=" + FormEncoding.encode($0.value) }.joined(separator: "&")
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.members.elementsEqual(right.members) {
            $0.name.hasSameBytes(as: $1.name) && $0.value.hasSameBytes(as: $1.value)
        }
    }

    public func hash(into hasher: inout Hasher) {
        for member in self.members {
            member.name.hashBytes(into: &hasher)
            member.value.hashBytes(into: &hasher)
        }
    }
}

/// The encoding `application/x-www-form-urlencoded`, as in RFC 6749, appendix B.
enum FormEncoding {
    /// Decodes one name or value. Refuses wrong escapes, raw bytes that are not visible ASCII, text that is not UTF-8,
    /// and control characters.
    static func decode(_ letters: some Collection<UInt8>) throws(OAuthError) -> String {
        let encoded = Array(letters)
        // Nearly every name and value needs no decoding.
        if encoded.allSatisfy(Self.isUnreserved) { return String(decoding: encoded, as: UTF8.self) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(encoded.count)
        var rest = encoded[...]
        while let letter = rest.popFirst() {
            switch letter {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(Self.digit), let low = rest.popFirst().flatMap(Self.digit)
                else { throw OAuthError(.invalidRequest, "A percent sign is not followed by two digits.") }
                bytes.append(high << 4 | low)
            case 0x21...0x7E: bytes.append(letter)
            default: throw OAuthError(.invalidRequest, "A character is not encoded.")
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw OAuthError(.invalidRequest, "A parameter is not UTF-8.")
        }
        guard Self.isText(text) else {
            throw OAuthError(.invalidRequest, "A parameter has a control character.")
        }
        guard text.isStreamSafe else {
            throw OAuthError(.invalidRequest, "A parameter has more combining marks in a row than a text has.")
        }
        return text
    }

    /// Returns `true` if a text has no control character.
    static func isText(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
    }

    /// Encodes all characters but the unreserved characters of RFC 3986, section 2.3.
    static func encode(_ text: String) -> String {
        var letters: [UInt8] = []
        for byte in text.utf8 {
            if Self.isUnreserved(byte) {
                letters.append(byte)
            } else {
                letters.append(UInt8(ascii: "%"))
                letters.append(contentsOf: Self.hexadecimal(byte))
            }
        }
        return String(decoding: letters, as: UTF8.self)
    }

    static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    static func digit(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): letter - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): letter - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): letter - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    static func hexadecimal(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [digits[Int(byte >> 4)], digits[Int(byte & 0x0F)]]
    }
}
