import Ceremony
import JOSE
import Records
import Settings
import UAF
import UAFRelyingParty
import _Primitives

/// Enrolments of activations: an activation gets its keys.
public struct ActivationEnrolments: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any IdentityStore
    let envelope: IdentityEnvelope
    let openings: ActivationOpenings
    let hub: CeremonyHub

    /// The number of an activation's first PIN. The PIN of the activation's code has the number 0.
    private static let firstPin: UInt32 = 1

    /// `POST …/enroll`: registers the keys of a new activation, each with its own proof, and answers with a receipt.
    public func enroll(_ id: String, _ call: IdentityCall) async throws -> IdentityReply {
        try await self.envelope.answer(call) { request, now in
            let message = try EnrollRequest(parsing: call.body)
            guard let claim = ProofClaim(call), claim.claimant.hasSameBytes(as: id),
                let offer = try await self.store.offer(id: id)
            else { throw IdentityProblem(.notProven) }
            // A phone that lost the receipt holds the keys that are enrolled now.
            if offer.state == .enrolled { return try await self.again(id, call, claim, request, at: now) }
            let enrolment = try await self.opened(message, of: offer, at: now)
            // An older app does not know the PIN service. With the service, no PIN may be open to an attacker who holds
            // all other data.
            guard self.openings.pins == nil || enrolment.pinScheme == .pin2 else {
                throw IdentityProblem(.protocolVersionUnsupported)
            }
            guard let signingKey = enrolment.signingKey.wholePoint, let key = VerificationKey(keptPoint: signingKey),
                let encryptionKey = enrolment.encryptionKey.compressedPoint
            else { throw IdentityProblem(.invalidRequest) }
            // The name given with the request for the code comes first. Without such a name the device names itself.
            let device = DeviceRecord(
                id: id, accountID: offer.accountID, name: offer.name ?? self.name(enrolment.name), isActive: true,
                createdAt: now)
            let activation = ActivationRecord(
                device: device, signingKey: signingKey, encryptionKey: encryptionKey, pinVersion: Self.firstPin)
            let proven = try self.envelope.proven(call, request, claim, of: activation, by: key, at: now)
            try offer.checkOffered(at: now)
            let verified = try self.verify(enrolment, of: offer, at: now)
            let credentials = self.credentials(of: verified, device, at: now)
            return try await self.take(
                proven, activation, credentials, challenge: offer.challenge)
        }
    }

    /// Returns the earlier receipt, for the same request. Throws `IdentityProblem` `activationDataConsumed` for any
    /// other request.
    private func again(
        _ id: String, _ call: IdentityCall, _ claim: ProofClaim, _ request: String, at now: Timestamp
    ) async throws -> [UInt8] {
        guard let activation = try await self.store.activation(id: id),
            let key = VerificationKey(keptPoint: activation.signingKey)
        else { throw IdentityProblem(.activationDataConsumed) }
        let proven: ProvenCall
        do throws(IdentityProblem) {
            proven = try self.envelope.proven(call, request, claim, of: activation, by: key, at: now)
        } catch {
            throw error.code == .notProven ? IdentityProblem(.activationDataConsumed) : error
        }
        try self.envelope.count(id, at: now)
        switch try await self.store.answer(to: proven.name) {
        case .again(let answer)?: return answer
        case .replayed?: throw IdentityProblem(.replayRefused)
        case .decided?, .missing?, nil: throw IdentityProblem(.activationDataConsumed)
        }
    }

    /// Returns the enrolment from its seal.
    ///
    /// The enrolment was sealed with the token that a proof of the PIN has earned, by the device that the proof has
    /// named. An attacker with the token alone does not have the device's key, which signs the request.
    private func opened(_ message: EnrollRequest, of offer: OfferRecord, at now: Timestamp) async throws
        -> EnrollRequest.Enrolment
    {
        guard let until = offer.tokenUntil else { throw IdentityProblem(.notProven) }
        let token = self.activationToken(offer.id, challenge: offer.challenge)
        guard let key = try await self.envelope.keys.sealingKey(message.enrolment.keyID, at: now),
            let enrolment = try? message.enrolment.open(
                EnrollRequest.Enrolment.self, with: key,
                for: .enrolment(activation: offer.id, token: Base64URL.encode(token))),
            enrolment.token.withBytes({ constantTimeEqual(Array($0), token) }),
            offer.hasEarned(enrolment.token, for: enrolment.signingKey.thumbprint)
        else { throw IdentityProblem(.notProven) }
        guard now < until else { throw IdentityProblem(.activationDataExpired) }
        return enrolment
    }

    private func verify(_ enrolment: EnrollRequest.Enrolment, of offer: OfferRecord, at now: Timestamp)
        throws -> VerifiedFactorRegistration
    {
        do {
            return try self.envelope.verifiedRegistration(
                enrolment.response, of: offer.id, challenge: try Challenge(offer.challenge), accountID: offer.accountID,
                required: [.device, .pin], optional: [.biometric], at: now)
        } catch is UAFError {
            throw StoreError(.corrupt, "the challenge of an activation")
        }
    }

    private func take(
        _ call: ProvenCall, _ activation: ActivationRecord, _ credentials: [CredentialRecord], challenge: String
    ) async throws -> [UInt8] {
        let keys = self.envelope.keys
        let receipt = activation.receipt(credentials)
        let noticeID = self.newIdentifier()
        let step: IdentityStep<[UInt8]>
        do {
            step = try await self.store.step(offer: activation.device.id, request: call.name) { offer in
                try offer.checkOffered(at: call.at)
                // Another proof in between has set another challenge.
                guard offer.challenge.hasSameBytes(as: challenge), let until = offer.tokenUntil, call.at < until else {
                    throw IdentityProblem(.notProven)
                }
                offer.state = .enrolled
                // From now on no PIN can be tried with the key.
                offer.pinKey = []
                offer.tokenDigest = nil
                offer.tokenUntil = nil
                var change = OfferChange()
                change.enrolled = (activation, credentials)
                change.audit = [
                    AuditEvent(
                        .activationEnrolled, at: call.at, accountID: offer.accountID, detail: activation.device.id)
                ]
                change.notices = [
                    NoticeRecord(
                        id: noticeID, accountID: offer.accountID, kind: .deviceAdded, at: call.at,
                        subject: activation.device.name)
                ]
                let answer = try keys.sign(.message(receipt.json), to: call.request, at: call.at)
                change.answer = call.answered(answer)
                return (change, answer)
            }
        } catch let error as StoreError where error.code == .conflict {
            // The key is registered already, for any account.
            throw IdentityProblem(.invalidRequest)
        } catch let error as StoreError where error.code == .forbidden {
            // The account is locked. The offer stays as it is until the account is unlocked.
            throw IdentityProblem(.activationDisabled)
        }
        // Wakes the page that shows the code.
        self.hub.wake(.ceremony(activation.device.id))
        return try step.answer(orMissing: .activationUnknown)
    }

    private func name(_ text: String) -> String {
        let shown = DisplayText.name(text, length: self.limits.nameCharacters)
        return shown.isEmpty ? "Phone" : shown
    }
}

