import Endpoints
import Foundation
import HTTPTypes
import Hummingbird
import OAuthProvider
package import Records
import Synchronization
package import _Primitives

/// The operations for the keys that sign tokens, and for the keys that seal stored values.
struct KeyOperations: Sendable {
    let provider: OpenIDProvider
    let store: any SealingKeyStore
    let resealing: Resealing

    private static let signingKey: [AdminOperation.Field] = [
        .required("kid", "The name in the key set."), .required("algorithm", "What it signs with."),
        .required("signsFrom", "RFC 3339."),
        .optional("signsUntil", "RFC 3339; left out while no other is there to follow."),
        .optional("publishedUntil", "RFC 3339; until then it is in the key set."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: "/keys", id: "listKeys",
                summary: "The keys that tokens are signed with, and those that stored values are sealed under.",
                answer: [
                    .required("signing", .objects(Self.signingKey), "Signing keys, the newest first."),
                    .required(
                        "sealing",
                        .objects([
                            .required("id", "The name of a key-encryption key, as backups have it."),
                            .required(
                                "isNewest", .boolean,
                                "Whether new values are sealed under it. Of another one there can be values still."),
                        ]), "The key-encryption keys that the database needs, the newest first."),
                    .required(
                        "resealed", .integer,
                        "Values that were sealed anew under the newest key since the server was started."),
                    .required("unreadable", .integer, "Those of them that opened under no key, and stayed."),
                ], handler: self.list),
            AdminOperation(
                method: .post, path: "/keys/rotate", id: "rotateSigningKey",
                summary:
                    "Publish a new key for each algorithm in use, which signs once every client has had the time to read "
                    + "it; what the old ones signed stays valid until it expires.",
                body: [
                    .optional(
                        "seen", .boolean,
                        "Whether others may have seen the old ones: the new ones sign at once, and the old ones are "
                            + "erased and verify nothing. Receipts of the old ones need the audit trail."),
                    .optional("seenSince", "With seen: since when, RFC 3339. Without it, since now."),
                ],
                status: .noContent, handler: self.rotate),
        ]
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        let sealing = try await self.store.sealingKeys()
        let resealed = self.resealing.progress
        return [
            "signing": .array(self.provider.keys.signingKeys.map(Self.json)),
            "sealing": .array(
                sealing.enumerated().map { place, id in
                    .object(["id": .string(id), "isNewest": .bool(place == 0)])
                }),
            "resealed": .integer(Int64(resealed.resealed)), "unreadable": .integer(Int64(resealed.unreadable)),
        ]
    }

    private static func json(_ key: SigningKeyState) -> JSON {
        var object: JSONObject = [
            "kid": .string(key.name), "algorithm": .string(key.algorithm),
            "signsFrom": .string(key.signsFrom.description),
        ]
        object["signsUntil"] = key.signsUntil.map { .string($0.description) }
        object["publishedUntil"] = key.publishedUntil.map { .string($0.description) }
        return .object(object)
    }

    @Sendable private func rotate(_ call: AdminOperation.Call) async throws -> JSONObject {
        let areSeen = try call.body.bool("seen") ?? false
        let since = try call.body.string("seenSince").map { text in
            guard areSeen, let date = try? Date(text, strategy: .iso8601) else {
                throw Problem(
                    .badRequest, "invalid-request", "seenSince is a time such as 2026-06-01T00:00:00Z, beside seen.")
            }
            return Timestamp(seconds: Int64(date.timeIntervalSince1970))
        }
        try await self.provider.keys.rotate(areSeen: areSeen, since: since, by: call.actor)
        return [:]
    }
}

/// The progress of this server in sealing anew the values under former key-encryption keys.
package final class Resealing: Sendable {
    private struct State {
        var progress = Resealed()
        var lastReport: Timestamp?
    }

    private let state = Mutex(State())

    /// Creates the progress of a server that has sealed nothing anew.
    package init() {}

    package var progress: Resealed { self.state.withLock { $0.progress } }

    /// Keeps the progress. Returns `true` if the log should tell the operator, which happens once in a `pause`.
    package func note(_ resealed: Resealed, at now: Timestamp, pause: Duration) -> Bool {
        self.state.withLock { state in
            state.progress = resealed
            guard now >= (state.lastReport ?? now) + pause else {
                state.lastReport = state.lastReport ?? now
                return false
            }
            state.lastReport = now
            return true
        }
    }
}
