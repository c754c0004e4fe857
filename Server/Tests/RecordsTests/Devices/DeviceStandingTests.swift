import Records
import Testing
import _Primitives

@Suite("Decision 127: the standing of a device")
struct DeviceStandingTests {
    private static let now = Timestamp(seconds: 60)

    @Test(
        "A device manages from the end of its limit on, and never while reported as lost; only the report stops keys",
        arguments: [
            (nil, nil, true, true),
            (Self.now + .milliseconds(1), nil, false, true),
            (Self.now, nil, true, true),
            (nil, Self.now - .seconds(9), false, false),
            (Self.now - .seconds(9), Self.now, false, false),
        ] as [(Timestamp?, Timestamp?, Bool, Bool)])
    func standing(limitedUntil: Timestamp?, restedAt: Timestamp?, manages: Bool, authenticates: Bool) {
        let standing = DeviceStanding(limitedUntil: limitedUntil, restedAt: restedAt)
        #expect(standing.mayManage(at: Self.now) == manages)
        #expect(standing.mayAuthenticate == authenticates)
    }
}
