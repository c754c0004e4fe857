import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient

@Suite("Threat model, Signing what nobody has seen: every way into a signature", .overEachKeyAbility)
struct DisclosureTests {
    /// What an app's selectors do with the content.
    enum Habit: Sendable, CaseIterable {
        /// Chooses and shows nothing.
        case ignores
        /// Looks for a payment's fields only.
        case looksForPayment
        /// Writes the context into its log.
        case logs
        /// Asks whether there is a payment, or anything, and compares and prints what there is.
        case asks
        /// Reads the content's kind only.
        case readsKind
        /// Answers first, and reads then.
        case readsTooLate
        /// Reads the content on another thread, through a copy of the context, and answers after that.
        case readsElsewhere
        /// Reads the content.
        case reads
        /// Shows the content by other means, and says so.
        case saysShown
    }

    /// Selectors of that habit, which choose the first that fits.
    struct Selectors: AccountSelector, AuthenticatorSelector {
        let account: Habit
        let authenticator: Habit

        init(_ habit: Habit, account: Habit? = nil) {
            self.authenticator = habit
            self.account = account ?? habit
        }

        func selectAccount(context: AccountSelectionContext, handler: AccountSelectionHandler) async {
            let name = context.accounts[0].username
            await Self.answer(
                self.account, context, { context.transactionConfirmationContentType }, { context.payment },
                { context.hasContent }, { context.contentWasShown() },
                { context.transactionConfirmationData }, { handler.username(name) })
        }

        func selectAuthenticator(context: AuthenticatorSelectionContext, handler: AuthenticatorSelectionHandler) async {
            let aaid = context.authenticators.first { context.isPolicyCompliant(authenticatorAaid: $0.aaid) }?.aaid
            await Self.answer(
                self.authenticator, context, { context.transactionConfirmationContentType }, { context.payment },
                { context.hasContent }, { context.contentWasShown() },
                { context.transactionConfirmationData }, { handler.aaid(aaid ?? "") })
        }

        private static func answer(
            _ habit: Habit, _ context: any Sendable, _ kind: () -> TransactionContentType?,
            _ payment: () -> PaymentDetails?, _ hasContent: () -> Bool, _ say: () -> Void,
            _ data: @escaping @Sendable () -> Data?, _ choose: () -> Void
        ) async {
            switch habit {
            case .ignores: choose()
            case .looksForPayment:
                #expect(payment() == nil, "no payment is used with this habit")
                choose()
            case .logs:
                var log = "\(context) \(String(reflecting: context))"
                dump(context, to: &log)
                #expect(!log.contains("Pay 5") && !log.contains("UGF5IDU"))
                choose()
            case .asks:
                #expect(hasContent() && payment() == payment())
                #expect(!"\(payment().map(String.init(reflecting:)) ?? "")".contains("12.50"))
                choose()
            case .saysShown:
                say()
                choose()
            case .readsKind:
                _ = kind()
                choose()
            case .readsTooLate:
                choose()
                _ = data()
            case .readsElsewhere:
                await Task { _ = data() }.value
                choose()
            case .reads:
                _ = data()
                choose()
            }
        }
    }

    private static let unseen: [Habit] = [.ignores, .looksForPayment, .logs, .asks, .readsKind, .readsTooLate]
    private static let seen: [Habit] = [.reads, .readsElsewhere, .saysShown]
    private static let factors = [World.pin, World.password, World.fingerprint, World.face, World.passcode]

    /// A phone where `alice`, and others where they are given, answers with those models.
    private func world(_ models: [AuthenticatorModel] = [World.pin], _ usernames: [Username] = ["alice"]) async throws
        -> World
    {
        let world = try await World()
        for username in usernames { try await world.enroll(username, models) }
        if models.contains(World.fingerprint) { world.phone.sensor.feel(.match) }
        if models.contains(World.face) { world.phone.camera.feel(.match) }
        if models.contains(World.passcode) { world.phone.passcode.answer(.match) }
        return world
    }

    /// An operation with a screen for every factor and with those selectors.
    private func operation(_ world: World, _ payload: OutOfBandPayload, _ selectors: Selectors) async throws
        -> OutOfBandAuthentication
    {
        let person = world.phone.person
        return try await world.operation(payload).accountSelector(selectors).authenticatorSelector(selectors)
            .pinUserVerifier(person).passwordUserVerifier(person).fingerprintUserVerifier(person)
            .biometricUserVerifier(person).devicePasscodeUserVerifier(person)
    }

    private func expectUnseen(_ world: World, _ operation: OutOfBandAuthentication) async {
        let error = await operationError { _ = try await operation.execute() }
        #expect(error == OperationError(.missingInteraction) && error?.recovery == .correctApp)
        let verifying: Set<VirtualPerson.Question> = [.pin, .password, .finger, .face, .passcode]
        #expect(world.phone.person.asked.allSatisfy { !verifying.contains($0.question) })
        #expect(await world.server.accepted.isEmpty)
        #expect(await world.server.clientErrorCodes == [0xFF])
    }

