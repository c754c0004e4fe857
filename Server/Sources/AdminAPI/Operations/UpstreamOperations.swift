import Accounts
import Endpoints
import HTTPTypes
import OAuth
import OAuthProvider
import Records
import _Primitives

/// The operations for the other providers by which people can sign in, and for people's connections with the providers.
struct UpstreamOperations: Sendable {
    let providers: UpstreamProviders
    let directory: AccountDirectory

    private static let level: [AdminOperation.Field] = [
        .required("theirs", "Its word (acr)."), .required("ours", "The level of this server that it is worth."),
    ]

    private static let levelRequest: [AdminOperation.Field] = [
        .required("asked", "The word of the client (acr)."),
        .required("sent", .strings, "The words that are sent to the provider (acr_values)."),
        .optional(
            "raised", .strings,
            "Its words for a second trip, of whoever can be authenticated more surely there than they were."),
    ]

    private static let settings: [AdminOperation.Field] = [
        .optional("title", "By what people know it. Default: its name."),
        .optional("authorizationEndpoint", "With oauth2: where browsers are sent."),
        .optional("tokenEndpoint", "With oauth2: where codes are exchanged."),
        .optional("userinfoEndpoint", "With oauth2: where it says whose a token is."),
        .optional(
            "tokenEndpointAuthMethod", .choice(UpstreamProvider.Authentication.allCases.map(\.rawValue)),
            "How this server shows it who it is. Default: client_secret_basic."),
        .optional("clientSecret", "The secret that the two share. It is never shown again."),
        .optional("scopes", .strings, "What it is asked for. Default: openid, profile and email; with oauth2 none."),
        .optional("levels", .objects(Self.level), "What its words for levels are worth here."),
        .optional(
            "usualLevel", "What a sign-in by it is worth of which it says no such word. Default: the lowest level."),
        .optional(
            "levelRequests", .objects(Self.levelRequest),
            "Of clients of the app sign-in service: the words that they may ask it for, and what is sent for each. Without any they may ask for all of theirs, and nothing is sent the first time."
        ),
        .optional("levelClaim", "The claim of its ID tokens that has its word for a level. Default: acr."),
        .optional(
            "levelHint",
            "By what it is known that somebody can be authenticated more surely there: a claim of its ID tokens, as NAME or NAME=VALUE. An empty text for nothing."
        ),
        .optional(
            "signsOut", .boolean,
            "Whether people who sign out of the app sign-in service are sent there to be signed out as well. Default: false."
        ),
        .optional(
            "newcomers", .choice(UpstreamProvider.Newcomers.allCases.map(\.rawValue)),
            "Whether somebody who comes for the first time gets an account. Default: refused."),
        .optional(
            "emailDomains", .strings,
            "The domains of e-mail addresses that it decides about: of those alone its word counts that one is verified."
        ),
        .optional("subjectClaim", "With oauth2: the member of its userinfo that tells people apart. Default: sub."),
    ]

    private static let provider: [AdminOperation.Field] =
        [
            .required("name", "By what clients name it, as provider:NAME."),
            .required("kind", .choice(UpstreamProvider.Kind.allCases.map(\.rawValue)), "What it speaks."),
            .required("issuer", "Its identifier."), .required("clientId", "What this server is called there."),
            .required("redirectUri", "The address of this server to register there."),
            .optional(
                "postLogoutRedirectUri", "Where people are signed out there: a second address to register there."),
            .required("createdAt", "RFC 3339."),
            .optional(
                "trouble",
                "When the provider is added: the reason why nobody can come by it yet, by its discovery document."),
        ]
        + Self.settings.filter { $0.name != "clientSecret" }

    private static let link: [AdminOperation.Field] = [
        .required("id", "The connection."), .required("provider", "The provider, by its name."),
        .required("issuer", "The provider, by its identifier."), .required("subject", "The person there."),
        .required("createdAt", "RFC 3339."),
    ]

