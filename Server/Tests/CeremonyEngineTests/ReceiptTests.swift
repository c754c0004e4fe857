import Accounts
import CeremonyEngine
import Crypto
import JOSE
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

/// A key that signs receipts, and the document of the key.
private struct ReceiptIssuer: Sendable {
    let key: SigningKey
    var issuer = "http://localhost:8080"
    var type = ReceiptFormat.type

    init(keyID: String? = "receipts-1") throws {
        self.key = try SigningKey(
            kept: try SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: keyID)
    }

    var signer: ReceiptSigner { ReceiptSigner { claims, _ in try self.sign(claims) } }

    func sign(_ claims: JSONObject) throws -> String {
        var claims = claims
        claims["iss"] = .string(self.issuer)
        return try JWS.sign(JSON.object(claims).serialized, type: self.type, with: self.key)
    }

    func document(from: Int64 = 0, until: Int64? = nil, seen: Int64? = nil, issuer: String? = nil) throws -> [UInt8] {
        var key = try #require(self.key.publicKey?.publicJSON)
        key["signs_from"] = .integer(from)
        key["signs_until"] = until.map(JSON.integer)
        key["seen_since"] = seen.map(JSON.integer)
        return JSON.object(["issuer": .string(issuer ?? self.issuer), "keys": .array([.object(key)])]).serialized
    }

    func verify(_ file: String, _ content: String = Self.text, keys: [UInt8]? = nil) throws -> VerifiedReceipt {
        try ReceiptVerification(keys: try keys ?? self.document()).verify(
            Array(file.utf8), content: Array(content.utf8))
    }

    static let text = "Pay 120 EUR to Jo Gardener"
}

@Suite("Decision 121: a confirmed transaction leaves a receipt, which verifies without the server")
struct ReceiptTests {
    /// A confirmed transaction.
    private struct Confirmed {
        let server: TestServer
        let issuer: ReceiptIssuer
        let account: AccountRecord
        let phone: TestPhone
        let record: ReceiptRecord
        var receipt: String { self.record.receipt }
    }

    /// Has the phone answer a dispatch with a text.
    private static func answer(
        _ server: TestServer, _ account: AccountRecord, _ phone: TestPhone, confirms: Bool = true, counter: UInt32 = 2
    ) async throws -> String {
        let dispatched = try await server.dispatch(ReceiptIssuer.text, to: account)
        let request = try await server.engine.redemptions.redeem(
            token: try #require(dispatched.token), operation: .authentication)
        _ = try await server.engine.authenticationAnswers.judge(
            confirms
                ? try phone.authenticate(request, counter: counter)
                : try phone.giveUp(request, clientErrorCode: 3))
        return try #require(dispatched.sessionID)
    }

    private static func confirmed(_ issuer: ReceiptIssuer) async throws -> Confirmed {
        let server = try TestServer(receipts: issuer.signer)
        let (account, phone) = try await server.enrol()
        let session = try await Self.answer(server, account, phone)
        let record = try #require(
            try await server.engine.receipts.receipt(ofSession: session, clientID: "bank"))
        return Confirmed(server: server, issuer: issuer, account: account, phone: phone, record: record)
    }

    private static func refusal(_ body: () throws -> VerifiedReceipt) -> ReceiptRefusal.Code? {
        do throws(ReceiptRefusal) {
            do { _ = try body() } catch let error as ReceiptRefusal { throw error } catch {
                throw ReceiptRefusal(.keysMalformed, "another error: \(error)")
            }
            return nil
        } catch { return error.code }
    }

