import HTTPTypes
import _Primitives

/// What a person's own addresses take and answer: those of a password, and those that mail leads to.
extension PublicOperations {
    /// A person's own pages, of which each asks for the password anew.
    static let ownPages: [PublicOperation] =
        ["password", "second-factor", "recovery-codes", "second-factor/code"].flatMap { name in
            let post = PublicOperation(
                method: .post, path: "/account/\(name)", id: "own-\(name)-change", summary: "A change by the person.",
                body: (
                    .form,
                    [
                        .required("confirmation", "What the page carried."), .optional("password", "The password."),
                        .optional("code", "A code beside it."), .optional("new-password", "The password to keep."),
                        .optional("offer", "What the page with the picture carried."),
                    ]
                ), answers: [Self.page], refusals: .pages,
                refusing: [
                    Self.tooMany, (403, "Nobody is signed in, or it is not right."), (422, "It cannot be chosen."),
                ])
            guard !name.contains("/") else { return [post] }
            return [
                PublicOperation(
                    method: .get, path: "/account/\(name)", id: "own-\(name)", summary: "The page that asks for it.",
                    answers: [Self.page], refusals: .pages, refusing: [(403, "Nobody is signed in.")]), post,
            ]
        }

    /// What people do by mail, where mail is sent.
    static let mailedLinks: [PublicOperation] = {
        let link = DescribedField.required("link", "What the link carries.")
        let over = (status: 404, meaning: "The link does not work any more.")
        let nobody = (status: 403, meaning: "Nobody is signed in.")
        return [
            PublicOperation(
                method: .get, path: "/account/forgotten", id: "forgotten", summary: "The page that asks for the name.",
                answers: [Self.page], refusals: .pages),
            PublicOperation(
                method: .post, path: "/account/forgotten", id: "askForReset",
                summary: "A link to a new password is mailed, or nobody is; the answer is the same.",
                body: (.form, [.required("username", "The name.")]), answers: [Self.page], refusals: .pages,
                refusing: [Self.tooMany]),
            PublicOperation(
                method: .get, path: "/account/reset", id: "showReset", summary: "Where such a link leads.",
                query: [link], answers: [Self.page], refusals: .pages, refusing: [over]),
            PublicOperation(
                method: .post, path: "/account/reset", id: "reset", summary: "A link is spent on a new password.",
                body: (
                    .form,
                    [
                        link, .required("new-password", "The password to keep."),
                        .optional("code", "A code, where one is asked for."),
                    ]
                ), answers: [Self.page], refusals: .pages,
                refusing: [over, Self.tooMany, (403, "The code is not right."), (422, "It cannot be chosen.")]),
            PublicOperation(
                method: .get, path: "/account/address", id: "ownAddress", summary: "A person's e-mail address.",
                answers: [Self.page], refusals: .pages, refusing: [nobody]),
            PublicOperation(
                method: .post, path: "/account/address", id: "askForConfirmation",
                summary: "A link to confirm it is mailed there.",
                body: (.form, [.required("confirmation", "What the page carried.")]), answers: [Self.page],
                refusals: .pages, refusing: [Self.tooMany, nobody]),
            PublicOperation(
                method: .get, path: "/account/address/confirm", id: "showConfirmation",
                summary: "Where such a link leads.", query: [link], answers: [Self.page], refusals: .pages,
                refusing: [over]),
            PublicOperation(
                method: .post, path: "/account/address/confirm", id: "confirmAddress",
                summary: "A link is spent: the address is the person's.", body: (.form, [link]),
                answers: [Self.page], refusals: .pages, refusing: [over]),
        ]
    }()

    /// What an operator's own app shows of its person, without a browser.
    var challenge: [PublicOperation] {
        // What is for a browser alone is none of it.
        let others = ["redirect_uri", "state", "response_mode", "ui_locales", "login_hint", "authorization_details"]
        return [
            PublicOperation(
                method: .post, path: "/oauth2/challenge", id: "challenge",
                summary: "Sign a person in, step by step (OAuth 2.0 for First-Party Applications).", caller: .client,
                headers: [Self.proof],
                body: (
                    .form,
                    [
                        .optional("auth_session", "The sign-in that goes on; another one at each step."),
                        .optional("username", "The name, with a password."), .optional("password", "The password."),
                        .optional("otp", "A code beside the password."),
                        .optional(
                            "phone", .choice(["start", "wait"]), "To have a phone asked, or to hear what it has said."),
                    ] + self.request.filter { !others.containsBytes(of: $0.name) } + Self.credentials
                ),
                answers: [
                    .init(
                        status: 200, meaning: "The person is signed in.", type: "application/json",
                        members: [.required("authorization_code", "For the token endpoint.")])
                ], refusals: .oauth,
                refusing: [Self.tooMany, (503, "Nothing was judged. It goes on by the auth_session of the answer.")])
        ]
    }
}
