import Accounts
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import Pages
import PersonalInformation
import Records
import Settings
import Texts
import _Primitives

/// The pages on which a person adds, renames and removes values that services can request.
///
/// The server adds an address or a phone number only after the person's phone has confirmed the very value: services
/// receive the value as the person's, and letters go to the address. Every other change needs a sign-in of a few
/// minutes ago, by two factors.
extension OwnIdentityRoutes {
    /// The endpoints of the pages.
    var valueEndpoints: [Endpoint] {
        let value = DescribedField.required("value", "The value, by its identifier.")
        let further = DescribedField.required("address", "The further address, by its identifier.")
        let gone = (status: 404, meaning: "The person has none of that identifier.")
        let full = (status: 409, meaning: "There are as many as can be.")
        /// Returns the endpoints of a page's form: the page, and the action of the form.
        func form(
            _ path: String, _ id: String, ask: (summary: String, handler: ServerRouter.Handler),
            take: (summary: String, handler: ServerRouter.Handler), _ effect: Endpoint.Effect,
            query: [DescribedField] = [], body: [DescribedField], refusing: [(status: Int, meaning: String)]
        ) -> [Endpoint] {
            // The phone confirms each change that gives the account something.
            let isConfirmed = effect == .gives
            return [
                Endpoint(
                    method: .get, path: path, id: "askFor\(id)", summary: ask.summary, effect: .none, query: query,
                    answers: [.page], refusals: .pages, refusing: [Self.notFresh] + (query.isEmpty ? [] : [gone]),
                    handler: self.answers.page(ask.handler)),
                Endpoint(
                    method: .post, path: path, id: "take\(id)", summary: take.summary, effect: effect,
                    body: (
                        .form, [Self.confirmationField] + body + (isConfirmed ? [ConfirmedChanges.described] : [])
                    ), answers: isConfirmed ? [.page, .goOn] : [.page], refusals: .pages,
                    refusing: [Self.notFresh, Endpoint.tooMany] + refusing, handler: self.answers.page(take.handler)),
            ]
        }
        let forms = [
            form(
                IdentityPaths.email, "OwnEmail", ask: ("The form of an e-mail address.", self.askForEmail),
                take: ("An address is a value, or a link is mailed there that makes it one.", self.addEmail), .gives,
                body: [.required("email", "The address.")], refusing: [full, (422, "It is no address.")]),
            form(
                IdentityPaths.phone, "OwnPhone", ask: ("The form of a phone number.", self.askForPhone),
                take: ("A number is a value, which nobody has verified.", self.addPhone), .gives,
                body: [.required("phone", "The number.")], refusing: [full, (422, "It is no number.")]),
            form(
                IdentityPaths.valueName, "OwnValueName",
                ask: ("The form that has a value called otherwise.", self.askForAlias),
                take: ("A value is called otherwise.", self.renameValue), .none, query: [value],
                body: [value, .required("name", "What it is called from now on.")],
                refusing: [gone, (422, "The name cannot be shown.")]),
            form(
                IdentityPaths.valueEnd, "OwnValueEnd",
                ask: ("The question whether a value is removed.", self.askForValueEnd),
                take: ("A value is removed: services that got it ask again.", self.removeValue), .takesAway,
                query: [value], body: [value], refusing: [gone]),
            form(
                IdentityPaths.addressEnd, "OwnAddressEnd",
                ask: ("The question whether a further address is removed.", self.askForAddressEnd),
                take: ("A further address is removed.", self.removeAddress), .takesAway, query: [further],
                body: [further], refusing: [gone]),
        ]
        return forms.flatMap(\.self)
    }

    /// Runs `body` for a person whose sign-in is fresh: a few minutes old at most, by two factors, and not by another
    /// provider. Any other visitor gets the page that says so.
    private func fresh(
        _ request: Request, _ context: ServerContext, _ body: (Visitor) async throws -> Response
    ) async throws -> Response {
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        guard visitor.active.isFresh(at: self.time.now(), self.limits) else {
            return self.stale(.values, context)
        }
        return try await body(visitor)
    }

