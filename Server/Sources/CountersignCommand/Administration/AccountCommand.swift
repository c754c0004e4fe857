import ArgumentParser
import Records
import Settings
import _Primitives

/// `countersign admin account`: the accounts of people who can sign in.
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account",
        abstract: "Who can sign in.",
        subcommands: [
            Add.self, Show.self, List.self, Change.self, Lock.self, Unlock.self, PasswordCommand.self, Consents.self,
            Delete.self, Access.self, Revoke.self,
        ]
    )

    /// Returns a person's row as text.
    static func text(_ account: JSONObject) throws -> String {
        let name = try account.string("displayName").map { " (\($0))" } ?? ""
        let email = try account.string("email").map {
            try account.bool("emailVerified") == true ? ", \($0)" : ", \($0) (not verified)"
        }
        let phone = try account.string("phone").map {
            try account.bool("phoneVerified") == true ? ", \($0)" : ", \($0) (not verified)"
        }
        let address = try account.object("address").map { address in
            try ", " + PostalAddressOptions.names.compactMap { try address.string($0) }.joined(separator: ", ")
        }
        let profile = try account.object("profile").map { profile in
            try ", " + ProfileOptions.names.compactMap { try profile.string($0) }.joined(separator: ", ")
        }
        let lock = try account.bool("locked") ?? false ? ", locked" : ""
        return Terminal.table([
            [
                "\(try AccountCommand.reference(account))\(name)\(email ?? "")\(phone ?? "")\(address ?? "")\(profile ?? "")\(lock)"
            ]
        ])
    }

    /// Returns the name of a person in the commands: the user name, or the identifier for a person without a user name.
    fileprivate static func reference(_ account: JSONObject) throws -> String {
        try account.string("username") ?? AccountRecord.referencePrefix + account.requiredString("id")
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "add", abstract: "Add a person.")

        @Argument(help: "The name to sign in with: 1 to \(Limits().usernameCharacters) characters.")
        var username: String

        @Option(name: .long, help: "The name to show.")
        var displayName: String?

        @Option(name: .long, help: "An e-mail address, which services see that ask for the scope email.")
        var email: String?

        @Flag(name: .long, help: "You vouch that the address is the person's; services are told so.")
        var emailVerified = false

        @OptionGroup var options: AdminOptions

        func validate() throws {
            guard self.email != nil || !self.emailVerified else {
                throw ValidationError("--email-verified needs --email.")
            }
        }

        func run() async throws {
            var body: JSONObject = ["username": .string(self.username)]
            body["displayName"] = self.displayName.map(JSON.string)
            body["email"] = self.email.map(JSON.string)
            if self.email != nil { body["emailVerified"] = .bool(self.emailVerified) }
            let answer = try await self.options.call("POST", "/accounts", body)
            try self.options.show(answer) { "Added \(try AccountCommand.text($0))." }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show a person and their devices.")

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let path = "/accounts/\(self.username.pathSegment)"
            let (account, devices) = try await self.options.withConnection {
                (try await $0.call("GET", path), try await $0.call("GET", path + "/devices"))
            }
            guard case .object(var object) = account, case .object(let list) = devices else { return }
            object["devices"] = list["devices"] ?? .array([])
            try self.options.show(.object(object)) {
                try AccountCommand.text($0) + "\n" + DeviceCommand.text(try list.array("devices") ?? [])
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "List everybody.")

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let accounts = try await self.options.withConnection(Self.accounts)
            try self.options.show(.object(["accounts": .array(accounts)])) { _ in try Self.text(accounts) }
        }

        static func text(_ accounts: [JSON]) throws -> String {
            guard !accounts.isEmpty else { return "no accounts" }
            return try accounts.compactMap { account in
                guard case .object(let account) = account else { return nil }
                return try AccountCommand.text(account)
            }.joined(separator: "\n")
        }

        /// Returns all accounts. The server gives one page at a time.
        static func accounts(over connection: AdminConnection) async throws -> [JSON] {
            var (accounts, query) = ([JSON](), "")
            while case .object(let page) = try await connection.call("GET", "/accounts" + query),
                let more = try page.array("accounts"), case .object(let last)? = more.last
            {
                accounts += more
                query = "?after=" + (try AccountCommand.reference(last)).pathSegment
            }
            return accounts
        }
    }

    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "change",
            abstract:
                "Change a person's names, e-mail address, telephone number or postal address; what is not named stays.",
            discussion: """
                Devices, sessions and what services know the person by stay. An app in which the person signs in by user \
                name needs the new one:

                  countersign admin account change alice --username alice.miller --display-name "Alice Miller"
                  countersign admin account change alice --email alice@example.org --email-verified
                  countersign admin account change alice --no-email
                  countersign admin account change alice --phone +4930901820 --street-address "Main Road 1" --locality Berlin
                """
        )

        @Argument(help: "The person's name.")
        var username: String

        @Option(
            name: .customLong("username"),
            help: "The name to sign in with from now on: 1 to \(Limits().usernameCharacters) characters.")
        var newUsername: String?

        @Option(name: .long, help: "The name to show.")
        var displayName: String?

        @Flag(name: .long, help: "Take the name to show away.")
        var noDisplayName = false

        @Option(name: .long, help: "An e-mail address, which services see that ask for the scope email.")
        var email: String?

        @Flag(name: .long, help: "You vouch that the address is the person's; services are told so.")
        var emailVerified = false

        @Flag(name: .long, help: "Take the address away.")
        var noEmail = false

        @Option(name: .long, help: "A telephone number, which services see that ask for the scope phone: +4930901820.")
        var phone: String?

        @Flag(name: .long, help: "You vouch that the number is the person's; services are told so.")
        var phoneVerified = false

        @Flag(name: .long, help: "Take the number away.")
        var noPhone = false

        @OptionGroup var address: PostalAddressOptions

        @OptionGroup var profile: ProfileOptions

        @OptionGroup var options: AdminOptions

        func validate() throws {
            guard
                !self.names.members.isEmpty || self.email != nil || self.noEmail || self.phone != nil || self.noPhone
                    || self.address.isGiven || self.profile.isGiven
            else {
                throw ValidationError(
                    "Name what to change: --username, --display-name, --email, --phone, a part of the postal address or of the "
                        + "profile, or what is to go, --no-display-name, --no-email, --no-phone, --no-address, --no-profile."
                )
            }
            guard self.phone == nil || !self.noPhone else {
                throw ValidationError("Name one: --phone NUMBER or --no-phone.")
            }
            guard self.phone != nil || !self.phoneVerified else {
                throw ValidationError("--phone-verified needs --phone.")
            }
            guard self.email == nil || !self.noEmail else {
                throw ValidationError("Name one: --email ADDRESS or --no-email.")
            }
            guard self.displayName == nil || !self.noDisplayName else {
                throw ValidationError("Name one: --display-name NAME or --no-display-name.")
            }
            guard self.email != nil || !self.emailVerified else {
                throw ValidationError("--email-verified needs --email.")
            }
        }

        private var names: JSONObject {
            var body: JSONObject = [:]
            body["username"] = self.newUsername.map(JSON.string)
            body["displayName"] = self.noDisplayName ? .string("") : self.displayName.map(JSON.string)
            return body
        }

        func run() async throws {
            let path = "/accounts/\(self.username.pathSegment)"
            let answer = try await self.options.withConnection { connection in
                var answer = JSON.object([:])
                if let email = self.email {
                    answer = try await connection.call(
                        "PUT", path + "/email", ["email": .string(email), "emailVerified": .bool(self.emailVerified)])
                } else if self.noEmail {
                    answer = try await connection.call("DELETE", path + "/email")
                }
                if let phone = self.phone {
                    answer = try await connection.call(
                        "PUT", path + "/phone", ["phone": .string(phone), "phoneVerified": .bool(self.phoneVerified)])
                } else if self.noPhone {
                    answer = try await connection.call("DELETE", path + "/phone")
                }
                if self.address.noAddress {
                    answer = try await connection.call("DELETE", path + "/address")
                } else if self.address.isGiven {
                    answer = try await connection.call("PUT", path + "/address", self.address.body)
                }
                if self.profile.noProfile {
                    answer = try await connection.call("DELETE", path + "/profile")
                } else if self.profile.isGiven {
                    answer = try await connection.call("PUT", path + "/profile", self.profile.body)
                }
                // The name changes last, because the person goes by the new name from then on.
                if !self.names.members.isEmpty { answer = try await connection.call("PATCH", path, self.names) }
                return answer
            }
            try self.options.show(answer) { try AccountCommand.text($0) }
        }
    }

    struct Consents: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "consents",
            abstract: "Show what a person has let services have, or take it back.",
            discussion: "What a service was given for a consent ends with it, at once.")

        @Argument(help: "The person's name.")
        var username: String

        @Option(name: .long, help: "The consent to take back, by its identifier.")
        var revoke: String?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let path = "/accounts/\(self.username.pathSegment)/consents"
            if let id = self.revoke {
                let answer = try await self.options.call("DELETE", path + "/\(id.pathSegment)")
                self.options.show(answer) { _ in "Taken back." }
                return
            }
            let answer = try await self.options.call("GET", path)
            try self.options.show(answer) { answer in
                let rows = try (answer.array("consents") ?? []).map { consent in
                    guard case .object(let consent) = consent else { throw JSONError(.wrongType, "a consent") }
                    return [
                        try consent.requiredString("id"), try consent.requiredString("name"),
                        try (consent.strings("items") ?? []).joined(separator: " "),
                        try consent.requiredString("grantedAt"),
                    ]
                }
                return rows.isEmpty ? "None." : Terminal.table(rows)
            }
        }
    }

    struct Lock: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "lock", abstract: "Keep a person from signing in.")

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("POST", "/accounts/\(self.username.pathSegment)/lock")
            self.options.show(answer) { _ in "Locked." }
        }
    }

    struct Unlock: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "unlock", abstract: "Let a locked person sign in again.")

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("POST", "/accounts/\(self.username.pathSegment)/unlock")
            self.options.show(answer) { _ in "Unlocked." }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "delete", abstract: "Delete a person with their devices and sessions.")

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", "/accounts/\(self.username.pathSegment)")
            self.options.show(answer) { _ in "Deleted." }
        }
    }
}

