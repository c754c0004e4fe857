import Ceremony
import JOSE
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What is sent to a server that manages identities, and how its answers are taken: proved by the device, signed by the
/// server, and sent once more, to the letter, where an answer was lost.
///
/// It has the device's storage, and shows nothing to reflection.
struct ManagerExchange: Sendable, CustomReflectable, CustomStringConvertible {
    var description: String { "ManagerExchange" }
    var customMirror: Mirror { Mirror(self, children: [:]) }

    /// A device as one server knows it.
    struct Prover: Sendable {
        /// Its keys.
        let device: IdentityKeys
        /// The server's name for it.
        let activation: String

        /// The device as the activation of an identity.
        init(_ identity: StoredIdentity) { self.init(device: identity.device, activation: identity.activation) }

        init(device: IdentityKeys, activation: String) {
            self.device = device
            self.activation = activation
        }
    }

    /// A request with what proves it, as it leaves: whoever sends it again sends the very same.
    struct Proved: Sendable {
        fileprivate let request: TransportRequest
        /// What its answer names it by.
        fileprivate let name: String
    }

    /// What is told of a request before it leaves, and of `nil` once an answer has said what has become of it.
    typealias Keeper = @Sendable (Proved?) -> Void

    /// What an answer says, and when by the server's clock.
    struct Answered<Message: Sendable>: Sendable {
        let message: Message
        let now: Timestamp
    }

    private static let responseType = "application/jose"
    /// How old a server's keys may be before they are fetched anew.
    private static let keysAge = Duration.seconds(86_400)
    /// As long as a server shows a new key at least before it signs by it: keys that are no older are as new as they can be.
    static let keyAnnouncement = Duration.seconds(600)
    private static let keysPath = "/identity/keys"

    let servers: IdentityServers
    let register: IdentityRegister
    let module: AuthenticatorModule
    let platform: DevicePlatform
    let channel: SecureChannel
    let recording: Recording
    /// How long the app lets one exchange take.
    let networkTimeout: Duration
    /// The server's identifier.
    let server: String

    // MARK: Keys

    /// The server's keys: those that were fetched less than a day ago, or fetched now. Where that fails, older ones do as
    /// long as they are good; not where the server has said that it speaks this version no more.
    ///
    /// - Parameter limit: How old they may be, in the place of a day.
    ///
    /// Throws ``EngineError``, `IdentityMessageError`, ``StorageError`` and what the transport throws.
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

    /// Fetches the server's keys, which its root has signed.
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
        // An older set than the one that is kept, which somebody on the way may have kept too, replaces nothing.
        if let kept = try self.servers.keptKeys(of: self.server), set.issuedAt < kept.issuedAt { return kept }
        try self.register.keep(
            keySet: compact, of: self.server, at: self.platform.clock.now(), clockOffset: isOffsetWrong ? .zero : nil)
        return set
    }

    /// The key to seal to: the newest that may still be sealed to.
    func sealingKey() async throws -> ManagerKeySet.SealingKey {
        let keys = try await self.keys()
        let now = self.servers.now(at: self.server)
        guard let key = keys.sealingKeys.first(where: { now < $0.until }) ?? keys.sealingKeys.first else {
            throw IdentityMessageError(.malformed, "sealing")
        }
        return key
    }

    // MARK: Requests

    /// Sends a message and reads the answer. Without a `prover` nothing is proved, as for a claim whose secret is proof.
    ///
    /// - Parameter keep: Keeps the request as long as it has no answer, to be sent again (``sendAgain(_:as:noting:)``).
    ///
    /// Throws ``Refused`` for a refusal, ``Unsettled`` once the request has left and nobody here knows what has become of it,
    /// and before that what ``keys()`` throws, `DeviceKeyError` and ``StorageError``.
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
                // The first request may have arrived in time. Proved anew it would be another one, and done twice.
                guard !wasRepeated else {
                    throw Unsettled(cause: TransportError(.timedOut, "the answer is lost, and its proof too old"))
                }
                // The answer itself has told what the time is.
                guard !isCorrected else {
                    throw Refused(problem: problem, now: response.now, wasRepeated: false)
                }
                isCorrected = true
            }
        }
    }

    /// As ``send(_:to:by:as:)``, for what a factor has signed: it leaves and is judged also where the process's task is
    /// cancelled meanwhile. Cut off on its way, it would leave nobody knowing whether it was done.
    func sendToTheEnd<Answer: IdentityMessage>(
        _ message: some IdentityMessage, to path: String, by prover: Prover?, as type: Answer.Type = Answer.self,
        noting event: TraceEvent? = nil, keeping keep: Keeper? = nil
    ) async throws -> Answered<Answer> {
        // A task of its own, which the process's does not cancel. The transport's time limit bounds it.
        try await Task {
            try await self.send(message, to: path, by: prover, as: type, noting: event, keeping: keep)
        }.value
    }

    /// Sends a request again, to the letter, whose answer was lost: the server answers what it has answered before, or carries
    /// the request out now. `nil` where its proof is too old: what has become of it by then nobody says, and what has not been
    /// carried out never will be.
    ///
    /// Throws ``Refused``, ``Unsettled`` where the answer is lost again, and what ``keys()`` throws.
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

    /// As ``sendAgain(_:as:noting:)``, for what goes to its end (``sendToTheEnd(_:to:by:as:noting:keeping:)``).
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

    /// One request, proved anew, and its verified answer.
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

    /// Sends a request, and verifies its answer. One that was lost is asked for once more with the same bytes: the server has
    /// kept it, and nothing is done twice.
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

    /// Sends a request and, where its answer was lost, sends it again in what is left of the time.
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
            // Never less than the first try had, and nothing of what that one has used.
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
        // It is an answer, whatever the storage says: the next one tells the time again.
        try? self.correctClock(by: answer.now)
        return answer
    }

    /// The answer to a request, which the server has signed: perhaps with a key that is newer than its set.
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

    /// Whoever is on the way can make what is no answer at all as well as a wrong one: they are one error.
    private static func asForged(_ error: IdentityMessageError) -> IdentityMessageError {
        error.code == .malformed ? IdentityMessageError(.wrongSignature, error.reason) : error
    }

    /// Takes over the server's time. A second is what a network may take.
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

    /// How long one exchange may take, its repetition included: shorter than a proof is taken for, which is a minute.
    static let longest = Duration.seconds(25)

    private var timeout: Duration { min(self.networkTimeout, Self.longest) }

    /// An answer that the server has not signed.
    private static func unsigned(_ status: Int) -> EngineError {
        switch status {
        case 408, 429, 500...: EngineError(.unavailable, httpStatus: status, "status \(status)")
        default: EngineError(.malformed, httpStatus: status, "status \(status), unsigned")
        }
    }
}

/// A request that has left, or may have, and of which nobody here knows what has become.
struct Unsettled: Error, Sendable {
    let cause: any Error
}

/// A refusal that the server has signed.
struct Refused: Error, Sendable {
    let problem: IdentityProblem
    /// The server's time.
    let now: Timestamp
    /// Whether it answers a repetition: the request that was lost before may be carried out all the same.
    let wasRepeated: Bool
}

extension IdentityProblem.Code {
    /// Whether a refusal of a repetition says nothing of the request that was lost before: it was turned away unread.
    var decidesNothing: Bool { self == .tooManyRequests }
}

/// A message without members, such as the body of a request that says everything by its address.
struct EmptyMessage: IdentityMessage {
    init() {}
    init(json: JSONObject) {}
    var json: JSONObject { [:] }
}

extension String {
    /// Whether the text can be a part of a path as it is: an identifier that a server has made.
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
