import Store
import UAF
import UAFRelyingParty
import _Primitives

extension CeremonyEngine {
    /// Starts a deregistration out of band: the server deletes in the step that redeems the token, and whoever redeems it
    /// is told which keys these were, by their names.
    ///
    /// By their names, and never as everything of an AppID or of a model: a phone holds other people's keys beside them.
    ///
    /// The client holds the token, so it can redeem it without any phone: it needs the same permission as for a
    /// deregistration that it asks for directly. Throws `forbidden` without it.
    func dispatchDeregistration(
        _ request: DispatchRequest, _ channel: CeremonyRecord.Channel, _ client: DispatchingClient
    ) async throws -> DispatchAnswer {
        guard client.mayDeregister else {
            throw CeremonyError(.forbidden, "a client that may not have keys deleted")
        }
        let object = request.context ?? [:]
        let context = try DeregistrationContext(object, person: "subject", limits: self.limits)
        if case .model(let aaid) = context.keys, self.metadata[aaid] == nil {
            throw CeremonyError(.invalidRequest, "a model that is not known")
        }
        let now = self.time.now()
        try self.budgets.countDispatch(of: client.id, subject: context.person, at: now)
        guard let accountID = try await self.subjects.accountID(context.person, client.id),
            try await self.store.account(id: accountID) != nil
        else { return DispatchAnswer(.userNotFound, dispatcher: request.dispatcher) }
        return try await self.offer(
            CeremonyRecord(
                id: self.newIdentifier(), kind: .deregistration, clientID: client.id, accountID: accountID,
                createdAt: now, expiresAt: now + self.limits.dispatchLifetime,
                detail: CeremonyDetail(
                    service: client.name, origin: client.origin, deregistration: JSON.object(object).text)),
            by: request.dispatcher, channel)
    }

    /// What goes with the redemption of a deregistration's token; nothing for any other ceremony.
    func deregistration(_ record: inout CeremonyRecord, at now: Timestamp) throws -> CeremonyChange {
        var change = CeremonyChange()
        guard let context = try record.deregistrationContext(self.limits) else { return change }
        record.uafStatusCode = Int(UAFStatusCode.ok.rawValue)
        change.deregistration = context.selection
        change.deregistrationAudit = AuditEvent(
            .deregistered, at: now, accountID: record.accountID, ceremonyID: record.id, actor: record.clientID)
        change.deregistrationNotice = record.accountID.map {
            self.notice(accountID: $0, deregisteredBy: record.detail.service ?? "", at: now)
        }
        return change
    }
}

extension CeremonyEngine {
    private static let bytesAroundName = #"{\"aaid\":\"\",\"keyID\":\"\"},"#.utf8.count

    /// The message to a phone about keys that are gone: all of them, or the newest where that is more than a phone reads;
    /// without a message where there were none.
    func deregistrationMessage(of keys: [CredentialSelection.Name]) throws -> ReturnUAFRequest {
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
        return try self.deregistrationMessage(naming: names)
    }
}

extension CeremonyRecord {
    /// Whether its token was redeemed, and with that its keys deleted.
    var isCarriedOutDeregistration: Bool {
        self.kind == .deregistration && self.phase == .ended && self.outcome == .succeeded
    }

    /// Which keys a deregistration is about; `nil` for another kind. Throws `corrupt` for a text that is none.
    func deregistrationContext(_ limits: Limits) throws -> DeregistrationContext? {
        guard self.kind == .deregistration else { return nil }
        guard let text = self.detail.deregistration, case .object(let object)? = try? JSON(parsing: text.utf8),
            let context = try? DeregistrationContext(object, person: "subject", limits: limits)
        else { throw StoreError(.corrupt, "a deregistration of nothing") }
        return context
    }
}
