import Accounts
import Ceremony
import CeremonyEngine
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite(
    "Decision 127 and operations parity 99: a device approves another device of its person, with the new one's number")
struct DeviceApprovalTests {
    /// A person with a phone that speaks for itself.
    private final class Scene: Sendable {
        let server: TestServer
        let account: AccountRecord
        let phone: TestPhone
        let approver: ApprovingDevice

        init(_ adjust: (inout CeremonyConfiguration) -> Void = { _ in }) async throws {
            self.server = try TestServer(adjust)
            self.account = try await self.server.directory.create(username: "alice", displayName: nil, by: "test")
            let device = TestDevice()
            self.phone = try await Self.enrol("alice", device, self.server)
            self.approver = ApprovingDevice(
                device: try await self.server.device(of: self.account), keyName: try device.name)
        }

        /// Has an operator enrol a phone that tells its own keys.
        static func enrol(_ username: String, _ device: TestDevice, _ server: TestServer) async throws -> TestPhone {
            let phone = try TestPhone()
            let link = try await server.engine.enrolments.createEnrolmentLink(username: username, by: "test")
            let request = try await server.engine.redemptions.redeem(
                token: try TestPhone.token(link.link), operation: .registration)
            let answer = try await server.engine.registrationAnswers.judge(
                try phone.register(request) { [try device.announcement($0)] })
            _ = try await server.engine.enrolments.confirmEnrolment(
                id: link.id, number: answer.confirmation?.number ?? "", by: "test")
            return phone
        }

        var approvals: DeviceApprovals { self.server.engine.approvals }

        /// Has a new phone use a code of the approver. Returns the identifier of the approval and the number of the phone.
        func answered(
            by new: TestPhone, _ device: TestDevice = TestDevice(), approver: ApprovingDevice? = nil,
            name: String = "New phone", source: String? = "192.0.2.7"
        ) async throws -> (id: String, answer: ServerResponse) {
            let link = try await self.approvals.begin(by: approver ?? self.approver)
            let request = try await self.server.engine.redemptions.redeem(
                token: try TestPhone.token(link.qrContent), operation: .registration)
            let answer = try await self.server.engine.registrationAnswers.judge(
                try new.register(request, name: name) { [try device.announcement($0)] }, source: source)
            return (link.id, answer)
        }

        /// Has the approver asked, and redeems the question.
        func question(_ id: String, approver: ApprovingDevice? = nil) async throws -> ReturnUAFRequest {
            let question = try await self.approvals.question(id, for: approver ?? self.approver)
            return try await self.server.engine.redemptions.redeem(
                token: try OutOfBandPayload(json: question.payload).redeemData.token, operation: .authentication)
        }

        /// Answers a question with a typed number; `nil` types none.
        func answer(
            _ request: ReturnUAFRequest, _ number: String?, by phone: TestPhone? = nil, counter: UInt32 = 2
        ) async throws -> ServerResponse {
            try await self.server.engine.authenticationAnswers.judge(
                try (phone ?? self.phone).authenticate(request, counter: counter) { challenge in
                    number.map { [NumberAnswer.assertionExtension(number: $0, finalChallenge: challenge)] } ?? []
                }
            ).response
        }

        /// Enrols and approves a new phone. Returns the phone and its device.
        func approved(_ device: TestDevice = TestDevice(), counter: UInt32 = 2) async throws -> (
            phone: TestPhone, device: ApprovingDevice
        ) {
            let phone = try TestPhone()
            let (id, answer) = try await self.answered(by: phone, device)
            let number = try #require(answer.confirmation?.number)
            #expect(try await self.answer(try await self.question(id), number, counter: counter).statusCode == .ok)
            let added = try #require(try await self.devices().first { $0.name == "New phone" })
            return (
                phone,
                ApprovingDevice(
                    device: AuthenticatedDevice(accountID: self.account.id, deviceID: added.id),
                    keyName: try device.name)
            )
        }

        func devices() async throws -> [DeviceRecord] {
            try await self.server.database.devices(accountID: self.account.id)
        }

        func state(_ id: String) async throws -> EnrolmentView.State {
            try await self.approvals.state(id, for: self.approver).state
        }

        func events(_ kind: String) async throws -> [AuditEvent] {
            try await self.server.database.auditEntries(after: 0, limit: 999).map(\.event).filter {
                $0.kind.rawValue == kind
            }
        }

