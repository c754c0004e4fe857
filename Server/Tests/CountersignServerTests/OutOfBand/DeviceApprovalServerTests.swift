import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import HummingbirdTesting
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("Operations parity 99 and decision 127: the old phone approves the new one, with the SDK at both ends")
struct DeviceApprovalServerTests {
    /// Alice's old phone, and the way to further phones.
    private struct Scene: Sendable {
        let server: ServerFixture
        let client: any TestClientProtocol
        let old: VirtualPhone

        /// A phone that is enrolled nowhere.
        func newPhone() async throws -> VirtualPhone {
            var configuration = ClientConfiguration(baseURL: try #require(URL(string: "http://localhost:8080")))
            configuration.facetID = "linux:program:countersign-phone"
            return try await VirtualPhone(
                configuration: configuration, transport: RouterTransport(client: self.client), clock: self.server.clock)
        }

        /// Has a phone approve another one. `answer` gets the code while the phone waits, and returns the number that the
        /// person types.
        @discardableResult
        func approve(
            by phone: VirtualPhone, told: Told = Told(),
            _ answer: (DeviceApprovalProgress.Code) async throws -> String
        ) async throws -> AuthenticationSuccess {
            let (codes, found) = AsyncStream.makeStream(of: DeviceApprovalProgress.Code.self)
            let operation = phone.ready(phone.client.operations.deviceApproval.username("alice"))
                .transactionConfirmer(phone.person)
                .onProgress { progress in
                    told.note(progress)
                    if case .code(let code) = progress { found.yield(code) }
                }
            let task = Task {
                defer { found.finish() }
                return try await operation.execute() as AuthenticationSuccess
            }
            var iterator = codes.makeAsyncIterator()
            if let code = await iterator.next() {
                // The operation has asked once, and waits.
                await self.server.clock.untilSleeping()
                do {
                    phone.person.script.numbers = [try await answer(code)]
                } catch {
                    task.cancel()
                    _ = await task.result
                    throw error
                }
                self.server.clock.advance(by: .seconds(2))
            }
            return try await task.value
        }

        /// Has a new phone use a code. Returns the number on its screen.
        func enrol(_ phone: VirtualPhone, by code: DeviceApprovalProgress.Code) async throws -> String {
            let result = try await phone.enroll(
                try OutOfBandPayload(scanned: code.qrContent), deviceName: "Alice's new phone")
            return try #require(result.confirmation?.number)
        }

        func devices() async throws -> [DeviceRecord] {
            let account = try await self.server.assembly.directory.account(written: "alice")
            return try await self.server.database.devices(accountID: account.id)
        }

        func notices(_ phone: VirtualPhone) async throws -> [AccountNotice] {
            try await phone.client.operations.accountNotices.username("alice").execute()
        }
    }

    /// What an operation has told, in order.
    private final class Told: Sendable {
        private let stream = AsyncStream.makeStream(of: DeviceApprovalProgress.self)

        func note(_ progress: DeviceApprovalProgress) { self.stream.continuation.yield(progress) }

        /// Everything until now.
        func all() async -> [DeviceApprovalProgress] {
            self.stream.continuation.finish()
            var all: [DeviceApprovalProgress] = []
            for await progress in self.stream.stream { all.append(progress) }
            return all
        }
    }

    private static func with(
        limits: Limits = Limits(), _ body: @escaping @Sendable (Scene) async throws -> Void
    ) async throws {
        let server = try await ServerFixture(limits: limits)
        try await server.withPublicClient { client in
            try await body(Scene(server: server, client: client, old: try await server.enrolledPhone(client)))
        }
    }

    private static func failure(_ body: () async throws -> Void) async -> OperationError? {
        do { try await body() } catch { return error as? OperationError }
        return nil
    }

