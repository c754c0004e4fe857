import JOSE
import Records
import Sealing
import _Primitives

enum ClientColumn: Int, TableColumn {
    static let table = KnownClients.table
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, name, redirectURIs, postLogoutRedirectURIs, secretDigest, createdAt, mayDeregister, idTokenAlgorithm,
        codeBinding, formerSecretDigest, formerSecretUntil, clientURI, grantTypes, authenticationMethod, keySet,
        backchannelLogoutURI, backchannelLogoutSessionRequired, keySetAddress, backchannelMode, backchannelAddress,
        certificateName, isDisabled, signInService, assertionAudience,
        sectorIdentifierURI, requiresPushedRequests, defaultMaxAge, matchesNumbers, registrationDigest, registeredBy,
        tokenSettings,
        signInMethods, securityProfile, requiresSignedRequests,
        origins, detailTypes, signsInDirectly,
        party, statusURI
}

/// The rows of clients.
struct ClientRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns the client of an identifier.
    func client(_ id: String) throws -> ClientRecord? {
        try self.db.row(.composed("SELECT \(ClientColumn.selection) FROM oauth_client WHERE id = ?"), [id]).map {
            try ClientRecord($0)
        }
    }

    /// Adds a client within the present step. Throws `conflict` if `limit` clients of its kind exist, and as
    /// ``checkClaims(of:)``. Strangers' clients take no place of clients that the operator has let in.
    func add(_ client: ClientRecord, limit: Int) throws {
        try self.checkAddition(of: client, limit: limit)
        try self.insert(client)
    }

    /// Throws `conflict` as ``add(_:limit:)``.
    func checkAddition(of client: ClientRecord, limit: Int) throws {
        try ClientRoom(count: self.count(strangers: client.isStranger), limit: limit).check("clients")
        try self.checkClaims(of: client)
    }

    /// Throws `conflict` if a client has the identifier of a new client, or if another client owns one of the new
    /// client's resources.
    func checkClaims(of client: ClientRecord) throws {
        try self.db.refuse("SELECT 1 FROM oauth_client WHERE id = ?", [client.id], "a client has the identifier")
        try self.checkOwner(of: client.settings.tokens.resources, client: client.id)
    }

    /// Keeps a client whose addition was checked, within the present step.
    func insert(_ client: ClientRecord) throws {
        try self.db.runObserved(
            ClientColumn.insertion,
            ClientColumn.row([
                ClientColumn.id: client.id, .name: client.name,
                .redirectURIs: ClientRecord.keptText(of: client.redirectURIs),
                .postLogoutRedirectURIs: ClientRecord.keptText(of: client.postLogoutRedirectURIs),
                .secretDigest: (client.secretDigest ?? []), .createdAt: client.createdAt.milliseconds,
                .mayDeregister: client.settings.mayDeregister,
                .idTokenAlgorithm: client.settings.idTokenAlgorithm.rawValue,
                .grantTypes: ClientRecord.keptText(of: client.settings.grantTypes),
                .authenticationMethod: client.settings.authenticationMethod, .keySet: client.settings.keySet,
                .codeBinding: client.settings.codeBinding.rawValue,
                .formerSecretDigest: client.formerSecret?.digest,
                .formerSecretUntil: client.formerSecret?.endsAt.milliseconds, .clientURI: client.clientURI,
                .keySetAddress: client.settings.keySetAddress,
                .certificateName: client.settings.certificateName?.text, .isDisabled: client.settings.isDisabled,
                .signInService: client.settings.signInService.map { JSON.object($0.json).text },
                .assertionAudience: client.settings.assertionAudience.rawValue,
                .sectorIdentifierURI: client.settings.sectorIdentifierURI,
                .requiresPushedRequests: client.settings.profile.requiresPushedRequests,
                .defaultMaxAge: client.settings.profile.defaultMaximumAge?.components.seconds,
                .matchesNumbers: client.settings.profile.matchesNumbers,
                .registrationDigest: client.registration?.tokenDigest,
                .registeredBy: client.registration?.registeredBy,
                .backchannelMode: client.settings.answers.mode.rawValue,
                .backchannelAddress: client.settings.answers.address,
                .backchannelLogoutURI: client.settings.logout?.text,
                .backchannelLogoutSessionRequired: client.settings.logout?.needsSession ?? false,
                .signInMethods: ClientRecord.keptText(of: client.settings.signInMethods),
                .tokenSettings: client.settings.tokens.text,
                .securityProfile: client.settings.profile.security.rawValue,
                .requiresSignedRequests: client.settings.profile.requiresSignedRequests,
                .origins: ClientRecord.keptText(of: client.settings.profile.origins),
                .detailTypes: ClientRecord.keptText(of: client.settings.profile.detailTypes),
                .signsInDirectly: client.settings.profile.signsInDirectly,
                .party: client.settings.party.rawValue, .statusURI: client.settings.statusAddress,
            ]))
    }

    /// Returns the number of strangers' clients, or of the clients that the operator has let in.
    func count(strangers: Bool) throws -> Int {
        try self.db.number(
            .composed("SELECT count(*) FROM oauth_client WHERE (\(ClientRegistration.isStranger)) = ?"), [strangers])
            ?? 0
    }

    /// Changes a client within the present step, ends everything that the change takes away, and keeps the events of the
    /// change. Returns the changed client.
    func change(
        _ former: ClientRecord, by change: (inout ClientRecord) throws -> [AuditEvent], _ sealing: Sealing
    ) throws -> ClientRecord {
        var client = former
        let events = try change(&client)
        try self.checkOwner(of: client.settings.tokens.resources, client: client.id)
        try self.db.runObserved(
            """
            UPDATE oauth_client SET name = ?, redirect_uris = ?, post_logout_redirect_uris = ?,
                secret_digest = ?, may_deregister = ?, id_token_algorithm = ?, code_binding = ?,
                former_secret_digest = ?, former_secret_until = ?, client_uri = ?, grant_types = ?,
                authentication_method = ?, key_set = ?, token_settings = ?, sign_in_methods = ?, party = ?,
                backchannel_logout_uri = ?, backchannel_logout_session_required = ?, key_set_address = ?,
                backchannel_mode = ?, backchannel_address = ?, certificate_name = ?, is_disabled = ?,
                sign_in_service = ?, assertion_audience = ?, sector_identifier_uri = ?, status_uri = ?
            WHERE id = ?
            """,
            [
                client.name, ClientRecord.keptText(of: client.redirectURIs),
                ClientRecord.keptText(of: client.postLogoutRedirectURIs),
                (client.secretDigest ?? []), client.settings.mayDeregister,
                client.settings.idTokenAlgorithm.rawValue,
                client.settings.codeBinding.rawValue, client.formerSecret?.digest,
                client.formerSecret?.endsAt.milliseconds, client.clientURI,
                ClientRecord.keptText(of: client.settings.grantTypes),
                client.settings.authenticationMethod, client.settings.keySet, client.settings.tokens.text,
                ClientRecord.keptText(of: client.settings.signInMethods), client.settings.party.rawValue,
                client.settings.logout?.text, client.settings.logout?.needsSession ?? false,
                client.settings.keySetAddress, client.settings.answers.mode.rawValue,
                client.settings.answers.address, client.settings.certificateName?.text, client.settings.isDisabled,
                client.settings.signInService.map { JSON.object($0.json).text },
                client.settings.assertionAudience.rawValue, client.settings.sectorIdentifierURI,
                client.settings.statusAddress, client.id,
            ])
        try self.setProfile(client.settings.profile, ofClient: client.id)
        // A request without an address leads nowhere.
        let addresses = try self.db.texts(
            "SELECT DISTINCT redirect_uri FROM oauth_request WHERE client = ? AND redirect_uri <> ''", [client.id])
        let effect = ClientChangeEffect(of: client, from: former.settings)
        for address in effect.addressesWithoutAnswer(among: addresses) {
            _ = try RequestRows(self.db).deleteRequests(where: "client = ? AND redirect_uri = ?", [client.id, address])
        }
        if effect.endsIssued { try self.endIssued(toClient: client.id) }
        try AuditRows(self.db).record(events, sealing)
        return client
    }

    /// Keeps the profile of an existing client.
    private func setProfile(_ profile: ClientProfile, ofClient id: String) throws {
        try self.db.runObserved(
            """
            UPDATE oauth_client SET security_profile = ?, requires_signed_requests = ?, origins = ?,
                detail_types = ?, signs_in_directly = ?, requires_pushed_requests = ?, default_max_age = ?,
                matches_numbers = ?
                WHERE id = ?
            """,
            [
                profile.security.rawValue, profile.requiresSignedRequests,
                ClientRecord.keptText(of: profile.origins),
                ClientRecord.keptText(of: profile.detailTypes), profile.signsInDirectly,
                profile.requiresPushedRequests, profile.defaultMaximumAge?.components.seconds,
                profile.matchesNumbers, id,
            ])
    }

    /// Returns `true` if the client, or any client for `nil`, has this origin. At most a thousand clients exist, and
    /// few have origins.
    func isOrigin(_ origin: String, ofClient id: String?) throws -> Bool {
        try self.db.isTrue(
            """
            SELECT EXISTS (
                SELECT 1 FROM oauth_client, jsonb_array_elements_text(oauth_client.origins) AS origin
                WHERE oauth_client.origins <> '[]' AND origin.value = ?1 AND (oauth_client.id = ?2 OR ?2 IS NULL))
            """, [origin, id])
    }

    /// Returns the identifier of the client that owns a resource.
    func owner(ofResource resource: String) throws -> String? {
        try self.db.text(
            """
            SELECT oauth_client.id
            FROM oauth_client, jsonb_array_elements_text(token_settings -> 'resources') AS owned
            WHERE token_settings <> '{}' AND owned.value = ?
            """, [resource])
    }

    /// Throws ``StoreError/Code/conflict`` if another client owns one of the resources.
    private func checkOwner(of resources: [String], client: String) throws {
        for resource in resources {
            try ResourceOwner(client: self.owner(ofResource: resource)).check(claimant: client)
        }
    }

    /// Returns the oldest strangers' clients from before that moment that have no consent of any person, are not
    /// switched off, and are no services of personalised identities. A grant of a stranger's client rests on a consent,
    /// so the consents show this.
    ///
    /// Cost: a walk over all clients, and up to two look-ups for each stranger's client; nothing for a limit of 0.
    func oldestUnusedStrangers(since moment: Timestamp, limit: Int) throws -> [String] {
        // A client that an operator has switched off stays switched off. A service of personalised identities belongs
        // to the operator.
        try self.db.texts(
            .composed(
                """
                SELECT id FROM oauth_client
                WHERE \(ClientRegistration.isStranger) AND created_at <= ? AND is_disabled = 0
                    AND NOT EXISTS (SELECT 1 FROM service WHERE service.id = oauth_client.id)
                    AND NOT EXISTS (SELECT 1 FROM oauth_consent WHERE oauth_consent.client = oauth_client.id)
                ORDER BY created_at, id LIMIT ?
                """), [moment.milliseconds, limit])
    }

    /// Ends a client's requests, grants and device secrets, with all consequences.
    private func endIssued(toClient id: String) throws {
        try self.deleteRows(
            of: ["oauth_pushed_request", "oauth_device_code", "oauth_backchannel_request", "oauth_request"],
            ofClient: id)
        _ = try GrantEnds(self.db).endGrants(where: "client = ?", [id])
        _ = try GrantEnds(self.db).endDeviceSecrets(where: "client = ?", [id])
    }

    /// Deletes a client's rows of these tables.
    private func deleteRows(of tables: [String], ofClient id: String) throws {
        for table in tables {
            try self.db.run(.composed("DELETE FROM \(table) WHERE client = ?"), [id])
        }
    }

    /// Deletes a client with all its grants, within the present step. Returns `false` if the client does not exist.
    func deleteClient(_ id: String) throws -> Bool {
        try self.endIssued(toClient: id)
        return try self.deleteUnusedClient(id)
    }

    /// Deletes a client that has no grants, within the present step. Returns `false` if the client does not exist.
    @discardableResult
    func deleteUnusedClient(_ id: String) throws -> Bool {
        try self.deleteRows(
            of: [
                "oauth_pushed_request", "oauth_device_code", "oauth_backchannel_request", "oauth_request",
                "oauth_consent", "oauth_subject", "oauth_session_service",
            ], ofClient: id)
        try MessageRows(self.db).deleteMessages(toClient: id)
        try self.db.runObserved("DELETE FROM oauth_client WHERE id = ?", [id])
        return self.db.changesCount > 0
    }
}

