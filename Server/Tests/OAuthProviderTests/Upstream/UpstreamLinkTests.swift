import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("Who somebody from another provider is here: issuer and subject alone (decision 45)")
struct UpstreamLinkTests {
    /// Signs in to an account by the phone, for a request that waits.
    private func phone(
        _ place: UpstreamPlace, _ request: String, account: String = "account-a"
    ) async throws -> Parameters {
        place.f.authenticate(request, account: account, acr: "urn:low")
        return try await place.complete(request).fields
    }

    /// Does so, and says on the page that follows whether the connection is wanted.
    private func phone(
        _ place: UpstreamPlace, _ request: String, account: String = "account-a", connects isGranted: Bool,
        shown: String? = "up", told: (LinkRefusal) -> Void = { _ in }
    ) async throws -> Parameters {
        place.f.authenticate(request, account: account, acr: "urn:low")
        let completed = try await place.complete(request)
        #expect(completed.fields.members.isEmpty, "asked first")
        let session = try #require(completed.session)
        let question = try await place.provider.authorizations.consentQuestion(
            request: request, browser: place.f.browser, session: session)
        #expect(question?.connection?.name == "up")
        let answer = try await place.provider.authorizations.decide(
            request: request, browser: place.f.browser, session: session, isGranted: isGranted, connection: shown,
            address: nil, notConnected: { told($1) })
        guard case .client(let answer) = answer else { return [:] }
        return try ProviderFixture.fields(of: answer)
    }

    @Test("who does not want it after all, or was shown something else, is signed in, and connected with nobody")
    func declining() async throws {
        try await UpstreamPlace.run { place async throws in
            let (_, request) = try await place.goThere()
            #expect(try await place.signIns.connect("up", request: request, browser: place.f.browser))
            #expect(try await self.phone(place, request, connects: false)["code"] != nil)
            #expect(try await place.account() == nil)
            for shown in [nil, "other"] {
                let (_, second) = try await place.goThere()
                #expect(try await place.signIns.connect("up", request: second, browser: place.f.browser))
                #expect(try await self.phone(place, second, connects: true, shown: shown).members.isEmpty)
                #expect(try await place.account() == nil)
            }
        }
    }

