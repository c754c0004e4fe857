import Records
import Settings
public import UAF
import UAFRelyingParty
import _Primitives

/// Redemptions: phones exchange a token or a code for the request behind it.
public struct Redemptions: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any CeremonyStore & DeviceIdentityStore
    let hub: CeremonyHub
    let budgets: Budgets
    let deregistration: DeregistrationSteps

    /// Exchanges a one-time token, or a typed code, for the UAF request behind it.
    ///
    /// Cost: one read and, if the token can be redeemed, one write step. If many phones try at once, one gets the
    /// request. Throws `tokenUnknown` (also at the address of another operation, without using up the token),
    /// `tokenAlreadyRedeemed`, `tokenExpired`. The token of a deregistration also deletes only once. If the token is
    /// shown again, the phone is told the deleted keys again (decision 14).
    ///
    /// The token of an operation that was dispatched to a device needs the proof of this device. Without the device's
    /// proof `notProven` is thrown: the attempt counts as a worthless token, and the token is not used up. `prover` is
    /// the device that proved the request; a removed device gets nothing but a deregistration that was carried out, and a
    /// device that is reported as lost gets nothing.
    ///
    /// Readers look up a token or a code, and only a redeemable token reaches the writer (decision 17). `source` has a
    /// budget of worthless tokens; past the budget `tooManyRequests` is thrown in place of `tokenUnknown`. A right
    /// token is accepted past the budget. Without a source nothing is counted. If the policy, a model or the account's
    /// last key went after the dispatch, the token is used up, the answer has no request but the status
    /// `unacceptableAuthenticator`, and `refused` receives the reason.
    public func redeem(
        token: String, operation: UAF.Operation, by prover: DeviceProofs.Prover? = nil, source: String? = nil,
        refused: (_ reason: String) -> Void = { _ in }
    ) async throws -> ReturnUAFRequest {
        let now = self.time.now()
        // The budget is spent before the judgement, and given back for a right token.
        let shortage = source.flatMap { self.budgets.guesses.spend($0, at: now) }
        do {
            let digest = DispatchCodes.digest(token, sealing: self.sealing, limits: self.limits)
            let asker = try await self.asker(prover, digest)
            let redeemed = try await self.redeem(digest, operation, by: asker, at: now)
            let request = try self.request(for: redeemed, at: now, refused)
            if let source, shortage == nil, !redeemed.isAgain { self.budgets.guesses.refund(source) }
            return request
        } catch let error as CeremonyError where [.tokenUnknown, .notProven].contains(error.code) {
            try CeremonyError.throwShortage(shortage)
            throw error
        }
    }

    /// A device that has proved the request.
    private struct Asker: Sendable {
        /// The registrations of the device that count: the newest registration, and the target of the ceremony if the
        /// target has the same key.
        let registrations: [String]
        /// `true` if the device was removed.
        let isGone: Bool
    }

    /// Returns the device that has proved a request. Several registrations of one phone share a key, and a proof is by
    /// the newest of them: an operation can have an earlier registration as its target. Cost: one read, and a further
    /// read if the target is another registration; none without a proof.
    private func asker(_ prover: DeviceProofs.Prover?, _ digest: [UInt8]) async throws -> Asker? {
        guard let prover else { return nil }
        let device = prover.device.deviceID
        var registrations = prover.standing.mayAuthenticate ? [device] : []
        if let target = try await self.store.ceremony(ofToken: digest)?.ceremony.target,
            !target.deviceID.hasSameBytes(as: device),
            try await self.store.isKey(prover.keyName, ofDevice: target.deviceID)
        {
            registrations.append(target.deviceID)
        }
        return Asker(registrations: registrations, isGone: prover.isGone)
    }

    /// Returns the ceremony behind the token, and takes the token if it was not taken before.
    private func redeem(
        _ digest: [UInt8], _ operation: UAF.Operation, by asker: Asker?, at now: Timestamp
    ) async throws -> RedeemedCeremony {
        let redeemed: RedeemedCeremony?
        do {
            redeemed = try await self.store.redeem(
                tokenDigest: digest,
                screen: { offered in
                    try Self.checkRedeemable(offered.ceremony, offered.token, operation, by: asker, at: now)
                    // Deleted keys stay deleted. A phone that lost the answer is told the keys again.
                    guard DeregistrationSteps.areCarriedOut(in: offered.ceremony) else { return nil }
                    return RedeemedCeremony(
                        ceremony: offered.ceremony, account: nil, credentials: [], deregistered: offered.deregistered,
                        isAgain: true)
                },
                judge: { record, token in
                    try Self.checkRedeemable(record, token, operation, by: asker, at: now)
                    if DeregistrationSteps.areCarriedOut(in: record) { return CeremonyChange() }
                    try record.take(.redeem(token.channel), at: now, limits: self.limits)
                    var change = try self.deregistration.change(&record, at: now)
                    change.audit.append(contentsOf: Self.claim(of: record, at: now))
                    return change
                })
        } catch is RefusedEvent {
            throw CeremonyError(.tokenAlreadyRedeemed)
        }
        guard let redeemed else { throw CeremonyError(.tokenUnknown) }
        // The other devices of the person no longer list the operation.
        if !redeemed.isAgain { self.hub.wake(redeemed.ceremony) }
        return redeemed
    }

    /// Throws `tokenUnknown`, `notProven`, `tokenExpired` or `tokenAlreadyRedeemed` unless the token can be redeemed.
    private static func checkRedeemable(
        _ record: CeremonyRecord, _ token: DispatchTokenRecord, _ operation: UAF.Operation, by asker: Asker?,
        at now: Timestamp
    ) throws(CeremonyError) {
        guard record.kind.operation == operation else {
            throw CeremonyError(.tokenUnknown, "a token of another operation")
        }
        if let target = record.target {
            guard let asker, asker.registrations.containsBytes(of: target.deviceID),
                !asker.isGone || DeregistrationSteps.areCarriedOut(in: record)
            else { throw CeremonyError(.notProven, "a token of another device, or without a device's proof") }
        }
        if DeregistrationSteps.areCarriedOut(in: record) { return }
        // A ceremony that ended without a claim has only expired tokens.
        if record.channel == nil, record.phase == .ended || now >= token.expiresAt || now >= record.expiresAt {
            throw CeremonyError(.tokenExpired)
        }
        if record.channel != nil { throw CeremonyError(.tokenAlreadyRedeemed) }
    }

    /// Returns the first trail entry of a ceremony without an earlier entry: a sign-in, or a client's dispatch. A
    /// deregistration writes its own entry.
    private static func claim(of record: CeremonyRecord, at now: Timestamp) -> [AuditEvent] {
        if record.browserDigest != nil { return [AuditEvent(.signInClaimed, at: now, ceremonyID: record.id)] }
        guard let client = record.clientID, record.kind != .deregistration else { return [] }
        return [
            AuditEvent(
                .dispatchClaimed, at: now, accountID: record.accountID, ceremonyID: record.id, actor: client,
                detail: record.channel?.name)
        ]
    }

    private func deregistrationRequest(of ceremony: CeremonyRecord, naming keys: [CredentialSelection.Name]) throws
        -> ReturnUAFRequest
    {
        var message = try self.deregistration.message(of: keys)
        message.requester = ceremony.detail.requester
        message.dispatchChannel = ceremony.channel?.name
        return message
    }

    private func request(
        for redeemed: RedeemedCeremony, at now: Timestamp, _ refused: (_ reason: String) -> Void
    ) throws -> ReturnUAFRequest {
        let ceremony = redeemed.ceremony
        if ceremony.kind == .deregistration {
            return try self.deregistrationRequest(of: ceremony, naming: redeemed.deregistered)
        }
        let rules = self.rules.value
        let challenge = Challenge(random: self.random)
        let isRegistration = ceremony.kind == .registration
        let operation: UAF.Operation = isRegistration ? .registration : .authentication
        do {
            let serverData = try SealedServerData(
                operation: operation, challenge: challenge, username: nil,
                policy: ServerDataOrigin.ceremony(ceremony.id).text, expiresAt: ceremony.expiresAt
            ).sealed(by: self.sealing.sealServerData)
            let message: [UInt8]
            if isRegistration {
                guard let account = redeemed.account else { throw CeremonyError(.tokenUnknown) }
                message = try rules.requests.registrationRequest(
                    challenge: challenge, username: account.reference.text,
                    policy: try rules.policy(named: ceremony.detail.policy, for: operation),
                    existing: try redeemed.credentials.map { try RegisteredCredential($0) },
                    serverData: serverData
                ).serialized
            } else {
                message = try self.authenticationRequest(redeemed, rules, challenge: challenge, serverData: serverData)
                    .serialized
            }
            var request = ReturnUAFRequest(
                statusCode: .ok, operation: operation, uafRequest: String(decoding: message, as: UTF8.self),
                lifetimeMilliseconds: (ceremony.expiresAt - now).milliseconds, requester: ceremony.detail.requester,
                dispatchChannel: ceremony.channel?.name)
            request.numberLength = ceremony.detail.number?.utf8.count
            // The number is on the screen of the device that the person approves.
            if ceremony.detail.approval != nil { request.numberLength = self.limits.confirmationDigits }
            if isRegistration { request.appAttestation = self.configuration.appAttestation?.wish() }
            return request
        } catch let error as CeremonyError where error.code == .invalidRequest {
            refused("the policy went between dispatch and redeem: \(error.reason)")
            return ReturnUAFRequest(statusCode: .unacceptableAuthenticator, operation: operation)
        } catch let error as RequestError {
            refused("the account's last key, or a model, went between dispatch and redeem: \(error)")
            return ReturnUAFRequest(statusCode: .unacceptableAuthenticator, operation: operation)
        }
    }

    /// Returns the request to authenticate. For a known person the request names the keys; otherwise the request has
    /// the policy unchanged.
    private func authenticationRequest(
        _ redeemed: RedeemedCeremony, _ rules: Rules, challenge: Challenge, serverData: String
    ) throws -> AuthenticationRequest {
        let policy = try rules.policy(named: redeemed.ceremony.detail.policy, for: .authentication)
        guard redeemed.ceremony.accountID != nil else {
            return AuthenticationRequest(
                header: OperationHeader(
                    operation: .authentication, appID: self.configuration.appID, serverData: serverData),
                challenge: challenge, transaction: redeemed.ceremony.detail.transaction, policy: policy)
        }
        return try rules.requests.authenticationRequest(
            challenge: challenge, policy: policy,
            credentials: try redeemed.credentials.map { try RegisteredCredential($0) },
            transaction: redeemed.ceremony.detail.transaction, serverData: serverData)
    }
}
