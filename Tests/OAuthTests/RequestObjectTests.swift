import JOSE
import OAuth
import Testing
import _Primitives

@Suite("RFC 9101: request objects by value")
struct RequestObjectTests {
    private static let issuer = "https://server.example"
    private static let now: Int64 = 1_800_000_000
    private static let claims: JSONObject = [
        "iss": .string("bank"), "aud": .string(issuer), "exp": .integer(now + 60), "client_id": .string("bank"),
        "response_type": .string("code"), "state": .string("a b&c"),
    ]

    private static func object(
        _ changes: [(String, JSON?)] = [], type: String? = "oauth-authz-req+jwt", by algorithm: JWSAlgorithm = .es256
    ) throws -> String {
        try TestKey.of(algorithm).sign(self.claims.with(changes), type: type)
    }

    private static func verify(
        _ compact: String, clientID: String = "bank", allowing algorithms: Set<JWSAlgorithm> = JWSAlgorithm.ofFAPI2,
        requiringNotBefore: Bool = false
    ) throws -> VerifiedRequestObject {
        try UnverifiedRequestObject(compact).verified(
            by: JWKSet(TestKey.all.values.map(\.publicKey)), clientID: clientID, issuer: self.issuer,
            allowing: algorithms, requiringNotBefore: requiringNotBefore, within: .usual)
    }

    private static func parameters(_ changes: [(String, JSON?)]) throws -> Parameters {
        try self.verify(self.object(changes)).parameters
    }

    // MARK: Parameters (section 4)

    @Test func theClaimsAreTheParameters() throws {
        let object = try Self.verify(Self.object())
        #expect(object.parameters == ["client_id": "bank", "response_type": "code", "state": "a b&c"])
        #expect(object.identifier == nil)
        #expect(try Self.verify(Self.object([("jti", .string("name"))])).identifier == "name")
        let names = try Self.parameters([
            ("nbf", .integer(Self.now)), ("iat", .integer(Self.now)), ("jti", .string("x")), ("sub", .string("alice")),
        ]).members.map(\.name)
        #expect(names == ["client_id", "response_type", "state"])
    }

