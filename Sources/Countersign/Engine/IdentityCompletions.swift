import Ceremony
import Crypto
import Foundation
import JOSE
import UAF
import UAFClient
import _Primitives

/// The operations on an account or an activation that an authentication has permitted: each can be done once.
struct IdentityCompletions: Sendable {
    let core: IdentityCore
    let session: ClaimedSession
    /// The document that the factors have signed. New keys are registered over its challenge.
    let checked: CheckedSession
    private let tries = UnsettledTries()
    /// The requested activations for other devices whose answer was lost.
    private let unanswered = UnansweredRequests<AskedActivation>()

    init(core: IdentityCore, session: ClaimedSession, checked: CheckedSession) {
        self.core = core
        self.session = session
        self.checked = checked
    }

    private var receipts: IdentityReceipts { IdentityReceipts(core: self.core) }
    private var factors: IdentityFactors { IdentityFactors(core: self.core) }
    private var sessions: IdentitySessions { IdentitySessions(core: self.core) }

    /// `true` if an earlier try may have been carried out. Trying once more with the same PIN would tell.
    var isUnsettled: Bool { !self.unanswered.isEmpty || !self.tries.isEmpty }

    /// Forgets the PINs of all tries, which are no longer needed.
    func forget() {
        self.unanswered.forget()
        self.tries.forget()
        self.checked.askedPins.forget()
    }

    private func finalChallenge(_ identity: StoredIdentity) -> String {
        self.factors.finalChallenge(self.checked.document.challenge, appID: identity.appID)
    }

    /// Adds a finger or a face, in place of the finger or face that the session was begun to replace.
    ///
    /// Throws `IdentityProblem` `factorAlreadyEnrolled` if the identity has another finger or face, on this device or
    /// at its server; ``EngineError`` `unavailable` if a factor waits for its receipt and the server cannot be asked or
    /// may still accept the factor; ``OperationFailure``; and the errors of
    /// ``IdentitySessions/complete(_:_:keeping:)``. After an error no key is left, unless the answer was lost. In that
    /// case the key stays until the server has said that it has none, and no message can be on its way any more.
    func add(_ witness: BiometricWitness) async throws {
        try await self.core.serially(at: self.session.server) { try await self.addAlone(witness) }
    }

    private func addAlone(_ witness: BiometricWitness) async throws {
        var identity = try self.sessions.identity(of: self.session)
        if !identity.unconfirmed.isEmpty {
            await IdentityActivations(core: self.core).settleFactors(of: identity)
            identity = try self.sessions.identity(of: self.session)
            guard identity.unconfirmed.isEmpty else {
                throw EngineError(.unavailable, "a factor waits for its receipt")
            }
            // The receipt of this same factor was lost, and has been fetched now.
            if self.factors.types(of: identity).contains(.biometric) { return }
        }
        guard !self.factors.types(of: identity).contains(.biometric) else {
            throw IdentityProblem(.factorAlreadyEnrolled)
        }
        // The server is asked before a key is made that it would not accept.
        let record = try await self.receipts.record(of: identity).message
        let former = record.has(.biometric) ? self.session.replaces : nil
        guard !record.has(.biometric) || (former != nil && former == record.biometricKey) else {
            throw IdentityProblem(.factorAlreadyEnrolled)
        }
        let (keys, message) = try await self.factors.register(
            [witness.model], witness: witness,
            for: IdentityFactors.Target(appID: identity.appID, username: identity.username),
            finalChallenge: self.finalChallenge(identity))
        do {
            // The key is stored before it is sent: a key that the server knows is useful even if its answer is lost.
            try self.core.register.change(identity) { $0.unconfirmed += keys }
            _ = try await self.receipts.sending(identity) {
                try await self.sessions.complete(self.session, .addFactor(response: message, replaces: former))
            }
        } catch {
            guard !error.leavesUnsettled else { throw error }
            _ = try? self.core.register.change(identity) { $0.unconfirmed.removeAll(where: keys.contains) }
            await self.factors.settle(keys, isKept: false)
            throw error
        }
        try self.core.register.change(identity) { identity in
            identity.unconfirmed.removeAll(where: keys.contains)
            identity.sent = nil
            if identity.state == .active { identity.keys += keys }
        }
        await self.factors.settle(keys, isKept: true)
    }

    /// Changes the PIN. The device keeps the former and the new PIN until the server has said which of them counts:
    /// with its receipt, or with a later session. If the fate of a try with the same PIN is unknown, and the next try
    /// is refused because the session is over, the function asks the server for its PIN version.
    ///
    /// Throws ``ServerPinError``, `PinSchemeError`, ``StorageError``, and the errors of
    /// ``IdentitySessions/complete(_:_:keeping:)``.
    func change(pin: SecretBytes) async throws {
        try await self.core.serially(at: self.session.server) { try await self.changeAlone(pin) }
    }

