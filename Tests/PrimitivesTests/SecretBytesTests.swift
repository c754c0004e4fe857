import Synchronization
import Testing
import _Primitives

@Suite("Bytes that must not be shown")
struct SecretBytesTests {
    @Test func theBytesAreLentAsTheyWere() {
        let secret = SecretBytes([1, 2, 3])
        #expect(secret.count == 3)
        #expect(secret.withBytes { Array($0) } == [1, 2, 3])
        #expect(SecretBytes(utf8: "é").withBytes { Array($0) } == [0xC3, 0xA9])
    }

    @Test func noBytesAreASecretToo() {
        let empty = SecretBytes([UInt8]())
        #expect(empty.count == 0)
        #expect(empty.withBytes { $0.count } == 0)
        #expect(empty == SecretBytes(utf8: ""))
    }

    @Test func theyAreWrittenInTheirPlace() throws {
        struct Failure: Error {}
        let secret = SecretBytes(count: 3) { bytes in
            #expect(Array(bytes) == [0, 0, 0])
            bytes[1] = 7
        }
        #expect(secret.withBytes { Array($0) } == [0, 7, 0])
        #expect(throws: Failure.self) { try SecretBytes(count: 3) { _ in throw Failure() } }
    }

    @Test func equalityIsByBytes() {
        #expect(SecretBytes(utf8: "1234") == SecretBytes(utf8: "1234"))
        #expect(SecretBytes(utf8: "1234") != SecretBytes(utf8: "1235"))
        #expect(SecretBytes(utf8: "1234") != SecretBytes(utf8: "12345"))
    }

    /// Not a local type: those print an address, and an address may hold any digits.
    struct Holder { let pin: SecretBytes }

    @Test func nothingThatPrintsShowsThem() {
        let secret = SecretBytes(utf8: "8264")
        var dumped = ""
        dump(Holder(pin: secret), to: &dumped)
        let texts = [
            "\(secret)", secret.description, String(describing: secret), String(reflecting: secret), dumped,
            "\(Holder(pin: secret))", String(reflecting: Holder(pin: secret)), "\([secret])",
            String(describing: Optional(secret)),
        ]
        for text in texts {
            #expect(text.contains("SecretBytes"))
            #expect(!text.contains("8264"))
            // Nor as numbers.
            #expect(!text.contains("56, 50"))
        }
        #expect(Mirror(reflecting: secret).children.isEmpty)
    }

    @Test func anErrorOfTheBorrowerPassesThrough() {
        #expect(throws: JSONError(.missing, "")) {
            try SecretBytes([1]).withBytes { _ in throw JSONError(.missing, "x") }
        }
    }
}

@Suite("Comparison in constant time")
struct ConstantTimeTests {
    @Test func equalBytesAreEqualInAnyCollection() {
        #expect(constantTimeEqual([UInt8](), [UInt8]()))
        #expect(constantTimeEqual([1, 2, 3] as [UInt8], [0, 1, 2, 3].dropFirst() as ArraySlice<UInt8>))
        #expect(constantTimeEqual("abc".utf8, Array("abc".utf8)))
    }

    @Test func everySingleBitThatDiffersCounts() {
        let bytes = RandomSource.repeatable(seed: 7).bytes(32)
        for index in bytes.indices {
            for bit in 0..<8 {
                var other = bytes
                other[index] ^= 1 << UInt8(bit)
                #expect(!constantTimeEqual(bytes, other))
            }
        }
    }

    @Test func lengthsMustBeEqual() {
        #expect(!constantTimeEqual([1, 2] as [UInt8], [1, 2, 0] as [UInt8]))
        #expect(!constantTimeEqual([] as [UInt8], [0] as [UInt8]))
    }

    @Test func differencesThatWouldCancelOutAreSeen() {
        #expect(!constantTimeEqual([0xFF, 0xFF] as [UInt8], [0x00, 0x00] as [UInt8]))
        #expect(!constantTimeEqual([1, 2] as [UInt8], [2, 1] as [UInt8]))
    }

    @Test("What is looked at is the same wherever two differ, and where they do not")
    func looksAtAll() {
        let right = [UInt8](repeating: 7, count: 32)
        func looks(_ left: [UInt8]) -> Int {
            let counted = CountedBytes(left)
            _ = constantTimeEqual(counted, right)
            return counted.looks.count
        }
        let all = looks(right)
        #expect(all >= 32)
        for index in right.indices {
            var other = right
            other[index] ^= 0x80
            #expect(looks(other) == all, "byte \(index)")
        }
        #expect(looks([UInt8](repeating: 0, count: 32)) == all)
    }
}

/// Bytes that count how often one of them is looked at, in no memory of a piece.
private struct CountedBytes: RandomAccessCollection {
    let bytes: [UInt8]
    let looks = Looks()

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    final class Looks: Sendable {
        private let state = Mutex(0)
        var count: Int { self.state.withLock { $0 } }
        func note() { self.state.withLock { $0 += 1 } }
    }

    var startIndex: Int { 0 }
    var endIndex: Int { self.bytes.count }
    subscript(index: Int) -> UInt8 {
        self.looks.note()
        return self.bytes[index]
    }
}
