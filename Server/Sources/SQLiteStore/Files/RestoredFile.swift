import Foundation
import Records

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A restored database on its way to its final place.
///
/// The file lies in the data folder under a separate name. It is complete and on disk from the moment when the restore
/// cannot be undone any more. Only renames are left, and renames can be repeated: the next process that opens the
/// folder finishes them.
enum RestoredFile {
    private static let prefix = "restored-"
    private static let ending = ".sqlite"
    private static let draftEnding = ".draft"

    /// Returns the path at which a restored database is put together. No process takes the file for a database.
    static func draft(in folder: String, name: String) -> String {
        "\(folder)/\(self.prefix)\(name)\(self.draftEnding)"
    }

    /// Returns the path of the folder that keeps the former database.
    static func replacedFolder(in folder: String, name: String) -> String { "\(folder)/replaced-\(name)" }

    /// Marks a draft as complete. From here on the restore counts as done, whichever process finishes the renames.
    static func commit(name: String, in folder: String) throws {
        let path = "\(folder)/\(self.prefix)\(name)\(self.ending)"
        guard rename(self.draft(in: folder, name: name), path) == 0 else {
            throw FileFailure.storeError("cannot make \(path)")
        }
        try Folder.synchronize(folder)
    }

    /// Moves a committed database into its place and the former database into a separate folder, and removes drafts.
    ///
    /// The caller holds the folder's lock.
    static func finish(in folder: String) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasPrefix(self.prefix) }.sorted()
        for name in names {
            if name.hasSuffix(self.ending) {
                try self.swap(String(name.dropFirst(self.prefix.count).dropLast(self.ending.count)), folder)
            } else if name.hasSuffix(self.draftEnding) || name.hasSuffix(self.draftEnding + "-journal") {
                unlink("\(folder)/\(name)")
            }
        }
    }

    private static func swap(_ name: String, _ folder: String) throws {
        let database = folder + "/countersign.sqlite"
        let replaced = self.replacedFolder(in: folder, name: name)
        var isReplaced = false
        for suffix in ["", "-wal", "-shm"] where access(database + suffix, F_OK) == 0 {
            if !isReplaced {
                guard mkdir(replaced, 0o700) == 0 || errno == EEXIST else {
                    throw FileFailure.storeError("cannot make \(replaced)")
                }
                isReplaced = true
            }
            let target = replaced + "/countersign.sqlite" + suffix
            // The database keeps its name until the new database takes the name, so a database exists at every moment.
            if suffix.isEmpty, link(database, target) == 0 || errno == EEXIST { continue }
            guard rename(database + suffix, target) == 0 else { throw FileFailure.storeError("cannot make \(target)") }
        }
        if isReplaced {
            try Owner.give(replaced, ofFolder: folder)
            try Folder.synchronize(replaced)
            // The old log must be gone, also on the disk, before the new database gets its name: SQLite would read the
            // old log into the new database.
            try Folder.synchronize(folder)
        }
        guard rename("\(folder)/\(self.prefix)\(name)\(self.ending)", database) == 0 else {
            throw FileFailure.storeError("cannot make \(database)")
        }
        try Folder.synchronize(folder)
    }
}
