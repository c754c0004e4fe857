import Records
import Settings
import UAF
import UAFRelyingParty
import _Primitives

extension Dispatches {
    /// Starts a deregistration out of band. The step that redeems the token also deletes the keys, and the redeeming
    /// phone receives the names of the deleted keys.
    ///
    /// The message names single keys, and never everything of an AppID or of a model: a phone may also hold the keys of
    /// other people.
    ///
    /// The client holds the token, and so can redeem the token without any phone. The client therefore needs the same
    /// permission as for a direct deregistration. Throws `forbidden` without the permission, `invalidRequest` for a
    /// context that is not understood or an unknown model, and `tooManyRequests`.
    func dispatchDeregistration(
        _ request: DispatchRequest, _ chosen: ChosenDispatcher, _ client: DispatchingClient
    ) async throws -> DispatchAnswer {
        guard client.mayDeregister else {
            throw CeremonyError(.forbidden, "a client that may not have keys deleted")
        }
        let object = request.context ?? [:]
        let context = try DeregistrationContext(object, person: "subject", limits: self.limits)
        if case .model(let aaid) = context.keys, !self.rules.value.metadata.servesOperations(aaid) {
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
            by: chosen)
    }
}
