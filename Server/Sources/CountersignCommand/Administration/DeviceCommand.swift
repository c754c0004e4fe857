import ArgumentParser
import _Primitives

/// `countersign admin device`: the devices that people have enrolled.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "What people have enrolled.",
        subcommands: [List.self, Rest.self, Restore.self, Revoke.self]
    )

    /// Returns devices as a table.
    static func text(_ devices: [JSON]) throws -> String {
        guard !devices.isEmpty else { return "no devices" }
        return Terminal.table(
            try devices.compactMap { device in
                guard case .object(let device) = device else { return nil }
                return [
                    try device.requiredString("id"), try device.string("name") ?? "",
                    try device.string("state") ?? "", try device.string("createdAt") ?? "",
                ]
            })
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "List a person's devices.")

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/accounts/\(self.username.pathSegment)/devices")
            try self.options.show(answer) { try DeviceCommand.text(try $0.array("devices") ?? []) }
        }
    }

    struct Rest: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rest",
            abstract: "Let a lost device rest; it authenticates nowhere, and keeps its keys.")

        @Argument(help: "The person's name.")
        var username: String

        @Argument(help: "The device's id.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call(
                "POST", "/accounts/\(self.username.pathSegment)/devices/\(self.id.pathSegment)/rest")
            self.options.show(answer) { _ in "It rests." }
        }
    }

    struct Restore: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "restore",
            abstract: "Give a person a device back that rests.")

        @Argument(help: "The person's name.")
        var username: String

        @Argument(help: "The device's id.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call(
                "POST", "/accounts/\(self.username.pathSegment)/devices/\(self.id.pathSegment)/restore")
            self.options.show(answer) { _ in "It is in use again." }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke",
            abstract: "Take a device's keys away; it can sign nothing more.")

        @Argument(help: "The device's id.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", "/devices/\(self.id.pathSegment)")
            self.options.show(answer) { _ in "Revoked." }
        }
    }
}
