import Foundation
import Records
import SQLStore
import SQLiteStore
import Testing
import _Primitives

/// What a store of the backup tests has of activations and identity sessions.
struct BackupActivations {
    let store: SQLStore

    private static let now = Timestamp(seconds: 1_800_000_000)
    static let root = SecretBytes([UInt8](repeating: 0x77, count: 32))

    private static func event(_ kind: String) -> AuditEvent {
        AuditEvent(AuditEvent.Kind(rawValue: kind), at: self.now)
    }

    /// Reports a device as lost.
    func rest(_ device: String, of account: String) async throws {
        let isRested = try await self.store.restDevice(
            LostDeviceReport(
                deviceID: device, accountID: account, audit: Self.event("device-rested"),
                notice: NoticeRecord(
                    id: "rested", accountID: account, kind: .deviceRested, at: Self.now, subject: "Phone")))
        #expect(isRested)
    }

    private static func offer(_ id: String, of account: String) -> OfferRecord {
        var offer = Self.bareOffer(id, of: account)
        offer.letter = "the code of \(id)"
        return offer
    }

    private static func bareOffer(_ id: String, of account: String) -> OfferRecord {
        OfferRecord(
            id: id, accountID: account, claimDigest: [1], pinKey: [2], pinParameters: "{}", name: "Phone \(id)",
            challenge: "challenge", createdAt: self.now, expiresAt: self.now + .seconds(60))
    }

    static func sealingKey(_ id: String, at moment: Timestamp = Self.now) -> SealingKeyRecord {
        SealingKeyRecord(
            id: id, privateKey: SecretBytes([UInt8](repeating: 0x55, count: 32)), createdAt: moment,
            erasedAt: moment + .seconds(60))
    }

    /// What lives for minutes or days: an offer, an answer, a session's progress, and a key to seal to. And the root, which
    /// stays.
    func begin(account: String, session: String) async throws {
        try await self.store.offer(
            Self.offer("offer", of: account), replacing: false, limit: nil, audit: Self.event("offered"))
        _ = try await self.store.step(offer: "offer", request: nil) { _ in
            var change = OfferChange()
            change.answer = GivenAnswer(
                caller: "a:offer", request: "1", requestHash: [3], answer: [4], keptUntil: Self.now + .seconds(60))
            return (change, ())
        }
        _ = try await self.store.change(.id(session)) { record in
            record.progress = [5]
            return CeremonyChange()
        }
        _ = try await self.store.followSealingKeys(
            by: Self.sealingKey("sealing-key"), unlessMadeSince: Self.now, at: Self.now)
        _ = try await self.store.identityRoot(orElse: Self.root, audit: Self.event("root"))
    }

    /// Before the backup: an account with two activations.
    func activate() async throws {
        try await self.store.createAccount(
            AccountRecord(id: "holder", username: "holder", displayName: nil, createdAt: Self.now),
            audit: Self.event("account-created"))
        for id in ["disabled", "rested"] {
            try await self.store.offer(
                Self.offer(id, of: "holder"), replacing: false, limit: nil, audit: Self.event("offered"))
            let device = DeviceRecord(
                id: id, accountID: "holder", name: "Phone \(id)", isActive: true, createdAt: Self.now)
            _ = try await self.store.step(offer: id, request: nil) { offer in
                offer.state = .enrolled
                var change = OfferChange()
                change.enrolled = (
                    ActivationRecord(device: device, signingKey: [6], encryptionKey: [7], pinVersion: 1), []
                )
                return (change, ())
            }
        }
        try await self.set("rested", LockoutRecord(failuresInARow: 4, failures: [Self.now]))
    }

    private func set(_ activation: String, _ lockout: LockoutRecord) async throws {
        try await self.store.createCeremony(
            CeremonyRecord(
                id: "session-\(activation)-\(lockout.failuresInARow)", kind: .identity, createdAt: Self.now,
                expiresAt: Self.now, detail: CeremonyDetail()), tokens: [], audit: nil)
        let step = try await self.store.step(
            session: "session-\(activation)-\(lockout.failuresInARow)", activation: activation, tokenDigest: nil,
            request: nil
        ) { scene in
            scene.activation.lockout = lockout
            return (IdentityChange(), true)
        }
        guard case .decided = step else {
            Issue.record("no attempt of \(activation)")
            return
        }
    }

    /// After the backup: one activation is disabled, and the other has had more attempts, and one that was right.
    func attempt() async throws {
        try await self.set(
            "disabled",
            LockoutRecord(
                failuresInARow: 10, failures: Array(repeating: Self.now, count: 10),
                lockedUntil: Self.now + .seconds(60), isPermanent: true))
        try await self.set("rested", LockoutRecord(failuresInARow: 0, failures: [Self.now, Self.now]))
    }

    /// After a restore.
    func expectAttempts(isDisabled: Bool) async throws {
        let disabled = try await self.store.activation(id: "disabled")?.lockout
        #expect(disabled?.isPermanent == isDisabled && disabled?.failuresInARow == 10, "what it has cost stays")
        #expect(disabled?.failures.count == 10 && disabled?.lockedUntil == Self.now + .seconds(60))
        let rested = try await self.store.activation(id: "rested")?.lockout
        #expect(rested?.isPermanent == false && rested?.failuresInARow == 4 && rested?.failures.count == 2)
        #expect(rested?.lockedUntil == nil)
    }
}
