import Accounts
import Ceremony
import CeremonyEngine
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

/// Takes each message to a device, and sends nothing.
private struct QuietPush: DeviceDispatcher {
    let name = "quiet"

    func dispatcherInformation(for operation: DispatchedOperation) -> DispatcherInformation { DispatcherInformation() }

    func delivery(of operation: DispatchedOperation, to device: DispatchTargetRecord) -> DispatchDelivery {
        .message(DispatchMessage(target: device.deviceID, content: Array(operation.payload.json.utf8)))
    }

    func deliver(_ message: DispatchMessage) {}
}

@Suite("Decision 126 (NIST SP 800-63B-4, 3.1.3): a person is named at the page, and their devices ask")
struct AskedSignInTests {
    /// A server with alice, whose phone speaks for itself and is reached by pushes, and with bob, who has no phone.
    private struct Scene {
        let server: TestServer
        let account: AccountRecord
        let phone: TestPhone
        let device: TestDevice
        let bob: AccountRecord

        init(_ adjust: (inout CeremonyConfiguration) -> Void = { _ in }) async throws {
            self.server = try TestServer(
                dispatchers: try Dispatchers.standard.adding(QuietPush()), adjust)
            self.account = try await self.server.directory.create(username: "alice", displayName: nil, by: "test")
            self.bob = try await self.server.directory.create(username: "bob", displayName: nil, by: "test")
            (self.phone, self.device) = try await Self.addPhone(at: self.server, address: "pocket")
        }

        /// Enrols a phone of alice's that announces its keys, and that pushes reach.
        @discardableResult
        static func addPhone(at server: TestServer, address: String) async throws -> (TestPhone, TestDevice) {
            let (phone, device) = (try TestPhone(), TestDevice())
            let link = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
            let request = try await server.engine.redemptions.redeem(
                token: try TestPhone.token(link.link), operation: .registration)
            let answer = try await server.engine.registrationAnswers.judge(
                try phone.register(request) { [try device.announcement($0)] })
            _ = try await server.engine.enrolments.confirmEnrolment(
                id: link.id, number: try #require(answer.confirmation?.number), by: "test")
            let found = try #require(try await server.database.device(ofKey: try device.name))
            try await server.database.changeDispatchTarget(
                DispatchTargetChange(
                    deviceID: found.deviceID, accountID: found.account.id, dispatcher: .changed(to: "quiet"),
                    address: .changed(to: address),
                    audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: server.clock.now)))
            return (phone, device)
        }

        /// Names a person at the page, and waits until the messages are written.
        @discardableResult
        func ask(
            _ account: String?, _ reference: String = "request", source: String = "192.0.2.0/24",
            agreement: String? = nil
        ) async throws -> SignInView {
            var requester = self.server.requester
            requester.agreement = agreement
            let asked = try await self.server.engine.askedSignIns.ask(
                account, reference: reference, browser: self.server.browser, requester: requester, source: source)
            try await asked.announcement?.written()
            return asked.view
        }

        func state(_ reference: String = "request") async throws -> SignInState {
            try await self.server.engine.signIns.state(reference: reference, browser: self.server.browser)
        }

        func outcome(_ reference: String = "request", askedByName: Bool = true) async throws -> SignInOutcome? {
            try await self.server.engine.signIns.consume(
                reference: reference, browser: self.server.browser, client: "demo-bank", askedByName: askedByName)
        }

        /// The operations that the phone finds when its app is opened by hand.
        func waiting() async throws -> [PendingOperation] {
            let prover = try await self.server.engine.deviceProofs.prover(
                of: try self.device.call(at: self.server.clock.now))
            return try await self.server.engine.deviceOperations.pending(for: prover)
        }

        /// Has the phone take up the newest operation.
        func taken() async throws -> ReturnUAFRequest {
            let operation = try #require(try await self.waiting().first)
            return try await self.server.engine.redemptions.redeem(
                token: try OutOfBandPayload(json: operation.payload).redeemData.token, operation: .authentication)
        }

        func judge(_ request: ReturnUAFRequest, counter: UInt32, typing number: String) async throws -> ServerResponse {
            try await self.server.engine.authenticationAnswers.judge(
                try self.phone.authenticate(request, counter: counter) {
                    [NumberAnswer.assertionExtension(number: number, finalChallenge: $0)]
                }
            ).response
        }

        func deny(_ request: ReturnUAFRequest, _ statement: DenialStatement) async throws {
            var report = try self.phone.giveUp(request, clientErrorCode: 3)
            report.context?["denial"] = .string(try self.device.denial(statement, of: request))
            #expect(
                try await self.server.engine.authenticationAnswers.judge(report).response.statusCode == .ok)
        }

