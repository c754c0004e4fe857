import HTTPTypes
import HummingbirdTesting
import SQLStore
import Testing

@Suite("Server: its end within a process")
struct ServerReleaseTests {
    @Test("a server that nobody uses any more is released, with its store and threads")
    func released() async throws {
        weak var store: SQLStore?
        do {
            let server = try await ServerFixture()
            store = server.database
            let status = try await server.withPublicClient { client in
                try await client.execute(uri: "/.well-known/openid-configuration", method: .get) { $0.status }
            }
            #expect(status == .ok)
        }
        // A task of the last request may still be ending.
        for _ in 0..<100_000 where store != nil { await Task.yield() }
        #expect(store == nil)
    }
}
