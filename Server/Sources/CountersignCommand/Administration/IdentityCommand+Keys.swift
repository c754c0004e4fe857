import ArgumentParser
import _Primitives

/// Commands for the keys to which phones seal, and for the keys that sign the server's messages to phones.
extension IdentityCommand {
    fileprivate static func keysText(_ answer: JSONObject) throws -> String {
        func rows(_ name: String) throws -> [[String]] {
            try answer.objects(name).map { key in
                [
                    name, try key.requiredString("id"), try key.requiredString("state"),
                    "since \(try key.requiredString("since"))",
                    try key.string("until").map { "until \($0)" } ?? "",
                ]
            }
        }
        return Terminal.table(try rows("sealing") + rows("signing"))
    }

    struct Keys: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "keys",
            abstract: "List the keys that phones seal to, and those that sign what they are told.",
            discussion: """
                A key to seal to is followed by another each day. It is current while it is the newest, former while phones \
                may have it, and closing while what was sealed at the last moment is opened. The keys that sign are those \
                of `key list` with ES256: `key rotate` has them followed.
                """)

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/identity/keys")
            try self.options.show(answer) { try IdentityCommand.keysText($0) }
        }
    }

    struct RotateKey: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rotate-key", abstract: "Make a key that phones seal to from then on.",
            discussion: """
                Phones take it with the next set of keys that they fetch, within a day. What is sealed to a former one is \
                opened until that is erased: erasing it earlier would shut out every phone that has it.
                """)

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("POST", "/identity/keys/rotate")
            try self.options.show(answer) { try IdentityCommand.keysText($0) }
        }
    }
}
