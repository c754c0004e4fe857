import HTTPTypes

extension PublicOperations {
    /// The operations for phones of personalised identities. The server signs its answers.
    static let identity: [PublicOperation] = {
        let version = DescribedField.required("version", .integer, "The version of the protocol: 1.")
        let claim = DescribedField.required("claim", "What the secret of the code gives, as base64url.")
        let blinded = DescribedField.required("blinded", "The PIN, blinded (RFC 9497): 49 bytes as base64url.")
        let security = DescribedField.optional("security", .object, "What the device says of its own soundness.")
        let read = [
            PublicOperation(
                method: .get, path: "/identity/keys", id: "identityKeys",
                summary: "The keys that phones trust and seal to, signed by the root that apps are configured with.",
                answers: [.init(status: 200, meaning: "A JWT.", type: "application/jwt")]),
            PublicOperation(
                method: .get, path: "/identity/root", id: "identityRoot",
                summary: "The root's public key, for comparing: whom an app believes stands in its configuration.",
                answers: [.init(status: 200, meaning: "A JSON web key.", type: "application/json")],
                refusing: [(404, "The server has not started yet.")]),
            Self.identity(.get, "/identity/activation", "activation", "What the server has of the activation."),
            Self.identity(.delete, "/identity/activation", "endActivation", "Take the activation back."),
        ]
        let begun = [
            Self.identity(
                .post, "/identity/in-app", "beginInApp", "An app signs its own person in.",
                [
                    version, .required("clientID", "The service."), .required("redirectURI", "One of its addresses."),
                    .required("scope", "What is asked for."), .optional("state", "Comes back with the code."),
                    .optional("nonce", "Comes back in the ID token."),
                    .required("codeChallenge", "RFC 7636, by S256."),
                ]),
            Self.identity(
                .post, "/identity/api-access", "beginAccess", "An app wants something done with its own account.",
                [
                    version, .required("purpose", "What."), .optional("token", "To merge: what the PIN has earned."),
                    .optional("invitation", "To merge: the invitation's activation."),
                ]),
            Self.identity(
                .post, "/identity/api-access/{id}/complete", "completeAccess", "Do what a session has granted, once.",
                [.required("completion", .object, "What is to be done, sealed.")]),
        ]
        let activations = [
            Self.identity(
                .post, "/identity/activations/{id}/open", "openActivation", "An app has read an activation's code.",
                [version, claim, security]),
            Self.identity(
                .post, "/identity/activations/{id}/prove", "proveActivation", "Somebody has typed its PIN.",
                [
                    claim, .required("device", "The thumbprint of the key of the device that will enrol, or merge."),
                    .required("proof", .object, "A signature by the key of the PIN, sealed."),
                ]),
            Self.identity(
                .post, "/identity/activations/{id}/pin-evaluation", "evaluateFirstPin",
                "Have the PIN service evaluate the new activation's PIN.",
                [
                    blinded, claim, .required("token", "What the proof has earned, as base64url."),
                    .required("signingKey", .object, "The key that the proof has named, which proves the request."),
                    security,
                ]),
            Self.identity(
                .post, "/identity/activations/{id}/enroll", "enrollActivation", "The keys of a new activation.",
                [.required("enrolment", .object, "The keys, sealed.")]),
        ]
        let sessions = [
            Self.identity(
                .post, "/identity/sessions/{id}/start", "startSession", "An activation claims a session.",
                [version, claim, security]),
            Self.identity(
                .post, "/identity/sessions/{id}/prepare", "prepareSession", "What the person has said.",
                [
                    .optional("role", "As what they come."), .required("answers", .objects([]), "To the attributes."),
                    security,
                ]),
            Self.identity(
                .post, "/identity/sessions/{id}/pin-evaluation", "evaluatePin",
                "Have the PIN service evaluate a PIN: an attempt, once for each document.", [blinded, security]),
            Self.identity(
                .post, "/identity/sessions/{id}/finish", "finishSession", "The factors.",
                [.required("factors", .object, "The factors, sealed."), security]),
            Self.identity(.post, "/identity/sessions/{id}/code", "sessionCode", "The authorization code, once.", []),
            Self.identity(.post, "/identity/sessions/{id}/abort", "abortSession", "Give the session up.", []),
            Self.identity(.post, "/identity/sessions/{id}/prolong", "prolongSession", "Ask for more time.", []),
        ]
        return [read, begun, activations, sessions].flatMap(\.self)
    }()

    private static func identity(
        _ method: HTTPRequest.Method, _ path: String, _ id: String, _ summary: String,
        _ body: [DescribedField]? = nil
    ) -> PublicOperation {
        PublicOperation(
            method: method, path: path, id: id, summary: summary,
            headers: [.optional("Device-Proof", "That the device itself asks, as a JWT.")],
            body: body.map { (.json, $0) },
            answers: [
                .init(
                    status: 200, meaning: "A JWS of the type identity-response+jwt: the message, or a refusal.",
                    type: "application/jose"),
                .init(status: 401, meaning: "Nothing was proved; a JWS, too.", type: "application/jose"),
                .init(status: 429, meaning: "Nothing was proved too often; a JWS, too.", type: "application/jose"),
            ])
    }
}
