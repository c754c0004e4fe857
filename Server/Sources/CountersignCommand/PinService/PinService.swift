import Ceremony
import CeremonyEngine
import Crypto
import Dispatch
import SQLiteStore
import Settings
import _Primitives

/// Evaluates the values that phones have blinded, by a secret that nobody else has.
///
/// The service counts the evaluations itself (decision 69). No caller, and no statement of a caller about an attempt,
/// changes the secret or the count.
struct PinService: PinEvaluating {
    private let master: SecretBytes
    private let log: EvaluationLog
    private let limit: Int
    private let time: TimeSource
    private let load = SharedLoad()
    /// The queue on which the service counts and evaluates. No thread of the queue serves requests.
    private let queue = DispatchQueue(label: "pin-service", attributes: .concurrent)

    /// Creates a service with a secret of `PinServiceKey.masterBytes`. The service evaluates for one activation up to
    /// `limit` times a day.
    init(master: SecretBytes, log: EvaluationLog, limit: Int, time: TimeSource = .system) {
        self.master = master
        self.log = log
        self.limit = limit
        self.time = time
    }

    func key(of activation: String) async throws(PinServiceFailure) -> [UInt8] {
        try await self.work { () throws(PinServiceFailure) in try self.serviceKey(activation).publicKey }
    }

    func evaluate(_ blinded: [UInt8], of activation: String) async throws(PinServiceFailure) -> [UInt8] {
        try await self.work { () throws(PinServiceFailure) in try self.evaluated(blinded, activation) }
    }

    private func evaluated(_ blinded: [UInt8], _ activation: String) throws(PinServiceFailure) -> [UInt8] {
        let key = try self.serviceKey(activation)
        guard PinQuestion.isBlinded(blinded) else { throw .malformed }
        let rest: Duration?
        do {
            rest = try self.log.count(
                Array(SHA256.hash(data: blinded)), of: activation, limit: self.limit, at: self.time.now())
        } catch {
            // Without a count the service evaluates nothing.
            throw .notAsked
        }
        // Rounded up: a caller that comes after these seconds finds the place free.
        if let rest { throw .exhausted(retryAfterSeconds: Int(rest.components.seconds) + 1) }
        do throws(PinSchemeError) { return try key.evaluate(blinded) } catch { throw .malformed }
    }

    private func serviceKey(_ activation: String) throws(PinServiceFailure) -> PinServiceKey {
        do throws(PinSchemeError) {
            return try PinServiceKey(master: self.master, activation: activation)
        } catch {
            throw .malformed
        }
    }

    private func work<Value: Sendable>(_ body: @escaping @Sendable () throws(PinServiceFailure) -> Value)
        async
        throws(PinServiceFailure) -> Value
    {
        guard self.load.enter(Limits.Evaluations.waiting) else { throw .notAsked }
        let result: Result<Value, PinServiceFailure> = await withCheckedContinuation { continuation in
            self.queue.async {
                let result = Result { () throws(PinServiceFailure) in try body() }
                self.load.leave()
                continuation.resume(returning: result)
            }
        }
        return try result.get()
    }
}
