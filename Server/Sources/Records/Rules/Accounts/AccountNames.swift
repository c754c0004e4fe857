import Foundation
package import _Primitives

/// The code by which an account's user name is found.
package enum AccountNameSpelling: Sendable, Equatable {
    /// The code of all spellings of the name.
    case any
    /// The code of the name's exact bytes: another account has the name in another spelling.
    case exact

    /// Returns the accounts with their names and the codes by which their names are found from now on. If several
    /// accounts have spellings of one name, each of them answers to its exact bytes alone.
    package static func assigned(
        to accounts: [(id: String, name: AccountName)]
    ) -> [(id: String, name: AccountName, spelling: AccountNameSpelling)] {
        let counts = Dictionary(accounts.map { (ExactText($0.name.key), 1) }, uniquingKeysWith: +)
        return accounts.map { account in
            (account.id, account.name, counts[ExactText(account.name.key)] == 1 ? .any : .exact)
        }
    }

    /// Returns a written name in Unicode's composed form (NFC); `nil` if the name is composed already.
    package static func composed(_ written: String) -> String? {
        let name = written.precomposedStringWithCanonicalMapping
        return name.hasSameBytes(as: written) ? nil : name
    }
}

/// A part of an account's row that changes with the account's names, or the event of the change.
package enum AccountNamesChange: Sendable, Equatable {
    /// The user name.
    case username(AccountName?)
    /// The display name.
    case displayName(String?)
    /// The moment of the last change.
    case updatedAt(Timestamp)
    /// The trail's entry.
    case audit(AuditEvent)

    /// Returns the parts that change if an account gets these names, and the events, in the order of their writing.
    ///
    /// An unchanged name is not among them, and is not sealed anew. A restore treats a changed sealed value without an
    /// audit entry as the act of somebody else.
    ///
    /// - Parameter account: `nil` if the account does not exist. Then nothing changes.
    package static func changes(
        of account: AccountRecord?, to username: AccountName?, displayName: String?, audit: [AuditEvent]
    ) -> [Self] {
        guard let account else { return [] }
        var changes: [Self] = []
        if account.username != username { changes.append(.username(username)) }
        if account.displayName.map(ExactText.init) != displayName.map(ExactText.init) {
            changes.append(.displayName(displayName))
        }
        if let moment = audit.last?.at { changes.append(.updatedAt(moment)) }
        return changes + audit.map { .audit($0) }
    }
}
