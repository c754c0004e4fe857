import Ceremony
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite(
    "RFC 8414, sections 3.1 and 5, and OpenID Connect Discovery 1.0, section 4: an issuer with a path"
)
struct IssuerPathTests {
    private static let path = "/shared/id"
    private static let issuer = "http://localhost:8080\(Self.path)"
    private static let names = ["openid-configuration", "oauth-authorization-server"]

    @Test("The metadata are below the issuer's path and in front of it, under both names, and name that issuer")
    func bothForms() async throws {
        let server = try await ServerFixture(issuer: Self.issuer)
        try await server.withPublicClient { client in
            for name in Self.names {
                for place in ["\(Self.path)/.well-known/\(name)", "/.well-known/\(name)\(Self.path)"] {
                    let (response, metadata) = try await client.send(.get, place)
                    #expect(response.status == .ok, "\(place)")
                    #expect(metadata["issuer"] == .string(Self.issuer), "\(place)")
                    #expect(try await client.execute(uri: place, method: .post).status == .methodNotAllowed)
                }
            }
        }
    }

    @Test("Every address in the metadata is below the issuer, and is there")
    func addresses() async throws {
        let server = try await ServerFixture(issuer: Self.issuer)
        try await server.withPublicClient { client in
            let metadata = try await client.send(.get, "\(Self.path)/.well-known/openid-configuration").object
            var count = 0
            for member in metadata.members
            where member.name.hasSuffix("_endpoint") || member.name.hasSuffix("_uri") {
                guard case .string(let address) = member.value else { continue }
                count += 1
                #expect(address.hasPrefix(Self.issuer + "/"), "\(member.name)")
                let path = String(address.dropFirst("http://localhost:8080".count))
                #expect(try await client.execute(uri: path, method: .get).status != .notFound, "\(path)")
            }
            #expect(count == 11)
        }
    }

    @Test(
        "The metadata of other issuers of the host are not here, and nothing that is not below the path",
        arguments: [
            "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server",
            "/.well-known/oauth-authorization-server/other", "/.well-known/oauth-authorization-server/shared",
            "/.well-known/oauth-authorization-server/shared/id/more",
            "/.well-known/openid-configuration/shared/idea", "/.well-known/openid-configuration/x/shared/id",
            "/other/.well-known/openid-configuration", "/shared/.well-known/openid-configuration",
            "/shared/id/shared/id/.well-known/openid-configuration", "/sharedid/.well-known/openid-configuration",
            "/shared/id/.well-known/oauth-authorization-server/shared/id",
            "/oauth2/jwks", "/oauth2/authorize", "/sign-in", "/openapi.json", "/admin/v1/accounts", "/uaf/1.1/facets",
        ])
    func otherIssuers(path: String) async throws {
        let server = try await ServerFixture(issuer: Self.issuer)
        try await server.withPublicClient { client in
            let answer = try await client.execute(uri: path, method: .get)
            #expect(answer.status == .notFound)
        }
    }

