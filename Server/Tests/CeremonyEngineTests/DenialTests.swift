import Accounts
import Ceremony
import CeremonyEngine
import Crypto
import Foundation
import JOSE
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

extension TestDevice {
    /// A denial of a request, signed as a phone signs it unless something else is given.
    func denial(
        _ statement: DenialStatement, of request: ReturnUAFRequest, challenge: String? = nil,
        audience: String = "http://localhost:8080", keyID: String? = nil,
        signedBy signer: P256.Signing.PrivateKey? = nil
    ) throws -> String {
        let message = try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8)
        let unsigned = try SignedDenial.unsigned(
            statement, audience: audience, challenge: challenge ?? message.challenge.text,
            keyID: try keyID ?? self.name)
        let signature = try (signer ?? self.signing).signature(for: Data(unsigned.signingInput))
        return unsigned.compact(signature: Array(signature.rawRepresentation))
    }
}

@Suite("Operations parity 95 and decision 119: a denial is an answer that the device signs")
struct DenialTests {
    /// A server with alice, whose phone speaks for itself.
    private struct Scene {
        let server: TestServer
        let account: AccountRecord
        let phone: TestPhone
        let device = TestDevice()
        let shop = DispatchingClient(id: "shop", name: "Shop", origin: "https://shop.example", mayDeregister: false)

        init(dispatchers: Dispatchers = .standard) async throws {
            self.server = try TestServer(dispatchers: dispatchers)
            self.account = try await self.server.directory.create(username: "alice", displayName: nil, by: "test")
            self.phone = try TestPhone()
            try await Self.enrol(self.phone, self.device, "alice", self.server)
        }

        /// Enrols a phone that tells of the device.
        static func enrol(_ phone: TestPhone, _ device: TestDevice, _ username: String, _ server: TestServer)
            async throws
        {
            let link = try await server.engine.enrolments.createEnrolmentLink(username: username, by: "test")
            let request = try await server.engine.redemptions.redeem(
                token: try TestPhone.token(link.link), operation: .registration)
            let answer = try await server.engine.registrationAnswers.judge(
                try phone.register(request) { [try device.announcement($0)] })
            _ = try await server.engine.enrolments.confirmEnrolment(
                id: link.id, number: answer.confirmation?.number ?? "", by: "test")
        }

        /// Dispatches a text, and redeems it.
        func dispatched(_ text: String = "Pay 100 EUR") async throws -> (session: String, request: ReturnUAFRequest) {
            let answer = try await self.server.dispatch(text, to: self.account)
            return (
                try #require(answer.sessionID),
                try await self.server.engine.redemptions.redeem(
                    token: try #require(answer.token), operation: .authentication)
            )
        }

        @discardableResult
        func judge(_ denial: String, of request: ReturnUAFRequest) async throws -> UAFStatusCode {
            var report = try self.phone.giveUp(request, clientErrorCode: 3)
            report.context?["denial"] = .string(denial)
            return try await self.server.engine.authenticationAnswers.judge(report).response.statusCode
        }

        func status(_ session: String) async throws -> CeremonyStatus {
            try await self.server.engine.sessions.status(sessionID: session, clientID: "bank")
        }

        /// Says "not me" to a new dispatch of the bank.
        func disown() async throws {
            let request = try await self.dispatched().request
            #expect(try await self.judge(try self.device.denial(.notMe, of: request), of: request) == .ok)
        }

        /// Has a client ask alice without a browser.
        func ask(_ client: DispatchingClient, _ reference: String) async throws {
            try await self.server.engine.backchannel.ask(
                BackchannelQuestion(
                    reference: reference, accountID: self.account.id, hint: "alice", message: "Call \(reference)",
                    end: self.server.clock.now + .seconds(60)), client: client)
        }

        /// The services whose questions the phone finds.
        func waiting() async throws -> [String] {
            try await self.server.engine.backchannel.waiting(for: self.server.device(of: self.account)).map(\.service)
        }

        func notices() async throws -> [NoticeRecord] {
            try await self.server.database.notices(accountID: self.account.id, limit: 50).filter {
                $0.kind == .requestDisowned
            }
        }

        func events(_ kind: String) async throws -> [AuditEvent] {
            try await self.server.database.auditEntries(after: 0, limit: 1000).map(\.event).filter {
                $0.kind.rawValue == kind
            }
        }
    }

