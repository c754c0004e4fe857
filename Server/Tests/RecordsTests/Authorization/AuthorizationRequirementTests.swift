import Records
import Testing
import _Primitives

@Suite("Requirements of an authorization, and sessions of a browser")
struct AuthorizationRequirementTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    private static func session(method: String = "phone") -> SessionRecord {
        let authentication = AuthenticationRecord(
            id: "authentication", account: "alice", method: method, at: Self.now, acr: "1", amr: [])
        return SessionRecord(
            id: "session", cookieDigest: [1], authentications: [authentication], usedAt: Self.now,
            expiresAt: Self.now + .seconds(60))
    }

    private static func authenticated(isStepUp: Bool = false) -> AuthenticatedRequest {
        AuthenticatedRequest(request: "request", session: Self.session(), isStepUp: isStepUp)
    }

    @Test("A requirement that is not met is an error", arguments: AuthorizationRequirement.allCases)
    func requirements(requirement: AuthorizationRequirement) throws {
        let error = StoreError(requirement == .unusedUserCode ? .conflict : .notFound, "")
        try requirement.check(true)
        #expect(throws: error) { try requirement.check(false) }
        #expect(throws: error) { try requirement.check(nil) }
        #expect(requirement.refusal == error)
        #expect(try requirement.found("value") == "value")
        #expect(throws: error) { _ = try requirement.found(nil as String?) }
    }

    @Test("The error of a requirement says what is missing")
    func reasons() {
        var reasons: Set<String> = []
        for requirement in AuthorizationRequirement.allCases {
            do { try requirement.check(false) } catch { reasons.insert(error.reason) }
        }
        #expect(reasons.count == AuthorizationRequirement.allCases.count)
    }

    @Test("Authentications are kept as long as the session or the grant", arguments: [(59, 60), (60, 60), (61, 61)])
    func ends(least: Int, end: Int) {
        #expect(Self.session().authenticationsEnd(atLeast: Self.now + .seconds(least)) == Self.now + .seconds(end))
    }

    @Test(
        "A sign-in writes a language that it tells and that is new",
        arguments: [
            (nil, nil, nil), (nil, "en", nil), ("en", nil, "en"), ("en", "en", nil), ("en", "de", "en"),
        ] as [(String?, String?, String?)])
    func languages(told: String?, former: String?, written: String?) {
        #expect(AccountRecord.languageToWrite(told, former: former) == written)
    }

    @Test(
        "Every method but the phone's two needs a finished sign-in of the account, also a method that nobody knows",
        arguments: [
            "phone", "asked-phone", "Phone", "asked-Phone", "password", "provider:town", "provider:phone",
            "mailed-link", "",
        ])
    func methods(method: String) {
        let isPhone = method == "phone" || method == "asked-phone"
        let evidence = Self.session(method: method).authentication.evidence
        #expect(evidence == (isPhone ? nil : AuthenticationRecord.Evidence(method: method, account: "alice")))
    }

    @Test(
        "Evidence is checked unless the request waits in the same session",
        arguments: [(nil, true), ("other", true), ("session", false)] as [(String?, Bool)])
    func evidence(former: String?, isChecked: Bool) {
        let authenticated = AuthenticatedRequest(
            request: "request", session: Self.session(method: "password"), isStepUp: false)
        let evidence = AuthenticationRecord.Evidence(method: "password", account: "alice")
        #expect(authenticated.evidence(waitingIn: former) == (isChecked ? evidence : nil))
    }

    @Test("An authentication raises the present session, or begins a session in place of the former sessions")
    func effects() {
        let stepUp = Self.authenticated(isStepUp: true)
        #expect(stepUp.effect(replacing: [1], waitingIn: "former") == .stepUp(from: [1]))
        #expect(stepUp.effect(replacing: nil, waitingIn: "former") == .stepUp(from: nil))
        let first = Self.authenticated()
        #expect(
            first.effect(replacing: [1], waitingIn: "former") == .begins(replacing: [1], waitingIn: "former"))
        #expect(first.effect(replacing: nil, waitingIn: nil) == .begins(replacing: nil, waitingIn: nil))
    }

    @Test("A stored notification is read again")
    func notifications() throws {
        for mode in BackchannelNotification.Mode.allCases {
            let notification = BackchannelNotification(mode: mode, secret: "secret", token: "token")
            #expect(try BackchannelNotification(kept: notification.keptText) == notification)
        }
        for text in ["", "ping secret", "ping secret token more", "poll secret token"] {
            #expect(throws: StoreError(.corrupt, "")) { try BackchannelNotification(kept: text) }
        }
    }

    @Test("No bytes stand for no challenge")
    func challenges() {
        #expect(AuthorizationRequestRecord.codeChallenge(kept: []) == nil)
        #expect(AuthorizationRequestRecord.codeChallenge(kept: [1]) == [1])
    }

    @Test("The stored letters of a person's code are read again")
    func userCodes() throws {
        let code = TypedCode(of: [UInt8](0..<8))
        #expect(try DeviceCodeRecord.userCode(kept: code.letters) == code)
        #expect(throws: StoreError(.corrupt, "")) { try DeviceCodeRecord.userCode(kept: "!") }
    }
}
