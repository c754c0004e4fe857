import Accounts
import Ceremony
import CeremonyEngine
import Crypto
import Foundation
import JOSE
import PersonalInformation
import Records
import SQLStore
import Testing
import UAF
import _Primitives

@Suite("Sessions of identities: from a page's code to a signed-in browser")
struct IdentityLoginTests {
    @Test("An activation whose key was kept compressed, as it was before, signs in; one that is no key proves nothing")
    func keptBefore() async throws {
        for isKey in [true, false] {
            let server = try TestServer()
            try await server.addService()
            let (_, phone) = try await server.personalise()
            #expect(try await server.database.activation(id: phone.id)?.signingKey.count == 65)
            let code = try await server.showCode()
            let point = Array(phone.signing.publicKey.compressedRepresentation)
            let kept = isKey ? point : [9] + point.dropFirst()
            _ = try await server.database.step(
                session: code.id, activation: phone.id, tokenDigest: nil, request: nil
            ) { scene in
                scene.activation.signingKey = kept
                return (IdentityChange(), true)
            }
            #expect(try await server.database.activation(id: phone.id)?.signingKey == kept)
            if isKey {
                #expect(try await phone.login(code).purpose == .userLogin)
            } else {
                await expectRefusal(.notProven) { _ = try await phone.login(code) }
            }
        }
    }

    @Test("A code that a page shows signs the waiting browser in, and nobody before the factors")
    func aCodeSignsTheWaitingBrowserIn() async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        let code = try await server.showCode()
        #expect(code.kind == .authentication && code.server == IdentityPhone.issuer)
        let signIns = server.engine.signIns
        #expect(try await signIns.state(reference: "request", browser: server.browser) == .waiting)

        let document = try await phone.start(code)
        #expect(document.purpose == .userLogin)
        #expect(document.service == SessionDocument.Service(name: "Health Portal", origin: "https://health.example"))
        #expect(document.roles.map(\.id) == ["patient"])
        #expect(try await signIns.state(reference: "request", browser: server.browser) == .claimed)

        let prepared = try await phone.prepared(code.id)
        #expect(prepared.pinVersion == 1)
        server.clock.advance(.seconds(7))
        guard case .accepted(let accepted) = try await phone.finish(code.id, prepared) else {
            Issue.record("refused")
            return
        }
        #expect(accepted.purpose == .userLogin && accepted.roleName == "Patient" && accepted.location == nil)
        #expect(accepted.service.origin == "https://health.example" && accepted.finishedAt == server.clock.now)
        #expect(try await signIns.state(reference: "request", browser: server.browser) == .approved)

