import Countersign

extension ScreenLanguage {
    /// Returns the German words of a text.
    static func german(_ text: ScreenText) -> Wording {
        switch text {
        case .pinTitle: "Ihre PIN"
        case .newPinTitle: "Wählen Sie eine PIN"
        case .digitsTyped(let count): "\(count) Ziffern eingegeben"
        case .wait(let seconds): "Warten Sie \(seconds) Sekunden."
        case .triesLeft(let count): "Verbleibende Versuche: \(count)"
        case .lastTry: "Das ist der letzte Versuch."
        case .paymentTitle(let service?): "\(service): Sie sind dabei zu zahlen"
        case .paymentTitle(nil): "Sie sind dabei zu zahlen"
        case .signingTitle(let service?): "\(service): Sie sind dabei zu unterschreiben"
        case .signingTitle(nil): "Sie sind dabei zu unterschreiben"
        case .account: "Konto"
        case .browser: "Browser"
        case .comparison: "Diesen Text zeigt auch die Seite"
        case .picture: "Bild zur Bestätigung"
        case .amount: "Betrag"
        case .payee: "An"
        case .accountNumber: "Kontonummer"
        case .reference: "Verwendungszweck"
        case .executionDate: "Datum"
        case .numberTitle: "Geben Sie die angezeigte Zahl ein"
        case .numberAdvice:
            """
            Die Seite, auf der Sie begonnen haben, zeigt die Zahl. Wenn Sie keine Zahl sehen oder jemand Ihnen \
            eine Zahl nennt, haben nicht Sie begonnen.
            """
        case .accountTitle: "Welches Konto?"
        case .authenticatorTitle: "Wie bestätigen Sie?"
        case .pin: "PIN"
        case .password: "Passwort"
        case .fingerprint: "Finger"
        case .face: "Gesicht"
        case .devicePasscode: "Gerätecode"
        case .devicePossession: "Dieses Gerät"
        case .approve: "Bestätigen"
        case .goOn: "Weiter"
        case .erase: "Löschen"
        case .cancel: "Abbrechen"
        case .notMe: "Das war ich nicht"
        }
    }
}
