import Ceremony
import CeremonyEngine
import Crypto
import Foundation
import JOSE
import PersonalInformation
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("Sessions that apps begin: sign-ins of their own, and access to one's own account")
struct IdentityAccessTests {
    private func request(
        redirectURI: String = TestInAppServices.redirectURI, client: String = TestServer.service,
        challenge: String = Base64URL.encode([UInt8](repeating: 7, count: 32))
    ) -> InAppRequest {
        InAppRequest(
            clientID: client, redirectURI: redirectURI, scope: "openid", state: "s", nonce: "n",
            codeChallenge: challenge)
    }

    private func begin(_ phone: IdentityPhone, _ request: InAppRequest) async throws -> SessionOffer {
        let call = try phone.call("/identity/in-app", request)
        return try await phone.read(try await phone.server.engine.identities.appSessions.inApp(call), to: call)
    }

    private func code(_ phone: IdentityPhone, _ session: String) async throws -> CodeResponse {
        let call = try phone.call("/identity/sessions/\(session)/code", EmptyBody())
        return try await phone.read(try await phone.server.engine.identities.control.code(session, call), to: call)
    }

    // MARK: In-app

    @Test("An app signs its own person in without any code to scan, and fetches one authorization code")
    func anAppSignsItsOwnPersonIn() async throws {
        let server = try TestServer()
        try await server.addService { $0.allowsInApp = true }
        let (account, phone) = try await server.personalise()
        let offer = try await self.begin(phone, self.request())
        let document = try await phone.start(offer.session, claim: offer.claim)
        #expect(document.purpose == .serviceLogin && document.service.name == "Health Portal")
        #expect(!document.isForLinks, "a link brings no session of the app's own")
        #expect(try await server.database.ceremony(.id(offer.session))?.channel == .device)
        await #expect(throws: IdentityProblem(.outOfOrder)) { () async throws in
            _ = try await self.code(phone, offer.session)
        }
        let prepared = try await phone.prepared(offer.session)
        guard case .accepted(let accepted) = try await phone.finish(offer.session, prepared) else {
            Issue.record("refused")
            return
        }
        #expect(accepted.purpose == .serviceLogin && accepted.continuesUntil == server.clock.now + .seconds(60))

