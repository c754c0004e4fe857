import Records
import Sealing
import _Primitives

extension SealingPurpose {
    // These values are bound to the request and the method.
    static let finishedSignInBrowser = SealingPurpose("finished sign-in browser")
    static let finishedSignInAddress = SealingPurpose("finished sign-in address")
}

private enum FinishedSignInColumn: Int, TableColumn {
    static let table = "finished_sign_in"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case place, request, method, accountID, at, acr, amr, browser, address, finishedAt
}

/// The rows of finished sign-ins.
struct FinishedSignInRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    private static let signInsQuery = SQLText.once(
        """
        SELECT \(FinishedSignInColumn.selection) FROM finished_sign_in
        WHERE request = ? ORDER BY finished_at DESC, method
        """)

    /// Returns the finished sign-ins of a request, the last to finish first.
    func finishedSignIns(request: String, _ sealing: Sealing) throws -> [FinishedSignInRecord] {
        try self.db.rows(Self.signInsQuery, [request]) { row in
            let place = try row.text(FinishedSignInColumn.place)
            return FinishedSignInRecord(
                request: request, method: try row.text(FinishedSignInColumn.method),
                account: try row.text(FinishedSignInColumn.accountID), at: try row.moment(FinishedSignInColumn.at),
                acr: try row.text(FinishedSignInColumn.acr),
                amr: try row.text(FinishedSignInColumn.amr).split(separator: " ").map(String.init),
                browser: try row.optionalBytes(FinishedSignInColumn.browser).map {
                    try sealing.openText($0, purpose: .finishedSignInBrowser, row: place)
                },
                address: try row.optionalBytes(FinishedSignInColumn.address).map {
                    try sealing.openText($0, purpose: .finishedSignInAddress, row: place)
                }, finishedAt: try row.moment(FinishedSignInColumn.finishedAt))
        }
    }

    /// Keeps a finished sign-in in place of the request's former sign-in by the method.
    func replace(_ signIn: FinishedSignInRecord, _ sealing: Sealing) throws {
        try self.forget(request: signIn.request, method: signIn.method)
        let place = "\(signIn.request) \(signIn.method)"
        try self.db.insert(
            [
                FinishedSignInColumn.place: place, .request: signIn.request, .method: signIn.method,
                .accountID: signIn.account, .at: signIn.at.milliseconds, .acr: signIn.acr,
                .amr: signIn.amr.joined(separator: " "),
                .browser: try signIn.browser.map {
                    try sealing.seal($0, purpose: .finishedSignInBrowser, row: place)
                },
                .address: try signIn.address.map {
                    try sealing.seal($0, purpose: .finishedSignInAddress, row: place)
                },
                .finishedAt: signIn.finishedAt.milliseconds,
            ], by: FinishedSignInColumn.insertion)
    }

    /// Deletes the finished sign-in of a request by a method: the person begins the sign-in by the method anew.
    func forget(request: String, method: String) throws {
        try self.db.run("DELETE FROM finished_sign_in WHERE request = ? AND method = ?", [request, method])
    }

    /// Deletes the finished sign-ins to an account by a method: something that the sign-ins rest on has ended.
    func forget(account: String, method: String) throws {
        try self.db.run("DELETE FROM finished_sign_in WHERE account_id = ? AND method = ?", [account, method])
    }

    /// Deletes the finished sign-ins to an account.
    func forget(account: String) throws {
        try self.db.run("DELETE FROM finished_sign_in WHERE account_id = ?", [account])
    }

    /// Deletes the finished sign-ins of everybody by a method.
    func forget(method: String) throws {
        try self.db.run("DELETE FROM finished_sign_in WHERE method = ?", [method])
    }

    /// Checks the evidence for the authentication of a request. Throws ``StoreError/Code/notFound`` if the finished
    /// sign-in does not exist any more: something has ended the sign-in since the sign-in was read.
    func checkStands(_ evidence: AuthenticationRecord.Evidence, request: String) throws {
        let stands = try self.db.isTrue(
            """
            SELECT EXISTS (
                SELECT 1 FROM finished_sign_in WHERE request = ? AND method = ? AND account_id = ?)
            """, [request, evidence.method, evidence.account])
        try AuthorizationRequirement.finishedSignIn.check(stands)
    }
}
