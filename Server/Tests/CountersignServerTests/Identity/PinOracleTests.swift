import Ceremony
import CountersignLinux
import Crypto
import Foundation
import Testing
import UAF
import _Primitives

/// Each attack is made on what this product leaves, and on what a worse one would: there it has to succeed, or it proves
/// nothing.
@Suite("Decision 58: whoever copies what there is cannot tell a right PIN from a wrong one")
struct PinOracleTests {
    private func tells(_ loot: [[UInt8]], _ context: PinScheme.Context, half: [UInt8]? = nil) async throws
        -> Set<String>
    {
        try await PinOracle(having: loot, context: context, half: half).tells(Haul.right, from: Haul.wrong)
    }

    @Test("The database, and the keys of PINs that the server's own key opens, without the phone (47)")
    func database() async throws {
        let haul = try await Haul.shared
        let stored = haul.database + haul.openedKeys
        #expect(try await self.tells(stored, haul.phone) == [])
        // The PIN of a code that waits is the phone's, once it is personalised.
        #expect(try await self.tells(stored, haul.waiting) == [])
        // A server that has the phone's half as well.
        #expect(try await self.tells(haul.openedKeys + [haul.phoneHalf], haul.phone) == ["a key"])
        // A server that keeps PINs as others keep passwords.
        let salt = Array(repeating: UInt8(7), count: 16)
        let hash = Array(SHA256.hash(data: salt + Array(Haul.right.utf8)))
        #expect(try await self.tells([salt, hash], haul.phone) == ["a hash of the PIN"])
    }