    private func changeAlone(_ pin: SecretBytes) async throws {
        let identity = try self.sessions.identity(of: self.session)
        guard let record = identity.pin, let current = self.checked.prepared.pinVersion,
            let former = record.secret(of: current)
        else { throw ServerPinError.unknownVersion }
        let authenticator = try self.factors.pinAuthenticator(of: identity)
        // After a change whose answer was lost, the server may already have the secret. Replacing the secret would make
        // the PIN unusable.
        let left = record.secret(of: current &+ 1)
        let secret =
            try left
            ?? authenticator.newSecret(
                for: PinScheme.Context(
                    server: identity.server, activation: identity.activation, version: current &+ 1),
                parameters: former.parameters, serviceKey: former.serviceKey)
        let finalChallenge = self.finalChallenge(identity)
        let version: UInt32?
        do {
            // A PIN service also refuses as over if the session was already used.
            let assertion = try await authenticator.register(
                pin: pin, secret: secret, finalChallenge: finalChallenge,
                service: try self.sessions.evaluator(self.session, self.checked))
            if left == nil {
                var changed = record
                try changed.begin(secret, beside: current)
                let both = changed
                try self.core.register.change(identity) { $0.pin = both }
            }
            let response = RegistrationResponse(
                header: OperationHeader(operation: .registration, appID: identity.appID), fcParams: finalChallenge,
                assertions: [assertion])
            version = try await self.settling(pin) {
                try await self.sessions.complete(
                    self.session,
                    .changePin(version: secret.version, response: String(decoding: response.serialized, as: UTF8.self)))
            }.activation?.pinVersion
        } catch let error as Refused where error.problem.code.saysThatItIsOver && self.tries.mayHaveDone(pin) {
            guard try await self.receipts.record(of: identity).message.pinVersion == secret.version else {
                // The server has the former PIN, and accepts no other PIN in this session: all of the tries have
                // failed.
                self.tries.forget()
                throw error
            }
            version = secret.version
        }
        guard let version else { return }
        // The change is done, whatever the storage reports now: the next session names the version again.
        _ = try? self.core.register.change(identity) { identity in try? identity.pin?.settle(on: version) }
        self.checked.askedPins.forget()
    }

    /// Creates an activation for another device, and returns the text of its code. The secret and the key of the PIN
    /// are made on this device. The server therefore knows neither, unless the server also sends the code by letter.
    ///
    /// If the answer was lost, the same wish is sent again with the same request: the code is then the code of the
    /// first request.
    ///
    /// Throws `PinSchemeError`, and the errors of ``IdentitySessions/complete(_:_:keeping:)``.
    func newActivation(pin: SecretBytes, name: String?, sendsLetter: Bool) async throws -> String {
        try await self.core.inTurn(self.session.id) {
            // Nothing is sent again for an identity that this device no longer has.
            _ = try self.sessions.identity(of: self.session)
            let settled = try await self.unanswered.settle(
                where: { $0.isFor(pin, name, sendsLetter) },
                { (request, asked) -> ManagerExchange.Answered<CompleteResponse>? in
                    let answer = try await self.core.exchange(with: self.session.server).sendAgainToTheEnd(
                        request, as: CompleteResponse.self)
                    // Only the request can return the code once more. The request therefore stays if the answer
                    // contains no valid code.
                    if let answer { _ = try await self.code(of: asked, in: answer.message) }
                    return answer
                })
            if let settled { return try await self.code(of: settled.subject, in: settled.answer.message) }
            return try await self.newActivationAlone(pin: pin, name: name, sendsLetter: sendsLetter)
        }
    }

    private func newActivationAlone(pin: SecretBytes, name: String?, sendsLetter: Bool) async throws -> String {
        let server = self.session.server
        let random = self.core.platform.random
        let secret = SecretBytes(random.bytes(ProcessCode.secretBytes))
        let id = random.identifier()
        // The code's PIN is proven before the server knows the phone. No service evaluates the PIN.
        let parameters = try PinParameters(scheme: .pin1)
        let key = try await self.core.pinKeys.key(
            pin: pin, phoneHalf: secret, parameters: parameters,
            context: PinScheme.Context(server: server, activation: id, version: 0))
        let point = Array(key.publicKey.rawRepresentation)
        let asked = AskedActivation(pin: pin, name: name, sendsLetter: sendsLetter, id: id, secret: secret)
        let wish = Completion.NewActivation(
            claimDigest: ProcessCode.digest(ofClaim: ProcessCode.claim(of: secret)),
            pinKey: try JWK(.p256(x: Array(point[..<32]), y: Array(point[32...]), d: nil)), pin: parameters,
            activation: id, name: name, secretForMail: sendsLetter ? secret : nil)
        let keep = self.unanswered.keeper(of: asked)
        do {
            // The request is kept until its code is valid: the answer alone is nothing that the person could show.
            let answer = try await self.sessions.complete(self.session, .newActivation(wish)) { request in
                if let request { keep(request) }
            }
            let code = try await self.code(of: asked, in: answer)
            keep(nil)
            return code
        } catch let error as Refused {
            if !(error.wasRepeated && error.problem.code.decidesNothing) { keep(nil) }
            throw error
        }
    }

