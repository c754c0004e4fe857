import Accounts
import Ceremony
import CeremonyEngine
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("Operations parity 23 and decision 129: an answer that was lost is asked for again")
struct RepeatedAnswerTests {
    /// A server with alice, whose phone speaks for itself.
    private struct Scene {
        let server: TestServer
        let account: AccountRecord
        let phone: TestPhone
        let device = TestDevice()

        init(_ limits: @Sendable (inout Limits) -> Void = { _ in }) async throws {
            self.server = try TestServer { limits(&$0.limits) }
            self.account = try await self.server.directory.create(username: "alice", displayName: nil, by: "test")
            self.phone = try TestPhone()
            try await self.enrol(self.phone, self.device)
        }

        /// Enrols a phone of alice's.
        func enrol(_ phone: TestPhone, _ device: TestDevice) async throws {
            let (id, request) = try await self.enrolment()
            let answer = try await self.server.engine.registrationAnswers.judge(
                try phone.register(request) { [try device.announcement($0)] })
            _ = try await self.server.engine.enrolments.confirmEnrolment(
                id: id, number: try #require(answer.confirmation?.number), by: "test")
        }

        /// Begins an enrolment.
        func enrolment() async throws -> (id: String, request: ReturnUAFRequest) {
            let link = try await self.server.engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
            let request = try await self.server.engine.redemptions.redeem(
                token: try TestPhone.token(link.link), operation: .registration)
            return (link.id, request)
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

        /// A challenge for an authentication in the app.
        func challenge() async throws -> ReturnUAFRequest {
            try await self.server.engine.requests.authentication(username: "alice", policy: nil)
        }

        /// A sign-in of a browser on the phone itself, whose link was redeemed.
        func linkedSignIn() async throws -> ReturnUAFRequest {
            let view = try await self.server.beginSignIn()
            return try await self.server.engine.redemptions.redeem(
                token: try TestPhone.token(view.codes?.link ?? ""), operation: .authentication)
        }

        func prover(_ device: TestDevice? = nil) async throws -> DeviceProofs.Prover {
            try await self.server.engine.deviceProofs.prover(
                of: try (device ?? self.device).call(at: self.server.clock.now))
        }

        func judge(
            _ message: SendUAFResponse, provedBy prover: DeviceProofs.Prover? = nil, source: String? = nil
        ) async throws -> AuthenticationAnswer {
            try await self.server.engine.authenticationAnswers.judge(message, source: source, provedBy: prover)
        }

        func events(_ kind: String) async throws -> Int {
            try await self.server.database.auditEntries(after: 0, limit: 1000).count { $0.event.kind.rawValue == kind }
        }

        /// The counter of the phone's key.
        func counter() async throws -> UInt32? {
            try await self.server.database.credentials(accountID: self.account.id).first {
                $0.keyID == self.phone.keyID.bytes
            }?.counter
        }
    }

    // MARK: The same judgement

    @Test("A payment's answer, sent again, is accepted again, and the payment is confirmed once")
    func payment() async throws {
        let scene = try await Scene()
        let (session, request) = try await scene.dispatched()
        let message = try scene.phone.authenticate(request, counter: 2)
        #expect(try await scene.judge(message).response == ServerResponse(statusCode: .ok))
        for _ in 0..<3 {
            let again = try await scene.judge(message, source: "a")
            #expect(again.isRepeated && again.response == ServerResponse(statusCode: .ok))
            #expect(again.authenticated == nil)
        }
        #expect(try await scene.events("transaction-confirmed") == 1)
        #expect(try await scene.events("counter-went-back") == 0)
        #expect(try await scene.counter() == 2)
        let status = try await scene.server.engine.sessions.status(sessionID: session, clientID: "bank")
        #expect(status.state == .succeeded)
    }

    @Test("Another message under the challenge is refused as ever, by the ceremony and without a ceremony")
    func otherMessage() async throws {
        let scene = try await Scene()
        let requests = [try await scene.dispatched().request, try await scene.challenge()]
        for (index, request) in requests.enumerated() {
            let counter = UInt32(2 + 2 * index)
            #expect(
                try await scene.judge(try scene.phone.authenticate(request, counter: counter)).response.statusCode
                    == .ok)
            // The same key, the same text and the next counter: another nonce makes another message.
            let other = try scene.phone.authenticate(request, counter: counter + 1)
            let refused = try await scene.judge(other, provedBy: try await scene.prover())
            #expect(refused.response.statusCode == .invalidRequest && refused.authenticated == nil)
        }
    }

