public import Records
package import Sealing
import _Primitives

extension SealingPurpose {
    static let attestation = SealingPurpose("attestation")
    static let pictureDisplays = SealingPurpose("picture displays")
    static let usernameCode = SealingPurpose("user name code")
    /// Takes the place of ``usernameCode`` for an account whose name another account has in another spelling.
    static let exactUsernameCode = SealingPurpose("exact user name code")
    package static let username = SealingPurpose("user name")
    /// Takes the place of a name's code in an account without a user name.
    static let noUsername = SealingPurpose("no user name")
    static let displayName = SealingPurpose("display name")
    package static let email = SealingPurpose("e-mail address")
    package static let deviceName = SealingPurpose("device name", isOpenedOften: true)
    /// The purpose of public keys before ``boundPublicKey``.
    package static let publicKey = SealingPurpose("public key")
    package static let boundPublicKey = SealingPurpose("public key of an account", isOpenedOften: true)
}

extension SQLStore {
    /// Returns the address for enrolling phones (`issuer`), kept at the server's last start; `nil` before the first
    /// start.
    public func issuer() async throws -> String? {
        try await self.read { db in try db.text("SELECT issuer FROM store_check WHERE id = 1") }
    }

    /// Keeps the address for enrolling phones.
    public func keep(issuer: String) async throws {
        try await self.step(Step("issuer.keep", guards: [], isolation: .readCommitted)) { db in
            try db.run("UPDATE store_check SET issuer = ? WHERE id = 1", [issuer])
        }
    }

    /// Returns `true` if any account has a device, or is about to have one.
    public func hasDevices() async throws -> Bool {
        try await self.read { db in try db.isTrue("SELECT EXISTS (SELECT 1 FROM device)") }
    }
}

extension SQLStore: AccountStore {
    public func createAccount(_ account: AccountRecord, audit: AuditEvent) async throws {
        // A name has one account by its unique code. No step makes another account with the code of colliding names.
        try await self.step(Step("account.create", guards: [], isolation: .readCommitted)) { [sealing] db in
            try db.insert(account, sealing)
            try db.appendAudit(audit, sealing)
        }
    }

    public func account(username: AccountName) async throws -> AccountRecord? {
        try await self.read { [sealing] db in try db.account(username: username, sealing) }
    }

    public func account(id: String) async throws -> AccountRecord? {
        try await self.read { [sealing] db in try db.account(id: id, sealing) }
    }

    public func accounts(after: String?, limit: Int) async throws -> [AccountRecord] {
        try await self.read { [sealing] db in
            try db.rows(
                .composed(
                    """
                    SELECT \(AccountRecord.columns) FROM account
                    WHERE number > coalesce((SELECT number FROM account WHERE id = ?), 0) ORDER BY number LIMIT ?
                    """), [after, limit]
            ) { try AccountRecord($0, sealing) }
        }
    }

    public func setAccountLocked(_ isLocked: Bool, id: String, audit: AuditEvent) async throws -> Bool {
        // The steps that make sessions rely on the account: a step sees the lock, or the lock ends the step's session.
        try await self.step(
            Step("account.lock", guards: [.exclusive(.account, id: id)], isolation: .readCommitted)
        ) { [sealing] db in
            let isKnown = try db.setAccountLocked(isLocked, id: id, at: audit.at)
            return try db.appendAudit(audit, if: isKnown, sealing)
        }
    }

    public func setAccountNames(
        id: String, audit: [AuditEvent], username: AccountName?, displayName: String?
    ) async throws -> Bool {
        try await self.step(
            Step("account.set-names", guards: [.exclusive(.account, id: id)], isolation: .readCommitted)
        ) { [sealing] db in
            let account = try db.account(id: id, sealing)
            let changes = AccountNamesChange.changes(
                of: account, to: username, displayName: displayName, audit: audit)
            for change in changes { try db.change(change, ofAccount: id, sealing) }
            return account != nil
        }
    }

