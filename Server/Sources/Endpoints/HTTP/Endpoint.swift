package import HTTPTypes
import _Primitives

/// One method at one public path. An endpoint has the method's description for the document of the public addresses,
/// and the function that answers. Description and function stand in one place, so that both always agree.
package struct Endpoint: Sendable {
    /// The strongest effect that a request can have on somebody's account (docs/account-changes.md).
    package enum Effect: String, Sendable {
        /// The account gets a way in, or loses a part of its protection.
        case gives
        /// Something goes on without the browser.
        case lasts
        /// Something ends or rests.
        case takesAway = "takes away"
        /// A session begins, or a sign-in goes on.
        case signsIn = "signs in"
        /// Only names and displayed data of an account change, or nothing changes.
        case none
    }

    /// The credentials that a request shows.
    package enum Caller: Sendable {
        case anybody
        /// Anybody. A client that proves its identity may do more.
        case anybodyOrClient
        /// A client, by its secret in the header. The endpoint's form describes the credentials in the form.
        case client
        /// A client at an address that takes the header alone.
        case clientByHeader
        /// A holder of an access token, or an app with the token of an authentication on its device.
        case token
        /// A device, by its own proof or by the token of an authentication on the device.
        case device
        /// A device, by its own proof alone.
        case deviceByProof
        /// A client, or a device as above.
        case clientOrDevice
    }

    /// The form of the endpoint's refusals.
    package enum Refusals: Sendable {
        /// RFC 9457.
        case problems
        /// RFC 6749, section 5.2.
        case oauth
        /// Pages for people.
        case pages
        /// The form that clients of the app sign-in service read.
        case signInService

        fileprivate var types: [String] {
            // Every address answers a request that breaks the rules of HTTP with a problem document.
            switch self {
            case .problems: ["application/problem+json"]
            case .oauth: ["application/json", "application/problem+json"]
            case .pages: ["text/html", "application/problem+json"]
            case .signInService: ["application/json", "application/problem+json"]
            }
        }
    }

    /// A possible answer of the endpoint.
    package struct Answer: Sendable {
        let status: Int
        let meaning: String
        /// The media type of the body; `nil` for no body.
        let type: String?
        /// The members of a JSON body.
        let members: [DescribedField]

        /// Creates an answer, without a body unless `type` names the body's type.
        package init(status: Int, meaning: String, type: String? = nil, members: [DescribedField] = []) {
            self.status = status
            self.meaning = meaning
            self.type = type
            self.members = members
        }

        /// A page for people.
        package static let page = Self(status: 200, meaning: "A page.", type: "text/html")
        /// A redirect that the browser follows with GET.
        package static let goOn = Self(status: 303, meaning: "The browser goes on with GET.")
    }

    /// The refusal of a caller that has used up a budget.
    package static let tooMany = (status: 429, meaning: "The caller has used up its budget.")

    /// The method of the requests.
    package let method: HTTPRequest.Method
    /// The path, with parameters in braces.
    package let path: String
    /// The document's operationId.
    let id: String
    let summary: String
    /// The class of the endpoint.
    package let effect: Effect
    /// The credentials that the requests show.
    package let caller: Caller
    let query: [DescribedField]
    let headers: [DescribedField]
    /// The type and the members of the requests' body; `nil` for requests without a body.
    package let body: (type: BodyType, members: [DescribedField])?
    /// `true` if the endpoint refuses a body with further members.
    let isBodyClosed: Bool
    /// The answers of a success.
    let answers: [Answer]
    let refusals: Refusals
    /// The statuses of this endpoint's own refusals, beside the refusals of every endpoint of its kind.
    let refusing: [(status: Int, meaning: String)]
    /// The effect of a GET, beside the answer.
    let get: ServerRouter.GetEffect
    let handler: ServerRouter.Handler

    /// Creates an endpoint: the description and the function that answers.
    package init(
        method: HTTPRequest.Method, path: String, id: String, summary: String, effect: Effect,
        caller: Caller = .anybody,
        query: [DescribedField] = [], headers: [DescribedField] = [],
        body: (type: BodyType, members: [DescribedField])? = nil, isBodyClosed: Bool = false, answers: [Answer],
        refusals: Refusals = .problems, refusing: [(status: Int, meaning: String)] = [],
        get: ServerRouter.GetEffect = .acts, handler: @escaping ServerRouter.Handler
    ) {
        self.method = method
        self.path = path
        self.id = id
        self.summary = summary
        self.effect = effect
        self.caller = caller
        self.query = query
        self.headers = headers
        self.body = body
        self.isBodyClosed = isBodyClosed
        self.answers = answers
        self.refusals = refusals
        self.refusing = refusing
        self.get = get
        self.handler = handler
    }

    /// The endpoint's part of the document.
    var document: JSONObject {
        var document: JSONObject = ["operationId": .string(self.id), "summary": .string(self.summary)]
        switch self.caller {
        case .anybody: break
        case .anybodyOrClient: document["security"] = .array([.object([:]), .object(["client": .array([])])])
        case .client, .clientByHeader: document["security"] = .array([.object(["client": .array([])])])
        case .token: document["security"] = .array([.object(["token": .array([])])])
        case .device:
            document["security"] = .array([.object(["device": .array([])]), .object(["token": .array([])])])
        case .deviceByProof: document["security"] = .array([.object(["device": .array([])])])
        case .clientOrDevice:
            document["security"] = .array(["client", "device", "token"].map { .object([$0: .array([])]) })
        }
        // Paths are our own words.
        // check: unicode-words
        let names = self.path.split(separator: "/").filter { $0.hasPrefix("{") }.map { $0.dropFirst().dropLast() }
        let parameters =
            names.map { DescribedField.required(String($0), "What is named.").parameter(in: "path") }
            + self.query.map { $0.parameter(in: "query") } + self.headers.map { $0.parameter(in: "header") }
        if !parameters.isEmpty { document["parameters"] = .array(parameters) }
        if let body {
            let schema = DescribedField.schema(body.members, isClosed: self.isBodyClosed)
            document["requestBody"] = .object([
                "required": .bool(true),
                "content": .object([body.type.rawValue: .object(["schema": .object(schema)])]),
            ])
        }
        document["responses"] = .object(self.responses)
        return document
    }

    private var responses: JSONObject {
        var refused = self.refusing
        refused += [
            (400, "The request is not what is asked for."), (414, "The address is too long."),
            (503, "The server cannot store anything just now."),
        ]
        if self.path.contains("{") { refused.append((404, "Nothing has a name of such letters.")) }
        if self.body != nil {
            refused += [
                (408, "The body did not come in time."), (413, "The body is too large."),
                (415, "The body is of another type."),
            ]
        }
        switch self.caller {
        case .anybody: break
        case .anybodyOrClient, .client, .clientByHeader: refused.append((401, "No client that has proved who it is."))
        case .token: refused.append((401, "No token that is good for this."))
        case .device: refused.append((401, "No proof and no token that is good for this."))
        case .deviceByProof: refused.append((401, "No proof that is good for this."))
        case .clientOrDevice: refused.append((401, "No client, no proof and no token that is good for this."))
        }
        var all: [(status: Int, document: JSONObject)] = self.answers.map { ($0.status, Self.document($0)) }
        for (status, meaning) in refused where !all.contains(where: { $0.status == status }) {
            var content: JSONObject = [:]
            for type in self.refusals.types { content[type] = .object(self.refusal(of: type)) }
            all.append((status, ["description": .string(meaning), "content": .object(content)]))
        }
        var responses: JSONObject = [:]
        for (status, document) in all.sorted(by: { $0.status < $1.status }) {
            responses[String(status)] = .object(document)
        }
        return responses
    }

    private static func document(_ answer: Answer) -> JSONObject {
        var document: JSONObject = ["description": .string(answer.meaning)]
        guard let type = answer.type else { return document }
        var content: JSONObject = [:]
        if !answer.members.isEmpty { content["schema"] = .object(DescribedField.schema(answer.members)) }
        document["content"] = .object([type: .object(content)])
        return document
    }

    private func refusal(of type: String) -> JSONObject {
        switch type {
        case "text/html": [:]
        // Two addresses of the service have a member of another name.
        case "application/json" where self.refusals == .signInService: ["schema": .object(["type": .string("object")])]
        case "application/json": ["schema": .object(["$ref": .string("#/components/schemas/OAuthError")])]
        default: ["schema": .object(["$ref": .string("#/components/schemas/Problem")])]
        }
    }
}

extension Endpoint {
    /// The route by which a router mounts the endpoint.
    package var route: ServerRouter.Route {
        ServerRouter.Route(method: self.method, path: self.path, get: self.get, handler: self.handler)
    }
}
