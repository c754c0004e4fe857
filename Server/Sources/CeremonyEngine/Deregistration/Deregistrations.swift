import Store
public import UAF
import UAFRelyingParty
import _Primitives

/// Deregistrations that are asked for directly, by a person's own device or by a relying party.
public struct Deregistrations: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & DeregistrationStore
    let subjects: Subjects
    let steps: DeregistrationSteps

    /// Deletes keys because the person's own device asks, and answers with the message that has the device delete them
    /// too (§8.5). The records go first.
    ///
    /// A device that is gone already is answered as one that has just gone, and nothing is deleted: asking
    /// again after a lost answer does no harm. Nor is a key deleted that is another person's or nobody's, and the
    /// answer is the same: it does not tell who has which key. Refused: 1400 for a context that is not understood, 1401
    /// for another person's name, 1403 for a locked account, 1480 for a model without metadata.
    /// A device that asks `alone`, without its person, has its own keys deleted and no others.
    /// `refused` is told why, for the log.
    public func deregister(
        _ message: GetUAFRequest, askedBy device: AuthenticatedDevice, alone: Bool = false,
        refused: (_ reason: String) -> Void = { _ in }
    ) async throws -> ReturnUAFRequest {
        guard let context = self.deregistrationContext(message, person: "username", refused) else {
            return ReturnUAFRequest(statusCode: .badRequest)
        }
        // Of whom a device may ask is the same for a name that exists and one that does not.
        if let account = try await self.store.account(id: device.accountID),
            AccountName(context.person, limits: self.limits)?.key.hasSameBytes(as: account.reference.key) != true
        {
            refused("the device is another person's")
            return ReturnUAFRequest(statusCode: .unauthorized, operation: .deregistration)
        }
        return try await self.deregister(
            context, accountID: device.accountID,
            asker: alone ? .device(device.deviceID) : .person(onDevice: device.deviceID), client: nil, refused)
    }

    /// Deletes keys because a relying party asks, for a person whom it knows by `subject`.
    ///
    /// A subject that the client was never told is answered as one whose keys have just gone. Where a key was deleted,
    /// the person is left a notice. Refused: 1403 for a client that may not have keys deleted, whatever it asks; 1400
    /// and 1480, as for a device.
    /// `refused` is told why, for the log.
    public func deregister(
        _ message: GetUAFRequest, client: DispatchingClient, refused: (_ reason: String) -> Void = { _ in }
    ) async throws -> ReturnUAFRequest {
        guard client.mayDeregister else {
            refused("the client may not have keys deleted")
            return ReturnUAFRequest(statusCode: .forbidden, operation: .deregistration)
        }
        guard let context = self.deregistrationContext(message, person: "subject", refused) else {
            return ReturnUAFRequest(statusCode: .badRequest)
        }
        let accountID = try await self.subjects.accountID(context.person, client.id)
        return try await self.deregister(context, accountID: accountID, asker: .anybody, client: client, refused)
    }

    private func deregistrationContext(
        _ message: GetUAFRequest, person: String, _ refused: (_ reason: String) -> Void
    ) -> DeregistrationContext? {
        guard message.operation == nil || message.operation == .deregistration, let context = message.context else {
            refused("another operation, or no context")
            return nil
        }
        do { return try DeregistrationContext(context, person: person, limits: self.limits) } catch {
            refused(error.reason)
            return nil
        }
    }

    private func deregister(
        _ context: DeregistrationContext, accountID: String?, asker: DeregistrationAsker, client: DispatchingClient?,
        _ refused: (_ reason: String) -> Void
    ) async throws -> ReturnUAFRequest {
        if case .model(let aaid) = context.keys, !self.rules.value.metadata.servesOperations(aaid) {
            let isKnown = self.rules.value.metadata[aaid] != nil
            refused(isKnown ? "a model that operations have nothing to do with" : "a model without metadata")
            return ReturnUAFRequest(
                statusCode: isKnown ? .unacceptableAuthenticator : .unknownAAID, operation: .deregistration)
        }
        if let accountID {
            let now = self.time.now()
            let event = AuditEvent(
                .deregistered, at: now, accountID: accountID, actor: client?.id, detail: asker.device)
            let notice = client.map { self.steps.notice(accountID: accountID, deregisteredBy: $0.name, at: now) }
            switch try await self.store.deregister(
                context.selection, accountID: accountID, asker: asker, audit: event, notice: notice,
                ending: CeremonyRecord.ending(.failed, at: now, limits: self.limits))
            {
            case .deregistered, .unknown: break
            case .locked:
                refused("the account is locked")
                return ReturnUAFRequest(statusCode: .forbidden, operation: .deregistration)
            }
        }
        return try self.steps.message(naming: context.message)
    }
}
