import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient

@Suite("Operations parity 7, 26, 34, 35: reading a payload and redeeming its token", .overEachKeyAbility)
struct OutOfBandOperationTests {
    private func redeemError(_ world: World, _ payload: OutOfBandPayload) async -> OperationError? {
        do {
            _ = try await world.phone.redeem(payload)
            return nil
        } catch {
            return error as? OperationError
        }
    }

    /// An answer that is right, but for what it is said to be.
    private static let answer = #"{"statusCode":1200,"op":"Auth","uafRequest":"[]"}"#

    @Test("An answer's type may have parameters, and is read in any case")
    func types() async throws {
        let world = try await World()
        for type in ["application/fido+uaf", "Application/FIDO+UAF ; charset=UTF-8", "application/fido+uaf;\u{301}"] {
            await world.server.intercept { _ in
                TransportResponse(status: 200, headers: [("Content-Type", type)], body: Array(Self.answer.utf8))
            }
            #expect(await self.redeemError(world, try await world.server.authentication()) == nil)
            await world.server.stopIntercepting()
        }
    }

    private func payload(_ address: String) throws -> OutOfBandPayload {
        try OutOfBandPayload(
            redeemData: OutOfBandPayload.RedeemData(token: "s3cret", redeemURL: try #require(URL(string: address))))
    }

    @Test("Expired, used and unknown tokens are three different errors")
    func tokens() async throws {
        let world = try await World()
        let used = try await world.server.authentication()
        _ = try await world.phone.redeem(used)
        #expect(await self.redeemError(world, used) == OperationError(.tokenAlreadyRedeemed))
        let old = try await world.server.authentication()
        await world.server.expire(old)
        #expect(await self.redeemError(world, old) == OperationError(.tokenExpired))
        let unknown = try self.payload("https://id.example.com/token/redeem/authentication")
        #expect(await self.redeemError(world, unknown) == OperationError(.tokenUnknown))
    }

    @Test("Of many that redeem one token at once exactly one wins")
    func oneWinner() async throws {
        let world = try await World()
        let payload = try await world.server.authentication()
        let codes = await withTaskGroup(of: OperationError?.self) { group in
            for _ in 0..<50 { group.addTask { await self.redeemError(world, payload) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.filter { $0 == nil }.count == 1)
        #expect(codes.filter { $0 == OperationError(.tokenAlreadyRedeemed) }.count == 49)
    }

    @Test(
        "The token goes to the configured host alone; nothing is sent to another one",
        arguments: [
            "https://evil.example/token/redeem/authentication", "https://id.example.com.evil.example/x",
            "https://example.com/x", "https://id.example.com:8443/token/redeem/authentication", "https://127.0.0.1/x",
        ])
    func foreignHost(address: String) async throws {
        let world = try await World()
        #expect(await self.redeemError(world, try self.payload(address)) == OperationError(.hostNotAllowed))
        #expect(await world.server.requests.isEmpty)
    }

    @Test(
        "An address that is not https is refused before any byte",
        arguments: [
            "http://id.example.com/token/redeem/authentication", "http://127.0.0.1.example.com/x", "http://10.0.0.1/x",
        ])
    func insecure(address: String) async throws {
        let world = try await World()
        #expect(await self.redeemError(world, try self.payload(address)) == .fido(.insecureTransport))
        #expect(await world.server.requests.isEmpty)
    }

    @Test("Further hosts can be configured, in any case and with their usual port")
    func configuredHosts() async throws {
        let world = try await World { $0.redeemHosts.insert("backup.example.com") }
        let payload = try self.payload("https://BACKUP.example.com:443/token/redeem/authentication")
        #expect(await self.redeemError(world, payload) == OperationError(.tokenUnknown))
        #expect(await world.server.requests.count == 1)
    }

    @Test("The request carries the token once, in its body, and no cookie")
    func request() async throws {
        let world = try await World()
        let payload = try await world.server.authentication()
        _ = try await world.phone.redeem(payload)
        let request = try #require(await world.server.requests.first)
        #expect(request.method == "POST")
        #expect(String(decoding: request.body, as: UTF8.self) == #"{"token":"\#(payload.redeemData.token)"}"#)
        #expect(Set(request.headers.map(\.name)) == ["Content-Type", "Accept", "traceparent"])
        #expect(request.timeout == .seconds(60))
    }

    @Test(
        "An answer that is not a UAF request is a typed error",
        arguments: [
            (200, "application/json", "{}", OperationError.fido(.protocolError)),
            (200, "application/fido+uaf", "", .fido(.protocolError)),
            (200, "application/fido+uaf\u{37E}charset=UTF-8", Self.answer, .fido(.protocolError)),
            (200, "application/fido+uaf", "{}", .fido(.protocolError)),
            (200, "application/fido+uaf", #"{"statusCode":1200,"op":"Auth"}"#, .fido(.protocolError)),
            (200, "application/fido+uaf", #"{"statusCode":1500,"op":"Auth","uafRequest":"[]"}"#, .fido(.protocolError)),
            (
                200, "application/fido+uaf", #"{"statusCode":1200,"op":"Info","uafRequest":"[]"}"#,
                .fido(.protocolError)
            ),
            (
                200, "application/fido+uaf", #"{"statusCode":1200,"op":"Dereg","uafRequest":"[]"}"#,
                .fido(.protocolError)
            ),
            (301, "", "", .fido(.protocolError)), (400, "", "", .fido(.protocolError)),
            (429, "", "", OperationError(.networkError)),
            (500, "", "", OperationError(.networkError)), (503, "", "", OperationError(.networkError)),
        ])
    func strangeAnswers(status: Int, type: String, body: String, expected: OperationError) async throws {
        let world = try await World()
        await world.server.intercept { _ in
            TransportResponse(status: status, headers: [("Content-Type", type)], body: Array(body.utf8))
        }
        let payload = try await world.server.authentication()
        #expect(await self.redeemError(world, payload) == expected)
    }

    @Test("A network without an answer, an answer that is too long and a cancelled task are typed errors")
    func network() async throws {
        let world = try await World()
        for (error, expected) in [
            (TransportError(.unreachable, ""), OperationError(.networkError)),
            (TransportError(.timedOut, ""), OperationError(.networkError)),
            (TransportError(.untrustedServer, ""), OperationError(.networkError)),
        ] {
            await world.server.stopIntercepting()
            await world.server.intercept { _ in throw error }
            #expect(await self.redeemError(world, try await world.server.authentication()) == expected)
        }
        await world.server.stopIntercepting()
        await world.server.intercept { request in
            TransportResponse(
                status: 200, headers: [], body: [UInt8](repeating: 32, count: request.maximumResponseLength + 1))
        }
        #expect(await self.redeemError(world, try await world.server.authentication()) == OperationError(.networkError))
        await world.server.stopIntercepting()
        await world.server.intercept { _ in throw CancellationError() }
        #expect(await self.redeemError(world, try await world.server.authentication()) == .fido(.userCanceled))
    }

    @Test(
        "A code for scanning or typing that came by a link is refused unasked, and the server hears of it",
        arguments: ["png-qr-code", "typed", "of-another-kind"])
    func codeThatCameByLink(channel: String) async throws {
        let world = try await World()
        try await world.enroll()
        let asked = world.phone.person.asked.count
        let payload = try await world.server.authentication(channel: channel)
        let link = try OutOfBandPayload(link: payload.link(base: "https://id.example.com"))
        #expect(await self.redeemError(world, link) == OperationError(.codeCameByLink))
        #expect(await world.server.clientErrorCodes == [6])
        #expect(await world.server.requests.last?.url.path() == "/uaf/1.1/authentication/")
        #expect(world.phone.person.asked.count == asked)
        #expect(await self.redeemError(world, payload) == OperationError(.tokenAlreadyRedeemed), "the token is spent")

        let registration = try await world.server.registration(
            for: "bob", policy: World.policy([[World.pin]]), channel: channel)
        let other = try OutOfBandPayload(scanned: registration.link(base: "https://id.example.com"))
        #expect(await self.redeemError(world, other) == OperationError(.codeCameByLink))
        #expect(await world.server.clientErrorCodes == [6, 6])
        #expect(await world.server.requests.last?.url.path() == "/uaf/1.1/registration/")
    }

    @Test(
        "What was made for a link is taken from one, and everything from a QR code",
        arguments: [
            ("link", true), ("link-png-qr-code", true), (nil, true), ("png-qr-code", false), ("link", false),
        ])
    func codeThatMayCome(channel: String?, byLink: Bool) async throws {
        let world = try await World()
        try await world.enroll()
        let payload = try await world.server.authentication(channel: channel)
        let code = byLink ? payload.link(base: "https://id.example.com") : payload.base64URLEncoded
        try await world.phone.scan(code)
        #expect(await world.server.clientErrorCodes.isEmpty)
    }

    @Test("An operation without a payload, and one that is executed twice, are mistakes that are told")
    func usage() async throws {
        let world = try await World()
        let operation = world.phone.client.operations.outOfBandOperation
        await #expect(throws: OperationError(.missingInteraction)) {
            _ = try await operation.execute()
        }
        await #expect(throws: OperationError(.operationReused)) {
            _ = try await operation.execute()
        }
    }

    @Test("The payload's forms give equal payloads; none or two are a mistake before any work")
    func decode() async throws {
        let world = try await World()
        let payload = try self.payload("https://id.example.com/token/redeem/authentication")
        func decode() -> OutOfBandPayloadDecode { world.phone.client.operations.outOfBandPayloadDecode }
        #expect(try await decode().json(payload.json).execute() == payload)
        #expect(try await decode().base64URLEncoded(payload.base64URLEncoded).execute() == payload)
        #expect(
            try await decode().link(payload.link(base: "https://x.example")).execute() == payload)
        for code in [payload.base64URLEncoded, payload.link(base: "https://x.example")] {
            #expect(try await decode().scanned(code).execute() == payload)
        }
        for operation in [decode(), decode().json(payload.json).link("x"), decode().json("x").json("y")] {
            await #expect(throws: OutOfBandPayloadError(.operationReused, "")) {
                _ = try await operation.execute()
            }
        }
        let once = decode().json(payload.json)
        _ = try await once.execute()
        await #expect(throws: OutOfBandPayloadError(.operationReused, "")) {
            _ = try await once.execute()
        }
        await #expect(throws: OutOfBandPayloadError(.malformedPayload, "")) {
            _ = try await decode().json("{}").execute()
        }
        #expect(await world.server.requests.isEmpty)
    }

