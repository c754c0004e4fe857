import Foundation
import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("RFC 6749, section 2: what an operator changes of a client")
struct ClientChangeTests {
    private func isTaken(_ secret: String, _ f: ProviderFixture) async throws -> Bool {
        let credentials = Data("\(f.bank.client.id):\(secret)".utf8).base64EncodedString()
        do {
            _ = try await f.provider.clients.authenticate(header: "Basic \(credentials)")
            return true
        } catch let error as OAuthError {
            #expect(error == OAuthError(.invalidClient))
            return false
        }
    }

    @Test("A rotated secret works beside the new one until its time is over, and not a moment longer")
    func overlap() async throws {
        try await ProviderFixture.run { f in
            let id = f.bank.client.id
            let second = try #require(
                try await f.provider.clients.rotateSecret(ofClient: id, overlap: .seconds(60), by: "op"))
            #expect(try await self.isTaken(f.secret, f))
            #expect(try await self.isTaken(try #require(second.secret), f))
            f.clock.advance(.milliseconds(59_999))
            #expect(try await self.isTaken(f.secret, f))
            f.clock.advance(.milliseconds(1))
            #expect(try await !self.isTaken(f.secret, f))
            #expect(try await self.isTaken(try #require(second.secret), f))
            let last = try #require(try await f.store.auditEntries(after: 0, limit: 99).last?.event)
            #expect(last.kind.rawValue == "client-secret-rotated" && last.detail == id && last.actor == "op")
        }
    }

    @Test("A second rotation ends the first secret at once; one without overlap ends the present one")
    func twice() async throws {
        try await ProviderFixture.run { f in
            let id = f.bank.client.id
            let second = try #require(try await f.provider.clients.rotateSecret(ofClient: id))
            let third = try #require(try await f.provider.clients.rotateSecret(ofClient: id))
            #expect(try await !self.isTaken(f.secret, f))
            #expect(try await self.isTaken(try #require(second.secret), f))
            let fourth = try #require(try await f.provider.clients.rotateSecret(ofClient: id, overlap: .zero))
            #expect(try await !self.isTaken(try #require(second.secret), f))
            #expect(try await !self.isTaken(try #require(third.secret), f))
            #expect(try await self.isTaken(try #require(fourth.secret), f))
            #expect(try await f.provider.clients.rotateSecret(ofClient: "none") == nil)
            for overlap in [Duration.seconds(-1), .seconds(30 * 86_400 + 1)] {
                await #expect(throws: OAuthError(.invalidRequest)) {
                    try await f.provider.clients.rotateSecret(ofClient: id, overlap: overlap)
                }
            }
            #expect(try await self.isTaken(try #require(fourth.secret), f))
        }
    }

    @Test("Sign-ins lead to a client's present addresses alone, also those that were under way")
    func addresses() async throws {
        try await ProviderFixture.run { f in
            let request = try await f.begin()
            f.authenticate(request)
            let other = "https://bank.example/other"
            let changed = try await f.provider.clients.change(
                f.bank.client.id, ClientChange(name: "Lantern Street Bank", redirectURIs: [other]), by: "op")
            #expect(changed?.redirectURIs == [other] && changed?.name == "Lantern Street Bank")
            #expect(changed?.postLogoutRedirectURIs == f.bank.client.postLogoutRedirectURIs)
            guard
                case .page = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: nil)
            else {
                Issue.record("somebody was led to an address that is not registered any more")
                return
            }
            for (address, isTaken) in [(ProviderFixture.address, false), (other, true)] {
                let answer = try await f.provider.authorizations.authorize(
                    f.query(["redirect_uri": address]), browser: f.browser, session: nil, source: "a", address: nil)
                if case .signIn = answer { #expect(isTaken) } else { #expect(!isTaken) }
            }
            let kinds = try await f.store.auditEntries(after: 0, limit: 99).suffix(2).map(\.event.kind.rawValue)
            #expect(kinds == ["client-renamed", "client-addresses-changed"])
        }
    }

    @Test("A sign-in that is under way to an address which stays goes on")
    func kept() async throws {
        try await ProviderFixture.run { f in
            let request = try await f.begin()
            f.authenticate(request)
            _ = try await f.provider.clients.change(
                f.bank.client.id,
                ClientChange(redirectURIs: ["https://bank.example/other", ProviderFixture.address]))
            guard
                case .signedIn = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: nil)
            else {
                Issue.record("not signed in")
                return
            }
        }
    }

    @Test("Where people find a client is registered, changed and forgotten, and is a page that a browser can be led to")
    func home() async throws {
        try await ProviderFixture.run { f in
            func register(_ home: String?) async throws -> ClientRecord {
                try await f.provider.clients.register(
                    name: "Shop", redirectURIs: ["https://shop.example/in"], clientURI: home,
                    settings: ClientSettings(idTokenAlgorithm: .es256)
                ).client
            }
            let shop = try await register("https://shop.example/start?x=1")
            #expect(shop.clientURI == "https://shop.example/start?x=1")
            #expect(try await f.provider.clients.service(shop.id)?.home == "https://shop.example/start?x=1")
            #expect(try await register("http://127.0.0.1:8081/").clientURI == "http://127.0.0.1:8081/")
            for none in [nil, ""] { #expect(try await register(none).clientURI == nil) }
            #expect(try await f.provider.clients.service("nobody") == nil)
            for wrong in [
                "http://shop.example/", "javascript:alert(1)", "https://shop.example/#x", "https://a@shop.example/",
                "//shop.example/", "/", "shop.example", "https://", "http://localhost/", "data:text/html,x",
                "https://shop.example/ ", "https://shop.example/\" onclick=\"",
            ] {
                await #expect(throws: OAuthError(.invalidRequest), "\(wrong)") { try await register(wrong) }
                await #expect(throws: OAuthError(.invalidRequest), "\(wrong)") {
                    try await f.provider.clients.change(shop.id, ClientChange(clientURI: wrong))
                }
            }
            let moved = try await f.provider.clients.change(shop.id, ClientChange(clientURI: "https://shop.example/"))
            #expect(moved?.clientURI == "https://shop.example/")
            let renamed = try await f.provider.clients.change(shop.id, ClientChange(name: "Store"))
            #expect(renamed?.clientURI == "https://shop.example/")
            let forgotten = try await f.provider.clients.change(shop.id, ClientChange(clientURI: ""))
            #expect(forgotten?.clientURI == nil)
            let known = try await f.provider.clients.service(shop.id)
            #expect(known?.name == "Store" && known?.home == nil)
            let kinds = try await f.store.auditEntries(after: 0, limit: 99).suffix(3).map(\.event.kind.rawValue)
            #expect(kinds == ["client-addresses-changed", "client-renamed", "client-addresses-changed"])
        }
    }

    @Test(
        "A wildcard is told by its address, at registration and at a change",
        arguments: [
            "https://*.bank.example/callback", "https://bank.example/*",
        ])
    func wildcard(address: String) async throws {
        try await ProviderFixture.run { f in
            for attempt in 0...1 {
                do {
                    if attempt == 0 {
                        _ = try await f.provider.clients.register(name: "Shop", redirectURIs: [address])
                    } else {
                        _ = try await f.provider.clients.change(
                            f.bank.client.id, ClientChange(postLogoutRedirectURIs: [address]))
                    }
                    Issue.record("taken")
                } catch let error as OAuthError {
                    #expect(error.message?.contains("\(address) has a wildcard") == true)
                }
            }
        }
    }
}
