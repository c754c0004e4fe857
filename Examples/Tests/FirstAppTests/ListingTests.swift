import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Synchronization
import Testing
import UAF

@testable import FirstApp

@Suite("Threat model, Signing what nobody has seen: an app made of the guides' listings")
struct ListingTests {
    /// What the person was shown.
    private actor Screen {
        private(set) var shown: [String] = []
        private var answer = true
        func refuse() { self.answer = false }
        func show(_ title: String, _ lines: [String]) -> Bool {
            self.shown += [title] + lines
            return self.answer
        }
        func forget() { self.shown = [] }
    }

    private static let payment = "Payment\nAmount: EUR 12.50\nTo: Jo\nAccount: 7"
    private static let browser = ReturnUAFRequest.Requester(
        service: "Bank", origin: "https://bank.example", address: "203.0.113.7", browser: "Firefox on Linux",
        browserID: "browser")
    private static let newBrowser = "You have not used this browser before. Is it yours, and in front of you?"

    private let server: VirtualServer
    private let phone: VirtualPhone
    private let screen = Screen()
    private var confirmation: ConfirmationScreen { ConfirmationScreen { [screen] in await screen.show($0, $1) } }

    init() async throws {
        let address = try #require(URL(string: "https://id.example.com"))
        self.server = VirtualServer(baseURL: address)
        self.phone = try await VirtualPhone(
            configuration: ClientConfiguration(baseURL: address), transport: self.server)
    }

    private func policy(_ factor: AuthenticatorModel.Factor) -> Policy {
        Policy(accepted: [[MatchCriteria(aaid: [AuthenticatorModel(factor: factor, keyStore: .file).aaid])]])
    }

    /// Enrols with the listings of "Enrol a device".
    private func enrolled() async throws {
        let payload = try await self.server.registration(for: "alice", policy: self.policy(.pin))
        try await decode(payload.base64URLEncoded, with: self.phone.client, screen: self.confirmation)
    }

    private func payload(_ text: String? = nil, from requester: ReturnUAFRequest.Requester? = nil) async throws
        -> String
    {
        try await self.server.authentication(
            username: "alice", transaction: text.map { [Transaction(content: Array($0.utf8))] } ?? [],
            requester: requester
        ).base64URLEncoded
    }

