import CeremonyEngine
import Endpoints
import HTTPTypes
import OAuthProvider
import Settings
import _Primitives

/// The operations for the keys of personalised identities: the keys to which phones seal, and the keys that sign the
/// server's messages to phones.
struct IdentityKeyOperations: Sendable {
    let keys: IdentityKeys
    let provider: OpenIDProvider
    let time: TimeSource

    private static let path = "/identity/keys"

    private static let sealingKey: [AdminOperation.Field] = [
        .required("id", "Its name in messages."), .required("since", "When it was made, RFC 3339."),
        .required("until", "Until when a phone may seal to it, RFC 3339."),
        .required("erasedAt", "When it is erased, RFC 3339."),
        .required(
            "state", .choice(ListedSealingKey.State.allCases.map(\.rawValue)),
            "current: phones that fetch the keys now seal to it; former: those that have fetched them before may; closing: what was sealed at the last moment is opened."
        ),
    ]

    private static let signingKey: [AdminOperation.Field] = [
        .required("id", "The name in the key sets (kid)."), .required("since", "From when on it signs, RFC 3339."),
        .optional("until", "Until when it signs, RFC 3339; left out while no other is there to follow."),
        .required("state", .choice(["next", "current", "former"]), "Whether its turn is to come, is now, or was."),
    ]

    private static let answer: [AdminOperation.Field] = [
        .required("sealing", .objects(Self.sealingKey), "Keys that phones seal to, the newest first."),
        .required(
            "signing", .objects(Self.signingKey),
            "Keys that sign codes and answers, the newest first. They are among those of /keys, and turn with them."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: Self.path, id: "listIdentityKeys",
                summary: "List the keys that phones of personalised identities seal to, and those that sign for them.",
                answer: Self.answer, handler: self.list),
            AdminOperation(
                method: .post, path: Self.path + "/rotate", id: "rotateSealingKey",
                summary:
                    "Make a key that phones seal to from then on, beside the one of each day. What was sealed to the former "
                    + "ones is opened for as long as phones may have them. Keys that sign turn with /keys/rotate.",
                answer: Self.answer,
                refusals: [(409, "There are as many as can be: wait until one is erased.")], handler: self.rotate),
        ]
    }

    private static func json(_ key: ListedSealingKey) -> JSONObject {
        [
            "id": .string(key.id), "since": .string(key.since.description), "until": .string(key.until.description),
            "erasedAt": .string(key.erasedAt.description), "state": .string(key.state.rawValue),
        ]
    }

    private static func json(_ key: SigningKeyState, at now: Timestamp) -> JSONObject {
        let isOver = key.signsUntil.map { $0 <= now } ?? false
        var object: JSONObject = [
            "id": .string(key.name), "since": .string(key.signsFrom.description),
            "state": .string(now < key.signsFrom ? "next" : isOver ? "former" : "current"),
        ]
        object["until"] = key.signsUntil.map { .string($0.description) }
        return object
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        let (names, now) = (self.keys.signingKeyNames, self.time.now())
        let signing = self.provider.keys.signingKeys.filter { names.containsBytes(of: $0.name) }
        return [
            "sealing": .array(try await self.keys.sealingKeys().map { .object(Self.json($0)) }),
            "signing": .array(signing.map { .object(Self.json($0, at: now)) }),
        ]
    }

    @Sendable private func rotate(_ call: AdminOperation.Call) async throws -> JSONObject {
        do {
            try await self.keys.rotateSealingKey(by: call.actor)
        } catch let error as CeremonyError where error.code == .conflict {
            throw Problem(
                .conflict, "too-many-keys",
                "There are \(Limits.Fixed.sealingKeys) keys to seal to, and phones read all of them: wait until one is erased."
            )
        }
        return try await self.list(call)
    }
}
