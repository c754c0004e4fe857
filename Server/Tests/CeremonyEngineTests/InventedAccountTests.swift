import CeremonyEngine
import Crypto
import Foundation
import Records
import SQLStore
import Settings
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("Decision 3, uaf-sections §8.2 and §8.4: whoever does not hold a key does not learn whether it is registered")
struct InventedAccountTests {
    private static let unknown = "nobody"

    /// A server with an account, and what it names to whoever asks by a name.
    private struct Scene {
        let server: TestServer
        let alice: AccountRecord
        let mallory: TestPhone

        init(_ adjust: (inout CeremonyConfiguration) -> Void = { $0.factors = [[.pin]] }) async throws {
            self.server = try TestServer {
                adjust(&$0)
                $0.limits.challengeBurst = 1000
            }
            self.alice = try await self.server.enrol().account
            self.mallory = try await self.server.enrol("mallory").phone
        }

        func request(_ username: String?) async throws -> ReturnUAFRequest {
            try await self.server.engine.requests.authentication(username: username, source: "a")
        }

        func keys(_ username: String) async throws -> [CredentialID] {
            try Forgery.keys(try await self.request(username))
        }

        func answer(_ message: SendUAFResponse) async throws -> ServerResponse {
            try await self.server.engine.authenticationAnswers.judge(message).response
        }
    }

    /// What an attacker can answer, in the name of one of `keys`.
    enum Attempt: CaseIterable, Sendable {
        case ownChallenge, namelessChallenge, ceremony, strangersChallenge, besideOwnKey, otherHash, otherAlgorithm
        case twoKeysOfOne
    }

    private func attempt(_ attempt: Attempt, on name: String, _ scene: Scene) async throws -> ServerResponse {
        let key = try #require(try await scene.keys(name).first)
        switch attempt {
        case .ownChallenge:
            return try await scene.answer(try Forgery.authentication(try await scene.request(name), keys: [key]))
        case .namelessChallenge:
            return try await scene.answer(try Forgery.authentication(try await scene.request(nil), keys: [key]))
        case .ceremony:
            let request = try await scene.server.claimSignIn("for \(name)")
            return try await scene.answer(try Forgery.authentication(request, keys: [key]))
        case .strangersChallenge:
            return try await scene.answer(try Forgery.authentication(try await scene.request("mallory"), keys: [key]))
        case .besideOwnKey:
            return try await scene.answer(
                try Forgery.authentication(try await scene.request(nil), keys: [scene.mallory.id, key]))
        case .otherHash:
            return try await scene.answer(
                try Forgery.authentication(
                    try await scene.request(name), keys: [key], finalChallengeHash: [UInt8](repeating: 0, count: 32)))
        case .otherAlgorithm:
            return try await scene.answer(
                try Forgery.authentication(try await scene.request(name), keys: [key], algorithm: .p256DER))
        case .twoKeysOfOne:
            let other = try Forgery.unknownKey(key.aaid)
            return try await scene.answer(
                try Forgery.authentication(try await scene.request(name), keys: [key, other]))
        }
    }

    @Test(
        "An answer in the name of an invented key is refused as one in the name of a real one",
        arguments: Attempt.allCases)
    func sameRefusal(attempt: Attempt) async throws {
        let scene = try await Scene { $0.factors = [[.pin], [.pin, .fingerprint]] }
        let real = try await self.attempt(attempt, on: "alice", scene)
        let code: UAFStatusCode =
            switch attempt {
            case .strangersChallenge, .besideOwnKey: .unauthorized
            case .otherAlgorithm: .unacceptableAlgorithm
            case .twoKeysOfOne: .unknownKeyID
            default: .unacceptableContent
            }
        #expect(real.statusCode == code)
        #expect((real.newUAFRequest != nil) == (attempt == .twoKeysOfOne))
        for name in ["nobody", "somebody", "no one"] {
            var invented = try await self.attempt(attempt, on: name, scene)
            if attempt == .twoKeysOfOne {
                // Only what nobody has ever named is to be deleted.
                let message = try DeregistrationRequest(parsing: (invented.newUAFRequest ?? "").utf8)
                #expect(message.authenticators.count == 1)
                #expect(invented.newUAFRequest?.utf8.count == real.newUAFRequest?.utf8.count)
                invented.newUAFRequest = real.newUAFRequest
            }
            #expect(invented.serialized == real.serialized, "\(name)")
        }
    }

