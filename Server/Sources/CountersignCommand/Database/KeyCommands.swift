import ArgumentParser
import SQLiteStore
import Store
import _Primitives

/// `countersign db add-key`: another key-encryption key.
struct AddKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add-key",
        abstract: "Put a new key into the key file, which everything is sealed under from the next start on.",
        discussion: """
            The server runs on meanwhile. After its next start it seals under the new key, and seals anew what lies under the \
            former ones, which stay in the file; its log says when they are not needed any more. Nobody is signed out.

              countersign db add-key
            """
    )

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let present = try self.options.readKeys()
        let keys = KeyRing(KeyEncryptionKey(random: .system), former: present.all)
        try self.options.keys.replace(by: keys)
        guard !self.options.json else {
            Terminal.standardOutput(json: .object(["id": .string(keys.newest.identifier)]))
            return
        }
        Terminal.standardOutput(
            """
            \(self.options.keys.path) begins with the new key \(keys.newest.identifier).
            Copy the file to where you keep keys, then start the server anew.
            """)
    }
}

/// `countersign db forget-keys`: key-encryption keys that nothing lies under any more.
struct ForgetKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget-keys",
        abstract: "Take the keys out of the key file that the database does not need any more.",
        discussion: """
            A backup needs the key that it was made under: keep former keys with the backups of their time.

              countersign db forget-keys
            """
    )

    @OptionGroup var options: StoreOptions

    func run() async throws {
        let present = try self.options.readKeys()
        let needed: [String]
        do {
            needed = try DatabaseKeys(folder: self.options.folder.path).needed(of: present)
        } catch let error as StoreError {
            throw self.options.failure(error, backup: "")
        }
        // The first may be one that the server has not been started with yet.
        let former = present.former.filter { needed.containsBytes(of: $0.identifier) }
        let forgotten = present.former.map(\.identifier).filter { !needed.containsBytes(of: $0) }
        if !forgotten.isEmpty { try self.options.keys.replace(by: KeyRing(present.newest, former: former)) }
        guard !self.options.json else {
            Terminal.standardOutput(
                json: .object([
                    "forgotten": .array(forgotten.map(JSON.string)),
                    "needed": .array(([present.newest] + former).map { .string($0.identifier) }),
                ]))
            return
        }
        var lines = forgotten.map { "Forgotten: \($0)" }
        if forgotten.isEmpty { lines.append("Every key of \(self.options.keys.path) is needed.") }
        lines += former.map { "Needed: \($0.identifier), until the running server has sealed everything anew." }
        Terminal.standardOutput(lines.joined(separator: "\n"))
    }
}
