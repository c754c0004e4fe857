import Countersign
import CountersignTestKit
import Crypto
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Operations parity 22, 32, 36, 37, 39: authentication, out of band and in the app", .overEachKeyAbility)
struct AuthenticationTests {
    @Test("An out-of-band authentication ends with the account, and the server has a valid signature")
    func outOfBand() async throws {
        let world = try await World()
        try await world.enroll()
        let result = try await world.phone.authenticate(try await world.server.authentication())
        #expect(result.account.username == "alice" && result.location == nil)
        #expect(await world.server.accepted.map(\.username) == ["alice"])
        #expect(world.phone.person.asked.map(\.question) == [.account, .authenticator, .pin])
    }

    @Test("An authentication in the app gives a provider and asks for no account")
    func inApp() async throws {
        let world = try await World()
        try await world.enroll()
        let result = try await world.phone.authenticate(username: "alice")
        #expect(result.account.username == "alice")
        #expect((result.authorizationProvider as? JwtAuthorizationProvider)?.jwt == "virtual-jwt")
        #expect(world.phone.person.asked.map(\.question) == [.authenticator, .pin])
    }

    @Test("An authentication in the app of an unknown person, without a name or without a selector is refused")
    func inAppRefusals() async throws {
        let world = try await World()
        try await world.enroll()
        let person = world.phone.person
        let operation = world.phone.client.operations.authentication
        let ready = operation.authenticatorSelector(person).pinUserVerifier(person)
        await #expect(throws: AuthenticationError(.missingInteraction)) {
            _ = try await ready.execute()
        }
        let unknown = world.phone.client.operations.authentication.username("bob").authenticatorSelector(person)
            .pinUserVerifier(person)
        let before = await world.server.requests.count
        await #expect(throws: AuthenticationError(.unknownUsername)) { _ = try await unknown.execute() }
        #expect(await world.server.requests.count == before, "nothing is sent for a name that nobody has here")
        let silent = world.phone.client.operations.authentication.username("alice").pinUserVerifier(person)
        await #expect(throws: AuthenticationError(.missingInteraction)) {
            _ = try await silent.execute()
        }
        #expect(person.asked.isEmpty)
    }

    @Test("A fingerprint and a second factor answer together")
    func combination() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.fingerprint, World.possession])
        world.phone.sensor.feel(.match)
        let policy = World.policy([[World.possession, World.fingerprint]])
        _ = try await world.phone.authenticate(
            try await world.server.authentication(policy: policy, transaction: [text("Pay 5")]))
        let signed = try #require(await world.server.accepted.first).assertions
        #expect(Set(signed.map(\.aaid)) == [World.fingerprint.aaid, World.possession.aaid])
        #expect(signed.filter { $0.mode == .transactionConfirmed }.map(\.aaid) == [World.fingerprint.aaid])
    }

    @Test("Only accounts that can meet the policy are offered, and the chosen one signs")
    func usernameless() async throws {
        let world = try await World()
        try await world.enroll("alice")
        try await world.enroll("bob")
        try await world.enroll("carol", [World.fingerprint])
        world.phone.person.script.username = "bob"
        _ = try await world.phone.authenticate(
            try await world.server.authentication(policy: World.policy([[World.pin]])))
        #expect(world.phone.person.asked.first?.accounts.map(\.username) == ["alice", "bob"])
        #expect(await world.server.accepted.map(\.username) == ["bob"])
    }

    @Test("Where the server names a person, no account is asked for")
    func named() async throws {
        let world = try await World()
        try await world.enroll("alice")
        try await world.enroll("bob")
        _ = try await world.phone.authenticate(try await world.server.authentication(username: "bob"))
        #expect(world.phone.person.asked.map(\.question) == [.authenticator, .pin])
        #expect(await world.server.accepted.map(\.username) == ["bob"])
    }

    @Test("Without an account selector one account is enough, and several are a mistake that is told")
    func noAccountSelector() async throws {
        let world = try await World()
        try await world.enroll("alice")
        func ready() async throws -> OutOfBandAuthentication {
            try await world.operation(try await world.server.authentication())
                .authenticatorSelector(world.phone.person).pinUserVerifier(world.phone.person)
        }
        _ = try await ready().execute()
        try await world.enroll("bob")
        let error = await operationError { _ = try await ready().execute() }
        #expect(error?.code == .missingInteraction)
    }

    @Test("A choice outside of what was offered is refused")
    func foreignChoices() async throws {
        let world = try await World()
        try await world.enroll()
        for change in [
            { $0.username = "mallory" }, { $0.kind = .fingerprint }, { $0.aaid = "" },
            { $0.aaid = "not an AAID" },
        ] as [(inout VirtualPerson.Script) -> Void] {
            var script = VirtualPerson.Script()
            change(&script)
            world.phone.person.script = script
            let payload = try await world.server.authentication()
            #expect(
                await operationError { _ = try await world.phone.authenticate(payload) }
                    == .fido(.noSuitableAuthenticator))
        }
        #expect(await world.server.accepted.isEmpty)
        #expect(await world.server.clientErrorCodes == [5, 5, 5, 5])
    }

    @Test("A phone without a fitting account tells the server so")
    func noAccount() async throws {
        let world = try await World()
        let payload = try await world.server.authentication()
        #expect(
            await operationError { _ = try await world.phone.authenticate(payload) } == .fido(.noSuitableAuthenticator))
        #expect(await world.server.clientErrorCodes == [5])
    }

    @Test("An operation is executed once, also through a copy")
    func oneShot() async throws {
        let world = try await World()
        try await world.enroll()
        let operation = world.phone.ready(try await world.operation(try await world.server.authentication()))
        let copy = operation
        _ = try await operation.execute()
        #expect(await operationError { _ = try await copy.execute() }?.code == .operationReused)
        let inApp = world.phone.client.operations.authentication.username("alice")
            .authenticatorSelector(world.phone.person).pinUserVerifier(world.phone.person)
        _ = try await inApp.execute()
        await #expect(throws: AuthenticationError(.operationReused)) {
            _ = try await inApp.execute()
        }
    }
}

