import JOSE
import OAuth
import Records
import _Primitives

extension OAuthConformance {
    private static let start = Timestamp(seconds: 1_800_000_000)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start)

    private static func request(_ id: String, to address: String) -> AuthorizationRequestRecord {
        AuthorizationRequestRecord(
            id: id, browserDigest: [UInt8](repeating: 2, count: 32), client: "app", redirectURI: address,
            scope: "openid", state: nil, nonce: nil, codeChallenge: nil, expiresAt: Self.start + .seconds(60))
    }

    static let kinds: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a client without a secret comes back without one") { store in
            var client = ClientRecord(
                id: "app", name: "App", redirectURIs: ["com.example.app:/cb"], postLogoutRedirectURIs: [],
                secretDigest: nil, createdAt: Self.start, settings: ClientSettings(authenticationMethod: "none"))
            try await store.addClient(client, limit: 1, audit: Self.event)
            try expect(try await store.client("app") == client, "the same client")
            client.secretDigest = [UInt8](repeating: 7, count: 32)
            for digest in [client.secretDigest, nil] {
                let changed = try await store.changeClient("app") { current in
                    current.secretDigest = digest
                    return []
                }
                try expect(changed?.secretDigest == digest, "changed")
                try expect(try await store.client("app")?.secretDigest == digest, "and kept")
            }
        },
        ConformanceCheck("what is asked of a client's requests comes back, also after a change") { store in
            var client = ClientRecord(
                id: "app", name: "App", redirectURIs: ["https://app.example/cb"], postLogoutRedirectURIs: [],
                secretDigest: nil, createdAt: Self.start,
                settings: ClientSettings(
                    profile: ClientProfile(
                        security: .fapi2, requiresSignedRequests: true,
                        origins: ["https://a.example", "https://b.example:8443"], detailTypes: ["payment"],
                        signsInDirectly: true)))
            client.settings.sectorIdentifierURI = "https://sector.example/all.json"
            (client.settings.tokens.keyBound, client.settings.tokens.userinfoAlgorithm) = (true, .ps256)
            client.settings.profile.requiresPushedRequests = true
            client.settings.profile.defaultMaximumAge = .seconds(0)
            try await store.addClient(client, limit: 1, audit: Self.event)
            try expect(try await store.client("app") == client, "the same client")
            client.settings.profile = ClientProfile(origins: ["https://c.example"])
            client.settings.profile.defaultMaximumAge = .seconds(999_999_999)
            client.settings.sectorIdentifierURI = nil
            let changed = client.settings
            _ = try await store.changeClient("app") { current in
                current.settings = changed
                return []
            }
            try expect(try await store.client("app") == client, "as it was changed")
            try expect(try await store.clients() == [client], "in the list, too")
        },
        ConformanceCheck("the name of a client's certificate comes back, whatever its kind, also after a change") {
            store in
            var client = ClientRecord(
                id: "app", name: "App", redirectURIs: ["https://app.example/cb"], postLogoutRedirectURIs: [],
                secretDigest: nil, createdAt: Self.start, settings: ClientSettings())
            client.settings.certificateName = ClientCertificateName(.subject, "CN=app,O=Bank: the \u{20AC}")
            try await store.addClient(client, limit: 1, audit: Self.event)
            try expect(try await store.client("app") == client, "the same client")
            for name in ClientCertificateName.Kind.allCases.map({ ClientCertificateName($0, "a:b") }) + [nil] {
                client.settings.certificateName = name
                _ = try await store.changeClient("app") { current in
                    current.settings.certificateName = name
                    return []
                }
                try expect(try await store.client("app") == client, "as it was changed")
            }
        },
        ConformanceCheck("an origin is a client's that has registered it, letter by letter") { store in
            for (id, origins) in [
                ("one", ["https://a.example", "https://shared.example"]), ("two", ["https://shared.example"]),
                ("three", []),
            ] {
                let client = ClientRecord(
                    id: id, name: id, redirectURIs: ["https://app.example/cb"], postLogoutRedirectURIs: [],
                    secretDigest: nil, createdAt: Self.start,
                    settings: ClientSettings(profile: ClientProfile(origins: origins)))
                try await store.addClient(client, limit: 3, audit: Self.event)
            }
            for (origin, client, isThere) in [
                ("https://a.example", nil, true), ("https://a.example", "one", true),
                ("https://a.example", "two", false), ("https://shared.example", "one", true),
                ("https://shared.example", "two", true), ("https://shared.example", "three", false),
                ("https://A.example", nil, false), ("https://a.example/", nil, false), ("https://a", nil, false),
                ("", nil, false), ("null", nil, false), ("https://a.example", "never", false),
            ] as [(String, String?, Bool)] {
                try expect(
                    try await store.hasOrigin(origin, client: client) == isThere, "\(origin) of \(client ?? "any")")
            }
        },
        ConformanceCheck("whoever reads a client after its change has it as it was changed") { store in
            let client = ClientRecord(
                id: "app", name: "0", redirectURIs: ["https://app.example/cb"], postLogoutRedirectURIs: [],
                secretDigest: nil, createdAt: Self.start, settings: ClientSettings())
            try await store.addClient(client, limit: 1, audit: Self.event)
            for number in 1...100 {
                // Other tasks read meanwhile: a state from before the change must not be an answer after the change.
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        _ = try await store.changeClient("app") { current in
                            current.name = "\(number)"
                            return []
                        }
                    }
                    for _ in 0..<8 { group.addTask { _ = try await store.client("app") } }
                    try await group.waitForAll()
                }
                try expect(try await store.client("app")?.name == "\(number)", "as change \(number) left it")
            }
            try expect(try await store.deleteClient("app", audit: Self.event), "taken away")
            try expect(try await store.client("app") == nil, "and not there any more")
        },
        ConformanceCheck("a change that is refused changes nothing, and its error is told") { store in
            let client = ClientRecord(
                id: "one", name: "Bank", redirectURIs: ["https://a.example/"], postLogoutRedirectURIs: [],
                secretDigest: nil, createdAt: Self.start, settings: ClientSettings())
            try await store.addClient(client, limit: 1, audit: Self.event)
            do {
                _ = try await store.changeClient("one") { current in
                    current.name = "Another"
                    throw OAuthError(.invalidRequest)
                }
                throw ConformanceFailure(description: "the change was refused")
            } catch let error as OAuthError {
                try expect(error == OAuthError(.invalidRequest), "its own error")
            }
            try expect(try await store.client("one") == client, "nothing changed")
        },
        ConformanceCheck("a change ends the sign-ins that lead to no address of the client's, and no others") { store in
            let client = ClientRecord(
                id: "app", name: "App", redirectURIs: ["http://127.0.0.1/cb", "https://a.example/cb"],
                postLogoutRedirectURIs: [], secretDigest: nil, createdAt: Self.start,
                settings: ClientSettings(authenticationMethod: "none"))
            try await store.addClient(client, limit: 1, audit: Self.event)
            for (id, address) in [
                ("port", "http://127.0.0.1:51004/cb"), ("site", "https://a.example/cb"),
                ("other", "https://b.example/cb"),
            ] { try await store.addRequest(Self.request(id, to: address)) }
            func left(after change: @escaping @Sendable (inout ClientRecord) -> Void) async throws -> [String] {
                _ = try await store.changeClient("app") { current in
                    change(&current)
                    return []
                }
                var left: [String] = []
                for id in ["port", "site", "other"] where try await store.request(id) != nil { left.append(id) }
                return left
            }
            try expect(try await left { $0.name = "Another" } == ["port", "site"], "the app's own")
            let exact = try await left { $0.settings = ClientSettings() }
            try expect(exact == ["site"], "letter by letter where it is no app")
        },
    ]

    private static func client(_ id: String, owning resources: [String]) -> ClientRecord {
        ClientRecord(
            id: id, name: "API", redirectURIs: [], postLogoutRedirectURIs: [], secretDigest: nil,
            createdAt: Self.start,
            settings: ClientSettings(grantTypes: [], tokens: TokenSettings(resources: resources, audiences: ["urn:z"])))
    }

    static let resources: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a resource has one owner, who is found by it") { store in
            try await store.addClient(Self.client("one", owning: ["urn:a", "urn:b"]), limit: 9, audit: Self.event)
            try await store.addClient(Self.client("two", owning: []), limit: 9, audit: Self.event)
            for resource in ["urn:a", "urn:b"] {
                try expect(try await store.client(owning: resource)?.id == "one", "found by \(resource)")
            }
            for resource in ["urn:A", "urn:", "urn:a ", "urn:z", "", "[\"urn:a\",\"urn:b\"]"] {
                try expect(try await store.client(owning: resource) == nil, "nobody owns \(resource)")
            }
            try await expectError(StoreError(.conflict, "")) {
                try await store.addClient(Self.client("three", owning: ["urn:b"]), limit: 9, audit: Self.event)
            }
            try expect(try await store.client("three") == nil, "not added")
            try await expectError(StoreError(.conflict, "")) {
                _ = try await store.changeClient("two") { current in
                    current.settings.tokens.resources = ["urn:a"]
                    return [Self.event]
                }
            }
            try expect(try await store.client("two")?.settings.tokens.resources == [], "not changed")
            _ = try await store.changeClient("one") { current in
                current.settings.tokens.resources = ["urn:b", "urn:c"]
                return []
            }
            try expect(try await store.client(owning: "urn:a") == nil, "given up")
            try expect(try await store.client(owning: "urn:b")?.id == "one", "its own is no other's")
            _ = try await store.changeClient("two") { current in
                current.settings.tokens.resources = ["urn:a"]
                return []
            }
            try expect(try await store.client(owning: "urn:a")?.id == "two", "another's now")
            _ = try await store.deleteClient("two", audit: Self.event)
            try expect(try await store.client(owning: "urn:a") == nil, "gone with it")
        },
        ConformanceCheck("a grant keeps what its tokens may be for") { store in
            var sample = SampleSignIn("r", secret: [UInt8](repeating: 4, count: 32), client: "c", at: Self.start)
            sample.grant = GrantRecord(
                id: "grant", client: "c", subject: "s", authentication: sample.grant.authentication,
                session: sample.session.id, scope: "openid", resources: ["https://a.example/", "urn:b"],
                expiresAt: Self.start + .seconds(360))
            try await sample.keep(in: store)
            let kept = try await store.grant("grant", token: nil, at: Self.start)?.grant
            try expect(kept == sample.grant, "the whole of it")
        },
    ]

    static let replays: [ConformanceCheck<Subject>] = [
        ConformanceCheck("one of 50 calls takes what counts once, until it is swept after its end") { store in
            let digest = [UInt8](repeating: 1, count: 32)
            let end = Self.start + .seconds(60)
            let winners = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<50 { group.addTask { try await store.takeOnce(digest: digest, until: end) } }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            try expect(winners == 1, "one of 50, not \(winners)")
            try expect(try await store.takeOnce(digest: [UInt8](repeating: 2, count: 32), until: end), "another")
            func sweep(_ seconds: Int, limit: Int = 10) async throws -> Int {
                try await store.sweepAuthorizations(
                    at: Self.start + .seconds(seconds), idleSince: Self.start, limit: limit)
            }
            try expect(try await sweep(59) == 0, "nothing before its end")
            try expect(try await store.takeOnce(digest: digest, until: end) == false, "still taken")
            try expect(try await sweep(60, limit: 1) == 1, "as many as are asked for")
            try expect(try await sweep(60) == 1, "and then the other")
            try expect(try await sweep(60) == 0, "and no more")
        }
    ]
}
