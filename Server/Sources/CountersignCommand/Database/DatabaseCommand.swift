import ArgumentParser
import Foundation
import Records
import SQLiteStore
import _Primitives

/// `countersign db`: the database as a whole.
struct DatabaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "db",
        abstract: "Back up and restore the database, and change the key that it is sealed under.",
        discussion: """
            All run on the server's machine, and need the key file: a backup is authenticated under the key, and never \
            holds it.
            """,
        subcommands: [BackupCommand.self, RestoreCommand.self, AddKeyCommand.self, ForgetKeysCommand.self]
    )
}

/// `countersign db backup`: the database as one file, while the server runs or not.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Write the database into a new file, while the server runs or not.",
        discussion: """
            The file has mode 0600 and is checked before it gets its name. It opens nothing without the key file, which \
            is not in it: keep that elsewhere.

              countersign db backup /var/backups/countersign-2026-11-22.backup
            """
    )

    @Argument(help: "The file, which must not be there yet.")
    var file: String

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let path = try self.options.backupPath(self.file)
        let folder = self.options.folder
        let backup = DatabaseBackup(folder: folder.path, keys: try self.options.readKeys())
        let progress = CopyProgress("Copying", folder: (path as NSString).deletingLastPathComponent) {
            $0.hasPrefix((path as NSString).lastPathComponent) && $0.hasSuffix(".partial")
        }
        let manifest: BackupManifest
        do {
            manifest = try await progress.during(expected: folder.databaseSize) {
                try backup.write(to: path, issuer: folder.issuer, at: TimeSource.system.now())
            }
        } catch let error as StoreError {
            if error.code == .conflict {
                throw CommandFailure(
                    .failed, error.reason, remedy: "A backup never takes the place of a file: name another.")
            }
            throw self.options.failure(error, backup: path)
        }
        // The backup is complete even if the moment cannot be kept: a full disk of the data folder is a reason for a
        // backup.
        do { try folder.keep(lastBackup: manifest.createdAt) } catch {
            Terminal.standardError("The metrics will not tell of this backup: \(folder.path) cannot be written.")
        }
        if self.options.json {
            var object = manifest.json
            object["file"] = .string(path)
            Terminal.standardOutput(json: .object(object))
        } else {
            Terminal.standardOutput(
                """
                Wrote \(path): \(manifest.summary).
                The key file is not in it. Keep both, in two places: one opens nothing without the other.
                """)
        }
    }
}

extension BackupManifest {
    /// The contents of the backup, in a few words.
    var summary: String {
        let what = [
            (self.counts.accounts, "account"), (self.counts.devices, "device"), (self.counts.clients, "client"),
        ].map { "\($0) \($1)\($0 == 1 ? "" : "s")" }
        return what.joined(separator: ", ") + ", of \(self.createdAt)"
    }
}
