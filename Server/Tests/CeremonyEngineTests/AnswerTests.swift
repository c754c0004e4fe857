import Accounts
import CeremonyEngine
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("uaf-sections §8.4: answers, each refusal with its status code (threat model, Replaying)")
struct AnswerTests {
    @Test(
        "A tampered answer gets its code and ends the ceremony",
        arguments: [
            (TestPhone.Fault.signature, UAFStatusCode.unacceptableContent), (.otherChallenge, .invalidRequest),
            (.otherFacet, .unacceptableContent), (.otherHash, .unacceptableContent), (.unknownKey, .unknownKeyID),
            (.unknownModel, .unknownAAID),
        ])
    func tamperedAnswer(fault: TestPhone.Fault, code: UAFStatusCode) async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let request = try await server.claimSignIn()
        let answer = try await server.engine.authenticationAnswers.judge(
            try phone.authenticate(request, counter: 2, fault: fault))
        #expect(answer.response.statusCode == code)
        #expect(answer.authenticated == nil)
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .failed)
        #expect(try await server.database.credentials(accountID: account.id).first?.counter == 1)
        let second = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(second.response.statusCode == .invalidRequest, "one answer is all that a challenge gets")
    }

    @Test(
        "A key on secp256k1 is registered, kept and authenticates, and another one in its place does not",
        arguments: [SignatureAlgorithm.secp256k1Raw, .secp256k1DER])
    func secp256k1(algorithm: SignatureAlgorithm) async throws {
        let pin = AuthenticatorModel(factor: .pin, keyStore: .file).aaid
        var metadata = try MetadataCatalog.builtIn()
        var statement = try #require(metadata[pin])
        statement.authenticationAlgorithm = algorithm
        metadata.add(statement)
        let server = try TestServer { [metadata] in $0.metadata = metadata }
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let phone = try await server.addPhone(to: "alice", algorithm: algorithm)
        #expect(try await server.database.credentials(accountID: account.id).map(\.algorithm) == [algorithm.rawValue])
        func judge(counter: UInt32, fault: TestPhone.Fault?) async throws -> AuthenticationAnswer {
            let request = try await server.engine.requests.authentication(username: "alice", source: "a")
            return try await server.engine.authenticationAnswers.judge(
                try phone.authenticate(request, counter: counter, fault: fault))
        }
        let right = try await judge(counter: 2, fault: nil)
        #expect(right.response.statusCode == .ok && right.authenticated?.accountID == account.id)
        let wrong = try await judge(counter: 3, fault: .signature)
        #expect(wrong.response.statusCode == .unacceptableContent && wrong.authenticated == nil)
        #expect(try await server.database.credentials(accountID: account.id).map(\.counter) == [2])
    }

    @Test(
        "An app that is not listed is named in log and trail, whoever found it; the log has one line a minute from a source"
    )
    func refusedFacet() async throws {
        let told = Mutex<[String]>([])
        let server = try TestServer { $0.facetRefused = { facet in told.withLock { $0.append(facet) } } }
        let (_, phone) = try await server.enrol()
        func details() async throws -> [String?] {
            try await server.database.auditEntries(after: 0, limit: 999).map(\.event)
                .filter { $0.kind.rawValue == "failed" }.map(\.detail)
        }
        // The server's own rule, for a sign-in and for an enrolment.
        _ = try await server.engine.authenticationAnswers.judge(
            try phone.authenticate(try await server.claimSignIn("first"), counter: 2, fault: .otherFacet))
        let link = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
        let enrolment = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(link.link), operation: .registration)
        _ = try await server.engine.registrationAnswers.judge(try TestPhone().register(enrolment, fault: .otherFacet))
        #expect(try await details() == ["1498 test:another", "1498 test:another"])
        #expect(told.withLock { $0 } == ["test:another"], "once a minute at most")
        // What an app says that has read the list itself is shown on one line, and only with the code for it.
        for code in [7, 255] {
            server.clock.advance(.seconds(60))
            var report = try phone.giveUp(try await server.claimSignIn("gives up: \(code)"), clientErrorCode: code)
            report.context?["facetId"] = .string("test:third\n" + String(repeating: "x", count: 200))
            _ = try await server.engine.authenticationAnswers.judge(report)
        }
        let third = "test:third\u{FFFD}" + String(repeating: "x", count: 117) + "…"
        #expect(try await details().suffix(2) == ["7 \(third)", "255"])
        #expect(told.withLock { $0 } == ["test:another", third])
    }

    @Test(
        "A challenge of the app's own has no ceremony: what was refused is in log and trail once a minute from a source"
    )
    func refusedFacetInTheApp() async throws {
        let told = Mutex<[String]>([])
        let server = try TestServer { $0.facetRefused = { facet in told.withLock { $0.append(facet) } } }
        let (account, phone) = try await server.enrol()
        func details() async throws -> [String?] {
            try await server.database.auditEntries(after: 0, limit: 999).map(\.event)
                .filter { $0.kind.rawValue == "failed" }.map(\.detail)
        }
        func refused(from source: String?) async throws -> UAFStatusCode {
            let open = try await server.engine.requests.authentication(username: nil, policy: nil)
            return try await server.engine.authenticationAnswers.judge(
                try phone.authenticate(open, counter: 2, fault: .otherFacet), source: source
            ).response.statusCode
        }
        // Twice from one source, and once from another, which is told all the same.
        for source in ["a", "a", "b"] { #expect(try await refused(from: source) == .unacceptableContent) }
        #expect(try await details() == ["1498 test:another", "1498 test:another"])
        #expect(told.withLock { $0.count } == 2)
        server.clock.advance(.seconds(60))
        #expect(try await refused(from: "a") == .unacceptableContent)
        #expect(try await details().count == 3 && told.withLock { $0.count } == 3)
        // What the app has found itself, at an authentication and at a registration of further keys.
        let device = try await server.device(of: account)
        for source in ["c", "d"] {
            let open = try await server.engine.requests.authentication(username: nil, policy: nil)
            let further = try await server.engine.requests.registration(of: device)
            var report = try phone.giveUp(source == "c" ? open : further, clientErrorCode: 7)
            report.context?["facetId"] = .string("test:third")
            if source == "c" {
                _ = try await server.engine.authenticationAnswers.judge(report, source: source)
            } else {
                _ = try await server.engine.registrationAnswers.judge(report, source: source)
            }
        }
        #expect(try await details().suffix(2) == ["7 test:third", "7 test:third"])
        // The server's rule at a registration.
        let further = try await server.engine.requests.registration(of: device)
        let wrong = try await server.engine.registrationAnswers.judge(
            try TestPhone().register(further, fault: .otherFacet), source: "e")
        #expect(wrong.statusCode == .unacceptableContent)
        #expect(try await details().count == 6 && told.withLock { $0.count } == 6)
        // Everybody together fills the trail no further than so many an hour; each is in the log.
        for number in 0..<100 { _ = try await refused(from: "network \(number)") }
        #expect(try await details().count == 60 + 1, "one more had come back in the first minute")
        #expect(told.withLock { $0.count } == 106)
        server.clock.advance(.seconds(3600))
        for number in 0..<100 { _ = try await refused(from: "network \(number)") }
        #expect(try await details().count == 121)
    }

    @Test(
        "A message that belongs to no ceremony changes nothing",
        arguments: [
            (TestPhone.Fault.noServerData, UAFStatusCode.invalidRequest), (.otherServerData, .invalidRequest),
        ])
    func foreignAnswer(fault: TestPhone.Fault, code: UAFStatusCode) async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let request = try await server.claimSignIn()
        let answer = try await server.engine.authenticationAnswers.judge(
            try phone.authenticate(request, counter: 2, fault: fault))
        #expect(answer.response.statusCode == code)
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .claimed)
        let second = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(second.response.statusCode == .ok)
    }

    @Test(arguments: ["", "null", "[]", "{}", "[{}]", "[{\"header\":{}}]", "[1]", "\u{0}"])
    func aMalformedMessageIsABadRequest(text: String) async throws {
        let server = try TestServer()
        let message = SendUAFResponse(uafResponse: text)
        #expect(try await server.engine.authenticationAnswers.judge(message).response.statusCode == .badRequest)
        #expect(try await server.engine.registrationAnswers.judge(message).statusCode == .badRequest)
    }

    @Test func aContextOfAnotherTypeIsABadRequest() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        var message = try phone.authenticate(try await server.claimSignIn(), counter: 2)
        message.context = ["clientErrorCode": .string("3")]
        #expect(try await server.engine.authenticationAnswers.judge(message).response.statusCode == .badRequest)
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .claimed)
    }

    @Test func anAnswerOfTheOtherOperationIsRefused() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let link = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(link.link), operation: .registration)
        let registration = try RegistrationRequest(parsing: (request.uafRequest ?? "").utf8)
        var forged = AuthenticationRequest(
            header: registration.header, challenge: registration.challenge, policy: registration.policy)
        forged.header.operation = .authentication
        let wrapped = ReturnUAFRequest(
            statusCode: .ok, uafRequest: String(decoding: forged.serialized, as: UTF8.self))
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(wrapped, counter: 2))
        #expect(answer.response.statusCode == .invalidRequest)
        #expect(try await server.engine.enrolments.enrolment(id: link.id).state == .claimed)
    }

    @Test func of64ConcurrentAnswersOneIsAccepted() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let request = try await server.claimSignIn()
        let messages = try (0..<64).map { try phone.authenticate(request, counter: UInt32(2 + $0)) }
        let codes = try await Self.all(messages, server)
        #expect(codes == [1200: 1, 1491: 63])
        #expect(
            try await server.engine.signIns.consume(reference: "request", browser: server.browser, client: "demo-bank")
                != nil)
        let trail = try await server.database.auditEntries(after: 0, limit: 999)
        #expect(trail.count { $0.event.kind.rawValue == "authenticated" } == 1)
        #expect(try await server.database.credentials(accountID: account.id).first?.counter ?? 0 >= 2)
    }

    /// What was answered after a backup is in no row of it, so that nothing but the seal can refuse the answer again.
    @Test func aChallengeOfBeforeARestoreIsNotAnsweredAfterIt() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let message = try phone.authenticate(
            try await server.engine.requests.authentication(username: nil, source: "a"), counter: 2)
        #expect(
            try await server.laterEngine.authenticationAnswers.judge(message).response.statusCode == .invalidRequest)
        #expect(try await server.engine.authenticationAnswers.judge(message).response.statusCode == .ok)
    }

    @Test func of64ConcurrentAnswersToAnOpenChallengeOneIsAccepted() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let request = try await server.engine.requests.authentication(username: nil, source: "a")
        let messages = try (0..<64).map { try phone.authenticate(request, counter: UInt32(2 + $0)) }
        #expect(try await Self.all(messages, server) == [1200: 1, 1491: 63])
    }

    @Test func oneCounterServesOneOfManyChallenges() async throws {
        let server = try TestServer { $0.limits.challengeBurst = 100 }
        let (_, phone) = try await server.enrol()
        var messages: [SendUAFResponse] = []
        for _ in 0..<16 {
            let request = try await server.engine.requests.authentication(username: nil, source: "a")
            messages.append(try phone.authenticate(request, counter: 2))
        }
        #expect(try await Self.all(messages, server) == [1200: 1, 1498: 15])
    }

    private static func all(_ messages: [SendUAFResponse], _ server: TestServer) async throws -> [Int: Int] {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for message in messages {
                group.addTask {
                    Int(try await server.engine.authenticationAnswers.judge(message).response.statusCode.rawValue)
                }
            }
            return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
    }

    @Test func aCounterThatGoesBackIsRefusedAndNoted() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        for (counter, code) in [(5, UAFStatusCode.ok), (5, .unacceptableContent), (4, .unacceptableContent), (6, .ok)]
            as [(UInt32, UAFStatusCode)]
        {
            let request = try await server.claimSignIn("to \(counter), \(code)")
            let answer = try await server.engine.authenticationAnswers.judge(
                try phone.authenticate(request, counter: counter))
            #expect(answer.response.statusCode == code, "counter \(counter)")
        }
        let trail = try await server.database.auditEntries(after: 0, limit: 999)
        #expect(trail.count { $0.event.kind.rawValue == "counter-went-back" } == 2)
        #expect(try await server.database.credentials(accountID: account.id).first?.counter == 6)
        #expect(try await server.database.verifyAudit() == .intact(entries: Int64(trail.count)))
    }

    @Test func aCounterThatGoesBackIsNotedForAChallengeOfTheAppsOwnOnceAChallenge() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        func traces() async throws -> [AuditEvent] {
            try await server.database.auditEntries(after: 0, limit: 999).map(\.event)
                .filter { $0.kind.rawValue == "counter-went-back" }
        }
        let request = try await server.engine.requests.authentication(username: "alice", source: "a")
        // Somebody who does not have the key leaves nothing, and does not use the challenge up.
        let forged = try phone.authenticate(request, counter: 1, fault: .signature)
        #expect(try await server.engine.authenticationAnswers.judge(forged).response.statusCode == .unacceptableContent)
        #expect(try await traces().isEmpty)
        let cloned = try phone.authenticate(request, counter: 1)
        #expect(try await server.engine.authenticationAnswers.judge(cloned).response.statusCode == .unacceptableContent)
        let device = try await server.device(of: account)
        #expect(try await traces().map(\.accountID) == [account.id])
        #expect(try await traces().map(\.detail) == [device.deviceID])
        for counter: UInt32 in [1, 0, 2] {
            let again = try await server.engine.authenticationAnswers.judge(
                try phone.authenticate(request, counter: counter))
            #expect(again.response.statusCode == .invalidRequest, "the challenge is used up")
        }
        #expect(try await traces().count == 1)
        let next = try await server.engine.requests.authentication(username: "alice", source: "a")
        #expect(
            try await server.engine.authenticationAnswers.judge(try phone.authenticate(next, counter: 2)).response
                .statusCode
                == .ok)
    }

    @Test func aLockedAccountIsForbiddenAndOnlyItsKeyLearnsThat() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let request = try await server.claimSignIn()
        _ = try await server.directory.setLocked(true, username: "alice", by: "operator")
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == .forbidden)
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .failed)
        let open = try await server.engine.requests.authentication(username: nil, source: "a")
        let forged = try await server.engine.authenticationAnswers.judge(
            try phone.authenticate(open, counter: 3, fault: .signature))
        #expect(forged.response.statusCode == .unacceptableContent)
        #expect(try await server.engine.requests.registration(of: server.device(of: account)).statusCode == .forbidden)

        _ = try await server.directory.setLocked(false, username: "alice", by: "operator")
        let again = try await server.engine.authenticationAnswers.judge(
            try phone.authenticate(try await server.claimSignIn(), counter: 4))
        #expect(again.response.statusCode == .ok)
    }

    @Test func aDeletedDeviceIsAnUnknownKey() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let request = try await server.claimSignIn()
        let device = try #require(try await server.directory.devices(username: "alice").first)
        try await server.directory.deleteDevice(id: device.id, by: "operator")
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == .unknownKeyID)
        await #expect(throws: AccountError(.notFound)) {
            try await server.directory.deleteDevice(id: device.id, by: "operator")
        }
    }

    @Test func anAppAuthenticatesByNameAndTheServerNamesTheAccount() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let (_, stranger) = try await server.enrol("mallory")
        let request = try await server.engine.requests.authentication(username: "alice", source: "a")
        let message = try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8)
        #expect(message.policy.accepted.flatMap { $0 }.flatMap { $0.keyIDs ?? [] } == [phone.keyID])
        let wrong = try await server.engine.authenticationAnswers.judge(try stranger.authenticate(request, counter: 9))
        #expect(wrong.response.statusCode == .unauthorized && wrong.authenticated == nil)
        let right = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(right.response.statusCode == .ok && right.authenticated?.accountID == account.id)
        let again = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 3))
        #expect(again.response.statusCode == .invalidRequest && again.authenticated == nil)
    }

    @Test func anOpenChallengeExpires() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let request = try await server.engine.requests.authentication(username: nil, source: "a")
        server.clock.advance(.seconds(180))
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == .invalidRequest)
    }

    @Test func anAppThatGivesUpOnAnOpenChallengeLeavesNoTrace() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        let before = try await server.database.auditEntries(after: 0, limit: 99).count
        let request = try await server.engine.requests.authentication(username: nil, source: "a")
        let answer = try await server.engine.authenticationAnswers.judge(try phone.giveUp(request, clientErrorCode: 3))
        #expect(answer.response.statusCode == .ok && answer.authenticated == nil)
        #expect(try await server.database.auditEntries(after: 0, limit: 99).count == before)
    }

    @Test func anUnknownNameGetsTheSameInventedKeysEachTime() async throws {
        let server = try TestServer()
        try await server.enrol()
        _ = try await server.directory.create(username: "bare", displayName: nil, by: "test")
        func keys(_ name: String) async throws -> [KeyID] {
            let request = try await server.engine.requests.authentication(username: name, source: "a")
            #expect(request.statusCode == .ok)
            return try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8).policy.accepted
                .flatMap { $0 }.flatMap { $0.keyIDs ?? [] }
        }
        let nobody = try await keys("nobody\u{E9}")
        #expect(try await keys("nobody\u{E9}") == nobody)
        #expect(try await keys("nobodye\u{301}") == nobody, "another spelling of the same name")
        #expect(try await keys("somebody") != nobody)
        #expect(try await !keys("bare").isEmpty, "an account without keys looks alike")
        for name in ["", String(repeating: "x", count: 129)] {
            await #expect(throws: CeremonyError(.invalidRequest)) {
                try await server.engine.requests.authentication(username: name, source: "a")
            }
        }
    }

    /// What can be seen of a request without knowing its account: how many keys it names, and how long it is.
    private struct Shape: Hashable {
        let keys: Int
        let serverData: Int
        let message: Int
        let criteria: [[[Int]]]

        init(_ request: ReturnUAFRequest) throws {
            let text = request.uafRequest ?? ""
            let message = try AuthenticationRequest(parsing: text.utf8)
            self.keys = message.policy.accepted.flatMap { $0 }.reduce(0) { $0 + ($1.keyIDs?.count ?? 0) }
            self.serverData = message.header.serverData?.utf8.count ?? 0
            self.message = text.utf8.count
            self.criteria = message.policy.accepted.map { alternative in
                alternative.map { [$0.aaid?.count ?? 0, $0.keyIDs?.count ?? 0, $0.keyIDs?.first?.bytes.count ?? 0] }
            }
        }
    }

    @Test func anInventedAccountHasTheLengthAndStructureOfARealOne() async throws {
        let server = try TestServer {
            $0.factors = [[.pin]]
            $0.limits.challengeBurst = 1000
        }
        func shape(_ name: String) async throws -> Shape {
            try Shape(try await server.engine.requests.authentication(username: name, source: "a"))
        }
        var real: [Shape] = []
        for count in 1...3 {
            let username = "person-\(count)"
            try await server.enrol(username)
            for _ in 1..<count { _ = try await server.addPhone(to: username) }
            real.append(try await shape(username))
        }
        #expect(real.map(\.keys) == [1, 2, 3])
        _ = try await server.directory.create(username: "person-0", displayName: nil, by: "test")
        #expect(real.contains(try await shape("person-0")))
        _ = try await server.directory.setLocked(true, username: "person-2", by: "test")
        #expect(real.contains(try await shape("person-2")))

        var invented: [Shape: Int] = [:]
        for number in 0..<200 { invented[try await shape("nobody-\(number)"), default: 0] += 1 }
        #expect(Set(invented.keys) == Set(real), "one device, two and three, and nothing else")
        #expect(invented[real[0]] ?? 0 > invented[real[1]] ?? 0)
    }

    @Test func aSourceHasABudgetOfChallengesAndOthersHaveTheirs() async throws {
        let server = try TestServer {
            $0.limits.challengeBurst = 3
            $0.limits.challengesPerMinute = 30
        }
        for _ in 0..<3 { _ = try await server.engine.requests.authentication(username: nil, source: "a") }
        let error = await #expect(throws: CeremonyError.self) {
            try await server.engine.requests.authentication(username: nil, source: "a")
        }
        #expect(error?.code == .tooManyRequests && error?.retryAfterSeconds == 2)
        _ = try await server.engine.requests.authentication(username: nil, source: "b")
        server.clock.advance(.seconds(2))
        _ = try await server.engine.requests.authentication(username: nil, source: "a")
        await #expect(throws: CeremonyError(.tooManyRequests)) {
            try await server.engine.requests.authentication(username: nil, source: "a")
        }
    }

    /// Thousands of phones have one address where a carrier translates theirs.
    @Test func theChallengesOfACarriersPhonesAreNotHeldBack() async throws {
        let server = try TestServer()
        func ask(_ count: Int) async throws {
            for _ in 0..<count { _ = try await server.engine.requests.authentication(username: nil, source: "a") }
        }
        try await ask(3000)
        await #expect(throws: CeremonyError(.tooManyRequests)) { try await ask(1) }
        for _ in 0..<3 {
            server.clock.advance(.seconds(1))
            try await ask(100)
        }
        await #expect(throws: CeremonyError(.tooManyRequests)) { try await ask(1) }
    }

    @Test func aBudgetThatNeverComesBackAsksForAnHour() async throws {
        let server = try TestServer {
            $0.limits.challengeBurst = 1
            $0.limits.challengesPerMinute = 0
        }
        _ = try await server.engine.requests.authentication(username: nil, source: "a")
        let error = await #expect(throws: CeremonyError.self) {
            try await server.engine.requests.authentication(username: nil, source: "a")
        }
        #expect(error?.retryAfterSeconds == 3600)
    }

    @Test func theBudgetForgetsTheLeastRecentSource() async throws {
        let server = try TestServer {
            $0.limits.challengeBurst = 1
            $0.limits.challengesPerMinute = 0
            $0.limits.countedSources = 4
        }
        for source in ["a", "b", "c", "d", "e"] {
            _ = try await server.engine.requests.authentication(username: nil, source: source)
            server.clock.advance(.seconds(1))
        }
        await #expect(throws: CeremonyError(.tooManyRequests)) {
            try await server.engine.requests.authentication(username: nil, source: "e")
        }
        _ = try await server.engine.requests.authentication(username: nil, source: "a")
    }
}
