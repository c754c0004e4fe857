import Crypto
import Foundation
import Records
import Sealing
import Settings
import _Primitives

/// The file format of a backup: an SQLite database, followed by a manifest, the manifest's code, its length and a mark.
///
/// The mark is at the end, so an incompletely written backup has no mark.
struct BackupFile {
    private static let mark = Array("CTSBACK1".utf8)
    private static let codeCount = 32
    private static let lengthCount = 8

    let path: String

    /// Hashes the database in the file and writes the rest after the database. All of the file is on disk when this
    /// returns.
    func finish(_ manifest: BackupManifest, _ key: KeyEncryptionKey) throws -> BackupManifest {
        var manifest = manifest
        do {
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: self.path))
            defer { try? file.close() }
            manifest.byteCount = Int64(try file.seekToEnd())
            try file.seek(toOffset: 0)
            manifest.digest = try Self.digest(of: file, count: manifest.byteCount)
            let text = JSON.object(manifest.json).serialized
            var end = text + key.backupCode(text)
            withUnsafeBytes(of: UInt64(text.count).bigEndian) { end.append(contentsOf: $0) }
            try file.write(contentsOf: Data(end + Self.mark))
            try file.synchronize()
        } catch {
            throw FileFailure.storeError("the backup cannot be written", error)
        }
        return manifest
    }

    /// Returns the manifest, after checking the manifest's code. Throws ``StoreError/Code/notFound`` if the file cannot
    /// be read, ``StoreError/Code/wrongKey`` if the backup has another key, ``StoreError/Code/newerSchema`` if the
    /// format is unknown, and ``StoreError/Code/corrupt`` if the backup is incomplete, or its manifest was changed. The
    /// database is not checked.
    func manifest(_ keys: KeyRing) throws -> BackupManifest {
        guard let file = FileHandle(forReadingAtPath: self.path) else {
            throw StoreError(.notFound, "there is no backup that can be read at \(self.path)")
        }
        defer { try? file.close() }
        let incomplete = StoreError(.corrupt, "\(self.path) is no whole backup")
        do {
            let fixed = UInt64(Self.codeCount + Self.lengthCount + Self.mark.count)
            let size = try file.seekToEnd()
            guard size > fixed else { throw incomplete }
            try file.seek(toOffset: size - UInt64(Self.lengthCount + Self.mark.count))
            let tail = Array(try file.readToEnd() ?? Data())
            guard tail.count == Self.lengthCount + Self.mark.count, Array(tail.suffix(Self.mark.count)) == Self.mark
            else { throw incomplete }
            let length = tail.prefix(Self.lengthCount).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            guard length <= UInt64(Limits.Fixed.backupManifestBytes), length + fixed <= size else { throw incomplete }
            let start = size - fixed - length
            try file.seek(toOffset: start)
            let bytes = Array(try file.read(upToCount: Int(length) + Self.codeCount) ?? Data())
            guard bytes.count == Int(length) + Self.codeCount else { throw incomplete }
            let text = Array(bytes.prefix(Int(length)))
            let manifest = try BackupManifest(parsing: text)
            guard let key = keys.key(identifier: manifest.keyID) else {
                throw StoreError(
                    .wrongKey, "the backup was made under another key-encryption key, \(manifest.keyID)")
            }
            guard constantTimeEqual(key.backupCode(text), bytes.suffix(Self.codeCount)),
                manifest.byteCount == Int64(start)
            else { throw StoreError(.corrupt, "\(self.path) was changed since it was made") }
            return manifest
        } catch let error as StoreError {
            throw error
        } catch {
            throw FileFailure.storeError("\(self.path) cannot be read", error)
        }
    }

    /// Copies the database to an empty draft, which is on disk when this returns. Throws ``StoreError/Code/notFound``
    /// if the backup cannot be read, ``StoreError/Code/unavailable`` if the draft cannot be written, and
    /// ``StoreError/Code/corrupt`` if the database does not match the manifest.
    func copyDatabase(_ manifest: BackupManifest, to draft: DraftFile) throws {
        guard let file = FileHandle(forReadingAtPath: self.path) else {
            throw StoreError(.notFound, "there is no backup that can be read at \(self.path)")
        }
        defer { try? file.close() }
        let digest: [UInt8]
        do {
            digest = try Self.digest(of: file, count: manifest.byteCount) { try draft.handle.write(contentsOf: $0) }
            try draft.synchronize()
        } catch {
            throw FileFailure.storeError("\(draft.path) cannot be written", error)
        }
        guard constantTimeEqual(digest, manifest.digest) else {
            throw StoreError(.corrupt, "\(self.path) was changed since it was made, or its disk lost some of it")
        }
    }

    private static func digest(
        of file: FileHandle, count: Int64, _ take: (Data) throws -> Void = { _ in }
    ) throws -> [UInt8] {
        var hash = SHA256()
        var left = count
        while left > 0, let piece = try file.read(upToCount: Int(min(left, Int64(Limits.Fixed.copyPieceBytes)))),
            !piece.isEmpty
        {
            hash.update(data: piece)
            try take(piece)
            left -= Int64(piece.count)
        }
        return Array(hash.finalize())
    }
}