    @Test("Selectors that have not read the text sign nothing", arguments: unseen)
    func unread(habit: Habit) async throws {
        for usernames in [["alice"], ["alice", "bob"]] {
            let world = try await self.world([World.pin], usernames)
            let payload = try await world.server.authentication(transaction: [text("Pay 5")])
            await self.expectUnseen(world, try await self.operation(world, payload, Selectors(habit)))
        }
    }

    @Test("Where the dispatch names its subject, and where there is one account, the same holds", arguments: factors)
    func everyFactor(model: AuthenticatorModel) async throws {
        let world = try await self.world([model])
        let named = try await world.server.authentication(username: "alice", transaction: [text("Pay 5")])
        await self.expectUnseen(world, try await self.operation(world, named, Selectors(.ignores)))
        let seen = try await world.server.authentication(username: "alice", transaction: [text("Pay 5")])
        _ = try await self.operation(world, seen, Selectors(.reads)).execute()
        #expect(await world.server.accepted.last?.assertions.map(\.mode) == [.transactionConfirmed])
    }

    @Test("A silent key beside another one signs nothing unseen either")
    func silentKeys() async throws {
        let world = try await self.world([World.fingerprint, World.possession])
        let policy = World.policy([[World.possession, World.fingerprint]])
        let payload = try await world.server.authentication(policy: policy, transaction: [text("Pay 5")])
        await self.expectUnseen(world, try await self.operation(world, payload, Selectors(.ignores)))
        #expect(world.phone.sensor.readingCount == 1, "the enrolment's reading")
    }

    @Test("A payment and a picture that nobody read are not signed; a payment's fields count as the payment")
    func paymentAndPicture() async throws {
        let payment = text("Payment\nAmount: EUR 12.50\nTo: Jo\nAccount: 7")
        let world = try await self.world()
        let unread = try await world.server.authentication(transaction: [payment])
        await self.expectUnseen(world, try await self.operation(world, unread, Selectors(.ignores)))
        let asked = try await World()
        try await asked.enroll()
        let found = try await asked.server.authentication(transaction: [payment])
        await self.expectUnseen(asked, try await self.operation(asked, found, Selectors(.asks)))

        struct Fields: AuthenticatorSelector {
            func selectAuthenticator(context: AuthenticatorSelectionContext, handler: AuthenticatorSelectionHandler) {
                #expect(context.payment?.rows.count == 3 && context.isContentRead)
                handler.aaid(World.pin.aaid.text)
            }
        }
        let read = try await self.operation(
            world, try await world.server.authentication(username: "alice", transaction: [payment]), Selectors(.ignores)
        )
        _ = try await read.authenticatorSelector(Fields()).execute()

        let display = DisplayPNGCharacteristics(width: 1, height: 1, bitDepth: 8, colorType: 4)
        let able = try await World(pictureDisplays: [display])
        try await able.enroll()
        let picture = Transaction(
            contentType: .imagePNG, content: PictureTests.bytes, pngCharacteristics: display)
        let payload = try await able.server.authentication(transaction: [picture])
        await self.expectUnseen(able, try await self.operation(able, payload, Selectors(.readsKind)))
    }

    @Test("What the account selector has not shown, the authenticator selector gets to show", arguments: unseen)
    func secondSelector(habit: Habit) async throws {
        let world = try await self.world([World.pin], ["alice", "bob"])
        let payload = try await world.server.authentication(transaction: [text("Pay 5")])
        _ =
            try await self.operation(world, payload, Selectors(.reads, account: habit)).execute()
        #expect(await world.server.accepted.count == 1)
    }

    @Test("Read through a copy or on another thread is read", arguments: seen)
    func readSomehow(habit: Habit) async throws {
        let world = try await self.world([World.pin], ["alice", "bob"])
        let payload = try await world.server.authentication(transaction: [text("Pay 5")])
        _ =
            try await self.operation(world, payload, Selectors(.ignores, account: habit)).execute()
        #expect(await world.server.accepted.count == 1)
    }

