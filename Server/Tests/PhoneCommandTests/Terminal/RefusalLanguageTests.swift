import ArgumentParser
import Countersign
import Testing

@testable import PhoneCommand

@Suite("Operations parity 98: the terminal phone tells of errors in the person's language")
struct RefusalLanguageTests {
    @Test(
        "The option decides, then LC_ALL, LC_MESSAGES and LANG, and English is for all other languages",
        arguments: [
            ([], [:], "en"), ([], ["LANG": "de_CH.UTF-8"], "de"), ([], ["LANG": "C.UTF-8"], "en"),
            ([], ["LANG": "POSIX"], "en"), ([], ["LANG": "pt_BR.UTF-8"], "en"), ([], ["LANG": "es_ES@euro"], "es"),
            ([], ["LANG": "de_DE", "LC_MESSAGES": "fr_FR"], "fr"),
            ([], ["LANG": "de_DE", "LC_MESSAGES": "fr_FR", "LC_ALL": "es_ES"], "es"),
            ([], ["LANG": "de_DE", "LC_ALL": ""], "de"), (["--language", "fr"], ["LC_ALL": "de_DE"], "fr"),
        ] as [([String], [String: String], String)])
    func choice(line: [String], environment: [String: String], tag: String) throws {
        #expect(try PhoneOptions.parse(line).messageLanguage(in: environment).tag == tag)
    }

    @Test("A language that the phone does not have is refused", arguments: ["pt", "", "DE_de"])
    func unknown(language: String) {
        #expect((try? PhoneOptions.parse(["--language", language])) == nil)
    }

    @Test("The sentence is in the language, and the words for scripts stay")
    func sentences() {
        let errors: [any Error] = [
            OperationError(.tlsPinMismatch, "reason"), OperationError(.networkError, "reason"),
            SignInError(.wrongCredentials), InitializationError(.storageInUse),
            OutOfBandPayloadError(.malformedPayload, "reason"),
        ]
        for error in errors {
            let english = Refusal(error, in: EnglishMessages())
            #expect(english == Refusal(error))
            for language in MessageCatalogue.standard.languages.dropFirst() {
                let refusal = Refusal(error, in: language)
                #expect(refusal.reason == english.reason && refusal.status == english.status)
                #expect(refusal.outcome == english.outcome && refusal.sentence != english.sentence)
                #expect(refusal.sentence == (error as? any ExplainedError)?.message(in: language).text)
            }
        }
        let own = Refusal.usage("The phone's own sentence.")
        #expect(Refusal(own, in: GermanMessages()) == own)
    }
}