    @Test("Getting started: a client is made")
    func client() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "listings-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let client = try await makeClient(folder: folder)
        #expect(client.isDevelopmentStore)
    }

    @Test("Describe a device: token and name reach the server, and the start of the app repairs what differs")
    func deviceData() async throws {
        let clock = self.phone.clock
        await self.server.serveDevices { clock.now() }
        try await self.enrolled()
        try await pushTokenArrived("push-token-1", at: self.phone.client)
        #expect(await self.server.dispatchTarget(of: "alice")?.address == "push-token-1")
        await self.server.take(name: "Alice's tablet", of: "alice")
        let taken = try await rename(self.phone.client, to: "Alice's tablet")
        #expect(taken == "Another phone of yours is called Alice's tablet. Choose another name.")
        #expect(try await rename(self.phone.client, to: "Pocket phone") == "This phone is now called Pocket phone.")
        #expect(try await repairAtStart(self.phone.client).isEmpty)
        await self.server.changeDispatchTarget(of: "alice") { _ in nil }
        #expect(try await repairAtStart(self.phone.client).isEmpty)
        #expect(await self.server.dispatchTarget(of: "alice")?.name == "Pocket phone")
        await self.server.forgetDeviceKeys(of: "alice")
        let left = try await repairAtStart(self.phone.client)
        self.phone.person.script.pins = ["258036"]
        #expect(left.map(\.kind) == [.deviceKeys])
        try await repairKeys(self.phone.client, left, self.phone.person, self.phone.person)
        #expect(try await repairAtStart(self.phone.client).isEmpty)
    }

    @Test("Facets: an app is trusted once the server lists it")
    func facets() async throws {
        for (facet, isTrusted) in [("linux:program:another", false), (self.phone.client.configuration.facetID, true)] {
            let list = #"{"trustedFacets":[{"version":{"major":1,"minor":1},"ids":["\#(facet)"]}]}"#
            await self.server.intercept { request in
                guard request.url.path().hasSuffix("/facets") else { return nil }
                return TransportResponse(
                    status: 200, headers: [("Content-Type", "application/fido.trusted-apps+json")],
                    body: Array(list.utf8))
            }
            #expect(await checkFacet(with: self.phone.client) == isTrusted)
            await self.server.stopIntercepting()
        }
    }

    @Test("Change a PIN: advice after each answer that is not accepted, and a sentence at the end")
    func changedPin() async throws {
        try await self.enrolled()
        let answers = Mutex<[(String, String)?]>([
            ("000000", "864209"), ("258036", "8642"), ("258036", "311299"), ("258036", "822488"), ("258036", "246810"),
            ("258036", "258036"), ("258036", "864209"), nil,
        ])
        let advice = Mutex<[String?]>([])
        let screen = AnotherPinScreen { given in
            advice.withLock { $0.append(given) }
            return answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }.map { (present: $0.0, new: $0.1) }
        }
        #expect(try await changePin(of: "alice", with: self.phone.client, on: screen) == "Your PIN is changed.")
        #expect(
            advice.withLock { $0 } == [
                nil, "That is not your PIN.", "A PIN has six digits.",
                "A date, digits in a row and what repeats are tried first by whoever finds the phone.",
                "Choose a PIN with 4 different digits.", "Too many people have this PIN. Choose another PIN.",
                "Choose another PIN than the present one.",
            ])
        #expect(try await changePin(of: "alice", with: self.phone.client, on: screen) == nil)
        try await self.phone.client.localData.deleteAuthenticator(username: "alice")
        await #expect(throws: OperationError(.unknownUsername)) {
            try await changePin(of: "alice", with: self.phone.client, on: screen)
        }
    }

    @Test("Choose an authenticator: closures ask for the PIN, with the tries and the end of the waiting time")
    func closures() async throws {
        try await self.enrolled()
        let pins = Mutex<[String?]>(["000000", "000001", "000002", nil])
        let asked = Mutex<[(tries: Int?, end: Date?)]>([])
        let now = self.phone.clock.now().milliseconds
        let error = await #expect(throws: OperationError.self) {
            try await authenticate("alice", with: self.phone.client) { tries, end in
                asked.withLock { $0.append((tries, end)) }
                return pins.withLock { $0.removeFirst() }
            }
        }
        #expect(error == .fido(.userCanceled))
        #expect(asked.withLock { $0.map(\.tries) } == [nil, 4, 3, 2])
        let end = Date(timeIntervalSince1970: Double(now) / 1000 + 60)
        #expect(asked.withLock { $0.map(\.end) } == [nil, nil, nil, end])
        self.phone.clock.advance(by: .seconds(60))
        try await authenticate("alice", with: self.phone.client) { _, end in end == nil ? "258036" : nil }
    }

    @Test("Change a password: the app's server judges the new one, and only its first answer counts")
    func changedPassword() async throws {
        let payload = try await self.server.registration(for: "alice", policy: self.policy(.password))
        _ = try await self.phone.enroll(payload)
        let news = Mutex(["leaked password", "harbour bridge 4"])
        let advice = Mutex<[String?]>([])
        let screen = AnotherPasswordScreen { given in
            advice.withLock { $0.append(given) }
            return ("lantern street 9", news.withLock { $0.removeFirst() })
        } checkForLeak: { password, answer in
            answer(password == "leaked password")
            answer(password != "leaked password")
        }
        try await self.phone.client.operations.passwordChange.username("alice").passwordChanger(screen).execute()
        #expect(advice.withLock { $0 } == [nil, "This password was leaked. Choose another one."])
        self.phone.person.script.passwords = ["harbour bridge 4"]
        _ = try await self.phone.authenticate(username: "alice")
    }

    @Test("Confirm a transaction: every row of a payment is shown before it is signed")
    func payment() async throws {
        try await self.enrolled()
        try await decode(try await self.payload(Self.payment), with: self.phone.client, screen: self.confirmation)
        #expect(
            await self.screen.shown == ["A service: you are about to pay", "Amount: EUR 12.50", "To: Jo", "Account: 7"])
        #expect(await self.server.accepted.last?.assertions.map(\.mode) == [.transactionConfirmed])
        await self.screen.forget()
        try await decode(try await self.payload("Hello"), with: self.phone.client, screen: self.confirmation)
        #expect(await self.screen.shown == ["A service: you are about to sign", "Hello"])
    }

    @Test("Confirm a transaction: a picture, which the screen cannot draw, is not shown as a text, and not signed")
    func picture() async throws {
        let file = try #require(
            Data(
                base64Encoded:
                    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR4nGNgYAAAAAMAAbitOmMAAAAASUVORK5CYII="))
        let display = PictureDisplay(width: 1, height: 1, bitDepth: 8, colorType: 4)
        let phone = try await VirtualPhone(
            configuration: self.phone.client.configuration, transport: self.server, pictureDisplays: [display])
        let enrolment = try await self.server.registration(for: "alice", policy: self.policy(.pin))
        try await decode(enrolment.base64URLEncoded, with: phone.client, screen: self.confirmation)
        let picture = Transaction(contentType: .imagePNG, content: Array(file), pngCharacteristics: display)
        let payload = try await self.server.authentication(username: "alice", transaction: [picture])
        try await decode(payload.base64URLEncoded, with: phone.client, screen: self.confirmation)
        #expect(await self.screen.shown.isEmpty)
        #expect(await self.server.accepted.isEmpty)
        #expect(await self.server.clientErrorCodes == [3])
    }

    @Test("Confirm a transaction: an error that is no no goes on to whoever began")
    func failure() async throws {
        try await self.enrolled()
        await self.server.forget("alice")
        let payload = try await self.payload()
        await #expect(throws: OperationError(.fidoError, fidoErrorCode: .noSuitableAuthenticator)) {
            try await decode(payload, with: self.phone.client, screen: self.confirmation)
        }
    }

    @Test("Choose an authenticator: a password is asked for again with the policy's advice, until it is long enough")
    func newPassword() async throws {
        let asked = Screen()
        let enrolment = try await self.server.registration(for: "alice", policy: self.policy(.password))
        guard case .registration(let registration) = try await self.phone.redeem(enrolment) else {
            throw OperationError(.unknown)
        }
        let screen = NewPasswordScreen { advice in
            _ = await asked.show(advice ?? "first", [])
            return advice == nil ? "lantern" : "lantern street 9"
        }
        _ =
            try await registration.deviceInformation(DeviceInformation(name: "Phone"))
            .authenticatorSelector(Preferred(kind: .password)).passwordEnroller(screen).execute()
        #expect(await asked.shown == ["first", "A password has 12 to 128 characters."])
        #expect(await self.server.credentials.count == 1)
        // A person who gives up enrols nothing.
        let other = try await self.server.registration(for: "bob", policy: self.policy(.password))
        guard case .registration(let second) = try await self.phone.redeem(other) else {
            throw OperationError(.unknown)
        }
        let given = second.authenticatorSelector(Preferred(kind: .password))
            .passwordEnroller(NewPasswordScreen { _ in nil })
        await #expect(throws: OperationError.fido(.userCanceled)) { _ = try await given.execute() }
        #expect(await self.server.credentials.count == 1)
    }

    @Test("Choose an authenticator: the device's passcode is asked for with the app's words")
    func passcode() async throws {
        let dialogs = SystemDialogs(reason: "Show that it is you")
        self.phone.passcode.answer(.match)
        let enrolment = try await self.server.registration(for: "alice", policy: self.policy(.devicePasscode))
        guard case .registration(let registration) = try await self.phone.redeem(enrolment) else {
            throw OperationError(.unknown)
        }
        _ =
            try await registration.deviceInformation(DeviceInformation(name: "Phone"))
            .authenticatorSelector(Preferred(kind: .devicePasscode)).devicePasscodeUserVerifier(dialogs).execute()
        self.phone.passcode.answer(.match)
        guard
            case .authentication(let operation) = try await self.phone.redeem(
                OutOfBandPayload(scanned: try await self.payload()))
        else { throw OperationError(.unknown) }
        _ =
            try await operation.authenticatorSelector(Preferred(kind: .devicePasscode))
            .devicePasscodeUserVerifier(dialogs).execute()
        #expect(self.phone.passcode.prompts.map(\.reason) == ["Show that it is you", "Show that it is you"])
        #expect(await self.server.accepted.count == 1)
    }

    @Test("Confirm a transaction: a new browser is asked about, and a no signs nothing")
    func newBrowser() async throws {
        try await self.enrolled()
        let asked = [Self.newBrowser, "Bank", "https://bank.example", "Firefox on Linux", "203.0.113.7"]
        try await decode(
            try await self.payload(from: Self.browser), with: self.phone.client, screen: self.confirmation)
        #expect(await self.screen.shown == asked)
        await self.screen.forget()
        await self.screen.refuse()
        var other = Self.browser
        other.browserID = "another"
        try await decode(
            try await self.payload(Self.payment, from: other), with: self.phone.client, screen: self.confirmation)
        #expect(await self.screen.shown == asked)
        #expect(await self.server.accepted.count == 1)
        #expect(await self.server.clientErrorCodes == [3])
    }

    /// Types a password. The guides have no listing for that screen.
    private struct TypedPassword: PasswordUserVerifier {
        let asked: Screen

        func verifyPassword(context: PasswordUserVerificationContext, handler: PasswordUserVerificationHandler) async {
            _ = await self.asked.show("password", [])
            handler.verifyPassword("lantern street 9")
        }
    }

    @Test(
        "Choose an authenticator: no listing signs a payment or a browser unseen, whatever verifies the person",
        arguments: [AuthenticatorModel.Factor.face, .devicePasscode, .password])
    func everyAuthenticator(factor: AuthenticatorModel.Factor) async throws {
        let dialogs = SystemDialogs(reason: "Show that it is you")
        let asked = Screen()
        let kinds: [AuthenticatorModel.Factor: AuthenticatorDescriptor.Kind] = [
            .face: .face, .devicePasscode: .devicePasscode, .password: .password,
        ]
        let kind = try #require(kinds[factor])
        func personIsThere() {
            self.phone.camera.feel(.match)
            self.phone.passcode.answer(.match)
        }
        func questions() async -> Int {
            await self.phone.camera.prompts.count + self.phone.passcode.prompts.count + asked.shown.count
        }
        personIsThere()
        let enrolment = try await self.server.registration(for: "alice", policy: self.policy(factor))
        guard case .registration(let registration) = try await self.phone.redeem(enrolment) else {
            throw OperationError(.unknown)
        }
        _ =
            try await registration.deviceInformation(DeviceInformation(name: "Phone"))
            .authenticatorSelector(Preferred(kind: kind)).biometricUserVerifier(dialogs)
            .devicePasscodeUserVerifier(dialogs).passwordEnroller(NewPasswordScreen { _ in "lantern street 9" })
            .execute()
        func operation(_ code: String) async throws -> OutOfBandAuthentication {
            guard case .authentication(let operation) = try await self.phone.redeem(OutOfBandPayload(scanned: code))
            else { throw OperationError(.unknown) }
            return operation.authenticatorSelector(Preferred(kind: kind)).biometricUserVerifier(dialogs)
                .devicePasscodeUserVerifier(dialogs).passwordUserVerifier(TypedPassword(asked: asked))
        }
        let before = await questions()
        for code in [
            try await self.payload(Self.payment), try await self.payload(from: Self.browser),
            try await self.payload(Self.payment, from: Self.browser),
        ] {
            let bare = try await operation(code)
            await #expect(throws: OperationError(.missingInteraction)) {
                _ = try await bare.execute()
            }
        }
        #expect(await self.server.accepted.isEmpty)
        #expect(await questions() == before, "before anybody is asked who they are")
        personIsThere()
        let ready = try await operation(try await self.payload(Self.payment, from: Self.browser))
        _ =
            try await ready.transactionConfirmer(self.confirmation).requesterVerifier(self.confirmation).execute()
        #expect(await self.screen.shown.contains(Self.newBrowser))
        #expect(await self.screen.shown.contains("To: Jo"))
        #expect(await self.server.accepted.count == 1)
    }

    @Test("Confirm a transaction: the other listings alone sign no payment and no browser unseen")
    func withoutConfirmation() async throws {
        try await self.enrolled()
        let pin = PinScreen { _ in "258036" }
        for code in [try await self.payload(Self.payment), try await self.payload(from: Self.browser)] {
            guard case .authentication(let operation) = try await self.phone.redeem(OutOfBandPayload(scanned: code))
            else { throw OperationError(.unknown) }
            await #expect(throws: OperationError(.missingInteraction)) {
                _ =
                    try await operation.accountSelector(AccountScreen { $0.first })
                    .authenticatorSelector(Preferred(kind: .pin)).pinUserVerifier(pin).execute()
            }
        }
        #expect(await self.server.accepted.isEmpty)
    }
}
