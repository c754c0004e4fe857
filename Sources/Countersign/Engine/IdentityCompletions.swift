import Ceremony
import Crypto
import JOSE
import UAF
import UAFClient
import _Primitives

/// What is done with an account or an activation once an authentication has permitted it: each thing once.
struct IdentityCompletions: Sendable {
    let core: IdentityCore
    let session: ClaimedSession
    /// The document that the factors have signed: what is new is registered over its challenge.
    let checked: CheckedSession

    private var factors: IdentityFactors { IdentityFactors(core: self.core) }
    private var sessions: IdentitySessions { IdentitySessions(core: self.core) }

    private func finalChallenge(_ identity: StoredIdentity) -> String {
        self.factors.finalChallenge(self.checked.document.challenge, appID: identity.appID)
    }

    /// Adds a finger or a face.
    ///
    /// Throws `IdentityProblem` `factorAlreadyEnrolled` where the identity has one, ``EngineError`` `unavailable` where one
    /// waits for its receipt and the server cannot be asked, ``OperationFailure``, and what
    /// ``IdentitySessions/complete(_:_:)`` throws. No key is left then, but where the answer was lost: that one stays until
    /// the server can be asked.
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
            // The receipt of this very factor was lost, and has been fetched now.
            if self.factors.types(of: identity).contains(.biometric) { return }
        }
        guard !self.factors.types(of: identity).contains(.biometric) else {
            throw IdentityProblem(.factorAlreadyEnrolled)
        }
        let (keys, message) = try await self.factors.register(
            [witness.model], witness: witness,
            for: IdentityFactors.Target(appID: identity.appID, username: identity.username),
            finalChallenge: self.finalChallenge(identity))
        do {
            // Written down before it leaves: a key that the server knows is of use also where its answer is lost.
            try self.core.register.change(identity) { $0.unconfirmed += keys }
            _ = try await self.sessions.complete(self.session, .addFactor(response: message))
        } catch let error as Unsettled {
            throw error
        } catch {
            _ = try? self.core.register.change(identity) { $0.unconfirmed.removeAll(where: keys.contains) }
            await self.factors.settle(keys, isKept: false)
            throw error
        }
        try self.core.register.change(identity) { identity in
            identity.unconfirmed.removeAll(where: keys.contains)
            if identity.state == .active { identity.keys += keys }
        }
        await self.factors.settle(keys, isKept: true)
    }

    /// Changes the PIN. Both are here until the server has said which of them counts: with its receipt, or with a later
    /// session.
    ///
    /// Throws ``ServerPinError``, and what ``IdentitySessions/complete(_:_:)`` throws.
    func change(pin: SecretBytes) async throws {
        try await self.core.serially(at: self.session.server) { try await self.changeAlone(pin) }
    }

    private func changeAlone(_ pin: SecretBytes) async throws {
        let identity = try self.sessions.identity(of: self.session)
        guard let record = identity.pin, let current = self.checked.prepared.pinVersion,
            let former = record.secret(of: current)
        else { throw ServerPinError.unknownVersion }
        let authenticator = try self.factors.pinAuthenticator(of: identity)
        // Of a change whose answer was lost the server may have the secret already: another one in its place would be the end
        // of the PIN.
        let left = record.secret(of: current &+ 1)
        let secret =
            try left
            ?? authenticator.newSecret(
                for: PinScheme.Context(
                    server: identity.server, activation: identity.activation, version: current &+ 1),
                parameters: former.parameters)
        let finalChallenge = self.finalChallenge(identity)
        let assertion = try await authenticator.register(pin: pin, secret: secret, finalChallenge: finalChallenge)
        if left == nil {
            var changed = record
            try changed.begin(secret, beside: current)
            let both = changed
            try self.core.register.change(identity) { $0.pin = both }
        }
        let response = RegistrationResponse(
            header: OperationHeader(operation: .registration, appID: identity.appID), fcParams: finalChallenge,
            assertions: [assertion])
        let answer = try await self.sessions.complete(
            self.session,
            .changePin(version: secret.version, response: String(decoding: response.serialized, as: UTF8.self)))
        guard let version = answer.activation?.pinVersion else { return }
        // It is done, whatever the storage says now: the next session names the version again.
        _ = try? self.core.register.change(identity) { identity in try? identity.pin?.settle(on: version) }
    }

    /// Makes an activation for another device, and returns the text of its code. Its secret and the key of its PIN are made
    /// here, so that the server knows neither, unless it is to write the letter.
    ///
    /// Throws `PinSchemeError`, and what ``IdentitySessions/complete(_:_:)`` throws.
    func newActivation(pin: SecretBytes, name: String?, sendsLetter: Bool) async throws -> String {
        let server = self.session.server
        let random = self.core.platform.random
        let secret = SecretBytes(random.bytes(ProcessCode.secretBytes))
        let id = random.identifier()
        let parameters = try PinParameters()
        let key = try parameters.scheme.key(
            pin: pin, deviceSecret: secret, parameters: parameters,
            context: PinScheme.Context(server: server, activation: id, version: 0))
        let point = Array(key.publicKey.rawRepresentation)
        let answer = try await self.sessions.complete(
            self.session,
            .newActivation(
                Completion.NewActivation(
                    claimDigest: ProcessCode.digest(ofClaim: ProcessCode.claim(of: secret)),
                    pinKey: try JWK(.p256(x: Array(point[..<32]), y: Array(point[32...]), d: nil)), pin: parameters,
                    activation: id, name: name, secretForMail: sendsLetter ? secret : nil)))
        guard let signed = answer.code else { throw EngineError(.malformed, "no code") }
        let text = ProcessCode.text(signed: signed, secret: secret)
        let keys = try await ManagerExchange(self.core, server).keys()
        let code = try ProcessCode(parsing: text, keys: keys.signingKeys)
        guard code.kind == .activation, code.id.hasSameBytes(as: id), code.server.hasSameBytes(as: server) else {
            throw EngineError(.malformed, "a code of something else")
        }
        return text
    }

    /// Deletes the account at its server, for good, and what this device has of it.
    ///
    /// Throws what ``IdentitySessions/complete(_:_:)`` throws, and ``StorageError`` once it is done.
    func deleteAccount() async throws {
        try await self.core.serially(at: self.session.server) {
            let identity = try self.sessions.identity(of: self.session)
            do {
                _ = try await self.sessions.complete(self.session, .delete)
            } catch let error as Refused where [.activationUnknown, .notProven].contains(error.problem.code) {
                // It is gone already: the answer of an earlier try was lost.
            }
            try await self.core.forget(identity)
        }
    }
}
