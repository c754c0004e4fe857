import Records
import Testing
import _Primitives

@Suite("Decision 114: changes and ends of dispatch targets")
struct DispatchTargetEffectTests {
    private static let start = Timestamp(seconds: 1)
    private static let now = Timestamp(seconds: 60)
    private static let present = DispatchTargetRecord(
        deviceID: "phone", accountID: "person", name: "Old", dispatcher: "apns", address: "token",
        changedAt: Self.start)

    private static func change(
        account: String = "person", name: String? = nil, dispatcher: DispatchTargetChange.Member = .kept,
        address: DispatchTargetChange.Member = .kept, wants: Bool? = nil
    ) -> DispatchTargetChange {
        DispatchTargetChange(
            deviceID: "phone", accountID: account, name: name, dispatcher: dispatcher, address: address,
            isPushWanted: wants, audit: AuditEvent(.deregistered, at: Self.now))
    }

    /// A change, and the values after it.
    struct Case: Sendable {
        let change: DispatchTargetChange
        var name = "Old"
        var dispatcher: String? = "apns"
        var address: String? = "token"
        var wants = true
        var isNewer = true
    }

    @Test(
        "A change states members, and a former address is given to no other provider",
        arguments: [
            Case(change: Self.change(), isNewer: false),
            Case(change: Self.change(name: "New"), name: "New", isNewer: false),
            Case(change: Self.change(wants: false), wants: false, isNewer: false),
            Case(change: Self.change(dispatcher: .changed(to: "apns"))),
            Case(change: Self.change(dispatcher: .changed(to: "fcm")), dispatcher: "fcm", address: nil),
            Case(
                change: Self.change(dispatcher: .changed(to: "fcm"), address: .changed(to: "other")),
                dispatcher: "fcm", address: "other"),
            Case(change: Self.change(dispatcher: .changed(to: nil)), dispatcher: nil, address: nil),
            Case(change: Self.change(address: .changed(to: "token"))),
            Case(change: Self.change(address: .changed(to: nil)), address: nil),
        ])
    func applied(given: Case) throws {
        var expected = Self.present
        expected.name = given.name
        expected.dispatcher = given.dispatcher
        expected.address = given.address
        expected.isPushWanted = given.wants
        expected.changedAt = given.isNewer ? Self.now : Self.start
        #expect(try given.change.applied(to: Self.present, among: ["Other"]) == expected)
    }

    @Test("A name of another phone is a conflict in every form of Unicode, and the own name is none")
    func names() throws {
        for other in ["Caf\u{E9}", "Cafe\u{301}"] {
            #expect(throws: StoreError(.conflict, "")) {
                try Self.change(name: "Caf\u{E9}").applied(to: Self.present, among: [other])
            }
        }
        #expect(try Self.change(name: "Old").applied(to: Self.present, among: ["Other"]) == Self.present)
    }

    @Test("A device that is gone, or of another account, is not found")
    func gone() {
        #expect(throws: StoreError(.notFound, "")) { try Self.change().applied(to: nil, among: []) }
        #expect(throws: StoreError(.notFound, "")) {
            try Self.change(account: "other").applied(to: Self.present, among: [])
        }
    }

    @Test("A provider ends the present address alone, and no address that was stated later than the provider says")
    func ended() {
        var after = Self.present
        after.dispatcher = nil
        after.address = nil
        #expect(Self.present.ended(address: "token", unlessChangedAfter: nil) == after)
        #expect(Self.present.ended(address: "token", unlessChangedAfter: Self.start) == after)
        #expect(Self.present.ended(address: "token", unlessChangedAfter: Self.start - .milliseconds(1)) == nil)
        #expect(Self.present.ended(address: "token-2", unlessChangedAfter: nil) == nil)
        #expect(after.ended(address: "token", unlessChangedAfter: nil) == nil)
    }
}
