import Records
import Testing
import _Primitives

@Suite("Connections with other providers")
struct UpstreamConnectionTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let identity = UpstreamIdentity(provider: "town", issuer: "issuer", subject: "subject")

    @Test(
        "An identity gets one account, and an account a limited number of identities",
        arguments: [
            (nil, nil, 0, .refused(.over)), (true, nil, 0, .refused(.over)), (true, "alice", 0, .refused(.over)),
            (false, "alice", 5, .standing), (false, "bob", 5, .refused(.taken)), (false, "bob", 0, .refused(.taken)),
            (false, nil, 4, .connect(Self.identity)), (false, nil, 5, .refused(.full)),
            (false, nil, 6, .refused(.full)),
        ] as [(Bool?, String?, Int, UpstreamConnection)])
    func connections(isLocked: Bool?, holder: String?, links: Int, connection: UpstreamConnection) {
        #expect(
            UpstreamConnection(
                of: Self.identity, to: "alice", isLocked: isLocked, holder: holder, links: links, limit: 5)
                == connection)
    }

    @Test("Without an identity that waits nothing is connected", arguments: [nil, true, false] as [Bool?])
    func nobody(isLocked: Bool?) {
        let connection = UpstreamConnection(
            of: nil, to: "alice", isLocked: isLocked, holder: nil, links: 0, limit: 5)
        #expect(connection == .refused(.over))
    }

    @Test("A newcomer's account is added for an identity without a link alone")
    func people() {
        let newcomer = UpstreamNewcomer(
            account: AccountRecord(id: "new", username: nil, displayName: nil, createdAt: Self.now),
            link: UpstreamLink(
                id: "link", identity: Self.identity, accountID: "new", createdAt: Self.now), audit: [])
        for (linked, added, person) in [
            ("alice", nil, .known(account: "alice")), ("alice", newcomer, .known(account: "alice")),
            (nil, newcomer, .newcomer(newcomer)), (nil, nil, .stranger),
        ] as [(String?, UpstreamNewcomer?, ArrivedPerson)] {
            #expect(ArrivedPerson(linkedTo: linked, newcomer: added) == person)
        }
    }

    @Test("Providers are added up to the limit")
    func room() throws {
        try UpstreamProvider.checkRoom(beside: 4, limit: 5)
        #expect(throws: StoreError(.conflict, "")) { try UpstreamProvider.checkRoom(beside: 5, limit: 5) }
    }

    @Test(
        "An arrival finishes a sign-in by the method of its provider, with the moment of the provider's authentication")
    func finished() {
        let (before, now) = (Timestamp(seconds: 1_800_000_000), Timestamp(seconds: 1_800_000_009))
        let arrival = UpstreamArrival(
            request: "request", identity: UpstreamIdentity(provider: "town", issuer: "https://town", subject: "s"),
            at: before, acr: "urn:x", amr: ["pwd"], browser: "a browser", address: "192.0.2.1")
        #expect(
            arrival.finished(by: "alice", at: now)
                == FinishedSignInRecord(
                    request: "request", method: "provider:town", account: "alice", at: before, acr: "urn:x",
                    amr: ["pwd"], browser: "a browser", address: "192.0.2.1", finishedAt: now))
    }

    @Test("Settings come back from their stored forms")
    func stored() throws {
        let levels = [UpstreamProvider.Level(theirs: "high", ours: "two-factor")]
        let requests = [UpstreamProvider.LevelRequest(asked: "high", sent: ["a", "b"], raised: ["c"])]
        #expect(try UpstreamProvider.Level.list(stored: UpstreamProvider.Level.stored(levels)) == levels)
        #expect(
            try UpstreamProvider.LevelRequest.list(stored: UpstreamProvider.LevelRequest.stored(requests))
                == requests)
        #expect(try UpstreamProvider.texts(stored: UpstreamProvider.stored(["a", "b"])) == ["a", "b"])
        #expect(try UpstreamProvider.texts(stored: #"["a", 1]"#) == ["a"])
        #expect(try UpstreamProvider.Level.list(stored: #"["a"]"#).isEmpty)
        #expect(throws: StoreError(.corrupt, "")) { try UpstreamProvider.texts(stored: "{}") }
        let kind: UpstreamProvider.Kind = try UpstreamProvider.word(stored: "openid")
        #expect(kind == .openID)
        #expect(throws: StoreError(.corrupt, "")) {
            let _: UpstreamProvider.Kind = try UpstreamProvider.word(stored: "else")
        }
    }

    @Test("Endpoints are stored together or not at all")
    func endpoints() {
        #expect(
            UpstreamProvider.Endpoints(
                authorization: Optional("a"), token: Optional("t"), userinfo: Optional("u"))
                == UpstreamProvider.Endpoints(authorization: "a", token: "t", userinfo: "u"))
        for (authorization, token, userinfo) in [(nil, "t", "u"), ("a", nil, "u"), ("a", "t", nil)]
            as [(String?, String?, String?)]
        {
            let endpoints = UpstreamProvider.Endpoints(
                authorization: authorization, token: token, userinfo: userinfo)
            #expect(endpoints == nil)
        }
    }
}
