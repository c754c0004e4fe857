import Ceremony
import JOSE
public import Records
import Settings
import UAF
public import _Primitives

/// An operation that waits for a device.
public struct PendingOperation: Sendable, Equatable {
    /// The identifier of the operation. The identifier opens nothing.
    public let id: String
    /// The kind of the operation.
    public let kind: CeremonyRecord.Kind
    /// The name of the service that asks.
    public let service: String
    /// The web origin of the service that asks.
    public let origin: String?
    /// The name of the dispatcher that the service chose; `nil` for a question without a dispatcher.
    public let dispatcher: String?
    /// The payload that gives the operation to this device, once: the plain form of an out-of-band payload.
    public let payload: String
    /// The moment when the service asked.
    public let createdAt: Timestamp
    /// The time until which the operation can be taken up.
    public let expiresAt: Timestamp
}

/// The state of a device's stream.
public enum DeviceStreamState: Sendable, Equatable {
    /// The operations that wait for the device, the newest first.
    case operations([PendingOperation])
    /// The device was removed, its account is locked, or its key no longer counts. No other state follows.
    case ended
}

/// The operations that wait for a device that has proved itself (decision 115).
public struct DeviceOperations: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any DeviceIdentityStore & CeremonyStore
    let hub: CeremonyHub
    let changes: DeviceChanges

    /// Returns the operations that wait for a device, the newest first, at most ``Limits/operationsPerDevice``.
    ///
    /// The device gets the same payload at each reading. Cost: as one query and one more for each operation; the first
    /// reading of an operation is a store step.
    public func pending(for prover: DeviceProofs.Prover) async throws -> [PendingOperation] {
        let waiting = WaitingOperations(environment: self.environment, store: self.store)
        let offers = try await waiting.offers(
            to: prover.device, over: .device, limit: self.limits.operationsPerDevice)
        let deviceKey = JWK(point: prover.encryptionKey)?.thumbprint
        return try offers.map { offer in
            let ceremony = offer.ceremony
            return PendingOperation(
                id: ceremony.id, kind: ceremony.kind, service: ceremony.detail.service ?? "",
                origin: ceremony.detail.origin, dispatcher: ceremony.target?.dispatcher,
                payload: try self.configuration.payload(
                    token: offer.token, kind: ceremony.kind, deviceKey: ceremony.target.flatMap { _ in deviceKey }
                ).json,
                createdAt: ceremony.createdAt, expiresAt: ceremony.expiresAt)
        }
    }

    /// Returns the states of a device's stream: first the operations that wait now, then each other list.
    ///
    /// The stream ends with ``DeviceStreamState/ended`` after the device's removal, after a lock of its account and
    /// after a replacement of its keys, within a second. Without such an end the stream ends after
    /// ``Limits/deviceStreamLifetime`` and a random part of ``Limits/deviceStreamSpread``: the device proves itself
    /// anew.
    public func events(for prover: DeviceProofs.Prover) async throws -> CeremonyEvents<DeviceStreamState> {
        try await self.changes.begin()
        let end = self.time.now() + self.limits.deviceStreamLifetime + self.spread()
        return CeremonyEvents(
            hub: self.hub, topic: .device(prover.device.deviceID), accountID: prover.device.accountID, time: self.time
        ) {
            try await self.reading(for: prover, until: end)
        }
    }

    /// Returns a random time of less than ``Limits/deviceStreamSpread``, in whole milliseconds.
    private func spread() -> Duration {
        let longest = UInt64(max(1, self.limits.deviceStreamSpread.milliseconds))
        return .milliseconds(Int64(self.random.number(below: longest)))
    }

    private func reading(
        for prover: DeviceProofs.Prover, until end: Timestamp
    ) async throws -> CeremonyEvents<DeviceStreamState>.Reading {
        guard let present = try await self.store.device(ofKey: prover.keyName), !present.isGone,
            present.standing.mayAuthenticate, !present.account.isLocked,
            present.deviceID.hasSameBytes(as: prover.device.deviceID)
        else { return (.ended, true, nil) }
        let operations = try await self.pending(for: prover)
        let next = operations.map(\.expiresAt).min().map { min($0, end) } ?? end
        return (.operations(operations), self.time.now() >= end, next)
    }

    /// Returns an operation as its device reads the operation: a compact JWE to the device's encryption key (ECDH-ES on
    /// P-256, A256GCM), whose `kid` is the key's thumbprint. Throws `JOSEError` for a stored key that is none.
    public func sealed(_ operation: PendingOperation, for prover: DeviceProofs.Prover) throws -> JSON {
        guard var key = JWK(point: prover.encryptionKey) else { throw JOSEError(.invalidKey, "a device's key") }
        key.keyID = key.thumbprint
        return .string(
            try JWE.seal(
                JSON.object(operation.document).serialized, to: key, algorithm: .ecdhES, encryption: .a256GCM,
                random: self.random))
    }
}

extension PendingOperation {
    /// The members that the device reads.
    fileprivate var document: JSONObject {
        var document: JSONObject = [
            "id": .string(self.id), "operation": .string(self.kind.operation?.rawValue ?? ""),
            "service": .string(self.service), "payload": .string(self.payload),
            "createdAt": .string(self.createdAt.description), "expiresAt": .string(self.expiresAt.description),
        ]
        document["origin"] = self.origin.map(JSON.string)
        document["dispatcher"] = self.dispatcher.map(JSON.string)
        return document
    }
}
