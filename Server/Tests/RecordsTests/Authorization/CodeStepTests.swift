import Records
import Testing
import _Primitives

@Suite("Authorization codes, and requests that begin")
struct CodeStepTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let code = CodeRecord(
        digest: [1], redirectURI: "https://client.example", nonce: nil, challenge: nil, expiresAt: Self.now)
    private static let standing = StandingGrant(
        grant: GrantRecord(
            id: "grant", client: "client", subject: "subject", authentication: "authentication", session: nil,
            scope: "openid", expiresAt: Self.now),
        authentication: AuthenticationRecord(
            id: "authentication", account: "alice", method: "phone", at: Self.now, acr: "1", amr: []),
        isAccountLocked: false)
    private static let replay = AuditEvent(AuditEvent.Kind(rawValue: "replayed"), at: Self.now)

    @Test("A code is taken once; a second use by its own client ends the grant")
    func codes() {
        var named = Self.replay
        named.accountID = "alice"
        let table: [(isHeld: Bool, isTaken: Bool, isRight: Bool, step: CodeStep, writes: Bool)] = [
            (false, false, true, .unknown, false),
            (true, false, true, .taken(Self.code, Self.standing), true),
            // The caller judges a code that it has taken for the first time.
            (true, false, false, .taken(Self.code, Self.standing), true),
            (true, true, false, .unknown, false),
            (true, true, true, .replayed(Self.standing, named), true),
        ]
        for (isHeld, isTaken, isRight, expected, writes) in table {
            let held = (code: Self.code, standing: Self.standing, isTaken: isTaken)
            let step = CodeStep(isHeld ? held : nil, replay: Self.replay) { _, _ in isRight }
            #expect(step == expected)
            #expect(step.writes == writes)
        }
    }

    @Test("Only a code that was taken before is asked about")
    func asked() {
        var count = 0
        for isTaken in [false, true] {
            _ = CodeStep((code: Self.code, standing: Self.standing, isTaken: isTaken), replay: Self.replay) { _, _ in
                count += 1
                return true
            }
        }
        #expect(count == 1)
    }

    @Test("A token is worth its grant until the grant's end, unless the token was revoked")
    func tokens() {
        let table: [(StandingGrant?, Bool, Int, StandingGrant?)] = [
            (Self.standing, false, -1, Self.standing), (Self.standing, false, 0, nil), (Self.standing, false, 1, nil),
            (Self.standing, true, -1, nil), (nil, false, -1, nil), (nil, true, -1, nil),
        ]
        for (found, isRevoked, milliseconds, standing) in table {
            let moment = Self.now + .milliseconds(milliseconds)
            #expect(StandingGrant(found, isRevoked: isRevoked, at: moment) == standing)
        }
    }

    @Test(
        "A single browser gets the answer to a pushed request or a device's code",
        arguments: [
            (nil, .answered(nil)),
            (WaitingRequest(id: nil, browserDigest: nil), .begins),
            (WaitingRequest(id: "waiting", browserDigest: [7]), .answered("waiting")),
            (WaitingRequest(id: "waiting", browserDigest: [8]), .answered(nil)),
        ] as [(WaitingRequest?, RequestBeginning)])
    func beginnings(row: WaitingRequest?, beginning: RequestBeginning) {
        let request = AuthorizationRequestRecord(
            id: "new", browserDigest: [7], client: "client", redirectURI: "", scope: "openid", state: nil, nonce: nil,
            codeChallenge: nil, expiresAt: Self.now)
        #expect(RequestBeginning(request, of: row) == beginning)
    }
}
