import Records
import Settings
import UAF
import UAFRelyingParty
import _Primitives

/// The effects of a deregistration, direct or dispatched: a change of the store, a notice, and a message for the phone.
struct DeregistrationSteps: CeremonyPart {
    private static let bytesAroundName = #"{\"aaid\":\"\",\"keyID\":\"\"},"#.utf8.count

    let environment: CeremonyEnvironment

    /// `true` if the token of a deregistration was redeemed, which also deleted the keys.
    static func areCarriedOut(in record: CeremonyRecord) -> Bool {
        record.kind == .deregistration && record.phase == .ended && record.outcome == .succeeded
    }

    /// Returns the change that belongs to the redemption of a deregistration's token; an empty change for any other
    /// ceremony.
    func change(_ record: inout CeremonyRecord, at now: Timestamp) throws -> CeremonyChange {
        var change = CeremonyChange()
        guard let context = try DeregistrationContext(of: record, limits: self.limits) else { return change }
        record.uafStatusCode = Int(UAFStatusCode.ok.rawValue)
        change.deregistration = context.selection
        change.endOfSessions = self.environment.endOfSessions(at: now)
        change.deregistrationAudit = AuditEvent(
            .deregistered, at: now, accountID: record.accountID, ceremonyID: record.id, actor: record.clientID)
        change.deregistrationNotice = record.accountID.map {
            self.notice(accountID: $0, deregisteredBy: record.detail.service ?? "", at: now)
        }
        return change
    }

    /// Returns the notice that tells the person's other devices, present and future, which service removed keys.
    func notice(accountID: String, deregisteredBy name: String, at now: Timestamp) -> NoticeRecord {
        NoticeRecord(
            id: self.newIdentifier(), accountID: accountID, kind: .authenticatorsRemoved, at: now, subject: name)
    }

    func message(naming authenticators: [DeregisterAuthenticator]) throws -> ReturnUAFRequest {
        let message = try self.requests.deregistrationRequest(authenticators)
        return ReturnUAFRequest(
            statusCode: .ok, operation: .deregistration,
            uafRequest: String(decoding: message.serialized, as: UTF8.self))
    }

    /// Returns the message to a phone about deleted keys: all of them, or the newest if a phone cannot read so many.
    /// Without deleted keys there is no message.
    func message(of keys: [CredentialSelection.Name]) throws -> ReturnUAFRequest {
        var names: [DeregisterAuthenticator] = []
        var room = self.limits.deregistrationBytes
        for key in keys {
            guard let aaid = try? AAID(key.aaid), let keyID = try? KeyID(key.keyID) else {
                throw StoreError(.corrupt, "a deleted key without a proper name")
            }
            // The key's identifier in base64url, with the members around it. Their quotation marks take two bytes each,
            // because the message is text within JSON.
            room -= key.aaid.utf8.count + (key.keyID.count * 4 + 2) / 3 + Self.bytesAroundName
            guard room >= 0 else { break }
            names.append(.key(aaid, keyID))
        }
        guard !names.isEmpty else { return ReturnUAFRequest(statusCode: .ok, operation: .deregistration) }
        return try self.message(naming: names)
    }
}
