import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// The details that a person has agreed to, bound to the grant.
    static let authorizationDetails = SealingPurpose("oauth authorization details")
}

extension SQLConnection {
    /// Keeps the profile of an existing client.
    func setProfile(_ profile: ClientProfile, ofClient id: String) throws {
        try self.runObserved(
            """
            UPDATE oauth_client SET security_profile = ?, requires_signed_requests = ?, origins = ?,
                detail_types = ?, signs_in_directly = ?, requires_pushed_requests = ?, default_max_age = ?
                WHERE id = ?
            """,
            [
                profile.security.rawValue, profile.requiresSignedRequests,
                ClientRecord.keptText(of: profile.origins),
                ClientRecord.keptText(of: profile.detailTypes), profile.signsInDirectly,
                profile.requiresPushedRequests, profile.defaultMaximumAge?.components.seconds, id,
            ])
    }

    /// Returns `true` if the client, or any client for `nil`, has this origin. At most a thousand clients exist, and
    /// few have origins.
    func isOrigin(_ origin: String, ofClient id: String?) throws -> Bool {
        try self.isTrue(
            """
            SELECT EXISTS (
                SELECT 1 FROM oauth_client, jsonb_array_elements_text(oauth_client.origins) AS origin
                WHERE oauth_client.origins <> '[]' AND origin.value = ?1 AND (oauth_client.id = ?2 OR ?2 IS NULL))
            """, [origin, id])
    }
}
