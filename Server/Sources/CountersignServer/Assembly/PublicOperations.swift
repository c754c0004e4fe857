import Ceremony
import CeremonyEngine
import HTTPTypes
import Hummingbird
import OAuthProvider
import Records
import UAF
import _Primitives

/// The operations at the public addresses, for the document of these addresses. A test compares the document with the
/// mounted routes.
///
/// For a parameter whose values the provider's metadata lists, the document has the same list.
struct PublicOperations {
    /// The provider's metadata (RFC 8414).
    let metadata: JSONObject
    /// `true` if the server sends mail to people.
    let hasMail: Bool

    func mount(on router: ServerRouter) {
        let document = PublicDocument(server: router.path, operations: self.all).json
        router.endpoint(RouterPath(PublicDocument.path), get: .reads, [.get: { _, _ in .json(document) }])
    }

    var all: [PublicOperation] {
        let document = PublicOperation(
            method: .get, path: PublicDocument.path, id: "describe", summary: "This document.",
            answers: [.init(status: 200, meaning: "OpenAPI 3.1.", type: "application/json")])
        let parts = [
            [document], self.authorization, self.tokens, self.registration, self.userinfo, self.descriptions,
            Self.signIn, Self.changePages, Self.changeQuestionPages, Self.devices, Self.passwords, Self.upstream,
            Self.ownPages,
            Self.identityPages,
            Self.ownValuePages, self.challenge,
            Self.signInService,
            self.hasMail ? Self.mailedLinks : [], Self.dispatch, Self.status, Self.redemption, Self.uaf, Self.account,
            Self.identity,
        ]
        return parts.flatMap(\.self)
    }

    /// Returns the kind of a text that has one of the values in a member of the metadata.
    private func choice(_ member: String) -> DescribedField.Kind {
        .choice((try? self.metadata.strings(member)) ?? [])
    }

    // MARK: OpenID

    private static let state = DescribedField.optional("state", "Comes back as it is.")
    private static let clientID = DescribedField.optional("client_id", "The client, where it is not in the header.")
    private static let secret = DescribedField.optional("client_secret", "Its secret, where it is not in the header.")
    static let proof = DescribedField.optional("DPoP", "A proof of a key (RFC 9449).")
    private static let token = DescribedField.required("token", "A token that this server gave.")

    private static let resource = DescribedField.optional(
        "resource", "Where the tokens are to be used (RFC 8707).")

    /// The parameters by which a client proves itself in a form (RFC 6749, section 2.3.1; RFC 7521, section 4.2).
    static let credentials = [
        clientID, secret, .optional("client_assertion_type", "What kind of statement client_assertion is."),
        .optional("client_assertion", "A statement that the client has signed."),
    ]

    /// The parameters of an authorization request (RFC 6749, section 4.1.1; OpenID Connect Core 1.0, section 3.1.2.1).
    var request: [DescribedField] {
        [
            .optional("response_type", self.choice("response_types_supported"), "What is to come back."),
            .optional("redirect_uri", "Where the answer goes: an address that the client has registered."),
            .optional("scope", "What the client wants, separated by spaces; openid among it."), Self.state,
            .optional("nonce", "Comes back in the ID token."),
            .optional("code_challenge", "What the code is bound to (RFC 7636)."),
            .optional("code_challenge_method", self.choice("code_challenge_methods_supported"), "How it is made."),
            .optional("response_mode", self.choice("response_modes_supported"), "How it gets there."),
            .optional("prompt", "How the person is asked: words of prompt_values_supported, separated by spaces."),
            .optional("login_hint", "Who is believed to come."),
            .optional("acr_values", "How surely the person has to be authenticated, separated by spaces."),
            .optional("claims", "What is wanted of the person, by name, as JSON."),
            .optional("ui_locales", "Languages of the pages, the best first."),
            .optional("max_age", "How many seconds ago the person may have authenticated."),
            .optional("id_token_hint", "An ID token of the person who alone may sign in."),
            .optional("request", "The whole request, signed by the client (RFC 9101)."),
            .optional("authorization_details", "What the person is asked in detail, as JSON (RFC 9396)."),
            .optional("dpop_jkt", "The thumbprint of the key that the tokens will be bound to."),
            Self.resource,
        ]
    }

