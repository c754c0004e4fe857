import GRDB
import Store
import _Primitives

/// What of a table's rows the server changes, and by which entries of the audit trail that shows.
///
/// A restore takes these columns over from the database that it replaces, each where a later entry tells of its change.
/// Every other difference was made by somebody who could write the database, and is named and not taken over: a secret or
/// a redirect address of theirs would outlive the restore that was to get rid of them.
struct EditableTable: Sendable {
    /// Who made a difference.
    enum Author { case server, somebodyElse }

    let name: String
    /// The column that people know a row by.
    let title: String
    /// Each column that an operation changes, with the entries that tell of it.
    let editable: [(column: String, entries: [AuditEvent.Kind])]
    /// Columns that the restore looks at elsewhere.
    let passedOver: Set<ExactText>
    /// Whether `entry` is about the row `theirs`, in SQL.
    let isAbout: String

    /// An operation that changes more of a client adds its columns here.
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

    /// Whatever an operator changes of another provider leaves one kind of entry.
    static let providers = EditableTable(
        name: "upstream_provider", title: "title",
        editable: [
            "title", "authorization_endpoint", "token_endpoint", "userinfo_endpoint", "client_id", "authentication",
            "secret", "scopes", "levels", "usual_level", "newcomers", "email_domains", "subject_claim",
            "level_requests", "level_claim", "level_hint", "signs_out",
        ].map { ($0, [.providerChanged]) }, passedOver: [],
        isAbout: "(entry.detail = theirs.id OR substr(entry.detail, 1, length(theirs.id) + 1) = theirs.id || ' ')")

    /// What an operator changes of a service of personalised identities.
    static let services = EditableTable(
        name: "service", title: "id", editable: [("profile", [.serviceChanged])], passedOver: [],
        isAbout: "entry.detail = theirs.id")

    /// What an operator changes of an organisation.
    static let organisations = EditableTable(
        name: "organisation", title: "name", editable: [("name", [.organisationRenamed])], passedOver: [],
        isAbout: "entry.detail = theirs.id")

    /// A client that is to prove itself in another way has no secret any more.
    private static let endsSecret: [AuditEvent.Kind] = [.clientSecretRotated, .clientAuthenticationChanged]

    /// What a service is told of a person has changed.
    private static let changesPerson: [AuditEvent.Kind] = [
        .accountEmailChanged, .accountPhoneChanged, .accountAddressChanged, .accountProfileChanged, .accountRenamed,
        .accountDisplayNameChanged,
    ]

    /// The column of which no two rows have the same.
    private static let uniqueColumn = "username_code"

    /// An operation that changes more of an account adds its columns here.
    static let accounts = EditableTable(
        name: "account", title: "username",
        editable: [
            ("email", [.accountEmailChanged]), ("email_verified", [.accountEmailChanged]),
            ("email_code", [.accountEmailChanged]),
            ("phone", [.accountPhoneChanged]), ("phone_verified", [.accountPhoneChanged]),
            ("postal_address", [.accountAddressChanged]), ("profile", [.accountProfileChanged]),
            ("username", [.accountRenamed]), (Self.uniqueColumn, [.accountRenamed]),
            ("display_name", [.accountDisplayNameChanged]), ("updated_at", Self.changesPerson),
        ],
        passedOver: ["is_locked", "locked_at"], isAbout: "entry.account_id = theirs.id")

    /// The rows of both databases that differ by somebody's doing: identifier and title.
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

    /// The statements that take over what the server has changed.
    func carryOver(_ db: Database) throws -> [String] {
        try self.carriedColumns(db).flatMap { column, entries in
            func update(_ value: String) -> String {
                """
                UPDATE OR IGNORE main.\(self.name) AS ours SET \(column) = \(value) FROM replaced.\(self.name) AS theirs
                WHERE theirs.id = ours.id AND ours.\(column) IS NOT theirs.\(column) AND \(self.told(entries))
                """
            }
            // Of two rows the one may have what was the other's: first neither has it.
            return (column == Self.uniqueColumn ? [update("randomblob(32)")] : []) + [update("theirs.\(column)")]
        }
    }

    private func told(_ entries: [AuditEvent.Kind]) -> String {
        ReplacedRows.told(entries, where: self.isAbout)
    }

    /// One of the databases may be older and lack a column.
    private func carriedColumns(_ db: Database) throws -> [(column: String, entries: [AuditEvent.Kind])] {
        let shared = try ReplacedRows.columns(of: self.name, db)
        return self.editable.filter { shared.contains($0.column) }
    }
}