    private static let notFound = [(status: 404, meaning: "There is no such provider.")]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .post, path: "/providers", id: "addProvider",
                summary: "Let people sign in by another provider (OpenID Connect or OAuth 2.0).",
                body: [
                    .required("name", "Small letters, digits and hyphens. It never changes."),
                    .optional(
                        "kind", .choice(UpstreamProvider.Kind.allCases.map(\.rawValue)),
                        "What it speaks. Default: openid."),
                    .required("issuer", "Its identifier, https. It never changes."),
                    .required("clientId", "What this server is called there."),
                ] + Self.settings, answer: Self.provider, status: .created,
                refusals: [(409, "There is one of that name, or there are as many as one server takes.")],
                handler: self.add),
            AdminOperation(
                method: .get, path: "/providers", id: "listProviders", summary: "List the other providers.",
                answer: [.required("providers", .objects(Self.provider), "As they were added.")], handler: self.list),
            AdminOperation(
                method: .get, path: "/providers/{name}", id: "showProvider", summary: "Show another provider.",
                answer: Self.provider, refusals: Self.notFound, handler: self.show),
            AdminOperation(
                method: .patch, path: "/providers/{name}", id: "changeProvider",
                summary: "Change another provider; what is missing stays as it is.",
                body: [.optional("clientId", "What this server is called there.")] + Self.settings,
                answer: Self.provider, refusals: Self.notFound, handler: self.change),
            AdminOperation(
                method: .delete, path: "/providers/{name}", id: "removeProvider",
                summary:
                    "Take another provider away, with all connections to it; what people have signed in to by it ends.",
                status: .noContent, refusals: Self.notFound, handler: self.remove),
            AdminOperation(
                method: .get, path: "/accounts/{username}/links", id: "listLinks",
                summary: "List the identities at other providers that a person is connected with.",
                answer: [.required("links", .objects(Self.link), "The oldest first.")],
                refusals: [(404, "There is no such account.")], handler: self.links),
            AdminOperation(
                method: .delete, path: "/accounts/{username}/links/{id}", id: "removeLink",
                summary: "End such a connection; what the person has signed in to by it ends.", status: .noContent,
                refusals: [(404, "There is no such account or connection.")], handler: self.removeLink),
        ]
    }

    private func json(_ provider: UpstreamProvider) -> JSONObject {
        var object: JSONObject = [
            "name": .string(provider.name), "kind": .string(provider.kind.rawValue),
            "issuer": .string(provider.issuer), "clientId": .string(provider.clientID),
            "redirectUri": .string(self.providers.redirectURI(of: provider.name)),
            "createdAt": .string(provider.createdAt.description), "title": .string(provider.title),
            "tokenEndpointAuthMethod": .string(provider.authentication.rawValue),
            "scopes": .array(provider.scopes.map(JSON.string)),
            "levels": .array(
                provider.levels.map { .object(["theirs": .string($0.theirs), "ours": .string($0.ours)]) }),
            "usualLevel": .string(provider.usualLevel), "newcomers": .string(provider.newcomers.rawValue),
            "emailDomains": .array(provider.emailDomains.map(JSON.string)),
        ]
        object["levelClaim"] = .string(provider.levelClaim)
        object["levelHint"] = provider.levelHint.map { .string($0.text) }
        object["signsOut"] = .bool(provider.signsOut)
        if provider.signsOut { object["postLogoutRedirectUri"] = .string(self.providers.signedOutURI) }
        object["levelRequests"] = .array(
            provider.levelRequests.map { request in
                .object([
                    "asked": .string(request.asked), "sent": .array(request.sent.map(JSON.string)),
                    "raised": .array(request.raised.map(JSON.string)),
                ])
            })
        if let endpoints = provider.endpoints {
            object["authorizationEndpoint"] = .string(endpoints.authorization)
            object["tokenEndpoint"] = .string(endpoints.token)
            object["userinfoEndpoint"] = .string(endpoints.userinfo)
            object["subjectClaim"] = .string(provider.subjectClaim)
        }
        return object
    }

    /// Returns the settings that a body names.
    private static func settings(_ body: JSONObject) throws -> UpstreamChange {
        func word<Word: RawRepresentable<String> & CaseIterable>(_ name: String) throws -> Word? {
            try body.string(name).map { text in
                guard let word = Word(rawValue: text) else {
                    throw Self.refusal("\(name) is one of \(Word.allCases.map(\.rawValue).joined(separator: ", ")).")
                }
                return word
            }
        }
        var change = UpstreamChange()
        change.title = try body.string("title")
        change.clientID = try body.string("clientId")
        change.authentication = try word("tokenEndpointAuthMethod")
        change.secret = try body.string("clientSecret").map(SecretBytes.init(utf8:))
        change.scopes = try body.strings("scopes")
        change.levels = try body.array("levels")?.map { value in
            guard case .object(let level) = value else { throw Self.refusal("levels are objects.") }
            return UpstreamProvider.Level(
                theirs: try level.requiredString("theirs"), ours: try level.requiredString("ours"))
        }
        change.levelRequests = try body.array("levelRequests")?.map { value in
            guard case .object(let request) = value else { throw Self.refusal("levelRequests are objects.") }
            return UpstreamProvider.LevelRequest(
                asked: try request.requiredString("asked"), sent: try request.strings("sent") ?? [],
                raised: try request.strings("raised") ?? [])
        }
        change.levelClaim = try body.string("levelClaim")
        change.levelHint = try body.string("levelHint").map(UpstreamProvider.LevelHint.init(text:))
        change.signsOut = try body.bool("signsOut")
        change.usualLevel = try body.string("usualLevel")
        change.newcomers = try word("newcomers")
        change.emailDomains = try body.strings("emailDomains")
        change.subjectClaim = try body.string("subjectClaim")
        let endpoints = try ["authorizationEndpoint", "tokenEndpoint", "userinfoEndpoint"].map { try body.string($0) }
        if endpoints.contains(where: { $0 != nil }) {
            guard let authorization = endpoints[0], let token = endpoints[1], let userinfo = endpoints[2] else {
                throw Self.refusal("The three addresses of a provider of OAuth 2.0 go together.")
            }
            change.endpoints = UpstreamProvider.Endpoints(
                authorization: authorization, token: token, userinfo: userinfo)
        }
        return change
    }

    private static func refusal(_ sentence: String) -> Problem { Problem(.badRequest, "invalid-provider", sentence) }

    private static var noProvider: Problem {
        Problem(.notFound, Problem.Name.notFound, "There is no such provider.")
    }

    @Sendable private func add(_ call: AdminOperation.Call) async throws -> JSONObject {
        let kind = try call.body.string("kind") ?? UpstreamProvider.Kind.openID.rawValue
        guard let kind = UpstreamProvider.Kind(rawValue: kind) else {
            throw Self.refusal("kind is openid or oauth2.")
        }
        let change = try Self.settings(call.body)
        do {
            let added = try await self.providers.add(
                name: call.body.requiredString("name"), kind: kind, issuer: call.body.requiredString("issuer"), change,
                by: call.actor)
            var answer = self.json(added)
            answer["trouble"] = try await self.providers.trouble(of: added).map(JSON.string)
            return answer
        } catch let error as OAuthError {
            throw Self.refusal(error.message ?? "The settings do not go together.")
        } catch let error as StoreError where error.code == .conflict {
            throw Problem(
                .conflict, "provider-exists",
                "There is a provider of that name, or there are as many as one server takes.")
        }
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        ["providers": .array(try await self.providers.all().map { .object(self.json($0)) })]
    }

    @Sendable private func show(_ call: AdminOperation.Call) async throws -> JSONObject {
        guard let provider = try await self.providers.provider(call.parameters["name"] ?? "") else {
            throw Self.noProvider
        }
        return self.json(provider)
    }

    @Sendable private func change(_ call: AdminOperation.Call) async throws -> JSONObject {
        let change = try Self.settings(call.body)
        guard change != UpstreamChange() else { throw JSONError(.missing, "a setting") }
        do {
            let name = call.parameters["name"] ?? ""
            guard let provider = try await self.providers.change(name, change, by: call.actor) else {
                throw Self.noProvider
            }
            return self.json(provider)
        } catch let error as OAuthError {
            throw Self.refusal(error.message ?? "The settings do not go together.")
        }
    }

    @Sendable private func remove(_ call: AdminOperation.Call) async throws -> JSONObject {
        guard try await self.providers.remove(call.parameters["name"] ?? "", by: call.actor) else {
            throw Self.noProvider
        }
        return [:]
    }

    @Sendable private func links(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.directory.account(written: call.parameters["username"] ?? "")
        return [
            "links": .array(
                try await self.providers.links(ofAccount: account.id).map { link in
                    .object([
                        "id": .string(link.id), "provider": .string(link.identity.provider),
                        "issuer": .string(link.identity.issuer), "subject": .string(link.identity.subject),
                        "createdAt": .string(link.createdAt.description),
                    ])
                })
        ]
    }

    @Sendable private func removeLink(_ call: AdminOperation.Call) async throws -> JSONObject {
        let account = try await self.directory.account(written: call.parameters["username"] ?? "")
        let id = call.parameters["id"] ?? ""
        guard try await self.providers.removeLink(id, ofAccount: account.id, by: call.actor) else {
            throw Problem(.notFound, Problem.Name.notFound, "The account has no such connection.")
        }
        return [:]
    }
}
