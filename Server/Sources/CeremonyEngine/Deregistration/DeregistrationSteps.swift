import Store
import UAF
import UAFRelyingParty
import _Primitives

/// What a deregistration comes to, whether it is asked for directly or dispatched: a change of the store, a notice, and
/// a message for the phone.
struct DeregistrationSteps: CeremonyPart {
    private static let bytesAroundName = #"{\"aaid\":\"\",\"keyID\":\"\"},"#.utf8.count

    let environment: CeremonyEnvironment

    /// What goes with the redemption of a deregistration's token; nothing for any other ceremony.
    func change(_ record: inout CeremonyRecord, at now: Timestamp) throws -> CeremonyChange {
        var change = CeremonyChange()
        guard let context = try record.deregistrationContext(self.limits) else { return change }
        record.uafStatusCode = Int(UAFStatusCode.ok.rawValue)
        change.deregistration = context.selection
        change.endOfSessions = CeremonyRecord.ending(.failed, at: now, limits: self.limits)
        change.deregistrationAudit = AuditEvent(
            .deregistered, at: now, accountID: record.accountID, ceremonyID: record.id, actor: record.clientID)
        change.deregistrationNotice = record.accountID.map {
            self.notice(accountID: $0, deregisteredBy: record.detail.service ?? "", at: now)
        }
        return change
    }

    /// Tells the person's other devices, those of today and those to come, which service took keys away.
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

    /// The message to a phone about keys that are gone: all of them, or the newest where that is more than a phone
    /// reads; without a message where there were none.
    func message(of keys: [CredentialSelection.Name]) throws -> ReturnUAFRequest {
        var names: [DeregisterAuthenticator] = []
        var room = self.limits.deregistrationBytes
        for key in keys {
            guard let aaid = try? AAID(key.aaid), let keyID = try? KeyID(key.keyID) else {
                throw StoreError(.corrupt, "a deleted key without a proper name")
            }
            // Base64url, and the members around it, whose quotation marks take two bytes each: it is text within JSON.
            room -= key.aaid.utf8.count + (key.keyID.count * 4 + 2) / 3 + Self.bytesAroundName
            guard room >= 0 else { break }
            names.append(.key(aaid, keyID))
        }
        guard !names.isEmpty else { return ReturnUAFRequest(statusCode: .ok, operation: .deregistration) }
        return try self.message(naming: names)
    }
}

extension CeremonyRecord {
    /// Whether its token was redeemed, and with that its keys deleted.
    var isCarriedOutDeregistration: Bool {
        self.kind == .deregistration && self.phase == .ended && self.outcome == .succeeded
    }

    /// Which keys a deregistration is about; `nil` for another kind. Throws `corrupt` for a text that cannot be
    /// read.
    func deregistrationContext(_ limits: Limits) throws -> DeregistrationContext? {
        guard self.kind == .deregistration else { return nil }
        guard let text = self.detail.deregistration, case .object(let object)? = try? JSON(parsing: text.utf8),
            let context = try? DeregistrationContext(object, person: "subject", limits: limits)
        else { throw StoreError(.corrupt, "a deregistration of nothing") }
        return context
    }
}
