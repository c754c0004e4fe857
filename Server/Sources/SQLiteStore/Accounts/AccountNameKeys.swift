import Foundation
import GRDB
import Records
import Sealing
import _Primitives

extension Migration {
    /// Stores user names in their single canonical spelling. Before, a name was found by its canonical spelling and
    /// kept as it had been written.
    static let composedNames = Migration(name: "user names in their one spelling") { db, sealing in
        let names = try db.rows("SELECT id, username FROM account") {
            (id: try $0.text("id"), sealed: try $0.bytes("username"))
        }
        for (id, sealed) in names {
            // A damaged name must not keep the server from starting.
            guard let written = try? sealing.openText(sealed, purpose: .username, row: id) else { continue }
            let name = written.precomposedStringWithCanonicalMapping
            guard !name.hasSameBytes(as: written) else { continue }
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
        var accounts: [ExactText: [(id: String, name: AccountName)]] = [:]
        for (id, sealed) in try db.rows(
            "SELECT id, username FROM account WHERE username <> X''", [],
            {
                (id: try $0.text("id"), sealed: try $0.bytes("username"))
            })
        {
            // A damaged name must not keep the server from starting.
            guard let written = try? sealing.openText(sealed, purpose: .username, row: id) else { continue }
            let name = AccountName(stored: AccountName.trimmed(written))
            accounts[ExactText(name.key), default: []].append((id, name))
        }
        for (_, group) in accounts {
            for (id, name) in group {
                let code = group.count == 1 ? sealing.usernameCode(name) : sealing.exactUsernameCode(name)
                try db.execute(sql: "UPDATE account SET username_code = ? WHERE id = ?", arguments: [code.blob, id])
            }
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
        for (id, sealed, code) in try db.rows(
            "SELECT id, username, username_code FROM account WHERE username <> X''", [],
            { (id: try $0.text("id"), sealed: try $0.bytes("username"), code: try $0.bytes("username_code")) })
        {
            guard let written = try? sealing.openText(sealed, purpose: .username, row: id) else { continue }
            let name = AccountName(stored: AccountName.trimmed(written))
            guard sealing.exactUsernameCode(name) == code else { continue }
            try db.execute(
                sql: "UPDATE account SET colliding_code = ? WHERE id = ?",
                arguments: [sealing.usernameCode(name).blob, id])
        }
    }
}

extension Sealing {
    /// Returns the code by which a user name is found, in all spellings.
    func usernameCode(_ username: AccountName) -> [UInt8] { self.code(username.key, purpose: .usernameCode) }

    /// Returns the code for a user name that another account has in another spelling.
    func exactUsernameCode(_ username: AccountName) -> [UInt8] { self.code(username.text, purpose: .exactUsernameCode) }

    /// Returns the two codes by which an account may be found, in the order of ``AccountRecord/hasName``. At most one
    /// account has either code: if names collide, no account has the code of all spellings.
    func usernameCodes(_ username: AccountName) -> [[UInt8]] {
        [self.exactUsernameCode(username), self.usernameCode(username)]
    }
}

extension Database {
    /// Refuses a user name of which other accounts have spellings, each by its exact bytes. Throws ``StoreError``
    /// `conflict`.
    func refuseColliding(_ username: AccountName?, for account: String, _ sealing: Sealing) throws {
        guard let username else { return }
        let code = sealing.usernameCode(username).blob
        let holder = try self.row("SELECT 1 FROM account WHERE colliding_code = ? AND id <> ?", [code, account])
        guard holder == nil else { throw StoreError(.conflict, "accounts have other spellings of the user name") }
    }
}
