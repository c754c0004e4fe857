import Testing
import Texts

@Suite("Sentences of the catalogue (decision 101)")
struct EnglishTests {
    private let english = English()

    @Test("A sentence has its words and its values apart, and is whole as plain text")
    func parts() {
        let sentence = self.english.words(.goTo(name: "<b>"))
        #expect(sentence.parts == [.words("Go to "), .value("<b>")])
        #expect(sentence.plain == "Go to <b>")
    }

    @Test("A part that a language has made of its own words keeps words and values apart")
    func nested() {
        let sentence = self.english.words(.noPIN(fewest: 5, most: 32))
        #expect(
            sentence.parts
                == [
                    .words("A PIN has "), .value("5"), .words(" to "), .value("32"),
                    .words(" digits"), .words(", and nothing else."),
                ])
    }

    @Test(
        "The pause before a new try is in words",
        arguments: [
            (Failure.Pause.seconds("1"), "Wait a second, then try again."),
            (.seconds("20"), "Wait 20 seconds, then try again."), (.moment, "Wait a moment, then try again."),
        ])
    func pauses(pause: Failure.Pause, words: String) {
        let message = self.english.message(
            .tooManySignIns(Failure.Service(name: "Bank"), pause: pause, isReadAgain: true))
        #expect(message.explanation.plain.hasSuffix(words))
    }

    @Test("A failure leads back to the service by its name, and to an unknown service without a name")
    func services() {
        for (name, words) in [
            ("Bank", "Go back to Bank and start again."), (nil, "Go back to the service and start again."),
        ] {
            #expect(self.english.message(.faulty(Failure.Service(name: name))).explanation.plain.hasSuffix(words))
        }
    }

    @Test(
        "An attribute's name becomes words",
        arguments: [("givenName", "Given name"), ("email", "Email"), ("phoneNumber", "Phone number")])
    func attributes(name: String, words: String) {
        #expect(self.english.words(.attribute(name)).plain == words)
    }

    @Test("A letter about a change has the question's link, or else says whom to tell")
    func letters() {
        let asked = self.english.letter(
            .passwordChanged(service: "ID", name: "alice", question: "https://id.example/q"))
        #expect(asked.text.hasSuffix("it offers to mail another one:\n\nhttps://id.example/q\n"))
        let told = self.english.letter(.passwordChanged(service: "ID", name: "alice", question: nil))
        #expect(told.text.hasSuffix("If it was not you, tell the people who run ID at once.\n"))
    }

    @Test("The title of a page is its headline, unless the language has other words for it")
    func titles() {
        #expect(self.english.message(Notice.accepted).title.plain == "You have accepted")
        #expect(self.english.message(.signedOut(client: nil)).title.plain == "Signed out")
    }
}
