import Ceremony
import JOSE
import OAuth
import _Primitives

/// The name and the password that a sign-in has gone by, where they are saved.
struct UsedCredentials: Sendable {
    /// What is saved with them is encrypted to this key.
    let key: JWK
    /// The session that they have begun before; `nil` for none.
    let formerSession: FormerSession?
}

/// A session that a saved name and password have begun, and that ends with the next sign-in by them: it is not kept itself,
/// so that a later process of the app knows nothing else of it.
struct FormerSession: Sendable {
    /// A refresh token of it. Each one that the session has had names it to the server, the latest or not.
    let refreshToken: String

    /// As it is encrypted. No name and password are read as a session, and no session as those.
    var text: String { JSON.object(["refresh_token": .string(self.refreshToken)]).text }

    init(refreshToken: String) { self.refreshToken = refreshToken }

    init?(text: String) {
        guard case .object(let object)? = try? JSON(parsing: text),
            case .string(let token)? = object["refresh_token"]
        else { return nil }
        self.refreshToken = token
    }
}

/// A name and a password on their way to the server: never in a description.
struct TypedCredentials: Sendable, CustomStringConvertible, CustomReflectable {
    let username: String
    let password: String

    var description: String { "TypedCredentials" }
    var customMirror: Mirror { Mirror(self, children: [:]) }

    /// Whether there is something of both.
    var areWhole: Bool { !self.username.isEmpty && !self.password.isEmpty }

    var text: String {
        JSON.object(["username": .string(self.username), "password": .string(self.password)]).text
    }

    init(username: String, password: String) {
        self.username = username
        self.password = password
    }

    /// Reads ``text``. `nil` for another text.
    init?(text: String) {
        guard case .object(let object)? = try? JSON(parsing: text), case .string(let username)? = object["username"],
            case .string(let password)? = object["password"]
        else { return nil }
        self.init(username: username, password: password)
    }
}

/// One sign-in by what a person types into the app (OAuth 2.0 for First-Party Applications).
struct PasswordSignIn: Sendable {
    /// What the server wants next.
    private enum Step {
        case code(String)
        case more(session: String, next: [String])
    }

    let core: SignInCore
    let recording: Recording
    /// Asks for a code of the person's authenticator app; `nil` where the app asks for none.
    let secondFactor: SignIn.SecondFactorPrompt?

    /// What the server gives for name and password. Throws ``SignInError``: `wrongCredentials` where it does not take them.
    func tokens(for credentials: TypedCredentials, provingBy key: SigningKey) async throws -> IssuedTokens {
        let configuration = self.core.configuration
        guard configuration.face == .openID else {
            throw SignInError(.misconfigured, "the sign-in service takes no passwords of apps")
        }
        let random = self.core.platform.random
        let request = BrowserRequest(
            redirectURI: "", state: "", nonce: random.token(byteCount: 32), verifier: CodeVerifier(random: random))
        let asked: Parameters = [
            "client_id": configuration.clientID, "scope": configuration.scopes.joined(separator: " "),
            "code_challenge": request.verifier.challenge.text, "code_challenge_method": CodeChallenge.method,
            "nonce": request.nonce,
        ]
        try await self.core.server.introduce(
            FormRequest(path: "/oauth2/challenge", parameters: asked), key: key, self.recording)
        var form = asked
        form.append("username", credentials.username)
        form.append("password", credentials.password)
        var question = SecondFactorQuestion()
        while true {
            switch try await self.step(form, key) {
            case .code(let code):
                let exchange = FormRequest(
                    path: "/oauth2/token",
                    parameters: [
                        "grant_type": "authorization_code", "code": code, "code_verifier": request.verifier.text,
                        "client_id": configuration.clientID,
                    ])
                let tokens = try await self.core.exchanged(exchange, key: key, self.recording)
                try configuration.check(tokens.idToken, nonce: request.nonce)
                return tokens
            case .more(_, let next) where next.containsBytes(of: "password"):
                // After a code it is the server that begins anew, as it takes no further code.
                throw SignInError(
                    form["otp"] == nil ? .wrongCredentials : .wrongSecondFactor,
                    serverCode: "insufficient_authorization")
            case .more(let session, let next) where next.containsBytes(of: "otp"):
                guard let secondFactor else { throw SignInError(.browserNeeded, "the server wants a second factor") }
                if form["otp"] != nil {
                    question = SecondFactorQuestion(lastError: .invalidCode, triesLeft: question.triesLeft - 1)
                }
                guard question.triesLeft > 0 else {
                    throw SignInError(.wrongSecondFactor, serverCode: "insufficient_authorization")
                }
                guard let code = await secondFactor(question) else {
                    throw SignInError(.cancelled, "no code was typed")
                }
                form = ["client_id": configuration.clientID, "auth_session": session, "otp": code]
            case .more: throw SignInError(.browserNeeded, "the server wants what this app does not ask for")
            }
        }
    }

    /// Shows one thing, and reads what comes of it.
    private func step(_ form: Parameters, _ key: SigningKey) async throws -> Step {
        let response = try await self.core.server.post(
            FormRequest(path: "/oauth2/challenge", parameters: form), key: key, self.recording,
            noting: form["password"] == nil ? nil : .passwordSent)
        let body = self.core.server.body(of: response)
        switch response.status {
        case 200: return .code(try body.requiredString("authorization_code"))
        case 408, 429, 500...: throw SignInError(.networkError, "status \(response.status)")
        default: break
        }
        let error = SignInError.word((try? body.string("error")) ?? "")
        switch ExactText(error) {
        case "insufficient_authorization":
            return .more(session: try body.requiredString("auth_session"), next: try body.strings("next") ?? [])
        case "redirect_to_web": throw SignInError(.browserNeeded, serverCode: error)
        case "access_denied": throw SignInError(.denied, serverCode: error)
        case "unauthorized_client", "invalid_client": throw SignInError(.misconfigured, serverCode: error)
        default: throw SignInError(.refused, serverCode: error, "status \(response.status)")
        }
    }
}