    static let page = PublicOperation.Answer(status: 200, meaning: "A page.", type: "text/html")
    static let goOn = PublicOperation.Answer(status: 303, meaning: "The browser goes on with GET.")
    static let tooMany = (status: 429, meaning: "The caller has used up its budget.")

    private var authorization: [PublicOperation] {
        let parameters =
            [
                .required("client_id", "The client."),
                .optional("request_uri", "The name of a request that the client has pushed."),
            ] + self.request
        let logout: [DescribedField] = [
            .optional("id_token_hint", "An ID token of the person who is to be signed out."),
            .optional("client_id", "The client."),
            .optional("post_logout_redirect_uri", "Where to go then: an address that the client has registered."),
            Self.state,
        ]
        return [
            PublicOperation(
                method: .get, path: "/oauth2/authorize", id: "authorize", summary: "Begin a sign-in.",
                query: parameters, answers: [Self.page, Self.goOn], refusals: .pages, refusing: [Self.tooMany]),
            PublicOperation(
                method: .post, path: "/oauth2/authorize", id: "authorizeByForm", summary: "Begin a sign-in.",
                body: (.form, parameters), answers: [Self.page, Self.goOn], refusals: .pages, refusing: [Self.tooMany]),
            PublicOperation(
                method: .get, path: "/oauth2/logout", id: "logout", summary: "Sign the browser out.", query: logout,
                answers: [Self.page, Self.goOn], refusals: .pages),
            PublicOperation(
                method: .post, path: "/oauth2/logout", id: "logoutByForm", summary: "Sign the browser out.",
                body: (.form, logout), answers: [Self.page, Self.goOn], refusals: .pages),
        ]
    }

