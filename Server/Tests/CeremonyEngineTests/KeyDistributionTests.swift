import Accounts
import CeremonyEngine
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("Threat model, Learning which accounts exist: what invented accounts look like")
struct KeyDistributionTests {
    private static func aaid(_ factor: AuthenticatorModel.Factor) -> AAID {
        AuthenticatorModel(factor: factor, keyStore: .file).aaid
    }

    private static func object(_ text: String) throws -> JSONObject {
        guard case .object(let object) = try JSON(parsing: text.utf8) else { throw CeremonyError(.invalidRequest) }
        return object
    }

    /// Half of the devices have a PIN, a quarter finger and face, a quarter a password whose keys have longer names.
    private static let document = """
        {"devices":[{"count":1,"weight":8},{"count":2,"weight":8}],"sets":[
        {"weight":8,"keys":[{"aaid":"C516#0001","keyIdLength":32}]},
        {"weight":4,"keys":[{"aaid":"C516#0003","keyIdLength":32},{"aaid":"C516#0004","keyIdLength":33}]},
        {"weight":4,"keys":[{"aaid":"C516#0002","keyIdLength":200}]}]}
        """

    private func server(_ document: String = Self.document) async throws -> TestServer {
        let server = try TestServer { $0.limits.proposalAccounts = 2 }
        try await server.engine.inventedAccounts.setKeyDistribution(
            try KeyDistribution(json: try Self.object(document)), by: "test")
        return server
    }

    private func keys(_ name: String, _ server: TestServer) async throws -> [CredentialID] {
        try Forgery.keys(try await server.engine.requests.authentication(username: name, policy: nil))
    }

    @Test("Over many names they follow the document: devices, keys together, and the lengths of names")
    func follows() async throws {
        let server = try await self.server()
        let names = 600
        var (devices, ofModel) = (0, [String: Int]())
        for number in 0..<names {
            let keys = try await self.keys("nobody \(number)", server)
            let counts = keys.reduce(into: [String: Int]()) {
                $0["\($1.aaid) \($1.keyID.bytes.count)", default: 0] += 1
            }
            #expect(counts["C516#0003 32"] == counts["C516#0004 33"], "which a device has together")
            let own = keys.count - (counts["C516#0004 33"] ?? 0)
            #expect((1...2).contains(own))
            devices += own
            ofModel.merge(counts, uniquingKeysWith: +)
        }
        #expect(Set(ofModel.keys) == ["C516#0001 32", "C516#0003 32", "C516#0004 33", "C516#0002 200"])
        // Six standard deviations.
        func isNear(_ count: Int, _ share: Double, of total: Int) -> Bool {
            let mean = share * Double(total)
            return abs(Double(count) - mean) < 6 * (mean * (1 - share)).squareRoot()
        }
        #expect(isNear(devices - names, 0.5, of: names))
        for (model, share) in [("C516#0001 32", 0.5), ("C516#0003 32", 0.25), ("C516#0002 200", 0.25)] {
            #expect(isNear(ofModel[model] ?? 0, share, of: devices), "\(model)")
        }
    }

    @Test("Two spellings of a name that Unicode holds for the same have one invented account, as they have one account")
    func spellings() async throws {
        let server = try await self.server()
        #expect(try await self.keys("jos\u{E9}", server) == self.keys("jose\u{301}", server))
        #expect(try await self.keys("jos\u{E9}", server) != self.keys("jose", server))
    }

    @Test("A name's answer follows neither time nor the accounts that there are, but the document alone")
    func isNotDerived() async throws {
        let server = try await self.server()
        func answers() async throws -> [[CredentialID]] {
            var answers: [[CredentialID]] = []
            for number in 0..<20 { answers.append(try await self.keys("nobody \(number)", server)) }
            return answers
        }
        let before = try await answers()
        for name in ["alice", "bob", "carol"] { try await server.enrol(name) }
        server.clock.advance(.seconds(86_400))
        try await server.engine.sweep.run()
        #expect(try await answers() == before)
        try await server.engine.inventedAccounts.setKeyDistribution(nil, by: "test")
        #expect(try await answers() != before)
        #expect(try await server.engine.inventedAccounts.keyDistribution() == .standard)
        try await server.engine.inventedAccounts.setKeyDistribution(
            try KeyDistribution(json: Self.object(Self.document)), by: "test")
        #expect(try await answers() == before)
        let kinds = try await server.database.auditEntries(after: 0, limit: 999).map(\.event.kind.rawValue)
        #expect(kinds.count { $0 == "invented-accounts-set" } == 3)
    }

