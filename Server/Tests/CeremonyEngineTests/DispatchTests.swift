import Accounts
import CeremonyEngine
import Crypto
import Records
import Settings
import Testing
import UAF
import _Primitives

@Suite("Dispatch, redeem and status for back ends (founding decision, Back ends)")
struct DispatchTests {
    @Test func aTransactionIsConfirmedByThePersonItIsFor() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        // Decomposed letters are sent, composed ones come back, are shown and signed.
        let sent = "Pay 100 EUR to Zoe\u{308}"
        let dispatched = try await server.dispatch(sent, to: account)
        #expect(dispatched.result == .dispatched)
        let session = try #require(dispatched.sessionID)
        let content = Array("Pay 100 EUR to Zo\u{EB}".utf8)
        #expect(dispatched.transaction.map(\.content) == [content])
        #expect(dispatched.link == dispatched.qrContent)
        #expect(dispatched.expiresAt == server.clock.now + .seconds(60))
        var status = try await server.engine.sessions.status(sessionID: session, clientID: "bank")
        #expect(status.state == .tokenCreated && status.tokenResult == nil && status.subject == "bank|\(account.id)")

        let request = try await server.engine.redemptions.redeem(
            token: try #require(dispatched.token), operation: .authentication)
        let message = try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8)
        #expect(message.transaction.map(\.content) == [content])
        #expect(message.policy.accepted.flatMap { $0 }.flatMap { $0.keyIDs ?? [] } == [phone.keyID])
        #expect(request.requester?.origin == "http://127.0.0.1:8081")
        status = try await server.engine.sessions.status(sessionID: session, clientID: "bank")
        #expect(status.state == .clientAuthenticating && status.tokenResult == .tokenRedeemed)

        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == .ok)
        status = try await server.engine.sessions.status(sessionID: session, clientID: "bank")
        #expect(status.state == .succeeded && status.isFinal)
        #expect(status.uafStatusCode == 1200)
        #expect(status.authenticators == [phone.aaid])
        #expect(status.confirmation?.contentHash == Array(SHA256.hash(data: content)))
        #expect(status.confirmation?.subject == "bank|\(account.id)")
        #expect(status.confirmation?.contentType == "text/plain")
        #expect(status.confirmation?.sessionID == session)
        #expect(status.confirmation?.amr == ["pin", "swk", "mfa"])
    }

    static let payment: JSONObject = [
        "amount": .string("120"), "currency": .string("EUR"), "payee": .string(" Zoe\u{308}  Gardener"),
        "iban": .string("de89 3704 0044 0532 0130 00"), "reference": .string("Fence"),
        "executionDate": .string("2026-12-01"),
    ]
    static let paymentText =
        "Payment\nAmount: EUR 120.00\nTo: Zo\u{EB} Gardener\nIBAN: DE89370400440532013000\nReference: Fence\n"
        + "Date: 2026-12-01"

    @Test func thePaymentsFieldsAreTheTextThatIsSigned() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let dispatched = try await server.engine.dispatches.dispatch(
            DispatchRequest(
                dispatcher: "link", operation: .authentication,
                context: ["subject": .string("bank|\(account.id)"), "payment": .object(Self.payment)]),
            client: server.bank)
        #expect(dispatched.transaction == [Transaction(content: Array(Self.paymentText.utf8))])
        let request = try await server.engine.redemptions.redeem(
            token: try #require(dispatched.token), operation: .authentication)
        let message = try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8)
        #expect(message.transaction == dispatched.transaction)
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == .ok)
        let status = try await server.engine.sessions.status(
            sessionID: try #require(dispatched.sessionID), clientID: "bank")
        #expect(status.confirmation?.contentHash == Array(SHA256.hash(data: Array(Self.paymentText.utf8))))
    }

    @Test func aTextThatIsAPaymentIsTakenAndOneThatOnlySaysSoIsRefused() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        #expect(try await server.dispatch(Self.paymentText, to: account).result == .dispatched)
        for text in ["Payment\nEUR 120", Self.paymentText + "\nFee: EUR 1.00", "PAYMENT"] {
            let error = await #expect(throws: CeremonyError.self) { try await server.dispatch(text, to: account) }
            #expect(error?.code == .invalidRequest && error?.reason.hasPrefix("the payment: ") == true, "\(text)")
        }
    }

    static let refusedPayments: [(member: String, value: JSON?, reason: String)] = [
        ("amount", .string("0"), "the payment: amount"), ("amount", .string("1.001"), "the payment: amount"),
        ("amount", .integer(120), "a context that is not understood"),
        ("amount", nil, "a context that is not understood"),
        ("currency", .string("EURO"), "the payment: currency"), ("payee", .string("A\nTo: B"), "the payment: payee"),
        ("payee", .string("A\u{202E}B"), "the payment: payee"), ("payee", nil, "a context that is not understood"),
        ("iban", .string("DE88370400440532013000"), "the payment: iban"),
        ("iban", nil, "not exactly one of the payment's iban and account"),
        ("account", .string("7"), "not exactly one of the payment's iban and account"),
        ("reference", .string("\u{200B}"), "the payment: reference"),
        ("executionDate", .string("2026-02-30"), "the payment: executionDate"),
        ("fee", .string("1"), "a payment member that is not known"),
    ]

    @Test(arguments: Self.refusedPayments)
    func aPaymentWithAFieldThatIsNotAcceptableIsRefused(member: String, value: JSON?, reason: String) async throws {
        let server = try TestServer()
        var payment = Self.payment
        payment[member] = value
        let context: JSONObject = ["subject": .string("s"), "payment": .object(payment)]
        let error = await #expect(throws: CeremonyError.self) {
            try await server.engine.dispatches.dispatch(
                DispatchRequest(dispatcher: "link", operation: .authentication, context: context), client: server.bank)
        }
        #expect(error?.code == .invalidRequest && error?.reason == reason)
    }

    @Test(.timeLimit(.minutes(10)))
    func aBackEndIsToldThatItIsOverWithoutASweep() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        let dispatched = try await server.dispatch("Pay 100 EUR", to: account)
        var events = server.engine.sessions.statusEvents(
            sessionID: try #require(dispatched.sessionID), clientID: "bank"
        ).makeAsyncIterator()
        #expect(try await events.next()?.state == .tokenCreated)
        server.clock.advance(Limits().dispatchLifetime)
        let last = try await events.next()
        #expect(last?.state == .failed && last?.tokenResult == .tokenTimedOut)
        #expect(try await events.next() == nil)
    }

    @Test func aPhoneThatSignedAnotherTextConfirmsNothing() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let dispatched = try await server.dispatch("Pay 100 EUR", to: account)
        let request = try await server.engine.redemptions.redeem(
            token: try #require(dispatched.token), operation: .authentication)
        let answer = try await server.engine.authenticationAnswers.judge(
            try phone.authenticate(request, counter: 2, content: Array("Pay 900 EUR".utf8)))
        #expect(answer.response.statusCode == .unacceptableContent)
        let status = try await server.engine.sessions.status(
            sessionID: try #require(dispatched.sessionID), clientID: "bank")
        #expect(status.state == .failed && status.uafStatusCode == 1498 && status.confirmation == nil)
    }

    @Test func anotherPersonsPhoneConfirmsNothing() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        let (_, stranger) = try await server.enrol("mallory")
        let dispatched = try await server.dispatch("Pay 100 EUR", to: account)
        let request = try await server.engine.redemptions.redeem(
            token: try #require(dispatched.token), operation: .authentication)
        let answer = try await server.engine.authenticationAnswers.judge(try stranger.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == .unauthorized)
    }

    @Test func anAuthenticationWithoutANameTellsThePersonAtItsEnd() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let dispatched = try await server.engine.dispatches.dispatch(
            DispatchRequest(dispatcher: "link", operation: nil, context: nil), client: server.bank)
        #expect(dispatched.qrContent == nil)
        let session = try #require(dispatched.sessionID)
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(try #require(dispatched.link)), operation: .authentication)
        #expect(try await server.engine.sessions.status(sessionID: session, clientID: "bank").subject == nil)
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(answer.response.location == nil, "no browser of this server waits")
        let status = try await server.engine.sessions.status(sessionID: session, clientID: "bank")
        #expect(status.state == .succeeded && status.subject == "bank|\(account.id)" && status.confirmation == nil)
    }

    @Test func anotherClientSeesAnUnknownSession() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        let session = try #require(try await server.dispatch("Pay", to: account).sessionID)
        for (id, client) in [(session, "shop"), ("none", "bank")] {
            let status = try await server.engine.sessions.status(sessionID: id, clientID: client)
            #expect(status.state == .unknown && status.isFinal)
            var events = server.engine.sessions.statusEvents(sessionID: id, clientID: client).makeAsyncIterator()
            #expect(try await events.next()?.state == .unknown)
            #expect(try await events.next() == nil)
        }
    }

    @Test(arguments: [true, false])
    func aBackEndIsToldEachState(isConfirmed: Bool) async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let dispatched = try await server.dispatch("Pay", to: account)
        var events = server.engine.sessions.statusEvents(
            sessionID: try #require(dispatched.sessionID), clientID: "bank"
        ).makeAsyncIterator()
        #expect(try await events.next()?.state == .tokenCreated)
        let request = try await server.engine.redemptions.redeem(
            token: try #require(dispatched.token), operation: .authentication)
        #expect(try await events.next()?.state == .clientAuthenticating)
        let answer =
            isConfirmed ? try phone.authenticate(request, counter: 2) : try phone.giveUp(request, clientErrorCode: 16)
        _ = try await server.engine.authenticationAnswers.judge(answer)
        let last = try await events.next()
        if isConfirmed {
            #expect(last?.state == .succeeded && last?.uafStatusCode == 1200 && last?.confirmation != nil)
        } else {
            #expect(last?.state == .failed && last?.clientErrorCode == 16 && last?.asmStatusCode == 3)
        }
        #expect(try await events.next() == nil)
    }

    @Test(.timeLimit(.minutes(10)))
    func eachChangeIsToldWithTheChangeAndNotAtATick() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let dispatched = try await server.dispatch("Pay", to: account)
        var events = server.engine.sessions.statusEvents(
            sessionID: try #require(dispatched.sessionID), clientID: "bank"
        ).makeAsyncIterator()
        // The clock stands still, so no tick ends a phase. Without a wake by the change the news after a tick is quiet.
        let tick = Limits.Fixed.watchTick
        func state(_ news: CeremonyNews<CeremonyStatus>?) -> CeremonyStatus.State? {
            guard case .state(let status) = news else { return nil }
            return status.state
        }
        #expect(state(try await events.next(patience: tick)) == .tokenCreated)
        #expect(try await events.next(patience: tick) == .quiet)
        let request = try await server.engine.redemptions.redeem(
            token: try #require(dispatched.token), operation: .authentication)
        #expect(state(try await events.next(patience: tick)) == .clientAuthenticating)
        #expect(try await events.next(patience: tick) == .quiet)
        _ = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(state(try await events.next(patience: tick)) == .succeeded)
    }

    @Test func aTokenThatNobodyRedeemsTimesOut() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        let dispatched = try await server.dispatch("Pay", to: account)
        let session = try #require(dispatched.sessionID)
        server.clock.advance(.seconds(60))
        for isSwept in [false, true] {
            let status = try await server.engine.sessions.status(sessionID: session, clientID: "bank")
            #expect(status.state == .failed && status.tokenResult == .tokenTimedOut, "swept: \(isSwept)")
            await #expect(throws: CeremonyError(.tokenExpired)) {
                try await server.engine.redemptions.redeem(token: dispatched.token ?? "", operation: .authentication)
            }
            try await server.engine.sweep.run()
        }
        server.clock.advance(.seconds(601))
        try await server.engine.sweep.run()
        #expect(try await server.engine.sessions.status(sessionID: session, clientID: "bank").state == .unknown)
        await #expect(throws: CeremonyError(.tokenUnknown)) {
            try await server.engine.redemptions.redeem(token: dispatched.token ?? "", operation: .authentication)
        }
    }

    @Test func anAnswerAfterTheClaimedTimeIsRefused() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let request = try await server.claimSignIn()
        server.clock.advance(.seconds(180))
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == .invalidRequest)
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .expired)
    }

    @Test func aTokenWorksOnlyAtItsOwnOperation() async throws {
        let server = try TestServer()
        try await server.enrol()
        let enrolment = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
        let token = try TestPhone.token(enrolment.link)
        await #expect(throws: CeremonyError(.tokenUnknown)) {
            try await server.engine.redemptions.redeem(token: token, operation: .authentication)
        }
        #expect(try await server.engine.redemptions.redeem(token: token, operation: .registration).statusCode == .ok)
        await #expect(throws: CeremonyError(.tokenAlreadyRedeemed)) {
            try await server.engine.redemptions.redeem(token: token, operation: .registration)
        }
        for token in ["", "unknown", "AAAAA-AAAAA", String(repeating: "x", count: 5000)] {
            await #expect(throws: CeremonyError(.tokenUnknown)) {
                try await server.engine.redemptions.redeem(token: token, operation: .authentication)
            }
        }
    }

    @Test func ofFiftyWhoRedeemOneWins() async throws {
        let server = try TestServer()
        let view = try await server.beginSignIn()
        let codes = try #require(view.codes)
        let tokens = [try TestPhone.token(codes.link), try TestPhone.token(codes.qrContent), codes.typedCode]
        let results = await withTaskGroup(of: String.self) { group in
            for index in 0..<50 {
                group.addTask {
                    do {
                        _ = try await server.engine.redemptions.redeem(
                            token: tokens[index % 3], operation: .authentication)
                        return "won"
                    } catch { return (error as? CeremonyError)?.code.name ?? "\(error)" }
                }
            }
            return await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(results == ["won": 1, "token-already-redeemed": 49])
    }

    @Test func aSubjectThatTheClientWasNeverGivenIsNotFound() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        _ = try await server.directory.create(username: "bare", displayName: nil, by: "test")
        let bare = try await server.directory.account(username: "bare")
        for (dispatcher, subject, result) in [
            ("link", "shop|\(account.id)", DispatchResult.userNotFound), ("link", "bank|nobody", .userNotFound),
            ("carrier-pigeon", "bank|\(account.id)", .dispatcherNotFound),
            ("typed", "bank|\(account.id)", .dispatcherNotFound), ("device", "bank|\(account.id)", .dispatcherNotFound),
            ("link", "bank|\(bare.id)", .dispatchError),
        ] {
            let answer = try await server.engine.dispatches.dispatch(
                DispatchRequest(dispatcher: dispatcher, operation: nil, context: ["subject": .string(subject)]),
                client: server.bank)
            #expect(answer.result == result && answer.token == nil && answer.sessionID == nil)
        }
    }

    static let refusedContexts: [JSONObject] = [
        ["policy": .string("mine")], ["username": .string("alice")], ["subject": .integer(1)],
        ["transaction": .string("x")], ["transaction": .array([])], ["transaction": .array([.string("x")])],
        ["transaction": .array([.object(Transaction(content: Array("Pay".utf8)).json)])],
        Self.context(Transaction(contentType: .init(rawValue: "image/gif"), content: [1])),
        Self.context("two\u{202E}rows"),
        Self.context("a\u{7}"), Self.context("zero\u{200B}width"), Self.context(String(repeating: "x", count: 201)),
        Self.context("  "), Self.context(Transaction(content: [0xFF])), ["payment": .object(Self.payment)],
        ["payment": .string("x"), "subject": .string("s")],
        [
            "subject": .string("s"), "payment": .object(Self.payment),
            "transaction": .array([.object(Transaction(content: [65]).json)]),
        ],
        [
            "subject": .string("s"),
            "transaction": .array([
                .object(Transaction(content: [65]).json), .object(Transaction(content: [66]).json),
            ]),
        ],
    ]

    private static func context(_ transaction: Transaction) -> JSONObject {
        ["subject": .string("s"), "transaction": .array([.object(transaction.json)])]
    }

    private static func context(_ text: String) -> JSONObject { Self.context(Transaction(content: Array(text.utf8))) }

    @Test(arguments: Self.refusedContexts)
    func aContextThatIsNotUnderstoodIsRefused(context: JSONObject) async throws {
        let server = try TestServer()
        await #expect(throws: CeremonyError(.invalidRequest)) {
            try await server.engine.dispatches.dispatch(
                DispatchRequest(dispatcher: "link", operation: .authentication, context: context), client: server.bank)
        }
    }

    @Test func anOperationThatNobodyKnowsIsNotDispatched() async throws {
        let server = try TestServer()
        await #expect(throws: CeremonyError(.invalidRequest)) {
            try await server.engine.dispatches.dispatch(
                DispatchRequest(dispatcher: "link", operation: UAF.Operation(rawValue: "Other"), context: nil),
                client: server.bank)
        }
    }

    @Test func aRawQRCodeCarriesThePayloadWithoutALink() async throws {
        let server = try TestServer()
        let answer = try await server.engine.dispatches.dispatch(
            DispatchRequest(dispatcher: "png-qr-code", operation: nil, context: nil), client: server.bank)
        #expect(answer.link == nil)
        #expect(answer.qrContent?.hasPrefix("http") == false)
    }

    /// A phone that had its payload from a link goes by this word.
    @Test(arguments: ["link", "link-png-qr-code", "png-qr-code"])
    func aPhoneIsToldHowTheTokenWasToTravel(dispatcher: String) async throws {
        let server = try TestServer()
        let answer = try await server.engine.dispatches.dispatch(
            DispatchRequest(dispatcher: dispatcher, operation: nil, context: nil), client: server.bank)
        let token = try TestPhone.token(try #require(answer.qrContent ?? answer.link))
        let request = try await server.engine.redemptions.redeem(token: token, operation: .authentication)
        #expect(request.dispatchChannel == dispatcher)
    }
}
