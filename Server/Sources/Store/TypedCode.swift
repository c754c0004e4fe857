public import _Primitives

/// Letters that a person reads in one place and types in another: Crockford's base 32, without look-alikes.
public struct TypedCode: Sendable, Equatable {
    /// The letters alone: what digests are made of.
    public let letters: String

    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// A new code. Each of its letters carries five random bits.
    public init(letters count: Int, random: RandomSource) { self.init(of: random.bytes(count)) }

    /// The code of some bytes: five bits of each byte are a letter.
    public init(of bytes: some Collection<UInt8>) {
        self.letters = String(decoding: bytes.map { Self.alphabet[Int($0 & 31)] }, as: UTF8.self)
    }

    /// What somebody has typed; `nil` where no code of so many letters reads like that.
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

    /// What is meant by a text that somebody has typed: case, dashes and spaces do not matter, and O, I and L are what they
    /// look like. Whether it is a code of ours is not asked.
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
