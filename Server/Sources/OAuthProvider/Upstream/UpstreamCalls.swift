import JOSE
import OAuth
import Records
import Settings
import _Primitives

/// The calls of this server to other providers, without a browser.
final class UpstreamCalls: Sendable {
    /// Calls the addresses; `nil` if this server calls nobody.
    private let calls: (any OutgoingCalls)?
    private let keys: Keys
    private let limits: Limits.OAuth
    private let time: TimeSource
    private let random: RandomSource
    private let documents: RemoteDocuments<UpstreamMetadata>
    private let keySets: RemoteKeySets

    /// Creates the calls with the means by which this server calls its clients, and with the server's keys and limits.
    init(_ clients: Clients) {
        let (calls, limits) = (clients.choices.calls, clients.limits)
        self.calls = calls
        self.keys = clients.keys
        self.limits = limits.oauth
        self.time = clients.time
        self.random = clients.random
        self.documents = RemoteDocuments(calls: calls, by: limits.keySetRules(of: .provider)) {
            answer, _ throws(OutgoingCallError) in
            try UpstreamMetadata(parsing: answer.body)
        }
        self.keySets = RemoteKeySets(calls: calls, of: .provider, limits: limits)
    }

    /// Returns the addresses of a provider. Throws ``UpstreamRefusal``.
    ///
    /// - Parameters:
    ///   - isStaleEnough: `true` to accept the provider's document of the last day without a call.
    ///   - isEnough: Returns `true` if the document has the wanted content; else the provider is asked once more. The
    ///     document can still lack the content.
    func metadata(
        of upstream: UpstreamProvider, isStaleEnough: Bool = false,
        isEnough: (UpstreamMetadata) -> Bool = { _ in true }
    ) async throws -> UpstreamMetadata {
        if let endpoints = upstream.endpoints { return try UpstreamMetadata(endpoints, issuer: upstream.issuer) }
        let metadata: UpstreamMetadata
        do {
            metadata = try await self.documents.document(
                of: upstream.name, at: UpstreamMetadata.address(of: upstream.issuer), now: self.time.now(),
                isStaleEnough: isStaleEnough, isEnough: isEnough)
        } catch let error as OutgoingCallError {
            throw UpstreamRefusal.failed("its discovery document cannot be had: \(error.reason)")
        }
        // OpenID Connect Discovery 1.0, section 4.3: otherwise an attacker could speak for another provider.
        guard metadata.issuer.hasSameBytes(as: upstream.issuer) else {
            throw UpstreamRefusal.failed("its discovery document is of another issuer than --issuer")
        }
        return metadata
    }

    /// Exchanges a code and returns its person. Throws ``UpstreamRefusal``.
    ///
    /// Cost: one call; with OpenID Connect one signature, and a call if its keys are not there; with OAuth 2.0 alone a
    /// call more.
    func person(
        code: String, of upstream: UpstreamProvider, _ metadata: UpstreamMetadata, for trip: UpstreamTrip,
        redirectURI: String
    ) async throws -> (UpstreamPerson, accessToken: String?) {
        let tokens = try await self.tokens(code, of: upstream, metadata, trip, redirectURI)
        let accessToken = try? tokens.string("access_token")
        switch upstream.kind {
        case .openID:
            guard case .string(let idToken)? = tokens["id_token"], let address = metadata.keys else {
                throw UpstreamRefusal.failed("it answers without an ID token")
            }
            let name = (try? UnverifiedJWS(compact: idToken))?.header.keyID
            let keys: JWKSet
            do {
                keys = try await self.keySets.keys(
                    of: upstream.name, at: address.text, naming: name, now: self.time.now())
            } catch let error as OutgoingCallError {
                throw UpstreamRefusal.failed("its keys cannot be had: \(error.reason)")
            }
            let person = try UpstreamPerson(
                idToken: idToken, of: upstream, by: keys, for: trip, accessToken: accessToken,
                at: self.time, skew: self.limits.clientClockSkew)
            return (person, accessToken)
        case .oauth2:
            guard let accessToken else { throw UpstreamRefusal.failed("it answers without an access token") }
            let claims = try await self.userinfo(metadata, accessToken: accessToken)
            return (try UpstreamPerson(userinfo: claims, of: upstream), accessToken)
        }
    }

