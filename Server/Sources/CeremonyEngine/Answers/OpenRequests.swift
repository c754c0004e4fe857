import Store
public import UAF
import UAFRelyingParty
import _Primitives

extension CeremonyEngine {
    /// A request that anybody may ask for: no row, its state travels sealed, and `source` has a budget of them.
    ///
    /// Without a name any registered key may answer. With one, the account's keys; for a name that does not exist, or an
    /// account that cannot authenticate, keys are invented, the same for the same name each time, so that the answer
    /// does not tell who has an account. Throws `tooManyRequests` and `invalidRequest` (a name beyond its limits).
    public func authenticationRequest(username: String?, source: String) async throws -> ReturnUAFRequest {
        let now = self.time.now()
        try self.budget.take(source: source, at: now)
        guard let username else {
            return try self.openRequest(account: nil, credentials: nil, at: now)
        }
        guard (1...self.limits.usernameCharacters).contains(username.unicodeScalars.count) else {
            throw CeremonyError(.invalidRequest, "a user name of no possible length")
        }
        if let known = try await self.store.activeKeys(username: username), !known.isAccountLocked {
            let keys = try known.keys.map { key in
                guard let aaid = try? AAID(key.aaid), let keyID = try? KeyID(key.keyID) else {
                    throw StoreError(.corrupt, "a stored key without a proper name")
                }
                return RegisteredCredential(
                    named: CredentialID(aaid: aaid, keyID: keyID), account: known.accountID, device: key.deviceID)
            }
            do {
                return try self.openRequest(account: known.accountID, credentials: keys, at: now)
            } catch let error as RequestError where error.code == .noSuitableCredential {
                // As for a name that does not exist.
            }
        }
        return try self.openRequest(account: "-", credentials: self.inventedKeys(username), at: now)
    }

    private func openRequest(account: String?, credentials: [RegisteredCredential]?, at now: Timestamp) throws
        -> ReturnUAFRequest
    {
        let challenge = Challenge(random: self.random)
        let serverData = try self.openServerData(.authentication, challenge, account: account, at: now)
        let request = try self.requests.authenticationRequest(
            challenge: challenge, factors: self.configuration.factors, credentials: credentials,
            serverData: serverData)
        return ReturnUAFRequest(
            statusCode: .ok, operation: .authentication,
            uafRequest: String(decoding: request.serialized, as: UTF8.self),
            lifetimeMilliseconds: self.limits.challengeLifetime.milliseconds)
    }

    /// A request for further keys of an account whose app has just authenticated.
    ///
    /// An account that is gone or locked is answered with 1401 or 1403.
    public func registrationRequest(accountID: String) async throws -> ReturnUAFRequest {
        let now = self.time.now()
        guard let account = try await self.store.account(id: accountID) else {
            return ReturnUAFRequest(statusCode: .unauthorized, operation: .registration)
        }
        guard !account.isLocked else {
            return ReturnUAFRequest(statusCode: .forbidden, operation: .registration)
        }
        let challenge = Challenge(random: self.random)
        let existing = try await self.store.credentials(accountID: accountID).map { try RegisteredCredential($0) }
        let request = try self.requests.registrationRequest(
            challenge: challenge, username: account.username, factors: self.configuration.enrolmentFactors,
            existing: existing,
            serverData: try self.openServerData(.registration, challenge, account: accountID, at: now))
        return ReturnUAFRequest(
            statusCode: .ok, operation: .registration, uafRequest: String(decoding: request.serialized, as: UTF8.self),
            lifetimeMilliseconds: self.limits.challengeLifetime.milliseconds)
    }

    private func openServerData(
        _ operation: UAF.Operation, _ challenge: Challenge, account: String?, at now: Timestamp
    ) throws -> String {
        try SealedServerData(
            operation: operation, challenge: challenge, username: account, policy: ServerDataOrigin.open.text,
            expiresAt: now + self.limits.challengeLifetime
        ).sealed(with: self.sealing.key(.serverData), random: self.random)
    }

    /// Keys that nobody has, for a name that nobody has: one device that meets the first alternative it is given.
    private func inventedKeys(_ username: String) throws -> [RegisteredCredential] {
        let seed = self.sealing.code(username, purpose: .inventedKey)
        let alternative = self.configuration.factors[Int(seed[0]) % self.configuration.factors.count]
        return try alternative.enumerated().map { index, factor in
            let name = self.sealing.code(seed + [UInt8(truncatingIfNeeded: index)], purpose: .inventedKey)
            return RegisteredCredential(
                named: CredentialID(
                    aaid: AuthenticatorModel(factor: factor, keyStore: .file).aaid, keyID: try KeyID(name)),
                account: "-", device: "-")
        }
    }
}

extension RegisteredCredential {
    /// A key by its name alone: enough for a request, and no signature verifies with it.
    fileprivate init(named id: CredentialID, account: String, device: String) {
        self.init(
            id: id, publicKey: [], publicKeyFormat: AuthenticatorModel.publicKeyFormat, signatureAlgorithm: .p256Raw,
            signCounter: 0, account: account, deviceRegistration: device)
    }
}
