import Foundation
import Records
import SQLStore
import SQLiteStore
import Sealing
import StoreConformance
import Testing
import _Primitives

@Suite("The lists of signed-in browsers, kept by SQLite")
struct SessionListConformanceTests {
    private let folder = NSTemporaryDirectory() + "sessions-" + UUID().uuidString
    private let key = KeyEncryptionKey()

    @Test("keeps the rule", arguments: SessionListConformance.checks)
    func keepsTheRule(check: ConformanceCheck<SessionListConformance.Subject>) async throws {
        let store = try SQLStore(folder: self.folder, key: self.key)
        try await check.run(store)
        await store.close()
        try FileManager.default.removeItem(atPath: self.folder)
    }

    @Test func browsersAndAddressesLieSealed() async throws {
        let store = try SQLStore(folder: self.folder, key: self.key)
        let moment = Timestamp(seconds: 1)
        let digest = [UInt8](repeating: 1, count: 32)
        try await SampleSignIn(
            "s", secret: digest, at: moment, browser: "Lynx on Plan 9", address: "203.0.113.77"
        ).keep(in: store)
        #expect(try await store.session(cookieDigest: digest)?.authentication.browser == "Lynx on Plan 9")
        await store.close()
        for file in try FileManager.default.contentsOfDirectory(atPath: self.folder) {
            let data = try #require(FileManager.default.contents(atPath: self.folder + "/" + file))
            #expect(data.range(of: Data("Plan 9".utf8)) == nil)
            #expect(data.range(of: Data("203.0.113.77".utf8)) == nil)
        }
        try FileManager.default.removeItem(atPath: self.folder)
    }
}