    @Test("A context of an earlier operation says nothing of this one")
    func earlierContext() async throws {
        actor Kept {
            var context: AuthenticatorSelectionContext?
            func keep(_ context: AuthenticatorSelectionContext) { self.context = self.context ?? context }
        }
        struct Keeper: AuthenticatorSelector {
            let kept: Kept
            func selectAuthenticator(context: AuthenticatorSelectionContext, handler: AuthenticatorSelectionHandler)
                async
            {
                await self.kept.keep(context)
                _ = await self.kept.context?.transactionConfirmationData
                handler.aaid(World.pin.aaid.text)
            }
        }
        let world = try await self.world()
        let keeper = Keeper(kept: Kept())
        for _ in 0..<2 {
            let payload = try await world.server.authentication(username: "alice", transaction: [text("Pay 5")])
            let operation = try await self.operation(world, payload, Selectors(.ignores)).authenticatorSelector(keeper)
            _ = await operationError { _ = try await operation.execute() }
        }
        #expect(await world.server.accepted.count == 1)
        #expect(await world.server.clientErrorCodes == [0xFF])
    }

    @Test("A second way after a reader that is gone is not signed unseen, and what was seen is not shown again")
    func otherWays() async throws {
        for (habit, ends) in [(Habit.ignores, false), (.reads, true)] {
            let world = try await World()
            try await world.enroll("alice", [World.fingerprint])
            try await world.enroll("alice", [World.pin])
            world.phone.sensor.fail(.disconnected)
            let payload = try await world.server.authentication(
                policy: World.policy([[World.fingerprint], [World.pin]]), transaction: [text("Pay 5")])
            let operation = try await self.operation(world, payload, Selectors(habit))
            guard ends else {
                await self.expectUnseen(world, operation)
                continue
            }
            _ = try await operation.execute()
            #expect(await world.server.accepted.last?.assertions.map(\.aaid) == [World.pin.aaid])
        }
    }