    @Test("After the challenge's life the same bytes are refused")
    func late() async throws {
        let scene = try await Scene()
        let requests = [try await scene.dispatched().request, try await scene.challenge()]
        let messages = try requests.enumerated().map {
            try scene.phone.authenticate($1, counter: UInt32(2 + $0))
        }
        for message in messages { #expect(try await scene.judge(message).response.statusCode == .ok) }
        scene.server.clock.advance(.seconds(600))
        for message in messages {
            let late = try await scene.judge(message, provedBy: try await scene.prover())
            #expect(late.response.statusCode == .invalidRequest && late.authenticated == nil)
        }
    }

    @Test("A refusal is told again, with the request to delete an unknown key and the word for a wrong number")
    func refusals() async throws {
        let scene = try await Scene()
        let wrong = try scene.phone.authenticate(try await scene.dispatched().request, counter: 2, fault: .signature)
        let unknown = try TestPhone().authenticate(try await scene.dispatched().request, counter: 2)
        for (message, code) in [(wrong, UAFStatusCode.unacceptableContent), (unknown, .unknownKeyID)] {
            let first = try await scene.judge(message).response
            #expect(first.statusCode == code)
            #expect(try await scene.judge(message).response == first)
        }
        #expect(try await scene.judge(unknown).response.newUAFRequest != nil)
        let failed = try await scene.events("failed")
        _ = try await scene.judge(wrong)
        #expect(try await scene.events("failed") == failed, "one entry for one answer")
    }

    @Test("A counter that went back without a ceremony is told again, and noted once")
    func counter() async throws {
        let scene = try await Scene()
        #expect(
            try await scene.judge(try scene.phone.authenticate(try await scene.challenge(), counter: 9)).response
                .statusCode == .ok)
        let message = try scene.phone.authenticate(try await scene.challenge(), counter: 5)
        let first = try await scene.judge(message).response
        #expect(first.statusCode != .ok)
        #expect(try await scene.judge(message).response == first)
        #expect(try await scene.events("counter-went-back") == 1)
    }

    @Test("Of fifty at once all are accepted, one of them with what is worth something, and one is noted")
    func atOnce() async throws {
        let scene = try await Scene()
        let messages = [
            try scene.phone.authenticate(try await scene.dispatched().request, counter: 2),
            try scene.phone.authenticate(try await scene.challenge(), counter: 3),
        ]
        for message in messages {
            let answers = try await withThrowingTaskGroup(of: AuthenticationAnswer.self) { group in
                for _ in 0..<50 { group.addTask { try await scene.judge(message) } }
                return try await group.reduce(into: [AuthenticationAnswer]()) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.response == ServerResponse(statusCode: .ok) })
            #expect(answers.count { !$0.isRepeated } == 1)
            #expect(answers.count { $0.authenticated != nil } <= 1)
        }
        #expect(try await scene.events("transaction-confirmed") == 1)
        #expect(try await scene.events("authenticated") == 1)
        #expect(try await scene.counter() == 3)
    }

    // MARK: What is worth something

    @Test("The token of an app comes again with a fresh proof of the device that signed, and with nothing else")
    func token() async throws {
        let scene = try await Scene()
        let (other, otherDevice) = (try TestPhone(), TestDevice())
        try await scene.enrol(other, otherDevice)
        let message = try scene.phone.authenticate(try await scene.challenge(), counter: 2)
        let first = try await scene.judge(message)
        let device = try #require(first.authenticated)
        for prover in [nil, try await scene.prover(otherDevice)] {
            let again = try await scene.judge(message, provedBy: prover)
            #expect(again.response == ServerResponse(statusCode: .ok) && again.authenticated == nil)
        }
        let proved = try await scene.judge(message, provedBy: try await scene.prover())
        #expect(proved.authenticated == device && proved.isRepeated)
        #expect(try proved.response.deviceKey == scene.device.name)
        #expect(try await scene.events("authenticated") == 1)
    }

