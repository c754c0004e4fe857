import Ceremony
import JOSE
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The requests to a server that manages identities, and its answers: the device proves each request, the server signs
/// each answer, and a request whose answer was lost is sent once more, byte for byte.
///
/// The value holds the device's storage, and shows nothing to reflection.
struct ManagerExchange: Sendable, CustomReflectable, CustomStringConvertible {
    var description: String { "ManagerExchange" }
    var customMirror: Mirror { Mirror(self, children: [:]) }

    /// A device, as one server knows it.
    struct Prover: Sendable {
        /// The keys of the device.
        let device: DeviceIdentityKeys
        /// The server's identifier of the device.
        let activation: String

        /// Creates the prover of an identity's activation.
        init(_ identity: StoredIdentity) { self.init(device: identity.device, activation: identity.activation) }

        init(device: DeviceIdentityKeys, activation: String) {
            self.device = device
            self.activation = activation
        }
    }

    /// A request with its proof, as it is sent. A repetition sends exactly the same bytes.
    struct Proved: Sendable {
        fileprivate let request: TransportRequest
        /// The name by which the answer identifies the request.
        fileprivate let name: String
    }

    /// Receives a request before it is sent, and `nil` once an answer has decided the request's fate.
    typealias Keeper = @Sendable (Proved?) -> Void

    /// The content of an answer, with its time by the server's clock.
    struct Answered<Message: Sendable>: Sendable {
        let message: Message
        let now: Timestamp
    }

    private static let responseType = "application/jose"
    /// The maximum age of a server's keys before they are fetched again.
    private static let keysAge = Duration.seconds(86_400)
    /// The minimum time for which a server shows a new key before signing with it. Keys that are no older than this are
    /// as new as possible.
    static let keyAnnouncement = Duration.seconds(600)
    private static let keysPath = "/identity/keys"

    let servers: IdentityServers
    let register: IdentityRegister
    let module: AuthenticatorModule
    let platform: DevicePlatform
    let channel: SecureChannel
    let recording: Recording
    /// The app's maximum time for one exchange.
    let networkTimeout: Duration
    /// The server's identifier.
    let server: String

    // MARK: Keys

    /// Returns the server's keys: keys that were fetched less than a day ago, or keys that are fetched now. If fetching
    /// fails, older keys are used while they are valid, unless the server has said that it no longer supports this
    /// version.
    ///
    /// - Parameter limit: The maximum age of the keys, in place of a day.
    ///
    /// Throws ``EngineError``, `IdentityMessageError`, ``StorageError`` and the errors of the transport.
    func keys(noOlderThan limit: Duration = Self.keysAge) async throws -> ManagerKeySet {
        let kept = try self.servers.keptKeys(of: self.server)
        if let kept, let stored = self.register.server(self.server) {
            let age = self.platform.clock.now() - stored.fetched
            if (.zero - limit...limit).contains(age) { return kept }
        }
        do {
            return try await self.fetchKeys()
        } catch {
            let isUnsupported = (error as? IdentityMessageError)?.code == .unsupported
            guard let kept, !isUnsupported, !(error is CancellationError) else { throw error }
            return kept
        }
    }

    /// Fetches the server's keys, which its root key has signed.
    @discardableResult func fetchKeys() async throws -> ManagerKeySet {
        do {
            let set = try await self.fetchedKeys()
            self.servers.failures.note(nil, of: self.server)
            return set
        } catch {
            if !(error is CancellationError) { self.servers.failures.note(error, of: self.server) }
            throw error
        }
    }

