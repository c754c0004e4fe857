import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

/// What a device is told that wants to be signed in.
private struct WaitingDevice: Sendable {
    let code: String
    let userCode: String

    init(_ answer: ProviderAnswer) throws {
        let body = try #require(answer.body)
        self.code = try body.requiredString("device_code")
        self.userCode = try body.requiredString("user_code")
    }
}

/// A provider with a client whose devices have no browser.
private struct DeviceFixture: Sendable {
    static let grant = "urn:ietf:params:oauth:grant-type:device_code"

    let f: ProviderFixture
    let devices: DeviceAuthorizations
    let client: RegisteredClient

    static func run(
        limits: Limits = Limits(), method: String = "client_secret_basic",
        grants: [String] = [Self.grant, "refresh_token"], _ body: (DeviceFixture) async throws -> Void
    ) async throws {
        try await ProviderFixture.run(limits: limits) { f in
            let client = try await f.register(
                ClientSettings(idTokenAlgorithm: .es256, grantTypes: grants, authenticationMethod: method),
                at: ["https://tv.example/about"])
            try await body(
                DeviceFixture(f: f, devices: DeviceAuthorizations(f.provider.authorizations), client: client))
        }
    }

    var header: String? { self.client.secret == nil ? nil : self.f.basic(self.client) }

    private func form(_ values: KeyValuePairs<String, String>) -> String {
        var parameters = Parameters(values)
        if self.client.secret == nil { parameters.append("client_id", self.client.client.id) }
        return parameters.encoded
    }

    func ask(scope: String = "openid profile", source: String = "tv") async throws -> ProviderAnswer {
        try await self.devices.authorize(header: self.header, body: self.form(["scope": scope]), source: source)
    }

    func device(scope: String = "openid profile") async throws -> WaitingDevice {
        try WaitingDevice(try await self.ask(scope: scope))
    }

    func poll(_ device: WaitingDevice, proofs: [String] = []) async throws -> ProviderAnswer {
        try await self.f.provider.grants.answer(
            header: self.header, body: self.form(["grant_type": Self.grant, "device_code": device.code]),
            proofs: proofs)
    }

    /// A question as a device asks it that waits from one to the next.
    func pollInTime(_ device: WaitingDevice) async throws -> ProviderAnswer {
        self.f.clock.advance(.seconds(5))
        return try await self.poll(device)
    }

    /// Types a code, and gives the identifier of what waits then.
    func enter(_ code: String, browser: BrowserSecret? = nil, source: String = "a") async throws -> String? {
        let answer = try await self.devices.enter(code, browser: browser ?? self.f.browser, source: source)
        guard case .signIn(let request, let client) = answer else { return nil }
        #expect(client == self.client.client.id)
        return request
    }

    /// Signs a device in.
    @discardableResult func confirm(_ device: WaitingDevice, account: String = "account-a") async throws
        -> DeviceDecision
    {
        let request = try #require(try await self.enter(device.userCode))
        self.f.authenticate(request, account: account)
        return try await self.devices.confirm(request: request, browser: self.f.browser)
    }
}

