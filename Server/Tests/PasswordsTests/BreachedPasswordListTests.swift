import Crypto
import Foundation
import Passwords
import Testing

/// A small text in the form of Have I Been Pwned's. The hashes are those of the passwords beside them; the counts are
/// invented.
enum BreachedFixture {
    static let passwords = ["password", "123456", "qwerty", "letmein", "iloveyou", "zażółć gęślą jaźń"]
    static let text = """
        3A55CB751932919151B4439EF1B73A3986CE1911:1\r
        5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:52256179\r
        7C4A8D09CA3762AF61E59520943DC26494F8941B:209972844\r
        B1B3773A05C0ED0176787A4F1574FF0075F7521E:22247203\r
        B7A875FC1EA228B9061041B7CEC4BD3C52AB3CE3:801642\r
        EE8D8728F435FD550F83852AABAB5234CE1DA528:5102312
        """

    /// A folder that goes with the test.
    static func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("passwords-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    /// The text of many hashes: those of the numbers below `count`.
    static func text(ofNumbersBelow count: Int) -> String {
        (0..<count).map { number in
            Insecure.SHA1.hash(data: Data("number \(number)".utf8)).map {
                String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
            }
            .joined() + ":\(number + 1)"
        }.sorted().joined(separator: "\n") + "\n"
    }
}

@Suite("Decision 27: a list of breached passwords is searched where it lies, and believed only where it is whole")
struct BreachedPasswordListTests {
    private func has(_ list: BreachedPasswordList, _ text: String) throws -> Bool {
        try list.contains(Password(typed: text))
    }

    @Test("The passwords of a list are in it, and no others")
    func fixture() throws {
        let list = try BreachedPasswordList(bytes: BreachedPasswordListBuilder.list(of: BreachedFixture.text.utf8))
        #expect(list.count == 6)
        for password in BreachedFixture.passwords { #expect(try self.has(list, password)) }
        for password in ["Password", "password ", "1234567", "a", "zazolc gesla jazn"] {
            #expect(try !self.has(list, password))
        }
        try list.verify()
    }

    @Test("It can leave out what was met rarely, and be empty")
    func fewest() throws {
        let often = try BreachedPasswordList(
            bytes: BreachedPasswordListBuilder.list(of: BreachedFixture.text.utf8, fewest: 1_000_000))
        #expect(often.count == 4)
        #expect(try self.has(often, "qwerty"))
        #expect(try !self.has(often, "letmein"))
        let none = try BreachedPasswordList(bytes: BreachedPasswordListBuilder.list(of: []))
        #expect(none.count == 0)
        #expect(try !self.has(none, "password"))
        try none.verify()
    }

    @Test(
        "A list of many blocks has each of its entries, at the ends of blocks as within",
        arguments: [510, 511, 512, 1022, 1023, 3000])
    func manyBlocks(count: Int) throws {
        try BreachedFixture.withFolder { folder in
            let (text, path) = (folder.appendingPathComponent("text").path, folder.appendingPathComponent("list").path)
            try BreachedFixture.text(ofNumbersBelow: count).write(toFile: text, atomically: true, encoding: .utf8)
            #expect(try BreachedPasswordListBuilder.build(from: text, to: path) == count)
            let list = try BreachedPasswordList(path: path)
            #expect(list.count == count)
            try list.verify()
            for number in 0..<count where try !self.has(list, "number \(number)") { Issue.record("\(number)") }
            for number in count..<count + 500 where try self.has(list, "number \(number)") { Issue.record("\(number)") }
            // What is made in memory is the same file.
            let bytes = try BreachedPasswordListBuilder.list(of: try Data(contentsOf: URL(fileURLWithPath: text)))
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(bytes))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["list", "text"])
        }
    }

    @Test("Whichever byte is damaged, no search gives an answer that the damage changed")
    func damage() throws {
        let count = 1200
        let whole = try BreachedPasswordListBuilder.list(of: BreachedFixture.text(ofNumbersBelow: count).utf8)
        var random = SystemRandomNumberGenerator()
        var refused = 0
        for _ in 0..<200 {
            var bytes = whole
            let index = Int.random(in: 0..<bytes.count, using: &random)
            bytes[index] ^= UInt8.random(in: 1...255, using: &random)
            guard let list = try? BreachedPasswordList(bytes: bytes) else {
                #expect(index < 4096)
                refused += 1
                continue
            }
            #expect(throws: BreachedListError.self) { try list.verify() }
            for number in stride(from: 0, to: count, by: 40) {
                do { if try !self.has(list, "number \(number)") { Issue.record("byte \(index)") } } catch {
                    refused += 1
                }
            }
        }
        #expect(refused > 200)
    }

