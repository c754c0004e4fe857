import CountersignServer
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import Testing
import _Primitives

@Suite(
    "RFC 9110, section 9.2.1: HEAD, and a GET that fetches ahead, change nothing (threat model: links that are looked at)"
)
struct SafeMethodsTests {
    private static let purposes = [
        ("Sec-Purpose", "prefetch"), ("Sec-Purpose", "prefetch;prerender"), ("Purpose", "Prefetch"),
    ]

    private static func ahead(_ name: String, _ value: String) throws -> HTTPFields {
        var fields = HTTPFields()
        fields[try #require(HTTPField.Name(name))] = value
        return fields
    }

    /// Everything that was written: a step appends to the log of the database.
    private static func written(_ server: ServerFixture) throws -> Data {
        try Data(contentsOf: URL(filePath: server.folder + "/countersign.sqlite-wal"))
    }

    @Test("HEAD at any address writes nothing, sets no cookie and leads nowhere, also for somebody who is signed in")
    func everyAddress() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = try await server.signedInBrowser(client, party)
            let before = try Self.written(server)
            var count = 0
            for route in server.assembly.publicRouter().routes where route.method == .get {
                let path = route.path.description.split(separator: "/", omittingEmptySubsequences: false).map { part in
                    part.hasPrefix(":") || part.hasPrefix("{") ? "x" : String(part)
                }.joined(separator: "/")
                for query in ["", "?" + party.authorizeAddress().split(separator: "?")[1]] {
                    let answer = try await browser.head(path + query)
                    #expect(answer.headers[.setCookie] == nil && answer.headers[.location] == nil, "\(path)")
                    // The listener itself leaves the content of refusals out (`MessageRulesTests.head`).
                    #expect(answer.body.readableBytes == 0 || answer.status == .notFound, "\(path)")
                    #expect(answer.status == .ok || answer.status == .notFound, "\(path): \(answer.status)")
                    #expect(try Self.written(server) == before, "\(path)")
                }
                count += 1
            }
            #expect(count > 40)
        }
    }

    @Test("a GET that fetches ahead is told to come again, and nothing is spent")
    func fetchingAhead() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = try await server.signedInBrowser(client, party)
            for (name, value) in Self.purposes {
                let before = try Self.written(server)
                let answer = try await browser.get(party.authorizeAddress(), headers: Self.ahead(name, value))
                #expect(answer.status == .serviceUnavailable && answer.headers[.cacheControl] == "no-store")
                #expect(answer.headers[.location] == nil && answer.headers[.setCookie] == nil)
                #expect(try Self.written(server) == before)
            }
            // What only says something may be fetched ahead, and so may a person's own request.
            let keys = try await browser.get("/oauth2/jwks", headers: Self.ahead("Sec-Purpose", "prefetch"))
            #expect(keys.status == .ok)
            for value in ["", "prefetched", "navigate"] {
                let answer = try await browser.get(party.authorizeAddress(), headers: Self.ahead("Sec-Purpose", value))
                #expect(answer.redirectParameters["code"] != nil, "\(value)")
            }
        }
    }

    @Test("a pushed request, a sign-in that was approved and a session are as good after HEAD as before")
    func nothingIsSpent() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let form = String(party.authorizeAddress().split(separator: "?")[1])
            let pushed = try await client.execute(
                uri: "/oauth2/par", method: .post,
                headers: [.contentType: "application/x-www-form-urlencoded", .authorization: party.authorization],
                body: ByteBuffer(string: form))
            guard case .object(let object) = try JSON(parsing: Array(pushed.body.readableBytesView)) else {
                throw JSONError(.wrongType, "pushed")
            }
            let uri = try object.requiredString("request_uri")
            let address = "/oauth2/authorize?client_id=\(party.id)&request_uri=\(uri)"
            let browser = try await server.signedInBrowser(client, party)
            #expect(try await browser.head(address).status == .ok)
            #expect(try await browser.get(address).redirectParameters["code"] != nil)
            #expect(try await browser.head("/oauth2/logout").status == .ok)
            #expect(try await browser.get(party.authorizeAddress()).redirectParameters["code"] != nil)
        }
    }
}
