import Countersign
import CountersignScreens
import Foundation
import Testing
import UAFClient

/// The moment of the tests.
let now = Date(timeIntervalSince1970: 1_800_000_000)
let account = RegisteredAccount(
    username: "alice", server: RegisteredAccount.Server(baseURL: URL(string: "https://id.example.com")!))

func authenticator(
    _ aaid: String, _ kind: AuthenticatorDescriptor.Kind, isUserEnrolled: Bool = true, isSupported: Bool = true
) -> AuthenticatorDescriptor {
    AuthenticatorDescriptor(
        aaid: aaid, kind: kind, isUserEnrolled: isUserEnrolled, isSupportedByHardware: isSupported)
}

@Suite("Decision 132: the PIN pad as a value")
struct PinPadTests {
    private func pad(
        _ status: AuthenticatorProtectionStatus = .unlocked, deadline: Date? = nil,
        error: PinUserVerificationError? = nil, policy: PinPolicy = PinPolicy()
    ) -> PinPad {
        PinPad(
            PinUserVerificationContext(
                authenticator: authenticator("C516#3001", .pin), username: "alice",
                authenticatorProtectionStatus: status, coolDownDeadline: deadline, lastRecoverableError: error),
            policy: policy)
    }

    @Test("digits are typed and erased, other numbers change nothing, and the pad tells their number alone")
    func typing() {
        var pad = self.pad()
        #expect(pad.pin(at: now) == nil)
        for digit in [1, 2, 3, 10, -1] { pad.press(digit) }
        #expect(pad.count == 3)
        #expect(pad.pin(at: now) == nil)
        pad.press(4)
        #expect(pad.pin(at: now) == "1234")
        pad.erase()
        #expect(!pad.isComplete)
        for _ in 0..<40 { pad.press(0) }
        #expect(pad.count == pad.maxLength)
        for _ in 0..<40 { pad.erase() }
        #expect(pad.count == 0)
        #expect("\(self.typed())" == "PinPad(4 digits)")
        var dumped = ""
        dump(self.typed(), to: &dumped)
        #expect(!dumped.contains("1234"))
    }

    private func typed() -> PinPad {
        var pad = self.pad()
        for digit in 1...4 { pad.press(digit) }
        return pad
    }

    @Test("the waiting time is a deadline: it ends by the clock, however long the screen has slept")
    func deadline() {
        var pad = self.pad(
            .lastAttemptFailed(remainingTries: 2, coolDownTimeInSeconds: 60), deadline: now.addingTimeInterval(60),
            error: .invalidPin)
        for digit in 1...6 { pad.press(digit) }
        #expect(pad.remainingTries == 2)
        #expect(pad.remainingSeconds(at: now) == 60)
        #expect(pad.remainingSeconds(at: now.addingTimeInterval(0.5)) == 60)
        #expect(pad.remainingSeconds(at: now.addingTimeInterval(59.1)) == 1)
        #expect(pad.pin(at: now.addingTimeInterval(59.9)) == nil)
        #expect(pad.remainingSeconds(at: now.addingTimeInterval(60)) == 0)
        #expect(pad.pin(at: now.addingTimeInterval(60)) == "123456")
        #expect(pad.remainingSeconds(at: now.addingTimeInterval(1_000_000)) == 0)
        #expect(pad.error == ScreenError(PinUserVerificationError.invalidPin))
        // A clock that was set back by years shows a day.
        #expect(pad.remainingSeconds(at: Date(timeIntervalSince1970: 0)) == 86_400)
        #expect(self.pad().remainingSeconds(at: now) == 0)
    }

    @Test(
        "a PIN of each length that a policy allows can be typed, and a PIN from before the policy",
        arguments: [(1, 3, 1, 16), (6, 6, 4, 16), (8, 24, 4, 24), (0, 0, 1, 16)])
    func lengths(least: Int, most: Int, shortest: Int, longest: Int) {
        var pad = self.pad(policy: PinPolicy(minLength: least, maxLength: most))
        for count in 1...40 {
            pad.press(7)
            #expect((pad.pin(at: now) != nil) == (count >= shortest))
        }
        #expect(pad.count == longest)
    }

