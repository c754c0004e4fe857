public import Crypto
import CryptoExtras
public import _Primitives

/// The ways to make a key from a PIN that only the server can judge: the factor `pin` of identity ceremonies.
///
/// In `pin/1` the private key is a function of the PIN and of the phone's half, 32 random bytes that never leave the
/// phone. Every PIN gives a key, so nothing on the phone distinguishes a right PIN from a wrong PIN. Without the half,
/// nobody can try PINs against the server's data.
///
///     stretched = scrypt(password: PIN, salt: phone's half, N, r, p, 32 bytes)          (RFC 7914)
///     scalar    = HKDF-SHA256(stretched, salt: none, info ‖ counter, 32 bytes)           (RFC 5869)
///     info      = "countersign pin/1" ‖ 0 ‖ len16(server) ‖ server ‖ len16(activation) ‖ activation ‖ version32
///
/// The counter is one byte. It begins with 0 and goes on until the scalar, big-endian, is in [1, n−1] of P-256. The
/// first scalar is outside this range with a probability of about 2⁻³².
///
/// In `pin/2` a third secret takes part. A service beside the server has this secret for each activation and gives the
/// secret to nobody: see ``PinQuestion``. An attacker with the phone's storage, the server's database and the server's
/// keys still has to ask this service about every PIN.
public enum PinScheme: String, Hashable, Sendable, CaseIterable {
    /// scrypt, HKDF and P-256, on the phone alone.
    case pin1 = "pin/1"
    /// scrypt, an evaluation by the PIN service (RFC 9497, P384-SHA384, verifiable), HKDF and P-256.
    case pin2 = "pin/2"

    /// The context that the key is bound to. The same PIN and phone's half give another key in another context.
    public struct Context: Hashable, Sendable {
        /// The server's origin, 1 to 512 bytes.
        public var server: String
        /// The activation at the server, 1 to 64 bytes.
        public var activation: String
        /// The number of the PIN of this activation. Each change adds one.
        public var version: UInt32

        /// Creates a context. A function that makes a key checks the limits.
        public init(server: String, activation: String, version: UInt32) {
            self.server = server
            self.activation = activation
            self.version = version
        }
    }

    /// The number of bytes of the phone's half.
    public static let phoneHalfBytes = 32
    /// The most bytes of a PIN. Other rules decide which PINs a person may choose.
    public static let maximumPinBytes = 128

    /// Returns the key of a PIN in `pin/1`. Do not store the key, nor its public half: each of them reveals if a PIN is
    /// right.
    ///
    /// The call takes the time and the memory of `parameters`: by default 60 ms and 32 MiB.
    ///
    /// Throws ``PinSchemeError``: `unsupported` for a scheme in which the phone cannot make the key alone;
    /// `invalidInput` for a PIN, a half or a context outside the limits above, or for parameters of another
    /// scheme; `unavailable` if not enough memory is free.
    public func key(
        pin: SecretBytes, phoneHalf: SecretBytes, parameters: PinParameters, context: Context
    ) throws(PinSchemeError) -> P256.Signing.PrivateKey {
        guard self == .pin1 else { throw PinSchemeError(.unsupported, "\(self.rawValue) asks a service") }
        let stretched = try self.stretched(
            pin: pin, phoneHalf: phoneHalf, parameters: parameters, context: context)
        return try self.key(of: stretched, context)
    }

    /// Returns the result of scrypt for a PIN and the phone's half.
    ///
    /// Throws `invalidInput` if the PIN, the phone's half or the context is outside the limits, or if the parameters
    /// belong to another scheme. Throws `unavailable` if not enough memory is free.
    func stretched(
        pin: SecretBytes, phoneHalf: SecretBytes, parameters: PinParameters, context: Context
    ) throws(PinSchemeError) -> SymmetricKey {
        guard (1...Self.maximumPinBytes).contains(pin.count), phoneHalf.count == Self.phoneHalfBytes,
            (1...512).contains(context.server.utf8.count), (1...64).contains(context.activation.utf8.count),
            parameters.scheme == self
        else { throw PinSchemeError(.invalidInput) }
        do {
            return try pin.withBytes { pin in
                try phoneHalf.withBytes { secret in
                    try KDF.Scrypt.deriveKey(
                        from: pin, salt: secret, outputByteCount: 32, rounds: parameters.rounds,
                        blockSize: parameters.blockSize, parallelism: parameters.parallelism)
                }
            }
        } catch {
            // Within the bounds, scrypt fails only for lack of memory.
            throw PinSchemeError(.unavailable)
        }
    }