    private func fetchedKeys() async throws -> ManagerKeySet {
        let roots = try self.servers.roots(of: self.server)
        let response = try await self.channel.send(
            TransportRequest(
                method: "GET", url: try self.address(Self.keysPath), headers: [("Accept", "application/jwt")], body: [],
                timeout: self.timeout), self.recording)
        guard response.status == 200 else { throw Self.unsigned(response.status) }
        guard let compact = String(validating: response.body, as: UTF8.self) else {
            throw IdentityMessageError(.wrongSignature, "letters")
        }
        let set: ManagerKeySet
        let isOffsetWrong: Bool
        do throws(IdentityMessageError) {
            (set, isOffsetWrong) = try self.servers.verified(compact, of: self.server, roots: roots)
        } catch {
            throw Self.asForged(error)
        }
        // A key set that is older than the kept key set replaces nothing, because an attacker on the way may have kept
        // the older key set.
        if let kept = try self.servers.keptKeys(of: self.server), set.issuedAt < kept.issuedAt { return kept }
        try self.register.keep(
            keySet: compact, of: self.server, at: self.platform.clock.now(), clockOffset: isOffsetWrong ? .zero : nil)
        return set
    }

    /// Returns the key for sealing: the newest key that may still be used for sealing.
    func sealingKey() async throws -> ManagerKeySet.SealingKey {
        let keys = try await self.keys()
        let now = self.servers.now(at: self.server)
        guard let key = keys.sealingKeys.first(where: { now < $0.until }) ?? keys.sealingKeys.first else {
            throw IdentityMessageError(.malformed, "sealing")
        }
        return key
    }

    // MARK: Requests

    /// Sends a message and reads the answer. Without a `prover` the request has no proof, as for a claim whose secret
    /// is proof.
    ///
    /// - Parameter keep: Keeps the request as long as it has no answer, so that it can be sent again
    ///   (``sendAgain(_:as:noting:)``).
    ///
    /// Throws ``Refused`` for a refusal; ``Unsettled`` once the request was sent and its fate is unknown; before that,
    /// the errors of ``keys()``, `DeviceKeyError` and ``StorageError``.
    func send<Answer: IdentityMessage>(
        _ message: some IdentityMessage, to path: String, by prover: Prover?, as: Answer.Type = Answer.self,
        noting event: TraceEvent? = nil, keeping keep: Keeper? = nil
    ) async throws -> Answered<Answer> {
        try await self.send("POST", message.serialized, to: path, by: prover, noting: event, keeping: keep)
    }

    /// Sends a request; see ``send(_:to:by:as:)``.
    func send<Answer: IdentityMessage>(
        _ method: String, _ body: [UInt8], to path: String, by prover: Prover?, as: Answer.Type = Answer.self,
        noting event: TraceEvent? = nil, keeping keep: Keeper? = nil
    ) async throws -> Answered<Answer> {
        var isCorrected = false
        while true {
            let (response, wasRepeated) = try await self.exchange(method, body, path, prover, event, keep)
            switch response.content {
            case .message(let object): return try Self.answered(object, response)
            case .refusal(let problem):
                guard problem.code == .clockSkew, prover != nil else {
                    throw Refused(problem: problem, now: response.now, wasRepeated: wasRepeated)
                }
                // The first request may have arrived in time. A new proof would make another request, and the server
                // would carry out both.
                guard !wasRepeated else {
                    throw Unsettled(cause: TransportError(.timedOut, "the answer is lost, and its proof too old"))
                }
                // The answer itself has stated the time.
                guard !isCorrected else {
                    throw Refused(problem: problem, now: response.now, wasRepeated: false)
                }
                isCorrected = true
            }
        }
    }

    /// Does the same as ``send(_:to:by:as:)``, for a message that a factor has signed: the message is sent and judged
    /// even if the task of the process is cancelled meanwhile. If the message were cut off on its way, its fate would
    /// be unknown.
    func sendToTheEnd<Answer: IdentityMessage>(
        _ message: some IdentityMessage, to path: String, by prover: Prover?, as type: Answer.Type = Answer.self,
        noting event: TraceEvent? = nil, keeping keep: Keeper? = nil
    ) async throws -> Answered<Answer> {
        // The separate task is not cancelled with the task of the process. The transport's time limit bounds it.
        try await Task {
            try await self.send(message, to: path, by: prover, as: type, noting: event, keeping: keep)
        }.value
    }

