import Crypto
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The identifier of an account with the account's server. The device finds all stored data of an account by this key.
///
/// The account's person and the account's name are not part of the key: a person may have several accounts at a server.
struct AccountKey: Hashable, Sendable {
    /// The server's address, as the configuration states it.
    let server: URL
    /// The account's identifier at its server. The identifier is opaque, uses only letters that every storage allows in
    /// a name, and is not a word by which the person is known.
    let id: ExactText

    /// Creates the key of the account with the identifier.
    init(server: URL, id: ExactText) {
        self.server = server
        self.id = id
    }

    /// Creates the key of the account that a server knows by a name (UAF Protocol 1.1, `username`). The same bytes
    /// always result in the same key.
    init(server: URL, username: Username) {
        let digest = SHA256.hash(data: Array("countersign account/1\n\(username)".utf8))
        self.init(server: server, id: ExactText(Base64URL.encode(Array(digest))))
    }
}