/// A postal address on the command line. The given parts replace the whole address.
struct PostalAddressOptions: ParsableArguments {
    /// The members of an address, as services receive them.
    static let names = ["formatted", "street_address", "locality", "region", "postal_code", "country"]

    @Option(name: .customLong("formatted-address"), help: "The whole address as it stands on a letter.")
    var formatted: String?

    @Option(name: .long, help: "Street and number. Services see the address that ask for the scope address.")
    var streetAddress: String?

    @Option(name: .long, help: "The town.")
    var locality: String?

    @Option(name: .long, help: "The state or province.")
    var region: String?

    @Option(name: .long, help: "The postal code.")
    var postalCode: String?

    @Option(name: .long, help: "The country.")
    var country: String?

    @Flag(name: .long, help: "Take the postal address away.")
    var noAddress = false

    /// `true` if a part of the address is to change.
    var isGiven: Bool { self.noAddress || !self.body.members.isEmpty }

    /// The body of the request to the server.
    var body: JSONObject {
        let parts = [
            self.formatted, self.streetAddress, self.locality, self.region, self.postalCode, self.country,
        ]
        var body: JSONObject = [:]
        for (name, part) in zip(Self.names, parts) { body[name] = part.map(JSON.string) }
        return body
    }

    mutating func validate() throws {
        guard !self.noAddress || self.body.members.isEmpty else {
            throw ValidationError("Name one: parts of a postal address or --no-address.")
        }
    }
}