    private var tokens: [PublicOperation] {
        [
            PublicOperation(
                method: .post, path: "/oauth2/par", id: "pushRequest",
                summary: "Push an authorization request (RFC 9126).", caller: .client,
                headers: [Self.proof],
                body: (.form, Self.credentials + self.request),
                answers: [
                    .init(
                        status: 201, meaning: "The request has a name.", type: "application/json",
                        members: [
                            .required("request_uri", "For the browser to come with."),
                            .required("expires_in", .integer, "Seconds."),
                        ])
                ], refusals: .oauth, refusing: [Self.tooMany]),
            PublicOperation(
                method: .post, path: "/oauth2/device_authorization", id: "authorizeDevice",
                summary: "Have a device without a browser wait for its person (RFC 8628).", caller: .client,
                body: (.form, [.optional("scope", "What the client wants, separated by spaces.")] + Self.credentials),
                answers: [
                    .init(
                        status: 200, meaning: "The device waits.", type: "application/json",
                        members: [
                            .required("device_code", "What the device asks by."),
                            .required("user_code", "What its person types."),
                            .required("verification_uri", "Where they type it."),
                            .required("verification_uri_complete", "The same with the code in it."),
                            .required("expires_in", .integer, "Seconds."),
                            .required("interval", .integer, "Seconds from one question to the next."),
                        ])
                ], refusals: .oauth, refusing: [Self.tooMany]),
            PublicOperation(
                method: .post, path: "/oauth2/bc-authorize", id: "askPerson",
                summary: "Have a person asked on their phone (OpenID Connect CIBA Core 1.0).", caller: .client,
                body: (
                    .form,
                    [
                        .optional("scope", "What the client wants, separated by spaces."),
                        .optional("login_hint", "The person, by user name."),
                        .optional("id_token_hint", "The person, by an ID token of theirs."),
                        .optional("binding_message", "What the phone shows."),
                        .optional("authorization_details", "What the person is asked in detail, as JSON (RFC 9396)."),
                        .optional("client_notification_token", "What a client is told by that does not ask."),
                        .optional("requested_expiry", "Seconds."),
                    ] + Self.credentials
                ),
                answers: [
                    .init(
                        status: 200, meaning: "They are asked, if there is such a person.", type: "application/json",
                        members: [
                            .required("auth_req_id", "What the client asks by."),
                            .required("expires_in", .integer, "Seconds."),
                            .optional("interval", .integer, "Seconds from one question to the next."),
                        ])
                ], refusals: .oauth, refusing: [Self.tooMany]),
            PublicOperation(
                method: .post, path: "/oauth2/token", id: "giveTokens", summary: "Get tokens.", caller: .client,
                headers: [Self.proof],
                body: (
                    .form,
                    [
                        .required("grant_type", self.choice("grant_types_supported"), "What they are given for."),
                        .optional("code", "A code."), .optional("redirect_uri", "Where the code was sent to."),
                        .optional("code_verifier", "What its challenge was made of."),
                        .optional("refresh_token", "A refresh token."),
                        .optional("device_code", "What a device asks by."),
                        .optional("auth_req_id", "What a client asks by that has had a person asked."),
                        .optional("scope", "What is wanted."),
                        .optional("authorization_details", "A part of what was granted (RFC 9396)."),
                        .optional("subject_token", "The token to exchange (RFC 8693)."),
                        .optional("subject_token_type", "Of which kind it is."),
                        .optional("actor_token", "Who acts, or a device secret."),
                        .optional("actor_token_type", "Of which kind it is."),
                        .optional("requested_token_type", "Of which kind the new one is to be."),
                        .optional("audience", "Where it is to be used."),
                        .optional("device_secret", "What the app has of an earlier sign-in."),
                        .optional("assertion", "What a service account has signed (RFC 7523)."), Self.resource,
                    ] + Self.credentials
                ),
                answers: [
                    .init(
                        status: 200, meaning: "Tokens.", type: "application/json",
                        members: [
                            .required("access_token", "Opens userinfo."), .required("token_type", "How it is shown."),
                            .optional("expires_in", .integer, "Seconds."), .optional("scope", "What it is good for."),
                            .optional("id_token", "Who has signed in."), .optional("refresh_token", "Renews them."),
                            .optional("issued_token_type", "What was given for a token."),
                            .optional("device_secret", "What other apps of the device sign in by."),
                        ])
                ], refusals: .oauth),
            PublicOperation(
                method: .post, path: "/oauth2/revoke", id: "revoke", summary: "Give a token up (RFC 7009).",
                caller: .client,
                body: (
                    .form, [Self.token, .optional("token_type_hint", "Of which kind it is.")] + Self.credentials
                ), answers: [.init(status: 200, meaning: "It is worth nothing now.")], refusals: .oauth),
            PublicOperation(
                method: .post, path: "/oauth2/introspect", id: "introspect",
                summary: "Ask whether a token is good (RFC 7662).", caller: .client,
                body: (
                    .form, [Self.token, .optional("token_type_hint", "Of which kind it is.")] + Self.credentials
                ),
                answers: [
                    .init(
                        status: 200, meaning: "What it is good for.", type: "application/json",
                        members: [.required("active", .boolean, "Whether it is good now.")])
                ], refusals: .oauth),
        ]
    }

    private var userinfo: [PublicOperation] {
        [HTTPRequest.Method.get, .post].map { method in
            PublicOperation(
                method: method, path: "/oauth2/userinfo", id: method == .get ? "userinfo" : "userinfoByPost",
                summary: method == .get
                    ? "What a client may know of a person."
                    : "What a client may know of a person; the token may come in a form as access_token (RFC 6750, section 2.2).",
                caller: .token, headers: [Self.proof],
                answers: [
                    .init(
                        status: 200, meaning: "Claims.", type: "application/json",
                        members: [.required("sub", "The person, as this client knows them.")]),
                    .init(status: 200, meaning: "A JWT, for a client with signed userinfo.", type: "application/jwt"),
                ], refusals: .oauth, refusing: [(403, "A token that does not reach so far.")])
        }
    }

