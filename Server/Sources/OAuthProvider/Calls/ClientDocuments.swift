import OAuth
import Settings
import _Primitives

/// The metadata documents of clients whose identifiers are addresses (draft-ietf-oauth-client-id-metadata-document).
///
/// Anybody can name an address. So a document is fetched within two budgets: the budget of the network that names the
/// address, and the budget of the address's host. For a running sign-in only the budget of the host counts. A client
/// that has had a person's consent before is fetched without the budgets: no stranger can use up the budgets and keep
/// the client's people out.
struct ClientDocuments: Sendable {
    /// The reason why an address is called.
    enum Asker {
        /// A request from a network that names a client.
        case network(String)
        /// A sign-in that has begun.
        case signIn
        /// A client that is in the store, since a person has consented to its access before.
        case usedClient
    }

    private let documents: RemoteDocuments<ClientIDDocument>
    private let networks: Budget
    private let hosts: Budget

    init(calls: (any OutgoingCalls)?, limits: Limits) {
        let rules = RemoteDocumentRules(
            party: .clientDocument, bytes: ClientIDDocument.longest, pause: limits.oauth.keySetPause,
            usualAge: limits.oauth.clientDocumentAge, longestAge: limits.oauth.clientDocumentAge,
            // A running sign-in ends by the document of its beginning.
            grace: limits.authorizationRequestLifetime, waiters: limits.oauth.keySetWaiters,
            places: limits.oauth.clientDocuments)
        self.documents = RemoteDocuments(calls: calls, by: rules) { answer, text throws(OutgoingCallError) in
            guard let type = answer.mediaType, Self.isJSON(type) else {
                throw OutgoingCallError("it answers no application/json")
            }
            guard let address = ClientIDAddress(text) else {
                throw OutgoingCallError("its address is none of a client")
            }
            do throws(OAuthError) { return try ClientIDDocument(answer.body, at: address) } catch {
                throw OutgoingCallError(error.message ?? "it is no metadata document")
            }
        }
        self.networks = Budget(limits.clientDocuments)
        self.hosts = Budget(limits.clientDocumentsOfHost)
    }

    /// Returns the document at an address.
    ///
    /// Throws ``OutgoingCallError`` if the address has no document, and `Shortage` if a budget is used up. Cost:
    /// nothing if the document is kept; else a call.
    func document(at address: ClientIDAddress, for asker: Asker, now: Timestamp) async throws -> ClientIDDocument {
        let isBegun = if case .signIn = asker { true } else { false }
        return try await self.documents.document(
            of: "", at: address.text, now: now, isStaleEnough: isBegun,
            admit: { try self.admit(address, for: asker, now: now) })
    }

    /// Counts a call before it is made. Throws `Shortage`.
    private func admit(_ address: ClientIDAddress, for asker: Asker, now: Timestamp) throws {
        if case .usedClient = asker { return }
        if case .network(let source) = asker, let shortage = self.networks.spend(source, at: now) {
            throw shortage
        }
        if let shortage = self.hosts.spend(address.host, at: now) { throw shortage }
    }

    /// `true` for `application/json`, and for a type that is JSON by its suffix (RFC 6839, section 3.1).
    private static func isJSON(_ type: String) -> Bool {
        type.hasSameBytes(as: "application/json") || type.hasBytes(atStart: "application/") && type.hasSuffix("+json")
    }
}
