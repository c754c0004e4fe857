import JOSE
import Store
import _Primitives

/// Whom a client names by an ID token when it has a browser signed out.
struct SignOutHint {
    /// The client that the ID token was made for.
    let client: ClientRecord
    /// The person's name at that client.
    let subject: String
    /// The session's name at that client (`sid`), where the ID token has one.
    let session: String?
    /// When the ID token was made.
    let issuedAt: Timestamp
}

extension OpenIDProvider {
    /// How long a key that signs no more verifies ID tokens at sign-out: until every session of the key's time has ended,
    /// and never shorter than the key is in the key set.
    var formerKeyRetention: Duration { max(self.limits.oauth.retiredKeyRetention, self.limits.sessionLifetime) }

    /// The hint of a sign-out (OpenID Connect RP-Initiated Logout 1.0, sections 2 and 4). The ID token may have expired, and
    /// be of any age that its key still verifies. `nil` where the ID token names nobody here: it is broken, of a key that
    /// verifies nothing any more, of another issuer, from the future, for several clients, or for a client that is gone.
    ///
    /// Cost: one verification, one query.
    func signOutHint(_ idToken: String?) async throws -> SignOutHint? {
        guard let idToken else { return nil }
        let now = self.time.now()
        let claims: JWTClaims
        do {
            claims = try await self.verified(
                idToken, type: TokenType.idToken, keptFor: self.formerKeyRetention, at: now
            ).claims
        } catch is JOSEError {
            return nil
        }
        guard claims.issuer?.hasSameBytes(as: self.issuer) ?? false, claims.audience.count == 1,
            let subject = claims.subject, let issuedAt = claims.issuedAt,
            issuedAt <= now + self.limits.oauth.clientClockSkew,
            let client = try await self.store.client(claims.audience[0])
        else { return nil }
        var session: String?
        if case .string(let sid)? = claims.members["sid"] { session = sid }
        return SignOutHint(client: client, subject: subject, session: session, issuedAt: issuedAt)
    }

    /// Whether a hint shows that the session is of its client's own person: the hint is of this very session, or of a recent
    /// one of the same person. An older hint names its client alone (section 2: such a request is suspect).
    func isShown(_ session: SessionRecord, by hint: SignOutHint) -> Bool {
        let client = hint.client.id
        guard hint.subject.hasSameBytes(as: self.subject(ofAccount: session.account, of: hint.client)) else {
            return false
        }
        return hint.session?.hasSameBytes(as: self.keys.pairwise("sid", client: client, of: session.id)) ?? false
            || self.time.now() < hint.issuedAt + self.limits.oauth.hintLifetime
    }
}
