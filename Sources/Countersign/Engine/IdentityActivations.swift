import Ceremony
import Crypto
import Foundation
import JOSE
import UAF
import UAFClient
import _Primitives

/// An activation whose PIN a person has proven, and which does not belong to this device yet.
struct ProvenCode: Sendable {
    let code: ProcessCode
    let proven: ProvenActivation
    /// The cost parameters of one try of the PIN.
    let parameters: PinParameters
    /// The PIN, which the identity keeps.
    let pin: ProvenPin
    /// The device that the proof has named, and that alone can enrol.
    ///
    /// `nil` if the proof has named the identity of the server that this device already has. The activation
    /// merges the account into the account of this identity then, and no key is enrolled.
    let device: NewDevice?
    /// The enrolment that was sent with the proof.
    let sent = SentEnrolment()
}

/// A PIN that a person has proven, kept as long as an identity may be made with it.
// Safe to share: every access to `pin` is within `lock`.
final class ProvenPin: @unchecked Sendable {
    private let lock = NSLock()
    private var pin: SecretBytes?

    init(_ pin: SecretBytes) { self.pin = pin }

    /// Returns the PIN. Throws `IdentityProblem` `activationDataConsumed` if the PIN was forgotten.
    func get() throws(IdentityProblem) -> SecretBytes {
        guard let pin = self.lock.withLock({ self.pin }) else { throw IdentityProblem(.activationDataConsumed) }
        return pin
    }

    /// Forgets the PIN: the identity is made, or the code is of no use any more.
    func forget() { self.lock.withLock { self.pin = nil } }
}

/// An enrolment that was sent. A repetition carries the same keys, so that the result does not depend on which of the
/// two messages arrives.
// Safe to share: every access to `last` is within `lock`.
final class SentEnrolment: @unchecked Sendable {
    private let lock = NSLock()
    private var last: (device: DeviceIdentityKeys, request: EnrollRequest)?

    func note(_ request: EnrollRequest, of identity: StoredIdentity) {
        self.lock.withLock { self.last = (identity.device, request) }
    }

    /// Returns the enrolment that was sent for an identity; `nil` if it was sent with another proof.
    func request(of identity: StoredIdentity) -> EnrollRequest? {
        self.lock.withLock { self.last.flatMap { $0.device == identity.device ? $0.request : nil } }
    }
}

/// The error of a wrong PIN of an activation.
struct FailedAttempt: Error, Sendable {
    let notice: LockoutNotice
    /// The server's time.
    let now: Timestamp
}

/// The operations that make identities on this device and remove them.
struct IdentityActivations: Sendable {
    /// The version of an identity's first PIN; the PIN of its activation's code has version 0.
    private static let firstPin: UInt32 = 1

    let core: IdentityCore

    private var factors: IdentityFactors { IdentityFactors(core: self.core) }
    private var receipts: IdentityReceipts { IdentityReceipts(core: self.core) }

    // MARK: Opening