    @Test(
        "A typed code is a token for the configured server, however it is written",
        arguments: [
            "ABCDE-FGHJK", "abcdefghjk", " abcde fghjk ", "AbCdE--FgHjK",
        ])
    func typedCode(text: String) async throws {
        let world = try await World()
        let payload =
            try await world.phone.client.operations.outOfBandPayloadDecode.typedCode(text).execute()
        #expect(payload.redeemData.token == "ABCDEFGHJK")
        #expect(payload.redeemData.redeemURL.absoluteString == "https://id.example.com/token/redeem/authentication")
    }

    @Test("Letters that look like digits are read as these; what is no code is refused")
    func typedCodeLetters() async throws {
        let world = try await World()
        func decode(_ text: String) async throws -> OutOfBandPayload {
            try await world.phone.client.operations.outOfBandPayloadDecode.typedCode(text).execute()
        }
        #expect(try await decode("oOiIlL-2222").redeemData.token == "0011112222")
        for text in ["", "ABCDE", "ABCDE-FGHJKM", "ABCDU-FGHJK", "ABCDÉ-FGHJK", "ABCDE_FGHJK", "１BCDEFGHJK"] {
            await #expect(throws: OutOfBandPayloadError(.malformedPayload, "")) { _ = try await decode(text) }
        }
    }
}

