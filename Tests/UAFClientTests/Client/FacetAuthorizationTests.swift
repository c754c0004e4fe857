import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient

@Suite("FIDO AppID and Facets 1.1 §3.1.2: whether an app may use an AppID's keys")
struct FacetAuthorizationTests {
    private static let appID = "https://id.example.com/uaf/1.1/facets"
    private static let type = "application/fido.trusted-apps+json"

    /// What was fetched.
    private actor Log {
        var urls: [String] = []
        func note(_ url: URL) { self.urls.append(url.absoluteString) }
    }

    private static func list(_ ids: [String], version: String = #"{"major":1,"minor":1}"#) -> String {
        #"{"trustedFacets":[{"version":\#(version),"ids":[\#(ids.map { "\"\($0)\"" }.joined(separator: ","))]}]}"#
    }

    private static func answer(
        _ body: String, status: Int = 200, type: String? = type, location: String? = nil, authorized: String? = nil
    ) -> FacetListAnswer {
        FacetListAnswer(
            status: status, contentType: type, location: location, redirectAuthorized: authorized,
            body: Array(body.utf8))
    }

    private func authorize(
        _ appID: String = Self.appID, facet: String = Device.facet, fetching answer: FacetListAnswer? = nil
    ) async -> Result<String, OperationFailure> {
        do {
            let facets = FacetAuthorization(facetID: try FacetID(facet)) { _ in
                guard let answer else { throw CocoaError(.fileNoSuchFile) }
                return answer
            }
            return .success(try await facets.authorize(appID: appID, version: .uaf11))
        } catch let error as OperationFailure {
            return .failure(error)
        } catch {
            return .failure(OperationFailure(.unknown, "\(error)"))
        }
    }

    @Test(
        "A refusal repeats nothing of an AppID, which a server chooses",
        arguments: [
            "https://id.example.com/hostile\u{202E}", "https://id.example.com/hostile%1B%5B2J", "hostile:\u{1B}[2J",
        ])
    func foreignText(appID: String) async throws {
        let result = await self.authorize(appID, fetching: Self.answer(Self.list([])))
        guard case .failure(let failure) = result else { throw OperationFailure(.unknown, "it was accepted") }
        #expect(failure == OperationFailure(.untrustedFacetID, "") && !failure.reason.contains("hostile"))
    }

    private let refused = Result<String, OperationFailure>.failure(OperationFailure(.untrustedFacetID, ""))

    @Test("An empty AppID stands for the facet, and the facet is trusted with itself, without fetching")
    func ownFacet() async {
        #expect(await self.authorize("") == .success(Device.facet))
        #expect(await self.authorize(Device.facet) == .success(Device.facet))
        #expect(await self.authorize("", facet: "https://app.example") == .success("https://app.example"))
    }

    @Test("A web origin on the AppID's own host is trusted without fetching")
    func sameHost() async {
        for facet in ["https://id.example.com", "https://ID.example.com:8443"] {
            #expect(await self.authorize(facet: facet) == .success(Self.appID))
        }
        #expect(await self.authorize(facet: "https://example.com") == self.refused)
        #expect(await self.authorize(facet: "https://id.example.com.evil.example") == self.refused)
    }

    @Test(
        "An AppID that is neither https nor the facet is refused",
        arguments: [
            "http://id.example.com/f", "linux:program:other", "id.example.com", "https://",
            "https://somebody@id.example.com/f", "https://somebody:secret@id.example.com/f",
        ])
    func notHTTPS(appID: String) async {
        let list = Self.answer(Self.list([Device.facet]))
        #expect(await self.authorize(appID, fetching: list) == self.refused)
    }

    /// The facet, the AppID, and what the list names.
    private static let lookalikes: [(facet: String, appID: String?, listed: String?)] = [
        ("linux:program:K", "linux:program:\u{212A}", nil), ("linux:program:a;b", "linux:program:a\u{37E}b", nil),
        ("linux:program:\u{E9}", "linux:program:e\u{301}", nil),
        ("linux:program:K", nil, "linux:program:\u{212A}"), ("linux:program:\u{E9}", nil, "linux:program:e\u{301}"),
        ("linux:program:a;b", nil, "linux:program:a\u{37E}b"),
        ("https://key.example", "https://\u{212A}ey.example/facets", nil),
        ("https://\u{212A}ey.example", "https://key.example/facets", nil),
        ("https://\u{E9}.example", "https://e\u{301}.example/facets", nil),
        ("https://\u{E9}.example", "https://\u{E9}.example/facets", nil),
        ("linux:program:test", "https://\u{E9}.example/facets", "linux:program:test"),
    ]

    @Test(
        "What Unicode calls equivalent is another AppID, another facet and another host; nothing outside ASCII is folded",
        arguments: Self.lookalikes)
    func equivalents(facet: String, appID: String?, listed: String?) async {
        let list = Self.answer(Self.list([listed].compactMap(\.self)))
        #expect(await self.authorize(appID ?? Self.appID, facet: facet, fetching: list) == self.refused)
    }

