import Settings
public import _Primitives

/// A code that a person reads in one place and types in another: letters of Crockford's base 32, without look-alikes.
public struct TypedCode: Sendable, Equatable {
    /// The letters alone. Digests are made of these letters.
    public let letters: String

    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// Makes a new code of `count` letters. Each letter carries five random bits.
    public init(letters count: Int, random: RandomSource) { self.init(of: random.bytes(count)) }

    /// Makes the code of some bytes: five bits of each byte are a letter.
    public init(of bytes: some Collection<UInt8>) {
        self.letters = String(decoding: bytes.map { Self.alphabet[Int($0 & 31)] }, as: UTF8.self)
    }

    /// Reads a code that a person has typed; `nil` if the text is not a code of `count` letters.
    public init?(typed text: String, letters count: Int) {
        let letters = Self.letters(of: text)
        guard letters.utf8.count == count, letters.utf8.allSatisfy(Self.alphabet.contains) else { return nil }
        self.letters = letters
    }

    /// The code in two halves with a dash.
    public var shown: String {
        let half = self.letters.count / 2
        return "\(self.letters.prefix(half))-\(self.letters.dropFirst(half))"
    }

    /// Returns the letters that a person means by a typed text: case, dashes and spaces do not matter, and O, I and L
    /// count as the digits that they look like. The function does not check that the letters are a code of this server.
    public static func letters(of text: String) -> String {
        var letters: [UInt8] = []
        for byte in text.utf8.prefix(Limits.Fixed.typedCodeCharacters) {
            switch byte {
            case UInt8(ascii: "-"), UInt8(ascii: " "): continue
            case UInt8(ascii: "o"), UInt8(ascii: "O"): letters.append(UInt8(ascii: "0"))
            case UInt8(ascii: "i"), UInt8(ascii: "I"), UInt8(ascii: "l"), UInt8(ascii: "L"):
                letters.append(UInt8(ascii: "1"))
            case UInt8(ascii: "a")...UInt8(ascii: "z"): letters.append(byte - 32)
            default: letters.append(byte)
            }
        }
        return String(decoding: letters, as: UTF8.self)
    }
}
