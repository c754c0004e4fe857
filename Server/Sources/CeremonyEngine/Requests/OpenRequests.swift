import Records
import Settings
public import UAF
import UAFRelyingParty
import _Primitives

/// UAF requests without a dispatched ceremony. Their state travels sealed, and the store has no row for them.
public struct OpenRequests: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & AttestedAppStore
    let budgets: Budgets
    let invented: InventedAccounts

    /// Returns an authentication request for any caller. The request has no row, its state travels sealed, and `source`
    /// has a budget of such requests.
    ///
    /// Without a name any registered key may answer. With a name, the account's keys may answer. For a name without an
    /// account, or for an account that cannot authenticate, an account is invented. The invented account is the same
    /// for the same name each time, so that the answer does not reveal the existence of an account. Throws
    /// `tooManyRequests` and `invalidRequest` (a name beyond its limits).
    public func authentication(username: String?, source: String) async throws -> ReturnUAFRequest {
        try CeremonyError.throwShortage(self.budgets.challenges.spend(source, at: self.time.now()))
        return try await self.authentication(username: username, policy: nil)
    }

    /// Returns an authentication request for a proven relying party (threat model, Policy downgrade by the caller). The
    /// relying party may name a policy, and has no budget. The keys are as for any caller. An unknown policy is
    /// answered with 1400. `refused` receives the reason, for the log. Throws `invalidRequest` for a name beyond its
    /// limits.
    public func authentication(
        username: String?, policy name: String?, refused: (_ reason: String) -> Void = { _ in }
    ) async throws -> ReturnUAFRequest {
        let rules = self.rules.value
        guard let policy = try? rules.policy(named: name, for: .authentication) else {
            refused("a policy of that name is not known, or not for this")
            return ReturnUAFRequest(statusCode: .badRequest, operation: .authentication)
        }
        func request(_ account: String?, _ credentials: [RegisteredCredential]?) throws -> ReturnUAFRequest {
            try self.openRequest(
                .authentication, account: account, policy: name
            ) { challenge, serverData in
                try rules.requests.authenticationRequest(
                    challenge: challenge, policy: policy, credentials: credentials, serverData: serverData
                ).serialized
            }
        }
        guard let username else { return try request(nil, nil) }
        guard let username = AccountName(username, limits: self.limits) else {
            throw CeremonyError(.invalidRequest, "a user name of no possible length")
        }
        let named = try await self.store.keys(username: username)
        // An account is invented for every name, so that the time of the answer does not reveal a known name.
        let invented = try self.invented.account(
            username, for: policy, named: name, rules, self.invented.distribution(of: named.inventedAccounts))
        if let known = named.active, !known.isAccountLocked {
            do {
                return try request(known.accountID, try Self.credentials(of: known))
            } catch let error as RequestError where error.code == .noSuitableCredential {
                // The answer is the same as for an unknown name.
            }
        }
        return try request(invented.id, invented.keys)
    }

    /// Returns an authentication request that is bound to a session: only the session's account is asked, and the answer
    /// counts only together with the session (``AuthenticationAnswers``). `source` has the same budget of requests as
    /// for ``authentication(username:source:)``.
    ///
    /// A name that is not the name of the session's account, and an account without keys for the request, are answered
    /// with 1403 before any person is asked. `refused` receives the reason, for the log. Throws `tooManyRequests` and
    /// `invalidRequest` (a name beyond its limits).
    public func authentication(
        username: String, in session: ShownSession, source: String, refused: (_ reason: String) -> Void = { _ in }
    ) async throws -> ReturnUAFRequest {
        try CeremonyError.throwShortage(self.budgets.challenges.spend(source, at: self.time.now()))
        let rules = self.rules.value
        let policy = try rules.policy(named: nil, for: .authentication)
        guard let username = AccountName(username, limits: self.limits) else {
            throw CeremonyError(.invalidRequest, "a user name of no possible length")
        }
        let named = try await self.store.keys(username: username)
        guard let known = named.active, !known.isAccountLocked,
            known.accountID.hasSameBytes(as: session.accountID)
        else {
            refused("the session is another account's, or the account has no keys")
            return ReturnUAFRequest(statusCode: .forbidden, operation: .authentication)
        }
        let keys = try Self.credentials(of: known)
        do {
            return try self.openRequest(.authentication, account: known.accountID, session: session, policy: nil) {
                challenge, serverData in
                try rules.requests.authenticationRequest(
                    challenge: challenge, policy: policy, credentials: keys, serverData: serverData
                ).serialized
            }
        } catch let error as RequestError where error.code == .noSuitableCredential {
            refused("no key of the account meets the policy")
            return ReturnUAFRequest(statusCode: .forbidden, operation: .authentication)
        }
    }

    /// Returns the names of an account's keys, as credentials. The names alone suffice for a request. No signature
    /// verifies with such a credential.
    private static func credentials(of known: ActiveKeys) throws -> [RegisteredCredential] {
        try known.keys.map { key in
            guard let aaid = try? AAID(key.aaid), let keyID = try? KeyID(key.keyID) else {
                throw StoreError(.corrupt, "a stored key without a proper name")
            }
            return RegisteredCredential(
                id: CredentialID(aaid: aaid, keyID: keyID), publicKey: [],
                publicKeyFormat: AuthenticatorModel.publicKeyFormat, signatureAlgorithm: .p256Raw, signCounter: 0,
                account: known.accountID, deviceRegistration: key.deviceID)
        }
    }

    /// Returns a request for further keys of a device that has just authenticated, by an optional policy name.
    ///
    /// An account that is gone is answered with 1401, a locked account with 1403, an unknown policy with 1400.
    /// `refused` receives the reason, for the log.
    public func registration(
        of device: AuthenticatedDevice, policy name: String? = nil,
        refused: (_ reason: String) -> Void = { _ in }
    ) async throws -> ReturnUAFRequest {
        let rules = self.rules.value
        guard let policy = try? rules.policy(named: name, for: .registration) else {
            refused("a policy of that name is not known, or not for this")
            return ReturnUAFRequest(statusCode: .badRequest, operation: .registration)
        }
        guard let account = try await self.store.account(id: device.accountID) else {
            refused("the account is gone")
            return ReturnUAFRequest(statusCode: .unauthorized, operation: .registration)
        }
        guard !account.isLocked else {
            refused("the account is locked")
            return ReturnUAFRequest(statusCode: .forbidden, operation: .registration)
        }
        let existing = try await self.store.credentials(accountID: account.id).map { try RegisteredCredential($0) }
        var request = try self.openRequest(
            .registration, account: account.id, device: device.deviceID, policy: name
        ) { challenge, serverData in
            try rules.requests.registrationRequest(
                challenge: challenge, username: account.reference.text, policy: policy, existing: existing,
                serverData: serverData
            ).serialized
        }
        if let policy = self.configuration.appAttestation {
            request.appAttestation = policy.wish(
                kept: try await self.store.appKeys(ofDevice: device.deviceID).app?.keyID)
        }
        return request
    }

    /// Returns a request with a sealed state.
    private func openRequest(
        _ operation: UAF.Operation, account: String?, device: String? = nil, session: ShownSession? = nil,
        policy: String?,
        _ message: (Challenge, _ serverData: String) throws -> [UInt8]
    ) throws -> ReturnUAFRequest {
        let challenge = Challenge(random: self.random)
        let serverData = try SealedServerData(
            operation: operation, challenge: challenge, username: account,
            policy: ServerDataOrigin.open(policy: policy).text, device: device,
            session: session.map { Base64URL.encode($0.digest) },
            expiresAt: self.time.now() + self.limits.challengeLifetime
        ).sealed(by: self.sealing.sealServerData)
        return ReturnUAFRequest(
            statusCode: .ok, operation: operation,
            uafRequest: String(decoding: try message(challenge, serverData), as: UTF8.self),
            lifetimeMilliseconds: self.limits.challengeLifetime.milliseconds)
    }
}
