import Records
public import UAF
import UAFRelyingParty
import _Primitives

/// Deregistrations at the direct request of a person's own device or of a relying party.
public struct Deregistrations: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & DeregistrationStore
    let subjects: Subjects
    let steps: DeregistrationSteps
    let deviceLimits: DeviceLimits

    /// Deletes keys at the request of the person's own device, and returns the message that has the device delete the
    /// keys too (§8.5). The records go first.
    ///
    /// A device that is gone already gets the same answer as a device that has just gone, and nothing is deleted. So
    /// repeating the request after a lost answer does no harm. A key of another person, or an unknown key, is not
    /// deleted either, and the answer is the same: the answer does not reveal the owner of a key.
    ///
    /// With `alone` the device asks without its person, and only the device's own keys are deleted. Otherwise the person
    /// may also delete keys of other devices, but not on a device that was approved a short time ago: throws
    /// ``CeremonyError`` `deviceLimited`.
    ///
    /// Refusals: 1400 for a context that is not understood, 1401 for another person's name, 1403 for a locked account,
    /// 1480 for a model without metadata, and `unacceptableAuthenticator` for a model that is of no operation.
    /// `refused` receives the reason, for the log.
    public func deregister(
        _ message: GetUAFRequest, askedBy device: AuthenticatedDevice, alone: Bool = false,
        refused: (_ reason: String) -> Void = { _ in }
    ) async throws -> ReturnUAFRequest {
        guard let context = self.deregistrationContext(message, person: "username", refused) else {
            return ReturnUAFRequest(statusCode: .badRequest)
        }
        // The answer for another person's name is the same whether the name exists or not.
        if let account = try await self.store.account(id: device.accountID),
            AccountName(context.person, limits: self.limits)?.key.hasSameBytes(as: account.reference.key) != true
        {
            refused("the device is another person's")
            return ReturnUAFRequest(statusCode: .unauthorized, operation: .deregistration)
        }
        if !alone { try await self.deviceLimits.check(device, removing: context.selection) }
        return try await self.deregister(
            context, accountID: device.accountID,
            asker: alone ? .device(device.deviceID) : .person(onDevice: device.deviceID), client: nil, refused)
    }

    /// Deletes keys at the request of a relying party, for the person with the client's `subject`.
    ///
    /// An unknown subject gets the same answer as a person whose keys have just gone. If a key was deleted, the person
    /// gets a notice.
    ///
    /// Refusals: 1403 for every request of a client that may not have keys deleted; 1400, 1480 and
    /// `unacceptableAuthenticator`, as for a device. `refused` receives the reason, for the log.
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
                ending: self.environment.endOfSessions(at: now))
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
