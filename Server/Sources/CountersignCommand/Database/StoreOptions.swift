import ArgumentParser
import Foundation
import Records
import Sealing
import _Primitives

/// The options that name a command's store.
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

    var keys: KeyFile {
        KeyFile(path: self.keyFile ?? DataFolder.defaultKeyPath(ProcessInfo.processInfo.environment))
    }

    /// Reads the keys. Throws ``CommandFailure``, also for a missing key file: this function makes no key.
    func readKeys() throws -> KeyRing {
        guard FileManager.default.fileExists(atPath: self.keys.path) else {
            throw CommandFailure(
                .notFound, "there is no key file at \(self.keys.path)",
                remedy: "Name the one that the server runs with (--key-file).")
        }
        return try self.keys.keys(mayCreate: false, dataFolder: self.folder.path)
    }

    /// Returns the absolute path of a backup. Throws a usage ``CommandFailure`` for a path in the data folder.
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

    /// Returns the failure that a store's error means for the operator.
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
        case .missingKey:
            CommandFailure(
                .failed, error.reason,
                remedy: "Put its line into the key file, below the first. Nothing was changed.")
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
