import Records
import Sealing
import _Primitives

/// The rows of accounts.
struct AccountRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Sets or removes an account's e-mail address, with the effects that follow; `false` if the account does not exist.
    @discardableResult
    func setEmail(
        _ email: AccountEmail?, accountID id: String, at moment: Timestamp, _ sealing: Sealing
    ) throws -> Bool {
        let former = try self.db.row("SELECT email, email_verified FROM account WHERE id = ?", [id]).flatMap { row in
            try row.optionalBytes("email").map {
                AccountEmail(
                    address: try sealing.openText($0, purpose: .email, row: id),
                    isVerified: try row.flag("email_verified"))
            }
        }
        try self.db.run(
            "UPDATE account SET email = ?, email_verified = ?, email_code = ?, updated_at = ? WHERE id = ?",
            [
                try sealing.email(email, account: id), email?.isVerified ?? false,
                email.map { sealing.emailCode($0.address) }, moment.milliseconds, id,
            ])
        let isKnown = self.db.hasChangedOneRow
        for effect in FirstAddressEffect.effects(of: email, after: former) {
            switch effect {
            case .endLinks: try MailedLinkRows(self.db).deleteMailedLinks(ofAccount: id)
            case .withdraw(let address):
                try AdditionalEmailRows(self.db).withdrawVerification(of: address, accountID: id, sealing)
            }
        }
        return isKnown
    }

    /// Confirms an address of an account, and spends the links that confirm the address. Returns `nil` if a further
    /// address is gone.
    func confirm(
        _ confirmed: ConfirmedAddress, values: Int, at moment: Timestamp, _ sealing: Sealing
    ) throws -> AddressConfirmation? {
        switch confirmed {
        case .first(let email, let account):
            try self.setEmail(email, accountID: account, at: moment, sealing)
            try MailedLinkRows(self.db).spendConfirmations(of: nil, accountID: account)
            return .complete
        case .further(let address, let account):
            try MailedLinkRows(self.db).spendConfirmations(of: address, accountID: account)
            return try AdditionalEmailRows(self.db).confirm(
                email: address, accountID: account, values: values, at: moment, sealing)
        }
    }

    /// Writes a changed part of an account's row, or the event of the change.
    func change(_ change: AccountNamesChange, ofAccount id: String, _ sealing: Sealing) throws {
        switch change {
        case .username(let username):
            try self.refuseColliding(username, for: id, sealing)
            try self.db.run(
                "UPDATE account SET username_code = ?, colliding_code = NULL, username = ? WHERE id = ?",
                [
                    sealing.usernameCode(username, account: id), try sealing.username(username, account: id), id,
                ])
        case .displayName(let name):
            try self.db.run(
                "UPDATE account SET display_name = ? WHERE id = ?",
                [
                    try name.map { try sealing.seal($0, purpose: .displayName, row: id) }, id,
                ])
        case .updatedAt(let moment):
            try self.db.run("UPDATE account SET updated_at = ? WHERE id = ?", [moment.milliseconds, id])
        case .audit(let event): try AuditRows(self.db).appendAudit(event, sealing)
        }
    }

    /// Adds an account within the present step.
    func insert(_ account: AccountRecord, _ sealing: Sealing) throws {
        try self.refuseColliding(account.username, for: account.id, sealing)
        let displayName = try account.displayName.map {
            try sealing.seal($0, purpose: .displayName, row: account.id)
        }
        try self.db.run(
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
        try self.db.row(
            .composed("SELECT \(AccountRecord.columns) FROM account WHERE \(AccountRecord.hasName)"),
            sealing.usernameCodes(username)
        ).map { try AccountRecord($0, sealing) }
    }

    private static let accountQuery = SQLText.once(
        "SELECT \(AccountRecord.columns) FROM account WHERE id = ?")

    func account(id: String, _ sealing: Sealing) throws -> AccountRecord? {
        try self.db.row(Self.accountQuery, [id]).map { try AccountRecord($0, sealing) }
    }

    /// Refuses a user name of which other accounts have spellings, each by its exact bytes. Throws ``StoreError``
    /// `conflict`.
    private func refuseColliding(_ username: AccountName?, for account: String, _ sealing: Sealing) throws {
        try self.db.require(
            "SELECT NOT EXISTS (SELECT 1 FROM account WHERE colliding_code = ? AND id <> ?)",
            [username.map { sealing.usernameCode($0) }, account],
            orThrow: StoreError(.conflict, "accounts have other spellings of the user name"))
    }

    /// Returns the document of ``InventedAccountStore``.
    func inventedAccounts() throws -> String? {
        try self.db.text("SELECT document FROM invented_accounts")
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
