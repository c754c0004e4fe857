import Foundation
import _Primitives

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
