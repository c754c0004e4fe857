import JOSE
import Records
import Settings
import _Primitives

/// The person that a client names by an ID token when a browser is to be signed out.
struct SignOutHint {
    /// The ID token's client.
    let client: ClientRecord
    /// The person's subject at the client.
    let subject: String
    /// The session's name at the client (`sid`), if the ID token has a name.
    let session: String?
    /// The time of the ID token's creation.
    let issuedAt: Timestamp
}

/// Reads the hints of sign-outs, and compares them with sessions.
struct SignOutHints: Sendable {
    let store: any ClientStore
    let keys: Keys
    let issuer: String
    let limits: Limits.OAuth
    let time: TimeSource

    /// Returns the hint of a sign-out (OpenID Connect RP-Initiated Logout 1.0, sections 2 and 4). The ID token may have
    /// expired, and be of any age that its key still verifies.
    ///
    /// Returns `nil` if the ID token names nobody here. Such a token is broken, has a key that no longer verifies, or
    /// comes from another issuer or from the future. Or it is for several clients, or for an unknown client.
    ///
    /// Cost: one verification, one query.
    func hint(_ idToken: String?) async throws -> SignOutHint? {
        guard let idToken else { return nil }
        let now = self.time.now()
        let claims: JWTClaims
        do {
            claims = try await self.keys.verified(
                idToken, type: TokenType.idToken, keptFor: self.keys.formerKeyRetention, at: now
            ).claims
        } catch is JOSEError {
            return nil
        }
        guard claims.issuer?.hasSameBytes(as: self.issuer) ?? false, claims.audience.count == 1,
            let subject = claims.subject, let issuedAt = claims.issuedAt,
            issuedAt <= now + self.limits.clientClockSkew,
            let client = try await self.store.client(claims.audience[0])
        else { return nil }
        var session: String?
        if case .string(let sid)? = claims.members["sid"] { session = sid }
        return SignOutHint(client: client, subject: subject, session: session, issuedAt: issuedAt)
    }

    /// `true` if a hint shows that the session belongs to its client's own person: the hint is of this very session, or
    /// of a recent session of the same person. An older hint names its client alone (section 2: such a request is
    /// suspect).
    func isShown(_ session: SessionRecord, by hint: SignOutHint) -> Bool {
        let client = hint.client.id
        guard hint.subject.hasSameBytes(as: self.keys.subject(ofAccount: session.account, of: hint.client)) else {
            return false
        }
        return hint.session?.hasSameBytes(as: self.keys.signing.pairwise("sid", client: client, of: session.id))
            ?? false
            || self.time.now() < hint.issuedAt + self.limits.hintLifetime
    }
}
