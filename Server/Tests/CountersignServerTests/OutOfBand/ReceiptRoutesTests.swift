import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("Decision 121: back ends fetch receipts by session, people get their copies by their device")
struct ReceiptRoutesTests {
    private static let text = "Pay 120 EUR to Jo Gardener"

    /// A transaction that alice has confirmed for a bank.
    private struct Scene {
        let server: ServerFixture
        let client: any TestClientProtocol
        let phone: VirtualPhone
        let party: RelyingParty
        /// The browser in which alice is signed in.
        let browser: TestBrowser
        let subject: String
        let session: String

        func receipt(_ session: String? = nil, by party: RelyingParty? = nil) async throws
            -> (response: TestResponse, object: JSONObject)
        {
            try await self.client.send(
                .get, "/receipts/\(session ?? self.session)",
                headers: [.authorization: (party ?? self.party).authorization])
        }

        /// The document of keys.
        func keys() async throws -> JSONObject { try await self.client.send(.get, "/receipts/keys").object }

        func verification() async throws -> ReceiptVerification {
            try ReceiptVerification(keys: JSON.object(try await self.keys()).serialized)
        }

        /// What a device of an account gets.
        func own(_ account: AccountRecord) async throws -> [JSON] {
            let token = try await self.server.deviceAuthorization(of: account)
            let answer = try await self.client.send(.get, "/account/v1/receipts", headers: [.authorization: token])
            #expect(answer.response.status == .ok)
            return try answer.object.array("receipts") ?? []
        }
    }

