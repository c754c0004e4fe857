import Countersign

extension ScreenLanguage {
    /// Returns the French words of a text.
    static func french(_ text: ScreenText) -> Wording {
        switch text {
        case .pinTitle: "Votre code PIN"
        case .newPinTitle: "Choisissez un code PIN"
        case .digitsTyped(let count): "\(count) chiffres saisis"
        case .wait(let seconds): "Attendez \(seconds) secondes."
        case .triesLeft(let count): "Essais restants : \(count)"
        case .lastTry: "C’est le dernier essai."
        case .paymentTitle(let service?): "\(service) : vous allez payer"
        case .paymentTitle(nil): "Vous allez payer"
        case .signingTitle(let service?): "\(service) : vous allez signer"
        case .signingTitle(nil): "Vous allez signer"
        case .account: "Compte"
        case .browser: "Navigateur"
        case .comparison: "La page affiche aussi ce texte"
        case .picture: "Image à confirmer"
        case .amount: "Montant"
        case .payee: "À"
        case .accountNumber: "Numéro de compte"
        case .reference: "Référence"
        case .executionDate: "Date"
        case .numberTitle: "Saisissez le nombre affiché"
        case .numberAdvice:
            """
            La page où vous avez commencé affiche le nombre. Si vous ne voyez aucun nombre, ou si quelqu’un \
            vous dicte un nombre, ce n’est pas vous qui avez commencé.
            """
        case .accountTitle: "Quel compte ?"
        case .authenticatorTitle: "Comment confirmez-vous ?"
        case .pin: "Code PIN"
        case .password: "Mot de passe"
        case .fingerprint: "Doigt"
        case .face: "Visage"
        case .devicePasscode: "Code de l’appareil"
        case .devicePossession: "Cet appareil"
        case .approve: "Confirmer"
        case .goOn: "Continuer"
        case .erase: "Effacer"
        case .cancel: "Annuler"
        case .notMe: "Ce n’était pas moi"
        }
    }
}
