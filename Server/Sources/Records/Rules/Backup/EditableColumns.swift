package import _Primitives

/// A column that an operation of the server changes.
package struct EditableColumn: Sendable {
    /// The name of the column.
    package let name: ExactText
    /// The entries of the audit trail for a change of the column.
    package let entries: [AuditEvent.Kind]
    /// `true` if no two rows have the same value.
    package let isUnique: Bool
}

/// The columns of a table that the server changes, with the entries of the audit trail for each change.
///
/// A restore copies these columns from the replaced database, each column only if a later entry records the change.
/// Every other difference was made by somebody with write access to the database. The restore names the difference and
/// does not copy the value: the intruder's secret or redirect address would outlive the restore.
package struct EditableColumns: Sendable {
    /// The name of the table.
    package let table: String
    private let editable: [EditableColumn]
    /// The columns in which a difference is no change of the database by hand: another part of the restore compares
    /// them, or a sign-in writes them without an entry.
    private let passedOver: Set<ExactText>

    private init(
        _ table: String, _ editable: [(name: ExactText, entries: [AuditEvent.Kind])], unique: ExactText? = nil,
        passedOver: Set<ExactText> = []
    ) {
        self.table = table
        self.editable = editable.map { EditableColumn(name: $0, entries: $1, isUnique: $0 == unique) }
        self.passedOver = passedOver
    }

    /// Returns the columns whose change counts if an entry of the trail records the change.
    package func carried(_ shared: SharedColumns) -> [EditableColumn] {
        let names = Set(shared.columns(of: self.table).map(ExactText.init))
        return self.editable.filter { names.contains($0.name) }
    }

    /// Returns the columns in which every difference is a change by `author`: no operation of the server changes them.
    package func unexplained(_ shared: SharedColumns, by author: BackupDifference.Author) -> [String] {
        switch author {
        case .server: []
        case .somebodyElse:
            shared.columns(of: self.table, except: self.passedOver.union(self.editable.map(\.name)))
        }
    }

    /// The columns of clients. An operation that changes further columns of a client adds them here.
    package static let clients = EditableColumns(
        "oauth_client",
        [
            ("id_token_algorithm", [.clientAlgorithmChanged]), ("code_binding", [.clientPKCEChanged]),
            ("party", [.clientPartyChanged]), ("may_deregister", [.clientMayDeregister, .clientMayNotDeregister]),
            ("name", [.clientRenamed]),
            ("redirect_uris", [.clientAddressesChanged]), ("post_logout_redirect_uris", [.clientAddressesChanged]),
            ("client_uri", [.clientAddressesChanged]),
            ("grant_types", [.clientGrantsChanged]), ("authentication_method", [.clientAuthenticationChanged]),
            ("key_set", [.clientAuthenticationChanged]), ("token_settings", [.clientTokensChanged]),
            ("sign_in_methods", [.clientSignInMethodsChanged]),
            ("security_profile", [.clientProfileChanged]), ("requires_signed_requests", [.clientProfileChanged]),
            ("requires_pushed_requests", [.clientProfileChanged]), ("default_max_age", [.clientProfileChanged]),
            ("matches_numbers", [.clientProfileChanged]),
            ("origins", [.clientProfileChanged]), ("detail_types", [.clientProfileChanged]),
            ("signs_in_directly", [.clientProfileChanged]),
            ("backchannel_logout_uri", [.clientLogoutChanged]),
            ("backchannel_logout_session_required", [.clientLogoutChanged]),
            ("status_uri", [.clientStatusAddressChanged]),
            ("key_set_address", [.clientAuthenticationChanged]),
            ("certificate_name", [.clientAuthenticationChanged]),
            ("assertion_audience", [.clientAuthenticationChanged]),
            ("backchannel_mode", [.clientAnswersChanged]), ("backchannel_address", [.clientAnswersChanged]),
            ("is_disabled", [.clientDisabled, .clientEnabled]), ("sign_in_service", [.clientSignInServiceChanged]),
            ("secret_digest", Self.endsSecret), ("former_secret_digest", Self.endsSecret),
            ("former_secret_until", Self.endsSecret),
        ])

    /// The columns of other providers. Every change by an operator leaves the same kind of entry.
    package static let providers = EditableColumns(
        "upstream_provider",
        [
            "title", "authorization_endpoint", "token_endpoint", "userinfo_endpoint", "client_id", "authentication",
            "secret", "scopes", "levels", "usual_level", "newcomers", "email_domains", "subject_claim",
            "level_requests", "level_claim", "level_hint", "signs_out",
        ].map { ($0, [.providerChanged]) })

    /// The columns of a service of personalised identities that an operator changes.
    package static let services = EditableColumns("service", [("profile", [.serviceChanged])])

    /// The columns of an organisation that an operator changes.
    package static let organisations = EditableColumns(
        "organisation", [("name", [.organisationRenamed])])

    /// The columns of accounts. An operation that changes further columns of an account adds them here.
    package static let accounts = EditableColumns(
        "account",
        [
            ("email", [.accountEmailChanged]), ("email_verified", [.accountEmailChanged]),
            ("email_code", [.accountEmailChanged]),
            ("phone", [.accountPhoneChanged]), ("phone_verified", [.accountPhoneChanged]),
            ("postal_address", [.accountAddressChanged]), ("profile", [.accountProfileChanged]),
            ("username", [.accountRenamed]), ("username_code", [.accountRenamed]),
            ("colliding_code", [.accountRenamed]),
            ("display_name", [.accountDisplayNameChanged]), ("updated_at", Self.changesPerson),
        ], unique: "username_code", passedOver: ["is_locked", "locked_at", "language"])

    /// The entries for operations that replace or remove a client's secret.
    private static let endsSecret: [AuditEvent.Kind] = [.clientSecretRotated, .clientAuthenticationChanged]

    /// The entries for changed attributes of a person that services receive.
    private static let changesPerson: [AuditEvent.Kind] = [
        .accountEmailChanged, .accountPhoneChanged, .accountAddressChanged, .accountProfileChanged, .accountRenamed,
        .accountDisplayNameChanged,
    ]
}

extension AuditEvent.Kind {
    /// The entries for changed roles or memberships of an account.
    package static let roleChanges: [Self] = [
        .roleAssigned, .roleRevoked, .rolesReset, .memberAdded, .memberRemoved, .inviteAccepted, .accountMerged,
    ]
    /// The entries for changed values or addresses of an account.
    package static let personalInformationChanges: [Self] = [
        .personalValueAdded, .personalValueChanged, .personalValueRemoved, .additionalEmailAdded,
        .additionalEmailChanged, .additionalEmailRemoved, .accountMerged,
    ]
}
