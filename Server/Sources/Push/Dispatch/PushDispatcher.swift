public import CeremonyEngine
import JOSE
public import Records
public import Settings
public import UAF
public import _Primitives

/// An event of a dispatcher, for statistics and for the operator's log.
public struct PushEvent: Sendable, Equatable {
    /// The kind of event.
    public enum Kind: String, Sendable, CaseIterable {
        /// The push service has taken a message.
        case delivered
        /// A target has ended, because the push service says so.
        case targetEnded = "target-ended"
        /// A message waits, because the push service says so or gave no answer.
        case waiting
        /// A message is dropped: the push service refuses the message, or the device is no target any more.
        case dropped
        /// The push service refuses this server, and no message is sent to the service. The operator has to act.
        case stopped
        /// A message was not tried, because the dispatcher stands still.
        case held
    }

    /// The name of the dispatcher.
    public let dispatcher: String
    /// The kind.
    public let kind: Kind
    /// A word of the push service's documentation, the number of a status, or a reason in this server's words.
    public let word: String?
}

/// Sends messages to devices by a push service (decision 116).
///
/// A message is made when the operation is dispatched, and has no target. The target is looked up at each try, so a
/// device that changes its push address meanwhile is reached at the new address.
public struct PushDispatcher<Provider: PushProvider>: DeviceDispatcher {
    private let provider: Provider
    private let targets: any DispatchTargetStore
    private let standings: PushStandings
    private let time: TimeSource
    private let random: RandomSource
    private let report: @Sendable (PushEvent) -> Void

    /// Makes the dispatcher of a push service.
    ///
    /// - Parameter report: Receives each event. The function must return at once.
    public init(
        _ provider: Provider, targets: any DispatchTargetStore, limits: Limits.Push = Limits.Push(),
        time: TimeSource = .system, random: RandomSource = .system,
        report: @escaping @Sendable (PushEvent) -> Void = { _ in }
    ) {
        self.provider = provider
        self.targets = targets
        self.standings = PushStandings(limits: limits)
        self.time = time
        self.random = random
        self.report = report
    }

    public var name: String { Provider.name }
    public var channel: DispatchChannel { .device }

    /// The number of push services that this dispatcher does not use, until the operator has mended the cause.
    public var stoppedServices: Int { self.standings.stopped }

    public func dispatcherInformation(for operation: DispatchedOperation) -> DispatcherInformation {
        DispatcherInformation()
    }

    /// Returns the message for a device.
    ///
    /// A device of another dispatcher is no target. A device without an address, with an address in another form, or
    /// without the wish to be pushed to receives messages no longer. Throws ``DeliveryError`` while the dispatcher stands
    /// still, so the back end is told at once.
    public func delivery(of operation: DispatchedOperation, to device: DispatchTargetRecord) async throws
        -> DispatchDelivery
    {
        guard device.dispatcher?.hasSameBytes(as: self.name) == true else { return .targetNotFound }
        guard device.isPushWanted, let address = device.address, let service = self.provider.service(of: address) else {
            return .targetExpired
        }
        guard self.standings.isOpen(service, at: self.time.now()) else {
            self.tell(.held, nil)
            throw DeliveryError("the dispatcher stands still", nextTry: .asUsual)
        }
        let content: PushContent
        if let key = device.encryptionKey {
            content = try PushContent(
                operation.payload, to: try JWK(point: key.point), until: operation.expiresAt, random: self.random)
        } else {
            content = PushContent(pointingUntil: operation.expiresAt)
        }
        return .message(DispatchMessage(target: device.deviceID, content: content.stored))
    }

    public func deliver(_ message: DispatchMessage) async throws {
        let content = try PushContent(stored: message.content)
        guard let device = try await self.targets.dispatchTarget(deviceID: message.target),
            device.dispatcher?.hasSameBytes(as: self.name) == true, device.isPushWanted, let address = device.address,
            let service = self.provider.service(of: address)
        else { throw self.dropped("the device is no target any more") }
        let now = self.time.now()
        guard now < content.expiresAt else { throw self.dropped("the message is over") }
        guard self.standings.takeTurn(at: service, now: now) else {
            self.tell(.held, nil)
            throw DeliveryError("the dispatcher stands still", nextTry: .asUsual)
        }
        let answer: PushAnswer
        do { answer = try await self.provider.push(content, to: address, at: now) } catch let error as PushCallError {
            self.tell(.waiting, error.reason)
            throw DeliveryError(error.reason, nextTry: .asUsual)
        }
        switch self.standings.decide(answer, of: service, to: device.accountID, at: now) {
        case .delivered: self.tell(.delivered, nil)
        case .endTarget(let moment): try await self.end(device, address, unlessChangedAfter: moment, at: now)
        case .wait(let moment):
            self.tell(.waiting, nil)
            throw DeliveryError(
                "the push service asks to wait", nextTry: moment.map { .notBefore($0) } ?? .asUsual)
        case .stop(let word, let isNew):
            self.tell(isNew ? .stopped : .held, word)
            throw DeliveryError("the push service refuses this server (\(word))", nextTry: .asUsual)
        case .drop(let word): throw self.dropped(word)
        }
    }

    /// Ends a target. If the device has changed its target meanwhile, the message goes to the new target.
    private func end(
        _ device: DispatchTargetRecord, _ address: String, unlessChangedAfter moment: Timestamp?, at now: Timestamp
    ) async throws {
        let isEnded = try await self.targets.endDispatchTarget(
            deviceID: device.deviceID, address: address, unlessChangedAfter: moment,
            audit: AuditEvent(.dispatchTargetEnded, at: now, accountID: device.accountID, detail: self.name))
        guard isEnded else {
            self.tell(.waiting, nil)
            throw DeliveryError("the device has another target by now", nextTry: .asUsual)
        }
        self.tell(.targetEnded, nil)
        throw DeliveryError("the target has ended", nextTry: .never)
    }

    private func dropped(_ word: String) -> DeliveryError {
        self.tell(.dropped, word)
        return DeliveryError(word, nextTry: .never)
    }

    private func tell(_ kind: PushEvent.Kind, _ word: String?) {
        self.report(PushEvent(dispatcher: self.name, kind: kind, word: word))
    }
}

extension JWK {
    /// Makes the key of an uncompressed point on P-256. Throws `JOSEError` for another point.
    fileprivate init(point: [UInt8]) throws {
        guard point.count == 65, point[0] == 4 else { throw JOSEError(.invalidKey, "no uncompressed point") }
        try self.init(.p256(x: Array(point[1..<33]), y: Array(point[33...]), d: nil))
    }
}

extension AuditEvent.Kind {
    /// A push service delivers to the target of a device no longer. The detail is the dispatcher.
    fileprivate static let dispatchTargetEnded = Self(rawValue: "dispatch-target-ended")
}
