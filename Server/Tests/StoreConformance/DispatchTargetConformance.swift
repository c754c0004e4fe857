public import Records
import _Primitives

/// The rules for every store of devices as targets of dispatches.
public enum DispatchTargetConformance {
    /// The store protocols that the rules use.
    public typealias Subject = AccountStore & AuditStore & IdentityConsentStore & IdentityHistoryStore & IdentityStore
        & NoticeStore & DeviceIdentityStore & DispatchTargetStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<any Subject>] = [
        ConformanceCheck("a registered device is a target without dispatcher and address, with its encryption key") {
            store in
            try await Self.enrol(store, "phone", keys: 1)
            try expect(
                try await store.dispatchTarget(deviceID: "device-phone") == Self.fresh("phone", keys: 1), "whole")
            try await addDevice(store, sampleRegistration("old"))
            try expect(
                try await store.dispatchTargets(accountID: "account-alice") == [
                    Self.fresh("phone", keys: 1), Self.fresh("old", keys: nil),
                ], "the oldest first, and a device without keys too")
            try expect(try await store.dispatchTargets(accountID: "account-bob").isEmpty, "nobody else's")
            try expect(try await store.dispatchTarget(deviceID: "device-none") == nil, "no such device")
        },
        ConformanceCheck("a change states some members, keeps the others and leaves its event") { store in
            try await Self.enrol(store, "phone", keys: 1)
            try await store.changeDispatchTarget(
                Self.change(
                    name: "New", dispatcher: .changed(to: "apns"), address: .changed(to: "token-1"), wants: false))
            var expected = Self.fresh("phone", keys: 1)
            expected.name = "New"
            expected.dispatcher = "apns"
            expected.address = "token-1"
            expected.isPushWanted = false
            expected.changedAt = Self.later
            try expect(try await store.dispatchTarget(deviceID: "device-phone") == expected, "all members")
            try expect(try await store.devices(accountID: "account-alice").map(\.name) == ["New"], "the device's name")
            try await store.changeDispatchTarget(Self.change(wants: true, at: Self.later + .seconds(5)))
            expected.isPushWanted = true
            try expect(
                try await store.dispatchTarget(deviceID: "device-phone") == expected,
                "the wish alone, and the address is no newer")
            try await store.changeDispatchTarget(
                Self.change(dispatcher: .changed(to: nil), address: .changed(to: nil), at: Self.later + .seconds(9)))
            expected.dispatcher = nil
            expected.address = nil
            expected.changedAt = Self.later + .seconds(9)
            try expect(try await store.dispatchTarget(deviceID: "device-phone") == expected, "removed")
            let events = try await store.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
            try expect(events.count { $0 == "changed" } == 3, "\(events)")
            try expect(
                try await store.device(ofKey: Self.keys(1).signing.name)?.deviceID == "device-phone",
                "the keys are as before")
        },
        ConformanceCheck("an address does not outlive its dispatcher, and stays with the same dispatcher") { store in
            try await Self.enrol(store, "phone", keys: 1)
            try await store.changeDispatchTarget(
                Self.change(dispatcher: .changed(to: "apns"), address: .changed(to: "token-1")))
            try await store.changeDispatchTarget(Self.change(dispatcher: .changed(to: "apns")))
            try expect(try await store.dispatchTarget(deviceID: "device-phone")?.address == "token-1", "it stays")
            try await store.changeDispatchTarget(Self.change(dispatcher: .changed(to: "fcm")))
            let target = try await store.dispatchTarget(deviceID: "device-phone")
            try expect(target?.dispatcher == "fcm" && target?.address == nil, "no provider gets another one's")
        },
        ConformanceCheck(
            "another phone's name is refused, and every name of the same phone or of another person is taken"
        ) {
            store in
            try await Self.enrol(store, "phone", keys: 1)
            try await Self.add(store, "second", keys: 2)
            try await store.createAccount(sampleAccount("bob"), audit: sampleAudit())
            try await Self.add(store, "bobs", keys: 4, account: "account-bob")
            try await expectError(StoreError(.conflict, "")) {
                try await store.changeDispatchTarget(Self.change(name: "second of account-alice", wants: false))
            }
            try expect(
                try await store.dispatchTarget(deviceID: "device-phone") == Self.fresh("phone", keys: 1), "as it was")
            let events = try await store.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
            try expect(!events.contains("changed"), "\(events)")
            try await store.changeDispatchTarget(Self.change(name: "phone of account-alice"))
            try await store.changeDispatchTarget(Self.change(name: "bobs of account-bob"))
            // The same pair of keys in the same account is the same phone, registered anew.
            try await Self.add(store, "anew", keys: 1)
            try await store.changeDispatchTarget(Self.change(name: "anew of account-alice"))
            try await addDevice(store, sampleRegistration("waiting", isActive: false))
            try await store.changeDispatchTarget(Self.change(name: "waiting of account-alice"))
            try expect(
                try await store.dispatchTarget(deviceID: "device-phone")?.name == "waiting of account-alice", "free")
        },
        ConformanceCheck("a device that waits, is gone or is another account's is no target") { store in
            try await Self.enrol(store, "phone", keys: 1, isActive: false)
            try expect(try await store.dispatchTarget(deviceID: "device-phone") == nil, "it waits for its number")
            try expect(try await store.dispatchTargets(accountID: "account-alice").isEmpty, "it waits")
            try expect(try await store.formerDevices(accountID: "account-alice").isEmpty, "it is none that was")
            for change in [Self.change(wants: false), Self.change("none", wants: false)] {
                try await expectError(StoreError(.notFound, "")) { try await store.changeDispatchTarget(change) }
            }
            try await store.createAccount(sampleAccount("bob"), audit: sampleAudit())
            try await Self.add(store, "bobs", keys: 3, account: "account-bob")
            try await expectError(StoreError(.notFound, "")) {
                try await store.changeDispatchTarget(Self.change("bobs", wants: false))
            }
            try expect(try await store.dispatchTarget(deviceID: "device-bobs")?.isPushWanted == true, "as it was")
            try expect(try await store.deleteDevice(id: "device-bobs", audit: sampleAudit()), "it was there")
            try expect(try await store.dispatchTarget(deviceID: "device-bobs") == nil, "it has ended")
            try expect(try await store.formerDevices(accountID: "account-bob") == ["device-bobs"], "it was one")
            try expect(try await store.formerDevices(accountID: "account-alice").isEmpty, "not hers")
        },
        ConformanceCheck("a device whose activation is disabled is no target, and one that was") { store in
            try await activate(store)
            try await open(store)
            try expect(try await store.dispatchTarget(deviceID: "device-phone") != nil, "it is a target")
            let step = try await takeStep(store, token: sampleToken(of: "session").digest) { scene, _ in
                scene.activation.lockout = LockoutRecord(failuresInARow: 0, failures: [.start], isPermanent: true)
            }
            try expect(step.decision == "answer", "it is disabled")
            try expect(try await store.dispatchTarget(deviceID: "device-phone") == nil, "no target")
            try expect(try await store.dispatchTargets(accountID: "account-alice").isEmpty, "no target")
            try expect(try await store.formerDevices(accountID: "account-alice") == ["device-phone"], "it was one")
            try await expectError(StoreError(.notFound, "")) {
                try await store.changeDispatchTarget(Self.change(wants: false))
            }
        },
        ConformanceCheck("a provider ends the address that it was asked for, unless the device has stated it since") {
            store in
            try await Self.enrol(store, "phone", keys: 1)
            try await store.changeDispatchTarget(
                Self.change(dispatcher: .changed(to: "apns"), address: .changed(to: "token-1")))
            let before = try await store.dispatchTarget(deviceID: "device-phone")
            for (address, moment) in [("token-2", nil), ("token-1", Self.later - .milliseconds(1))] {
                try expect(
                    try await store.endDispatchTarget(
                        deviceID: "device-phone", address: address, unlessChangedAfter: moment,
                        audit: sampleAudit("ended")) == false, "\(address)")
            }
            try expect(
                try await store.endDispatchTarget(
                    deviceID: "device-none", address: "token-1", unlessChangedAfter: nil, audit: sampleAudit("ended"))
                    == false, "no such device")
            try expect(try await store.dispatchTarget(deviceID: "device-phone") == before, "as it was")
            try expect(
                try await store.endDispatchTarget(
                    deviceID: "device-phone", address: "token-1", unlessChangedAfter: Self.later,
                    audit: sampleAudit("ended")), "stated no later")
            let after = try await store.dispatchTarget(deviceID: "device-phone")
            try expect(after?.dispatcher == nil && after?.address == nil && after?.name == before?.name, "ended")
            try expect(
                try await store.endDispatchTarget(
                    deviceID: "device-phone", address: "token-1", unlessChangedAfter: nil, audit: nil) == false, "once")
            let events = try await store.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
            try expect(events.count { $0 == "ended" } == 1, "\(events)")
        },
        ConformanceCheck("the time at which a device was seen moves forward alone") { store in
            try await Self.enrol(store, "phone", keys: 1)
            try await store.noteSeen(deviceID: "device-phone", at: Self.later)
            try await store.noteSeen(deviceID: "device-phone", at: .start)
            try await store.noteSeen(deviceID: "device-none", at: Self.later)
            let target = try await store.dispatchTarget(deviceID: "device-phone")
            try expect(target?.seenAt == Self.later && target?.changedAt == .start, "\(String(describing: target))")
        },
    ]

    private static let later = Timestamp.start + .seconds(60)

    /// Multiples of the base point of P-256, from the first: x, y and the thumbprint by RFC 7638.
    private static let points = [
        (
            "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY", "T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU",
            "xx0BcA-wMohw8atYDJOe6peGModklG2wRHBlXHMvl0M"
        ),
        (
            "fPJ7GI0DT36KUjgDBLUaw8CJaeJ38hs1pgtI_EdmmXg", "B3dVENuO0EApPZrGn3Qw27p9reY86YIpngS3nSJ4c9E",
            "AhqHzaYXA5MzmDCrsseUsVBGKyfhDhvekx0THjH_xIE"
        ),
        (
            "Xsvk0aYzCkTI9--VHUvxZebGtyHvramF-0FmG8bn_Ww", "hzRkDEmY_343SwbOGmSi7NgqsDY4T7g9mnmxJ6J9UDI",
            "B3zQUJfL8WPQJT3fRc_9F85aNjqoqRkk-HMzwyAp7WU"
        ),
        (
            "4lNKNTLQj7ugLd5lnuYr0AMf4tt4VZbvUJMCRGsDCFI", "4PFXWkxjPMcZ3-5f2oYtdk78lsPzDuAFXELCPxhO2MY",
            "BcYkeRReg8Py6HmUFJw6240ruOKnvInXb5rRtK6Z9xQ"
        ),
        (
            "UVkLelFRQNLXhMhWCGaP3--Mgv0fW-UkIVVKDcPQM-0", "4MF9qJBKcn2K4b82v4p5Jg0BLwDU2AiI0dC7RP2hbaQ",
            "yiaHWTOH-NAS43bw6yPHO8YTK_T9cLz9jZaCu3qOg_k"
        ),
        (
            "sBoXKnakYCyS0yQsuJfd4wJMdA3rshW0xrCq6Twikak", "6FwQdDI32tVv7A4t-6cDeRwA93Acfha9_XxIU4_Hf-I",
            "uhdbksqePVMcTx2Fvr5RY78RjuSE2bd16nNAkdfZ36I"
        ),
        (
            "jlM7b6C_e0YluzBmfAH7YH75-LioD-9bMAYocDGHsqM", "c-sdveAzGDZtBp-DpvWQAFPHNjPLBBshxV4ahsH0ALQ",
            "ccgscWSOWNe7zfELCIRHTdb7JkVy_Eo2vg371C5rplY"
        ),
        (
            "Ytl3nb7psFNAQnQtOrVMrcHSOJgPzpfbtN2dwdtvs5M", "rVrMvZHp2CRP8V13EWfO4KLtUfa752p42lQKag8JlX4",
            "dua6RYkNcqxX7xRiMQ5XZyMedBizg7y9jkqbcMKgldM"
        ),
    ]

    /// Returns the keys of a phone, by the phone's number from 1 to 4.
    static func keys(_ number: Int) -> DeviceIdentityRecord {
        DeviceIdentityRecord(signing: Self.key(2 * number - 2), encryption: Self.key(2 * number - 1))
    }

    private static func key(_ index: Int) -> DeviceIdentityRecord.Key {
        let (x, y, name) = Self.points[index]
        return DeviceIdentityRecord.Key(
            name: name, point: [4] + (Base64URL.decode(x) ?? []) + (Base64URL.decode(y) ?? []))
    }

    private static func add(
        _ store: any Subject, _ name: String, keys: Int, account: String = "account-alice", isActive: Bool = true
    ) async throws {
        var registration = sampleRegistration(name, account: account, isActive: isActive)
        registration.identity = Self.keys(keys)
        try await addDevice(store, registration)
    }

    private static func enrol(_ store: any Subject, _ name: String, keys: Int, isActive: Bool = true) async throws {
        try await store.createAccount(sampleAccount(), audit: sampleAudit())
        try await Self.add(store, name, keys: keys, isActive: isActive)
    }

    /// Returns the target of a device that has stated nothing.
    private static func fresh(_ name: String, keys: Int?) -> DispatchTargetRecord {
        DispatchTargetRecord(
            deviceID: "device-\(name)", accountID: "account-alice", name: "\(name) of account-alice",
            encryptionKey: keys.map { Self.keys($0).encryption }, changedAt: .start)
    }

    private static func change(
        _ device: String = "phone", name: String? = nil, dispatcher: DispatchTargetChange.Member = .kept,
        address: DispatchTargetChange.Member = .kept, wants isPushWanted: Bool? = nil, at moment: Timestamp? = nil
    ) -> DispatchTargetChange {
        var audit = sampleAudit("changed")
        audit.at = moment ?? Self.later
        return DispatchTargetChange(
            deviceID: "device-\(device)", accountID: "account-alice", name: name, dispatcher: dispatcher,
            address: address, isPushWanted: isPushWanted, audit: audit)
    }
}