    public func setAccountEmail(_ email: AccountEmail?, id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step("account.set-email", guards: [.exclusive(.account, id: id)], isolation: .readCommitted)
        ) { [sealing] db in
            let isKnown = try db.setEmail(email, accountID: id, at: audit.at, sealing)
            return try db.appendAudit(audit, if: isKnown, sealing)
        }
    }

    public func deleteAccount(id: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step("account.delete", guards: [.exclusive(.account, id: id)], isolation: .readCommitted)
        ) { [sealing] db in
            try db.appendAudit(audit, if: try db.deleteAccount(id, at: audit.at), sealing)
        }
    }

    public func devices(accountID: String) async throws -> [DeviceRecord] {
        try await self.read { [sealing] db in
            try db.rows(
                .composed("SELECT \(DeviceColumn.selection) FROM device WHERE account_id = ? ORDER BY number"),
                [accountID]
            ) { try DeviceRecord(RowPart(row: $0, start: 0), sealing) }
        }
    }

    public func credentials(accountID: String) async throws -> [CredentialRecord] {
        try await self.read { [sealing] db in try db.credentials(accountID: accountID, sealing) }
    }

    public func keys(username: AccountName) async throws -> NamedKeys {
        let codes = self.sealing.usernameCodes(username)
        return try await self.read { db in
            let account = try db.row(
                .composed("SELECT id, is_locked FROM account WHERE \(AccountRecord.hasName)"), codes)
            let document = try db.inventedAccounts()
            // An unknown name costs the same queries as a known name, so that the time does not reveal a known name. No
            // account has an empty identifier.
            let keys = try db.activeKeys(of: try account?.text("id") ?? "")
            let active = try account.map {
                ActiveKeys(
                    accountID: try $0.text("id"), isAccountLocked: try $0.flag("is_locked"), keys: keys)
            }
            return NamedKeys(active: active, inventedAccounts: document)
        }
    }
}

extension AccountRecord {
    fileprivate enum Column: Int, TableColumn {
        static let table = "account"
        static let selection = Self.selected()

        case id, username, displayName, isLocked, createdAt, email, emailVerified, phone, phoneVerified, postalAddress,
            profile, updatedAt, language
    }

    static let columns = Column.selection
    /// The condition that finds a row by the codes of a name (`Sealing.usernameCodes`).
    static let hasName = "username_code IN (?, ?)"

    init(_ row: SQLRow, _ sealing: Sealing) throws {
        let id = try row.text(Column.id)
        self.init(
            id: id,
            username: try sealing.openUsername(row.bytes(Column.username), account: id),
            displayName: try row.optionalBytes(Column.displayName).map {
                try sealing.openText($0, purpose: .displayName, row: id)
            },
            email: try row.optionalBytes(Column.email).map {
                AccountEmail(
                    address: try sealing.openText($0, purpose: .email, row: id),
                    isVerified: try row.flag(Column.emailVerified))
            },
            phone: try row.optionalBytes(Column.phone).map {
                AccountPhone(
                    number: try sealing.openText($0, purpose: .phone, row: id),
                    isVerified: try row.flag(Column.phoneVerified))
            },
            address: try row.optionalBytes(Column.postalAddress).map { try sealing.openPostalAddress($0, account: id) },
            profile: try row.optionalBytes(Column.profile).map { try sealing.openProfile($0, account: id) },
            language: try row.optionalText(Column.language),
            isLocked: try row.flag(Column.isLocked), createdAt: try row.moment(Column.createdAt),
            updatedAt: try row.optionalMoment(Column.updatedAt))
    }
}

/// The columns of a device.
enum DeviceColumn: Int, TableColumn {
    static let table = "device"
    static let selection = Self.selected()

    case id, accountID, name, isActive, createdAt, secretCode
}

extension DeviceRecord {
    init(_ row: RowPart<DeviceColumn>, _ sealing: Sealing) throws {
        let id = try row.text(.id)
        self.init(
            id: id, accountID: try row.text(.accountID),
            name: try sealing.openText(try row.bytes(.name), purpose: .deviceName, row: id),
            isActive: try row.flag(.isActive), createdAt: try row.moment(.createdAt),
            secretCode: try row.optionalBytes(.secretCode))
    }
}

