public import Records
import Sealing
public import UAF
import _Primitives

/// A dispatcher that delivers a message to a single device, after the ceremony is written.
///
/// A type conforms to ``DeviceDispatcher`` if its targets are the devices that the server knows, and to
/// ``TargetedDispatcher`` if it has targets of its own.
public protocol DeliveringDispatcher: Dispatcher {
    /// Delivers a message. The ceremony is written by then, with the message: a phone that has the message can redeem
    /// the token. The back end has its answer, and does not wait.
    ///
    /// After an error the engine calls the function again, later each time, until the token has expired or a phone has
    /// redeemed the token. A node that is killed during the call leads to a further call, too, so a target can get a
    /// message twice. A call that lasts for ``Limits/deviceMessageLease`` is cancelled, is not waited for any longer, and
    /// counts as a failed call. Each dispatcher has ``Limits/deviceMessagesAtOncePerDispatcher`` calls under way, and a
    /// call without an end keeps only the messages of its own dispatcher waiting.
    func deliver(_ message: DispatchMessage) async throws
}

extension DeliveringDispatcher {
    public var channel: DispatchChannel { .device }
}

/// A dispatcher whose targets are the devices that the server knows (decision 114).
///
/// A back end names a device by the identifier that the back end knows (`dispatchTargetId`), which is another one for
/// each client. The engine finds the device, which is a device of the named person that has chosen this dispatcher. For
/// every other identifier the engine answers `dispatchTargetNotFound`. For a device that may not authenticate any more,
/// and for a device without a dispatcher, the engine answers `dispatchTargetExpired`.
public protocol DeviceDispatcher: DeliveringDispatcher {
    /// Says what is delivered to a device later. The engine calls the function before the ceremony is written. A message
    /// goes to the device, whatever target the message has: ``DispatchMessage/target`` of the delivered message is the
    /// device's identifier at this server.
    ///
    /// Throws as ``Dispatcher/dispatcherInformation(for:)``.
    func delivery(of operation: DispatchedOperation, to device: DispatchTargetRecord) async throws -> DispatchDelivery
}

/// A device of a person, as a client may know the device.
public struct ClientDispatchTarget: Sendable, Equatable {
    /// The identifier for dispatches of this client (`dispatchTargetId`).
    public let id: String
    /// The device's own name; `nil` for a client that may not read names.
    public let name: String?
    /// The name of the dispatcher that reaches the device.
    public let dispatcher: String
}

extension Dispatches {
    /// Returns the devices of a person that a client can dispatch to, the oldest first: devices that may authenticate
    /// and have a dispatcher. Cost: two queries.
    ///
    /// Throws ``CeremonyError`` with the code `notFound` for a name of a person that the client was never given.
    public func targets(
        ofSubject subject: String, client: DispatchingClient, withNames areNamed: Bool
    ) async throws -> [ClientDispatchTarget] {
        guard let account = try await self.subjects.accountID(subject, client.id) else {
            throw CeremonyError(.notFound, "a subject that the client was never given")
        }
        return try await self.store.dispatchTargets(accountID: account).compactMap { target in
            target.dispatcher.map { dispatcher in
                ClientDispatchTarget(
                    id: self.targets.identifier(ofDevice: target.deviceID, for: client.id),
                    name: areNamed ? target.name : nil, dispatcher: dispatcher)
            }
        }
    }
}

/// The devices that back ends can name as targets of dispatches.
struct DispatchTargets: CeremonyPart {
    /// The device of an identifier.
    enum Found: Sendable, Equatable {
        /// A device of the person that may authenticate.
        case device(DispatchTargetRecord)
        /// A device that may not authenticate any more.
        case former
        /// The identifier is of no device of the person, or of no device that the client was told.
        case unknown
    }

    let environment: CeremonyEnvironment
    let store: any DispatchTargetStore

    /// Returns the identifier by which a client knows a device: a code of both, so that two clients cannot find out
    /// that they know the same device. No table keeps the identifiers.
    func identifier(ofDevice device: String, for client: String) -> String {
        let code = self.sealing.code(Array(client.utf8) + [0] + Array(device.utf8), purpose: .dispatchTarget)
        return Base64URL.encode(code)
    }

    /// Returns the device of an account that a client knows by an identifier. Cost: one query, and a further one if no
    /// device of the account has the identifier.
    func device(_ identifier: String, ofAccount account: String, for client: String) async throws -> Found {
        func isNamed(_ device: String) -> Bool {
            self.identifier(ofDevice: device, for: client).hasSameBytes(as: identifier)
        }
        if let target = try await self.store.dispatchTargets(accountID: account).first(where: { isNamed($0.deviceID) })
        {
            return .device(target)
        }
        return try await self.store.formerDevices(accountID: account).contains(where: isNamed) ? .former : .unknown
    }

    /// Has a dispatcher say what a device gets. The device is the one that the client of a ceremony knows by an
    /// identifier.
    func delivery(
        of operation: DispatchedOperation, to identifier: String, by dispatcher: any DeviceDispatcher,
        for ceremony: CeremonyRecord
    ) async throws -> DispatchDelivery {
        guard let account = ceremony.accountID, let client = ceremony.clientID else { return .targetNotFound }
        switch try await self.device(identifier, ofAccount: account, for: client) {
        case .unknown: return .targetNotFound
        case .former: return .targetExpired
        case .device(let target):
            guard let chosen = target.dispatcher else { return .targetExpired }
            guard chosen.hasSameBytes(as: dispatcher.name) else { return .targetNotFound }
            return try await dispatcher.delivery(of: operation, to: target).addressed(to: target.deviceID)
        }
    }
}

extension DispatchDelivery {
    /// Returns the delivery with a device as the target of its message.
    fileprivate func addressed(to device: String) -> DispatchDelivery {
        guard case .message(let message) = self else { return self }
        return .message(DispatchMessage(target: device, content: message.content))
    }
}

extension SealingPurpose {
    fileprivate static let dispatchTarget = SealingPurpose("pairwise dispatch target")
}
