import Crypto
import _Primitives

/// A web application with its browsers, as far as the server sees them.
struct RelyingParty: Sendable {
    private static let redirectURI = "http://127.0.0.1:8099/signed-in"

    let server: Server
    let clientID: String
    private let basic: String

    init(server: Server) throws {
        self.server = server
        var connection = try server.connect()
        (self.clientID, self.basic) = try server.addClient(redirectURI: Self.redirectURI, on: &connection)
    }

    /// A sign-in whose page is open.
    struct SignIn {
        let request: String
        let cookies: [String]
        let typedCode: String
        let verifier: String
        var eventsPath: String { "/sign-in/wait/events?request=\(self.request)" }
    }

    func beginSignIn(on browser: inout HTTPConnection) throws -> SignIn {
        let verifier = RandomSource.system.token()
        let challenge = Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8))))
        let authorize = try browser.get(
            "/oauth2/authorize?response_type=code&scope=openid&state=s&nonce=n&client_id=\(self.clientID)"
                + "&redirect_uri=\(Self.redirectURI)&code_challenge=\(challenge)&code_challenge_method=S256")
        guard let location = authorize.header("location"), let page = location.firstRange(of: "request=") else {
            throw LoadError("authorize: \(authorize.status) \(String(decoding: authorize.body, as: UTF8.self))")
        }
        let request = String(location[page.upperBound...].prefix { $0 != "&" })
        var cookies = Self.cookies(of: authorize)
        let shown = try browser.get("/sign-in?request=\(request)", headers: Self.cookieHeaders(cookies))
        cookies += Self.cookies(of: shown)
        let text = String(decoding: shown.body, as: UTF8.self)
        guard let mark = text.firstRange(of: "data-testid=\"typed-code\""),
            let start = text[mark.upperBound...].firstIndex(of: ">")
        else { throw LoadError("no typed code on the page: \(shown.status)") }
        let code = text[text.index(after: start)...].prefix { $0 != "<" }.filter { !$0.isWhitespace }
        return SignIn(
            request: request, cookies: Self.cookieHeaders(cookies), typedCode: String(code), verifier: verifier)
    }

    /// Completes a sign-in down to the ID token. Returns the person's subject.
    func finish(_ signIn: SignIn, on browser: inout HTTPConnection) throws -> String {
        let completed = try browser.get("/sign-in/complete?request=\(signIn.request)", headers: signIn.cookies)
        guard let location = completed.header("location"), let mark = location.firstRange(of: "code=") else {
            throw LoadError("complete: \(completed.status)")
        }
        let code = location[mark.upperBound...].prefix { $0 != "&" }
        let answer = try browser.post(
            "/oauth2/token", headers: ["Authorization: Basic \(self.basic)"],
            type: "application/x-www-form-urlencoded",
            body: Array(
                "grant_type=authorization_code&code=\(code)&redirect_uri=\(Self.redirectURI)&code_verifier=\(signIn.verifier)"
                    .utf8))
        guard case .object(let tokens) = try JSON(parsing: answer.body) else { throw LoadError("no tokens") }
        let parts = try tokens.requiredString("id_token").split(separator: ".")
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]),
            case .object(let claims) = try JSON(parsing: payload)
        else { throw LoadError("no ID token") }
        return try claims.requiredString("sub")
    }

    /// Dispatches an authentication of `subject` as a link. Returns its token.
    func dispatch(_ subject: String, on connection: inout HTTPConnection) throws -> String {
        let context = JSON.object(["subject": .string(subject)]).text
        let body: JSONObject = [
            "dispatcher": .string("link"),
            "getUafRequest": .object(["op": .string("Auth"), "context": .string(context)]),
        ]
        let answer = try connection.post(
            "/token/dispatch/authentication", headers: ["Authorization: Basic \(self.basic)"],
            body: JSON.object(body).serialized)
        guard answer.status == 200, case .object(let object) = try JSON(parsing: answer.body) else {
            throw LoadError("dispatch: \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        return try object.requiredString("token")
    }

    private static func cookies(of response: HTTPConnection.Response) -> [String] {
        response.head.split(separator: "\r\n").compactMap { line in
            guard line.lowercased().hasPrefix("set-cookie:") else { return nil }
            return String(line.dropFirst(11).prefix { $0 != ";" }.drop { $0 == " " })
        }
    }

    private static func cookieHeaders(_ cookies: [String]) -> [String] {
        cookies.isEmpty ? [] : ["Cookie: " + cookies.joined(separator: "; ")]
    }
}
