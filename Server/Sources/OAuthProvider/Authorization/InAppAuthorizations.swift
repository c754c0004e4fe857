import OAuth
import Records
import Sealing
import Settings
public import _Primitives

/// Issues codes to apps that sign their own person in by a personalised identity. The person's proof on the phone
/// replaces a browser's sign-in, and the records are the same as after any other sign-in.
public struct InAppAuthorizations: Sendable {
    private let authorizations: Authorizations

    /// Creates the authorizations of apps beside the authorizations of browsers.
    public init(_ authorizations: Authorizations) { self.authorizations = authorizations }

    /// The request of a client's app (RFC 6749, section 4.1.1; RFC 7636, section 4.3).
    public struct Request: Sendable, Equatable {
        /// The client.
        public let client: String
        /// An address of the client, to the letter.
        public let redirectURI: String
        /// The scopes, separated by spaces.
        public let scope: String
        /// The value to return with the code.
        public let state: String?
        /// The value to return in the ID token.
        public let nonce: String?
        /// The challenge of the method `S256`.
        public let codeChallenge: String

        /// Creates a request of these parameters.
        public init(
            client: String, redirectURI: String, scope: String, state: String?, nonce: String?, codeChallenge: String
        ) {
            self.client = client
            self.redirectURI = redirectURI
            self.scope = scope
            self.state = state
            self.nonce = nonce
            self.codeChallenge = codeChallenge
        }
    }

    /// A client, as its person sees it.
    public struct Service: Sendable, Equatable {
        /// The name.
        public let name: String
        /// The scheme, host and port of the address.
        public let origin: String
        /// `true` if the person has to agree to something in a browser before a code comes: to the operator's terms, or
        /// to the access of a third party's client.
        public let needsConsent: Bool
    }

    /// The result of a request for a code.
    public enum Answer: Sendable {
        /// The code.
        case code(SecretBytes)
        /// The person has to agree to something first, in a browser.
        case consentRequired
        /// The request is no longer valid, or the person may have no code.
        case refused
    }

    /// Returns the service that asks a person. `nil` if the client is unknown or switched off, the address is not the
    /// client's own to the letter, or the client may not make the request.
    ///
    /// Cost: one query, one more if the operator has terms, and one if the client is a third party's.
    public func service(for request: Request, account: String) async throws -> Service? {
        guard let (client, checked) = try await self.checked(request) else { return nil }
        return Service(
            name: client.name, origin: try RedirectURI(registered: request.redirectURI).origin,
            needsConsent: try await self.agreement(to: checked, for: client, account: account) == nil)
    }

    /// Returns the consent on which a grant would rest, or an empty agreement if no consent is needed. `nil` if the
    /// person has still to agree to terms or to the access of a third party's client: this flow has no page that asks.
    private func agreement(
        to checked: AuthorizationParameters, for client: ClientRecord, account: String
    ) async throws -> (consent: String?, Void)? {
        guard try await self.authorizations.standing.missingTerms(ofAccount: account) == nil else { return nil }
        do {
            return (try await self.authorizations.consent(to: checked.scope, for: client, account: account), ())
        } catch is OAuthError {
            return nil
        }
    }

    /// Returns a code for a person who has authenticated, in a session that belongs to no browser.
    ///
    /// Cost: four queries, two of them for the client, and one each for the operator's terms and a third party's
    /// client; two store steps.
    public func code(for request: Request, outcome: AuthenticationOutcome, method: String) async throws -> Answer {
        let authorizations = self.authorizations
        guard let (client, checked) = try await self.checked(request), let challenge = checked.challenge else {
            return .refused
        }
        let now = authorizations.time.now()
        let record = AuthorizationRequestRecord(
            id: authorizations.random.identifier(),
            // No browser continues this request.
            browserDigest: Sealing.digest(ofSecret: authorizations.random.token(byteCount: 32)), client: client.id,
            redirectURI: request.redirectURI, scope: checked.scope.description, resources: [], state: request.state,
            nonce: checked.nonce, codeChallenge: challenge.digest, wishes: checked.wishes.text,
            expiresAt: now + authorizations.limits.authorizationCodeLifetime)
        guard try await authorizations.refusal(of: outcome, for: record, checked.wishes) == nil else { return .refused }
        guard let agreement = try await self.agreement(to: checked, for: client, account: outcome.account)
        else {
            return .consentRequired
        }
        try await authorizations.store.addRequest(record)
        let session = SessionRecord(
            of: AuthenticationRecord(of: outcome, by: method, random: authorizations.random), cookie: nil,
            lifetime: authorizations.limits.sessionLifetime, random: authorizations.random, at: now)
        let issue = try await authorizations.issue(
            session, client: client.id, redirectURI: record.redirectURI, scope: checked.scope, nonce: checked.nonce,
            challenge: challenge.digest, keyThumbprint: nil, wishes: checked.wishes, consent: agreement.consent,
            resources: [],
            at: now)
        do {
            try await authorizations.store.complete(
                CompletedAuthorization(request: record.id, session: session, grant: issue.grant, code: issue.code),
                replacing: nil)
        } catch let error as StoreError where error.code == .notFound {
            // The account was locked this moment, or the device was removed.
            _ = try await authorizations.store.removeRequest(record.id)
            return .refused
        }
        return .code(SecretBytes(Array(issue.secret.utf8)))
    }

    /// Returns the client and the checked parameters; `nil` for every invalid request.
    private func checked(_ request: Request) async throws -> (ClientRecord, AuthorizationParameters)? {
        guard let client = try await self.authorizations.clients.servedClient(request.client),
            client.settings.signInService == nil,
            // To the letter, without the latitude that loopback addresses have in a browser.
            client.redirectURIs.containsBytes(of: request.redirectURI)
        else { return nil }
        var parameters: Parameters = [
            "response_type": "code", "client_id": request.client, "redirect_uri": request.redirectURI,
            "scope": request.scope, "code_challenge": request.codeChallenge,
            "code_challenge_method": CodeChallenge.method,
        ]
        if let state = request.state { parameters.append("state", state) }
        if let nonce = request.nonce { parameters.append("nonce", nonce) }
        do {
            var setting: String?
            let (checked, _) = try await self.authorizations.check(parameters, of: client, setting: &setting)
            return (client, checked)
        } catch is OAuthError {
            return nil
        }
    }
}
