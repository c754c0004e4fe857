import Ceremony
import Testing
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite("A payload's short form, for the sign-in page's QR code")
struct CompactPayloadTests {
    private static let token = Base64URL.encode(Array(0..<32 as Range<UInt8>))
    private static let letters = "AAAQEAYEAUDAOCAJBIFQYDIOB4IBCEQTCQKRMFYYDENBWHA5DYPQ"

    private static func payload(
        _ address: String = "https://id.example.com/token/redeem/authentication", token: String = Self.token,
        data: String? = nil
    ) throws -> OutOfBandPayload {
        try OutOfBandPayload(
            redeemData: .init(token: token, redeemURL: try #require(URL(string: address))), data: data)
    }

    @Test("It names version, host and token in letters that a QR code packs tightly, and nothing that could be opened")
    func form() throws {
        let text = try #require(try Self.payload().compact)
        #expect(text == "CS1$ID+EXAMPLE+COM$\(Self.letters)")
        let plain = try Self.payload("http://localhost:8080/token/redeem/authentication").compact
        #expect(plain == "CS1P$LOCALHOST%8080$\(Self.letters)")
        for letter in text { #expect("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-".contains(letter)) }
    }

    @Test("It is read as the payload that it was made of, and as one from a link where a link brought it")
    func readBack() throws {
        var random = SystemRandomNumberGenerator()
        for place in ["id.example.com", "a-b.example:8443", "localhost", "127.0.0.1:65535", "xn--bcher-kva.example"] {
            for scheme in ["https", "http"] {
                let bytes = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
                let payload = try Self.payload(
                    "\(scheme)://\(place)/token/redeem/authentication", token: Base64URL.encode(bytes))
                let text = try #require(payload.compact)
                let read = try OutOfBandPayload(scanned: text)
                #expect(read == payload && !read.isFromLink && read.compact == text)
                let escaped = text.replacing("%", with: "%25")
                let linked = try OutOfBandPayload(link: "https://x.example/open?dispatchTokenResponse=\(escaped)")
                #expect(linked == payload && linked.isFromLink)
            }
        }
    }

    @Test("Only a scanner takes it: it is neither base64url nor JSON nor a link by itself")
    func fromAScanAlone() throws {
        let text = try #require(try Self.payload().compact)
        #expect(throws: OutOfBandPayloadError(.malformedPayload, "")) { try OutOfBandPayload(base64URLEncoded: text) }
        #expect(throws: OutOfBandPayloadError(.malformedPayload, "")) { try OutOfBandPayload(json: text) }
        #expect(throws: OutOfBandPayloadError(.malformedPayload, "")) { try OutOfBandPayload(link: text) }
    }

    @Test("What it cannot say has no short form")
    func unfit() throws {
        for address in [
            "https://id.example.com/prefix/token/redeem/authentication",
            "https://id.example.com/token/redeem/registration",
            "https://id.example.com/token/redeem/authentication?x=1", "https://[::1]/token/redeem/authentication",
            "https://id_1.example.com/token/redeem/authentication",
        ] {
            #expect(try Self.payload(address).compact == nil, "\(address)")
        }
        #expect(try Self.payload(token: "ABCDE-FGHJK").compact == nil)
        #expect(try Self.payload(token: Base64URL.encode([UInt8](repeating: 1, count: 31))).compact == nil)
        #expect(try Self.payload(data: #"{"more":1}"#).compact == nil)
    }

    @Test("Every other text is refused, and a later version by its own code")
    func refused() throws {
        for text in [
            "CS1$ID+EXAMPLE+COM", "CS1$ID+EXAMPLE+COM$", "CS1$$\(Self.letters)", "CS1$%8443$\(Self.letters)",
            "CS1$id+example+com$\(Self.letters)", "CS1$ID.EXAMPLE.COM$\(Self.letters)", "CS1$A B$\(Self.letters)",
            "CS1$ID+EXAMPLE+COM$\(Self.letters)$", "CS1$ID+EXAMPLE+COM$\(Self.letters.dropLast())",
            "CS1$ID+EXAMPLE+COM$\(Self.letters)A", "CS1$ID+EXAMPLE+COM$\(Self.letters.dropLast())R",
            "CS1$ID+EXAMPLE+COM$\(Self.letters.lowercased())", "CS1$A%99999999$\(Self.letters)", "$$", "X$A$B",
            "CS1$\(String(repeating: "A", count: 500))$\(Self.letters)", "\u{212A}CS1$A$\(Self.letters)",
        ] {
            #expect(throws: OutOfBandPayloadError(.malformedPayload, ""), "\(text)") {
                try OutOfBandPayload(scanned: text)
            }
        }
        #expect(throws: OutOfBandPayloadError(.unsupportedVersion, "")) {
            try OutOfBandPayload(scanned: "CS2$ID+EXAMPLE+COM$\(Self.letters)")
        }
    }
}
