import JOSE
import OAuth
import Testing
import _Primitives

@Suite("RFC 7523, sections 2.2 and 3: a client authenticates by an assertion")
struct ClientAssertionTests {
    private static let issuer = "https://server.example"
    private static let now: Int64 = 1_800_000_000
    private static let claims: JSONObject = [
        "iss": .string("bank"), "sub": .string("bank"), "aud": .string(issuer), "jti": .string("name"),
        "iat": .integer(now), "exp": .integer(now + 60),
    ]

    private static func parameters(_ compact: String, _ others: [(String, String)] = []) -> Parameters {
        var parameters: Parameters = [
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": compact,
        ]
        for (name, value) in others { parameters.append(name, value) }
        return parameters
    }

    private static func assertion(
        _ changes: [(String, JSON?)] = [], type: String? = nil, by algorithm: JWSAlgorithm = .es256,
        header: JSONObject = [:]
    ) throws -> String {
        try TestKey.of(algorithm).sign(self.claims.with(changes), type: type, header: header)
    }

    private static func verify(
        _ compact: String, keys: [JWK]? = nil, allowing algorithms: Set<JWSAlgorithm> = JWSAlgorithm.ofFAPI2,
        within window: ValidityWindow = .usual
    ) throws -> VerifiedClientAssertion {
        try UnverifiedClientAssertion(header: nil, parameters: self.parameters(compact)).verified(
            by: JWKSet(keys ?? TestKey.all.values.map(\.publicKey)), for: .issuer(self.issuer), allowing: algorithms,
            within: window)
    }

    // MARK: What a client makes

    @Test("a server takes what a client makes", arguments: [JWSAlgorithm.es256, .edDSA, .ps256])
    func makes(algorithm: JWSAlgorithm) throws {
        let key = try TestKey.of(algorithm)
        func make() throws -> Parameters {
            try ClientAssertion.parameters(
                clientID: "bank", issuer: Self.issuer, lifetime: .seconds(60), with: key.signing,
                at: ValidityWindow.usual.now, random: .system)
        }
        let read = try UnverifiedClientAssertion(header: nil, parameters: make())
        #expect(read.clientID == "bank" && read.description == "UnverifiedClientAssertion")
        func verified(_ read: UnverifiedClientAssertion) throws -> VerifiedClientAssertion {
            try read.verified(
                by: JWKSet([key.publicKey]), for: .issuer(Self.issuer), allowing: JWSAlgorithm.ofFAPI2, within: .usual)
        }
        let assertion = try verified(read)
        #expect(assertion.clientID == "bank" && assertion.identifier.utf8.count == 22)
        #expect(assertion.repeatableUntil == Timestamp(seconds: Self.now + 70))
        // Each is another one.
        let other = try verified(UnverifiedClientAssertion(header: nil, parameters: make()))
        #expect(other.replayDigest != assertion.replayDigest && assertion.replayDigest.count == 32)
    }

