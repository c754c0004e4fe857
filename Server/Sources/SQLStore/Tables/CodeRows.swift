import Records
import Sealing
import _Primitives

private enum CodeColumn: Int, TableColumn {
    static let table = "oauth_code"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case digest, grantID, redirectURI, nonce, challenge, expiresAt, takenAt, keyThumbprint, acr
}

/// The rows of authorization codes.
struct CodeRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Keeps a code of a grant within the present step.
    func insert(_ code: CodeRecord, grant: String) throws {
        try self.db.insert(
            [
                CodeColumn.digest: code.digest, .grantID: grant, .redirectURI: code.redirectURI,
                .nonce: code.nonce, .challenge: code.challenge, .expiresAt: code.expiresAt.milliseconds,
                .keyThumbprint: code.keyThumbprint, .acr: code.acr,
            ], by: CodeColumn.insertion)
    }

    private static let codeQuery = SQLText.once(
        "SELECT \(CodeColumn.selection) FROM oauth_code WHERE digest = ?")

    /// Returns a code, whether expired or not, with its grant, and `true` if the code has been taken; `nil` if the
    /// grant is not valid at `moment` (``GrantRows/heldGrant(_:at:_:)``).
    func standingCode(digest: [UInt8], at moment: Timestamp, _ sealing: Sealing) throws
        -> (code: CodeRecord, standing: StandingGrant, isTaken: Bool)?
    {
        try self.db.row(Self.codeQuery, [digest]).flatMap {
            row in
            try GrantRows(self.db).standingGrant(row.text(CodeColumn.grantID), at: moment, sealing).map { standing in
                (try CodeRecord(row), standing, try row.optionalMoment(CodeColumn.takenAt) != nil)
            }
        }
    }

    /// Notes that a code has been taken.
    func noteTaken(codeDigest digest: [UInt8], at moment: Timestamp) throws {
        try self.db.run("UPDATE oauth_code SET taken_at = ? WHERE digest = ?", [moment.milliseconds, digest])
    }
}

extension CodeRecord {
    /// Reads a row of the table's columns.
    init(_ row: SQLRow) throws {
        self.init(
            digest: try row.bytes(CodeColumn.digest), redirectURI: try row.text(CodeColumn.redirectURI),
            nonce: try row.optionalText(CodeColumn.nonce), challenge: try row.optionalBytes(CodeColumn.challenge),
            keyThumbprint: try row.optionalText(CodeColumn.keyThumbprint),
            acr: try row.optionalText(CodeColumn.acr), expiresAt: try row.moment(CodeColumn.expiresAt))
    }
}
