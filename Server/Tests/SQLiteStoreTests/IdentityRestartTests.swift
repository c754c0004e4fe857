import Foundation
import Records
import SQLStore
import SQLiteStore
import Sealing
import Testing
import UAF
import _Primitives

@Suite("Identity sessions (decisions 60 and 66) outlast the end of the process that began them")
struct IdentityRestartTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    private static func event() -> AuditEvent { AuditEvent(AuditEvent.Kind(rawValue: "test"), at: self.now) }

    @Test("Session, activation, offer, answers and keys are there after a restart, also under another key")
    func allOfItIsThere() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/countersign-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (first, second) = (KeyEncryptionKey(), KeyEncryptionKey())
        let before = try SQLStore(folder: folder, key: first)
        try await before.createAccount(
            AccountRecord(id: "alice", username: "alice", displayName: nil, createdAt: Self.now), audit: Self.event())
        let activations = BackupActivations(store: before)
        try await activations.activate()
        let request = RequestName(caller: "rested", request: "jti", hash: [1])
        var session = CeremonyRecord(
            id: "session", kind: .identity, createdAt: Self.now, expiresAt: Self.now + .seconds(60),
            detail: CeremonyDetail(service: "Bank"))
        session.progress = Array("{\"state\":\"created\"}".utf8)
        let token = DispatchTokenRecord(
            digest: [UInt8](repeating: 7, count: 32), channel: .qrCode, expiresAt: Self.now + .seconds(60))
        let answer = GivenAnswer(
            caller: "rested", request: "jti", requestHash: [1], answer: [2], keptUntil: Self.now + .seconds(60))
        let begun = try await before.begin(session, token: token, request: request, answer: answer, audit: nil)
        guard case .decided = begun else {
            Issue.record("the session was not begun")
            return
        }
        try await activations.begin(account: "alice", session: "session")
        let scene = try #require(
            try await before.scene(session: "session", activation: "rested", tokenDigest: token.digest))
        let keys = try await before.identitySealingKeys()
        await before.close()

        let after = try SQLStore(folder: folder, keys: KeyRing(second, former: [first]))
        for _ in 0..<2 {
            let found = try #require(
                try await after.scene(session: "session", activation: "rested", tokenDigest: token.digest))
            #expect(found.ceremony == scene.ceremony && found.ceremony.progress == [5])
            #expect(found.activation == scene.activation && found.token == token && found.token == scene.token)
            guard case .again([2])? = try await after.answer(to: request) else {
                Issue.record("the answer is not there")
                return
            }
            #expect(try await after.offer(id: "offer")?.name == "Phone offer")
            #expect(try await after.identitySealingKeys() == keys && keys.count == 1)
            #expect(
                try await after.identityRoot(orElse: SecretBytes([1]), audit: Self.event()) == BackupActivations.root)
            let resealed = try await after.reseal(audit: { Self.event() }, told: { _ in })
            #expect(resealed.unreadable == 0)
        }
        await after.close()
    }
}
