import HTTPTypes
import OAuthProvider
import _Primitives

/// The operations of the app sign-in service. As long as the service has no client, every address answers 404.
extension PublicOperations {
    private static let missing = (status: 404, meaning: "The app sign-in service has no client.")
    private static let kept: [DescribedField] = [
        .optional("refresh_token", "The token that was given last, where it is in no cookie."),
        .optional("anti_csrf_token", "What came with it, where the client has such tokens and it is in no cookie."),
        .optional("client_id", "The client, where it says so: then it has to be the session's."),
    ]
    private static let keyProof = DescribedField.optional("DPoP", "A proof of a key (RFC 9449).")

    private static func operation(
        _ method: HTTPRequest.Method, _ name: String, id: String, _ summary: String, query: [DescribedField] = [],
        body: [DescribedField]? = nil, answers: [PublicOperation.Answer],
        refusing: [(status: Int, meaning: String)] = []
    ) -> PublicOperation {
        PublicOperation(
            method: method, path: "/v0/sign_in/\(name)", id: id, summary: summary, query: query,
            headers: body == nil ? [] : [Self.keyProof], body: body.map { (.form, $0) }, answers: answers,
            refusals: .signInService, refusing: refusing + [Self.missing, (401, "No session.")])
    }

    private static let given = PublicOperation.Answer(
        status: 200, meaning: "Tokens; for a web site an empty object, and four cookies.", type: "application/json")
    private static let tooManySignIns = (status: 429, meaning: "Too many sign-ins were begun.")
    private static let gone = PublicOperation.Answer(status: 302, meaning: "The browser goes on.")
    private static let done = PublicOperation.Answer(status: 200, meaning: "It has ended.")

    static let signInService: [PublicOperation] = [
        Self.operation(
            .get, "authorize", id: "beginAppSignIn", "Begin a sign-in.",
            query: [
                .required("client_id", "The client."), .required("type", "By whom the person signs in."),
                .required("acr", "How surely the person has to be authenticated."),
                .optional("operation", "What the person has come for."),
                .optional(
                    "code_challenge", "What the code is bound to (RFC 7636): of all that are not let do without."),
                .optional("code_challenge_method", "S256."), .optional("state", "Comes back as it is."),
                .optional("scope", "device_sso, for an app that opens sessions of the web."),
            ],
            answers: [.init(status: 303, meaning: "The browser signs in."), Self.gone],
            refusing: [Self.tooManySignIns]),
        Self.operation(
            .get, "authorize_sso", id: "openAppFromWeb", "Open an app from a web site's session.",
            query: [
                .required("client_id", "The app."), .required("code_challenge", "What the code is bound to."),
                .required("code_challenge_method", "S256."), .optional("state", "Comes back as it is."),
                .optional("app_name", "What people call the app."),
            ], answers: [Self.gone], refusing: [Self.tooManySignIns]),
        Self.operation(
            .post, "token", id: "appTokens",
            "Tokens for a code, a session of the web for an app's, or a service account's token.",
            body: [
                .required("grant_type", "authorization_code, or that of token exchange or of jwt-bearer (RFC 7523)."),
                .optional("code", "The code."), .optional("code_verifier", "What its challenge was made of."),
                .optional("client_assertion", "What a client has signed that authenticates by a key of its own."),
                .optional("client_assertion_type", "Its kind."),
                .optional("assertion", "What a service account has signed."),
                .optional("client_id", "The client; at an exchange the one that gets the session."),
                .optional("subject_token", "The app's access token."), .optional("subject_token_type", "Its kind."),
                .optional("actor_token", "The device's secret."), .optional("actor_token_type", "Its kind."),
            ], answers: [Self.given], refusing: [Self.tooManySignIns]),
        Self.operation(
            .post, "refresh", id: "renewAppSession", "Renew a session.", body: Self.kept, answers: [Self.given]),
        Self.operation(
            .post, "revoke", id: "endAppSession", "End a session, or all of a device.",
            body: Self.kept + [.optional("device_secret", "The device's secret: all its sessions end.")],
            answers: [Self.done]),
        Self.operation(
            .get, "revoke_all_sessions", id: "endAllSessionsByLink", "End all sessions of a person.",
            answers: [Self.done], refusing: [(403, "The access token has expired.")]),
        Self.operation(
            .post, "revoke_all_sessions", id: "endAllSessions", "End all sessions of a person.",
            body: [.optional("anti_csrf_token", "What came with the session.")], answers: [Self.done],
            refusing: [(403, "The access token has expired.")]),
        Self.operation(
            .get, "logout", id: "signAppOutByLink", "Sign out.",
            query: [
                .required("client_id", "The client."), .optional("anti_csrf_token", "What came with the session."),
            ], answers: [Self.done, Self.gone]),
        Self.operation(
            .post, "logout", id: "signAppOut", "Sign out.",
            body: [
                .required("client_id", "The client."), .optional("anti_csrf_token", "What came with the session."),
            ], answers: [Self.done, Self.gone]),
        Self.operation(
            .get, "introspect", id: "appPerson", "Whose session it is.",
            answers: [.init(status: 200, meaning: "A document of JSON:API.", type: "application/json")],
            refusing: [(403, "The access token has expired.")]),
        PublicOperation(
            method: .get, path: UpstreamProviders.signedOutPath, id: "returnSignedOut",
            summary: "Come back from another provider, signed out.",
            query: [.required("state", "What the browser was sent there with.")],
            answers: [Self.gone, Self.page], refusals: .signInService, refusing: [Self.missing]),
        PublicOperation(
            method: .get, path: "/sign_in/openid_connect/certs", id: "appKeys",
            summary: "What access tokens of the app sign-in service are signed with.",
            answers: [.init(status: 200, meaning: "A JWK set.", type: "application/jwk-set+json")],
            refusing: [Self.missing]),
    ]
}
