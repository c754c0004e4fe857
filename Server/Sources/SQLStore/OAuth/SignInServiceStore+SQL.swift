public import Records
import _Primitives

extension SQLStore: SignInServiceStore {
    public func hasSignInServiceClient() async throws -> Bool {
        try await self.knownClients.fact(\.hasSignInServiceClient) {
            try await self.read { db in
                try db.isTrue("SELECT EXISTS (SELECT 1 FROM oauth_client WHERE sign_in_service IS NOT NULL)")
            }
        }
    }

    public func sharedAudiences() async throws -> [String] {
        try await self.knownClients.fact(\.sharedAudiences) {
            try await self.read { db in
                try db.texts(
                    """
                    SELECT DISTINCT sign_in_service ->> 'accessTokenAudience' AS audience
                    FROM oauth_client
                    WHERE sign_in_service IS NOT NULL AND is_disabled = 0
                        AND sign_in_service -> 'sharedSessions' = 'true'
                    ORDER BY audience
                    """)
            }
        }
    }

    public func pass(
        _ passed: PassedSession, beginning family: RefreshFamilyStart?, code: CodeRecord?, audit: AuditEvent
    ) async throws {
        let step = Step(
            "grant.pass-on",
            guards: [
                // A family that begins counts the lasting grants of the person.
                .exclusive(.account, where: .accountOfAuthentication, [passed.grant.authentication]),
                .shared(.client, id: passed.grant.client),
                .shared(.session, where: .sessionOfGrant, [passed.origin]), .shared(.grant, id: passed.origin),
            ], isolation: .readCommitted)
        try await self.step(step) { [sealing] db in
            let grant = passed.grant
            try passed.check(origin: GrantRows(db).heldGrant(passed.origin, at: audit.at), at: audit.at)
            let isServed = try db.isTrue(
                "SELECT EXISTS (SELECT 1 FROM oauth_client WHERE id = ? AND is_disabled = 0)", [grant.client])
            try GrantRequirement.servedClient.check(isServed)
            let admitted = try GrantRows(db).admit(grant)
            if let family {
                try RefreshRows(db).insert(
                    admitted, RefreshFamilyStart.Grant(grant), redirectURI: passed.redirectURI, beginning: family,
                    at: audit.at, sealing)
            } else {
                try AuthenticationRows(db).keepAuthentication(grant.authentication, until: grant.expiresAt)
                try GrantRows(db).insert(admitted, redirectURI: passed.redirectURI, sealing)
            }
            if let code { try CodeRows(db).insert(code, grant: grant.id) }
            try AuditRows(db).appendAudit(audit, sealing)
        }
        self.handedOutTokens.insert(family.map { [$0.head] } ?? [])
    }
}
