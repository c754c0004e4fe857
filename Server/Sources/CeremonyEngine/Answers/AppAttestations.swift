import Records
import UAF
import UAFRelyingParty
import _Primitives

/// Judges the evidence about the apps that register devices (decision 124).
struct AppAttestations: CeremonyPart {
    /// The writes of a registration with right evidence.
    struct Outcome: Sendable {
        /// The attested key that the device gets; `nil` if the device keeps its key.
        var key: AttestedAppRecord?
        /// The counter of an assertion by the device's key.
        var advance: AppCounterAdvance?
        /// The trail's entry.
        var event: AuditEvent

        /// Adds the writes to a change.
        func add(to change: inout CeremonyChange) {
            change.attestedApp = self.key
            change.appAdvance = self.advance
            change.audit.append(self.event)
        }
    }

    let environment: CeremonyEnvironment
    let store: any AttestedAppStore

    /// Judges the evidence beside the registration of a new device, which has announced its own keys.
    ///
    /// Returns `nil` if the server wants no evidence, or if evidence is missing and may be missing. Throws `Answered`.
    func judge(
        _ evidence: AppEvidence?, of verified: VerifiedRegistration, for device: DeviceRecord, ceremonyID: String,
        at now: Timestamp
    ) throws -> Outcome? {
        try self.judge(
            evidence, of: verified, for: device,
            keys: DeviceAppKeys(signingKey: verified.deviceKeys?.signingKey, app: nil), ceremonyID: ceremonyID, at: now)
    }

    /// Judges the evidence beside the registration of further keys of a device, as for a new device. The evidence is
    /// bound to the keys that the device has announced before.
    func judge(
        _ evidence: AppEvidence?, of verified: VerifiedRegistration, joining device: DeviceRecord, at now: Timestamp
    ) async throws -> Outcome? {
        guard self.configuration.appAttestation != nil else { return nil }
        return try self.judge(
            evidence, of: verified, for: device, keys: try await self.store.appKeys(ofDevice: device.id),
            ceremonyID: nil, at: now)
    }

    private func judge(
        _ evidence: AppEvidence?, of verified: VerifiedRegistration, for device: DeviceRecord, keys: DeviceAppKeys,
        ceremonyID: String?, at now: Timestamp
    ) throws -> Outcome? {
        guard let policy = self.configuration.appAttestation else { return nil }
        let hash = keys.signingKey.map {
            AppEvidence.clientDataHash(finalChallengeHash: verified.finalChallengeHash, signingKey: $0)
        }
        let kept = try keys.app.map { try AttestedAppKey($0) }
        let key: AttestedAppKey?
        do throws(AppAttestationRefusal) {
            key = try policy.verify(evidence, of: verified.facetID, clientDataHash: hash, kept: kept, at: now)
        } catch {
            throw Answered(error)
        }
        guard let key else { return nil }
        let event = AuditEvent(
            .appAttested, at: now, accountID: device.accountID, ceremonyID: ceremonyID,
            detail: "\(device.id) \(key.app.name) \(key.app.environment.rawValue)")
        if case .assertion? = evidence {
            return Outcome(
                advance: AppCounterAdvance(deviceID: device.id, keyID: key.keyID, counter: key.counter), event: event)
        }
        return Outcome(
            key: AttestedAppRecord(
                deviceID: device.id, teamID: key.app.teamID, bundleID: key.app.bundleID,
                environment: key.app.environment.rawValue, keyID: key.keyID, publicKey: key.publicKey,
                counter: key.counter),
            event: event)
    }
}

extension AttestedAppKey {
    /// Takes a key from the store. Throws ``StoreError`` `corrupt` for values that are no key.
    fileprivate init(_ record: AttestedAppRecord) throws {
        guard let environment = AttestedApp.Environment(rawValue: record.environment),
            let app = try? AttestedApp(
                teamID: record.teamID, bundleID: record.bundleID, environment: environment),
            let key = try? AttestedAppKey(app: app, publicKey: record.publicKey, counter: record.counter)
        else { throw StoreError(.corrupt, "an attested key of an app") }
        self = key
    }
}
