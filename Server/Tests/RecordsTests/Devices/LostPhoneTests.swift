import Records
import Testing
import _Primitives

@Suite("Decision 128: a report of a lost device is about every registration of the phone")
struct LostPhoneTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    private static func registration(
        _ id: String, isActive: Bool = true, restedAt: Timestamp? = nil, isDisowned: Bool = false
    ) -> LostPhone.Registration {
        LostPhone.Registration(id: id, isActive: isActive, restedAt: restedAt, isDisowned: isDisowned)
    }

    @Test("A phone in use rests whole, a phone that rests returns whole, and a pending registration does neither")
    func phones() throws {
        let used = try #require(
            LostPhone(
                named: "a",
                among: [
                    Self.registration("a"), Self.registration("b"), Self.registration("c", isActive: false),
                    Self.registration("d", restedAt: Self.now),
                ]))
        #expect(used.resting == ["a", "b"])
        #expect(used.returning(byOperator: true) == nil)
        let rested = try #require(
            LostPhone(
                named: "d", among: [Self.registration("a"), Self.registration("d", restedAt: Self.now)]))
        #expect(rested.resting == nil)
        #expect(rested.returning(byOperator: false) == ["d"])
    }

    @Test("A device whose approval was disowned comes back by an operator, and not with the phone that it is")
    func disowned() throws {
        let among = [
            Self.registration("lost", restedAt: Self.now),
            Self.registration("disowned", restedAt: Self.now, isDisowned: true),
        ]
        let disowned = try #require(LostPhone(named: "disowned", among: among))
        #expect(disowned.resting == nil)
        #expect(disowned.returning(byOperator: false) == nil)
        #expect(disowned.returning(byOperator: true) == ["lost", "disowned"])
        let lost = try #require(LostPhone(named: "lost", among: among))
        #expect(lost.returning(byOperator: false) == ["lost"])
    }

    @Test("No device is found that another account has, that is pending, or that does not exist")
    func unknown() {
        #expect(LostPhone(named: "a", among: []) == nil)
        #expect(LostPhone(named: "a", among: [Self.registration("a", isActive: false)]) == nil)
        #expect(LostPhone(named: "a", among: [Self.registration("b")]) == nil)
    }
}