    @Test(
        "The old phone shows a code, the text and asks for the number; the new phone is the person's, and all are told")
    func wholeWay() async throws {
        try await Self.with { scene in
            try await scene.server.enterAddress()
            let new = try await scene.newPhone()
            let told = Told()
            let result = try await scene.approve(by: scene.old, told: told) { try await scene.enrol(new, by: $0) }
            #expect(result.account.username == "alice")
            let progress = await told.all()
            #expect(progress.count == 2)
            guard case .code(let code)? = progress.first, case .answered(let device)? = progress.last else {
                Issue.record("not told in order")
                return
            }
            #expect(!"\(code)".contains("dispatchTokenResponse"))
            #expect(device.name == "Alice's new phone" && !device.model.isEmpty && device.network == "local")
            let asked = scene.old.person.asked
            #expect(asked.map(\.question) == [.transaction, .number, .authenticator, .pin])
            let text = String(decoding: asked.first?.transaction ?? Data(), as: UTF8.self)
            #expect(text.contains("Alice's new phone") && text.contains(device.model) && text.contains("local"))
            #expect(try await new.authenticate(username: "alice").account.username == "alice")
            // Every way of the account is told: the devices by a notice, the address by a letter.
            for phone in [scene.old, new] {
                let notice = try #require(try await scene.notices(phone).first { $0.kind == .deviceApproved })
                #expect(notice.subject == "Alice's new phone")
            }
            #expect(try await scene.server.sendMail() == [.delivered])
            #expect(scene.server.mail.text.contains("a device approved by a device"))
            #expect(try scene.server.mail.link().contains("/account/changes/question"))
        }
    }

    @Test("The new phone approves nobody for a day, then approves a third one, and the old phone is removed")
    func succession() async throws {
        try await Self.with { scene in
            let new = try await scene.newPhone()
            try await scene.approve(by: scene.old) { try await scene.enrol(new, by: $0) }
            _ = try await new.authenticate(username: "alice")
            let limit = try #require(try await scene.devices().last?.standing.limitedUntil)
            let error = await Self.failure { try await scene.approve(by: new) { _ in "000000" } }
            #expect(error?.code == .deviceLimited && error?.httpStatus == 403)
            #expect(
                error?.limitedUntil.map { Int64(($0.timeIntervalSince1970 * 1000).rounded()) } == limit.milliseconds)
            scene.server.clock.advance(by: .seconds(24 * 60 * 60))
            let third = try await scene.newPhone()
            try await scene.approve(by: new) { try await scene.enrol(third, by: $0) }
            #expect(try await scene.devices().map(\.isActive) == [true, true, true])
            // The old phone leaves.
            try await scene.old.client.operations.deregistration.username("alice").execute()
            #expect(try await scene.devices().map(\.name) == ["Alice's new phone", "Alice's new phone"])
            #expect(try await new.authenticate(username: "alice").account.username == "alice")
        }
    }

    @Test("A wrong number ends the enrolment, and the new phone's keys are gone")
    func wrongNumber() async throws {
        try await Self.with { scene in
            let new = try await scene.newPhone()
            let error = await Self.failure {
                try await scene.approve(by: scene.old) { code in
                    let number = try await scene.enrol(new, by: code)
                    return number == "000000" ? "000001" : "000000"
                }
            }
            #expect(error?.code == .wrongNumber)
            #expect(try await scene.devices().count == 1)
            let late = await Self.failure { _ = try await new.authenticate(username: "alice") }
            // The server asks for the keys of the old phone alone.
            #expect(late?.fidoErrorCode == .noSuitableAuthenticator)
        }
    }

    @Test("A person who refuses the text, or gives up, leaves no pending device, and the code is worth nothing")
    func refused() async throws {
        for question in [VirtualPerson.Question.transaction, .number, .pin] {
            try await Self.with { scene in
                let new = try await scene.newPhone()
                scene.old.person.script.reactions = [question: .cancels]
                let error = await Self.failure {
                    try await scene.approve(by: scene.old) { try await scene.enrol(new, by: $0) }
                }
                #expect(error == .fido(.userCanceled))
                #expect(try await scene.devices().count == 1)
            }
        }
    }