    // MARK: What the relying party sees

    @Test(
        "The status tells a denial, its reason and \"not me\" apart",
        arguments: [
            (DenialStatement.unwanted, CeremonyStatus.Refusal.denied), (.wrongContent, .wrongContent),
            (.notMe, .notMe), (DenialStatement(reason: .wrongContent, isNotMe: true), .notMe),
        ])
    func status(statement: DenialStatement, refusal: CeremonyStatus.Refusal) async throws {
        let scene = try await Scene()
        let (session, request) = try await scene.dispatched()
        #expect(try await scene.status(session).refusal == nil)
        #expect(try await scene.judge(try scene.device.denial(statement, of: request), of: request) == .ok)
        let status = try await scene.status(session)
        #expect(status.state == .failed && status.isFinal && status.refusal == refusal)
        #expect(status.clientErrorCode == 3 && status.uafStatusCode == nil && status.confirmation == nil)
        let device = try await scene.server.device(of: scene.account).deviceID
        let event = try #require(try await scene.events(statement.isNotMe ? "request-disowned" : "denied").first)
        #expect(event.accountID == scene.account.id && event.ceremonyID == session)
        #expect(event.detail == "\(device) \(statement.reason.rawValue)")
    }

    @Test("A phone that only gives up has signed nothing, and the status says so")
    func givenUp() async throws {
        let scene = try await Scene()
        let (session, request) = try await scene.dispatched()
        let report = try scene.phone.giveUp(request, clientErrorCode: 3)
        #expect(try await scene.server.engine.authenticationAnswers.judge(report).response.statusCode == .ok)
        #expect(try await scene.status(session).refusal == .givenUp)
        #expect(try await scene.notices().isEmpty)
    }

    @Test("A failure and an expiry are no refusals")
    func otherEnds() async throws {
        let scene = try await Scene()
        let (failed, request) = try await scene.dispatched()
        let report = try scene.phone.giveUp(request, clientErrorCode: 14)
        _ = try await scene.server.engine.authenticationAnswers.judge(report)
        let (expired, _) = try await scene.dispatched()
        scene.server.clock.advance(.seconds(180))
        try await scene.server.engine.sweep.run()
        for session in [failed, expired] {
            let status = try await scene.status(session)
            #expect(status.state == .failed && status.refusal == nil)
        }
    }

    @Test("A client that asked without a browser reads a denial, whatever the statement")
    func backchannel() async throws {
        for statement in [DenialStatement.unwanted, .notMe] {
            let scene = try await Scene()
            try await scene.ask(scene.server.bank, "4711")
            let question = try #require(
                try await scene.server.engine.backchannel.waiting(for: scene.server.device(of: scene.account)).first)
            let request = try await scene.server.engine.redemptions.redeem(
                token: try TestPhone.token(question.link), operation: .authentication)
            #expect(try await scene.judge(try scene.device.denial(statement, of: request), of: request) == .ok)
            let state = try await scene.server.engine.backchannel.state(reference: "4711", client: "bank")
            #expect(state == .denied)
        }
    }

    // MARK: What is refused

    /// What is wrong with a denial.
    enum Fault: CaseIterable {
        case key, challenge, audience, unknownKey, anotherPerson, otherType, changed, noToken, removed
    }