    /// Sends a request whose answer was lost again, byte for byte. The server repeats its earlier answer, or carries
    /// out the request now.
    ///
    /// Returns `nil` if the proof of the request is too old: its fate cannot be learned then, and a request that was
    /// not carried out will never be.
    ///
    /// Throws ``Refused``, ``Unsettled`` if the answer is lost again, and the errors of ``keys()``.
    func sendAgain<Answer: IdentityMessage>(
        _ request: Proved, as: Answer.Type = Answer.self, noting event: TraceEvent? = nil
    ) async throws -> Answered<Answer>? {
        let response = try await self.deliver(request, try await self.keys(), event).answer
        switch response.content {
        case .message(let object): return try Self.answered(object, response)
        case .refusal(let problem):
            guard problem.code != .clockSkew else { return nil }
            throw Refused(problem: problem, now: response.now, wasRepeated: true)
        }
    }

    /// Does the same as ``sendAgain(_:as:noting:)``, for a request that must not be cancelled
    /// (``sendToTheEnd(_:to:by:as:noting:keeping:)``).
    func sendAgainToTheEnd<Answer: IdentityMessage>(
        _ request: Proved, as type: Answer.Type = Answer.self, noting event: TraceEvent? = nil
    ) async throws -> Answered<Answer>? {
        try await Task { try await self.sendAgain(request, as: type, noting: event) }.value
    }

    private static func answered<Answer: IdentityMessage>(_ object: JSONObject, _ response: ManagerResponse) throws
        -> Answered<Answer>
    {
        do {
            return Answered(message: try Answer(json: object), now: response.now)
        } catch {
            throw Unsettled(cause: error)
        }
    }

    /// Sends one request with a new proof, and returns the verified answer.
    private func exchange(
        _ method: String, _ body: [UInt8], _ path: String, _ prover: Prover?, _ event: TraceEvent?, _ keep: Keeper?
    ) async throws -> (answer: ManagerResponse, wasRepeated: Bool) {
        let keys = try await self.keys()
        let request = try await self.proved(method, body, path, prover)
        keep?(request)
        let delivered = try await self.deliver(request, keys, event)
        if case .refusal(let problem) = delivered.answer.content, delivered.wasRepeated, problem.code.decidesNothing {
            return delivered
        }
        keep?(nil)
        return delivered
    }

    private func proved(_ method: String, _ body: [UInt8], _ path: String, _ prover: Prover?) async throws -> Proved {
        let url = try self.address(path)
        var headers = [("Accept", Self.responseType)]
        if !body.isEmpty { headers.append(("Content-Type", "application/json")) }
        var name = ManagerResponse.name(ofRequest: body)
        if let prover {
            let device = try DeviceIdentity(prover.device, server: self.server, self.module, self.platform)
            let proof = try await device.proof(
                method: method, target: url.absoluteString, body: body, keyID: prover.activation,
                clockOffset: self.register.server(self.server)?.clockOffset ?? .zero)
            headers.append(("Device-Proof", proof))
            name = ManagerResponse.name(ofRequest: Array(proof.utf8))
        }
        return Proved(
            request: TransportRequest(
                method: method, url: url, headers: headers, body: body, timeout: self.timeout / 2), name: name)
    }

    /// Sends a request, and verifies its answer. If the answer was lost, the same bytes are sent once more: the server
    /// has kept the request, and does nothing twice.
    private func deliver(_ request: Proved, _ keys: ManagerKeySet, _ event: TraceEvent?) async throws -> (
        answer: ManagerResponse, wasRepeated: Bool
    ) {
        do {
            let (response, wasRepeated) = try await self.sendTwice(request.request, event)
            return (try await self.answer(in: response, to: request.name, keys), wasRepeated)
        } catch {
            throw Unsettled(cause: error)
        }
    }

    /// Sends a request, and sends it again within the remaining time if its answer was lost.
    private func sendTwice(_ request: TransportRequest, _ event: TraceEvent?) async throws
        -> (TransportResponse, wasRepeated: Bool)
    {
        let clock = self.platform.clock
        let start = clock.uptime()
        do {
            return (try await self.channel.send(request, self.recording, noting: event), false)
        } catch let error as TransportError where [.unreachable, .timedOut].contains(error.code) {
            try Task.checkCancellation()
            var again = request
            // The second try has at least the time of the first try, and not the time that the first try has used.
            again.timeout = max(self.timeout - max(.zero, clock.uptime() - start), request.timeout)
            return (try await self.channel.send(again, self.recording, noting: event), true)
        }
    }