    @Test(
        "writes texts as they are, whole numbers in digits, and the rest as JSON",
        arguments: [
            ("login_hint", .string("Zoë"), "Zoë"), ("max_age", .integer(86_400), "86400"),
            ("max_age", .integer(0), "0"),
            (
                "claims", .object(["id_token": .object(["acr": .object(["essential": .bool(true)])])]),
                #"{"id_token":{"acr":{"essential":true}}}"#
            ),
            ("authorization_details", .array([.object(["type": .string("payment")])]), #"[{"type":"payment"}]"#),
            ("scope", .string("openid  profile"), "openid  profile"), ("prompt", .string(""), nil),
        ] as [(String, JSON, String?)])
    func values(name: String, value: JSON, text: String?) throws {
        let parameters = try Self.parameters([(name, value)])
        #expect(parameters[name] == text && parameters.values(name).count == (text == nil ? 0 : 1))
        #expect(try Parameters(parsing: parameters.encoded) == parameters)
    }

    @Test("knows nulls in the claims parameter alone (OpenID Connect Core 1.0, section 5.5.1)")
    func nulls() throws {
        func object(_ text: String) throws -> String {
            try TestKey.of(.es256).sign(text: JSON.object(Self.claims).text.dropLast() + "," + text + "}")
        }
        let parameters = try Self.verify(
            object(#""claims":{"id_token":{"null":null,"b":{"values":[null]}}},"nonce":"null \" null""#)
        )
        .parameters
        #expect(parameters["claims"] == #"{"id_token":{"null":{},"b":{"values":[{}]}}}"#)
        #expect(parameters["nonce"] == "null \" null")
        #expect(try ClaimsRequest(#require(parameters["claims"])).idToken.map(\.name) == ["null", "b"])
        for text in [
            #""nonce":null"#, #""authorization_details":[{"type":"a","b":null}]"#, #""Claims":{"id_token":null}"#,
            #""claims":{},"claims":null"#, #""claims":nul"#, #""claims":nulll"#, #""claims":{null:1}"#,
            #""claims":{"a":null},"x":[null]"#,
        ] {
            let compact = try object(text)
            #expect(throws: OAuthError(.invalidRequestObject)) { try Self.verify(compact) }
        }
    }

    @Test func aResourceMayBeAList() throws {
        let one = try Self.parameters([("resource", .string("https://a.example"))])
        #expect(one.values("resource") == ["https://a.example"])
        let two = try Self.parameters([
            ("resource", .array([.string("https://a.example"), .string("https://b.example")]))
        ])
        #expect(two.values("resource") == ["https://a.example", "https://b.example"])
        #expect(try ResourceIndicator.all(in: two).count == 2)
    }

    @Test(
        "refuses values that are no parameters",
        arguments: [
            ("max_age", .number(1.5)), ("max_age", .bool(true)), ("state", .bool(false)), ("state", .string("a\nb")),
            ("state", .string("a\u{0}b")), ("state", .string("a\u{7F}b")), ("state", .string("\u{85}")),
            ("", .string("x")), ("a\nb", .string("x")), ("claims", .object(["a": .string("\u{80}")])),
            ("resource", .array([.integer(1)])), ("resource", .array([.array([])])),
        ] as [(String, JSON)])
    func refusesValues(name: String, value: JSON) throws {
        let compact = try Self.object([(name, value)])
        #expect(throws: OAuthError(.invalidRequestObject)) { try Self.verify(compact) }
    }

    @Test func refusesMoreThanARequestHas() throws {
        func changes(_ count: Int) -> [(String, JSON?)] { (0..<count).map { ("p\($0)", .string("v")) } }
        #expect(try Self.parameters(changes(61)).members.count == 64)
        #expect(throws: OAuthError(.invalidRequestObject)) { try Self.parameters(changes(62)) }
        let resources = JSON.array([JSON](repeating: .string("https://a.example"), count: 62))
        #expect(throws: OAuthError(.invalidRequestObject)) { try Self.parameters([("resource", resources)]) }
    }

    @Test("holds no other request", arguments: ["request", "request_uri"])
    func noRequestInside(name: String) throws {
        for value in [JSON.string("x"), .string(""), .object([:])] {
            let compact = try Self.object([(name, value)])
            #expect(throws: OAuthError(.invalidRequestObject)) { try Self.verify(compact) }
        }
    }

    // MARK: Whose it is (section 6.3)

    @Test("is the client's", arguments: ["iss", "client_id"])
    func client(name: String) throws {
        for value in [nil, JSON.string("other"), .string("ban\u{212A}"), .string(""), .integer(1)] {
            let compact = try Self.object([(name, value)])
            #expect(throws: OAuthError(.invalidRequestObject)) { try Self.verify(compact) }
        }
        let compact = try Self.object()
        #expect(throws: OAuthError(.invalidRequestObject)) { try Self.verify(compact, clientID: "other") }
    }

    @Test func isNoAssertionOfTheClient() throws {
        // Section 10.8: neither serves as the other.
        for type in [nil, "JWT"] {
            let compact = try Self.object([("sub", .string("bank")), ("jti", .string("name"))], type: type)
            #expect(throws: OAuthError(.invalidRequestObject)) { try Self.verify(compact) }
        }
        let object = try Self.object([("jti", .string("name"))])
        #expect(throws: OAuthError(.invalidClient)) {
            try UnverifiedClientAssertion(
                header: nil,
                parameters: ["client_assertion_type": UnverifiedClientAssertion.type, "client_assertion": object])
        }
    }

    @Test(
        "is for this issuer, which may stand in a list",
        arguments: [
            (.string("https://server.example"), true), (.array([.string("https://server.example")]), true),
            (.array([.string("https://other.example"), .string("https://server.example")]), true), (nil, false),
            (.string("https://other.example"), false), (.string("https://server.example/"), false), (.array([]), false),
            (.string("https://server.example/oauth2/authorize"), false), (.array([.integer(1)]), false),
        ] as [(JSON?, Bool)])
    func audience(value: JSON?, isTaken: Bool) throws {
        let compact = try Self.object([("aud", value)])
        if isTaken {
            #expect(try Self.verify(compact).parameters["client_id"] == "bank")
        } else {
            #expect(throws: OAuthError(.invalidRequestObject)) { try Self.verify(compact) }
        }
    }

    @Test("says what it is, or nothing")
    func type() throws {
        for type in [nil, "JWT", "oauth-authz-req+jwt", "application/OAuth-Authz-Req+JWT"] {
            #expect(try Self.verify(Self.object(type: type)).parameters["client_id"] == "bank")
        }
        for type in ["client-authentication+jwt", "dpop+jwt", "at+jwt", "logout+jwt", ""] {
            let compact = try Self.object(type: type)
            #expect(throws: OAuthError(.invalidRequestObject)) { try Self.verify(compact) }
        }
    }

    // MARK: Signature (section 6.2)

    @Test("is signed", arguments: ["none", "None", "HS256", "ES384", "RS512"])
    func algorithms(name: String) {
        for signature in [[], [UInt8](repeating: 1, count: 64)] {
            let compact = TestKey.unsigned(header: ["alg": .string(name)], claims: Self.claims, signature: signature)
            #expect(throws: OAuthError(.invalidRequestObject)) {
                try Self.verify(compact, allowing: JWSAlgorithm.ofClients)
            }
        }
    }