@Suite(
    "UAF Protocol 1.1 §3.5.7.2 and threat model, Showing one thing and signing another: transactions",
    .overEachKeyAbility)
struct TransactionTests {
    @Test("The text is shown in the account selector where there is one, and not again")
    func shownFirstInAccountSelector() async throws {
        let world = try await World()
        try await world.enroll("alice")
        try await world.enroll("bob")
        let transaction = text("Pay 12.50 EUR\nto José")
        _ = try await world.phone.authenticate(try await world.server.authentication(transaction: [transaction]))
        let shown = world.phone.person.asked.filter { $0.transaction != nil }
        #expect(shown.map(\.question) == [.account])
        #expect(shown.first?.transaction == Data("Pay 12.50 EUR\nto José".utf8))
    }

    @Test("Else it is shown in the authenticator selector, once, byte for byte what is signed")
    func shownInAuthenticatorSelector() async throws {
        let world = try await World()
        try await world.enroll("alice")
        let transaction = text("Pay 12.50 EUR")
        _ = try await world.phone.authenticate(
            try await world.server.authentication(username: "alice", transaction: [transaction]))
        let shown = world.phone.person.asked.filter { $0.transaction != nil }
        #expect(shown.map(\.question) == [.authenticator])
        let bytes = try #require(shown.first?.transaction)
        #expect(
            await world.server.accepted.first?.assertions.first?.transactionContentHash
                == Array(SHA256.hash(data: bytes)))
    }

    @Test("A payment is shown field by field, with the bytes that are signed; any other text has no fields")
    func paymentIsShownAsFields() async throws {
        let world = try await World()
        try await world.enroll("alice")
        try await world.enroll("bob")
        let lines =
            "Payment\nAmount: EUR 12.50\nTo: José\nIBAN: DE89370400440532013000\nReference: Fence\n"
            + "Date: 2026-12-01"
        _ = try await world.phone.authenticate(try await world.server.authentication(transaction: [text(lines)]))
        _ = try await world.phone.authenticate(
            try await world.server.authentication(username: "alice", transaction: [text("Pay 5 EUR")]))
        let shown = world.phone.person.asked.filter { $0.transaction != nil }
        #expect(shown.map(\.question) == [.account, .authenticator])
        let payment = try #require(shown[0].payment)
        let rows = payment.rows.map { "\($0.label): \($0.value)" }
        #expect(rows == lines.split(separator: "\n").dropFirst().map { String($0) })
        #expect(payment.amount == "12.50" && payment.currency == "EUR" && payment.payee == "José")
        #expect(payment.iban == "DE89370400440532013000" && payment.accountNumber == nil)
        #expect(payment.reference == "Fence" && payment.executionDate == "2026-12-01")
        #expect(shown[0].transaction == Data(lines.utf8))
        #expect(shown[1].payment == nil)
    }

    @Test(
        "A text that says it is a payment and is none is refused, not shown as text",
        arguments: [
            "Payment", "PAYMENT\nAmount: EUR 5.00\nTo: Jo\nAccount: 7", "Payment\nAmount: EUR 5\nTo: Jo\nAccount: 7",
            "Payment\nAmount: EUR 5.00\nTo: Jo\nAccount: 7\nFee: EUR 900.00",
            "Payment\nAmount: EUR 5.00\nTo: Jo\nIBAN: DE88370400440532013000",
        ])
    func imitatedPaymentIsRefused(lines: String) async throws {
        let world = try await World()
        try await world.enroll("alice")
        let payload = try await world.server.authentication(transaction: [text(lines)])
        #expect(
            await operationError { _ = try await world.phone.authenticate(payload) }
                == .fido(.invalidTransactionContent))
        #expect(world.phone.person.asked.isEmpty)
        #expect(await world.server.accepted.isEmpty)
    }

    @Test("Without a transaction nothing is shown, and the signature is of mode 1")
    func none() async throws {
        let world = try await World()
        try await world.enroll("alice")
        _ = try await world.phone.authenticate(try await world.server.authentication())
        #expect(world.phone.person.asked.filter { $0.transaction != nil }.isEmpty)
        #expect(await world.server.accepted.first?.assertions.map(\.mode) == [.userVerified])
    }

    @Test(
        "A text that does not read one way only is refused before anything is shown",
        arguments: [
            Array("Jose\u{301}".utf8), Array("Pay \u{202E}05".utf8), Array("Pay\u{200B}5".utf8),
            Array("Pay\u{2028}5".utf8), Array("\u{1B}[31mPay 5".utf8), Array("a\rb".utf8), Array("\u{E000}".utf8),
            [0xFF, 0xFE], Array(" ".utf8), Array(String(repeating: "x", count: 201).utf8),
        ] as [[UInt8]])
    func refused(content: [UInt8]) async throws {
        let world = try await World()
        try await world.enroll("alice")
        let payload = try await world.server.authentication(transaction: [Transaction(content: content)])
        #expect(
            await operationError { _ = try await world.phone.authenticate(payload) }
                == .fido(.invalidTransactionContent))
        #expect(world.phone.person.asked.isEmpty)
        #expect(await world.server.clientErrorCodes == [0x0D])
        #expect(await world.server.accepted.isEmpty)
    }

    @Test("A transaction that is changed on its way is refused by the server")
    func changedOnTheWay() async throws {
        let world = try await World()
        try await world.enroll("alice")
        let payload = try await world.server.authentication(transaction: [text("Pay 5 EUR")])
        await world.server.intercept { request in
            guard request.url.path().contains("redeem") else { return nil }
            await world.server.stopIntercepting()
            var response = try await world.server.send(request)
            let original = Data("Pay 5 EUR".utf8).base64EncodedString()
            let changed = Data("Pay 9 EUR".utf8).base64EncodedString()
            let body = String(decoding: response.body, as: UTF8.self)
            response.body = Array(body.replacingOccurrences(of: original, with: changed).utf8)
            return response
        }
        let error = await operationError { _ = try await world.phone.authenticate(payload) }
        #expect(world.phone.person.asked.compactMap(\.transaction) == [Data("Pay 9 EUR".utf8)])
        #expect(error?.serverStatusCode == UAFStatusCode.unacceptableContent.rawValue)
        #expect(await world.server.accepted.isEmpty)
    }
}

