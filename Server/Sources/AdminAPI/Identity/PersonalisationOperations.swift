import Accounts
import Ceremony
import CeremonyEngine
import Endpoints
import HTTPTypes
import JOSE
import Pages
import Records
import UAF
import _Primitives

/// The operations for personalising apps: the root key for the configuration of apps, and the codes that make an app a
/// person's own.
struct PersonalisationOperations: Sendable {
    let identities: Identities
    let directory: AccountDirectory
    let issuer: String

    private static let activation: [AdminOperation.Field] = [
        .required("id", "The activation."), .required("name", "What its person calls the device."),
        .required("factors", .strings, "What it signs with: device, pin, biometric."),
        .required("createdAt", "RFC 3339."), .optional("lastUsedAt", "When its factors were accepted last, RFC 3339."),
        .optional("lockedUntil", "Until when it rests after wrong attempts, RFC 3339."),
        .required("disabled", .boolean, "Whether it may not authenticate any more."),
    ]

    private static let noActivation = [
        (status: 404, meaning: "There is no such account, or it has no activation of that identifier.")
    ]

    /// A personalised app or a code, with its failed attempts.
    static let shown: [AdminOperation.Field] = [
        .required("id", "The activation."),
        .required("kind", .choice(["activation", "code"]), "Whether it is a personalised app, or a code that waits."),
        .optional("name", "What its person calls the device, or what it is to be called."),
        .optional("factors", .strings, "What it signs with: device, pin, biometric."),
        .required("createdAt", "RFC 3339."), .optional("lastUsedAt", "When its factors were accepted last, RFC 3339."),
        .optional("expiresAt", "Until when the code can be used, RFC 3339."),
        .required("failuresInARow", .integer, "Attempts that failed, one after the other."),
        .required("recentFailures", .integer, "Attempts that failed within lockoutWindow."),
        .required("attemptsLeft", .integer, "How many more may fail: the last of them disables it."),
        .optional("lockedUntil", "Until when it rests after wrong attempts, RFC 3339."),
        .optional("lockedSeconds", .integer, "How much of that is left."),
        .optional("disabled", .boolean, "Whether an app may not authenticate any more."),
    ]

