import Ceremony
import Countersign
import Foundation
import UAF
import UAFClient
import _Primitives

/// The person who holds the phone: a person at the keyboard, or a script with prepared answers.
///
/// The SDK asks one question at a time and waits for its answer.
actor PhoneHolder {
    private let report: Report
    private var script: ScriptedAnswers
    private var hasDecided = false
    /// The reason that the script gave up, unless the reason was a denial.
    private(set) var gaveUp: Refusal?
    /// `true` if the person had to agree to a content, not only to the requester.
    private(set) var hasSeenTransaction = false

    init(report: Report, script: ScriptedAnswers) {
        self.report = report
        self.script = script
    }

    private var terminal: PhoneTerminal { self.report.terminal }

    // MARK: - Who asks, and for what

    /// The kind of request, as reported to scripts.
    private enum Asked: String { case registration, authentication }

    /// Shows the request once, before any answer.
    private func show(
        _ requester: Countersign.Requester?, account: RegisteredAccount?, transaction: Data?, payment: PaymentDetails?,
        picture: ShownPicture? = nil, operation: Asked
    ) {
        let text = transaction.map { String(decoding: $0, as: UTF8.self) }
        self.hasSeenTransaction = text != nil || picture != nil
        var members: JSONObject = ["event": .string("request"), "operation": .string(operation.rawValue)]
        members.set("account", account?.username)
        members.set("service", requester?.service)
        members.set("origin", requester?.origin)
        members.set("address", requester?.address)
        members.set("browser", requester?.browser)
        members.set("channel", requester?.channel)
        members.set("channelLinking", requester?.channelLinking)
        if let requester { members["browserIsNew"] = .bool(requester.isNewBrowser) }
        members.set("transaction", text)
        members["payment"] = payment.map { .object($0.json) }
        members["picture"] = picture.map { .object($0.json) }
        self.report.say(members) { terminal in
            terminal.print()
            let what =
                operation == .registration
                ? "wants to enrol this phone"
                : text == nil && picture == nil
                    ? "asks you to sign in" : payment == nil ? "asks you to confirm" : "asks you to confirm a payment"
            terminal.print("\(requester?.service ?? "A service") \(what)", .bold)
            var rows: [(name: String, value: String)] = []
            if let origin = requester?.origin { rows.append(("Origin", origin)) }
            if let browser = requester?.browser { rows.append(("Browser", browser)) }
            if let address = requester?.address { rows.append(("From", address)) }
            if let account {
                rows.append(("Account", "\(DisplayText.line(account.username)) at \(account.server.baseURL)"))
            }
            if let text = requester?.channelLinking { rows.append(("The page shows", text)) }
            terminal.list(rows)
            if let payment {
                terminal.print()
                terminal.table(
                    title: "You are about to pay",
                    rows: payment.rows.map { ($0.label, DisplayText.line($0.value)) })
            } else if let picture {
                terminal.print()
                terminal.print("You are about to sign this picture:")
                for line in picture.lines { terminal.print(line) }
                terminal.print("\(picture.picture.width) × \(picture.picture.height) points, SHA-256 \(picture.hash)")
            } else if let text {
                terminal.print()
                terminal.box(title: "You are about to sign", text: DisplayText.lines(text).joined(separator: "\n"))
            }
            terminal.print()
        }
    }

    /// The person's answer to the shown request.
    private enum Answer {
        case agreed
        case denied(DenialStatement)
        /// Nobody has answered.
        case unanswered
    }

    /// Returns the answer to the shown request. The person is asked once. A script without an answer does not agree.
    private func decide(_ question: String) async -> Answer {
        if self.hasDecided { return .agreed }
        switch self.script.decision {
        case .approve: self.hasDecided = true
        case .deny: return .denied(self.script.denial)
        case nil:
            guard self.terminal.isInteractive else { return .unanswered }
            switch try? await self.terminal.decide(question) {
            case .agreed?: self.hasDecided = true
            case .denied?: return .denied(.unwanted)
            case .disowned?: return .denied(.notMe)
            case nil: return .unanswered
            }
        }
        return .agreed
    }

    func selectAccount(_ context: AccountSelectionContext, _ handler: AccountSelectionHandler) async {
        let accounts = context.accounts.filter { account in
            self.script.account.map { $0.utf8.elementsEqual(account.username.utf8) } ?? true
        }
        guard !accounts.isEmpty else {
            return self.giveUp(.notFound("no-such-account", "This phone has no such account."), handler.cancel)
        }
        guard let chosen = await self.choose(among: accounts, for: context.requester) else {
            return self.report.terminal.isInteractive
                ? handler.cancel()
                : self.giveUp(.usage("Several accounts can answer: name one with --account."), handler.cancel)
        }
        handler.username(chosen.username)
    }

    private func choose(among accounts: [RegisteredAccount], for requester: Countersign.Requester?) async
        -> RegisteredAccount?
    {
        if accounts.count == 1 { return accounts[0] }
        guard self.terminal.isInteractive else { return nil }
        self.terminal.print()
        self.terminal.print("\(requester?.service ?? "A service") asks for one of your accounts", .bold)
        let names = accounts.map { "\(DisplayText.line($0.username)) at \($0.server.baseURL)" }
        return (try? await self.terminal.choose("Which account?", names)).flatMap { $0 }.map { accounts[$0] }
    }

    func selectAuthenticator(
        _ context: AuthenticatorSelectionContext, isRegistration: Bool, _ handler: AuthenticatorSelectionHandler
    ) async {
        // A transaction's text has been shown and agreed to before.
        if !self.hasDecided {
            guard self.isMeant(context.account, orGiveUp: handler.cancel) else { return }
            self.show(
                context.requester, account: context.account, transaction: nil, payment: nil,
                operation: isRegistration ? .registration : .authentication)
            switch await self.decide(isRegistration ? "Enrol this phone?" : "Approve?") {
            case .agreed: break
            case .denied(let statement): return handler.deny(statement)
            case .unanswered: return handler.cancel()
            }
        }
        let usable = context.authenticators.filter { authenticator in
            context.isPolicyCompliant(authenticatorAaid: authenticator.aaid)
                && self.script.authenticator.map { $0 == AuthenticatorName(authenticator.kind) } ?? true
        }
        guard let first = usable.first else {
            let reason = "There is no such authenticator, or it may not be used for this."
            return self.giveUp(.notFound("no-such-authenticator", reason), handler.cancel)
        }
        guard usable.count > 1, self.terminal.isInteractive else {
            let preferred = usable.first { AuthenticatorName($0.kind) == self.script.secret }
            return handler.aaid((preferred ?? first).aaid)
        }
        let names = usable.map { AuthenticatorName($0.kind).title }
        guard let chosen = (try? await self.terminal.choose("With what?", names)).flatMap({ $0 }) else {
            return handler.cancel()
        }
        handler.aaid(usable[chosen].aaid)
    }

    /// Returns `true` if the request is for the account that a script has named, or if the script has named no account.
    private func isMeant(_ account: RegisteredAccount, orGiveUp cancel: () -> Void) -> Bool {
        guard let wanted = self.script.account, !wanted.utf8.elementsEqual(account.username.utf8) else { return true }
        self.giveUp(.notFound("no-such-account", "The request is for another account."), cancel)
        return false
    }

    func confirmTransaction(_ context: TransactionConfirmationContext, _ handler: TransactionConfirmationHandler) async
    {
        guard self.isMeant(context.account, orGiveUp: handler.cancel) else { return }
        switch context.transactionConfirmationContentType {
        case .textPlain:
            self.show(
                context.requester, account: context.account, transaction: context.transactionConfirmationData,
                payment: context.payment, operation: .authentication)
        case .imagePNG:
            let bytes = Array(context.transactionConfirmationData)
            guard let picture = try? ShownPicture(png: bytes) else { fallthrough }
            self.show(
                context.requester, account: context.account, transaction: nil, payment: nil, picture: picture,
                operation: .authentication)
        default:
            return self.giveUp(.failed("picture", "A terminal cannot show what is to be confirmed."), handler.cancel)
        }
        switch await self.decide("Approve?") {
        case .agreed: handler.approve()
        case .denied(let statement): handler.deny(statement)
        case .unanswered: handler.cancel()
        }
    }

    /// Shows a requester in a browser that is new to the account, and requires a separate yes: agreeing to a request
    /// does not confirm whose browser made the request.
    func verifyRequester(_ context: RequesterVerificationContext, _ handler: RequesterVerificationHandler) async {
        let requester = context.requester
        var members: JSONObject = ["event": .string("new-browser")]
        members.set("service", requester.service)
        members.set("origin", requester.origin)
        members.set("browser", requester.browser)
        members.set("address", requester.address)
        self.report.say(members) { terminal in
            terminal.print()
            terminal.notice("You have not used this browser before:")
            let rows = [
                ("Service", requester.service), ("Origin", requester.origin), ("Browser", requester.browser),
                ("From", requester.address),
            ]
            terminal.list(rows.compactMap { name, value in value.map { (name: name, value: $0) } })
        }
        if self.script.decision == .deny { return handler.deny(self.script.denial) }
        if self.script.approvesNewBrowser { return handler.approve() }
        guard self.terminal.isInteractive else {
            return self.giveUp(
                Refusal(
                    .refused, .denied, "new-browser",
                    "The account has not used this browser before. Where it is yours, say --new-browser."),
                handler.cancel)
        }
        let isOwn = (try? await self.terminal.confirm("Is it yours, and in front of you?")) ?? false
        isOwn ? handler.approve() : handler.deny()
    }

    /// Asks for the number that is shown where the person began. A script gives its number once: a number of another form
    /// ends its operation.
    func matchNumber(_ context: NumberMatchContext, _ handler: NumberMatchHandler) async {
        guard self.isMeant(context.account, orGiveUp: handler.cancel) else { return }
        // A transaction's text has been shown and agreed to before.
        if !self.hasDecided {
            self.show(
                context.requester, account: context.account, transaction: nil, payment: nil,
                operation: .authentication)
            switch await self.decide("Approve?") {
            case .agreed: break
            case .denied(let statement): return handler.deny(statement)
            case .unanswered: return handler.cancel()
            }
        }
        self.report.say(["event": .string("number"), "digits": .integer(Int64(context.length))]) { terminal in
            terminal.print("\(context.requester?.service ?? "The service") shows a number where you began.")
        }
        if let number = self.script.number {
            guard context.lastRecoverableError == nil else {
                return self.giveUp(
                    .failed("invalid-number", "The number has \(context.length) digits."), handler.cancel)
            }
            return handler.number(number)
        }
        guard self.terminal.isInteractive else {
            return self.giveUp(.usage("A number is wanted: give it with --number."), handler.cancel)
        }
        if context.lastRecoverableError != nil { self.terminal.notice("The number has \(context.length) digits.") }
        let question = "The number (m: nothing is shown, it was not me): "
        guard let number = try? await self.terminal.readAnswer(question) else { return handler.cancel() }
        number.asciiLowercased == "m" ? handler.deny(.notMe) : handler.number(number)
    }

    /// Ends the operation for a reason other than the person's denial.
    private func giveUp(_ refusal: Refusal, _ cancel: () -> Void) {
        self.gaveUp = refusal
        cancel()
    }

    // MARK: - PIN and password

    func enrollPIN(_ context: PinEnrollmentContext, _ policy: PinPolicy, _ handler: PinEnrollmentHandler) async {
        let refusal = context.lastRecoverableError.map { Self.refusal($0, policy) }
        guard let pin = await self.newSecret(.pin, refusal, orGiveUp: handler.cancel) else { return }
        handler.pin(pin)
    }

    func enrollPassword(_ context: PasswordEnrollmentContext, _ handler: PasswordEnrollmentHandler) async {
        var refusal: Refusal?
        if case .customValidationError(let error)? = context.lastRecoverableError {
            refusal = .failed("invalid-password-format", error.message)
        }
        guard let password = await self.newSecret(.password, refusal, orGiveUp: handler.cancel) else { return }
        handler.password(password)
    }

    /// Returns a new PIN or password; `nil` if the person or the script has given up. `refusal` is the reason that the
    /// previous secret was not accepted.
    private func newSecret(_ kind: AuthenticatorName, _ refusal: Refusal?, orGiveUp cancel: () -> Void) async -> String?
    {
        if self.script.secret != nil || !self.terminal.isInteractive {
            if let secret = self.script.next(kind) { return secret }
            self.giveUp(refusal ?? Self.wanted(kind), cancel)
            return nil
        }
        if let refusal { self.terminal.notice(refusal.sentence) }
        while true {
            guard let secret = try? await self.terminal.readSecret("Choose a \(kind.word): "),
                let again = try? await self.terminal.readSecret("And once more: ")
            else {
                cancel()
                return nil
            }
            if secret == again { return secret }
            self.terminal.notice("These were two different ones.")
        }
    }

    func verifyPIN(_ context: PinUserVerificationContext, _ handler: PinUserVerificationHandler) async {
        let error = context.lastRecoverableError
        guard
            let pin = await self.secret(
                .pin, context.authenticatorProtectionStatus, isWrong: error == .invalidPin,
                isEarly: error == .coolingDown, orGiveUp: handler.cancel)
        else { return }
        handler.verifyPin(pin)
    }

    func verifyPassword(_ context: PasswordUserVerificationContext, _ handler: PasswordUserVerificationHandler) async {
        let error = context.lastRecoverableError
        guard
            let password = await self.secret(
                .password, context.authenticatorProtectionStatus, isWrong: error == .invalidPassword,
                isEarly: error == .coolingDown, orGiveUp: handler.cancel)
        else { return }
        handler.verifyPassword(password)
    }

    /// Returns the PIN or the password; `nil` if the person or the script has given up.
    private func secret(
        _ kind: AuthenticatorName, _ status: AuthenticatorProtectionStatus, isWrong: Bool, isEarly: Bool,
        orGiveUp cancel: () -> Void
    ) async -> String? {
        if self.script.secret != nil || !self.terminal.isInteractive {
            return self.scriptedSecret(kind, status, isWrong: isWrong, isEarly: isEarly, orGiveUp: cancel)
        }
        if isWrong { self.terminal.failure("That is not the \(kind.word).") }
        if case .lastAttemptFailed(let tries, let seconds) = status {
            self.terminal.notice("\(tries) \(tries == 1 ? "try" : "tries") left.")
            guard (try? await self.terminal.countDown(seconds, "You can try again in")) != nil else {
                cancel()
                return nil
            }
        }
        guard let secret = try? await self.terminal.readSecret("\(kind.title): ") else {
            cancel()
            return nil
        }
        return secret
    }

    /// Returns the next secret of a script. A script does not wait: a cool-down ends its operation.
    private func scriptedSecret(
        _ kind: AuthenticatorName, _ status: AuthenticatorProtectionStatus, isWrong: Bool, isEarly: Bool,
        orGiveUp cancel: () -> Void
    ) -> String? {
        var tries: Int?
        var seconds = 0
        if case .lastAttemptFailed(let remaining, let coolDown) = status { (tries, seconds) = (remaining, coolDown) }
        if isWrong || isEarly || tries != nil {
            var members: JSONObject = ["event": .string(kind.rawValue), "coolDownSeconds": .integer(Int64(seconds))]
            if let tries { members["remainingTries"] = .integer(Int64(tries)) }
            self.report.say(members) { terminal in
                terminal.notice("\(tries.map(String.init) ?? "No") tries left; the next in \(seconds) seconds.")
            }
        }
        if seconds == 0, let secret = self.script.next(kind) { return secret }
        let refusal: Refusal =
            if isWrong {
                .failed("wrong-\(kind.rawValue)", "That is not the \(kind.word).")
            } else if seconds > 0 {
                .failed("cooling-down", "No \(kind.word) is taken for another \(seconds) seconds.")
            } else {
                Self.wanted(kind)
            }
        self.giveUp(refusal, cancel)
        return nil
    }

    func changePIN(_ context: PinChangeContext, _ policy: PinPolicy, _ handler: PinChangeHandler) async {
        let error = context.lastRecoverableError
        let refusal: Refusal? =
            switch error {
            case .invalidPinFormat: Self.refusal(.invalidPinFormat, policy)
            case .unsafePin(let rule): Self.refusal(.unsafePin(rule), policy)
            case .oldPinEqualsNewPin: Self.unchanged(.pin)
            case .invalidPin, .coolingDown, nil: nil
            }
        guard
            let pins = await self.changedSecret(
                .pin, context.authenticatorProtectionStatus, isWrong: error == .invalidPin,
                isEarly: error == .coolingDown, refusal, orGiveUp: handler.cancel)
        else { return }
        handler.pins(old: pins.old, new: pins.new)
    }

    func changePassword(_ context: PasswordChangeContext, _ handler: PasswordChangeHandler) async {
        let error = context.lastRecoverableError
        let refusal: Refusal? =
            switch error {
            case .customValidationError(let error): .failed("invalid-password-format", error.message)
            case .oldPasswordEqualsNewPassword: Self.unchanged(.password)
            case .invalidPassword, .coolingDown, nil: nil
            }
        guard
            let passwords = await self.changedSecret(
                .password, context.authenticatorProtectionStatus, isWrong: error == .invalidPassword,
                isEarly: error == .coolingDown, refusal, orGiveUp: handler.cancel)
        else { return }
        handler.passwords(old: passwords.old, new: passwords.new)
    }

    /// Returns the present and the new PIN or password; `nil` if the person or the script has given up. `refusal` is the
    /// reason that the previous new secret was not accepted.
    private func changedSecret(
        _ kind: AuthenticatorName, _ status: AuthenticatorProtectionStatus, isWrong: Bool, isEarly: Bool,
        _ refusal: Refusal?, orGiveUp cancel: () -> Void
    ) async -> (old: String, new: String)? {
        if let refusal {
            guard self.terminal.isInteractive || self.script.hasSecret else {
                self.giveUp(refusal, cancel)
                return nil
            }
            self.report.say(["event": .string(kind.rawValue), "reason": .string(refusal.reason)]) {
                $0.notice(refusal.sentence)
            }
        }
        guard let old = await self.secret(kind, status, isWrong: isWrong, isEarly: isEarly, orGiveUp: cancel),
            let new = await self.newSecret(kind, nil, orGiveUp: cancel)
        else { return nil }
        return (old, new)
    }

    private static func refusal(_ error: PinEnrollmentError, _ policy: PinPolicy) -> Refusal {
        switch error {
        case .invalidPinFormat:
            let lengths = policy.minLength == policy.maxLength ? "" : "\(policy.minLength) to "
            return .failed("invalid-pin-format", "A PIN has \(lengths)\(policy.maxLength) digits.")
        case .unsafePin:
            return .failed("unsafe-pin", "Whoever finds the phone tries that PIN first.")
        }
    }

    private static func unchanged(_ kind: AuthenticatorName) -> Refusal {
        .failed("unchanged-\(kind.rawValue)", "The new \(kind.word) is the one that you have.")
    }

    private static func wanted(_ kind: AuthenticatorName) -> Refusal {
        .usage("A \(kind.word) is wanted: give it with --\(kind.rawValue)-stdin.")
    }

    // MARK: - What the simulated operating system judges

    func verifyFingerprint(_ context: FingerprintUserVerificationContext, _ handler: FingerprintUserVerificationHandler)
    {
        let hint = context.lastRecoverableError?.hint
        self.announce(
            "fingerprint", hint, "Touch the sensor (simulated: it feels what `sensor --fingerprint` told it).")
        handler.listenForOsCredentials()
    }

    func verifyFace(_ handler: BiometricUserVerificationHandler) {
        self.announce("face", nil, "Look at the phone (simulated: it sees what `sensor --face` told it).")
        handler.listenForOsCredentials(self.prompt)
    }

    func verifyPasscode(_ handler: DevicePasscodeUserVerificationHandler) {
        self.announce(
            "passcode", nil, "The device asks for its passcode (simulated: `sensor --passcode` told it the answer).")
        handler.listenForOsCredentials(self.prompt)
    }

    /// The text of an operating system's dialog.
    private var prompt: SystemPrompt {
        SystemPrompt(reason: self.hasSeenTransaction ? "Confirm what you have just read" : "Show that it is you")
    }

    private func announce(_ sensor: String, _ hint: String?, _ words: String) {
        var members: JSONObject = [
            "event": .string("sensor"), "sensor": .string(sensor), "simulated": .bool(true),
        ]
        members.set("hint", hint)
        self.report.say(members) { terminal in
            if let hint { terminal.notice(DisplayText.line(hint)) }
            terminal.print(words)
        }
    }
}