extension IdentityEnvelope {
    /// Verifies new factors of an activation, each of which has signed the challenge.
    ///
    /// Throws `IdentityProblem` `invalidRequest` for anything else, and `untrustedFacetId` if the app is refused; the
    /// operator is told the name of the app.
    func verifiedRegistration(
        _ response: String, of activation: String, challenge: Challenge, accountID: String,
        required: Set<AuthenticatorType>, optional: Set<AuthenticatorType> = [], at now: Timestamp
    ) throws(IdentityProblem) -> VerifiedFactorRegistration {
        var facet: FacetID?
        do throws(UAFRefusal) {
            let unverified = try UnverifiedRegistration(
                parsing: response.utf8, reading: self.relyingParty.lenientReadings)
            facet = unverified.facetID
            return try FactorRegistrationVerifier(self.relyingParty).verify(
                unverified,
                expected: ExpectedFactorRegistration(
                    challenge: challenge, appID: self.configuration.identityAppID, username: accountID,
                    required: required, optional: optional),
                // The store refuses a key that is already registered.
                existing: [], at: now)
        } catch {
            throw IdentityProblem(self.isRefused(facet, of: activation, at: now) ? .untrustedFacetId : .invalidRequest)
        }
    }
}

extension CeremonyPart {
    /// Returns the rows of new factors.
    func credentials(of verified: VerifiedFactorRegistration, _ device: DeviceRecord, at now: Timestamp)
        -> [CredentialRecord]
    {
        AuthenticatorType.allCases.compactMap { verified[$0] }.map { key in
            CredentialRecord(
                id: self.newIdentifier(), deviceID: device.id, accountID: device.accountID, aaid: key.id.aaid.text,
                keyID: key.id.keyID.bytes, publicKey: key.publicKey, keyFormat: key.publicKeyFormat.rawValue,
                algorithm: key.signatureAlgorithm.rawValue, counter: key.signCounter,
                registrationCounter: key.registrationCounter, authenticatorVersion: key.authenticatorVersion,
                attestation: key.attestation.stored, isActive: device.isActive, createdAt: now)
        }
    }
}

extension ActivationRecord {
    /// Returns the receipt of the activation for its phone.
    func receipt(_ credentials: [CredentialRecord]) -> ActivationReceipt {
        let types = credentials.factorTypes
        return ActivationReceipt(
            activation: self.device.id, name: self.device.name,
            factors: AuthenticatorType.allCases.filter(types.contains).map(\.rawValue),
            biometricKey: credentials.keys(of: .biometric).first.flatMap { try? KeyID($0.keyID) },
            pinVersion: self.pinVersion, createdAt: self.device.createdAt)
    }
}
