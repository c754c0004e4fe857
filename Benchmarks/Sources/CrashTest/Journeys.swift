import ServerClients
import UAF
import _Primitives

/// Sign-ins of three kinds. Each sign-in meets a kill at one of its requests, and is then completed. Everything
/// acknowledged must exist, everything lost may be requested again, and nothing may work twice.
final class Journeys {
    private let server: Server
    let relyingParty: RelyingParty
    private let hazard: Hazard
    private var devices: [SoftwareDevice] = []
    private let subject: String
    /// Acknowledged tokens that must keep working, for their lifetime of five minutes.
    private var accessTokens: [(token: String, end: ContinuousClock.Instant)] = []
    /// Confirmed transactions whose result must stay.
    private var sessions: [String] = []

    init(server: Server, hazard: Hazard) throws {
        self.server = server
        self.hazard = hazard
        self.relyingParty = try RelyingParty(server: server)
        var phone = try server.connect()
        var operatorConnection = try server.connectOperator()
        for number in 0..<10 {
            self.devices.append(
                try server.enrol("crash-\(number)", operator: &operatorConnection, phone: &phone))
        }
        // Transactions are dispatched to a person known to the relying party.
        var browser = try server.connect()
        let signIn = try self.relyingParty.beginSignIn(on: &browser)
        guard let message = try server.redeem(signIn.typedCode, on: &phone).uafRequest else {
            throw LoadError("no request for the sign-in")
        }
        let body = try self.devices[0].authentication(for: AuthenticationRequest(parsing: message.utf8))
        _ = try phone.exchange(server.authenticationAnswer(body))
        self.subject = try self.relyingParty.finish(signIn, on: &browser).subject
    }

    func runOne(_ findings: inout Findings<Rule>) throws {
        switch self.hazard.random(4) {
        case 0:
            self.hazard.arm(atStep: self.hazard.random(2))
            try self.authenticateInApp(&findings)
        case 1:
            self.hazard.arm(atStep: self.hazard.random(4))
            try self.confirmTransaction(&findings)
        default:
            self.hazard.arm(atStep: self.hazard.random(6))
            try self.signIn(&findings)
        }
        self.hazard.disarm()
        try self.checkAcknowledged(&findings)
    }

    // MARK: - Steps that several kinds share

    /// Redeems a token. `nil` if the phone's answer was lost for good.
    private func redeem(_ token: String, _ findings: inout Findings<Rule>) throws -> AuthenticationRequest? {
        let redemption = self.server.redemption(of: token)
        var wins = 0
        var message: String?
        switch try self.hazard.send(redemption, "redeem") {
        case .answered(let answer):
            findings.check(.nothingAcknowledgedIsMissing, answer.status == 200, "a fresh token: \(answer.status)")
            wins += answer.status == 200 ? 1 : 0
            message = try? ReturnUAFRequest(parsing: answer.body).uafRequest
        case .lost: break
        }
        let again = try self.hazard.exchange(redemption, "redeem")
        wins += again.status == 200 ? 1 : 0
        findings.check(.noTokenIsRedeemedTwice, wins <= 1, "two redemptions of one token")
        findings.check(
            .noTokenIsRedeemedTwice, again.status == 200 || again.status == 409, "redeemed again: \(again.status)")
        if again.status == 200 { message = try ReturnUAFRequest(parsing: again.body).uafRequest }
        let third = try self.hazard.exchange(redemption, "redeem")
        findings.check(.noTokenIsRedeemedTwice, third.status == 409, "redeemed a third time: \(third.status)")
        return try message.map { try AuthenticationRequest(parsing: $0.utf8) }
    }

    /// Answers a request, repeats the answer if the server died, and then tries to answer the request once more. `nil`
    /// if the server refuses the repeated answer: the server must then have kept the first answer.
    private func answer(_ request: AuthenticationRequest, device index: Int, _ findings: inout Findings<Rule>) throws
        -> Bool?
    {
        let body = try self.devices[index].authentication(for: request)
        let answer = self.server.authenticationAnswer(body)
        var accepted: Bool?
        switch try self.hazard.send(answer, "answer") {
        case .answered(let response):
            let status = try ServerResponse(parsing: response.body).statusCode
            findings.check(.nothingAcknowledgedIsMissing, status == .ok, "a good answer: \(status)")
            accepted = status == .ok
        case .lost:
            let status = try ServerResponse(parsing: try self.hazard.exchange(answer, "answer").body).statusCode
            accepted = status == .ok ? true : nil
        }
        // This is another signature of the same key over the same challenge. The device forgets this signature.
        var copy = self.devices[index]
        let second = try self.hazard.exchange(
            self.server.authenticationAnswer(try copy.authentication(for: request)), "second answer")
        let status = try ServerResponse(parsing: second.body).statusCode
        findings.check(.noChallengeIsAnsweredTwice, status != .ok, "a second signature over one challenge")
        return accepted
    }

    // MARK: - The three kinds

