import OAuth
import Testing

@Suite("RFC 8252, sections 7 and 8: where apps are answered")
struct NativeRedirectTests {
    private static let all = Set(RedirectURI.Kind.allCases)

    @Test(
        "says of which kind an address is",
        arguments: [
            ("https://app.example/callback", RedirectURI.Kind.https, "https://app.example"),
            ("http://127.0.0.1/cb", .loopback, "http://127.0.0.1"),
            ("http://127.0.0.1:51004/cb", .loopback, "http://127.0.0.1:51004"),
            ("http://[::1]:51004/cb", .loopback, "http://[::1]:51004"),
            ("http://127.9.0.1/cb", .loopback, "http://127.9.0.1"),
            ("http://localhost/cb", .localhost, "http://localhost"),
            ("http://localhost:51004/cb", .localhost, "http://localhost:51004"),
            ("com.example.app:/callback", .privateScheme, "com.example.app:"),
            ("com.example.app://callback", .privateScheme, "com.example.app:"),
            ("com.example.app://callback/a?b=c", .privateScheme, "com.example.app:"),
            ("com.example.app:/", .privateScheme, "com.example.app:"),
            ("com.example.app:/a/b?c=d", .privateScheme, "com.example.app:"),
            ("com.example-bank.app2:/cb", .privateScheme, "com.example-bank.app2:"),
            ("org.example:/cb", .privateScheme, "org.example:"),
        ])
    func kinds(text: String, kind: RedirectURI.Kind, origin: String) throws {
        let address = try RedirectURI(text, allowing: Self.all)
        #expect(address.kind == kind && address.origin == origin && address.text == text)
        #expect(try RedirectURI(text, allowing: [kind]) == address)
        #expect(throws: OAuthError(.invalidRequest)) { try RedirectURI(text, allowing: Self.all.subtracting([kind])) }
    }

    @Test func nobodyGetsAPrivateSchemeWithoutAsking() {
        #expect(throws: OAuthError(.invalidRequest)) { try RedirectURI("com.example.app:/callback") }
    }

    @Test(
        "takes private schemes in reverse-domain form alone",
        arguments: [
            "myapp:/callback", "myapp://callback", "com.example.app:", "com.example.app:callback",
            "com.example.app://", "com.example.app:///callback", "com.example.app://a@b/cb", "com.example.app://a:x/cb",
            "Com.Example.App:/cb", "COM.EXAMPLE:/cb",
            "com..app:/cb", ".com.app:/cb", "com.app.:/cb", "com.-app:/cb", "com.app-:/cb", "1com.example:/cb",
            "com.ex_ample:/cb", "com.ex+ample:/cb", "com.example.app:/cb#", "com.example.app:/cb#x",
            "com.example.app:/%",
            "com.exampl\u{E9}:/cb", "com.example.app:/a b", "com.example.app:/a\nb", "javascript:/x", "data:/x",
            "file:/x",
            "http:/x", "https:/x", "intent:/x", "com.example.app:\\cb", "com.example.app:?x=/", ":/x", "/x",
            "com.example.app:/" + String(repeating: "a", count: 1024),
        ])
    func refusesSchemes(text: String) {
        #expect(throws: OAuthError(.invalidRequest)) { try RedirectURI(text, allowing: Self.all) }
    }

    @Test(
        "leaves the port of the two loopback literals open, and that of their name (section 7.3)",
        arguments: [
            ("http://127.0.0.1/cb", "http://127.0.0.1:51004/cb"),
            ("http://127.0.0.1:8081/cb", "http://127.0.0.1:51004/cb"),
            ("http://127.0.0.1:8081/cb", "http://127.0.0.1/cb"), ("http://[::1]/cb?a=b", "http://[::1]:1/cb?a=b"),
            ("http://localhost/cb", "http://localhost:51004/cb"), ("http://localhost:3000/cb", "http://localhost/cb"),
            ("http://[::1]:9", "http://[::1]:65535"), ("http://127.0.0.1:1?x", "http://127.0.0.1:2?x"),
        ])
    func anyPort(registered: String, requested: String) throws {
        let own = try RedirectURI(registered, allowing: Self.all)
        let other = try RedirectURI(requested, allowing: Self.all)
        #expect(own.answers(requested) == other && other.kind == own.kind && own.kind != .https)
        #expect(other.answers(registered) == own)
    }

