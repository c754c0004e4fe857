import Crypto
import Foundation
public import _Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The key under which everything sealed in a store lies: 32 random bytes, kept outside the data folder.
///
/// Its file holds the bytes as base64url text and nobody but its owner may read it (mode 0600). Without it a database
/// or its backup opens nothing, so the key is never copied beside them.
public struct KeyEncryptionKey: Sendable, Equatable {
    /// How long the key is, in bytes.
    public static let byteCount = 32

    let bytes: SecretBytes

    /// Takes 32 bytes. Throws ``StoreError/Code/invalidKey`` for any other count.
    public init(_ bytes: some Collection<UInt8>) throws {
        guard bytes.count == Self.byteCount else {
            throw StoreError(.invalidKey, "a key-encryption key has 32 bytes, not \(bytes.count)")
        }
        self.bytes = SecretBytes(bytes)
    }

    /// A new key.
    public init(random: RandomSource = .system) {
        self.bytes = SecretBytes(random.bytes(Self.byteCount))
    }

    /// Reads a key file.
    ///
    /// Throws ``StoreError/Code/notFound`` where there is none, and ``StoreError/Code/invalidKey`` where it holds
    /// something else or others may read it.
    public init(contentsOfFile path: String) throws {
        let manager = FileManager.default
        guard let attributes = try? manager.attributesOfItem(atPath: path), let data = manager.contents(atPath: path)
        else { throw StoreError(.notFound, "no key file at \(path)") }
        if let mode = attributes[.posixPermissions] as? NSNumber, mode.intValue & 0o077 != 0 {
            throw StoreError(.invalidKey, "others may read the key file \(path); set its mode to 0600")
        }
        let text = data.filter { $0 != UInt8(ascii: "\n") }
        guard let bytes = Base64URL.decode(utf8: text) else {
            throw StoreError(.invalidKey, "the key file \(path) does not hold 32 bytes as base64url")
        }
        try self.init(bytes)
    }

    /// The key as a line of its file has it. It is for nobody's eyes.
    public var text: String { self.bytes.withBytes { Base64URL.encode($0) } }

    /// Writes the key to a new file of mode 0600, which is on disk when this returns: what is sealed under the key must
    /// never outlive it. Throws ``StoreError/Code/conflict`` where the file exists already.
    public func write(toNewFile path: String) throws {
        // Made under another name first: a crash leaves no half a key under the right one.
        let draft = path + ".new"
        _ = unlink(draft)
        let file = open(draft, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw StoreError(.unavailable, "cannot write \(draft)") }
        defer { _ = unlink(draft) }
        let text = self.text + "\n"
        do {
            let handle = FileHandle(fileDescriptor: file, closeOnDealloc: false)
            try handle.write(contentsOf: Data(text.utf8))
            try handle.synchronize()
            try handle.close()
        } catch {
            throw StoreError(.unavailable, "cannot write \(draft)")
        }
        guard link(draft, path) == 0 else {
            throw StoreError(errno == EEXIST ? .conflict : .unavailable, "cannot make \(path)")
        }
        let folder = open((path as NSString).deletingLastPathComponent.nonEmpty ?? ".", O_RDONLY | O_CLOEXEC)
        guard folder >= 0, fsync(folder) == 0, close(folder) == 0 else {
            throw StoreError(.unavailable, "cannot make \(path) durable")
        }
    }
}

extension String {
    fileprivate var nonEmpty: String? { self.isEmpty ? nil : self }
}

/// The keys that a store is opened with: the newest, which everything is sealed under from now on, and those of before
/// that it may still need.
public struct KeyRing: Sendable, Equatable {
    /// The key that new values are sealed under.
    public let newest: KeyEncryptionKey
    /// Keys of before, in any order.
    public let former: [KeyEncryptionKey]

    /// A ring of these keys.
    public init(_ newest: KeyEncryptionKey, former: [KeyEncryptionKey] = []) {
        self.newest = newest
        self.former = former
    }

    /// All of them, the newest first.
    public var all: [KeyEncryptionKey] { [self.newest] + self.former }

    /// The key of that identifier.
    public func key(identifier: String) -> KeyEncryptionKey? {
        self.all.first { $0.identifier.hasSameBytes(as: identifier) }
    }
}
