import Countersign

extension ScreenLanguage {
    /// Returns the Spanish words of a text.
    static func spanish(_ text: ScreenText) -> Wording {
        switch text {
        case .pinTitle: "Su PIN"
        case .newPinTitle: "Elija un PIN"
        case .digitsTyped(let count): "\(count) cifras escritas"
        case .wait(let seconds): "Espere \(seconds) segundos."
        case .triesLeft(let count): "Intentos restantes: \(count)"
        case .lastTry: "Este es el último intento."
        case .paymentTitle(let service?): "\(service): va a pagar"
        case .paymentTitle(nil): "Va a pagar"
        case .signingTitle(let service?): "\(service): va a firmar"
        case .signingTitle(nil): "Va a firmar"
        case .account: "Cuenta"
        case .browser: "Navegador"
        case .comparison: "La página también muestra este texto"
        case .picture: "Imagen para confirmar"
        case .amount: "Importe"
        case .payee: "Para"
        case .accountNumber: "Número de cuenta"
        case .reference: "Concepto"
        case .executionDate: "Fecha"
        case .numberTitle: "Escriba el número que ve"
        case .numberAdvice:
            """
            La página donde usted empezó muestra el número. Si no ve ningún número, o si alguien le dice un \
            número, no empezó usted.
            """
        case .accountTitle: "¿Qué cuenta?"
        case .authenticatorTitle: "¿Cómo confirma?"
        case .pin: "PIN"
        case .password: "Contraseña"
        case .fingerprint: "Dedo"
        case .face: "Cara"
        case .devicePasscode: "Código del dispositivo"
        case .devicePossession: "Este dispositivo"
        case .approve: "Confirmar"
        case .goOn: "Continuar"
        case .erase: "Borrar"
        case .cancel: "Cancelar"
        case .notMe: "No he sido yo"
        }
    }
}