    /// Adds a value after its person has confirmed the value. The function `add` does the adding.
    private func add(
        _ kind: OwnValuePage.Kind, field: String, _ request: Request, _ context: ServerContext,
        spelling: (String) -> String?, change: (String) -> AccountChange,
        _ add: (Visitor, _ value: String) async throws -> Response
    ) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        try self.cookies.requireToken(of: form, visitor.session)
        try self.identities.listings.countChange(source: context.source)
        let typed = form[field] ?? ""
        guard let value = spelling(typed) else {
            return self.valueForm(kind, visitor, value: typed, problem: .invalid, status: .unprocessableContent)
        }
        if let asked = try await self.changes.answer(
            unlessConfirmed: change(value), on: kind == .email ? IdentityPaths.email : IdentityPaths.phone,
            accountID: visitor.accountID, reference: form[ConfirmedChange.field], request, context)
        {
            return asked
        }
        return try await add(visitor, value)
    }

    /// Runs `body` with a form of a page of this server, for a person whose sign-in is fresh as above. The change
    /// counts for the budget of the caller's source.
    private func fresh(
        form request: Request, _ context: ServerContext, _ body: (Visitor, OAuth.Parameters) async throws -> Response
    ) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        return try await self.fresh(request, context) { visitor in
            try self.cookies.requireToken(of: form, visitor.session)
            try self.identities.listings.countChange(source: context.source)
            return try await body(visitor, form)
        }
    }

    private func result(
        _ notice: Notice, outcome: ResultPage.Outcome = .done,
        status: HTTPResponse.Status = .ok, reference: String? = nil
    ) -> Response {
        .page(
            self.answers.pages.html(
                ResultPage(outcome, notice, target: IdentityPaths.overview, reference: reference)), status: status)
    }

    private var noValue: Response {
        self.result(
            .noValue, outcome: .refused, status: .notFound)
    }

    // MARK: An address

    private func valueForm(
        _ kind: OwnValuePage.Kind, _ visitor: Visitor, value: String = "", problem: OwnValuePage.Problem? = nil,
        change: String? = nil, status: HTTPResponse.Status = .ok
    ) -> Response {
        var page = OwnValuePage(
            kind, confirmation: self.cookies.formToken(visitor.session), value: value, problem: problem,
            sendsMail: self.own.sendsMail)
        page.change = change
        return .page(self.answers.pages.html(page), status: status)
    }

    /// Returns the form of a value. After the person has confirmed a value, the form holds the value.
    private func valueForm(_ kind: OwnValuePage.Kind, _ request: Request) async throws -> Response {
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        let confirmed = try await self.changes.confirmed(request, accountID: visitor.accountID)
        switch (kind, confirmed?.change) {
        case (.email, .email(let value)?), (.phone, .phone(let value)?):
            return self.valueForm(kind, visitor, value: value, change: confirmed?.reference)
        default: return self.valueForm(kind, visitor)
        }
    }

    @Sendable private func askForEmail(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await self.valueForm(.email, request)
    }

    @Sendable private func addEmail(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await self.add(
            .email, field: "email", request, context, spelling: self.own.spelling(ofEmail:),
            change: AccountChange.email
        ) { visitor, address in
            switch try await self.own.giveEmail(address, accountID: visitor.accountID) {
            case .added:
                return self.result(.emailAdded)
            case .known: return self.result(.emailKnown)
            case .unconfirmed(let further):
                return try await self.mailLink(further, visitor, context)
            case .unconfirmable:
                return self.result(
                    .emailUnconfirmable, outcome: .refused, status: .forbidden)
            case .invalid:
                return self.valueForm(.email, visitor, value: address, problem: .invalid, status: .unprocessableContent)
            case .tooManyValues:
                return self.valueForm(.email, visitor, value: address, problem: .tooManyValues, status: .conflict)
            case .tooManyAddresses:
                return self.valueForm(.email, visitor, value: address, problem: .tooManyAddresses, status: .conflict)
            }
        }
    }

    private func mailLink(_ further: String?, _ visitor: Visitor, _ context: ServerContext) async throws -> Response {
        if let refusal = try await self.confirmations.ask(
            accountID: visitor.accountID, further: further, source: context.source)
        {
            context.notes.note(
                RequestRefusal(
                    code: "no-mail-\(refusal.rawValue)", reason: "No link was mailed to the address that was given."))
            return self.result(
                refusal == .resting ? .emailLinkResting : .emailNothingToConfirm, outcome: .refused, status: .forbidden,
                reference: context.reference)
        }
        return self.result(.emailLinkMailed(isFirst: further == nil))
    }

    // MARK: A phone number

    @Sendable private func askForPhone(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await self.valueForm(.phone, request)
    }

    @Sendable private func addPhone(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await self.add(
            .phone, field: "phone", request, context, spelling: self.own.spelling(ofPhone:),
            change: AccountChange.phone
        ) { visitor, number in
            switch try await self.own.givePhone(number, accountID: visitor.accountID) {
            case .added:
                return self.result(.phoneAdded)
            case .known: return self.result(.phoneKnown)
            case .invalid:
                return self.valueForm(.phone, visitor, value: number, problem: .invalid, status: .unprocessableContent)
            case .tooManyValues:
                return self.valueForm(.phone, visitor, value: number, problem: .tooManyValues, status: .conflict)
            }
        }
    }

    // MARK: A value's name

    private func aliasForm(
        _ id: String, _ alias: String, _ attribute: PersonalAttribute, _ visitor: Visitor, isRefused: Bool = false
    ) -> Response {
        .page(
            self.answers.pages.html(
                RenameValuePage(
                    id: id, attribute: attribute.rawValue, alias: alias,
                    confirmation: self.cookies.formToken(visitor.session),
                    refusedBeyond: isRefused ? Limits.Fixed.shownNameCharacters : nil)),
            status: isRefused ? .unprocessableContent : .ok)
    }

    @Sendable private func askForAlias(_ request: Request, _ context: ServerContext) async throws -> Response {
        let id = try SignInAddress.parameter("value", of: request.uri.query ?? "")
        return try await self.fresh(request, context) { visitor in
            guard let value = try await self.own.value(id, accountID: visitor.accountID) else {
                return self.noValue
            }
            return self.aliasForm(value.alias.id, value.alias.text, value.alias.attribute, visitor)
        }
    }

    @Sendable private func renameValue(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await self.fresh(form: request, context) { visitor, form in
            let (id, alias) = (form["value"] ?? "", form["name"] ?? "")
            guard let value = try await self.own.value(id, accountID: visitor.accountID) else {
                return self.noValue
            }
            do {
                guard try await self.own.renameValue(id, to: alias, accountID: visitor.accountID) else {
                    return self.noValue
                }
            } catch let error as AccountError where error.code == .invalidRequest {
                return self.aliasForm(id, alias, value.alias.attribute, visitor, isRefused: true)
            }
            return self.result(.valueNamed(alias))
        }
    }

    // MARK: The end of a value

    @Sendable private func askForValueEnd(_ request: Request, _ context: ServerContext) async throws -> Response {
        let id = try SignInAddress.parameter("value", of: request.uri.query ?? "")
        return try await self.fresh(request, context) { visitor in
            guard let value = try await self.own.value(id, accountID: visitor.accountID) else {
                return self.noValue
            }
            return .page(
                self.answers.pages.html(
                    RemoveValuePage(
                        id: value.alias.id, attribute: value.alias.attribute.rawValue,
                        alias: value.alias.text, services: value.services,
                        confirmation: self.cookies.formToken(visitor.session))))
        }
    }

    @Sendable private func removeValue(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await self.fresh(form: request, context) { visitor, form in
            guard try await self.own.removeValue(form["value"] ?? "", accountID: visitor.accountID) else {
                return self.noValue
            }
            return self.result(.valueRemoved)
        }
    }

    @Sendable private func askForAddressEnd(_ request: Request, _ context: ServerContext) async throws -> Response {
        let id = try SignInAddress.parameter("address", of: request.uri.query ?? "")
        return try await self.fresh(request, context) { visitor in
            guard let email = try await self.own.email(id, accountID: visitor.accountID) else {
                return self.noValue
            }
            return .page(
                self.answers.pages.html(
                    RemoveAddressPage(
                        id: email.id, address: email.address, isVerified: email.isVerified,
                        confirmation: self.cookies.formToken(visitor.session))))
        }
    }

    @Sendable private func removeAddress(_ request: Request, _ context: ServerContext) async throws -> Response {
        try await self.fresh(form: request, context) { visitor, form in
            guard try await self.own.removeEmail(form["address"] ?? "", accountID: visitor.accountID) else {
                return self.noValue
            }
            return self.result(.addressRemoved)
        }
    }
}
