import Records
import Testing
import _Primitives

@Suite("Decision 68: the reach of a deregistration")
struct DeregistrationReachTests {
    private static let name = CredentialSelection.Name(aaid: "0001#0001", keyID: [1])
    private static let selections: [CredentialSelection] = [.all, .model("0001#0001"), .keys([Self.name])]
    private static let askers: [DeregistrationAsker] = [.anybody, .person(onDevice: "phone"), .device("phone")]

    @Test("Only a device without its person is bound to its phone's keys", arguments: Self.askers)
    func phone(asker: DeregistrationAsker) {
        for selection in Self.selections {
            let expected: String? = asker == .device("phone") ? "phone" : nil
            #expect(DeregistrationReach(of: selection, by: asker).phone == expected)
        }
    }

    @Test("The whole account loses its keys only for everybody's and the person's request", arguments: Self.askers)
    func wholeAccount(asker: DeregistrationAsker) {
        for selection in Self.selections {
            let reach = DeregistrationReach(of: selection, by: asker)
            let isWhole = selection == .all && asker != .device("phone")
            #expect(reach.isWholeAccount == isWhole)
            #expect(reach.emptied(["tablet"]) == (isWhole ? .any : .only(["tablet"])))
        }
    }

    @Test("A device that had no key before goes only with the whole account")
    func revoked() {
        #expect(EmptiedDevices.any.revoked(among: ["phone", "tablet"]) == ["phone", "tablet"])
        #expect(EmptiedDevices.only(["tablet", "watch"]).revoked(among: ["phone", "tablet"]) == ["tablet"])
        #expect(EmptiedDevices.only([]).revoked(among: ["phone"]).isEmpty)
    }

    @Test("A pattern selects all keys, the keys of a model, or one key")
    func patterns() {
        #expect(CredentialSelection.all.patterns == [KeyPattern(aaid: nil, keyID: nil)])
        #expect(CredentialSelection.model("0001#0001").patterns == [KeyPattern(aaid: "0001#0001", keyID: nil)])
        #expect(CredentialSelection.keys([]).patterns.isEmpty)
        #expect(CredentialSelection.keys([Self.name]).patterns == [KeyPattern(aaid: "0001#0001", keyID: [1])])
    }

    @Test("Only the end of a key is reported")
    func report() {
        let audit = AuditEvent(.deregistered, at: Timestamp(seconds: 1))
        let notice = NoticeRecord(
            id: "notice", accountID: "ada", kind: .signedIn, at: Timestamp(seconds: 1), subject: "")
        let none = DeregistrationReach.report(ofDeleted: [], audit: audit, notice: notice)
        #expect(none.audit == nil && none.notice == nil)
        let one = DeregistrationReach.report(ofDeleted: [Self.name], audit: audit, notice: notice)
        #expect(one.audit == audit && one.notice == notice)
    }

    /// A request of an asker, and its refusal.
    struct Request: Sendable {
        let asker: DeregistrationAsker
        let isLocked: Bool?
        let isActive: Bool?
        let refusal: DeregistrationOutcome?
    }

    @Test(
        "A device asks only while it is active and its account is not locked",
        arguments: [
            Request(asker: .anybody, isLocked: nil, isActive: nil, refusal: .unknown),
            Request(asker: .device("phone"), isLocked: nil, isActive: false, refusal: .unknown),
            Request(asker: .anybody, isLocked: false, isActive: nil, refusal: nil),
            Request(asker: .anybody, isLocked: true, isActive: nil, refusal: nil),
            Request(asker: .person(onDevice: "phone"), isLocked: false, isActive: true, refusal: nil),
            Request(asker: .person(onDevice: "phone"), isLocked: true, isActive: true, refusal: .locked),
            Request(asker: .person(onDevice: "phone"), isLocked: false, isActive: false, refusal: .unknown),
            Request(asker: .device("phone"), isLocked: false, isActive: true, refusal: nil),
            Request(asker: .device("phone"), isLocked: true, isActive: true, refusal: .locked),
            Request(asker: .device("phone"), isLocked: true, isActive: false, refusal: .unknown),
            Request(asker: .device("phone"), isLocked: false, isActive: nil, refusal: .unknown),
        ])
    func refusal(request: Request) {
        // A disabled activation proves no person.
        #expect(request.asker.needsActivation == (request.asker == .person(onDevice: "phone")))
        let refusal = request.asker.refusal(isAccountLocked: request.isLocked, isActiveDevice: request.isActive)
        #expect(refusal == request.refusal)
    }
}
