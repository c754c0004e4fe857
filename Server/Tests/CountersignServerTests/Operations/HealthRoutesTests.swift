import CountersignServer
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Records
import Testing

@Suite("The operations listener")
struct HealthRoutesTests {
    @Test("says whether the process lives, listens and can write, and gives its numbers")
    func answers() async throws {
        let server = try await ServerFixture()
        for (isListening, isWritable) in [(true, true), (true, false), (false, true)] {
            let router = server.assembly.operationsRouter(
                isListening: { isListening },
                assertWritable: { if !isWritable { throw StoreError(.unavailable, "full") } })
            try await Application(router: router).test(.router) { client in
                let alive = try await client.send(.get, "/healthz").response
                #expect(alive.status == .ok)
                let ready = try await client.send(.get, "/readyz").response
                #expect(ready.status == (isListening && isWritable ? .ok : .serviceUnavailable))
                let metrics = try await client.send(.get, "/metrics").response
                #expect(metrics.status == .ok)
                #expect(String(buffer: metrics.body).contains("\ncountersign_channels_open 0\n"))
                #expect(metrics.headers[.contentType] == "text/plain; version=0.0.4; charset=utf-8")
            }
        }
    }

    @Test("is not the public one")
    func isApart() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            for path in ["/healthz", "/readyz", "/metrics"] {
                let response = try await client.send(.get, path).response
                #expect(response.status == .notFound)
            }
        }
    }
}
