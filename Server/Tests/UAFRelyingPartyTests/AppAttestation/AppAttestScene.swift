import Crypto
import SwiftASN1
import UAF
import UAFRelyingParty
import X509
import _Primitives

/// The forms of CBOR that App Attest writes, said a second time.
enum TestCBOR {
    static func head(_ type: UInt8, _ count: Int) -> [UInt8] {
        switch count {
        case ..<24: [type << 5 | UInt8(count)]
        case ..<256: [type << 5 | 24, UInt8(count)]
        default: [type << 5 | 25, UInt8(count >> 8), UInt8(count & 0xFF)]
        }
    }
    static func byteString(_ bytes: [UInt8]) -> [UInt8] { Self.head(2, bytes.count) + bytes }
    static func text(_ text: String) -> [UInt8] { Self.head(3, text.utf8.count) + Array(text.utf8) }
    static func array(_ items: [[UInt8]]) -> [UInt8] { Self.head(4, items.count) + items.joined() }
    static func map(_ pairs: [(name: String, value: [UInt8])]) -> [UInt8] {
        Self.head(5, pairs.count) + pairs.flatMap { Self.text($0.name) + $0.value }
    }

    static func attestation(
        _ certificates: [[UInt8]], receipt: [UInt8], _ authenticatorData: [UInt8], format: String = "apple-appattest"
    ) -> [UInt8] {
        Self.map([
            ("fmt", Self.text(format)),
            (
                "attStmt",
                Self.map([
                    ("x5c", Self.array(certificates.map(Self.byteString))), ("receipt", Self.byteString(receipt)),
                ])
            ),
            ("authData", Self.byteString(authenticatorData)),
        ])
    }
}

/// An app with a key that a root of the test attests; every part can be made wrong.
struct AppAttestScene {
    static let now = Timestamp(seconds: 1_800_000_000)
    static let receipt = bytes(300, 9)
    static let production: [UInt8] = Array("appattest".utf8) + bytes(7, 0)
    static let development: [UInt8] = Array("appattestdevelop".utf8)

    var listed: [AttestedApp]
    var key = P256.Signing.PrivateKey()
    var clientDataHash = AppEvidence.clientDataHash(
        finalChallengeHash: bytes(32, 1), signingKey: bytes(65, 2))
    /// The team and the bundle that the attestation names.
    var appName = "ABCDE12345.com.example.bank"
    var model = Self.production
    var flags: UInt8 = 0x40
    var counter: UInt32 = 0
    /// The name and the key of the described credential, if they are others than those of the leaf.
    var credentialID: [UInt8]?
    var describedKey: P256.Signing.PublicKey?
    /// What newer systems write after the key.
    var facts: [UInt8] = []
    var draft = AttestationDraft()
    var hasNonce = true

    init() throws {
        self.listed = [
            try AttestedApp(teamID: "ZYXWV98765", bundleID: "com.example.other", environment: .development),
            try AttestedApp(teamID: "ABCDE12345", bundleID: "com.example.bank", environment: .production),
        ]
    }

    var point: [UInt8] { Array(self.key.publicKey.x963Representation) }
    var keyID: [UInt8] { Array(SHA256.hash(data: self.point)) }

    private var head: [UInt8] {
        Array(SHA256.hash(data: Array(self.appName.utf8))) + [self.flags] + self.counter.bigEndianBytes
    }

    var authenticatorData: [UInt8] {
        let point = Array((self.describedKey ?? self.key.publicKey).x963Representation)
        let key: [UInt8] =
            [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20] + point[1...32] + [0x22, 0x58, 0x20]
            + point[33...]
        return self.head + self.model + [0, 32] + (self.credentialID ?? self.keyID) + key + self.facts
    }

    /// Leaf, intermediate and root for the key.
    func chain() throws -> [[UInt8]] {
        var draft = self.draft
        let nonce = SHA256.hash(data: self.authenticatorData + self.clientDataHash)
        if self.hasNonce {
            draft.leaf.others = [
                Certificate.Extension(
                    oid: [1, 2, 840, 113635, 100, 8, 2], critical: false,
                    value: ([0x30, 0x24, 0xA1, 0x22, 0x04, 0x20] + nonce)[...])
            ]
        }
        return try draft.chain(.p256(self.key)).reversed().map(\.der)
    }

    /// The object, and the verifier that trusts its root.
    func attestation() throws -> (object: [UInt8], verifier: AppAttestationVerifier) {
        let chain = try self.chain()
        return (
            TestCBOR.attestation(Array(chain.prefix(2)), receipt: Self.receipt, self.authenticatorData),
            try AppAttestationVerifier(apps: self.listed, roots: [chain[2]])
        )
    }

    /// What the verifier says of the object.
    func verified() throws -> AttestedAppKey {
        let (object, verifier) = try self.attestation()
        return try verifier.verify(
            attestation: object, keyID: self.keyID, clientDataHash: self.clientDataHash, at: Self.now)
    }

    /// An assertion of the key over the hash, with the scene's app and a number.
    func assertion(_ number: UInt32, over hash: [UInt8]) throws -> [UInt8] {
        var scene = self
        scene.counter = number
        let data = scene.head
        // The key signs the nonce as a message, and so hashes the nonce once more.
        let signature = try self.key.signature(for: Array(SHA256.hash(data: data + hash)))
        return TestCBOR.map([
            ("signature", TestCBOR.byteString(Array(signature.derRepresentation))),
            ("authenticatorData", TestCBOR.byteString(data)),
        ])
    }
}

extension UInt32 {
    fileprivate var bigEndianBytes: [UInt8] { (0..<4).reversed().map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) } }
}