    private func answer(in response: TransportResponse, to name: String, _ keys: ManagerKeySet) async throws
        -> ManagerResponse
    {
        guard response.header("Content-Type")?.mediaType.hasSameBytes(as: Self.responseType) ?? false else {
            throw Self.unsigned(response.status)
        }
        guard let compact = String(validating: response.body, as: UTF8.self) else {
            throw IdentityMessageError(.wrongSignature, "letters")
        }
        let answer = try await self.verified(compact, answering: name, keys)
        // The answer is valid, whatever the storage reports: the next answer states the time again.
        try? self.correctClock(by: answer.now)
        return answer
    }

    /// Returns the server's signed answer to a request. The signing key may be newer than the known key set.
    private func verified(_ compact: String, answering request: String, _ keys: ManagerKeySet) async throws
        -> ManagerResponse
    {
        let first = self.reading(compact, answering: request, keys)
        guard case .failure(let error) = first, error.code == .wrongSignature else { return try first.get() }
        return try self.reading(compact, answering: request, try await self.fetchKeys()).get()
    }

    private func reading(_ compact: String, answering request: String, _ keys: ManagerKeySet)
        -> Result<ManagerResponse, IdentityMessageError>
    {
        do throws(IdentityMessageError) {
            return .success(
                try ManagerResponse(
                    verifying: compact, server: self.server, request: request, keys: keys.signingKeys))
        } catch {
            return .failure(Self.asForged(error))
        }
    }

    /// An attacker on the way can make a malformed answer as well as a wrong answer: both are the same error.
    private static func asForged(_ error: IdentityMessageError) -> IdentityMessageError {
        error.code == .malformed ? IdentityMessageError(.wrongSignature, error.reason) : error
    }

    /// Adopts the server's time. A difference of a second may come from the network.
    private func correctClock(by now: Timestamp) throws {
        let known = self.servers.now(at: self.server)
        guard now < known - .seconds(1) || known + .seconds(1) < now else { return }
        try self.register.keep(clockOffset: now - self.platform.clock.now(), of: self.server)
    }

    private func address(_ path: String) throws -> URL {
        guard let url = URL(string: self.server)?.address(of: path) else {
            throw EngineError(.misconfigured, "the server's address")
        }
        return url
    }

    /// The maximum time of one exchange including its repetition: shorter than the lifetime of a proof, which is a
    /// minute.
    static let longest = Duration.seconds(25)

    private var timeout: Duration { min(self.networkTimeout, Self.longest) }

    /// Returns the error for an answer that the server has not signed.
    private static func unsigned(_ status: Int) -> EngineError {
        switch status {
        case 408, 429, 500...: EngineError(.unavailable, httpStatus: status, "status \(status)")
        default: EngineError(.malformed, httpStatus: status, "status \(status), unsigned")
        }
    }
}

/// The error of a request that was sent, or may have been sent, and whose fate is unknown on this device.
struct Unsettled: Error, Sendable {
    let cause: any Error
}

/// A refusal that the server has signed.
struct Refused: Error, Sendable {
    let problem: IdentityProblem
    /// The server's time.
    let now: Timestamp
    /// `true` if the refusal answers a repetition: the earlier, lost request may be carried out all the same.
    let wasRepeated: Bool
}

extension IdentityProblem.Code {
    /// `true` if a refusal of a repetition says nothing about the earlier, lost request: the repetition was turned away
    /// unread.
    var decidesNothing: Bool { self == .tooManyRequests }
}

/// A message without members, such as the body of a request that says everything by its address.
struct EmptyMessage: IdentityMessage {
    init() {}
    init(json: JSONObject) {}
    var json: JSONObject { [:] }
}

extension String {
    /// `true` if the text can be a path segment unchanged: an identifier that a server has made.
    var isPathSegment: Bool {
        (1...64).contains(self.utf8.count) && self != "." && self != ".."
            && self.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "~"):
                    true
                default: false
                }
            }
    }
}