    @Test(
        "and nothing else",
        arguments: [
            ("http://127.0.0.1/cb", "http://127.0.0.1:8081/cb2"), ("http://127.0.0.1/cb", "http://127.0.0.1:8081/"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:8081/cb?x"), ("http://127.0.0.1/cb", "http://[::1]:8081/cb"),
            ("http://127.0.0.1/cb", "https://127.0.0.1:8081/cb"), ("http://127.0.0.1/cb", "http://127.0.0.2:8081/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1.evil.example:8081/cb"),
            ("http://127.0.0.1/cb", "http://localhost:80/cb"), ("http://localhost/cb", "http://127.0.0.1:80/cb"),
            ("http://localhost/cb", "http://localhost.evil.example:80/cb"), ("http://localhost/cb", "http://[::1]/cb"),
            ("http://localhost/cb", "https://localhost:8081/cb"), ("http://localhost/cb", "http://localhost:0/cb"),
            ("http://localhost/cb", "http://Localhost:8081/cb"), ("http://localhost/cb", "http://localhost:8081/"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:0/cb"), ("http://127.0.0.1/cb", "http://127.0.0.1:99999/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:8081@evil.example/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:8081/cb#x"), ("http://127.9.0.1/cb", "http://127.9.0.1:8081/cb"),
            ("https://127.0.0.1/cb", "https://127.0.0.1:8081/cb"),
            ("https://app.example/cb", "https://app.example:443/cb"),
            ("https://app.example/cb", "https://app.example:8443/cb"),
            ("https://app.example/cb", "https://App.example/cb"),
            ("https://app.example/cb", "https://app.example/cb/"), ("com.example.app:/cb", "com.example.app:/cb/"),
            ("com.example.app:/cb", "com.example.app:/CB"), ("com.example.app:/cb", "com.example.app2:/cb"),
            ("com.example.app:/cb", "com.example.app://cb"), ("http://127.0.0.1/cb", ""),
            ("http://127.0.0.1/\u{6B}", "http://127.0.0.1/\u{212A}"),
        ])
    func otherAddresses(registered: String, requested: String) throws {
        #expect(try RedirectURI(registered, allowing: Self.all).answers(requested) == nil)
    }

    @Test(
        "a refusal names what is wrong",
        arguments: [
            ("", "is empty"), ("https://app.example/" + String(repeating: "a", count: 1024), "more than 1024"),
            ("https://app.example/a b", "has a character that an address cannot have"),
            ("https://app.example/#a", "has a fragment"), ("/callback", "begins with no scheme"),
            ("https://a@app.example/", "names a user"), ("https:///cb", "has no host"),
            ("https://:443/cb", "has no host"), ("https://app.example:0/", "a host or a port that is none"),
            ("http://app.example/cb", "use https, or http://127.0.0.1"), ("https:/cb", "no two slashes after https:"),
            ("Com.example.app:/cb", "capital letters"), ("javascript:alert(1)", "that browsers use themselves"),
            ("myapp://callback", "no domain in reverse"), ("com.example.app:callback", "no slash after the colon"),
            ("com.example.app:///callback", "has no host"),
        ])
    func reasons(text: String, reason: String) {
        #expect { try RedirectURI(text, allowing: Self.all) } throws: {
            ($0 as? OAuthError)?.message?.contains(reason) ?? false
        }
    }

    @Test("an address that was to be registered is refused for what is wrong with it, whatever schemes are let")
    func reasonsOfRegistered() throws {
        for (text, reason) in [
            ("http://app.example/cb", "use https"), ("https://a@app.example/", "names a user"),
            ("javascript:/x", "browsers use themselves"), ("myapp:callback", "no slash"), ("callback", "no scheme"),
            ("MyApp:/cb", "capital letters"),
        ] {
            #expect { try RedirectURI(registered: text) } throws: {
                ($0 as? OAuthError)?.message?.contains(reason) ?? false
            }
        }
        #expect(try RedirectURI(registered: "myapp:///cb").origin == "myapp:")
        #expect(try RedirectURI(registered: "myapp://callback").kind == .privateScheme)
    }

    @Test(
        "a kind that is not let is named",
        arguments: [
            ("http://localhost:3000/cb", [RedirectURI.Kind.https, .loopback], "use http://127.0.0.1"),
            ("com.example.app:/cb", [.https, .loopback], "only an app without a secret or a key can have"),
            ("http://127.0.0.1/cb", [.https], "it has to be https"), ("https://app.example/", [.loopback], "is https"),
        ])
    func kindsByName(text: String, kinds: [RedirectURI.Kind], reason: String) {
        #expect { try RedirectURI(text, allowing: Set(kinds)) } throws: {
            ($0 as? OAuthError)?.message?.contains(reason) ?? false
        }
    }

    @Test(
        "answers its own text",
        arguments: [
            "https://app.example/cb", "http://127.9.0.1:8081/cb", "com.example.app:/cb", "http://[::1]/cb",
            "com.example.app://cb", "http://localhost:3000/cb",
        ])
    func itself(text: String) throws {
        let address = try RedirectURI(text, allowing: Self.all)
        #expect(address.answers(text) == address)
        #expect(address.adding(["code": "a"]) == text + "?code=a")
    }

    @Test("whatever an app asks for, it is answered at a place of its own")
    func property() throws {
        let registered = try RedirectURI("http://127.0.0.1:8081/cb")
        let pieces = [
            ":", "8081", "/", "cb", "@", "127.0.0.1", "evil.example", "?", "#", "[::1]", ".", "0", "%2F", "1", "65536",
        ]
        var answers = 0
        for seed in 0..<1000 as Range<UInt64> {
            var draw = Draw(seed: seed)
            let (port, drawn) = (draw.below(70_000), draw.text(of: pieces, upTo: 3))
            let rest = [drawn, ":\(port)\(drawn)", ":\(port)/cb", ":\(drawn)/cb"][Int(seed % 4)]
            let requested = "http://127.0.0.1" + rest
            guard let answer = registered.answers(requested) else { continue }
            answers += 1
            #expect(answer.text == requested && answer.kind == .loopback)
            #expect(rest == "/cb" || rest.hasPrefix(":") && rest.hasSuffix("/cb"), "\(rest)")
            #expect(rest.dropFirst().dropLast(3).allSatisfy { $0.isNumber }, "\(rest)")
        }
        #expect(answers > 20)
    }
}