        func notices(_ kind: NoticeRecord.Kind) async throws -> [NoticeRecord] {
            try await self.server.database.notices(accountID: self.account.id, limit: 99).filter { $0.kind == kind }
        }
    }

    private static func other(_ number: String) -> String { number == "000000" ? "000001" : "000000" }

    // MARK: The whole way

    @Test("The key signs a text with name, model, network and keys, and the number; the device is limited for a day")
    func wholeWay() async throws {
        let scene = try await Scene()
        let new = try TestPhone()
        let (id, answer) = try await scene.answered(by: new)
        #expect(answer.statusCode == .accepted)
        let number = try #require(answer.confirmation?.number)
        let view = try await scene.approvals.state(id, for: scene.approver)
        let asking = try #require(view.asking)
        #expect(view.state == .pendingConfirmation && asking.name == "New phone" && asking.network == "192.0.2.7")
        #expect(!asking.model.isEmpty)
        // The other devices are told before any number counts, and nothing authenticates yet.
        #expect(try await scene.notices(.enrolmentAsked).map(\.id) == [id])
        let open = try await scene.server.engine.requests.authentication(username: nil, source: "a")
        let early = try await scene.server.engine.authenticationAnswers.judge(try new.authenticate(open, counter: 2))
        #expect(early.response.statusCode == .forbidden)

        let request = try await scene.question(id)
        #expect(request.numberLength == 6)
        let text = String(
            decoding: try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8).transaction[0].content,
            as: UTF8.self)
        #expect(text.contains("\u{201C}New phone\u{201D}") && text.contains("192.0.2.7") && text.contains(asking.model))
        #expect(text.unicodeScalars.count <= TransactionText.maximumLength)
        #expect(try await scene.answer(request, number).statusCode == .ok)
        #expect(try await scene.state(id) == .succeeded)
        let added = try #require(try await scene.devices().first { $0.name == "New phone" })
        #expect(added.isActive)
        #expect(added.standing.limitedUntil == scene.server.clock.now + .seconds(24 * 60 * 60))
        let late = try await scene.server.engine.authenticationAnswers.judge(try new.authenticate(open, counter: 2))
        #expect(late.response.statusCode == .ok)
        #expect(try await scene.notices(.deviceApproved).map(\.subject) == ["New phone"])
        #expect(try await scene.events("device-added").last?.detail == added.id)
        let event = try #require(try await scene.events("device-approved").first)
        #expect(event.detail == scene.approver.device.deviceID && event.actor == "device" && event.ceremonyID == id)
        #expect(try await scene.events("device-approval-begun").count == 1)
        // The person can say later that the change was not theirs.
        let changes = try await scene.server.database.accountChanges(
            accountID: scene.account.id, after: Timestamp(milliseconds: 0), limit: 9)
        #expect(changes.map(\.addition) == [.approvedDevice(added.id)])
    }

    @Test("Other keys make another text, and the longest names still fit")
    func text() async throws {
        let scene = try await Scene()
        func text(_ name: String) async throws -> String {
            let (id, _) = try await scene.answered(
                by: try TestPhone(), name: name, source: "2001:db8:ffff:ffff::")
            let request = try await scene.question(id)
            let transaction = try AuthenticationRequest(parsing: (request.uafRequest ?? "").utf8).transaction
            return String(decoding: try #require(transaction.first).content, as: UTF8.self)
        }
        #expect(try await text("Phone") != text("Phone"))
        let long = try await text("\u{201C}" + String(repeating: "é", count: 90))
        #expect(long.unicodeScalars.count <= TransactionText.maximumLength)
        #expect(long.unicodeScalars.filter { $0 == "\u{201C}" }.count == 1)
    }

    // MARK: The code

    @Test("The code works once, and for ten minutes")
    func code() async throws {
        let scene = try await Scene()
        let link = try await scene.approvals.begin(by: scene.approver)
        #expect(link.expiresAt == scene.server.clock.now + .seconds(600))
        let token = try TestPhone.token(link.qrContent)
        // 128 random bits and more, in base64url.
        #expect(try #require(Base64URL.decode(token)).count >= 16)
        _ = try await scene.server.engine.redemptions.redeem(token: token, operation: .registration)
        for used in [token, try TestPhone.token(link.link)] {
            await #expect(throws: CeremonyError(.tokenAlreadyRedeemed)) {
                try await scene.server.engine.redemptions.redeem(token: used, operation: .registration)
            }
        }
        let late = try await scene.approvals.begin(by: scene.approver)
        scene.server.clock.advance(.seconds(600))
        await #expect(throws: CeremonyError(.tokenExpired)) {
            try await scene.server.engine.redemptions.redeem(
                token: try TestPhone.token(late.qrContent), operation: .registration)
        }
        #expect(try await scene.state(late.id) == .expired)
    }

    @Test("A device begins few approvals, each of which leaves an entry in the trail, and no more")
    func budget() async throws {
        let scene = try await Scene()
        let limits = Limits()
        for _ in 0..<limits.deviceApprovalBurst { _ = try await scene.approvals.begin(by: scene.approver) }
        await #expect(throws: CeremonyError(.tooManyRequests)) { try await scene.approvals.begin(by: scene.approver) }
        #expect(try await scene.events("device-approval-begun").count == limits.deviceApprovalBurst)
        scene.server.clock.advance(.seconds(60))
        for _ in 0..<limits.deviceApprovalsPerMinute { _ = try await scene.approvals.begin(by: scene.approver) }
        await #expect(throws: CeremonyError(.tooManyRequests)) { try await scene.approvals.begin(by: scene.approver) }
    }

    @Test("A device that answers its own code is not added")
    func itself() async throws {
        let scene = try await Scene()
        let device = TestDevice()
        let phone = try await Scene.enrol("alice", device, scene.server)
        _ = phone
        let approver = ApprovingDevice(device: scene.approver.device, keyName: try device.name)
        let (id, answer) = try await scene.answered(by: try TestPhone(), device, approver: approver)
        #expect(answer.statusCode == .unacceptableKey)
        #expect(try await scene.approvals.state(id, for: approver).state == .failed)
        #expect(try await scene.devices().count == 2)
    }

    // MARK: The answer

    @Test("One wrong number ends the enrolment and deletes its keys; the right one counts no more")
    func wrongNumber() async throws {
        let scene = try await Scene()
        let new = try TestPhone()
        let (id, answer) = try await scene.answered(by: new)
        let number = try #require(answer.confirmation?.number)
        let requests = [try await scene.question(id), try await scene.question(id)]
        let refused = try await scene.answer(requests[0], Self.other(number))
        #expect(refused.statusCode == .unacceptableContent && refused.isNumberWrong)
        #expect(try await scene.state(id) == .failed)
        #expect(try await scene.devices().map(\.name) == ["Alice's phone"])
        #expect(try await scene.events("confirmation-failed").count == 1)
        let second = try await scene.answer(requests[1], number, counter: 3)
        #expect(second.statusCode == .invalidRequest && !second.isNumberWrong)
        #expect(try await scene.devices().count == 1)
        await #expect(throws: CeremonyError(.wrongState)) { try await scene.question(id) }
        let open = try await scene.server.engine.requests.authentication(username: nil, source: "a")
        let late = try await scene.server.engine.authenticationAnswers.judge(try new.authenticate(open, counter: 2))
        #expect(late.response.statusCode == .unknownKeyID)
    }

    @Test("An answer without the number, or with a stranger's signature, approves nothing and ends no enrolment")
    func noNumber() async throws {
        let scene = try await Scene()
        let (id, answer) = try await scene.answered(by: try TestPhone())
        let number = try #require(answer.confirmation?.number)
        #expect(try await scene.answer(try await scene.question(id), nil).statusCode == .unacceptableContent)
        let request = try await scene.question(id)
        let forged = try await scene.server.engine.authenticationAnswers.judge(
            try scene.phone.authenticate(request, counter: 3, fault: .signature) {
                [NumberAnswer.assertionExtension(number: Self.other(number), finalChallenge: $0)]
            })
        #expect(forged.response.statusCode == .unacceptableContent && !forged.response.isNumberWrong)
        #expect(try await scene.state(id) == .pendingConfirmation)
        #expect(try await scene.answer(try await scene.question(id), number, counter: 3).statusCode == .ok)
    }

    @Test("A silent key types no number, so it approves nothing")
    func silentKey() async throws {
        let scene = try await Scene {
            $0.factors = [[.pin], [.pin, .devicePossession]]
            $0.enrolmentFactors = [[.pin], [.pin, .devicePossession]]
        }
        let account = try await scene.server.directory.create(username: "bob", displayName: nil, by: "test")
        let device = TestDevice()
        let (pin, silent) = (try TestPhone(), try TestPhone(factor: .devicePossession))
        let link = try await scene.server.engine.enrolments.createEnrolmentLink(username: "bob", by: "test")
        let request = try await scene.server.engine.redemptions.redeem(
            token: try TestPhone.token(link.link), operation: .registration)
        let enrolled = try await scene.server.engine.registrationAnswers.judge(
            try together(
                try pin.register(request) { [try device.announcement($0)] }, try silent.register(request),
                .registration))
        _ = try await scene.server.engine.enrolments.confirmEnrolment(
            id: link.id, number: enrolled.confirmation?.number ?? "", by: "test")
        let approver = ApprovingDevice(
            device: try await scene.server.device(of: account), keyName: try device.name)
        let (id, answer) = try await scene.answered(by: try TestPhone(), approver: approver)
        let number = try #require(answer.confirmation?.number)
        let question = try await scene.question(id, approver: approver)
        let bySilent = try silent.authenticate(question, counter: 2) {
            [NumberAnswer.assertionExtension(number: number, finalChallenge: $0)]
        }
        let judged = try await scene.server.engine.authenticationAnswers.judge(
            try together(try pin.authenticate(question, counter: 2), bySilent, .authentication)
        ).response
        #expect(judged.statusCode == .unacceptableContent && !judged.isNumberWrong)
        #expect(try await scene.server.database.devices(accountID: account.id).map(\.isActive) == [true, false])
    }

    @Test("Another device of the person, and a device of another person, can neither ask nor answer")
    func otherDevices() async throws {
        let scene = try await Scene()
        let (id, answer) = try await scene.answered(by: try TestPhone())
        let number = try #require(answer.confirmation?.number)
        let tablet = TestDevice()
        let second = try await Scene.enrol("alice", tablet, scene.server)
        let bob = try await scene.server.directory.create(username: "bob", displayName: nil, by: "test")
        let bobs = TestDevice()
        let stranger = try await Scene.enrol("bob", bobs, scene.server)
        let others = [
            ApprovingDevice(
                device: AuthenticatedDevice(
                    accountID: scene.account.id, deviceID: try #require(try await scene.devices().last).id),
                keyName: try tablet.name),
            ApprovingDevice(device: try await scene.server.device(of: bob), keyName: try bobs.name),
        ]
        for other in others {
            await #expect(throws: CeremonyError(.notFound)) { try await scene.approvals.state(id, for: other) }
            await #expect(throws: CeremonyError(.notFound)) { try await scene.approvals.question(id, for: other) }
            await #expect(throws: CeremonyError(.notFound)) { try await scene.approvals.cancel(id, for: other) }
        }
        // A device that gets hold of the question is refused, and the enrolment goes on.
        let taken = try await scene.answer(try await scene.question(id), number, by: second)
        #expect(taken.statusCode == .forbidden)
        let foreign = try await scene.answer(try await scene.question(id), number, by: stranger)
        #expect(foreign.statusCode != .ok)
        #expect(try await scene.state(id) == .pendingConfirmation)
    }

    @Test("An operator's number, and a client's, confirm no enrolment that a device approves")
    func otherConfirmations() async throws {
        let scene = try await Scene()
        let (id, answer) = try await scene.answered(by: try TestPhone())
        let number = try #require(answer.confirmation?.number)
        await #expect(throws: CeremonyError(.wrongState)) {
            try await scene.server.engine.enrolments.confirmEnrolment(id: id, number: number, by: "operator")
        }
        let desk = DispatchingClient(id: "desk", name: "Desk", origin: nil, mayEnrol: true)
        await #expect(throws: CeremonyError(.notFound)) {
            try await scene.server.engine.enrolments.confirmEnrolment(id: id, number: number, client: desk)
        }
        #expect(try await scene.state(id) == .pendingConfirmation)
    }

    // MARK: What happens in between

    @Test("A device that was removed in between approves nothing, and the new device is not added")
    func removedApprover() async throws {
        let scene = try await Scene()
        let (id, answer) = try await scene.answered(by: try TestPhone())
        let number = try #require(answer.confirmation?.number)
        let request = try await scene.question(id)
        try await scene.server.directory.deleteDevice(id: scene.approver.device.deviceID, by: "operator")
        #expect(try await scene.answer(request, number).statusCode != .ok)
        #expect(try await scene.devices().map(\.isActive) == [false])
        scene.server.clock.advance(.seconds(601))
        _ = try await scene.server.engine.sweep.run()
        #expect(try await scene.devices().isEmpty)
    }

    @Test("A device that declines, the approver and the clock end the enrolment, and no number counts then")
    func ended() async throws {
        for end in 0..<3 {
            let scene = try await Scene()
            let (id, answer) = try await scene.answered(by: try TestPhone())
            let number = try #require(answer.confirmation?.number)
            let request = try await scene.question(id)
            switch end {
            case 0:
                let second = try await scene.server.addPhone(to: "alice", name: "Tablet")
                _ = second
                let tablet = try #require(try await scene.devices().first { $0.name == "Tablet" })
                try await scene.server.engine.enrolments.decline(
                    id: id, by: AuthenticatedDevice(accountID: scene.account.id, deviceID: tablet.id))
            case 1: try await scene.approvals.cancel(id, for: scene.approver)
            default: scene.server.clock.advance(.seconds(600))
            }
            #expect(try await scene.answer(request, number).statusCode != .ok)
            #expect(try await scene.devices().filter { $0.name == "New phone" && $0.isActive }.isEmpty)
            await #expect(throws: CeremonyError(.wrongState)) { try await scene.question(id) }
        }
    }

    @Test("A question before the new device has answered is refused")
    func tooEarly() async throws {
        let scene = try await Scene()
        let link = try await scene.approvals.begin(by: scene.approver)
        #expect(try await scene.state(link.id) == .created)
        await #expect(throws: CeremonyError(.wrongState)) { try await scene.question(link.id) }
    }

    // MARK: The limited device

    @Test("For a day an approved device approves, declines and removes no device, and is told until when")
    func limited() async throws {
        let scene = try await Scene()
        let new = try await scene.approved()
        let until = scene.server.clock.now + .seconds(24 * 60 * 60)
        func limit(_ body: () async throws -> Void) async -> Timestamp? {
            do { try await body() } catch let error as CeremonyError where error.code == .deviceLimited {
                return error.limitedUntil
            } catch {}
            return nil
        }
        func removal(_ phone: TestPhone) -> GetUAFRequest {
            GetUAFRequest(
                operation: .deregistration,
                context: [
                    "username": .string("alice"), "mode": .string("key"),
                    "keys": .array([
                        .object(["aaid": .string(phone.aaid.text), "keyID": .string(phone.keyID.base64URL)])
                    ]),
                ])
        }
        let engine = scene.server.engine
        #expect(await limit { _ = try await scene.approvals.begin(by: new.device) } == until)
        #expect(await limit { try await engine.enrolments.decline(id: "any", by: new.device.device) } == until)
        #expect(await limit { try await engine.deviceLimits.check(new.device.device) } == until)
        #expect(
            await limit {
                _ = try await engine.deregistrations.deregister(removal(scene.phone), askedBy: new.device.device)
            } == until)
        #expect(try await scene.devices().count == 2)
        // A day later the device may do what every device may do: it approves a third one, and removes the first.
        scene.server.clock.advance(.seconds(24 * 60 * 60))
        _ = try await scene.approvals.begin(by: new.device)
        let removed = try await engine.deregistrations.deregister(removal(scene.phone), askedBy: new.device.device)
        #expect(removed.statusCode == .ok)
        #expect(try await scene.devices().map(\.name) == ["New phone"])
    }

    @Test("A limited device removes itself, and the approving device removes it")
    func removal() async throws {
        for isOwn in [true, false] {
            let scene = try await Scene()
            let new = try await scene.approved()
            let request = GetUAFRequest(
                operation: .deregistration,
                context: [
                    "username": .string("alice"), "mode": .string("key"),
                    "keys": .array([
                        .object(["aaid": .string(new.phone.aaid.text), "keyID": .string(new.phone.keyID.base64URL)])
                    ]),
                ])
            let answer = try await scene.server.engine.deregistrations.deregister(
                request, askedBy: isOwn ? new.device.device : scene.approver.device)
            #expect(answer.statusCode == .ok)
            #expect(try await scene.devices().map(\.name) == ["Alice's phone"])
        }
    }

    @Test("A limited device confirms no change of the account, and signs in all the same")
    func changes() async throws {
        let scene = try await Scene()
        let new = try await scene.approved()
        let server = scene.server
        func answer(counter: UInt32) async throws -> ServerResponse {
            let reference = try await server.engine.changes.begin(
                ChangeRequest(
                    change: .password, accountID: scene.account.id, page: "/account", browser: server.browser,
                    address: nil, browserWords: nil, source: "a"))
            let view = try await server.engine.signIns.renew(reference: reference, browser: server.browser, source: "a")
            let request = try await server.engine.redemptions.redeem(
                token: try TestPhone.token(view.codes?.qrContent ?? ""), operation: .authentication)
            return try await scene.answer(request, nil, by: new.phone, counter: counter)
        }
        #expect(try await answer(counter: 2).statusCode == .forbidden)
        let signIn = try await server.claimSignIn()
        #expect(try await scene.answer(signIn, nil, by: new.phone, counter: 3).statusCode == .ok)
        server.clock.advance(.seconds(24 * 60 * 60))
        #expect(try await answer(counter: 4).statusCode == .ok)
    }

    @Test("The new device is no means from before its own approval, and no phone of the account once that is disowned")
    func means() async throws {
        let scene = try await Scene()
        let server = scene.server
        server.clock.advance(.seconds(20))
        let (id, answer) = try await scene.answered(by: try TestPhone())
        server.clock.advance(.seconds(20))
        let number = try #require(answer.confirmation?.number)
        #expect(try await scene.answer(try await scene.question(id), number).statusCode == .ok)
        let change = try #require(
            try await server.database.accountChanges(
                accountID: scene.account.id, after: Timestamp(milliseconds: 0), limit: 9
            ).first)
        #expect(change.decidedAt == server.clock.now)
        /// `true` if a phone of the account has to confirm that the approval was somebody else's.
        func needsPhone() async throws -> Bool {
            let reference = try await server.engine.changes.begin(
                ChangeRequest(
                    change: .disownment(id: change.id, words: change.words), accountID: scene.account.id,
                    page: "/account", browser: server.browser, address: nil, browserWords: nil, source: "a",
                    before: change.madeAt))
            let requested = try await server.engine.changes.requested(reference, browser: server.browser)
            return try #require(requested).isWithoutPhone == false
        }
        #expect(try await needsPhone(), "the approving phone")
        try await server.directory.deleteDevice(id: scene.approver.device.deviceID, by: "test")
        #expect(try await !needsPhone(), "the new phone is not older than its approval")
        #expect(try await server.engine.changes.hasPhone(accountID: scene.account.id))
        func decide(_ state: AccountChangeRecord.State) async throws -> Bool {
            server.clock.advance(.seconds(1))
            return try await server.database.decide(
                AccountChangeDecision(
                    change: change.id, accountID: scene.account.id, state: state, unusableHash: "",
                    audit: AuditEvent(.deviceRested, at: server.clock.now, accountID: scene.account.id), mail: nil))
        }
        #expect(try await decide(.disowned))
        let disowned = try #require(try await scene.devices().first).standing
        #expect(disowned.isDisowned && disowned.restedAt == server.clock.now)
        #expect(try await !server.engine.changes.hasPhone(accountID: scene.account.id))
        #expect(try await decide(.reclaimed))
        let reclaimed = try #require(try await scene.devices().first).standing
        #expect(!reclaimed.isDisowned && reclaimed.mayAuthenticate)
        #expect(try await server.engine.changes.hasPhone(accountID: scene.account.id))
    }

    @Test("A new device that an operator has removed is not approved, and no key is suspected of being cloned")
    func removedNewDevice() async throws {
        let scene = try await Scene()
        let (id, answer) = try await scene.answered(by: try TestPhone())
        let number = try #require(answer.confirmation?.number)
        let request = try await scene.question(id)
        let pending = try #require(try await scene.devices().first { !$0.isActive })
        try await scene.server.directory.deleteDevice(id: pending.id, by: "test")
        #expect(try await scene.answer(request, number).statusCode == .invalidRequest)
        #expect(try await scene.events("counter-went-back").isEmpty)
    }

    @Test("The limit is the operator's setting")
    func setting() async throws {
        let scene = try await Scene { $0.limits.approvedDeviceLimit = .seconds(60) }
        let new = try await scene.approved()
        scene.server.clock.advance(.seconds(59))
        await #expect(throws: CeremonyError(.deviceLimited)) { try await scene.approvals.begin(by: new.device) }
        scene.server.clock.advance(.seconds(1))
        _ = try await scene.approvals.begin(by: new.device)
    }
}
