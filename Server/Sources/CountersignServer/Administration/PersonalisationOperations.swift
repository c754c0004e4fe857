import Accounts
import Ceremony
import CeremonyEngine
import HTTPTypes
import JOSE
import Pages
import Store
import UAF
import _Primitives

/// What apps need to be personalised: the root key that they are configured with, and codes that make an app a person's.
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
        let activations = try await listings.activations(accountID: account.id).map { activation -> JSON in
            var object: JSONObject = [
                "id": .string(activation.id), "name": .string(activation.name),
                "factors": .array(activation.factors.map { .string($0.rawValue) }),
                "createdAt": .string(activation.createdAt.description), "disabled": .bool(activation.isDisabled),
            ]
            object["lastUsedAt"] = activation.lastUsedAt.map { .string($0.description) }
            object["lockedUntil"] = activation.lockedUntil.map { .string($0.description) }
            return .object(object)
        }
        let offers = try await listings.offers(accountID: account.id).map { offer -> JSON in
            var object: JSONObject = [
                "id": .string(offer.id), "createdAt": .string(offer.createdAt.description),
                "expiresAt": .string(offer.expiresAt.description),
            ]
            object["name"] = offer.name.map(JSON.string)
            return .object(object)
        }
        return ["activations": .array(activations), "offers": .array(offers)]
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
