import Foundation

/// Makes a ``BreachedPasswordList`` from the text of Have I Been Pwned: lines of a SHA-1 in hexadecimal, a colon and a
/// count, in ascending order.
///
/// The builder reads and writes piece by piece, whatever the size. No line is left out silently: a line in another form
/// or order ends the build with the line's number.
public struct BreachedPasswordListBuilder {
    private let fewest: Int
    private let write: ([UInt8]) throws -> Void
    private var line = 0
    private var rest: [UInt8] = []
    private var last: [UInt8] = []
    private var lastEntry: UInt64?
    private var block: [UInt8] = []
    private var blocks = 0
    private var entries = 0

    /// Creates a builder. `write` receives one block after another. The first block follows at the end, from
    /// ``finish()``.
    private init(fewest: Int, write: @escaping ([UInt8]) throws -> Void) {
        self.fewest = fewest
        self.write = write
    }

    /// Makes a list from a text in memory, with the passwords that occurred at least `fewest` times.
    ///
    /// Throws ``BreachedListError``: `malformedLine`, `notSorted`.
    public static func list(of text: some Collection<UInt8>, fewest: Int = 1) throws -> [UInt8] {
        let output = BlocksInMemory()
        var builder = Self(fewest: fewest) { output.blocks += $0 }
        try builder.add(Array(text))
        let head = try builder.finish()
        return head + output.blocks
    }

    /// Makes a list file from a text, with the passwords that occurred at least `fewest` times. Returns the number of
    /// entries.
    ///
    /// The new list replaces an old list of the same name once the new list is whole and on disk. A server that has the
    /// old list open keeps the old list.
    ///
    /// Throws ``BreachedListError``: `unreadable`, `malformedLine`, `notSorted`.
    public static func build(from text: String, to path: String, fewest: Int = 1) throws -> Int {
        let input = open(text, O_RDONLY | O_CLOEXEC)
        guard input >= 0 else { throw Self.failure(text) }
        defer { close(input) }
        let partial = path + ".partial"
        let output = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard output >= 0 else { throw Self.failure(partial) }
        do {
            defer { close(output) }
            let place = { (bytes: [UInt8], offset: Int) in
                var written = 0
                while written < bytes.count {
                    let count = bytes[written...].withUnsafeBytes {
                        pwrite(output, $0.baseAddress, $0.count, off_t(offset + written))
                    }
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { throw Self.failure(partial) }
                    written += count
                }
            }
            var offset = BreachedPasswordList.blockBytes
            var builder = Self(fewest: fewest) { block in
                try place(block, offset)
                offset += block.count
            }
            var piece = [UInt8](repeating: 0, count: PasswordLimits.Fixed.breachedPieceBytes)
            while true {
                let count = piece.withUnsafeMutableBytes { read(input, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw Self.failure(text) }
                if count == 0 { break }
                try builder.add(piece[..<count])
            }
            try place(try builder.finish(), 0)
            guard fsync(output) == 0, rename(partial, path) == 0 else { throw Self.failure(path) }
            return builder.entries
        } catch {
            unlink(partial)
            throw error
        }
    }

    private static func failure(_ path: String) -> BreachedListError {
        BreachedListError(.unreadable, "\(path): \(String(cString: strerror(errno)))")
    }

    /// Takes the next piece of the text, which may end within a line.
    private mutating func add(_ piece: some Collection<UInt8>) throws {
        self.rest += piece
        var start = 0
        while let end = self.rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
            try self.add(line: self.rest[start..<end])
            start = end + 1
        }
        self.rest.removeFirst(start)
        guard self.rest.count <= PasswordLimits.Fixed.breachedLineBytes else { throw self.malformed(self.line + 1) }
    }

    private mutating func add(line: ArraySlice<UInt8>) throws {
        self.line += 1
        let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        guard line.count <= PasswordLimits.Fixed.breachedLineBytes, let (hash, count) = Self.entry(line) else {
            throw self.malformed(self.line)
        }
        guard self.last.lexicographicallyPrecedes(hash) else {
            throw BreachedListError(.notSorted, "line \(self.line)")
        }
        self.last = hash
        guard count >= self.fewest else { return }
        let entry = BreachedPasswordList.entry(ofSHA1: hash)
        // Two hashes with the same beginning are one entry.
        guard entry != self.lastEntry else { return }
        self.lastEntry = entry
        self.block += BreachedPasswordList.bytes(entry)
        self.entries += 1
        if self.entries.isMultiple(of: BreachedPasswordList.entriesPerBlock) { try self.writeBlock() }
    }

    /// Reads a line of 40 hexadecimal digits, a colon, and a number.
    private static func entry(_ line: ArraySlice<UInt8>) -> (hash: [UInt8], count: Int)? {
        let digits = line.prefix(40).compactMap(Self.hexDigit)
        let count = line.dropFirst(41)
        guard digits.count == 40, line.dropFirst(40).first == UInt8(ascii: ":"),
            PasswordLimits.Fixed.breachedCountDigits.contains(count.count),
            count.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return (
            stride(from: 0, to: 40, by: 2).map { digits[$0] << 4 | digits[$0 + 1] },
            count.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        )
    }

    private static func hexDigit(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): letter - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): letter - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): letter - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// Processes the text's end, and returns the list's first block.
    private mutating func finish() throws -> [UInt8] {
        if !self.rest.isEmpty {
            try self.add(line: self.rest[...])
            self.rest = []
        }
        if !self.block.isEmpty { try self.writeBlock() }
        return Self.checked(BreachedPasswordList.magic + BreachedPasswordList.bytes(UInt64(self.entries)), block: 0)
    }

    private mutating func writeBlock() throws {
        self.blocks += 1
        try self.write(Self.checked(self.block, block: self.blocks))
        self.block.removeAll(keepingCapacity: true)
    }

    private static func checked(_ content: [UInt8], block: Int) -> [UInt8] {
        let size = BreachedPasswordList.blockBytes - BreachedPasswordList.checkBytes
        let content = content + [UInt8](repeating: 0, count: size - content.count)
        return content + BreachedPasswordList.check(content, block: block)
    }

    private func malformed(_ line: Int) -> BreachedListError {
        BreachedListError(.malformedLine, "line \(line) is not a SHA-1, a colon and a count")
    }
}

/// The blocks of a list that is made in memory.
private final class BlocksInMemory {
    var blocks: [UInt8] = []
}
