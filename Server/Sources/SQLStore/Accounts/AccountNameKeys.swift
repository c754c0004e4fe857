import GRDB
import Records
import Sealing
import _Primitives

extension Migration {
    /// Stores user names in their single canonical spelling. Before, a name was found by its canonical spelling and
    /// kept as it had been written.
    static let composedNames = Migration(name: "user names in their one spelling") { db, sealing in
        for (id, name) in try SQLConnection(db).keptNames(sealing).compactMap(\.recomposed) {
            try db.execute(
                sql: "UPDATE account SET username = ? WHERE id = ?",
                arguments: [try sealing.seal(name, purpose: .username, row: id).blob, id])
        }
    }
}

extension Migration {
    /// Finds user names by one key in place of their bytes. Names that differ only in the case of A to Z or in white
    /// space at their ends now mean one account. If several accounts already have such names, these accounts keep
    /// answering to their exact bytes.
    static let nameKeys = Migration(name: "user names by one key") { db, sealing in
        try db.execute(sql: "ALTER TABLE reset_ask ADD COLUMN exact_code BLOB NOT NULL DEFAULT X''")
        let accounts = try SQLConnection(db).keptNames(sealing).map { (id: $0.id, name: $0.name) }
        for (id, name, spelling) in AccountNameSpelling.assigned(to: accounts) {
            try db.execute(
                sql: "UPDATE account SET username_code = ? WHERE id = ?",
                arguments: [sealing.usernameCode(name, spelling).blob, id])
        }
    }

    /// Keeps, for an account that answers to its exact bytes alone, the code of all spellings of its name. No other
    /// account gets a name with this code: a name in the exact bytes would then mean two accounts.
    static let collidingNames = Migration(name: "colliding user names") { db, sealing in
        try db.execute(
            sql: """
                ALTER TABLE account ADD COLUMN colliding_code BLOB;
                CREATE INDEX account_colliding_code ON account (colliding_code) WHERE colliding_code IS NOT NULL;
                """)
        for kept in try SQLConnection(db).keptNames(sealing).filter({ sealing.exactUsernameCode($0.name) == $0.code }) {
            try db.execute(
                sql: "UPDATE account SET colliding_code = ? WHERE id = ?",
                arguments: [sealing.usernameCode(kept.name).blob, kept.id])
        }
    }
}

/// A user name as an account has it.
private struct KeptName {
    let id: String
    /// The name as it was written.
    let written: String
    /// The code by which the name is found.
    let code: [UInt8]

    var name: AccountName { AccountName(stored: AccountName.trimmed(self.written)) }
    /// The account and the name in its composed form; `nil` if the name is composed already.
    var recomposed: (id: String, name: String)? { AccountNameSpelling.composed(self.written).map { (self.id, $0) } }
}

extension SQLConnection {
    /// Returns the user names that open. A damaged name must not keep the server from starting.
    fileprivate func keptNames(_ sealing: Sealing) throws -> [KeptName] {
        try self.rows("SELECT id, username, username_code FROM account WHERE username <> X''") { row in
            let (id, sealed) = (try row.text("id"), try row.bytes("username"))
            let code = try row.bytes("username_code")
            return (try? sealing.openText(sealed, purpose: .username, row: id)).map { written in
                KeptName(id: id, written: written, code: code)
            }
        }.compactMap(\.self)
    }

    /// Refuses a user name of which other accounts have spellings, each by its exact bytes. Throws ``StoreError``
    /// `conflict`.
    func refuseColliding(_ username: AccountName?, for account: String, _ sealing: Sealing) throws {
        try self.require(
            "SELECT NOT EXISTS (SELECT 1 FROM account WHERE colliding_code = ? AND id <> ?)",
            [username.map { sealing.usernameCode($0) }, account],
            orThrow: StoreError(.conflict, "accounts have other spellings of the user name"))
    }
}
