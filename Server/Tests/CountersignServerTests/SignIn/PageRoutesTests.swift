import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

@Suite("Pages and their files")
struct PageRoutesTests {
    @Test func filesOfAPageAreThereForEver() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let page = try await TestBrowser(client).get("/open?dispatchTokenResponse=marker")
            let paths = page.text.matches(of: /(?:src|href)="(\/assets\/[^"]+)"/).map { String($0.1) }
            #expect(paths.count == 3)
            for path in paths {
                let file = try await TestBrowser(client).get(path)
                #expect(file.status == .ok)
                #expect(file.headers[.cacheControl] == "public, max-age=31536000, immutable")
                #expect(file.headers[.xContentTypeOptions] == "nosniff")
                #expect(file.body.readableBytes > 100)
            }
            let types = try await [paths[0], paths[1], paths[2]].asyncMap {
                try await TestBrowser(client).get($0).headers[.contentType]
            }
            #expect(types == ["image/svg+xml", "text/css; charset=utf-8", "text/javascript; charset=utf-8"])
            #expect(try await TestBrowser(client).get("/assets/pages-AAAAAAAAAAA.css").status == .notFound)
        }
    }

    @Test("Every page is protected by its headers", arguments: ["/open", "/admin/setup", "/sign-in?request=unknown"])
    func pageIsProtected(path: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let page = try await TestBrowser(client).get(path)
            #expect(
                page.headers[.contentSecurityPolicy]
                    == "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                    + "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
            #expect(page.headers[.cacheControl] == "no-store")
            #expect(page.headers[.xContentTypeOptions] == "nosniff")
            #expect(page.headers[try #require(HTTPField.Name("Referrer-Policy"))] == "no-referrer")
        }
    }

    @Test(
        "A page is in English for a browser that asks for English, for a language of no page, or in no known form",
        arguments: ["en", "qaa-CH, qab;q=0.5", "*", "en;q=x", "\u{E9}", String(repeating: "en,", count: 400)])
    func languages(header: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            for path in ["/open", "/account/forgotten", "/sign-in?request=unknown", "/nothing"] {
                let page = try await TestBrowser(client).get(
                    path, headers: [.accept: "text/html", .acceptLanguage: header])
                #expect(page.status.code < 500 && page.text.contains("<html lang=\"en\">"), "\(path)")
            }
        }
    }

    @Test func landingPageRepeatsNothingOfTheToken() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let page = try await TestBrowser(client).get("/open?dispatchTokenResponse=marker")
            #expect(page.status == .ok)
            #expect(page.text.contains("Open this with your authenticator app"))
            #expect(!page.text.contains("marker"))
        }
    }

    @Test func missingPageIsAPageForPeopleAndADocumentForPrograms() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let people = try await TestBrowser(client).get(
                "/nothing", headers: [.accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"])
            #expect(people.status == .notFound)
            #expect(people.headers[.contentType] == "text/html; charset=utf-8")
            #expect(people.text.contains("There is no page here"))
            let program = try await TestBrowser(client).get("/nothing", headers: [.accept: "application/json"])
            #expect(program.status == .notFound)
            #expect(program.headers[.contentType] == "application/problem+json")
        }
    }

    @Test func headOfAPageHasNoBody() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let answer = try await client.execute(uri: "/open", method: .head)
            #expect(answer.status == .ok)
            #expect(answer.body.readableBytes == 0)
        }
    }
}

extension Array {
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
