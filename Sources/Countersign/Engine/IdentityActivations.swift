import Ceremony
import Crypto
import Foundation
import JOSE
import UAF
import UAFClient
import _Primitives

/// An activation whose PIN a person has proven, and which is not this device's yet.
struct ProvenCode: Sendable {
    let code: ProcessCode
    let proven: ProvenActivation
    /// What a try of the PIN costs.
    let parameters: PinParameters
    /// The PIN, which the identity goes on with.
    let pin: ProvenPin
    /// The device that the proof has named, and that alone can enrol; `nil` where it has named the identity of that server
    /// that is on this device already: that can take the account into its own, and nothing is enrolled.
    let device: NewDevice?
    /// What has left with the proof.
    let sent = SentEnrolment()
}

/// A PIN that a person has proven, for as long as an identity may be made with it.
// Safe to share: every access to `pin` is within `lock`.
final class ProvenPin: @unchecked Sendable {
    private let lock = NSLock()
    private var pin: SecretBytes?

    init(_ pin: SecretBytes) { self.pin = pin }

    /// The PIN. Throws `IdentityProblem` `activationDataConsumed` where it was forgotten.
    func get() throws(IdentityProblem) -> SecretBytes {
        guard let pin = self.lock.withLock({ self.pin }) else { throw IdentityProblem(.activationDataConsumed) }
        return pin
    }

    /// Forgets it: the identity is made, or nothing comes of its code any more.
    func forget() { self.lock.withLock { self.pin = nil } }
}

/// An enrolment that has left. Sent again it carries the same keys, so that it does not matter which of the two arrives.
// Safe to share: every access to `last` is within `lock`.
final class SentEnrolment: @unchecked Sendable {
    private let lock = NSLock()
    private var last: (device: IdentityKeys, request: EnrollRequest)?

    func note(_ request: EnrollRequest, of identity: StoredIdentity) {
        self.lock.withLock { self.last = (identity.device, request) }
    }

    /// What has left for an identity; `nil` where it left with another proof.
    func request(of identity: StoredIdentity) -> EnrollRequest? {
        self.lock.withLock { self.last.flatMap { $0.device == identity.device ? $0.request : nil } }
    }
}

/// A PIN of an activation that was not the right one.
struct FailedAttempt: Error, Sendable {
    let notice: LockoutNotice
    /// The server's time.
    let now: Timestamp
}

/// Makes identities on this device, and takes them away.
struct IdentityActivations: Sendable {
    /// Which PIN of an identity its first is: that of its activation's code is 0.
    private static let firstPin: UInt32 = 1

    let core: IdentityCore

    private var factors: IdentityFactors { IdentityFactors(core: self.core) }
    private var receipts: IdentityReceipts { IdentityReceipts(core: self.core) }

    // MARK: Opening

