import Accounts
import Endpoints
import HTTPTypes
import Hummingbird
import _Primitives

/// The operations for the passwords that people may have beside their phones.
struct PasswordOperations: Sendable {
    let passwords: PasswordDirectory

    private static let path = "/accounts/{username}/password"
    private static let notFound = [(status: 404, meaning: "There is no such account, or it has none.")]

    private static let summary: [AdminOperation.Field] = [
        .required("password", "none, one-time, own, or imported: as another system has hashed it."),
        .optional("setAt", "RFC 3339."),
        .required("secondFactor", .boolean, "Whether a code is asked for beside it."),
        .required("recoveryCodes", .integer, "How many recovery codes are left."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: Self.path, id: "showPassword", summary: "Show whether a person has a password.",
                answer: Self.summary, refusals: Self.notFound, handler: self.show),
            AdminOperation(
                method: .put, path: Self.path, id: "setPassword",
                summary: "Give a person a password for one sign-in; their sessions end.",
                body: [
                    .required("password", "At its sign-in the person chooses another one.")
                ], answer: Self.summary, refusals: Self.notFound, handler: self.set),
            AdminOperation(
                method: .put, path: Self.path + "/hash", id: "importPassword",
                summary: "Give a person the password that another system has hashed; their sessions end.",
                body: [
                    .required(
                        "hash",
                        "Argon2id, Argon2i, PBKDF2 or scrypt as a PHC string, bcrypt, sha512-crypt, or what passlib and Django store of PBKDF2. The first sign-in hashes it anew."
                    )
                ], answer: Self.summary, refusals: Self.notFound, handler: self.importHash),
            AdminOperation(
                method: .delete, path: Self.path, id: "removePassword",
                summary: "Take a person's password away; their sessions end.", status: .noContent,
                refusals: Self.notFound, handler: self.remove),
            AdminOperation(
                method: .delete, path: "/accounts/{username}/second-factor", id: "removeSecondFactor",
                summary: "Take away the codes that a person is asked for beside the password.", status: .noContent,
                refusals: Self.notFound, handler: self.removeSecondFactor),
        ]
    }

    private func summary(_ call: AdminOperation.Call) async throws -> JSONObject {
        let summary = try await self.passwords.summary(username: call.username)
        var object: JSONObject = [
            "password": .string(summary.source.rawValue), "secondFactor": .bool(summary.hasSecondFactor),
            "recoveryCodes": .integer(Int64(summary.recoveryCodes)),
        ]
        object["setAt"] = summary.setAt.map { .string($0.description) }
        return object
    }

    @Sendable private func show(_ call: AdminOperation.Call) async throws -> JSONObject {
        try await self.summary(call)
    }

    @Sendable private func set(_ call: AdminOperation.Call) async throws -> JSONObject {
        let password = try call.body.requiredString("password")
        try await self.passwords.setOneTime(password, username: call.username, by: call.actor)
        return try await self.summary(call)
    }

    @Sendable private func importHash(_ call: AdminOperation.Call) async throws -> JSONObject {
        let hash = try call.body.requiredString("hash")
        try await self.passwords.importHash(hash, username: call.username, by: call.actor)
        return try await self.summary(call)
    }

    @Sendable private func remove(_ call: AdminOperation.Call) async throws -> JSONObject {
        try await self.passwords.remove(username: call.username, by: call.actor)
        return [:]
    }

    @Sendable private func removeSecondFactor(_ call: AdminOperation.Call) async throws -> JSONObject {
        try await self.passwords.removeSecondFactor(username: call.username, by: call.actor)
        return [:]
    }
}

extension AdminOperation.Call {
    /// The user name in the path.
    fileprivate var username: String { self.parameters["username"] ?? "" }
}
