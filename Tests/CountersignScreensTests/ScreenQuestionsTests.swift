import Countersign
import CountersignScreens
import Foundation
import Synchronization
import Testing
import UAFClient

/// The answers that a handler got.
final class Answers: Sendable {
    private let list = Mutex<[String]>([])
    var all: [String] { self.list.withLock { $0 } }
    func add(_ text: String) { self.list.withLock { $0.append(text) } }
}

@MainActor @Suite("Decision 132: questions of the SDK on the screens of the kit")
struct ScreenQuestionsTests {
    private let answers = Answers()
    private let questions = ScreenQuestions(pinPolicy: PinPolicy(minLength: 4, maxLength: 4), now: { now })

    private func askPin(deadline: Date? = nil) async {
        let answers = self.answers
        await self.questions.verifyPin(
            context: PinUserVerificationContext(
                authenticator: authenticator("C516#3001", .pin), username: "alice", coolDownDeadline: deadline),
            handler: PinUserVerificationHandler(
                verifyPin: { answers.add($0) }, cancel: { answers.add("cancelled") }))
    }

    private func content(_ text: String) -> TransactionConfirmationContext {
        TransactionConfirmationContext(account: account, transactionConfirmationData: Data(text.utf8))
    }

    private func askApproval(_ text: String = "Yes?") async {
        let answers = self.answers
        await self.questions.confirmTransaction(
            context: self.content(text),
            handler: TransactionConfirmationHandler(
                approve: { answers.add("approved") }, cancel: { answers.add("cancelled") },
                deny: { answers.add($0.isNotMe ? "not me" : "denied") }))
    }

    @Test("a PIN is given once, when it is complete and the person goes on")
    func pin() async {
        await self.askPin()
        for digit in [1, 2, 3] { self.questions.press(digit) }
        self.questions.goOn()
        #expect(self.answers.all.isEmpty)
        self.questions.press(5)
        self.questions.erase()
        self.questions.press(4)
        self.questions.goOn()
        self.questions.goOn()
        #expect(self.answers.all == ["1234"])
        #expect(self.questions.question == nil)
    }

    @Test("before its deadline a PIN is not given")
    func deadline() async {
        await self.askPin(deadline: now.addingTimeInterval(1))
        for digit in 1...4 { self.questions.press(digit) }
        self.questions.goOn()
        #expect(self.answers.all.isEmpty)
        await self.askPin(deadline: now)
        for digit in 1...4 { self.questions.press(digit) }
        self.questions.goOn()
        #expect(self.answers.all == ["cancelled", "1234"])
    }

    @Test("a new PIN has the policy of the kit")
    func newPin() async {
        let answers = self.answers
        #expect(await self.questions.pinPolicy() == PinPolicy(minLength: 4, maxLength: 4))
        await self.questions.enrollPin(
            context: PinEnrollmentContext(username: "alice"),
            handler: PinEnrollmentHandler(pin: { answers.add($0) }, cancel: { answers.add("cancelled") }))
        for digit in 1...9 { self.questions.press(digit) }
        self.questions.goOn()
        #expect(self.answers.all == ["1234"])
    }

    @Test("an approval needs the person's own act: typing, choosing and going on approve nothing")
    func approval() async {
        await self.askApproval()
        self.questions.press(1)
        self.questions.erase()
        self.questions.goOn()
        #expect(self.answers.all.isEmpty)
        #expect(self.questions.canDeny)
        self.questions.approve(Approval(self.content("Yes?")))
        #expect(self.answers.all == ["approved"])
        self.questions.approve(Approval(self.content("Yes?")))
        self.questions.cancel()
        self.questions.denyAsNotMe()
        #expect(self.answers.all == ["approved"])
    }

    @Test("a button that was drawn for one content does not approve the next")
    func exchanged() async {
        await self.askApproval("Pay 5 to Jo")
        let drawn = Approval(self.content("Pay 5 to Jo"))
        await self.askApproval("Pay 500 to Mallory")
        self.questions.approve(drawn)
        #expect(self.answers.all == ["cancelled"])
        #expect(self.questions.question == .approval(Approval(self.content("Pay 500 to Mallory"))))
    }

    @Test("a person denies a request of somebody else, or gives up")
    func denied() async {
        await self.askApproval()
        self.questions.denyAsNotMe()
        await self.askApproval()
        self.questions.cancel()
        #expect(self.answers.all == ["not me", "cancelled"])
        // A question for a PIN has no denial, and no approval.
        await self.askPin()
        self.questions.denyAsNotMe()
        self.questions.approve(Approval(self.content("Yes?")))
        #expect(self.answers.all == ["not me", "cancelled"])
        #expect(self.questions.question != nil)
    }

    @Test("a number is given when it is whole")
    func number() async {
        let answers = self.answers
        await self.questions.matchNumber(
            context: NumberMatchContext(account: account),
            handler: NumberMatchHandler(number: { answers.add($0) }, cancel: { answers.add("cancelled") }))
        for digit in [2, 5, 8, 0, 3] { self.questions.press(digit) }
        self.questions.goOn()
        #expect(self.answers.all.isEmpty)
        self.questions.press(6)
        self.questions.goOn()
        #expect(self.answers.all == ["258036"])
    }