    @Test("All that a phone has ever stored, opened by the phone itself, and nothing of what it has sent (46)")
    func phoneStorage() async throws {
        let haul = try await Haul.shared
        #expect(haul.kept.count >= 4)
        #expect(try await self.tells(haul.kept, haul.phone, half: haul.phoneHalf) == [])
        // Phones that keep, in the same storage, something to try a PIN on before they ask the server.
        let key = try await Haul.key(of: Haul.right, haul.phoneHalf, haul.phone)
        let data = try KeyRegistrationData(
            aaid: ServerPinModel.aaid, authenticatorVersion: 1, signatureAlgorithm: .p256Raw,
            publicKeyFormat: .eccX962Raw, finalChallengeHash: RandomSource.system.bytes(32),
            keyID: try KeyID(RandomSource.system.bytes(32)), signCounter: 0, registrationCounter: 0,
            publicKey: Array(key.publicKey.x963Representation))
        let attestation = try Attestation(
            type: .basicSurrogate, signature: Array(key.signature(for: data.signedBytes).rawRepresentation))
        let registration = try RegistrationAssertion(keyRegistrationData: data, attestation: attestation).serialized()
        let pinned = try AES.GCM.seal(
            haul.phoneHalf, using: SymmetricKey(data: SHA256.hash(data: Array(Haul.right.utf8))))
        let salt = RandomSource.system.bytes(16)
        let worse: [(kept: [String: [UInt8]], tells: Set<String>)] = [
            (["registration": registration], ["a key", "a signature"]),
            (["secret-by-pin": Array(try #require(pinned.combined))], ["what the PIN opens"]),
            (
                ["salt": salt, "hash": Array(SHA256.hash(data: salt + Array(Haul.right.utf8)))],
                ["a hash of the PIN"]
            ),
            (["check": Array(SHA256.hash(data: key.publicKey.x963Representation))], ["a key's hash"]),
        ]
        for (kept, tells) in worse {
            let folder = FileManager.default.temporaryDirectory.path + "/phone-\(RandomSource.system.token())"
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let storage = NotedStorage(try EncryptedFileStorage(directory: folder))
            for (name, value) in kept { try storage.write(value, to: name) }
            let read = try kept.keys.compactMap { try storage.read($0) }
            #expect(try await self.tells(haul.kept + read, haul.phone, half: haul.phoneHalf) == tells)
        }
    }

    @Test("The code of an activation, and what the server answers to whoever has it (87)")
    func code() async throws {
        let haul = try await Haul.shared
        #expect(try await self.tells(haul.code, haul.waiting) == [])
        let text = String(decoding: haul.code[0], as: UTF8.self)
        let half = try #require(Base64URL.decode(text.split(separator: "~")[1]))
        let key = try await Haul.key(of: Haul.right, half, haul.waiting)
        // A code that names the key of its PIN, one whose answer does by its hash, and one that the PIN opens.
        let named = Base64URL.encode(Array(key.publicKey.compressedRepresentation))
        #expect(try await self.tells(haul.code + [Array(named.utf8)], haul.waiting) == ["a key"])
        let hash = Array(SHA256.hash(data: key.publicKey.x963Representation))
        #expect(try await self.tells(haul.code + [hash], haul.waiting) == ["a key's hash"])
        let sealed = try AES.GCM.seal(
            Array("an activation".utf8), using: SymmetricKey(data: SHA256.hash(data: Array(Haul.right.utf8))))
        let combined = try #require(sealed.combined)
        let told = Array(Base64URL.encode(Array(combined)).utf8)
        #expect(try await self.tells([told], haul.waiting) == ["what the PIN opens"])
        // A proof of it that was sent as it is.
        let challenge = "a-challenge-of-22-letters"
        let request = try ProveRequest(
            claim: SecretBytes(RandomSource.system.bytes(32)),
            device: Base64URL.encode(RandomSource.system.bytes(32)),
            proof: SealedMessage(json: [
                "kid": .string("1"), "data": .string(Base64URL.encode(RandomSource.system.bytes(200))),
            ]))
        let proof = try key.signature(
            for: ProveRequest.Proof.signedBytes(
                activation: haul.waiting.activation, challenge: challenge, device: request.device))
        let sent = [request.serialized, Array(challenge.utf8), Array(proof.rawRepresentation)]
        #expect(try await self.tells(haul.code + sent, haul.waiting) == ["a signature"])
    }

    @Test("All that a phone has stored and drawn, with everything that it has sent and was answered (T4 with T2)")
    func traffic() async throws {
        let haul = try await Haul.shared
        #expect(haul.traffic.count >= 24)
        #expect(try await self.tells(haul.traffic + haul.storage, haul.phone, half: haul.phoneHalf) == [])
        // The factors of the same phone, had they been sent as they are.
        let key = try await Haul.key(of: Haul.right, haul.phoneHalf, haul.phone)
        let data = try SignedData(
            aaid: ServerPinModel.aaid, authenticatorVersion: 1, mode: .userVerified, signatureAlgorithm: .p256Raw,
            nonce: RandomSource.system.bytes(32), finalChallengeHash: RandomSource.system.bytes(32),
            keyID: try KeyID(RandomSource.system.bytes(32)), signCounter: 0)
        let signature = try key.signature(for: data.signedBytes)
        let assertion = try AuthenticationAssertion(
            signedData: data, signature: Array(signature.rawRepresentation)
        ).serialized()
        let sent = Array(#"{"assertion":"\#(Base64URL.encode(assertion))"}"#.utf8)
        #expect(try await self.tells([sent], haul.phone, half: haul.phoneHalf) == ["a signature"])
    }

    @Test("All that a phone has, with the trail of what was agreed to, traces of both sides, and logs")
    func records() async throws {
        let haul = try await Haul.shared
        #expect(haul.records.count >= 20)
        #expect(try await self.tells(haul.storage + haul.records, haul.phone, half: haul.phoneHalf) == [])
        // A trail that names the keys that signed by their hash.
        let key = try await Haul.key(of: Haul.right, haul.phoneHalf, haul.phone)
        let thumbprint = Base64URL.encode(Array(SHA256.hash(data: key.publicKey.x963Representation)))
        #expect(
            try await self.tells([Array("finished keys=\(thumbprint)".utf8)], haul.phone, half: haul.phoneHalf)
                == ["a key's hash"])
    }

    @Test("All that a phone has, with what was agreed to and the evidence of it, opened")
    func agreements() async throws {
        let haul = try await Haul.shared
        // A document, the challenge of UAF, the statement, and two factors of which one has a signature.
        #expect(haul.agreements.count == 5)
        let signed = haul.agreements.count(where: { String(decoding: $0, as: UTF8.self).contains("\"assertion\"") })
        #expect(signed == 1)
        let copied = haul.storage + haul.agreements
        #expect(try await self.tells(copied, haul.phone, half: haul.phoneHalf) == [])
        // Evidence that has of the PIN what it has of the device.
        let key = try await Haul.key(of: Haul.right, haul.phoneHalf, haul.phone)
        let challenge = String(decoding: haul.agreements[1], as: UTF8.self)
        let data = try SignedData(
            aaid: ServerPinModel.aaid, authenticatorVersion: 1, mode: .userVerified, signatureAlgorithm: .p256Raw,
            nonce: RandomSource.system.bytes(32),
            finalChallengeHash: FinalChallengeParams.hash(ofEncoded: challenge),
            keyID: try KeyID(RandomSource.system.bytes(32)), signCounter: 0)
        let assertion = try AuthenticationAssertion(
            signedData: data, signature: Array(try key.signature(for: data.signedBytes).rawRepresentation)
        ).serialized()
        let kept = Array(#"{"type":"pin","assertion":"\#(Base64URL.encode(assertion))"}"#.utf8)
        #expect(try await self.tells(copied + [kept], haul.phone, half: haul.phoneHalf) == ["a signature"])
        let named = Array(
            #"{"type":"pin","publicKey":"\#(Base64URL.encode(Array(key.publicKey.x963Representation)))"}"#.utf8)
        #expect(try await self.tells(copied + [named], haul.phone, half: haul.phoneHalf) == ["a key"])
    }

    @Test("All that a phone has, with what a registration has left in the database, without the server's key (T5)")
    func registration() async throws {
        let haul = try await Haul.shared
        #expect(try await self.tells(haul.storage + haul.database, haul.phone, half: haul.phoneHalf) == [])
        // The keys as the server's own key opens them.
        #expect(try await self.tells(haul.openedKeys, haul.phone, half: haul.phoneHalf) == ["a key"])
    }

    @Test("Everything: database, the server's keys, the phone, traffic and records, without the PIN service (T6)")
    func everythingButTheService() async throws {
        func everything(_ haul: Haul) -> [[UInt8]] {
            haul.database + haul.openedKeys + haul.storage + haul.traffic + haul.records
        }
        let haul = try await Haul.besideService
        #expect(haul.openedKeys.count >= 2)
        #expect(try await self.tells(everything(haul), haul.phone, half: haul.phoneHalf) == [])
        // With the service's secret too: what was tried is what tells.
        let all = everything(haul) + [Haul.MasterService.master]
        #expect(try await self.tells(all, haul.phone, half: haul.phoneHalf).contains("a key"))
        // A server without such a service.
        let plain = try await Haul.shared
        #expect(try await self.tells(everything(plain), plain.phone, half: plain.phoneHalf).contains("a key"))
    }
}
