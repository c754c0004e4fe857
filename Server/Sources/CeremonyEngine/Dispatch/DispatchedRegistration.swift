import Records
import Settings
import UAF
import UAFRelyingParty
import _Primitives

extension Dispatches {
    /// Starts the enrolment of a further device of a person out of band (decision 4). The device stays pending until the
    /// client has sent the number that the device shows.
    ///
    /// The client gets the token, and so can enrol a device of its own. The client therefore needs a permission of an
    /// operator. When a phone has answered, the person's devices are told, and can decline the enrolment
    /// (``Enrolments/decline(id:by:)``).
    ///
    /// Throws `forbidden` without the permission, `invalidRequest` for a context that is not understood or an unknown
    /// policy, and `tooManyRequests`. A locked account is answered with `dispatchError`.
    func dispatchRegistration(
        _ request: DispatchRequest, _ chosen: ChosenDispatcher, _ client: DispatchingClient
    ) async throws -> DispatchAnswer {
        guard client.mayEnrol else { throw CeremonyError(.forbidden, "a client that may not enrol devices") }
        let (subject, policy) = try Self.registration(request.context ?? [:])
        _ = try self.rules.value.policy(named: policy, for: .registration)
        let now = self.time.now()
        try self.budgets.countDispatch(of: client.id, subject: subject, at: now)
        guard let accountID = try await self.subjects.accountID(subject, client.id),
            let account = try await self.store.account(id: accountID)
        else { return DispatchAnswer(.userNotFound, dispatcher: request.dispatcher) }
        guard !account.isLocked else { return DispatchAnswer(.dispatchError, dispatcher: request.dispatcher) }
        return try await self.offer(
            CeremonyRecord(
                id: self.newIdentifier(), kind: .registration, clientID: client.id, accountID: accountID,
                createdAt: now, expiresAt: now + self.limits.dispatchLifetime,
                detail: CeremonyDetail(service: client.name, origin: client.origin, policy: policy)),
            by: chosen)
    }

    /// Returns the members of a context: the person, and the name of a policy.
    private static func registration(_ context: JSONObject) throws -> (subject: String, policy: String?) {
        do {
            guard
                context.members.allSatisfy({
                    $0.name.hasSameBytes(as: "subject") || $0.name.hasSameBytes(as: "policy")
                })
            else { throw CeremonyError(.invalidRequest, "a context member that is not known") }
            return (try context.requiredString("subject"), try context.string("policy"))
        } catch is JSONError {
            throw CeremonyError(.invalidRequest, "a registration without the person whose device it is to be")
        }
    }
}
