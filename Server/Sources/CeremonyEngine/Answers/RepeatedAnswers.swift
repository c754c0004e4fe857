import Records
import Sealing
import UAF
import UAFRelyingParty
import _Primitives

/// Judges answers that were judged before: a phone that has lost the server's answer sends the same bytes again, within
/// the challenge's life (decision 129).
///
/// The judgement is the judgement of the first time. Account and keys are judged as they are now. No counter is compared,
/// nothing is written to the trail, and no ceremony is completed a second time. A token or a continuation is given again
/// only to the device whose key has signed, by a fresh proof of the device: a recorded request earns nothing.
struct RepeatedAnswers: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any CeremonyStore & DeviceIdentityStore
    let invented: InventedAccounts

    /// Returns the code of an answer's signed bytes: the UAF message, and the person's denial if there is one.
    func code(of message: SendUAFResponse, denial: String?) -> [UInt8] {
        var bytes = Array(message.uafResponse.utf8)
        if let denial { bytes += [0] + Array(denial.utf8) }
        return self.sealing.code(bytes, purpose: .judgedAnswer)
    }

    /// Returns `true` if the answer that ended or approved a ceremony has the code.
    static func isJudged(_ ceremony: CeremonyRecord, by code: [UInt8]) -> Bool {
        ceremony.answerCode.map { constantTimeEqual($0, code) } ?? false
    }

    // MARK: Authentications

    /// Returns the answer to a repeated authentication of a ceremony. `stored` has the stored record of each of the
    /// response's keys.
    ///
    /// With the proof of the device, a browser that waits gets a new continuation in place of the lost one.
    ///
    /// Throws ``Answered``: the refusal of the first time, 1403 and 1481 for an account or a key that changed meanwhile.
    func authentication(
        _ ceremony: CeremonyRecord, _ response: UnverifiedAuthentication, _ stored: [StoredCredential?],
        _ code: [UInt8], provedBy prover: DeviceProofs.Prover?
    ) async throws -> AuthenticationAnswer {
        let statusCode = UAFStatusCode(rawValue: ceremony.uafStatusCode ?? 0)
        guard statusCode == .ok else {
            throw self.refusal(statusCode, isNumberWrong: ceremony.isNumberWrong, response.credentials, stored)
        }
        try self.checkStanding(response.credentials, stored)
        var answer = ServerResponse(.ok)
        if let prover, let device = ceremony.deviceID, try await self.isDevice(device, prover) {
            answer.deviceKey = prover.keyName
            if ceremony.phase == .answering { answer.location = try await self.continuation(of: ceremony.id, code) }
        }
        return AuthenticationAnswer(response: answer, isRepeated: true)
    }

    /// Returns the answer to a repeated authentication without a ceremony. With the proof of the device the answer names
    /// the device, for a new token.
    ///
    /// Throws ``Answered`` as ``authentication(_:_:_:_:provedBy:)``, and 1491 for another message under the challenge.
    func authentication(
        challenge digest: [UInt8], _ response: UnverifiedAuthentication, _ code: [UInt8],
        provedBy prover: DeviceProofs.Prover?
    ) async throws -> AuthenticationAnswer {
        let found = try await self.store.judgedAnswer(
            challengeDigest: digest, keys: response.credentials.map { ($0.aaid.text, $0.keyID.bytes) })
        guard let (judged, stored) = found, constantTimeEqual(judged.code, code) else {
            throw Answered(.invalidRequest, "the challenge was answered before")
        }
        let statusCode = UAFStatusCode(rawValue: judged.statusCode)
        guard statusCode == .ok else { throw self.refusal(statusCode, response.credentials, stored) }
        try self.checkStanding(response.credentials, stored)
        var answer = AuthenticationAnswer(response: ServerResponse(.ok), isRepeated: true)
        if let prover, let key = stored.first??.credential, try await self.isDevice(key.deviceID, prover) {
            answer.response.deviceKey = prover.keyName
            answer.authenticated = AuthenticatedDevice(accountID: key.accountID, deviceID: key.deviceID)
        }
        return answer
    }

    /// Gives a ceremony whose browser waits a new continuation, and returns its address; `nil` for any other ceremony. The
    /// lost continuation is worth nothing any more.
    private func continuation(of id: String, _ code: [UInt8]) async throws -> String? {
        let continuation = self.random.token()
        do {
            let changed = try await self.store.change(.id(id)) { record in
                guard record.phase == .answering, Self.isJudged(record, by: code) else {
                    throw RefusedEvent(refusal: .over)
                }
                record.continuationDigest = Sealing.digest(ofSecret: continuation)
                return CeremonyChange()
            }
            return changed.map { _ in self.configuration.continuationAddress(continuation) }
        } catch is RefusedEvent {
            return nil
        }
    }

    /// Returns `true` if a proof is by a registration, or by a phone with the key of the registration.
    private func isDevice(_ device: String, _ prover: DeviceProofs.Prover) async throws -> Bool {
        guard !prover.isGone else { return false }
        if prover.device.deviceID.hasSameBytes(as: device) { return true }
        return try await self.store.isKey(prover.keyName, ofDevice: device)
    }

    // MARK: Registrations

    /// Returns the answer to a repeated registration of a ceremony, without the number: the number was for the device that
    /// waits, which cannot prove anything before the number is given.
    ///
    /// Throws ``Answered``: the refusal of the first time, and 1491 for a registration that has ended meanwhile.
    func registration(_ ceremony: CeremonyRecord, _ account: AccountRecord?) throws -> ServerResponse {
        let statusCode = UAFStatusCode(rawValue: ceremony.uafStatusCode ?? 0)
        guard statusCode == .accepted else { throw self.refusal(statusCode, [], []) }
        guard ceremony.phase == .answering || ceremony.outcome == .succeeded, let account else {
            throw self.refusal(.invalidRequest, [], [])
        }
        guard !account.isLocked else { throw self.refusal(.forbidden, [], []) }
        return ServerResponse(.accepted)
    }

    /// Returns the answer to a repeated registration of further keys. Throws ``Answered``: 1491 for another message under
    /// the challenge, 1403 and 1481 for an account or a key that changed meanwhile.
    func registration(challenge digest: [UInt8], _ keys: [CredentialID], _ code: [UInt8]) async throws -> ServerResponse
    {
        let found = try await self.store.judgedAnswer(
            challengeDigest: digest, keys: keys.map { ($0.aaid.text, $0.keyID.bytes) })
        guard let (judged, stored) = found, constantTimeEqual(judged.code, code) else {
            throw Answered(.invalidRequest, "the challenge was answered before")
        }
        try self.checkStanding(keys, stored)
        return ServerResponse(.ok)
    }

    // MARK: Refusals

    /// Refuses a repeated answer whose keys or account may not authenticate any more. A deleted key is 1481.
    private func checkStanding(_ keys: [CredentialID], _ stored: [StoredCredential?]) throws {
        guard stored.allSatisfy({ $0 != nil }) else { throw self.refusal(.unknownKeyID, keys, stored) }
        guard stored.allSatisfy({ $0?.credential.isActive == true && $0?.isAccountLocked == false }) else {
            throw self.refusal(.forbidden, keys, stored)
        }
    }

    /// Returns the refusal of a repeated answer. For an unknown key the refusal also tells the client to delete the key;
    /// a key that was unknown and is known by now is 1491.
    private func refusal(
        _ statusCode: UAFStatusCode, isNumberWrong: Bool = false, _ keys: [CredentialID], _ stored: [StoredCredential?]
    ) -> Answered {
        var answered = Answered(statusCode, "the same answer was judged before")
        answered.isNumberWrong = isNumberWrong
        if statusCode == .unknownKeyID {
            let unknown = zip(keys, stored).filter { $1 == nil && self.invented.key($0) == nil }.map(\.0)
            answered.newRequest = try? self.requests.deregistrationRequest(unknown.map { .key($0.aaid, $0.keyID) })
            if unknown.isEmpty || answered.newRequest == nil {
                answered = Answered(.invalidRequest, "the same answer was judged before")
            }
        }
        answered.leavesCeremony = true
        return answered
    }
}

extension CeremonyConfiguration {
    /// Returns the address at which the starting browser continues an approval.
    func continuationAddress(_ continuation: String) -> String {
        "\(self.issuer)/sign-in/continue?code=\(continuation)"
    }
}

extension SealingPurpose {
    fileprivate static let judgedAnswer = SealingPurpose("judged answer")
}