    @Test("The list may be moved within the AppID's host alone, letter for letter")
    func foldedRedirect() async {
        let moved = Self.answer("", status: 302, location: "https://\u{212A}ey.example/list", authorized: "true")
        #expect(await self.authorize("https://key.example/facets", fetching: moved) == self.refused)
    }

    @Test(
        "A facet in the list of the message's version is trusted",
        arguments: [
            list([Device.facet]),
            list(["https://id.example.com", "android:apk-key-hash:x", Device.facet]),
            #"{"trustedFacets":[{"version":{"major":1,"minor":0},"ids":["a:b"]},{"version":{"major":1,"minor":1},"ids":["linux:program:test"]}]}"#,
        ])
    func listed(body: String) async {
        #expect(await self.authorize(fetching: Self.answer(body)) == .success(Self.appID))
        let type = "Application/FIDO.trusted-apps+json; charset=utf-8"
        #expect(await self.authorize(fetching: Self.answer(body, type: type)) == .success(Self.appID))
    }

    @Test(
        "A list that does not name the facet for this version, or is no list, refuses it",
        arguments: [
            list([]), list(["linux:program:other"]), list(["linux:program:test/x"]), list(["LINUX:PROGRAM:TEST"]),
            list([Device.facet], version: #"{"major":1,"minor":0}"#), list([Device.facet], version: "1"),
            "", "[]", "{}", "null", #"{"trustedFacets":{}}"#, #"{"trustedFacets":[{"ids":["linux:program:test"]}]}"#,
            #"{"trustedFacets":[{"version":{"major":1,"minor":1},"ids":"linux:program:test"}]}"#,
            #"{"trustedFacets":[],"trustedFacets":[]}"#,
        ])
    func notListed(body: String) async {
        #expect(await self.authorize(fetching: Self.answer(body)) == self.refused)
    }

    @Test("A failed fetch, another status and another content type refuse")
    func failedFetch() async {
        let list = Self.list([Device.facet])
        #expect(await self.authorize(fetching: nil) == self.refused)
        for status in [204, 304, 400, 404, 500] {
            #expect(await self.authorize(fetching: Self.answer(list, status: status)) == self.refused)
        }
        for type in ["application/json", "text/html", "application/fido.trusted-apps", nil] {
            #expect(await self.authorize(fetching: Self.answer(list, type: type)) == self.refused)
        }
    }

    @Test("A web origin of another host is not trusted by the list, as that would need the public suffix list")
    func foreignHost() async {
        let list = Self.answer(Self.list(["https://app.example.com"]))
        #expect(await self.authorize(facet: "https://app.example.com", fetching: list) == self.refused)
        let insecure = Self.answer(Self.list(["http://id.example.com"]))
        #expect(await self.authorize(facet: "http://id.example.com", fetching: insecure) == self.refused)
    }

    @Test("A redirect is followed only with the header, over https, on the same host, and not for ever")
    func redirects() async throws {
        let list = Self.list([Device.facet])
        func run(_ location: String?, _ authorized: String?, hops: Int = 1) async -> (String?, [String]) {
            let log = Log()
            let facets = FacetAuthorization(facetID: try! FacetID(Device.facet)) { url in
                await log.note(url)
                return await log.urls.count <= hops
                    ? Self.answer("", status: 302, location: location, authorized: authorized) : Self.answer(list)
            }
            return (try? await facets.authorize(appID: Self.appID, version: .uaf11), await log.urls)
        }
        let followed = await run("/moved", "true")
        #expect(followed.0 == Self.appID)
        #expect(followed.1 == [Self.appID, "https://id.example.com/moved"])
        #expect(await run("https://id.example.com/moved", "True").0 == Self.appID)
        #expect(await run("/moved", "true", hops: 3).0 == Self.appID)
        #expect(await run("/moved", "true", hops: 4).0 == nil)
        for (location, authorized) in [
            ("/moved", nil), ("/moved", "false"), (nil, "true"), ("http://id.example.com/moved", "true"),
            ("https://evil.example/moved", "true"), ("https://id.example.com.evil.example/", "true"),
            ("https://somebody@id.example.com/moved", "true"),
        ] as [(String?, String?)] {
            let result = await run(location, authorized)
            #expect(result.0 == nil)
            #expect(result.1.count == 1)
        }
    }

    @Test("A cancelled fetch is a cancellation, not a refusal")
    func cancelled() async throws {
        let facets = FacetAuthorization(facetID: try FacetID(Device.facet)) { _ in throw CancellationError() }
        await #expect(throws: CancellationError.self) {
            _ = try await facets.authorize(appID: Self.appID, version: .uaf11)
        }
    }
}

@Suite("FIDO AppID and Facets 1.1 §3.1.2 step 4: a facet list is kept as long as its server allows")
struct FacetListCacheTests {
    private let clock = FakeClock()

    /// How often a list was fetched.
    private actor Count {
        private(set) var value = 0
        func add() { self.value += 1 }
    }