    /// Returns the person with the provider's further claims, if the ID token does not have them. Returns the person
    /// unchanged if the provider has no userinfo or gave no access token. Throws ``UpstreamRefusal``.
    ///
    /// - Parameter isComplete: `true` if the ID token has the wanted claims.
    func completed(
        _ person: UpstreamPerson, _ metadata: UpstreamMetadata, accessToken: String?, isComplete: Bool
    ) async throws -> UpstreamPerson {
        guard metadata.keys != nil, metadata.userinfo != nil, !isComplete, let accessToken else { return person }
        let claims = try await self.userinfo(metadata, accessToken: accessToken)
        // OpenID Connect Core 1.0, section 5.3.2: otherwise the claims could be another person's.
        guard case .string(let subject)? = claims["sub"], subject.hasSameBytes(as: person.subject) else {
            throw UpstreamRefusal.failed("its userinfo is about another person than its ID token")
        }
        var person = person
        person.takeProfile(claims)
        return person
    }

    private func userinfo(_ metadata: UpstreamMetadata, accessToken: String) async throws -> JSONObject {
        guard let address = metadata.userinfo else { throw UpstreamRefusal.failed("it has no userinfo") }
        guard accessToken.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw UpstreamRefusal.failed("its access token has letters that a header cannot have")
        }
        return try await self.object(
            OutgoingCall(
                to: address.text, authorization: "Bearer \(accessToken)",
                longestAnswer: Limits.Fixed.upstreamAnswerBytes, party: .provider), "userinfo")
    }

    private func tokens(
        _ code: String, of upstream: UpstreamProvider, _ metadata: UpstreamMetadata, _ trip: UpstreamTrip,
        _ redirectURI: String
    ) async throws -> JSONObject {
        var form: Parameters = [
            "grant_type": "authorization_code", "code": code, "redirect_uri": redirectURI,
            "code_verifier": trip.verifier.withBytes { String(decoding: $0, as: UTF8.self) },
        ]
        let authorization = try self.authenticate(&form, to: upstream)
        return try await self.object(
            OutgoingCall(
                to: metadata.token.text, .form(form.encoded), authorization: authorization,
                longestAnswer: Limits.Fixed.upstreamAnswerBytes, party: .provider), "token endpoint")
    }

    /// Adds this server's credential to a form, or returns the header with the credential.
    private func authenticate(_ form: inout Parameters, to upstream: UpstreamProvider) throws -> String? {
        let secret = upstream.secret?.withBytes { String(decoding: $0, as: UTF8.self) } ?? ""
        switch upstream.authentication {
        case .secretBasic: return ClientCredentials.basic(clientID: upstream.clientID, secret: secret)
        case .secretPost:
            form.append("client_id", upstream.clientID)
            form.append("client_secret", secret)
        case .privateKeyJWT:
            let now = self.time.now()
            form.append("client_id", upstream.clientID)
            form.append("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
            form.append(
                "client_assertion",
                try self.keys.signing.sign(
                    [
                        "iss": .string(upstream.clientID), "sub": .string(upstream.clientID),
                        "aud": .string(upstream.issuer), "jti": .string(self.random.identifier()),
                        "iat": .integer(now.seconds),
                        "exp": .integer((now + self.limits.logoutTokenLifetime).seconds),
                    ], type: TokenType.clientAuthentication, algorithm: .es256, at: now))
        case .none: form.append("client_id", upstream.clientID)
        }
        return nil
    }

    /// Makes a call and returns the JSON object of the answer.
    ///
    /// - Parameter place: The name of the called address, for the log.
    private func object(_ call: OutgoingCall, _ place: String) async throws -> JSONObject {
        guard let calls = self.calls else {
            throw UpstreamRefusal.failed("this server calls nobody")
        }
        let answer: OutgoingAnswer
        do { answer = try await calls.send(call) } catch let error as OutgoingCallError {
            throw UpstreamRefusal.failed("its \(place) cannot be called: \(error.reason)")
        }
        guard case .object(let object)? = try? JSON(parsing: answer.body, leavesOutNull: true) else {
            throw UpstreamRefusal.failed("its \(place) answers \(answer.status), and no JSON object")
        }
        guard answer.status == 200 else {
            let code = UpstreamRefusal.shown(try? object.string("error"))
            throw UpstreamRefusal.failed("its \(place) answers \(answer.status), \(code)")
        }
        return object
    }
}
