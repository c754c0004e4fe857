import Ceremony
import JOSE
import Records
import UAF
import UAFRelyingParty
import _Primitives

/// Judges the denials of people: answers that a device has signed with its own key (decision 119).
struct Denials: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any CeremonyStore & DeviceIdentityStore
    let hub: CeremonyHub
    let checks: AnswerChecks
    let endings: Endings

    /// Judges the denial of a ceremony's request, and ends the ceremony.
    ///
    /// A denial of a request that the person did not begin leaves a notice for the person's devices and an entry of its
    /// own in the trail. The client that requested the operation then does not reach the person by asking alone for some
    /// time.
    ///
    /// The same denial, sent again, is accepted again: `code` is its code (``RepeatedAnswers``).
    ///
    /// Throws ``Answered``: 1401 for a device that the server does not know, for a device of another person, and for a
    /// wrong signature or another challenge. Such a denial ends the ceremony as a phone that gives up does: a phone needs
    /// no signature for this.
    func judge(
        _ compact: String, of id: String, challenge: Challenge, context: ClientContext, code: [UInt8], at now: Timestamp
    ) async throws {
        let found = try await self.store.ceremony(.id(id))
        guard !Self.isRepeated(found, code) else { return }
        let ceremony = try self.checks.checkAnswerable(found, at: now)
        let statement: DenialStatement
        let device: ProvingDevice
        do {
            (statement, device) = try await self.verified(compact, of: ceremony, challenge)
        } catch var answered as Answered {
            try await self.endings.end(
                id, .deny, audit: .denied, clientErrorCode: context.clientErrorCode,
                asmStatusCode: context.asmStatusCode, at: now)
            answered.leavesCeremony = true
            throw answered
        }
        let record: CeremonyRecord?
        do {
            record = try await self.store.change(.id(id)) { record in
                try record.take(.deny, at: now, limits: self.limits)
                record.clientErrorCode = context.clientErrorCode
                record.asmStatusCode = context.asmStatusCode
                record.denial = CeremonyRecord.Denial(statement)
                record.answerCode = code
                return self.change(record, statement, by: device, at: now)
            }
        } catch is RefusedEvent {
            guard Self.isRepeated(try await self.store.ceremony(.id(id)), code) else { throw Answered.notTheFirst }
            return
        }
        if let record { self.hub.wake(record) }
    }

    /// Returns `true` if a ceremony was ended by the denial with the code.
    private static func isRepeated(_ ceremony: CeremonyRecord?, _ code: [UInt8]) -> Bool {
        guard let ceremony, ceremony.denial != nil else { return false }
        return RepeatedAnswers.isJudged(ceremony, by: code)
    }

    /// Returns the statement of a denial, and the device that has signed the denial.
    private func verified(
        _ compact: String, of ceremony: CeremonyRecord, _ challenge: Challenge
    ) async throws -> (DenialStatement, ProvingDevice) {
        let device = try await self.device(ofDenial: compact)
        guard ceremony.accountID.map({ $0.hasSameBytes(as: device.proving.account.id) }) ?? true else {
            throw Answered(.unauthorized, "a denial by the device of another person")
        }
        do {
            let denial = try SignedDenial(
                verifying: device.token, audience: self.configuration.issuer, challenge: challenge.text,
                with: device.key)
            return (denial.statement, device.proving)
        } catch {
            throw Answered(.unauthorized, "the denial: \(error.code)")
        }
    }

    /// Returns the device that a denial names, with the key to verify the denial. The signature is not verified yet.
    private func device(ofDenial compact: String) async throws -> (
        token: UnverifiedJWS, proving: ProvingDevice, key: VerificationKey
    ) {
        guard let token = try? SignedDenial.token(of: compact), let name = token.header.keyID,
            let found = try await self.store.device(ofKey: name), !found.isGone, found.standing.mayAuthenticate,
            let key = JWK(point: found.signingKey).flatMap({ try? VerificationKey($0, algorithm: .es256) })
        else { throw Answered(.unauthorized, "a denial by a device that is not known") }
        return (token, found, key)
    }

    private func change(
        _ record: CeremonyRecord, _ statement: DenialStatement, by device: ProvingDevice, at now: Timestamp
    ) -> CeremonyChange {
        let account = device.account.id
        var change = CeremonyChange()
        change.audit = [
            AuditEvent(
                statement.isNotMe ? .disowned : .denied, at: now, accountID: account, ceremonyID: record.id,
                actor: statement.isNotMe ? record.clientID : nil,
                detail: "\(device.deviceID) \(statement.reason.rawValue)")
        ]
        guard statement.isNotMe else { return change }
        change.notices = [
            NoticeRecord(
                id: self.newIdentifier(), accountID: account, kind: .requestDisowned, at: now,
                subject: record.detail.service ?? "")
        ]
        change.rest = record.clientID.map { (accountID: account, requester: $0, at: now) }
        return change
    }
}

extension CeremonyRecord.Denial {
    /// Creates the stored form of a statement. A request that the person did not begin has no other reason.
    init(_ statement: DenialStatement) {
        switch (statement.isNotMe, statement.reason) {
        case (true, _): self = .notMe
        case (false, .unwanted): self = .unwanted
        case (false, .wrongContent): self = .wrongContent
        }
    }
}

extension AuditEvent.Kind {
    /// A person said that another party had begun a request. The actor is the client that requested the operation, and
    /// the detail is the device that signed, with the reason.
    fileprivate static let disowned = Self(rawValue: "request-disowned")
}
