import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import _Primitives

@Suite("What phone and server say to each other of identities (decision 62)") struct ManagerExchangeTests {
    @Test("the answer to another request is none to this one") func otherAnswer() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let request = try await phone.start()
        let kept = KeptResponse()
        await phone.server.damage { kept.first($0) }
        try await phone.sdk.common.prolongSession(holder: request)
        #expect(
            await identityError { try await phone.sdk.common.prolongSession(holder: request) }
                == .serverSignatureInvalid)
    }

    @Test("an answer that the server has not signed is an error with its status") func unsigned() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.damage { _ in
            TransportResponse(status: 502, headers: [("Content-Type", "text/html")], body: [])
        }
        let error = await #expect(throws: CountersignHttpError.self) { _ = try await phone.start() }
        #expect(error?.httpStatus == 502)
        #expect(error?.errorCode == .connectionError)
    }

    @Test("an answer that was lost is asked for once more with the same bytes, and nothing is done twice")
    func lostAnswer() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let info = try await phone.prepare()
        await phone.server.forgetRequests()
        await phone.server.loseAnswers()
        #expect(try await phone.finishByPin(info).isUserLogin)
        let requests = await phone.server.requests
        #expect(requests.count == 2)
        #expect(requests.first?.body == requests.last?.body)
        #expect(requests.first?.deviceProof != nil)
        #expect(requests.first?.deviceProof == requests.last?.deviceProof)
        #expect(await phone.server.accepted.count == 1)
    }

    @Test("where the answer is lost until its proof is too old, nothing is proved anew and done a second time")
    func lostForLong() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let info = try await phone.prepare()
        await phone.server.forgetRequests()
        await phone.server.loseAnswers(1, after: .seconds(70))
        let finish: () async throws -> Void = { _ = try await phone.finishByPin(info, pin: "000000") }
        #expect(await identityError(finish) == .timeout)
        let requests = await phone.server.requests
        #expect(requests.count == 2)
        #expect(await phone.server.failures(of: try phone.activation) == 1)
        // Whatever the app has configured, both together end before the proof does.
        #expect(requests.first.map { $0.timeout < .seconds(25) } == true)
    }

    @Test("what the clock comes to that cannot be kept is no reason to lose an answer") func fullStorage() async throws
    {
        let server = try VirtualIdentityServer()
        let phone = try await VirtualIdentityPhone(server: server, clock: FakeClock(wall: server.now))
        try await phone.personalize()
        let request = try await phone.start()
        server.advance(by: .seconds(30))
        phone.storage.refuseWrites(true)
        #expect(await identityError { try await phone.sdk.common.prolongSession(holder: request) } == nil)
    }

    @Test("a clock that was wrong and is set right locks nobody out: neither by the kept keys nor by new ones")
    func clockSetRight() async throws {
        for passed in [Duration.zero, .seconds(86_400 * 40)] {
            let server = try VirtualIdentityServer()
            let error = Duration.seconds(86_400 * 400)
            let phone = try await VirtualIdentityPhone(server: server, clock: FakeClock(wall: server.now - error))
            try await phone.personalize()
            phone.clock.moveWall(by: error + passed)
            server.advance(by: passed)
            if passed == .zero { _ = try await phone.data() } else { try await phone.sdk.common.refreshServerKeys() }
            #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
        }
    }

    @Test("a clock that is wrong follows the server's") func clock() async throws {
        let server = try VirtualIdentityServer()
        // As late as the keys are good for, and as early as anybody's mistake.
        for error in [Duration.seconds(86_400 * 3), .seconds(-86_400 * 400)] {
            let clock = FakeClock(wall: server.now + error)
            let phone = try await VirtualIdentityPhone(server: server, clock: clock)
            try await phone.personalize()
            #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
            // It is known at the next start, too.
            let restarted = try await phone.restarted()
            await server.forgetRequests()
            _ = try await restarted.start()
            #expect(await server.requests.count == 1)
        }
    }

    @Test("without a network, a code by a newer key counts as not to be verified, and a changed code as forged")
    func newerKeyOffline() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let known = try await phone.server.authenticationCode()
        let forged = known.dropLast() + (known.hasSuffix("A") ? "Q" : "A")
        try await phone.server.rotateKeys()
        let code = try await phone.server.authenticationCode()
        await phone.server.goDown(true)
        phone.clock.advance(by: .seconds(601))
        // The older keys verify the codes of their time.
        try await phone.sdk.common.refreshServerKeys()
        _ = try phone.authenticationData(known)
        #expect(await identityError { _ = try phone.authenticationData(String(forged)) } == .serverSignatureInvalid)
        #expect(await identityError { _ = try phone.authenticationData(code) } == .connectionError)
        await phone.server.goDown(false)
        try await phone.sdk.common.refreshServerKeys()
        _ = try phone.authenticationData(code)
    }

    @Test("keys that follow one another are fetched when they are met, and no others are believed") func rotation()
        async throws
    {
        let phone = try await VirtualIdentityPhone.personalized()
        try await phone.server.rotateKeys()
        // The code is signed by a key that the phone does not have yet: a code makes it ask nobody.
        let code = try await phone.server.authenticationCode()
        #expect(await identityError { _ = try phone.authenticationData(code) } == .serverSignatureInvalid)
        // Keys that were fetched just now are not fetched again, however often an app asks.
        try await phone.sdk.common.refreshServerKeys()
        #expect(await identityError { _ = try phone.authenticationData(code) } == .serverSignatureInvalid)
        phone.clock.advance(by: .seconds(601))
        try await phone.sdk.common.refreshServerKeys()
        _ = try phone.authenticationData(code)
        // An answer by a newer key makes it fetch the keys once.
        try await phone.server.rotateKeys()
        #expect(
            try await phone.sdk.personalizer.startChangePin(idmIdentifier: "https://id.example").idmIdentifier
                == "https://id.example")
    }

    @Test("how long to wait is told where the server says it, and with no other refusal") func retryAfter() async throws
    {
        let phone = try await VirtualIdentityPhone.personalized()
        for (problem, expected) in [
            (IdentityProblem(.tooManyRequests, retryAfter: 77), .seconds(77)), (IdentityProblem(.tooManyRequests), nil),
            (IdentityProblem(.serverError, retryAfter: 77), nil),
        ] as [(IdentityProblem, Duration?)] {
            await phone.server.refuseNext(problem)
            let error = await #expect(throws: CountersignError.self) {
                _ = try await phone.sdk.personalizer.startDeletion(idmIdentifier: "https://id.example")
            }
            #expect(error?.retryAfter == expected)
        }
    }

    @Test("each refusal has its code") func refusals() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        for (problem, code) in Self.refusals {
            await phone.server.refuseNext(problem)
            #expect(
                await identityError {
                    _ = try await phone.sdk.personalizer.startDeletion(idmIdentifier: "https://id.example")
                } == code)
        }
    }
}