/// A person's profile on the command line. The given claims replace the whole profile.
struct ProfileOptions: ParsableArguments {
    /// The claims of a profile, as services receive them.
    static let names = ["given_name", "family_name", "middle_name", "picture", "locale", "zoneinfo"]

    @Option(name: .long, help: "The given name. Services see the profile that ask for the scope profile.")
    var givenName: String?

    @Option(name: .long, help: "The family name.")
    var familyName: String?

    @Option(name: .long, help: "The middle name.")
    var middleName: String?

    @Option(name: .long, help: "The https address of a picture.")
    var picture: String?

    @Option(name: .long, help: "The language, as de-CH.")
    var locale: String?

    @Option(name: .long, help: "The time zone, as Europe/Zurich.")
    var zoneinfo: String?

    @Flag(name: .long, help: "Take the profile away.")
    var noProfile = false

    /// `true` if a claim of the profile is to change.
    var isGiven: Bool { self.noProfile || !self.body.members.isEmpty }

    /// The body of the request to the server.
    var body: JSONObject {
        let claims = [self.givenName, self.familyName, self.middleName, self.picture, self.locale, self.zoneinfo]
        var body: JSONObject = [:]
        for (name, claim) in zip(Self.names, claims) { body[name] = claim.map(JSON.string) }
        return body
    }

    mutating func validate() throws {
        guard !self.noProfile || self.body.members.isEmpty else {
            throw ValidationError("Name one: parts of a profile or --no-profile.")
        }
    }
}