extension CredentialRecord {
    fileprivate enum Column: Int, TableColumn {
        static let table = "credential"
        static let selection = Self.selected()

        case id, deviceID, accountID, aaid, keyID, publicKey, keyFormat, algorithm, counter, registrationCounter,
            authenticatorVersion, isActive, createdAt, lastUsedAt, attestation, pictureDisplays
    }

    static let columns = Column.selection

    init(_ row: SQLRow, _ sealing: Sealing) throws {
        let (id, device) = (try row.text(Column.id), try row.text(Column.deviceID))
        let (account, aaid) = (try row.text(Column.accountID), try row.text(Column.aaid))
        let keyID = try row.bytes(Column.keyID)
        let place = Sealing.place(ofKey: id, account: account, device: device, aaid: aaid, keyID: keyID)
        self.init(
            id: id, deviceID: device, accountID: account, aaid: aaid, keyID: keyID,
            publicKey: try sealing.open(try row.bytes(Column.publicKey), purpose: .boundPublicKey, row: place),
            keyFormat: try row.integer(Column.keyFormat), algorithm: try row.integer(Column.algorithm),
            counter: try row.integer(Column.counter),
            registrationCounter: try row.integer(Column.registrationCounter),
            authenticatorVersion: try row.integer(Column.authenticatorVersion),
            attestation: try row.optionalBytes(Column.attestation).map {
                try sealing.open($0, purpose: .attestation, row: id)
            } ?? [],
            pictureDisplays: try row.optionalBytes(Column.pictureDisplays).map {
                try sealing.open($0, purpose: .pictureDisplays, row: id)
            } ?? [],
            isActive: try row.flag(Column.isActive), createdAt: try row.moment(Column.createdAt),
            lastUsedAt: try row.optionalMoment(Column.lastUsedAt))
    }
}

extension SQLConnection {
    /// Sets or removes an account's e-mail address, with the effects that follow; `false` if the account does not exist.
    @discardableResult
    func setEmail(
        _ email: AccountEmail?, accountID id: String, at moment: Timestamp, _ sealing: Sealing
    ) throws -> Bool {
        let former = try self.row("SELECT email, email_verified FROM account WHERE id = ?", [id]).flatMap { row in
            try row.optionalBytes("email").map {
                AccountEmail(
                    address: try sealing.openText($0, purpose: .email, row: id),
                    isVerified: try row.flag("email_verified"))
            }
        }
        try self.run(
            "UPDATE account SET email = ?, email_verified = ?, email_code = ?, updated_at = ? WHERE id = ?",
            [
                try sealing.email(email, account: id), email?.isVerified ?? false,
                email.map { sealing.emailCode($0.address) }, moment.milliseconds, id,
            ])
        let isKnown = self.hasChangedOneRow
        for effect in FirstAddressEffect.effects(of: email, after: former) {
            switch effect {
            case .endLinks: try self.deleteMailedLinks(ofAccount: id)
            case .withdraw(let address): try self.withdrawVerification(of: address, accountID: id, sealing)
            }
        }
        return isKnown
    }

    /// Deletes an account with its dependent rows; `false` if the account does not exist. An invitation that the
    /// account has accepted is personal data, and is always deleted too. The invitation for which the account was made
    /// provisionally is deleted as well.
    ///
    /// - Parameter keepsInvite: `true` to keep the invitation of a provisional account: the account goes when the
    ///   invitation expires, is revoked, or is accepted by another account, and the invitation stays as a record.
    func deleteAccount(_ id: String, at now: Timestamp, keepsInvite: Bool = false) throws -> Bool {
        // The answers are deleted through the devices and offers, which go with the account.
        try self.deleteAnswers(ofAccount: id)
        try self.run("DELETE FROM account WHERE id = ?", [id])
        return try self.carryOut(.deletion(keepsInvite: keepsInvite), ofAccount: id, at: now)
    }