    private func check(
        _ cache: FacetListCache, _ count: Count, cacheControl: String?, age: String? = nil,
        appID: String = "https://id.example.com/facets", facet: String = Device.facet
    ) async throws -> String {
        let facets = FacetAuthorization(facetID: try FacetID(facet), cache: cache) { _ in
            await count.add()
            return FacetListAnswer(
                status: 200, contentType: "application/fido.trusted-apps+json", cacheControl: cacheControl, age: age,
                body: Array(
                    #"{"trustedFacets":[{"version":{"major":1,"minor":1},"ids":["linux:program:test"]}]}"#.utf8))
        }
        return try await facets.authorize(appID: appID, version: .uaf11)
    }

    @Test("A kept list is not fetched again until its time is over, whatever it says of this app")
    func kept() async throws {
        let cache = FacetListCache(clock: self.clock)
        let count = Count()
        for seconds in [0, 59] {
            self.clock.advance(by: .seconds(seconds))
            _ = try await self.check(cache, count, cacheControl: "public, max-age=60")
            #expect(
                await failure {
                    _ = try await self.check(cache, count, cacheControl: "max-age=60", facet: "linux:program:other")
                } == OperationFailure(.untrustedFacetID, ""))
        }
        #expect(await count.value == 1)
        self.clock.advance(by: .seconds(1))
        _ = try await self.check(cache, count, cacheControl: "max-age=60")
        #expect(await count.value == 2)
    }

    @Test(
        "Without leave, or where the headers contradict themselves, nothing is kept",
        arguments: [
            (nil, nil), ("", nil), ("no-store, max-age=60", nil), ("max-age=60, no-cache", nil), ("max-age=0", nil),
            ("max-age=-1", nil), ("max-age", nil), ("max-age=x", nil), ("max-age=60, max-age=60", nil),
            ("max-age=60", "60"), ("max-age=60", "x"), ("max-age=60", "-5"), ("s-maxage=60", nil),
        ] as [(String?, String?)])
    func notKept(cacheControl: String?, age: String?) async throws {
        let cache = FacetListCache(clock: self.clock)
        let count = Count()
        for _ in 0..<2 { _ = try await self.check(cache, count, cacheControl: cacheControl, age: age) }
        #expect(await count.value == 2)
    }

    @Test("What is no list is refused and not kept", arguments: ["", "{", "[]", "{}", #"{"trustedFacets":1}"#])
    func broken(body: String) async throws {
        let cache = FacetListCache(clock: self.clock)
        let broken = FacetAuthorization(facetID: try FacetID(Device.facet), cache: cache) { _ in
            FacetListAnswer(
                status: 200, contentType: "application/fido.trusted-apps+json", cacheControl: "max-age=60",
                body: Array(body.utf8))
        }
        let ended = await failure {
            _ = try await broken.authorize(appID: "https://id.example.com/facets", version: .uaf11)
        }
        #expect(ended == OperationFailure(.untrustedFacetID, ""))
        let count = Count()
        _ = try await self.check(cache, count, cacheControl: "max-age=60")
        #expect(await count.value == 1)
    }

    @Test("The age that a list already has counts, and a day is the longest")
    func lifetimes() async throws {
        for (cacheControl, age, lifetime) in [
            ("Max-Age=\"100\"", "40", 60), ("max-age=99999999999", nil, 86_400), ("max-age=5, private", nil, 5),
        ] as [(String, String?, Int)] {
            let cache = FacetListCache(clock: self.clock)
            let count = Count()
            _ = try await self.check(cache, count, cacheControl: cacheControl, age: age)
            self.clock.advance(by: .seconds(lifetime) - .milliseconds(1))
            _ = try await self.check(cache, count, cacheControl: cacheControl, age: age)
            #expect(await count.value == 1)
            self.clock.advance(by: .milliseconds(1))
            _ = try await self.check(cache, count, cacheControl: cacheControl, age: age)
            #expect(await count.value == 2)
        }
    }

    @Test("Setting the wall clock keeps no list longer, and a restart keeps none")
    func clocks() async throws {
        let cache = FacetListCache(clock: self.clock)
        let count = Count()
        _ = try await self.check(cache, count, cacheControl: "max-age=60")
        self.clock.moveWall(by: .seconds(-1_000))
        self.clock.advance(by: .seconds(60))
        _ = try await self.check(cache, count, cacheControl: "max-age=60")
        #expect(await count.value == 2)
        self.clock.restart()
        _ = try await self.check(cache, count, cacheControl: "max-age=60")
        #expect(await count.value == 3)
    }

    @Test("There is room for sixteen lists; the one that would end first makes way")
    func bounded() async throws {
        let cache = FacetListCache(clock: self.clock)
        let count = Count()
        func check(_ number: Int) async throws {
            _ = try await self.check(
                cache, count, cacheControl: "max-age=\(100 + number)", appID: "https://id.example.com/\(number)")
        }
        for number in 0...16 { try await check(number) }
        #expect(await count.value == 17)
        for number in 1...16 { try await check(number) }
        #expect(await count.value == 17)
        try await check(0)
        #expect(await count.value == 18)
    }
}