    private var descriptions: [PublicOperation] {
        let metadata = self.metadata.members.map { DescribedField.required($0.name, Self.kind($0.value), "RFC 8414.") }
        let keys = PublicOperation(
            method: .get, path: "/oauth2/jwks", id: "keys", summary: "What tokens are verified with.",
            answers: [
                .init(
                    status: 200, meaning: "A JWK set.", type: "application/jwk-set+json",
                    members: [.required("keys", .objects([.required("kty", "RFC 7517.")]), "Public keys.")])
            ])
        let documents = ["openid-configuration", "oauth-authorization-server"].map { name in
            PublicOperation(
                method: .get, path: "/.well-known/\(name)", id: name, summary: "What the provider can do.",
                answers: [.init(status: 200, meaning: "Metadata.", type: "application/json", members: metadata)])
        }
        return [keys] + documents
    }

    private static func kind(_ value: JSON) -> DescribedField.Kind {
        switch value {
        case .array: .strings
        case .bool: .boolean
        case .integer, .number: .integer
        case .object: .object
        case .string: .string
        }
    }

    // MARK: Pages

    static let signInRequest = DescribedField.required("request", "The sign-in.")
    static let service = DescribedField.optional("client", "The service that it is for.")
    static let unknown = (status: 404, meaning: "This browser has no such sign-in.")

    private static func page(_ path: String, _ id: String, _ summary: String) -> PublicOperation {
        PublicOperation(
            method: .get, path: path, id: id, summary: summary, query: [Self.signInRequest, Self.service],
            answers: [Self.page, Self.goOn], refusals: .pages,
            refusing: [Self.unknown, Self.tooMany, (403, "Another browser's."), (409, "Something else was quicker.")])
    }

    /// Returns the operations of a page that asks for something: the page, and the address that takes the answer.
    private static func question(_ name: String, _ id: String, _ fields: [DescribedField]) -> [PublicOperation] {
        [
            Self.page("/sign-in/\(name)", id, "The page that asks for it."),
            PublicOperation(
                method: .post, path: "/sign-in/\(name)", id: "\(id)-answer", summary: "What the person has typed.",
                body: (.form, [Self.signInRequest, Self.service] + fields), answers: [Self.goOn], refusals: .pages,
                refusing: [
                    Self.unknown, Self.tooMany, (403, "Not right, or not now."), (422, "It cannot be chosen."),
                ]),
        ]
    }

    private static let passwords =
        Self.question(
            "password", "password", [.required("username", "The name."), .required("password", "The password.")])
        + Self.question("code", "code", [.required("code", "A code beside the password.")])
        + Self.question("new-password", "newPassword", [.required("new-password", "The password to keep.")])

