import Records
import Testing
import _Primitives

@Suite("Decision 28 and RFC 9700, section 4.14: the step of a presented refresh token")
struct RefreshStepTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let headEnd = Self.now + .seconds(1000)
    private static let nextEnd = Self.now + .seconds(2000)
    private static let head: [UInt8] = [3]
    private static let parent: [UInt8] = [2]
    private static let grandparent: [UInt8] = [1]
    private static let older: [UInt8] = [0]
    private static let reuse = AuditEvent(AuditEvent.Kind(rawValue: "reuse"), at: Self.now, detail: "grant")

    private struct Refusal: Error {}

    private static func standing(endingAt end: Timestamp = Self.nextEnd, key: String? = nil) -> StandingGrant {
        StandingGrant(
            grant: GrantRecord(
                id: "grant", client: "client", subject: "subject", authentication: "authentication", session: "session",
                scope: "openid", keyThumbprint: key, expiresAt: end),
            authentication: AuthenticationRecord(
                id: "authentication", account: "account", method: "phone", at: Self.now, acr: "acr", amr: ["hwk"]),
            isAccountLocked: false)
    }

    /// A family whose parent was used so many seconds ago.
    private static func family(parentUsed age: Int64 = 100, step: [UInt8]? = [9]) -> RefreshFamily {
        RefreshFamily(
            head: Self.head, headEndsAt: Self.headEnd,
            parent: RefreshFamily.Used(digest: Self.parent, firstUsedAt: Self.now - .seconds(age)), step: step,
            grandparent: Self.grandparent)
    }

    private static func exchange(
        _ presented: [UInt8], rotates: Bool = true, isBound: Bool = false
    ) -> RefreshExchange {
        RefreshExchange(
            grant: "grant", presented: presented,
            successor: rotates ? RefreshExchange.Successor(digest: [4], step: [8]) : nil, isBound: isBound,
            parentLifetime: .seconds(600), lateRequestTime: .seconds(60), successorEndsAt: Self.nextEnd,
            reuse: Self.reuse)
    }

    private static func renewed(
        _ token: Renewal.Token, until end: Timestamp, _ standing: StandingGrant = Self.standing()
    ) -> RefreshOutcome {
        .renewed(Renewal(standing, by: token, until: end))
    }

    private static func step(
        _ exchange: RefreshExchange, of family: RefreshFamily, _ standing: StandingGrant = Self.standing()
    ) throws -> RefreshStep {
        try RefreshStep(exchange, of: (family, standing), at: Self.now) { _ in }
    }

    @Test("The head is rotated: it becomes the parent, and the parent the grandparent.")
    func rotated() throws {
        let next = RefreshFamily(
            head: [4], headEndsAt: Self.nextEnd, parent: RefreshFamily.Used(digest: Self.head, firstUsedAt: Self.now),
            step: [8], grandparent: Self.parent)
        let step = try Self.step(Self.exchange(Self.head), of: Self.family())
        #expect(step == .rotated(next, Self.renewed(.successor, until: Self.nextEnd)))
        #expect(step.answerWithoutWriting == nil)
    }

    @Test("The head stays for a client whose token stays, and while a request with the grandparent may be late.")
    func sameHead() throws {
        for (exchange, family) in [
            (Self.exchange(Self.head, rotates: false), Self.family()),
            (Self.exchange(Self.head), Self.family(parentUsed: 59)),
        ] {
            let same = RefreshFamily(
                head: Self.head, headEndsAt: Self.nextEnd, parent: family.parent, step: family.step,
                grandparent: family.grandparent)
            let step = try Self.step(exchange, of: family)
            #expect(step == .prolonged(same, Self.renewed(.presented, until: Self.nextEnd)))
            #expect(step.answerWithoutWriting == nil)
        }
    }

    @Test("The parent gives the same head until the head's own end, and nothing is written.")
    func repeated() throws {
        let answer = Self.renewed(.successorBefore(step: [9]), until: Self.headEnd)
        let step = try Self.step(Self.exchange(Self.parent), of: Self.family())
        #expect(step == .answered(answer))
        #expect(step.answerWithoutWriting == answer)
    }

    @Test("The parent's time is bounded, unless the sender or the grant is bound.")
    func parentLifetime() throws {
        let family = Self.family(parentUsed: 600)
        let bound = Self.standing(key: "thumbprint")
        let again = Renewal.Token.successorBefore(step: [9])
        #expect(
            try Self.step(Self.exchange(Self.parent, isBound: true), of: family)
                == .answered(Self.renewed(again, until: Self.headEnd)))
        #expect(
            try Self.step(Self.exchange(Self.parent), of: family, bound)
                == .answered(Self.renewed(again, until: Self.headEnd, bound)))
        #expect(try Self.isReuse(Self.step(Self.exchange(Self.parent), of: family)))
        #expect(
            try Self.step(Self.exchange(Self.parent), of: Self.family(parentUsed: 599))
                == .answered(Self.renewed(again, until: Self.headEnd)))
    }

    @Test("A parent whose head cannot be computed again gives another head, or is late if the token stays.")
    func formerParent() throws {
        let family = Self.family(step: nil)
        let next = RefreshFamily(
            head: [4], headEndsAt: Self.nextEnd, parent: RefreshFamily.Used(digest: Self.parent, firstUsedAt: Self.now),
            step: [8], grandparent: Self.head)
        #expect(
            try Self.step(Self.exchange(Self.parent), of: family)
                == .rotated(next, Self.renewed(.successor, until: Self.nextEnd)))
        #expect(try Self.step(Self.exchange(Self.parent, rotates: false), of: family) == .answered(.late))
    }

    @Test("The grandparent is late for a minute, and then as stolen as every older token.")
    func stolen() throws {
        #expect(
            try Self.step(Self.exchange(Self.grandparent), of: Self.family(parentUsed: 59)) == .answered(.late))
        #expect(try Self.isReuse(Self.step(Self.exchange(Self.grandparent), of: Self.family(parentUsed: 60))))
        #expect(try Self.isReuse(Self.step(Self.exchange(Self.older), of: Self.family())))
        #expect(try Self.isReuse(Self.step(Self.exchange(Self.older, isBound: true), of: Self.family())))
    }

    /// Returns `true` if a step ends the grant, with the account in the event, and is no answer of a reader.
    private static func isReuse(_ step: RefreshStep) -> Bool {
        var event = Self.reuse
        event.accountID = "account"
        return step == .reused(event) && step.answerWithoutWriting == nil
    }

    @Test("Without a family, and from the moment of the grant's end, the token is unknown, and nobody judges.")
    func unknown() throws {
        let ended = Self.standing(endingAt: Self.now)
        for held in [nil, (Self.family(), ended)] as [(family: RefreshFamily, standing: StandingGrant)?] {
            let step = try RefreshStep(Self.exchange(Self.older), of: held, at: Self.now) { _ in throw Refusal() }
            #expect(step == .answered(.unknown))
            #expect(step.answerWithoutWriting == .unknown)
        }
        let last = Self.standing(endingAt: Self.now + .milliseconds(1))
        #expect(try Self.isReuse(Self.step(Self.exchange(Self.older), of: Self.family(), last)))
    }

    @Test("An error of the grant's judge comes before the verdict on the token.")
    func judged() {
        #expect(throws: Refusal.self) {
            try RefreshStep(
                Self.exchange(Self.older), of: (Self.family(), Self.standing()), at: Self.now
            ) { standing in
                #expect(standing == Self.standing())
                throw Refusal()
            }
        }
    }

    @Test("A token that the store has just written is handed out, and no other.")
    func handedOut() {
        let (rotating, staying) = (Self.exchange([5]), Self.exchange([5], rotates: false))
        for (outcome, exchange, digests) in [
            (Self.renewed(.successor, until: Self.nextEnd), rotating, [[4]]),
            (Self.renewed(.successor, until: Self.nextEnd), staying, [[5]]),
            (Self.renewed(.presented, until: Self.nextEnd), rotating, [[5]]),
            (Self.renewed(.successorBefore(step: [9]), until: Self.nextEnd), rotating, []),
            (.late, rotating, []), (.reused, rotating, []), (.unknown, rotating, []),
        ] as [(RefreshOutcome, RefreshExchange, [[UInt8]])] {
            #expect(outcome.handedOut(by: exchange) == digests)
        }
    }

    @Test("A grant that is kept with its family has no family before.")
    func grantOfRecord() {
        let record = GrantRecord(
            id: "grant", client: "client", subject: "subject", authentication: "authentication", session: "session",
            scope: "openid", deviceSecret: [7], origin: "origin", expiresAt: Self.nextEnd)
        #expect(
            RefreshFamilyStart.Grant(record)
                == RefreshFamilyStart.Grant(
                    authentication: "authentication", client: "client", subject: "subject", deviceSecret: [7],
                    origin: "origin", head: nil))
    }

    @Test("A family begins once, and begins again at its own head alone.")
    func beginning() {
        let start = RefreshFamilyStart(
            grant: "grant", head: Self.head, headEndsAt: Self.headEnd, keyThumbprint: nil, until: Self.nextEnd,
            most: 5, displaced: Self.reuse)
        func grant(head: [UInt8]?) -> RefreshFamilyStart.Grant {
            RefreshFamilyStart.Grant(
                authentication: "authentication", client: "client", subject: "subject", deviceSecret: nil, origin: nil,
                head: head)
        }
        #expect(start.verdict(on: grant(head: nil)) == .begins(grant(head: nil)))
        #expect(start.verdict(on: grant(head: Self.head)) == .answered(isAtHead: true))
        #expect(start.verdict(on: grant(head: Self.parent)) == .answered(isAtHead: false))
        #expect(start.verdict(on: grant(head: [])) == .answered(isAtHead: false))
        #expect(start.verdict(on: nil) == .answered(isAtHead: false))
        #expect(start.handedOut(isAtHead: true) == [Self.head])
        #expect(start.handedOut(isAtHead: false).isEmpty)
    }
}
