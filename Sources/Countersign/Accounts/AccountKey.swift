import Crypto
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Which account at which server: what everything that this device keeps of an account is found by.
///
/// Whose account it is, and what people call it, is no part of it: one person may have several at a server.
struct AccountKey: Hashable, Sendable {
    /// The server's address, as the configuration has it.
    let server: URL
    /// The account among those of its server: opaque, of letters that any storage takes in a name, and not a word that a
    /// person is known by.
    let id: ExactText

    /// The account of that identifier.
    init(server: URL, id: ExactText) {
        self.server = server
        self.id = id
    }

    /// The account that a server knows by a name (UAF Protocol 1.1, `username`): the same for the same bytes, always.
    init(server: URL, username: Username) {
        let digest = SHA256.hash(data: Array("countersign account/1\n\(username)".utf8))
        self.init(server: server, id: ExactText(Base64URL.encode(Array(digest))))
    }
}
