import Accounts
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import Records
import Settings
import _Primitives

/// The operations for accounts and their devices.
struct AccountOperations: Sendable {
    let directory: AccountDirectory
    let lost: LostDevices

    private static let account: [AdminOperation.Field] = [
        .required("id", "The account. Where it has no user name, `id:` and this stand for it in paths."),
        .optional("username", "The name that the person is known by; somebody from another provider may have none."),
        .optional("displayName", "The name to show."), .optional("email", "Where they get e-mail."),
        .optional("emailVerified", .boolean, "Whether an operator vouches for the address."),
        .optional("phone", "By what number they can be called."),
        .optional("phoneVerified", .boolean, "Whether an operator vouches for the number."),
        .optional("address", .object, "Where they get post, with the members of the claim address."),
        .optional(
            "profile", .object, "What else services are told with the scope profile, by the names of the claims."),
        .required("updatedAt", "When something that services are told of them last changed, RFC 3339."),
        .required("locked", .boolean, "Whether they are kept out."),
        .required("createdAt", "RFC 3339."),
    ]

    private static let device: [AdminOperation.Field] = [
        .required("id", "The device registration."), .required("name", "What its owner calls it."),
        .required("state", "active, rested after a report of its loss, or pending until an operator confirms it."),
        .required("createdAt", "RFC 3339."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .post, path: "/accounts", id: "addAccount", summary: "Add a person.",
                body: [
                    .required("username", "1 to \(Limits().usernameCharacters) characters, unique."),
                    .optional("displayName", "The name to show."),
                    .optional("email", "An address, which services see that ask for the scope email."),
                    .optional("emailVerified", .boolean, Self.verified),
                ],
                answer: Self.account, status: .created, refusals: [(409, "There is an account of that name.")],
                handler: self.add),
            AdminOperation(
                method: .get, path: "/accounts", id: "listAccounts",
                summary: "List people as they were added, a page at a time.",
                query: [.optional("after", "The last name of the page before.")],
                answer: [.required("accounts", .objects(Self.account), "At most a page.")],
                refusals: [(400, "The query is not encoded."), (404, "There is nobody of that name any more.")],
                handler: self.list),
            AdminOperation(
                method: .get, path: "/accounts/{username}", id: "showAccount", summary: "Show a person.",
                answer: Self.account, refusals: Self.notFound, handler: self.show),
            AdminOperation(
                method: .patch, path: "/accounts/{username}", id: "renameAccount",
                summary: "Call a person by another user name, or show another name; what is missing stays as it is.",
                body: [
                    .optional(
                        "username",
                        "1 to \(Limits().usernameCharacters) characters, unique. Apps that sign in by user name need the new one."
                    ),
                    .optional("displayName", "The name to show; empty for none."),
                ], answer: Self.account,
                refusals: Self.notFound + [(409, "There is an account of that name.")], handler: self.rename),
            AdminOperation(
                method: .put, path: "/accounts/{username}/email", id: "setEmail",
                summary: "Give a person an e-mail address.",
                body: [.required("email", "An address."), .optional("emailVerified", .boolean, Self.verified)],
                answer: Self.account, refusals: Self.notFound, handler: self.setEmail),
            AdminOperation(
                method: .delete, path: "/accounts/{username}/email", id: "deleteEmail",
                summary: "Take a person's e-mail address away.", answer: Self.account, refusals: Self.notFound,
                handler: self.deleteEmail),
            AdminOperation(
                method: .put, path: "/accounts/{username}/phone", id: "setPhone",
                summary: "Give a person a telephone number.",
                body: [
                    .required("phone", "A number with its country's, as E.164 has it: +4930901820."),
                    .optional("phoneVerified", .boolean, Self.verified),
                ], answer: Self.account, refusals: Self.notFound, handler: self.setPhone),
            AdminOperation(
                method: .delete, path: "/accounts/{username}/phone", id: "deletePhone",
                summary: "Take a person's telephone number away.", answer: Self.account, refusals: Self.notFound,
                handler: self.deletePhone),
            AdminOperation(
                method: .put, path: "/accounts/{username}/address", id: "setAddress",
                summary: "Give a person a postal address; parts that are missing are none.",
                body: PostalAddress.names.map { .optional($0, "As the claim address has it.") },
                answer: Self.account, refusals: Self.notFound, handler: self.setAddress),
            AdminOperation(
                method: .delete, path: "/accounts/{username}/address", id: "deleteAddress",
                summary: "Take a person's postal address away.", answer: Self.account, refusals: Self.notFound,
                handler: self.deleteAddress),
            AdminOperation(
                method: .put, path: "/accounts/{username}/profile", id: "setProfile",
                summary:
                    "Give a person a profile, which services see that ask for the scope profile; what is missing is none.",
                body: PersonProfile.names.map { .optional($0, "As the claim \($0) has it.") },
                answer: Self.account, refusals: Self.notFound, handler: self.setProfile),
            AdminOperation(
                method: .delete, path: "/accounts/{username}/profile", id: "deleteProfile",
                summary: "Take a person's profile away.", answer: Self.account, refusals: Self.notFound,
                handler: self.deleteProfile),
            AdminOperation(
                method: .delete, path: "/accounts/{username}", id: "deleteAccount",
                summary: "Delete a person with their devices and sessions.", status: .noContent,
                refusals: Self.notFound, handler: self.delete),
            AdminOperation(
                method: .post, path: "/accounts/{username}/lock", id: "lockAccount",
                summary: "Keep a person from signing in, and end their sessions.", answer: Self.account,
                refusals: Self.notFound, handler: { try await self.setLocked(true, $0) }),
            AdminOperation(
                method: .post, path: "/accounts/{username}/unlock", id: "unlockAccount",
                summary: "Let a locked person sign in again.", answer: Self.account, refusals: Self.notFound,
                handler: { try await self.setLocked(false, $0) }),
            AdminOperation(
                method: .get, path: "/accounts/{username}/devices", id: "listDevices",
                summary: "List a person's devices.",
                answer: [.required("devices", .objects(Self.device), "In the order they were enrolled.")],
                refusals: Self.notFound, handler: self.devices),
            AdminOperation(
                method: .post, path: "/accounts/{username}/devices/{id}/rest", id: "restDevice",
                summary: "Let a lost device rest: it authenticates nowhere, and keeps its keys.", status: .noContent,
                refusals: Self.noSuchDevice,
                handler: { call in
                    try await self.change(call) { try await self.lost.report($0, accountID: $1, by: $2) }
                }),
            AdminOperation(
                method: .post, path: "/accounts/{username}/devices/{id}/restore", id: "restoreDevice",
                summary: "Give a person a device back that rests.", status: .noContent,
                refusals: Self.noSuchDevice,
                handler: { call in
                    try await self.change(call) { try await self.lost.bringBack($0, accountID: $1, by: $2) }
                }),
            AdminOperation(
                method: .delete, path: "/devices/{id}", id: "revokeDevice",
                summary: "Take a device's keys away: it can sign nothing more.", status: .noContent,
                refusals: [(404, "There is no such device.")], handler: self.revoke),
        ]
    }

    private static let verified =
        "Whether you vouch that it is the person's; services are told so. Default: false."
    private static let notFound = [(status: 404, meaning: "There is no such account.")]
    private static let noSuchDevice = [
        (status: 404, meaning: "The account has no such device, or the device is in that state already.")
    ]

    private static func json(_ account: AccountRecord) -> JSONObject {
        var object: JSONObject = ["id": .string(account.id)]
        object["username"] = account.username.map { .string($0.text) }
        object["displayName"] = account.displayName.map(JSON.string)
        object["email"] = account.email.map { .string($0.address) }
        object["emailVerified"] = account.email.map { .bool($0.isVerified) }
        object["phone"] = account.phone.map { .string($0.number) }
        object["phoneVerified"] = account.phone.map { .bool($0.isVerified) }
        object["address"] = account.address.map { .object($0.parts) }
        object["profile"] = account.profile.map { .object($0.claims) }
        object["locked"] = .bool(account.isLocked)
        object["createdAt"] = .string(account.createdAt.description)
        object["updatedAt"] = .string(account.updatedAt.description)
        return object
    }

    @Sendable private func add(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.directory.create(
            username: call.body.requiredString("username"), displayName: call.body.string("displayName"),
            email: Self.email(call.body), by: call.actor)
        return Self.json(account)
    }

    private static func email(_ body: JSONObject) throws -> AccountEmail? {
        let isVerified = try body.bool("emailVerified")
        guard let address = try body.string("email") else {
            guard isVerified == nil else { throw JSONError(.missing, "email") }
            return nil
        }
        return AccountEmail(address: address, isVerified: isVerified ?? false)
    }

    @Sendable private func setEmail(_ call: AdminOperation.Call) async throws -> JSONObject {
        guard let email = try Self.email(call.body) else { throw JSONError(.missing, "email") }
        return Self.json(
            try await self.directory.setEmail(email, username: self.account(call).reference, by: call.actor))
    }

    @Sendable private func setPhone(_ call: AdminOperation.Call) async throws -> JSONObject {
        let phone = AccountPhone(
            number: try call.body.requiredString("phone"), isVerified: try call.body.bool("phoneVerified") ?? false)
        return Self.json(
            try await self.directory.setPhone(phone, username: self.account(call).reference, by: call.actor))
    }

    @Sendable private func deletePhone(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.json(try await self.directory.setPhone(nil, username: self.account(call).reference, by: call.actor))
    }

    @Sendable private func setAddress(_ call: AdminOperation.Call) async throws -> JSONObject {
        for name in PostalAddress.names { _ = try call.body.string(name) }
        guard let address = PostalAddress(call.body) else { throw JSONError(.missing, "a part that is not empty") }
        return Self.json(
            try await self.directory.setAddress(address, username: self.account(call).reference, by: call.actor))
    }

    @Sendable private func deleteAddress(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.json(try await self.directory.setAddress(nil, username: self.account(call).reference, by: call.actor))
    }

    @Sendable private func setProfile(_ call: AdminOperation.Call) async throws -> JSONObject {
        for name in PersonProfile.names { _ = try call.body.string(name) }
        guard let profile = PersonProfile(call.body) else { throw JSONError(.missing, "a claim that is not empty") }
        return Self.json(
            try await self.directory.setProfile(profile, username: self.account(call).reference, by: call.actor))
    }

    @Sendable private func deleteProfile(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.json(try await self.directory.setProfile(nil, username: self.account(call).reference, by: call.actor))
    }

    @Sendable private func rename(_ call: AdminOperation.Call) async throws -> JSONObject {
        let (username, displayName) = (try call.body.string("username"), try call.body.string("displayName"))
        guard username != nil || displayName != nil else { throw JSONError(.missing, "a name") }
        return Self.json(
            try await self.directory.rename(
                self.account(call).reference, username: username, displayName: displayName, by: call.actor))
    }

    @Sendable private func deleteEmail(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.json(try await self.directory.setEmail(nil, username: self.account(call).reference, by: call.actor))
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        guard let query = try? Parameters(parsing: call.query ?? "") else {
            throw Problem(.badRequest, "invalid-request", "The query is not encoded.")
        }
        var after: String?
        if let username = query["after"] { after = try await self.directory.account(written: username).id }
        return ["accounts": .array(try await self.directory.accounts(after: after).map { .object(Self.json($0)) })]
    }

    private func account(_ call: AdminOperation.Call) async throws -> AccountRecord {
        try await self.directory.account(written: call.parameters["username"] ?? "")
    }

    @Sendable private func show(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.json(try await self.account(call))
    }

    @Sendable private func delete(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.account(call)
        try await self.directory.delete(username: account.reference, by: call.actor)
        return [:]
    }

    private func setLocked(_ isLocked: Bool, _ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.account(call)
        return Self.json(
            try await self.directory.setLocked(isLocked, username: account.reference, by: call.actor))
    }

    @Sendable private func devices(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.account(call)
        let devices = try await self.directory.devices(username: account.reference)
        return [
            "devices": .array(
                devices.map { device in
                    .object([
                        "id": .string(device.id), "name": .string(device.name),
                        "state": .string(Self.state(of: device)),
                        "createdAt": .string(device.createdAt.description),
                    ])
                })
        ]
    }

    private static func state(of device: DeviceRecord) -> String {
        guard device.isActive else { return "pending" }
        return device.standing.mayAuthenticate ? "active" : "rested"
    }

    /// Carries out a change of a device: `change` gets the device, the account and the operator.
    private func change(
        _ call: AdminOperation.Call, _ change: (String, String, String) async throws -> Bool
    ) async throws -> JSONObject {
        let account = try await self.account(call)
        guard try await change(call.parameters["id"] ?? "", account.id, call.actor) else {
            throw AccountError(.notFound)
        }
        return [:]
    }

    @Sendable private func revoke(_ call: AdminOperation.Call) async throws -> JSONObject {
        try await self.directory.deleteDevice(id: call.parameters["id"] ?? "", by: call.actor)
        return [:]
    }
}