    /// Ends everything that ends with an account's fate, if the latest statement has changed the account's row. Returns
    /// `false` otherwise: the account does not exist.
    private func carryOut(_ fate: AccountFate, ofAccount id: String, at now: Timestamp) throws -> Bool {
        guard self.hasChangedOneRow else { return false }
        for trace in fate.ends { try self.end(trace, ofAccount: id, at: now) }
        return true
    }

    private func end(_ trace: AccountFate.Trace, ofAccount id: String, at now: Timestamp) throws {
        switch trace {
        case .authentications: try self.deleteAuthentications(of: .account(id), at: now)
        case .ceremonies: try self.run("DELETE FROM ceremony WHERE account_id = ?", [id])
        case .notices: try self.run("DELETE FROM notice WHERE account_id = ?", [id])
        case .subjects: try self.run("DELETE FROM oauth_subject WHERE account = ?", [id])
        case .consents: try self.run("DELETE FROM oauth_consent WHERE account = ?", [id])
        case .acceptedInvitation: try self.run("DELETE FROM invite WHERE accepted_by = ?", [id])
        case .provisionalInvitation: try self.run("DELETE FROM invite WHERE provisional_account_id = ?", [id])
        }
    }

    /// Writes a changed part of an account's row, or the event of the change.
    fileprivate func change(_ change: AccountNamesChange, ofAccount id: String, _ sealing: Sealing) throws {
        switch change {
        case .username(let username):
            try self.refuseColliding(username, for: id, sealing)
            try self.run(
                "UPDATE account SET username_code = ?, colliding_code = NULL, username = ? WHERE id = ?",
                [
                    sealing.usernameCode(username, account: id), try sealing.username(username, account: id), id,
                ])
        case .displayName(let name):
            try self.run(
                "UPDATE account SET display_name = ? WHERE id = ?",
                [
                    try name.map { try sealing.seal($0, purpose: .displayName, row: id) }, id,
                ])
        case .updatedAt(let moment):
            try self.run("UPDATE account SET updated_at = ? WHERE id = ?", [moment.milliseconds, id])
        case .audit(let event): try self.appendAudit(event, sealing)
        }
    }

