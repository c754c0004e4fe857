import OAuth
import Records
import Settings
import _Primitives

extension Clients {
    /// Returns the client that a request names, switched off or not: a registered client, or a client with a metadata
    /// document at its own address. Returns `nil` for an unknown client.
    ///
    /// - Parameter asker: The reason for fetching a document; `nil` to fetch a document only for a client that is
    ///   already in use.
    ///
    /// Throws `OAuthError` `invalid_client_metadata` if the document cannot be had, or makes no client; `Shortage` if a
    /// budget of new documents is used up. Cost: a query; for a document not yet kept, a call.
    func client(_ id: String, for asker: ClientDocuments.Asker?) async throws -> ClientRecord? {
        let kept = try await self.store.client(id)
        // An operator may have chosen any identifier for a client of the app sign-in service.
        if let kept, kept.registration != .document || kept.settings.isDisabled { return kept }
        guard self.choices.takesDocuments, let address = ClientIDAddress(id),
            let asker = kept == nil ? asker : .usedClient
        else { return nil }
        if let own = TargetURI(self.issuer)?.origin, own.hasSameBytes(as: "https://" + address.host) {
            throw OAuthError(.invalidClientMetadata, "A client's document is not at this server itself.")
        }
        let document: ClientIDDocument
        do {
            document = try await self.documents.document(at: address, for: asker, now: self.time.now())
        } catch let error as OutgoingCallError {
            // The reason is for the log alone: the reason would tell a stranger which addresses this server can reach.
            throw OAuthError(
                .invalidClientMetadata, "The metadata document of the service \(address.host) cannot be used.",
                detail: error.reason)
        }
        var client = try self.client(document, at: address)
        if let kept { client = client.keeping(kept) }
        return client
    }

    /// Returns the client of a running sign-in; `nil` if the client is unknown or switched off, or its document cannot
    /// be had, which ends the sign-in.
    ///
    /// Cost: as ``client(_:for:)``.
    func client(of request: AuthorizationRequestRecord) async throws -> ClientRecord? {
        do { return Self.served(try await self.client(request.client, for: .signIn)) } catch is OAuthError {
            return nil
        } catch is Shortage { return nil }
    }

    /// Returns the client of a document, without storing it. Throws `OAuthError` `invalid_client_metadata`.
    private func client(_ document: ClientIDDocument, at address: ClientIDAddress) throws -> ClientRecord {
        let asked = try ClientMetadata(document.metadata)
        var settings = asked.settings
        settings.party = .third
        let read = try settings.keySet.map(self.rules.keySet)
        settings.keySet = read?.text
        var client = ClientRecord(
            id: address.text, name: try Strangers.name(of: [address.host], limits: self.limits),
            redirectURIs: asked.redirectURIs, postLogoutRedirectURIs: asked.postLogoutRedirectURIs, secretDigest: nil,
            createdAt: self.time.now(), settings: settings)
        client.registration = .document
        do { try self.rules.check(client, keys: read?.keys) } catch let error as OAuthError
            where error.code == .invalidRequest
        {
            throw OAuthError(.invalidClientMetadata, error.message, detail: error.detail)
        }
        return client
    }

    /// Stores a client that has only a metadata document, at the moment of its person's consent, in the state that the
    /// person saw. Updates a stored client whose document has changed. Every other client is stored already, and
    /// nothing happens.
    ///
    /// Throws `OAuthError` `temporarily_unavailable` if the store has too many strangers' clients, and none of them is
    /// unused. Cost: nothing for other clients; else a query; if something is new, a store step, and the creation of a
    /// signing key if the client's algorithm has none.
    func keep(_ client: ClientRecord) async throws {
        guard client.registration == .document else { return }
        let now = self.time.now()
        guard let kept = try await self.store.client(client.id) else {
            try await self.provideSigningKeys(of: client.settings, by: client.id)
            do {
                return try await self.store.addStranger(
                    client, limit: self.limits.oauth.strangers,
                    unusedSince: now - self.limits.oauth.unusedStrangerLifetime,
                    audit: AuditEvent(.clientAdded, at: now, actor: client.id, detail: client.id))
            } catch let error as StoreError where error.code == .conflict {
                // Two of the client's people consented at once, and one of them was first.
                guard try await self.store.client(client.id) != nil else { throw Strangers.tooMany }
                return
            }
        }
        guard kept != client.keeping(kept) else { return }
        try await self.provideSigningKeys(of: client.settings, by: client.id)
        _ = try await self.store.changeClient(client.id) { current in
            let before = current
            current = client.keeping(before)
            return current.events(after: before, at: now, by: client.id)
        }
    }
}

extension ClientRecord {
    /// Returns the client of the present document, with the store's own facts: the time of its creation, and if it is
    /// switched off.
    fileprivate func keeping(_ kept: ClientRecord) -> ClientRecord {
        var client = ClientRecord(
            id: self.id, name: self.name, redirectURIs: self.redirectURIs,
            postLogoutRedirectURIs: self.postLogoutRedirectURIs, secretDigest: nil, createdAt: kept.createdAt,
            settings: self.settings)
        client.registration = self.registration
        client.settings.isDisabled = kept.settings.isDisabled
        return client
    }
}