    @Test func nobodyMakesOneWithASecret() throws {
        let secret = try SigningKey(JWK(.octets([UInt8](repeating: 7, count: 32))), algorithm: .hs256)
        #expect(throws: JOSEError(.algorithmNotAllowed, "")) {
            try ClientAssertion.parameters(
                clientID: "bank", issuer: Self.issuer, lifetime: .seconds(60), with: secret,
                at: ValidityWindow.usual.now, random: .system)
        }
    }

    // MARK: The request

    @Test func anAssertionIsPresentWhateverItIsWorth() {
        #expect(UnverifiedClientAssertion.isPresent(in: ["client_assertion": "x"]))
        #expect(UnverifiedClientAssertion.isPresent(in: ["client_assertion_type": "x"]))
        #expect(!UnverifiedClientAssertion.isPresent(in: ["client_id": "bank", "client_secret": "s"]))
    }

    @Test(
        "has no other type",
        arguments: [
            "", "jwt-bearer", "urn:ietf:params:oauth:client-assertion-type:saml2-bearer",
            "urn:ietf:params:oauth:grant-type:jwt-bearer", "URN:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer ",
        ])
    func type(text: String) throws {
        let parameters: Parameters = ["client_assertion_type": text, "client_assertion": try Self.assertion()]
        #expect(throws: OAuthError(.invalidClient)) {
            try UnverifiedClientAssertion(header: nil, parameters: parameters)
        }
    }

    @Test func oneHalfIsNone() throws {
        for parameters: Parameters in [
            [:], ["client_id": "bank"], ["client_assertion": try Self.assertion()],
            ["client_assertion_type": UnverifiedClientAssertion.type],
        ] {
            #expect(throws: OAuthError(.invalidClient)) {
                try UnverifiedClientAssertion(header: nil, parameters: parameters)
            }
        }
    }

    @Test func aClientAuthenticatesInOneWay() throws {
        let compact = try Self.assertion()
        #expect(throws: OAuthError(.invalidRequest)) {
            try UnverifiedClientAssertion(header: "Basic YTpi", parameters: Self.parameters(compact))
        }
        #expect(throws: OAuthError(.invalidRequest)) {
            try UnverifiedClientAssertion(
                header: nil, parameters: Self.parameters(compact, [("client_secret", "secret")]))
        }
    }

    @Test func theClientIsTheOneThatTheRequestNames() throws {
        let compact = try Self.assertion()
        let read = try UnverifiedClientAssertion(
            header: nil, parameters: Self.parameters(compact, [("client_id", "bank")]))
        #expect(read.clientID == "bank")
        for other in ["Bank", "bank2", "ban\u{212A}"] {
            #expect(throws: OAuthError(.invalidRequest)) {
                try UnverifiedClientAssertion(
                    header: nil, parameters: Self.parameters(compact, [("client_id", other)]))
            }
        }
    }

    @Test(
        "cannot be read",
        arguments: [
            "", "x", "a.b.c", "e30.e30.", "eyJhbGciOiJFUzI1NiJ9.e30.AA", "eyJhbGciOiJFUzI1NiJ9.W10.AA",
            String(repeating: "A", count: 20_000) + ".e30.AA",
        ])
    func malformed(compact: String) {
        #expect(throws: OAuthError(.invalidClient)) {
            try UnverifiedClientAssertion(header: nil, parameters: Self.parameters(compact))
        }
    }

    // MARK: Whose it is

    @Test("issuer and subject are the client", arguments: ["iss", "sub"])
    func issuerAndSubject(name: String) throws {
        for value in [nil, JSON.string("other"), .string(""), .string("Bank"), .string("ban\u{212A}"), .integer(1)] {
            let compact = try Self.assertion([(name, value)])
            #expect(throws: OAuthError(.invalidClient)) { try Self.verify(compact) }
        }
        #expect(try Self.verify(Self.assertion()).clientID == "bank")
    }

    @Test("a subject has 256 bytes at most", arguments: [(256, true), (257, false)])
    func longSubject(count: Int, isTaken: Bool) throws {
        let name = JSON.string(String(repeating: "b", count: count))
        let compact = try Self.assertion([("iss", name), ("sub", name)])
        #expect(((try? Self.verify(compact)) != nil) == isTaken)
    }

    @Test(
        "is for the issuer, as one text (FAPI 2.0 Security Profile, section 5.3.2.1)",
        arguments: [
            nil, .array([.string("https://server.example")]), .string("https://server.example/oauth2/token"),
            .string("https://server.example/oauth2/par"), .string("https://server.example/"), .string(""),
            .string("https://server.example:443"), .string("HTTPS://server.example"), .string("https://other.example"),
            .array([.string("https://server.example"), .string("https://other.example")]), .array([]),
            .string("server.example"), .object([:]), .bool(true),
        ] as [JSON?])
    func audience(value: JSON?) throws {
        let compact = try Self.assertion([("aud", value)])
        #expect(throws: OAuthError(.invalidClient)) { try Self.verify(compact) }
        #expect(throws: OAuthError(.invalidClient)) { try Self.verify(compact, allowing: JWSAlgorithm.ofClients) }
    }

    private static let endpoint = "https://server.example/oauth2/token"
    private static let elsewhere = "https://other.example"

    private static func verify(_ compact: String, names: [String]) throws -> VerifiedClientAssertion {
        try UnverifiedClientAssertion(header: nil, parameters: self.parameters(compact)).verified(
            by: JWKSet(TestKey.all.values.map(\.publicKey)), for: .names(names, advice: "Set it."),
            allowing: JWSAlgorithm.ofClients, within: .usual)
    }

    @Test(
        "is for one of the server's names, alone or in a list that names nobody else",
        arguments: [
            .string(issuer), .array([.string(issuer)]), .string(endpoint), .array([.string(endpoint)]),
            .array([.string(issuer), .string(endpoint)]), .array([.string(endpoint), .string(issuer)]),
        ] as [JSON])
    func audienceOfNames(value: JSON) throws {
        let compact = try Self.assertion([("aud", value)])
        #expect(try Self.verify(compact, names: [Self.issuer, Self.endpoint]).clientID == "bank")
        let isIssuer = value == .string(Self.issuer) || value == .array([.string(Self.issuer)])
        #expect(((try? Self.verify(compact, names: [Self.issuer])) != nil) == isIssuer)
    }

    @Test(
        "for anybody else it is refused, with the advice",
        arguments: [
            nil, .array([]), .string(""), .string(elsewhere), .array([.string(issuer), .string(elsewhere)]),
            .array([.string(endpoint), .string(elsewhere)]), .string(issuer + "/"),
            .array([.string(issuer), .string(issuer), .string(issuer)]),
        ] as [JSON?])
    func audienceOfOthers(value: JSON?) throws {
        let compact = try Self.assertion([("aud", value)])
        #expect { try Self.verify(compact, names: [Self.issuer, Self.endpoint]) } throws: {
            ($0 as? OAuthError)?.message == "The client did not authenticate. Set it."
        }
    }

    @Test("nobody who does not hold the key is told what is wrong with the audience")
    func audienceOfStrangers() throws {
        let compact = try TestKey(.es256).sign(Self.claims.with([("aud", .string(Self.elsewhere))]))
        #expect { try Self.verify(compact, names: [Self.issuer]) } throws: {
            ($0 as? OAuthError)?.message == "The client did not authenticate."
        }
    }

    @Test("null is no claim of an assertion", arguments: ["nonce", "aud", "x"])
    func nulls(name: String) throws {
        let members = Self.claims.members.filter { $0.name != name }.map { "\"\($0.name)\":\($0.value.text)" }
        let payload = "{" + (members + ["\"\(name)\":null"]).joined(separator: ",") + "}"
        let compact = try JWS.sign(Array(payload.utf8), with: TestKey.of(.es256).signing)
        #expect(throws: OAuthError(.invalidClient)) { try Self.verify(compact) }
    }

    @Test("has a name of 1 to 256 bytes")
    func identifier() throws {
        for value in [nil, JSON.string(""), .string(String(repeating: "j", count: 257)), .integer(1), .array([])] {
            let compact = try Self.assertion([("jti", value)])
            #expect(throws: OAuthError(.invalidClient)) { try Self.verify(compact) }
        }
        let longest = String(repeating: "j", count: 256)
        #expect(try Self.verify(Self.assertion([("jti", .string(longest))])).identifier == longest)
    }

    @Test("is no token that was signed for another purpose (RFC 8725, section 3.11)")
    func typeOfHeader() throws {
        for type in [nil, "JWT", "jwt", "application/jwt", "client-authentication+jwt"] {
            #expect(try Self.verify(Self.assertion(type: type)).identifier == "name")
        }
        for type in ["oauth-authz-req+jwt", "dpop+jwt", "at+jwt", "logout+jwt", "", "application/json"] {
            let compact = try Self.assertion(type: type)
            #expect(throws: OAuthError(.invalidClient)) { try Self.verify(compact) }
        }
    }

    // MARK: Keys and algorithms

    @Test("RS256 is for clients of no profile")
    func profiles() throws {
        let compact = try Self.assertion(by: .rs256)
        #expect(throws: OAuthError(.invalidClient)) { try Self.verify(compact) }
        #expect(try Self.verify(compact, allowing: JWSAlgorithm.ofClients).clientID == "bank")
    }

    @Test(
        "none and secrets are refused, whatever is allowed", arguments: ["none", "NONE", "HS256", "ES512", "PS384", ""])
    func otherAlgorithms(name: String) throws {
        for signature in [[], [UInt8](repeating: 1, count: 64)] {
            let compact = TestKey.unsigned(
                header: ["alg": .string(name)], claims: Self.claims, signature: signature)
            #expect(throws: OAuthError(.invalidClient)) { try Self.verify(compact, allowing: JWSAlgorithm.ofClients) }
        }
    }

    @Test func aSecretOfTheKeySetSignsNothing() throws {
        let secret = try JWK(.octets([UInt8](repeating: 7, count: 32)), keyID: "secret")
        let compact = try JWS.sign(
            JSON.object(Self.claims).serialized, with: SigningKey(secret, algorithm: .hs256))
        #expect(throws: OAuthError(.invalidClient)) {
            try Self.verify(compact, keys: [secret], allowing: [.hs256, .es256])
        }
    }

    @Test("the key is the one that the header names")
    func keyByName() throws {
        let (key, other) = (try TestKey(.es256, named: "one"), try TestKey(.es256, named: "two"))
        let compact = try key.sign(Self.claims)
        #expect(try Self.verify(compact, keys: [other.publicKey, key.publicKey]).clientID == "bank")
        var renamed = other.publicKey
        renamed.keyID = "one"
        for keys in [[], [other.publicKey], [renamed]] {
            #expect(throws: OAuthError(.invalidClient)) { try Self.verify(compact, keys: keys) }
        }
    }

    @Test("without a name it is the only one that fits the algorithm")
    func keyWithoutName() throws {
        let key = try TestKey.of(.es256)
        let private_ = try Self.nameless()
        var encryption = try TestKey(.es256).publicKey
        encryption.use = "enc"
        let others = [try TestKey.of(.edDSA).publicKey, try TestKey.of(.ps256).publicKey, encryption]
        #expect(try Self.verify(private_.compact, keys: others + [private_.key]).clientID == "bank")
        #expect(throws: OAuthError(.invalidClient)) {
            try Self.verify(private_.compact, keys: [key.publicKey, private_.key])
        }
        #expect(throws: OAuthError(.invalidClient)) { try Self.verify(private_.compact, keys: others) }
    }

    /// An assertion whose header names no key, and the key.
    private static func nameless() throws -> (compact: String, key: JWK) {
        let bytes = try SigningKey.make(.es256, random: .system)
        let named = try SigningKey(kept: bytes, algorithm: .es256, keyID: "x")
        guard let publicKey = named.publicKey, case .p256(let x, let y, _) = publicKey.material else {
            throw JOSEError(.invalidKey, "no public part")
        }
        let jwk = try JWK(.p256(x: x, y: y, d: bytes.withBytes { Array($0) }))
        let key = try SigningKey(jwk, algorithm: .es256)
        return (try JWS.sign(JSON.object(self.claims).serialized, with: key), publicKey)
    }

    @Test func oneChangedBitIsRefused() throws {
        let parts = try Self.assertion().split(separator: ".").map { Base64URL.decode($0) ?? [] }
        for part in 1...2 {
            var changed = parts
            changed[part][6] ^= 1
            let compact = changed.map { Base64URL.encode($0) }.joined(separator: ".")
            #expect(throws: OAuthError(.invalidClient)) { try Self.verify(compact) }
        }
    }

    // MARK: Times (FAPI 2.0 Security Profile, section 5.3.2.1)

    @Test(
        "counts within its time",
        arguments: [
            ("exp", 1, true), ("exp", 0, true), ("exp", -9, true), ("exp", -10, false), ("exp", -60, false),
            ("exp", 300, true), ("exp", 310, true), ("exp", 311, false), ("exp", 1_000_000, false),
            ("nbf", -1_000_000, true), ("nbf", 0, true), ("nbf", 10, true), ("nbf", 11, false), ("nbf", 61, false),
            ("iat", -1_000_000, true), ("iat", 0, true), ("iat", 10, true), ("iat", 11, false), ("iat", 61, false),
        ] as [(String, Int64, Bool)])
    func times(name: String, seconds: Int64, isTaken: Bool) throws {
        let compact = try Self.assertion([(name, .integer(Self.now + seconds))])
        if isTaken {
            #expect(try Self.verify(compact).clientID == "bank")
        } else {
            #expect(throws: OAuthError(.invalidClient)) { try Self.verify(compact) }
        }
    }

    @Test func anEndIsNeededAndABeginningIsNot() throws {
        let endless = try Self.assertion([("exp", nil)])
        #expect(throws: OAuthError(.invalidClient)) { try Self.verify(endless) }
        #expect(try Self.verify(Self.assertion([("iat", nil), ("nbf", nil)])).clientID == "bank")
    }

    @Test("a time is a date", arguments: ["exp", "nbf", "iat"])
    func dates(name: String) throws {
        for value in [JSON.string("1800000000"), .integer(-1), .number(1e40), .bool(false)] {
            let compact = try Self.assertion([(name, value)])
            #expect(throws: OAuthError(.invalidClient)) { try Self.verify(compact) }
        }
    }

    @Test func anAssertionIsRefusedOnceItNeedNotBeRemembered() throws {
        let compact = try Self.assertion()
        let assertion = try Self.verify(compact)
        func verify(_ now: Timestamp) throws -> VerifiedClientAssertion {
            try Self.verify(compact, within: ValidityWindow(now: now, skew: .seconds(10), longest: .seconds(300)))
        }
        #expect(try verify(assertion.repeatableUntil - .milliseconds(1)) == assertion)
        #expect(throws: OAuthError(.invalidClient)) { try verify(assertion.repeatableUntil) }
    }

    @Test func anAssertionIsKnownAgainByItsClientAndItsName() throws {
        let first = try Self.verify(Self.assertion())
        #expect(try Self.verify(Self.assertion([("exp", .integer(Self.now + 90))])).replayDigest == first.replayDigest)
        #expect(try Self.verify(Self.assertion([("jti", .string("name2"))])).replayDigest != first.replayDigest)
        // Where the client's name ends and the assertion's begins is no matter of taste.
        func digest(_ client: String, _ name: String) throws -> [UInt8] {
            try Self.verify(
                Self.assertion([("iss", .string(client)), ("sub", .string(client)), ("jti", .string(name))])
            ).replayDigest
        }
        #expect(try digest("ab", "c") != digest("a", "bc"))
    }

    @Test("random claims are taken or refused", arguments: 0..<60 as Range<UInt64>)
    func property(seed: UInt64) throws {
        var draw = Draw(seed: seed)
        var claims = Self.claims
        for name in ["iss", "sub", "aud", "jti", "iat", "exp", "nbf"] where draw.below(4) == 0 {
            claims[name] = draw.element(of: [
                nil, .string(draw.text()), .string("bank"), .integer(Self.now + Int64(draw.below(400)) - 50),
                .array([.string(Self.issuer)]), .object([:]),
            ])
        }
        do {
            let assertion = try Self.verify(TestKey.of(.edDSA).sign(claims))
            #expect(claims["iss"] == .string("bank") && claims["sub"] == .string("bank"))
            #expect(claims["aud"] == .string(Self.issuer) && claims["jti"] == .string(assertion.identifier))
        } catch let error as OAuthError {
            #expect(error.code == .invalidClient)
        }
    }
}
