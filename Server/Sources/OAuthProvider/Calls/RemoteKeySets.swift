import JOSE
import OAuth
import Settings
import _Primitives

/// The key sets of clients and other providers, at addresses of their own (`jwks_uri`).
struct RemoteKeySets: Sendable {
    private let documents: RemoteDocuments<JWKSet>

    init(calls: (any OutgoingCalls)?, of party: OutgoingCall.Party, limits: Limits) {
        self.documents = RemoteDocuments(calls: calls, by: limits.keySetRules(of: party)) {
            answer, _ throws(OutgoingCallError) in
            // Keys of no use here may be of use to others. So fetched sets are read more leniently than sets that a
            // client registers, as a registering client can be told of the error (RFC 7517, section 5).
            guard let set = try? JWKSet(parsing: answer.body) else { throw OutgoingCallError("it answers no key set") }
            // A set without a key is an answer, too: the owner of a lost key removes the key in this way.
            return JWKSet(
                set.keys.filter { key in
                    JWSAlgorithm.ofClients.contains(where: key.fits)
                        || KeyManagementAlgorithm.all.contains(where: key.fits)
                }, unusable: set.unusable)
        }
    }

    /// Returns the keys of a holder. The wanted key can be absent, if the last call to the address was just now or
    /// failed.
    ///
    /// - Parameter name: The wanted key (`kid`); `nil` for any.
    ///
    /// Throws ``OutgoingCallError`` if no keys can be had. Cost: nothing if the keys are kept; else a call.
    func keys(of holder: String, at address: String, naming name: String?, now: Timestamp) async throws -> JWKSet {
        try await self.documents.document(of: holder, at: address, now: now) { keys in
            name.map { name in keys.keys.contains { $0.keyID?.hasSameBytes(as: name) == true } } ?? true
        }
    }
}

extension Limits {
    /// Returns the rules for key sets, and for the descriptions of other providers.
    func keySetRules(of party: OutgoingCall.Party) -> RemoteDocumentRules {
        RemoteDocumentRules(
            party: party, bytes: self.oauth.keySetBytes, pause: self.oauth.keySetPause,
            usualAge: self.oauth.usualKeySetAge, longestAge: self.oauth.longestKeySetAge,
            grace: self.oauth.keySetGrace,
            // People wait for a provider, requests for a client.
            waiters: party == .provider ? self.oauth.waitingArrivals : self.oauth.keySetWaiters,
            places: self.oauth.clients)
    }
}
