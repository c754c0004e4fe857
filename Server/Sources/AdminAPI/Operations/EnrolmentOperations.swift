import Ceremony
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import Pages
import Records
import _Primitives

/// The operations for links that enrol a phone.
struct EnrolmentOperations: Sendable {
    let enrolments: Enrolments
    let trace: TraceRecorder?

    private static let enrolment: [AdminOperation.Field] = [
        .required("id", "The enrolment."), .optional("username", "Whose phone it is."),
        .required(
            "state", "One of: \(EnrolmentView.State.allCases.map(\.rawValue).joined(separator: ", "))."),
        .optional("deviceName", "What the phone calls itself, once it has answered."),
        .required("expiresAt", "RFC 3339."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .post, path: "/activations", id: "createActivation",
                summary: "Make a link that enrols a person's phone.",
                body: [
                    .required("username", "Whose phone it is."),
                    .optional("policy", "The policy that the phone must meet; the default one where left out."),
                ],
                answer: [
                    .required("id", "The enrolment."), .required("link", "A secret: whoever opens it can answer it."),
                    .required("qrCodeSvg", "The link as a picture."), .required("expiresAt", "RFC 3339."),
                ],
                status: .created,
                refusals: [
                    (404, "There is no such account."), (403, "The account is locked."),
                    (422, "There is no policy of that name."),
                ],
                handler: self.create),
            AdminOperation(
                method: .get, path: "/activations/{id}", id: "showActivation",
                summary: "Show how far an enrolment is.",
                answer: Self.enrolment, refusals: [(404, "There is no such enrolment.")], handler: self.show),
            AdminOperation(
                method: .post, path: "/activations/{id}/confirm", id: "confirmActivation",
                summary: "Confirm a pending phone with the number that it shows. A wrong number ends the enrolment.",
                body: [.required("number", "Six digits, as the person reads them out.")], answer: Self.enrolment,
                refusals: [
                    (404, "There is no such enrolment."), (409, "It does not wait for a number."),
                    (422, "That is not the number; the enrolment has ended."),
                ],
                handler: self.confirm),
        ]
    }

    private static func json(_ view: EnrolmentView) -> JSONObject {
        var object: JSONObject = [
            "id": .string(view.id), "state": .string(view.state.rawValue),
        ]
        object["username"] = view.username.map(JSON.string)
        object["deviceName"] = view.deviceName.map(JSON.string)
        object["expiresAt"] = .string(view.expiresAt.description)
        return object
    }

    @Sendable private func create(_ call: AdminOperation.Call) async throws -> JSONObject {
        let (username, policy) = (try call.body.requiredString("username"), try call.body.string("policy"))
        let link: EnrolmentLink
        do {
            link = try await self.enrolments.createEnrolmentLink(username: username, policy: policy, by: call.actor)
        } catch let error as CeremonyError where error.code == .invalidRequest {
            throw Problem(
                .unprocessableContent, "unknown-policy",
                policy == nil
                    ? "No phone can be enrolled by the default policy: name one."
                    : "There is no policy of that name for an enrolment. `countersign admin metadata show` lists them.")
        }
        self.trace?.record(.enrolmentLinkCreated, in: TraceContext())
        return [
            "id": .string(link.id), "link": .string(link.link),
            "qrCodeSvg": .string(try QRCode(text: link.qrContent).svg(label: "QR code that enrols a phone")),
            "expiresAt": .string(link.expiresAt.description),
        ]
    }

    @Sendable private func show(_ call: AdminOperation.Call) async throws -> JSONObject {
        Self.json(try await self.enrolments.enrolment(id: call.parameters["id"] ?? ""))
    }

    @Sendable private func confirm(_ call: AdminOperation.Call) async throws -> JSONObject {
        let digits = try call.body.requiredString("number").filter { $0 != " " }
        let view = try await self.enrolments.confirmEnrolment(
            id: call.parameters["id"] ?? "", number: digits, by: call.actor)
        self.trace?.record(.enrolmentConfirmed, in: TraceContext())
        return Self.json(view)
    }
}
