import _Primitives

/// Lenient readings of the standard, which a strict server does not use. Other products write such messages, and some
/// products rely on a lenient reading.
///
/// All readings are off by default. Each name refers to the row of §18 that describes the reading, or to its section if
/// no row does. Whatever reading applies, the hash of the final challenge is the hash of the received letters (§18, row
/// 1).
public struct LenientReadings: Hashable, Sendable {
    /// Row 2: base64url may have padding, white space, and the letters `+` and `/`.
    public var row2Base64 = false
    /// Row 3: an assertion's signed data may follow its signature or attestation.
    public var row3SignedDataAnywhere = false
    /// Row 18: certificates of an attestation may be expired or not yet valid.
    public var row18ExpiredCertificates = false
    /// Row 20: the issuer of an attestation certificate may lack the extension that marks an issuer, or may be of X.509
    /// version 1.
    public var row20UnmarkedIssuers = false
    /// Row 21: vendor tags that a reader may skip although their number forbids skipping.
    public var row21VendorTags: Set<TLVTag> = []
    /// Row 26: an authenticator's random bytes may be fewer than eight, or missing.
    public var row26ShortNonces = false
    /// Section 2.1: the final challenge may have no channel binding; a missing binding counts as an empty binding.
    public var section2NoChannelBinding = false
    /// Section 7.1: the caller may be empty. The caller is then unknown, and only the AppID is checked.
    public var section7EmptyFacetID = false
    /// Section 14: a text to confirm may be longer than 200 characters, and may have any characters.
    public var section14AnyText = false

    /// Creates strict readings, with every option off.
    public init() {}

    /// Returns the bytes of a text by the strict rule or by row 2.
    func base64URL(_ text: String) -> [UInt8]? {
        self.row2Base64 ? Self.anyBase64(text) : Base64URL.decode(text)
    }

    /// Returns the bytes of base64 in either alphabet, with or without padding and white space.
    static func anyBase64(_ text: String) -> [UInt8]? {
        var letters: [UInt8] = []
        letters.reserveCapacity(text.utf8.count)
        for letter in text.utf8 {
            switch letter {
            case UInt8(ascii: "+"): letters.append(UInt8(ascii: "-"))
            case UInt8(ascii: "/"): letters.append(UInt8(ascii: "_"))
            case UInt8(ascii: "="), 0x09, 0x0A, 0x0D, 0x20: continue
            default: letters.append(letter)
            }
        }
        return Base64URL.decode(utf8: letters)
    }
}
