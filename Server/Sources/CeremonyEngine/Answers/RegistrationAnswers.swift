import Ceremony
import Records
import Sealing
import Settings
public import UAF
import UAFRelyingParty
import _Primitives

/// Judges the registration responses of phones.
public struct RegistrationAnswers: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & CeremonyStore
    let hub: CeremonyHub
    let checks: AnswerChecks
    let endings: Endings
    let invented: InventedAccounts
    let replacements: Replacements
    let apps: AppAttestations
    let repeated: RepeatedAnswers

    /// Judges a phone's registration response.
    ///
    /// Out of band, the keys belong to a new device and stay pending; the answer (1202) carries the number for the
    /// phone's screen. In the app, the keys join the device that has just authenticated, replace the device's keys of
    /// the same models, and are active at once (1200). The same answer, sent again within the challenge's life, gets the
    /// same judgement, without the number. Refusals, the budget of `source` and `refused` work as in
    /// ``AuthenticationAnswers/judge(_:source:refused:)``.
    public func judge(
        _ message: SendUAFResponse, source: String? = nil, refused: (_ reason: String) -> Void = { _ in }
    ) async throws -> ServerResponse {
        // The keys are always found and verified before the write step, so the state of the budget makes no difference.
        try await self.checks.judged(from: source, \.statusCode) { _ in
            do {
                return try await self.verdict(on: message, from: source)
            } catch let answered as Answered {
                self.checks.note(refusedFacet: answered.refusedFacet, from: source)
                refused(answered.reason)
                return ServerResponse(answered)
            }
        }
    }

    private func verdict(on message: SendUAFResponse, from source: String?) async throws -> ServerResponse {
        let now = self.time.now()
        let context = try ClientContext(message.context, self.limits)
        let response: UnverifiedRegistration
        do {
            response = try UnverifiedRegistration(
                parsing: message.uafResponse.utf8, reading: self.relyingParty.lenientReadings)
        } catch { throw Answered(error) }
        let (data, origin) = try self.checks.openServerData(response.serverData, operation: .registration, at: now)
        let code = self.repeated.code(of: message, denial: nil)
        switch origin {
        case .ceremony(let id):
            if response.isClientFailure {
                self.checks.note(refusedFacet: context.refusedFacet, from: source)
                try await self.endings.end(
                    id, context.isDenial ? .deny : .fail,
                    audit: context.isDenial ? .denied : .failed, refusedFacet: context.refusedFacet,
                    clientErrorCode: context.clientErrorCode, asmStatusCode: context.asmStatusCode, at: now)
                return ServerResponse(.ok)
            }
            do {
                return try await self.answerActivation(id, response, data, context, code, from: source, at: now)
            } catch let answered as Answered where !answered.leavesCeremony {
                try await self.endings.end(
                    id, .fail, statusCode: answered.statusCode, audit: answered.audit,
                    refusedFacet: answered.refusedFacet, reason: answered.appRefusal?.rawValue,
                    clientErrorCode: context.clientErrorCode, asmStatusCode: context.asmStatusCode,
                    answer: (code: code, isNumberWrong: false), at: now)
                throw answered
            }
        case .open(let policy):
            guard !response.isClientFailure else {
                try await self.checks.keep(
                    refusedFacet: context.refusedFacet, code: context.clientErrorCode, from: source, at: now)
                return ServerResponse(.ok)
            }
            do {
                return try await self.addKeys(response, data, context, policyName: policy, code, at: now)
            } catch let answered as Answered {
                if let refusal = answered.appRefusal { try await self.note(refusal, data, at: now) }
                try await self.checks.keep(
                    refusedFacet: answered.refusedFacet, code: Int(answered.statusCode.rawValue), from: source, at: now)
                throw answered
            }
        }
    }

    /// Returns the answer to a message that has answered the ceremony before; `nil` for another message.
    private func repetition(of code: [UInt8], _ ceremony: CeremonyRecord?) async throws -> ServerResponse? {
        guard let ceremony, RepeatedAnswers.isJudged(ceremony, by: code) else { return nil }
        var account: AccountRecord?
        if let id = ceremony.accountID { account = try await self.store.account(id: id) }
        return try self.repeated.registration(ceremony, account)
    }

    private func answerActivation(
        _ id: String, _ response: UnverifiedRegistration, _ data: SealedServerData, _ context: ClientContext,
        _ code: [UInt8], from source: String?, at now: Timestamp
    ) async throws -> ServerResponse {
        try self.checks.checkNames(response.credentials, twice: .unacceptableKey)
        let (found, stored) = try await self.store.verificationMaterial(ceremonyID: id, keys: Self.keys(of: response))
        if let answer = try await self.repetition(of: code, found) { return answer }
        let ceremony = try self.checks.checkAnswerable(found, at: now)
        let existing = self.existing(response, stored)
        guard let accountID = ceremony.accountID else { throw Answered(.invalidRequest, "no activation of an account") }
        let policy = try self.checks.policy(ofRequest: ceremony.detail.policy, for: .registration)
        let verified = try self.verify(response, data, policy, existing: existing, at: now)
        let registration = try await self.registration(verified, accountID: accountID, context, at: now)
        let app = try self.apps.judge(
            context.appEvidence, of: verified, for: registration.device, ceremonyID: id, at: now)
        let number = self.environment.confirmationNumber()
        if let approver = ceremony.detail.approver,
            registration.identity?.signing.name.hasSameBytes(as: approver) == true
        {
            throw Answered(.unacceptableKey, "a device that would approve itself")
        }
        let asked = ceremony.detail.approver.map { _ in
            AskingDevice(
                number: number, model: self.model(of: verified), network: source,
                keys: AskingDevice.fingerprint(of: registration))
        }
        // A service or another device wants the device, so the person's other devices are told at once. The notice has
        // the name of the enrolment, by which a device can decline.
        let notice = (ceremony.clientID ?? ceremony.detail.approver).map { _ in
            NoticeRecord(
                id: id, accountID: accountID, kind: .enrolmentAsked, at: now, subject: registration.device.name)
        }
        let accepted: CeremonyRecord?
        do {
            accepted = try await self.store.change(.id(id)) { record in
                try record.take(.accept, at: now, limits: self.limits)
                record.deviceID = registration.device.id
                record.confirmationCode = self.environment.confirmationCode(number, ceremonyID: id)
                record.progress = asked?.stored
                record.uafStatusCode = Int(UAFStatusCode.accepted.rawValue)
                record.authenticators = verified.keys.map(\.id.aaid.text)
                record.answerCode = code
                var change = CeremonyChange()
                change.registration = registration
                change.audit = [
                    AuditEvent(
                        .registrationAnswered, at: now, accountID: accountID, ceremonyID: id,
                        detail: registration.device.id)
                ]
                change.notices = notice.map { [$0] } ?? []
                app?.add(to: &change)
                return change
            }
        } catch is RefusedEvent {
            // The same message may have been quicker.
            guard let answer = try await self.repetition(of: code, try await self.store.ceremony(.id(id))) else {
                throw Answered.notTheFirst
            }
            return answer
        } catch let error as StoreError where error.code == .conflict {
            throw Answered(.unacceptableKey, "the key was registered meanwhile")
        }
        // The account was deleted meanwhile, together with the ceremony.
        guard accepted != nil else { throw Answered(.invalidRequest, "the account is gone") }
        self.hub.wake(.ceremony(id))
        var answer = ServerResponse(.accepted)
        answer.deviceKey = registration.identity?.signing.name
        answer.confirmation = ServerResponse.Confirmation(
            number: number, expiresInSeconds: Int(self.limits.confirmationLifetime.components.seconds))
        return answer
    }

    /// Adds further keys to the device whose token requested the registration: one phone is one device.
    ///
    /// An announcement of the device's own keys has no effect here. A key that is not registered yet cannot speak for a
    /// registered device.
    private func addKeys(
        _ response: UnverifiedRegistration, _ data: SealedServerData, _ context: ClientContext, policyName: String?,
        _ code: [UInt8],
        at now: Timestamp
    ) async throws -> ServerResponse {
        try self.checks.checkNames(response.credentials, twice: .unacceptableKey)
        guard let accountID = data.username, let deviceID = data.device,
            let account = try await self.store.account(id: accountID)
        else { throw Answered(.invalidRequest, "the account is gone") }
        let policy = try self.checks.policy(ofRequest: policyName, for: .registration)
        let digest = Sealing.digest(ofSecret: data.challenge.text)
        let material = try await self.store.verificationMaterial(
            challengeDigest: digest, keys: Self.keys(of: response))
        guard let stored = material else {
            return try await self.repeated.registration(challenge: digest, response.credentials, code)
        }
        let existing = self.existing(response, stored)
        let verified = try self.verify(response, data, policy, existing: existing, at: now)
        guard !account.isLocked else { throw Answered(.forbidden, "the account is locked") }
        guard let device = try await self.store.devices(accountID: accountID).first(where: { $0.id == deviceID }) else {
            throw Answered(.unauthorized, "the device is gone")
        }
        let app = try await self.apps.judge(context.appEvidence, of: verified, joining: device, at: now)
        var change = CeremonyChange()
        change.newCredentials = self.credentials(verified, of: device, at: now)
        change.audit = [AuditEvent(.authenticatorAdded, at: now, accountID: accountID, detail: deviceID)]
        change.notices = [
            NoticeRecord(
                id: self.newIdentifier(), accountID: accountID, kind: .authenticatorAdded, at: now,
                subject: device.name)
        ]
        app?.add(to: &change)
        let challenge = AnsweredChallenge(
            digest: digest, expiresAt: data.expiresAt,
            answer: JudgedAnswer(code: code, statusCode: UAFStatusCode.ok.rawValue))
        do {
            guard try await self.store.answer(challenge, change: change, at: now) else {
                return try await self.repeated.registration(challenge: digest, response.credentials, code)
            }
        } catch let error as StoreError {
            switch error.code {
            case .conflict: throw Answered(.unacceptableKey, "the key was registered, or the app has signed, meanwhile")
            // The device or the account changed after the read.
            case .notFound: throw Answered(.unauthorized, "the device is gone")
            case .forbidden: throw Answered(.forbidden, "the account was locked meanwhile")
            default: throw error
            }
        }
        return ServerResponse(.ok)
    }

    /// Returns the models of a registration's authenticators in the words of their metadata, for a person.
    private func model(of verified: VerifiedRegistration) -> String {
        verified.keys.map { self.rules.value.metadata[$0.id.aaid]?.description ?? $0.id.aaid.text }
            .joined(separator: ", ")
    }

    /// Writes an entry to the trail for evidence that was refused beside further keys of a device. The step also consumes
    /// the challenge. So each challenge leaves at most one entry.
    private func note(_ refusal: AppAttestationRefusal, _ data: SealedServerData, at now: Timestamp) async throws {
        let challenge = AnsweredChallenge(
            digest: Sealing.digest(ofSecret: data.challenge.text), expiresAt: data.expiresAt)
        var change = CeremonyChange()
        change.audit = [
            AuditEvent(
                .appRefused, at: now, accountID: data.username,
                detail: "\(UAFStatusCode.unacceptableAttestation.rawValue) \(refusal.rawValue)")
        ]
        _ = try await self.store.answer(challenge, change: change, at: now)
    }

    private static func keys(of response: UnverifiedRegistration) -> [(aaid: String, keyID: [UInt8])] {
        response.credentials.map { ($0.aaid.text, $0.keyID.bytes) }
    }

    /// Returns the keys that are registered already. An invented key counts as registered, so that an attempt with a
    /// name does not reveal the difference.
    private func existing(_ response: UnverifiedRegistration, _ stored: [StoredCredential?]) -> Set<CredentialID> {
        Set(zip(response.credentials, stored).filter { $1 != nil || self.invented.key($0) != nil }.map(\.0))
    }

    private func verify(
        _ response: UnverifiedRegistration, _ data: SealedServerData, _ policy: Policy, existing: Set<CredentialID>,
        at now: Timestamp
    ) throws -> VerifiedRegistration {
        do {
            return try RegistrationVerifier(self.relyingParty).verify(
                response,
                expected: ExpectedRegistration(
                    challenge: data.challenge, appID: self.configuration.appID, username: data.username ?? "",
                    policy: policy, serverData: response.serverData),
                existing: existing, at: now)
        } catch { throw Answered(error) }
    }

    private func registration(
        _ verified: VerifiedRegistration, accountID: String, _ context: ClientContext, at now: Timestamp
    ) async throws -> DeviceRegistration {
        // Operators' terminals and other devices show the name. Control characters must not take effect there.
        let shown = DisplayText.name(context.deviceName ?? "", length: self.limits.nameCharacters)
        let device = DeviceRecord(
            id: self.newIdentifier(), accountID: accountID, name: shown.isEmpty ? "Phone" : shown, isActive: false,
            createdAt: now,
            secretCode: context.enrolmentSecret.map { self.replacements.enrolmentSecretCode($0, accountID: accountID) })
        return DeviceRegistration(
            device: device, credentials: self.credentials(verified, of: device, at: now),
            replaces: try await self.replacements.replacedCredentials(context.replacement, accountID: accountID),
            identity: DeviceIdentityRecord(verified.deviceKeys))
    }

    /// Returns the rows of a device's new keys. The keys are active if the device is active.
    private func credentials(_ verified: VerifiedRegistration, of device: DeviceRecord, at now: Timestamp)
        -> [CredentialRecord]
    {
        verified.keys.map { key in
            CredentialRecord(
                id: self.newIdentifier(), deviceID: device.id, accountID: device.accountID, aaid: key.id.aaid.text,
                keyID: key.id.keyID.bytes, publicKey: key.publicKey, keyFormat: key.publicKeyFormat.rawValue,
                algorithm: key.signatureAlgorithm.rawValue, counter: key.signCounter,
                registrationCounter: key.registrationCounter, authenticatorVersion: key.authenticatorVersion,
                attestation: key.attestation.stored, pictureDisplays: key.pictureDisplays.stored,
                isActive: device.isActive, createdAt: now)
        }
    }
}
