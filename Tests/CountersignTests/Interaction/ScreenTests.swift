import Countersign
import CountersignTestKit
import Foundation
import Synchronization
import Testing
import UAF
import UAFClient

/// A view model of an app, as it is usually written: all screens in one class of the main actor.
@MainActor
final class ViewModel: AccountSelector, AuthenticatorSelector, RequesterVerifier, TransactionConfirmer, PinEnroller,
    PinUserVerifier, PinChanger, PasswordEnroller, PasswordPolicy, PasswordUserVerifier, PasswordChanger,
    FingerprintUserVerifier, BiometricUserVerifier, DevicePasscodeUserVerifier
{
    private(set) var shown: [String] = []
    var pin = "135790"

    func selectAccount(context: AccountSelectionContext, handler: AccountSelectionHandler) {
        self.shown.append("account")
        handler.username(context.accounts[0].username)
    }
    func selectAuthenticator(context: AuthenticatorSelectionContext, handler: AuthenticatorSelectionHandler) {
        self.shown.append("authenticator")
        guard let aaid = context.authenticators.first(where: { context.isPolicyCompliant(authenticatorAaid: $0.aaid) })
        else { return handler.cancel() }
        handler.aaid(aaid.aaid)
    }
    func verifyRequester(context: RequesterVerificationContext, handler: RequesterVerificationHandler) {
        self.shown.append("new browser of \(context.requester.service ?? "")")
        handler.approve()
    }
    func confirmTransaction(context: TransactionConfirmationContext, handler: TransactionConfirmationHandler) async {
        await Task.yield()
        self.shown.append(String(decoding: context.transactionConfirmationData, as: UTF8.self))
        handler.approve()
    }
    func enrollPin(context: PinEnrollmentContext, handler: PinEnrollmentHandler) { handler.pin(self.pin) }
    func pinPolicy() -> PinPolicy { PinPolicy(minLength: self.pin.count, maxLength: self.pin.count) }
    func verifyPin(context: PinUserVerificationContext, handler: PinUserVerificationHandler) {
        if case .lastAttemptFailed = context.authenticatorProtectionStatus { return handler.cancel() }
        self.shown.append("pin")
        handler.verifyPin(self.pin)
    }
    func changePin(context: PinChangeContext, handler: PinChangeHandler) {
        self.shown.append("PIN change")
        handler.pins(old: self.pin, new: "1470")
    }
    func changePassword(context: PasswordChangeContext, handler: PasswordChangeHandler) {
        handler.passwords(old: "lantern street 9", new: "harbour bridge 4")
    }
    func enrollPassword(context: PasswordEnrollmentContext, handler: PasswordEnrollmentHandler) {
        handler.password("lantern street 9")
    }
    func passwordPolicy() -> any PasswordPolicy { self }
    func validatePasswordForEnrollment(_ password: String) throws(PasswordValidationError) {}
    func validatePasswordForPasswordChange(_ password: String) throws(PasswordValidationError) {}
    func verifyPassword(context: PasswordUserVerificationContext, handler: PasswordUserVerificationHandler) {
        handler.verifyPassword("lantern street 9")
    }
    func verifyFingerprint(context: FingerprintUserVerificationContext, handler: FingerprintUserVerificationHandler) {
        handler.listenForOsCredentials()
    }
    func verifyBiometric(context: BiometricUserVerificationContext, handler: BiometricUserVerificationHandler) {
        handler.listenForOsCredentials(SystemPrompt(reason: "Sign in"))
    }
    func verifyDevicePasscode(
        context: DevicePasscodeUserVerificationContext, handler: DevicePasscodeUserVerificationHandler
    ) {
        handler.listenForOsCredentials(SystemPrompt(reason: "Sign in"))
    }
}

@Suite("Decision 16: screens of the main actor, and screens in an app's own tests", .overEachKeyAbility)
struct ScreenTests {
    /// What a handler was told.
    private final class Told: Sendable {
        private let words = Mutex<[String]>([])
        var all: [String] { self.words.withLock { $0 } }
        func tell(_ word: String) { self.words.withLock { $0.append(word) } }
    }

    private static let account = RegisteredAccount(
        username: "alice", server: RegisteredAccount.Server(baseURL: URL(string: "https://id.example.com")!))
    private static let authenticator = AuthenticatorDescriptor(
        aaid: "C516#0001", kind: .pin,
        registration: AuthenticatorDescriptor.RegistrationInfo(registeredAccounts: [account]))

