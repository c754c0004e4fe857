import Ceremony
import CeremonyEngine
import Foundation
import JOSE
import PersonalInformation
import SQLiteStore
import Store
import Testing
import UAF
import _Primitives

@Suite("Identity sessions: from a page's code to a signed-in browser (identity parity, rows 5 to 40)")
struct IdentityLoginTests {
    @Test func aCodeSignsTheWaitingBrowserIn() async throws {
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

    /// A link is for the browser that shows it: what somebody else has sent leads to nothing.
    @Test func aLinkLeadsBackToTheBrowserThatBegan() async throws {
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

    @Test func aLinkInAnotherBrowserSignsNobodyIn() async throws {
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

    // MARK: Start

    @Test("row 5") func anExpiredCodeIsRefused() async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode()
        server.clock.advance(.seconds(61))
        await #expect(throws: IdentityProblem(.sessionExpired)) { () async throws in _ = try await phone.start(code) }
    }

    @Test("row 6") func aCodeIsClaimedOnce() async throws {
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
    }

    @Test func aClaimOfAnotherSessionIsNone() async throws {
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

    /// What a page has shown before it was given other codes.
    @Test func anEarlierCodeOfThePageIsDead() async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let first = try await server.showCode()
        let second = try await server.showCode()
        #expect(first.id == second.id)
        await #expect(throws: IdentityProblem(.sessionExpired)) { () async throws in _ = try await phone.start(first) }
        _ = try await phone.start(second)
    }

    @Test func aVersionThatIsNotSpokenIsRefused() async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode()
        await #expect(throws: IdentityProblem(.protocolVersionUnsupported)) { () async throws in
            _ = try await phone.start(code.id, claim: code.claim, version: 2)
        }
    }

    @Test("row 89") func aDeviceThatIsNotSoundIsRefused() async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode()
        let rooted = SecurityReport(
            date: server.clock.now, checkVersion: 1, osVersion: "1", isRooted: true, isHooked: false)
        do {
            _ = try await phone.start(code.id, claim: code.claim, security: rooted)
            Issue.record("taken")
        } catch let problem as IdentityProblem {
            #expect(problem.code == .securityInsufficient && problem.reasons == ["rooted"])
        }
        _ = try await phone.start(code)
        await expectRefusal(.securityInsufficient) { () async throws in
            _ = try await phone.prepare(code.id, security: rooted)
        }
        let prepared = try await phone.prepared(code.id)
        let call = try await phone.finishCall(code.id, prepared, [.device, .pin], security: rooted)
        let reply = try await server.engine.identities.finishes.finish(code.id, call)
        #expect(reply.refusal == "securityInsufficient")
        #expect(try await server.lockout(of: phone) == LockoutRecord())
    }

    // MARK: Who may come

    @Test("rows 84, 85") func aServiceTakesWhomItsProfileSays() async throws {
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
        #expect(try await server.lockout(of: phone) == LockoutRecord())

        // Whoever was invited when the session began, and is not any more.
        _ = try await server.database.revokeRole(
            "patient", accountID: account.id, service: TestServer.service,
            audit: AuditEvent(.roleRevoked, at: server.clock.now))
        try await server.addService {
            $0.requiresInvitation = true
            $0.usesDefaultRoles = true
        }
        _ = try await server.database.resetRoles(
            accountID: account.id, service: TestServer.service, audit: AuditEvent(.rolesReset, at: server.clock.now))
        await #expect(throws: IdentityProblem(.invitationRequired)) { () async throws in
            _ = try await phone.prepare(code.id)
        }

        try await server.addService { $0.isActive = false }
        await #expect(throws: CeremonyError(.forbidden)) { () async throws in
            _ = try await server.showCode("inactive")
        }
        try await server.addService(loginDomains: [try LoginDomain("*.health.example")])
        await #expect(throws: CeremonyError(.forbidden)) { () async throws in
            _ = try await server.showCode("elsewhere")
        }
    }

    @Test("row 11") func onlyHeldRolesAreOffered() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.personalise()
        try await server.addService(
            roles: [try TestServer.role("patient"), try TestServer.role("doctor", isDefault: false)])
        let code = try await server.showCode()
        #expect(try await phone.start(code).roles.map(\.id) == ["patient"])
        await #expect(throws: IdentityProblem(.roleNotSelected)) { () async throws in
            _ = try await phone.prepare(code.id, role: "doctor")
        }
        _ = try await server.database.revokeRole(
            "patient", accountID: account.id, service: TestServer.service,
            audit: AuditEvent(.roleRevoked, at: server.clock.now))
        let next = try await server.showCode("next")
        await #expect(throws: IdentityProblem(.noRole)) { () async throws in _ = try await phone.start(next) }
    }

    @Test("rows 7, 8") func ofSeveralRolesOneIsChosen() async throws {
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

    @Test("rows 12, 13, 14") func aMatrixIsFilteredByWhatTheActivationHas() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.personalise()
        let rich = try await server.addIdentity(to: account, factors: [.device, .pin, .biometric])
        try await server.addService(
            roles: [
                try TestServer.role("patient"), try TestServer.role("doctor", [[.biometric, .device]]),
            ])
        let poor = try await phone.start(try await server.showCode("poor")).roles
        #expect(poor[0].alternatives == [["pin", "device"]] && poor[0].missing == [])
        #expect(poor[1].alternatives == [["biometric", "device"]] && poor[1].missing == ["biometric"])
        let full = try await rich.start(try await server.showCode("rich")).roles
        #expect(full[0].alternatives == [["pin", "device"], ["biometric", "device"]] && full[0].missing == [])
    }
}
