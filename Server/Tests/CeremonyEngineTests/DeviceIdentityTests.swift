import Accounts
import CeremonyEngine
import Crypto
import Foundation
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("Decision 68: a device's keys come with what an authenticator has signed, and prove its requests")
struct DeviceIdentityTests {
    /// Answers the enrolment of a phone, which tells what `telling` makes.
    private static func answer(
        _ server: TestServer, _ phone: TestPhone, _ username: String = "alice",
        telling: (String) throws -> [AssertionExtension]
    ) async throws -> (answer: ServerResponse, link: EnrolmentLink) {
        _ = try? await server.directory.create(username: username, displayName: nil, by: "test")
        let link = try await server.engine.enrolments.createEnrolmentLink(username: username, by: "test")
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(link.link), operation: .registration)
        return (
            try await server.engine.registrationAnswers.judge(try phone.register(request, telling: telling)), link
        )
    }

    private static func confirm(_ enrolment: (answer: ServerResponse, link: EnrolmentLink), _ server: TestServer)
        async throws
    {
        _ = try await server.engine.enrolments.confirmEnrolment(
            id: enrolment.link.id, number: enrolment.answer.confirmation?.number ?? "", by: "test")
    }

    /// Enrols a phone that tells of the device, and confirms it.
    @discardableResult
    private static func enrol(
        _ server: TestServer, _ device: TestDevice, _ username: String = "alice"
    ) async throws -> TestPhone {
        let phone = try TestPhone()
        let enrolment = try await Self.answer(server, phone, username) { [try device.announcement($0)] }
        #expect(enrolment.answer.statusCode == .accepted)
        try await Self.confirm(enrolment, server)
        return phone
    }

    private static func authenticate(
        _ server: TestServer, _ phone: TestPhone, counter: UInt32, telling device: TestDevice
    ) async throws -> ServerResponse {
        let request = try await server.engine.requests.authentication(username: "alice", source: "a")
        return try await server.engine.authenticationAnswers.judge(
            try phone.authenticate(request, counter: counter) { [try device.announcement($0)] }
        ).response
    }

    private static func account(_ server: TestServer, _ username: String = "alice") async throws -> AccountRecord {
        try #require(try await server.database.account(username: AccountName(stored: username)))
    }

    // MARK: Telling the keys

    @Test("A registration tells them: the server says by what it knows the device, once it is confirmed")
    func registration() async throws {
        let server = try TestServer()
        let device = TestDevice()
        let enrolment = try await Self.answer(server, try TestPhone()) { [try device.announcement($0)] }
        #expect(enrolment.answer.statusCode == .accepted)
        #expect(try enrolment.answer.deviceKey == device.name)
        await #expect(throws: DeviceProofRefusal.notProven) {
            try await server.engine.deviceProofs.prover(of: try device.call(at: server.clock.now))
        }
        try await Self.confirm(enrolment, server)
        let prover = try await server.engine.deviceProofs.prover(of: try device.call(at: server.clock.now))
        let account = try await Self.account(server)
        #expect(prover.account.id == account.id && !prover.isGone)
        #expect(prover.device.deviceID == (try await server.device(of: account)).deviceID)
    }

    @Test("A phone that tells none is enrolled as ever")
    func none() async throws {
        let server = try TestServer()
        let enrolment = try await Self.answer(server, try TestPhone()) { _ in
            [AssertionExtension(id: "countersign.device-keys.2", data: [1], isCritical: false)]
        }
        #expect(enrolment.answer.statusCode == .accepted && enrolment.answer.deviceKey == nil)
    }

    /// What is wrong with what a phone tells.
    enum Fault: CaseIterable {
        case otherChallenge, otherSigner, oneKey, noPoint, tooShort, tooLong, twice

        func telling(_ challenge: String) throws -> [AssertionExtension] {
            let device = TestDevice()
            let right = try device.announcement(challenge)
            func with(_ data: [UInt8]) -> [AssertionExtension] {
                [AssertionExtension(id: right.id, data: data, isCritical: false)]
            }
            switch self {
            case .otherChallenge: return [try device.announcement(challenge, signed: challenge + "A")]
            case .otherSigner:
                return with(
                    Array(right.data[..<130]) + (try TestDevice().announcement(challenge)).data[130...])
            case .oneKey:
                return [try TestDevice(signing: device.signing, encryption: device.signing).announcement(challenge)]
            case .noPoint: return with(Array(right.data[..<129]) + [right.data[129] ^ 1] + right.data[130...])
            case .tooShort: return with(Array(right.data.dropLast()))
            case .tooLong: return with(right.data + [0])
            case .twice: return [right, right]
            }
        }
    }

    @Test("What is told wrongly refuses the registration that tells it", arguments: Fault.allCases)
    func wrongInRegistration(fault: Fault) async throws {
        let server = try TestServer()
        let enrolment = try await Self.answer(server, try TestPhone(), telling: fault.telling)
        #expect(enrolment.answer.statusCode == .unacceptableContent)
        #expect(try await server.database.devices(accountID: Self.account(server).id).isEmpty)
    }

    @Test("What is told wrongly refuses the authentication that tells it", arguments: Fault.allCases)
    func wrongInAuthentication(fault: Fault) async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let request = try await server.engine.requests.authentication(username: "alice", source: "a")
        let answer = try await server.engine.authenticationAnswers.judge(
            try phone.authenticate(request, counter: 2, telling: fault.telling))
        #expect(answer.response.statusCode == .unacceptableContent && answer.authenticated == nil)
        #expect(try await server.database.credentials(accountID: account.id).map(\.counter) == [1])
    }

    @Test("A key of another device is nobody else's: neither of another account's, nor one half of a pair")
    func taken() async throws {
        let server = try TestServer()
        let device = TestDevice()
        try await Self.enrol(server, device)
        for (username, other) in [
            ("bob", device), ("bob", TestDevice(encryption: device.encryption)),
            ("bob", TestDevice(encryption: device.signing)), ("bob", TestDevice(signing: device.encryption)),
            ("alice", TestDevice(signing: device.signing)), ("alice", TestDevice(encryption: device.encryption)),
        ] {
            let enrolment = try await Self.answer(server, try TestPhone(), username) { [try other.announcement($0)] }
            #expect(enrolment.answer.statusCode == .unacceptableKey)
        }
        #expect(try await server.database.devices(accountID: Self.account(server, "bob").id).isEmpty)
    }

    @Test("One phone that is enrolled anew for its account has the same keys, and speaks for the newest of its devices")
    func enrolledAnew() async throws {
        let server = try TestServer()
        let device = TestDevice()
        try await Self.enrol(server, device)
        try await Self.enrol(server, device)
        let devices = try await server.database.devices(accountID: Self.account(server).id)
        #expect(devices.count == 2)
        let prover = try await server.engine.deviceProofs.prover(of: try device.call(at: server.clock.now))
        #expect(prover.device.deviceID == devices[1].id)
    }

    @Test("A device of before adds its keys when it authenticates, once")
    func authentication() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let device = TestDevice()
        let added = try await Self.authenticate(server, phone, counter: 2, telling: device)
        #expect(added.statusCode == .ok)
        #expect(try added.deviceKey == device.name)
        let again = try await Self.authenticate(server, phone, counter: 3, telling: device)
        #expect(try again.deviceKey == device.name)
        let prover = try await server.engine.deviceProofs.prover(of: try device.call(at: server.clock.now))
        #expect(prover.account.id == account.id)
        let entries = try await server.database.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
        #expect(entries.count { $0.hasPrefix("device-keys-") } == 1 && entries.contains("device-keys-added"))
        #expect(try await Self.notices(server, account).isEmpty)
    }

    // MARK: Keys that are lost

    private static func notices(_ server: TestServer, _ account: AccountRecord) async throws -> [NoticeRecord] {
        try await server.directory.notices(accountID: account.id).filter { $0.kind == .deviceKeysReplaced }
    }

    private static func speaks(_ device: TestDevice, _ server: TestServer) async throws -> Bool {
        do {
            _ = try await server.engine.deviceProofs.prover(of: try device.call(at: server.clock.now))
            return true
        } catch DeviceProofRefusal.notProven { return false }
    }

    @Test("A device that has lost its keys tells others when its person authenticates: the old ones prove nothing more")
    func replacement() async throws {
        let server = try TestServer()
        let (lost, new) = (TestDevice(), TestDevice())
        let phone = try await Self.enrol(server, lost)
        let account = try await Self.account(server)
        let id = try await server.device(of: account).deviceID
        server.clock.advance(.seconds(5))
        let told = try await Self.authenticate(server, phone, counter: 2, telling: new)
        #expect(told.statusCode == .ok)
        #expect(try told.deviceKey == new.name)
        let prover = try await server.engine.deviceProofs.prover(of: try new.call(at: server.clock.now))
        #expect(prover.account.id == account.id && prover.device.deviceID == id && !prover.isGone)
        #expect(try await !Self.speaks(lost, server))
        let entries = try await server.database.auditEntries(after: 0, limit: 99).map(\.event)
            .filter { $0.kind.rawValue == "device-keys-replaced" }
        #expect(entries.map(\.detail) == [id] && entries.map(\.accountID) == [account.id])
        let notices = try await Self.notices(server, account)
        #expect(notices.map(\.subject) == ["Alice's phone"] && notices.map(\.at) == [server.clock.now])
        // Told again it is no news, and nobody comes back to what was lost but by telling it.
        _ = try await Self.authenticate(server, phone, counter: 3, telling: new)
        #expect(try await Self.notices(server, account).count == 1)
        try await server.directory.deleteDevice(id: id, by: "test")
        let gone = try await server.engine.deviceProofs.prover(of: try new.call(at: server.clock.now))
        #expect(gone.isGone)
    }

    @Test("What a silent key alone has signed of a device replaces nothing, whoever has signed beside it")
    func silentReplacement() async throws {
        let server = try TestServer {
            $0.factors = [[.pin, .devicePossession]]
            $0.enrolmentFactors = [[.pin, .devicePossession]]
        }
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let (pin, silent) = (try TestPhone(), try TestPhone(factor: .devicePossession))
        let (first, other) = (TestDevice(), TestDevice())
        let link = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
        let registration = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(link.link), operation: .registration)
        let answer = try await server.engine.registrationAnswers.judge(
            try together(
                try pin.register(registration) { [try first.announcement($0)] }, try silent.register(registration),
                .registration))
        try await Self.confirm((answer, link), server)
        func authenticate(_ counter: UInt32, pin byPin: TestDevice?, silent bySilent: TestDevice?) async throws
            -> ServerResponse
        {
            let request = try await server.engine.requests.authentication(username: "alice", source: "a")
            func answer(_ phone: TestPhone, _ device: TestDevice?) throws -> SendUAFResponse {
                try phone.authenticate(request, counter: counter) { challenge in
                    try [device].compactMap(\.self).map { try $0.announcement(challenge) }
                }
            }
            // One final challenge for both.
            return try await server.engine.authenticationAnswers.judge(
                try together(try answer(pin, byPin), try answer(silent, bySilent), .authentication)
            ).response
        }
        let refused = try await authenticate(2, pin: nil, silent: other)
        #expect(refused.statusCode == .ok && refused.deviceKey == nil)
        #expect(try await Self.speaks(first, server))
        #expect(try await !Self.speaks(other, server))
        #expect(try await Self.notices(server, account).isEmpty)
        let twice = try await authenticate(3, pin: first, silent: other)
        #expect(twice.statusCode == .unacceptableContent)
        let told = try await authenticate(3, pin: other, silent: nil)
        #expect(try told.statusCode == .ok && told.deviceKey == other.name)
        #expect(try await Self.speaks(other, server))
        #expect(try await Self.notices(server, account).count == 1)
    }

    @Test("A phone that waits for its number replaces no keys, and neither does one whose account is locked")
    func pendingReplacement() async throws {
        let server = try TestServer()
        let (device, pending, other) = (TestDevice(), TestDevice(), TestDevice())
        let phone = try await Self.enrol(server, device)
        let waiting = try TestPhone()
        _ = try await Self.answer(server, waiting) { [try pending.announcement($0)] }
        let refused = try await Self.authenticate(server, waiting, counter: 2, telling: other)
        #expect(refused.statusCode != .ok && refused.deviceKey == nil)
        _ = try await server.directory.setLocked(true, username: Self.account(server).reference, by: "test")
        let locked = try await Self.authenticate(server, phone, counter: 2, telling: other)
        #expect(locked.statusCode != .ok && locked.deviceKey == nil)
        _ = try await server.directory.setLocked(false, username: Self.account(server).reference, by: "test")
        #expect(try await Self.speaks(device, server))
        #expect(try await !Self.speaks(other, server))
        #expect(try await Self.notices(server, Self.account(server)).isEmpty)
    }

    @Test("Keys of which one is anybody's already replace none: of another account, of another device, or its own half")
    func takenReplacement() async throws {
        let server = try TestServer()
        let (device, neighbour, bobs) = (TestDevice(), TestDevice(), TestDevice())
        try await Self.enrol(server, neighbour)
        try await Self.enrol(server, bobs, "bob")
        let phone = try await Self.enrol(server, device)
        var counter: UInt32 = 1
        for other in [
            bobs, neighbour, TestDevice(signing: bobs.signing), TestDevice(encryption: bobs.encryption),
            TestDevice(signing: bobs.encryption), TestDevice(encryption: neighbour.signing),
            TestDevice(signing: device.signing), TestDevice(encryption: device.encryption),
            TestDevice(signing: device.encryption, encryption: device.signing),
        ] {
            counter += 1
            let told = try await Self.authenticate(server, phone, counter: counter, telling: other)
            // By the signing key that it has, the device is known all the same.
            let isOwn = other.signing.rawRepresentation == device.signing.rawRepresentation
            #expect(try told.statusCode == .ok && told.deviceKey == (isOwn ? device.name : nil))
        }
        for kept in [device, neighbour, bobs] { #expect(try await Self.speaks(kept, server)) }
        #expect(try await Self.notices(server, Self.account(server)).isEmpty)
    }

    @Test("A key that another registration of the account has is not known as the key of the one that tells it")
    func anothersKey() async throws {
        let server = try TestServer()
        let (device, other) = (TestDevice(), TestDevice())
        try await Self.enrol(server, other)
        let phone = try await Self.enrol(server, device)
        let told = try await Self.authenticate(server, phone, counter: 2, telling: other)
        #expect(told.statusCode == .ok && told.deviceKey == nil)
        let own = try await Self.authenticate(server, phone, counter: 3, telling: device)
        #expect(try own.deviceKey == device.name)
    }

    @Test("By a code too, and a phone that shows no registered key adds none")
    func authenticationByCode() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let device = TestDevice()
        let request = try await server.claimSignIn()
        let refused = try await server.engine.authenticationAnswers.judge(
            try phone.authenticate(request, counter: 2, fault: .signature) { [try device.announcement($0)] })
        #expect(refused.response.statusCode == .unacceptableContent && refused.response.deviceKey == nil)
        await #expect(throws: DeviceProofRefusal.notProven) {
            try await server.engine.deviceProofs.prover(of: try device.call(at: server.clock.now))
        }
        let second = try await server.claimSignIn("another")
        let answer = try await server.engine.authenticationAnswers.judge(
            try phone.authenticate(second, counter: 3) { [try device.announcement($0)] })
        #expect(answer.response.statusCode == .ok)
        #expect(try answer.response.deviceKey == device.name)
        _ = try await server.engine.deviceProofs.prover(of: try device.call(at: server.clock.now))
    }

    @Test("A key that joins a device in the app changes nothing of the device's own")
    func joining() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        let (device, finger) = (TestDevice(), try TestPhone(factor: .fingerprint))
        let request = try await server.engine.requests.registration(
            of: try await server.device(of: account), policy: nil)
        let answer = try await server.engine.registrationAnswers.judge(
            try finger.register(request) { [try device.announcement($0)] })
        #expect(answer.statusCode == .ok && answer.deviceKey == nil)
        await #expect(throws: DeviceProofRefusal.notProven) {
            try await server.engine.deviceProofs.prover(of: try device.call(at: server.clock.now))
        }
    }

    // MARK: Proving

    @Test("A proof counts once, for the request that it was made for, and within a minute")
    func proofs() async throws {
        let server = try TestServer()
        let device = TestDevice()
        try await Self.enrol(server, device)
        let proofs = server.engine.deviceProofs
        let now = server.clock.now
        let right = try device.call(method: "POST", path: "/x", body: [1], at: now)
        for change: (inout IdentityCall) -> Void in [
            { $0.method = "PUT" }, { $0.path = "/y" }, { $0.path = "/x/" }, { $0.body = [2] }, { $0.body = [] },
            { $0.proof = nil }, { $0.proof?.removeLast(4) }, { $0.proof = "a.b.c" },
        ] {
            var call = right
            change(&call)
            await #expect(throws: DeviceProofRefusal.notProven) { try await proofs.prover(of: call) }
        }
        for call in [
            try device.call(audience: "http://elsewhere.example", at: now),
            try device.call(signedBy: TestDevice().signing, at: now),
            try device.call(keyID: TestDevice().name, at: now), try TestDevice().call(at: now),
            try TestDevice().call(keyID: device.name, at: now),
        ] {
            await #expect(throws: DeviceProofRefusal.notProven) { try await proofs.prover(of: call) }
        }
        for difference in [Duration.seconds(61), .seconds(600)] {
            for moment in [now - difference, now + difference] {
                await #expect(throws: DeviceProofRefusal.clockSkew(now: now)) {
                    try await proofs.prover(of: try device.call(at: moment))
                }
            }
        }
        var slashed = try device.call(path: "/x/", at: now)
        slashed.path = "/x"
        _ = try await proofs.prover(of: slashed)
        _ = try await proofs.prover(of: right)
        await #expect(throws: DeviceProofRefusal.replayRefused) { try await proofs.prover(of: right) }
        _ = try await proofs.prover(of: try device.call(at: now - .seconds(60)))
        _ = try await proofs.prover(of: try device.call(at: now + .seconds(60)))
    }

    @Test("A proof counts once for the key: not again for another registration of its phone that has become the newest")
    func replayedForAnotherRegistration() async throws {
        let server = try TestServer()
        let device = TestDevice()
        try await Self.enrol(server, device)
        try await Self.enrol(server, device)
        let devices = try await server.database.devices(accountID: Self.account(server).id).map(\.id)
        let proofs = server.engine.deviceProofs
        let call = try device.call(at: server.clock.now)
        #expect(try await proofs.prover(of: call).device.deviceID == devices[1])
        try await server.directory.deleteDevice(id: devices[1], by: "test")
        await #expect(throws: DeviceProofRefusal.replayRefused) { try await proofs.prover(of: call) }
        let next = try await proofs.prover(of: try device.call(at: server.clock.now))
        #expect(next.device.deviceID == devices[0] && !next.isGone)
    }

    @Test("A network that proves nothing is refused unjudged after some tries, and a right proof is taken all the same")
    func budget() async throws {
        var limits = Limits()
        limits.guessBurst = 2
        let server = try TestServer { [limits] in $0.limits = limits }
        let device = TestDevice()
        try await Self.enrol(server, device)
        let now = server.clock.now
        func prove(_ device: TestDevice, _ source: String = "net") async throws -> DeviceProofs.Prover {
            try await server.engine.deviceProofs.prover(of: try device.call(at: now, source: source))
        }
        for _ in 0..<3 { _ = try await prove(device) }
        for _ in 0..<2 {
            await #expect(throws: DeviceProofRefusal.notProven) { try await prove(TestDevice()) }
        }
        let refusal = await #expect(throws: DeviceProofRefusal.self) { try await prove(TestDevice()) }
        guard case .tooManyRequests(let seconds)? = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        #expect(seconds > 0)
        await #expect(throws: DeviceProofRefusal.notProven) { try await prove(TestDevice(), "another") }
        _ = try await prove(device)
    }

    @Test("A device proves so many requests, and no more until time has passed; another is not counted with it")
    func provenBudget() async throws {
        let server = try TestServer { ($0.limits.provenRequestBurst, $0.limits.provenRequestsPerMinute) = (2, 6) }
        let (device, other) = (TestDevice(), TestDevice())
        try await Self.enrol(server, device)
        try await Self.enrol(server, other, "bob")
        func prove(_ device: TestDevice) async throws {
            _ = try await server.engine.deviceProofs.prover(of: try device.call(at: server.clock.now))
        }
        for _ in 0..<2 { try await prove(device) }
        for _ in 0..<2 {
            await #expect(throws: DeviceProofRefusal.tooManyRequests(retryAfter: 10)) { try await prove(device) }
        }
        try await prove(other)
        server.clock.advance(.seconds(10))
        try await prove(device)
        await #expect(throws: DeviceProofRefusal.tooManyRequests(retryAfter: 10)) { try await prove(device) }
    }

    @Test("A device that was taken away is known as gone for as long as a lost answer may be asked for, and no longer")
    func gone() async throws {
        let server = try TestServer()
        let device = TestDevice()
        try await Self.enrol(server, device)
        let account = try await Self.account(server)
        let id = try await server.device(of: account).deviceID
        #expect(
            try await server.database.deleteDevice(
                id: id, audit: AuditEvent(AuditEvent.Kind(rawValue: "device-revoked"), at: server.clock.now),
                ending: { _ in nil }))
        let prover = try await server.engine.deviceProofs.prover(of: try device.call(at: server.clock.now))
        #expect(prover.isGone && prover.device.deviceID == id)
        server.clock.advance(Limits().deregistrationRetention - .seconds(1))
        try await server.engine.sweep.run()
        _ = try await server.engine.deviceProofs.prover(of: try device.call(at: server.clock.now))
        server.clock.advance(.seconds(2))
        try await server.engine.sweep.run()
        await #expect(throws: DeviceProofRefusal.notProven) {
            try await server.engine.deviceProofs.prover(of: try device.call(at: server.clock.now))
        }
        // The phone that enrols anew, with the keys that it has kept, is itself again.
        try await Self.enrol(server, device)
        #expect(!(try await server.engine.deviceProofs.prover(of: try device.call(at: server.clock.now)).isGone))
    }

    @Test("A device that asks alone has its own keys deleted, of all its registrations, and those of no other device")
    func deregistersItself() async throws {
        let server = try TestServer()
        let device = TestDevice()
        let first = try await Self.enrol(server, device)
        let second = try await Self.enrol(server, device)
        let (other, older) = (try await Self.enrol(server, TestDevice()), try await server.addPhone(to: "alice"))
        let account = try await Self.account(server)
        func names() async throws -> [[UInt8]] {
            try await server.database.credentials(accountID: account.id).map(\.keyID)
        }
        func ask(_ context: JSONObject) async throws -> ReturnUAFRequest {
            let prover = try await server.engine.deviceProofs.prover(of: try device.call(at: server.clock.now))
            return try await server.engine.deregistrations.deregister(
                GetUAFRequest(operation: .deregistration, context: context), askedBy: prover.device, alone: true)
        }
        let stays = try await ask([
            "username": .string("alice"), "mode": .string("key"),
            "keys": .array(
                [other, older, first].map {
                    .object(["aaid": .string($0.aaid.text), "keyID": .string($0.keyID.base64URL)])
                }),
        ])
        #expect(stays.statusCode == .ok)
        #expect(try await names() == [second, other, older].map(\.keyID.bytes))
        let everything: JSONObject = ["username": .string("alice"), "mode": .string("username")]
        #expect(try await ask(everything).statusCode == .ok)
        #expect(try await names() == [other, older].map(\.keyID.bytes))
        #expect(try await server.database.devices(accountID: account.id).count == 2)
        // Once more, as after a lost answer.
        #expect(try await ask(everything).statusCode == .ok)
        #expect(try await names().count == 2)
    }
}