    /// Opens an activation with its PIN. Every PIN makes a proof; whether it is right the server says. The proof names this
    /// device, so that whoever reads the answer on its way has no use of it.
    ///
    /// Throws ``FailedAttempt``, `PinSchemeError`, `DeviceKeyError` and ``StorageError`` where the device gets no keys, and what ``ManagerExchange/send(_:to:by:as:)`` throws.
    func open(_ code: ProcessCode, pin: SecretBytes) async throws -> ProvenCode {
        let exchange = self.core.exchange(with: code.server)
        let path = try Self.path(of: code)
        let opened: OpenResponse
        do {
            opened = try await exchange.send(
                OpenRequest(claim: code.claim, security: try await self.core.securityReport()), to: path + "/open",
                by: nil, noting: .activationOpened
            ).message
        } catch let error as Refused where error.problem.code == .activationUnknown {
            // A server forgets a while after its end what it once made this code for.
            throw IdentityProblem(error.now < code.expiresAt ? .activationDataConsumed : .activationDataExpired)
        }
        let key = try await self.core.pinKeys.key(
            pin: pin, deviceSecret: code.secret, parameters: opened.pin,
            context: PinScheme.Context(server: code.server, activation: code.id, version: 0))
        let device: NewDevice?
        let keys: IdentityKeys
        if let identity = self.core.register.identity(of: code.server) {
            (device, keys) = (nil, identity.device)
        } else {
            let made = try NewDevice(self.core)
            (device, keys) = (made, made.keys)
        }
        let speaker = try DeviceIdentity(
            keys, server: code.server, self.core.module, self.core.platform
        ).signingKey.thumbprint
        let signature = try key.signature(
            for: ProveRequest.Proof.signedBytes(
                activation: code.id, challenge: opened.challenge, device: speaker))
        let sealed = try SealedMessage(
            sealing: ProveRequest.Proof(signature: Array(signature.rawRepresentation)),
            to: try await exchange.sealingKey(),
            for: .activationProof(activation: code.id, challenge: opened.challenge))
        return try await self.core.serially(at: code.server) {
            let answer = try await exchange.sendToTheEnd(
                ProveRequest(claim: code.claim, device: speaker, proof: sealed), to: path + "/prove", by: nil,
                as: ProveResponse.self, noting: .activationProofSent)
            switch answer.message {
            case .proven(let proven):
                await self.forgetPending(proven.activation, at: code.server)
                return ProvenCode(
                    code: code, proven: proven, parameters: opened.pin, pin: ProvenPin(pin), device: device)
            case .lockout(let notice, _): throw FailedAttempt(notice: notice, now: answer.now)
            }
        }
    }

    /// Forgets what has left with an earlier proof of an activation. The server has not taken it, or there would be no other
    /// proof; and it never will, because the earlier proof opens nothing any more.
    private func forgetPending(_ activation: String, at server: String) async {
        for identity in self.core.register.identities where identity.state == .pending {
            guard identity.server.hasSameBytes(as: server), identity.activation.hasSameBytes(as: activation) else {
                continue
            }
            try? await self.core.forget(identity)
        }
    }

    // MARK: Enrolling

    /// Makes the identity's keys and has the server take them. What was interrupted is brought to its end first; what has
    /// left with the same proof, and did not arrive, is sent again.
    ///
    /// Throws ``OperationFailure``, ``EngineError`` (`knownAccount` where there is an identity of that server already,
    /// `unavailable` where one waits for its receipt that another proof has made, and the server cannot be asked or may yet
    /// take it), and what ``ManagerExchange/send(_:to:by:as:)`` throws. Where the answer was lost the keys stay until the
    /// server has said that it has nothing, and nothing can be on its way any more. The PIN is forgotten once it is an
    /// identity's, and once nothing comes of its code.
    func enroll(_ proven: ProvenCode, name: String, witness: BiometricWitness?) async throws -> StoredIdentity {
        do {
            let identity = try await self.core.serially(at: proven.code.server) {
                try await self.enrollAlone(proven, name: name, witness: witness)
            }
            proven.pin.forget()
            proven.device?.handOver()
            return identity
        } catch let error as Refused where error.problem.code == .notProven {
            // Nothing else is unproven here than the token: the PIN was proven once more since, on another device.
            throw Refused(
                problem: IdentityProblem(.sessionSuperseded), now: error.now, wasRepeated: error.wasRepeated)
        } catch {
            if error.endsTheEnrolment { proven.pin.forget() }
            throw error
        }
    }

