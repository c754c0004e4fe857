import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The short form of a sign-in's payload, for a QR code that a camera reads at once from an arm's length.
///
///     CS1 $ LOGIN+BANK+EXAMPLE%8443 $ AEBAGBAFAYDQQCIKBMGA2DQPCAIREEYUCULBOGAZDINRYHI6D4QA
///     │     │                         └ the token's 32 bytes in base 32 (RFC 4648, section 6), no padding
///     │     └ the server's host, and its port if it has one; `+` is a dot and `%` a colon
///     └ version 1 over https; CS1P over http
///
/// The phone redeems the token at `/token/redeem/authentication` of the host. All letters belong to the QR code's
/// alphanumeric mode (ISO/IEC 18004, section 7.4.4), in which a letter takes five and a half bits. The form has no dot,
/// colon or slash, so a camera finds no address to open.
enum CompactPayload {
    /// The separator between the parts. No other form of a payload contains this letter.
    static let separator = UInt8(ascii: "$")
    private static let path = "/token/redeem/authentication"
    private static let tokenBytes = 32
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    /// Returns the short form, or `nil` if the payload holds more than the short form can express.
    static func text(of payload: OutOfBandPayload) -> String? {
        let address = payload.redeemData.redeemURL
        guard payload.data == nil, address.path().hasSameBytes(as: self.path), address.query() == nil,
            let host = address.host(), let token = Base64URL.decode(payload.redeemData.token),
            token.count == self.tokenBytes, let version = self.version(ofScheme: address.scheme ?? "")
        else { return nil }
        let port = address.port.map { ":\($0)" } ?? ""
        guard let place = self.written(host + port) else { return nil }
        let text = "\(version)$\(place)$\(self.base32(token))"
        // The short form has no letters for some parts, such as an address in brackets. Such a part reads back as
        // another part.
        return (try? self.redeemData(text)) == payload.redeemData ? text : nil
    }

    /// Reads the short form. Throws `malformedPayload`, and `unsupportedVersion` for the version of a later server.
    static func redeemData(_ text: String) throws(OutOfBandPayloadError) -> OutOfBandPayload.RedeemData {
        let parts = text.utf8.split(separator: self.separator, omittingEmptySubsequences: false)
        guard text.utf8.count <= 512, parts.count == 3 else {
            throw OutOfBandPayloadError(.malformedPayload, "not three parts")
        }
        let version = String(Substring(parts[0]))
        guard let scheme = self.scheme(ofVersion: version) else {
            let isOurs = parts[0].starts(with: "CS".utf8)
            throw OutOfBandPayloadError(isOurs ? .unsupportedVersion : .malformedPayload, "not a version that is known")
        }
        guard let place = self.read(parts[1]), let token = self.bytes(base32: parts[2]),
            let address = URL(string: "\(scheme)://\(place)\(self.path)", encodingInvalidCharacters: false)
        else { throw OutOfBandPayloadError(.malformedPayload, "no host or no token") }
        return try OutOfBandPayload.RedeemData(token: Base64URL.encode(token), redeemURL: address)
    }

    private static func version(ofScheme scheme: String) -> String? {
        if scheme.hasSameBytes(as: "https") { return "CS1" }
        return scheme.hasSameBytes(as: "http") ? "CS1P" : nil
    }

    private static func scheme(ofVersion version: String) -> String? {
        if version.hasSameBytes(as: "CS1") { return "https" }
        return version.hasSameBytes(as: "CS1P") ? "http" : nil
    }

    // MARK: The host

    /// Returns a host in the letters of the short form; `nil` if the host is not a lower-case name with an optional
    /// port.
    private static func written(_ place: String) -> String? {
        var letters: [UInt8] = []
        for letter in place.utf8 {
            switch letter {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): letters.append(letter - 32)
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): letters.append(letter)
            case UInt8(ascii: "."): letters.append(UInt8(ascii: "+"))
            case UInt8(ascii: ":"): letters.append(UInt8(ascii: "%"))
            default: return nil
            }
        }
        return String(decoding: letters, as: UTF8.self)
    }

    private static func read(_ place: Substring.UTF8View) -> String? {
        var letters: [UInt8] = []
        for letter in place {
            switch letter {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): letters.append(letter + 32)
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): letters.append(letter)
            case UInt8(ascii: "+"): letters.append(UInt8(ascii: "."))
            case UInt8(ascii: "%"): letters.append(UInt8(ascii: ":"))
            default: return nil
            }
        }
        return String(decoding: letters, as: UTF8.self)
    }

    // MARK: The token

    private static func base32(_ bytes: [UInt8]) -> String {
        var letters: [UInt8] = []
        var (buffer, bits) = (0, 0)
        for byte in bytes {
            (buffer, bits) = (buffer << 8 | Int(byte), bits + 8)
            while bits >= 5 {
                bits -= 5
                letters.append(self.alphabet[buffer >> bits & 31])
            }
            buffer &= 1 << bits - 1
        }
        if bits > 0 { letters.append(self.alphabet[buffer << (5 - bits) & 31]) }
        return String(decoding: letters, as: UTF8.self)
    }

    /// Returns the token's bytes; `nil` for other letters, another length, or remaining bits that are not zero.
    private static func bytes(base32 letters: Substring.UTF8View) -> [UInt8]? {
        guard letters.count == (self.tokenBytes * 8 + 4) / 5 else { return nil }
        var bytes: [UInt8] = []
        var (buffer, bits) = (0, 0)
        for letter in letters {
            guard let value = self.alphabet.firstIndex(of: letter) else { return nil }
            (buffer, bits) = (buffer << 5 | value, bits + 5)
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
                buffer &= 1 << bits - 1
            }
        }
        return buffer == 0 ? bytes : nil
    }
}

extension OutOfBandPayload {
    /// The short form for a QR code that a person scans in the app. The text contains the token.
    ///
    /// `nil` if the payload has further `data`, if the token is not 32 bytes in base64url, or if the address is not
    /// `/token/redeem/authentication` of a host whose name has only lower-case ASCII letters, digits, hyphens and dots.
    /// ``init(scanned:agreeing:)`` reads the form. A link that carries the form still counts as a link, like a link with any
    /// other form.
    public var compact: String? { CompactPayload.text(of: self) }
}