@Suite("Threat model, Relay of a QR code: who asks, and browsers that were not used before", .overEachKeyAbility)
struct RequesterTests {
    private static let requester = ReturnUAFRequest.Requester(
        service: "Demo\u{202E} Bank", origin: "https://bаnk.example", address: "203.0.113.7",
        browser: "Chrome \u{1B}[31mon Linux", browserID: "YnJvd3Nlcg")

    @Test("The person sees who asks, without characters that deceive, and how the code came")
    func shown() async throws {
        let world = try await World()
        try await world.enroll()
        _ = try await world.phone.authenticate(
            try await world.server.authentication(requester: Self.requester, channel: "link-png-qr-code"))
        let asked = world.phone.person.asked
        #expect(asked.map(\.question) == [.account, .requester, .authenticator, .pin])
        for question in asked.prefix(3) {
            let requester = try #require(question.requester)
            #expect(requester.service == "Demo\u{FFFD} Bank")
            #expect(requester.origin == "https://xn--bnk-6cd.example")
            #expect(requester.address == "203.0.113.7" && requester.browser == "Chrome on Linux")
            #expect(requester.channel == "link-png-qr-code" && requester.isNewBrowser)
        }
    }

    @Test("A browser that was confirmed once is not asked for again, for that account, also after a restart")
    func remembered() async throws {
        var world = try await World()
        try await world.enroll("alice")
        try await world.enroll("bob")
        func questions(_ username: Username) async throws -> [VirtualPerson.Question] {
            world.phone.person.forget()
            _ = try await world.phone.authenticate(
                try await world.server.authentication(username: username, requester: Self.requester))
            return world.phone.person.asked.map(\.question)
        }
        #expect(try await questions("alice") == [.requester, .authenticator, .pin])
        world = try await world.restarted()
        #expect(try await questions("alice") == [.authenticator, .pin])
        #expect(world.phone.person.asked.first?.requester?.isNewBrowser == false)
        #expect(try await questions("bob") == [.requester, .authenticator, .pin])
    }