    private static let signIn: [PublicOperation] = [
        PublicOperation(
            method: .get, path: OutOfBandPayload.linkPath, id: "open",
            summary: "Where links of phones lead without the app.",
            answers: [Self.page]),
        PublicOperation(
            method: .get, path: "/admin/setup", id: "setUp", summary: "Where the first administrator begins.",
            answers: [Self.page]),
        Self.page("/sign-in", "signIn", "The page of a sign-in."),
        Self.page("/sign-in/wait", "waitForPhone", "The same page, while a phone is waited for."),
        Self.page("/sign-in/complete", "completeSignIn", "The way back to the service."),
        PublicOperation(
            method: .get, path: "/sign-in/continue", id: "continueSignIn", summary: "Where a phone leads its browser.",
            query: [.required("code", "What the phone was given.")], answers: [Self.goOn], refusals: .pages,
            refusing: [Self.unknown, (403, "Another browser's."), (409, "It has ended."), (410, "It is over.")]),
        PublicOperation(
            method: .post, path: "/sign-in/cancel", id: "cancelSignIn", summary: "The person gives it up.",
            body: (.form, [Self.signInRequest, Self.service]), answers: [Self.page, Self.goOn], refusals: .pages,
            refusing: [Self.unknown]),
        PublicOperation(
            method: .get, path: "/sign-in/consent", id: "askConsent", summary: "What a service may have.",
            query: [Self.signInRequest, Self.service], answers: [Self.page, Self.goOn], refusals: .pages,
            refusing: [Self.unknown]),
        PublicOperation(
            method: .post, path: "/sign-in/consent", id: "decideConsent", summary: "The person decides.",
            body: (
                .form,
                [
                    Self.signInRequest, Self.service,
                    .optional("decision", .choice(["allow", "deny"]), "The person's word."),
                    .optional("confirmation", "What the page's form has."),
                    .optional("terms", "The version of the operator's terms that the page has shown."),
                    .optional("connection", "The other provider that the page has asked about."),
                    .optional("change", "The connection that was confirmed, as the page has carried it."),
                ]
            ), answers: [Self.page, Self.goOn], refusals: .pages, refusing: [Self.unknown, Self.tooMany]),
        PublicOperation(
            method: .get, path: "/sign-in/wait/events", id: "signInEvents", summary: "The page's own channel.",
            query: [Self.signInRequest, Self.service],
            answers: [.init(status: 200, meaning: "States, as they come.", type: "text/event-stream")],
            refusing: [Self.unknown]),
    ]

    private static let devices: [PublicOperation] = [
        PublicOperation(
            method: .get, path: "/device", id: "askForDeviceCode", summary: "The page for the code of a device.",
            query: [.optional("user_code", "What stands in its field.")], answers: [Self.page]),
        PublicOperation(
            method: .post, path: "/device", id: "enterDeviceCode", summary: "The person has typed it.",
            body: (.form, [.required("user_code", "The code.")]), answers: [Self.goOn], refusals: .pages,
            refusing: [Self.unknown, Self.tooMany]),
        PublicOperation(
            method: .get, path: "/device/confirm", id: "askForDevice", summary: "The page that asks about the device.",
            query: [Self.signInRequest, Self.service], answers: [Self.page], refusals: .pages,
            refusing: [Self.unknown]),
        PublicOperation(
            method: .post, path: "/device/confirm", id: "confirmDevice", summary: "The person says yes.",
            body: (
                .form, [Self.signInRequest, Self.service, .required("confirmation", "The page's own sign.")]
            ), answers: [Self.page], refusals: .pages,
            refusing: [Self.unknown, (403, "The account cannot sign in.")]),
    ]

    // MARK: Phones and back ends

    private static let dispatch: [PublicOperation] =
        ["authentication", "deregistration"].map { operation in
            PublicOperation(
                method: .post, path: "/token/dispatch/\(operation)", id: "dispatch-\(operation)",
                summary: "Have something asked on a phone.", caller: .clientByHeader,
                body: (
                    .json,
                    [
                        .required("dispatcher", .choice(CeremonyRecord.Channel.dispatchers), "In which form."),
                        .required("getUafRequest", .members(Self.uafRequest), "What is asked."),
                    ]
                ),
                answers: [
                    .init(
                        status: 200, meaning: "What became of it.", type: "application/json",
                        members: [
                            .required(
                                "dispatchResult", .choice(DispatchResult.allCases.map(\.rawValue)), "In a word."),
                            .optional("sessionId", "To ask for its status with."),
                            .optional("token", "For the phone."), .optional("link", "For the phone."),
                            .optional("expiresAt", "RFC 3339."),
                        ])
                ], refusing: [(403, "Not for this client."), (422, "No phone can show it."), Self.tooMany])
        }

