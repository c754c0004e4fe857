import Records
import Testing
import _Primitives

@Suite("Decision 61: keys that a registered device states for itself")
struct DeviceIdentityVerdictTests {
    private static let replacement = DeviceIdentityAddition.Replacement(
        audit: AuditEvent(.deregistered, at: Timestamp(seconds: 1)),
        notice: NoticeRecord(
            id: "1", accountID: "person", kind: .deviceKeysReplaced, at: Timestamp(seconds: 1), subject: ""))

    /// A scene, the verdict without a replacement, and the verdict with a replacement.
    struct Case: Sendable {
        let scene: DeviceIdentityScene
        let verdict: DeviceIdentityVerdict
        let verified: DeviceIdentityVerdict

        init(
            hasKeys: Bool, isTaken: Bool = false, isKnown: Bool = false, name: [UInt8]? = [1],
            _ verdict: DeviceIdentityVerdict, _ verified: DeviceIdentityVerdict
        ) {
            self.scene = DeviceIdentityScene(hasKeys: hasKeys, isTaken: isTaken, isKnown: isKnown, sealedName: name)
            self.verdict = verdict
            self.verified = verified
        }
    }

    @Test(
        "First keys must be nobody else's, and keys that replace others must be new",
        arguments: [
            Case(hasKeys: false, .kept, .kept),
            // Another registration of the same phone has the same pair.
            Case(hasKeys: false, isKnown: true, .kept, .kept),
            Case(hasKeys: false, isTaken: true, isKnown: true, .ignored, .ignored),
            Case(hasKeys: false, name: nil, .kept, .kept),
            Case(hasKeys: true, .ignored, .replaces(Self.replacement, sealedName: [1])),
            Case(hasKeys: true, isKnown: true, .ignored, .ignored),
            Case(hasKeys: true, isTaken: true, isKnown: true, .ignored, .ignored),
            Case(hasKeys: true, name: nil, .ignored, .ignored),
        ])
    func verdict(given: Case) {
        let key = DeviceIdentityRecord.Key(name: "key", point: [4])
        var addition = DeviceIdentityAddition(
            deviceID: "phone", accountID: "person", identity: DeviceIdentityRecord(signing: key, encryption: key),
            audit: AuditEvent(.deregistered, at: Timestamp(seconds: 1)))
        #expect(addition.verdict(on: given.scene) == given.verdict)
        addition.replacement = Self.replacement
        #expect(addition.verdict(on: given.scene) == given.verified)
    }
}
