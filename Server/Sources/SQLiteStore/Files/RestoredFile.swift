import Foundation
import Store

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A restored database on its way to its place.
///
/// It lies in the data folder under a name of its own, whole and on disk, from the moment that the restore cannot be
/// undone any more. What is left to do are renames that can be done again: whoever opens the folder next finishes them.
enum RestoredFile {
    private static let prefix = "restored-"
    private static let ending = ".sqlite"
    private static let draftEnding = ".draft"

    /// Where a restored database is put together. Nobody takes it for anything.
    static func draft(in folder: String, name: String) -> String {
        "\(folder)/\(self.prefix)\(name)\(self.draftEnding)"
    }

    /// Where the database of before is kept.
    static func replacedFolder(in folder: String, name: String) -> String { "\(folder)/replaced-\(name)" }

    /// Says that a draft is whole. From here on the restore is done, whoever finishes it.
    static func commit(name: String, in folder: String) throws {
        let path = "\(folder)/\(self.prefix)\(name)\(self.ending)"
        guard rename(self.draft(in: folder, name: name), path) == 0 else {
            throw FileFailure.storeError("cannot make \(path)")
        }
        try Folder.synchronize(folder)
    }

    /// Puts what was committed into its place, the database of before into a folder of its own, and drafts away.
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
            // The database keeps its name until the new one takes it: there is one at every moment.
            if suffix.isEmpty, link(database, target) == 0 || errno == EEXIST { continue }
            guard rename(database + suffix, target) == 0 else { throw FileFailure.storeError("cannot make \(target)") }
        }
        if isReplaced {
            try Owner.give(replaced, ofFolder: folder)
            try Folder.synchronize(replaced)
            // The old log must have gone before the new database has its name, on the disk, too: SQLite would read the one
            // into the other.
            try Folder.synchronize(folder)
        }
        guard rename("\(folder)/\(self.prefix)\(name)\(self.ending)", database) == 0 else {
            throw FileFailure.storeError("cannot make \(database)")
        }
        try Folder.synchronize(folder)
    }
}