    @Test("a new PIN has the lengths of the policy")
    func newPin() {
        var pad = PinPad(
            PinEnrollmentContext(username: "alice", lastRecoverableError: .invalidPinFormat),
            policy: PinPolicy(minLength: 5, maxLength: 6))
        #expect(pad.isNew)
        for digit in 1...4 { pad.press(digit) }
        #expect(pad.pin(at: now) == nil)
        for digit in 5...9 { pad.press(digit) }
        #expect(pad.pin(at: now) == "123456")
        #expect(pad.error == ScreenError(PinEnrollmentError.invalidPinFormat))
    }
}

@Suite("Decision 132: approval, number and choice as values")
struct ApprovalTests {
    private func approval(_ text: String, _ requester: Requester? = nil) -> Approval {
        Approval(
            TransactionConfirmationContext(
                account: account, transactionConfirmationData: Data(text.utf8), requester: requester))
    }

    @Test("a payment is a table with labels of the language, and values as they are signed")
    func payment() throws {
        let text = """
            Payment
            Amount: EUR 120.00
            To: Jo Gardener
            IBAN: DE89370400440532013000
            Reference: Garden fence
            Date: 2026-12-01
            """
        let approval = self.approval(text, Requester(service: "Demo Bank", browser: "Firefox", channelLinking: "BLUE"))
        guard case .payment(let rows) = approval.content else {
            Issue.record("not a payment")
            return
        }
        #expect(rows.map(\.signedLabel) == ["Amount", "To", "IBAN", "Reference", "Date"])
        #expect(rows.map(\.label) == [.amount, .payee, nil, .reference, .executionDate])
        #expect(rows.first?.value == "EUR 120.00")
        #expect(approval.title == .paymentTitle(service: "Demo Bank"))
        #expect(approval.request.map(\.label) == [.account, .browser, .comparison])
        #expect(approval.request.map(\.value) == ["alice", "Firefox", "BLUE"])
        #expect(!"\(approval)".contains("Gardener"))
        var dumped = ""
        dump(approval, to: &dumped)
        #expect(!dumped.contains("Gardener"))
    }

    @Test("a text is shown letter by letter, and a picture as a picture")
    func others() {
        let text = self.approval("I agree.")
        #expect(text.content == .text("I agree."))
        #expect(text.title == .signingTitle(service: nil))
        #expect(text.request.map(\.label) == [.account])
        let picture = Approval(
            TransactionConfirmationContext(
                account: account, transactionConfirmationData: Data([1]),
                transactionConfirmationContentType: .imagePNG))
        #expect(picture.content == .picture(Data([1])))
    }

    @Test("a number has its length, is shown in groups, and is not whole before its last digit")
    func number() {
        var entry = NumberEntry(
            NumberMatchContext(account: account, length: 6, lastRecoverableError: .invalidNumberFormat))
        #expect(entry.error == ScreenError(NumberMatchError.invalidNumberFormat))
        for digit in [1, 2, 3, 4, 5, 11] { entry.press(digit) }
        #expect(entry.shown == "123 45")
        #expect(entry.number == nil)
        for digit in [6, 7, 8] { entry.press(digit) }
        #expect(entry.number == "123456")
        entry.erase()
        #expect(entry.number == nil)
    }

    @Test("only accounts and authenticators that can answer are offered")
    func choice() {
        let bob = RegisteredAccount(username: "bob", server: account.server)
        let pin = authenticator("C516#3001", .pin)
        let accounts = ScreenChoice(
            AccountSelectionContext(
                accounts: [account, bob], authenticators: [pin], compliant: ["bob": ["C516#3001"]]))
        #expect(accounts.options.map(\.id) == ["bob"])
        #expect(accounts.options.map(\.server) == ["id.example.com"])
        let all: [AuthenticatorDescriptor] = [
            pin, authenticator("C516#3002", .password), authenticator("C516#3004", .face),
            authenticator("C516#3003", .fingerprint, isSupported: false),
            authenticator("C516#3005", .devicePasscode, isUserEnrolled: false),
            authenticator("C516#3006", .devicePossession),
        ]
        let compliant: Set<String> = ["C516#3001", "C516#3003", "C516#3004", "C516#3005", "C516#3006"]
        let authenticators = ScreenChoice(
            AuthenticatorSelectionContext(account: account, authenticators: all, compliant: compliant))
        #expect(authenticators.options.map(\.label) == [.pin, .face, .devicePossession])
    }
}
