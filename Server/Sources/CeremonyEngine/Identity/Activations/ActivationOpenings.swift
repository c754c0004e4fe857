import Ceremony
import Crypto
import Records
import Sealing
import Settings
import _Primitives

/// Openings of activations: an app that has read an activation's code opens the code, and proves its PIN.
public struct ActivationOpenings: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & IdentityStore
    let envelope: IdentityEnvelope
    let merges: AccountMerges
    let pins: (any PinEvaluating)?
    let hub: CeremonyHub

    // MARK: Open

    /// `POST …/open`: returns the challenge for a proof of the PIN. The call changes nothing.
    public func open(_ id: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.answer(call) { request, now in
            let message = try OpenRequest(parsing: call.body)
            guard message.version == ManagerKeySet.version else { throw IdentityProblem(.protocolVersionUnsupported) }
            let offer = try await self.offer(id, claim: message.claim)
            try self.checkSecurity(message.security)
            try offer.checkUsable(at: now)
            return try self.envelope.keys.sign(
                .message(OpenResponse(challenge: offer.challenge, pin: try offer.parameters).json), to: request,
                at: now)
        }
    }

    // MARK: Prove

    /// `POST …/prove`: judges a proof of the PIN. The attempt is counted in its own step before the verification.
    ///
    /// A proof over another challenge than the present says nothing about the PIN: another device has proved the code
    /// in between. Such a proof is refused before any count, and the token of the other device stays.
    public func prove(_ id: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.answer(call) { request, now in
            let message = try ProveRequest(parsing: call.body)
            let offer = try await self.offer(id, claim: message.claim)
            // Comes before any count or verification, so that a right PIN and a wrong PIN get the same answer.
            guard try await self.store.isUnlocked(offer.accountID) else {
                throw IdentityProblem(.activationDisabled)
            }
            // Comes before any count, because no device can be enrolled without the PIN service.
            let serviceKey = try await self.serviceKey(of: offer)
            let hash = Array(SHA256.hash(data: call.body))
            let name = RequestName(caller: "a:\(id)", request: request, hash: hash)
            let environment = self.environment
            let proof = try await self.opened(message, of: offer, at: now)
            let challenge = offer.challenge
            let reserved = try await self.store.step(offer: id, request: name) { offer in
                try offer.checkUsable(at: now, unlessReservedBy: hash)
                guard proof != nil, offer.challenge.hasSameBytes(as: challenge) else {
                    throw IdentityProblem(.sessionSuperseded)
                }
                var lockout = Lockout(offer.lockout)
                switch lockout.reserve(request: hash, at: now, limits: environment.configuration.limits) {
                case .pending(let lockout): throw IdentityProblem(lockout)
                case .mayVerify(let ifRefused):
                    offer.lockout = lockout.record
                    return (OfferChange(), ifRefused)
                }
            }
            let ifRefused: IdentityLockout
            switch reserved {
            case .decided(let information): ifRefused = information
            case .again(let answer): return answer
            case .replayed: throw IdentityProblem(.replayRefused)
            case .missing: throw IdentityProblem(.activationUnknown)
            }
            let isRight = proof.map { self.isRight($0, by: message.device, of: offer) } ?? false
            let mayMerge = try await self.merges.isMergeable(offer, at: now)
            return try await self.settle(
                offer, name, ifRefused, provenBy: isRight ? message.device : nil, mayMerge: mayMerge, serviceKey,
                at: now)
        }
    }

    /// Returns the PIN service's key for an activation; `nil` without a PIN service.
    private func serviceKey(of offer: OfferRecord) async throws(IdentityProblem) -> [UInt8]? {
        do throws(PinServiceFailure) { return try await self.pins?.key(of: offer.id) } catch {
            throw IdentityProblem(error)
        }
    }

    /// Returns the proof from its seal; `nil` if the proof was sealed for another challenge, or cannot be read. The PIN
    /// plays no part in the seal.
    private func opened(_ message: ProveRequest, of offer: OfferRecord, at now: Timestamp) async throws
        -> ProveRequest.Proof?
    {
        guard let key = try await self.envelope.keys.sealingKey(message.proof.keyID, at: now) else { return nil }
        return try? message.proof.open(
            ProveRequest.Proof.self, with: key,
            for: .activationProof(activation: offer.id, challenge: offer.challenge))
    }

    private func isRight(_ proof: ProveRequest.Proof, by device: String, of offer: OfferRecord) -> Bool {
        guard let pinKey = try? P256.Signing.PublicKey(compressedRepresentation: offer.pinKey),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: proof.signature)
        else { return false }
        return pinKey.isValidSignature(
            signature,
            for: ProveRequest.Proof.signedBytes(
                activation: offer.id, challenge: offer.challenge, device: device))
    }

    /// Settles the attempt, and returns the signed answer.
    ///
    /// - Parameter device: The device that a right proof has named; `nil` for a wrong proof.
    private func settle(
        _ before: OfferRecord, _ name: RequestName, _ ifRefused: IdentityLockout,
        provenBy device: String?, mayMerge: Bool, _ serviceKey: [UInt8]?, at now: Timestamp
    ) async throws -> [UInt8] {
        let lifetime = self.limits.confirmationLifetime
        let keys = self.envelope.keys
        let challenge = self.random.token()
        let token = SecretBytes(self.activationToken(before.id, challenge: challenge))
        let appID = self.configuration.identityAppID
        let step = try await self.store.step(offer: before.id, request: name) { offer in
            var change = OfferChange()
            var lockout = Lockout(offer.lockout)
            guard lockout.settle(request: name.hash, isRight: device != nil), offer.state == .offered,
                offer.challenge.hasSameBytes(as: before.challenge)
            else { throw IdentityProblem(.outOfOrder) }
            offer.lockout = lockout.record
            let message: ProveResponse
            if let device {
                // A proof counts only once.
                offer.challenge = challenge
                offer.tokenDigest = OfferRecord.digest(of: token, for: device)
                let until = min(now + lifetime, offer.expiresAt)
                offer.tokenUntil = until
                message = .proven(
                    ProvenActivation(
                        token: token, until: until, activation: offer.id, account: offer.accountID,
                        challenge: challenge, appID: appID, username: offer.accountID, mayMerge: mayMerge,
                        pinServiceKey: serviceKey))
                change.audit = [
                    AuditEvent(.activationProven, at: now, accountID: offer.accountID, detail: offer.id)
                ]
            } else {
                // Another device may have earned a token with the right PIN. The token stays, with the challenge that
                // the device's keys sign.
                if offer.tokenUntil.map({ $0 <= now }) ?? true {
                    offer.tokenDigest = nil
                    offer.tokenUntil = nil
                    offer.challenge = challenge
                }
                if ifRefused.isPermanent { offer.state = .revoked }
                message = .lockout(LockoutNotice(ifRefused), challenge: offer.challenge)
                change.audit = [
                    AuditEvent(.activationAttemptRefused, at: now, accountID: offer.accountID, detail: offer.id)
                ]
            }
            let answer = try keys.sign(.message(message.json), to: name.request, at: now)
            change.answer = GivenAnswer(
                caller: name.caller, request: name.request, requestHash: name.hash, answer: answer,
                keptUntil: now + lifetime)
            return (change, answer)
        }
        if ifRefused.isPermanent, device == nil { self.hub.wake(.ceremony(before.id)) }
        return try step.answer(orMissing: .activationUnknown)
    }

    // MARK: -

    /// Returns the offer if the caller has its secret. Throws `IdentityProblem`.
    func offer(_ id: String, claim: SecretBytes) async throws -> OfferRecord {
        let digest = ProcessCode.digest(ofClaim: claim)
        guard let offer = try await self.store.offer(id: id) else {
            // The invitation's account was merged into another account, together with the activation.
            if try await self.merges.wasMerged(id) { throw IdentityProblem(.activationDataConsumed) }
            throw IdentityProblem(.activationUnknown)
        }
        guard constantTimeEqual(digest, offer.claimDigest) else { throw IdentityProblem(.notProven) }
        return offer
    }

    /// Throws `IdentityProblem` if a device is less secure than activations require.
    func checkSecurity(_ report: SecurityReport?) throws(IdentityProblem) {
        let reasons = self.configuration.identities.insufficiencies(of: report)
        guard reasons.isEmpty else { throw IdentityProblem(.securityInsufficient, reasons: reasons) }
    }
}

