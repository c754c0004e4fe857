import Accounts
import Ceremony
import CeremonyEngine
import Endpoints
import HTTPTypes
import PersonalInformation
import Records
import _Primitives

/// The operations for the agreements that people made with their personalised identities, as evidence: the documents,
/// the signatures except for the PINs' signatures, and the server's own statement about an agreement.
struct AgreementOperations: Sendable {
    let identities: Identities
    let directory: AccountDirectory

    private static let path = "/accounts/{username}/agreements"

    private static let agreement: [AdminOperation.Field] = [
        .required("session", "The session, which the trail has as the ceremony."),
        .required("purpose", "What it was for."),
        .optional("service", "The client that asked; missing for what the account has done with itself."),
        .required("role", "The role in which the person came."),
        .required("attributes", .strings, "What the service gets of the person."),
        .required("documentHash", "SHA-256 of the document, base64url, as the trail has it."),
        .required("factors", .strings, "What was signed with: device, pin, biometric."),
        .required("at", "RFC 3339."),
    ]

    private static let signature: [AdminOperation.Field] = [
        .required("type", "The factor: device, pin, biometric."), .required("key", "The key's identifier here."),
        .optional("aaid", "The authenticator's model. This and what follows is missing for a PIN."),
        .optional("keyID", "The key's name within its model, base64url."),
        .optional("publicKey", "The public key, base64url."),
        .optional("keyFormat", .integer, "UAF registry number of the key's encoding."),
        .optional("algorithm", .integer, "UAF registry number of the signature algorithm."),
        .optional("assertion", "The assertion as it was sent, base64url."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: Self.path, id: "listAgreements",
                summary: "List what a person has agreed to with a personalised identity.",
                answer: [.required("agreements", .objects(Self.agreement), "The newest first.")],
                refusals: [(404, "There is no such account.")], handler: self.list),
            AdminOperation(
                method: .get, path: Self.path + "/{session}", id: "showAgreement",
                summary: "Show the evidence of what a person has agreed to.",
                answer: Self.agreement + [
                    .required("document", "The document that was shown and signed, base64url."),
                    .required("finalChallenge", "What every factor has signed the hash of (UAF)."),
                    .required(
                        "signatures", .objects(Self.signature),
                        "A factor each, with its key and its assertion; of a PIN only that it was right."),
                    .required(
                        "statement", "A JWT of the type identity-consent+jwt, signed now by a key of /identity/keys."),
                ],
                refusals: [(404, "There is no such account, or it has agreed to nothing in that session.")],
                handler: self.show),
        ]
    }

    private static func json(_ consent: IdentityConsents.Consent) -> JSONObject {
        let (record, document) = (consent.record, consent.document)
        var object: JSONObject = [
            "session": .string(record.session), "purpose": .string(document.purpose.rawValue),
            "role": .string(document.role.id),
            "attributes": .array(consent.attributes.map { .string($0.rawValue) }),
            "documentHash": .string(Base64URL.encode(consent.documentHash)),
            "factors": .array(record.factors.map { .string($0.type) }), "at": .string(record.at.description),
        ]
        object["service"] = record.service.map(JSON.string)
        return object
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.directory.account(written: call.account)
        let consents = try await self.identities.consents.consents(accountID: account.id)
        return ["agreements": .array(consents.map { .object(Self.json($0)) })]
    }

    @Sendable private func show(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.directory.account(written: call.account)
        let found = try await self.identities.consents.consent(
            session: call.parameters["session"] ?? "", accountID: account.id)
        guard let (consent, statement) = found else {
            throw Problem(.notFound, Problem.Name.notFound, "The account has agreed to nothing in that session.")
        }
        var object = Self.json(consent)
        object["document"] = .string(Base64URL.encode(consent.record.document))
        object["finalChallenge"] = .string(consent.record.finalChallenge)
        object["signatures"] = .array(consent.record.factors.map { .object($0.json) })
        object["statement"] = .string(statement)
        return object
    }
}
