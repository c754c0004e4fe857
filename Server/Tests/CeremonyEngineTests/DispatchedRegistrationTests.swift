import Accounts
import CeremonyEngine
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite(
    "Decision 4 and operations parity 86: a service has a device enrolled, which is pending until its number is given")
struct DispatchedRegistrationTests {
    private static let desk = DispatchingClient(
        id: "desk", name: "Help Desk", origin: "https://desk.example", mayEnrol: true)

    /// A person with a phone, whom the desk knows.
    private struct Scene {
        let server: TestServer
        let account: AccountRecord
        /// The device of the person.
        let device: AuthenticatedDevice

        init(_ adjust: (inout CeremonyConfiguration) -> Void = { _ in }) async throws {
            self.server = try TestServer(adjust)
            self.account = try await self.server.enrol().account
            self.device = try await self.server.device(of: self.account)
        }

        func dispatch(
            _ context: JSONObject? = nil, client: DispatchingClient = DispatchedRegistrationTests.desk
        ) async throws -> DispatchAnswer {
            try await self.server.engine.dispatches.dispatch(
                DispatchRequest(
                    dispatcher: "link", operation: .registration,
                    context: context ?? ["subject": .string("\(client.id)|\(self.account.id)")]), client: client)
        }

        /// Dispatches, and has a new phone answer. Returns the session and the number that the phone shows.
        func answered(by phone: TestPhone) async throws -> (session: String, number: String) {
            let answer = try await self.dispatch()
            let request = try await self.server.engine.redemptions.redeem(
                token: try #require(answer.token), operation: .registration)
            let judged = try await self.server.engine.registrationAnswers.judge(
                try phone.register(request, name: "New phone"))
            #expect(judged.statusCode == .accepted)
            return (try #require(answer.sessionID), try #require(judged.confirmation?.number))
        }

        func confirm(
            _ session: String, _ number: String, client: DispatchingClient = DispatchedRegistrationTests.desk
        ) async throws -> EnrolmentView {
            try await self.server.engine.enrolments.confirmEnrolment(id: session, number: number, client: client)
        }

        func status(_ session: String) async throws -> CeremonyStatus {
            try await self.server.engine.sessions.status(
                sessionID: session, clientID: DispatchedRegistrationTests.desk.id)
        }

        func devices() async throws -> [String: Bool] {
            try await self.server.database.devices(accountID: self.account.id).reduce(into: [:]) {
                $0[$1.name] = $1.isActive
            }
        }

        func notices() async throws -> [NoticeRecord] {
            try await self.server.database.notices(accountID: self.account.id, limit: 9)
        }
    }

    @Test("The session goes over clientRegistering to succeeded, and the device authenticates after its number alone")
    func wholePath() async throws {
        let scene = try await Scene()
        let phone = try TestPhone()
        let before = try await scene.notices().count
        let answer = try await scene.dispatch()
        #expect(answer.result == .dispatched && answer.link != nil)
        let session = try #require(answer.sessionID)
        #expect(try await scene.status(session).state == .tokenCreated)
        let request = try await scene.server.engine.redemptions.redeem(
            token: try #require(answer.token), operation: .registration)
        #expect(request.requester?.service == "Help Desk" && request.requester?.origin == "https://desk.example")
        var status = try await scene.status(session)
        #expect(status.state == .clientRegistering && status.tokenResult == .tokenRedeemed && !status.isFinal)
        #expect(try await scene.notices().count == before)

        let judged = try await scene.server.engine.registrationAnswers.judge(
            try phone.register(request, name: "New phone"))
        let number = try #require(judged.confirmation?.number)
        status = try await scene.status(session)
        #expect(status.state == .clientRegistering && status.uafStatusCode == Int(UAFStatusCode.accepted.rawValue))
        #expect(status.subject == nil)
        // The other devices are told before the number is given.
        let told = try #require(try await scene.notices().first { $0.kind == .enrolmentAsked })
        #expect(told.id == session && told.subject == "New phone" && told.kind.name == "enrolment-asked")
        #expect(try await scene.devices()["New phone"] == false)
        let open = try await scene.server.engine.requests.authentication(username: nil, source: "a")
        let early = try await scene.server.engine.authenticationAnswers.judge(try phone.authenticate(open, counter: 2))
        #expect(early.response.statusCode == .forbidden)

        let view = try await scene.confirm(session, number)
        #expect(view.state == .succeeded && view.deviceName == "New phone")
        status = try await scene.status(session)
        #expect(status.state == .succeeded && status.subject == "desk|\(scene.account.id)")
        #expect(try await scene.devices()["New phone"] == true)
        let late = try await scene.server.engine.authenticationAnswers.judge(try phone.authenticate(open, counter: 2))
        #expect(late.response.statusCode == .ok && late.authenticated?.accountID == scene.account.id)
        await #expect(throws: CeremonyError(.wrongState)) { try await scene.confirm(session, number) }
    }

    @Test("A wrong number, and a number of another client, enrol nothing")
    func wrongNumber() async throws {
        let scene = try await Scene()
        let (session, number) = try await scene.answered(by: try TestPhone())
        let other = DispatchingClient(id: "other", name: "Other", origin: nil, mayEnrol: true)
        await #expect(throws: CeremonyError(.notFound)) { try await scene.confirm(session, number, client: other) }
        await #expect(throws: CeremonyError(.forbidden)) {
            try await scene.confirm(session, number, client: scene.server.bank)
        }
        await #expect(throws: CeremonyError(.notFound)) { try await scene.confirm("unknown", number) }
        #expect(try await scene.devices()["New phone"] == false)
        let wrong = number == "000000" ? "000001" : "000000"
        await #expect(throws: CeremonyError(.wrongNumber)) { try await scene.confirm(session, wrong) }
        #expect(try await scene.status(session).state == .failed)
        #expect(try await scene.devices()["New phone"] == nil)
        await #expect(throws: CeremonyError(.wrongState)) { try await scene.confirm(session, number) }
    }

    @Test("A client does not confirm an operator's enrolment, and without the permission it dispatches none")
    func permission() async throws {
        let scene = try await Scene()
        let link = try await scene.server.engine.enrolments.createEnrolmentLink(username: "alice", by: "operator")
        let request = try await scene.server.engine.redemptions.redeem(
            token: try TestPhone.token(link.link), operation: .registration)
        let judged = try await scene.server.engine.registrationAnswers.judge(try TestPhone().register(request))
        let number = try #require(judged.confirmation?.number)
        await #expect(throws: CeremonyError(.notFound)) { try await scene.confirm(link.id, number) }
        // An operator's own enrolment tells the devices when it is confirmed.
        #expect(try await scene.notices().allSatisfy { $0.kind != .enrolmentAsked })
        await #expect(throws: CeremonyError(.forbidden)) { try await scene.dispatch(client: scene.server.bank) }
    }

    @Test("Subjects that the client was never told are not found, and other contexts are refused")
    func contexts() async throws {
        let scene = try await Scene()
        for subject in ["shop|\(scene.account.id)", scene.account.id, "alice", "desk|nobody"] {
            #expect(try await scene.dispatch(["subject": .string(subject)]).result == .userNotFound)
        }
        let known = JSON.string("desk|\(scene.account.id)")
        for context: JSONObject in [
            [:], ["subject": .integer(1)], ["subject": known, "policy": .string("none")],
            ["subject": known, "transaction": .array([])], ["subject": known, "username": .string("alice")],
        ] {
            await #expect(throws: CeremonyError(.invalidRequest)) { try await scene.dispatch(context) }
        }
        _ = try await scene.server.directory.setLocked(true, username: "alice", by: "test")
        #expect(try await scene.dispatch().result == .dispatchError)
    }

    @Test("Another device of the person declines: the keys are gone, the session has failed, and no number counts")
    func declined() async throws {
        let scene = try await Scene()
        let phone = try TestPhone()
        let (session, number) = try await scene.answered(by: phone)
        let told = try #require(try await scene.notices().first { $0.kind == .enrolmentAsked })
        let (bob, _) = try await scene.server.enrol("bob")
        let bobs = try await scene.server.device(of: bob)
        await #expect(throws: CeremonyError(.notFound)) {
            try await scene.server.engine.enrolments.decline(id: told.id, by: bobs)
        }
        #expect(try await scene.devices()["New phone"] == false)
        try await scene.server.engine.enrolments.decline(id: told.id, by: scene.device)
        #expect(try await scene.status(session).state == .failed)
        #expect(try await scene.devices()["New phone"] == nil)
        await #expect(throws: CeremonyError(.wrongState)) { try await scene.confirm(session, number) }
        await #expect(throws: CeremonyError(.wrongState)) {
            try await scene.server.engine.enrolments.decline(id: told.id, by: scene.device)
        }
        await #expect(throws: CeremonyError(.notFound)) {
            try await scene.server.engine.enrolments.decline(id: "unknown", by: scene.device)
        }
        let events = try await scene.server.database.auditEntries(after: 0, limit: 99).map(\.event)
        let event = try #require(events.first { $0.kind.rawValue == "enrolment-declined" })
        #expect(event.ceremonyID == session && event.detail == scene.device.deviceID)
        let open = try await scene.server.engine.requests.authentication(username: nil, source: "a")
        let answer = try await scene.server.engine.authenticationAnswers.judge(try phone.authenticate(open, counter: 2))
        #expect(answer.response.statusCode == .unknownKeyID)
    }

    @Test("A declined authentication is none: only enrolments are declined")
    func otherCeremonies() async throws {
        let scene = try await Scene()
        let answer = try await scene.server.dispatch("Pay 1 EUR", to: scene.account)
        await #expect(throws: CeremonyError(.notFound)) {
            try await scene.server.engine.enrolments.decline(id: try #require(answer.sessionID), by: scene.device)
        }
    }

    @Test("Registrations count for the person as other dispatches do")
    func budget() async throws {
        let scene = try await Scene { ($0.limits.personDispatchBurst, $0.limits.personDispatchesPerMinute) = (2, 1) }
        for _ in 0..<2 { #expect(try await scene.dispatch().result == .dispatched) }
        await #expect(throws: CeremonyError(.tooManyRequests)) { try await scene.dispatch() }
    }
}
