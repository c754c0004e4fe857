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

    /// - Parameter evaluate: What a PIN service makes of what was stretched, for whoever has its key; `nil` by the scheme
    ///   without such a service.
    static func key(
        of pin: String, _ half: [UInt8], _ context: PinScheme.Context,
        evaluate: ((SymmetricKey) throws -> [UInt8])? = nil
    ) throws -> P256.Signing.PrivateKey {
        func field(_ text: String) -> [UInt8] {
            [UInt8(text.utf8.count >> 8), UInt8(text.utf8.count & 0xFF)] + Array(text.utf8)
        }
        let version = stride(from: 24, through: 0, by: -8).map { UInt8(context.version >> UInt32($0) & 0xFF) }
        let scheme = evaluate == nil ? "countersign pin/1" : "countersign pin/2"
        let info = Array(scheme.utf8) + [0] + field(context.server) + field(context.activation) + version + [0]
        let stretched = try self.stretch(Try(pin: pin, half: half))
        let output = try evaluate.map { try $0(stretched) } ?? []
        let scalar = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: stretched.withUnsafeBytes { SymmetricKey(data: Array($0) + output) }, info: info,
            outputByteCount: 32)
        return try scalar.withUnsafeBytes { try P256.Signing.PrivateKey(rawRepresentation: $0) }
    }

    /// What the PIN service of that secret makes of what was stretched, by the published scheme (`PinServiceKey`).
    static func evaluator(master: [UInt8], activation: String) -> (SymmetricKey) throws -> [UInt8] {
        { stretched in
            let scalar = HKDF<SHA384>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: master),
                info: Array("countersign pin-service/1".utf8) + [0] + Array(activation.utf8), outputByteCount: 48)
            let key = try scalar.withUnsafeBytes { try P384._VOPRF.PrivateKey(rawRepresentation: $0) }
            return try stretched.withUnsafeBytes { Array(try key.evaluate(Array($0))) }
        }
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
