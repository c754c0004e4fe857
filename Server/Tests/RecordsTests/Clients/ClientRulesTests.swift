import Records
import Testing
import _Primitives

@Suite("Clients: room, changes, and stored values")
struct ClientRulesTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    private static func client(_ settings: ClientSettings = ClientSettings()) -> ClientRecord {
        ClientRecord(
            id: "client", name: "Client", redirectURIs: ["https://client.example/here"], postLogoutRedirectURIs: [],
            secretDigest: nil, createdAt: Self.now, settings: settings)
    }

    private static func settings(isSignInService: Bool) -> ClientSettings {
        var settings = ClientSettings()
        settings.signInService = isSignInService ? SignInServiceSettings() : nil
        return settings
    }

    @Test(
        "A room has as many places as its limit",
        arguments: [(0, 1, false), (1, 1, true), (2, 1, true), (0, 0, true)])
    func room(count: Int, limit: Int, isFull: Bool) throws {
        let room = ClientRoom(count: count, limit: limit)
        #expect(room.isFull == isFull)
        #expect(room.displaceable == (isFull ? 1 : 0))
        #expect(room.without(1) == ClientRoom(count: count - 1, limit: limit))
        do {
            try room.check("clients")
            #expect(!isFull)
        } catch {
            #expect(isFull)
            #expect(error.code == .conflict)
            #expect(error.reason == "there are \(count) clients")
        }
    }

    @Test("A client that no token has counted is refused")
    func initialTokens() {
        #expect(InitialTokenRecord.refusal.code == .notFound)
    }

    @Test("The grants of a client end when its face changes", arguments: [false, true], [false, true])
    func faces(former: Bool, present: Bool) {
        let effect = ClientChangeEffect(
            of: Self.client(Self.settings(isSignInService: present)), from: Self.settings(isSignInService: former))
        #expect(effect.endsIssued == (former != present))
    }

    @Test("Requests end whose address is the client's no more")
    func addresses() {
        let effect = ClientChangeEffect(of: Self.client(), from: ClientSettings())
        let addresses = ["https://client.example/here", "https://client.example/there"]
        #expect(effect.addressesWithoutAnswer(among: addresses) == ["https://client.example/there"])
        #expect(effect.addressesWithoutAnswer(among: []).isEmpty)
    }

    @Test("Stored words of a client are known words")
    func words() throws {
        for value in ClientSettings.CodeBinding.allCases {
            #expect(try ClientSettings.CodeBinding(kept: value.rawValue) == value)
        }
        for value in ClientSettings.Party.allCases {
            #expect(try ClientSettings.Party(kept: value.rawValue) == value)
        }
        for value in ClientSettings.AnswerDelivery.Mode.allCases {
            #expect(try ClientSettings.AnswerDelivery.Mode(kept: value.rawValue) == value)
        }
        for value in ClientSettings.AssertionAudience.allCases {
            #expect(try ClientSettings.AssertionAudience(kept: value.rawValue) == value)
        }
        for value in ClientProfile.Security.allCases {
            #expect(try ClientProfile.Security(kept: value.rawValue) == value)
        }
        for value in SigningKeyRecord.Face.allCases {
            #expect(try SigningKeyRecord.Face(kept: value.rawValue) == value)
        }
        let corrupt = StoreError(.corrupt, "")
        #expect(throws: corrupt) { try ClientSettings.CodeBinding(kept: "else") }
        #expect(throws: corrupt) { try ClientSettings.Party(kept: "else") }
        #expect(throws: corrupt) { try ClientSettings.AnswerDelivery.Mode(kept: "else") }
        #expect(throws: corrupt) { try ClientSettings.AssertionAudience(kept: "else") }
        #expect(throws: corrupt) { try ClientProfile.Security(kept: "else") }
        #expect(throws: corrupt) { try SigningKeyRecord.Face(kept: "else") }
        #expect(throws: corrupt) { try ClientCertificateName(kept: "else") }
    }

    @Test("A provider without a secret has no keys yet")
    func providerKeys() throws {
        #expect(try ProviderKeys.sealedSecret(found: "sealed") == "sealed")
        #expect(throws: StoreError(.notFound, "")) { try ProviderKeys.sealedSecret(found: nil as String?) }
    }

    @Test("A former secret has an end")
    func formerSecrets() throws {
        #expect(try FormerSecret(kept: nil, endsAt: nil) == nil)
        #expect(try FormerSecret(kept: nil, endsAt: Self.now) == nil)
        #expect(try FormerSecret(kept: [1], endsAt: Self.now) == FormerSecret(digest: [1], endsAt: Self.now))
        #expect(throws: StoreError(.corrupt, "")) { try FormerSecret(kept: [1], endsAt: nil) }
    }

    @Test("No bytes stand for no secret, and lists are read again")
    func values() throws {
        #expect(ClientRecord.secretDigest(kept: []) == nil)
        #expect(ClientRecord.secretDigest(kept: [1]) == [1])
        for list in [[], ["a"], ["a", "\"b\""]] {
            #expect(try ClientRecord.list(kept: ClientRecord.keptText(of: list)) == list)
        }
        for text in ["", "{}", "[1]"] {
            #expect(throws: StoreError(.corrupt, "")) { try ClientRecord.list(kept: text) }
        }
    }

    @Test("A stored registration is read again")
    func registrations() throws {
        let table: [ClientRegistration] = [
            .invited(tokenDigest: [1], initialToken: "token"), .open(tokenDigest: [1]), .document,
        ]
        for registration in table {
            let kept = try ClientRegistration(
                digest: registration.tokenDigest, registeredBy: registration.registeredBy)
            #expect(kept == registration)
        }
        #expect(try ClientRegistration(digest: nil, registeredBy: nil) == nil)
        #expect(throws: StoreError(.corrupt, "")) { try ClientRegistration(digest: nil, registeredBy: "else") }
    }
}
