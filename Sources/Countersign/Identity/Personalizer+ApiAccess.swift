import Ceremony
public import UAF
import _Primitives

extension Personalizer {
    // MARK: A factor more

    /// Begins to add a factor: in this version a finger or face. The authentication ends with
    /// ``AuthenticationResult/apiAccessAddFactor(_:)``.
    ///
    /// A factor that became invalid because other fingers or faces are enrolled in the operating system is replaced.
    /// The text that the person confirms says so (``AuthenticationUserInformation/transactionText``).
    ///
    /// Throws ``CountersignError``: `factorAlreadyEnrolled` if the identity has a working factor, or if the server has
    /// such a factor and does not name its key, `factorNotSupported` for another type, `biometricUnavailable` if the
    /// identity has the factor and no finger or face is enrolled in the operating system.
    public func startAddAuthenticationFactor(_ idmIdentifier: String, type: AuthenticatorType = .biometric) async throws
        -> AuthenticationInitializationData
    {
        guard type == .biometric else { throw CountersignError(.factorNotSupported) }
        return try await self.life.running { core in
            let former = try await IdentityActivations(core: core).formerFinger(at: idmIdentifier)
            return try await self.start(.addFactor, at: idmIdentifier, replacing: former)
        }
    }

    /// Does the same as ``startAddAuthenticationFactor(_:type:)``, but blocks.
    public func startAddAuthenticationFactorSynchronous(
        _ idmIdentifier: String, type: AuthenticatorType = .biometric
    ) throws -> AuthenticationInitializationData {
        try Blocking.wait { try await self.startAddAuthenticationFactor(idmIdentifier, type: type) }
    }

    /// Adds the factor with which the request was completed.
    ///
    /// Throws ``CountersignError``: `factorMissing`, `factorAlreadyEnrolled` (also if the server has another such
    /// factor by now), `grantExpired`, the errors of fingers and faces. After `connectionError` and `timeout`, call the
    /// function again, and after two minutes if the call ends so again. No other key is made as long as the server may
    /// still accept the key that was sent.
    public func finishAddAuthenticationFactor(request: ApiAccessAddFactor) async throws {
        try await self.life.running { _ in try await request.completions.add(try request.factor()) }
    }

    /// Does the same as ``finishAddAuthenticationFactor(request:)``, but blocks.
    public func finishAddAuthenticationFactorSynchronous(request: ApiAccessAddFactor) throws {
        try Blocking.wait { try await self.finishAddAuthenticationFactor(request: request) }
    }

    // MARK: Another PIN

    /// Begins to change the PIN. The authentication always requires the present PIN, and ends with
    /// ``AuthenticationResult/apiAccessChangePin(_:)``.
    public func startChangePin(idmIdentifier: String) async throws -> AuthenticationInitializationData {
        try await self.life.running { _ in try await self.start(.changePin, at: idmIdentifier) }
    }

    /// Does the same as ``startChangePin(idmIdentifier:)``, but blocks.
    public func startChangePinSynchronous(idmIdentifier: String) throws -> AuthenticationInitializationData {
        try Blocking.wait { try await self.startChangePin(idmIdentifier: idmIdentifier) }
    }

    /// Changes the PIN to the PIN with which the request was completed. If the answer is lost, call the function again
    /// with the same PIN: if the change was already made, the repeated call succeeds. In any case the next
    /// authentication uses the PIN that the server has.
    ///
    /// Throws ``CountersignError``: `pinMissing`, `pinRefused` (set another PIN, and call the function again),
    /// `pinAlreadyAsked` after too many different PINs (begin again), `grantExpired`.
    public func finishChangePin(request: ApiAccessChangePin) async throws {
        try await self.life.running { _ in
            try await self.forgetting(request) {
                try await request.completions.change(pin: try request.pinSpec.take())
            }
        }
    }

    /// Does the same as ``finishChangePin(request:)``, but blocks.
    public func finishChangePinSynchronous(request: ApiAccessChangePin) throws {
        try Blocking.wait { try await self.finishChangePin(request: request) }
    }

    // MARK: Another device

