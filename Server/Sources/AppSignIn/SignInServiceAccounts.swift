import JOSE
import OAuth
import OAuthProvider
import Records
import Settings
import _Primitives

/// Service accounts: services that get access tokens of the app sign-in service for statements that they have signed,
/// to act for a person whom the statement names (row F050 of the parity table).
///
/// The tokens are for the operator's own services, which verify them by the service's published keys. No address of
/// this server accepts such a token, and no such token names a client or a session.
struct SignInServiceAccounts: Sendable {
    let store: any ReplayStore
    let endpoint: SignInServiceEndpoint
    /// The issuer in the access tokens.
    let issuer: String

    private var clients: Clients { self.endpoint.clients }

    /// Returns a service account; `nil` for other clients and a service account that is switched off.
    private func serviceAccount(_ id: String) async throws -> (ClientRecord, SignInServiceSettings)? {
        guard let client = try await self.clients.servedClient(id),
            let settings = client.settings.signInService,
            settings.answers == .serviceAccount
        else { return nil }
        return (client, settings)
    }

    /// Returns a token for a service account's assertion, which counts once.
    ///
    /// Cost: one query, two signatures, one store step.
    func serviceToken(
        _ request: SignInServiceRequest, _ named: inout String?
    ) async throws -> SignInServiceAnswer {
        let assertion = try UnverifiedServiceAccountAssertion(request.parameters)
        let proof = try self.endpoint.proof(of: request)
        guard let (account, settings) = try await self.serviceAccount(assertion.accountID) else {
            throw UnverifiedServiceAccountAssertion.refused("service_account_id names no service account")
        }
        named = account.id
        try self.endpoint.checkPlace(of: request, settings)
        let now = self.clients.time.now()
        let verified = try await self.verified(assertion, of: account, settings, at: now)
        let own = account.settings.tokens.scopes
        guard verified.scopes.allSatisfy(own.containsBytes), !verified.scopes.isEmpty || own.isEmpty else {
            throw SignInServiceError.malformed(
                "The scopes are not the service account's.", "it has \(own.joined(separator: " "))", setting: "--scope")
        }
        try Self.check(verified.userAttributes, settings)
        try await self.clients.keys.require(account.settings.idTokenAlgorithm, of: .signInService)
        if let proof { try await self.endpoint.proofs.take(proof) }
        // After all checks: nobody else can use up a service's identifier, and a refused request can be corrected.
        guard
            try await self.store.takeOnce(digest: verified.replayDigest, until: verified.repeatableUntil)
        else {
            throw SignInServiceError.malformed(
                "The assertion was shown before: sign another one, with another jti.", "replayed")
        }
        var claims: JSONObject = [
            "iss": .string(self.issuer), "aud": .string(settings.audience), "sub": .string(verified.subject),
            "jti": .string(self.clients.random.identifier()), "iat": .integer(now.seconds),
            "exp": .integer((now + settings.accessTokenLifetime).seconds), "version": .string("V0"),
            "scopes": .array(verified.scopes.map(JSON.string)), "service_account_id": .string(account.id),
            "user_attributes": .object(verified.userAttributes),
        ]
        claims["cnf"] = proof.map { .object(TokenBinding.key($0.thumbprint).confirmation) }
        let token = try self.clients.keys.signing.sign(
            claims, type: TokenType.serviceAccountAccess, algorithm: account.settings.idTokenAlgorithm,
            of: .signInService, at: now)
        let given: JSONObject = ["access_token": .string(token)]
        return SignInServiceAnswer(body: settings.wrapsData ? ["data": .object(given)] : given)
    }

    private func verified(
        _ assertion: UnverifiedServiceAccountAssertion, of account: ClientRecord, _ settings: SignInServiceSettings,
        at now: Timestamp
    ) async throws -> VerifiedServiceAccountAssertion {
        let keys: JWKSet
        do { keys = try await self.clients.keys(of: account, naming: assertion.keyID) } catch let error
            as OutgoingCallError
        {
            throw UnverifiedServiceAccountAssertion.refused(error.reason)
        }
        return try assertion.verified(
            by: keys, issuer: settings.audience, for: self.clients.assertionAudience(of: account),
            allowing: account.settings.signingAlgorithms,
            within: ValidityWindow(
                now: now, skew: self.clients.limits.oauth.clientClockSkew,
                longest: Limits.Fixed.serviceAssertionLifetime))
    }

    /// Checks that a token has only the attributes of a person that its service account may state, within their size.
    private static func check(_ attributes: JSONObject, _ settings: SignInServiceSettings) throws {
        for (name, value) in attributes.members {
            guard settings.userAttributes.containsBytes(of: name) else {
                throw SignInServiceError.malformed(
                    "The user_attributes are not the service account's.",
                    "it has \(settings.userAttributes.joined(separator: " "))",
                    setting: "--sign-in-service accessTokenUserAttributes")
            }
            guard case .string(let text) = value, text.utf8.count <= Limits.Fixed.serviceAccountAttributeBytes else {
                throw SignInServiceError.malformed(
                    "Each of the user_attributes is a text of \(Limits.Fixed.serviceAccountAttributeBytes) bytes at most."
                )
            }
        }
    }
}
