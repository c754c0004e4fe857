import Crypto
import Foundation
public import _Primitives

/// A file of passwords that attackers know, searched on disk: no part of the file is kept in memory.
///
/// The file has blocks of 4096 bytes. The first block has the file's type and the number of entries. Each other block
/// has up to 511 entries, in ascending order. Every block ends in a check of its content and its number.
///
/// An entry is the first eight bytes of the SHA-1 of a password's UTF-8. The lists of breached passwords are made of
/// SHA-1, and another hash would need the passwords themselves. SHA-1 protects nothing here, because an entry is
/// public. Eight bytes suffice: among a thousand million entries a password outside the list is mistaken for an entry
/// with a chance of 5 in 10¹¹.
///
/// Each block is checked when read. So a search finds damage when it meets the damage, and no start must read
/// gigabytes. The blocks are read, not mapped: a file that is cut short while in use then causes an error, and does not
/// end the process.
public final class BreachedPasswordList: Sendable {
    static let magic = Array("CSPWLST1".utf8)
    static let checkBytes = 8
    static let entryBytes = 8
    static let blockBytes = PasswordLimits.Fixed.breachedBlockBytes
    static let entriesPerBlock = (blockBytes - checkBytes) / entryBytes

    /// The number of entries.
    public let count: Int
    private let source: Source

    private enum Source {
        case file(Int32)
        case bytes([UInt8])
    }