    @Test("One class of the main actor enrols, and answers content and a new browser")
    @MainActor
    func mainActor() async throws {
        let world = try await World()
        let model = ViewModel()
        model.pin = "2580"
        guard
            case .registration(let registration) = try await world.phone.redeem(
                try await world.server.registration(for: "alice", policy: World.policy([[World.pin]])))
        else { throw OperationError(.unknown) }
        _ =
            try await registration.deviceInformation(DeviceInformation(name: "Phone")).authenticatorSelector(model)
            .pinEnroller(model).passwordEnroller(model).execute()
        let authentication = try await world.operation(
            try await world.server.authentication(
                transaction: [text("Pay 5")],
                requester: ReturnUAFRequest.Requester(service: "Bank", browserID: "browser")))
        _ =
            try await authentication.accountSelector(model).authenticatorSelector(model).requesterVerifier(model)
            .transactionConfirmer(model).pinUserVerifier(model).passwordUserVerifier(model)
            .fingerprintUserVerifier(model).biometricUserVerifier(model).devicePasscodeUserVerifier(model)
            .execute()
        // One policy is the enroller's and the changer's: four digits.
        try await world.phone.client.operations.pinChange.username("alice").pinChanger(model).execute()
        #expect(
            model.shown == [
                "authenticator", "account", "new browser of Bank", "Pay 5", "authenticator", "pin", "PIN change",
            ])
    }

    @Test("A screen that waits in its own task is cancelled once nobody wants its answer")
    func abandoned() async throws {
        struct Waiting: PinUserVerifier {
            let told: Told
            let clock: FakeClock
            func verifyPin(context: PinUserVerificationContext, handler: PinUserVerificationHandler) async {
                self.told.tell("shown")
                do { try await self.clock.sleep(for: .seconds(100_000)) } catch { self.told.tell("taken away") }
            }
        }
        let world = try await World()
        try await world.enroll()
        let told = Told()
        let operation = world.phone.ready(try await world.operation(try await world.server.authentication()))
            .pinUserVerifier(Waiting(told: told, clock: world.phone.clock))
        let ended = Task { await operationError { _ = try await operation.execute() } }
        while told.all.isEmpty || world.phone.clock.sleepingCount < 2 { await Task.yield() }
        world.phone.clock.advance(by: .seconds(240))
        #expect(await ended.value == .fido(.userNotResponsive))
        while told.all.count < 2 { await Task.yield() }
        #expect(told.all == ["shown", "taken away"])
    }

    @Test("An app's test makes each context and handler, and hears what the screen answers, once")
    func contextsAndHandlers() async throws {
        let told = Told()
        let person = VirtualPerson()
        let authenticator = Self.authenticator
        let account = AccountSelectionContext(
            accounts: [Self.account], authenticators: [authenticator], compliant: ["alice": [authenticator.aaid]],
            transactionConfirmationData: Data("Pay 5".utf8))
        #expect(!account.isContentRead && account.isPolicyCompliant(username: "alice", aaid: authenticator.aaid))
        let accountHandler = AccountSelectionHandler(username: { told.tell($0) }, cancel: { told.tell("cancel") })
        person.selectAccount(context: account, handler: accountHandler)
        accountHandler.cancel()
        #expect(account.isContentRead && told.all == ["alice"])

        let payment = AuthenticatorSelectionContext(
            account: Self.account, authenticators: [authenticator], compliant: [authenticator.aaid],
            transactionConfirmationData: Data("Payment\nAmount: EUR 12.50\nTo: Jo\nAccount: 7".utf8))
        #expect(payment.payment?.payee == "Jo" && payment.isContentRead)
        person.selectAuthenticator(context: payment, handler: AuthenticatorSelectionHandler(aaid: { told.tell($0) }))
        person.verifyRequester(
            context: RequesterVerificationContext(
                account: Self.account, requester: Countersign.Requester(service: "Bank", isNewBrowser: true)),
            handler: RequesterVerificationHandler(approve: { told.tell("own browser") }))
        person.confirmTransaction(
            context: TransactionConfirmationContext(
                account: Self.account, transactionConfirmationData: Data("Pay 5".utf8)),
            handler: TransactionConfirmationHandler(approve: { told.tell("agreed") }))
        person.enrollPin(
            context: PinEnrollmentContext(username: "alice", lastRecoverableError: .invalidPinFormat),
            handler: PinEnrollmentHandler(pin: { told.tell("new \($0)") }))
        person.verifyPin(
            context: PinUserVerificationContext(
                authenticator: authenticator, username: "alice",
                authenticatorProtectionStatus: .lastAttemptFailed(remainingTries: 2, coolDownTimeInSeconds: 60)),
            handler: PinUserVerificationHandler(verifyPin: { told.tell($0) }))
        person.enrollPassword(
            context: PasswordEnrollmentContext(username: "alice"),
            handler: PasswordEnrollmentHandler(password: { told.tell("new \($0)") }))
        person.verifyPassword(
            context: PasswordUserVerificationContext(authenticator: authenticator, username: "alice"),
            handler: PasswordUserVerificationHandler(verifyPassword: { told.tell($0) }))
        let change = PinChangeHandler(pins: { told.tell("\($0) to \($1)") }, cancel: { told.tell("cancel") })
        person.changePin(
            context: PinChangeContext(username: "alice", lastRecoverableError: .oldPinEqualsNewPin), handler: change)
        change.cancel()
        person.changePassword(
            context: PasswordChangeContext(
                username: "alice",
                authenticatorProtectionStatus: .lastAttemptFailed(remainingTries: 4, coolDownTimeInSeconds: 0)),
            handler: PasswordChangeHandler(passwords: { told.tell("\($0) to \($1)") }))
        person.verifyFingerprint(
            context: FingerprintUserVerificationContext(
                authenticator: authenticator, username: "alice",
                lastRecoverableError: FingerprintUserVerificationError(hint: "slower")),
            handler: FingerprintUserVerificationHandler(listenForOsCredentials: { told.tell("finger") }))
        let face = BiometricUserVerificationHandler(
            listenForOsCredentials: { told.tell($0.reason ?? "face") }, cancel: { told.tell("away") })
        person.verifyBiometric(
            context: BiometricUserVerificationContext(authenticator: authenticator, username: "alice"), handler: face)
        face.listenForOsCredentials()
        face.cancel()
        person.verifyDevicePasscode(
            context: DevicePasscodeUserVerificationContext(authenticator: authenticator, username: "alice"),
            handler: DevicePasscodeUserVerificationHandler(listenForOsCredentials: { _ in told.tell("passcode") }))
        #expect(
            told.all.dropFirst() == [
                "C516#0001", "own browser", "agreed", "new 135790", "135790", "new lantern street 9",
                "lantern street 9", "135790 to 864209", "lantern street 9 to harbour bridge 4", "finger", "face",
                "away", "passcode",
            ])
    }
}