    /// Adds an account within the present step.
    func insert(_ account: AccountRecord, _ sealing: Sealing) throws {
        try self.refuseColliding(account.username, for: account.id, sealing)
        let displayName = try account.displayName.map {
            try sealing.seal($0, purpose: .displayName, row: account.id)
        }
        try self.run(
            """
            INSERT INTO account (
                id, username_code, username, display_name, is_locked, created_at, email, email_verified,
                phone, phone_verified, postal_address, email_code, profile, updated_at, language
            ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                account.id, sealing.usernameCode(account.username, account: account.id),
                try sealing.username(account.username, account: account.id), displayName,
                account.isLocked, account.createdAt.milliseconds,
                try sealing.email(account.email, account: account.id), account.email?.isVerified ?? false,
                try sealing.phone(account.phone, account: account.id), account.phone?.isVerified ?? false,
                try sealing.postalAddress(account.address, account: account.id),
                account.email.map { sealing.emailCode($0.address) },
                try sealing.profile(account.profile, account: account.id), account.updatedAt.milliseconds,
                account.language,
            ])
    }

    func account(username: AccountName, _ sealing: Sealing) throws -> AccountRecord? {
        try self.row(
            .composed("SELECT \(AccountRecord.columns) FROM account WHERE \(AccountRecord.hasName)"),
            sealing.usernameCodes(username)
        ).map { try AccountRecord($0, sealing) }
    }

    private static let accountQuery = SQLText.once(
        "SELECT \(AccountRecord.columns) FROM account WHERE id = ?")

    func account(id: String, _ sealing: Sealing) throws -> AccountRecord? {
        try self.row(Self.accountQuery, [id]).map { try AccountRecord($0, sealing) }
    }

    /// Locks or unlocks an account, and ends everything that ends with it; `false` if the account does not exist.
    fileprivate func setAccountLocked(_ isLocked: Bool, id: String, at moment: Timestamp) throws -> Bool {
        try self.run(
            """
            UPDATE account SET is_locked = ?1,
                locked_at = CASE WHEN CAST(?1 AS BIGINT) = 1 THEN ?2 ELSE locked_at END WHERE id = ?3
            """,
            [isLocked, moment.milliseconds, id])
        return try self.carryOut(.lock(isLocked), ofAccount: id, at: moment)
    }

    /// Returns the names of an account's active keys, oldest first.
    fileprivate func activeKeys(of account: String) throws -> [ActiveKeys.Key] {
        try self.rows(
            """
            SELECT aaid, key_id, device_id FROM credential WHERE account_id = ? AND is_active = 1
            ORDER BY number
            """, [account]
        ) { key in
            ActiveKeys.Key(
                aaid: try key.text("aaid"), keyID: try key.bytes("key_id"), deviceID: try key.text("device_id"))
        }
    }

    func credentials(accountID: String, _ sealing: Sealing) throws -> [CredentialRecord] {
        try self.rows(
            .composed("SELECT \(CredentialRecord.columns) FROM credential WHERE account_id = ? ORDER BY number"),
            [accountID]
        ) { try CredentialRecord($0, sealing) }
    }

    func credentials(deviceID: String, _ sealing: Sealing) throws -> [CredentialRecord] {
        try self.rows(
            .composed("SELECT \(CredentialRecord.columns) FROM credential WHERE device_id = ? ORDER BY number"),
            [deviceID]
        ) { try CredentialRecord($0, sealing) }
    }

    /// Returns the key of that model and name, with its account's state.
    func storedCredential(aaid: String, keyID: [UInt8], _ sealing: Sealing) throws -> StoredCredential? {
        try self.row(
            .composed(
                """
                SELECT \(CredentialRecord.columns), is_locked FROM credential
                JOIN account ON account.id = account_id WHERE aaid = ? AND key_id = ?
                """), [aaid, keyID]
        ).map { row in
            StoredCredential(
                credential: try CredentialRecord(row, sealing), isAccountLocked: try row.flag("is_locked"))
        }
    }

    /// Adds a device and its keys. Throws `conflict` if a key of the same model and name exists already, or if another
    /// device has one of the keys by which the device speaks for itself.
    func insert(_ registration: DeviceRegistration, _ sealing: Sealing) throws {
        let device = registration.device
        let name = try sealing.seal(device.name, purpose: .deviceName, row: device.id)
        try self.run(
            """
            INSERT INTO device (id, account_id, name, is_active, created_at, secret_code) VALUES (?, ?, ?, ?, ?, ?)
            """,
            [
                device.id, device.accountID, name, device.isActive, device.createdAt.milliseconds,
                device.secretCode,
            ])
        try self.insert(registration.credentials, sealing)
        if let identity = registration.identity {
            try self.insert(identity, deviceID: device.id, accountID: device.accountID, sealing)
        }
        for id in registration.replaces {
            try self.run(
                """
                INSERT INTO replaced_credential
                SELECT ?, id FROM credential WHERE id = ? AND account_id = ? ON CONFLICT DO NOTHING
                """, [device.id, id, device.accountID])
        }
    }

    /// Adds keys to active devices of accounts that are not locked. The new keys replace the devices' keys of the same
    /// models. Throws `notFound` for any other device, `forbidden` if the account is locked, and `conflict` if a key of
    /// the same model and name exists elsewhere.
    func join(_ credentials: [CredentialRecord], _ sealing: Sealing) throws {
        for key in credentials {
            let isLocked = try self.row(
                """
                SELECT is_locked FROM device JOIN account ON account.id = account_id
                WHERE device.id = ? AND account_id = ? AND is_active = 1
                """, [key.deviceID, key.accountID])?.flag("is_locked")
            try KeyRefusal.checkJoining(isAccountLocked: isLocked)
            try self.run("DELETE FROM credential WHERE device_id = ? AND aaid = ?", [key.deviceID, key.aaid])
        }
        try self.insert(credentials, sealing)
    }

    private func insert(_ credentials: [CredentialRecord], _ sealing: Sealing) throws {
        for key in credentials {
            let place = Sealing.place(
                ofKey: key.id, account: key.accountID, device: key.deviceID, aaid: key.aaid, keyID: key.keyID)
            let publicKey = try sealing.seal(key.publicKey, purpose: .boundPublicKey, row: place)
            let attestation = try sealing.sealUnlessEmpty(key.attestation, purpose: .attestation, row: key.id)
            let displays = try sealing.sealUnlessEmpty(key.pictureDisplays, purpose: .pictureDisplays, row: key.id)
            try self.run(
                """
                INSERT INTO credential (id, device_id, account_id, aaid, key_id, public_key, key_format, algorithm,
                counter, registration_counter, authenticator_version, is_active, created_at, attestation,
                picture_displays)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    key.id, key.deviceID, key.accountID, key.aaid, key.keyID, publicKey, key.keyFormat,
                    key.algorithm, key.counter, key.registrationCounter, key.authenticatorVersion, key.isActive,
                    key.createdAt.milliseconds, attestation, displays,
                ])
        }
    }

    /// Advances a counter, if the key is active, its account is not locked, and its device's activation is not disabled.
    /// One statement does both, so nothing can come between the check and the change. Throws `notFound` if the key does
    /// not exist, `forbidden` if a condition does not hold, and `conflict` if the counter does not advance.
    func advance(_ advance: CounterAdvance, at now: Timestamp) throws {
        try self.run(
            .composed(
                """
                UPDATE credential SET counter = ?1, last_used_at = ?2
                WHERE id = ?3 AND is_active = 1 AND (counter < ?1 OR (counter = 0 AND ?1 = 0))
                AND EXISTS (SELECT 1 FROM account WHERE account.id = account_id AND is_locked = 0)
                AND NOT EXISTS (\(Self.disabledActivation))
                """), [advance.counter, now.milliseconds, advance.credentialID])
        try KeyRefusal.checkAdvance(isTaken: self.hasChangedOneRow, mayBeUsed: self.mayBeUsed(advance.credentialID))
    }

    /// Returns `true` if a key is active and its account is not locked; `nil` if the key does not exist.
    private func mayBeUsed(_ credential: String) throws -> Bool? {
        try self.row(
            .composed(
                """
                SELECT is_active = 1 AND is_locked = 0 AND NOT EXISTS (\(Self.disabledActivation)) AS is_usable
                FROM credential JOIN account ON account.id = account_id WHERE credential.id = ?
                """), [credential])?.flag("is_usable")
    }

    /// The disabled activation of a key's device: an activation that wrong factors have disabled, or that a disowned
    /// change has added. While the last attempt is being judged, the activation is not disabled.
    private static let disabledActivation = """
        SELECT 1 FROM activation
        WHERE activation.device_id = credential.device_id AND is_permanent = 1 AND reserved_at IS NULL
        """

    /// Lets a device and its keys authenticate. Throws `conflict` if the device does not exist.
    func activateDevice(id: String) throws {
        try self.run("UPDATE device SET is_active = 1 WHERE id = ?", [id])
        try KeyRefusal.checkActivation(isDeviceThere: self.hasChangedOneRow)
        try self.run("UPDATE credential SET is_active = 1 WHERE device_id = ?", [id])
    }

    /// Deletes a device together with its keys; `false` if the device does not exist.
    func deleteDevice(id: String) throws -> Bool {
        try self.deleteAnswers(of: id)
        try self.run("DELETE FROM device WHERE id = ?", [id])
        return self.hasChangedOneRow
    }
}

extension SQLConnection {
    /// Refuses a user name of which other accounts have spellings, each by its exact bytes. Throws ``StoreError``
    /// `conflict`.
    func refuseColliding(_ username: AccountName?, for account: String, _ sealing: Sealing) throws {
        try self.require(
            "SELECT NOT EXISTS (SELECT 1 FROM account WHERE colliding_code = ? AND id <> ?)",
            [username.map { sealing.usernameCode($0) }, account],
            orThrow: StoreError(.conflict, "accounts have other spellings of the user name"))
    }
}
