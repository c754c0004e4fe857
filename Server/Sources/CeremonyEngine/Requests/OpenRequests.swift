import Store
public import UAF
import UAFRelyingParty
import _Primitives

/// UAF requests that no dispatched ceremony stands behind: their state travels sealed, and the store has no row of
/// them.
public struct OpenRequests: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore
    let budgets: Budgets
    let invented: InventedAccounts

    /// A request that anybody may ask for: no row, its state travels sealed, and `source` has a budget of them.
    ///
    /// Without a name any registered key may answer. With one, the account's keys; for a name that does not exist, or
    /// an account that cannot authenticate, an account is invented, the same for the same name each time, so that the
    /// answer does not tell who has one. Throws `tooManyRequests` and `invalidRequest` (a name beyond its limits).
    public func authentication(username: String?, source: String) async throws -> ReturnUAFRequest {
        try CeremonyError.throwShortage(self.budgets.challenges.spend(source, at: self.time.now()))
        return try await self.authentication(username: username, policy: nil)
    }

    /// The same for a caller who has proved to be a relying party (threat model, Policy downgrade by the caller):
    /// by a policy that it may name, and without a budget. A policy that is not known is answered with 1400.
    /// `refused` is told why, for the log.
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
        // For every name, so that the time of the answer does not tell which one is known.
        let invented = try self.invented.account(
            username, for: policy, named: name, rules, self.invented.distribution(of: named.inventedAccounts))
        if let known = named.active, !known.isAccountLocked {
            let keys = try known.keys.map { key in
                guard let aaid = try? AAID(key.aaid), let keyID = try? KeyID(key.keyID) else {
                    throw StoreError(.corrupt, "a stored key without a proper name")
                }
                // By its name alone: enough for a request, and no signature verifies with it.
                return RegisteredCredential(
                    id: CredentialID(aaid: aaid, keyID: keyID), publicKey: [],
                    publicKeyFormat: AuthenticatorModel.publicKeyFormat, signatureAlgorithm: .p256Raw, signCounter: 0,
                    account: known.accountID, deviceRegistration: key.deviceID)
            }
            do {
                return try request(known.accountID, keys)
            } catch let error as RequestError where error.code == .noSuitableCredential {
                // As for a name that does not exist.
            }
        }
        return try request(invented.id, invented.keys)
    }

    /// A request for further keys of a device that has just authenticated, by a policy that it may name.
    ///
    /// An account that is gone or locked is answered with 1401 or 1403, a policy that is not known with 1400.
    /// `refused` is told why, for the log.
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
        return try self.openRequest(
            .registration, account: account.id, device: device.deviceID, policy: name
        ) { challenge, serverData in
            try rules.requests.registrationRequest(
                challenge: challenge, username: account.reference.text, policy: policy, existing: existing,
                serverData: serverData
            ).serialized
        }
    }

    /// A request whose state travels sealed.
    private func openRequest(
        _ operation: UAF.Operation, account: String?, device: String? = nil, policy: String?,
        _ message: (Challenge, _ serverData: String) throws -> [UInt8]
    ) throws -> ReturnUAFRequest {
        let challenge = Challenge(random: self.random)
        let serverData = try SealedServerData(
            operation: operation, challenge: challenge, username: account,
            policy: ServerDataOrigin.open(policy: policy).text, device: device,
            expiresAt: self.time.now() + self.limits.challengeLifetime
        ).sealed(by: self.sealing.sealServerData)
        return ReturnUAFRequest(
            statusCode: .ok, operation: operation,
            uafRequest: String(decoding: try message(challenge, serverData), as: UTF8.self),
            lifetimeMilliseconds: self.limits.challengeLifetime.milliseconds)
    }
}
