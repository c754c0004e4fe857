package import Sealing
import _Primitives

/// A column with sealed values, and the row name that each value is bound to. A new key-encryption key uses this list
/// to find the values under a former key, and a restore uses the list to find equal values under two keys.
///
/// A sealed column that is missing here would stay under its key for ever, and its values would be lost with the key. A
/// test checks that every column with bytes is declared as sealed or as not sealed. The sealed values of ``StoreKeys``
/// are not listed here.
package struct SealedColumn: Sendable {
    /// A kind of row names that values are bound to.
    private struct RowName: Sendable {
        /// The columns that a name is made of, beside the table's key.
        var columns: [String] = []
        /// Returns the name of a row, from the row and the table's key.
        let name: @Sendable (_ row: SQLRow, _ key: String) throws -> String

        static let text = Self { row, key in try row.text(key) }
        static let number = Self { row, key in "\(try row.integer(key, as: Int64.self))" }
        static let digest = Self { row, key in Base64URL.encode(try row.bytes(key)) }
        /// The place of a public key: its row, account, device, AAID and key identifier.
        static let place = Self(columns: ["account_id", "device_id", "aaid", "key_id"]) { row, key in
            Sealing.place(
                ofKey: try row.text(key), account: try row.text("account_id"), device: try row.text("device_id"),
                aaid: try row.text("aaid"), keyID: try row.bytes("key_id"))
        }
        /// The place of a person's value: its row, account and attribute.
        static let value = Self(columns: ["account_id", "attribute"]) { row, key in
            Sealing.place(
                ofValue: try row.text(key), account: try row.text("account_id"), attribute: try row.text("attribute"))
        }
        /// The thing that a message is about.
        static let matter = Self(columns: ["matter"]) { row, _ in try row.text("matter") }
        /// The place of a consent: its session and account.
        static let consent = Self(columns: ["session", "account_id"]) { row, _ in
            Sealing.place(ofConsent: try row.text("session"), account: try row.text("account_id"))
        }
    }

    package let table: String
    package let name: String
    /// The table's key: the single column that orders the rows when the table is read page by page.
    package let key: String
    package let purpose: SealingPurpose
    private let rowName: RowName

    private init(
        _ table: String, _ name: String, _ purpose: SealingPurpose, by key: String = "id", _ rowName: RowName = .text
    ) {
        self.table = table
        self.name = name
        self.key = key
        self.purpose = purpose
        self.rowName = rowName
    }

    /// All sealed columns. A feature that seals a column adds the column here.
    package static let all: [SealedColumn] = [
        SealedColumn("account", "username", .username), SealedColumn("account", "display_name", .displayName),
        SealedColumn("account", "email", .email), SealedColumn("account", "phone", .phone),
        SealedColumn("account", "postal_address", .postalAddress), SealedColumn("account", "profile", .profile),
        SealedColumn("device", "name", .deviceName), SealedColumn("device", "push_address", .pushAddress),
        SealedColumn("device_identity", "signing_key", .deviceSigningKey, by: "device_id"),
        SealedColumn("device_identity", "encryption_key", .deviceEncryptionKey, by: "device_id"),
        SealedColumn("attested_app", "public_key", .attestedAppKey, by: "device_id"),
        SealedColumn("credential", "public_key", .boundPublicKey, .place),
        SealedColumn("credential", "attestation", .attestation),
        SealedColumn("credential", "picture_displays", .pictureDisplays),
        SealedColumn("account_change", "addition", .changeAddition),
        SealedColumn("account_change", "words", .changeWords),
        SealedColumn("rested_upstream_link", "subject", .linkSubject),
        SealedColumn("rested_account_email", "address", .additionalEmail),
        SealedColumn("rested_personal_value", "value", .personalValue, .value),
        SealedColumn("rested_personal_value", "alias", .personalAlias, .value),
        SealedColumn("rested_password", "hash", .passwordHash, by: "account_id"),
        SealedColumn("rested_totp", "secret", .totpSecret, by: "account_id"),
        SealedColumn("ceremony", "detail", .ceremonyDetail), SealedColumn("ceremony", "progress", .ceremonyProgress),
        SealedColumn("message", "content", .messageContent, by: "number", .matter),
        SealedColumn("activation", "signing_key", .activationSigningKey, by: "device_id"),
        SealedColumn("activation", "encryption_key", .activationEncryptionKey, by: "device_id"),
        SealedColumn("pending_activation", "pin_key", .offeredPinKey),
        SealedColumn("pending_activation", "name", .offeredName),
        SealedColumn("pending_activation", "letter", .offeredLetter),
        SealedColumn("identity_answer", "answer", .identityAnswer),
        SealedColumn("identity_consent", "evidence", .identityConsent, by: "number", .consent),
        SealedColumn("receipt", "evidence", .receipt, by: "number", .consent),
        SealedColumn("identity_root", "sealed", .identityRoot, .number),
        SealedColumn("identity_sealing_key", "sealed", .identitySealingKey),
        SealedColumn("audit", "address", .auditAddress, by: "number", .number),
        SealedColumn("notice", "subject", .noticeSubject),
        SealedColumn("password", "hash", .passwordHash, by: "account_id"),
        SealedColumn("totp", "secret", .totpSecret, by: "account_id"),
        SealedColumn("password_sign_in", "browser", .passwordSignInBrowser, by: "request"),
        SealedColumn("password_sign_in", "address", .passwordSignInAddress, by: "request"),
        SealedColumn("oauth_secret", "sealed", .subjectSecret, .number),
        SealedColumn("oauth_key", "sealed", .signingKey),
        SealedColumn("oauth_request", "wishes", .requestWishes),
        SealedColumn("oauth_pushed_request", "parameters", .pushedRequest, by: "digest", .digest),
        SealedColumn("oauth_device_code", "shown_code", .shownDeviceUserCode, by: "digest", .digest),
        SealedColumn("oauth_backchannel_request", "details", .backchannelDetails),
        SealedColumn("oauth_backchannel_request", "notification", .backchannelNotification),
        SealedColumn("oauth_authentication", "browser", .authenticationBrowser),
        SealedColumn("oauth_authentication", "address", .authenticationAddress),
        SealedColumn("oauth_grant", "claims", .grantClaims),
        SealedColumn("oauth_grant", "details", .authorizationDetails),
        SealedColumn("oauth_consent", "claims", .consentClaims),
        SealedColumn("oauth_consent", "browser", .consentBrowser),
        SealedColumn("oauth_consent", "address", .consentAddress),
        SealedColumn("upstream_provider", "secret", .providerSecret),
        SealedColumn("upstream_link", "subject", .linkSubject),
        SealedColumn("upstream_trip", "verifier", .tripVerifier, by: "place"),
        SealedColumn("upstream_trip", "nonce", .tripNonce, by: "place"),
        SealedColumn("upstream_arrival", "subject", .arrivalSubject, by: "place"),
        SealedColumn("finished_sign_in", "browser", .finishedSignInBrowser, by: "place"),
        SealedColumn("finished_sign_in", "address", .finishedSignInAddress, by: "place"),
        SealedColumn("personal_value", "value", .personalValue, .value),
        SealedColumn("personal_value", "alias", .personalAlias, .value),
        SealedColumn("invite", "email", .invitedEmail),
        SealedColumn("account_email", "address", .additionalEmail),
    ]

    /// The columns that a query selects to reseal a row's value.
    package var selection: String {
        ([self.key, self.name] + self.rowName.columns).map { "\(self.table).\($0)" }.joined(separator: ", ")
    }

    /// Returns the value of a row with the columns of ``selection``, opened and sealed under the newest key; `nil` if
    /// the value does not open.
    func sealedAnew(_ row: SQLRow, _ sealing: Sealing) throws -> [UInt8]? {
        let rowName = try self.rowName(of: row)
        guard let bytes = try? sealing.open(row.bytes(self.name), purpose: self.purpose, row: rowName) else {
            return nil
        }
        return try sealing.seal(bytes, purpose: self.purpose, row: rowName)
    }

    /// Returns the row name that the row's value is bound to.
    package func rowName(of row: SQLRow) throws -> String { try self.rowName.name(row, self.key) }
}
