public import Records
import _Primitives

/// The rules for every store of attested keys of apps (decision 124).
public enum AttestedAppConformance {
    /// The store protocols that the rules use.
    public typealias Subject = AccountStore & AttestedAppStore & CeremonyStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<any Subject>] = [
        ConformanceCheck("a device has the key that came with it, and another key in its place later") { store in
            try await Self.enrol(store, key: 1)
            try await Self.enrol(store, "other", key: 2)
            try expect(try await store.appKeys(ofDevice: "device-phone").app == Self.record(key: 1), "as it came")
            try expect(try await store.appKeys(ofDevice: "device-phone").signingKey == nil, "no key of its own")
            try expect(
                try await store.appKeys(ofDevice: "no device") == DeviceAppKeys(signingKey: nil, app: nil), "nobody's")
            var change = CeremonyChange()
            change.attestedApp = Self.record(key: 3)
            try await Self.write(store, change)
            try expect(try await store.appKeys(ofDevice: "device-phone").app == Self.record(key: 3), "the new one")
            try expect(
                try await store.appKeys(ofDevice: "device-other").app == Self.record("other", key: 2), "another's")
        },
        ConformanceCheck("evidence is bound to the device's own signing key, which comes with it") { store in
            try await Self.enrol(store, key: 1, signingKey: [4, 5])
            try expect(try await store.appKeys(ofDevice: "device-phone").signingKey == [4, 5], "the device's key")
        },
        ConformanceCheck("a counter rises, counts once, and counts for its key alone") { store in
            try await Self.enrol(store, key: 1)
            try await Self.advance(store, to: 5)
            try expect(try await store.appKeys(ofDevice: "device-phone").app?.counter == 5, "risen")
            for counter: UInt32 in [0, 4, 5] {
                try await expectError(StoreError(.conflict, "")) { try await Self.advance(store, to: counter) }
            }
            try await expectError(StoreError(.conflict, "")) { try await Self.advance(store, to: 6, key: 2) }
            try await expectError(StoreError(.conflict, "")) {
                try await Self.advance(store, to: 6, device: "device-other")
            }
            try expect(try await store.appKeys(ofDevice: "device-phone").app?.counter == 5, "as before")
            try await Self.advance(store, to: .max)
            try expect(try await store.appKeys(ofDevice: "device-phone").app?.counter == .max, "to the end")
        },
        ConformanceCheck("a step whose counter is refused writes nothing else") { store in
            try await Self.enrol(store, key: 1)
            var change = CeremonyChange()
            change.appAdvance = AppCounterAdvance(deviceID: "device-phone", keyID: [9, 1], counter: 0)
            change.registration = sampleRegistration("second")
            try await expectError(StoreError(.conflict, "")) { [change] in try await Self.write(store, change) }
            try expect(try await store.devices(accountID: "account-alice").count == 1, "no second device")
        },
    ]

    private static func record(_ name: String = "phone", key: UInt8) -> AttestedAppRecord {
        AttestedAppRecord(
            deviceID: "device-\(name)", teamID: "team \(key)", bundleID: "bundle \(key)",
            environment: "environment \(key)", keyID: [9, key], publicKey: [4, key], counter: 0)
    }

    private static func enrol(
        _ store: any Subject, _ name: String = "phone", key: UInt8, signingKey: [UInt8]? = nil
    ) async throws {
        if name == "phone" { try await store.createAccount(sampleAccount(), audit: sampleAudit()) }
        var change = CeremonyChange()
        var registration = sampleRegistration(name)
        registration.identity = signingKey.map {
            DeviceIdentityRecord(
                signing: DeviceIdentityRecord.Key(name: "signing", point: $0),
                encryption: DeviceIdentityRecord.Key(name: "encryption", point: [4, 6]))
        }
        change.registration = registration
        change.attestedApp = Self.record(name, key: key)
        try await Self.write(store, change)
    }

    private static func advance(
        _ store: any Subject, to counter: UInt32, key: UInt8 = 1, device: String = "device-phone"
    ) async throws {
        var change = CeremonyChange()
        change.appAdvance = AppCounterAdvance(deviceID: device, keyID: [9, key], counter: counter)
        try await Self.write(store, change)
    }

    private static func write(_ store: any Subject, _ change: CeremonyChange) async throws {
        let digest = RandomSource.system.bytes(32)
        let isFirst = try await store.answer(
            AnsweredChallenge(digest: digest, expiresAt: .start + .seconds(9)), change: change, at: .start)
        try expect(isFirst, "a challenge of its own")
    }
}
