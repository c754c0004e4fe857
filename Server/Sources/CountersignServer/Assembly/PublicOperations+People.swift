import HTTPTypes
import _Primitives

/// The operations at a person's own addresses: for passwords, and behind mailed links.
extension PublicOperations {
    /// A person's own pages. Each page asks for the password anew.
    static let ownPages: [PublicOperation] =
        ["password", "second-factor", "recovery-codes", "second-factor/code"].flatMap { name in
            let post = PublicOperation(
                method: .post, path: "/account/\(name)", id: "own-\(name)-change", summary: "A change by the person.",
                body: (
                    .form,
                    [
                        .required("confirmation", "What the page carried."), .optional("password", "The password."),
                        .optional("code", "A code beside it."), .optional("new-password", "The password to keep."),
                        .optional("offer", "What the page with the picture carried."), Self.change,
                    ]
                ), answers: [Self.page, Self.goOn], refusals: .pages,
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

    /// The confirmation by which a page makes a change of the account.
    private static let change = DescribedField.optional(
        "change", "The change that was confirmed, as the page has carried it.")

    /// The pages on which the person's phone or password confirms a change.
    static let changePages: [PublicOperation] = {
        let change = DescribedField.required("request", "The change.")
        let unknown = (status: 404, meaning: "This browser has not asked for such a change.")
        func page(_ path: String, _ id: String, _ summary: String) -> PublicOperation {
            PublicOperation(
                method: .get, path: "/account/change/\(path)", id: id, summary: summary, query: [change],
                answers: [Self.page, Self.goOn], refusals: .pages,
                refusing: [unknown, Self.tooMany, (403, "Nobody is signed in who has a password.")])
        }
        return [
            page("wait", "waitForChange", "The page of a change that waits for the phone."),
            page("complete", "completeChange", "The way to the page that makes the change."),
            page("again", "askForChangeAgain", "The way to the page on which the change is asked for."),
            page("password", "askForChangePassword", "The form that confirms a change without a phone."),
            PublicOperation(
                method: .get, path: "/account/change/wait/events", id: "changeEvents",
                summary: "The page's own channel.", query: [change],
                answers: [.init(status: 200, meaning: "States, as they come.", type: "text/event-stream")],
                refusing: [unknown]),
            PublicOperation(
                method: .post, path: "/account/change/cancel", id: "cancelChange",
                summary: "The person gives the change up.", body: (.form, [change]), answers: [Self.page],
                refusals: .pages, refusing: [unknown]),
            PublicOperation(
                method: .post, path: "/account/change/password", id: "confirmChangeByPassword",
                summary: "A change of an account without a phone is confirmed.",
                body: (
                    .form,
                    [
                        change, .required("confirmation", "What the page carried."),
                        .optional("password", "The password."), .optional("code", "A code beside it."),
                        .optional("mailed-code", "The code that was mailed once the password was right."),
                    ]
                ), answers: [Self.goOn], refusals: .pages,
                refusing: [unknown, Self.tooMany, (403, "Nobody is signed in, or it is not right.")]),
            PublicOperation(
                method: .get, path: "/account/change/provider", id: "confirmChangeByProvider",
                summary: "The providers that can confirm a change of an account that has neither phone nor password.",
                query: [change], answers: [Self.page, Self.goOn], refusals: .pages,
                refusing: [unknown, (403, "Nothing can confirm the change here.")]),
            PublicOperation(
                method: .post, path: "/account/change/provider", id: "leaveForProvider",
                summary: "The browser goes to a provider that authenticates the person afresh.",
                body: (
                    .form,
                    [
                        change, .required("confirmation", "What the page carried."),
                        .required("provider", "The provider, by its name."),
                    ]
                ), answers: [Self.goOn], refusals: .pages,
                refusing: [unknown, Self.tooMany, (403, "Nothing can confirm the change here.")]),
        ]
    }()

    /// The pages of “This was not me”: the latest changes of an account, and the question about each change.
    static let changeQuestionPages: [PublicOperation] = {
        let over = (status: 404, meaning: "The link is spent or too old, or nothing can be decided any more.")
        let nobody = (status: 403, meaning: "Nobody is signed in.")
        let parts: [DescribedField] = [
            .optional("link", "The mailed link."), .optional("id", "The change."),
            .optional("change", "The confirmation by a phone or a password."),
        ]
        return [
            PublicOperation(
                method: .get, path: "/account/changes", id: "accountChanges",
                summary: "The latest changes of an account.",
                answers: [Self.page], refusals: .pages, refusing: [nobody]),
            PublicOperation(
                method: .get, path: "/account/changes/question", id: "askAboutChange",
                summary: "The question whether a change was the person's own.", query: parts, answers: [Self.page],
                refusals: .pages, refusing: [over]),
            PublicOperation(
                method: .post, path: "/account/changes/question", id: "decideAboutChange",
                summary: "The answer: first it is confirmed, then the change rests, or counts again.",
                body: (.form, parts + [.optional("confirmation", "What the page carried.")]),
                answers: [Self.page, Self.goOn], refusals: .pages,
                refusing: [over, Self.tooMany, (403, "Nothing older than the change has confirmed.")]),
            PublicOperation(
                method: .post, path: "/account/changes/again", id: "mailChangeQuestion",
                summary: "Another link to the question is mailed.", body: (.form, [.required("id", "The change.")]),
                answers: [Self.page], refusals: .pages, refusing: [Self.tooMany]),
            PublicOperation(
                method: .post, path: "/account/changes/stop", id: "stopChange",
                summary: "A change that another provider has confirmed, and that waits, is stopped.",
                body: (
                    .form,
                    [
                        .required("request", "The change that waits."),
                        .required("confirmation", "What the page carried."),
                    ]
                ), answers: [Self.page, Self.goOn], refusals: .pages,
                refusing: [(404, "The change does not wait any more.")]),
        ]
    }()

    /// The pages on which people change the values that services can request.
    static let ownValuePages: [PublicOperation] = {
        let confirmation = DescribedField.required("confirmation", "What the page carried.")
        let value = DescribedField.required("value", "The value, by its identifier.")
        let further = DescribedField.required("address", "The further address, by its identifier.")
        let refused = (status: 403, meaning: "Nobody is signed in, or not just now by two factors.")
        let gone = (status: 404, meaning: "The person has none of that identifier.")
        /// Returns the operations of a page's form: the page, and the action of the form.
        func form(
            _ path: String, _ id: String, _ ask: String, _ summary: String, query: [DescribedField] = [],
            body: [DescribedField], isConfirmed: Bool = false, refusing: [(status: Int, meaning: String)]
        ) -> [PublicOperation] {
            [
                PublicOperation(
                    method: .get, path: path, id: "askFor\(id)", summary: ask, query: query, answers: [Self.page],
                    refusals: .pages, refusing: [refused] + (query.isEmpty ? [] : [gone])),
                PublicOperation(
                    method: .post, path: path, id: "take\(id)", summary: summary,
                    body: (.form, [confirmation] + body + (isConfirmed ? [Self.change] : [])),
                    answers: isConfirmed ? [Self.page, Self.goOn] : [Self.page], refusals: .pages,
                    refusing: [refused, Self.tooMany] + refusing),
            ]
        }
        let full = (status: 409, meaning: "There are as many as can be.")
        let pages: [[PublicOperation]] = [
            form(
                "/account/value/email", "OwnEmail", "The form of an e-mail address.",
                "An address is a value, or a link is mailed there that makes it one.",
                body: [.required("email", "The address.")], isConfirmed: true,
                refusing: [full, (422, "It is no address.")]),
            form(
                "/account/value/phone", "OwnPhone", "The form of a phone number.",
                "A number is a value, which nobody has verified.", body: [.required("phone", "The number.")],
                isConfirmed: true, refusing: [full, (422, "It is no number.")]),
            form(
                "/account/value/name", "OwnValueName", "The form that has a value called otherwise.",
                "A value is called otherwise.", query: [value],
                body: [value, .required("name", "What it is called from now on.")],
                refusing: [gone, (422, "The name cannot be shown.")]),
            form(
                "/account/value/remove", "OwnValueEnd", "The question whether a value is removed.",
                "A value is removed: services that got it ask again.", query: [value], body: [value],
                refusing: [gone]),
            form(
                "/account/address/remove", "OwnAddressEnd", "The question whether a further address is removed.",
                "A further address is removed.", query: [further], body: [further], refusing: [gone]),
        ]
        return pages.flatMap(\.self)
    }()

    /// The pages on which people see and change their personalised identity and its devices, and the pages by which
    /// people get and accept invitations.
    static let identityPages: [PublicOperation] = {
        let nobody = (status: 403, meaning: "Nobody is signed in.")
        let activation = DescribedField.required("activation", "The activation.")
        let ticket = DescribedField.required("ticket", "What the page with the code carried.")
        let confirmation = DescribedField.required("confirmation", "What the page carried.")
        let chosenFor = DescribedField.required("service", "The service's client.")
        let pins: [DescribedField] = [
            .optional("pin", "The PIN of the code."), .optional("pin-again", "The same."),
        ]
        let link = DescribedField.required("link", "What the link carries.")
        let strange = (status: 404, meaning: "Another browser has asked for the code.")
        let over = (status: 404, meaning: "The invitation cannot be accepted (any more).")
        func page(
            _ path: String, _ id: String, _ summary: String, query: [DescribedField] = [],
            refusing: [(status: Int, meaning: String)] = [nobody]
        ) -> PublicOperation {
            PublicOperation(
                method: .get, path: path, id: id, summary: summary, query: query, answers: [Self.page],
                refusals: .pages, refusing: refusing)
        }
        return [
            page("/account", "ownIdentity", "What a person has of personalised identities."),
            page("/account/history", "ownHistory", "What a person's identity was used for."),
            page("/account/activation", "askForActivation", "The page that asks what the code is to be."),
            PublicOperation(
                method: .post, path: "/account/activation", id: "makeActivation",
                summary: "The code for another device, shown by this answer alone.",
                body: (
                    .form, [confirmation, .optional("name", "What the device is to be called."), Self.change] + pins
                ),
                answers: [Self.page, Self.goOn], refusals: .pages,
                refusing: [
                    Self.tooMany, nobody,
                    (409, "As many codes wait as can be."), (422, "The PIN is none."),
                ]),
            page(
                "/account/activation/end", "askForEnd", "The question whether a device ends.", query: [activation],
                refusing: [
                    (403, "Nobody is signed in, or not just now by two factors."), (404, "There is no such device."),
                ]),
            PublicOperation(
                method: .post, path: "/account/activation/end", id: "endOwnActivation",
                summary: "A device ends, or a code for one.", body: (.form, [confirmation, activation, Self.change]),
                answers: [Self.page, Self.goOn], refusals: .pages,
                refusing: [
                    Self.tooMany, (403, "Nobody is signed in, or not just now by two factors."),
                    (404, "There is no such device."),
                ]),
            page(
                "/account/activation/name", "askForActivationName", "The form that gives a device another name.",
                query: [activation], refusing: [nobody, (404, "There is no such device.")]),
            PublicOperation(
                method: .post, path: "/account/activation/name", id: "renameOwnActivation",
                summary: "A device gets another name.",
                body: (.form, [confirmation, activation, .required("name", "What it is called from now on.")]),
                answers: [Self.page], refusals: .pages,
                refusing: [
                    nobody, (404, "There is no such device."), (422, "The name cannot be shown."), Self.tooMany,
                ]),
            page(
                "/account/choice", "askForChoice", "The question whether what was chosen for a service is forgotten.",
                query: [chosenFor], refusing: [nobody, (404, "Nothing is chosen there.")]),
            PublicOperation(
                method: .post, path: "/account/choice", id: "forgetOwnChoice",
                summary: "What was chosen for a service is forgotten: the person is asked again.",
                body: (.form, [confirmation, chosenFor]), answers: [Self.page], refusals: .pages,
                refusing: [nobody, (404, "Nothing is chosen there.")]),
            page(
                "/activation", "activationState", "What has become of a code.", query: [activation, ticket],
                refusing: [strange]),
            PublicOperation(
                method: .get, path: "/activation/events", id: "activationEvents",
                summary: "The same, as it changes.", query: [activation, ticket],
                answers: [.init(status: 200, meaning: "Events of the type state.", type: "text/event-stream")],
                refusing: [strange]),
            PublicOperation(
                method: .get, path: "/sign-in/newcomer", id: "newcomer",
                summary: "Where somebody has an invitation mailed who has no identity yet.",
                query: [Self.signInRequest, Self.service], answers: [Self.page, Self.goOn], refusals: .pages,
                refusing: [Self.unknown]),
            PublicOperation(
                method: .post, path: "/sign-in/newcomer", id: "inviteNewcomer",
                summary: "An invitation to the service is mailed, or none is; the answer is the same.",
                body: (.form, [Self.signInRequest, Self.service, .required("email", "The address.")]),
                answers: [Self.page, Self.goOn], refusals: .pages,
                refusing: [Self.unknown, Self.tooMany, (422, "It is no address.")]),
            page(
                "/invitation", "showInvitation", "Where the link of an invitation leads.", query: [link],
                refusing: [over]),
            PublicOperation(
                method: .post, path: "/invitation", id: "acceptInvitation",
                summary: "An invitation is accepted, or a code for an app is made that accepts it.",
                body: (.form, [link, .optional("confirmation", "What the page carried.")] + pins),
                answers: [Self.page], refusals: .pages,
                refusing: [over, Self.tooMany, nobody, (422, "The PIN is none.")]),
        ]
    }()

    /// The pages that people use by mail, if the server sends mail.
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
                method: .post, path: "/account/reset", id: "reset",
                summary:
                    "A link is spent on a new password, or on a browser in which the present one is judged past the rest.",
                body: (
                    .form,
                    [
                        link, .optional("new-password", "The password to keep, unless the present one is kept."),
                        .optional("keep", "`yes`: the password stays, and the account knows this browser."),
                        .optional("code", "A code, where one is asked for."),
                    ]
                ), answers: [Self.page], refusals: .pages,
                refusing: [over, Self.tooMany, (403, "The code is not right."), (422, "It cannot be chosen.")]),
            PublicOperation(
                method: .get, path: "/account/address", id: "ownAddress", summary: "A person's e-mail address.",
                query: [.optional("address", "A further address, by its identifier.")], answers: [Self.page],
                refusals: .pages, refusing: [nobody]),
            PublicOperation(
                method: .post, path: "/account/address", id: "askForConfirmation",
                summary: "A link to confirm it, or a further address, is mailed there.",
                body: (
                    .form,
                    [
                        .required("confirmation", "What the page carried."),
                        .optional("address", "The further address, by its identifier."), Self.change,
                    ]
                ), answers: [Self.page, Self.goOn], refusals: .pages,
                refusing: [
                    Self.tooMany,
                    (
                        403,
                        "Nobody is signed in, or no link is mailed."
                    ),
                ]),
            PublicOperation(
                method: .get, path: "/account/address/confirm", id: "showConfirmation",
                summary: "Where such a link leads.", query: [link], answers: [Self.page], refusals: .pages,
                refusing: [over]),
            PublicOperation(
                method: .post, path: "/account/address/confirm", id: "confirmAddress",
                summary: "A link is spent: the address is the person's.",
                body: (.form, [link, .required("confirmation", "What the page carried.")]), answers: [Self.page],
                refusals: .pages,
                refusing: [over, (403, "Nobody is signed in, or nobody was when the page was opened.")]),
        ]
    }()

    /// The operation by which an operator's own app signs its person in, without a browser.
    var challenge: [PublicOperation] {
        // Parameters that are for a browser alone do not belong to the operation.
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