    @Test("Blocks that changed places, another length and another file are damage")
    func otherFiles() throws {
        let whole = try BreachedPasswordListBuilder.list(of: BreachedFixture.text(ofNumbersBelow: 1200).utf8)
        let blocks = stride(from: 0, to: whole.count, by: 4096).map { Array(whole[$0..<$0 + 4096]) }
        let swapped = try BreachedPasswordList(bytes: blocks[0] + blocks[2] + blocks[1] + blocks[3])
        #expect(throws: BreachedListError.self) { try swapped.verify() }
        for number in stride(from: 0, to: 1200, by: 20) {
            if (try? self.has(swapped, "number \(number)")) == false { Issue.record("\(number) is not found") }
        }
        for bytes in [
            [], Array(whole.dropLast()), whole + [0], Array(whole.dropLast(4096)), whole + blocks[3], blocks[0],
            blocks[1],
            [UInt8](repeating: 0, count: 4096), Array("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:1\n".utf8),
        ] {
            #expect(throws: BreachedListError.self) { try BreachedPasswordList(bytes: bytes) }
        }
    }

    @Test("A list that is cut short while it is searched is damage, and one that is replaced stays what it was")
    func changesWhileOpen() throws {
        try BreachedFixture.withFolder { folder in
            let (text, path) = (folder.appendingPathComponent("text").path, folder.appendingPathComponent("list").path)
            try BreachedFixture.text.write(toFile: text, atomically: true, encoding: .utf8)
            _ = try BreachedPasswordListBuilder.build(from: text, to: path)
            let first = try BreachedPasswordList(path: path)
            try "".write(toFile: text, atomically: true, encoding: .utf8)
            #expect(try BreachedPasswordListBuilder.build(from: text, to: path) == 0)
            #expect(try self.has(first, "qwerty"))
            #expect(try !self.has(BreachedPasswordList(path: path), "qwerty"))
            try BreachedFixture.text.write(toFile: text, atomically: true, encoding: .utf8)
            _ = try BreachedPasswordListBuilder.build(from: text, to: path)
            let cut = try BreachedPasswordList(path: path)
            try #require(truncate(path, 4096) == 0)
            let error = #expect(throws: BreachedListError.self) { try self.has(cut, "qwerty") }
            #expect(error?.code == .damaged)
        }
    }

    @Test("What is no file is refused, and leaves what was there")
    func unreadable() throws {
        try BreachedFixture.withFolder { folder in
            let path = folder.appendingPathComponent("list").path
            for other in [path, folder.path, "/dev/null"] {
                let error = #expect(throws: BreachedListError.self) { try BreachedPasswordList(path: other) }
                #expect(error?.code == .unreadable)
            }
            #expect(throws: BreachedListError.self) {
                try BreachedPasswordListBuilder.build(from: path, to: path + "2")
            }
            #expect(throws: BreachedListError.self) {
                try BreachedPasswordListBuilder.build(from: #filePath, to: folder.path + "/none/list")
            }
            // A text with a fault leaves the list of before, and no half of a new one.
            let text = folder.appendingPathComponent("text").path
            try BreachedFixture.text.write(toFile: text, atomically: true, encoding: .utf8)
            _ = try BreachedPasswordListBuilder.build(from: text, to: path)
            try "\(BreachedFixture.text)\nnonsense".write(toFile: text, atomically: true, encoding: .utf8)
            #expect(throws: BreachedListError.self) { try BreachedPasswordListBuilder.build(from: text, to: path) }
            #expect(try BreachedPasswordList(path: path).count == 6)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["list", "text"])
        }
    }

    private static let line = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8"

    @Test(
        "A line in another form ends it with its number",
        arguments: [
            "\(line)", "\(line):", "\(line):-1", "\(line):1 ", " \(line):1", "\(line.dropLast()):1", "\(line)0:1",
            "\(line);1",
            "\(line.dropLast())G:1", "\(line):1,000", "\(line):1234567890123456789", "", "\(line):1:2", "\(line):１",
            String(repeating: "0", count: 100_000),
        ])
    func malformed(line: String) {
        for end in ["\n", ""] where !(line.isEmpty && end.isEmpty) {
            let error = #expect(throws: BreachedListError.self) {
                try BreachedPasswordListBuilder.list(
                    of: "0000000000000000000000000000000000000000:3\n\(line)\(end)".utf8)
            }
            #expect(error?.code == .malformedLine)
            #expect(error?.reason.contains("line 2 ") == true)
        }
    }

    @Test("Lines out of order, and one twice, are refused; two that begin alike are one entry")
    func order() throws {
        for second in ["\(Self.line):1", "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD7:1"] {
            let error = #expect(throws: BreachedListError.self) {
                try BreachedPasswordListBuilder.list(of: "\(Self.line):1\n\(second)\n".utf8)
            }
            #expect(error?.code == .notSorted)
        }
        let list = try BreachedPasswordList(
            bytes: BreachedPasswordListBuilder.list(
                of: "\(Self.line):1\n5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD9:1\n".utf8))
        #expect(list.count == 1)
        #expect(try self.has(list, "password"))
    }
}
