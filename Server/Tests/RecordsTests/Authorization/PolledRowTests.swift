import Records
import Testing
import _Primitives

@Suite("Answers to clients that ask repeatedly")
struct PolledRowTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let pause = Duration.seconds(5)

    private static let authentication = AuthenticationRecord(
        id: "authentication", account: "alice", method: "phone", at: Self.now, acr: "1", amr: [])
    private static let standing = StandingGrant(
        grant: GrantRecord(
            id: "grant", client: "client", subject: "subject", authentication: "authentication", session: "session",
            scope: "openid", expiresAt: Self.now + .seconds(60)),
        authentication: Self.authentication, isAccountLocked: false)

    private static func question(longest: Duration = .seconds(60)) -> PollingQuestion {
        PollingQuestion(
            digest: [1], client: "client", tolerance: .seconds(1), slowdown: .seconds(5), longestInterval: longest,
            replay: AuditEvent(AuditEvent.Kind(rawValue: "replayed"), at: Self.now))
    }

    private static func device(
        grant: String? = nil, takenAt: Timestamp? = nil, isDenied: Bool = false, left: Duration = .seconds(60),
        asked: Duration? = nil
    ) -> PolledRow<DeviceAnswer> {
        PolledRow(
            grant: grant, takenAt: takenAt, isDenied: isDenied, endsAt: Self.now + left, pause: Self.pause,
            askedAt: asked.map { Self.now - $0 })
    }

    private static func backchannel(
        grant: String? = nil, left: Duration = .seconds(60), asked: Duration? = nil
    ) -> PolledRow<BackchannelAnswer> {
        PolledRow(
            grant: grant, endsAt: Self.now + left, pause: Self.pause, askedAt: asked.map { Self.now - $0 })
    }

    @Test(
        "A device receives its result once, before its code ends, and not too soon",
        arguments: [
            (Self.device(), .judged),
            (Self.device(grant: "grant"), .judged),
            (Self.device(takenAt: Self.now), .judged),
            (Self.device(grant: "grant", takenAt: Self.now), .replayed(grant: "grant")),
            // A replay is judged first, also after the end.
            (
                Self.device(grant: "grant", takenAt: Self.now, isDenied: true, left: .zero, asked: .zero),
                .replayed(grant: "grant")
            ),
            (Self.device(left: .milliseconds(1)), .judged),
            (Self.device(left: .zero), .answered(.expired)),
            (Self.device(isDenied: true, left: .zero), .answered(.expired)),
            // A device that was denied does not have to wait for the answer.
            (Self.device(isDenied: true, asked: .zero), .answered(.denied)),
            (Self.device(asked: .milliseconds(3999)), .tooSoon(pause: .seconds(10))),
            (Self.device(grant: "grant", asked: .zero), .tooSoon(pause: .seconds(10))),
            (Self.device(asked: .seconds(4)), .judged),
        ] as [(PolledRow<DeviceAnswer>, PolledRow<DeviceAnswer>.Verdict)])
    func devices(row: PolledRow<DeviceAnswer>, verdict: PolledRow<DeviceAnswer>.Verdict) {
        #expect(row.verdict(on: Self.question(), at: Self.now) == verdict)
    }

    @Test(
        "A client has the tokens of a backchannel request once, before the request ends, and not too soon",
        arguments: [
            (Self.backchannel(), .judged),
            (Self.backchannel(grant: "grant"), .replayed(grant: "grant")),
            (Self.backchannel(grant: "grant", left: .zero, asked: .zero), .replayed(grant: "grant")),
            (Self.backchannel(left: .zero), .answered(.expired)),
            (Self.backchannel(asked: .milliseconds(3999)), .tooSoon(pause: .seconds(10))),
            (Self.backchannel(asked: .seconds(4)), .judged),
        ] as [(PolledRow<BackchannelAnswer>, PolledRow<BackchannelAnswer>.Verdict)])
    func backchannels(row: PolledRow<BackchannelAnswer>, verdict: PolledRow<BackchannelAnswer>.Verdict) {
        #expect(row.verdict(on: Self.question(), at: Self.now) == verdict)
    }

    @Test(
        "The pause grows up to the longest pause, and never shrinks",
        arguments: [(60, 10), (10, 10), (8, 8), (5, 5), (1, 5)] as [(Int, Int)])
    func slowdown(longest: Int, next: Int) {
        let verdict = Self.device(asked: .zero).verdict(on: Self.question(longest: .seconds(longest)), at: Self.now)
        #expect(verdict == .tooSoon(pause: .seconds(next)))
    }

    @Test("A judged device is told whether its grant is there")
    func deviceAnswers() {
        let table: [(String?, StandingGrant?, DeviceAnswer, String?)] = [
            (nil, nil, .pending, nil),
            ("grant", nil, .unknown, nil),
            ("grant", Self.standing, .taken(Self.standing), Self.standing.grant.id),
        ]
        for (grant, standing, answer, takenGrant) in table {
            let given = DeviceAnswer(grant: grant, standing: standing)
            #expect(given == answer)
            #expect(given.takenGrant == takenGrant)
        }
    }

    @Test("A replay names the account of the grant, if the grant is valid")
    func replays() {
        #expect(Self.question().replay(of: Self.standing).accountID == "alice")
        #expect(Self.question().replay(of: nil).accountID == nil)
    }

    @Test("A request whose grant is not valid any more is not found, and is not read")
    func notifiedRequests() {
        let request = BackchannelRequestRecord(
            id: "id", digest: [1], client: "client", scope: "openid", interval: Self.pause, expiresAt: Self.now)
        let open = NotifiedBackchannelRequest(grant: nil, standing: nil) { request }
        #expect(open == NotifiedBackchannelRequest(request: request, given: nil))
        let given = NotifiedBackchannelRequest(grant: "grant", standing: Self.standing) { request }
        #expect(given == NotifiedBackchannelRequest(request: request, given: Self.standing))
        var isRead = false
        let ended = NotifiedBackchannelRequest(grant: "grant", standing: nil) {
            isRead = true
            return request
        }
        #expect(ended == nil)
        #expect(!isRead)
    }
}