    @Test("a choice of one needs no question, and only an offered entry is chosen")
    func choice() async throws {
        let answers = self.answers
        let handler = AuthenticatorSelectionHandler(
            aaid: { answers.add($0) }, cancel: { answers.add("cancelled") })
        let all = [authenticator("C516#3001", .pin), authenticator("C516#3004", .face)]
        await self.questions.selectAuthenticator(
            context: AuthenticatorSelectionContext(
                account: account, authenticators: all, compliant: ["C516#3001"]), handler: handler)
        #expect(self.answers.all == ["C516#3001"])
        let both: Set<String> = ["C516#3001", "C516#3004"]
        let context = AuthenticatorSelectionContext(account: account, authenticators: all, compliant: both)
        await self.questions.selectAuthenticator(
            context: context,
            handler: AuthenticatorSelectionHandler(
                aaid: { answers.add($0) }, cancel: { answers.add("cancelled") }))
        let options = ScreenChoice(context).options
        #expect(self.questions.question == .choice(ScreenChoice(context)))
        let other = ScreenChoice(
            AuthenticatorSelectionContext(
                account: account, authenticators: [authenticator("C516#3002", .password)], compliant: ["C516#3002"]))
        self.questions.choose(try #require(other.options.first))
        #expect(self.answers.all == ["C516#3001"])
        self.questions.choose(try #require(options.last))
        #expect(self.answers.all == ["C516#3001", "C516#3004"])
    }

    @Test("the only account that can answer is not asked for, and two are")
    func accounts() async {
        let answers = self.answers
        let bob = RegisteredAccount(username: "bob", server: account.server)
        let pin = authenticator("C516#3001", .pin)
        for compliant in [["alice": Set(["C516#3001"])], ["alice": ["C516#3001"], "bob": ["C516#3001"]]] {
            await self.questions.selectAccount(
                context: AccountSelectionContext(
                    accounts: [account, bob], authenticators: [pin], compliant: compliant),
                handler: AccountSelectionHandler(
                    username: { answers.add($0) }, cancel: { answers.add("cancelled") }))
        }
        #expect(self.answers.all == ["alice"])
        #expect(self.questions.question != nil)
        self.questions.cancel()
        #expect(self.answers.all == ["alice", "cancelled"])
    }

    @Test("for finger, face and passcode the system's dialog shows at once, with the app's texts")
    func system() async {
        let answers = self.answers
        let questions = ScreenQuestions(prompt: SystemPrompt(reason: "Sign in"), now: { now })
        await questions.verifyFingerprint(
            context: FingerprintUserVerificationContext(
                authenticator: authenticator("C516#3003", .fingerprint), username: "alice"),
            handler: FingerprintUserVerificationHandler(listenForOsCredentials: { answers.add("finger") }))
        await questions.verifyBiometric(
            context: BiometricUserVerificationContext(
                authenticator: authenticator("C516#3004", .face), username: "alice"),
            handler: BiometricUserVerificationHandler(listenForOsCredentials: { answers.add($0.reason ?? "") }))
        await questions.verifyDevicePasscode(
            context: DevicePasscodeUserVerificationContext(
                authenticator: authenticator("C516#3005", .devicePasscode), username: "alice"),
            handler: DevicePasscodeUserVerificationHandler(listenForOsCredentials: { answers.add($0.reason ?? "") }))
        #expect(self.answers.all == ["finger", "Sign in", "Sign in"])
        #expect(questions.question == nil)
    }
}

@Suite("Decisions 123, 132: words of the screens in four languages")
struct ScreenLanguageTests {
    static let texts: [ScreenText] = [
        .pinTitle, .newPinTitle, .digitsTyped(3), .wait(seconds: 30), .triesLeft(2), .lastTry,
        .paymentTitle(service: "Demo Bank"), .paymentTitle(service: nil), .signingTitle(service: "Demo Bank"),
        .signingTitle(service: nil), .account, .browser, .comparison, .picture, .amount, .payee, .accountNumber,
        .reference, .executionDate, .numberTitle, .numberAdvice, .accountTitle, .authenticatorTitle, .pin, .password,
        .fingerprint, .face, .devicePasscode, .devicePossession, .approve, .goOn, .erase, .cancel, .notMe,
    ]

    @Test("each text has words in each language, with the values of the text", arguments: texts)
    func words(text: ScreenText) {
        let languages = MessageCatalogue.standard.languages.map { ScreenLanguage($0) }
        #expect(languages.count == 4)
        for language in languages {
            let words = language.text(text)
            #expect(!words.isEmpty)
            switch text {
            case .digitsTyped: #expect(words.contains("3"))
            case .wait: #expect(words.contains("30"))
            case .triesLeft: #expect(words.contains("2"))
            case .paymentTitle(let service?), .signingTitle(let service?): #expect(words.contains(service))
            default: break
            }
        }
    }

    @Test("the words follow the language of the messages, and an app replaces single words")
    func language() {
        let german = MessageCatalogue.standard.language(for: ["de-CH"])
        #expect(ScreenLanguage(german).text(.cancel) == "Abbrechen")
        #expect(ScreenLanguage(ReplacedMessages(german, tag: "de-AT")).text(.cancel) == "Abbrechen")
        #expect(ScreenLanguage(ReplacedMessages(german, tag: "xx")).text(.cancel) == "Cancel")
        let own = ScreenLanguage(german) { $0 == .cancel ? "Zurück" : nil }
        #expect(own.text(.cancel) == "Zurück")
        #expect(own.text(.approve) == "Bestätigen")
    }
}
