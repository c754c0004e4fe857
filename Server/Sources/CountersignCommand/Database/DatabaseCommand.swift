import ArgumentParser
import Foundation
import SQLiteStore
import Store
import _Primitives

/// `countersign db`: the database as a whole.
struct DatabaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "db",
        abstract: "Back up and restore the database.",
        discussion: """
            Both run on the server's machine, and need the key file: a backup is authenticated under the key, and never \
            holds it.
            """,
        subcommands: [BackupCommand.self, RestoreCommand.self]
    )
}

/// Which store a command is about.
struct StoreOptions: ParsableArguments {
    @Option(name: .long, help: "The data folder.")
    var data: String?

    @Option(name: .long, help: "The key file that goes with it.")
    var keyFile: String?

    @Flag(name: .long, help: "Print one JSON object instead of text.")
    var json = false

    var folder: DataFolder {
        DataFolder(path: self.data ?? DataFolder.defaultPath(ProcessInfo.processInfo.environment))
    }

    /// Reads the key. Throws ``CommandFailure``, also where there is none: no key is made here.
    func key() throws -> KeyEncryptionKey {
        let path = self.keyFile ?? DataFolder.defaultKeyPath(ProcessInfo.processInfo.environment)
        guard FileManager.default.fileExists(atPath: path) else {
            throw CommandFailure(
                .notFound, "there is no key file at \(path)",
                remedy: "Name the one that the server runs with (--key-file).")
        }
        let secret = try KeyFile(path: path).key(mayCreate: false, dataFolder: self.folder.path)
        return try KeyEncryptionKey(secret.withBytes { Array($0) })
    }

    /// The path of a backup, made absolute. Throws a usage ``CommandFailure`` for one in the data folder.
    func backupPath(_ path: String) throws -> String {
        let file = URL(fileURLWithPath: (path as NSString).expandingTildeInPath).standardizedFileURL
        let place = file.deletingLastPathComponent().resolvingSymlinksInPath().path + "/"
        let folder = URL(fileURLWithPath: self.folder.path).resolvingSymlinksInPath().path + "/"
        guard !place.hasPrefix(folder) else {
            throw CommandFailure(
                .usage, "a backup in the data folder is lost with it", remedy: "Name another folder, on another disk.")
        }
        return file.path
    }

    /// What a store's error is to whoever runs the command.
    func failure(_ error: StoreError, backup: String) -> CommandFailure {
        switch error.code {
        case .notFound: CommandFailure(.notFound, error.reason)
        case .locked:
            CommandFailure(
                .failed, error.reason, remedy: "Stop the server first; --check looks at a backup while it runs.")
        case .wrongKey:
            CommandFailure(
                .failed, error.reason,
                remedy: "Name the key file that the database was made with (--key-file). Nothing was changed.")
        case .newerSchema:
            CommandFailure(
                .failed, "it was written by a newer version of the program (\(error.reason))",
                remedy: "Use that version.")
        case .corrupt:
            CommandFailure(
                .failed, error.reason, remedy: "Nothing was changed. Keep it, and look at the disk it is on.")
        default: CommandFailure(.failed, error.reason)
        }
    }
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
        let key = try self.options.key()
        let backup = DatabaseBackup(folder: folder.path, key: key)
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
    /// What is in it, in a few words.
    var summary: String {
        let what = [
            (self.counts.accounts, "account"), (self.counts.devices, "device"), (self.counts.clients, "client"),
        ].map { "\($0) \($1)\($0 == 1 ? "" : "s")" }
        return what.joined(separator: ", ") + ", of \(self.createdAt)"
    }
}