extension PaymentDetails {
    /// The fields with their names in the API of relying parties.
    fileprivate var json: JSONObject {
        var members: JSONObject = [
            "amount": .string(self.amount), "currency": .string(self.currency), "payee": .string(self.payee),
        ]
        members.set("iban", self.iban)
        members.set("account", self.accountNumber)
        members.set("reference", self.reference)
        members.set("executionDate", self.executionDate)
        return members
    }
}

extension AuthenticatorName {
    init(_ kind: AuthenticatorDescriptor.Kind) {
        switch kind {
        case .pin: self = .pin
        case .password: self = .password
        case .fingerprint: self = .fingerprint
        case .face: self = .face
        case .devicePasscode: self = .passcode
        default: self = .device
        }
    }

    var title: String {
        switch self {
        case .pin: "PIN"
        case .password: "Password"
        case .fingerprint: "Fingerprint (simulated sensor)"
        case .face: "Face (simulated sensor)"
        case .passcode: "Passcode of this device (simulated)"
        case .device: "This device"
        }
    }

    /// The word in sentences for the secret that the person types.
    var word: String { self == .pin ? "PIN" : self.rawValue }

    /// `true` if this phone only simulates the authenticator, in contrast to a real phone.
    var isSimulated: Bool { [.fingerprint, .face, .passcode].contains(self) }
}