    @Test("The receipt says who asked whom to confirm what, when and how, and has hashes of the evidence alone")
    func claims() async throws {
        let confirmed = try await Self.confirmed(try ReceiptIssuer())
        let verified = try confirmed.issuer.verify(confirmed.receipt)
        let claims = verified.claims
        #expect(!verified.needsTrail && !verified.hasEvidence)
        #expect(
            Set(claims.members.map(\.name)) == [
                "iss", "sub", "iat", "session_id", "client_id", "client_name", "client_origin", "transaction_hash",
                "transaction_content_type", "amr", "acr", "verified", "evidence",
            ])
        #expect(try claims.string("sub") == "bank|\(confirmed.account.id)", "the client's own name for the person")
        #expect(try claims.string("client_id") == "bank" && claims.string("client_name") == "Demo Bank")
        #expect(try claims.string("session_id") == confirmed.record.session)
        #expect(try claims.integer("iat", as: Int64.self) == confirmed.server.clock.now.seconds)
        #expect(try claims.string("transaction_content_type") == "text/plain")
        #expect(try claims.strings("amr")?.contains("pin") == true)
        let evidence = try #require(try claims.array("evidence"))
        guard case .object(let hashes)? = evidence.first, evidence.count == 1 else {
            Issue.record("no evidence")
            return
        }
        #expect(Set(hashes.members.map(\.name)) == ["aaid", "assertion_hash", "key_hash"])
        let own = try #require(confirmed.record.evidence.first)
        #expect(own.assertionSalt.count == 32 && own.keySalt.count == 32 && own.assertionSalt != own.keySalt)
        let digest = Base64URL.encode(Array(SHA256.hash(data: own.keySalt + own.key)))
        #expect(try hashes.string("key_hash") == digest)
        let payload = JSON.object(claims).text
        for secret in [own.key, own.assertion, own.keySalt, own.assertionSalt] {
            #expect(!payload.contains(Base64URL.encode(secret)))
        }
    }

    @Test("Two receipts of one key have no hash in common, so two back ends cannot compare their customers")
    func unlinkable() async throws {
        let first = try await Self.confirmed(try ReceiptIssuer())
        let session = try await Self.answer(first.server, first.account, first.phone, counter: 3)
        let second = try #require(
            try await first.server.engine.receipts.receipt(ofSession: session, clientID: "bank"))
        #expect(first.record.evidence.map(\.key) == second.evidence.map(\.key), "one key")
        var hashes: Set<String> = []
        for receipt in [first.receipt, second.receipt] {
            for case .object(let evidence) in try first.issuer.verify(receipt).claims.array("evidence") ?? [] {
                hashes.insert(try evidence.requiredString("key_hash"))
                hashes.insert(try evidence.requiredString("assertion_hash"))
            }
        }
        #expect(hashes.count == 4)
    }

    @Test("The audit trail has the hash of the receipt, in the step that confirms")
    func trail() async throws {
        let confirmed = try await Self.confirmed(try ReceiptIssuer())
        let entries = try await confirmed.server.database.auditEntries(after: 0, limit: 99).map(\.event)
            .filter { $0.kind.rawValue == "receipt-issued" }
        #expect(entries.map(\.detail) == [try confirmed.issuer.verify(confirmed.receipt).digest])
        #expect(entries.map(\.ceremonyID) == [confirmed.record.session] && entries.map(\.actor) == ["bank"])
    }

    @Test("The person's copy opens the hashes of the receipt; a copy with other evidence is refused")
    func copies() async throws {
        let confirmed = try await Self.confirmed(try ReceiptIssuer())
        let copy = confirmed.record.copy
        #expect(try confirmed.issuer.verify(JSON.object(copy).text).hasEvidence)
        let own = try #require(confirmed.record.evidence.first)
        func refusal(_ change: (inout ReceiptRecord) -> Void) -> ReceiptRefusal.Code? {
            var record = confirmed.record
            change(&record)
            return Self.refusal { try confirmed.issuer.verify(JSON.object(record.copy).text) }
        }
        #expect(refusal { $0.evidence[0].key[0] ^= 1 } == .evidenceDiffers)
        #expect(refusal { $0.evidence[0].keySalt[0] ^= 1 } == .evidenceDiffers)
        #expect(refusal { $0.evidence[0].assertion[9] ^= 1 } == .evidenceDiffers)
        #expect(refusal { $0.evidence[0].assertionSalt[31] ^= 1 } == .evidenceDiffers)
        #expect(refusal { $0.evidence[0].aaid = "C516#0009" } == .evidenceDiffers)
        #expect(refusal { $0.evidence = [] } == .evidenceDiffers)
        #expect(refusal { $0.evidence = [own, own] } == .evidenceDiffers)
        #expect(refusal { $0.receipt += "A" } == .signatureInvalid)
    }

    @Test("Each flipped bit of a receipt is refused")
    func flippedBits() async throws {
        let confirmed = try await Self.confirmed(try ReceiptIssuer())
        let verification = try ReceiptVerification(keys: try confirmed.issuer.document())
        let content = Array(ReceiptIssuer.text.utf8)
        let bytes = Array(confirmed.receipt.utf8)
        _ = try verification.verify(bytes, content: content)
        for position in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[position] ^= 1 << bit
                #expect(throws: ReceiptRefusal.self, "\(position) \(bit)") {
                    try verification.verify(changed, content: content)
                }
            }
        }
    }

    @Test("Each refusal has a reason of its own")
    func refusals() async throws {
        let issuer = try ReceiptIssuer()
        let confirmed = try await Self.confirmed(issuer)
        let (receipt, at) = (confirmed.receipt, confirmed.server.clock.now.seconds)
        func refusal(_ file: String, _ content: String = ReceiptIssuer.text, keys: [UInt8]? = nil)
            -> ReceiptRefusal.Code?
        {
            Self.refusal { try issuer.verify(file, content, keys: keys) }
        }
        #expect(refusal(" \n" + receipt + "\r\n") == nil, "white space around is passed over")
        #expect(refusal(receipt, "Pay 920 EUR to Jo Gardener") == .contentDiffers)
        #expect(refusal(receipt, keys: try issuer.document(issuer: "https://other.example")) == .wrongIssuer)
        #expect(refusal(receipt, keys: try ReceiptIssuer().document()) == .signatureInvalid, "the same name")
        #expect(refusal(receipt, keys: try ReceiptIssuer(keyID: "receipts-2").document()) == .unknownKey)
        #expect(refusal(receipt, keys: try issuer.document(from: at + 1)) == .keyOutsideItsTime)
        #expect(refusal(receipt, keys: try issuer.document(until: at - 1)) == .keyOutsideItsTime)
        #expect(refusal(receipt, keys: try issuer.document(from: at, until: at)) == nil)
        for keys in ["", "[]", "{}", #"{"issuer":"x"}"#, #"{"issuer":"x","keys":[1]}"#, #"{"issuer":"x","keys":[{}]}"#]
        {
            #expect(refusal(receipt, keys: Array(keys.utf8)) == .keysMalformed, "\(keys)")
        }
        for file in ["", "a.b", "{}", "{", #"{"receipt":"x"}"#, #"{"receipt":"x","evidence":1}"#, "\u{FFFD}"] {
            #expect(refusal(file) == .receiptMalformed, "\(file)")
        }
        var other = issuer
        other.type = "transaction-confirmation+jwt"
        #expect(refusal(try other.sign([:])) == .wrongType)
        #expect(refusal(try issuer.sign(["iat": .integer(at)])) == .receiptMalformed, "no hash of a content")
        #expect(refusal(try issuer.sign([:])) == .receiptMalformed, "no time")
        let unsigned = try UnsignedJWS(
            Array("{}".utf8), type: ReceiptFormat.type, header: [:], algorithm: .rs256, keyID: "receipts-1")
        #expect(refusal(unsigned.compact(signature: [1])) == .wrongAlgorithm)
    }

    @Test("A key that a receipt brings is not trusted")
    func ownKey() async throws {
        let (issuer, forger) = (try ReceiptIssuer(), try ReceiptIssuer())
        let confirmed = try await Self.confirmed(issuer)
        let claims = try issuer.verify(confirmed.receipt).claims
        let key = try #require(forger.key.publicKey?.publicJSON)
        let forged = try JWS.sign(
            JSON.object(claims).serialized, type: ReceiptFormat.type, header: ["jwk": .object(key)],
            with: forger.key)
        #expect(Self.refusal { try issuer.verify(forged) } == .signatureInvalid)
    }

    @Test("A receipt whose key others may have seen needs the trail, whatever time the receipt names")
    func seenKeys() async throws {
        let issuer = try ReceiptIssuer()
        let confirmed = try await Self.confirmed(issuer)
        let at = confirmed.server.clock.now.seconds
        for seen in [at - 9, at + 9] {
            #expect(try issuer.verify(confirmed.receipt, keys: try issuer.document(seen: seen)).needsTrail)
        }
    }

    @Test("What was not confirmed, and what no client asked, leaves no receipt")
    func none() async throws {
        let issuer = try ReceiptIssuer()
        let server = try TestServer(receipts: issuer.signer)
        let (account, phone) = try await server.enrol()
        let denied = try await Self.answer(server, account, phone, confirms: false)
        #expect(try await server.engine.receipts.receipt(ofSession: denied, clientID: "bank") == nil)
        let request = try await server.claimSignIn()
        _ = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(try await server.engine.receipts.receipts(accountID: account.id).isEmpty, "a sign-in")
    }

    @Test("Each client gets its own sessions' receipts, and each person their own, until the time is over")
    func reach() async throws {
        let confirmed = try await Self.confirmed(try ReceiptIssuer())
        let receipts = confirmed.server.engine.receipts
        #expect(try await receipts.receipt(ofSession: confirmed.record.session, clientID: "shop") == nil)
        #expect(try await receipts.receipt(ofSession: "none", clientID: "bank") == nil)
        #expect(try await receipts.receipts(accountID: confirmed.account.id) == [confirmed.record])
        let (bob, _) = try await confirmed.server.enrol("bob")
        #expect(try await receipts.receipts(accountID: bob.id).isEmpty)
        confirmed.server.clock.advance(Limits().receiptRetention)
        #expect(try await receipts.receipt(ofSession: confirmed.record.session, clientID: "bank") == nil)
        #expect(try await receipts.receipts(accountID: confirmed.account.id).isEmpty)
    }
}
