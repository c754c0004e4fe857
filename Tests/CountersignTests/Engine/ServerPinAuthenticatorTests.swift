import Ceremony
import Countersign
import CountersignTestKit
import Crypto
import Foundation
import JOSE
import Testing
import UAF
import UAFClient
import _Primitives

/// A phone with an account, the authenticator of its PIN, and the record as the phone keeps it.
private struct PinPhone {
    static let finalChallenge = "eyJhcHBJRCI6IiJ9"
    static let right = SecretBytes(utf8: "271828")
    static let wrong = SecretBytes(utf8: "271829")

    let world: World
    let device: DeviceIdentity
    let authenticator: ServerPinAuthenticator

    init() async throws {
        self.world = try await World()
        try await self.world.enroll()
        self.device = try await Self.device(self.world, "alice")
        self.authenticator = ServerPinAuthenticator(device: self.device)
    }

    static func device(_ world: World, _ username: Username) async throws -> DeviceIdentity {
        let account = try #require(await world.phone.client.localData.accounts.first { $0.username == username })
        return try #require(try await world.phone.client.deviceIdentity(of: account))
    }

    func newSecret(version: UInt32 = 1) throws -> ServerPinSecret {
        try self.authenticator.newSecret(
            for: PinScheme.Context(server: "https://id.example.com", activation: "activation-1", version: version),
            parameters: PinParameters())
    }

    /// Keeps a record as the phone's own, and reads it again.
    func keep(_ record: StoredServerPin) throws -> StoredServerPin {
        try self.world.phone.storage.write(JSON.object(record.json).serialized, to: "pin")
        guard case .object(let kept) = try JSON(parsing: self.world.phone.storage.read("pin") ?? []) else {
            throw JSONError(.wrongType, "pin")
        }
        return try StoredServerPin(json: kept)
    }

    func register(_ secret: ServerPinSecret, _ pin: SecretBytes = Self.right) async throws -> RegistrationAssertion {
        let encoded = try await self.authenticator.register(
            pin: pin, secret: secret, finalChallenge: Self.finalChallenge)
        return try RegistrationAssertion(parsing: encoded.bytes)
    }

    func authenticate(_ secret: ServerPinSecret, _ pin: SecretBytes = Self.right) async throws
        -> AuthenticationAssertion
    {
        let encoded = try await self.authenticator.authenticate(
            pin: pin, secret: secret, finalChallenge: Self.finalChallenge)
        return try AuthenticationAssertion(parsing: encoded.bytes)
    }

    /// Whether the server, which has what was registered, takes a signature for the PIN's.
    static func takes(_ assertion: AuthenticationAssertion, _ registered: RegistrationAssertion) throws -> Bool {
        let data = registered.keyRegistrationData
        let key = try P256Encoding.publicKey(data.publicKey, format: data.publicKeyFormat)
        let signature = try P256Encoding.signature(
            assertion.signature, algorithm: assertion.signedData.signatureAlgorithm)
        return key.isValidSignature(signature, for: assertion.signedData.signedBytes)
    }
}

@Suite(
    "Decision 58, identity parity 46: the authenticator of the PIN that only the server judges",
    .overEachKeyAbility)
struct ServerPinAuthenticatorTests {
    @Test("A registration has a random name, no counters, and the key of PIN and phone's half, which attests itself")
    func registration() async throws {
        let phone = try await PinPhone()
        let secret = try phone.newSecret()
        let assertion = try await phone.register(secret)
        let data = assertion.keyRegistrationData
        #expect(data.aaid == ServerPinModel.aaid && data.keyID == secret.keyID && data.keyID.bytes.count == 32)
        #expect(data.signCounter == 0 && data.registrationCounter == 0 && data.mode == .userVerified)
        #expect(data.finalChallengeHash == FinalChallengeParams.hash(ofEncoded: PinPhone.finalChallenge))
        #expect(assertion.attestation.type == .basicSurrogate && assertion.attestation.certificates.isEmpty)
        let key = try P256Encoding.publicKey(data.publicKey, format: data.publicKeyFormat)
        let signature = try P256Encoding.signature(assertion.attestation.signature, algorithm: .p256Raw)
        #expect(key.isValidSignature(signature, for: data.signedBytes))
        let sealed = try #require(try Self.sealedSecrets(StoredServerPin(secret)).first)
        let made = try PinScheme.pin1.key(
            pin: PinPhone.right, phoneHalf: SecretBytes(try phone.device.open(sealed)),
            parameters: secret.parameters, context: secret.context)
        #expect(made.publicKey.rawRepresentation == key.rawRepresentation)
        #expect(try phone.newSecret().keyID != secret.keyID)
    }

