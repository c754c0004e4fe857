import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Operations parity 72: a wrong facet is found at the start, with mine and the server's", .overEachKeyAbility)
struct ServerCheckTests {
    /// Has the server list apps for UAF 1.1.
    private func list(_ world: World, _ facets: [String], status: Int = 200) async {
        let document = JSON.object([
            "trustedFacets": .array([
                .object([
                    "version": .object(["major": .integer(1), "minor": .integer(1)]),
                    "ids": .array(facets.map { .string($0) }),
                ])
            ])
        ]).serialized
        await world.server.intercept { request in
            guard request.url.path().hasSuffix("facets") else { return nil }
            return TransportResponse(
                status: status,
                headers: [
                    ("Content-Type", "application/fido.trusted-apps+json"), ("Cache-Control", "max-age=3600"),
                ], body: document)
        }
    }

    @Test(
        "A listed app is trusted; one that is not is told its own name and the server's list", arguments: [true, false])
    func facets(namesAppID: Bool) async throws {
        let world = try await World()
        if namesAppID { await world.server.use(appID: "https://id.example.com/uaf/1.1/facets") }
        await self.list(world, ["linux:program:other", "ios:bundle-id:com.example\u{202e}"])
        let wrong = await world.phone.client.checkServer()
        #expect(wrong.finding == .facetNotListed && wrong.facetID == "linux:program:test")
        #expect(wrong.trustedFacets.contains("linux:program:other"))
        #expect(wrong.description.contains("linux:program:test") && wrong.description.contains("linux:program:other"))
        #expect(!wrong.description.unicodeScalars.contains("\u{202e}"))
        // What is found is what an operation ends with; a list that was kept is asked for anew.
        await world.server.stopIntercepting()
        await self.list(world, ["linux:program:other", "linux:program:test"])
        let right = await world.phone.client.checkServer()
        #expect(right.finding == .trusted && right.trustedFacets == ["linux:program:other", "linux:program:test"])
        #expect(await world.isEmpty() && world.phone.person.asked.isEmpty)
    }

    @Test("A list that is not there, and an AppID that is no address")
    func noList() async throws {
        let world = try await World()
        #expect(await world.phone.client.checkServer().finding == .noFacetList)
        await world.server.use(appID: "somebody")
        #expect(await world.phone.client.checkServer().finding == .noFacetList)
        await world.server.use(appID: "http://id.example.com/facets")
        await self.list(world, ["linux:program:test"])
        #expect(await world.phone.client.checkServer().finding != .trusted)
        // The list is there and names the app, but no operation would go by it.
        await world.server.use(appID: "https://somebody@id.example.com/uaf/1.1/facets")
        let refused = await world.phone.client.checkServer()
        #expect(refused.finding == .noFacetList && refused.trustedFacets == ["linux:program:test"])
    }

    @Test("A name that Unicode calls equivalent to the app's is another app's")
    func namesAreBytes() async throws {
        let world = try await World { $0.facetID = "linux:program:caf\u{E9}" }
        await self.list(world, ["linux:program:cafe\u{301}"])
        #expect(await world.phone.client.checkServer().finding == .facetNotListed)
    }

    @Test("A list that cannot be fetched is told by its address, not as a server that is not there")
    func unreachableList() async throws {
        let world = try await World()
        for (appID, address) in [
            ("", "https://id.example.com/uaf/1.1/facets"),
            ("https://apps.example.com/facets", "https://apps.example.com/facets"),
            ("http://apps.example.com/facets", "http://apps.example.com/facets"),
        ] {
            await world.server.use(appID: appID)
            await world.server.intercept { request in
                guard request.url.path().hasSuffix("facets") else { return nil }
                throw TransportError(.unreachable, "cut")
            }
            let check = await world.phone.client.checkServer()
            #expect(check.finding == .noFacetList && check.reason.contains(address), "\(check)")
            await world.server.stopIntercepting()
        }
    }

    @Test("An app that a rule trusts without a list is trusted here as it is in an operation")
    func trustedByRule() async throws {
        let named = try await World()
        await named.server.use(appID: "linux:program:test")
        #expect(await named.phone.client.checkServer().finding == .trusted)
        try await named.enroll()
        let web = try await World { $0.facetID = "https://id.example.com" }
        await web.server.use(appID: "https://ID.example.com/uaf/1.1/facets")
        #expect(await web.phone.client.checkServer().finding == .trusted, "no list is needed")
        await self.list(web, ["linux:program:other", "https://id.example.com:8443", "https://elsewhere.example"])
        let check = await web.phone.client.checkServer()
        #expect(check.finding == .trusted)
        #expect(check.trustedFacets == ["https://id.example.com:8443", "linux:program:other"])
        try await web.enroll()
    }

    @Test("Another version, no server of this kind, and none at all are told apart")
    func others() async throws {
        let world = try await World()
        await world.server.offer([Version(major: 1, minor: 0)])
        let version = await world.phone.client.checkServer()
        #expect(version.finding == .unsupportedVersion && version.reason.contains("1.0"))
        await world.server.offer([.uaf11])
        let answers: [(TransportResponse, ServerCheck.Finding)] = [
            (TransportResponse(status: 404, headers: [], body: []), .noUAFServer),
            (TransportResponse(status: 200, headers: [("Content-Type", "text/html")], body: []), .noUAFServer),
            (
                TransportResponse(
                    status: 200, headers: [("Content-Type", "application/fido+uaf")], body: Array("x".utf8)),
                .noUAFServer
            ), (TransportResponse(status: 503, headers: [], body: []), .unreachable),
            (TransportResponse(status: 429, headers: [], body: []), .unreachable),
        ]
        for (answer, finding) in answers {
            await world.server.intercept { _ in answer }
            #expect(await world.phone.client.checkServer().finding == finding, "\(answer)")
            await world.server.stopIntercepting()
        }
        let errors: [(TransportError.Code, ServerCheck.Finding)] = [
            (.unreachable, .unreachable), (.timedOut, .unreachable), (.untrustedServer, .untrustedServer),
            (.tooLarge, .noUAFServer),
        ]
        for (code, finding) in errors {
            await world.server.intercept { _ in throw TransportError(code, "cut") }
            let check = await world.phone.client.checkServer()
            #expect(check.finding == finding && check.reason == "cut" && check.trustedFacets.isEmpty)
            await world.server.stopIntercepting()
        }
    }

    @Test("An address without TLS is told, and nothing is sent")
    func insecure() async throws {
        let world = try await World { $0.baseURL = URL(string: "http://id.example.com")! }
        #expect(await world.phone.client.checkServer().finding == .insecureTransport)
        #expect(await world.server.requests.isEmpty)
    }
}