        /// The number of messages to devices since the start.
        func messages() async throws -> Int {
            try await self.server.database.waitingMessages(to: .device).count
        }

        func events(_ kind: String) async throws -> [AuditEvent] {
            try await self.server.database.auditEntries(after: 0, limit: 10_000).map(\.event).filter {
                $0.kind.rawValue == kind
            }
        }
    }

    /// Another number than the shown number.
    private static func other(than number: String) -> String { number == "123456" ? "654321" : "123456" }

    @Test("The page shows six digits, the phone asks for them, and the browser that began is signed in")
    func right() async throws {
        let scene = try await Scene()
        let view = try await scene.ask(scene.account.id)
        let number = try #require(view.number)
        #expect(view.state == .waiting && view.isAskedByName && view.codes == nil)
        #expect(number.utf8.count == 6 && number.utf8.allSatisfy { (0x30...0x39).contains($0) })
        let operation = try #require(try await scene.waiting().first)
        #expect(operation.service == "Demo Bank" && operation.kind == .authentication)
        let request = try await scene.taken()
        #expect(request.numberLength == 6 && request.dispatchChannel == "device")
        #expect(request.requester?.address == "192.0.2.1" && request.requester?.browser == "Chrome on Linux")
        #expect(!String(decoding: request.serialized, as: UTF8.self).contains(number), "the phone is not told it")
        #expect(try await scene.outcome() == nil)
        #expect(try await scene.judge(request, counter: 2, typing: number).statusCode == .ok)
        #expect(try await scene.state() == .approved)
        #expect(try await scene.outcome(askedByName: false) == nil, "no sign-in by a code")
        #expect(try await scene.outcome()?.accountID == scene.account.id)
        #expect(try await scene.state() == .completed)
        #expect(try await scene.ask(scene.account.id).state == .completed, "nobody is asked once more")
    }

    @Test("The page shown again has the same number; only a new question has another")
    func again() async throws {
        let scene = try await Scene()
        let first = try await scene.ask(scene.account.id)
        let signIns = scene.server.engine.signIns
        let renewed = try await signIns.renew(
            reference: "request", browser: scene.server.browser, source: "192.0.2.0/24")
        #expect(renewed.number == first.number && renewed.codes == nil)
        var numbers: Set = [first.number]
        for _ in 0..<3 { numbers.insert(try await scene.ask(scene.account.id).number) }
        #expect(numbers.count > 1)
        #expect(try await scene.waiting().count == 1, "a question ends the question before")
    }

    /// A reason why the named person is not asked, or has not approved.
    enum Reason: CaseIterable {
        case unknown, locked, noDevice, disowned, guessed, pastBudget, claimed, denied, notMe, wrongNumber, givenUp
    }

    /// Brings the scene to where the reason holds for the next question. Returns the account to name.
    private static func prepare(_ reason: Reason, _ scene: Scene) async throws -> String? {
        switch reason {
        case .unknown: return nil
        case .noDevice: return scene.bob.id
        case .locked:
            _ = try await scene.server.directory.setLocked(true, username: scene.account.reference, by: "test")
        case .disowned:
            try await scene.ask(scene.account.id, "before")
            try await scene.deny(try await scene.taken(), .notMe)
        case .guessed:
            for attempt in 0..<5 {
                let view = try await scene.ask(scene.account.id, "before \(attempt)")
                let answer = try await scene.judge(
                    try await scene.taken(), counter: UInt32(attempt + 2),
                    typing: Self.other(than: try #require(view.number)))
                #expect(answer.isNumberWrong)
            }
        case .pastBudget: for attempt in 0..<4 { try await scene.ask(scene.account.id, "before \(attempt)") }
        case .claimed, .denied, .notMe, .wrongNumber, .givenUp: break
        }
        return scene.account.id
    }

    /// Has the phone do what it does for the reason.
    private static func answer(_ reason: Reason, _ number: String, _ scene: Scene) async throws {
        switch reason {
        case .unknown, .locked, .noDevice, .disowned, .guessed, .pastBudget: return
        case .claimed: _ = try await scene.taken()
        case .denied: try await scene.deny(try await scene.taken(), .unwanted)
        case .notMe: try await scene.deny(try await scene.taken(), .notMe)
        case .wrongNumber:
            let answer = try await scene.judge(try await scene.taken(), counter: 9, typing: Self.other(than: number))
            #expect(answer.isNumberWrong)
        case .givenUp:
            let report = try scene.phone.giveUp(try await scene.taken(), clientErrorCode: 3)
            _ = try await scene.server.engine.authenticationAnswers.judge(report)
        }
    }

    @Test(
        "Whatever the name is, and whatever the phone does, the page waits until its time is over",
        arguments: Reason.allCases)
    func looks(reason: Reason) async throws {
        let scene = try await Scene()
        let account = try await Self.prepare(reason, scene)
        let view = try await scene.ask(account)
        let lifetime = scene.server.engine.configuration.limits.pushLifetime
        #expect(view.state == .waiting && view.isAskedByName && view.codes == nil)
        #expect(view.number?.utf8.count == 6 && view.expiresAt == scene.server.clock.now + lifetime)
        let end = scene.server.clock.now + lifetime
        var events = try await scene.server.engine.signIns.events(
            reference: "request", browser: scene.server.browser
        ).makeAsyncIterator()
        #expect(try await events.next() == .waiting)
        try await Self.answer(reason, try #require(view.number), scene)
        for moment in [scene.server.clock.now, end - .seconds(1)] {
            scene.server.clock.advance(moment - scene.server.clock.now)
            try await scene.server.engine.sweep.run()
            #expect(try await scene.state() == .waiting)
            let shown = try await scene.server.engine.signIns.renew(
                reference: "request", browser: scene.server.browser, source: "192.0.2.0/24")
            #expect(shown.state == .waiting && shown.number == view.number)
        }
        scene.server.clock.advance(.seconds(1))
        #expect(try await events.next() == .expired)
        #expect(try await events.next() == nil)
        #expect(try await scene.state() == .expired)
        #expect(try await scene.outcome() == nil)
    }

    @Test("What a phone takes up late is over with the page, and no approval comes after the page's end")
    func late() async throws {
        let scene = try await Scene()
        let view = try await scene.ask(scene.account.id)
        scene.server.clock.advance(scene.server.engine.configuration.limits.pushLifetime - .seconds(10))
        let request = try await scene.taken()
        #expect(request.lifetimeMilliseconds == 10_000)
        scene.server.clock.advance(.seconds(10))
        let answer = try await scene.judge(request, counter: 2, typing: try #require(view.number))
        #expect(answer.statusCode != .ok)
        #expect(try await scene.state() == .expired)
        #expect(try await scene.outcome() == nil)
    }

    @Test("One question is one push to the person, a message for each device, with a token of the device's own")
    func messages() async throws {
        let scene = try await Scene()
        try await Scene.addPhone(at: scene.server, address: "drawer")
        for number in 1...4 {
            try await scene.ask(scene.account.id, "\(number)")
            #expect(try await scene.messages() == min(number, 3) * 2)
        }
        let used = try #require(try await scene.events("push-budget-used-up").first)
        #expect(used.accountID == scene.account.id && used.detail == "requester")
        #expect(try await scene.waiting().count == 4, "the app that is opened by hand finds all of them")
        let taken = try await scene.server.database.takeMessages(
            to: .device, at: scene.server.clock.now, lease: scene.server.clock.now + .seconds(9),
            shares: OutboxShares(most: 9, share: 9, underWay: [:]))
        let deliveries = try taken.map { try DeviceDelivery($0) }
        let tokens = try deliveries.map { delivery in
            try OutOfBandPayload(json: String(decoding: delivery.message.content, as: UTF8.self)).redeemData.token
        }
        #expect(Set(tokens).count == 6 && Set(deliveries.map(\.message.target)).count == 2)
        let request = try await scene.server.engine.redemptions.redeem(token: tokens[0], operation: .authentication)
        #expect(request.numberLength == 6)
    }

    @Test("A locked account, a resting requester and a person without devices get no message, and count none")
    func noMessages() async throws {
        for reason in [Reason.unknown, .locked, .noDevice, .disowned, .guessed] {
            let scene = try await Scene()
            let account = try await Self.prepare(reason, scene)
            let before = try await scene.messages()
            try await scene.ask(account)
            #expect(try await scene.messages() == before, "\(reason)")
        }
    }

    @Test("\"Not me\" rests the client in that network, and neither another network nor another client")
    func requesters() async throws {
        let scene = try await Scene()
        try await scene.ask(scene.account.id, "theirs", source: "198.51.100.0/24")
        try await scene.deny(try await scene.taken(), .notMe)
        let disowned = try #require(try await scene.events("request-disowned").first)
        let actor = try #require(disowned.actor)
        #expect(actor.hasPrefix("demo-bank ") && !actor.contains("198.51.100"))
        try await scene.ask(scene.account.id, "again", source: "198.51.100.0/24")
        #expect(try await scene.waiting().isEmpty, "the phone does not find it")
        try await scene.ask(scene.account.id, "own", source: "192.0.2.0/24")
        #expect(try await scene.waiting().count == 1, "the person's own network")
        scene.server.clock.advance(Limits.Fixed.firstAskingRest)
        try await scene.ask(scene.account.id, "later", source: "198.51.100.0/24")
        #expect(try await scene.waiting().count == 1, "the rest is over, and what was asked before it, too")
    }

    @Test("A code takes the place of the number, and a number takes the place of the codes")
    func otherWay() async throws {
        let scene = try await Scene()
        try await scene.ask(scene.account.id)
        let coded = try await scene.server.beginSignIn()
        #expect(coded.state == .waiting && coded.number == nil && !coded.isAskedByName)
        #expect(try await scene.waiting().isEmpty)
        let token = try TestPhone.token(try #require(coded.codes).qrContent)
        #expect(try await scene.ask(scene.account.id).number != nil)
        await #expect(throws: CeremonyError(.tokenExpired)) {
            try await scene.server.engine.redemptions.redeem(token: token, operation: .authentication)
        }
    }

    @Test("An approved sign-in goes on, and a sign-in by a code is no sign-in by a name")
    func approved() async throws {
        let scene = try await Scene()
        let request = try await scene.server.claimSignIn()
        let answer = try await scene.server.engine.authenticationAnswers.judge(
            try scene.phone.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == .ok)
        #expect(try await scene.ask(scene.account.id).state == .approved)
        #expect(try await scene.outcome() == nil)
        #expect(try await scene.outcome(askedByName: false)?.accountID == scene.account.id)
    }

    @Test("A sign-in that is cancelled at the page goes from the phone's list")
    func cancelled() async throws {
        let scene = try await Scene()
        try await scene.ask(scene.account.id)
        #expect(try await scene.waiting().count == 1)
        try await scene.server.engine.signIns.cancel(reference: "request", browser: scene.server.browser)
        while try await !scene.waiting().isEmpty { await Task.yield() }
        #expect(try await scene.state() == .expired)
    }

    @Test("The text of a request is shown and signed, too")
    func agreement() async throws {
        let scene = try await Scene()
        let view = try await scene.ask(scene.account.id, agreement: "Pay 5 EUR")
        let request = try await scene.taken()
        let message = try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8)
        #expect(message.transaction.map(\.content) == [Array("Pay 5 EUR".utf8)])
        #expect(try await scene.judge(request, counter: 2, typing: try #require(view.number)).statusCode == .ok)
        #expect(try await scene.outcome()?.contentHash != nil)
    }

    @Test("The list of links does not have the question: a link would be completed by the browser that opens it")
    func noLink() async throws {
        let scene = try await Scene()
        try await scene.ask(scene.account.id)
        let device = try await scene.server.device(of: scene.account)
        #expect(try await scene.server.engine.backchannel.waiting(for: device).isEmpty)
        #expect(try await scene.waiting().count == 1)
    }

    @Test("Another browser, a network without budget and a service of identities are refused, whatever the name is")
    func refusals() async throws {
        let scene = try await Scene { $0.limits.codeBurst = 3 }
        try await scene.server.addService("portal")
        let asked = scene.server.engine.askedSignIns
        for account in [scene.account.id, nil] {
            let reference = account ?? "nobody"
            try await scene.ask(account, reference, source: "here")
            await #expect(throws: CeremonyError(.wrongBrowser)) {
                try await asked.ask(
                    account, reference: reference, browser: "another", requester: scene.server.requester,
                    source: "elsewhere")
            }
            var requester = scene.server.requester
            requester.client = "portal"
            await #expect(throws: CeremonyError(.forbidden)) {
                try await asked.ask(
                    account, reference: "portal", browser: scene.server.browser, requester: requester, source: "here")
            }
        }
        try await scene.ask(nil, "last", source: "here")
        for account in [scene.account.id, nil] {
            await #expect(throws: CeremonyError(.tooManyRequests)) {
                try await scene.ask(account, "more", source: "here")
            }
        }
    }

    // MARK: Questions of clients

    @Test("Identity parity 98: a client's question reaches the devices as a push, a name that nobody has reaches none")
    func questions() async throws {
        let scene = try await Scene()
        func ask(_ reference: String, _ account: String) async throws {
            try await scene.server.engine.backchannel.ask(
                BackchannelQuestion(
                    reference: reference, accountID: account, hint: account, message: nil, number: "004711",
                    end: scene.server.clock.now + .seconds(60)), client: scene.server.bank
            ).written()
        }
        try await ask("nobody", "nobody")
        #expect(try await scene.messages() == 0)
        for number in 1...4 { try await ask("\(number)", scene.account.id) }
        #expect(try await scene.messages() == 3, "within the budget of the client")
        #expect(try await scene.waiting().count == 4)
        let request = try await scene.taken()
        #expect(try await scene.judge(request, counter: 2, typing: "004711").statusCode == .ok)
    }
}
