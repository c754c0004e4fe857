public import Records
import _Primitives

/// The rules for every ``RegistrationStore``, about clients that register themselves.
public enum RegistrationConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any AuditStore & BackchannelStore & ClientStore & DeviceCodeStore & RegistrationStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = Self.tokens + Self.registrations + Self.strangers

    private static let start = Timestamp.start
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start)

    private static func bytes(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private static func token(_ number: UInt8, seconds: Int = 60, left: Int = 1) -> InitialTokenRecord {
        InitialTokenRecord(
            id: "token-\(number)", digest: Self.bytes(number), createdAt: Self.start + .seconds(Int(number)),
            expiresAt: Self.start + .seconds(seconds), left: left)
    }

    private static func add(_ token: InitialTokenRecord, _ store: Subject, at moment: Timestamp = Self.start)
        async throws
    {
        try await store.addInitialToken(token, limit: 2, at: moment, audit: Self.event)
    }

    private static func client(_ id: String) -> ClientRecord {
        var client = ClientRecord(
            id: id, name: "Self", redirectURIs: ["https://self.example/"], postLogoutRedirectURIs: [],
            secretDigest: nil, createdAt: Self.start, settings: ClientSettings(authenticationMethod: "none"))
        client.registration = .invited(tokenDigest: Self.bytes(77), initialToken: "token-1")
        return client
    }

    private static func register(
        _ id: String, _ store: Subject, by number: UInt8 = 1, at moment: Timestamp = Self.start, limit: Int = 99
    ) async throws -> Bool {
        do {
            try await store.register(
                Self.client(id), by: Self.bytes(number), at: moment, limit: limit, audit: Self.event)
            return true
        } catch let error as StoreError where error.code == .notFound {
            return false
        }
    }

    private static let tokens: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a token is found by its digest until it ends, and listed, the oldest first") { store in
            try await Self.add(Self.token(1), store)
            try await Self.add(Self.token(2, seconds: 90, left: 3), store)
            try expect(try await store.initialToken(digest: Self.bytes(1), at: Self.start) == Self.token(1), "whole")
            try expect(try await store.initialToken(digest: Self.bytes(9), at: Self.start) == nil, "no other")
            try expect(
                try await store.initialTokens(at: Self.start) == [Self.token(1), Self.token(2, seconds: 90, left: 3)],
                "both")
            let later = Self.start + .seconds(60)
            try expect(try await store.initialToken(digest: Self.bytes(1), at: later) == nil, "ended")
            try expect(try await store.initialTokens(at: later).map(\.id) == ["token-2"], "not listed")
        },
        ConformanceCheck("there are as many as can be, and those that have ended make room") { store in
            for number: UInt8 in [1, 2] { try await Self.add(Self.token(number), store) }
            try await expectError(StoreError(.conflict, "")) { try await Self.add(Self.token(3), store) }
            let later = Self.start + .seconds(60)
            for number: UInt8 in [3, 4] { try await Self.add(Self.token(number, seconds: 99), store, at: later) }
            try expect(try await store.auditEntries(after: 0, limit: 9).count == 4, "an event each")
        },
        ConformanceCheck("a token that finds no place leaves the ended tokens where they are") { store in
            try await Self.add(Self.token(1, seconds: 10), store)
            try await Self.add(Self.token(2), store)
            let later = Self.start + .seconds(10)
            try await expectError(StoreError(.conflict, "")) {
                try await store.addInitialToken(Self.token(3), limit: 1, at: later, audit: Self.event)
            }
            try expect(try await store.initialTokens(at: Self.start).count == 2, "nothing has changed")
            try await Self.add(Self.token(3), store, at: later)
            try expect(try await store.initialTokens(at: Self.start).map(\.id) == ["token-2", "token-3"], "one went")
        },
        ConformanceCheck("a token that is deleted is worth nothing, once") { store in
            try await Self.add(Self.token(1), store)
            try expect(try await store.deleteInitialToken("token-1", audit: Self.event), "deleted")
            try expect(try await store.deleteInitialToken("token-1", audit: Self.event) == false, "once")
            try expect(try await Self.register("a", store) == false, "worth nothing")
            try expect(try await store.auditEntries(after: 0, limit: 9).count == 2, "two events")
        },
    ]

    private static let registrations: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a client that registers itself comes back with that") { store in
            try await Self.add(Self.token(1), store)
            try expect(try await Self.register("a", store), "registered")
            try expect(try await store.client("a") == Self.client("a"), "the same client")
            try expect(try await store.clients().map(\.registration) == [Self.client("a").registration], "in the list")
            _ = try await store.changeClient("a") { client in
                client.name = "Another"
                return []
            }
            try expect(try await store.client("a")?.registration == Self.client("a").registration, "whatever changes")
        },
        ConformanceCheck("of 50 at once as many register as the token is for") { store in
            try await Self.add(Self.token(1, left: 7), store)
            let count = try await winners(50) { try await Self.register("client-\($0)", store) }
            try expect(count == 7, "seven, not \(count)")
            try expect(try await store.clients().count == 7, "seven clients")
            try expect(try await store.initialTokens(at: Self.start).isEmpty, "used up")
        },
        ConformanceCheck("what is refused counts nothing") { store in
            try await Self.add(Self.token(1), store)
            try expect(try await Self.register("a", store, by: 2) == false, "no such token")
            try expect(try await Self.register("a", store, at: Self.start + .seconds(60)) == false, "ended")
            try await expectError(StoreError(.conflict, "")) { _ = try await Self.register("a", store, limit: 0) }
            try expect(try await store.initialTokens(at: Self.start).map(\.left) == [1], "as it was")
            try expect(try await store.clients().isEmpty, "nobody")
            try expect(try await Self.register("a", store), "it is still good")
        },
    ]

    private static func stranger(_ id: String, _ registration: ClientRegistration, seconds: Int = 0) -> ClientRecord {
        var client = ClientRecord(
            id: id, name: "Stranger", redirectURIs: ["https://stranger.example/"], postLogoutRedirectURIs: [],
            secretDigest: nil, createdAt: Self.start + .seconds(seconds),
            settings: ClientSettings(authenticationMethod: "none", party: .third))
        client.registration = registration
        return client
    }

    private static func add(_ client: ClientRecord, _ store: Subject, limit: Int = 2, unusedSince seconds: Int = -1)
        async throws
    {
        try await store.addStranger(
            client, limit: limit, unusedSince: Self.start + .seconds(seconds), audit: Self.event)
    }

    private static let strangers: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a stranger's client comes back with how it came") { store in
            let open = Self.stranger("open", .open(tokenDigest: Self.bytes(5)))
            let document = Self.stranger("https://stranger.example/client", .document, seconds: 1)
            for client in [open, document] { try await Self.add(client, store) }
            try expect(try await store.clients() == [open, document], "both, whole")
            try await expectError(StoreError(.conflict, "")) { try await Self.add(open, store, limit: 9) }
        },
        ConformanceCheck("strangers' clients and those that were let in take no place of each other") { store in
            for number in 0..<2 { try await Self.add(Self.stranger("\(number)", .document), store) }
            try await expectError(StoreError(.conflict, "")) {
                try await Self.add(Self.stranger("2", .document), store)
            }
            try await Self.add(Self.token(1), store)
            try expect(try await Self.register("invited", store, limit: 1), "there is a place")
            try await expectError(StoreError(.conflict, "")) {
                try await store.addClient(
                    ClientRecord(
                        id: "own", name: "Own", redirectURIs: [], postLogoutRedirectURIs: [], secretDigest: nil,
                        createdAt: Self.start, settings: ClientSettings()), limit: 1, audit: Self.event)
            }
        },
        ConformanceCheck("strangers' clients that nobody uses make room, and no others") { store in
            try await Self.add(Self.stranger("old", .open(tokenDigest: Self.bytes(5))), store)
            try await Self.add(Self.stranger("off", .document), store)
            _ = try await store.changeClient("off") { client in
                client.settings.isDisabled = true
                return []
            }
            try await Self.add(Self.token(1), store)
            try expect(try await Self.register("invited", store), "an older one, let in")
            try await Self.add(Self.stranger("new", .document, seconds: 9), store, unusedSince: 0)
            try expect(try await Set(store.clients().map(\.id)) == ["off", "invited", "new"], "the old one is gone")
            try await expectError(StoreError(.conflict, "")) {
                try await Self.add(Self.stranger("next", .document, seconds: 9), store, unusedSince: 8)
            }
            try expect(try await store.clients().count == 3, "nothing has changed")
        },
        ConformanceCheck("for a stranger's client that is refused no client makes room") { store in
            try await Self.add(Self.stranger("old", .document), store)
            var owner = Self.client("owner")
            owner.settings.tokens.resources = ["urn:owned"]
            owner.registration = nil
            try await store.addClient(owner, limit: 9, audit: Self.event)
            var greedy = Self.stranger("new", .document, seconds: 9)
            greedy.settings.tokens.resources = ["urn:owned"]
            for refused in [greedy, Self.stranger("owner", .document, seconds: 9)] {
                try await expectError(StoreError(.conflict, "")) {
                    try await Self.add(refused, store, limit: 1, unusedSince: 0)
                }
                try expect(try await Set(store.clients().map(\.id)) == ["old", "owner"], "nothing has changed")
            }
            try expect(try await store.auditEntries(after: 0, limit: 9).count == 2, "no event of the refused")
        },
        ConformanceCheck("a stranger's client that makes room takes along what waits for its people") { store in
            try await Self.add(Self.stranger("old", .document), store)
            let userCode = TypedCode(of: [UInt8](0..<8))
            let end = Self.start + .seconds(600)
            try await store.addDeviceCode(
                DeviceCodeRecord(
                    digest: Self.bytes(8), userCode: userCode, client: "old", scope: "openid", interval: .seconds(5),
                    expiresAt: end), keptUntil: end)
            try await store.addBackchannelRequest(
                BackchannelRequestRecord(
                    id: "asked", digest: Self.bytes(9), client: "old", scope: "openid", interval: .seconds(5),
                    expiresAt: end), keptUntil: end)
            try expect(try await store.deviceCode(userCode: userCode) != nil, "a device waits")
            try expect(try await store.backchannelRequest("asked", at: Self.start) != nil, "a person is asked")
            try await Self.add(Self.stranger("new", .document, seconds: 9), store, limit: 1, unusedSince: 0)
            try expect(try await store.clients().map(\.id) == ["new"], "the old one is gone")
            try expect(try await store.deviceCode(userCode: userCode) == nil, "no device waits")
            try expect(try await store.backchannelRequest("asked", at: Self.start) == nil, "nobody is asked")
        },
    ]
}
