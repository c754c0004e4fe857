import Store
import UAF
import UAFRelyingParty
import _Primitives

extension CeremonyEngine {
    /// Starts a deregistration out of band: whoever redeems its token is told what to delete, and the server deletes it
    /// in the same step.
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
        guard let accountID = try await self.subjects.accountID(context.person, client.id),
            try await self.store.account(id: accountID) != nil
        else { return DispatchAnswer(.userNotFound, dispatcher: request.dispatcher) }
        let now = self.time.now()
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
        change.audit = [
            AuditEvent(
                .deregistered, at: now, accountID: record.accountID, ceremonyID: record.id, actor: record.clientID)
        ]
        if let accountID = record.accountID {
            change.notices = [self.notice(accountID: accountID, deregisteredBy: record.detail.service ?? "", at: now)]
        }
        return change
    }
}

extension CeremonyRecord {
    /// Which keys a deregistration is about; `nil` for another kind. Throws `corrupt` for a text that is none.
    func deregistrationContext(_ limits: Limits) throws -> DeregistrationContext? {
        guard self.kind == .deregistration else { return nil }
        guard let text = self.detail.deregistration, case .object(let object)? = try? JSON(parsing: text.utf8),
            let context = try? DeregistrationContext(object, person: "subject", limits: limits)
        else { throw StoreError(.corrupt, "a deregistration of nothing") }
        return context
    }
}