        let outcome = try await signIns.consume(
            reference: "request", browser: server.browser, client: TestServer.service)
        #expect(outcome?.accountID == account.id && outcome?.deviceID == phone.id)
        #expect(outcome?.authTime == accepted.finishedAt)
        #expect(outcome?.acr == "urn:countersign:acr:two-factor")
        #expect(outcome?.amr.contains("mfa") ?? false)
    }

    @Test("A link leads back to the browser that has shown it, which is signed in there")
    func aLinkLeadsBackToTheBrowserThatBegan() async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        let accepted = try await phone.login(try await server.showCode(byLink: true))
        let location = try #require(accepted.location)
        let signIns = server.engine.signIns
        #expect(try await signIns.state(reference: "request", browser: server.browser) == .approvedOnDevice)
        let code = try #require(location.split(separator: "=").last.map(String.init))
        let resumed = try await signIns.resume(code: code, browser: server.browser)
        #expect(resumed.reference == "request")
        let outcome = try await signIns.consume(
            reference: "request", browser: server.browser, client: TestServer.service)
        #expect(outcome?.accountID == account.id)
    }

    @Test("A link that somebody else has sent signs nobody in")
    func aLinkInAnotherBrowserSignsNobodyIn() async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let accepted = try await phone.login(try await server.showCode(byLink: true))
        let code = try #require(accepted.location?.split(separator: "=").last.map(String.init))
        await #expect(throws: CeremonyError(.wrongBrowser)) { () async throws in
            _ = try await server.engine.signIns.resume(code: code, browser: RandomSource.system.token())
        }
        #expect(
            try await server.engine.signIns.consume(
                reference: "request", browser: server.browser, client: TestServer.service) == nil)
    }

    @Test("A login that another browser has visited still goes on in the one that began")
    func aVisitOfAnotherBrowserSpendsNothing() async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        let code = try await server.showCode(byLink: true)
        let location = try #require(try await phone.login(code).location)
        let continuation = try #require(location.split(separator: "=").last.map(String.init))
        await #expect(throws: CeremonyError(.wrongBrowser)) { () async throws in
            _ = try await server.engine.signIns.resume(code: continuation, browser: RandomSource.system.token())
        }
        let signIns = server.engine.signIns
        #expect(try await signIns.state(reference: "request", browser: server.browser) == .approvedOnDevice)
        #expect(try await signIns.resume(code: continuation, browser: server.browser).reference == "request")
        let outcome = try await signIns.consume(
            reference: "request", browser: server.browser, client: TestServer.service)
        #expect(outcome?.accountID == account.id)
        let history = try await server.database.identityHistory(accountID: account.id, limit: 9)
        #expect(history.map(\.outcome) == [.finished])
        #expect(try await phone.login(try await server.showCode("next")).purpose == .userLogin)
    }

    // MARK: Start

    @Test("A code is taken up to its last second, and refused as expired from then on")
    func anExpiredCodeIsRefused() async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let last = try await server.showCode("last")
        server.clock.advance(.seconds(59))
        _ = try await phone.start(last)
        let code = try await server.showCode()
        server.clock.advance(.seconds(60))
        await #expect(throws: IdentityProblem(.sessionExpired)) { () async throws in _ = try await phone.start(code) }
        _ = try await server.engine.sweep.run()
        await #expect(throws: IdentityProblem(.sessionExpired)) { () async throws in _ = try await phone.start(code) }
    }

    @Test("A code is the activation's that claims it first: every other is told that it is consumed")
    func aCodeIsClaimedOnce() async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        let second = try await server.addIdentity(to: account)
        let (_, third) = try await server.personalise("bob")
        let code = try await server.showCode()
        _ = try await phone.start(code)
        await #expect(throws: IdentityProblem(.sessionConsumed)) { () async throws in _ = try await second.start(code) }
        await #expect(throws: IdentityProblem(.sessionConsumed)) { () async throws in _ = try await third.start(code) }
        await #expect(throws: IdentityProblem(.sessionConsumed)) { () async throws in _ = try await phone.start(code) }
        guard case .accepted = try await phone.finish(code.id, try await phone.prepared(code.id)) else {
            Issue.record("the first is disturbed")
            return
        }
    }

    @Test("With the secret of another code nothing is claimed")
    func aClaimOfAnotherSessionIsNone() async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode()
        let other = try await server.showCode("another")
        await #expect(throws: IdentityProblem(.invalidRequest)) { () async throws in
            _ = try await phone.start(code.id, claim: other.claim)
        }
        await #expect(throws: IdentityProblem(.sessionUnknown)) { () async throws in
            _ = try await phone.start("none", claim: other.claim)
        }
        _ = try await phone.start(code)
    }

    @Test("A code that the page has shown before its present one is dead")
    func anEarlierCodeOfThePageIsDead() async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let first = try await server.showCode()
        let second = try await server.showCode()
        #expect(first.id == second.id)
        await #expect(throws: IdentityProblem(.sessionExpired)) { () async throws in _ = try await phone.start(first) }
        _ = try await phone.start(second)
    }

    @Test("A version of the protocol that the server does not speak is refused by its name")
    func aVersionThatIsNotSpokenIsRefused() async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode()
        await #expect(throws: IdentityProblem(.protocolVersionUnsupported)) { () async throws in
            _ = try await phone.start(code.id, claim: code.claim, version: 2)
        }
    }

    @Test(
        "A device that says it is not sound is refused at every step, with the reasons, and it counts for nothing",
        arguments: ["rooted", "hooked"])
    func aDeviceThatIsNotSoundIsRefused(reason: String) async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        let report = SecurityReport(
            date: server.clock.now, checkVersion: 1, osVersion: "1", isRooted: reason == "rooted",
            isHooked: reason == "hooked")
        func refused(at place: SourceLocation = #_sourceLocation, _ body: () async throws -> Void) async {
            let problem = await #expect(throws: IdentityProblem.self, sourceLocation: place) { try await body() }
            #expect(
                problem?.code == .securityInsufficient && problem?.reasons == [reason], sourceLocation: place)
        }
        let offer = try await server.offer(to: account)
        let open = IdentityCall(
            path: "/identity/activations/\(offer.id)/open",
            body: OpenRequest(claim: offer.claim, security: report).serialized, proof: nil)
        let opened = try await server.engine.identities.openings.open(offer.id, open)
        await refused { () async throws in _ = try await server.read(opened, to: open, as: OpenResponse.self) }

        let code = try await server.showCode()
        await refused { () async throws in
            _ = try await phone.start(code.id, claim: code.claim, security: report)
        }
        _ = try await phone.start(code)
        await refused { () async throws in _ = try await phone.prepare(code.id, security: report) }
        let prepared = try await phone.prepared(code.id)
        let call = try await phone.finishCall(code.id, prepared, [.device, .pin], security: report)
        let reply = try await server.engine.identities.judgement.finish(code.id, call)
        await refused { () async throws in _ = try await phone.read(reply, to: call, as: FinishResponse.self) }
        #expect(try await server.lockout(of: phone) == LockoutRecord())
        #expect(try await server.database.offer(id: offer.id)?.lockout == LockoutRecord())
        guard case .accepted = try await phone.finish(code.id, prepared) else {
            Issue.record("refused without a report")
            return
        }
    }

    @Test("A deployment may take rooted devices, and may ask every device for a report")
    func whatIsSoundIsTheDeploymentsToSay() async throws {
        let server = try TestServer {
            $0.identities.acceptsRooted = true
            $0.identities.requiresSecurityReport = true
        }
        try await server.addService()
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let offer = try await server.offer(to: account)
        let problem = await #expect(throws: IdentityProblem.self) { _ = try await server.open(offer) }
        #expect(problem?.code == .securityInsufficient && problem?.reasons == ["noReport"])
        func open(isHooked: Bool) async throws {
            let report = SecurityReport(
                date: server.clock.now, checkVersion: 1, osVersion: "1", isRooted: true, isHooked: isHooked)
            let call = IdentityCall(
                path: "/identity/activations/\(offer.id)/open",
                body: OpenRequest(claim: offer.claim, security: report).serialized, proof: nil)
            let reply = try await server.engine.identities.openings.open(offer.id, call)
            _ = try await server.read(reply, to: call, as: OpenResponse.self)
        }
        try await open(isHooked: false)
        let hooked = await #expect(throws: IdentityProblem.self) { try await open(isHooked: true) }
        #expect(hooked?.reasons == ["hooked"])
    }

    // MARK: Who may come

    @Test("Only who was invited comes to a service that wants it so, from start to factors, and it counts for nothing")
    func aServiceTakesWhomItHasInvited() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.personalise()
        try await server.addService { $0.requiresInvitation = true }
        let code = try await server.showCode()
        await #expect(throws: IdentityProblem(.invitationRequired)) { () async throws in _ = try await phone.start(code)
        }
        _ = try await server.database.assignRole(
            "patient", accountID: account.id, service: TestServer.service,
            audit: AuditEvent(.roleAssigned, at: server.clock.now))
        _ = try await phone.start(code)

        // Whoever was invited when the session began, and is not any more.
        _ = try await server.database.resetRoles(
            accountID: account.id, service: TestServer.service, audit: AuditEvent(.rolesReset, at: server.clock.now))
        await #expect(throws: IdentityProblem(.invitationRequired)) { () async throws in
            _ = try await phone.prepare(code.id)
        }
        #expect(try await server.lockout(of: phone) == LockoutRecord())
    }

    @Test("Only members come to a service of an organisation, from start to factors, and it counts for nothing")
    func aServiceTakesItsMembers() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.personalise()
        let organisation = OrganisationRecord(
            id: RandomSource.system.identifier(), name: "Clinic", createdAt: server.clock.now)
        try await server.database.addOrganisation(
            organisation, limit: 10, audit: AuditEvent(.organisationAdded, at: server.clock.now))
        try await server.addService { $0.membershipOrganisation = organisation.id }
        let code = try await server.showCode()
        await #expect(throws: IdentityProblem(.membershipRequired)) { () async throws in _ = try await phone.start(code)
        }
        _ = try await server.database.addMember(
            accountID: account.id, organisation: organisation.id,
            audit: AuditEvent(.memberAdded, at: server.clock.now))
        _ = try await phone.start(code)
        _ = try await server.database.removeMember(
            accountID: account.id, organisation: organisation.id,
            audit: AuditEvent(.memberRemoved, at: server.clock.now))
        await #expect(throws: IdentityProblem(.membershipRequired)) { () async throws in
            _ = try await phone.prepare(code.id)
        }
        #expect(try await server.lockout(of: phone) == LockoutRecord())
    }

    @Test("A service that is switched off shows no code, and ends what was begun before")
    func aServiceThatIsSwitchedOffTakesNobody() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.personalise()
        try await server.addService()
        let code = try await server.showCode()
        try await server.addService { $0.isActive = false }
        await #expect(throws: CeremonyError(.forbidden)) { () async throws in
            _ = try await server.showCode("inactive")
        }
        await #expect(throws: IdentityProblem(.serviceInactive)) { () async throws in _ = try await phone.start(code) }
    }

    @Test("Codes are shown on hosts below a login domain, and neither on the domain nor on what looks like it")
    func aServiceShowsItsCodesOnItsOwnPages() async throws {
        let server = try TestServer()
        try await server.addService(loginDomains: [try LoginDomain("*.health.example")])
        for (index, host) in ["www.health.example", "a.b.health.example"].enumerated() {
            #expect(try await server.showCode("own \(index)", origin: "https://\(host)").kind == .authentication)
        }
        for (index, host) in [
            "health.example", "www.ahealth.example", "evilhealth.example", "www.health.example.evil.example",
            "www-health.example", "other.example",
        ].enumerated() {
            await #expect(throws: CeremonyError(.forbidden), "\(host)") { () async throws in
                _ = try await server.showCode("foreign \(index)", origin: "https://\(host)")
            }
        }
        await #expect(throws: CeremonyError(.forbidden)) { () async throws in
            _ = try await server.showCode("no origin", origin: nil)
        }
    }

    @Test("A person is offered the roles that they have, and comes as no other")
    func onlyHeldRolesAreOffered() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.personalise()
        try await server.addService(
            roles: [try TestServer.role("patient"), try TestServer.role("doctor", isDefault: false)])
        let code = try await server.showCode()
        #expect(try await phone.start(code).roles.map(\.id) == ["patient"])
        await #expect(throws: IdentityProblem(.roleNotSelected)) { () async throws in
            _ = try await phone.prepare(code.id, role: "doctor")
        }
        _ = try await server.database.assignRole(
            "doctor", accountID: account.id, service: TestServer.service,
            audit: AuditEvent(.roleAssigned, at: server.clock.now))
        #expect(try await phone.start(try await server.showCode("both")).roles.map(\.id) == ["patient", "doctor"])
        _ = try await server.database.revokeRole(
            "doctor", accountID: account.id, service: TestServer.service,
            audit: AuditEvent(.roleRevoked, at: server.clock.now))
        _ = try await server.database.revokeRole(
            "patient", accountID: account.id, service: TestServer.service,
            audit: AuditEvent(.roleRevoked, at: server.clock.now))
        let next = try await server.showCode("next")
        await #expect(throws: IdentityProblem(.noRole)) { () async throws in _ = try await phone.start(next) }
    }

    @Test("Of several roles one is chosen, and is the one that is signed")
    func ofSeveralRolesOneIsChosen() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.personalise()
        try await server.addService(roles: [try TestServer.role("patient"), try TestServer.role("doctor")])
        let code = try await server.showCode()
        _ = try await phone.start(code)
        await #expect(throws: IdentityProblem(.roleNotSelected)) { () async throws in
            _ = try await phone.prepare(code.id)
        }
        let document = try SessionDocument(parsing: try await phone.prepared(code.id, role: "doctor").document)
        #expect(document.role == SessionDocument.Role(id: "doctor", name: "Doctor"))
    }

    @Test("A role asks for its alternatives as they are configured, of those for what the activation has")
    func aMatrixIsFilteredByWhatTheActivationHas() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.personalise()
        let rich = try await server.addIdentity(to: account, factors: [.device, .pin, .biometric])
        try await server.addService(
            roles: [
                try TestServer.role("patient", [[.biometric, .device], [.pin, .device]]),
                try TestServer.role("doctor", [[.biometric, .device], [.biometric, .pin]]),
            ])
        let full = try await rich.start(try await server.showCode("rich")).roles
        #expect(full[0].alternatives == [["biometric", "device"], ["pin", "device"]] && full[0].missing == [])
        #expect(full[1].alternatives == [["biometric", "device"], ["biometric", "pin"]] && full[1].missing == [])
        let code = try await server.showCode("poor")
        let poor = try await phone.start(code).roles
        #expect(poor[0].alternatives == [["pin", "device"]] && poor[0].missing == [])
        // Of what it has nothing fits: all of it is said, and what is missing.
        #expect(poor[1].alternatives == full[1].alternatives && poor[1].missing == ["biometric"])
        let prepared = try await phone.prepared(code.id, role: "doctor")
        #expect(prepared.alternatives == full[1].alternatives && prepared.missing == ["biometric"])
    }
}