        let call = try phone.call("/identity/sessions/\(offer.session)/code", EmptyBody())
        let reply = try await server.engine.identities.control.code(offer.session, call)
        let code: CodeResponse = try await phone.read(reply, to: call)
        #expect(code.state == "s" && code.issuer == IdentityPhone.issuer)
        let login = try #require(server.inApp.made.first)
        #expect(login.client == TestServer.service && login.accountID == account.id && login.deviceID == phone.id)
        #expect(login.wish.redirectURI == TestInAppServices.redirectURI && login.wish.nonce == "n")
        #expect(login.authenticatedAt == accepted.finishedAt)
        #expect(try await server.engine.identities.control.code(offer.session, call).body == reply.body)
        await #expect(throws: IdentityProblem(.sessionConsumed)) { () async throws in
            _ = try await self.code(phone, offer.session)
        }
        #expect(server.inApp.made.count == 1)
    }

    @Test("A session of an app is its activation's: no other claims it, or fetches its code, nor is there one later")
    func aCodeIsForTheActivationThatSigned() async throws {
        let server = try TestServer()
        try await server.addService { $0.allowsInApp = true }
        let (account, phone) = try await server.personalise()
        let other = try await server.addIdentity(to: account)
        let offer = try await self.begin(phone, self.request())
        await #expect(throws: IdentityProblem(.invalidRequest)) { () async throws in
            _ = try await other.start(offer.session, claim: offer.claim)
        }
        _ = try await phone.start(offer.session, claim: offer.claim)
        _ = try await phone.finish(offer.session, try await phone.prepared(offer.session))
        await #expect(throws: IdentityProblem(.notProven)) { () async throws in
            _ = try await self.code(other, offer.session)
        }
        server.clock.advance(.seconds(61))
        await #expect(throws: IdentityProblem(.sessionExpired)) { () async throws in
            _ = try await self.code(phone, offer.session)
        }
        #expect(server.inApp.made.isEmpty)
    }

    @Test("Without leave, an exact address and a challenge of PKCE no app begins a session")
    func aServiceThatHasNoAppSessionsIsRefused() async throws {
        let server = try TestServer()
        try await server.addService()
        try await server.addService("open") { $0.allowsInApp = true }
        let (_, phone) = try await server.personalise()
        for request in [
            self.request(), self.request(redirectURI: "https://app.example/other", client: "open"),
            self.request(client: "nobody"), self.request(client: "open", challenge: String(repeating: "!", count: 43)),
        ] {
            await #expect(throws: IdentityProblem(.invalidRequest)) { () async throws in
                _ = try await self.begin(phone, request)
            }
        }
        _ = try await self.begin(phone, self.request(client: "open"))
    }

    @Test("Of requests for the code that come at once one has it made, and the others make none")
    func ofManyRequestsForTheCodeOneHasIt() async throws {
        let server = try TestServer()
        try await server.addService { $0.allowsInApp = true }
        let (_, phone) = try await server.personalise()
        let offer = try await self.begin(phone, self.request())
        _ = try await phone.start(offer.session, claim: offer.claim)
        _ = try await phone.finish(offer.session, try await phone.prepared(offer.session))
        let refusals = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<20 {
                let call = try phone.call("/identity/sessions/\(offer.session)/code", EmptyBody())
                group.addTask { try await server.engine.identities.control.code(offer.session, call).refusal }
            }
            return try await group.reduce(into: [String?]()) { $0.append($1) }
        }
        #expect(server.inApp.made.count == 1, "no session and no grant is left that nobody has the code of")
        #expect(refusals.count(where: { $0 == nil }) == 1 && refusals.count(where: { $0 == "sessionConsumed" }) == 19)
    }

    @Test("Whoever has to agree to something first is told so before anything is signed, and where it comes later then")
    func consentIsToldAsSuch() async throws {
        let server = try TestServer()
        try await server.addService { $0.allowsInApp = true }
        let (_, phone) = try await server.personalise()
        server.inApp.needsConsent = true
        await #expect(throws: IdentityProblem(.consentRequired)) { () async throws in
            _ = try await self.begin(phone, self.request())
        }
        server.inApp.needsConsent = false
        let offer = try await self.begin(phone, self.request())
        _ = try await phone.start(offer.session, claim: offer.claim)
        _ = try await phone.finish(offer.session, try await phone.prepared(offer.session))
        server.inApp.needsConsent = true
        await #expect(throws: IdentityProblem(.consentRequired)) { () async throws in
            _ = try await self.code(phone, offer.session)
        }
        #expect(server.inApp.made.isEmpty)
    }

    @Test("transition 23: a code that waits to be fetched has no more time than it has, and nothing happens to it")
    func aCodeIsNotProlonged() async throws {
        let server = try TestServer()
        try await server.addService { $0.allowsInApp = true }
        let (_, phone) = try await server.personalise()
        let offer = try await self.begin(phone, self.request())
        _ = try await phone.start(offer.session, claim: offer.claim)
        _ = try await phone.finish(offer.session, try await phone.prepared(offer.session))
        server.clock.advance(.seconds(59))
        await #expect(throws: IdentityProblem(.outOfOrder)) { () async throws in
            _ = try await phone.prolong(offer.session)
        }
        _ = try await self.code(phone, offer.session)
    }

    // MARK: Its own account

    @Test("transition 23: what was granted is prolonged by its activation while the person chooses, up to the hard end")
    func aGrantIsProlonged() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.personalise()
        let other = try await server.addIdentity(to: account)
        let begun = server.clock.now
        let (session, prepared) = try await phone.granted(.changePin)
        await #expect(throws: IdentityProblem(.notProven)) { () async throws in _ = try await other.prolong(session) }
        for _ in 0..<2 {
            server.clock.advance(.seconds(290))
            let deadlines = try await phone.prolong(session)
            #expect(deadlines.nextRequestUntil == server.clock.now + .seconds(300))
            #expect(deadlines.lastRequestBefore == begun + .seconds(900))
        }
        server.clock.advance(.seconds(299))
        // Past the sweep, which ends what is over.
        try await server.engine.sweep.run()
        #expect(try await phone.prolong(session).nextRequestUntil == begun + .seconds(900))
        let fresh = TestFactor(.pin)
        let response = try phone.registration([fresh], SessionDocument.challenge(of: prepared.document))
        server.clock.advance(.seconds(20))
        let changed = try await phone.complete(session, .changePin(version: 2, response: response))
        #expect(changed.activation?.pinVersion == 2)
        phone.factors[.pin] = fresh

        let (late, _) = try await phone.granted(.newActivation)
        server.clock.advance(.seconds(300))
        await #expect(throws: IdentityProblem(.grantExpired)) { () async throws in _ = try await phone.prolong(late) }
    }

    @Test("A PIN is changed by who knows the present one, whatever else would do; then that one is wrong")
    func aPINIsChanged() async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise(factors: [.device, .pin, .biometric])
        let offer = try await phone.access(AccessRequest(purpose: .changePin))
        let document = try await phone.start(offer.session, claim: offer.claim)
        #expect(document.roles[0].alternatives == [["pin", "device"]], "the present one is always asked for")
        guard
            case .lockout(let byFinger) = try await phone.finish(
                offer.session, try await phone.prepared(offer.session), [.biometric, .device])
        else {
            Issue.record("a finger is taken for the PIN")
            return
        }
        server.clock.advance(.seconds(6))
        let prepared = try #require(byFinger.next)
        guard case .accepted = try await phone.finish(offer.session, prepared) else {
            Issue.record("refused")
            return
        }
        let fresh = TestFactor(.pin)
        let old = try #require(phone.factors[.pin])
        let response = try phone.registration([fresh], SessionDocument.challenge(of: prepared.document))
        let answer = try await phone.complete(offer.session, .changePin(version: 2, response: response))
        #expect(answer.activation?.pinVersion == 2)

        let code = try await server.showCode()
        _ = try await phone.start(code)
        let next = try await phone.prepared(code.id)
        #expect(next.pinVersion == 2)
        guard case .lockout(let refused) = try await phone.finish(code.id, next) else {
            Issue.record("the old PIN works")
            return
        }
        server.clock.advance(.seconds(6))
        phone.factors[.pin] = fresh
        guard case .accepted = try await phone.finish(code.id, try #require(refused.next)) else {
            Issue.record("the new PIN does not work")
            return
        }
        let account = try #require(try await server.database.activation(id: phone.id)?.device.accountID)
        #expect(!(try await server.database.credentials(accountID: account).contains { $0.keyID == old.keyID }))
    }

    @Test("A PIN that is none is refused a few times, and then the grant is gone")
    func aPINThatIsNoneIsRefusedAFewTimes() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.personalise()
        let (session, prepared) = try await phone.granted(.changePin)
        let response = try phone.registration([TestFactor(.pin)], SessionDocument.challenge(of: prepared.document))
        for _ in 0..<3 {
            await #expect(throws: IdentityProblem(.pinRefused)) { () async throws in
                _ = try await phone.complete(session, .changePin(version: 7, response: response))
            }
        }
        await #expect(throws: IdentityProblem(.pinRefused)) { () async throws in
            _ = try await phone.complete(session, .changePin(version: 2, response: response))
        }
        #expect(try await server.database.activation(id: phone.id)?.pinVersion == 1)
    }

    @Test("A finger is added once, is asked for from then on, and signs")
    func aFactorIsAddedOnce() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.personalise()
        let (session, prepared) = try await phone.granted(.addFactor)
        let finger = TestFactor(.biometric)
        let response = try phone.registration([finger], SessionDocument.challenge(of: prepared.document))
        let answer = try await phone.complete(session, .addFactor(response: response))
        #expect(answer.activation?.factors == ["device", "pin", "biometric"])
        phone.factors[.biometric] = finger
        try await server.addService()
        let code = try await server.showCode()
        #expect(try await phone.start(code).roles[0].alternatives == [["pin", "device"], ["biometric", "device"]])
        let signed = try await phone.finish(code.id, try await phone.prepared(code.id), [.biometric, .device])
        guard case .accepted = signed else {
            Issue.record("refused")
            return
        }
        let (second, again) = try await phone.granted(.addFactor)
        let another = try phone.registration(
            [TestFactor(.biometric)], SessionDocument.challenge(of: again.document))
        await #expect(throws: IdentityProblem(.factorAlreadyEnrolled)) { () async throws in
            _ = try await phone.complete(second, .addFactor(response: another))
        }
        let keys = try await server.database.credentials(
            accountID: try #require(try await server.database.activation(id: phone.id)).device.accountID)
        #expect(keys.count == 3 && keys.contains { $0.keyID == finger.keyID })
    }

    @Test("A finger that its phone names is replaced in one step: the new one signs, and the former no more")
    func aFingerIsReplaced() async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise(factors: [.device, .pin, .biometric])
        let former = try #require(phone.factors[.biometric])
        let name = try KeyID(former.keyID)
        #expect(try await self.record(phone).biometricKey == name)
        let (session, prepared) = try await phone.granted(.addFactor, replacing: name)
        let document = try SessionDocument(parsing: prepared.document)
        #expect(document.text?.text.contains("replaced") == true)
        // Of another model: what the store would put in the place of the former by itself is one of the same.
        let finger = TestFactor(.biometric, biometric: .face)
        let response = try phone.registration([finger], document.challenge)
        let answer = try await phone.complete(session, .addFactor(response: response, replaces: name))
        #expect(answer.activation?.factors == ["device", "pin", "biometric"])
        #expect(answer.activation?.biometricKey == (try KeyID(finger.keyID)))
        #expect(try await self.record(phone) == answer.activation)
        let keys = try await server.database.credentials(accountID: account.id).map(\.keyID)
        #expect(keys.count == 3 && keys.contains(finger.keyID) && !keys.contains(former.keyID))
        let history = try await server.database.identityHistory(accountID: account.id, limit: 9)
        #expect(history.map(\.purpose) == ["addFactor"] && history.map(\.outcome) == [.finished])
        #expect(
            try await server.database.notices(accountID: account.id, limit: 9).map(\.kind).contains(.authenticatorAdded)
        )

        let code = try await server.showCode()
        _ = try await phone.start(code)
        let login = try await phone.prepared(code.id)
        guard case .lockout(let refused) = try await phone.finish(code.id, login, [.biometric, .device]) else {
            Issue.record("the former finger signs")
            return
        }
        server.clock.advance(.seconds(6))
        phone.factors[.biometric] = finger
        guard case .accepted = try await phone.finish(code.id, try #require(refused.next), [.biometric, .device]) else {
            Issue.record("the new finger does not sign")
            return
        }
    }

    private func record(_ phone: IdentityPhone) async throws -> ActivationReceipt {
        let call = try phone.call("/identity/activation", method: "GET")
        return try await phone.read(try await phone.server.engine.identities.activations.record(call), to: call)
    }

    @Test("Nothing is replaced but the activation's own finger, as the person has agreed to it")
    func aFingerIsReplacedByItsNameAlone() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.personalise(factors: [.device, .pin, .biometric])
        let other = try await server.addIdentity(to: account, factors: [.device, .pin, .biometric])
        func name(_ phone: IdentityPhone, _ type: AuthenticatorType) throws -> KeyID {
            try KeyID(try #require(phone.factors[type]).keyID)
        }
        let finger = try name(phone, .biometric)
        let before = try await server.database.credentials(accountID: account.id)
        for request in [
            AccessRequest(purpose: .addFactor, replaces: try KeyID(RandomSource.system.bytes(32))),
            AccessRequest(purpose: .addFactor, replaces: try name(other, .biometric)),
            AccessRequest(purpose: .addFactor, replaces: try name(phone, .device)),
            AccessRequest(purpose: .addFactor, replaces: try name(phone, .pin)),
            AccessRequest(purpose: .changePin, replaces: finger),
        ] {
            await #expect(throws: IdentityProblem(.invalidRequest)) { () async throws in
                _ = try await phone.access(request)
            }
        }
        // What was not agreed to, and another than what was.
        for (agreed, named) in [(nil, finger), (finger, try name(other, .biometric))] {
            let (session, prepared) = try await phone.granted(.addFactor, replacing: agreed)
            let document = try SessionDocument(parsing: prepared.document)
            #expect((document.text == nil) == (agreed == nil))
            let response = try phone.registration([TestFactor(.biometric)], document.challenge)
            await #expect(throws: IdentityProblem(.invalidRequest)) { () async throws in
                _ = try await phone.complete(session, .addFactor(response: response, replaces: named))
            }
            // Without a name it is a second one.
            await #expect(throws: IdentityProblem(.factorAlreadyEnrolled)) { () async throws in
                _ = try await phone.complete(session, .addFactor(response: response))
            }
        }
        let after = try await server.database.credentials(accountID: account.id)
        #expect(Set(after.map(\.keyID)) == Set(before.map(\.keyID)))
    }

    @Test("Of two grants to replace a finger one does") func aFingerIsReplacedOnce() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.personalise(factors: [.device, .pin, .biometric])
        let name = try KeyID(try #require(phone.factors[.biometric]).keyID)
        let first = try await phone.granted(.addFactor, replacing: name)
        let second = try await phone.granted(.addFactor, replacing: name)
        let finger = TestFactor(.biometric)
        func replace(_ grant: (session: String, prepared: PreparedSession), by new: TestFactor) async throws {
            let response = try phone.registration([new], SessionDocument.challenge(of: grant.prepared.document))
            _ = try await phone.complete(grant.session, .addFactor(response: response, replaces: name))
        }
        try await replace(first, by: finger)
        await #expect(throws: IdentityProblem(.factorAlreadyEnrolled)) { () async throws in
            try await replace(second, by: TestFactor(.biometric))
        }
        let keys = try await server.database.credentials(accountID: account.id).map(\.keyID)
        #expect(keys.count == 3 && keys.contains(finger.keyID))
    }

    @Test("Another device is personalised by a code that the first one has had made, and both sign in")
    func anotherDeviceIsGivenAnActivation() async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        let (session, _) = try await phone.granted(.newActivation)
        let offer = TestOffer(id: RandomSource.system.identifier())
        let point = Array(offer.pin.publicKey.rawRepresentation)
        let answer = try await phone.complete(
            session,
            .newActivation(
                Completion.NewActivation(
                    claimDigest: ProcessCode.digest(ofClaim: offer.claim),
                    pinKey: try JWK(.p256(x: Array(point[..<32]), y: Array(point[32...]), d: nil)),
                    pin: try PinParameters(), activation: offer.id, name: "Tablet", secretForMail: nil)))
        let text = ProcessCode.text(signed: try #require(answer.code), secret: offer.secret)
        #expect(try ProcessCode(parsing: text, keys: try await server.keySet().signingKeys).id == offer.id)
        let second = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        let call = try await server.enrolCall(second, try await server.prove(offer, by: second))
        #expect(try await server.engine.identities.enrolments.enroll(offer.id, call).refusal == nil)
        _ = try await second.login(try await server.showCode("second"))
        _ = try await phone.login(try await server.showCode("first"))
        #expect(try await server.database.activations(accountID: account.id).count == 2)
    }

    @Test("An activation is called by no more letters than a proof can name: others are refused, and the grant is kept")
    func lettersOfAnActivationAreBounded() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.personalise()
        let (session, _) = try await phone.granted(.newActivation)
        let pin = Array(P256.Signing.PrivateKey().publicKey.rawRepresentation)
        func ask(bytes: Int) async throws {
            _ = try await phone.complete(
                session,
                .newActivation(
                    Completion.NewActivation(
                        claimDigest: ProcessCode.digest(ofClaim: ProcessCode.claim(of: SecretBytes(pin))),
                        pinKey: try JWK(.p256(x: Array(pin[..<32]), y: Array(pin[32...]), d: nil)),
                        pin: try PinParameters(),
                        activation: Base64URL.encode(RandomSource.system.bytes(bytes)), name: nil,
                        secretForMail: nil)))
        }
        for bytes in [15, 49, 3000] {
            await #expect(throws: IdentityProblem(.invalidRequest), "\(bytes)") { () async throws in
                try await ask(bytes: bytes)
            }
        }
        // 64 letters.
        try await ask(bytes: 48)
    }

    @Test("A deleted account is gone with all that was its own, for good, and nobody else's is touched")
    func anAccountIsDeleted() async throws {
        let server = try TestServer()
        try await server.addService(attributes: [.givenName: .required])
        let (account, phone) = try await server.personalise()
        let (bob, other) = try await server.personalise("bob")
        for phone in [phone, other] {
            _ = try await phone.login(
                try await server.showCode("login of \(phone.id)"), answers: [.givenName: .value("Alice")])
        }
        _ = try await server.database.addEmail(
            AdditionalEmail(id: "mail", address: "alice@home.example", createdAt: server.clock.now),
            accountID: account.id, limit: 5, audit: AuditEvent(.additionalEmailAdded, at: server.clock.now))
        let second = try await server.addIdentity(to: account)
        let pending = try await server.offer(to: account)
        let open = try await server.showCode("open")
        _ = try await second.start(open)

        let (session, _) = try await phone.granted(.delete)
        #expect(try await server.database.account(id: account.id) != nil, "not before it is confirmed")
        #expect(try await phone.complete(session, .delete).activation == nil)
        let database = server.database
        #expect(try await database.account(id: account.id) == nil)
        #expect(try await database.activations(accountID: account.id).isEmpty)
        #expect(try await database.credentials(accountID: account.id).isEmpty)
        #expect(try await database.devices(accountID: account.id).isEmpty)
        #expect(try await database.personalValues(accountID: account.id).isEmpty)
        #expect(try await database.additionalEmails(accountID: account.id).isEmpty)
        #expect(try await database.identityHistory(accountID: account.id, limit: 9).isEmpty)
        #expect(try await database.attributeSelection(accountID: account.id, service: TestServer.service).isEmpty)
        #expect(try await database.notices(accountID: account.id, limit: 9).isEmpty)

        // Nothing of it comes back: neither by an activation, nor by an offer, nor by the grant once more.
        for phone in [phone, second] {
            await #expect(throws: IdentityProblem(.notProven)) { () async throws in
                _ = try await phone.access(AccessRequest(purpose: .addFactor))
            }
        }
        await #expect(throws: IdentityProblem(.notProven)) { () async throws in _ = try await second.prepare(open.id) }
        await #expect(throws: IdentityProblem(.notProven)) { () async throws in
            _ = try await phone.complete(session, .delete)
        }
        await #expect(throws: IdentityProblem(.activationUnknown)) { () async throws in
            _ = try await server.open(pending)
        }

        #expect(try await database.personalValues(accountID: bob.id).map(\.value) == ["Alice"])
        #expect(try await database.identityHistory(accountID: bob.id, limit: 9).count == 1)
        #expect(try await other.login(try await server.showCode("bob again")).purpose == .userLogin)
    }

    @Test("A deletion whose answer was lost is answered the same when that very request comes again, and no other")
    func aLostAnswerToADeletion() async throws {
        // Five requests until it is done, and three that come again.
        let server = try TestServer { ($0.limits.provenRequestBurst, $0.limits.provenRequestsPerMinute) = (8, 0) }
        let (account, phone) = try await server.personalise()
        let (bob, _) = try await server.personalise("bob")
        let completions = server.engine.identities.grantedActions
        let (session, _) = try await phone.granted(.delete)
        let call = try await phone.completeCall(session, .delete, name: "deletion")
        let first = try await completions.complete(session, call)
        #expect(first.refusal == nil)
        #expect(try await server.database.account(id: account.id) == nil)

        // Whatever is not that very request is as unproven as ever, whoever has seen it.
        let thief = IdentityPhone(server, id: phone.id, factors: [])
        var others = [try thief.call(call.path, body: call.body, name: "deletion")]
        for change in 0..<4 {
            var other = call
            switch change {
            case 0: other.body += [32]
            case 1: other.path += "x"
            case 2: other.method = "DELETE"
            default: other.proof = String(try #require(call.proof).dropLast(4)) + "AAAA"
            }
            others.append(other)
        }
        for other in others {
            let reply = try await completions.complete(session, other)
            #expect(reply.status == .notProven && reply.refusal == "notProven")
        }
        server.clock.advance(.seconds(30))
        for _ in 0..<3 { #expect(try await completions.complete(session, call) == first) }
        #expect(try await completions.complete(session, call).status == .tooMany(retryAfter: 3600))
        #expect(try await server.database.account(id: bob.id) != nil)
        let trail = try await server.database.auditEntries(after: 0, limit: 100).map(\.event)
            .filter { $0.kind.rawValue == "identity-completed" }
        #expect(trail.map(\.detail) == ["delete"], "it was done once")

        server.clock.advance(.seconds(91))
        try await server.engine.sweep.run()
        #expect(try await completions.complete(session, call).status == .notProven, "its time is over")
    }

    /// What a purpose is completed with: everything is as it has to be.
    private func completion(
        _ purpose: SessionDocument.Purpose, over prepared: PreparedSession, of phone: IdentityPhone
    ) throws -> Completion {
        let challenge = SessionDocument.challenge(of: prepared.document)
        switch purpose {
        case .addFactor: return .addFactor(response: try phone.registration([TestFactor(.biometric)], challenge))
        case .changePin: return .changePin(version: 2, response: try phone.registration([TestFactor(.pin)], challenge))
        case .newActivation:
            let offer = TestOffer(id: RandomSource.system.identifier())
            return .newActivation(
                Completion.NewActivation(
                    claimDigest: ProcessCode.digest(ofClaim: offer.claim),
                    pinKey: try JWK(p256: offer.pin.publicKey.rawRepresentation), pin: try PinParameters(),
                    activation: offer.id, name: nil, secretForMail: nil))
        default: return .delete
        }
    }

    @Test(
        "Nothing is done without a grant, by another's, for something else, a second time, or later",
        arguments: [SessionDocument.Purpose.addFactor, .changePin, .newActivation, .delete])
    func nothingIsDoneWithoutAGrantOrTwice(purpose: SessionDocument.Purpose) async throws {
        let server = try TestServer()
        let (account, phone) = try await server.personalise()
        let (_, stranger) = try await server.personalise("bob")
        // Begun, and everything is right but that nobody has signed.
        let offer = try await phone.access(AccessRequest(purpose: purpose))
        _ = try await phone.start(offer.session, claim: offer.claim)
        let unsigned = try self.completion(purpose, over: try await phone.prepared(offer.session), of: phone)
        await #expect(throws: IdentityProblem(.notProven)) { () async throws in
            _ = try await stranger.complete(offer.session, unsigned)
        }
        await #expect(throws: IdentityProblem(.outOfOrder)) { () async throws in
            _ = try await phone.complete(offer.session, unsigned)
        }

        let (late, early) = try await phone.granted(purpose)
        let other = try self.completion(purpose == .delete ? .addFactor : .delete, over: early, of: phone)
        await #expect(throws: IdentityProblem(.invalidRequest)) { () async throws in
            _ = try await phone.complete(late, other)
        }
        server.clock.advance(.seconds(301))
        let overdue = try self.completion(purpose, over: early, of: phone)
        await #expect(throws: IdentityProblem(.grantExpired)) { () async throws in
            _ = try await phone.complete(late, overdue)
        }
        #expect(try await server.database.account(id: account.id) != nil)
        let database = server.database
        #expect(try await database.credentials(accountID: account.id).count == 2)
        #expect(try await database.offers(accountID: account.id, at: server.clock.now).isEmpty)
        #expect(try await database.activation(id: phone.id)?.pinVersion == 1)

        let (session, prepared) = try await phone.granted(purpose)
        let right = try self.completion(purpose, over: prepared, of: phone)
        _ = try await phone.complete(session, right)
        // Of a deleted account nobody is left who could prove anything.
        await #expect(throws: IdentityProblem(purpose == .delete ? .notProven : .sessionConsumed)) {
            () async throws in
            _ = try await phone.complete(session, right)
        }
    }
}
