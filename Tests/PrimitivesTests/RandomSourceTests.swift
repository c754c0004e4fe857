import Synchronization
import Testing
import _Primitives

@Suite("Randomness behind one seam")
struct RandomSourceTests {
    /// Hands out these numbers as eight bytes each.
    private func source(of numbers: [UInt64]) -> RandomSource {
        let rest = Mutex(numbers)
        return RandomSource { count in
            let number = rest.withLock { $0.removeFirst() }
            return (0..<count).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * (count - 1 - $0))) }
        }
    }

    @Test func numbersStayBelowTheirBound() {
        let random = RandomSource.repeatable(seed: 3)
        for bound in [1, 2, 3, 10, 1_000_000, UInt64.max / 2 + 2, .max] as [UInt64] {
            for _ in 0..<200 { #expect(random.number(below: bound) < bound) }
        }
    }

    @Test func everyNumberComesUp() {
        let random = RandomSource.repeatable(seed: 5)
        var counts = [Int](repeating: 0, count: 10)
        for _ in 0..<10_000 { counts[Int(random.number(below: 10))] += 1 }
        #expect(counts.allSatisfy { (850...1150).contains($0) })
    }

    @Test func theUnevenRestIsDrawnAgain() {
        // 2^64 is 6 more than a multiple of 10: the last numbers would make 0 to 5 likelier.
        #expect(self.source(of: [.max, .max - 5, 17]).number(below: 10) == 7)
        #expect(self.source(of: [.max - 6]).number(below: 10) == 9)
    }

    @Test func tokensHoldTheBytesAsked() {
        #expect(RandomSource.system.token().utf8.count == 43)
        #expect(Base64URL.decode(RandomSource.system.token(byteCount: 16))?.count == 16)
        #expect(RandomSource { Array(repeating: 0xFF, count: $0) }.token(byteCount: 3) == "____")
    }

    @Test func theSystemGivesAsManyBytesAsAsked() {
        for count in Array(0...40) + [255, 256, 257, 512, 513, 1000] {
            #expect(RandomSource.system.bytes(count).count == count)
        }
    }

    @Test func everyPartOfManyBytesIsRandom() {
        let bytes = RandomSource.system.bytes(1000)
        let parts = stride(from: 0, to: 1000, by: 20).map { Array(bytes[$0..<($0 + 20)]) }
        #expect(Set(parts).count == 50)
        #expect(!parts.contains([UInt8](repeating: 0, count: 20)))
    }

    @Test func theSystemDoesNotRepeatItself() {
        let tokens = Set((0..<1000).map { _ in RandomSource.system.token() })
        #expect(tokens.count == 1000)
    }

    @Test("an identifier begins with a letter, whatever the source gives, and is 22 letters long")
    func identifiersBeginWithALetter() throws {
        for first in UInt8.min...UInt8.max {
            let identifier = RandomSource { [first] + [UInt8](repeating: 0xFB, count: $0 - 1) }.identifier()
            #expect(identifier.utf8.count == 22)
            #expect(try #require(identifier.first).isLetter)
        }
        #expect(RandomSource.system.identifier() != RandomSource.system.identifier())
    }
}
