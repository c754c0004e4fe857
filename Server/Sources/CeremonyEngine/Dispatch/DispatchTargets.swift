import Ceremony
import Records
import Sealing
import _Primitives

/// A device of a person, as a client may know the device.
public struct ClientDispatchTarget: Sendable, Equatable {
    /// The identifier for dispatches of this client (`dispatchTargetId`).
    public let id: String
    /// The device's own name; `nil` for a client that may not read names.
    public let name: String?
    /// The name of the dispatcher that reaches the device.
    public let dispatcher: String
}

/// The devices that back ends can name as targets of dispatches.
public struct DispatchTargets: CeremonyPart {
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
    let subjects: Subjects

    /// Returns the devices of a person that a client can dispatch to, the oldest first: devices that may authenticate
    /// and have a dispatcher. Cost: two queries.
    ///
    /// Throws ``CeremonyError`` with the code `notFound` for a name of a person that the client was never given.
    public func list(
        ofSubject subject: String, client: DispatchingClient, withNames areNamed: Bool
    ) async throws -> [ClientDispatchTarget] {
        guard let account = try await self.subjects.accountID(subject, client.id) else {
            throw CeremonyError(.notFound, "a subject that the client was never given")
        }
        return try await self.store.dispatchTargets(accountID: account).compactMap { target in
            target.dispatcher.map { dispatcher in
                ClientDispatchTarget(
                    id: self.identifier(ofDevice: target.deviceID, for: client.id),
                    name: areNamed ? target.name : nil, dispatcher: dispatcher)
            }
        }
    }

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
            return try await dispatcher.delivery(
                of: try operation.bound(to: target, issuer: self.configuration.issuer), to: target
            ).addressed(to: target.deviceID)
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

extension DispatchedOperation {
    /// Returns the operation with a payload that names the device: the device alone redeems the token, by its own proof.
    /// A device without keys has nothing to be named by.
    fileprivate func bound(to device: DispatchTargetRecord, issuer: String) throws -> DispatchedOperation {
        guard let key = device.encryptionKey else { return self }
        let payload = try OutOfBandPayload(redeemData: self.payload.redeemData, deviceKey: key.name)
        return DispatchedOperation(
            payload: payload, link: payload.link(base: issuer), accountID: self.accountID, expiresAt: self.expiresAt,
            dispatchInformation: self.dispatchInformation)
    }
}

extension SealingPurpose {
    fileprivate static let dispatchTarget = SealingPurpose("pairwise dispatch target")
}