    /// Returns the text of the code of a created activation.
    private func code(of asked: AskedActivation, in answer: CompleteResponse) async throws -> String {
        let server = self.session.server
        guard let signed = answer.code else { throw EngineError(.malformed, "no code") }
        let text = ProcessCode.text(signed: signed, secret: asked.secret)
        let keys = try await self.core.exchange(with: server).keys()
        let code = try ProcessCode(parsing: text, keys: keys.signingKeys)
        guard code.kind == .activation, code.id.hasSameBytes(as: asked.id), code.server.hasSameBytes(as: server) else {
            throw EngineError(.malformed, "a code of something else")
        }
        return text
    }

    /// Deletes the account at its server permanently, and the device's data of the account. If the server does not know
    /// the device, the account counts as deleted only if the fate of an earlier try is unknown: an activation that
    /// ended elsewhere does not mean that the account ended.
    ///
    /// Throws the errors of ``IdentitySessions/complete(_:_:keeping:)``, and ``StorageError`` once the account is
    /// deleted.
    func deleteAccount() async throws {
        try await self.core.serially(at: self.session.server) {
            let identity = try self.sessions.identity(of: self.session)
            do {
                _ = try await self.settling { try await self.sessions.complete(self.session, .delete) }
            } catch let error as Refused
                where [.activationUnknown, .notProven].contains(error.problem.code) && self.tries.mayHaveDone(nil)
            {
                // The account is gone already: the answer of an earlier try was lost.
            }
            // If the storage fails now, the next try finds no account, and knows that this try deleted it.
            self.tries.note(nil)
            try await self.core.forget(identity)
        }
    }

    /// Runs a try, and remembers the try if its fate is unknown.
    private func settling<Answer>(_ pin: SecretBytes? = nil, _ body: () async throws -> Answer) async throws -> Answer {
        do {
            return try await body()
        } catch {
            if error.leavesUnsettled { self.tries.note(pin) }
            throw error
        }
    }
}

/// A requested activation for another device: the request's parameters, and the parts of its code.
private struct AskedActivation: Sendable {
    let pin: SecretBytes
    let name: String?
    let sendsLetter: Bool
    let id: String
    let secret: SecretBytes

    /// Returns `true` if the activation was requested with the same parameters.
    func isFor(_ pin: SecretBytes, _ name: String?, _ sendsLetter: Bool) -> Bool {
        let isSameName =
            switch (self.name, name) {
            case (let own?, let name?): own.hasSameBytes(as: name)
            case (nil, nil): true
            default: false
            }
        return isSameName && self.pin == pin && self.sendsLetter == sendsLetter
    }
}

/// The tries of a completion whose fate is unknown.
// Safe to share: every access to `pins` is within `lock`.
private final class UnsettledTries: @unchecked Sendable {
    private let lock = NSLock()
    /// The PINs that the tries would have set, at most two: with more than one PIN, the PIN at the server is unknown.
    private var pins: [SecretBytes?] = []

    func note(_ pin: SecretBytes?) {
        self.lock.withLock {
            guard self.pins.count < 2, !self.pins.contains(pin) else { return }
            self.pins.append(pin)
        }
    }

    func forget() { self.lock.withLock { self.pins = [] } }

    /// `true` if no try is recorded.
    var isEmpty: Bool { self.lock.withLock { self.pins.isEmpty } }

    /// Returns `true` if a try may have been carried out, and every recorded try had the same effect as a try with this
    /// PIN.
    func mayHaveDone(_ pin: SecretBytes?) -> Bool {
        self.lock.withLock { !self.pins.isEmpty && self.pins.allSatisfy { $0 == pin } }
    }
}

extension IdentityProblem.Code {
    /// `true` if the session's permission is over, as it is after the operation was done.
    fileprivate var saysThatItIsOver: Bool {
        [.grantExpired, .sessionConsumed, .sessionUnknown, .sessionExpired].contains(self)
    }
}
