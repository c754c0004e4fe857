import Records
import _Primitives

/// The holder whose authentications end.
enum AuthenticationHolder {
    case account(String)
    case device(String)
    /// Everybody who was authenticated by the method.
    case method(String)
    /// An account's authentications by one method.
    case accountByMethod(String, String)
    /// An account's authentications outside this session.
    case accountBeside(String, session: String?)
}

/// Everything that ends with an authentication.
struct AuthenticationEnds {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Deletes the authentications of a holder, with all sessions and grants resting on the authentications. The
    /// finished sign-ins end too, by which the browsers of an account or of a method could begin further sessions. If
    /// the holder is a whole account, the function also deletes the account's unfinished sign-ins, mailed links and
    /// known browsers.
    func deleteAuthentications(of holder: AuthenticationHolder, at moment: Timestamp) throws {
        switch holder {
        case .account(let id):
            try self.deleteAuthentications(where: "oauth_authentication.account = ?", [id], at: moment)
            try FinishedSignInRows(self.db).forget(account: id)
            try PasswordSignInRows(self.db).forget(account: id)
            try MailedLinkRows(self.db).deleteMailedLinks(ofAccount: id)
            try KnownVisitRows(self.db).forgetKnown(ofAccount: id)
        case .device(let id):
            try self.deleteAuthentications(where: "oauth_authentication.device = ?", [id], at: moment)
        case .method(let method):
            try self.deleteAuthentications(where: "oauth_authentication.method = ?", [method], at: moment)
            try FinishedSignInRows(self.db).forget(method: method)
        case .accountByMethod(let id, let method):
            try self.deleteAuthentications(
                where: "oauth_authentication.account = ? AND oauth_authentication.method = ?", [id, method], at: moment)
            try FinishedSignInRows(self.db).forget(account: id, method: method)
        case .accountBeside(let id, let session):
            try self.deleteAuthentications(
                where: """
                    oauth_authentication.account = ? AND oauth_authentication.id NOT IN (
                        SELECT kept.authentication FROM oauth_session_authentication AS kept WHERE kept.session = ?)
                    """, [id, session ?? ""], at: moment)
        }
    }

    /// Deletes the authentications chosen by a condition, with all sessions and grants resting on the authentications.
    private func deleteAuthentications(where condition: String, _ values: [String], at moment: Timestamp) throws {
        _ = try SessionRows(self.db).endSessions(
            where: """
                id IN (
                    SELECT session FROM oauth_session_authentication
                    JOIN oauth_authentication ON oauth_authentication.id = authentication WHERE \(condition))
                """, values, at: moment)
        _ = try GrantEnds(self.db).endGrants(
            where: "authentication IN (SELECT oauth_authentication.id FROM oauth_authentication WHERE \(condition))",
            values)
        try self.db.run(.composed("DELETE FROM oauth_authentication WHERE \(condition)"), values)
    }
}
