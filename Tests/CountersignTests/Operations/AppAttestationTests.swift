import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Synchronization
import Testing
import UAF
import UAFClient
import _Primitives

/// A service that keeps what it was asked, and answers as a test says.
private final class AskedAttestor: AppAttestor {
    struct Asked: Equatable {
        var hash: [UInt8]
        var keyID: String?
    }

    private let state = Mutex((asked: [Asked](), lost: false, cancels: false, error: (any Error)?.none))

    var asked: [Asked] { self.state.withLock { $0.asked } }
    func lose() { self.state.withLock { $0.lost = true } }
    func fail(_ error: any Error & Sendable) { self.state.withLock { $0.error = error } }
    /// Has the operation cancelled while the service works, which does not notice.
    func cancel() { self.state.withLock { $0.cancels = true } }

    func attestation(clientDataHash: [UInt8]) async throws -> AppAttestation {
        try self.state.withLock { state in
            state.asked.append(Asked(hash: clientDataHash))
            if state.cancels { withUnsafeCurrentTask { $0?.cancel() } }
            if let error = state.error { throw error }
        }
        return AppAttestation(keyID: "new key", object: [1, 2, 3])
    }

    func assertion(clientDataHash: [UInt8], keyID: String) async throws -> [UInt8] {
        try self.state.withLock { state in
            state.asked.append(Asked(hash: clientDataHash, keyID: keyID))
            if state.lost { throw AppAttestorError.keyGone }
            if let error = state.error { throw error }
        }
        return [4, 5, 6]
    }
}

private struct ServiceFailed: Error {}

@Suite("Operations parity 89 and decision 124: an app proves itself where a server wants to know", .overEachKeyAbility)
struct AppAttestationTests {
    private static func world(_ wish: AppAttestationWish?, _ attestor: (any AppAttestor)?) async throws -> World {
        let world = try await World(appAttestor: attestor)
        await world.server.want(wish)
        return world
    }

    /// The evidence of the last accepted registration.
    private static func evidence(_ world: World) async throws -> AppEvidence? {
        let context = try #require(await world.server.registrationContexts.last)
        return try context.object(AppEvidence.contextMember).map { try AppEvidence(json: $0) }
    }

