public import Records
import Sealing
import _Primitives

extension SQLStore: IdentityConsentStore {
    public func identityConsents(accountID: String, limit: Int) async throws -> [IdentityConsentRecord] {
        try await self.read { [sealing] db in
            try db.rows(
                """
                SELECT account_id, session, evidence FROM identity_consent WHERE account_id = ?
                ORDER BY number DESC LIMIT ?
                """, [accountID, limit]
            ) { try IdentityConsentRecord($0, sealing) }
        }
    }

    public func identityConsent(session: String, accountID: String) async throws -> IdentityConsentRecord? {
        try await self.read { [sealing] db in
            try db.row(
                """
                SELECT account_id, session, evidence FROM identity_consent WHERE account_id = ? AND session = ?
                """, [accountID, session]
            ).map { try IdentityConsentRecord($0, sealing) }
        }
    }
}