    private func enrollAlone(_ proven: ProvenCode, name: String, witness: BiometricWitness?) async throws
        -> StoredIdentity
    {
        let server = proven.code.server
        await self.settleAlone(at: server)
        if let identity = self.core.register.identity(of: server) {
            // The receipt of this very enrolment was lost, and has been fetched now.
            guard identity.activation.hasSameBytes(as: proven.proven.activation) else {
                throw EngineError(.knownAccount, "an identity of that server")
            }
            return identity
        }
        // The server may have what waits for its receipt. Other keys in its place would be keys that nobody knows.
        let waiting = self.core.register.identities.first { identity in
            identity.server.hasSameBytes(as: server) && identity.state == .pending
        }
        if let waiting {
            guard let request = proven.sent.request(of: waiting) else {
                throw EngineError(.unavailable, "an identity waits for its receipt")
            }
            return try await self.send(request, of: waiting, with: proven)
        }
        // The identity that has proven the PIN may be gone meanwhile; no other device can take its place.
        guard let device = proven.device?.keys else { throw EngineError(.knownAccount, "an identity of that server") }
        let (identity, message) = try await self.make(proven, name, witness, device)
        let speaker = try DeviceIdentity(device, server: server, self.core.module, self.core.platform)
        let token = proven.proven.token
        let sealed = try SealedMessage(
            sealing: EnrollRequest.Enrolment(
                token: token, name: name, signingKey: speaker.signingKey, encryptionKey: speaker.encryptionKey,
                response: message, pinScheme: identity.pin?.secrets.last?.parameters.scheme ?? .pin1),
            to: try await self.core.exchange(with: server).sealingKey(),
            for: .enrolment(activation: proven.code.id, token: token.withBytes { Base64URL.encode($0) }))
        let request = EnrollRequest(enrolment: sealed)
        proven.sent.note(request, of: identity)
        return try await self.send(request, of: identity, with: proven)
    }

    /// Sends the keys of an identity, for the first time or once more, and takes the server's receipt.
    private func send(_ request: EnrollRequest, of identity: StoredIdentity, with proven: ProvenCode) async throws
        -> StoredIdentity
    {
        do {
            let receipt = try await self.receipts.sending(identity) {
                try await self.core.exchange(with: identity.server).sendToTheEnd(
                    request, to: Self.path(of: proven.code) + "/enroll", by: ManagerExchange.Prover(identity),
                    as: ActivationRecord.self, noting: .activationKeysSent)
            }
            return try await self.adopt(identity, receipt.message)
        } catch let error as Refused {
            // The refusal may be of a repetition of what the server has taken: only the server can tell.
            await self.settlePending(identity)
            guard let kept = self.core.register.kept(identity), kept.state == .active else { throw error }
            return kept
        }
    }

    /// Makes the keys, and writes down what is about to leave.
    private func make(
        _ code: ProvenCode, _ name: String, _ witness: BiometricWitness?, _ device: IdentityKeys
    ) async throws -> (StoredIdentity, message: String) {
        let server = code.code.server
        let proven = code.proven
        guard proven.activation.isPathSegment else { throw EngineError(.malformed, "the name of an activation") }
        let finalChallenge = self.factors.finalChallenge(try Challenge(proven.challenge), appID: proven.appID)
        let authenticator = try self.factors.pinAuthenticator(device, server: server)
        let parameters = try PinParameters(
            scheme: proven.pinServiceKey == nil ? .pin1 : .pin2, rounds: code.parameters.rounds,
            blockSize: code.parameters.blockSize, parallelism: code.parameters.parallelism)
        let secret = try authenticator.newSecret(
            for: PinScheme.Context(server: server, activation: proven.activation, version: Self.firstPin),
            parameters: parameters, serviceKey: proven.pinServiceKey)
        let pinAssertion = try await authenticator.register(
            pin: try code.pin.get(), secret: secret, finalChallenge: finalChallenge,
            service: try self.evaluator(code, device))
        let deviceModel = AuthenticatorModel(factor: .devicePossession, keyStore: self.core.module.keyStore)
        // The person's first: where they give up, nothing of the device was made.
        let (keys, message) = try await self.factors.register(
            [witness?.model, deviceModel].compactMap(\.self), witness: witness,
            for: IdentityFactors.Target(appID: proven.appID, username: proven.username), beside: [pinAssertion],
            finalChallenge: finalChallenge)
        let identity = StoredIdentity(
            server: server, account: proven.account, activation: proven.activation, appID: proven.appID,
            username: proven.username, device: device, created: self.core.servers.now(at: server), name: name,
            keys: keys, pin: ServerPinRecord(secret), facet: self.core.facetID.text)
        do {
            try self.core.register.keep(identity)
        } catch {
            await self.factors.settle(keys, isKept: false)
            throw error
        }
        return (identity, message)
    }

