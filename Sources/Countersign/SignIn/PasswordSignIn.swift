import Ceremony
import JOSE
import OAuth
import _Primitives

/// The saved name and password with which a sign-in was made.
struct UsedCredentials: Sendable {
    /// The key to which data saved with the credentials is encrypted.
    let key: JWK
    /// The session that began with the credentials before; `nil` for none.
    let formerSession: FormerSession?
}

/// A session that began with a saved name and password. The next sign-in with the credentials ends this session. The
/// session itself is not kept, so that a later process of the app knows only this value.
struct FormerSession: Sendable {
    /// A refresh token of the session. Every refresh token of the session identifies the session to the server, even an
    /// old one.
    let refreshToken: String

    /// The text that is encrypted. A name and password are never read as a session, nor a session as a name and
    /// password.
    var text: String { JSON.object(["refresh_token": .string(self.refreshToken)]).text }

    init(refreshToken: String) { self.refreshToken = refreshToken }

    init?(text: String) {
        guard case .object(let object)? = try? JSON(parsing: text),
            case .string(let token)? = object["refresh_token"]
        else { return nil }
        self.refreshToken = token
    }
}

/// A name and a password on their way to the server. They never appear in a description.
struct TypedCredentials: Sendable, CustomStringConvertible, CustomReflectable {
    let username: String
    let password: String

    var description: String { "TypedCredentials" }
    var customMirror: Mirror { Mirror(self, children: [:]) }

    /// `true` if neither the name nor the password is empty.
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

/// One sign-in with the name and password that a person types into the app (OAuth 2.0 for First-Party Applications).
struct PasswordSignIn: Sendable {
    /// The next step that the server requests.
    private enum Step {
        case code(String)
        case more(session: String, next: [String])
    }

    let core: SignInCore
    let recording: Recording
    /// Asks for a code of the person's authenticator app; `nil` if the app asks for no code.
    let secondFactor: SignIn.SecondFactorPrompt?

    /// Returns the server's tokens for a name and a password. Throws ``SignInError``: `wrongCredentials` if the server
    /// does not accept them, `wrongSecondFactor`, `browserNeeded`, `cancelled` if no code was typed.
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
                // After a code, the server itself begins again if it accepts no further code.
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

    /// Sends one form, and reads the server's next step.
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
