import Foundation
import GRDB
import Records
import SQLStore
import SQLiteStore
import Sealing
import StoreConformance
import Testing
import _Primitives

/// A database of the twenty-fourth schema, which the program wrote whose session was one record with its authentication,
/// and whose grant was one with its code. In it a person is signed in at the bank of the demonstration.
@Suite("An upgrade: whoever is signed in stays so")
struct SignedInUpgradeTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Tests/Databases/schema-24.sqlite").standardizedFileURL
    /// The key of that database, which holds nobody's data.
    private static let keyText = "2AtMK6Bzy-AnwfntuAPArWKrJIxBs49CvOdCLk8M0gw"

    private static let account = "CqrX7AaKEE3Ku-5RhKQWQg"
    private static let session = "XHaOCs31iyucmUuD0VS3vg"
    private static let grant = "StEvrtcefZCZ7FDeMj5E1Q"
    private static let device = "IsF5dMf__AXHnkPhXV8wrQ"
    private static let client = "WQnWJqajk9kUMdVI6sbs-g"
    private static let authenticatedAt = Timestamp(milliseconds: 1_795_351_539_216)
    private static let usedAt = Timestamp(milliseconds: 1_795_351_539_227)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: usedAt)

    /// Opens a copy, to which `change` may have added something before.
    private func run(
        changing change: (DatabaseQueue) async throws -> Void = { _ in },
        _ body: (SQLStore) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/countersign-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let copy = folder + "/countersign.sqlite"
        try FileManager.default.copyItem(atPath: Self.file.path, toPath: copy)
        let raw = try DatabaseQueue(path: copy)
        try await change(raw)
        try raw.close()
        let key = try KeyEncryptionKey(try #require(Base64URL.decode(Self.keyText)))
        let store = try SQLStore(folder: folder, key: key)
        try await body(store)
        await store.close()
    }

    private func sessions(_ store: SQLStore) async throws -> [SessionListing] {
        try await store.sessions(
            account: Self.account, at: Self.usedAt, idleSince: Self.authenticatedAt, limit: 9, services: 9)
    }

    @Test func theSessionStandsOnItsAuthentication() async throws {
        try await self.run { store async throws in
            let listings = try await self.sessions(store)
            let session = try #require(listings.first?.session)
            #expect(listings.count == 1 && session.id == Self.session && session.account == Self.account)
            #expect(session.usedAt == Self.usedAt && session.expiresAt == Self.usedAt + .seconds(43_200))
            #expect(try await store.session(cookieDigest: session.cookieDigest) == session)
            let authentication = session.authentication
            #expect(session.authentications.count == 1 && authentication.method == "phone")
            #expect(authentication.at == Self.authenticatedAt && authentication.device == Self.device)
            #expect(authentication.acr == "urn:countersign:acr:two-factor")
            #expect(authentication.amr == ["pin", "swk", "mfa"])
            // Sealed anew, for the row that they are in now.
            #expect(authentication.browser == "a browser" && authentication.address == "127.0.0.1")
            #expect(
                listings[0].services == [
                    SessionListing.Service(name: "Lantern Street Bank", redirectURI: "http://127.0.0.1:8081/callback")
                ])
        }
    }

    @Test func itsTokensStandUntilTheyEnd() async throws {
        try await self.run { store async throws in
            #expect(
                try await store.grant(Self.grant, token: nil, at: Self.usedAt)?.authentication.account == Self.account)
            #expect(
                try await store.grant(Self.grant, token: nil, at: Self.usedAt + .seconds(360))?.authentication.account
                    == nil)
            #expect(try await store.endSession(Self.session, audit: Self.event))
            #expect(try await store.grant(Self.grant, token: nil, at: Self.usedAt)?.authentication.account == nil)
        }
    }

    @Test func theyEndWithTheDevice() async throws {
        try await self.run { store async throws in
            #expect(try await store.deleteDevice(id: Self.device, audit: Self.event))
            #expect(try await self.sessions(store).isEmpty)
            #expect(try await store.grant(Self.grant, token: nil, at: Self.usedAt)?.authentication.account == nil)
        }
    }

    @Test func aCodeThatIsUnderWayGivesItsTokensOnce() async throws {
        let digest = [UInt8](repeating: 7, count: 32)
        try await self.run(changing: { raw in
            try await raw.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO oauth_grant
                        SELECT 'under-way', ?, client, session, account, subject, redirect_uri, scope, nonce, x'',
                            authenticated_at, acr, amr, code_expires_at, expires_at, NULL, 0 FROM oauth_grant
                        """, arguments: [Data(digest)])
            }
        }) { store async throws in
            func take() async throws -> CodeTaking {
                try await store.takeCode(digest: digest, at: Self.usedAt, replay: Self.event) { _, _ in true }
            }
            guard case .taken(let code, let standing) = try await take() else {
                Issue.record("not taken")
                return
            }
            // It was bound to the nonce.
            #expect(code.challenge == nil && code.nonce == "C0jYMMuMc_BUimzVY0RxP1if5rgcnAdmKEHwkFSapas")
            #expect(code.redirectURI == "http://127.0.0.1:8081/callback")
            #expect(code.expiresAt == Self.usedAt + .seconds(60))
            #expect(standing.grant.client == Self.client && standing.grant.scope == "openid profile")
            let sessions = try await self.sessions(store)
            #expect(standing.authentication == sessions.first?.session.authentication)
            #expect(try await take() == .replayed)
        }
    }
}
