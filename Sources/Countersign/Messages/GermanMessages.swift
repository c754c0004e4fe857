/// The messages of errors in German, with the formal address “Sie”.
public struct GermanMessages: MessageLanguage {
    /// The name of the language.
    public let tag = "de"

    /// Creates the language.
    public init() {}

    /// Returns the words of an event.
    public func words(_ event: ErrorEvent) -> Wording {
        switch event {
        // The network and the server
        case .serverSilent: "Der Server antwortet nicht."
        case .serverNotProven: "Die Identität des Servers lässt sich nicht bestätigen."
        case .serverKeyNotPinned:
            "Der Server konnte nicht nachweisen, dass er der richtige ist. Es wurde nichts gesendet."
        case .addressNotSecure: "Die Adresse des Servers ist nicht sicher. Es wurde nichts gesendet."
        case .otherProtocolVersion: "Der Server verwendet eine andere Version des Protokolls."
        case .refusedOrMalformed: "Der Server hat abgelehnt oder unverständlich geantwortet."
        case .refused: "Der Server hat abgelehnt."
        case .answerMalformed: "Die Antwort des Servers ist unverständlich."
        case .appNotTrusted: "Der Server vertraut dieser App nicht."
        case .clocksDiffer: "Die Uhren dieses Geräts und des Servers weichen zu stark voneinander ab."
        case .tooManyRequests: "Es gab zu viele Anfragen."

        // The app and the device
        case .appMistaken: "Diese App ist nicht richtig eingerichtet."
        case .appFaulty: "Diese App hat einen Fehler gemacht."
        case .doneBefore: "Das wurde bereits erledigt."
        case .notAsked: "Diese App hat eine nötige Frage nicht gestellt. Es wurde nichts unterschrieben."
        case .headerNotSendable:
            "Diese App wollte etwas senden, das keine Anfrage enthalten darf. Es wurde nichts gesendet."
        case .serverNameInvalid: "Diese App hat einen ungültigen Server angegeben. Es wurde nichts gesendet."
        case .appRenamed(let former?): "Diese App hieß \(former), als sie registriert wurde. Es ist nichts verloren."
        case .appRenamed(nil): "Diese App hat einen anderen Namen als bei ihrer Registrierung. Es ist nichts verloren."
        case .appTooOld: "Diese App ist zu alt."
        case .appNotProven: "Diese App konnte ihre Echtheit nicht nachweisen. Das Gerät wurde nicht registriert."
        case .keysInUse: "Ein anderes Programm verwendet die Schlüssel dieses Geräts."
        case .storageUnreadable: "Die auf diesem Gerät gespeicherten Daten lassen sich nicht öffnen."
        case .storageNewer: "Eine neuere Version dieser App hat die Daten auf diesem Gerät gespeichert."
        case .storageFailed: "Der Speicher dieses Geräts hat versagt."
        case .noDevicePasscode: "Dieses Gerät hat keine Bildschirmsperre mit Code."
        case .protectionRemoved: "Der Schutz dieses Geräts wurde entfernt."
        case .deviceNotSecure: "Dieses Gerät ist nicht sicher genug."
        case .deviceNameTaken: "Ein anderes Ihrer Geräte hat diesen Namen."
        case .deviceLimited: "Dieses Gerät wurde erst vor Kurzem hinzugefügt. Es darf das erst später."
        case .newDeviceNotAdded: "Das neue Gerät wurde nicht hinzugefügt."
        case .deviceNotReached: "Der Server sendet keine Nachrichten an dieses Gerät."
        case .pushServiceUnknown: "Der Server verwendet den Push-Dienst dieses Geräts nicht."
        case .noRoom: "Für einen weiteren Schlüssel ist kein Platz mehr."
        case .unforeseen: "Etwas ist schiefgegangen."

        // Codes and links
        case .notACode: "Das ist kein Code dieses Produkts."
        case .codeOfOtherKind: "Dieser Code ist für etwas anderes bestimmt."
        case .codeOfOtherVersion: "Dieser Code gehört zu einer anderen Version des Produkts."
        case .codeOfOtherDevice: "Dieser Code war für ein anderes Gerät bestimmt."
        case .codeExpired: "Der Code ist abgelaufen."
        case .codeUsed: "Der Code wurde bereits verwendet, vielleicht von jemand anderem."
        case .codeUsedHere: "Sie haben diesen Code in dieser App bereits verwendet."
        case .codeUnknown: "Der Server kennt diesen Code nicht."
        case .codeOfForeignServer: "Der Code verweist auf einen Server, dem diese App nicht vertraut."
        case .codeInLink: "Dieser Code ist zum Scannen bestimmt und kam über einen Link. Es wurde niemand angemeldet."

        // Accounts and keys
        case .authenticationNeeded: "Der Server möchte zuerst wissen, wer Sie sind."
        case .deviceUnknown: "Der Server kennt dieses Gerät nicht mehr."
        case .accountAtOtherServer: "Dieses Gerät hat ein Konto dieses Namens bei einem anderen Server."
        case .accountMissing: "Dieses Gerät hat kein Konto dieses Namens."
        case .accountLocked: "Das Konto ist gesperrt."
        case .sessionGone: "Diese Sitzung oder Freigabe gibt es nicht, oder sie ist beendet."
        case .pinLocked: "Zu viele falsche PINs: Die PIN ist gesperrt."
        case .noPin: "Das Konto hat auf diesem Gerät keine PIN."
        case .passwordLocked: "Zu viele falsche Passwörter: Das Passwort ist gesperrt."
        case .noPassword: "Das Konto hat auf diesem Gerät kein Passwort."
        case .noSuchAuthenticator: "Das Konto hat auf diesem Gerät kein solches Anmeldeverfahren."
        case .noSuitableAuthenticator: "Nichts auf diesem Gerät kann darauf antworten."
        case .authenticatorRefused: "Das Anmeldeverfahren hat abgelehnt."
        case .tooManyTries: "Zu viele falsche Versuche."
        case .keyGone:
            "Der Schlüssel ist weg, weil sich die eingerichteten Finger, Gesichter oder der Gerätecode geändert haben."
        case .nothingEnrolled: "Auf diesem Gerät ist kein Finger, kein Gesicht und kein Code eingerichtet."

        // The person
        case .personRefused: "Sie haben abgelehnt."
        case .cancelled: "Der Vorgang wurde abgebrochen."
        case .numberWrong: "Das ist nicht die angezeigte Zahl. Es wurde niemand angemeldet."
        case .numberFormat: "Das ist keine Zahl dieser Länge."
        case .personSilent: "Niemand hat rechtzeitig geantwortet."
        case .contentNotShowable:
            "Was bestätigt werden soll, lässt sich nicht sicher anzeigen. Es wurde nichts unterschrieben."

        // Sign-in of an app
        case .signInDenied: "Sie wurden nicht angemeldet."
        case .foreignAnswer: "Die Antwort gehörte nicht zu Ihrer Anmeldung. Es wurde niemand angemeldet."
        case .notSignedIn: "Niemand ist angemeldet."
        case .signedOut: "Sie sind nicht mehr angemeldet."
        case .renewedElsewhere: "Diese App wurde inzwischen an anderer Stelle verwendet."
        case .biometricsNotMatched: "Ihr Finger oder Gesicht wurde nicht erkannt."
        case .sensorLocked: "Der Sensor ist nach zu vielen Versuchen gesperrt."
        case .biometricsChanged: "Die eingerichteten Finger oder Gesichter haben sich geändert."
        case .sensorSilent: "Der Sensor antwortet nicht, oder es ist kein Finger und kein Gesicht eingerichtet."
        case .wrongCredentials: "Der Name oder das Passwort ist falsch."
        case .wrongSecondFactors: "Die Codes waren falsch."
        case .signInInterrupted: "Diese App wurde während der Anmeldung geschlossen."
        case .browserNeeded: "Der Server benötigt weitere Angaben von Ihnen."

        // Personalised identities
        case .serverUnknown: "Diese App kennt diesen Server nicht."
        case .notPersonalized: "Diese App hat keine Identität dieses Servers."
        case .alreadyPersonalized: "Diese App hat bereits eine Identität dieses Servers."
        case .identityNotValid: "Diese Identität ist nicht mehr gültig."
        case .identityKeysGone: "Die Schlüssel dieser Identität sind weg."
        case .activationCodeExpired: "Der Aktivierungscode ist abgelaufen."
        case .activationCodeUsed: "Der Aktivierungscode wurde bereits verwendet."
        case .timeOver: "Die Zeit ist abgelaufen."
        case .processEnded: "Der Vorgang ist beendet."
        case .processReplaced: "Der Dienst hat eine neuere Anfrage begonnen."
        case .noRoleChosen: "Es wurde keine Rolle gewählt."
        case .dataMissing: "Es fehlt eine Angabe, die der Dienst benötigt."
        case .dataWrongTooOften: "Die Angaben waren zu oft falsch."
        case .dataChanged: "Was bestätigt wurde, ist nicht mehr vorhanden."
        case .consentNeeded: "Zuerst ist eine Zustimmung in einem Browser nötig."
        case .noRole: "Sie haben bei diesem Dienst keine Rolle."
        case .serviceInactive: "Der Dienst ist abgeschaltet."
        case .membersOnly: "Der Dienst ist nur für Mitglieder einer Organisation."
        case .invitedOnly: "Der Dienst ist nur für eingeladene Personen."
        case .foreignPage: "Die Seite gehört nicht zu dem Dienst."
        case .factorMissing: "Ein Faktor fehlt."
        case .factorNotEnrolled: "Diese Identität hat hier keinen solchen Faktor."
        case .factorEnrolled: "Diese Identität hat bereits einen solchen Faktor."
        case .factorNotSupported: "Diese App hat keinen solchen Faktor."
        case .pinRefused: "Diese PIN wird nicht angenommen."
        case .otherPinEvaluated: "Zuvor wurde eine andere PIN eingegeben."
        case .accountsNotMergeable: "Die Konten lassen sich nicht mehr zusammenführen."
        case .lockedOut(let seconds):
            """
            Es gab zu viele Fehlversuche. Der nächste Versuch ist in \
            \(self.words(RoundedDuration(seconds: seconds))) möglich.
            """
        case .lockedOutForNow: "Es gab zu viele Fehlversuche."
        case .lockedOutForGood: "Es gab zu viele Fehlversuche. Diese Identität ist nicht mehr gültig."

        // Answers to screens
        case .wrongPin: "Die PIN ist falsch."
        case .pinFormat: "Die PIN hat die falsche Länge oder enthält andere Zeichen als Ziffern."
        case .pinDigitsTooFew(let minimum): "Die PIN hat weniger als \(minimum) verschiedene Ziffern."
        case .pinDigitRepeated(let maximum): "Die PIN enthält eine Ziffer mehr als \(maximum)-mal hintereinander."
        case .pinRun(let maximum): "Die PIN enthält mehr als \(maximum) aufeinanderfolgende Ziffern."
        case .pinPattern: "Die PIN wiederholt ein Muster."
        case .pinRow: "Die PIN ist eine Reihe aufeinanderfolgender Ziffern."
        case .pinDate: "Die PIN ist ein Datum."
        case .pinCommon: "Diese PIN wählen zu viele Menschen."
        case .samePin: "Die neue PIN ist die alte PIN."
        case .wrongPassword: "Das Passwort ist falsch."
        case .samePassword: "Das neue Passwort ist das alte Passwort."
        case .passwordLength(let minimum, let maximum): "Ein Passwort hat \(minimum) bis \(maximum) Zeichen."
        case .passwordUnbounded: "Dieses Passwort ist zu lang oder hat zu viele Zeichen über einem Buchstaben."
        case .passwordNotJudged: "Dieses Passwort wurde nicht geprüft."
        case .tooEarly: "Das war zu früh und wurde nicht gezählt."
        case .wrongSecondFactor: "Dieser Code ist falsch, zu alt oder wurde bereits verwendet."
        case .valueValid: "Diese Angabe stimmt so."
        case .valueInvalid: "Diese Angabe hat nicht die richtige Form."
        case .valueNotWanted: "Diese Angabe lässt sich hier nicht machen."
        case .valueMissing: "Diese Angabe fehlt."
        case .valueNotChosen: "Es wurde keine der Angaben gewählt."
        case .supplied(let text): "\(text)"
        }
    }

