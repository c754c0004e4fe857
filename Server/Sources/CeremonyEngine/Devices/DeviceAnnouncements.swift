import Ceremony
import Records
import Settings
import UAF
import _Primitives

/// The messages about a waiting operation to the devices of its person, which are written beside the answer to the
/// requester (decision 126).
public struct DeviceAnnouncement: Sendable {
    private let work: Task<Void, any Error>

    init(_ work: Task<Void, any Error>) { self.work = work }

    /// Waits until the messages are in the outbox, or until it is clear that none are sent. No answer to a requester
    /// waits for this. Throws the store's errors; without the messages the operation still waits in the devices' lists.
    public func written() async throws { try await self.work.value }
}

/// Tells the devices of a person that an operation waits for them (decision 126).
struct DeviceAnnouncements: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & CeremonyStore & DispatchTargetStore & AskingRestStore & PushCountStore
    let hub: CeremonyHub
    let dispatchers: Dispatchers

    /// Begins to tell the devices of a written ceremony's person.
    ///
    /// Only existing accounts have devices to tell, so the requester's answer must not wait for the work. Otherwise the
    /// time of the answer would say if a name has an account.
    func begin(_ ceremony: CeremonyRecord) -> DeviceAnnouncement {
        DeviceAnnouncement(Task { try await self.announce(ceremony) })
    }

    /// Leaves a message for each device that a dispatcher reaches, and wakes the devices' streams.
    ///
    /// A locked account and a resting requester get no message. All messages of one operation count as one push to the
    /// person. Past a budget no message is left, and no stream is woken: the operation waits in the devices' lists.
    private func announce(_ ceremony: CeremonyRecord) async throws {
        guard let accountID = ceremony.accountID, let requester = ceremony.clientID,
            let account = try await self.store.account(id: accountID), !account.isLocked,
            try await !self.store.isAskingRested(
                accountID: accountID, requester: requester, at: ceremony.createdAt)
        else { return }
        var announced = CeremonyChange()
        for target in try await self.store.dispatchTargets(accountID: accountID) {
            guard let (message, token) = try await self.message(about: ceremony, to: target) else { continue }
            announced.messages.append(message)
            announced.addedTokens.append(token)
        }
        guard !announced.messages.isEmpty else { return self.hub.wakeDevices(ofAccount: accountID) }
        let push = PushCount(
            id: self.newIdentifier(), accountID: accountID, requester: requester, ceremonyID: ceremony.id,
            at: ceremony.createdAt)
        guard try await self.store.countPush(push, bounds: self.limits.push) == nil else { return }
        let change = announced
        _ = try await self.store.change(.id(ceremony.id)) { $0.phase == .created ? change : CeremonyChange() }
        self.hub.wakeDevices(ofAccount: accountID)
    }

    /// Returns the message of a device's dispatcher, with the device's own token; `nil` for a device that no dispatcher
    /// reaches now.
    private func message(
        about ceremony: CeremonyRecord, to target: DispatchTargetRecord
    ) async throws -> (DeviceMessageRecord, DispatchTokenRecord)? {
        guard
            let dispatcher = target.dispatcher.flatMap({ self.dispatchers.delivering($0) }) as? any DeviceDispatcher,
            let accountID = ceremony.accountID
        else { return nil }
        let waiting = WaitingOperations(environment: self.environment, store: self.store)
        let (token, record) = waiting.token(of: ceremony, for: target.deviceID, over: dispatcher.channel)
        let payload = try self.configuration.payload(token: token, kind: ceremony.kind)
        let operation = DispatchedOperation(
            payload: payload, link: payload.link(base: self.configuration.issuer), accountID: accountID,
            expiresAt: ceremony.expiresAt)
        // A dispatcher that stands still throws. The operation still waits in the device's list.
        guard case .message(let message)? = try? await dispatcher.delivery(of: operation, to: target) else {
            return nil
        }
        return (
            DeviceMessageRecord(dispatcher: dispatcher.name, target: target.deviceID, content: message.content), record
        )
    }
}