    /// Asks the server's PIN service about the first PIN, for the proof of the code's and by the device that it has named.
    private func evaluator(_ proven: ProvenCode, _ device: IdentityKeys) throws -> PinEvaluator {
        let path = try Self.path(of: proven.code) + "/pin-evaluation"
        let exchange = self.core.exchange(with: proven.code.server)
        let speaker = try DeviceIdentity(
            device, server: proven.code.server, self.core.module, self.core.platform)
        let opening = EvaluationRequest.Opening(
            claim: proven.code.claim, token: proven.proven.token, signingKey: speaker.signingKey)
        let prover = ManagerExchange.Prover(device: device, activation: proven.proven.activation)
        return PinEvaluator { blinded in
            try await exchange.send(
                EvaluationRequest(
                    blinded: blinded, opening: opening, security: try await self.core.securityReport()),
                to: path, by: prover, as: EvaluationResponse.self, noting: .pinAsked
            ).message.evaluated
        }
    }

    /// Makes an identity answer, by the server's receipt. Throws ``EngineError`` `malformed` for the receipt of another.
    private func adopt(_ identity: StoredIdentity, _ receipt: ActivationRecord) async throws -> StoredIdentity {
        guard receipt.activation.hasSameBytes(as: identity.activation) else {
            throw EngineError(.malformed, "the receipt of another activation")
        }
        let adopted = try self.core.register.change(identity) { identity in
            identity.state = .active
            identity.sent = nil
            identity.name = receipt.name
            if let version = receipt.pinVersion { try? identity.pin?.settle(on: version) }
        }
        guard let adopted else { throw EngineError(.unknownAccount, "taken away meanwhile") }
        await self.factors.settle(adopted.keys, isKept: true)
        return adopted
    }

    // MARK: What was interrupted

    /// Asks the server what has become of what was cut off: of enrolments without a receipt, and of identities that were
    /// taken off this device while the server was not to be reached. What cannot be told stays for the next time.
    func settleInterrupted(at server: String? = nil) async {
        let servers = server.map { [$0] } ?? self.core.configuration.servers.map(\.idmIdentifier)
        for server in servers {
            try? await self.core.serially(at: server) { await self.settleAlone(at: server) }
        }
    }

    private func settleAlone(at server: String) async {
        // What was made under another name of the app is settled when the app has that name again: here nothing signs for it.
        for identity in self.core.register.identities
        where server.hasSameBytes(as: identity.server) && self.core.formerName(of: identity) == nil {
            switch identity.state {
            case .active: await self.settleFactors(of: identity)
            case .pending: await self.settlePending(identity)
            case .ending: try? await self.tell(identity)
            }
        }
    }

    private func settlePending(_ identity: StoredIdentity) async {
        do {
            let record = try await self.receipts.record(of: identity)
            _ = try await self.adopt(identity, record.message)
        } catch let error as Refused where error.problem.code.saysThatThereIsNone {
            guard !self.receipts.mayArrive(identity, at: error.now) else { return }
            try? await self.core.forget(identity)
        } catch let error as DeviceKeyError where error.isForGood {
            // It could never prove itself. What the server may have of it, its owner ends at the server.
            try? await self.core.forget(identity)
        } catch {}
    }

