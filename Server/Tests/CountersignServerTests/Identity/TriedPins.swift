import Ceremony
import Crypto
import CryptoExtras
import Dispatch
import Synchronization
import _Primitives

/// Keys of PINs as somebody makes them who tries PINs: by the published scheme (`PinScheme`), and with as little work as it
/// takes. Nothing in the dear part names an activation, so what a PIN and a half come to is stretched once for all.
enum TriedPins {
    private struct Try: Hashable {
        let pin: String
        let half: [UInt8]
    }

    private static let stretched = Mutex<[Try: SymmetricKey]>([:])
    // A try is dear: on the threads of tasks, other tests would wait for it.
    private static let queue = DispatchQueue(label: "tried PINs")

    /// Does what tries many PINs beside everything else, one after another.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            self.queue.async { continuation.resume(with: Result { try body() }) }
        }
    }

    static func key(of pin: String, _ half: [UInt8], _ context: PinScheme.Context) throws -> P256.Signing.PrivateKey {
        func field(_ text: String) -> [UInt8] {
            [UInt8(text.utf8.count >> 8), UInt8(text.utf8.count & 0xFF)] + Array(text.utf8)
        }
        let version = stride(from: 24, through: 0, by: -8).map { UInt8(context.version >> UInt32($0) & 0xFF) }
        let info =
            Array("countersign pin/1".utf8) + [0] + field(context.server) + field(context.activation) + version + [0]
        let scalar = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: try self.stretch(Try(pin: pin, half: half)), info: info, outputByteCount: 32)
        return try scalar.withUnsafeBytes { try P256.Signing.PrivateKey(rawRepresentation: $0) }
    }

    private static func stretch(_ tried: Try) throws -> SymmetricKey {
        if let known = self.stretched.withLock({ $0[tried] }) { return known }
        let parameters = try PinParameters()
        let key = try KDF.Scrypt.deriveKey(
            from: Array(tried.pin.utf8), salt: tried.half, outputByteCount: 32, rounds: parameters.rounds,
            blockSize: parameters.blockSize, parallelism: parameters.parallelism)
        self.stretched.withLock { $0[tried] = key }
        return key
    }
}
