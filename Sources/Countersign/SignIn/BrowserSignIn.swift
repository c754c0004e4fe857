import Ceremony
import JOSE
import OAuth
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One sign-in by the browser: the app sends a challenge with the browser and receives a code (RFC 6749, RFC 7636, RFC
/// 8252).
struct BrowserSignIn: Sendable {
    let core: SignInCore
    let recording: Recording
    private let verifier: CodeVerifier

    /// Creates a sign-in with a new secret. The run's id is derived from the secret's hash, which the browser carries.
    /// The server can therefore assign the browser's requests to the run, though the requests have no header for the
    /// run.
    init(core: SignInCore) {
        self.core = core
        self.verifier = CodeVerifier(random: core.platform.random)
        self.recording = core.server.newRecording(of: TraceID(hash: self.verifier.challenge.digest))
    }

    /// Opens the browser, and returns the server's tokens for the browser's code.
    func tokens(provingBy key: SigningKey) async throws -> IssuedTokens {
        let configuration = self.core.configuration
        guard let browser = self.core.platform.webAuthentication else {
            throw SignInError(.misconfigured, "the platform has no browser")
        }
        let session = try await browser.prepare(for: configuration.redirectURI)
        // Requests of the sign-in service state no redirect address: the browser returns to the registered address,
        // byte for byte.
        guard configuration.face == .openID || session.redirectURI.hasSameBytes(as: configuration.redirectURI) else {
            throw SignInError(.misconfigured, "at the sign-in service a loopback address has a port of its own")
        }
        let random = self.core.platform.random
        // The state and the nonce have 256 random bits each and are never used again, so an answer to an earlier
        // sign-in does not match this sign-in.
        let request = BrowserRequest(
            redirectURI: session.redirectURI, state: random.token(byteCount: 32), nonce: random.token(byteCount: 32),
            verifier: self.verifier)
        guard let page = configuration.spoken.page(for: request), SecureChannel.isSecure(page) else {
            throw SignInError(.misconfigured, "the page's address is not secure")
        }
        let answer = try await self.opened(page, in: session, answering: request)
        let code = try self.code(in: answer, answering: request)
        let tokens = try await self.core.exchanged(
            configuration.spoken.exchange(of: code, for: request), key: key, self.recording)
        try self.core.configuration.check(tokens.idToken, nonce: request.nonce)
        return tokens
    }

    private func opened(_ page: URL, in session: any PreparedWebAuthentication, answering request: BrowserRequest)
        async throws -> String
    {
        self.recording.note(.signInStarted)
        // If the app ends meanwhile, its next start reports the interruption. A failure to store this note must not
        // delay the person.
        try? self.core.store.setBrowserOpened(self.core.platform.clock.now())
        defer { try? self.core.store.setBrowserOpened(nil) }
        return try await session.open(page) { (try? Self.parameters(of: $0, answering: request)) != nil }
    }

    /// Returns the code of an answer to this request. The check matters because anybody can send the browser to the
    /// app's address with a code of their own.
    private func code(in address: String, answering request: BrowserRequest) throws -> String {
        let parameters = try Self.parameters(of: address, answering: request)
        // RFC 9207, section 2.4: a code of another server must not be shown to this server.
        switch (parameters["iss"], self.core.configuration.issuer) {
        case (let named?, let issuer?) where named.hasSameBytes(as: issuer): break
        case (nil, nil): break
        default: throw SignInError(.untrustedAnswer, "another issuer, or none")
        }
        if let failure = self.core.configuration.spoken.failure(in: parameters) { throw failure }
        guard let code = parameters["code"] else { throw SignInError(.untrustedAnswer, "neither a code nor an error") }
        return code
    }

    /// Returns the parameters of an address that has the state of this request.
    private static func parameters(of address: String, answering request: BrowserRequest) throws -> Parameters {
        let parts = address.splitBytes(at: "?", maxSplits: 1)
        guard parts.count == 2, parts[0].hasSameBytes(as: request.redirectURI) else {
            throw SignInError(.untrustedAnswer, "another address")
        }
        let query = parts[1].splitBytes(at: "#")[0]
        guard let parameters = try? Parameters(parsing: query) else {
            throw SignInError(.untrustedAnswer, "the query makes no sense")
        }
        guard let state = parameters["state"], constantTimeEqual(Array(state.utf8), Array(request.state.utf8)) else {
            throw SignInError(.untrustedAnswer, "another state")
        }
        return parameters
    }

}

extension SignInConfiguration {
    /// Checks that an ID token was issued by this server for this app and this sign-in (OpenID Connect Core 1.0,
    /// section 3.1.3.7). A sign-in through another app has no nonce. The function checks nothing at the sign-in
    /// service, and nothing if the app does not request the scope `openid`.
    func check(_ idToken: String?, nonce: String?) throws {
        guard self.face == .openID, self.scopes.containsBytes(of: Scope.openID) else { return }
        guard let claims = idToken.flatMap(StatedClaims.init(of:)) else {
            throw SignInError(.protocolError, "no ID token")
        }
        let audience: [String] =
            switch claims.members["aud"] {
            case .string(let name)?: [name]
            default: (try? claims.members.strings("aud")) ?? []
            }
        guard nonce.map({ claims[text: "nonce"]?.hasSameBytes(as: $0) ?? false }) ?? true,
            audience.count == 1, audience[0].hasSameBytes(as: self.clientID),
            self.issuer.map({ claims[text: "iss"]?.hasSameBytes(as: $0) ?? false }) ?? true
        else { throw SignInError(.untrustedAnswer, "the ID token is not for this sign-in") }
    }
}
