/// The messages of errors in French, with the formal address “vous”.
public struct FrenchMessages: MessageLanguage {
    /// The name of the language.
    public let tag = "fr"

    /// Creates the language.
    public init() {}

    /// Returns the words of an event.
    public func words(_ event: ErrorEvent) -> Wording {
        switch event {
        // The network and the server
        case .serverSilent: "Le serveur ne répond pas."
        case .serverNotProven: "L’identité du serveur n’a pas pu être vérifiée."
        case .serverKeyNotPinned: "Le serveur n’a pas pu prouver qu’il est le bon. Rien n’a été envoyé."
        case .addressNotSecure: "L’adresse du serveur n’est pas sécurisée. Rien n’a été envoyé."
        case .otherProtocolVersion: "Le serveur utilise une autre version du protocole."
        case .refusedOrMalformed: "Le serveur a refusé, ou sa réponse est incompréhensible."
        case .refused: "Le serveur a refusé."
        case .answerMalformed: "La réponse du serveur est incompréhensible."
        case .appNotTrusted: "Le serveur ne fait pas confiance à cette application."
        case .clocksDiffer: "L’horloge de cet appareil et celle du serveur sont trop décalées."
        case .tooManyRequests: "Il y a eu trop de demandes."

        // The app and the device
        case .appMistaken: "Cette application est mal configurée."
        case .appFaulty: "Cette application a commis une erreur."
        case .doneBefore: "Cela a déjà été fait."
        case .notAsked: "Cette application n’a pas posé une question nécessaire. Rien n’a été signé."
        case .headerNotSendable:
            "Cette application voulait envoyer un contenu qu’aucune requête ne peut transporter. Rien n’a été envoyé."
        case .serverNameInvalid: "Cette application a indiqué un serveur qui n’en est pas un. Rien n’a été envoyé."
        case .appRenamed(let former?):
            "Cette application s’appelait \(former) lors de son enregistrement. Rien n’est perdu."
        case .appRenamed(nil):
            "Cette application ne porte plus le même nom que lors de son enregistrement. Rien n’est perdu."
        case .appTooOld: "Cette application est trop ancienne."
        case .appNotProven:
            "Cette application n’a pas pu prouver son authenticité. Cet appareil n’a pas été enregistré."
        case .keysInUse: "Un autre programme utilise les clés de cet appareil."
        case .storageUnreadable: "Les données enregistrées sur cet appareil ne peuvent pas être ouvertes."
        case .storageNewer: "Une version plus récente de cette application a enregistré les données de cet appareil."
        case .storageFailed: "Le stockage de cet appareil a échoué."
        case .noDevicePasscode: "Cet appareil n’a pas de code de verrouillage."
        case .protectionRemoved: "La protection de cet appareil a été retirée."
        case .deviceNotSecure: "Cet appareil n’est pas assez sûr."
        case .deviceNameTaken: "Un autre de vos appareils porte ce nom."
        case .deviceLimited: "Cet appareil a été ajouté récemment. Il ne pourra faire cela que plus tard."
        case .newDeviceNotAdded: "Le nouvel appareil n’a pas été ajouté."
        case .deviceNotReached: "Le serveur n’envoie pas de messages à cet appareil."
        case .pushServiceUnknown: "Le serveur n’utilise pas le service push de cet appareil."
        case .noRoom: "Il n’y a plus de place pour une autre clé."
        case .unforeseen: "Une erreur s’est produite."

        // Codes and links
        case .notACode: "Ce n’est pas un code de ce produit."
        case .codeOfOtherKind: "Ce code est destiné à autre chose."
        case .codeOfOtherVersion: "Ce code provient d’une autre version du produit."
        case .codeOfOtherDevice: "Ce code était destiné à un autre appareil."
        case .codeExpired: "Le code a expiré."
        case .codeUsed: "Le code a déjà été utilisé, peut-être par quelqu’un d’autre."
        case .codeUsedHere: "Vous avez déjà utilisé ce code dans cette application."
        case .codeUnknown: "Le serveur ne connaît pas ce code."
        case .codeOfForeignServer: "Le code renvoie à un serveur auquel cette application ne fait pas confiance."
        case .codeInLink: "Ce code est fait pour être scanné, et il est arrivé par un lien. Personne n’a été connecté."

        // Accounts and keys
        case .authenticationNeeded: "Le serveur veut d’abord savoir qui vous êtes."
        case .deviceUnknown: "Le serveur ne connaît plus cet appareil."
        case .accountAtOtherServer: "Cet appareil a un compte de ce nom sur un autre serveur."
        case .accountMissing: "Cet appareil n’a pas de compte de ce nom."
        case .accountLocked: "Le compte est bloqué."
        case .sessionGone: "Cette session ou autorisation n’existe pas, ou elle est terminée."
        case .pinLocked: "Trop de codes PIN erronés : le code PIN est bloqué."
        case .noPin: "Le compte n’a pas de code PIN sur cet appareil."
        case .passwordLocked: "Trop de mots de passe erronés : le mot de passe est bloqué."
        case .noPassword: "Le compte n’a pas de mot de passe sur cet appareil."
        case .noSuchAuthenticator: "Le compte n’a pas ce moyen d’authentification sur cet appareil."
        case .noSuitableAuthenticator: "Rien sur cet appareil ne peut y répondre."
        case .authenticatorRefused: "Le moyen d’authentification a refusé."
        case .tooManyTries: "Trop d’essais erronés."
        case .keyGone: "La clé a disparu, car les doigts, les visages ou le code enregistrés ont changé."
        case .nothingEnrolled: "Aucun doigt, visage ou code n’est configuré sur cet appareil."

        // The person
        case .personRefused: "Vous avez refusé."
        case .cancelled: "L’opération a été annulée."
        case .numberWrong: "Ce n’est pas le nombre affiché. Personne n’a été connecté."
        case .numberFormat: "Ce n’est pas un nombre de cette longueur."
        case .personSilent: "Personne n’a répondu à temps."
        case .contentNotShowable:
            "Ce qui doit être confirmé ne peut pas être affiché de façon sûre. Rien n’a été signé."

        // Sign-in of an app
        case .signInDenied: "Vous n’avez pas été connecté."
        case .foreignAnswer: "La réponse ne correspondait pas à votre connexion. Personne n’a été connecté."
        case .notSignedIn: "Personne n’est connecté."
        case .signedOut: "Vous n’êtes plus connecté."
        case .renewedElsewhere: "Cette application a été utilisée ailleurs entre-temps."
        case .biometricsNotMatched: "Votre doigt ou votre visage n’a pas été reconnu."
        case .sensorLocked: "Le capteur est bloqué après trop d’essais."
        case .biometricsChanged: "Les doigts ou les visages enregistrés ont changé."
        case .sensorSilent: "Le capteur ne répond pas, ou aucun doigt ni visage n’est enregistré."
        case .wrongCredentials: "Le nom ou le mot de passe est erroné."
        case .wrongSecondFactors: "Les codes étaient erronés."
        case .signInInterrupted: "Cette application a été fermée pendant la connexion."
        case .browserNeeded: "Le serveur vous demande davantage d’informations."

        // Personalised identities
        case .serverUnknown: "Cette application ne connaît pas ce serveur."
        case .notPersonalized: "Cette application n’a pas d’identité de ce serveur."
        case .alreadyPersonalized: "Cette application a déjà une identité de ce serveur."
        case .identityNotValid: "Cette identité n’est plus valable."
        case .identityKeysGone: "Les clés de cette identité ont disparu."
        case .activationCodeExpired: "Le code d’activation a expiré."
        case .activationCodeUsed: "Le code d’activation a déjà été utilisé."
        case .timeOver: "Le délai est écoulé."
        case .processEnded: "L’opération est terminée."
        case .processReplaced: "Le service a commencé une demande plus récente."
        case .noRoleChosen: "Aucun rôle n’a été choisi."
        case .dataMissing: "Il manque une donnée dont le service a besoin."
        case .dataWrongTooOften: "Les données ont été erronées trop souvent."
        case .dataChanged: "Ce qui a été confirmé n’existe plus."
        case .consentNeeded: "Il faut d’abord donner un accord dans un navigateur."
        case .noRole: "Vous n’avez aucun rôle dans ce service."
        case .serviceInactive: "Le service est désactivé."
        case .membersOnly: "Le service est réservé aux membres d’une organisation."
        case .invitedOnly: "Le service est réservé aux personnes invitées."
        case .foreignPage: "La page n’appartient pas au service."
        case .factorMissing: "Il manque un facteur."
        case .factorNotEnrolled: "Cette identité n’a pas ce facteur ici."
        case .factorEnrolled: "Cette identité a déjà ce facteur."
        case .factorNotSupported: "Cette application n’a pas ce facteur."
        case .pinRefused: "Ce code PIN n’est pas accepté."
        case .otherPinEvaluated: "Un autre code PIN a été saisi auparavant."
        case .accountsNotMergeable: "Les comptes ne peuvent plus être fusionnés."
        case .lockedOut(let seconds):
            """
            Il y a eu trop de tentatives échouées. Le prochain essai sera possible dans \
            \(self.words(RoundedDuration(seconds: seconds))).
            """
        case .lockedOutForNow: "Il y a eu trop de tentatives échouées."
        case .lockedOutForGood: "Il y a eu trop de tentatives échouées. Cette identité n’est plus valable."

        // Answers to screens
        case .wrongPin: "Le code PIN est erroné."
        case .pinFormat: "Le code PIN n’a pas la bonne longueur ou contient autre chose que des chiffres."
        case .pinDigitsTooFew(let minimum): "Le code PIN a moins de \(minimum) chiffres différents."
        case .pinDigitRepeated(let maximum): "Le code PIN contient un chiffre plus de \(maximum) fois de suite."
        case .pinRun(let maximum): "Le code PIN contient plus de \(maximum) chiffres consécutifs."
        case .pinPattern: "Le code PIN répète un motif."
        case .pinRow: "Le code PIN est une suite de chiffres consécutifs."
        case .pinDate: "Le code PIN est une date."
        case .pinCommon: "Trop de personnes choisissent ce code PIN."
        case .samePin: "Le nouveau code PIN est identique à l’ancien."
        case .wrongPassword: "Le mot de passe est erroné."
        case .samePassword: "Le nouveau mot de passe est identique à l’ancien."
        case .passwordLength(let minimum, let maximum): "Un mot de passe a de \(minimum) à \(maximum) caractères."
        case .passwordUnbounded: "Ce mot de passe est trop long, ou une lettre porte trop de signes."
        case .passwordNotJudged: "Ce mot de passe n’a pas été vérifié."
        case .tooEarly: "C’était trop tôt, et l’essai n’a pas été compté."
        case .wrongSecondFactor: "Ce code est erroné, trop ancien ou déjà utilisé."
        case .valueValid: "Cette donnée est correcte."
        case .valueInvalid: "Cette donnée n’a pas la bonne forme."
        case .valueNotWanted: "Cette donnée ne peut pas être fournie ici."
        case .valueMissing: "Cette donnée manque."
        case .valueNotChosen: "Aucune des données n’a été choisie."
        case .supplied(let text): "\(text)"
        }
    }