    @Test("An operation that is cancelled while it waits has ended its code")
    func cancelled() async throws {
        try await Self.with { scene in
            struct Stop: Error {}
            let told = Told()
            await #expect(throws: Stop.self) {
                try await scene.approve(by: scene.old, told: told) { _ in throw Stop() }
            }
            guard case .code(let code)? = await told.all().first else {
                Issue.record("no code")
                return
            }
            let new = try await scene.newPhone()
            let late = await Self.failure { _ = try await scene.enrol(new, by: code) }
            #expect(late?.code == .tokenExpired)
        }
    }

    @Test("A code that nobody uses in ten minutes ends the operation, and a code works for one phone")
    func code() async throws {
        try await Self.with { scene in
            let expired = await Self.failure {
                try await scene.approve(by: scene.old) { _ in
                    scene.server.clock.advance(by: .seconds(600))
                    return "000000"
                }
            }
            #expect(expired?.code == .tokenExpired)
            let (new, thief) = (try await scene.newPhone(), try await scene.newPhone())
            var second: OperationError?
            try await scene.approve(by: scene.old) { code in
                let number = try await scene.enrol(new, by: code)
                second = await Self.failure { _ = try await scene.enrol(thief, by: code) }
                return number
            }
            #expect(second?.code == .tokenAlreadyRedeemed)
            #expect(try await scene.devices().count == 2)
        }
    }

    @Test("Another device of the person declines: the operation ends, and the new phone is nobody's")
    func declined() async throws {
        try await Self.with { scene in
            let tablet = try await TargetPhone("Tablet", at: scene.server, scene.client)
            let new = try await scene.newPhone()
            let error = await Self.failure {
                try await scene.approve(by: scene.old) { code in
                    let number = try await scene.enrol(new, by: code)
                    let (_, told) = try await tablet.send(.get, "/account/v1/notices")
                    let asked = try (told.array("notices") ?? []).compactMap { notice -> String? in
                        guard case .object(let object) = notice, try object.string("kind") == "enrolment-asked" else {
                            return nil
                        }
                        return try object.string("id")
                    }
                    let path = "/account/v1/enrolments/\(try #require(asked.first))"
                    #expect(try await tablet.send(.delete, path).response.status == .noContent)
                    return number
                }
            }
            #expect(error?.code == .newDeviceNotAdded)
            #expect(try await scene.devices().count == 2)
        }
    }

    @Test("The addresses answer the proof of the device that began, and refuse everybody else")
    func addresses() async throws {
        try await Self.with { scene in
            let phone = try await TargetPhone("Tablet", at: scene.server, scene.client)
            let path = "/devices/\(phone.id)/approvals"
            #expect(try await scene.client.send(.post, path).response.status == .unauthorized)
            #expect(try await phone.send(.post, "/devices/another/approvals").response.status == .notFound)
            let (begun, answer) = try await phone.send(.post, path)
            #expect(begun.status == .created && begun.headers[.cacheControl] == "no-store")
            let own = "\(path)/\(try answer.requiredString("id"))"
            let (found, state) = try await phone.send(.get, own)
            #expect(found.status == .ok)
            #expect(try state.string("state") == "created" && state["device"] == nil)
            let (early, problem) = try await phone.send(.post, "\(own)/question")
            #expect(early.status == .conflict && problem.problem == "wrong-state")
            _ = try await scene.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            for other in [
                try await TargetPhone("Second", at: scene.server, scene.client),
                try await TargetPhone("Bob's", of: "bob", at: scene.server, scene.client),
            ] {
                let theirs = "/devices/\(other.id)/approvals/\(try answer.requiredString("id"))"
                for (method, path) in [
                    (HTTPRequest.Method.get, theirs), (.post, "\(theirs)/question"), (.delete, theirs),
                ] {
                    #expect(try await other.send(method, path).response.status == .notFound)
                }
            }
            #expect(try await phone.send(.get, "\(path)/nothing").response.status == .notFound)
            #expect(try await phone.send(.delete, own).response.status == .noContent)
            #expect(try await phone.send(.delete, own).response.status == .conflict)
            #expect(try await phone.send(.get, own).object.string("state") == "cancelled")
            // A replayed proof begins nothing.
            let proof = try phone.proof(.post, path)
            #expect(try await phone.send(.post, path, [], proof).response.status == .created)
            let (again, replayed) = try await phone.send(.post, path, [], proof)
            #expect(again.status == .unauthorized && replayed.problem == "replay-refused")
        }
    }

    @Test("For a day a person who has signed in by the new phone reports no other phone as lost")
    func reports() async throws {
        try await Self.with { scene in
            let new = try await scene.newPhone()
            try await scene.approve(by: scene.old) { try await scene.enrol(new, by: $0) }
            let devices = try await scene.devices()
            let (first, second) = (try #require(devices.first), try #require(devices.last))
            let lost = LostDevices(scene.server.assembly.passwords)
            func from(_ device: DeviceRecord, by signedIn: DeviceRecord?) async throws -> Timestamp? {
                try await lost.reportableFrom(device.id, accountID: device.accountID, by: signedIn?.id)
            }
            let limit = try #require(second.standing.limitedUntil)
            #expect(try await from(first, by: second) == limit)
            #expect(try await from(second, by: second) == nil, "the new phone itself")
            #expect(try await from(second, by: first) == nil, "by the old phone")
            #expect(try await from(first, by: nil) == nil, "by another way")
            let browser = TestBrowser(scene.client)
            let (request, page) = try await scene.server.signInPage(browser, try await scene.server.relyingParty())
            _ = try await new.authenticate(try scene.server.typedPayload(page))
            #expect(try await browser.get("/sign-in/complete?request=\(request)").status == .seeOther)
            let path = "/account/devices/lost"
            let other = try await browser.get("\(path)?device=\(first.id)")
            #expect(other.status == .forbidden && other.text.contains("Not by this device yet"))
            let own = try await browser.get("\(path)?device=\(second.id)")
            #expect(own.status == .ok)
            let token = try #require(own.hiddenFields.split(separator: "&").first { $0.hasPrefix("confirmation=") })
            let posted = try await browser.post(path, form: "\(token)&device=\(first.id)")
            #expect(posted.status == .forbidden && posted.text.contains("Not by this device yet"))
            #expect(try await scene.devices().allSatisfy { $0.standing.restedAt == nil })
            scene.server.clock.advance(by: .seconds(24 * 60 * 60))
            #expect(try await from(first, by: second) == nil, "a day later")
        }
    }

    @Test("Who says that the approval was not theirs has the new device rest")
    func disowned() async throws {
        try await Self.with { scene in
            try await scene.server.enterAddress()
            let new = try await scene.newPhone()
            try await scene.approve(by: scene.old) { try await scene.enrol(new, by: $0) }
            let account = try await scene.server.assembly.directory.account(written: "alice")
            let change = try #require(
                try await scene.server.database.accountChanges(
                    accountID: account.id, after: Timestamp(milliseconds: 0), limit: 1
                ).first)
            func decide(_ state: AccountChangeRecord.State) async throws -> Bool {
                try await scene.server.database.decide(
                    AccountChangeDecision(
                        change: change.id, accountID: account.id, state: state, unusableHash: "",
                        audit: AuditEvent(
                            .deviceDecision, at: scene.server.clock.now(), accountID: account.id), mail: nil))
            }
            #expect(try await decide(.disowned))
            #expect(try await scene.devices().map { $0.standing.restedAt != nil } == [false, true])
            // The page of lost devices does not give back what was disowned.
            let id = try #require(try await scene.devices().last?.id)
            let lost = LostDevices(scene.server.assembly.passwords)
            #expect(try await !lost.bringBack(id, accountID: account.id))
            #expect(try await decide(.reclaimed))
            #expect(try await scene.devices().allSatisfy { $0.standing.restedAt == nil })
        }
    }
}

extension AuditEvent.Kind {
    fileprivate static let deviceDecision = Self(rawValue: "test")
}