    @Test("who is not known is not let in, and is connected by a fresh sign-in to the account that they ask for")
    func connecting() async throws {
        try await UpstreamPlace.run { place async throws in
            let (step, request) = try await place.goThere()
            #expect(step == .unknownPerson)
            #expect(try await place.complete(request).fields.members.isEmpty)
            #expect(try await place.account() == nil)
            // Another browser, provider or request connects nothing.
            #expect(try await place.signIns.connect("up", request: request, browser: BrowserSecret()) == false)
            #expect(try await place.signIns.connect("other", request: request, browser: place.f.browser) == false)
            #expect(try await place.signIns.connect("up", request: "none", browser: place.f.browser) == false)
            #expect(try await place.signIns.connect("up", request: request, browser: place.f.browser))
            #expect(try await place.account() == nil, "not before the sign-in")
            #expect(try await self.phone(place, request, connects: true)["code"] != nil)
            #expect(try await place.account() == "account-a")
            let linked = try #require(try await place.trail("identity-linked").first)
            let link = try #require(try await place.providers.links(ofAccount: "account-a").first)
            #expect(linked.accountID == "account-a" && linked.detail == "up \(link.id)")
            #expect(link.identity.subject == "person-1" && link.identity.issuer == SimulatedProvider.issuer)
            // From then on the provider will do.
            let again = try await place.goThere()
            #expect(again.step == .finished)
            let claims = try await place.claims(again.request)
            #expect(
                try claims.string("sub")
                    == place.provider.keys.subject(ofAccount: "account-a", client: place.f.bank.client.id))
        }
    }

    @Test("who signs in otherwise without asking for it is not connected, nor is who asks for another request")
    func unasked() async throws {
        try await UpstreamPlace.run { place async throws in
            let (first, second) = (try await place.goThere().request, try await place.goThere().request)
            #expect(try await self.phone(place, first)["code"] != nil)
            #expect(try await place.account() == nil)
            #expect(try await place.signIns.connect("up", request: second, browser: place.f.browser))
            let third = try await place.f.begin()
            #expect(try await self.phone(place, third)["code"] != nil)
            #expect(try await place.account() == nil)
        }
    }

    @Test("an account that may not sign in, or not surely enough, is connected with nobody")
    func lockedOrTooLow() async throws {
        try await UpstreamPlace.run { place async throws in
            let (_, request) = try await place.goThere()
            #expect(try await place.signIns.connect("up", request: request, browser: place.f.browser))
            _ = try await place.f.store.setAccountLocked(
                true, id: "account-a",
                audit: AuditEvent(AuditEvent.Kind(rawValue: "locked"), at: place.f.clock.source.now()))
            #expect(try await self.phone(place, request)["error"] == "access_denied")
            let (_, high) = try await place.goThere(
                claims: ["acr": .string("their:mfa=1")], ["acr_values": "urn:high"])
            #expect(try await place.signIns.connect("up", request: high, browser: place.f.browser))
            #expect(
                try await self.phone(place, high, account: "account-b")["error"] == "unmet_authentication_requirements")
            #expect(try await place.account() == nil)
        }
    }

    @Test("an app that others on the device could pass for gets nothing of a sign-in that nobody was asked about")
    func silentApps() async throws {
        try await UpstreamPlace.run({ $0.newcomers = .created }) { place async throws in
            let loopback = "http://127.0.0.1/signed-in"
            _ = try await place.f.store.changeClient(place.f.bank.client.id) { client in
                client.settings.authenticationMethod = "none"
                client.secretDigest = nil
                client.redirectURIs.append(loopback)
                return []
            }
            // The provider can have answered from a session of its own: the page is what the person sees first.
            for _ in 0..<2 {
                let (step, request) = try await place.goThere(["redirect_uri": loopback])
                #expect(step == .finished)
                let completed = try await place.complete(request)
                #expect(completed.fields.members.isEmpty)
                let question = try await place.provider.authorizations.consentQuestion(
                    request: request, browser: place.f.browser, session: completed.session)
                #expect(question?.clientOrigin == "http://127.0.0.1" && question?.connection == nil)
                let answer = try await place.provider.authorizations.decide(
                    request: request, browser: place.f.browser, session: completed.session, isGranted: true,
                    address: nil)
                guard case .client(let answer) = answer else {
                    Issue.record("no answer")
                    return
                }
                #expect(try ProviderFixture.fields(of: answer)["code"] != nil)
            }
            // To an https address, which is one site's alone, it goes at once.
            #expect(try await place.complete(place.goThere().request).fields["code"] != nil)
        }
    }

    @Test("by which claim people are told apart stays, since others could have the same subject by another one")
    func subjectClaimStays() async throws {
        try await UpstreamPlace.run { place async throws in
            var change = UpstreamChange()
            change.subjectClaim = "login"
            await #expect(throws: OAuthError.self) { try await place.providers.change("up", change, by: "operator") }
            change.subjectClaim = "sub"
            #expect(try await place.providers.change("up", change, by: "operator")?.subjectClaim == "sub")
        }
    }

    @Test("an e-mail address connects nobody, verified or not")
    func addresses() async throws {
        try await UpstreamPlace.run({
            $0.emailDomains = ["post.example"]
            $0.newcomers = .created
        }) { place async throws in
            let email = AccountEmail(address: "bob@post.example", isVerified: true)
            _ = try await place.f.store.setAccountEmail(
                email, id: "account-b",
                audit: AuditEvent(AuditEvent.Kind(rawValue: "mail"), at: place.f.clock.source.now()))
            let claims: [String: JSON?] = ["email": .string(email.address), "email_verified": .bool(true)]
            #expect(try await place.goThere(claims: claims).step == .finished)
            #expect(try await place.account() != "account-b")
            // And a user name that is the subject there connects nobody either.
            #expect(try await place.goThere(as: "account-b").step == .finished)
            #expect(try await place.account("account-b") != "account-b")
        }
    }

    @Test("an identity that is somebody's stays theirs, and an account has so many and no more")
    func bounds() async throws {
        try await UpstreamPlace.run { place async throws in
            func connect(_ subject: String, account: String) async throws -> [LinkRefusal] {
                let (_, request) = try await place.goThere(as: subject)
                _ = try await place.signIns.connect("up", request: request, browser: place.f.browser)
                var told: [LinkRefusal] = []
                _ = try await self.phone(place, request, account: account, connects: true) { told.append($0) }
                return told
            }
            // Two ask for the same: the one who signs in first has it.
            let (_, request) = try await place.goThere()
            #expect(try await place.signIns.connect("up", request: request, browser: place.f.browser))
            #expect(try await connect("person-1", account: "account-a").isEmpty)
            var told: [LinkRefusal] = []
            let fields = try await self.phone(place, request, account: "account-b", connects: true) { told.append($0) }
            #expect(fields["code"] != nil, "signed in all the same")
            #expect(told == [.taken])
            #expect(try await place.account() == "account-a")
            for number in 2...Limits.Fixed.linksPerAccount + 1 {
                let told = try await connect("person-\(number)", account: "account-a")
                #expect(told == (number > Limits.Fixed.linksPerAccount ? [.full] : []), "\(number)")
            }
            #expect(
                try await place.providers.links(ofAccount: "account-a").count == Limits.Fixed.linksPerAccount)
            #expect(try await place.account("person-\(Limits.Fixed.linksPerAccount + 1)") == nil)
        }
    }

    @Test("a locked account is told so, and is not signed in when it is locked on the way")
    func locked() async throws {
        try await UpstreamPlace.run({ $0.newcomers = .created }) { place async throws in
            _ = try await place.goThere()
            let account = try #require(try await place.account())
            let (_, request) = try await place.goThere()
            let now = place.f.clock.source.now()
            _ = try await place.f.store.setAccountLocked(
                true, id: account, audit: AuditEvent(AuditEvent.Kind(rawValue: "locked"), at: now))
            #expect(try await place.complete(request).fields["code"] == nil)
            guard case .refused(let refusal)? = try await place.goThere().step else {
                Issue.record("not refused")
                return
            }
            #expect(refusal.code == .keptOut && refusal.reason.contains("unlock"))
            // Who was authenticated there before the lock is not let in after it.
            _ = try await place.f.store.setAccountLocked(
                false, id: account, audit: AuditEvent(AuditEvent.Kind(rawValue: "unlocked"), at: now))
            let before = try await place.goThere(claims: ["auth_time": .integer(now.seconds - 9)])
            #expect(before.step == .finished)
            #expect(try await place.complete(before.request).fields["error"] == "access_denied")
            place.f.clock.advance(.seconds(1))
            #expect(try await place.complete(place.goThere().request).fields["code"] != nil)
        }
    }

    @Test("what was begun by a provider ends with the connection, and with the provider")
    func ends() async throws {
        try await UpstreamPlace.run({ $0.newcomers = .created }) { place async throws in
            func signIn() async throws -> SessionSecret {
                let (_, request) = try await place.goThere()
                return try #require(try await place.complete(request).session)
            }
            func isSignedIn(_ session: SessionSecret) async throws -> Bool {
                if case .client = try await place.provider.authorizations.authorize(
                    place.f.query(), browser: place.f.browser, session: session, source: "a", address: nil)
                {
                    return true
                }
                return false
            }
            let session = try await signIn()
            let account = try #require(try await place.account())
            let link = try #require(try await place.providers.links(ofAccount: account).first)
            let (_, underWay) = try await place.goThere()
            #expect(try await isSignedIn(session))
            #expect(try await place.providers.removeLink(link.id, ofAccount: "account-a", by: "operator") == false)
            #expect(try await place.providers.removeLink(link.id, ofAccount: account, by: "operator"))
            #expect(try await place.providers.removeLink(link.id, ofAccount: account, by: "operator") == false)
            #expect(try await isSignedIn(session) == false)
            #expect(try await place.complete(underWay).fields.members.isEmpty)
            #expect(try await place.trail("identity-unlinked").map(\.accountID) == [account])
            // The person is a new one now.
            let second = try await signIn()
            #expect(try await place.account() != account)
            #expect(try await place.providers.remove("up", by: "operator"))
            #expect(try await place.providers.remove("up", by: "operator") == false)
            #expect(try await isSignedIn(second) == false)
            #expect(try await place.account() == nil)
            #expect(try await place.trail("provider-removed").map(\.detail) == ["up"])
        }
    }

    @Test("what waits for a person's word waits for that person's sign-in to go through")
    func anotherPersonExpected() async throws {
        try await UpstreamPlace.run({ $0.newcomers = .created }) { place async throws in
            _ = try await place.goThere()
            let subject = place.provider.keys.subject(ofAccount: "account-a", client: place.f.bank.client.id)
            let hint = #"{"id_token": {"sub": {"value": "\#(subject)"}}}"#
            let (step, request) = try await place.goThere(["claims": hint])
            #expect(step == .finished)
            #expect(try await place.complete(request).fields["error"] == "login_required")
        }
    }
}
