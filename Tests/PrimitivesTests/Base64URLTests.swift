import Testing
import _Primitives

@Suite("RFC 4648, section 5: base64url without padding")
struct Base64URLTests {
    /// The vectors of section 10, and bytes whose letters differ between the two alphabets of sections 4 and 5.
    static let vectors: [(bytes: [UInt8], text: String)] = [
        ([], ""),
        (Array("f".utf8), "Zg"),
        (Array("fo".utf8), "Zm8"),
        (Array("foo".utf8), "Zm9v"),
        (Array("foob".utf8), "Zm9vYg"),
        (Array("fooba".utf8), "Zm9vYmE"),
        (Array("foobar".utf8), "Zm9vYmFy"),
        ([0xFB, 0xFF, 0xBF], "-_-_"),
        ([0x03, 0xEC, 0xFF, 0xE0, 0xC1], "A-z_4ME"),
    ]

    @Test("Writes the published vectors", arguments: vectors)
    func writes(bytes: [UInt8], text: String) { #expect(Base64URL.encode(bytes) == text) }

    @Test("Reads the published vectors", arguments: vectors)
    func reads(bytes: [UInt8], text: String) {
        #expect(Base64URL.decode(text) == bytes)
        #expect(Base64URL.decode(utf8: Array(text.utf8)) == bytes)
    }

    @Test(
        "Refuses every other spelling",
        arguments: [
            "Zg==", "Zm8=", "=", "Z", "Zm9vY", "Zm 9v", "Zm9v\n", " Zm9v", "+/+/", "Zm9v.", "Zé", "Zm9\u{0}",
            // The unused bits of the last letter are not zero.
            "Zh", "Zm9", "Zm9vYh", "__",
        ])
    func refuses(text: String) { #expect(Base64URL.decode(text) == nil) }

    @Test func everyLengthComesBackAsItWas() {
        let random = RandomSource.repeatable(seed: 4648)
        for count in 0...300 {
            let bytes = random.bytes(count)
            let text = Base64URL.encode(bytes)
            #expect(text.utf8.count == (count * 4 + 2) / 3)
            #expect(Base64URL.decode(text) == bytes)
        }
    }

    @Test("A letter outside the alphabet is found wherever it stands", arguments: 1...13)
    func foundEverywhere(count: Int) {
        let letters = Array(repeating: UInt8(ascii: "A"), count: count)
        for place in letters.indices {
            for other: UInt8 in [0x00, UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "/"), 0x80, 0xFF] {
                var damaged = letters
                damaged[place] = other
                #expect(Base64URL.decode(utf8: damaged) == nil)
            }
        }
        #expect((Base64URL.decode(utf8: letters) == nil) == (count % 4 == 1))
    }

    @Test func bytesHaveOneSpelling() {
        // Whatever two letters are read: writing what was read gives the same two letters.
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                guard let bytes = Base64URL.decode(utf8: [first, second]) else { continue }
                #expect(Array(Base64URL.encode(bytes).utf8) == [first, second])
            }
        }
        let spellings = (UInt8.min...UInt8.max).filter { Base64URL.decode(utf8: [UInt8(ascii: "A"), $0]) != nil }
        #expect(spellings.map { Character(Unicode.Scalar($0)) } == ["A", "Q", "g", "w"])
    }
}
