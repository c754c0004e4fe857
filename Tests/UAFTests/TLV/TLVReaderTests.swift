import Testing
import UAF

@Suite("uaf-sections §3: TLV items")
struct TLVReaderTests {
    private static func read(_ bytes: [UInt8]) throws(UAFError) -> [TLVField] {
        var reader = TLVReader(bytes[...])
        var fields: [TLVField] = []
        while let field = try reader.readNext() { fields.append(field) }
        try reader.finish()
        return fields
    }

    @Test("Tags and lengths are little-endian")
    func littleEndian() throws {
        var writer = TLVWriter()
        try writer.append(.keyID, bytes(0x0102, 5))
        #expect(Array(writer.bytes.prefix(4)) == [0x09, 0x2E, 0x02, 0x01])
        let fields = try Self.read(writer.bytes)
        #expect(fields.count == 1)
        #expect(fields[0].tag == .keyID)
        #expect(Array(fields[0].value) == bytes(0x0102, 5))
        #expect(Array(fields[0].encoded) == writer.bytes)
    }

    @Test("Nothing is a sequence of no items")
    func nothing() throws {
        #expect(try Self.read([]).isEmpty)
    }

    @Test("An empty value is a value")
    func emptyValue() throws {
        #expect(try Self.read([0x10, 0x2E, 0x00, 0x00]).map(\.value.count) == [0])
    }

    @Test(
        "Bytes that end too early are refused",
        arguments: [
            [0x09], [0x09, 0x2E], [0x09, 0x2E, 0x01], [0x09, 0x2E, 0x01, 0x00], [0x09, 0x2E, 0x04, 0x00, 0xAA],
            [0x09, 0x2E, 0xFF, 0xFF, 0xAA], [0x10, 0x2E, 0x00, 0x00, 0x01],
        ] as [[UInt8]])
    func truncated(bytes: [UInt8]) {
        #expect(throws: UAFError(.truncatedField)) { try Self.read(bytes) }
    }

    @Test("A reader that expects another tag says so, and one at the end misses it")
    func expecting() {
        #expect(throws: UAFError(.unexpectedTag)) {
            var reader = TLVReader([0x09, 0x2E, 0x00, 0x00])
            _ = try reader.readField(expecting: .aaid)
            try reader.finish()
        }
        #expect(throws: UAFError(.missingTag)) {
            var reader = TLVReader([])
            _ = try reader.readField(expecting: .aaid)
            try reader.finish()
        }
    }

    @Test("Bytes that are left over are refused")
    func trailing() {
        #expect(throws: UAFError(.trailingBytes)) {
            var reader = TLVReader([0x09, 0x2E, 0x00, 0x00, 0x01])
            _ = try reader.readField(expecting: .keyID)
            let isAtEnd = reader.isAtEnd
            #expect(!isAtEnd)
            try reader.finish()
        }
    }

    @Test("A reader works within a slice whose indexes do not begin at zero")
    func slice() throws {
        let bytes: [UInt8] = [0xFF, 0xFF, 0x09, 0x2E, 0x01, 0x00, 0xAB]
        var reader = TLVReader(bytes[2...])
        let field = try reader.readField(expecting: .keyID)
        #expect(Array(field.value) == [0xAB])
        let isAtEnd = reader.isAtEnd
        #expect(isAtEnd)
        try reader.finish()
    }

    @Test("A value of 65,535 bytes can be written, a longer one not")
    func longest() throws {
        var writer = TLVWriter()
        try writer.append(.keyID, bytes(65535))
        #expect(try Self.read(writer.bytes)[0].value.count == 65535)
        #expect(throws: UAFError(.invalidLength)) {
            var writer = TLVWriter()
            try writer.append(.keyID, bytes(65536))
        }
    }

    @Test("A composite holds what was written into it")
    func composite() throws {
        var writer = TLVWriter()
        try writer.append(.signedData) { (inner) throws(UAFError) in
            try inner.append(.keyID, [1])
            inner.append(encoded: [0x0B, 0x2E, 0x00, 0x00])
        }
        let root = try Self.read(writer.bytes)[0]
        #expect(try Self.read(Array(root.value)).map(\.tag) == [.keyID, .aaid])
    }

    @Test("Writing and reading are inverse, whatever the items", arguments: 0..<50)
    func roundTrip(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var writer = TLVWriter()
        var expected: [(TLVTag, [UInt8])] = []
        for _ in 0..<Int.random(in: 0...8, using: &random) {
            let tag = TLVTag(rawValue: UInt16.random(in: 0...0xFFFF, using: &random))
            let value = random.bytes(Int.random(in: 0...300, using: &random))
            expected.append((tag, value))
            try writer.append(tag, value)
        }
        let fields = try Self.read(writer.bytes)
        #expect(fields.map(\.tag) == expected.map(\.0))
        #expect(fields.map { Array($0.value) } == expected.map(\.1))
        #expect(fields.flatMap { Array($0.encoded) } == writer.bytes)
    }

    @Test("A reader sees nothing of the bytes around its part", arguments: 0..<100)
    func surroundings(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let part = random.bytes(Int.random(in: 0...40, using: &random)).map { $0 & 0x0F }
        /// What a reader makes of the part: its items, and whether it refused the rest.
        func read(_ before: [UInt8], _ after: [UInt8]) -> (items: [[UInt8]], refused: Bool) {
            let all = before + part + after
            var reader = TLVReader(all[before.count..<(before.count + part.count)])
            var items: [[UInt8]] = []
            do {
                while let item = try reader.readNext() { items.append(Array(item.encoded)) }
                try reader.finish()
                return (items, false)
            } catch { return (items, true) }
        }
        let alone = read([], [])
        for _ in 0..<5 {
            let found = read(random.bytes(7), random.bytes(300))
            #expect(found.items == alone.items && found.refused == alone.refused)
        }
        let taken = alone.items.flatMap { $0 }
        #expect(part.starts(with: taken) && (alone.refused || taken == part))
    }
}
