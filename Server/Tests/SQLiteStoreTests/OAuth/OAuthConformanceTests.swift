import Foundation
import GRDB
import JOSE
import Records
import SQLStore
import SQLiteStore
import Sealing
import StoreConformance
import Testing
import _Primitives

@Suite("The duties of the OpenID provider's stores, kept by SQLite")
struct OAuthConformanceTests {
    private let folder = NSTemporaryDirectory() + "oauth-" + UUID().uuidString
    private let key = KeyEncryptionKey()

    @Test("keeps the rule", arguments: OAuthConformance.checks)
    func keepsTheRule(check: ConformanceCheck<OAuthConformance.Subject>) async throws {
        let store = try SQLStore(folder: self.folder, key: self.key)
        try await check.run(store)
        await store.close()
        try FileManager.default.removeItem(atPath: self.folder)
    }

    @Test("keeps the rule of consents", arguments: ConsentConformance.checks)
    func keepsTheRuleOfConsents(check: ConformanceCheck<ConsentConformance.Subject>) async throws {
        let store = try SQLStore(folder: self.folder, key: self.key)
        try await check.run(store)
        await store.close()
        try FileManager.default.removeItem(atPath: self.folder)
    }

    private static let keys = ProviderKeys(
        subjectSecret: SecretBytes([UInt8](repeating: 0xA5, count: 32)),
        signingKeys: [
            SigningKeyRecord(
                id: "k", algorithm: .es256, privateKey: SecretBytes([UInt8](repeating: 0x5A, count: 32)),
                createdAt: Timestamp(seconds: 1), retiredAt: nil)
        ])

    @Test func keysOutliveARestartAndLieSealed() async throws {
        var store = try SQLStore(folder: self.folder, key: self.key)
        #expect(try await store.providerKeys(orFirst: Self.keys) == Self.keys)
        await store.close()
        for file in try FileManager.default.contentsOfDirectory(atPath: self.folder) {
            let data = try #require(FileManager.default.contents(atPath: self.folder + "/" + file))
            #expect(data.range(of: Data(repeating: 0xA5, count: 32)) == nil)
            #expect(data.range(of: Data(repeating: 0x5A, count: 32)) == nil)
        }
        store = try SQLStore(folder: self.folder, key: self.key)
        let other = ProviderKeys(subjectSecret: SecretBytes([1]), signingKeys: [])
        #expect(try await store.providerKeys(orFirst: other) == Self.keys)
        await store.close()
        try FileManager.default.removeItem(atPath: self.folder)
    }

