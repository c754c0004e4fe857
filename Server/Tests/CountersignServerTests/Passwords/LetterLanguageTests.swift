import Accounts
import CountersignServer
import CountersignTestKit
import HTTPTypes
import HummingbirdTesting
import Logging
import Records
import SQLStore
import Sealing
import Testing
import Texts
import _Primitives

/// A second language: the letters have words of their own, and everything else is English.
private struct SecondLanguage: Language {
    private let english = English()

    let tag = "fr"

    func words(_ text: SharedText) -> Sentence { self.english.words(text) }
    func words(_ text: FieldText) -> Sentence { self.english.words(text) }
    func words(_ problem: FormProblem) -> Sentence { self.english.words(problem) }
    func words(_ text: SignInText) -> Sentence { self.english.words(text) }
    func words(_ way: SignInWayText) -> Sentence { self.english.words(way) }
    func message(_ question: SignInQuestion) -> Message { self.english.message(question) }
    func words(_ text: DecisionText) -> Sentence { self.english.words(text) }
    func words(_ text: OpeningText) -> Sentence { self.english.words(text) }
    func words(_ text: IdentityText) -> Sentence { self.english.words(text) }
    func words(_ text: ActivationText) -> Sentence { self.english.words(text) }
    func words(_ text: ChangeText) -> Sentence { self.english.words(text) }
    func words(_ progress: Progress, of matter: ProgressMatter) -> ProgressWords {
        self.english.words(progress, of: matter)
    }
    func message(_ notice: Notice) -> Message { self.english.message(notice) }
    func message(_ failure: Failure) -> Message { self.english.message(failure) }
    func message(_ question: Question) -> Message { self.english.message(question) }
    func letter(_ letter: Letter) -> LetterWords { LetterWords(subject: "Une lettre", text: "Bonjour.") }
}

@Suite("Decision 101: letters in the language of their account")
struct LetterLanguageTests {
    @Test("A letter is in the usual language until its person signs in, and then in the language of the account")
    func letters() async throws {
        try await PasswordPlace.run { place in
            try await place.enter()
            let sender = try #require(MailSender("no-reply@countersign.example"))
            let deliveries = MailDeliveries(
                store: place.server.database, transport: place.server.mail,
                letterhead: MailDeliveries.Letterhead(
                    issuer: "http://localhost:8080", serviceName: "Service", sender: sender,
                    languages: Languages(SecondLanguage(), English())),
                sealing: Sealing(KeyEncryptionKey()), time: place.server.clock.timeSource)
            let entry = try place.server.outbox(.mailbox).entry
            let outbox = Outbox(
                deliveries.entry, store: place.server.database, time: place.server.clock.timeSource)
            func letter() async throws -> String {
                _ = try await place.askForReset()
                try await entry.prepare()
                for letter in try await outbox.takeDue() {
                    #expect(try await outbox.deliver(letter) == .delivered)
                }
                return place.server.mail.text
            }
            let first = try await letter()
            #expect(first.hasPrefix("Bonjour."))
            let authorize = try await place.browser.get(place.party.authorizeAddress("&ui_locales=en"))
            let shown = try await place.show(
                PasswordPlace.password, try #require(authorize.redirectParameters["request"]))
            _ = try await place.browser.get(try #require(shown.headers[.location]))
            #expect(try await place.server.database.account(username: "alice")?.language == "en")
            let english = try await letter()
            #expect(!english.isEmpty && !english.contains("Bonjour."))
            #expect(place.server.mail.messages.count == 2)
        }
    }
}