    /// Returns the words of an advice.
    public func words(_ advice: ErrorAdvice) -> Wording {
        switch advice {
        case .nothing: "Vous n’avez rien à faire."
        case .tryAgain: "Réessayez."
        case .waitAndTryAgain(let seconds):
            "Attendez encore \(self.words(RoundedDuration(seconds: seconds))), puis réessayez."
        case .waitAWhile: "Attendez un moment, puis réessayez."
        case .checkOutcome: "C’est peut-être déjà fait. Vérifiez là où vous avez commencé avant de recommencer."
        case .haveCodeShownAgain: "Faites afficher un nouveau code là où vous avez commencé."
        case .askForNewActivationCode: "Demandez un nouveau code d’activation."
        case .beCareful:
            """
            Quelqu’un essaie peut-être de se connecter à votre place. Ne scannez que les codes de pages que vous \
            avez ouvertes vous-même.
            """
        case .closePage: "Fermez la page qui a affiché le code."
        case .changeNetwork: "Utilisez un autre réseau. Si cela ne suffit pas, mettez cette application à jour."
        case .authenticate: "Confirmez d’abord que c’est bien vous."
        case .chooseAnotherAuthenticator: "Choisissez un autre moyen de confirmer que c’est bien vous."
        case .enrolAgain: "Enregistrez à nouveau cet appareil."
        case .replaceLockedKey:
            """
            Demandez un nouveau lien et enregistrez-vous à nouveau avec lui : la nouvelle clé remplace la clé \
            bloquée. Vos autres comptes ne sont pas touchés.
            """
        case .unlockDevice: "Verrouillez cet appareil, déverrouillez-le, puis réessayez."
        case .setUpDevice: "Configurez d’abord un doigt, un visage ou un code dans les réglages de cet appareil."
        case .setDevicePasscode: "Définissez d’abord un code dans les réglages de cet appareil."
        case .setClock: "Réglez l’horloge de cet appareil, puis réessayez."
        case .removeAccountOfThatName:
            "Supprimez le compte de ce nom sur l’autre serveur, si vous n’en avez plus besoin."
        case .makeRoom: "Supprimez dans cette application un compte que vous n’utilisez plus."
        case .chooseAnotherName: "Choisissez un autre nom pour cet appareil."
        case .askService: "Adressez-vous au service que vous vouliez utiliser."
        case .askForInvitation: "Demandez une invitation au service."
        case .askForMembership: "Demandez à l’organisation de vous admettre."
        case .updateApp: "Mettez cette application à jour."
        case .tellMakers: "Signalez-le aux éditeurs de cette application."
        case .signIn: "Connectez-vous."
        case .beginAgainCarefully:
            """
            Quelqu’un essaie peut-être de vous connecter au nom d’une autre personne. Recommencez ici, dans \
            l’application.
            """
        case .tryAgainOrOtherwise: "Réessayez, ou connectez-vous autrement."
        case .typeBothAgain: "Saisissez à nouveau les deux."
        case .waitForNextCode: "Attendez le prochain code, puis connectez-vous à nouveau."
        case .signInAgain: "Connectez-vous à nouveau ici, dans l’application."
        case .useBrowser: "Connectez-vous avec le navigateur."
        case .agreeInBrowser:
            "Connectez-vous une fois au service dans un navigateur et donnez-y votre accord. Puis réessayez."
        case .personalize: "Demandez un code d’activation et utilisez-le dans cette application."
        case .personalizeAnew: "Supprimez cette identité de l’application et demandez un nouveau code d’activation."
        case .removeIdentityFirst:
            "Supprimez d’abord l’identité actuelle de l’application, si vous en voulez une autre."
        case .beginAgain: "Recommencez."
        case .chooseRole: "Choisissez un rôle."
        case .completeData: "Complétez les données."
        case .chooseDataAgain: "Recommencez et choisissez à nouveau les données. Rien n’a été compté."
        case .useAnotherFactor: "Utilisez un autre facteur."
        case .replaceFactor: "Utilisez un autre facteur, et configurez de nouveau celui-ci dans l’application."
        case .giveFactors: "Fournissez tous les facteurs demandés."
        case .addFactor: "Configurez ce facteur dans l’application, ou utilisez-en un autre."
        case .chooseAnotherPin: "Choisissez un autre code PIN."
        case .beginAgainWithRightPin: "Attendez un instant, puis recommencez avec le bon code PIN."
        case .askInviter: "Adressez-vous à la personne qui vous a invité."
        case .chooseAnotherPassword: "Choisissez un autre mot de passe."
        case .typeAgain: "Saisissez-le à nouveau."
        case .waitAMoment: "Attendez un instant, puis saisissez-le à nouveau."
        case .typeNextCode: "Saisissez le prochain code de votre application d’authentification."
        case .leaveValue: "Ne la fournissez pas."
        case .chooseValue: "Choisissez-en une."
        }
    }

    private func words(_ duration: RoundedDuration) -> Wording {
        switch duration {
        case .seconds(1): "\(1) seconde"
        case .seconds(let seconds): "\(seconds) secondes"
        case .minutes(1): "\(1) minute"
        case .minutes(let minutes): "\(minutes) minutes"
        case .hours(1): "\(1) heure"
        case .hours(let hours): "\(hours) heures"
        }
    }
}