    @Test("A browser's continuation comes again with the proof, in place of the lost one, and without it not at all")
    func continuation() async throws {
        let scene = try await Scene()
        let message = try scene.phone.authenticate(try await scene.linkedSignIn(), counter: 2)
        let lost = try #require(try await scene.judge(message).response.location)
        #expect(try await scene.judge(message).response.location == nil)
        let location = try #require(
            try await scene.judge(message, provedBy: try await scene.prover()).response.location)
        #expect(location != lost)
        func code(_ address: String) -> String { String(address.split(separator: "=").last ?? "") }
        let signIns = scene.server.engine.signIns
        await #expect(throws: (any Error).self) {
            try await signIns.resume(code: code(lost), browser: scene.server.browser)
        }
        _ = try await signIns.resume(code: code(location), browser: scene.server.browser)
        let browser = scene.server.browser
        #expect(try await signIns.consume(reference: "request", browser: browser, client: "demo-bank") != nil)
        let after = try await scene.judge(message, provedBy: try await scene.prover()).response
        #expect(after.statusCode == .ok && after.location == nil)
    }

    @Test("A phone without keys of its own gets the judgement alone")
    func withoutKeys() async throws {
        let scene = try await Scene()
        let bob = try await scene.server.enrol("bob").phone
        let request = try await scene.server.engine.requests.authentication(username: "bob", policy: nil)
        let message = try bob.authenticate(request, counter: 2)
        #expect(try await scene.judge(message).authenticated != nil)
        let again = try await scene.judge(message, provedBy: try await scene.prover())
        #expect(again.response == ServerResponse(statusCode: .ok) && again.authenticated == nil)
    }

    // MARK: Judged again

    /// What has changed between an answer and its repetition.
    enum Change: CaseIterable { case locked, revoked }

    @Test(
        "An account that was locked, and a device that was revoked, are judged as they are now",
        arguments: Change.allCases)
    func changed(change: Change) async throws {
        let scene = try await Scene()
        let messages = [
            try scene.phone.authenticate(try await scene.dispatched().request, counter: 2),
            try scene.phone.authenticate(try await scene.challenge(), counter: 3),
        ]
        for message in messages { #expect(try await scene.judge(message).response.statusCode == .ok) }
        let prover = try await scene.prover()
        switch change {
        case .locked: _ = try await scene.server.directory.setLocked(true, username: "alice", by: "test")
        case .revoked:
            let device = try await scene.server.device(of: scene.account)
            try await scene.server.directory.deleteDevice(id: device.deviceID, by: "test")
        }
        for message in messages {
            let again = try await scene.judge(message, provedBy: prover)
            #expect(again.response.statusCode == (change == .locked ? .forbidden : .unknownKeyID))
            #expect((again.response.newUAFRequest != nil) == (change == .revoked))
            #expect(again.authenticated == nil && again.response.location == nil)
        }
        #expect(try await scene.events("transaction-confirmed") == 1)
    }

    @Test("A removed device's proof earns nothing")
    func goneProver() async throws {
        let scene = try await Scene()
        let message = try scene.phone.authenticate(try await scene.challenge(), counter: 2)
        _ = try await scene.judge(message)
        let (spare, spareDevice) = (try TestPhone(), TestDevice())
        try await scene.enrol(spare, spareDevice)
        let devices = try await scene.server.database.devices(accountID: scene.account.id)
        try await scene.server.directory.deleteDevice(id: try #require(devices.last).id, by: "test")
        let gone = try await scene.prover(spareDevice)
        #expect(gone.isGone)
        #expect(try await scene.judge(message, provedBy: gone).authenticated == nil)
    }

    // MARK: Denials and registrations

    @Test("A signed denial, sent again, is accepted again; another denial is not")
    func denial() async throws {
        let scene = try await Scene()
        let (session, request) = try await scene.dispatched()
        func report(_ statement: DenialStatement) throws -> SendUAFResponse {
            var report = try scene.phone.giveUp(request, clientErrorCode: 3)
            report.context?["denial"] = .string(try scene.device.denial(statement, of: request))
            return report
        }
        let (denial, other) = (try report(.notMe), try report(.unwanted))
        for _ in 0..<3 { #expect(try await scene.judge(denial).response.statusCode == .ok) }
        #expect(try await scene.judge(other).response.statusCode == .invalidRequest)
        #expect(try await scene.events("request-disowned") == 1)
        let status = try await scene.server.engine.sessions.status(sessionID: session, clientID: "bank")
        #expect(status.refusal == .notMe)
    }

    @Test("A registration by link, sent again, is pending as before and tells no number; after its end it is refused")
    func registration() async throws {
        let scene = try await Scene()
        let (id, request) = try await scene.enrolment()
        let message = try TestPhone().register(request)
        let answers = scene.server.engine.registrationAnswers
        let number = try #require(try await answers.judge(message).confirmation?.number)
        let again = try await answers.judge(message)
        #expect(again.statusCode == .accepted && again.confirmation == nil && again.deviceKey == nil)
        #expect(try await answers.judge(try TestPhone().register(request)).statusCode == .invalidRequest)
        #expect(try await scene.events("registration-answered") == 2)
        _ = try await scene.server.engine.enrolments.confirmEnrolment(id: id, number: number, by: "test")
        #expect(try await answers.judge(message).statusCode == .accepted)
        _ = try await scene.server.directory.setLocked(true, username: "alice", by: "test")
        #expect(try await answers.judge(message).statusCode == .forbidden)
        _ = try await scene.server.directory.setLocked(false, username: "alice", by: "test")
        let declined = try await scene.enrolment()
        let second = try TestPhone().register(declined.request)
        _ = try await answers.judge(second)
        await #expect(throws: CeremonyError(.wrongNumber)) {
            try await scene.server.engine.enrolments.confirmEnrolment(id: declined.id, number: "x", by: "test")
        }
        #expect(try await answers.judge(second).statusCode == .invalidRequest)
    }

    @Test("A further authenticator, sent again, is there once; a deleted key and a locked account are judged again")
    func furtherAuthenticator() async throws {
        let scene = try await Scene()
        let device = try await scene.server.device(of: scene.account)
        let request = try await scene.server.engine.requests.registration(of: device)
        let further = try TestPhone(factor: .fingerprint)
        let message = try further.register(request)
        let answers = scene.server.engine.registrationAnswers
        for _ in 0..<3 { #expect(try await answers.judge(message) == ServerResponse(statusCode: .ok)) }
        #expect(try await answers.judge(try further.register(request)).statusCode == .invalidRequest)
        #expect(try await scene.events("authenticator-added") == 1)
        #expect(try await scene.server.database.credentials(accountID: scene.account.id).count == 2)
        _ = try await scene.server.directory.setLocked(true, username: "alice", by: "test")
        #expect(try await answers.judge(message).statusCode == .forbidden)
        _ = try await scene.server.directory.setLocked(false, username: "alice", by: "test")
        try await scene.server.directory.deleteDevice(id: device.deviceID, by: "test")
        #expect(try await answers.judge(message).statusCode == .unknownKeyID)
    }

    @Test("A number that was right is not counted as an attempt, however often its answer is sent at once")
    func numbers() async throws {
        let scene = try await Scene()
        let device = try await scene.server.device(of: scene.account)
        try await scene.server.database.changeDispatchTarget(
            DispatchTargetChange(
                deviceID: device.deviceID, accountID: scene.account.id, dispatcher: .changed(to: "device-stream"),
                audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: scene.server.clock.now)))
        let subject = "bank|\(scene.account.id)"
        let engine = scene.server.engine
        let target = try #require(
            try await engine.dispatchTargets.list(
                ofSubject: subject, client: scene.server.bank, withNames: false
            ).first)
        func ask() async throws -> (number: String, request: ReturnUAFRequest) {
            let answer = try await engine.dispatches.dispatch(
                DispatchRequest(
                    dispatcher: "device-stream", target: target.id, operation: .authentication,
                    context: ["subject": .string(subject)]), client: scene.server.bank)
            let prover = try await scene.prover()
            let pending = try #require(try await engine.deviceOperations.pending(for: prover).first)
            let request = try await engine.redemptions.redeem(
                token: try OutOfBandPayload(json: pending.payload).redeemData.token, operation: .authentication,
                by: prover)
            return (try #require(answer.number), request)
        }
        let (number, request) = try await ask()
        let right = try scene.phone.authenticate(request, counter: 2) {
            [NumberAnswer.assertionExtension(number: number, finalChallenge: $0)]
        }
        try await withThrowingTaskGroup(of: UAFStatusCode.self) { group in
            for _ in 0..<4 { group.addTask { try await scene.judge(right).response.statusCode } }
            for try await code in group { #expect(code == .ok) }
        }
        // Five wrong numbers are judged in an hour: none of them was used up.
        for counter in UInt32(3)..<8 {
            let (other, request) = try await ask()
            let wrong = try scene.phone.authenticate(request, counter: counter) {
                [NumberAnswer.assertionExtension(number: other == "000000" ? "000001" : "000000", finalChallenge: $0)]
            }
            let refused = try await scene.judge(wrong).response
            #expect(refused.isNumberWrong)
            #expect(try await scene.judge(wrong).response == refused, "and its repetition is told the same")
        }
        #expect(try await scene.events("asking-rested") == 1)
        #expect(try await scene.events("wrong-number") == 5)
    }
}
