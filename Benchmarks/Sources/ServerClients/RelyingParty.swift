import Crypto
package import _Primitives

/// A web application with its browsers, as the server sees them: the requests, and the values from answers.
package struct RelyingParty: Sendable, Codable {
    private let clientID: String
    /// The client's identifier at the server.
    package var identifier: String { self.clientID }
    /// The client's identifier and secret for HTTP Basic; `nil` for an app, which has no secret.
    private let basic: String?
    private let redirectURI: String

    /// - Parameters:
    ///   - grantTypes: The client's permitted grant types.
    ///   - isPublic: `true` for an app, which proves nothing. Its answers go to an https address of its site, so that a
    ///     signed-in browser gives the app a code without a question.
    ///   - idTokenAlgorithm: The signature algorithm of its ID tokens.
    ///   - signInMethods: The permitted sign-in methods.
    ///   - idTokenAtRefresh: `true` if the answers to its refreshes have ID tokens.
    package init(
        server: Server, grantTypes: [String] = ["authorization_code"], isPublic: Bool = false,
        idTokenAlgorithm: String = "ES256", signInMethods: [String] = ["phone"], idTokenAtRefresh: Bool = true
    ) throws {
        self.redirectURI = isPublic ? "https://app.example/signed-in" : "http://127.0.0.1:8099/signed-in"
        (self.clientID, self.basic) = try server.addClient(
            redirectURI: self.redirectURI, grantTypes: grantTypes, isPublic: isPublic,
            idTokenAlgorithm: idTokenAlgorithm, signInMethods: signInMethods, idTokenAtRefresh: idTokenAtRefresh)
    }

    /// A sign-in with an open page.
    package struct SignIn: Sendable {
        package let request: String
        package let cookies: [String]
        package let typedCode: String
        fileprivate let verifier: String
        package var eventsPath: String { "/sign-in/wait/events?request=\(self.request)" }

        package var completion: Request {
            Request("GET", "/sign-in/complete?request=\(self.request)", headers: self.cookies)
        }
    }

    // MARK: - The browser

    /// - Parameters:
    ///   - scope: Names, with a plus sign between two.
    ///   - session: The cookies of a signed-in browser, which is sent back with a code at once.
    package func authorization(verifier: String, scope: String = "openid", session: [String] = []) -> Request {
        let challenge = Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8))))
        return Request(
            "GET",
            "/oauth2/authorize?response_type=code&scope=\(scope)&state=s&nonce=n&client_id=\(self.clientID)"
                + "&redirect_uri=\(self.redirectURI)&code_challenge=\(challenge)&code_challenge_method=S256",
            headers: session + [forwardedHeader()])
    }

    /// Returns the page to which an authorization's answer leads.
    package func page(after answer: HTTPConnection.Response) throws -> (request: String, page: Request) {
        guard let location = answer.header("location"), let mark = location.firstRange(of: "request=") else {
            throw LoadError("authorize: \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        let request = String(location[mark.upperBound...].prefix { $0 != "&" })
        return (
            request,
            Request("GET", "/sign-in?request=\(request)", headers: answer.cookieHeaders + [forwardedHeader()])
        )
    }

    package func signIn(
        _ request: String, authorization: HTTPConnection.Response, page: HTTPConnection.Response, verifier: String
    ) throws -> SignIn {
        let text = String(decoding: page.body, as: UTF8.self)
        guard let mark = text.firstRange(of: "data-testid=\"typed-code\""),
            let start = text[mark.upperBound...].firstIndex(of: ">")
        else { throw LoadError("no typed code on the page: \(page.status) \(text.prefix(300))") }
        let code = text[text.index(after: start)...].prefix { $0 != "<" }.filter { !$0.isWhitespace }
        return SignIn(
            request: request, cookies: page.cookieHeaders.isEmpty ? authorization.cookieHeaders : page.cookieHeaders,
            typedCode: String(code), verifier: verifier)
    }

    package func beginSignIn(on browser: inout HTTPConnection) throws -> SignIn {
        let verifier = RandomSource.system.token()
        let authorization = try browser.exchange(self.authorization(verifier: verifier))
        let (request, page) = try self.page(after: authorization)
        return try self.signIn(
            request, authorization: authorization, page: try browser.exchange(page), verifier: verifier)
    }

    /// Begins a sign-in, and returns the code for a personalised identity from the link on its page.
    package func identityCode(on browser: inout HTTPConnection) throws -> String {
        let authorization = try browser.exchange(self.authorization(verifier: RandomSource.system.token()))
        let text = String(
            decoding: try browser.exchange(try self.page(after: authorization).page).body, as: UTF8.self)
        guard let mark = text.firstRange(of: "/open#") else {
            throw LoadError("no code on the page: \(text.prefix(300))")
        }
        return String(text[mark.upperBound...].prefix { $0 != "\"" })
    }

    /// Returns the code in a completion's redirect; `nil` if the redirect has no code.
    package func code(in answer: HTTPConnection.Response) -> String? {
        guard let location = answer.header("location"), location.hasPrefix(self.redirectURI),
            let mark = location.firstRange(of: "code=")
        else { return nil }
        return String(location[mark.upperBound...].prefix { $0 != "&" })
    }

    // MARK: - The back end

    private var authorizationHeaders: [String] { self.basic.map { ["Authorization: Basic \($0)"] } ?? [] }

    package func exchange(code: String, of signIn: SignIn) -> Request {
        self.exchange(code: code, verifier: signIn.verifier)
    }

    /// - Parameter headers: Further headers, such as a proof of a key.
    package func exchange(code: String, verifier: String, headers: [String] = []) -> Request {
        self.post(
            "/oauth2/token",
            "grant_type=authorization_code&code=\(code)&redirect_uri=\(self.redirectURI)&code_verifier=\(verifier)",
            headers)
    }

    /// - Parameter headers: Further headers, such as a proof of a key.
    package func refresh(_ token: String, headers: [String] = []) -> Request {
        self.post("/oauth2/token", "grant_type=refresh_token&refresh_token=\(token)", headers)
    }

    /// A request for a token in the client's own name.
    package var clientCredentials: Request { self.post("/oauth2/token", "grant_type=client_credentials") }

    package func introspection(_ token: String) -> Request { self.post("/oauth2/introspect", "token=\(token)") }

    private func post(_ path: String, _ form: String, _ headers: [String] = []) -> Request {
        Request(
            "POST", path, headers: self.authorizationHeaders + headers, type: "application/x-www-form-urlencoded",
            body: Array((self.basic == nil ? form + "&client_id=\(self.clientID)" : form).utf8))
    }

    /// Returns the access token, and the refresh token that came with it.
    package static func renewable(in answer: HTTPConnection.Response) throws -> (access: String, refresh: String) {
        let given = try self.renewed(in: answer)
        guard let refresh = given.refresh else { throw LoadError("token: no refresh token") }
        return (given.access, refresh)
    }

    /// Returns the access token, and the refresh token if one came with it.
    package static func renewed(in answer: HTTPConnection.Response) throws -> (access: String, refresh: String?) {
        guard answer.status == 200, case .object(let tokens) = try JSON(parsing: answer.body) else {
            throw LoadError("token: \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        return (try tokens.requiredString("access_token"), try tokens.string("refresh_token"))
    }

    /// Returns the access token, and the person's name for this relying party.
    package func tokens(in answer: HTTPConnection.Response) throws -> (accessToken: String, subject: String) {
        guard answer.status == 200, case .object(let tokens) = try JSON(parsing: answer.body) else {
            throw LoadError("token: \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        let parts = try tokens.requiredString("id_token").split(separator: ".")
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
            case .object(let claims) = try JSON(parsing: payload)
        else { throw LoadError("no ID token") }
        return (try tokens.requiredString("access_token"), try claims.requiredString("sub"))
    }

    package func userinfo(_ accessToken: String) -> Request {
        Request("GET", "/oauth2/userinfo", headers: ["Authorization: Bearer \(accessToken)"])
    }

    /// Completes a sign-in down to the ID token. Returns the person's subject, and the cookies of the session.
    package func finish(_ signIn: SignIn, on browser: inout HTTPConnection) throws
        -> (subject: String, session: [String])
    {
        let completed = try browser.exchange(signIn.completion)
        guard let code = self.code(in: completed) else { throw LoadError("complete: \(completed.status)") }
        let answer = try browser.exchange(self.exchange(code: code, of: signIn))
        return (try self.tokens(in: answer).subject, completed.cookieHeaders)
    }

    /// Returns a dispatch of an authentication of `subject` as a link, with a text to confirm if a text is given.
    package func dispatch(_ subject: String, text: String? = nil) -> Request {
        var context: JSONObject = ["subject": .string(subject)]
        if let text {
            let content = Base64URL.encode(Array(text.utf8))
            context["transaction"] = .array([
                .object(["contentType": .string("text/plain"), "content": .string(content)])
            ])
        }
        let body: JSONObject = [
            "dispatcher": .string("link"),
            "getUafRequest": .object(["op": .string("Auth"), "context": .string(JSON.object(context).text)]),
        ]
        return self.dispatch(body: JSON.object(body).serialized)
    }

    /// Returns a dispatch of an authentication of `subject`, with typed fields to confirm, as a picture of a QR code.
    package func dispatch(_ subject: String, payment: JSONObject) -> Request {
        let context: JSONObject = ["subject": .string(subject), "payment": .object(payment)]
        return self.dispatch(
            body: JSON.object([
                "dispatcher": .string("png-qr-code"),
                "getUafRequest": .object(["op": .string("Auth"), "context": .string(JSON.object(context).text)]),
            ]).serialized)
    }

    /// Returns a dispatch with any body.
    package func dispatch(body: [UInt8]) -> Request {
        Request("POST", "/token/dispatch/authentication", headers: self.authorizationHeaders, body: body)
    }

    package func dispatched(in answer: HTTPConnection.Response) throws -> (session: String, token: String) {
        guard answer.status == 200, case .object(let object) = try JSON(parsing: answer.body) else {
            throw LoadError("dispatch: \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        return (try object.requiredString("sessionId"), try object.requiredString("token"))
    }

    package func status(session: String) -> Request {
        Request(
            "POST", "/status", headers: self.authorizationHeaders,
            body: JSON.object(["sessionId": .string(session)]).serialized)
    }
}

/// A request before it is sent.
package struct Request: Sendable {
    package let method: String
    package let path: String
    package let headers: [String]
    package let body: [UInt8]

    package init(
        _ method: String, _ path: String, headers: [String] = [], type: String = "application/json", body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.headers = method == "GET" ? headers : headers + ["Content-Type: \(type)"]
        self.body = body
    }
}

extension Request {
    /// The same request from a new source address, because the server limits each source.
    package var ofAnotherSource: Request {
        guard !self.headers.contains(where: { $0.hasPrefix("X-Forwarded-For:") }) else { return self }
        return Request(self.method, self.path, allHeaders: self.headers + [forwardedHeader()], body: self.body)
    }

    private init(_ method: String, _ path: String, allHeaders: [String], body: [UInt8]) {
        self.method = method
        self.path = path
        self.headers = allHeaders
        self.body = body
    }
}

extension HTTPConnection {
    package mutating func exchange(_ request: Request) throws -> Response {
        try self.send(request.method, request.path, headers: request.headers, body: request.body)
        return try self.receive()
    }
}

extension HTTPConnection.Response {
    /// The cookies that the answer sets, as a header of the next request.
    package var cookieHeaders: [String] {
        let cookies = self.headers("set-cookie").map { value in String(value.prefix { $0 != ";" }) }
        return cookies.isEmpty ? [] : ["Cookie: " + cookies.joined(separator: "; ")]
    }
}
