import Ceremony
import Crypto
import Store
import _Primitives

/// Where an app that has read an activation's code opens it, and proves its PIN.
public struct ActivationOpenings: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & IdentityStore
    let envelope: IdentityEnvelope
    let merges: AccountMerges
    let pins: (any PinEvaluating)?
    let hub: CeremonyHub

    // MARK: Open

    /// `POST …/open`: says what a proof of the PIN is to be made over. It changes nothing.
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

    /// `POST …/prove`: judges whether somebody knows the PIN. The attempt is counted in a step of its own before it is
    /// verified.
    ///
    /// A proof over another challenge than the present one says nothing of the PIN, whoever made it: somebody else has proven
    /// the code in between. It is refused before anything is counted, and what that proof has earned stays.
    public func prove(_ id: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.answer(call) { request, now in
            let message = try ProveRequest(parsing: call.body)
            let offer = try await self.offer(id, claim: message.claim)
            // Before anything is counted or verified: a right PIN and a wrong one are told the same.
            guard try await self.store.isUnlocked(offer.accountID) else {
                throw IdentityProblem(.activationDisabled)
            }
            // Before anything is counted: without the PIN service nobody can be enrolled.
            let serviceKey = try await self.serviceKey(of: offer)
            let hash = Array(SHA256.hash(data: call.body))
            let name = RequestName(caller: "a:\(id)", request: request, hash: hash)
            let limits = self.limits
            let proof = try await self.opened(message, of: offer, at: now)
            let challenge = offer.challenge
            let reserved = try await self.store.step(offer: id, request: name) { offer in
                try offer.checkUsable(at: now, unlessReservedBy: hash)
                guard proof != nil, offer.challenge.hasSameBytes(as: challenge) else {
                    throw IdentityProblem(.sessionSuperseded)
                }
                var lockout = Lockout(offer.lockout)
                switch lockout.reserve(request: hash, at: now, limits: limits) {
                case .pending(let lockout): throw IdentityProblem(lockout)
                case .mayVerify(let ifRefused):
                    offer.lockout = lockout.record
                    return (OfferChange(), ifRefused)
                }
            }
            let ifRefused: LockoutInformation
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

    /// The PIN service's key for an activation; `nil` where there is no such service.
    private func serviceKey(of offer: PendingActivationRecord) async throws(IdentityProblem) -> [UInt8]? {
        do throws(PinServiceFailure) { return try await self.pins?.key(of: offer.id) } catch {
            throw IdentityProblem(error)
        }
    }

    /// What was sealed for the challenge that the code has; `nil` for what was sealed for another one, and for what cannot be
    /// read. The PIN has no part in it.
    private func opened(_ message: ProveRequest, of offer: PendingActivationRecord, at now: Timestamp) async throws
        -> ProveRequest.Proof?
    {
        guard let key = try await self.envelope.keys.sealingKey(message.proof.keyID, at: now) else { return nil }
        return try? message.proof.open(
            ProveRequest.Proof.self, with: key,
            for: .activationProof(activation: offer.id, challenge: offer.challenge))
    }

    private func isRight(_ proof: ProveRequest.Proof, by device: String, of offer: PendingActivationRecord) -> Bool {
        guard let pinKey = try? P256.Signing.PublicKey(compressedRepresentation: offer.pinKey),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: proof.signature)
        else { return false }
        return pinKey.isValidSignature(
            signature,
            for: ProveRequest.Proof.signedBytes(
                activation: offer.id, challenge: offer.challenge, device: device))
    }

    /// - Parameter device: The device that a right proof has named; `nil` for a wrong one.
    private func settle(
        _ before: PendingActivationRecord, _ name: RequestName, _ ifRefused: LockoutInformation,
        provenBy device: String?, mayMerge: Bool, _ serviceKey: [UInt8]?, at now: Timestamp
    ) async throws -> [UInt8] {
        let limits = self.limits
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
                // No proof counts twice.
                offer.challenge = challenge
                offer.tokenDigest = PendingActivationRecord.digest(of: token, for: device)
                let until = min(now + limits.confirmationLifetime, offer.expiresAt)
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
                // What another device has earned by the right PIN stays, with the challenge that its keys sign.
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
                keptUntil: now + limits.confirmationLifetime)
            return (change, answer)
        }
        if ifRefused.isPermanent, device == nil { self.hub.wake(before.id) }
        return try step.answer(orMissing: .activationUnknown)
    }

    // MARK: -

    /// The offer that somebody has the secret of. Throws `IdentityProblem`.
    func offer(_ id: String, claim: SecretBytes) async throws -> PendingActivationRecord {
        let digest = ProcessCode.digest(ofClaim: claim)
        guard let offer = try await self.store.offer(id: id) else {
            // An invitation whose account has gone into another has taken its activation along.
            if try await self.merges.wasMerged(id) { throw IdentityProblem(.activationDataConsumed) }
            throw IdentityProblem(.activationUnknown)
        }
        guard constantTimeEqual(digest, offer.claimDigest) else { throw IdentityProblem(.notProven) }
        return offer
    }

    /// Throws `IdentityProblem` where a device is not as sound as activations have to be.
    func checkSecurity(_ report: SecurityReport?) throws(IdentityProblem) {
        let reasons = self.configuration.identities.insufficiencies(of: report)
        guard reasons.isEmpty else { throw IdentityProblem(.securityInsufficient, reasons: reasons) }
    }
}

extension CeremonyPart {
    /// The token that a proof over the challenge of before this one has earned. It is made of what is on record and a key
    /// that is not, so that the server has it again when it comes back without having kept it.
    func activationToken(_ id: String, challenge: String) -> [UInt8] {
        self.sealing.code("\(id) \(challenge)", purpose: .activationToken)
    }
}

extension PendingActivationRecord {
    /// What is kept of a token: it opens nothing but to the device that the proof has named by its key's thumbprint.
    static func digest(of token: SecretBytes, for device: String) -> [UInt8] {
        // The token has one length, so that no other two make the same bytes.
        token.withBytes { Sealing.digest(ofSecret: Array($0) + Array(device.utf8)) }
    }

    /// Whether a proof of the PIN has earned a token, and for the device of this thumbprint.
    func hasEarned(_ token: SecretBytes, for device: String) -> Bool {
        self.tokenDigest.map { constantTimeEqual(Self.digest(of: token, for: device), $0) } ?? false
    }

    /// Throws `IdentityProblem` where the code cannot be used: it was, it was taken back, its time is over, or a lockout
    /// runs.
    func checkUsable(at now: Timestamp, unlessReservedBy request: [UInt8]? = nil) throws(IdentityProblem) {
        try self.checkOffered(at: now)
        if let reservation = self.lockout.reservation, reservation.request == request { return }
        if let lockout = Lockout(self.lockout).pending(at: now) { throw IdentityProblem(lockout) }
    }

    /// As ``checkUsable(at:unlessReservedBy:)``, for whoever has proven the PIN: wrong PINs that somebody else has typed since
    /// do not keep them waiting.
    func checkOffered(at now: Timestamp) throws(IdentityProblem) {
        switch self.state {
        case .offered: break
        case .enrolled, .merged: throw IdentityProblem(.activationDataConsumed)
        case .revoked: throw IdentityProblem(.activationDisabled)
        }
        guard now < self.expiresAt else { throw IdentityProblem(.activationDataExpired) }
    }

    /// How its PIN became a key.
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
    /// The answer of a step that was taken now or before. Throws `IdentityProblem`.
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
