/// The messages of errors in Spanish, with the formal address “usted”.
public struct SpanishMessages: MessageLanguage {
    /// The name of the language.
    public let tag = "es"

    /// Creates the language.
    public init() {}

    /// Returns the words of an event.
    public func words(_ event: ErrorEvent) -> Wording {
        switch event {
        // The network and the server
        case .serverSilent: "El servidor no responde."
        case .serverNotProven: "No se ha podido comprobar la identidad del servidor."
        case .serverKeyNotPinned: "El servidor no ha podido demostrar que es el correcto. No se ha enviado nada."
        case .addressNotSecure: "La dirección del servidor no es segura. No se ha enviado nada."
        case .otherProtocolVersion: "El servidor utiliza otra versión del protocolo."
        case .refusedOrMalformed: "El servidor lo ha rechazado o su respuesta no se entiende."
        case .refused: "El servidor lo ha rechazado."
        case .answerMalformed: "La respuesta del servidor no se entiende."
        case .appNotTrusted: "El servidor no confía en esta aplicación."
        case .clocksDiffer: "El reloj de este dispositivo y el del servidor difieren demasiado."
        case .tooManyRequests: "Ha habido demasiadas solicitudes."

        // The app and the device
        case .appMistaken: "Esta aplicación no está bien configurada."
        case .appFaulty: "Esta aplicación ha cometido un error."
        case .doneBefore: "Esto ya se ha hecho."
        case .notAsked: "Esta aplicación no ha hecho una pregunta necesaria. No se ha firmado nada."
        case .headerNotSendable:
            "Esta aplicación quería enviar algo que ninguna petición admite. No se ha enviado nada."
        case .serverNameInvalid: "Esta aplicación ha indicado un servidor no válido. No se ha enviado nada."
        case .appRenamed(let former?): "Esta aplicación se llamaba \(former) cuando se registró. No se ha perdido nada."
        case .appRenamed(nil): "Esta aplicación tiene otro nombre que cuando se registró. No se ha perdido nada."
        case .appTooOld: "Esta aplicación es demasiado antigua."
        case .appNotProven:
            "Esta aplicación no ha podido demostrar su autenticidad. Este dispositivo no se ha registrado."
        case .keysInUse: "Otro programa está usando las claves de este dispositivo."
        case .storageUnreadable: "No se pueden abrir los datos guardados en este dispositivo."
        case .storageNewer: "Una versión más reciente de esta aplicación ha guardado los datos de este dispositivo."
        case .storageFailed: "Ha fallado el almacenamiento de este dispositivo."
        case .noDevicePasscode: "Este dispositivo no tiene código de bloqueo."
        case .protectionRemoved: "Se ha eliminado la protección de este dispositivo."
        case .deviceNotSecure: "Este dispositivo no es lo bastante seguro."
        case .deviceNameTaken: "Otro de sus dispositivos tiene este nombre."
        case .deviceLimited: "Este dispositivo se añadió hace poco. Solo podrá hacer esto más tarde."
        case .newDeviceNotAdded: "El nuevo dispositivo no se ha añadido."
        case .deviceNotReached: "El servidor no envía mensajes a este dispositivo."
        case .pushServiceUnknown: "El servidor no usa el servicio push de este dispositivo."
        case .noRoom: "No queda espacio para otra clave."
        case .unforeseen: "Se ha producido un error."

        // Codes and links
        case .notACode: "Este no es un código de este producto."
        case .codeOfOtherKind: "Este código es para otra cosa."
        case .codeOfOtherVersion: "Este código es de otra versión del producto."
        case .codeOfOtherDevice: "Este código era para otro dispositivo."
        case .codeExpired: "El código ha caducado."
        case .codeUsed: "El código ya se ha usado, quizá por otra persona."
        case .codeUsedHere: "Ya ha usado este código en esta aplicación."
        case .codeUnknown: "El servidor no conoce este código."
        case .codeOfForeignServer: "El código remite a un servidor en el que esta aplicación no confía."
        case .codeInLink:
            "Este código es para escanear y ha llegado en un enlace. No se ha iniciado la sesión de nadie."

        // Accounts and keys
        case .authenticationNeeded: "El servidor necesita saber primero quién es usted."
        case .deviceUnknown: "El servidor ya no conoce este dispositivo."
        case .accountAtOtherServer: "Este dispositivo tiene una cuenta con ese nombre en otro servidor."
        case .accountMissing: "Este dispositivo no tiene ninguna cuenta con ese nombre."
        case .accountLocked: "La cuenta está bloqueada."
        case .sessionGone: "Esa sesión o autorización no existe o ha terminado."
        case .pinLocked: "Demasiados PIN incorrectos: el PIN está bloqueado."
        case .noPin: "La cuenta no tiene PIN en este dispositivo."
        case .passwordLocked: "Demasiadas contraseñas incorrectas: la contraseña está bloqueada."
        case .noPassword: "La cuenta no tiene contraseña en este dispositivo."
        case .noSuchAuthenticator: "La cuenta no tiene ese método de autenticación en este dispositivo."
        case .noSuitableAuthenticator: "Nada en este dispositivo puede responder a eso."
        case .authenticatorRefused: "El método de autenticación lo ha rechazado."
        case .tooManyTries: "Demasiados intentos fallidos."
        case .keyGone: "La clave ha desaparecido porque han cambiado las huellas, las caras o el código registrados."
        case .nothingEnrolled: "No hay ninguna huella, cara ni código configurados en este dispositivo."

        // The person
        case .personRefused: "Usted lo ha rechazado."
        case .cancelled: "Se ha cancelado la operación."
        case .numberWrong: "Ese no es el número que se mostró. No se ha iniciado ninguna sesión."
        case .numberFormat: "Ese no es un número de esta longitud."
        case .personSilent: "Nadie ha respondido a tiempo."
        case .contentNotShowable: "Lo que se debe confirmar no se puede mostrar de forma segura. No se ha firmado nada."

        // Sign-in of an app
        case .signInDenied: "No se ha iniciado su sesión."
        case .foreignAnswer: "La respuesta no correspondía a su inicio de sesión. No se ha iniciado la sesión de nadie."
        case .notSignedIn: "No hay ninguna sesión iniciada."
        case .signedOut: "Su sesión ya no está iniciada."
        case .renewedElsewhere: "Entretanto, esta aplicación se ha usado en otro lugar."
        case .biometricsNotMatched: "No se ha reconocido su huella o su cara."
        case .sensorLocked: "El sensor está bloqueado tras demasiados intentos."
        case .biometricsChanged: "Han cambiado las huellas o las caras registradas."
        case .sensorSilent: "El sensor no responde, o no hay ninguna huella ni cara registrada."
        case .wrongCredentials: "El nombre o la contraseña no son correctos."
        case .wrongSecondFactors: "Los códigos no eran correctos."
        case .signInInterrupted: "Esta aplicación se ha cerrado durante el inicio de sesión."
        case .browserNeeded: "El servidor necesita más información de usted."

        // Personalised identities
        case .serverUnknown: "Esta aplicación no conoce ese servidor."
        case .notPersonalized: "Esta aplicación no tiene ninguna identidad de ese servidor."
        case .alreadyPersonalized: "Esta aplicación ya tiene una identidad de ese servidor."
        case .identityNotValid: "Esta identidad ya no es válida."
        case .identityKeysGone: "Las claves de esta identidad han desaparecido."
        case .activationCodeExpired: "El código de activación ha caducado."
        case .activationCodeUsed: "El código de activación ya se ha usado."
        case .timeOver: "Se ha agotado el tiempo."
        case .processEnded: "La operación ha terminado."
        case .processReplaced: "El servicio ha iniciado una solicitud más reciente."
        case .noRoleChosen: "No se ha elegido ningún rol."
        case .dataMissing: "Falta algún dato que el servicio necesita."
        case .dataWrongTooOften: "Los datos han sido incorrectos demasiadas veces."
        case .dataChanged: "Lo que se había confirmado ya no existe."
        case .consentNeeded: "Primero hay que dar un consentimiento en un navegador."
        case .noRole: "No tiene ningún rol en este servicio."
        case .serviceInactive: "El servicio está desactivado."
        case .membersOnly: "El servicio es solo para miembros de una organización."
        case .invitedOnly: "El servicio es solo para personas invitadas."
        case .foreignPage: "La página no pertenece al servicio."
        case .factorMissing: "Falta un factor."
        case .factorNotEnrolled: "Esta identidad no tiene ese factor aquí."
        case .factorEnrolled: "Esta identidad ya tiene ese factor."
        case .factorNotSupported: "Esta aplicación no tiene ese factor."
        case .pinRefused: "Ese PIN no se acepta."
        case .otherPinEvaluated: "Antes se ha introducido otro PIN."
        case .accountsNotMergeable: "Las cuentas ya no se pueden unificar."
        case .lockedOut(let seconds):
            """
            Ha habido demasiados intentos fallidos. Podrá intentarlo de nuevo dentro de \
            \(self.words(RoundedDuration(seconds: seconds))).
            """
        case .lockedOutForNow: "Ha habido demasiados intentos fallidos."
        case .lockedOutForGood: "Ha habido demasiados intentos fallidos. Esta identidad ya no es válida."

        // Answers to screens
        case .wrongPin: "El PIN no es correcto."
        case .pinFormat: "El PIN no tiene la longitud correcta o contiene algo que no son cifras."
        case .pinDigitsTooFew(let minimum): "El PIN tiene menos de \(minimum) cifras distintas."
        case .pinDigitRepeated(let maximum): "El PIN contiene una cifra más de \(maximum) veces seguidas."
        case .pinRun(let maximum): "El PIN contiene más de \(maximum) cifras consecutivas."
        case .pinPattern: "El PIN repite un patrón."
        case .pinRow: "El PIN es una serie de cifras consecutivas."
        case .pinDate: "El PIN es una fecha."
        case .pinCommon: "Demasiadas personas eligen este PIN."
        case .samePin: "El PIN nuevo es igual que el anterior."
        case .wrongPassword: "La contraseña no es correcta."
        case .samePassword: "La contraseña nueva es igual que la anterior."
        case .passwordLength(let minimum, let maximum): "Una contraseña tiene entre \(minimum) y \(maximum) caracteres."
        case .passwordUnbounded: "Esta contraseña es demasiado larga o una letra lleva demasiados signos."
        case .passwordNotJudged: "Esta contraseña no se ha comprobado."
        case .tooEarly: "Ha sido demasiado pronto y no se ha contado."
        case .wrongSecondFactor: "Ese código no es correcto, es demasiado antiguo o ya se ha usado."
        case .valueValid: "Este dato es correcto."
        case .valueInvalid: "Este dato no tiene la forma correcta."
        case .valueNotWanted: "Este dato no se puede indicar aquí."
        case .valueMissing: "Falta este dato."
        case .valueNotChosen: "No se ha elegido ninguno de los datos."
        case .supplied(let text): "\(text)"
        }
    }