    /// Opens a list. The list stays open and unchanged if another file takes its name.
    ///
    /// Throws ``BreachedListError``: `unreadable`, and `damaged` if the first block or the length does not fit a list.
    public convenience init(path: String) throws {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw BreachedListError(.unreadable, "\(path): \(String(cString: strerror(errno)))") }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(file)
            throw BreachedListError(.unreadable, "\(path): no file")
        }
        try self.init(source: .file(file), size: Int(status.st_size))
    }

    /// Creates a list in memory.
    ///
    /// Throws ``BreachedListError`` `damaged`.
    public convenience init(bytes: [UInt8]) throws { try self.init(source: .bytes(bytes), size: bytes.count) }

    private init(source: Source, size: Int) throws {
        do {
            self.count = try Self.count(of: source, size: size)
            self.source = source
        } catch {
            if case .file(let file) = source { close(file) }
            throw error
        }
    }

    /// Returns the number of entries from the first block, if the number agrees with the size.
    private static func count(of source: Source, size: Int) throws -> Int {
        let head = try Self.read(0, of: source)
        let count = Self.number(head, at: Self.magic.count)
        guard head.starts(with: Self.magic),
            head[(Self.magic.count + Self.entryBytes)..<(Self.blockBytes - Self.checkBytes)].allSatisfy({ $0 == 0 }),
            count <= UInt64(size), size == (1 + Self.blocks(Int(count))) * Self.blockBytes
        else { throw BreachedListError(.damaged, "not the beginning, or not the length, of a list") }
        return Int(count)
    }

    deinit {
        if case .file(let file) = self.source { close(file) }
    }

    /// Returns `true` if a password is in the list. Reads about twenty blocks of a large list, so the calling thread
    /// must be allowed to wait.
    ///
    /// Throws ``BreachedListError``: `unreadable`, `damaged`.
    public func contains(_ password: Password) throws -> Bool {
        try self.contains(entry: password.withBytes { Self.entry(ofSHA1: Array(Insecure.SHA1.hash(data: $0))) })
    }

    private func contains(entry: UInt64) throws -> Bool {
        // The entry can only be in the last block whose first entry is not above the entry.
        var (low, high) = (1, Self.blocks(self.count))
        guard high > 0 else { return false }
        while low < high {
            let middle = low + (high - low + 1) / 2
            if try self.entries(middle)[0] <= entry { low = middle } else { high = middle - 1 }
        }
        let entries = try self.entries(low)
        var (first, last) = (0, entries.count - 1)
        while first < last {
            let middle = first + (last - first) / 2
            if entries[middle] < entry { first = middle + 1 } else { last = middle }
        }
        return entries[first] == entry
    }

    /// Reads and checks the whole list. An operator who installs a list does so once.
    ///
    /// Throws ``BreachedListError``: `unreadable`, `damaged`.
    public func verify() throws {
        var last: UInt64?
        for block in 0..<Self.blocks(self.count) {
            let entries = try self.entries(block + 1)
            guard last.map({ $0 < entries[0] }) ?? true else {
                throw BreachedListError(.damaged, "block \(block + 1) does not follow the one before")
            }
            last = entries.last
        }
    }

    /// Returns the entries of a block. A block always has at least one entry.
    private func entries(_ block: Int) throws -> [UInt64] {
        let bytes = try Self.read(block, of: self.source)
        let count = min(Self.entriesPerBlock, self.count - (block - 1) * Self.entriesPerBlock)
        let entries = (0..<count).map { Self.number(bytes, at: $0 * Self.entryBytes) }
        guard zip(entries, entries.dropFirst()).allSatisfy(<) else {
            throw BreachedListError(.damaged, "block \(block) is not in order")
        }
        return entries
    }

    // MARK: Blocks

    static func blocks(_ entries: Int) -> Int { (entries + Self.entriesPerBlock - 1) / Self.entriesPerBlock }

    static func entry(ofSHA1 hash: some Collection<UInt8>) -> UInt64 {
        hash.prefix(Self.entryBytes).reduce(0) { $0 << 8 | UInt64($1) }
    }

    static func check(_ content: some Collection<UInt8>, block: Int) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array(content))
        hash.update(data: Self.bytes(UInt64(block)))
        return Array(hash.finalize().prefix(Self.checkBytes))
    }

    static func bytes(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }

    private static func number(_ bytes: [UInt8], at index: Int) -> UInt64 {
        bytes[index..<index + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func read(_ block: Int, of source: Source) throws -> [UInt8] {
        let bytes: [UInt8]
        switch source {
        case .bytes(let all): bytes = Array(all.dropFirst(block * Self.blockBytes).prefix(Self.blockBytes))
        case .file(let file):
            var problem: Int32 = 0
            bytes = Array(unsafeUninitializedCapacity: Self.blockBytes) { buffer, filled in
                while filled < Self.blockBytes, let start = buffer.baseAddress {
                    let offset = off_t(block * Self.blockBytes + filled)
                    let count = pread(file, start + filled, Self.blockBytes - filled, offset)
                    if count < 0, errno == EINTR { continue }
                    if count < 0 { problem = errno }
                    guard count > 0 else { break }
                    filled += count
                }
            }
            guard problem == 0 else { throw BreachedListError(.unreadable, String(cString: strerror(problem))) }
        }
        let content = bytes.dropLast(Self.checkBytes)
        guard bytes.count == Self.blockBytes,
            bytes.suffix(Self.checkBytes).elementsEqual(Self.check(content, block: block))
        else { throw BreachedListError(.damaged, "block \(block)") }
        return bytes
    }
}

/// The error of making or searching a list of breached passwords. Two errors are equal if their codes are equal.
public struct BreachedListError: CodedError {
    /// The reason of the error, for code that must choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String { case unreadable, damaged, malformedLine, notSorted }
        private let name: Name
        /// The operating system cannot read or write the file.
        public static let unreadable = Self(name: .unreadable)
        /// The content differs from the content that was once written.
        public static let damaged = Self(name: .damaged)
        /// A line of the text is not a hash and a count.
        public static let malformedLine = Self(name: .malformedLine)
        /// A line of the text does not follow the line before in order.
        public static let notSorted = Self(name: .notSorted)
        public var description: String { self.name.rawValue }
    }

    /// The reason of the error.
    public let code: Code
    /// The place of the error, for the log.
    public let reason: String

    init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
