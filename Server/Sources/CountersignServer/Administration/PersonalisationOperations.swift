import Accounts
import CeremonyEngine
import HTTPTypes
import JOSE
import Pages
import Store
import _Primitives

/// What apps need to be personalised: the root key that they are configured with, and codes that make an app a person's.
struct PersonalisationOperations: Sendable {
    let identities: Identities
    let directory: AccountDirectory
    let issuer: String

    /// Where a person's browser shows what to do with a code; what stands behind the `#` reaches no server.
    private static let linkPath = "/open"

    var operations: [AdminOperation] {
        [
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
                    (422, "The PIN is none: it has digits alone, as many as the server wants."),
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
        }
        var object: JSONObject = [
            "id": .string(offer.id), "code": .string(offer.code),
            "link": .string("\(self.issuer)\(Self.linkPath)#\(offer.code)"),
            "qrCodeSvg": .string(try QRCode(text: offer.code).svg(label: "QR code that personalises an app")),
        ]
        object["pin"] = offer.pin.map(JSON.string)
        object["expiresAt"] = .string(offer.expiresAt.description)
        return object
    }
}