    private func signIn(_ findings: inout Findings<Rule>) throws {
        let index = self.hazard.random(self.devices.count)
        let verifier = RandomSource.system.token()
        let authorization = try self.hazard.sendUntilAnswered(
            self.relyingParty.authorization(verifier: verifier), "authorize")
        let (identifier, pageRequest) = try self.relyingParty.page(after: authorization)
        let page = try self.hazard.sendUntilAnswered(pageRequest, "page")
        findings.check(
            .nothingAcknowledgedIsMissing, page.status == 200, "the page of an acknowledged request: \(page.status)")
        let signIn = try self.relyingParty.signIn(
            identifier, authorization: authorization, page: page, verifier: verifier)
        guard let request = try self.redeem(signIn.typedCode, &findings) else { return }
        _ = try self.answer(request, device: index, &findings)

        var codes: [String] = []
        var completionLost = false
        switch try self.hazard.send(signIn.completion, "complete") {
        case .answered(let response):
            let code = self.relyingParty.code(in: response)
            findings.check(
                .nothingAcknowledgedIsMissing, code != nil, "an accepted sign-in was not completed: \(response.status)")
            if let code { codes.append(code) }
        case .lost: completionLost = true
        }
        // This is read before the repeated request, to see the effect of the kill on the completion.
        let isPending =
            try completionLost && hasAuthorizationRequest(identifier, inDatabase: self.hazard.databasePath)
        let again = self.relyingParty.code(in: try self.hazard.exchange(signIn.completion, "complete"))
        if let again { codes.append(again) }
        findings.check(
            .noSignInIsCompletedTwice, codes.count <= 1, "two codes of one sign-in (lost: \(completionLost))")
        // A sign-in has exactly one code, except if the completion is on disk and its answer was lost.
        findings.check(
            .nothingAcknowledgedIsMissing, codes.count == 1 || (completionLost && !isPending),
            "no code of an approved sign-in (lost: \(completionLost), request still open: \(isPending))")
        guard let code = codes.first else { return }
        try self.exchange(code, signIn, &findings)
    }

    private func exchange(_ code: String, _ signIn: RelyingParty.SignIn, _ findings: inout Findings<Rule>) throws {
        let exchange = self.relyingParty.exchange(code: code, of: signIn)
        var accessToken: String?
        var successes = 0
        switch try self.hazard.send(exchange, "token") {
        case .answered(let response):
            findings.check(
                .nothingAcknowledgedIsMissing, response.status == 200, "a fresh code: \(response.status)")
            if response.status == 200 {
                successes += 1
                accessToken = try self.relyingParty.tokens(in: response).accessToken
            }
        case .lost:
            let response = try self.hazard.exchange(exchange, "token")
            if response.status == 200 {
                successes += 1
                accessToken = try self.relyingParty.tokens(in: response).accessToken
            }
        }
        if let accessToken {
            let status = try self.hazard.exchange(self.relyingParty.userinfo(accessToken), "userinfo").status
            findings.check(.nothingAcknowledgedIsMissing, status == 200, "a fresh access token: \(status)")
        }
        if let accessToken, self.hazard.random(3) == 0 {
            // This code is not used again, so that the token can be checked after later kills: a reused code ends the
            // token.
            self.accessTokens.append((accessToken, .now + .seconds(240)))
            if self.accessTokens.count > 5 { self.accessTokens.removeFirst() }
            return
        }
        let again = try self.hazard.exchange(exchange, "token")
        successes += again.status == 200 ? 1 : 0
        findings.check(.noCodeWorksTwice, successes <= 1 && again.status != 200, "a code worked again")
    }

    private func confirmTransaction(_ findings: inout Findings<Rule>) throws {
        let text = "Pay \(self.hazard.random(1000)) EUR to Jo Gardener"
        let (session, token) = try self.relyingParty.dispatched(
            in: try self.hazard.sendUntilAnswered(
                self.relyingParty.dispatch(self.subject, text: text), "dispatch"))
        guard let request = try self.redeem(token, &findings) else { return }
        _ = try self.answer(request, device: 0, &findings)
        let status = try self.hazard.sendUntilAnswered(self.relyingParty.status(session: session), "status")
        findings.check(
            .nothingAcknowledgedIsMissing, Self.hasResult(status), "an accepted confirmation has no signed result")
        self.sessions.append(session)
        if self.sessions.count > 5 { self.sessions.removeFirst() }
    }

    private static func hasResult(_ status: HTTPConnection.Response) -> Bool {
        guard case .object(let object) = try? JSON(parsing: status.body) else { return false }
        return (try? object.string("status")) == "succeeded" && (try? object.string("result")) != nil
    }

    private func authenticateInApp(_ findings: inout Findings<Rule>) throws {
        let index = self.hazard.random(self.devices.count)
        let challenge = try self.hazard.sendUntilAnswered(
            self.server.challengeRequest(for: self.devices[index]), "challenge")
        guard let message = try ReturnUAFRequest(parsing: challenge.body).uafRequest else {
            throw LoadError("no challenge: \(challenge.status)")
        }
        _ = try self.answer(AuthenticationRequest(parsing: message.utf8), device: index, &findings)
    }

    // MARK: - What must still be there

    private func checkAcknowledged(_ findings: inout Findings<Rule>) throws {
        self.accessTokens.removeAll { $0.end < .now }
        for (token, _) in self.accessTokens {
            let status = try self.hazard.exchange(self.relyingParty.userinfo(token), "userinfo").status
            findings.check(.nothingAcknowledgedIsMissing, status == 200, "an access token after a kill: \(status)")
        }
        for session in self.sessions {
            let status = try self.hazard.exchange(self.relyingParty.status(session: session), "status")
            findings.check(
                .nothingAcknowledgedIsMissing, Self.hasResult(status), "a confirmed transaction after a kill")
        }
    }

    /// Checks that every signature was accepted once: the sum of counters in the database is the sum of the devices'
    /// counters.
    func checkCounters(_ findings: inout Findings<Rule>) throws {
        let stored = try sumOfCounters(inDatabase: self.hazard.databasePath)
        let signed = self.devices.reduce(UInt64(0)) { $0 + UInt64($1.counter) }
        findings.check(.countersEqualTheSignatures, stored == signed, "\(stored) in the database, \(signed) signed")
    }
}