/// The first answer, for all that follow.
// Safe to share: every access is within `lock`.
private final class KeptResponse: @unchecked Sendable {
    private let lock = NSLock()
    private var kept: TransportResponse?

    func first(_ response: TransportResponse) -> TransportResponse {
        self.lock.withLock {
            if let kept { return kept }
            self.kept = response
            return response
        }
    }
}

extension ManagerExchangeTests {
    fileprivate static var refusals: [(IdentityProblem, CountersignErrorCode)] {
        [
            (IdentityProblem(.serviceInactive), .serviceInactive), (IdentityProblem(.originRefused), .originRefused),
            (IdentityProblem(.activationUnknown), .activationUnknown),
            (IdentityProblem(.notProven), .activationUnknown),
            (IdentityProblem(.activationDisabled), .activationDisabled),
            (IdentityProblem(.sessionExpired), .sessionExpired), (IdentityProblem(.sessionUnknown), .sessionConsumed),
            (IdentityProblem(.sessionSuperseded), .sessionSuperseded),
            (IdentityProblem(.membershipRequired), .membershipRequired),
            (IdentityProblem(.invitationRequired), .invitationRequired), (IdentityProblem(.noRole), .noRole),
            (IdentityProblem(.grantExpired), .grantExpired), (IdentityProblem(.pinRefused), .pinRefused),
            (IdentityProblem(.factorAlreadyEnrolled), .factorAlreadyEnrolled),
            (IdentityProblem(.mergeConflict), .mergeConflict),
            (IdentityProblem(.consentRequired), .consentRequired),
            (IdentityProblem(.answersOutdated), .answersOutdated),
            (IdentityProblem(.untrustedFacetId), .untrustedFacetID),
            (IdentityProblem(.protocolVersionUnsupported), .protocolVersionUnsupported),
            (IdentityProblem(.tooManyRequests), .tooManyRequests), (IdentityProblem(.serverError), .connectionError),
            (IdentityProblem(.pinAlreadyAsked), .pinAlreadyAsked),
            (IdentityProblem(.outOfOrder), .wrongProcess), (IdentityProblem(.replayRefused), .unexpected),
        ]
    }
}
