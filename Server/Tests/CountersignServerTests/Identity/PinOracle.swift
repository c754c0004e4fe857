import Ceremony
import Crypto
import Foundation
import UAF
import _Primitives

/// Somebody who has copied what they could, and tries PINs on it without asking any server.
///
/// They know how this product works, and how others do: that a PIN's key is made of the PIN and of 32 bytes, that PINs are
/// hashed with a salt, that things are encrypted by them; and that a PIN service may have a secret, too. They try every value
/// that they have as each of those.
struct PinOracle: Sendable {
    /// Every value, and whatever is written in it as text, JSON or base64url, however deep.
    private let values: [[UInt8]]
    /// What the PIN's key is bound to.
    private let context: PinScheme.Context
    /// What could be the random half of the PIN's key.
    private let halves: [[UInt8]]
    /// Parts of a key, with a name of the way that they were made.
    private typealias Trace = (name: String, bytes: [UInt8])

    /// - Parameters:
    ///   - context: What the PIN's key is bound to, which is no secret.
    ///   - half: The random half of the PIN's key, for whoever has it; without, every value of its length could be it.
    init(having loot: [[UInt8]], context: PinScheme.Context, half: [UInt8]? = nil) {
        var values: Set<[UInt8]> = []
        for value in loot { Self.unpack(value, into: &values, depth: 6) }
        self.values = Array(values)
        self.context = context
        self.halves = half.map { [$0] } ?? self.values.filter { $0.count == PinScheme.phoneHalfBytes }
    }

    /// How one PIN is told from another: empty where it is not.
    func tells(_ pin: String, from other: String) async throws -> Set<String> {
        try await TriedPins.run {
            let found = self.traces(of: pin).subtracting(self.traces(of: other))
            // A half with which nothing goes with this PIN tells it from no other.
            let telling = try self.halves.filter { try !self.traces(of: pin, with: $0).isEmpty }
            return try telling.reduce(into: found) { found, half in
                found.formUnion(try self.traces(of: pin, with: half).subtracting(self.traces(of: other, with: half)))
            }
        }
    }

    // MARK: What goes with a PIN

    private func traces(of pin: String) -> Set<String> {
        self.decrypted(by: pin).union(self.names(of: self.hashes(of: pin)))
    }

    private func traces(of pin: String, with half: [UInt8]) throws -> Set<String> {
        let services = self.values.filter { $0.count == PinServiceKey.masterBytes }.map {
            TriedPins.evaluator(master: $0, activation: self.context.activation)
        }
        let keys =
            try [TriedPins.key(of: pin, half, self.context)]
            + services.compactMap { try? TriedPins.key(of: pin, half, self.context, evaluate: $0) }
        return keys.reduce(into: []) { found, key in
            found.formUnion(self.names(of: Self.parts(of: key)))
            if self.hasSigned(key) { found.insert("a signature") }
        }
    }

    /// The names of those that stand in any value.
    private func names(of traces: [Trace]) -> Set<String> {
        let sought = SecretsSeen()
        for trace in traces { sought.note(Base64URL.encode(trace.bytes), as: trace.name) }
        let finder = SecretFinder(sought)
        return self.values.reduce(into: []) { $0.formUnion(finder.names(in: $1)) }
    }

    private static func parts(of key: P256.Signing.PrivateKey) -> [Trace] {
        let point = Array(key.publicKey.x963Representation)
        let parts = [
            Array(key.rawRepresentation), point, Array(point[1..<33]), Array(point[33...]),
            Array(key.publicKey.compressedRepresentation),
        ]
        return parts.map { ("a key", $0) } + parts.map { ("a key's hash", Array(SHA256.hash(data: $0))) }
    }

    private func hashes(of pin: String) -> [Trace] {
        let pin = Array(pin.utf8)
        let salted = self.values.filter { $0.count <= 64 }.flatMap { salt in
            [
                Array(SHA256.hash(data: salt + pin)), Array(SHA256.hash(data: pin + salt)),
                Array(HMAC<SHA256>.authenticationCode(for: pin, using: SymmetricKey(data: salt))),
            ]
        }
        return (salted + [Array(SHA256.hash(data: pin))]).map { ("a hash of the PIN", $0) }
    }

    /// Whether any value is something that the key has signed: factors, a registration, the proof of an activation.
    private func hasSigned(_ key: P256.Signing.PrivateKey) -> Bool {
        func isValid(_ signature: [UInt8], _ message: [UInt8]) -> Bool {
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.publicKey.isValidSignature(signature, for: message)
        }
        let challenges = self.values.filter { (22...44).contains($0.count) }.compactMap {
            String(validating: $0, as: UTF8.self)
        }
        let devices = self.values.compactMap { try? ProveRequest(parsing: $0).device }
        let proofs = challenges.flatMap { challenge in
            devices.map {
                ProveRequest.Proof.signedBytes(
                    activation: self.context.activation, challenge: challenge, device: $0)
            }
        }
        return self.values.contains { value in
            if let assertion = try? AuthenticationAssertion(parsing: value) {
                return isValid(assertion.signature, assertion.signedData.signedBytes)
            }
            if let assertion = try? RegistrationAssertion(parsing: value) {
                return isValid(assertion.attestation.signature, assertion.keyRegistrationData.signedBytes)
            }
            return value.count == 64 && proofs.contains { isValid(value, $0) }
        }
    }

    /// Whether any value opens by the PIN.
    private func decrypted(by pin: String) -> Set<String> {
        let key = SymmetricKey(data: SHA256.hash(data: Array(pin.utf8)))
        let opens = self.values.contains { value in
            guard (29...4096).contains(value.count), let box = try? AES.GCM.SealedBox(combined: value) else {
                return false
            }
            return (try? AES.GCM.open(box, using: key)) != nil
        }
        return opens ? ["what the PIN opens"] : []
    }

    // MARK: Reading

    private static func unpack(_ value: [UInt8], into values: inout Set<[UInt8]>, depth: Int) {
        guard depth > 0, !value.isEmpty, values.insert(value).inserted else { return }
        // Whatever looks like base64url is decoded, wherever it stands: in JSON, in signed tokens, in lines of logs.
        var letters: [UInt8] = []
        func take() {
            if letters.count >= 20, let decoded = Base64URL.decode(utf8: letters) {
                values.insert(letters)
                Self.unpack(decoded, into: &values, depth: depth - 1)
            }
            letters = []
        }
        for byte in value {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                letters.append(byte)
            default: take()
            }
        }
        take()
    }
}
