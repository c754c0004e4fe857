import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@testable import PhoneCommand

@Suite("UAF Protocol 1.1 §3.1.8 over real TLS: the server's certificate, from the phone's network to the verdict")
struct ChannelBindingTests {
    private static let requestPath = "/uaf/1.1/request/authentication/"

    private func channel(_ identities: [TestAuthority.Identity]) throws -> ChannelBindingRule.AcceptedChannel {
        try #require(ChannelBindingRule.AcceptedChannel(certificates: identities.map(\.certificate)))
    }

    private static func authenticate(_ phone: VirtualPhone) async throws -> AuthenticationSuccess {
        try await phone.client.operations.authentication.username("alice").authenticatorSelector(phone.person)
            .pinUserVerifier(phone.person).execute()
    }

    /// With which code the server refuses; `nil` where it does not.
    private static func refusal(_ phone: VirtualPhone) async throws -> Int? {
        do {
            _ = try await Self.authenticate(phone)
            return nil
        } catch let error as OperationError {
            guard let code = error.serverStatusCode else { throw error }
            return code
        }
    }

    @Test(
        "An answer over the demanded certificate is accepted, one over another that the phone trusts is refused (1490)")
    func required() async throws {
        let authority = try TestAuthority()
        let (own, other) = (try authority.issue(), try authority.issue())
        let front = TLSFront(own)
        let rule = ChannelBindingRule.required(try self.channel([own]))
        try await authority.withFile { file in
            try await front.withServer(rule) { server, address in
                let phone = try await server.phone(at: address, caFile: file)
                try await server.enroll(phone)
                #expect(try await Self.authenticate(phone).account.username == "alice")
                front.show(other)
                #expect(try await Self.refusal(phone) == 1490)
                // Whoever has brought the request does not get out of it by leaving the rest to the server itself.
                front.show(own, after: Self.requestPath)
                #expect(try await Self.refusal(phone) == 1490)
                #expect(try await Self.refusal(phone) == nil)
                front.show(other)
                let enrolment = try await server.assembly.ceremonies.enrolments.createEnrolmentLink(
                    username: "alice", by: "test")
                let second = try await server.phone(at: address, caFile: file)
                let error = await #expect(throws: OperationError.self) {
                    _ = try await second.enroll(try OutOfBandPayload(link: enrolment.link))
                }
                #expect(error?.serverStatusCode == 1490)
                #expect(await second.client.localData.accounts.isEmpty)
            }
        }
    }

    @Test("Several certificates may be named, as for a rotation")
    func rotation() async throws {
        let authority = try TestAuthority()
        let (own, next, other) = (try authority.issue(), try authority.issue(), try authority.issue())
        let front = TLSFront(own)
        let rule = ChannelBindingRule.required(try self.channel([own, next]))
        try await authority.withFile { file in
            try await front.withServer(rule) { server, address in
                let phone = try await server.phone(at: address, caFile: file)
                try await server.enroll(phone)
                front.show(next)
                #expect(try await Self.refusal(phone) == nil)
                front.show(other)
                #expect(try await Self.refusal(phone) == 1490)
            }
        }
    }

    @Test("Whoever does not tell is refused where the binding is demanded, and not where it only has to be true")
    func untold() async throws {
        let authority = try TestAuthority()
        let own = try authority.issue()
        for (rule, isAccepted) in [
            (ChannelBindingRule.required(try self.channel([own])), false),
            (.matchIfPresent(try self.channel([own])), true),
        ] {
            let front = TLSFront(own)
            try await authority.withFile { file in
                try await front.withServer(rule) { server, address in
                    let network = try HTTPTransport(caFile: file)
                    var configuration = ClientConfiguration(baseURL: address)
                    configuration.facetID = "linux:program:countersign-phone"
                    let phone = try await VirtualPhone(
                        configuration: configuration, transport: Silent(network: network), clock: server.clock)
                    if isAccepted {
                        try await server.enroll(phone)
                        #expect(try await Self.refusal(phone) == nil)
                    } else {
                        let error = await #expect(throws: OperationError.self) { try await server.enroll(phone) }
                        #expect(error?.serverStatusCode == 1490)
                    }
                }
            }
        }
    }

    @Test(
        "The certificate is only looked at once it is trusted: another authority's, or one for another name, gets nothing"
    )
    func trust() async throws {
        let (authority, stranger) = (try TestAuthority(), try TestAuthority())
        let own = try authority.issue()
        let front = TLSFront(own)
        try await authority.withFile { file in
            try await front.withServer(.ignore) { server, address in
                let url = address.appending(path: "uaf/1.1/facets")
                let network = try HTTPTransport(caFile: file)
                func get() async throws -> TransportResponse {
                    try await network.send(
                        TransportRequest(method: "GET", url: url, headers: [], body: [], timeout: .seconds(10)))
                }
                #expect(try await get().serverCertificate == own.certificate)
                let reached = front.requested.count
                for identity in [try stranger.issue(), try authority.issue(for: "id.example.com")] {
                    front.show(identity)
                    await #expect(throws: TransportError(.untrustedServer, "")) { try await get() }
                }
                #expect(front.requested.count == reached)
                front.show(own)
                #expect(try await get().serverCertificate == own.certificate)
            }
        }
    }
}

/// A network whose implementation does not see certificates.
private struct Silent: Transport {
    let network: HTTPTransport

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        var response = try await self.network.send(request)
        response.serverCertificate = nil
        return response
    }
}
