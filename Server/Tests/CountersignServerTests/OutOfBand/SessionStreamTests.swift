import Ceremony
import CeremonyEngine
import Countersign
import CountersignBackend
import CountersignServer
import CountersignTestKit
import Crypto
import Endpoints
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing
import UAFRelyingParty
import _Primitives

@testable import PhoneCommand

@Suite("Decision 111: a back end waits for a session on the server's event stream", .timeLimit(.minutes(10)))
struct SessionStreamTests {
    /// A dispatch of an authentication, with a context or without.
    private func dispatch(_ context: JSONObject? = nil) -> JSONObject {
        var request: JSONObject = ["op": .string("Auth")]
        if let context { request["context"] = .string(JSON.object(context).text) }
        return ["dispatcher": .string("link"), "getUafRequest": .object(request)]
    }

    private func backend(
        _ party: RelyingParty, _ issuer: String, _ transport: any Transport, _ server: ServerFixture
    ) -> IdentityBackend {
        IdentityBackend(
            BackendConfiguration(
                issuer: issuer, clientID: party.id, clientSecret: SecretBytes(utf8: party.secret),
                redirectURI: party.redirectURI),
            transport: transport, time: server.clock.timeSource, sleep: server.clock.sleep)
    }

    @Test("The terminal phone's network streams over TLS: the end is known without a further question")
    func streams() async throws {
        let authority = try TestAuthority()
        let front = TLSFront(try authority.issue())
        try await authority.withFile { file in
            try await front.withServer(.ignore) { server, address in
                let network = try HTTPTransport(caFile: file)
                let phone = try await server.phone(at: address, caFile: file)
                try await server.enroll(phone)
                let party = try await server.relyingParty()
                let dispatched = try await network.send(
                    TransportRequest(
                        method: "POST", url: address.appending(path: "token/dispatch/authentication"),
                        headers: [("Content-Type", "application/json"), ("Authorization", party.authorization)],
                        body: JSON.object(self.dispatch()).serialized, timeout: .seconds(20)))
                guard case .object(let answer) = try JSON(parsing: dispatched.body) else { throw OtherProcess() }
                let session = try answer.requiredString("sessionId")
                let backend = self.backend(party, server.assembly.configuration.issuer, network, server)

                async let end = backend.finalStatus(ofSession: session)
                while !front.requested.contains("/status/\(session)/events") { await Task.yield() }
                _ = try await phone.authenticate(try OutOfBandPayload(link: try answer.requiredString("link")))
                let status = try await end
                #expect(status.state == .succeeded && status.subject != nil && status.confirmation == nil)
                #expect(!front.requested.contains("/status"))
            }
        }
    }

    @Test("The terminal phone's network ends a stream whose task is cancelled, and an answer that is no stream is one")
    func endings() async throws {
        let authority = try TestAuthority()
        let front = TLSFront(try authority.issue())
        try await authority.withFile { file in
            try await front.withServer(.ignore) { server, address in
                let network = try HTTPTransport(caFile: file)
                let party = try await server.relyingParty()
                func request(_ path: String, maximum: Int = 65_536) -> TransportRequest {
                    TransportRequest(
                        method: "GET", url: address.appending(path: path),
                        headers: [("Authorization", party.authorization)], body: [], timeout: .seconds(20),
                        maximumResponseLength: maximum)
                }
                let whole = try await network.stream(request("uaf/1.1/facets")) { stream in
                    (stream.status, try await stream.reduce(into: [UInt8]()) { $0 += $1 })
                }
                let sent = try await network.send(request("uaf/1.1/facets"))
                #expect(whole.0 == 200 && whole.1 == sent.body)
                await #expect(throws: TransportError(.tooLarge, "")) {
                    try await network.stream(request("uaf/1.1/facets", maximum: 10)) { for try await _ in $0 {} }
                }

                let dispatched = try await server.assembly.ceremonies.dispatches.dispatch(
                    DispatchRequest(dispatcher: "link", operation: .authentication, context: nil),
                    client: DispatchingClient(
                        id: party.id, name: "Demo Bank", origin: "http://127.0.0.1:8081", mayDeregister: false))
                let events = request("status/\(try #require(dispatched.sessionID))/events")
                let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
                let task = Task {
                    try await network.stream(events) { stream in
                        for try await _ in stream { beginning.yield() }
                    }
                }
                for await _ in begun { break }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                // The server learns of the end, so the stream counts no longer.
                while !server.assembly.channels.metrics.contains("\ncountersign_channels_open 0\n") {
                    await Task.yield()
                }
            }
        }
    }

    @Test("A transport without streams asks, and the result that the server signs verifies")
    func asks() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty()
            // The service learns its name for the person at a sign-in.
            let browser = TestBrowser(client)
            let (request, page) = try await server.signInPage(browser, party)
            _ = try await phone.authenticate(try server.typedPayload(page))
            let tokens = try await party.complete(request, in: browser)
            let claims = try await client.userinfo(try tokens.object.requiredString("access_token"))
            let subject = try claims.object.requiredString("sub")

            let text = Array("Pay 120 EUR to Jo Gardener".utf8)
            let content: JSONObject = [
                "contentType": .string("text/plain"), "content": .string(Base64URL.encode(text)),
            ]
            let dispatched = try await client.send(
                .post, "/token/dispatch/authentication",
                self.dispatch(["subject": .string(subject), "transaction": .array([.object(content)])]),
                headers: [.authorization: party.authorization])
            let session = try dispatched.object.requiredString("sessionId")
            let link = try dispatched.object.requiredString("link")
            _ = try await phone.authenticate(try OutOfBandPayload(link: link))

            let backend = self.backend(party, "http://localhost:8080", RouterTransport(client: client), server)
            let status = try await backend.finalStatus(ofSession: session)
            #expect(status.state == .succeeded && status.subject == subject)
            let confirmation = try #require(status.confirmation)
            #expect(confirmation.subject == subject && confirmation.contentType == "text/plain")
            #expect(confirmation.contentHash == Array(SHA256.hash(data: text)))
            #expect(confirmation.methods.contains("pin") && confirmation.assurance != nil)

            // Another client has no such session.
            let stranger = self.backend(
                try await server.relyingParty(), "http://localhost:8080", RouterTransport(client: client), server)
            #expect(try await stranger.finalStatus(ofSession: session).state == .unknown)
            // The result is for five minutes.
            server.clock.advance(by: .seconds(400))
            let late = await #expect(throws: BackendError.self) { try await backend.finalStatus(ofSession: session) }
            #expect(late?.code == .resultExpired)
        }
    }
}
