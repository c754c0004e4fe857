import CeremonyEngine
import CountersignServer
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("operations 72, UAF §7.1: the association files and the facets of the operator's apps")
struct AppAssociationRoutesTests {
    private static func app() throws -> AppEntry {
        try AppEntry(
            apple: try AttestedApp(teamID: "ABCDE12345", bundleID: "com.example.bank", environment: .production),
            android: try .init(package: "com.example.bank", certificates: [[1, 2, 3]]))
    }

    private static let apple = "/.well-known/apple-app-site-association"
    private static let android = "/.well-known/assetlinks.json"

    /// What a path answers: its status, and its body as JSON.
    private func document(_ client: any TestClientProtocol, _ path: String) async throws -> JSON {
        let answer = try await client.execute(uri: path, method: .get)
        #expect(answer.status == .ok && answer.headers[.contentType] == "application/json", "\(path)")
        #expect(answer.headers[.cacheControl] == "public, max-age=3600" && answer.headers[.location] == nil)
        return try JSON(parsing: Array(answer.body.readableBytesView))
    }

    @Test("Apple's file names team and bundle for the server's links alone, below the issuer's path if there is one")
    func appleFile() async throws {
        let app = try Self.app()
        for (path, place) in [("", Self.apple), ("/shared/id", Self.apple + "/shared/id"), ("/id", "/id" + Self.apple)]
        {
            let server = try await ServerFixture(issuer: "http://localhost:8080" + path, configure: { $0.apps = [app] })
            try await server.withPublicClient { client in
                let expected: JSON = .object([
                    "applinks": .object([
                        "details": .array([
                            .object([
                                "appIDs": .array([.string("ABCDE12345.com.example.bank")]),
                                "components": .array([.object(["/": .string(path + "/open")])]),
                            ])
                        ])
                    ])
                ])
                let document = try await self.document(client, place)
                #expect(document == expected)
            }
        }
    }

    @Test("Google's file names the package with the fingerprints of its certificates")
    func androidFile() async throws {
        let app = try Self.app()
        let server = try await ServerFixture(configure: { $0.apps = [app] })
        try await server.withPublicClient { client in
            let expected: JSON = .array([
                .object([
                    "relation": .array([.string("delegate_permission/common.handle_all_urls")]),
                    "target": .object([
                        "namespace": .string("android_app"), "package_name": .string("com.example.bank"),
                        "sha256_cert_fingerprints": .array([
                            .string(
                                "03:90:58:C6:F2:C0:CB:49:2C:53:3B:0A:4D:14:EF:77:CC:0F:78:AB:CC:CE:D5:28:7D:84:A1:A2:01:1C:FB:81"
                            )
                        ]),
                    ]),
                ])
            ])
            let document = try await self.document(client, Self.android)
            #expect(document == expected)
        }
    }

    @Test("The facets of an app's entry are in the list that phones fetch, after the named facets")
    func facets() async throws {
        let app = try Self.app()
        let server = try await ServerFixture(configure: { $0.apps = [app] })
        try await server.withPublicClient { client in
            let answer = try await client.send(.get, "/uaf/1.1/facets").object
            let lists = try #require(try answer.array("trustedFacets"))
            guard case .object(let list)? = lists.first else {
                Issue.record("\(lists)")
                return
            }
            let ids = try list.strings("ids")
            #expect(
                ids == [
                    "linux:program:countersign-phone", "ios:bundle-id:com.example.bank",
                    "android:apk-key-hash:cDeAcZjCKn0rCAc3HXY3eahP388",
                ])
        }
    }

    @Test("Without an app of its system a file is not there")
    func missing() async throws {
        let app = try AppEntry(apple: try Self.app().apple, android: nil)
        for (apps, path) in [([], Self.apple), ([], Self.android), ([app], Self.android)] as [([AppEntry], String)] {
            let server = try await ServerFixture(configure: { $0.apps = apps })
            try await server.withPublicClient { client in
                let answer = try await client.execute(uri: path, method: .get)
                #expect(answer.status == .notFound)
            }
        }
    }
}
