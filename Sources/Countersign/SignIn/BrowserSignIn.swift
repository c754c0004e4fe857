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

/// One sign-in by the browser: away with a challenge, back with a code (RFC 6749, RFC 7636, RFC 8252).
struct BrowserSignIn: Sendable {
    let core: SignInCore
    let recording: Recording
    private let verifier: CodeVerifier

    /// A sign-in with a secret of its own. Of the secret's hash, which goes with the browser, is the run's id: so the server
    /// knows which run the browser's requests are of, though they have no header that says it.
    init(core: SignInCore) {
        self.core = core
        self.verifier = CodeVerifier(random: core.platform.random)
        self.recording = core.server.newRecording(of: TraceID(hash: self.verifier.challenge.digest))
    }

    /// What the server gives for the code that the browser brings back.
    func tokens(provingBy key: SigningKey) async throws -> IssuedTokens {
        let configuration = self.core.configuration
        guard let browser = self.core.platform.webAuthentication else {
            throw SignInError(.misconfigured, "the platform has no browser")
        }
        let session = try await browser.prepare(for: configuration.redirectURI)
        // Requests of the sign-in service name no address: the browser comes back to the registered one, to the letter.
        guard configuration.face == .openID || session.redirectURI.hasSameBytes(as: configuration.redirectURI) else {
            throw SignInError(.misconfigured, "at the sign-in service a loopback address has a port of its own")
        }
        let random = self.core.platform.random
        // 256 random bits each, and never used again: an answer to an earlier sign-in is none to this one.
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
        // An app that ends meanwhile is told of it at its next start. That nothing can be written down keeps nobody waiting.
        try? self.core.store.setBrowserOpened(self.core.platform.clock.now())
        defer { try? self.core.store.setBrowserOpened(nil) }
        return try await session.open(page) { (try? Self.parameters(of: $0, answering: request)) != nil }
    }

    /// The code of an answer to this request. Anybody can send the browser to the app's address, with a code of their own.
    private func code(in address: String, answering request: BrowserRequest) throws -> String {
        let parameters = try Self.parameters(of: address, answering: request)
        // RFC 9207, section 2.4: a code of another server must not be shown to this one.
        switch (parameters["iss"], self.core.configuration.issuer) {
        case (let named?, let issuer?) where named.hasSameBytes(as: issuer): break
        case (nil, nil): break
        default: throw SignInError(.untrustedAnswer, "another issuer, or none")
        }
        if let failure = self.core.configuration.spoken.failure(in: parameters) { throw failure }
        guard let code = parameters["code"] else { throw SignInError(.untrustedAnswer, "neither a code nor an error") }
        return code
    }

    /// What an address says that has the state of this request.
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
    /// An ID token is this server's, for this app and this sign-in (OpenID Connect Core 1.0, section 3.1.3.7). Without a
    /// sign-in of its own, as by another app's, there is no nonce.
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
