import Foundation
import GRDB
import Store
import _Primitives

extension Migration {
    /// User names were found by their one spelling, and kept as they had been written.
    static let composedNames = Migration(name: "user names in their one spelling") { db, sealing in
        let names = try db.rows("SELECT id, username FROM account") {
            (id: try $0.text("id"), sealed: try $0.bytes("username"))
        }
        for (id, sealed) in names {
            // A name that somebody has spoilt must not be what keeps the server from starting.
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
    /// User names were found by their bytes. Names that differ in A to Z or in white space at their ends mean one account now;
    /// accounts that have such names already keep answering to their exact bytes.
    static let nameKeys = Migration(name: "user names by one key") { db, sealing in
        try db.execute(sql: "ALTER TABLE reset_ask ADD COLUMN exact_code BLOB NOT NULL DEFAULT X''")
        var accounts: [ExactText: [(id: String, name: AccountName)]] = [:]
        for (id, sealed) in try db.rows(
            "SELECT id, username FROM account WHERE username <> X''", [],
            {
                (id: try $0.text("id"), sealed: try $0.bytes("username"))
            })
        {
            // A name that somebody has spoilt must not be what keeps the server from starting.
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