    @Test("what a person types for a device lies sealed, to its own row, and is found by no plain hash")
    func deviceCodesAreSealed() async throws {
        var store = try SQLStore(folder: self.folder, key: self.key)
        let userCode = try #require(TypedCode(typed: "WXYZ-7890", letters: 8))
        try await store.addDeviceCode(
            DeviceCodeRecord(
                digest: [UInt8](repeating: 0x3C, count: 32), userCode: userCode, client: "c", scope: "openid",
                interval: .seconds(5), expiresAt: Timestamp(seconds: 9)), keptUntil: Timestamp(seconds: 10))
        await store.close()
        let secrets = [Data("WXYZ7890".utf8), Data("WXYZ-7890".utf8), Data(Sealing.digest(ofSecret: "WXYZ7890"))]
        for file in try FileManager.default.contentsOfDirectory(atPath: self.folder) {
            let data = try #require(FileManager.default.contents(atPath: self.folder + "/" + file))
            for secret in secrets { #expect(data.range(of: secret) == nil) }
        }
        let queue = try DatabaseQueue(path: self.folder + "/countersign.sqlite")
        try await queue.write {
            try $0.execute(
                sql: "UPDATE oauth_device_code SET digest = ?", arguments: [Data(repeating: 0x3D, count: 32)])
        }
        try queue.close()
        store = try SQLStore(folder: self.folder, key: self.key)
        await #expect(throws: StoreError(.corrupt, "")) { try await store.deviceCode(userCode: userCode) }
        await store.close()
        try FileManager.default.removeItem(atPath: self.folder)
    }

    @Test("what a client pushes names people: it lies sealed, to its own row")
    func pushedRequestsAreSealed() async throws {
        var store = try SQLStore(folder: self.folder, key: self.key)
        let digest = [UInt8](repeating: 0x3C, count: 32)
        let pushed = PushedRequestRecord(
            digest: digest, client: "c", parameters: "login_hint=alice-in-the-clear", expiresAt: Timestamp(seconds: 9))
        try await store.addPushedRequest(pushed)
        await store.close()
        for file in try FileManager.default.contentsOfDirectory(atPath: self.folder) {
            let data = try #require(FileManager.default.contents(atPath: self.folder + "/" + file))
            #expect(data.range(of: Data("alice-in-the-clear".utf8)) == nil)
        }
        let queue = try DatabaseQueue(path: self.folder + "/countersign.sqlite")
        let other = [UInt8](repeating: 0x3D, count: 32)
        try await queue.write {
            try $0.execute(sql: "UPDATE oauth_pushed_request SET digest = ?", arguments: [Data(other)])
        }
        try queue.close()
        store = try SQLStore(folder: self.folder, key: self.key)
        await #expect(throws: StoreError(.corrupt, "")) { try await store.pushedRequest(digest: other) }
        await store.close()
        try FileManager.default.removeItem(atPath: self.folder)
    }

    @Test("what a request asks of the sign-in names people: it lies sealed, to its own row")
    func wishesAreSealed() async throws {
        var store = try SQLStore(folder: self.folder, key: self.key)
        let request = AuthorizationRequestRecord(
            id: "r", browserDigest: [1], client: "c", redirectURI: "https://c.example/in", scope: "openid", state: nil,
            nonce: nil, codeChallenge: nil, wishes: "login_hint=alice-in-the-clear", expiresAt: Timestamp(seconds: 9))
        try await store.addRequest(request)
        await store.close()
        for file in try FileManager.default.contentsOfDirectory(atPath: self.folder) {
            let data = try #require(FileManager.default.contents(atPath: self.folder + "/" + file))
            #expect(data.range(of: Data("alice-in-the-clear".utf8)) == nil)
        }
        let queue = try DatabaseQueue(path: self.folder + "/countersign.sqlite")
        try await queue.write { try $0.execute(sql: "UPDATE oauth_request SET id = 'other'") }
        try queue.close()
        store = try SQLStore(folder: self.folder, key: self.key)
        await #expect(throws: StoreError(.corrupt, "")) { try await store.request("other") }
        await store.close()
        try FileManager.default.removeItem(atPath: self.folder)
    }

    @Test("a client that was registered before algorithms could be chosen keeps ES256 and its challenges")
    func olderClients() async throws {
        var store = try SQLStore(folder: self.folder, key: self.key)
        _ = try await store.providerKeys(orFirst: Self.keys)
        await store.close()
        let queue = try DatabaseQueue(path: self.folder + "/countersign.sqlite")
        try await queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO oauth_client
                    (id, name, redirect_uris, post_logout_redirect_uris, secret_digest, created_at)
                    VALUES ('old', 'Bank', '[]', '[]', x'00', 1)
                    """)
            try db.execute(
                sql: "INSERT INTO oauth_key (id, sealed, created_at) SELECT 'copy', sealed, 2 FROM oauth_key")
            let columns = ["id_token_algorithm", "code_binding", "may_deregister"]
            let row = try Row.fetchOne(
                db, sql: "SELECT \(columns.joined(separator: ", ")) FROM oauth_client WHERE id = 'old'")
            #expect(row?.count == columns.count)
            #expect(try String.fetchOne(db, sql: "SELECT algorithm FROM oauth_key WHERE id = 'copy'") == "ES256")
            try db.execute(sql: "DELETE FROM oauth_key WHERE id = 'copy'")
        }
        try queue.close()
        store = try SQLStore(folder: self.folder, key: self.key)
        let client = try #require(try await store.client("old"))
        #expect(client.settings == ClientSettings(idTokenAlgorithm: .es256, codeBinding: .pkce, mayDeregister: false))
        #expect(try await store.providerKeys().signingKeys.map(\.algorithm) == [.es256])
        await store.close()
        try FileManager.default.removeItem(atPath: self.folder)
    }

    @Test func aKeyThatWasMovedToAnotherRowDoesNotOpen() async throws {
        var store = try SQLStore(folder: self.folder, key: self.key)
        _ = try await store.providerKeys(orFirst: Self.keys)
        await store.close()
        let queue = try DatabaseQueue(path: self.folder + "/countersign.sqlite")
        try await queue.write { try $0.execute(sql: "UPDATE oauth_key SET id = 'other'") }
        try queue.close()
        store = try SQLStore(folder: self.folder, key: self.key)
        await #expect(throws: StoreError(.corrupt, "")) { try await store.providerKeys(orFirst: Self.keys) }
        await store.close()
        try FileManager.default.removeItem(atPath: self.folder)
    }
}