@Suite("RFC 8628: devices without a browser (parity F124)")
struct DeviceAuthorizationTests {
    @Test("a session that the browser gets while the device waits counts for nothing")
    func sessionInAnotherTab() async throws {
        try await DeviceFixture.run { d in
            let request = try #require(try await d.enter(try await d.device().userCode))
            let session = try await d.f.signIn().session
            #expect(
                try await !d.f.provider.authorizations.isAnswered(request: request, browser: d.f.browser, by: session))
            #expect(
                try await d.f.provider.authorizations.answer(
                    request: request, browser: d.f.browser, by: session, source: "a", address: nil) == nil)
            #expect(try await d.f.provider.authorizations.pending(request: request, browser: d.f.browser) != nil)
        }
    }

    @Test("a device is told its code, its person's, where to type that, how long, and how often to ask (section 3.2)")
    func members() async throws {
        try await DeviceFixture.run { d in
            let answer = try await d.ask()
            #expect(answer.status == 200 && answer.header("Cache-Control") == "no-store")
            let body = try #require(answer.body)
            let device = try WaitingDevice(answer)
            #expect(Base64URL.decode(device.code)?.count == 32)
            #expect(device.userCode.wholeMatch(of: /[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}/) != nil)
            #expect(body["verification_uri"] == .string("https://id.example/device"))
            #expect(
                body["verification_uri_complete"]
                    == .string("https://id.example/device?user_code=\(device.userCode)"))
            #expect(body["expires_in"] == .integer(600) && body["interval"] == .integer(5))
            #expect(body.members.count == 6)
            let other = try await d.device()
            #expect(other.code != device.code && other.userCode != device.userCode)
        }
    }

    @Test("the code that a person types has 50 bits (decision 35): every letter of all of them comes")
    func entropy() async throws {
        try await DeviceFixture.run { d in
            var letters = Set<Character>()
            for _ in 0..<48 { letters.formUnion(try await d.device().userCode.filter { $0 != "-" }) }
            // Of 480 draws none leaves one of 32 out but once in a hundred thousand runs.
            #expect(letters.count == 32)
        }
    }

    @Test("who may not use the grant, or asks for what there is not, is told so")
    func refusals() async throws {
        try await DeviceFixture.run { d in
            #expect(try await d.ask(scope: "profile").error == "invalid_scope")
            let bank = try await d.devices.authorize(header: d.f.basic(), body: "scope=openid", source: "tv")
            #expect(bank.error == "unauthorized_client" && bank.status == 400)
            #expect(bank.refusal?.reason?.contains("--grant-type") == true)
            let nobody = try await d.devices.authorize(header: nil, body: "scope=openid", source: "tv")
            #expect(nobody.error == "invalid_client" && nobody.status == 401)
            let unnamed = try await d.f.provider.grants.answer(
                header: d.header, body: "grant_type=\(DeviceFixture.grant)")
            #expect(unnamed.error == "invalid_request")
        }
    }

    @Test("a device waits, is signed in by its person, and has its tokens once")
    func signsIn() async throws {
        try await DeviceFixture.run { d in
            let device = try await d.device()
            #expect(try await d.poll(device).error == "authorization_pending")
            guard case .confirmed("Shop", "phone") = try await d.confirm(device) else {
                Issue.record("not confirmed")
                return
            }
            let answer = try await d.pollInTime(device)
            #expect(answer.status == 200)
            let body = try #require(answer.body)
            #expect(body["token_type"] == .string("Bearer") && body["refresh_token"] == nil)
            let claims = try d.f.claims(try body.requiredString("id_token"), type: "JWT")
            #expect(claims.audience == [d.client.client.id] && claims.members["nonce"] == nil)
            #expect(claims.subject == d.f.provider.keys.subject(ofAccount: "account-a", client: d.client.client.id))
            #expect(claims.members["amr"] == .array([.string("pin"), .string("hwk")]))
            #expect(try claims.members.requiredString("sid").utf8.count == 43)
            let access = try body.requiredString("access_token")
            let userinfo = try await d.f.provider.userinfo.answer(header: "Bearer \(access)")
            #expect(userinfo.body?["preferred_username"] == .string("alice"))
            // Whoever shows the code again ends what it gave.
            #expect(try await d.pollInTime(device).error == "invalid_grant")
            #expect(try await d.f.provider.userinfo.answer(header: "Bearer \(access)").status == 401)
            #expect(try await d.pollInTime(device).error == "invalid_grant")
        }
    }

    @Test("of fifty questions at once one has the tokens")
    func oneSuccess() async throws {
        try await DeviceFixture.run { d in
            let device = try await d.device()
            try await d.confirm(device)
            let count = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<50 { group.addTask { try await d.poll(device).status } }
                return try await group.reduce(into: 0) { $0 += $1 == 200 ? 1 : 0 }
            }
            #expect(count == 1)
        }
    }

    @Test("who asks too soon waits five seconds longer each time, from the last question that was judged (section 3.5)")
    func slowDown() async throws {
        try await DeviceFixture.run { d in
            let device = try await d.device()
            #expect(try await d.poll(device).error == "authorization_pending")
            #expect(try await d.poll(device).error == "slow_down")
            d.f.clock.advance(.seconds(8))
            #expect(try await d.poll(device).error == "slow_down", "ten seconds, of which one is forgiven")
            d.f.clock.advance(.seconds(6))
            #expect(try await d.poll(device).error == "authorization_pending", "fifteen")
            d.f.clock.advance(.seconds(13))
            #expect(try await d.poll(device).error == "slow_down", "for all questions that follow")
        }
    }

    @Test("one early question costs a device that keeps its cadence no more than answers every 30 s (section 3.5)")
    func keepsItsCadence() async throws {
        try await DeviceFixture.run { d in
            let device = try await d.device()
            #expect(try await d.poll(device).error == "authorization_pending")
            #expect(try await d.poll(device).error == "slow_down")
            var judged: [Int] = []
            for second in stride(from: 5, through: 120, by: 5) {
                if try await d.pollInTime(device).error == "authorization_pending" { judged.append(second) }
            }
            #expect(judged == [30, 60, 90, 120])
            try await d.confirm(device)
            for _ in 0..<5 { #expect(try await d.pollInTime(device).error == "slow_down") }
            #expect(try await d.pollInTime(device).status == 200)
        }
    }

    @Test("a code ends after ten minutes, for the device and for the person")
    func expires() async throws {
        try await DeviceFixture.run { d in
            let device = try await d.device()
            let late = try await d.device()
            d.f.clock.advance(.seconds(599))
            #expect(try await d.poll(device).error == "authorization_pending")
            #expect(try await d.enter(device.userCode) != nil)
            d.f.clock.advance(.seconds(1))
            #expect(try await d.poll(late).error == "expired_token")
            #expect(try await d.enter(late.userCode) == nil)
            #expect(try await d.f.provider.sweep() == 1, "what waited for the person, and not why it ended")
            #expect(try await d.poll(late).error == "expired_token")
            d.f.clock.advance(.seconds(600))
            #expect(try await d.f.provider.sweep() == 2)
            #expect(try await d.poll(late).error == "invalid_grant")
        }
    }

    @Test("a no is told to the device, and is the last word")
    func denied() async throws {
        try await DeviceFixture.run { d in
            let device = try await d.device()
            let request = try #require(try await d.enter(device.userCode))
            #expect(try await d.devices.refuse(request: request, browser: BrowserSecret()) == false)
            #expect(try await d.poll(device).error == "authorization_pending")
            #expect(try await d.devices.refuse(request: request, browser: d.f.browser))
            #expect(try await d.pollInTime(device).error == "access_denied")
            #expect(try await d.enter(device.userCode) == nil)
            d.f.authenticate(request)
            guard case .ended = try await d.devices.confirm(request: request, browser: d.f.browser) else {
                Issue.record("a no became a yes")
                return
            }
            #expect(try await d.pollInTime(device).error == "access_denied")
        }
    }

    @Test("no other client has anything of a code")
    func isItsClients() async throws {
        try await DeviceFixture.run { d in
            let other = try await d.f.register(
                ClientSettings(idTokenAlgorithm: .es256, grantTypes: [DeviceFixture.grant]),
                at: ["https://radio.example/"])
            let device = try await d.device()
            try await d.confirm(device)
            let form = Parameters(["grant_type": DeviceFixture.grant, "device_code": device.code]).encoded
            #expect(
                try await d.f.provider.grants.answer(header: d.f.basic(other), body: form).error == "invalid_grant")
            #expect(try await d.poll(device).status == 200, "and it changes nothing")
        }
    }

    // MARK: The person

    private static let spellings: [@Sendable (String) -> String] = [
        { $0 }, { $0.lowercased() }, { $0.replacing("-", with: "") }, { " \($0.replacing("-", with: " - ")) " },
        { $0.replacing("0", with: "o").replacing("1", with: "l") },
        { $0.replacing("0", with: "O").replacing("1", with: "I") },
    ]

    @Test("a code is read as it is meant", arguments: spellings.indices)
    func typed(spelling: Int) async throws {
        try await DeviceFixture.run { d in
            // Some of them have a letter that looks like another.
            for _ in 0..<10 {
                let code = try await d.device().userCode
                #expect(try await d.enter(Self.spellings[spelling](code)) != nil, "\(code)")
            }
        }
    }

    @Test(
        "what is no code is none",
        arguments: ["", "ABCD", "ABCD-2345", "ABCDE-234567", "UUUUU-UUUUU", "ÄBCDE-2345", "ABCDE_23456"])
    func notACode(text: String) async throws {
        try await DeviceFixture.run { d in
            #expect(DeviceAuthorizations.userCode(text) == nil)
            let request = try await d.enter(text)
            #expect(request == nil)
        }
    }

    @Test("a code is the first browser's that comes with it, which can come again")
    func isOneBrowsers() async throws {
        try await DeviceFixture.run { d in
            let device = try await d.device()
            let request = try #require(try await d.enter(device.userCode))
            #expect(try await d.enter(device.userCode, browser: BrowserSecret()) == nil)
            #expect(try await d.enter(device.userCode) == request)
            d.f.authenticate(request)
            let other = BrowserSecret()
            #expect(try await d.devices.confirmation(request: request, browser: other) == nil)
            guard case .ended = try await d.devices.confirm(request: request, browser: other) else {
                Issue.record("confirmed in another browser")
                return
            }
            #expect(try await d.poll(device).error == "authorization_pending")
        }
    }

    @Test("nothing completes silently: a session counts for nothing, and an authentication is not yet a yes")
    func nothingCompletesSilently() async throws {
        try await DeviceFixture.run { d in
            let session = try await d.f.signIn().session
            let device = try await d.device()
            let request = try #require(try await d.enter(device.userCode))
            #expect(try await d.devices.confirmation(request: request, browser: d.f.browser) == nil)
            guard case .ended = try await d.devices.confirm(request: request, browser: d.f.browser) else {
                Issue.record("confirmed by a session")
                return
            }
            d.f.authenticate(request)
            let completed = try await d.f.provider.authorizations.complete(
                request: request, browser: d.f.browser, session: session)
            #expect(completed == .confirmDevice)
            #expect(try await d.poll(device).error == "authorization_pending")
            let asked = try #require(try await d.devices.confirmation(request: request, browser: d.f.browser))
            #expect(asked.userCode == device.userCode && asked.username == "alice")
            #expect(asked.client == d.client.client.id && asked.clientName == "Shop")
            #expect(asked.clientOrigin == "https://tv.example")
        }
    }

    @Test("an account that is locked meanwhile signs no device in, and the device is told")
    func locked() async throws {
        try await DeviceFixture.run { d in
            let device = try await d.device()
            let request = try #require(try await d.enter(device.userCode))
            d.f.authenticate(request)
            d.f.people.lock("account-a")
            #expect(try await d.devices.confirmation(request: request, browser: d.f.browser) == nil)
            guard case .denied = try await d.devices.confirm(request: request, browser: d.f.browser) else {
                Issue.record("a locked account confirmed")
                return
            }
            #expect(try await d.poll(device).error == "access_denied")
        }
    }

    // MARK: Guessing, and wearing out

    private static var few: Limits {
        var limits = Limits()
        (limits.guessBurst, limits.guessesPerMinute) = (3, 6)
        (limits.oauth.deviceCodeBurst, limits.oauth.deviceCodesPerMinute) = (2, 6)
        return limits
    }

    private func isRefused(_ code: String, _ d: DeviceFixture, from source: String) async throws -> String? {
        guard case .tooMany(let shortage) = try await d.devices.enter(code, browser: d.f.browser, source: source) else {
            return nil
        }
        #expect(shortage.retryAfterSeconds == 10)
        return shortage.setting
    }

    @Test("guesses are counted for each source before they are looked at; right codes are not (parity F133)")
    func guessesOfASource() async throws {
        try await DeviceFixture.run(limits: Self.few) { d in
            let device = try await d.device()
            for _ in 0..<10 { #expect(try await d.enter(device.userCode) != nil) }
            for _ in 0..<3 { #expect(try await d.enter("ZZZZZ-ZZZZZ") == nil) }
            #expect(try await self.isRefused("ZZZZZ-ZZZZZ", d, from: "a") == "guessesPerMinute")
            #expect(try await self.isRefused(device.userCode, d, from: "a") == "guessesPerMinute", "a right one, too")
            #expect(try await self.isRefused(device.userCode, d, from: "b") == nil, "another source")
            d.f.clock.advance(.seconds(10))
            #expect(try await d.enter(device.userCode) != nil)
        }
    }

    @Test("whoever types wrong codes from very many networks keeps nobody else from signing a device in (decision 35)")
    func guessesFromManyNetworks() async throws {
        try await DeviceFixture.run(limits: Self.few) { d in
            let device = try await d.device()
            for source in 0..<700 { #expect(try await d.enter("ZZZZZ-ZZZZZ", source: "network \(source)") == nil) }
            #expect(try await d.enter(device.userCode, source: "another network") != nil)
        }
    }

    @Test(
        "a client has so many devices wait; one that proves nothing has so many for each source (parity F133)",
        arguments: ["client_secret_basic", "none"])
    func devicesOfAClient(method: String) async throws {
        try await DeviceFixture.run(limits: Self.few, method: method) { d in
            for _ in 0..<2 { #expect(try await d.ask().status == 200) }
            let refused = try await d.ask()
            #expect(refused.status == 429 && refused.header("Retry-After") == "10")
            #expect(refused.refusal?.setting == "deviceCodesPerMinute")
            #expect(try await d.ask(source: "elsewhere").status == (method == "none" ? 200 : 429))
        }
    }

    // MARK: What comes of it

    @Test("an app's device renews its tokens by the key that it showed, and by no other")
    func renews() async throws {
        try await DeviceFixture.run(method: "none") { d in
            let (key, other) = (try KeyHolder(), try KeyHolder())
            let device = try await d.device(scope: "openid offline_access")
            try await d.confirm(device)
            let answer = try await d.poll(device, proofs: [key.proof(d.f)])
            let body = try #require(answer.body)
            #expect(body["token_type"] == .string("DPoP"))
            let access = try d.f.claims(try body.requiredString("access_token"), type: "at+jwt")
            #expect(access.members["cnf"] == key.confirmation)
            let form = Parameters([
                "grant_type": "refresh_token", "refresh_token": try body.requiredString("refresh_token"),
                "client_id": d.client.client.id,
            ]).encoded
            func renew(_ key: KeyHolder) async throws -> ProviderAnswer {
                try await d.f.provider.grants.answer(header: nil, body: form, proofs: [key.proof(d.f)])
            }
            #expect(try await renew(other).error == "invalid_grant")
            #expect(try await renew(key).status == 200)
        }
    }

    @Test("a question whose device still waits uses up its proof: repeated, it does not take the tokens")
    func proofOfQuestion() async throws {
        try await DeviceFixture.run(method: "none") { d in
            let key = try KeyHolder()
            let device = try await d.device()
            let proof = try await key.proof(d.f)
            #expect(try await d.poll(device, proofs: [proof]).error == "authorization_pending")
            try await d.confirm(device)
            d.f.clock.advance(.seconds(5))
            #expect(try await d.poll(device, proofs: [proof]).error == "invalid_dpop_proof")
            #expect(try await d.poll(device, proofs: [key.proof(d.f)]).status == 200)
        }
    }

    @Test("the person finds the device among their sessions, and ends what it has there")
    func isRevoked() async throws {
        try await DeviceFixture.run { d in
            let device = try await d.device(scope: "openid offline_access")
            try await d.confirm(device)
            let body = try #require(try await d.poll(device).body)
            let sessions = try await d.f.provider.sessions.running(ofAccount: "account-a")
            #expect(sessions.map { $0.services.map(\.origin) } == [["https://tv.example"]])
            try await d.f.endSessions()
            let access = try body.requiredString("access_token")
            #expect(try await d.f.provider.userinfo.answer(header: "Bearer \(access)").status == 401)
            let form = Parameters([
                "grant_type": "refresh_token", "refresh_token": try body.requiredString("refresh_token"),
            ]).encoded
            #expect(try await d.f.provider.grants.answer(header: d.header, body: form).error == "invalid_grant")
        }
    }

    @Test("what was ended before the device took it is not given")
    func isRevokedBefore() async throws {
        try await DeviceFixture.run { d in
            let device = try await d.device()
            try await d.confirm(device)
            try await d.f.endSessions()
            #expect(try await d.poll(device).error == "invalid_grant")
        }
    }

    @Test("the trail says who signed which client's device in, and that a code came twice")
    func trail() async throws {
        try await DeviceFixture.run { d in
            let device = try await d.device()
            try await d.confirm(device)
            _ = try await d.poll(device)
            _ = try await d.pollInTime(device)
            let entries = try await d.f.store.auditEntries(after: 0, limit: 100)
            let kinds = entries.map(\.event.kind.rawValue)
            #expect(kinds.suffix(2) == ["device-confirmed", "code-replayed"])
            #expect(entries.suffix(2).allSatisfy { $0.event.accountID == "account-a" })
            #expect(entries.dropLast().last?.event.detail == d.client.client.id)
        }
    }
}