    /// Opens an activation with its PIN. Every PIN creates a proof, and only the server can judge the PIN. The proof
    /// names this device, so an attacker who reads the server's answer cannot enrol another device with the answer.
    ///
    /// Throws ``FailedAttempt``, `PinSchemeError`, `DeviceKeyError` and ``StorageError`` if the device gets no keys,
    /// and the errors of ``ManagerExchange/send(_:to:by:as:)``.
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
            // A while after its end, a server forgets the purpose of a code that it made.
            throw IdentityProblem(error.now < code.expiresAt ? .activationDataConsumed : .activationDataExpired)
        }
        let key = try await self.core.pinKeys.key(
            pin: pin, phoneHalf: code.secret, parameters: opened.pin,
            context: PinScheme.Context(server: code.server, activation: code.id, version: 0))
        let device: NewDevice?
        let keys: DeviceIdentityKeys
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

    /// Forgets the identity that was sent with an earlier proof of an activation. The server has not accepted it,
    /// otherwise no other proof would exist. The server never will, because the earlier proof is no longer valid.
    private func forgetPending(_ activation: String, at server: String) async {
        for identity in self.core.register.identities where identity.state == .pending {
            guard identity.server.hasSameBytes(as: server), identity.activation.hasSameBytes(as: activation) else {
                continue
            }
            try? await self.core.forget(identity)
        }
    }

    // MARK: Enrolling

    /// Makes the identity's keys and sends them to the server. Interrupted operations are completed first; an enrolment
    /// that was sent with the same proof and did not arrive is sent again.
    ///
    /// Throws ``OperationFailure``, ``EngineError``, and the errors of ``ManagerExchange/send(_:to:by:as:)``. The error
    /// is `knownAccount` if the device already has an identity of the server. The error is `unavailable` if an identity
    /// of another proof waits for its receipt, and the server cannot be asked or may still accept the identity.
    ///
    /// If the answer was lost, the keys stay until the server has said that it has nothing and no message can be on its
    /// way any more. The PIN is forgotten once an identity has it, and once the code is of no use any more.
    func enroll(_ proven: ProvenCode, name: String, witness: BiometricWitness?) async throws -> StoredIdentity {
        do {
            let identity = try await self.core.serially(at: proven.code.server) {
                try await self.enrollAlone(proven, name: name, witness: witness)
            }
            proven.pin.forget()
            proven.device?.handOver()
            return identity
        } catch let error as Refused where error.problem.code == .notProven {
            // Only the token can be unproven here: the PIN was proven once more since, on another device.
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
            // The receipt of this same enrolment was lost, and has been fetched now.
            guard identity.activation.hasSameBytes(as: proven.proven.activation) else {
                throw EngineError(.knownAccount, "an identity of that server")
            }
            return identity
        }
        // The server may have the identity that waits for its receipt. New keys in its place would be unknown to the
        // server.
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

    /// Sends the keys of an identity, for the first time or once more, and adopts the server's receipt.
    private func send(_ request: EnrollRequest, of identity: StoredIdentity, with proven: ProvenCode) async throws
        -> StoredIdentity
    {
        do {
            let receipt = try await self.receipts.sending(identity) {
                try await self.core.exchange(with: identity.server).sendToTheEnd(
                    request, to: Self.path(of: proven.code) + "/enroll", by: ManagerExchange.Prover(identity),
                    as: ActivationReceipt.self, noting: .activationKeysSent)
            }
            return try await self.adopt(identity, receipt.message)
        } catch let error as Refused {
            // The refusal may answer a repetition of an enrolment that the server has accepted: only the server can
            // tell.
            await self.settlePending(identity)
            guard let kept = self.core.register.kept(identity), kept.state == .active else { throw error }
            return kept
        }
    }

    /// Makes the keys, and stores the identity before it is sent.
    private func make(
        _ code: ProvenCode, _ name: String, _ witness: BiometricWitness?, _ device: DeviceIdentityKeys
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
        // The person's key comes first: if the person gives up, no key of the device was made.
        let (keys, message) = try await self.factors.register(
            [witness?.model, deviceModel].compactMap(\.self), witness: witness,
            for: IdentityFactors.Target(appID: proven.appID, username: proven.username), beside: [pinAssertion],
            finalChallenge: finalChallenge)
        let identity = StoredIdentity(
            server: server, account: proven.account, activation: proven.activation, appID: proven.appID,
            username: proven.username, device: device, created: self.core.servers.now(at: server), name: name,
            keys: keys, pin: StoredServerPin(secret), facet: self.core.facetID.text)
        do {
            try self.core.register.keep(identity)
        } catch {
            await self.factors.settle(keys, isKept: false)
            throw error
        }
        return (identity, message)
    }

    /// Returns the evaluator that asks the server's PIN service about the first PIN, with the proof of the code's PIN
    /// and by the device that the proof has named.
    private func evaluator(_ proven: ProvenCode, _ device: DeviceIdentityKeys) throws -> PinEvaluator {
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

    /// Activates an identity with the server's receipt. Throws ``EngineError`` `malformed` for the receipt of another
    /// activation.
    private func adopt(_ identity: StoredIdentity, _ receipt: ActivationReceipt) async throws -> StoredIdentity {
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

    /// Asks the server about interrupted operations: enrolments without a receipt, and identities that were removed
    /// from this device while the server could not be reached. Cases without an answer stay for the next time.
    func settleInterrupted(at server: String? = nil) async {
        let servers = server.map { [$0] } ?? self.core.configuration.servers.map(\.idmIdentifier)
        for server in servers {
            try? await self.core.serially(at: server) { await self.settleAlone(at: server) }
        }
    }

    private func settleAlone(at server: String) async {
        // Identities of another name of the app are settled when the app has the former name again: under the present
        // name nothing can sign for them.
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
            // The identity can never prove itself. Its owner ends the server's record, if one exists, at the server.
            try? await self.core.forget(identity)
        } catch {}
    }

    /// Returns the server's key of an identity's finger or face that no longer signs on this device and that a new key
    /// replaces. `nil` if the server has none.
    ///
    /// Throws `IdentityProblem` `factorAlreadyEnrolled` if the identity's own key signs, and if the server does not
    /// name its key; the errors of ``IdentityFactors/hasBiometric(_:)`` and ``IdentityReceipts/record(of:)``.
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

    /// Asks the server which of the unconfirmed factors it has. A factor that the server names has arrived; a factor
    /// that it does not name may still arrive. If the server names no keys, it had no factor of the type before the
    /// factors were sent (``IdentityCompletions/add(_:)``).
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

    /// Removes an identity from this device: its factors at once, whatever the network does. The server is told now if
    /// it can be reached, otherwise later.
    ///
    /// Throws ``StorageError``.
    func remove(_ identity: StoredIdentity) async throws {
        guard let ended = try await self.core.end(identity) else { return }
        try? await self.core.serially(at: identity.server) { try await self.tell(ended) }
    }

    /// Tells the server that an identity is gone, and forgets the identity after the server's answer.
    private func tell(_ identity: StoredIdentity) async throws {
        do {
            _ = try await self.core.exchange(with: identity.server).send(
                "DELETE", [], to: IdentityReceipts.path, by: ManagerExchange.Prover(identity), as: EmptyMessage.self)
        } catch let error as Refused {
            guard error.problem.code.saysThatThereIsNone else { throw error }
        } catch let error as DeviceKeyError where error.isForGood && self.core.formerName(of: identity) == nil {
            // This device could never tell the server.
        }
        try await self.core.forget(identity)
    }

    private static func path(of code: ProcessCode) throws -> String {
        guard code.id.isPathSegment else { throw EngineError(.malformed, "the name of an activation") }
        return "/identity/activations/\(code.id)"
    }
}

extension ActivationReceipt {
    /// Returns `true` if the activation has a factor of the type.
    func has(_ type: AuthenticatorType) -> Bool { self.factors.contains { $0.hasSameBytes(as: type.rawValue) } }
}

extension Error {
    /// `true` if no identity can be made of the activation any more, however often it is tried.
    fileprivate var endsTheEnrolment: Bool {
        // Another identity of the server does not end the enrolment: the code is unused, and valid once the other
        // identity is removed.
        guard let error = self as? Refused else { return false }
        return [.activationDataConsumed, .activationDataExpired, .activationUnknown, .activationDisabled].contains(
            error.problem.code)
    }
}

extension IdentityProblem.Code {
    /// `true` if the server has no activation that answers, so that nothing has to be told to the server.
    var saysThatThereIsNone: Bool {
        [.activationUnknown, .activationDisabled, .notProven].contains(self)
    }
}
