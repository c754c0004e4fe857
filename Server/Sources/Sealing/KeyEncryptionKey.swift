import Crypto
import Foundation
import Records
public import _Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The key that seals all sealed values of a store: 32 random bytes, kept outside the data folder.
///
/// The key's file holds the bytes as base64url text, and only its owner may read the file (mode 0600). A database or
/// its backup cannot be opened without the key, so the key is never copied beside them.
public struct KeyEncryptionKey: Sendable, Equatable {
    /// The length of the key, in bytes.
    public static let byteCount = 32

    let bytes: SecretBytes

    /// Takes 32 bytes. Throws ``StoreError/Code/invalidKey`` for any other count.
    public init(_ bytes: some Collection<UInt8>) throws {
        guard bytes.count == Self.byteCount else {
            throw StoreError(.invalidKey, "a key-encryption key has 32 bytes, not \(bytes.count)")
        }
        self.bytes = SecretBytes(bytes)
    }

    /// Makes a new key.
    public init(random: RandomSource = .system) {
        self.bytes = SecretBytes(random.bytes(Self.byteCount))
    }

    /// Reads a key file.
    ///
    /// Throws ``StoreError/Code/notFound`` if the file does not exist or cannot be read. Throws
    /// ``StoreError/Code/invalidKey`` if the file holds something else, or if others may read the file.
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

    /// The key as the line in its file. The text must never be shown.
    public var text: String { self.bytes.withBytes { Base64URL.encode($0) } }

    /// Writes the key to a new file of mode 0600. The file is on disk when this returns: values sealed under the key
    /// must never outlive the key. Throws ``StoreError/Code/conflict`` if the file exists already, and
    /// ``StoreError/Code/unavailable`` if the file cannot be written.
    public func write(toNewFile path: String) throws {
        // The file is made under another name first: a crash leaves no half key under the right name.
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

/// The keys that a store is opened with: the newest key, which seals all new values, and the former keys that the store
/// may still need.
public struct KeyRing: Sendable, Equatable {
    /// The key that new values are sealed under.
    public let newest: KeyEncryptionKey
    /// The former keys, in any order.
    public let former: [KeyEncryptionKey]

    /// Makes a ring of these keys.
    public init(_ newest: KeyEncryptionKey, former: [KeyEncryptionKey] = []) {
        self.newest = newest
        self.former = former
    }

    /// All keys of the ring, the newest first.
    public var all: [KeyEncryptionKey] { [self.newest] + self.former }

    /// Returns the key with the identifier; `nil` if the ring has no such key.
    public func key(identifier: String) -> KeyEncryptionKey? {
        self.all.first { $0.identifier.hasSameBytes(as: identifier) }
    }
}