    @Test("A browser that the person does not know ends the operation, and stays unknown")
    func refused() async throws {
        let world = try await World()
        try await world.enroll()
        world.phone.person.script.reactions[.requester] = .cancels
        for _ in 0..<2 {
            world.phone.person.forget()
            let payload = try await world.server.authentication(requester: Self.requester)
            #expect(await operationError { _ = try await world.phone.authenticate(payload) } == .fido(.userCanceled))
            #expect(world.phone.person.asked.map(\.question) == [.account, .requester])
        }
        #expect(await world.server.clientErrorCodes == [3, 3])
    }

    @Test("A browser is remembered only once the operation has succeeded")
    func onlyAfterSuccess() async throws {
        let world = try await World()
        try await world.enroll()
        await world.server.judge(ServerResponse(statusCode: .forbidden))
        for _ in 0..<2 {
            let payload = try await world.server.authentication(requester: Self.requester)
            _ = await operationError { _ = try await world.phone.authenticate(payload) }
        }
        #expect(world.phone.person.asked.filter { $0.question == .requester }.count == 2)
    }

    @Test("The oldest browsers are forgotten first")
    func bounded() async throws {
        let world = try await World()
        try await world.enroll()
        func isNew(_ index: Int) async throws -> Bool {
            world.phone.person.forget()
            let requester = ReturnUAFRequest.Requester(service: "Bank", browserID: "browser-\(index)")
            _ = try await world.phone.authenticate(try await world.server.authentication(requester: requester))
            return world.phone.person.asked.contains { $0.question == .requester }
        }
        for index in 0...32 { #expect(try await isNew(index)) }
        #expect(try await !isNew(32))
        #expect(try await isNew(0))
    }

    @Test("An operation without a requester asks nothing about one")
    func absent() async throws {
        let world = try await World()
        try await world.enroll()
        _ = try await world.phone.authenticate(try await world.server.authentication())
        #expect(world.phone.person.asked.filter { $0.requester != nil || $0.question == .requester }.isEmpty)
    }
}

@Suite("uaf-sections §5.1: what the server answers", .overEachKeyAbility)
struct ServerAnswerTests {
    @Test("An unknown key is deleted here too, with its account")
    func unknownKey() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.pin, World.possession])
        await world.server.forget("alice")
        let payload = try await world.server.authentication()
        let error = await operationError { _ = try await world.phone.authenticate(payload) }
        #expect(error?.code == .userNotRegisteredInServer && error?.serverStatusCode == 1481)
        #expect(await world.isEmpty())
    }

    @Test(
        "Every other refusal leaves the key and names the server's code",
        arguments: [1202, 1400, 1401, 1403, 1404, 1491, 1492, 1498, 1500, 9999])
    func refusals(status: Int) async throws {
        let world = try await World()
        try await world.enroll()
        await world.server.judge(ServerResponse(statusCode: UAFStatusCode(rawValue: status)))
        let payload = try await world.server.authentication()
        let error = await operationError { _ = try await world.phone.authenticate(payload) }
        #expect(error == .fido(.protocolError) && error?.serverStatusCode == status)
        #expect(await world.server.clientErrorCodes.isEmpty)
        _ = try await world.phone.authenticate(try await world.server.authentication())
    }

    @Test("The address that ends a sign-in on this device is handed over, of this server alone")
    func location() async throws {
        let world = try await World()
        try await world.enroll()
        for (location, expected) in [
            ("https://id.example.com/sign-in/continue?code=x", true), ("http://id.example.com/sign-in/continue", false),
            ("https://evil.example/", false), ("https://id.example.com:8443/", false), ("javascript:alert(1)", false),
        ] {
            await world.server.judge(ServerResponse(statusCode: .ok, location: location))
            let result = try await world.phone.authenticate(try await world.server.authentication())
            #expect(result.location?.absoluteString == (expected ? location : nil))
        }
    }

    @Test(
        "An answer that is none ends with a network error or a protocol error, and the key stays",
        arguments: [
            (200, "application/json", "{}", OperationError.fido(.protocolError)),
            (200, "application/fido+uaf", "", .fido(.protocolError)),
            (200, "application/fido+uaf", "{}", .fido(.protocolError)),
            (200, "application/fido+uaf", #"{"statusCode":null}"#, .fido(.protocolError)),
            (302, "application/fido+uaf", "", .fido(.protocolError)), (400, "", "", .fido(.protocolError)),
            (401, "", "", OperationError(.notAuthorized)), (415, "", "", .fido(.protocolError)),
            (429, "", "", OperationError(.networkError)), (500, "", "", OperationError(.networkError)),
            (503, "", "", OperationError(.networkError)),
        ])
    func noAnswer(status: Int, type: String, body: String, expected: OperationError) async throws {
        let world = try await World()
        try await world.enroll()
        let payload = try await world.server.authentication()
        let operation = world.phone.ready(try await world.operation(payload))
        await world.server.intercept { _ in
            TransportResponse(status: status, headers: [("Content-Type", type)], body: Array(body.utf8))
        }
        #expect(await operationError { _ = try await operation.execute() } == expected)
        await world.server.stopIntercepting()
        _ = try await world.phone.authenticate(try await world.server.authentication())
    }

    @Test(
        "A message that the client refuses is reported with its code",
        arguments: [
            ("[]", OperationError.fido(.protocolError)), ("no JSON", .fido(.protocolError)),
        ])
    func refusedMessages(message: String, expected: OperationError) async throws {
        let world = try await World()
        try await world.enroll()
        let payload = try await world.server.payload(for: .authentication, message: message)
        #expect(await operationError { _ = try await world.phone.authenticate(payload) } == expected)
    }

    @Test("Another version and an AppID that does not trust this app are reported with their codes")
    func versionAndFacet() async throws {
        let world = try await World()
        try await world.enroll()
        await world.server.offer([Version(major: 1, minor: 2)])
        let newer = try await world.server.authentication()
        await world.server.offer([.uaf11])
        #expect(await operationError { _ = try await world.phone.authenticate(newer) } == .fido(.unsupportedVersion))
        await world.server.use(appID: "https://id.example.com/uaf/1.1/facets")
        let untrusted = try await world.server.authentication()
        #expect(await operationError { _ = try await world.phone.authenticate(untrusted) } == .fido(.untrustedFacetID))
        #expect(await world.server.clientErrorCodes == [4, 7])
        // The server's operator is told which app it was, and of no app where something else was in the way.
        let reports = await world.server.requests.compactMap { try? SendUAFResponse(parsing: $0.body).context }
        #expect(try reports.suffix(2).map { try $0.string("facetId") } == [nil, "linux:program:test"])
        let fetched = await world.server.requests.filter { $0.method == "GET" }.map(\.url.absoluteString)
        #expect(fetched == ["https://id.example.com/uaf/1.1/facets"])
    }

    @Test("With a facet list that names this app, its keys belong to the AppID")
    func facetList() async throws {
        let world = try await World()
        await world.server.use(appID: "https://id.example.com/uaf/1.1/facets")
        await world.server.intercept { request in
            guard request.method == "GET" else { return nil }
            let list = #"{"trustedFacets":[{"version":{"major":1,"minor":1},"ids":["linux:program:test"]}]}"#
            return TransportResponse(
                status: 200, headers: [("Content-Type", "application/fido.trusted-apps+json")], body: Array(list.utf8))
        }
        try await world.enroll()
        _ = try await world.phone.authenticate(try await world.server.authentication())
        await world.server.use(appID: "")
        let payload = try await world.server.authentication()
        #expect(
            await operationError { _ = try await world.phone.authenticate(payload) } == .fido(.noSuitableAuthenticator))
    }
}
