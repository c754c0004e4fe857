import Accounts
import CeremonyEngine
import Endpoints
import HTTPTypes
import Records
import UAF
import _Primitives

/// The operations by which operators help a person whose app rests after wrong attempts, or whose finger is lost.
struct ActivationCareOperations: Sendable {
    let identities: Identities
    let directory: AccountDirectory

    private static let path = "/accounts/{username}/activations/{id}"
    private static let noActivation = [
        (status: 404, meaning: "There is no such account, or it has no activation of that identifier.")
    ]
    private static let noFactor = [
        (status: 404, meaning: "There is no such account or activation, or it has no such factor.")
    ]

    private static let factor: [AdminOperation.Field] = [
        .required("id", "The factor, as the trail names the key."),
        .required("type", .choice(AuthenticatorType.allCases.map(\.rawValue)), "What it is."),
        .required("model", "The authenticator's model (AAID)."),
        .required("state", .choice(["active", "inactive"]), "Whether it may sign."),
        .required("createdAt", "RFC 3339."),
        .optional("lastUsedAt", "When a signature of it was accepted last, RFC 3339."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .delete, path: Self.path + "/lockout", id: "liftLockout",
                summary:
                    "End the rest that wrong attempts have cost a personalised app. The attempts stay counted, and what has disabled it for good stays.",
                answer: PersonalisationOperations.shown,
                refusals: Self.noActivation + [
                    (409, "It is disabled for good, or an attempt is being judged at this moment.")
                ], handler: self.lift),
            AdminOperation(
                method: .get, path: Self.path + "/factors", id: "listFactors",
                summary: "List what a personalised app signs with.",
                answer: [.required("factors", .objects(Self.factor), "The oldest first.")],
                refusals: Self.noActivation, handler: self.list),
            AdminOperation(
                method: .get, path: Self.path + "/factors/{factor}", id: "showFactor",
                summary: "Show one of the factors of a personalised app.", answer: Self.factor,
                refusals: Self.noFactor, handler: self.show),
            AdminOperation(
                method: .delete, path: Self.path + "/factors/{factor}", id: "removeFactor",
                summary:
                    "Take a finger or a face from a personalised app. The device and the PIN stay: without one it is none.",
                status: .noContent,
                refusals: Self.noFactor + [(409, "The app is nothing without this factor.")], handler: self.remove),
        ]
    }

    private static func json(_ factor: ListedFactor) -> JSONObject {
        var object: JSONObject = [
            "id": .string(factor.id), "type": .string(factor.type.rawValue), "model": .string(factor.model),
            "state": .string(factor.isActive ? "active" : "inactive"),
            "createdAt": .string(factor.createdAt.description),
        ]
        object["lastUsedAt"] = factor.lastUsedAt.map { .string($0.description) }
        return object
    }

    @Sendable private func lift(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.directory.account(written: call.account)
        switch try await self.identities.care.lift(call.id, accountID: account.id, by: call.actor) {
        case .lifted?: break
        case .permanent?:
            throw Problem(
                .conflict, "disabled-for-good",
                "Too many attempts failed, and that stays: end this activation, and give the person another code.")
        case .judging?:
            throw Problem(
                .conflict, "attempt-judged", "An attempt is being judged. Try again when it is over, in a few minutes.")
        case nil: throw AccountError(.notFound)
        }
        guard let shown = try await self.identities.listings.shown(call.id, accountID: account.id) else {
            throw AccountError(.notFound)
        }
        return PersonalisationOperations.json(shown)
    }

    private func factors(_ call: AdminOperation.Call) async throws -> [ListedFactor] {
        let account = try await self.directory.account(written: call.account)
        guard let factors = try await self.identities.care.factors(ofActivation: call.id, accountID: account.id) else {
            throw AccountError(.notFound)
        }
        return factors
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        ["factors": .array(try await self.factors(call).map { .object(Self.json($0)) })]
    }

    @Sendable private func show(_ call: AdminOperation.Call) async throws -> JSONObject {
        let id = call.parameters["factor"] ?? ""
        guard let factor = try await self.factors(call).first(where: { $0.id.hasSameBytes(as: id) }) else {
            throw AccountError(.notFound)
        }
        return Self.json(factor)
    }

    @Sendable private func remove(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.directory.account(written: call.account)
        switch try await self.identities.care.remove(
            call.parameters["factor"] ?? "", ofActivation: call.id, accountID: account.id, by: call.actor)
        {
        case .removed?: return [:]
        case .needed(let type)?:
            throw Problem(
                .conflict, "factor-needed",
                "Without its \(type.rawValue) the app could sign nothing, and nobody could give it another one: "
                    + "end this activation, and give the person another code.")
        case nil: throw AccountError(.notFound)
        }
    }
}