    private static let status: [PublicOperation] = [
        PublicOperation(
            method: .post, path: "/status", id: "status", summary: "How far a dispatched session is.",
            caller: .clientByHeader, body: (.json, [.required("sessionId", "From the dispatch.")]),
            answers: [
                .init(
                    status: 200, meaning: "Its state.", type: "application/json",
                    members: [
                        .required(
                            "status", .choice(CeremonyStatus.State.allCases.map(\.rawValue)), "In a word."),
                        .required("timestamp", "RFC 3339."), .optional("subject", "Who answered."),
                        .optional("result", "What was confirmed, signed."),
                    ])
            ]),
        PublicOperation(
            method: .get, path: "/status/{session}/events", id: "statusEvents",
            summary: "The states of a dispatched session, as they come.", caller: .clientByHeader,
            answers: [.init(status: 200, meaning: "States.", type: "text/event-stream")],
            refusing: [(404, "There is no such thing.")]),
    ]

    private static let redemption: [PublicOperation] = RedeemPath.allCases.map { path in
        PublicOperation(
            method: .post, path: path.rawValue, id: "redeem-\(path.operation.rawValue)",
            summary: "What a one-time token stands for.",
            body: (.json, [.required("token", "From a link or a QR code, or typed.")]),
            answers: [.init(status: 200, meaning: "A UAF request.", type: MediaType.uaf.rawValue)],
            refusing: [
                (403, "Not now."), (404, "There is no such token."), (409, "Redeemed before."),
                (410, "Its time is over."),
                Self.tooMany,
            ])
    }

    private static let uafRequest: [DescribedField] = [
        .optional(
            "op", .choice([UAF.Operation.registration, .authentication, .deregistration].map(\.rawValue)),
            "The operation."),
        .optional("previousRequest", "The request before."), .optional("context", "An object as JSON."),
    ]

    /// Returns an operation for a UAF message. A refused UAF message gets status 200 and a code of its own.
    private static func uaf(
        _ path: String, _ id: String, _ summary: String, _ body: [DescribedField], caller: PublicOperation.Caller
    ) -> PublicOperation {
        PublicOperation(
            method: .post, path: "/uaf/1.1/\(path)", id: id, summary: summary, caller: caller,
            body: (.uaf, body),
            answers: [
                .init(
                    status: 200, meaning: "A UAF message with its own status.", type: MediaType.uaf.rawValue)
            ], refusing: [(403, "Not for this caller."), Self.tooMany])
    }

    private static let uaf: [PublicOperation] = {
        let response: [DescribedField] = [
            .required("uafResponse", "A UAF response as JSON."), .optional("context", "An object as JSON."),
        ]
        return [
            Self.uaf(
                "request/registration", "requestRegistration", "A further authenticator of a device.",
                Self.uafRequest, caller: .token),
            Self.uaf(
                "request/authentication", "requestAuthentication", "An authentication in an app.", Self.uafRequest,
                caller: .anybodyOrClient),
            Self.uaf(
                "request/deregistration", "requestDeregistration", "Have keys deleted.", Self.uafRequest,
                caller: .clientOrDevice),
            Self.uaf("registration", "answerRegistration", "A phone's registration.", response, caller: .anybody),
            Self.uaf("authentication", "answerAuthentication", "A phone's assertion.", response, caller: .anybody),
            PublicOperation(
                method: .get, path: "/uaf/1.1/facets", id: "facets", summary: "The apps that may answer.",
                headers: [.optional("If-None-Match", "The tag of a list that is there.")],
                answers: [
                    .init(
                        status: 200, meaning: "The list.", type: "application/fido.trusted-apps+json",
                        members: [
                            .required(
                                "trustedFacets", .objects([.required("ids", .strings, "Apps.")]), "A version each.")
                        ]), .init(status: 304, meaning: "It is the same."),
                ]),
        ]
    }()

