import Countersign

extension ScreenLanguage {
    /// Returns the English words of a text.
    static func english(_ text: ScreenText) -> Wording {
        switch text {
        case .pinTitle: "Your PIN"
        case .newPinTitle: "Choose a PIN"
        case .digitsTyped(let count): "\(count) digits typed"
        case .wait(let seconds): "Wait \(seconds) seconds."
        case .triesLeft(let count): "Tries left: \(count)"
        case .lastTry: "This is the last try."
        case .paymentTitle(let service?): "\(service): you are about to pay"
        case .paymentTitle(nil): "You are about to pay"
        case .signingTitle(let service?): "\(service): you are about to sign"
        case .signingTitle(nil): "You are about to sign"
        case .account: "Account"
        case .browser: "Browser"
        case .comparison: "The page shows this text too"
        case .picture: "Picture to confirm"
        case .amount: "Amount"
        case .payee: "To"
        case .accountNumber: "Account"
        case .reference: "Reference"
        case .executionDate: "Date"
        case .numberTitle: "Type the number that you see"
        case .numberAdvice:
            """
            The page where you began shows the number. If you see no number, or another person tells you a \
            number, you did not begin this.
            """
        case .accountTitle: "Which account?"
        case .authenticatorTitle: "How do you confirm?"
        case .pin: "PIN"
        case .password: "Password"
        case .fingerprint: "Finger"
        case .face: "Face"
        case .devicePasscode: "Device passcode"
        case .devicePossession: "This device"
        case .approve: "Approve"
        case .goOn: "Continue"
        case .erase: "Erase"
        case .cancel: "Cancel"
        case .notMe: "This was not me"
        }
    }
}
