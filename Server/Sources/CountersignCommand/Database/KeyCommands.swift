import ArgumentParser
import Records
import SQLiteStore
import Sealing
import _Primitives

/// `countersign db add-key`: adds a key-encryption key.
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
        let keys = try self.change()
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

    private func change() throws -> KeyRing {
        let lock = try self.options.keys.lock()
        return try withExtendedLifetime(lock) {
            let present = try self.options.readKeys()
            let keys = KeyRing(KeyEncryptionKey(random: .system), former: present.all)
            try self.options.keys.replace(by: keys)
            return keys
        }
    }
}

/// `countersign db forget-keys`: removes the key-encryption keys that no longer seal anything.
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

    /// The result of the command.
    struct Outcome {
        let newest: String
        /// The former keys that stay.
        let former: [String]
        let forgotten: [String]

        /// The warning for an operator with backups; `nil` if the command forgot no key.
        var warning: String? {
            guard !self.forgotten.isEmpty else { return nil }
            return """
                Backups that were made under \(self.forgotten.joined(separator: ", ")) open with nothing else: keep the key file \
                of before with them, or make a new backup and delete them.
                """
        }

        /// The result for scripts.
        var json: JSONObject {
            var object: JSONObject = [
                "forgotten": .array(self.forgotten.map(JSON.string)),
                "needed": .array(([self.newest] + self.former).map(JSON.string)),
            ]
            object["warning"] = self.warning.map(JSON.string)
            return object
        }

        /// The result for people.
        func text(path: String) -> String {
            var lines = self.forgotten.map { "Forgotten: \($0)" }
            if self.forgotten.isEmpty { lines.append("Every key of \(path) is needed.") }
            lines += self.former.map { "Needed: \($0), until the running server has sealed everything anew." }
            if let warning { lines.append(warning) }
            return lines.joined(separator: "\n")
        }
    }

    func run() async throws {
        let outcome = try self.change()
        guard !self.options.json else {
            Terminal.standardOutput(json: .object(outcome.json))
            return
        }
        Terminal.standardOutput(outcome.text(path: self.options.keys.path))
    }

    /// Removes the former keys that the database does not need, and returns the result. The first key always stays.
    func change() throws -> Outcome {
        let lock = try self.options.keys.lock()
        return try withExtendedLifetime(lock) {
            let present = try self.options.readKeys()
            let needed: [String]
            do {
                needed = try DatabaseKeys(folder: self.options.folder.path).needed(of: present)
            } catch let error as StoreError {
                throw self.options.failure(error, backup: "")
            }
            // The first key may be a new key with which the server has not been started yet.
            let former = present.former.filter { needed.containsBytes(of: $0.identifier) }
            let forgotten = present.former.map(\.identifier).filter { !needed.containsBytes(of: $0) }
            if !forgotten.isEmpty { try self.options.keys.replace(by: KeyRing(present.newest, former: former)) }
            return Outcome(
                newest: present.newest.identifier, former: former.map(\.identifier), forgotten: forgotten)
        }
    }
}
