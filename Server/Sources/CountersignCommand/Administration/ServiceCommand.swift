import ArgumentParser
import Foundation
import _Primitives

/// `countersign admin service`: the clients that are services of personalised identities.
struct ServiceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "service",
        abstract:
            "Services of personalised identities: roles, the factors of each, what is asked of people, who may come.",
        discussion: """
            A service is a client that has a profile. Register the client first (`client add`), then write the profile:

              {"roles": [{"id": "customer", "name": "Customer", "default": true,
                          "factors": [["biometric", "device"], ["pin", "device"]]}],
               "attributes": {"givenName": "required", "email": "optional"},
               "loginDomains": ["*.bank.example"]}

              countersign admin service set CLIENT --file profile.json
            """,
        subcommands: [Set.self, Show.self, List.self, Remove.self]
    )

    static func path(_ client: String) -> String { "/clients/\(client.pathSegment)/service" }

    /// Returns the profile of a service as text.
    static func text(_ service: JSONObject) throws -> String {
        var rows = [["client id", try service.requiredString("clientId")]]
        rows.append(["active", try service.bool("active") == false ? "no" : "yes"])
        for case .object(let role) in try service.array("roles") ?? [] {
            let id = try role.requiredString("id")
            let alternatives = try (role.array("factors") ?? []).map { alternative -> String in
                try (JSONObject([("types", alternative)]).strings("types") ?? []).joined(separator: "+")
            }
            rows.append([
                "role \(id)\(try role.bool("default") == true ? " (default)" : "")",
                "\(try role.string("name") ?? id): \(alternatives.joined(separator: " or "))",
            ])
        }
        for (name, value) in try service.object("attributes")?.members ?? [] {
            guard case .string(let word) = value else { continue }
            rows.append(["asks for \(name)", word])
        }
        let domains = try service.strings("loginDomains") ?? []
        rows.append(["login domains", domains.isEmpty ? "any" : domains.joined(separator: " ")])
        if let organisation = try service.string("organisation") { rows.append(["members of", organisation]) }
        let rules = [
            ("requiresInvitation", "invited people alone"), ("newcomers", "newcomers, by mail"),
            ("inApp", "sign-in within its app"), ("push", "may have devices asked"),
        ]
        let granted = try rules.filter { try service.bool($0.0) == true }.map(\.1)
        rows.append(["also", granted.joined(separator: ", ")])
        if try service.bool("defaultRoles") == false { rows.append(["default roles", "nobody has them"]) }
        rows += (try service.strings("warnings") ?? []).map { ["warning", $0] }
        return Terminal.table(rows.filter { !$0[1].isEmpty })
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Make a client a service, or change one.",
            discussion: """
                With --file the whole profile is what the file says, and the other options go over it. Without it they change \
                what is there. Lists are given in full. A role that is gone is nobody's any more, and where a service asks \
                for more than before, people are asked again what it gets.
                """)

        @Argument(help: "The client's id.")
        var client: String

        @Option(
            name: .long, help: "The file of the profile, JSON; - for standard input.", completion: .file())
        var file: String?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "What it wants to know of people; all of it. Repeatable.", valueName: "name=required|optional"))
        var attribute: [String] = []

        @Option(
            name: .long,
            help: ArgumentHelp(
                "A host of pages that people sign in from, as bank.example or *.bank.example; all of them. Repeatable.",
                valueName: "domain"))
        var loginDomain: [String] = []

        @Option(name: .long, help: "The organisation whose members alone may come, by its id; an empty text for none.")
        var organisation: String?

        @Flag(name: .long, inversion: .prefixedNo, help: "Whether anybody can sign in to it.")
        var active: Bool?

        @Flag(
            name: .long, inversion: .prefixedNo, help: "Whether those alone may come who were invited or given a role.")
        var requireInvitation: Bool?

        @Flag(
            name: .long, inversion: .prefixedNo,
            help: "Whether whoever has no identity can have an invitation to it mailed to their address.")
        var newcomers: Bool?

        @Flag(name: .long, inversion: .prefixedNo, help: "Whether its app may sign its own person in.")
        var inApp: Bool?

        @Flag(name: .long, inversion: .prefixedNo, help: "Whether it may have people's devices asked.")
        var push: Bool?

        @Flag(
            name: .long, inversion: .prefixedNo,
            help: "Whether people of whom nobody has said otherwise have the default roles.")
        var defaultRoles: Bool?

        @OptionGroup var options: AdminOptions

        func validate() throws { _ = try self.attributes }

        private var attributes: JSONObject {
            get throws {
                JSONObject(
                    try self.attribute.map { text in
                        let parts = text.splitBytes(at: "=").map(String.init)
                        guard parts.count == 2 else {
                            throw ValidationError("--attribute is a name, an equals sign, and required or optional.")
                        }
                        return (parts[0], JSON.string(parts[1]))
                    })
            }
        }

        func run() async throws {
            var body = try self.file.map { try JSONObject(fileOrInput: $0) } ?? [:]
            if !self.attribute.isEmpty { body["attributes"] = .object(try self.attributes) }
            if !self.loginDomain.isEmpty { body["loginDomains"] = .array(self.loginDomain.map(JSON.string)) }
            if let organisation { body["organisation"] = .string(organisation) }
            for (name, flag) in [
                ("active", self.active), ("requiresInvitation", self.requireInvitation),
                ("newcomers", self.newcomers), ("inApp", self.inApp), ("push", self.push),
                ("defaultRoles", self.defaultRoles),
            ] {
                if let flag { body[name] = .bool(flag) }
            }
            guard !body.members.isEmpty else {
                throw CommandFailure(
                    .usage, "nothing is said of the service",
                    remedy: "Name the file of its profile (--file), or what is to change; --help shows a profile.")
            }
            let answer = try await self.options.call(
                self.file == nil ? "PATCH" : "PUT", ServiceCommand.path(self.client), body)
            try self.options.show(answer) { try ServiceCommand.text($0) }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Show what makes a client a service.",
            discussion: "With --json it is the profile, to be kept, changed and set again, beside its client's id.")

        @Argument(help: "The client's id.")
        var client: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", ServiceCommand.path(self.client))
            try self.options.show(answer) { try ServiceCommand.text($0) }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "List the services.")

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/services")
            try self.options.show(answer) { object in
                let services = try object.objects("services")
                guard !services.isEmpty else { return "no services" }
                return Terminal.table(
                    try services.map { service in
                        let roles = try service.objects("roles").map { try $0.requiredString("id") }
                        return [
                            try service.requiredString("clientId"), roles.joined(separator: " "),
                            try service.bool("active") == false ? "not active" : "",
                        ]
                    })
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Make a client no service any more, with everything that was said of people there.",
            discussion: "The client itself stays. Open invitations to the service are taken back.")

        @Argument(help: "The client's id.")
        var client: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", ServiceCommand.path(self.client))
            self.options.show(answer) { _ in "Removed." }
        }
    }
}

extension JSONObject {
    /// Reads a document that an operator has written: the object in a file, or on standard input for `-`.
    ///
    /// An operator can set the shown profile of a service again, because the function leaves out the client's id.
    init(fileOrInput path: String) throws {
        let isInput = path.hasSameBytes(as: "-")
        let data = isInput ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: path)
        guard let data else {
            throw CommandFailure(.usage, "\(path) cannot be read", remedy: "Name a file that you may read.")
        }
        do {
            guard case .object(var document) = try JSON(parsing: Array(data)) else {
                throw JSONError(.wrongType, "it is no object")
            }
            document["clientId"] = nil
            self = document
        } catch let error as JSONError {
            throw CommandFailure(
                .usage, "there is no JSON object in \(isInput ? "standard input" : path): \(error.reason)",
                remedy: "`countersign admin service --help` shows a profile.")
        }
    }

    /// Returns the objects of a list.
    func objects(_ name: String) throws -> [JSONObject] {
        try (self.array(name) ?? []).compactMap { value in
            guard case .object(let object) = value else { return nil }
            return object
        }
    }
}