    /// Returns the words of an advice.
    public func words(_ advice: ErrorAdvice) -> Wording {
        switch advice {
        case .nothing: "No tiene que hacer nada."
        case .tryAgain: "Inténtelo de nuevo."
        case .waitAndTryAgain(let seconds):
            "Espere \(self.words(RoundedDuration(seconds: seconds))) e inténtelo de nuevo."
        case .waitAWhile: "Espere un rato e inténtelo de nuevo."
        case .checkOutcome: "Puede que ya esté hecho. Compruébelo donde empezó antes de repetirlo."
        case .haveCodeShownAgain: "Haga que se muestre un código nuevo donde empezó."
        case .askForNewActivationCode: "Pida un código de activación nuevo."
        case .beCareful:
            """
            Puede que alguien intente iniciar sesión en su nombre. Escanee solo códigos de páginas que haya \
            abierto usted.
            """
        case .closePage: "Cierre la página que mostró el código."
        case .changeNetwork: "Use otra red. Si eso no ayuda, actualice esta aplicación."
        case .authenticate: "Confirme primero que es usted."
        case .chooseAnotherAuthenticator: "Elija otra forma de confirmar que es usted."
        case .enrolAgain: "Registre de nuevo este dispositivo."
        case .replaceLockedKey:
            """
            Pida un enlace nuevo y regístrese de nuevo con él: la clave nueva sustituye a la bloqueada. Sus \
            demás cuentas no se modifican.
            """
        case .unlockDevice: "Bloquee este dispositivo, desbloquéelo e inténtelo de nuevo."
        case .setUpDevice: "Configure primero una huella, una cara o un código en los ajustes de este dispositivo."
        case .setDevicePasscode: "Establezca primero un código en los ajustes de este dispositivo."
        case .setClock: "Ponga en hora este dispositivo e inténtelo de nuevo."
        case .removeAccountOfThatName:
            "Elimine la cuenta con este nombre que está en el otro servidor, si ya no la necesita."
        case .makeRoom: "Elimine de esta aplicación una cuenta que ya no use."
        case .chooseAnotherName: "Elija otro nombre para este dispositivo."
        case .askService: "Consulte al servicio que quería usar."
        case .askForInvitation: "Pida una invitación al servicio."
        case .askForMembership: "Pida a la organización que le admita."
        case .updateApp: "Actualice esta aplicación."
        case .tellMakers: "Comuníquelo a los creadores de esta aplicación."
        case .signIn: "Inicie sesión."
        case .beginAgainCarefully:
            """
            Puede que alguien intente que usted inicie sesión como otra persona. Empiece de nuevo aquí, en la \
            aplicación.
            """
        case .tryAgainOrOtherwise: "Inténtelo de nuevo o inicie sesión de otra forma."
        case .typeBothAgain: "Escriba ambos de nuevo."
        case .waitForNextCode: "Espere al código siguiente e inicie sesión de nuevo."
        case .signInAgain: "Inicie sesión de nuevo aquí, en la aplicación."
        case .useBrowser: "Inicie sesión con el navegador."
        case .agreeInBrowser:
            """
            Inicie sesión una vez en el servicio con un navegador y dé allí su consentimiento. Después inténtelo \
            de nuevo.
            """
        case .personalize: "Pida un código de activación y úselo en esta aplicación."
        case .personalizeAnew: "Elimine esta identidad de la aplicación y pida un código de activación nuevo."
        case .removeIdentityFirst: "Elimine primero la identidad actual de la aplicación si quiere otra."
        case .beginAgain: "Empiece de nuevo."
        case .chooseRole: "Elija un rol."
        case .completeData: "Complete los datos."
        case .chooseDataAgain: "Empiece de nuevo y vuelva a elegir los datos. No se ha contado nada."
        case .useAnotherFactor: "Use otro factor."
        case .replaceFactor: "Use otro factor y vuelva a configurar este en la aplicación."
        case .giveFactors: "Proporcione todos los factores solicitados."
        case .addFactor: "Configure el factor en la aplicación o use otro."
        case .chooseAnotherPin: "Elija otro PIN."
        case .beginAgainWithRightPin: "Espere un momento y empiece de nuevo con el PIN correcto."
        case .askInviter: "Consulte a la persona que le ha invitado."
        case .chooseAnotherPassword: "Elija otra contraseña."
        case .typeAgain: "Escríbalo de nuevo."
        case .waitAMoment: "Espere un momento y escríbalo de nuevo."
        case .typeNextCode: "Escriba el código siguiente de su aplicación de autenticación."
        case .leaveValue: "No lo indique."
        case .chooseValue: "Elija uno."
        }
    }

    private func words(_ duration: RoundedDuration) -> Wording {
        switch duration {
        case .seconds(1): "\(1) segundo"
        case .seconds(let seconds): "\(seconds) segundos"
        case .minutes(1): "\(1) minuto"
        case .minutes(let minutes): "\(minutes) minutos"
        case .hours(1): "\(1) hora"
        case .hours(let hours): "\(hours) horas"
        }
    }
}
