import Records
package import Sealing
import _Primitives

extension SealingPurpose {
    /// The browser of an authentication, bound to the authentication.
    package static let authenticationBrowser = SealingPurpose("oauth authentication browser")
    /// The network address of an authentication, bound to the authentication.
    package static let authenticationAddress = SealingPurpose("oauth authentication address")
}

private enum AuthenticationColumn: Int, TableColumn {
    static let table = "oauth_authentication"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, account, method, at, acr, amr, browser, address, device, expiresAt, service, role
}

/// The rows of authentications.
struct AuthenticationRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Keeps an authentication until `end`, within the present step.
    func insert(_ authentication: AuthenticationRecord, until end: Timestamp, _ sealing: Sealing) throws {
        let id = authentication.id
        let browser = try authentication.browser.map {
            try sealing.seal($0, purpose: .authenticationBrowser, row: id)
        }
        let address = try authentication.address.map {
            try sealing.seal($0, purpose: .authenticationAddress, row: id)
        }
        try self.db.insert(
            [
                AuthenticationColumn.id: id, .account: authentication.account, .method: authentication.method,
                .at: authentication.at.milliseconds, .acr: authentication.acr,
                .amr: authentication.amr.joined(separator: " "), .browser: browser, .address: address,
                .device: authentication.device, .expiresAt: end.milliseconds,
                .service: authentication.role?.service, .role: authentication.role?.role,
            ], by: AuthenticationColumn.insertion)
    }

    /// Keeps an authentication until `end` at least, because one of its grants continues until then.
    func keepAuthentication(_ id: String, until end: Timestamp) throws {
        try self.db.run(
            "UPDATE oauth_authentication SET expires_at = ?2 WHERE id = ?1 AND expires_at < ?2", [id, end.milliseconds])
    }

    /// Lets those of the authentications that no session holds up end with the last of their grants, within the step
    /// that has deleted a session, or a lasting grant, of each.
    func endWithGrants(_ ids: [String]) throws {
        for id in ids {
            try self.db.run(
                """
                UPDATE oauth_authentication SET expires_at = coalesce(
                    (SELECT max(expires_at) FROM oauth_grant WHERE authentication = ?1), 0)
                WHERE id = ?1 AND NOT EXISTS (
                    SELECT 1 FROM oauth_session_authentication WHERE authentication = ?1)
                """, [id])
        }
    }

    private static let authenticationQuery = SQLText.once(
        """
        SELECT \(AuthenticationColumn.selection), coalesce((
            SELECT is_locked FROM account WHERE account.id = oauth_authentication.account
        ), 1) AS account_is_locked FROM oauth_authentication WHERE id = ?
        """)

    /// Returns the authentication of that identifier, and `true` if its account is locked.
    func standingAuthentication(_ id: String, _ sealing: Sealing) throws
        -> (authentication: AuthenticationRecord, isAccountLocked: Bool)?
    {
        try self.db.row(Self.authenticationQuery, [id]).map {
            (try AuthenticationRecord($0, sealing), try $0.flag("account_is_locked"))
        }
    }

    private static let heldAuthenticationsQuery = SQLText.once(
        """
        SELECT \(AuthenticationColumn.selection) FROM oauth_authentication
        JOIN oauth_session_authentication ON authentication = oauth_authentication.id
        WHERE session = ? ORDER BY at DESC, oauth_authentication.id
        """)

    /// Returns the authentications of a session, the last first.
    func authentications(ofSession session: String, _ sealing: Sealing) throws -> [AuthenticationRecord] {
        try self.db.rows(Self.heldAuthenticationsQuery, [session]) { try AuthenticationRecord($0, sealing) }
    }
}

extension RoleAtService {
    /// Returns the role of a row of the table's columns; `nil` if the row has no service and no role.
    static func ofAuthentication(_ row: SQLRow) throws -> RoleAtService? {
        try row.optionalText(AuthenticationColumn.service).flatMap { service in
            try row.optionalText(AuthenticationColumn.role).map { RoleAtService(service: service, role: $0) }
        }
    }
}

extension AuthenticationRecord {
    /// Reads a row of the table's columns.
    init(_ row: SQLRow, _ sealing: Sealing) throws {
        let id = try row.text(AuthenticationColumn.id)
        self.init(
            id: id, account: try row.text(AuthenticationColumn.account),
            method: try row.text(AuthenticationColumn.method), at: try row.moment(AuthenticationColumn.at),
            acr: try row.text(AuthenticationColumn.acr),
            amr: try row.text(AuthenticationColumn.amr).split(separator: " ").map(String.init),
            browser: try row.optionalBytes(AuthenticationColumn.browser).map {
                try sealing.openText($0, purpose: .authenticationBrowser, row: id)
            },
            address: try row.optionalBytes(AuthenticationColumn.address).map {
                try sealing.openText($0, purpose: .authenticationAddress, row: id)
            }, device: try row.optionalText(AuthenticationColumn.device),
            role: try RoleAtService.ofAuthentication(row))
    }
}
