import _Primitives

/// Readings of the standard that a strict server does not make: others write so, and some products rely on it.
///
/// All are off by default. Each is named after the row of §18 that describes it, or after its section where no row does.
/// Whatever is read leniently, the hash of the final challenge is that of the letters that were sent (§18, row 1).
public struct LenientReadings: Hashable, Sendable {
    /// Row 2: base64url may have padding, white space, and the letters `+` and `/`.
    public var row2Base64 = false
    /// Row 3: an assertion's signed data may stand behind its signature or attestation.
    public var row3SignedDataAnywhere = false
    /// Row 18: certificates of an attestation may be expired or not valid yet.
    public var row18ExpiredCertificates = false
    /// Row 20: the issuer of a certificate of an attestation may lack the extension that says so, or be of X.509 version 1.
    public var row20UnmarkedIssuers = false
    /// Row 21: tags of vendors that may be skipped though their number says that they must be understood.
    public var row21VendorTags: Set<TLVTag> = []
    /// Row 26: an authenticator's random bytes may be fewer than eight, or none.
    public var row26ShortNonces = false
    /// Section 2.1: the final challenge may say nothing of the channel, which then counts as an empty binding.
    public var section2NoChannelBinding = false
    /// Section 7.1: the caller may be empty. Nobody knows then who called: only the AppID is checked.
    public var section7EmptyFacetID = false
    /// Section 14: a text to be confirmed may be longer than 200 characters, and of any characters.
    public var section14AnyText = false

    /// The strict readings, in all of them.
    public init() {}

    /// The bytes of a text by the strict rule or by row 2.
    func base64URL(_ text: String) -> [UInt8]? {
        self.row2Base64 ? Self.anyBase64(text) : Base64URL.decode(text)
    }

    /// Base64 of either alphabet, with or without padding and white space.
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
