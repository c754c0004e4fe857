import Foundation
import GRDB
import Store
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
}