    private static func with(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty()
            #expect(try await client.send(.get, "/receipts/keys").object.array("keys") == [], "no receipt yet")
            // The service learns its name for the person at a sign-in.
            let browser = TestBrowser(client)
            let (request, page) = try await server.signInPage(browser, party)
            _ = try await phone.authenticate(try server.typedPayload(page))
            let tokens = try await party.complete(request, in: browser)
            let claims = try await client.userinfo(try tokens.object.requiredString("access_token"))
            let subject = try claims.object.requiredString("sub")
            let content: JSONObject = [
                "contentType": .string("text/plain"), "content": .string(Base64URL.encode(Array(Self.text.utf8))),
            ]
            let context: JSONObject = ["subject": .string(subject), "transaction": .array([.object(content)])]
            let asked: JSONObject = ["op": .string("Auth"), "context": .string(JSON.object(context).text)]
            let dispatched = try await client.send(
                .post, "/token/dispatch/authentication",
                ["dispatcher": .string("link"), "getUafRequest": .object(asked)],
                headers: [.authorization: party.authorization])
            let session = try dispatched.object.requiredString("sessionId")
            let scene = Scene(
                server: server, client: client, phone: phone, party: party, browser: browser, subject: subject,
                session: session)
            #expect(try await scene.receipt().response.status == .notFound, "not confirmed yet")
            _ = try await phone.authenticate(
                try OutOfBandPayload(link: try dispatched.object.requiredString("link")))
            try await body(scene)
        }
    }

    @Test("The client of the session gets the receipt, which verifies by the document of keys alone")
    func fetched() async throws {
        try await Self.with { scene in
            let answer = try await scene.receipt()
            #expect(answer.response.status == .ok && answer.object.members.map(\.name) == ["receipt"])
            let receipt = try answer.object.requiredString("receipt")
            let verified = try await scene.verification().verify(
                Array(receipt.utf8), content: Array(Self.text.utf8))
            #expect(!verified.needsTrail && !verified.hasEvidence)
            #expect(try verified.claims.string("iss") == "http://localhost:8080")
            #expect(try verified.claims.string("sub") == scene.subject)
            #expect(try verified.claims.string("client_id") == scene.party.id)
            let again = try await scene.receipt()
            #expect(again.object == answer.object, "the same bytes each time")
        }
    }

    @Test("The keys of receipts are in no key set of tokens, and no token's key is among them")
    func keys() async throws {
        try await Self.with { scene in
            let receipts = try await scene.keys()
            let tokens = try await scene.client.send(.get, "/oauth2/jwks").object
            func names(_ document: JSONObject) throws -> Set<String> {
                var names: Set<String> = []  // check: unicode-words
                for case .object(let key) in try document.array("keys") ?? [] {
                    names.insert(try key.requiredString("kid"))
                    #expect(key["d"] == nil)
                }
                return names
            }
            let own = try names(receipts)
            #expect(own.count == 1)
            let others = try names(tokens)
            #expect(own.isDisjoint(with: others))
            #expect(try receipts.string("issuer") == "http://localhost:8080")
        }
    }

    @Test("After a rotation former receipts verify; after a rotation for seen keys they need the trail")
    func rotations() async throws {
        try await Self.with { scene in
            let receipt = Array(try await scene.receipt().object.requiredString("receipt").utf8)
            let content = Array(Self.text.utf8)
            let keys = scene.server.assembly.provider.keys
            try await keys.rotate(by: "root")
            scene.server.clock.advance(by: .seconds(3600))
            #expect(try await scene.keys().array("keys")?.count == 2)
            let rotated = try await scene.verification().verify(receipt, content: content)
            #expect(!rotated.needsTrail)
            try await keys.rotate(areSeen: true, since: scene.server.clock.timeSource.now(), by: "root")
            let seen = try await scene.verification().verify(receipt, content: content)
            #expect(seen.needsTrail)
            let newest = try await scene.keys().array("keys")?.first
            guard case .object(let key)? = newest else { throw OtherProcess() }
            #expect(key["seen_since"] == nil && key["signs_until"] == nil)
        }
    }

    @Test("A stranger, another client, and a client after the time of the receipt get none")
    func strangers() async throws {
        try await Self.with { scene in
            let other = try await scene.server.relyingParty()
            #expect(try await scene.receipt(by: other).response.status == .notFound)
            #expect(try await scene.receipt("none").response.status == .notFound)
            let nobody = try await scene.client.send(.get, "/receipts/\(scene.session)")
            #expect(nobody.response.status == .unauthorized)
            scene.server.clock.advance(by: Limits().receiptRetention)
            #expect(try await scene.receipt().response.status == .notFound)
        }
    }

    @Test("A person's device gets the copies with the evidence, and another person's device gets none of them")
    func copies() async throws {
        try await Self.with { scene in
            let alice = try await scene.server.assembly.directory.account(username: "alice")
            let copies = try await scene.own(alice)
            guard case .object(let copy)? = copies.first, copies.count == 1 else { throw OtherProcess() }
            let receipt = try await scene.receipt().object.requiredString("receipt")
            #expect(try copy.string("receipt") == receipt)
            let verified = try await scene.verification().verify(
                JSON.object(copy).serialized, content: Array(Self.text.utf8))
            #expect(verified.hasEvidence)
            let bob = try await scene.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            #expect(try await scene.own(bob).isEmpty)
            let nobody = try await scene.client.send(.get, "/account/v1/receipts")
            #expect(nobody.response.status == .unauthorized)
            let client = try await scene.client.send(
                .get, "/account/v1/receipts", headers: [.authorization: scene.party.authorization])
            #expect(client.response.status == .unauthorized)
            try await scene.server.assembly.directory.delete(username: "alice", by: "test")
            #expect(try await scene.receipt().response.status == .notFound, "the receipt goes with the account")
        }
    }

    @Test("The account's page lists what the person confirmed, and gives the copy as a file to the person alone")
    func ownPage() async throws {
        try await Self.with { scene in
            let alice = try await scene.server.assembly.directory.account(username: "alice")
            let listed = try await scene.browser.get("/account/receipts")
            #expect(listed.status == .ok && listed.headers[.cacheControl] == "no-store")
            #expect(listed.text.matches(of: /data-testid="receipt"/).count == 1)
            let receipt = try #require(
                try await scene.server.database.receipts(
                    accountID: alice.id, at: scene.server.clock.timeSource.now(), limit: 9
                ).first)
            let content = try receipt.content()
            for text in [content.service, content.contentHash, "text/plain", content.at.description] {
                #expect(listed.text.contains(text), "\(text)")
            }
            let path = "/account/receipts/copy?session=\(scene.session)"
            #expect(listed.text.contains("href=\"\(path)\""))
            #expect(try await scene.browser.get("/account").text.contains("href=\"/account/receipts\""))
            let copy = try await scene.browser.get(path)
            #expect(copy.status == .ok && copy.headers[.cacheControl] == "no-store")
            #expect(copy.headers[.contentType] == "application/json")
            #expect(
                copy.headers[.contentDisposition] == "attachment; filename=\"receipt-\(scene.session).json\"")
            let verified = try await scene.verification().verify(
                Array(copy.text.utf8), content: Array(Self.text.utf8))
            #expect(verified.hasEvidence && !verified.needsTrail)
            #expect(try await scene.browser.get("/account/receipts/copy?session=none").status == .notFound)
            #expect(try await scene.browser.get("/account/receipts/copy").status == .badRequest)
            for path in ["/account/receipts", path] {
                let stranger = try await TestBrowser(scene.client).get(path)
                #expect(stranger.status == .forbidden && !stranger.text.contains(content.contentHash), "\(path)")
            }
        }
    }

    @Test("Another person's page has nothing of the receipt, and no copy of it")
    func anotherPersonsPage() async throws {
        try await Self.with { scene in
            let bob = TestBrowser(scene.client)
            let phone = try await scene.server.enrolledPhone(scene.client, username: "bob")
            let (request, page) = try await scene.server.signInPage(bob, scene.party)
            _ = try await phone.authenticate(try scene.server.typedPayload(page))
            _ = try await scene.party.complete(request, in: bob)
            let listed = try await bob.get("/account/receipts")
            #expect(listed.status == .ok && listed.text.contains("data-testid=\"no-receipts\""))
            #expect(try await bob.get("/account/receipts/copy?session=\(scene.session)").status == .notFound)
        }
    }

    @Test("An operator says since when others may have seen the keys")
    func seen() async throws {
        try await Self.with { scene in
            try await scene.server.withSocketClient { admin in
                for body: JSONObject in [
                    ["seenSince": .string("2026-06-01T00:00:00Z")],
                    ["seen": .bool(true), "seenSince": .string("yesterday")],
                ] {
                    let refused = try await admin.send(.post, "/admin/v1/keys/rotate", body)
                    #expect(refused.response.status == .badRequest)
                }
                let body: JSONObject = ["seen": .bool(true), "seenSince": .string("2026-06-01T00:00:00Z")]
                let rotated = try await admin.send(.post, "/admin/v1/keys/rotate", body)
                #expect(rotated.response.status == .noContent)
            }
            let keys = try await scene.keys().array("keys") ?? []
            // Both keys are of one moment, so their order says nothing.
            let seen = keys.compactMap { key -> JSON? in
                guard case .object(let key) = key, key["signs_until"] != nil else { return nil }
                return key["seen_since"]
            }
            #expect(seen == [.integer(1_780_272_000)])
        }
    }
}
