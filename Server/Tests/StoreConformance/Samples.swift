import Records
import UAF
import _Primitives

// Records that the checks share. Every value is different, so that a check detects a store that mixes two columns.

extension Timestamp {
    static let start = Timestamp(seconds: 1_800_000_000)
}

func sampleAccount(_ name: String = "alice") -> AccountRecord {
    AccountRecord(
        id: "account-\(name)", username: AccountName(stored: name), displayName: "\(name) Example",
        email: AccountEmail(address: "\(name)@post.example", isVerified: true),
        phone: AccountPhone(number: "+49\(name.utf8.count)", isVerified: true),
        address: PostalAddress(["locality": .string(name), "country": .string("DE")]),
        profile: PersonProfile(["given_name": .string(name)]), language: "de-CH", createdAt: .start)
}

func sampleAudit(_ kind: String = "sample", account: String? = nil) -> AuditEvent {
    AuditEvent(
        AuditEvent.Kind(rawValue: kind), at: .start, accountID: account, ceremonyID: "c", actor: "operator",
        detail: "1200")
}

func sampleRegistration(_ name: String = "phone", account: String = "account-alice", isActive: Bool = true)
    -> DeviceRegistration
{
    DeviceRegistration(
        device: DeviceRecord(
            id: "device-\(name)", accountID: account, name: "\(name) of \(account)", isActive: isActive,
            createdAt: .start),
        credentials: [
            CredentialRecord(
                id: "credential-\(name)", deviceID: "device-\(name)", accountID: account, aaid: "C516#0001",
                keyID: Array(name.utf8) + [UInt8](repeating: 7, count: 32), publicKey: [4] + Array(name.utf8),
                keyFormat: 256, algorithm: 1, counter: 5, registrationCounter: 2, authenticatorVersion: 3,
                attestation: [6] + Array(name.utf8), pictureDisplays: Array("[\(name)]".utf8), isActive: isActive,
                createdAt: .start)
        ])
}

func sampleCeremony(
    _ id: String = "ceremony", kind: CeremonyRecord.Kind = .authentication, reference: String? = nil,
    browser: [UInt8]? = nil, account: String? = nil, expiresAt: Timestamp = .start + .seconds(60)
) -> CeremonyRecord {
    CeremonyRecord(
        id: id, kind: kind, clientID: "client", reference: reference, browserDigest: browser, accountID: account,
        createdAt: .start, expiresAt: expiresAt,
        detail: CeremonyDetail(
            service: "Bank", origin: "https://bank.example", address: "192.0.2.1", browser: "A browser",
            browserID: "b", contentType: "text/plain", content: Array("Pay 1 EUR".utf8), policy: "hardware",
            client: "client"))
}

func sampleToken(_ byte: UInt8 = 1, channel: DispatchChannel = .qrCode) -> DispatchTokenRecord {
    DispatchTokenRecord(
        digest: [UInt8](repeating: byte, count: 32), channel: channel, expiresAt: .start + .seconds(60))
}

/// Adds an account and one device to a store.
func enrol(_ store: some AccountStore & CeremonyStore, _ name: String = "alice", isActive: Bool = true) async throws {
    try await store.createAccount(sampleAccount(name), audit: sampleAudit())
    try await addDevice(store, sampleRegistration("phone-\(name)", account: "account-\(name)", isActive: isActive))
}

/// Adds a device as the answer to a separate challenge.
func addDevice(_ store: some CeremonyStore, _ registration: DeviceRegistration) async throws {
    var change = CeremonyChange()
    change.registration = registration
    let isFirst = try await store.answer(
        AnsweredChallenge(digest: Array(registration.device.id.utf8), expiresAt: .start + .seconds(9)),
        change: change, at: .start)
    try expect(isFirst, "a new challenge is taken")
}

/// Returns the number of `true` results of `count` concurrent calls.
func winners(_ count: Int, _ body: @escaping @Sendable (Int) async throws -> Bool) async throws -> Int {
    try await withThrowingTaskGroup(of: Bool.self) { group in
        for index in 0..<count { group.addTask { try await body(index) } }
        return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
}
