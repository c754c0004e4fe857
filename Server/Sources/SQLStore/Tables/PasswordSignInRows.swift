import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// The browser of a sign-in by password, bound to its request.
    static let passwordSignInBrowser = SealingPurpose("password sign-in browser")
    /// The network address of a sign-in by password, bound to its request.
    static let passwordSignInAddress = SealingPurpose("password sign-in address")
}

private enum PasswordSignInColumn: Int, TableColumn {
    static let table = "password_sign_in"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case request, accountID, secondFactor, needsSecondFactor, needsNewPassword, browser, address
}

/// The rows of sign-ins by password.
struct PasswordSignInRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns the stored state that a step relies on. A step that compares no hash and continues no sign-in opens
    /// neither.
    func scene(of step: PasswordSignInStep, _ sealing: Sealing) throws -> PasswordSignInScene {
        let record = step.record
        let hasRequest = try self.db.isTrue(
            "SELECT EXISTS (SELECT 1 FROM oauth_request WHERE id = ?)", [record.request])
        return PasswordSignInScene(
            hasRequest: hasRequest,
            account: try PasswordRows(self.db).passwordStanding(
                of: record.accountID, opensHash: step.verifiedHash != nil, sealing),
            stored: try step.previous.flatMap { _ in try self.passwordSignIn(record.request, sealing) })
    }

    func passwordSignIn(_ request: String, _ sealing: Sealing) throws -> PasswordSignInRecord? {
        try self.db.row(
            .composed("SELECT \(PasswordSignInColumn.selection) FROM password_sign_in WHERE request = ?"), [request]
        ).map { row in
            let factor = try row.optionalText(PasswordSignInColumn.secondFactor).map {
                try PasswordSignInRecord.SecondFactor(stored: $0)
            }
            return PasswordSignInRecord(
                request: request, accountID: try row.text(PasswordSignInColumn.accountID), secondFactor: factor,
                needsSecondFactor: try row.flag(PasswordSignInColumn.needsSecondFactor),
                needsNewPassword: try row.flag(PasswordSignInColumn.needsNewPassword),
                browser: try row.optionalBytes(PasswordSignInColumn.browser).map {
                    try sealing.openText($0, purpose: .passwordSignInBrowser, row: request)
                },
                address: try row.optionalBytes(PasswordSignInColumn.address).map {
                    try sealing.openText($0, purpose: .passwordSignInAddress, row: request)
                })
        }
    }

    /// Replaces the progress of a request's sign-in by password. A sign-in by password that the request has finished
    /// before ends: the person begins anew.
    func replace(_ record: PasswordSignInRecord, _ sealing: Sealing) throws {
        let request = record.request
        try FinishedSignInRows(self.db).forget(request: request, method: AuthenticationRecord.passwordMethod)
        try self.db.run("DELETE FROM password_sign_in WHERE request = ?", [request])
        try self.db.insert(
            [
                PasswordSignInColumn.request: request, .accountID: record.accountID,
                .secondFactor: record.secondFactor?.rawValue, .needsSecondFactor: record.needsSecondFactor,
                .needsNewPassword: record.needsNewPassword,
                .browser: try record.browser.map {
                    try sealing.seal($0, purpose: .passwordSignInBrowser, row: request)
                },
                .address: try record.address.map {
                    try sealing.seal($0, purpose: .passwordSignInAddress, row: request)
                },
            ], by: PasswordSignInColumn.insertion)
    }

    /// Deletes the progress of the sign-ins to an account by its password.
    func forget(account: String) throws {
        try self.db.run("DELETE FROM password_sign_in WHERE account_id = ?", [account])
    }
}