    @Test("by an algorithm of the client's profile", arguments: [JWSAlgorithm.es256, .edDSA, .ps256, .rs256])
    func profiles(algorithm: JWSAlgorithm) throws {
        let compact = try Self.object(by: algorithm)
        #expect(try Self.verify(compact, allowing: JWSAlgorithm.ofClients).parameters["client_id"] == "bank")
        if algorithm == .rs256 {
            #expect(throws: OAuthError(.invalidRequestObject)) { try Self.verify(compact) }
        } else {
            #expect(try Self.verify(compact).parameters["state"] == "a b&c")
        }
    }

    @Test func byAKeyOfTheClient() throws {
        let compact = try TestKey(.es256).sign(Self.claims)
        #expect(throws: OAuthError(.invalidRequestObject)) { try Self.verify(compact) }
        var parts = try Self.object().split(separator: ".").map { Base64URL.decode($0) ?? [] }
        parts[2][12] ^= 1
        let changed = parts.map { Base64URL.encode($0) }.joined(separator: ".")
        #expect(throws: OAuthError(.invalidRequestObject)) { try Self.verify(changed) }
    }

    @Test(
        "cannot be read",
        arguments: ["", "x", "a.b.c", "a.b.c.d.e", "e30.e30.", String(repeating: "A", count: 20_000) + ".e30.AA"])
    func malformed(compact: String) {
        #expect(throws: OAuthError(.invalidRequestObject)) { try UnverifiedRequestObject(compact) }
    }

    @Test func itsDescriptionShowsNothing() throws {
        #expect(try UnverifiedRequestObject(Self.object()).description == "UnverifiedRequestObject")
    }

    // MARK: Times

    @Test(
        "counts within its time",
        arguments: [
            ("exp", 0, true), ("exp", -9, true), ("exp", -10, false), ("exp", 310, true), ("exp", 311, false),
            ("nbf", 10, true), ("nbf", 11, false), ("iat", 10, true), ("iat", 11, false), ("nbf", -1_000_000, true),
        ] as [(String, Int64, Bool)])
    func times(name: String, seconds: Int64, isTaken: Bool) throws {
        let compact = try Self.object([(name, .integer(Self.now + seconds))])
        if isTaken {
            #expect(try Self.verify(compact).parameters["client_id"] == "bank")
        } else {
            #expect(throws: OAuthError(.invalidRequestObject)) { try Self.verify(compact) }
        }
    }

    @Test func anEndIsNeeded() throws {
        let compact = try Self.object([("exp", nil)])
        #expect(throws: OAuthError(.invalidRequestObject)) { try Self.verify(compact) }
    }

    @Test(
        "has a recent beginning where the profile asks for it (FAPI 2.0 Message Signing, section 5.3.1)",
        arguments: [(nil, false), (0, true), (10, true), (-300, true), (-301, false)] as [(Int64?, Bool)])
    func notBefore(seconds: Int64?, isTaken: Bool) throws {
        let compact = try Self.object([("nbf", seconds.map { .integer(Self.now + $0) })])
        if isTaken {
            #expect(try Self.verify(compact, requiringNotBefore: true).parameters["client_id"] == "bank")
        } else {
            #expect(throws: OAuthError(.invalidRequestObject)) { try Self.verify(compact, requiringNotBefore: true) }
        }
        #expect(try Self.verify(compact).parameters["client_id"] == "bank")
    }

    @Test("what is taken can be written and read as any request", arguments: 0..<60 as Range<UInt64>)
    func property(seed: UInt64) throws {
        var draw = Draw(seed: seed)
        var claims = Self.claims
        for index in 0..<draw.below(5) {
            claims["p\(index)" + draw.text()] = draw.element(of: [
                .string(draw.text()), .integer(Int64(draw.below(1000))), .object([draw.text(): .string(draw.text())]),
                .array([.string(draw.text()), .bool(true)]),
            ])
        }
        let parameters = try Self.verify(TestKey.of(.edDSA).sign(claims)).parameters
        #expect(try Parameters(parsing: parameters.encoded, limits: Parameters.Limits(bytes: 65_536)) == parameters)
    }
}
