import Accounts
import CeremonyEngine
import Records
import Testing
import UAF
import _Primitives

@Suite("Operations parity 86: each failure that a phone can cause carries its code in the status")
struct FailureStatusTests {
    /// A wrong answer of a phone.
    struct WrongAnswer: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: UAFStatusCode
        let answer: @Sendable (_ owner: TestPhone, _ stranger: TestPhone, ReturnUAFRequest) throws -> SendUAFResponse

        init(
            _ name: String, _ code: UAFStatusCode,
            _ answer: @escaping @Sendable (TestPhone, TestPhone, ReturnUAFRequest) throws -> SendUAFResponse
        ) {
            self.testDescription = name
            self.code = code
            self.answer = answer
        }

        init(_ fault: TestPhone.Fault, _ code: UAFStatusCode) {
            self.init("\(fault)", code) { owner, _, request in
                try owner.authenticate(request, counter: 2, fault: fault)
            }
        }
    }

    /// The answers that the server refuses. An answer outside a named policy has code 1492: `NamedPolicyTests`.
    static let wrongAnswers: [WrongAnswer] = [
        WrongAnswer(.signature, .unacceptableContent), WrongAnswer(.otherChallenge, .invalidRequest),
        WrongAnswer(.otherFacet, .unacceptableContent), WrongAnswer(.otherHash, .unacceptableContent),
        WrongAnswer(.unknownKey, .unknownKeyID), WrongAnswer(.unknownModel, .unknownAAID),
        WrongAnswer("another text", .unacceptableContent) { owner, _, request in
            try owner.authenticate(request, counter: 2, content: Array("Pay 900 EUR".utf8))
        },
        WrongAnswer("a counter that does not grow", .unacceptableContent) { owner, _, request in
            try owner.authenticate(request, counter: 1)
        },
        WrongAnswer("another person's phone", .unauthorized) { _, stranger, request in
            try stranger.authenticate(request, counter: 2)
        },
    ]

    /// The codes of a client that gives up (UAF Application API 1.1, ErrorCode), each with a code of the ASM.
    static let clientCodes: [(Int, Int)] = [
        (0, 0x00), (1, 0x01), (2, 0x01), (3, 0x03), (4, 0x01), (5, 0x0B), (6, 0x01), (7, 0x01), (9, 0x09),
        (12, 0x02), (13, 0x04), (14, 0x0E), (15, 0x0F), (16, 0x10), (17, 0x11), (255, 0x01),
    ]

    /// A transaction of alice that her phone has redeemed.
    private struct Scene {
        let server: TestServer
        let owner: TestPhone
        let stranger: TestPhone
        let session: String
        let request: ReturnUAFRequest

        init() async throws {
            self.server = try TestServer()
            let (account, owner) = try await self.server.enrol()
            self.owner = owner
            self.stranger = try await self.server.enrol("mallory").phone
            let dispatched = try await self.server.dispatch("Pay 100 EUR", to: account)
            self.session = try #require(dispatched.sessionID)
            #expect(
                try await self.server.engine.sessions.status(sessionID: self.session, clientID: "bank").state
                    == .tokenCreated)
            self.request = try await self.server.engine.redemptions.redeem(
                token: try #require(dispatched.token), operation: .authentication)
            #expect(try await self.status().state == .clientAuthenticating)
        }

        func status() async throws -> CeremonyStatus {
            try await self.server.engine.sessions.status(sessionID: self.session, clientID: "bank")
        }
    }

    @Test("An answer that the server refuses has the code of the refusal", arguments: Self.wrongAnswers)
    func refused(wrong: WrongAnswer) async throws {
        let scene = try await Scene()
        let answer = try await scene.server.engine.authenticationAnswers.judge(
            try wrong.answer(scene.owner, scene.stranger, scene.request))
        #expect(answer.response.statusCode == wrong.code)
        let status = try await scene.status()
        #expect(status.state == .failed && status.isFinal && status.tokenResult == .tokenRedeemed)
        #expect(status.uafStatusCode == Int(wrong.code.rawValue))
        #expect(status.clientErrorCode == nil && status.asmStatusCode == nil && status.confirmation == nil)
    }

    @Test("A client that gives up has its own code and the code of its ASM", arguments: Self.clientCodes)
    func gaveUp(client: Int, asm: Int) async throws {
        let scene = try await Scene()
        let report = try scene.owner.giveUp(scene.request, clientErrorCode: client, asmStatusCode: asm)
        #expect(try await scene.server.engine.authenticationAnswers.judge(report).response.statusCode == .ok)
        let status = try await scene.status()
        #expect(status.state == .failed && status.isFinal && status.tokenResult == .tokenRedeemed)
        #expect(status.clientErrorCode == client && status.asmStatusCode == asm)
        #expect(status.uafStatusCode == nil && status.confirmation == nil)
    }

    @Test("A phone that redeems and then is silent leaves a failure without a code, and the token was redeemed")
    func silent() async throws {
        let scene = try await Scene()
        scene.server.clock.advance(.seconds(180))
        for isSwept in [false, true] {
            let status = try await scene.status()
            #expect(status.state == .failed && status.tokenResult == .tokenRedeemed, "swept: \(isSwept)")
            #expect(status.uafStatusCode == nil && status.clientErrorCode == nil && status.asmStatusCode == nil)
            try await scene.server.engine.sweep.run()
        }
    }
}
