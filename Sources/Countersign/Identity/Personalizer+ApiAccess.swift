import Ceremony
public import UAF
import _Primitives

extension Personalizer {
    // MARK: A factor more

    /// Begins to add a factor, today a finger or a face. It ends with ``AuthenticationResult/apiAccessAddFactor(_:)``. One
    /// that has ended, because other fingers or faces are enrolled with the operating system, is replaced: what the person
    /// agrees to says so (``AuthenticationUserInformation/transactionText``).
    ///
    /// Throws ``CountersignError``: `factorAlreadyEnrolled` where the identity has one that works, `factorNotSupported` for
    /// another type, `biometricUnavailable` where the identity has one and the operating system knows nobody.
    public func startAddAuthenticationFactor(_ idmIdentifier: String, type: AuthenticatorType = .biometric) async throws
        -> AuthenticationInitializationData
    {
        guard type == .biometric else { throw CountersignError(.factorNotSupported) }
        return try await self.life.running { core in
            let former = try await IdentityActivations(core: core).formerFinger(at: idmIdentifier)
            return try await self.start(.addFactor, at: idmIdentifier, replacing: former)
        }
    }

    /// As ``startAddAuthenticationFactor(_:type:)``. It blocks.
    public func startAddAuthenticationFactorSynchronous(
        _ idmIdentifier: String, type: AuthenticatorType = .biometric
    ) throws -> AuthenticationInitializationData {
        try Blocking.wait { try await self.startAddAuthenticationFactor(idmIdentifier, type: type) }
    }

    /// Adds the factor that the request was completed with.
    ///
    /// Throws ``CountersignError``: `factorMissing`, `factorAlreadyEnrolled` also where the server has another one by now,
    /// `grantExpired`, the errors of fingers and faces. After `connectionError` and `timeout` call it again, in two minutes
    /// where it ends so again: as long as the server may yet take the finger that has left, no other is made.
    public func finishAddAuthenticationFactor(request: ApiAccessAddFactor) async throws {
        try await self.life.running { _ in try await request.completions.add(try request.factor()) }
    }

    /// As ``finishAddAuthenticationFactor(request:)``. It blocks.
    public func finishAddAuthenticationFactorSynchronous(request: ApiAccessAddFactor) throws {
        try Blocking.wait { try await self.finishAddAuthenticationFactor(request: request) }
    }

    // MARK: Another PIN

    /// Begins to change the PIN, for which the present one is always asked. It ends with
    /// ``AuthenticationResult/apiAccessChangePin(_:)``.
    public func startChangePin(idmIdentifier: String) async throws -> AuthenticationInitializationData {
        try await self.life.running { _ in try await self.start(.changePin, at: idmIdentifier) }
    }

    /// As ``startChangePin(idmIdentifier:)``. It blocks.
    public func startChangePinSynchronous(idmIdentifier: String) throws -> AuthenticationInitializationData {
        try Blocking.wait { try await self.startChangePin(idmIdentifier: idmIdentifier) }
    }

    /// Changes the PIN to the one that the request was completed with. Where the answer is lost, call it again: a change that
    /// was made is a success then. The next authentication goes by the PIN that the server has in any case.
    ///
    /// Throws ``CountersignError``: `pinMissing`, `pinRefused` (set another, and call it again), `grantExpired`.
    public func finishChangePin(request: ApiAccessChangePin) async throws {
        try await self.life.running { _ in
            try await self.forgetting(request) {
                try await request.completions.change(pin: try request.pinSpec.take())
            }
        }
    }

    /// As ``finishChangePin(request:)``. It blocks.
    public func finishChangePinSynchronous(request: ApiAccessChangePin) throws {
        try Blocking.wait { try await self.finishChangePin(request: request) }
    }

    // MARK: Another device

    /// Begins to give another device an activation. It ends with
    /// ``AuthenticationResult/apiAccessRequestNewActivationData(_:)``.
    public func startRequestNewActivationData(idmIdentifier: String) async throws -> AuthenticationInitializationData {
        try await self.life.running { _ in try await self.start(.newActivation, at: idmIdentifier) }
    }

    /// As ``startRequestNewActivationData(idmIdentifier:)``. It blocks.
    public func startRequestNewActivationDataSynchronous(idmIdentifier: String) throws
        -> AuthenticationInitializationData
    { try Blocking.wait { try await self.startRequestNewActivationData(idmIdentifier: idmIdentifier) } }

    /// Makes the activation, and returns the text of its code, to be shown as a QR code to the other device. It holds a
    /// secret.
    ///
    /// Throws ``CountersignError``: `pinMissing`, `grantExpired`. After `connectionError` and `timeout` call it again within a
    /// minute, with the same request and nothing in it changed: it returns the code of the activation that was made already, or
    /// makes it now. Later, or with another PIN, that ends with `grantExpired` or `sessionConsumed` where it was made: nobody can
    /// use it, because nobody has its code, and it ends by itself.
    public func finishRequestNewActivationData(_ request: ApiAccessRequestNewActivationData) async throws -> String {
        try await self.life.running { _ in
            try await self.forgetting(request) {
                try await request.completions.newActivation(
                    pin: try request.pinSpec.take(), name: request.alias, sendsLetter: request.shouldSendEmail)
            }
        }
    }

    /// As ``finishRequestNewActivationData(_:)``. It blocks.
    public func finishRequestNewActivationDataSynchronous(_ request: ApiAccessRequestNewActivationData) throws -> String
    {
        try Blocking.wait { try await self.finishRequestNewActivationData(request) }
    }

    // MARK: The end of an account

    /// Begins to delete the account, with all its activations. It ends with ``AuthenticationResult/apiAccessDelete(_:)``.
    public func startDeletion(idmIdentifier: String) async throws -> AuthenticationInitializationData {
        try await self.life.running { _ in try await self.start(.delete, at: idmIdentifier) }
    }

    /// As ``startDeletion(idmIdentifier:)``. It blocks.
    public func startDeletionSynchronous(idmIdentifier: String) throws -> AuthenticationInitializationData {
        try Blocking.wait { try await self.startDeletion(idmIdentifier: idmIdentifier) }
    }

    /// Deletes the account, for good, and takes the identity off this device. Ask the person once more before.
    ///
    /// Throws ``CountersignError``: `grantExpired`; `activationUnknown` where this device's activation was ended elsewhere: the
    /// account is not deleted then. After `connectionError` and `timeout` call it again, with the same request.
    public func finishDeletion(request: ApiAccessDelete) async throws {
        try await self.life.running { _ in try await request.completions.deleteAccount() }
    }

    /// As ``finishDeletion(request:)``. It blocks.
    public func finishDeletionSynchronous(request: ApiAccessDelete) throws {
        try Blocking.wait { try await self.finishDeletion(request: request) }
    }

    /// Does what was permitted, and has the PINs that were typed for it forgotten once it is done or refused for good.
    private func forgetting<Value>(_ request: ApiAccess, _ body: () async throws -> Value) async throws -> Value {
        do {
            let value = try await body()
            request.forget()
            return value
        } catch let error as Refused where error.problem.code == .grantExpired || error.problem.code.endsTheProcess {
            // What an earlier try has done is found out with the PIN of that try, so a refusal of another PIN ends nothing.
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