    @Test("A denial that the person's device has not signed for this request denies nothing", arguments: Fault.allCases)
    func refused(fault: Fault) async throws {
        let scene = try await Scene()
        let (session, request) = try await scene.dispatched()
        let device = scene.device
        let right = try device.denial(.notMe, of: request)
        let parts = right.split(separator: ".").map(String.init)
        let denial: String
        switch fault {
        case .key: denial = try device.denial(.notMe, of: request, signedBy: .init())
        case .challenge: denial = try device.denial(.notMe, of: request, challenge: "AAAAAAAAAAAAAAAAAAAAAA")
        case .audience: denial = try device.denial(.notMe, of: request, audience: "https://other.example")
        case .unknownKey: denial = try TestDevice().denial(.notMe, of: request)
        case .anotherPerson:
            let stranger = TestDevice()
            _ = try await scene.server.directory.create(username: "mallory", displayName: nil, by: "test")
            try await Scene.enrol(try TestPhone(), stranger, "mallory", scene.server)
            denial = try stranger.denial(.notMe, of: request)
        case .otherType:
            denial = try #require(
                try device.call(at: scene.server.clock.now).proof, "a proof of a request is no denial")
        case .changed:
            let other = try device.denial(.unwanted, of: request).split(separator: ".").map(String.init)
            denial = "\(parts[0]).\(other[1]).\(parts[2])"
        case .noToken: denial = "no token"
        case .removed:
            let removed = try await scene.server.device(of: scene.account).deviceID
            try await scene.server.directory.deleteDevice(id: removed, by: "test")
            denial = right
        }
        #expect(try await scene.judge(denial, of: request) == .unauthorized)
        let status = try await scene.status(session)
        #expect(status.state == .failed && status.refusal == .givenUp, "as a phone that signs nothing")
        #expect(try await scene.notices().isEmpty)
        #expect(try await scene.events("request-disowned").isEmpty)
        try await scene.ask(scene.server.bank, "1")
        #expect(try await scene.waiting() == ["Demo Bank"], "the client does not rest")
    }

    @Test("A denial comes in time, once, and not after another answer")
    func late() async throws {
        let scene = try await Scene()
        let (session, request) = try await scene.dispatched()
        let denial = try scene.device.denial(.unwanted, of: request)
        #expect(try await scene.judge(denial, of: request) == .ok)
        #expect(try await scene.judge(try scene.device.denial(.notMe, of: request), of: request) == .invalidRequest)
        #expect(try await scene.status(session).refusal == .denied)
        let (approved, second) = try await scene.dispatched()
        let answer = try await scene.server.engine.authenticationAnswers.judge(
            try scene.phone.authenticate(second, counter: 2))
        #expect(answer.response.statusCode == .ok)
        #expect(try await scene.judge(try scene.device.denial(.notMe, of: second), of: second) == .invalidRequest)
        #expect(try await scene.status(approved).state == .succeeded)
        let third = try await scene.dispatched().request
        scene.server.clock.advance(.seconds(180))
        let status = try await scene.judge(try scene.device.denial(.notMe, of: third), of: third)
        #expect([.requestTimeout, .invalidRequest].contains(status))
        #expect(try await scene.notices().isEmpty)
    }

    // MARK: "Not me"

    @Test("\"Not me\" leaves a notice for each device and an event that names the client; a denial leaves neither")
    func notice() async throws {
        let scene = try await Scene()
        let request = try await scene.dispatched().request
        try await scene.judge(try scene.device.denial(.unwanted, of: request), of: request)
        #expect(try await scene.notices().isEmpty)
        try await scene.disown()
        let notice = try #require(try await scene.notices().first)
        #expect(notice.subject == "Demo Bank" && notice.at == scene.server.clock.now)
        #expect(try await scene.events("request-disowned").map(\.actor) == ["bank"])
    }

    @Test("\"Not me\" rests what the client asks this person, for an hour, then two, and a day at most")
    func rests() async throws {
        let scene = try await Scene()
        for (number, hours) in [1, 2, 4, 8, 16, 24, 24].enumerated() {
            try await scene.disown()
            scene.server.clock.advance(.seconds(hours * 3600 - 1))
            try await scene.ask(scene.server.bank, "early \(number)")
            try await scene.ask(scene.shop, "shop \(number)")
            #expect(try await scene.waiting() == ["Shop"], "the rest \(number) lasts, and only for one client")
            scene.server.clock.advance(.seconds(1))
            #expect(try await scene.waiting() == ["Shop", "Demo Bank"], "after \(hours) hours it is over")
            scene.server.clock.advance(.seconds(61))
            try await scene.server.engine.sweep.run()
        }
        scene.server.clock.advance(Limits.Fixed.askingRestMemory)
        try await scene.server.engine.sweep.run()
        try await scene.disown()
        scene.server.clock.advance(.seconds(3600))
        try await scene.ask(scene.server.bank, "forgotten")
        #expect(try await scene.waiting() == ["Demo Bank"], "after a week the first rest is an hour again")
    }

    @Test("While a client rests, codes and links work, and what it asked before is not shown")
    func codes() async throws {
        let scene = try await Scene()
        try await scene.ask(scene.server.bank, "before")
        #expect(try await scene.waiting() == ["Demo Bank"])
        try await scene.disown()
        #expect(try await scene.waiting().isEmpty)
        let (session, request) = try await scene.dispatched()
        let answer = try await scene.server.engine.authenticationAnswers.judge(
            try scene.phone.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == .ok)
        #expect(try await scene.status(session).state == .succeeded)
        let link = try await scene.server.engine.dispatches.dispatch(
            DispatchRequest(
                dispatcher: "link", operation: .authentication,
                context: ["subject": .string("bank|\(scene.account.id)")]),
            client: scene.server.bank)
        #expect(link.result == .dispatched && link.link != nil)
    }

    @Test("A dispatch to a device of a person for whom the client rests looks as ever, and sends nothing")
    func devices() async throws {
        let scene = try await Scene(dispatchers: try Dispatchers.standard.adding(QuietDispatcher()))
        func dispatch() async throws -> DispatchAnswer {
            try await scene.server.engine.dispatches.dispatch(
                DispatchRequest(
                    dispatcher: "quiet", target: "phone", operation: .authentication,
                    context: ["subject": .string("bank|\(scene.account.id)")]), client: scene.server.bank)
        }
        func waiting() async throws -> Int { try await scene.server.database.waitingMessages(to: .device).count }
        let before = try await dispatch()
        #expect(before.result == .dispatched)
        #expect(try await waiting() == 1)
        try await scene.disown()
        let rested = try await dispatch()
        #expect(rested.result == .dispatched && rested.sessionID != nil && rested.token != nil)
        #expect(try await waiting() == 1)
        scene.server.clock.advance(.seconds(3600))
        _ = try await dispatch()
        #expect(try await waiting() == 2)
    }

    @Test("A person who scans a code for anybody can say that it was not theirs")
    func usernameless() async throws {
        let scene = try await Scene()
        let answer = try await scene.server.engine.dispatches.dispatch(
            DispatchRequest(dispatcher: "link-png-qr-code", operation: .authentication, context: [:]),
            client: scene.server.bank)
        let request = try await scene.server.engine.redemptions.redeem(
            token: try #require(answer.token), operation: .authentication)
        #expect(try await scene.judge(try scene.device.denial(.notMe, of: request), of: request) == .ok)
        let status = try await scene.status(try #require(answer.sessionID))
        #expect(status.refusal == .notMe && status.subject == nil, "the client does not learn whose phone it was")
        #expect(try await scene.notices().count == 1)
        try await scene.ask(scene.server.bank, "later")
        #expect(try await scene.waiting().isEmpty)
    }
}

/// A dispatcher to one device, which takes every message.
private struct QuietDispatcher: TargetedDispatcher {
    let name = "quiet"

    func dispatcherInformation(for operation: DispatchedOperation) throws -> DispatcherInformation {
        DispatcherInformation()
    }

    func delivery(of operation: DispatchedOperation, to target: String) async throws -> DispatchDelivery {
        .message(DispatchMessage(target: target, content: [1]))
    }

    func deliver(_ message: DispatchMessage) async throws {}
}
