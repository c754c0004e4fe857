import Records
import _Primitives

/// The limits of devices that another device approved a short time ago (decision 127).
public struct DeviceLimits: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore

    /// Throws ``CeremonyError`` `deviceLimited` if a device may not approve, remove and recover yet. A device that is
    /// gone has no limits here: its request is refused for that reason.
    ///
    /// Cost: one query.
    public func check(_ device: AuthenticatedDevice) async throws {
        let found = try await self.store.devices(accountID: device.accountID).first {
            $0.id.hasSameBytes(as: device.deviceID)
        }
        guard let found, !found.standing.mayManage(at: self.time.now()) else { return }
        throw CeremonyError(
            .deviceLimited, "a device that was approved a short time ago", limitedUntil: found.standing.limitedUntil)
    }

    /// Throws ``CeremonyError`` `deviceLimited` if a device may not remove other devices yet, and a selection has a key of
    /// another device.
    ///
    /// Cost: at most two queries.
    func check(_ device: AuthenticatedDevice, removing selection: CredentialSelection) async throws {
        let keys = try await self.store.credentials(accountID: device.accountID).filter {
            !$0.deviceID.hasSameBytes(as: device.deviceID)
        }
        let removesOthers = selection.patterns.contains { pattern in
            keys.contains { key in
                (pattern.aaid.map { $0.hasSameBytes(as: key.aaid) } ?? true)
                    && (pattern.keyID.map { $0 == key.keyID } ?? true)
            }
        }
        if removesOthers { try await self.check(device) }
    }
}