    @Test(
        "A server that has its host to itself is no issuer below a path of it",
        arguments: ["/.well-known/oauth-authorization-server/other", "/other/.well-known/openid-configuration"])
    func whole(path: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            for name in Self.names {
                let answer = try await client.execute(uri: "/.well-known/\(name)", method: .get)
                #expect(answer.status == .ok)
            }
            let answer = try await client.execute(uri: path, method: .get)
            #expect(answer.status == .notFound)
        }
    }

    @Test("People, phones and services go through a whole sign-in below the path, and its cookies are for it alone")
    func signIn() async throws {
        let server = try await ServerFixture(issuer: Self.issuer)
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client, path: Self.path)
            let party = try await server.relyingParty()
            let browser = TestBrowser(client)
            let begun = try await browser.get(Self.path + party.authorizeAddress())
            let away = try #require(begun.headers[.location])
            #expect(away.hasPrefix("\(Self.path)/sign-in?"))
            let request = try #require(begun.redirectParameters["request"])
            let known = try #require(begun.headers[.setCookie])
            #expect(known.contains("; Path=\(Self.path); "), "\(known)")

            let page = try await browser.get(away)
            #expect(page.text.contains("You are at <strong>localhost:8080</strong>"))
            let own = page.text.matches(of: /(?:href|src|action)="(\/[^"]*)"/).map { String($0.1) }
            #expect(own.count > 5 && own.allSatisfy { $0.hasPrefix(Self.path + "/") }, "\(own)")
            for asset in own where asset.contains("/assets/") {
                #expect(try await client.execute(uri: asset, method: .get).status == .ok, "\(asset)")
            }
            let link = try page.attribute("href", of: "same-device-link")
            #expect(link.hasPrefix(Self.issuer + "/open?"))
            let payload = try OutOfBandPayload(link: link)
            #expect(payload.redeemData.redeemURL.absoluteString == Self.issuer + "/token/redeem/authentication")
            let typed = try OutOfBandPayload(
                redeemData: .init(
                    token: try page.words(of: "typed-code"), redeemURL: payload.redeemData.redeemURL))
            _ = try await phone.authenticate(typed)

            let completed = try await browser.get("\(Self.path)/sign-in/complete?request=\(request)")
            #expect(completed.headers[.location]?.hasPrefix(party.redirectURI) == true)
            #expect(completed.redirectParameters["iss"] == Self.issuer)
            let session = try #require(completed.headers[.setCookie])
            #expect(session.contains("; Path=\(Self.path); "), "\(session)")
            let tokens = try await party.exchange(
                try #require(completed.redirectParameters["code"]), client, path: Self.path)
            let access = try tokens.object.requiredString("access_token")
            let claims = try await client.send(
                .get, "\(Self.path)/oauth2/userinfo", headers: [.authorization: "Bearer \(access)"])
            #expect(claims.object["preferred_username"] == .string("alice"))
        }
    }

    @Test(
        "Over TLS the cookies have the prefix that a browser allows for a path, and for a whole host the stricter one")
    func prefixes() async throws {
        for (issuer, path, start) in [
            ("https://id.example\(Self.path)", Self.path, "__Secure-countersign_browser="),
            ("https://id.example", "", "__Host-countersign_browser="),
        ] {
            let server = try await ServerFixture(issuer: issuer)
            try await server.withPublicClient { client in
                let party = try await server.relyingParty()
                let begun = try await TestBrowser(client).get(path + party.authorizeAddress())
                let cookie = try #require(begun.headers[.setCookie])
                #expect(cookie.hasPrefix(start) && cookie.contains("; Path=\(path.isEmpty ? "/" : path); "))
                #expect(cookie.contains("; Secure"))
            }
        }
    }

    @Test("Scripts of registered pages read the metadata at both places, and the keys below the path")
    func scripts() async throws {
        let server = try await ServerFixture(issuer: Self.issuer)
        _ = try await server.assembly.provider.clients.register(
            name: "App", redirectURIs: ["https://app.example/cb"],
            settings: ClientSettings(
                idTokenAlgorithm: .es256, authenticationMethod: "none",
                profile: ClientProfile(origins: ["https://app.example"])))
        try await server.withPublicClient { client in
            for (path, isRead) in [
                ("\(Self.path)/oauth2/jwks", true), ("\(Self.path)/.well-known/openid-configuration", true),
                ("/.well-known/oauth-authorization-server\(Self.path)", true), ("/oauth2/jwks", false),
            ] {
                let answer = try await client.execute(
                    uri: path, method: .get, headers: [.origin: "https://app.example"])
                #expect((answer.headers[.accessControlAllowOrigin] == "https://app.example") == isRead, "\(path)")
            }
        }
    }

    @Test("Both descriptions of the addresses say below which path they are")
    func documents() async throws {
        let server = try await ServerFixture(issuer: Self.issuer)
        try await server.withPublicClient { client in
            for (path, place) in [("/openapi.json", Self.path), ("/admin/v1/openapi.json", "\(Self.path)/admin/v1")] {
                let document = try await client.send(.get, Self.path + path).object
                #expect(document["servers"] == .array([.object(["url": .string(place)])]))
            }
        }
    }
}
