import PersonalInformation
public import Records
import UAF
import _Primitives

/// The store protocols for the rules about services, personal information, organisations and invitations.
public typealias IdentityStores = AccountStore & AdditionalEmailStore & AuditStore & AuthorizationStore & CeremonyStore
    & ClientStore & IdentityConsentStore & IdentityHistoryStore & InviteStore & OrganisationStore
    & PersonalInformationStore & RefreshStore
    & NoticeStore & ServiceStore & IdentityStore

func sampleClient(_ id: String) -> ClientRecord {
    ClientRecord(
        id: id, name: "The \(id)", redirectURIs: ["https://\(id).example/in"], postLogoutRedirectURIs: [],
        secretDigest: [UInt8](repeating: 9, count: 32), createdAt: .start, settings: ClientSettings())
}

/// Returns a profile with these roles. The roles before the `|` are default roles: `user|admin`.
func sampleProfile(
    _ roles: String = "user|admin", attributes: [PersonalAttribute] = []
) throws -> ServiceProfile {
    let matrix = try AuthenticatorMatrix([[.pin, .device], [.biometric, .device]])
    let kinds = roles.splitBytes(at: "|").map { $0.splitBytes(at: ",").filter { !$0.isEmpty } }
    return try ServiceProfile(
        roles: try kinds.enumerated().flatMap { index, names in
            try names.map {
                try ServiceRole(id: String($0), name: "As \($0)", factors: matrix, isDefault: index == 0)
            }
        }, attributes: Dictionary(uniqueKeysWithValues: attributes.map { ($0, .required) }))
}

/// Makes a client a service.
func addService(_ store: some ClientStore & ServiceStore, _ id: String, _ profile: ServiceProfile) async throws {
    try await store.addClient(sampleClient(id), limit: 99, audit: sampleAudit())
    try expect(try await store.setServiceProfile(profile, client: id, audit: sampleAudit()), "a client")
}

/// Returns an event of that kind about an account.
func event(_ kind: AuditEvent.Kind, _ account: String? = nil, at now: Timestamp = .start) -> AuditEvent {
    AuditEvent(kind, at: now, accountID: account, actor: "operator", detail: "detail")
}