    @Test("A confirmer shows it once, after the account is known; the selectors get nothing to show")
    func confirmer() async throws {
        let world = try await self.world([World.pin], ["alice", "bob"])
        let person = world.phone.person
        let payload = try await world.server.authentication(transaction: [text("Pay 5")])
        let operation = world.phone.ready(try await world.operation(payload)).transactionConfirmer(person)
        _ = try await operation.execute()
        #expect(person.asked.map(\.question) == [.account, .transaction, .authenticator, .pin])
        #expect(person.asked.filter { $0.transaction != nil }.map(\.question) == [.transaction])
        #expect(
            person.asked[1].transaction == Data("Pay 5".utf8) && person.asked[1].accounts.map(\.username) == ["alice"])
        // And where there is nothing to confirm, it is not called.
        person.forget()
        let plain = world.phone.ready(try await world.operation(try await world.server.authentication(username: "bob")))
        _ = try await plain.transactionConfirmer(person).execute()
        #expect(person.asked.map(\.question) == [.authenticator, .pin])
    }

    @Test("With a confirmer, selectors that show nothing are right; its no ends the operation")
    func confirmerDecides() async throws {
        let world = try await self.world()
        let person = world.phone.person
        func confirmed() async throws -> OutOfBandAuthentication {
            let payload = try await world.server.authentication(
                username: "alice", transaction: [text("Payment\nAmount: EUR 12.50\nTo: Jo\nAccount: 7")])
            return try await self.operation(world, payload, Selectors(.ignores)).transactionConfirmer(person)
        }
        _ = try await confirmed().execute()
        #expect(person.asked.map(\.question) == [.transaction, .pin])
        #expect(person.asked[0].payment?.amount == "12.50" && person.asked[0].requester == nil)
        person.forget()
        person.script.reactions[.transaction] = .cancels
        let refused = try await confirmed()
        #expect(
            await operationError { _ = try await refused.execute() } == .fido(.userCanceled))
        #expect(person.asked.map(\.question) == [.transaction])
        #expect(await world.server.clientErrorCodes == [3])
        #expect(await world.server.accepted.count == 1)
    }

    @Test("A confirmer that never answers ends the operation with its time")
    func silentConfirmer() async throws {
        let world = try await self.world()
        world.phone.person.script.reactions[.transaction] = .ignores
        let payload = try await world.server.authentication(username: "alice", transaction: [text("Pay 5")])
        let operation = try await self.operation(world, payload, Selectors(.reads))
            .transactionConfirmer(world.phone.person)
        let ended = Task { await operationError { _ = try await operation.execute() } }
        while world.phone.person.asked.last?.question != .transaction { await Task.yield() }
        await world.phone.clock.untilSleeping()
        world.phone.clock.advance(by: .seconds(240))
        #expect(await ended.value == .fido(.userNotResponsive))
        #expect(await world.server.accepted.isEmpty)
    }

    @Test("A new browser without a verifier ends the operation before any other question", arguments: factors)
    func newBrowser(model: AuthenticatorModel) async throws {
        let world = try await self.world([model])
        let requester = ReturnUAFRequest.Requester(service: "Bank", browserID: "browser")
        for transaction in [[], [text("Pay 5")]] {
            let payload = try await world.server.authentication(
                username: "alice", transaction: transaction, requester: requester)
            let operation = try await self.operation(world, payload, Selectors(.reads))
                .transactionConfirmer(world.phone.person)
            let error = await operationError { _ = try await operation.execute() }
            #expect(error == OperationError(.missingInteraction))
        }
        #expect(world.phone.person.asked.isEmpty)
        #expect(await world.server.accepted.isEmpty)
        #expect(await world.server.clientErrorCodes == [0xFF, 0xFF])
        // A requester without a browser, as of a service's own request, is no new one.
        let service = try await world.server.authentication(
            username: "alice", requester: ReturnUAFRequest.Requester(service: "Bank"))
        _ = try await self.operation(world, service, Selectors(.ignores)).execute()
    }

    @Test("Content and a new browser are two questions, and either alone is not enough")
    func contentAndBrowser() async throws {
        let requester = ReturnUAFRequest.Requester(service: "Bank", browserID: "browser")
        for (shows, asks) in [(true, false), (false, true), (true, true)] {
            let world = try await self.world()
            let payload = try await world.server.authentication(
                username: "alice", transaction: [text("Pay 5")], requester: requester)
            var operation = try await self.operation(world, payload, Selectors(shows ? .reads : .ignores))
            if asks { operation = operation.requesterVerifier(world.phone.person) }
            guard shows && asks else {
                await self.expectUnseen(world, operation)
                continue
            }
            _ = try await operation.execute()
            #expect(world.phone.person.asked.map(\.question) == [.requester, .pin])
        }
    }

    @Test("In the app the same holds of what the server sends")
    func inApp() async throws {
        let world = try await self.world()
        let payload = try await world.server.authentication(
            username: "alice", transaction: [text("Pay 5")],
            requester: ReturnUAFRequest.Requester(service: "Bank", browserID: "browser"))
        // The server's answer to a redemption, as its answer to a request in the app.
        await world.server.intercept { request in
            guard request.url.path().contains("request/authentication") else { return nil }
            return try await world.server.send(
                TransportRequest(
                    method: "POST", url: payload.redeemData.redeemURL, headers: [],
                    body: Array(#"{"token":"\#(payload.redeemData.token)"}"#.utf8), timeout: .seconds(1)))
        }
        let error = await operationError {
            _ =
                try await world.phone.client.operations.authentication.username("alice")
                .authenticatorSelector(Selectors(.reads)).pinUserVerifier(world.phone.person).execute()
        }
        #expect(error == OperationError(.missingInteraction))
        #expect(world.phone.person.asked.isEmpty)
    }
}

@Suite("Operations parity 37, 39: what an app has not given is told as its mistake", .overEachKeyAbility)
struct MissingScreenTests {
    @Test("A missing verifier is no account that does not fit")
    func verifier() async throws {
        let world = try await World()
        try await world.enroll()
        let person = world.phone.person
        let bare = try await world.operation(try await world.server.authentication()).authenticatorSelector(person)
        let error = await operationError { _ = try await bare.execute() }
        #expect(error == OperationError(.missingInteraction) && error?.recovery == .correctApp)
        // With a screen for another factor the PIN is not offered, and a choice of it is the same mistake.
        try await world.enroll("alice", [World.fingerprint])
        person.script.kind = .pin
        let other = try await world.operation(try await world.server.authentication()).authenticatorSelector(person)
            .fingerprintUserVerifier(person)
        let chosen = await operationError { _ = try await other.execute() }
        #expect(chosen == OperationError(.missingInteraction))
        #expect(person.asked.map(\.compliant) == [[.fingerprint]])
        // A policy that no key meets is no mistake of the app.
        let foreign = try await world.operation(
            try await world.server.authentication(policy: World.policy([[World.face]])))
        let unfit = await operationError {
            _ = try await foreign.authenticatorSelector(person).execute()
        }
        #expect(unfit == .fido(.noSuitableAuthenticator))
    }

    @Test("A missing enroller or selector is no policy that nothing meets")
    func enroller() async throws {
        let world = try await World()
        let person = world.phone.person
        func registration() async throws -> OutOfBandRegistration {
            guard
                case .registration(let operation) = try await world.phone.redeem(
                    try await world.server.registration(for: "alice", policy: World.policy([[World.pin]])))
            else { throw OperationError(.unknown) }
            return operation.deviceInformation(DeviceInformation(name: "Phone"))
        }
        let bare = try await registration().authenticatorSelector(person)
        #expect(
            await operationError { _ = try await bare.execute() }
                == OperationError(.missingInteraction))
        let blind = try await registration().pinEnroller(person)
        #expect(
            await operationError { _ = try await blind.execute() }
                == OperationError(.missingInteraction))
        #expect(person.asked.isEmpty)
        let ready = try await registration().authenticatorSelector(person).pinEnroller(person)
        _ = try await ready.execute()
    }
}
