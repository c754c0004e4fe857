import Records
import Testing
import _Primitives

@Suite("Decision 52: grants that end, and the grants and events that follow from their end")
struct EndedGrantsTests {
    private static func grant(
        _ id: String, session: String? = "session", deviceSecret: [UInt8]? = nil, origin: String? = nil
    ) -> EndedGrant {
        EndedGrant(
            id: id, authentication: "authentication", session: session, deviceSecret: deviceSecret, origin: origin)
    }

    @Test(
        "A secret was given with a grant of a session that came of no other grant.",
        arguments: [
            ("session", [7], nil, true), ("session", nil, nil, false), (nil, [7], nil, false),
            ("session", [7], "origin", false), (nil, nil, nil, false), (nil, [7], "origin", false),
            ("session", nil, "origin", false),
        ] as [(String?, [UInt8]?, String?, Bool)])
    func givenSecret(session: String?, secret: [UInt8]?, origin: String?, isGiven: Bool) {
        let grant = Self.grant("grant", session: session, deviceSecret: secret, origin: origin)
        #expect(grant.id == "grant")
        #expect(grant.authentication == "authentication")
        #expect(grant.givenSecret == (isGiven ? EndedGrant.GivenSecret(digest: [7], session: "session") : nil))
    }

    @Test("Every grant is followed once, also the grants that are added meanwhile.")
    func order() {
        var ended = EndedGrants([Self.grant("a"), Self.grant("b")])
        #expect(ended.next()?.id == "a")
        ended.add([Self.grant("c")])
        ended.add(secrets: 2)
        #expect(ended.next()?.id == "b")
        ended.add([])
        #expect(ended.next()?.id == "c")
        #expect(ended.next() == nil)
        ended.add([Self.grant("d")])
        #expect(ended.next()?.id == "d")
        #expect(ended.next() == nil)
        #expect(ended.count == 6)
    }

    @Test("No grants have no consequences.")
    func none() {
        var ended = EndedGrants([])
        #expect(ended.next() == nil)
        #expect(ended.count == 0)
    }

    @Test("An event is kept if any row has ended.", arguments: [(0, false), (1, true), (3, true)])
    func event(count: Int, isKept: Bool) {
        let event = AuditEvent(AuditEvent.Kind(rawValue: "ended"), at: Timestamp(seconds: 1_800_000_000))
        let ended = EndedRows(count, event: event)
        #expect(ended.count == count)
        #expect(ended.isAny == isKept)
        #expect(ended.event == (isKept ? event : nil))
    }

    @Test("The numbers of lasting grants begin with 1, and each grant has the next.")
    func numbers() {
        for (numbers, next) in [
            (LastingGrantNumbers.none, LastingGrantNumbers(oldest: 1, newest: 1)),
            (LastingGrantNumbers(oldest: 1, newest: 1), LastingGrantNumbers(oldest: 1, newest: 2)),
            (LastingGrantNumbers(oldest: 4, newest: 9), LastingGrantNumbers(oldest: 4, newest: 10)),
        ] {
            #expect(numbers.withNext == next)
        }
    }

    @Test(
        "Grants are counted if more than the largest number can have the numbers.",
        arguments: [
            (1, 1, 1, 0), (1, 2, 1, 1), (1, 5, 5, 0), (1, 6, 5, 1), (3, 7, 5, 0), (3, 8, 5, 1), (3, 11, 5, 4),
        ]
            as [(Int64, Int64, Int, Int64)])
    func most(oldest: Int64, newest: Int64, most: Int, surplus: Int64) {
        #expect(LastingGrantNumbers(oldest: oldest, newest: newest).surplus(over: most) == surplus)
    }

    private static func ended(_ id: String, secret: [UInt8]?, origin: String? = nil) -> EndedGrant {
        EndedGrant(id: id, authentication: "authentication", session: "session", deviceSecret: secret, origin: origin)
    }

    @Test(
        "A grant takes along the grants that were passed on from it, or were got by its device secret.",
        arguments: [
            (nil, nil, false), (nil, [7], false), ("grant", nil, true), ("grant", [8], true), ("other", nil, false),
            ("other", [7], true), ("other", [8], false), ("other", [7, 7], false), ("other", [], false),
        ] as [(String?, [UInt8]?, Bool)])
    func takesAlong(origin: String?, secret: [UInt8]?, isTaken: Bool) {
        #expect(Self.ended("grant", secret: [7]).takesAlong(origin: origin, deviceSecret: secret) == isTaken)
        let isOrigin = origin == "grant"
        #expect(Self.ended("grant", secret: nil).takesAlong(origin: origin, deviceSecret: secret) == isOrigin)
        // The secret was given with another grant.
        let got = Self.ended("grant", secret: [7], origin: "first")
        #expect(got.takesAlong(origin: origin, deviceSecret: secret) == isOrigin)
    }

    @Test(
        "A grant has no place among the lasting grants if it came of a displaced grant.",
        arguments: [
            ([], "first", false), (["first"], nil, false), (["first"], "first", true), (["other"], "first", false),
            (["other", "first"], "first", true),
        ] as [([String], String?, Bool)])
    func place(displaced: [String], origin: String?, ends: Bool) {
        let place = LastingGrantPlace(
            number: 9,
            displaced: displaced.map {
                LastingGrantPlace.Displaced(grant: Self.ended($0, secret: nil), account: "account")
            })
        let grant = RefreshFamilyStart.Grant(
            authentication: "authentication", client: "client", subject: "subject", deviceSecret: nil, origin: origin,
            head: nil)
        #expect(place.ends(grant, most: 1) == ends)
        #expect(place.ends(grant, most: 0), "no grant may last")
    }

    @Test("The new grant is one of the grants that stay.", arguments: [(0, 0), (1, 0), (2, 1), (50, 49)])
    func others(most: Int, others: Int) {
        let moment = Timestamp(seconds: 1_800_000_000)
        let start = RefreshFamilyStart(
            grant: "grant", head: [], headEndsAt: moment, keyThumbprint: nil, until: moment, most: most,
            displaced: AuditEvent(AuditEvent.Kind(rawValue: "displaced"), at: moment))
        #expect(start.mostOthers == others)
    }
}