    /// Returns the key that a secret gives, bound to a context.
    func key(of secret: SymmetricKey, _ context: Context) throws(PinSchemeError) -> P256.Signing.PrivateKey {
        let info = self.info(context)
        return try Self.firstKey { counter in
            HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: info + [counter], outputByteCount: 32)
                .withUnsafeBytes { SecretBytes($0) }
        }
    }

    private func info(_ context: Context) -> [UInt8] {
        func field(_ text: String) -> [UInt8] {
            [UInt8(text.utf8.count >> 8), UInt8(text.utf8.count & 0xFF)] + Array(text.utf8)
        }
        let version = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: context.version >> UInt32($0)) }
        return Array("countersign \(self.rawValue)".utf8) + [0] + field(context.server) + field(context.activation)
            + version
    }

    /// Returns the key of the first candidate that is a scalar of P-256.
    ///
    /// The candidates are a parameter for tests, because no input is known whose first candidate is not a scalar.
    package static func firstKey(_ candidate: (UInt8) -> SecretBytes) throws(PinSchemeError) -> P256.Signing.PrivateKey
    {
        for counter in UInt8.min...UInt8.max {
            let scalar = candidate(counter)
            guard scalar.withBytes(Self.isScalar) else { continue }
            if let key = scalar.withBytes({ try? P256.Signing.PrivateKey(rawRepresentation: $0) }) { return key }
        }
        throw PinSchemeError(.unavailable)
    }

    /// The order n of P-256 (NIST SP 800-186, section 3.2.1.3), big-endian.
    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]

    /// Returns `true` if the number is in [1, n−1], in a time that does not depend on the number.
    private static func isScalar(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count == self.order.count else { return false }
        var borrow: Int16 = 0
        var bits: UInt8 = 0
        for index in bytes.indices.reversed() {
            bits |= bytes[index]
            borrow = (Int16(bytes[index]) - Int16(self.order[index]) - borrow) >> 8 & 1
        }
        // A borrow remains if the number is smaller than n.
        return borrow == 1 && bits != 0
    }
}

/// The cost of one PIN attempt. The enrolment and every key handle record these numbers.
///
/// A reader refuses numbers cheaper than this product's own numbers, and numbers beyond the abilities of a phone.
public struct PinParameters: Hashable, Sendable {
    /// The scheme.
    public let scheme: PinScheme
    /// The cost `N` of scrypt, a power of two from 2¹⁵ to 2¹⁸.
    public let rounds: Int
    /// The block size `r`, from 8 to 16. `rounds` and `blockSize` together take 256 MiB at most.
    public let blockSize: Int
    /// The parallelism `p`, from 1 to 4.
    public let parallelism: Int

    /// The most memory of an attempt, in bytes.
    private static let maximumMemory = 256 << 20

    /// Creates parameters, by default with 32 MiB and about 60 ms for an attempt. Throws ``PinSchemeError``
    /// `unsupported` for numbers outside the bounds.
    public init(scheme: PinScheme = .pin1, rounds: Int = 1 << 15, blockSize: Int = 8, parallelism: Int = 1)
        throws(PinSchemeError)
    {
        guard (1 << 15...1 << 18).contains(rounds), rounds & (rounds - 1) == 0, (8...16).contains(blockSize),
            (1...4).contains(parallelism), 128 * rounds * blockSize <= Self.maximumMemory
        else { throw PinSchemeError(.unsupported, "N \(rounds), r \(blockSize), p \(parallelism)") }
        self.scheme = scheme
        self.rounds = rounds
        self.blockSize = blockSize
        self.parallelism = parallelism
    }

    /// Creates parameters from the form of ``json``, without further members.
    ///
    /// Throws ``PinSchemeError``: `unsupported` for another scheme or other bounds, `malformed` for anything else.
    public init(json object: JSONObject) throws(PinSchemeError) {
        let name: String
        let numbers: [Int]
        do throws(JSONError) {
            name = try object.requiredString("scheme")
            numbers = [
                try object.requiredInteger("rounds"), try object.requiredInteger("blockSize"),
                try object.requiredInteger("parallelism"),
            ]
        } catch {
            throw PinSchemeError(.malformed, error.description)
        }
        guard object.members.count == 4 else { throw PinSchemeError(.malformed, "other members") }
        guard let scheme = PinScheme(exactly: name) else { throw PinSchemeError(.unsupported, "scheme") }
        try self.init(scheme: scheme, rounds: numbers[0], blockSize: numbers[1], parallelism: numbers[2])
    }

    /// `{"scheme":"pin/1","rounds":32768,"blockSize":8,"parallelism":1}`
    public var json: JSONObject {
        [
            "scheme": .string(self.scheme.rawValue), "rounds": .integer(Int64(self.rounds)),
            "blockSize": .integer(Int64(self.blockSize)), "parallelism": .integer(Int64(self.parallelism)),
        ]
    }
}

/// The reason why no key was made. Two errors are equal if their codes are equal.
///
/// No code means a wrong PIN, because only the server can judge a PIN.
public struct PinSchemeError: CodedError {
    /// The kind of error, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case malformed, unsupported, invalidInput, unavailable, notProven }
        private let base: Base
        /// The JSON object does not have the form of a scheme's parameters, or the bytes are not a PIN service's public
        /// key or not a blinded PIN.
        public static let malformed = Self(base: .malformed)
        /// The scheme is unknown here, its parameters are too cheap or too expensive, or the phone cannot make the
        /// scheme's key alone.
        public static let unsupported = Self(base: .unsupported)
        /// The PIN is empty, an input has the wrong length, or the parameters belong to another scheme. The program has
        /// a mistake.
        public static let invalidInput = Self(base: .invalidInput)
        /// Not enough memory is free. A later attempt can succeed.
        public static let unavailable = Self(base: .unavailable)
        /// The answer is not an evaluation by the expected key: an evaluation by another key, or no evaluation.
        public static let notProven = Self(base: .notProven)
        public var description: String { self.base.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// A text for the log: numbers of a scheme, never an input.
    public let reason: String

    /// Creates an error with the code; `reason` must hold no secret.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }
}