    @Test("Keys of an invented account are of its devices, and a device's keys answer together as a real one's do")
    func devices() async throws {
        let scene = try await Scene { $0.factors = [[.pin, .fingerprint]] }
        let finger = try TestPhone(factor: .fingerprint)
        let device = try await scene.server.device(of: scene.alice)
        let registration = try await scene.server.engine.requests.registration(of: device)
        #expect(
            try await scene.server.engine.registrationAnswers.judge(try finger.register(registration)).statusCode == .ok
        )
        func answer(_ keys: [CredentialID]) async throws -> ServerResponse {
            try await scene.answer(try Forgery.authentication(try await scene.request(nil), keys: keys))
        }
        let bad = try await answer(try await scene.keys("alice"))
        #expect(bad.statusCode == .unacceptableContent)
        var seen: Set<Int> = []
        for number in 0..<200 {
            let keys = try await scene.keys("nobody \(number)")
            seen.insert(keys.count)
            #expect(Set(keys).count == keys.count)
            #expect(try await answer(Array(keys.prefix(2))).serialized == bad.serialized)
            guard keys.count >= 4 else { continue }
            // One key of each of two devices, as if they were real ones.
            #expect(try await answer([keys[0], keys[3]]).statusCode == .unauthorized)
        }
        #expect(seen == [2, 4, 6], "one device, two and three")
    }

    @Test("Keys stand in the order of their names, an account's that is real as one's that is not")
    func order() async throws {
        let models = [AuthenticatorModel.Factor.face, .fingerprint, .pin].map {
            AuthenticatorModel(factor: $0, keyStore: .file).aaid
        }
        let scene = try await Scene {
            $0.factors = [[.fingerprint]]
            $0.enrolmentFactors = [[.pin], [.face], [.fingerprint]]
            try? $0.policies.add(
                Policy(accepted: [[MatchCriteria(aaid: models)]]), named: "either", metadata: $0.metadata)
        }
        // The document has them the other way round.
        let keys = models.map { "{\"aaid\":\"\($0.text)\",\"keyIdLength\":32}" }.joined(separator: ",")
        let text =
            "{\"devices\":[{\"count\":1,\"weight\":16}],\"sets\":[{\"weight\":16,\"keys\":[\(keys)]}]}"
        guard case .object(let document) = try JSON(parsing: Array(text.utf8)) else {
            Issue.record("no object: \(text)")
            return
        }
        try await scene.server.engine.inventedAccounts.setKeyDistribution(
            try KeyDistribution(json: document), by: "test")
        // Alice has a PIN, as everybody here; her face comes after it, and her finger after that.
        let device = try await scene.server.device(of: scene.alice)
        for factor in [AuthenticatorModel.Factor.face, .fingerprint] {
            let phone = try TestPhone(factor: factor)
            let request = try await scene.server.engine.requests.registration(of: device)
            #expect(
                try await scene.server.engine.registrationAnswers.judge(try phone.register(request)).statusCode == .ok)
        }
        func isOrdered(_ username: String) async throws -> Bool {
            let request = try await scene.server.engine.requests.authentication(username: username, policy: "either")
            let message = try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8)
            let names = try #require(message.policy.accepted.first?.first?.aaid).map(\.text)
            #expect(names.count == 3 && message.policy.accepted[0][0].keyIDs?.count == 3)
            return names == names.sorted()
        }
        #expect(try await isOrdered("alice"))
        for number in 0..<50 { #expect(try await isOrdered("nobody \(number)")) }
    }

    @Test("Invented accounts follow other rules from the moment that the server has them")
    func otherRules() async throws {
        let scene = try await Scene()
        func policies(_ models: [AuthenticatorModel.Factor]) throws -> PolicyCatalog {
            var policies = PolicyCatalog()
            let models = models.map { AuthenticatorModel(factor: $0, keyStore: .file).aaid }
            try policies.add(
                Policy(accepted: [[MatchCriteria(aaid: models)]]), named: "one",
                metadata: scene.server.engine.metadata)
            return policies
        }
        for factor in [AuthenticatorModel.Factor.pin, .fingerprint, .face] {
            try scene.server.engine.replaceRules(
                metadata: scene.server.engine.metadata, policies: try policies([factor]), channelBinding: .ignore)
            for _ in 0..<2 {
                let request = try await scene.server.engine.requests.authentication(
                    username: Self.unknown, policy: "one")
                let models = Set(try Forgery.keys(request).map(\.aaid))
                #expect(models == [AuthenticatorModel(factor: factor, keyStore: .file).aaid])
            }
        }
    }

    @Test("The name of an invented key looks like a real one's, and is of its model alone")
    func names() async throws {
        let scene = try await Scene()
        var all: Set<[UInt8]> = []
        var ones = 0
        for number in 0..<200 {
            for key in try await scene.keys("nobody \(number)") {
                #expect(key.keyID.bytes.count == 32)
                all.insert(key.keyID.bytes)
                ones += key.keyID.bytes.reduce(0) { $0 + $1.nonzeroBitCount }
            }
        }
        // No byte stands still, and half of the bits are set, give or take eight standard deviations.
        for index in 0..<32 { #expect(Set(all.map { $0[index] }).count > 64, "byte \(index)") }
        let bits = Double(all.count * 256)
        #expect(abs(Double(ones) - bits / 2) < 8 * (bits / 4).squareRoot())

        let key = try #require(try await scene.keys(Self.unknown).first)
        let finger = AuthenticatorModel(factor: .fingerprint, keyStore: .file).aaid
        var changed = key.keyID.bytes
        changed[31] ^= 1
        for other in [
            CredentialID(aaid: finger, keyID: key.keyID), CredentialID(aaid: key.aaid, keyID: try KeyID(changed)),
            CredentialID(aaid: key.aaid, keyID: try KeyID(key.keyID.bytes + [0])),
        ] {
            let server = try await scene.server.engine.requests.authentication(username: nil, policy: nil)
            let answer = try await scene.answer(try Forgery.authentication(server, keys: [other]))
            #expect(answer.statusCode == .unknownKeyID && answer.newUAFRequest != nil)
        }
    }

    @Test("A registration of an invented key is refused as one of a real one", arguments: [true, false])
    func registration(inTheApp: Bool) async throws {
        let scene = try await Scene()
        let mallory = try #require(try await scene.server.database.account(username: "mallory"))
        var answers: [ServerResponse] = []
        for name in ["alice", Self.unknown] {
            let key = try #require(try await scene.keys(name).first)
            let request: ReturnUAFRequest
            if inTheApp {
                request = try await scene.server.engine.requests.registration(of: scene.server.device(of: mallory))
            } else {
                let enrolment = try await scene.server.engine.enrolments.createEnrolmentLink(
                    username: "mallory", by: "test")
                request = try await scene.server.engine.redemptions.redeem(
                    token: try TestPhone.token(enrolment.link), operation: .registration)
            }
            answers.append(
                try await scene.server.engine.registrationAnswers.judge(try Forgery.registration(request, keys: [key])))
        }
        #expect(answers[0].statusCode == .unacceptableKey)
        #expect(answers[0].serialized == answers[1].serialized)
    }

    @Test("A key whose attestation was revoked is told only to its holder")
    func revoked() async throws {
        let scene = try await Scene()
        let key = try #require(try await scene.keys("alice").first)
        let stored = try #require(try await scene.server.database.credentials(accountID: scene.alice.id).first)
        var metadata = scene.server.engine.metadata
        let publicKey = try P256.Signing.PublicKey(x963Representation: stored.publicKey).derRepresentation
        let digest = SHA256.hash(data: publicKey).map { String(format: "%02x", $0) }.joined()
        metadata.revoke(try RevocationList(parsing: Array(#"{"keys":["\#(digest)"]}"#.utf8)))
        try scene.server.engine.replaceRules(
            metadata: metadata, policies: PolicyCatalog(), channelBinding: .ignore)
        let forged = try await scene.answer(try Forgery.authentication(try await scene.request("alice"), keys: [key]))
        #expect(forged.statusCode == .unacceptableContent)
    }
}