extension CeremonyPart {
    /// Returns the token of a proof; `challenge` is the offer's challenge after the proof.
    ///
    /// The token is computed from recorded data and a key that is not on record. So the server can recompute the token
    /// later without having stored the token.
    func activationToken(_ id: String, challenge: String) -> [UInt8] {
        self.sealing.code("\(id) \(challenge)", purpose: .activationToken)
    }
}

extension OfferRecord {
    /// Returns the digest that is kept of a token. The token is valid only for the device that the proof has named by
    /// its key's thumbprint.
    static func digest(of token: SecretBytes, for device: String) -> [UInt8] {
        // The token has a fixed length, so that no other pair of token and device makes the same bytes.
        token.withBytes { Sealing.digest(ofSecret: Array($0) + Array(device.utf8)) }
    }

    /// `true` if a proof of the PIN has earned the token, for the device of this thumbprint.
    func hasEarned(_ token: SecretBytes, for device: String) -> Bool {
        self.tokenDigest.map { constantTimeEqual(Self.digest(of: token, for: device), $0) } ?? false
    }

    /// Throws `IdentityProblem` if the code cannot be used: the code was used or withdrawn, its time is over, or a
    /// lockout runs that another request than `request` has caused.
    func checkUsable(at now: Timestamp, unlessReservedBy request: [UInt8]? = nil) throws(IdentityProblem) {
        try self.checkOffered(at: now)
        if let reservation = self.lockout.reservation, reservation.request == request { return }
        if let lockout = Lockout(self.lockout).pending(at: now) { throw IdentityProblem(lockout) }
    }

    /// Checks the code as ``checkUsable(at:unlessReservedBy:)`` does, but allows a running lockout, for a device that
    /// has proved the PIN: later wrong PINs of other devices do not delay the device.
    func checkOffered(at now: Timestamp) throws(IdentityProblem) {
        switch self.state {
        case .offered: break
        case .enrolled, .merged: throw IdentityProblem(.activationDataConsumed)
        case .revoked: throw IdentityProblem(.activationDisabled)
        }
        guard now < self.expiresAt else { throw IdentityProblem(.activationDataExpired) }
    }

    /// The parameters by which the PIN was turned into a key.
    var parameters: PinParameters {
        get throws {
            guard case .object(let object)? = try? JSON(parsing: self.pinParameters.utf8),
                let parameters = try? PinParameters(json: object)
            else { throw StoreError(.corrupt, "the parameters of a PIN") }
            return parameters
        }
    }
}

extension IdentityStep<[UInt8]> {
    /// Returns the answer of a step that was taken now or before. Throws `IdentityProblem`.
    func answer(orMissing code: IdentityProblem.Code) throws(IdentityProblem) -> [UInt8] {
        switch self {
        case .decided(let answer), .again(let answer): return answer
        case .replayed: throw IdentityProblem(.replayRefused)
        case .missing: throw IdentityProblem(code)
        }
    }
}

extension SealingPurpose {
    fileprivate static let activationToken = SealingPurpose("activation token")
}
