public import OAuth
public import Records
import Sealing
public import Settings
public import _Primitives

/// Has another provider authenticate a person afresh, if the person has nothing at this server to confirm a change of
/// the account.
public struct UpstreamConfirmations: Sendable {
    /// The beginning of a trip.
    public enum Departure: Sendable {
        /// The caller keeps the trip, and sends the browser to the address.
        case away(UpstreamTrip, location: String)
        /// The provider is unknown, or does not say when a person was authenticated.
        case unknown
        /// The source has begun too many sign-ins.
        case tooMany(Shortage)
    }

    /// The beginning of the state of a trip that confirms a change. The state of a sign-in has no full stop.
    private static let mark = "change."

    private let authorizations: Authorizations
    private let store: any UpstreamStore
    private let calls: UpstreamCalls

    /// Creates the confirmations by the providers of people's sign-ins.
    public init(_ signIns: UpstreamSignIns) {
        self.authorizations = signIns.authorizations
        self.store = signIns.store
        self.calls = signIns.calls
    }

    /// Returns the providers that can confirm a change of an account, with names and titles, those of the oldest
    /// connections first. An OpenID provider says when a person was authenticated, and a provider of OAuth 2.0 alone
    /// does not.
    ///
    /// - Parameter moment: Only connections from before this moment count; `nil` for all.
    ///
    /// Cost: two queries.
    public func providers(of accountID: String, before moment: Timestamp? = nil) async throws -> [(
        name: String, title: String
    )] {
        let links = try await self.store.links(ofAccount: accountID)
        guard !links.isEmpty else { return [] }
        let known = try await self.store.upstreamProviders()
        var names: [String] = []
        for link in links where moment.map({ link.createdAt < $0 }) ?? true {
            if !names.containsBytes(of: link.identity.provider) { names.append(link.identity.provider) }
        }
        return names.compactMap { name in
            known.first { $0.name.hasSameBytes(as: name) && $0.kind == .openID }.map { ($0.name, $0.title) }
        }
    }

    /// Begins a trip to a provider that authenticates the person afresh (`max_age=0`; OpenID Connect Core 1.0, section
    /// 3.1.2.1), for the change that the reference names.
    ///
    /// Throws ``UpstreamRefusal``.
    ///
    /// Cost: one query; a call if the provider's discovery document is not there.
    public func begin(_ name: String, reference: String, source: String) async throws -> Departure {
        guard let upstream = try await self.store.upstreamProvider(name), upstream.kind == .openID else {
            return .unknown
        }
        // Each trip is a call to another provider.
        if let shortage = self.authorizations.signIns.spend(source, at: self.authorizations.time.now()) {
            return .tooMany(shortage)
        }
        let metadata = try await self.calls.metadata(of: upstream)
        let (random, now) = (self.authorizations.random, self.authorizations.time.now())
        let state = "\(Self.mark)\(reference).\(random.token(byteCount: 32))"
        let nonce = random.token(byteCount: 32)
        let verifier = CodeVerifier(random: random)
        let trip = UpstreamTrip(
            request: reference, provider: upstream.name, stateDigest: Sealing.digest(ofSecret: state),
            verifier: SecretBytes(utf8: verifier.text), nonce: SecretBytes(utf8: nonce), isSecond: false, begunAt: now,
            expiresAt: now + self.authorizations.limits.oauth.upstreamTripLifetime)
        let parameters: Parameters = [
            "response_type": "code", "client_id": upstream.clientID,
            "redirect_uri": UpstreamProviders.redirectURI(of: name, issuer: self.authorizations.issuer), "state": state,
            "code_challenge": verifier.challenge.text, "code_challenge_method": CodeChallenge.method,
            "scope": upstream.scopes.joined(separator: " "), "nonce": nonce, "max_age": "0",
        ]
        return .away(trip, location: metadata.authorization.adding(parameters))
    }

    /// Returns the reference of the change that a returning browser's state names, and the digest of the state; `nil`
    /// for the state of a sign-in.
    public static func returning(_ state: String) -> (reference: String, stateDigest: [UInt8])? {
        guard state.hasBytes(atStart: Self.mark) else { return nil }
        let parts = state.splitBytes(at: ".")
        guard parts.count == 3 else { return nil }
        return (String(parts[1]), Sealing.digest(ofSecret: state))
    }

    /// Returns the account's connection with the person whom a provider has authenticated since a trip began; `nil` if
    /// the account has no connection with the person, or the provider is gone.
    ///
    /// Throws ``UpstreamRefusal`` if the provider failed or authenticated nobody, does not say when, or authenticated
    /// the person before the trip.
    ///
    /// Cost: two queries, and the calls of the exchange.
    public func person(_ parameters: Parameters, of trip: UpstreamTrip, accountID: String) async throws -> UpstreamLink?
    {
        guard let upstream = try await self.store.upstreamProvider(trip.provider) else { return nil }
        let metadata = try await self.calls.metadata(of: upstream)
        let code = try metadata.code(of: parameters, from: upstream)
        let (person, _) = try await self.calls.person(
            code: code, of: upstream, metadata, for: trip,
            redirectURI: UpstreamProviders.redirectURI(of: trip.provider, issuer: self.authorizations.issuer))
        let skew = self.authorizations.limits.oauth.clientClockSkew
        guard let at = person.authenticatedAt, at >= trip.begunAt - skew else { throw UpstreamRefusal.stale }
        return try await self.store.links(ofAccount: accountID).first {
            $0.identity.provider.hasSameBytes(as: upstream.name) && $0.identity.issuer.hasSameBytes(as: upstream.issuer)
                && $0.identity.subject.hasSameBytes(as: person.subject)
        }
    }
}
