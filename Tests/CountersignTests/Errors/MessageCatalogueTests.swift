import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import _Primitives

@Suite("Operations parity 98, decision 123: messages of all errors in four languages")
struct MessageCatalogueTests {
    /// An error of a face, with its name for a failed expectation.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let error: any ExplainedError & Sendable

        init(_ error: any ExplainedError & Sendable) {
            self.testDescription = "\(type(of: error)) \(error)"
            self.error = error
        }
    }

    /// Every code of every error that an app gets from an operation, a process, a sign-in or a screen.
    static let cases: [Case] = {
        let reason = "secret-reason"
        let operations =
            OperationError.Code.allCases.map { OperationError($0, formerFacetID: "app.example", reason) }
            + FidoErrorCode.allCases.map { .fido($0, reason) }
            + OperationError.Recovery.allCases.map { OperationError(.networkError, recovery: $0, reason) }
            + [
                OperationError(.tokenAlreadyRedeemed, recovery: .haveCodeShownAgain, reason),
                OperationError(.appRenamed),
            ]
        let rules: [PinRule] = [
            .differentDigits(atLeast: 4), .repeats(atMost: 2), .runs(atMost: 3), .pattern, .row, .date,
            .blockList(["258036"]),
        ]
        var errors: [any ExplainedError & Sendable] = operations
        errors += InitializationError.Code.allCases.map { InitializationError($0, reason) }
        errors += OutOfBandPayloadError.Code.allCases.map { OutOfBandPayloadError($0, reason) }
        errors += DeleteAuthenticatorError.Code.allCases.map { DeleteAuthenticatorError($0, reason) }
        errors += SignInError.Code.allCases.map { SignInError($0, reason) }
        errors += SecondFactorError.allCases as [any ExplainedError & Sendable]
        errors += CountersignErrorCode.allCases as [any ExplainedError & Sendable]
        errors += AuthenticationInformationErrorCode.allCases as [any ExplainedError & Sendable]
        errors += rules.map { PinEnrollmentError.unsafePin($0) } as [any ExplainedError & Sendable]
        errors += [
            PinEnrollmentError.invalidPinFormat, PinUserVerificationError.invalidPin,
            PinUserVerificationError.coolingDown, PinChangeRecoverableError.invalidPin,
            PinChangeRecoverableError.invalidPinFormat, PinChangeRecoverableError.unsafePin(.row),
            PinChangeRecoverableError.oldPinEqualsNewPin, PinChangeRecoverableError.coolingDown,
            PasswordEnrollmentError.customValidationError(PasswordValidationError(.passwordUnbounded)),
            PasswordUserVerificationError.invalidPassword, PasswordUserVerificationError.coolingDown,
            PasswordChangeRecoverableError.invalidPassword, PasswordChangeRecoverableError.coolingDown,
            PasswordChangeRecoverableError.oldPasswordEqualsNewPassword,
            PasswordChangeRecoverableError.customValidationError(
                PasswordValidationError(.passwordLength(minimum: 8, maximum: 128))),
            PasswordValidationError(.passwordNotJudged), FingerprintUserVerificationError(hint: ""),
        ]
        return errors.map(Case.init)
    }()

    private func values(_ wording: Wording) -> [String] {
        wording.parts.compactMap { if case .value(let value) = $0 { value } else { nil } }
    }

    @Test("There are four languages, and English is for everybody else")
    func languages() {
        #expect(MessageCatalogue.standard.languages.map(\.tag) == ["en", "de", "fr", "es"])
        for (wishes, tag) in [
            (["de-CH"], "de"), (["fr-CA", "en"], "fr"), (["ES-419"], "es"), (["pt-BR", "de-AT"], "de"), (["pt"], "en"),
            ([], "en"), (["de"].map { $0 + String(repeating: "-a1", count: 40) }, "en"),
            (Array(repeating: "pt", count: 20) + ["de"], "en"),
        ] as [([String], String)] {
            #expect(MessageCatalogue.standard.language(for: wishes).tag == tag, "\(wishes)")
        }
    }

    @Test("Each code has a sentence and an advice in each language, with the same values and with other words")
    func complete() {
        let languages = MessageCatalogue.standard.languages
        for item in Self.cases {
            let (event, advice) = (item.error.event, item.error.advice)
            var words: [[Wording]] = []
            for language in languages {
                let wordings = [language.words(event), language.words(advice)]
                let message = item.error.message(in: language)
                #expect(message.sentence == wordings[0].text && message.advice == wordings[1].text)
                #expect(message.text == "\(message.sentence) \(message.advice)")
                for text in [message.sentence, message.advice] {
                    #expect(text.first?.isUppercase == true && text.hasSuffix("."), "\(language.tag) \(item): \(text)")
                    #expect(!text.contains("secret-reason") && !text.contains("  "), "\(language.tag) \(item): \(text)")
                }
                words.append(wordings)
            }
            for part in [0, 1] {
                #expect(Set(words.map { self.values($0[part]).sorted() }).count == 1, "\(item)")
                #expect(Set(words.map { $0[part].text }).count == languages.count, "\(item)")
            }
        }
    }

    @Test("Only codes that say nothing have the sentence that says nothing")
    func unforeseen() {
        let silent = Self.cases.filter { $0.error.event == .unforeseen }.map(\.testDescription)
        #expect(
            silent.allSatisfy { name in
                ["FIDO 0:", "FIDO 1:", "FIDO 255:", "fidoError:", "Error.unknown:", " unexpected"].contains(
                    where: name.contains)
            }, "\(silent)")
    }

    @Test("In each language, two different events have two different sentences, and so have two steps")
    func different() {
        let events = Set(Self.cases.map(\.error.event))
        let advices = Set(Self.cases.map(\.error.advice))
        #expect(events.count > 100 && advices.count > 40)
        for language in MessageCatalogue.standard.languages {
            #expect(Set(events.map { language.words($0).text }).count == events.count, "\(language.tag)")
            #expect(Set(advices.map { language.words($0).text }).count == advices.count, "\(language.tag)")
        }
    }

    @Test(
        "A waiting time is rounded up to a unit that people say",
        arguments: [
            (0, ["1 second", "1 Sekunde", "1 seconde", "1 segundo"]),
            (119, ["119 seconds", "119 Sekunden", "119 secondes", "119 segundos"]),
            (120, ["2 minutes", "2 Minuten", "2 minutes", "2 minutos"]),
            (121, ["3 minutes", "3 Minuten", "3 minutes", "3 minutos"]),
            (7_200, ["2 hours", "2 Stunden", "2 heures", "2 horas"]),
            (86_400, ["24 hours", "24 Stunden", "24 heures", "24 horas"]),
        ])
    func durations(seconds: Int, texts: [String]) {
        for (language, text) in zip(MessageCatalogue.standard.languages, texts) {
            let (event, advice) = (
                language.words(ErrorEvent.lockedOut(seconds: seconds)),
                language.words(ErrorAdvice.waitAndTryAgain(seconds: seconds))
            )
            #expect(event.text.contains(text) && advice.text.contains(text))
            #expect(self.values(event) == self.values(advice))
        }
    }

    @Test("What a code alone does not say is in the error's message: a former name, a text of the app, a sensor's hint")
    func parameters() {
        for language in MessageCatalogue.standard.languages {
            let renamed = OperationError(.appRenamed, formerFacetID: "ios:bundle-id:old").message(in: language)
            #expect(renamed.sentence.contains("ios:bundle-id:old"))
            let policy = PasswordValidationError("Das steht im Wörterbuch.")
            #expect(policy.message(in: language).sentence == "Das steht im Wörterbuch.")
            #expect(policy.message == "Das steht im Wörterbuch.")
            #expect(FingerprintUserVerificationError(hint: "Wipe it.").message(in: language).sentence == "Wipe it.")
        }
        #expect(PasswordValidationError(.passwordLength(minimum: 8, maximum: 9)).message.contains("8 to 9"))
    }

    @Test("A lockout of an identity has its length, and one for good has another way out")
    func lockout() async throws {
        for isPermanent in [false, true] {
            let phone = try await VirtualIdentityPhone.personalized()
            let info = try await phone.prepare()
            let later: Timestamp = phone.clock.now() + Duration.seconds(300)
            let end = isPermanent ? nil : later
            await phone.server.refuseNext(IdentityProblem(.lockedOut, lockout: LockoutNotice(lockedUntil: end)))
            let error = try #require(
                await #expect(throws: CountersignLockoutError.self) { _ = try await phone.finishByPin(info) })
            #expect(error.information.isPermanent == isPermanent)
            #expect(error.event == (isPermanent ? .lockedOutForGood : .lockedOut(seconds: 300)))
            #expect(error.advice == (isPermanent ? .personalizeAnew : .waitAWhile))
            let sentence = error.message(in: GermanMessages()).sentence
            #expect(sentence.contains(isPermanent ? "nicht mehr gültig" : "in 5 Minuten"))
        }
    }

    /// A language of an app: every sentence is its own.
    private struct Plain: MessageLanguage {
        let tag: String
        func words(_ event: ErrorEvent) -> Wording { "Ei." }
        func words(_ advice: ErrorAdvice) -> Wording { "Ohje." }
    }

    @Test("An app brings a language, which people get by its tag, or replaces a language of the SDK")
    func ownLanguage() {
        let catalogue = MessageCatalogue.standard.with(Plain(tag: "fi"))
        #expect(catalogue.languages.map(\.tag) == ["en", "de", "fr", "es", "fi"])
        let error = OperationError(.accountLocked)
        #expect(error.message(in: catalogue.language(for: ["fi-FI"])).text == "Ei. Ohje.")
        #expect(error.message(in: catalogue.language(for: ["de"])).sentence == "Das Konto ist gesperrt.")
        let replaced = catalogue.with(Plain(tag: "EN")).with(Plain(tag: "fr"))
        #expect(replaced.languages.count == 5)
        #expect(error.message(in: replaced.language(for: [])).text == "Ei. Ohje.")
        #expect(error.message(in: replaced.language(for: ["fr"])).text == "Ei. Ohje.")
    }

    @Test("An app replaces single sentences of a language, and the others stay")
    func ownSentences() {
        let bank = ReplacedMessages(
            GermanMessages(), events: { $0 == .accountLocked ? "Ihr Konto bei der Musterbank ist gesperrt." : nil },
            advices: { $0 == .askService ? "Rufen Sie die Musterbank an." : nil })
        let language = MessageCatalogue.standard.with(bank).language(for: ["de-DE"])
        #expect(
            OperationError(.accountLocked).message(in: language).text
                == "Ihr Konto bei der Musterbank ist gesperrt. Rufen Sie die Musterbank an.")
        #expect(
            OperationError(.tokenExpired).message(in: language)
                == OperationError(.tokenExpired).message(in: GermanMessages()))
        #expect(ReplacedMessages(bank, tag: "de-x-bank").tag == "de-x-bank")
    }
}
