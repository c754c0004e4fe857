import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite(
    "UAF Protocol 1.1 §3.1.8: the SDK's answers bind to the TLS channel that has brought their request",
    .overEachKeyAbility)
struct ChannelBindingTests {
    /// A certificate of its own for each model.
    private static func certificate(_ model: String) throws -> [UInt8] {
        try TestCertificates(rsa: false, aaid: try AAID(model), random: .system).root
    }

    /// What the last answer to the server binds to.
    private func answered(_ world: World) async throws -> ChannelBinding {
        let sent = await world.server.requests.compactMap { try? SendUAFResponse(parsing: $0.body) }
        let message = try #require(sent.last).uafResponse.utf8
        let parameters =
            try (try? RegistrationResponse(parsing: message).fcParams)
            ?? AuthenticationResponse(parsing: message).fcParams
        return try FinalChallengeParams(encoded: parameters).channelBinding
    }

    @Test("A registration and an authentication, out of band and in the app")
    func operations() async throws {
        let world = try await World()
        let certificate = try Self.certificate("C516#0001")
        let channel = ChannelBinding(serverCertificate: certificate)
        #expect(channel.serverEndPoint != nil && channel.tlsServerCertificate == Base64URL.encode(certificate))
        await world.server.show(certificate: certificate)
        try await world.enroll()
        #expect(try await self.answered(world) == channel)
        let person = world.phone.person
        let result =
            try await world.phone.client.operations.authentication.username("alice").authenticatorSelector(person)
            .pinUserVerifier(person).execute()
        #expect(try await self.answered(world) == channel)
        world.phone.sensor.feel(.match)
        _ =
            try await world.phone.client.operations.registration.username("alice")
            .authorizationProvider(try #require(result.authorizationProvider)).authenticatorSelector(person)
            .fingerprintUserVerifier(person).execute()
        #expect(try await self.answered(world) == channel)
        let other = try Self.certificate("C516#0002")
        await world.server.show(certificate: other)
        person.script.kind = .pin
        _ = try await world.phone.authenticate(try await world.server.authentication())
        #expect(try await self.answered(world) == ChannelBinding(serverCertificate: other))
        #expect(await world.server.accepted.count == 2)
    }

    @Test("What other connections show, before and after the request and for the facet list, does not count")
    func otherConnections() async throws {
        let world = try await World()
        await world.server.use(appID: "https://id.example.com/facets")
        let (first, facets, last) = (
            try Self.certificate("C516#0001"), try Self.certificate("C516#0002"), try Self.certificate("C516#0003")
        )
        await world.server.intercept { request in
            guard request.url.path() == "/facets" else { return nil }
            return TransportResponse(
                status: 200, headers: [("Content-Type", "application/fido.trusted-apps+json")],
                body: Array(
                    #"{"trustedFacets":[{"version":{"major":1,"minor":1},"ids":["linux:program:test"]}]}"#.utf8),
                serverCertificate: facets)
        }
        try await world.enroll()
        await world.server.show(certificate: first)
        let operation = try await world.operation(try await world.server.authentication())
        await world.server.show(certificate: last)
        _ = try await world.operation(try await world.server.authentication())
        _ = try await world.phone.ready(operation).execute()
        #expect(await world.server.requests.contains { $0.url.path() == "/facets" })
        #expect(try await self.answered(world) == ChannelBinding(serverCertificate: first))
    }

    @Test("Without a certificate, or with one that is none, an answer binds to nothing", arguments: [nil, [UInt8(1)]])
    func unseen(certificate: [UInt8]?) async throws {
        let world = try await World()
        await world.server.show(certificate: certificate)
        try await world.enroll()
        #expect(try await self.answered(world) == ChannelBinding())
        _ = try await world.phone.authenticate(try await world.server.authentication())
        #expect(try await self.answered(world) == ChannelBinding())
    }
}
