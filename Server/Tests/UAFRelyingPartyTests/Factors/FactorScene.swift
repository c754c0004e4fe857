import Ceremony
import Crypto
import Synchronization
import UAF
import UAFRelyingParty
import _Primitives

/// How often signatures were verified.
final class VerificationCount: Sendable {
    private let number = Mutex(0)
    var value: Int { self.number.withLock { $0 } }

    /// Verifies as it is done, and counts.
    var check: FactorVerifier.SignatureCheck {
        { key, signature, message in
            self.number.withLock { $0 += 1 }
            return key.isValid(signature, over: message)
        }
    }
}

/// A finish of a personalised identity on both ends, with the keys of device, PIN and finger. As made it is accepted by PIN
/// and device; a test changes one thing.
struct FactorScene {
    static let matrix: [[AuthenticatorType]] = [[.biometric, .device], [.pin, .device]]

    /// The message and the keys that sign; ``Scene/credentials`` are those of the activation, the finger's among them.
    var scene: Scene
    var matrix: AuthenticatorMatrix
    /// The key of the finger, which is enrolled and does not sign.
    let finger: SoftwareKey

    init() throws {
        self.matrix = try AuthenticatorMatrix(Self.matrix)
        self.finger = try SoftwareKey(Names.fingerprint, 3)
        let (device, pin) = (try SoftwareKey(Names.silent, 1), try Self.pin(PinOnBothEnds.shared.key(of: "right")))
        self.scene = try Scene(.authentication, [device, pin])
        self.scene.header.serverData = nil
        self.scene.serverData = nil
        self.scene.credentials.append(try self.finger.credential())
    }

    /// The PIN's authenticator with a key.
    static func pin(_ key: P256.Signing.PrivateKey) throws -> SoftwareKey {
        var pin = try SoftwareKey(ServerPinModel.aaid, 2)
        pin.privateKey = .p256(key)
        pin.signCounter = 0
        return pin
    }

    /// The finger in the place of the PIN.
    mutating func signByFinger() { self.scene.keys[1] = self.finger }

    var expected: ExpectedFactors {
        ExpectedFactors(
            challenge: self.scene.challenge, appID: self.scene.appID, matrix: self.matrix, account: Names.account,
            deviceRegistration: Names.device)
    }

    func judge(counting count: VerificationCount = VerificationCount()) throws -> FactorVerdict {
        FactorVerifier(self.scene.configuration, isSignature: count.check).judge(
            try UnverifiedAuthentication(parsing: try self.scene.authenticationMessage()), expected: self.expected,
            keys: self.scene.credentials)
    }
}

/// A right PIN and wrong ones as a phone makes keys of them: each takes scrypt a while, so that they are made once.
final class PinOnBothEnds: Sendable {
    static let shared = PinOnBothEnds()
    static let phoneHalf = bytes(32, 5)
    static let context = PinScheme.Context(server: "https://id.example.com", activation: "activation-1", version: 1)
    private let keys = Mutex<[ExactText: P256.Signing.PrivateKey]>([:])

    func key(of pin: String) throws -> P256.Signing.PrivateKey {
        try self.keys.withLock { keys in
            if let key = keys[ExactText(pin)] { return key }
            let key = try Self.key(of: pin, phoneHalf: Self.phoneHalf)
            keys[ExactText(pin)] = key
            return key
        }
    }

    static func key(of pin: String, phoneHalf: [UInt8]) throws -> P256.Signing.PrivateKey {
        try PinScheme.pin1.key(
            pin: SecretBytes(utf8: pin), phoneHalf: SecretBytes(phoneHalf), parameters: PinParameters(),
            context: Self.context)
    }
}