@Suite("Operations parity 31 to 33: the callback form", .overEachKeyAbility)
struct CallbackTests {
    /// What was called.
    private actor Calls {
        var names: [String] = []
        private var watchers: [(Int, CheckedContinuation<Void, Never>)] = []
        func call(_ name: String) {
            self.names.append(name)
            for (count, watcher) in self.watchers where self.names.count >= count { watcher.resume() }
            self.watchers.removeAll { self.names.count >= $0.0 }
        }
        func until(_ count: Int) async {
            if self.names.count >= count { return }
            await withCheckedContinuation { self.watchers.append((count, $0)) }
        }
    }

    private func run(
        _ world: World, _ payload: OutOfBandPayload?, registers: Bool = true, authenticates: Bool = true
    ) async -> [String] {
        let calls = Calls()
        let phone = world.phone
        var operation = phone.client.operations.outOfBandOperation.onError { error in
            Task { await calls.call("error \(error.code)") }
        }
        if let payload { operation = operation.payload(payload) }
        if registers {
            operation = operation.onRegistration { registration in
                phone.ready(registration).onSuccess { _ in Task { await calls.call("registered") } }
                    .onError { error in Task { await calls.call("registration error \(error.code)") } }.execute()
            }
        }
        if authenticates {
            operation = operation.onAuthentication { authentication in
                phone.ready(authentication).onSuccess { _ in Task { await calls.call("authenticated") } }
                    .onError { error in Task { await calls.call("authentication error \(error.code)") } }.execute()
            }
        }
        operation.execute()
        await calls.until(1)
        await self.settle()
        return await calls.names
    }