    private static let offer: [AdminOperation.Field] = [
        .required("id", "The activation that it becomes."), .optional("name", "What the device is to be called."),
        .required("createdAt", "RFC 3339."), .required("expiresAt", "Until when the code can be used, RFC 3339."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: "/accounts/{username}/activations", id: "listActivations",
                summary: "List the personalised apps of a person, and the codes that wait for one.",
                answer: [
                    .required("activations", .objects(Self.activation), "The oldest first."),
                    .required("offers", .objects(Self.offer), "Codes that can still be used, the oldest first."),
                ], refusals: [(404, "There is no such account.")], handler: self.list),
            AdminOperation(
                method: .get, path: "/accounts/{username}/activations/{id}", id: "showPersonalisedApp",
                summary: "Show a personalised app of a person, or a code that waits for one, with its failed attempts.",
                answer: Self.shown,
                refusals: [(404, "There is no such account, or it has neither of that identifier.")],
                handler: self.show),
            AdminOperation(
                method: .patch, path: "/accounts/{username}/activations/{id}", id: "renamePersonalisedApp",
                summary: "Call a personalised app otherwise: its person sees the name at /account.",
                body: [.required("name", "What the device is called.")], answer: Self.shown,
                refusals: Self.noActivation, handler: self.rename),
            AdminOperation(
                method: .delete, path: "/accounts/{username}/activations/{id}", id: "endActivation",
                summary: "Take an activation back, or a code for one that nobody has used.", status: .noContent,
                refusals: [(404, "There is no such account, or it has neither of that identifier.")],
                handler: self.end),
            AdminOperation(
                method: .get, path: "/identity/root", id: "showIdentityRoot",
                summary: "Show the root key of personalised identities, which makers of apps configure them with.",
                answer: [
                    .required("server", "What codes name the server by."),
                    .required("key", .object, "The root's public key, a JSON web key."),
                    .required("thumbprint", "RFC 7638, for comparing."),
                ], handler: self.root),
            AdminOperation(
                method: .post, path: "/identity/activations", id: "offerActivation",
                summary: "Make a code that personalises an app for a person.",
                body: [
                    .required("username", "Who the person is."), .optional("name", "What the device is to be called."),
                    .optional("pin", "The activation's PIN, digits alone. Default: one is made."),
                ],
                answer: [
                    .required("id", "The activation."),
                    .required("code", "A secret: whoever has it and the PIN becomes the person."),
                    .required("link", "The same as a link."),
                    .required("qrCodeSvg", "The code as a picture."),
                    .optional("pin", "The PIN that was made. It goes another way to the person than the code."),
                    .required("expiresAt", "RFC 3339."),
                ],
                status: .created,
                refusals: [
                    (404, "There is no such account."), (403, "The account is locked."),
                    (409, "The account is an invitation's, which has an activation already."),
                    (
                        422,
                        "The PIN is none, or one of those that are tried first: a date, a row, something that repeats."
                    ),
                ],
                handler: self.offer),
        ]
    }

    @Sendable private func root(_ call: AdminOperation.Call) async throws -> JSONObject {
        guard let root = try await self.identities.keys.root(), let key = root.publicJSON else {
            throw Problem(.notFound, "not-found", "The server has no root key yet: it is made when the server starts.")
        }
        return [
            "server": .string(self.issuer), "key": .object(key), "thumbprint": .string(root.thumbprint),
        ]
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.directory.account(written: call.account)
        let listings = self.identities.listings
        let activations = try await listings.activations(accountID: account.id).map { JSON.object(Self.json($0)) }
        let offers = try await listings.offers(accountID: account.id).map { JSON.object(Self.json($0)) }
        return ["activations": .array(activations), "offers": .array(offers)]
    }

    private static func json(_ activation: ListedActivation) -> JSONObject {
        var object: JSONObject = [
            "id": .string(activation.id), "name": .string(activation.name),
            "factors": .array(activation.factors.map { .string($0.rawValue) }),
            "createdAt": .string(activation.createdAt.description), "disabled": .bool(activation.isDisabled),
        ]
        object["lastUsedAt"] = activation.lastUsedAt.map { .string($0.description) }
        object["lockedUntil"] = activation.lockedUntil.map { .string($0.description) }
        return object
    }

    private static func json(_ offer: ListedOffer) -> JSONObject {
        var object: JSONObject = [
            "id": .string(offer.id), "createdAt": .string(offer.createdAt.description),
            "expiresAt": .string(offer.expiresAt.description),
        ]
        object["name"] = offer.name.map(JSON.string)
        return object
    }

    static func json(_ shown: ShownActivation) -> JSONObject {
        var (object, attempts): (JSONObject, ListedAttempts)
        switch shown {
        case .activation(let activation, let its):
            (object, attempts) = (Self.json(activation), its)
            object["kind"] = .string("activation")
        case .offer(let offer, let its):
            (object, attempts) = (Self.json(offer), its)
            object["kind"] = .string("code")
        }
        object["failuresInARow"] = .integer(Int64(attempts.failuresInARow))
        object["recentFailures"] = .integer(Int64(attempts.recentFailures))
        object["attemptsLeft"] = .integer(Int64(attempts.left))
        object["lockedUntil"] = attempts.lockedUntil.map { .string($0.description) }
        object["lockedSeconds"] = attempts.rest.map { .integer(($0.milliseconds + 999) / 1000) }
        return object
    }

    @Sendable private func show(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.directory.account(written: call.account)
        guard let shown = try await self.identities.listings.shown(call.id, accountID: account.id) else {
            throw Problem(.notFound, Problem.Name.notFound, "The account has no such activation, and no such code.")
        }
        return Self.json(shown)
    }

    @Sendable private func rename(_ call: AdminOperation.Call) async throws -> JSONObject {
        let name = try call.body.requiredString("name")
        let account = try await self.directory.account(written: call.account)
        let listings = self.identities.listings
        guard try await listings.rename(call.id, to: name, accountID: account.id, by: call.actor),
            let shown = try await listings.shown(call.id, accountID: account.id)
        else { throw Problem(.notFound, Problem.Name.notFound, "The account has no such activation.") }
        return Self.json(shown)
    }

    @Sendable private func end(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.directory.account(written: call.account)
        guard try await self.identities.listings.end(call.id, accountID: account.id, by: call.actor) else {
            throw Problem(.notFound, Problem.Name.notFound, "The account has no such activation, and no such code.")
        }
        return [:]
    }

    @Sendable private func offer(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.directory.account(written: try call.body.requiredString("username"))
        let offer: ActivationOffer
        do {
            offer = try await self.identities.offers.offer(
                accountID: account.id, pin: try call.body.string("pin"),
                name: try call.body.string("name"), by: call.actor)
        } catch let error as CeremonyError where error.code == .invalidRequest {
            throw Problem(
                .unprocessableContent, "invalid-pin", "A PIN has digits alone, as many as the server's policy says.")
        } catch let error as CeremonyError where error.code == .pinTooSimple {
            throw Problem(
                .unprocessableContent, "pin-too-simple",
                "A PIN is no date, no row, and nothing that repeats: others try such a one first.")
        }
        var object: JSONObject = [
            "id": .string(offer.id), "code": .string(offer.code),
            "link": .string(ProcessCode.link(with: offer.code, at: self.issuer)),
            "qrCodeSvg": .string(try QRCode(text: offer.code).svg(label: "QR code that personalises an app")),
        ]
        object["pin"] = offer.pin.map(JSON.string)
        object["expiresAt"] = .string(offer.expiresAt.description)
        return object
    }
}