    private static let account: [PublicOperation] = [
        PublicOperation(
            method: .get, path: "/account/v1/notices", id: "notices", summary: "What happened to the account.",
            caller: .device,
            answers: [
                .init(
                    status: 200, meaning: "Notices.", type: "application/json",
                    members: [
                        .required("username", "Whose."),
                        .required("notices", .objects([.required("id", "The notice.")]), "The newest first."),
                    ])
            ], refusing: [(403, "The account is locked."), Self.tooMany]),
        PublicOperation(
            method: .get, path: "/account/v1/questions", id: "questions",
            summary: "What services want the person asked without a browser (CIBA).", caller: .device,
            answers: [
                .init(
                    status: 200, meaning: "Questions.", type: "application/json",
                    members: [
                        .required("username", "Whose."),
                        .required(
                            "questions",
                            .objects([
                                .required("id", "The question."), .required("service", "Who asks."),
                                .required("link", "What the app on this phone opens."),
                                .required("expiresAt", "When it ends, RFC 3339."),
                                .optional("origin", "Where the service is."),
                            ]), "What waits."),
                    ])
            ], refusing: [(403, "The account is locked."), Self.tooMany]),
        PublicOperation(
            method: .get, path: "/account/v1/sessions", id: "sessions", summary: "Where the person is signed in.",
            caller: .token,
            answers: [
                .init(
                    status: 200, meaning: "Sessions.", type: "application/json",
                    members: [.required("sessions", .objects([.required("id", "The session.")]), "All of them.")])
            ], refusing: [(403, "The account is locked.")]),
        PublicOperation(
            method: .delete, path: "/account/v1/sessions", id: "endAccountSessions",
            summary: "Sign every browser out, and end what services have that lasts, device secrets and consents.",
            caller: .token, answers: [.init(status: 204, meaning: "All of them have ended.")],
            refusing: [(403, "The account is locked.")]),
        PublicOperation(
            method: .delete, path: "/account/v1/sessions/{id}", id: "endSession", summary: "Sign a browser out.",
            caller: .token, answers: [.init(status: 204, meaning: "It is signed out.")],
            refusing: [(403, "The account is locked."), (404, "There is no such session.")]),
        PublicOperation(
            method: .get, path: "/account/v1/consents", id: "consents", summary: "What services may have.",
            caller: .token,
            answers: [
                .init(
                    status: 200, meaning: "Consents.", type: "application/json",
                    members: [
                        .required("username", "Whose."),
                        .required("consents", .objects([.required("id", "The consent.")]), "The last one first."),
                    ])
            ], refusing: [(403, "The account is locked.")]),
        PublicOperation(
            method: .delete, path: "/account/v1/consents/{id}", id: "endConsent", summary: "Take a consent back.",
            caller: .token, answers: [.init(status: 204, meaning: "It is taken back.")],
            refusing: [(403, "The account is locked."), (404, "There is no such consent.")]),
        PublicOperation(
            method: .get, path: "/account/v1/grants", id: "grants",
            summary: "What services have that goes on without a browser.", caller: .token,
            answers: [
                .init(
                    status: 200, meaning: "Grants.", type: "application/json",
                    members: [
                        .required("username", "Whose."),
                        .required("grants", .objects([.required("id", "The grant.")]), "The newest first."),
                    ])
            ], refusing: [(403, "The account is locked.")]),
        PublicOperation(
            method: .delete, path: "/account/v1/grants", id: "endGrants",
            summary: "Take back what a service has, or what all have.", caller: .token,
            query: [.optional("client", "The service; without it all of them.")],
            answers: [.init(status: 204, meaning: "They have nothing any more.")],
            refusing: [(400, "The query names something else."), (403, "The account is locked.")]),
        PublicOperation(
            method: .delete, path: "/account/v1/grants/{id}", id: "endGrant",
            summary: "Take back one of the things that services have.", caller: .token,
            answers: [.init(status: 204, meaning: "It has ended.")],
            refusing: [(403, "The account is locked."), (404, "There is no such grant.")]),
    ]
}
