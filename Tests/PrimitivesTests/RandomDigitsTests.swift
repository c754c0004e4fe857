import Synchronization
import Testing
import _Primitives

@Suite("Operations parity 91: the digits that people type are drawn without a preference")
struct RandomDigitsTests {
    /// Repeatable bytes (SplitMix64).
    private final class Seeded: Sendable {
        private let state: Mutex<UInt64>

        init(_ seed: UInt64) { self.state = Mutex(seed) }

        var source: RandomSource { RandomSource { count in (0..<count).map { _ in self.next() } } }

        private func next() -> UInt8 {
            self.state.withLock { state in
                state &+= 0x9E37_79B9_7F4A_7C15
                var word = state
                word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
                word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
                return UInt8(truncatingIfNeeded: word ^ (word >> 31))
            }
        }
    }

    /// Returns chi-squared of counts against equal expectations.
    private static func chiSquared(_ counts: [Int]) -> Double {
        let expected = Double(counts.reduce(0, +)) / Double(counts.count)
        return counts.reduce(0) { $0 + (Double($1) - expected) * (Double($1) - expected) / expected }
    }

    @Test("a million seeded draws of six digits fit a uniform distribution, as a whole and at each place")
    func uniform() {
        let random = Seeded(20_261_130).source
        var wholes = [Int](repeating: 0, count: 1000)
        var places = [[Int]](repeating: [Int](repeating: 0, count: 10), count: 6)
        for _ in 0..<1_000_000 {
            let digits = random.digits(6).utf8.map { Int($0) - 0x30 }
            wholes[digits[0] * 100 + digits[1] * 10 + digits[2]] += 1
            for (place, digit) in digits.enumerated() { places[place][digit] += 1 }
        }
        // The bounds that a uniform distribution passes once in ten thousand: 999 and 9 degrees of freedom.
        #expect(Self.chiSquared(wholes) < 1174)
        for counts in places { #expect(Self.chiSquared(counts) < 33.8) }
    }

    @Test("a number has all its digits, also the zeros before it", arguments: [1, 6, 18])
    func length(count: Int) {
        for seed in 0..<200 as Range<UInt64> { #expect(Seeded(seed).source.digits(count).utf8.count == count) }
        let zero = RandomSource { [UInt8](repeating: 0, count: $0) }
        #expect(zero.digits(count) == String(repeating: "0", count: count))
    }
}
