import Countersign
import CountersignTestKit
import Crypto
import Foundation
import JOSE
import Testing
import UAF
import _Primitives

@Suite(
    "Decision 121: the receipts of what a person has confirmed, which the device fetches by itself", .overEachKeyAbility
)
struct TransactionReceiptsTests {
    private static let provider = JwtAuthorizationProvider("the-jwt")
    private static let hash = Array(SHA256.hash(data: Array("Pay 120 EUR to Jo Gardener".utf8)))

    /// A receipt as a server makes the receipt, with one member of the answer changed.
    private struct Answer {
        var username = "alice"
        var name = "receipts"
        var type = "transaction-receipt+jwt"
        var claims: JSONObject = [
            "session_id": .string("s-1_A"), "iat": .integer(1_795_251_900), "client_id": .string("bank"),
            "client_name": .string("The \u{202E}Bank"), "client_origin": .string("https://b\u{430}nk.example"),
            "transaction_hash": .string(Base64URL.encode(TransactionReceiptsTests.hash)),
            "transaction_content_type": .string("text/plain"),
            "amr": .array([.string("pin"), .string("hwk")]),
        ]
        var evidence: JSONObject = [
            "aaid": .string("4E4D#0002"), "assertion": .string(Base64URL.encode([1, 2, 3])),
            "assertion_salt": .string(Base64URL.encode([4])), "key": .string(Base64URL.encode([5, 6])),
            "key_salt": .string(Base64URL.encode([7])), "key_format": .integer(256), "algorithm": .integer(1),
        ]
        var hashes: JSONObject = [
            "aaid": .string("4E4D#0002"), "assertion_hash": .string(Answer.salted([4, 1, 2, 3])),
            "key_hash": .string(Answer.salted([7, 5, 6])),
        ]
        /// The receipt of the answer in place of a signed one.
        var receipt: String?
        var hasEvidence = true

        static func salted(_ bytes: [UInt8]) -> String { Base64URL.encode(Array(SHA256.hash(data: bytes))) }

        /// The copy of the person.
        func copy() throws -> JSONObject {
            var claims = self.claims
            claims["evidence"] = .array([.object(self.hashes)])
            let key = try SigningKey(kept: SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: "k1")
            var copy: JSONObject = [
                "receipt": .string(
                    try self.receipt ?? JWS.sign(JSON.object(claims).serialized, type: self.type, with: key))
            ]
            if self.hasEvidence { copy["evidence"] = .array([.object(self.evidence)]) }
            return copy
        }

        /// The body of the answer.
        func body(_ copy: JSONObject) -> [UInt8] {
            var listed = copy
            listed["new"] = .bool(true)
            return JSON.object([
                "username": .string(self.username), self.name: .array([.object(listed)]),
            ]).serialized
        }
    }

    /// A world in which alice is enrolled, and the server does not know the device's keys.
    private static func world(
        _ body: [UInt8], status: Int = 200, type: String = "application/json",
        configuration change: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> World {
        let world = try await World(configuration: change)
        try await world.enroll()
        await world.server.intercept { request in
            guard request.method == "GET", request.url.path().hasSuffix("/receipts") else { return nil }
            return TransportResponse(status: status, headers: [("Content-Type", type)], body: body)
        }
        return world
    }

    private static func world(_ answer: Answer = Answer()) async throws -> World {
        try await Self.world(answer.body(answer.copy()))
    }

    private static func receipts(_ world: World) -> TransactionReceipts {
        world.phone.client.operations.transactionReceipts.username("alice")
    }

    @Test("A receipt is read whole, fit to be shown, and the copy to save is the server's, with nothing added")
    func read() async throws {
        let answer = Answer()
        let copy = try answer.copy()
        let world = try await Self.world(answer.body(copy))
        let receipts: [TransactionReceipt] = try await Self.receipts(world).authorizationProvider(Self.provider)
            .execute()
        let receipt = try #require(receipts.first)
        #expect(receipts.count == 1 && receipt.id == "s-1_A")
        #expect(receipt.service == "The \u{FFFD}Bank" && receipt.origin == "https://xn--bnk-6cd.example")
        #expect(receipt.date.timeIntervalSince1970 == 1_795_251_900)
        #expect(receipt.contentHash == Self.hash && receipt.contentType == "text/plain")
        #expect(receipt.methods == ["pin", "hwk"])
        #expect(try receipt.compact == copy.requiredString("receipt"))
        #expect(receipt.copy == JSON.object(copy).serialized)
        let sent = try #require(await world.server.requests.last)
        #expect("\(sent.method) \(sent.url.path())" == "GET /account/v1/receipts" && sent.body.isEmpty)
        #expect(sent.headers.contains { $0 == ("Authorization", "Bearer the-jwt") })
    }

    @Test("A service without a name is shown by its identifier")
    func nameless() async throws {
        var answer = Answer()
        answer.claims["client_name"] = nil
        answer.claims["client_origin"] = nil
        let world = try await Self.world(answer)
        let receipts: [TransactionReceipt] = try await Self.receipts(world).authorizationProvider(Self.provider)
            .execute()
        #expect(receipts.map(\.service) == ["bank"] && receipts.first?.origin == nil)
    }

    @Test("Where the server knows the device, the device asks by its own proof, and nobody types a PIN")
    func proof() async throws {
        let world = try await Self.world()
        #expect(
            await operationError { _ = try await Self.receipts(world).execute() as [TransactionReceipt] }
                == OperationError(.missingInteraction))
        let account = try #require(await world.phone.client.localData.accounts.first)
        let identity = try #require(try await world.phone.client.deviceIdentity(of: account))
        await world.server.judge(ServerResponse(statusCode: .ok, deviceKey: identity.signingKey.keyID))
        _ = try await world.phone.authenticate(try await world.server.authentication())
        world.phone.person.forget()
        let receipts: [TransactionReceipt] = try await Self.receipts(world).execute()
        #expect(receipts.count == 1 && world.phone.person.asked.isEmpty)
        let sent = try #require(await world.server.requests.last)
        #expect(sent.headers.contains { $0.name == "Device-Proof" })
        #expect(!sent.headers.contains { $0.name == "Authorization" })
    }

