public import Crypto
public import _Primitives

/// The model of an authenticator: nine characters `HHHH#HHHH` (§1). Two spellings that differ in case are the same
/// AAID.
public struct AAID: Hashable, Sendable, CustomStringConvertible {
    /// The canonical spelling, in upper case.
    public let text: String

    /// Creates an AAID from text in either case. Throws ``UAFError/Code/invalidValue``.
    public init(_ text: some StringProtocol) throws(UAFError) { try self.init(ascii: Array(text.utf8)) }

    /// Creates an AAID from the nine ASCII bytes of TAG_AAID (§3.1), otherwise as ``init(_:)``.
    public init(ascii bytes: some Collection<UInt8>) throws(UAFError) {
        guard bytes.count == 9 else { throw UAFError(.invalidValue, "an AAID of \(bytes.count) bytes") }
        var letters: [UInt8] = []
        letters.reserveCapacity(9)
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9") where index != 4: letters.append(byte)
            case UInt8(ascii: "A")...UInt8(ascii: "F") where index != 4: letters.append(byte)
            case UInt8(ascii: "a")...UInt8(ascii: "f") where index != 4: letters.append(byte - 32)
            case UInt8(ascii: "#") where index == 4: letters.append(byte)
            default: throw UAFError(.invalidValue, "an AAID with a wrong letter at \(index)")
            }
        }
        self.text = String(decoding: letters, as: UTF8.self)
    }

    /// Creates an AAID from a text that is known to be canonical.
    init(uncheckedText: String) { self.text = uncheckedText }

    /// The first four letters: the vendor of the authenticator.
    public var vendorID: String { String(self.text.prefix(4)) }

    public var description: String { self.text }
}

/// The name of a key within its AAID: 32 to 2048 bytes (§1).
public struct KeyID: Hashable, Sendable, CustomStringConvertible {
    /// The bytes, as in TAG_KEYID.
    public let bytes: [UInt8]

    /// Creates a name from its bytes. Throws ``UAFError/Code/outOfRange``.
    public init(_ bytes: some Collection<UInt8>) throws(UAFError) {
        guard (32...2048).contains(bytes.count) else { throw UAFError(.outOfRange, "a KeyID of \(bytes.count) bytes") }
        self.bytes = Array(bytes)
    }

    /// Creates a name from base64url. Throws `invalidBase64URL` and `outOfRange`.
    public init(base64URL text: some StringProtocol) throws(UAFError) {
        guard let bytes = Base64URL.decode(text) else { throw UAFError(.invalidBase64URL, "keyID") }
        try self.init(bytes)
    }

    /// The name in base64url, for JSON messages.
    public var base64URL: String { Base64URL.encode(self.bytes) }

    public var description: String { self.base64URL }
}

/// The caller of the UAF client: a web origin or an app, 1 to 512 characters (§7.1).
///
/// Facet identifiers are compared by their bytes. Origins have to be in their normal form (lower-case host, no default
/// port, no path).
public struct FacetID: Hashable, Sendable, CustomStringConvertible {
    /// The identifier as text.
    public let text: String

    /// Creates an identifier. Throws ``UAFError/Code/outOfRange``.
    public init(_ text: String) throws(UAFError) {
        guard text.hasLength(in: 1...512) else {
            throw UAFError(.outOfRange, "a facetID of \(text.utf8.count) bytes")
        }
        self.text = text
    }

    private init(uncheckedText: String) { self.text = uncheckedText }

    /// An empty identifier, from a client that does not know its caller (``LenientReadings/section7EmptyFacetID``).
    public static let unknown = FacetID(uncheckedText: "")

    public var description: String { self.text }
    public static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }
    public func hash(into hasher: inout Hasher) { self.text.hashBytes(into: &hasher) }
}

/// A version of the protocol, the ASM or a product: major first, then minor (§2.1).
public struct Version: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The first number.
    public let major: UInt16
    /// The second number.
    public let minor: UInt16

    /// Creates a version from its two numbers.
    public init(major: UInt16, minor: UInt16) {
        self.major = major
        self.minor = minor
    }

    /// UAF 1.0. A client accepts messages of this version if so configured.
    public static let uaf10 = Version(major: 1, minor: 0)
    /// UAF 1.1, the version that this product speaks.
    public static let uaf11 = Version(major: 1, minor: 1)

    public static func < (left: Self, right: Self) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }

    public var description: String { "\(self.major).\(self.minor)" }
}

/// The server's random value that an answer must repeat: base64url of 8 to 64 bytes (§1).
///
/// Two challenges are equal if their texts are equal: the client copies the text and does not decode it (§18, row 24).
public struct Challenge: Hashable, Sendable, CustomStringConvertible {
    /// The base64url text, exactly as made or received.
    public let text: String

    /// Creates a challenge from its text. Throws `invalidBase64URL` and `outOfRange`.
    public init(_ text: String) throws(UAFError) {
        guard let bytes = Base64URL.decode(text) else { throw UAFError(.invalidBase64URL, "challenge") }
        guard (8...64).contains(bytes.count) else { throw UAFError(.outOfRange, "a challenge of \(bytes.count) bytes") }
        self.text = text
    }

    /// Creates a new challenge of 32 bytes.
    public init(random: RandomSource) { self.text = Base64URL.encode(random.bytes(32)) }

    /// Creates a challenge from the hash of data that both sides have.
    public init(hash: SHA256Digest) { self.text = Base64URL.encode(Array(hash)) }

    /// The bytes that the text encodes.
    public var bytes: [UInt8] { Base64URL.decode(self.text) ?? [] }

    /// Returns `true` if both challenges are the same. The comparison takes constant time.
    public func matches(_ other: Challenge) -> Bool { constantTimeEqual(self.text.utf8, other.text.utf8) }

    public var description: String { self.text }
}

extension String {
    /// Returns `true` if the text's number of characters (Unicode scalars, §1) is within `length`, with a lower bound
    /// of 0 or 1.
    func hasLength(in length: ClosedRange<Int>) -> Bool {
        // A scalar has at least one byte and at most four. Most texts therefore need no counting, and no long text is
        // counted.
        if self.utf8.count <= length.upperBound { return self.utf8.count >= length.lowerBound }
        return self.utf8.count / 4 <= length.upperBound && self.unicodeScalars.count <= length.upperBound
    }
}
