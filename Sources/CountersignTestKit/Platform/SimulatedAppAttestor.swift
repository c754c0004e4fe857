import Crypto
import Synchronization
import UAF
public import UAFClient
public import _Primitives

/// A simulated App Attest, for tests and demonstrations: attestations and assertions of Apple's form (decision 124),
/// under a root of its own.
///
/// A server takes the attestations only if an operator has named ``root`` to the server. Nothing of value may depend on
/// such an attestation: the private key of the root lies in the program.
public final class SimulatedAppAttestor: AppAttestor {
    /// A lie of the attestor, or a failure.
    public enum Fault: Hashable, Sendable {
        /// Another app has made the evidence: the name is a team and a bundle, joined by a period.
        case app(String)
        /// A development build has the key.
        case development
        /// The evidence is about other client data.
        case otherClientData
        /// The counter of an assertion stays at this number.
        case counter(UInt32)
        /// The service gives no evidence.
        case error(AppAttestorError)
    }

    private struct State {
        var keys: [String: P256.Signing.PrivateKey] = [:]
        var counters: [String: UInt32] = [:]
        var fault: Fault?
    }

    /// The name of the app: a team and a bundle, joined by a period.
    public let app: String
    /// The certificate of the root, DER. The subject says that the root is simulated.
    public let root: [UInt8]
    private let rootKey: TestKeyPair
    private let random: RandomSource
    private let state = Mutex(State())

    /// Creates the service of an app. Equal bytes of `rootRandom` make the same key of the root, whose
    /// certificate is signed anew each time; `random` makes the app's keys.
    public init(app: String, rootRandom: RandomSource = .system, random: RandomSource = .system) throws {
        self.app = app
        self.random = random
        self.rootKey = try TestKeyPair(p256: rootRandom)
        self.root = try TestCertificates.certificate(
            [1], subject: Self.rootName, key: self.rootKey, issuer: Self.rootName, signedBy: self.rootKey,
            extensions: TestCertificates.authority(true))
    }

    /// The subject of the root.
    public static let rootName = "Simulated App Attestation Root (for tests alone)"

    /// Sets a fault from now on; `nil` for right evidence.
    public func lie(_ fault: Fault?) { self.state.withLock { $0.fault = fault } }

    /// Forgets all keys, as a reinstallation of the app does.
    public func forgetKeys() { self.state.withLock { $0.keys = [:] } }

    public func attestation(clientDataHash: [UInt8]) async throws -> AppAttestation {
        let fault = try self.fault()
        let key = try P256.Signing.PrivateKey(
            rawRepresentation: Array(SHA256.hash(data: self.random.bytes(32))))
        let point = Array(key.publicKey.x963Representation)
        let name = Array(SHA256.hash(data: point))
        let model: [UInt8] =
            fault == .development
            ? Array("appattestdevelop".utf8) : Array("appattest".utf8) + [UInt8](repeating: 0, count: 7)
        // WebAuthn, section 6.1: hash, flags, counter, model, length and name of the key, and the key (RFC 9053).
        let data =
            self.head(flags: 0x40, counter: 0, fault) + model + [0, 32] + name
            + [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20] + point[1..<33] + [0x22, 0x58, 0x20]
            + point[33...]
        let nonce = Array(SHA256.hash(data: data + Self.clientData(clientDataHash, fault)))
        let leaf = try self.leaf(of: key, nonce: nonce)
        let keyID = Self.base64(name)
        self.state.withLock { $0.keys[keyID] = key }
        return AppAttestation(
            keyID: keyID,
            object: CBOR.map([
                ("fmt", CBOR.text("apple-appattest")),
                (
                    "attStmt",
                    CBOR.map([
                        ("x5c", CBOR.array([CBOR.bytes(leaf)])), ("receipt", CBOR.bytes(Array("simulated".utf8))),
                    ])
                ),
                ("authData", CBOR.bytes(data)),
            ]))
    }

    public func assertion(clientDataHash: [UInt8], keyID: String) async throws -> [UInt8] {
        let fault = try self.fault()
        let (key, next) = try self.state.withLock { state in
            guard let key = state.keys[keyID] else { throw AppAttestorError.keyGone }
            let next = (state.counters[keyID] ?? 0) + 1
            state.counters[keyID] = next
            return (key, next)
        }
        let counter = if case .counter(let number)? = fault { number } else { next }
        let data = self.head(flags: 0, counter: counter, fault)
        let signed = Array(SHA256.hash(data: data + Self.clientData(clientDataHash, fault)))
        return CBOR.map([
            ("signature", CBOR.bytes(Array(try key.signature(for: signed).derRepresentation))),
            ("authenticatorData", CBOR.bytes(data)),
        ])
    }

    private func fault() throws -> Fault? {
        let fault = self.state.withLock { $0.fault }
        if case .error(let error)? = fault { throw error }
        return fault
    }

    private static func clientData(_ hash: [UInt8], _ fault: Fault?) -> [UInt8] {
        fault == .otherClientData ? Array(SHA256.hash(data: hash)) : hash
    }

    private func head(flags: UInt8, counter: UInt32, _ fault: Fault?) -> [UInt8] {
        let app = if case .app(let name)? = fault { name } else { self.app }
        return Array(SHA256.hash(data: Array(app.utf8))) + [flags]
            + (0..<4).reversed().map { UInt8(truncatingIfNeeded: counter >> ($0 * 8)) }
    }

    /// The certificate of a key, with the nonce in Apple's extension 1.2.840.113635.100.8.2.
    private func leaf(of key: P256.Signing.PrivateKey, nonce: [UInt8]) throws -> [UInt8] {
        try TestCertificates.certificate(
            [2], subject: "Simulated app key", subjectPublicKeyInfo: Array(key.publicKey.derRepresentation),
            issuer: Self.rootName, signedBy: self.rootKey,
            extensions: [
                DER.sequence(
                    DER.identifier(0x55, 29, 15), DER.yes, DER.octetString(DER.bitString([0x80], unusedBits: 7))),
                DER.sequence(
                    DER.identifier(0x2A, 840, 113_635, 100, 8, 2),
                    DER.octetString(DER.sequence(DER.explicit(1, DER.octetString(nonce))))),
            ])
    }

    /// The bytes in Base64 with padding (RFC 4648, section 4), as App Attest names keys.
    private static func base64(_ bytes: [UInt8]) -> String {
        let text = Base64URL.encode(bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return String(text) + String(repeating: "=", count: (4 - text.count % 4) % 4)
    }
}

/// The forms of CBOR (RFC 8949) that App Attest writes.
private enum CBOR {
    static func bytes(_ bytes: [UInt8]) -> [UInt8] { self.head(2, bytes.count) + bytes }
    static func text(_ text: String) -> [UInt8] { self.head(3, text.utf8.count) + Array(text.utf8) }
    static func array(_ items: [[UInt8]]) -> [UInt8] { self.head(4, items.count) + items.joined() }
    static func map(_ pairs: [(name: String, value: [UInt8])]) -> [UInt8] {
        self.head(5, pairs.count) + pairs.flatMap { self.text($0.name) + $0.value }
    }

    private static func head(_ type: UInt8, _ count: Int) -> [UInt8] {
        switch count {
        case ..<24: [type << 5 | UInt8(count)]
        case ..<256: [type << 5 | 24, UInt8(count)]
        default: [type << 5 | 25, UInt8(count >> 8), UInt8(count & 0xFF)]
        }
    }
}