extension ClientRegistration {
    /// The condition that finds strangers' clients. An open registration has a token of its own and no initial access
    /// token. A document has no token.
    static let isStranger = "(registration_digest IS NULL) <> (registered_by IS NULL)"
}

extension ClientRecord {
    /// Reads a row of the table's columns.
    init(_ row: SQLRow) throws {
        let binding = try ClientSettings.CodeBinding(kept: row.text(ClientColumn.codeBinding))
        let security = try ClientProfile.Security(kept: row.text(ClientColumn.securityProfile))
        let party = try ClientSettings.Party(kept: row.text(ClientColumn.party))
        let mode = try ClientSettings.AnswerDelivery.Mode(kept: row.text(ClientColumn.backchannelMode))
        var settings = ClientSettings(
            idTokenAlgorithm: try row.algorithm(ClientColumn.idTokenAlgorithm), codeBinding: binding,
            mayDeregister: try row.integer(ClientColumn.mayDeregister, as: Int.self) != 0,
            grantTypes: try Self.list(kept: row.text(ClientColumn.grantTypes)),
            authenticationMethod: try row.text(ClientColumn.authenticationMethod),
            keySet: try row.optionalText(ClientColumn.keySet),
            tokens: try TokenSettings(kept: row.text(ClientColumn.tokenSettings)),
            signInMethods: try Self.list(kept: row.text(ClientColumn.signInMethods)),
            profile: ClientProfile(
                security: security,
                requiresSignedRequests: try row.integer(ClientColumn.requiresSignedRequests, as: Int.self) != 0,
                origins: try Self.list(kept: row.text(ClientColumn.origins)),
                detailTypes: try Self.list(kept: row.text(ClientColumn.detailTypes)),
                signsInDirectly: try row.flag(ClientColumn.signsInDirectly)),
            party: party)
        settings.keySetAddress = try row.optionalText(ClientColumn.keySetAddress)
        settings.answers = ClientSettings.AnswerDelivery(
            mode, at: try row.optionalText(ClientColumn.backchannelAddress))
        settings.certificateName = try row.optionalText(ClientColumn.certificateName)
            .map(ClientCertificateName.init(kept:))
        settings.assertionAudience = try ClientSettings.AssertionAudience(
            kept: row.text(ClientColumn.assertionAudience))
        settings.sectorIdentifierURI = try row.optionalText(ClientColumn.sectorIdentifierURI)
        settings.profile.requiresPushedRequests = try row.flag(ClientColumn.requiresPushedRequests)
        settings.profile.defaultMaximumAge = try row.optionalInteger(ClientColumn.defaultMaxAge, as: Int64.self).map {
            .seconds($0)
        }
        settings.profile.matchesNumbers = try row.flag(ClientColumn.matchesNumbers)
        settings.isDisabled = try row.flag(ClientColumn.isDisabled)
        settings.signInService = try row.optionalText(ClientColumn.signInService).map(SignInServiceSettings.init(kept:))
        settings.logout = try row.optionalText(ClientColumn.backchannelLogoutURI).map {
            ClientSettings.LogoutAddress(
                $0, needsSession: try row.flag(ClientColumn.backchannelLogoutSessionRequired))
        }
        settings.statusAddress = try row.optionalText(ClientColumn.statusURI)
        self.init(
            id: try row.text(ClientColumn.id), name: try row.text(ClientColumn.name),
            redirectURIs: try Self.list(kept: row.text(ClientColumn.redirectURIs)),
            postLogoutRedirectURIs: try Self.list(kept: row.text(ClientColumn.postLogoutRedirectURIs)),
            secretDigest: try Self.secretDigest(kept: row.bytes(ClientColumn.secretDigest)),
            createdAt: try row.moment(ClientColumn.createdAt),
            settings: settings,
            formerSecret: try FormerSecret(
                kept: row.optionalBytes(ClientColumn.formerSecretDigest),
                endsAt: row.optionalMoment(ClientColumn.formerSecretUntil)),
            clientURI: try row.optionalText(ClientColumn.clientURI))
        self.registration = try ClientRegistration(
            digest: row.optionalBytes(ClientColumn.registrationDigest),
            registeredBy: row.optionalText(ClientColumn.registeredBy))
    }
}