    /// Returns the words of an advice.
    public func words(_ advice: ErrorAdvice) -> Wording {
        switch advice {
        case .nothing: "Sie müssen nichts tun."
        case .tryAgain: "Versuchen Sie es noch einmal."
        case .waitAndTryAgain(let seconds):
            "Warten Sie noch \(self.words(RoundedDuration(seconds: seconds))), und versuchen Sie es dann noch einmal."
        case .waitAWhile: "Warten Sie eine Weile, und versuchen Sie es dann noch einmal."
        case .checkOutcome:
            "Vielleicht ist es schon erledigt. Sehen Sie dort nach, wo Sie begonnen haben, bevor Sie es wiederholen."
        case .haveCodeShownAgain: "Lassen Sie sich dort, wo Sie begonnen haben, einen neuen Code anzeigen."
        case .askForNewActivationCode: "Bitten Sie um einen neuen Aktivierungscode."
        case .beCareful:
            """
            Vielleicht versucht jemand, sich als Sie anzumelden. Scannen Sie nur Codes von Seiten, die Sie \
            selbst geöffnet haben.
            """
        case .closePage: "Schließen Sie die Seite, die den Code angezeigt hat."
        case .changeNetwork: "Verwenden Sie ein anderes Netz. Wenn das nicht hilft, aktualisieren Sie diese App."
        case .authenticate: "Bestätigen Sie zuerst, dass Sie es sind."
        case .chooseAnotherAuthenticator: "Wählen Sie ein anderes Verfahren, um zu bestätigen, dass Sie es sind."
        case .enrolAgain: "Registrieren Sie dieses Gerät erneut."
        case .replaceLockedKey:
            """
            Bitten Sie um einen neuen Link, und registrieren Sie sich damit erneut: Der neue Schlüssel ersetzt \
            den gesperrten. Ihre anderen Konten bleiben unberührt.
            """
        case .unlockDevice: "Sperren Sie dieses Gerät, entsperren Sie es, und versuchen Sie es noch einmal."
        case .setUpDevice:
            "Richten Sie zuerst in den Einstellungen dieses Geräts einen Finger, ein Gesicht oder einen Code ein."
        case .setDevicePasscode: "Richten Sie zuerst in den Einstellungen dieses Geräts einen Code ein."
        case .setClock: "Stellen Sie die Uhr dieses Geräts, und versuchen Sie es noch einmal."
        case .removeAccountOfThatName:
            "Entfernen Sie das Konto dieses Namens bei dem anderen Server, wenn Sie es nicht mehr brauchen."
        case .makeRoom: "Entfernen Sie in dieser App ein Konto, das Sie nicht mehr verwenden."
        case .chooseAnotherName: "Wählen Sie einen anderen Namen für dieses Gerät."
        case .askService: "Wenden Sie sich an den Dienst, den Sie verwenden wollten."
        case .askForInvitation: "Bitten Sie den Dienst um eine Einladung."
        case .askForMembership: "Bitten Sie die Organisation, Sie aufzunehmen."
        case .updateApp: "Aktualisieren Sie diese App."
        case .tellMakers: "Melden Sie es den Herstellern dieser App."
        case .signIn: "Melden Sie sich an."
        case .beginAgainCarefully:
            """
            Vielleicht versucht jemand, Sie als eine andere Person anzumelden. Beginnen Sie noch einmal hier in \
            der App.
            """
        case .tryAgainOrOtherwise: "Versuchen Sie es noch einmal, oder melden Sie sich anders an."
        case .typeBothAgain: "Geben Sie beides noch einmal ein."
        case .waitForNextCode: "Warten Sie auf den nächsten Code, und melden Sie sich noch einmal an."
        case .signInAgain: "Melden Sie sich hier in der App noch einmal an."
        case .useBrowser: "Melden Sie sich mit dem Browser an."
        case .agreeInBrowser:
            """
            Melden Sie sich einmal in einem Browser bei dem Dienst an, und stimmen Sie dort zu. Versuchen Sie es \
            dann noch einmal.
            """
        case .personalize: "Bitten Sie um einen Aktivierungscode, und verwenden Sie ihn in dieser App."
        case .personalizeAnew:
            "Entfernen Sie diese Identität aus der App, und bitten Sie um einen neuen Aktivierungscode."
        case .removeIdentityFirst:
            "Entfernen Sie zuerst die vorhandene Identität aus der App, wenn Sie eine andere möchten."
        case .beginAgain: "Beginnen Sie noch einmal."
        case .chooseRole: "Wählen Sie eine Rolle."
        case .completeData: "Ergänzen Sie die Angaben."
        case .chooseDataAgain: "Beginnen Sie noch einmal, und wählen Sie die Angaben neu. Es wurde nichts gezählt."
        case .useAnotherFactor: "Verwenden Sie einen anderen Faktor."
        case .replaceFactor: "Verwenden Sie einen anderen Faktor, und richten Sie diesen in der App neu ein."
        case .giveFactors: "Geben Sie alle verlangten Faktoren an."
        case .addFactor: "Richten Sie den Faktor in der App ein, oder verwenden Sie einen anderen."
        case .chooseAnotherPin: "Wählen Sie eine andere PIN."
        case .beginAgainWithRightPin: "Warten Sie einen Moment, und beginnen Sie noch einmal mit der richtigen PIN."
        case .askInviter: "Wenden Sie sich an die Person, die Sie eingeladen hat."
        case .chooseAnotherPassword: "Wählen Sie ein anderes Passwort."
        case .typeAgain: "Geben Sie es noch einmal ein."
        case .waitAMoment: "Warten Sie einen Moment, und geben Sie es noch einmal ein."
        case .typeNextCode: "Geben Sie den nächsten Code Ihrer Authenticator-App ein."
        case .leaveValue: "Lassen Sie sie weg."
        case .chooseValue: "Wählen Sie eine aus."
        }
    }

    private func words(_ duration: RoundedDuration) -> Wording {
        switch duration {
        case .seconds(1): "\(1) Sekunde"
        case .seconds(let seconds): "\(seconds) Sekunden"
        case .minutes(1): "\(1) Minute"
        case .minutes(let minutes): "\(minutes) Minuten"
        case .hours(1): "\(1) Stunde"
        case .hours(let hours): "\(hours) Stunden"
        }
    }
}
