import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// The code by which a subject of another provider is found.
    static let subjectCode = SealingPurpose("upstream subject code")
    /// A subject of another provider, bound to the link.
    static let linkSubject = SealingPurpose("upstream link subject")
}

enum LinkColumn: Int, TableColumn {
    static let table = "upstream_link"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, provider, issuer, subjectCode, subject, accountID, createdAt
}

/// The rows of links between accounts and identities of other providers.
struct UpstreamLinkRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    func account(linkedTo identity: UpstreamIdentity, _ sealing: Sealing) throws -> String? {
        try self.db.text(
            "SELECT account_id FROM upstream_link WHERE provider = ? AND issuer = ? AND subject_code = ?",
            identity.linkKey(sealing))
    }

    func insert(_ link: UpstreamLink, _ sealing: Sealing) throws {
        let identity = link.identity
        try self.db.insert(
            [
                LinkColumn.id: link.id, .provider: identity.provider, .issuer: identity.issuer,
                .subjectCode: sealing.code(identity.subject, purpose: .subjectCode),
                .subject: try sealing.seal(identity.subject, purpose: .linkSubject, row: link.id),
                .accountID: link.accountID, .createdAt: link.createdAt.milliseconds,
            ], by: LinkColumn.insertion)
    }

    /// Ends every link of an account, within the present step.
    func removeLinks(ofAccount id: String, at moment: Timestamp, _ sealing: Sealing) throws {
        let links = try self.db.texts("SELECT id FROM upstream_link WHERE account_id = ?", [id])
        try self.db.run("DELETE FROM upstream_link WHERE account_id = ?", [id])
        try AuditRows(self.db).record(
            links.map { AuditEvent(.identityUnlinked, at: moment, accountID: id, detail: $0) }, sealing)
    }
}

extension UpstreamIdentity {
    /// Returns the values by which a link with the identity is found: provider, issuer and code of the subject.
    func linkKey(_ sealing: Sealing) -> SQLValues {
        [self.provider, self.issuer, sealing.code(self.subject, purpose: .subjectCode)]
    }
}