    /// Lets a second call come, if there is one: every task that is ready runs.
    private func settle() async { for _ in 0..<200 { await Task.yield() } }

    @Test("A token for a registration or an authentication calls its closure, and that ends in one call")
    func chain() async throws {
        let world = try await World()
        let registration = try await world.server.registration(for: "alice", policy: World.policy([[World.pin]]))
        #expect(await self.run(world, registration) == ["registered"])
        #expect(await self.run(world, try await world.server.authentication()) == ["authenticated"])
        world.phone.person.script.reactions[.pin] = .cancels
        #expect(await self.run(world, try await world.server.authentication()) == ["authentication error fidoError"])
    }

    @Test("A missing closure is a typed error, after which the token is used up")
    func missingClosures() async throws {
        let world = try await World()
        let payload = try await world.server.authentication()
        #expect(await self.run(world, payload, authenticates: false) == ["error missingInteraction"])
        #expect(await world.server.clientErrorCodes == [0xFF], "the server has heard that nobody will answer")
        #expect(await world.server.requests.last?.url.path() == "/uaf/1.1/authentication/")
        #expect(await self.run(world, payload) == ["error tokenAlreadyRedeemed"])
        let registration = try await world.server.registration(for: "alice", policy: World.policy([[World.pin]]))
        #expect(await self.run(world, registration, registers: false) == ["error missingInteraction"])
        #expect(await world.server.clientErrorCodes == [0xFF, 0xFF])
        #expect(await world.server.requests.last?.url.path() == "/uaf/1.1/registration/")
        #expect(await self.run(world, nil) == ["error missingInteraction"])
    }