    @Test("Another server over the same store and key answers alike, before the document is set at the first and after")
    func anotherServer() async throws {
        let server = try TestServer()
        let other = try server.anotherEngine()
        func answers(_ engine: CeremonyEngine) async throws -> [[CredentialID]] {
            var answers: [[CredentialID]] = []
            for number in 0..<20 {
                answers.append(
                    try Forgery.keys(
                        try await engine.requests.authentication(username: "nobody \(number)", policy: nil)))
            }
            return answers
        }
        var before = try await answers(server.engine)
        #expect(try await answers(other) == before)
        // Each has read the document before this one. What changes is of three devices in four, so that twenty names tell:
        // that none of them has a device of one in four happens once in five thousand times.
        for document in [Self.document, Self.document.replacing(#""keyIdLength":32"#, with: #""keyIdLength":48"#), nil]
        {
            try await server.engine.inventedAccounts.setKeyDistribution(
                try document.map { try KeyDistribution(json: try Self.object($0)) }, by: "test")
            let after = try await answers(server.engine)
            #expect(after != before)
            #expect(try await answers(other) == after)
            before = after
        }
    }

    @Test("A stored document that is none is told to the operator, once, and does not tell names apart")
    func spoiltDocument() async throws {
        let told = Mutex(0)
        let server = try TestServer { $0.inventedAccountsRefused = { told.withLock { $0 += 1 } } }
        try await server.enrol()
        let before = try await self.keys("nobody", server)
        for (count, document) in ["none", #"{"devices":[],"sets":[]}"#].enumerated() {
            try await server.database.setInventedAccounts(
                document, audit: AuditEvent(.inventedAccountsSet, at: server.clock.now))
            for _ in 0..<3 {
                #expect(try await !self.keys("alice", server).isEmpty)
                #expect(try await self.keys("nobody", server) == before)
                #expect(try await server.engine.inventedAccounts.keyDistribution() == .standard)
            }
            #expect(told.withLock { $0 } == count + 1)
        }
    }

    @Test("A name of any length is judged as a registered key's, and one that differs by a byte is not")
    func longNames() async throws {
        let server = try await self.server()
        func answer(_ key: CredentialID) async throws -> UAFStatusCode {
            let request = try await server.engine.requests.authentication(username: nil, policy: nil)
            return try await server.engine.authenticationAnswers.judge(try Forgery.authentication(request, keys: [key]))
                .response.statusCode
        }
        var lengths: Set<Int> = []
        for number in 0..<40 {
            for key in try await self.keys("nobody \(number)", server) {
                let name = key.keyID.bytes
                guard lengths.insert(name.count).inserted else { continue }
                #expect(try await answer(key) == .unacceptableContent, "\(name.count) bytes")
                var changed = name
                changed[name.count - 1] ^= 1
                var others = [changed]
                for byte in UInt8.min...UInt8.max { others.append(name + [byte]) }
                if name.count > 32 { others += [Array(name.dropLast()), Array(name.prefix(32))] }
                for other in others {
                    let unknown = CredentialID(aaid: key.aaid, keyID: try KeyID(other))
                    #expect(try await answer(unknown) == .unknownKeyID, "\(other.count) bytes")
                }
            }
        }
        #expect(lengths == [32, 33, 200])
    }

    @Test("Models are never outside the policy, also where the document has none of it")
    func policy() async throws {
        let server = try TestServer { $0.factors = [[.devicePasscode], [.face, .pin]] }
        try await server.engine.inventedAccounts.setKeyDistribution(
            try KeyDistribution(json: Self.object(Self.document)), by: "test")
        // A policy of the device's passcode accepts a finger or a face that the passcode can replace.
        let replaceable = [AuthenticatorModel.Factor.fingerprint, .face].map {
            AuthenticatorModel(factor: $0, keyStore: .file, allowsPasscode: true).aaid
        }
        let allowed = Set([Self.aaid(.devicePasscode), Self.aaid(.face), Self.aaid(.pin)] + replaceable)
        var seen: Set<AAID> = []
        for number in 0..<60 {
            let keys = try await self.keys("nobody \(number)", server)
            #expect(!keys.isEmpty)
            seen.formUnion(keys.map(\.aaid))
        }
        #expect(seen == allowed)
    }

    @Test("A proposal resembles what is there in sixteenths, without what few accounts have, and sets nothing")
    func proposal() async throws {
        let server = try await self.server()
        let before = try await server.engine.inventedAccounts.keyDistribution()
        try await server.enrol("alice")
        #expect(try await server.engine.inventedAccounts.proposedKeyDistribution() == nil, "one account is too few")
        for name in ["bob", "carol"] { try await server.enrol(name) }
        // Two devices, which only one account has, and a fingerprint, which only one has.
        _ = try await server.addPhone(to: "carol", factor: .fingerprint)
        let proposal = try #require(try await server.engine.inventedAccounts.proposedKeyDistribution())
        #expect(proposal.devices == [16, 0, 0])
        #expect(proposal.sets.map(\.weight) == [16])
        #expect(proposal.sets.first?.keys.map(\.aaid) == [Self.aaid(.pin)])
        #expect(proposal.sets.first?.keys.map(\.keyIDLength) == [32])
        #expect(try KeyDistribution(json: proposal.json) == proposal)
        #expect(try await server.engine.inventedAccounts.keyDistribution() == before)
    }

    @Test(
        "Sixteenths add up: what rounding leaves goes to the largest remainders, of those that are alike to the first")
    func sixteenths() async throws {
        let server = try await self.server()
        let factors: [AuthenticatorModel.Factor] = [.pin, .pin, .pin, .fingerprint, .fingerprint, .face, .face]
        for (index, factor) in factors.enumerated() {
            _ = try await server.directory.create(username: "person-\(index)", displayName: nil, by: "test")
            _ = try await server.addPhone(to: "person-\(index)", factor: factor)
        }
        for name in ["person-0", "person-1"] { _ = try await server.addPhone(to: name, name: "Second phone") }
        let proposal = try #require(try await server.engine.inventedAccounts.proposedKeyDistribution())
        // Five and two of seven accounts: 11 3/7 and 4 4/7.
        #expect(proposal.devices == [11, 5, 0])
        // Three, two and two: 6 6/7, 4 4/7 and 4 4/7.
        #expect(proposal.sets.map(\.weight) == [7, 5, 4])
        #expect(proposal.sets.map { $0.keys.map(\.aaid) } == [.pin, .fingerprint, .face].map { [Self.aaid($0)] })
        #expect(try KeyDistribution(json: proposal.json) == proposal)
    }

    static let unusable = [
        "{}", #"{"devices":[{"count":1,"weight":16}]}"#, #"{"devices":[],"sets":[]}"#,
        Self.document.replacing(#""count":2,"weight":8"#, with: #""count":2,"weight":7"#),
        Self.document.replacing(#""count":2"#, with: #""count":4"#),
        Self.document.replacing(#""count":2"#, with: #""count":1"#),
        Self.document.replacing(#""weight":4,"keys""#, with: #""weight":5,"keys""#),
        Self.document.replacing("C516#0004", with: "C516#0003"), Self.document.replacing("C516#0004", with: "none"),
        Self.document.replacing("200", with: "31"), Self.document.replacing("200", with: "2049"),
        Self.document.replacing(#"{"devices""#, with: #"{"more":1,"devices""#),
    ]

    @Test("A document that cannot be meant is refused", arguments: Self.unusable)
    func refused(document: String) throws {
        #expect(throws: CeremonyError(.invalidRequest)) { try KeyDistribution(json: try Self.object(document)) }
    }

    @Test(
        "A model without metadata, or of personalised identities alone, is refused, and nothing is set",
        arguments: ["ABCD#0004", "C516#0007"])
    func unknownModel(aaid: String) async throws {
        let server = try await self.server()
        let other = try KeyDistribution(
            json: Self.object(Self.document.replacing("C516#0004", with: aaid)))
        await #expect(throws: CeremonyError(.invalidRequest)) {
            try await server.engine.inventedAccounts.setKeyDistribution(other, by: "test")
        }
        #expect(try await server.engine.inventedAccounts.keyDistribution().json == Self.object(Self.document))
    }
}