    @Test("Nothing was confirmed, or the server has no such list", arguments: [200, 404])
    func nothing(status: Int) async throws {
        let world = try await Self.world(Array(#"{"username":"alice","receipts":[]}"#.utf8), status: status)
        let receipts: [TransactionReceipt] = try await Self.receipts(world).authorizationProvider(Self.provider)
            .execute()
        #expect(receipts.isEmpty)
    }

    /// Answers that a client must not take.
    private static let wrong: [(name: String, change: @Sendable (inout Answer) -> Void)] = [
        ("another person", { $0.username = "bob" }), ("no list", { $0.name = "notices" }),
        ("no JWS", { $0.receipt = "a receipt" }), ("two parts", { $0.receipt = "e30.e30" }),
        ("another type of JWS", { $0.type = "at+jwt" }), ("no evidence", { $0.hasEvidence = false }),
        ("no session", { $0.claims["session_id"] = nil }),
        ("a session that leads out of a folder", { $0.claims["session_id"] = .string("../s") }),
        ("no time", { $0.claims["iat"] = .string("today") }),
        ("a time before 1970", { $0.claims["iat"] = .integer(-1) }),
        ("a time after 9999", { $0.claims["iat"] = .integer(253_402_300_800) }),
        ("a short hash", { $0.claims["transaction_hash"] = .string("AAAA") }),
        ("no media type", { $0.claims["transaction_content_type"] = nil }), ("no methods", { $0.claims["amr"] = nil }),
        (
            "no service",
            {
                $0.claims["client_name"] = nil
                $0.claims["client_id"] = nil
            }
        ),
        ("another assertion", { $0.evidence["assertion"] = .string(Base64URL.encode([1, 2, 4])) }),
        ("another salt", { $0.evidence["key_salt"] = .string(Base64URL.encode([8])) }),
        ("another key", { $0.evidence["key"] = .string(Base64URL.encode([5])) }),
        ("another model", { $0.evidence["aaid"] = .string("4E4D#0003") }),
        ("no base64url", { $0.evidence["key"] = .string("a key") }),
        ("no format of the key", { $0.evidence["key_format"] = nil }),
        ("no number of the algorithm", { $0.evidence["algorithm"] = .integer(70_000) }),
    ]

    @Test(
        "An answer about another person, of another form, or with evidence of another receipt is refused",
        arguments: wrong.indices)
    func wrongForm(index: Int) async throws {
        let (name, change) = Self.wrong[index]
        var answer = Answer()
        change(&answer)
        let world = try await Self.world(answer)
        let error = await operationError {
            _ = try await Self.receipts(world).authorizationProvider(Self.provider).execute() as [TransactionReceipt]
        }
        #expect(error == .fido(.protocolError), "\(name)")
    }

    @Test(
        "What the server refuses has a code that says what to do",
        arguments: [
            (401, OperationError(.notAuthorized)), (403, OperationError(.accountLocked)),
            (429, OperationError(.networkError)), (503, OperationError(.networkError)),
        ])
    func refusals(status: Int, error: OperationError) async throws {
        let world = try await Self.world(Array("{}".utf8), status: status)
        await #expect(throws: error) {
            _ = try await Self.receipts(world).authorizationProvider(Self.provider).execute() as [TransactionReceipt]
        }
    }

    @Test("An answer of another media type is refused")
    func mediaType() async throws {
        let answer = Answer()
        let world = try await Self.world(answer.body(answer.copy()), type: "text/html")
        await #expect(throws: OperationError.fido(.protocolError)) {
            _ = try await Self.receipts(world).authorizationProvider(Self.provider).execute() as [TransactionReceipt]
        }
    }

    @Test("The operation is executed once, for a named account, and asks at the configured path")
    func mistakes() async throws {
        let answer = Answer()
        let world = try await Self.world(answer.body(answer.copy())) { $0.receiptsPath = "/other/receipts" }
        let operation = Self.receipts(world).authorizationProvider(Self.provider)
        _ = try await operation.execute() as [TransactionReceipt]
        #expect(await world.server.requests.last?.url.path() == "/other/receipts")
        await #expect(throws: OperationError(.operationReused)) {
            _ = try await operation.execute() as [TransactionReceipt]
        }
        await #expect(throws: OperationError(.missingInteraction)) {
            _ =
                try await world.phone.client.operations.transactionReceipts.authorizationProvider(Self.provider)
                .execute() as [TransactionReceipt]
        }
    }

    @Test("With a callback the receipts come to the callback")
    func callback() async throws {
        let world = try await Self.world()
        let receipts: [TransactionReceipt] = await withCheckedContinuation { continuation in
            Self.receipts(world).authorizationProvider(Self.provider)
                .onSuccess { continuation.resume(returning: $0) }
                .onError { _ in continuation.resume(returning: []) }
                .execute()
        }
        #expect(receipts.map(\.id) == ["s-1_A"])
    }
}