    /// Begins to create an activation for another device. The authentication ends with
    /// ``AuthenticationResult/apiAccessRequestNewActivationData(_:)``.
    public func startRequestNewActivationData(idmIdentifier: String) async throws -> AuthenticationInitializationData {
        try await self.life.running { _ in try await self.start(.newActivation, at: idmIdentifier) }
    }

    /// Does the same as ``startRequestNewActivationData(idmIdentifier:)``, but blocks.
    public func startRequestNewActivationDataSynchronous(idmIdentifier: String) throws
        -> AuthenticationInitializationData
    { try Blocking.wait { try await self.startRequestNewActivationData(idmIdentifier: idmIdentifier) } }

    /// Creates the activation, and returns the text of its code. Show the text to the other device as a QR code. The
    /// text holds a secret.
    ///
    /// Throws ``CountersignError``: `pinMissing`, `grantExpired`. After `connectionError` and `timeout`, call the
    /// function again within a minute, with the same unchanged request: the function returns the code of the activation
    /// that was already created, or creates the activation now. A later call, or a call with another PIN, ends with
    /// `grantExpired` or `sessionConsumed` if the activation was created. Such an activation is unusable, because its
    /// code is unknown, and expires by itself.
    public func finishRequestNewActivationData(_ request: ApiAccessRequestNewActivationData) async throws -> String {
        try await self.life.running { _ in
            try await self.forgetting(request) {
                try await request.completions.newActivation(
                    pin: try request.pinSpec.take(), name: request.alias, sendsLetter: request.shouldSendEmail)
            }
        }
    }

    /// Does the same as ``finishRequestNewActivationData(_:)``, but blocks.
    public func finishRequestNewActivationDataSynchronous(_ request: ApiAccessRequestNewActivationData) throws -> String
    {
        try Blocking.wait { try await self.finishRequestNewActivationData(request) }
    }

    // MARK: The end of an account

    /// Begins to delete the account with all its activations. The authentication ends with
    /// ``AuthenticationResult/apiAccessDelete(_:)``.
    public func startDeletion(idmIdentifier: String) async throws -> AuthenticationInitializationData {
        try await self.life.running { _ in try await self.start(.delete, at: idmIdentifier) }
    }

    /// Does the same as ``startDeletion(idmIdentifier:)``, but blocks.
    public func startDeletionSynchronous(idmIdentifier: String) throws -> AuthenticationInitializationData {
        try Blocking.wait { try await self.startDeletion(idmIdentifier: idmIdentifier) }
    }

    /// Deletes the account permanently, and removes the identity from this device. Ask the person once more before the
    /// call.
    ///
    /// Throws ``CountersignError``: `grantExpired`; `activationUnknown` if this device's activation was ended elsewhere
    /// (the account is then not deleted). After `connectionError` and `timeout`, call the function again, with the same
    /// request.
    public func finishDeletion(request: ApiAccessDelete) async throws {
        try await self.life.running { _ in try await request.completions.deleteAccount() }
    }

    /// Does the same as ``finishDeletion(request:)``, but blocks.
    public func finishDeletionSynchronous(request: ApiAccessDelete) throws {
        try Blocking.wait { try await self.finishDeletion(request: request) }
    }

    /// Runs the permitted operation, and deletes the typed PINs once the operation is done or refused permanently.
    private func forgetting<Value>(_ request: ApiAccess, _ body: () async throws -> Value) async throws -> Value {
        do {
            let value = try await body()
            request.forget()
            return value
        } catch let error as Refused where error.problem.code == .grantExpired || error.problem.code.endsTheProcess {
            // Only the PIN of an earlier try can reveal the result of that try. A refusal of another PIN therefore ends
            // nothing.
            if !request.completions.isUnsettled { request.forget() }
            throw error
        }
    }

    private func start(_ purpose: SessionDocument.Purpose, at server: String, replacing key: KeyID? = nil) async throws
        -> AuthenticationInitializationData
    {
        try await self.life.running { core in
            let offer = try await IdentitySessions(core: core).offer(
                AccessRequest(purpose: purpose, replaces: key), at: server)
            return AuthenticationInitializationData(offer, at: server, for: purpose, replacing: key)
        }
    }
}
