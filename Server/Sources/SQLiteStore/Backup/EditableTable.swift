import GRDB
import Records
import _Primitives

/// The columns of a table that the server changes, with the entries of the audit trail for each change.
///
/// A restore copies these columns from the replaced database, each column only if a later entry records the change.
/// Every other difference was made by somebody with write access to the database. The restore names the difference and
/// does not copy the value: the intruder's secret or redirect address would outlive the restore.
struct EditableTable: Sendable {
    /// The author of a difference.
    enum Author { case server, somebodyElse }

    let name: String
    /// The column by which people recognise a row.
    let title: String
    /// The columns that an operation changes, with the audit entries of the change.
    let editable: [(column: String, entries: [AuditEvent.Kind])]
    /// The columns that another part of the restore compares.
    let passedOver: Set<ExactText>
    /// The SQL condition for an `entry` about the row `theirs`.
    let isAbout: String

    /// The columns of clients. An operation that changes further columns of a client adds them here.
    static let clients = EditableTable(
        name: "oauth_client", title: "name",
        editable: [
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
            ("origins", [.clientProfileChanged]), ("detail_types", [.clientProfileChanged]),
            ("signs_in_directly", [.clientProfileChanged]),
            ("backchannel_logout_uri", [.clientLogoutChanged]),
            ("backchannel_logout_session_required", [.clientLogoutChanged]),
            ("key_set_address", [.clientAuthenticationChanged]),
            ("certificate_name", [.clientAuthenticationChanged]),
            ("assertion_audience", [.clientAuthenticationChanged]),
            ("backchannel_mode", [.clientAnswersChanged]), ("backchannel_address", [.clientAnswersChanged]),
            ("is_disabled", [.clientDisabled, .clientEnabled]), ("sign_in_service", [.clientSignInServiceChanged]),
            ("secret_digest", Self.endsSecret), ("former_secret_digest", Self.endsSecret),
            ("former_secret_until", Self.endsSecret),
        ], passedOver: [],
        isAbout: "(entry.detail = theirs.id OR substr(entry.detail, 1, length(theirs.id) + 1) = theirs.id || ' ')")

    /// The columns of other providers. Every change by an operator leaves the same kind of entry.
    static let providers = EditableTable(
        name: "upstream_provider", title: "title",
        editable: [
            "title", "authorization_endpoint", "token_endpoint", "userinfo_endpoint", "client_id", "authentication",
            "secret", "scopes", "levels", "usual_level", "newcomers", "email_domains", "subject_claim",
            "level_requests", "level_claim", "level_hint", "signs_out",
        ].map { ($0, [.providerChanged]) }, passedOver: [],
        isAbout: "(entry.detail = theirs.id OR substr(entry.detail, 1, length(theirs.id) + 1) = theirs.id || ' ')")

    /// The columns of a service of personalised identities that an operator changes.
    static let services = EditableTable(
        name: "service", title: "id", editable: [("profile", [.serviceChanged])], passedOver: [],
        isAbout: "entry.detail = theirs.id")

    /// The columns of an organisation that an operator changes.
    static let organisations = EditableTable(
        name: "organisation", title: "name", editable: [("name", [.organisationRenamed])], passedOver: [],
        isAbout: "entry.detail = theirs.id")

    /// The entries for operations that replace or remove a client's secret.
    private static let endsSecret: [AuditEvent.Kind] = [.clientSecretRotated, .clientAuthenticationChanged]

    /// The entries for changed attributes of a person that services receive.
    private static let changesPerson: [AuditEvent.Kind] = [
        .accountEmailChanged, .accountPhoneChanged, .accountAddressChanged, .accountProfileChanged, .accountRenamed,
        .accountDisplayNameChanged,
    ]

    /// The column in which no two rows have the same value.
    private static let uniqueColumn = "username_code"

    /// The columns of accounts. An operation that changes further columns of an account adds them here.
    static let accounts = EditableTable(
        name: "account", title: "username",
        editable: [
            ("email", [.accountEmailChanged]), ("email_verified", [.accountEmailChanged]),
            ("email_code", [.accountEmailChanged]),
            ("phone", [.accountPhoneChanged]), ("phone_verified", [.accountPhoneChanged]),
            ("postal_address", [.accountAddressChanged]), ("profile", [.accountProfileChanged]),
            ("username", [.accountRenamed]), (Self.uniqueColumn, [.accountRenamed]),
            ("colliding_code", [.accountRenamed]),
            ("display_name", [.accountDisplayNameChanged]), ("updated_at", Self.changesPerson),
        ],
        passedOver: ["is_locked", "locked_at"], isAbout: "entry.account_id = theirs.id")

    /// Returns a query for the rows of both databases that differ through `author`: identifier and title. `nil` if no
    /// column is left to compare.
    func changed(by author: Author, _ db: Database) throws -> String? {
        let editable = try self.carriedColumns(db)
        var differences = editable.map { column, entries in
            "(ours.\(column) IS NOT theirs.\(column) AND \(author == .server ? "" : "NOT ")\(self.told(entries)))"
        }
        if author == .somebodyElse {
            let others = try ReplacedRows.columns(of: self.name, db).filter { column in
                !self.passedOver.contains(ExactText(column)) && !editable.contains { $0.column == column }
            }
            differences += others.map { "ours.\($0) IS NOT theirs.\($0)" }
        }
        guard !differences.isEmpty else { return nil }
        return """
            SELECT ours.id AS id, ours.\(self.title) AS name FROM main.\(self.name) AS ours
            JOIN replaced.\(self.name) AS theirs ON theirs.id = ours.id
            WHERE \(differences.joined(separator: " OR ")) ORDER BY ours.rowid
            """
    }

    /// Returns the statements that copy the server's changes.
    func carryOver(_ db: Database) throws -> [String] {
        try self.carriedColumns(db).flatMap { column, entries in
            func update(_ value: String) -> String {
                """
                UPDATE OR IGNORE main.\(self.name) AS ours SET \(column) = \(value) FROM replaced.\(self.name) AS theirs
                WHERE theirs.id = ours.id AND ours.\(column) IS NOT theirs.\(column) AND \(self.told(entries))
                """
            }
            // A row may have another row's former value, so the column first gets a random value.
            return (column == Self.uniqueColumn ? [update("randomblob(32)")] : []) + [update("theirs.\(column)")]
        }
    }

    private func told(_ entries: [AuditEvent.Kind]) -> String {
        ReplacedRows.told(entries, where: self.isAbout)
    }

    /// Returns the columns that both databases have. One of the databases may be older and lack a column.
    private func carriedColumns(_ db: Database) throws -> [(column: String, entries: [AuditEvent.Kind])] {
        let shared = try ReplacedRows.columns(of: self.name, db)
        return self.editable.filter { shared.contains($0.column) }
    }
}