    @Test("The decoder, the client's initializer and the operations in the app call back once as well")
    func others() async throws {
        let world = try await World()
        try await world.enroll()
        let phone = world.phone
        let calls = Calls()
        func start() {
            phone.client.operations.outOfBandPayloadDecode.json("{}")
                .onSuccess { _ in Task { await calls.call("payload") } }
                .onError { error in Task { await calls.call("\(error.code)") } }.execute()
            phone.client.operations.outOfBandPayloadDecode.typedCode("ABCDEFGHJK")
                .onSuccess { _ in Task { await calls.call("payload") } }.execute()
            MobileAuthenticationClientInitializer()
                .onSuccess { _ in Task { await calls.call("client") } }
                .onError { error in Task { await calls.call("\(error.code)") } }.execute()
            MobileAuthenticationClientInitializer().configuration(phone.client.configuration)
                .platform(DevicePlatform(storage: InMemoryStorage(), clock: phone.clock))
                .onSuccess { _ in Task { await calls.call("client") } }.execute()
            phone.client.operations.authentication.username("alice").authenticatorSelector(phone.person)
                .pinUserVerifier(phone.person).onSuccess { _ in Task { await calls.call("authenticated") } }
                .onError { error in Task { await calls.call("\(error.code)") } }.execute()
            phone.client.operations.authentication.onError { error in Task { await calls.call("no name") } }.execute()
            phone.client.operations.registration.username("alice")
                .onSuccess { _ in Task { await calls.call("registered") } }
                .onError { error in Task { await calls.call("\(error.code)") } }.execute()
        }
        start()
        await calls.until(7)
        await self.settle()
        let expected = [
            "authenticated", "client", "invalidConfiguration", "malformedPayload", "no name", "notAuthorized",
            "payload",
        ]
        #expect(await calls.names.sorted() == expected)
    }

    @Test("One callback is enough, and what is left to give can follow it, in any order")
    func anyOrder() async throws {
        let world = try await World()
        try await world.enroll()
        let phone = world.phone
        let calls = Calls()
        phone.client.operations.authentication.onSuccess { result in
            Task { await calls.call(result.account.username) }
        }.pinUserVerifier(phone.person).username("alice").authenticatorSelector(phone.person).execute()
        await calls.until(1)
        phone.client.operations.deregistration.onSuccess { Task { await calls.call("gone") } }
            .authorizationProvider(JwtAuthorizationProvider("virtual-jwt")).username("alice").execute()
        await calls.until(2)
        phone.client.operations.outOfBandPayloadDecode.onError { error in Task { await calls.call("\(error.code)") } }
            .json("{}").execute()
        await calls.until(3)
        phone.client.operations.outOfBandOperation.onAuthentication { _ in }
            .onError { error in Task { await calls.call("\(error.code)") } }
            .payload(try self.foreign()).execute()
        await calls.until(4)
        await self.settle()
        #expect(await calls.names == ["alice", "gone", "malformedPayload", "hostNotAllowed"])
    }

    private func foreign() throws -> OutOfBandPayload {
        try OutOfBandPayload(
            redeemData: OutOfBandPayload.RedeemData(
                token: "s3cret", redeemURL: try #require(URL(string: "https://evil.example/x"))))
    }

    @Test("The handle cancels, and dropping it cancels nothing")
    func handle() async throws {
        let world = try await World()
        try await world.enroll()
        let phone = world.phone
        let calls = Calls()
        phone.person.script.reactions[.pin] = .ignores
        func start() -> OperationHandle {
            phone.client.operations.authentication.username("alice").authenticatorSelector(phone.person)
                .pinUserVerifier(phone.person)
                .onError { error in Task { await calls.call("\(error.recovery)") } }
                .onSuccess { _ in Task { await calls.call("authenticated") } }.execute()
        }
        let handle = start()
        while phone.person.asked.last?.question != .pin { await Task.yield() }
        handle.cancel()
        await calls.until(1)
        await self.settle()
        #expect(await calls.names == ["nothing"])
        #expect(await world.server.clientErrorCodes == [3])
        phone.person.script = VirtualPerson.Script()
        _ = start()
        await calls.until(2)
        await self.settle()
        #expect(await calls.names == ["nothing", "authenticated"])
    }

    @Test("Both forms are one operation: what was executed once is used")
    func oneOperation() async throws {
        let world = try await World()
        let decode = world.phone.client.operations.outOfBandPayloadDecode.typedCode("ABCDEFGHJK")
        let payload = try await decode.execute()
        #expect(payload.redeemData.token == "ABCDEFGHJK")
        let calls = Calls()
        decode.onError { error in Task { await calls.call("\(error.code)") } }.execute()
        await calls.until(1)
        await self.settle()
        #expect(await calls.names == ["operationReused"])
    }
}
