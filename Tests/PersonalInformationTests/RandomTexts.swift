/// Repeatable random numbers (SplitMix64), so that a failing run can be run again.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { self.state = seed }
    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var z = self.state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// Texts as people and attackers type them.
enum RandomTexts {
    private static let pieces = [
        "a", "Jo", "Müller", "Zoe\u{308}", "山田", "山田\u{3000}太郎", "שלום", "O’Neill", "-", ".", "@", "+49", "030", "1",
        " ", "\u{A0}", "\t", "\n", "\r\n", "\u{0}", "\u{1B}[31m", "\u{7F}", "\u{200B}", "\u{200D}", "\u{202E}",
        "\u{2066}",
        "\u{FEFF}", "\u{2028}", "\u{E000}", "\u{378}", "\u{34F}", "\u{115F}", "\u{301}", "\u{212A}", "\u{37E}",
        "\u{2126}",
        "\u{1F468}\u{200D}\u{1F469}", "\u{FE0F}", "example.com", "DE", "de", "female", "2001-05-01", "/", "(", ")", "",
    ]

    static func text(_ random: inout SeededGenerator) -> String {
        let count = Int.random(in: 0...6, using: &random)
        return (0..<count).map { _ in
            guard Int.random(in: 0..<8, using: &random) == 0 else {
                return Self.pieces.randomElement(using: &random) ?? ""
            }
            let scalar = Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &random)) ?? "x"
            return String(scalar)
        }.joined()
    }
}