    @Test("A registration has the attestation beside it, over the answer's challenge and the device's own key")
    func attested() async throws {
        let attestor = AskedAttestor()
        let world = try await Self.world(AppAttestationWish(.required), attestor)
        try await world.enroll()
        #expect(try await Self.evidence(world) == .attestation([1, 2, 3], keyID: "new key"))
        let body = try #require(
            await world.server.requests.last { $0.url.path().hasSuffix("/uaf/1.1/registration/") }?.body)
        let response = try RegistrationResponse(parsing: SendUAFResponse(parsing: body).uafResponse.utf8)
        let hash = FinalChallengeParams.hash(ofEncoded: response.fcParams)
        let assertion = try RegistrationAssertion(parsing: try #require(response.assertions.first).bytes)
        let told = try #require(
            try DeviceKeyAnnouncement(
                among: assertion.keyRegistrationData.extensions, finalChallengeHash: hash))
        #expect(
            attestor.asked == [
                .init(
                    hash: AppEvidence.clientDataHash(finalChallengeHash: hash, signingKey: told.signingKey), keyID: nil)
            ])
    }

    @Test("Where the server wants nothing, the service is not asked, and nothing is sent")
    func notWanted() async throws {
        let attestor = AskedAttestor()
        let world = try await Self.world(nil, attestor)
        try await world.enroll()
        #expect(try await Self.evidence(world) == nil && attestor.asked.isEmpty)
    }

    @Test("An app without the service ends before a question where the server requires it, and the server is told")
    func noAttestor() async throws {
        let world = try await Self.world(AppAttestationWish(.required), nil)
        let error = await operationError { try await world.enroll() }
        #expect(error?.code == .appAttestation && error?.recovery == .correctApp)
        #expect(world.phone.person.asked.isEmpty)
        #expect(await world.server.clientErrorCodes == [Int(ErrorCode.unknown.rawValue)])
        #expect(await world.isEmpty())
    }

    @Test(
        "A service that gives nothing ends a registration that requires it, and leaves no key",
        arguments: [
            (AppAttestorError.unavailable as any Error & Sendable, OperationError.Recovery.tryAgain),
            (AppAttestorError.unsupported, .contactService), (ServiceFailed(), .contactService),
        ])
    func refuses(failure: any Error & Sendable, recovery: OperationError.Recovery) async throws {
        let attestor = AskedAttestor()
        attestor.fail(failure)
        let world = try await Self.world(AppAttestationWish(.required), attestor)
        let error = await operationError { try await world.enroll() }
        #expect(error?.code == .appAttestation && error?.recovery == recovery)
        #expect(await world.server.registrationContexts.isEmpty)
        #expect(await world.isEmpty())
    }

    @Test("Where the server can do without, the registration goes on without evidence")
    func optional() async throws {
        let attestor = AskedAttestor()
        attestor.fail(AppAttestorError.unavailable)
        for attestor in [attestor, nil] {
            let world = try await Self.world(AppAttestationWish(.optional), attestor)
            try await world.enroll()
            #expect(try await Self.evidence(world) == nil)
        }
    }

    @Test("A cancelled service ends the registration as the person's refusal, whatever the server wants")
    func cancelled() async throws {
        let attestor = AskedAttestor()
        attestor.fail(CancellationError())
        let world = try await Self.world(AppAttestationWish(.optional), attestor)
        let error = await operationError { try await world.enroll() }
        #expect(error == .fido(.userCanceled))
        #expect(await world.isEmpty())
    }

    @Test(
        "An operation that is cancelled while the service works sends nothing, whatever the service gives",
        arguments: [false, true], AppAttestationWish.Need.allCases)
    func cancelledMeanwhile(fails: Bool, need: AppAttestationWish.Need) async throws {
        let attestor = AskedAttestor()
        attestor.cancel()
        if fails { attestor.fail(AppAttestorError.unavailable) }
        let world = try await Self.world(AppAttestationWish(need), attestor)
        let error = await Task { await operationError { try await world.enroll() } }.value
        #expect(error == .fido(.userCanceled))
        #expect(attestor.asked.count == 1)
        #expect(await world.server.registrationContexts.isEmpty)
        #expect(await world.isEmpty())
    }

    @Test("A refusal of the evidence has its own code, with the server's status, and no key is left")
    func refusedByServer() async throws {
        let world = try await Self.world(AppAttestationWish(.required), AskedAttestor())
        var verdict = ServerResponse(statusCode: .unacceptableAttestation)
        verdict.isAppRefused = true
        await world.server.judge(verdict)
        let error = await operationError { try await world.enroll() }
        #expect(error?.code == .appAttestation && error?.recovery == .contactService)
        #expect(error?.serverStatusCode == UAFStatusCode.unacceptableAttestation.rawValue)
        #expect(await world.isEmpty())
        // The same status without the word is about the authenticator.
        await world.server.judge(ServerResponse(statusCode: .unacceptableAttestation))
        let other = await operationError { try await world.enroll() }
        #expect(other?.code == .fidoError)
    }

    @Test("A device whose attested key the server names signs with the key, or has a new key attested if it is gone")
    func furtherKey() async throws {
        let attestor = AskedAttestor()
        let world = try await Self.world(AppAttestationWish(.required), attestor)
        try await world.enroll()
        await world.server.want(AppAttestationWish(.required, keyID: "known key"))
        func register(_ kind: AuthenticatorDescriptor.Kind) async throws {
            world.phone.sensor.feel(.match)
            world.phone.camera.feel(.match)
            world.phone.person.script.kind = .pin
            let success = try await world.phone.authenticate(username: "alice")
            world.phone.person.script.kind = kind
            _ = try await world.phone.ready(world.phone.client.operations.registration.username("alice"))
                .authorizationProvider(try #require(success.authorizationProvider)).execute()
        }
        try await register(.fingerprint)
        #expect(try await Self.evidence(world) == .assertion([4, 5, 6]))
        attestor.lose()
        try await register(.face)
        #expect(try await Self.evidence(world) == .attestation([1, 2, 3], keyID: "new key"))
        #expect(attestor.asked.map(\.keyID) == [nil, "known key", "known key", nil])
    }
}