    @Test("The right PIN signs what the server takes; a wrong one signs too, and the server does not take it (45)")
    func authentication() async throws {
        let phone = try await PinPhone()
        let secret = try phone.keep(StoredServerPin(try phone.newSecret())).secrets[0]
        let registered = try await phone.register(secret)
        let right = try await phone.authenticate(secret)
        #expect(try PinPhone.takes(right, registered))
        let data = right.signedData
        #expect(data.aaid == ServerPinModel.aaid && data.keyID == secret.keyID && data.signCounter == 0)
        #expect(data.mode == .userVerified && data.transactionContentHash.isEmpty && data.nonce.count == 32)
        #expect(data.finalChallengeHash == FinalChallengeParams.hash(ofEncoded: PinPhone.finalChallenge))
        let wrong = try await phone.authenticate(secret, PinPhone.wrong)
        #expect(try !PinPhone.takes(wrong, registered))
        // By its form it is as good.
        #expect(wrong.signature.count == right.signature.count)
        #expect(wrong.signedData.signedBytes.count == right.signedData.signedBytes.count)
    }

    @Test("A PIN that is no PIN by its form is a mistake in the program, and nothing is signed")
    func noPin() async throws {
        let phone = try await PinPhone()
        let secret = try phone.newSecret()
        for pin in ["", String(repeating: "1", count: 129)] {
            await #expect(throws: PinSchemeError(.invalidInput)) { () async throws in
                _ = try await phone.authenticate(secret, SecretBytes(utf8: pin))
            }
        }
    }

    @Test("What was kept signs after a restart with the same key")
    func restart() async throws {
        let phone = try await PinPhone()
        let kept = try phone.keep(StoredServerPin(try phone.newSecret()))
        let registered = try await phone.register(kept.secrets[0])
        let again = try await PinPhone.device(try await phone.world.restarted(), "alice")
        let encoded = try await ServerPinAuthenticator(device: again).authenticate(
            pin: PinPhone.right, secret: kept.secrets[0], finalChallenge: PinPhone.finalChallenge)
        #expect(try PinPhone.takes(try AuthenticationAssertion(parsing: encoded.bytes), registered))
    }

    @Test("A change has both PINs until the server says which it has, each with a secret and a name of its own")
    func change() async throws {
        let phone = try await PinPhone()
        var record = StoredServerPin(try phone.newSecret())
        let first = try await phone.register(record.secrets[0])
        try record.begin(try phone.newSecret(version: 2), beside: 1)
        record = try phone.keep(record)
        #expect(record.secrets.map(\.version) == [1, 2])
        let secret = try #require(record.secret(of: 2))
        let second = try await phone.register(secret, PinPhone.wrong)
        #expect(second.keyRegistrationData.keyID != first.keyRegistrationData.keyID)
        let old = try await phone.authenticate(try #require(record.secret(of: 1)))
        let new = try await phone.authenticate(secret, PinPhone.wrong)
        #expect(try PinPhone.takes(old, first))
        #expect(try PinPhone.takes(new, second))
        #expect(try !PinPhone.takes(new, first))
        let begun = record
        var lost = record
        try record.settle(on: 2)
        #expect(record.secrets == [secret] && record.secret(of: 1) == nil)
        // An answer that was on its way before the change names the old one, and takes nothing away.
        try lost.settle(on: 1)
        #expect(lost == begun)
    }

    @Test(
        "The secret of a change that was lost is never replaced; no change begins beside a version that is not there")
    func lostChange() async throws {
        let phone = try await PinPhone()
        var record = StoredServerPin(try phone.newSecret())
        try record.begin(try phone.newSecret(version: 2), beside: 1)
        let lost = try #require(record.secret(of: 2))
        #expect(throws: ServerPinError.repeatedVersion) {
            try record.begin(try phone.newSecret(version: 2), beside: 1)
        }
        #expect(record.secrets.count == 2 && record.secret(of: 2) == lost)
        let before = record
        #expect(throws: ServerPinError.unknownVersion) { try record.settle(on: 3) }
        #expect(throws: ServerPinError.unknownVersion) {
            try record.begin(try phone.newSecret(version: 4), beside: 3)
        }
        #expect(throws: ServerPinError.repeatedVersion) {
            try record.begin(try phone.newSecret(version: 2), beside: 2)
        }
        #expect(record == before)
    }

    @Test("Another device, or another account of this one, does not open the secret; nor does anybody a damaged one")
    func foreign() async throws {
        let phone = try await PinPhone()
        try await phone.world.enroll("bob")
        let secret = try phone.newSecret()
        let bob = ServerPinAuthenticator(device: try await PinPhone.device(phone.world, "bob"))
        await #expect(throws: ServerPinError.secretGone) { () async throws in
            _ = try await bob.authenticate(
                pin: PinPhone.right, secret: secret, finalChallenge: PinPhone.finalChallenge)
        }
        let text = JSON.object(StoredServerPin(secret).json).text
        let sealed = try #require(try Self.sealedSecrets(StoredServerPin(secret)).first)
        let damaged = sealed.dropLast(3) + (sealed.hasSuffix("AAA") ? "BBB" : "AAA")
        guard case .object(let object) = try JSON(parsing: text.replacing(sealed, with: damaged).utf8) else {
            throw JSONError(.wrongType, "record")
        }
        let record = try StoredServerPin(json: object)
        await #expect(throws: ServerPinError.secretGone) { () async throws in
            _ = try await phone.authenticate(record.secrets[0])
        }
    }

    @Test(
        "Registering and signing, right or wrong, leave nothing on the phone: what is kept was there before the PIN (46)"
    )
    func nothingKept() async throws {
        let phone = try await PinPhone()
        let record = try phone.keep(StoredServerPin(try phone.newSecret()))
        let before = phone.world.phone.storage.snapshot
        _ = try await phone.register(record.secrets[0])
        _ = try await phone.authenticate(record.secrets[0])
        _ = try await phone.authenticate(record.secrets[0], PinPhone.wrong)
        #expect(phone.world.phone.storage.snapshot == before)
    }

    @Test("Nothing that is stored, opened with the device's own keys too, goes with one PIN and not with another (46)")
    func noVerifier() async throws {
        let phone = try await PinPhone()
        let record = try phone.keep(StoredServerPin(try phone.newSecret()))
        let secret = record.secrets[0]
        let registered = try await phone.register(secret)
        _ = try await phone.authenticate(secret)
        // Whoever has the phone unlocked has the phone's half too.
        let sealed = try #require(try Self.sealedSecrets(record).first)
        let phoneHalf = try phone.device.open(sealed)
        let stored = phone.world.phone.storage.snapshot.values.flatMap(Self.everything) + [phoneHalf]
        func traces(of pin: SecretBytes) throws -> [[UInt8]] {
            let key = try PinScheme.pin1.key(
                pin: pin, phoneHalf: SecretBytes(phoneHalf), parameters: secret.parameters,
                context: secret.context)
            let point = Array(key.publicKey.x963Representation)
            let texts = [Array(key.rawRepresentation), Array(point[1..<33]), Array(point[33...])]
            let hashed = texts + [point, Array(key.publicKey.compressedRepresentation)]
            return texts + hashed.map { Array(SHA256.hash(data: $0)) }
        }
        func isKept(_ traces: [[UInt8]], _ stored: [[UInt8]]) -> Bool {
            traces.contains { trace in stored.contains { Self.contains($0, trace) } }
        }
        let (right, wrong) = (try traces(of: PinPhone.right), try traces(of: PinPhone.wrong))
        #expect(!isKept(right, stored) && !isKept(wrong, stored))
        #expect(!stored.contains { Self.contains($0, PinPhone.right.withBytes { Array($0) }) })
        // The registration is what would tell, had it been kept.
        let kept = try registered.serialized()
        #expect(isKept(right, stored + [kept]) && !isKept(wrong, [kept]))
    }

    @Test(
        "What no phone has written is corrupt",
        arguments: [
            #"{}"#, #"{"secrets":[]}"#, #"{"secrets":[1]}"#, #"{"secrets":[SECRET,SECRET]}"#,
            #"{"secrets":[SECRET,OTHER,THIRD]}"#,
        ])
    func corrupt(text: String) async throws {
        let phone = try await PinPhone()
        let secrets = try (1...3).map { try StoredServerPin(phone.newSecret(version: $0)).json.array("secrets")?[0] }
        let filled = zip(["SECRET", "OTHER", "THIRD"], secrets).reduce(text) {
            $0.replacing($1.0, with: $1.1?.text ?? "")
        }
        guard case .object(let object) = try JSON(parsing: filled.utf8) else { throw JSONError(.wrongType, "record") }
        #expect(throws: StorageError(.corrupt, "")) { try StoredServerPin(json: object) }
        guard case .object(let secret)? = secrets[0] else { throw JSONError(.wrongType, "secret") }
        for name in secret.members.map(\.name) {
            for value in [nil, JSON.integer(-1)] {
                var changed = secret
                changed[name] = value
                #expect(throws: StorageError(.corrupt, ""), "\(name)") {
                    try StoredServerPin(json: ["secrets": .array([.object(changed)])])
                }
            }
        }
    }

    @Test("Reflection shows nothing of what is kept")
    func reflection() async throws {
        let record = StoredServerPin(try await PinPhone().newSecret())
        let sealed = try #require(try Self.sealedSecrets(record).first)
        var shown = ""
        dump(record, to: &shown)
        dump(record.secrets[0], to: &shown)
        #expect(!shown.contains(sealed))
    }

    // MARK: - Looking into what is stored

    private static func sealedSecrets(_ record: StoredServerPin) throws -> [String] {
        try (record.json.array("secrets") ?? []).compactMap { value in
            if case .object(let secret) = value { try secret.string("sealed") } else { nil }
        }
    }

    /// A stored value, and whatever is written in it as text or base64url, however deep.
    private static func everything(_ value: [UInt8]) -> [[UInt8]] {
        guard let json = try? JSON(parsing: value) else { return [value] }
        return [value]
            + Self.texts(json).flatMap { text in
                text.split(separator: ".").compactMap { Base64URL.decode($0) }.flatMap(Self.everything) + [
                    Array(text.utf8)
                ]
            }
    }

    private static func texts(_ json: JSON) -> [String] {
        switch json {
        case .string(let text): [text]
        case .array(let values): values.flatMap(Self.texts)
        case .object(let object): object.members.flatMap { Self.texts($0.value) }
        default: []
        }
    }

    private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        guard bytes.count >= part.count else { return false }
        return (0...bytes.count - part.count).contains { bytes[$0...].starts(with: part) }
    }
}
