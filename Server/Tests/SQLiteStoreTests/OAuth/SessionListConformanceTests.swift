import Foundation
import SQLiteStore
import Store
import StoreConformance
import Testing
import _Primitives

@Suite("The lists of signed-in browsers, kept by SQLite")
struct SessionListConformanceTests {
    private let folder = NSTemporaryDirectory() + "sessions-" + UUID().uuidString
    private let key = KeyEncryptionKey()

    @Test("keeps the rule", arguments: SessionListConformance.checks)
    func keepsTheRule(check: ConformanceCheck<SessionListConformance.Subject>) async throws {
        let store = try SQLiteDatabase(folder: self.folder, key: self.key)
        try await check.run(store)
        await store.close()
        try FileManager.default.removeItem(atPath: self.folder)
    }

    @Test func browsersAndAddressesLieSealed() async throws {
        let store = try SQLiteDatabase(folder: self.folder, key: self.key)
        let moment = Timestamp(seconds: 1)
        let digest = [UInt8](repeating: 1, count: 32)
        try await store.addRequest(
            AuthorizationRequestRecord(
                id: "r", browserDigest: digest, client: "c", redirectURI: "https://x.example/", scope: "openid",
                state: nil, nonce: nil, codeChallenge: digest, expiresAt: moment))
        try await store.complete(
            request: "r",
            session: SessionRecord(
                id: "s", cookieDigest: digest, account: "a", authenticatedAt: moment, acr: "urn:x", amr: [],
                usedAt: moment, expiresAt: moment + .seconds(60), browser: "Lynx on Plan 9", address: "203.0.113.77"),
            replacing: nil,
            grant: GrantRecord(
                id: "g", codeDigest: digest, client: "c", session: "s", account: "a", subject: "p",
                redirectURI: "https://x.example/", scope: "openid", nonce: nil, codeChallenge: digest,
                authenticatedAt: moment, acr: "urn:x", amr: [], codeExpiresAt: moment, expiresAt: moment))
        #expect(try await store.session(cookieDigest: digest)?.browser == "Lynx on Plan 9")
        await store.close()
        for file in try FileManager.default.contentsOfDirectory(atPath: self.folder) {
            let data = try #require(FileManager.default.contents(atPath: self.folder + "/" + file))
            #expect(data.range(of: Data("Plan 9".utf8)) == nil)
            #expect(data.range(of: Data("203.0.113.77".utf8)) == nil)
        }
        try FileManager.default.removeItem(atPath: self.folder)
    }
}