    /// The key of the finger or face that the server has of an identity, and that signs here no more: a new one takes its
    /// place. `nil` where the server has none.
    ///
    /// Throws `IdentityProblem` `factorAlreadyEnrolled` where the identity's own signs, and where the server does not say
    /// which it has; what ``IdentityFactors/hasBiometric(_:)`` and ``IdentityReceipts/record(of:)`` throw.
    func formerFinger(at server: String) async throws -> KeyID? {
        try await self.core.serially(at: server) {
            await self.settleFactors(of: try self.core.identity(of: server))
            let identity = try self.core.identity(of: server)
            guard try await !self.factors.hasBiometric(identity) else { throw IdentityProblem(.factorAlreadyEnrolled) }
            let record = try await self.receipts.record(of: identity).message
            guard record.has(.biometric) else { return nil }
            guard let key = record.biometricKey else { throw IdentityProblem(.factorAlreadyEnrolled) }
            return key
        }
    }

    /// Asks the server which of the factors it has whose receipt was lost: one that it names has arrived, one that it does
    /// not name may yet. Where it names no keys, it had none of the type before they left (``IdentityCompletions/add(_:)``).
    func settleFactors(of identity: StoredIdentity) async {
        guard !identity.unconfirmed.isEmpty,
            let answer = try? await self.receipts.record(of: identity)
        else { return }
        let (known, unknown) = identity.unconfirmed.reduce(into: ([KeyName](), [KeyName]())) { keys, key in
            let type = AuthenticatorModel(aaid: key.aaid)?.type
            if answer.message.biometricKey.map({ $0 == key.keyID }) ?? type.map(answer.message.has) ?? false {
                keys.0.append(key)
            } else {
                keys.1.append(key)
            }
        }
        guard unknown.isEmpty || !self.receipts.mayArrive(identity, at: answer.now) else { return }
        let changed = try? self.core.register.change(identity) { identity in
            identity.unconfirmed.removeAll { known.contains($0) || unknown.contains($0) }
            identity.sent = nil
            if identity.state == .active { identity.keys += known }
        }
        guard changed != nil else { return }
        await self.factors.settle(known, isKept: true)
        await self.factors.settle(unknown, isKept: false)
    }

    // MARK: Taking away

    /// Takes an identity off this device: its factors at once, whatever the network does. The server is told now where it
    /// can be reached, and else later.
    ///
    /// Throws ``StorageError``.
    func remove(_ identity: StoredIdentity) async throws {
        guard let ended = try await self.core.end(identity) else { return }
        try? await self.core.serially(at: identity.server) { try await self.tell(ended) }
    }

    /// Tells the server that an identity is gone, and forgets it once the server has heard.
    private func tell(_ identity: StoredIdentity) async throws {
        do {
            _ = try await self.core.exchange(with: identity.server).send(
                "DELETE", [], to: IdentityReceipts.path, by: ManagerExchange.Prover(identity), as: EmptyMessage.self)
        } catch let error as Refused {
            guard error.problem.code.saysThatThereIsNone else { throw error }
        } catch let error as DeviceKeyError where error.isForGood && self.core.formerName(of: identity) == nil {
            // Nobody could ever tell the server from here.
        }
        try await self.core.forget(identity)
    }

    private static func path(of code: ProcessCode) throws -> String {
        guard code.id.isPathSegment else { throw EngineError(.malformed, "the name of an activation") }
        return "/identity/activations/\(code.id)"
    }
}

extension ActivationRecord {
    /// Whether the activation has a factor of a type.
    func has(_ type: AuthenticatorType) -> Bool { self.factors.contains { $0.hasSameBytes(as: type.rawValue) } }
}

extension Error {
    /// Whether an identity is made of the activation no more, however often it is tried.
    fileprivate var endsTheEnrolment: Bool {
        // Another identity of the server does not end it: the code is unused, and good once that one is taken away.
        guard let error = self as? Refused else { return false }
        return [.activationDataConsumed, .activationDataExpired, .activationUnknown, .activationDisabled].contains(
            error.problem.code)
    }
}

extension IdentityProblem.Code {
    /// Whether the server has no activation that answers, so that nothing is to be told to it.
    var saysThatThereIsNone: Bool {
        [.activationUnknown, .activationDisabled, .notProven].contains(self)
    }
}
