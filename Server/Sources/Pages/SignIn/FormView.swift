import Texts

/// The values for the template of a form. Inner values and outer values have different names: a template looks for a
/// missing name in the outer values.
struct FormView {
    struct Hidden {
        let hiddenName: String
        let hiddenValue: String
    }

    struct Field {
        let id: String
        let label: Sentence
        let type: String
        let autocomplete: String
        var value = ""
        var isReadOnly = false
        var isNumber = false
        var hint: Sentence?
    }

    struct Link {
        let target: String
        let linkID: String
        let words: Sentence
    }

    /// Another button of the form. The person can press the button without filling in a field.
    struct Other {
        let name: String
        let about: Sentence
        let words: Sentence
    }

    struct Leave {
        let requestID: String
        let client: String?
        let clientName: String
    }

    let testID: String
    let headline: Sentence
    let lead: Sentence
    var problem: Sentence?
    /// The number of the refusal in the log.
    var reference: String?
    let action: String
    let submit: Sentence?
    /// A picture that this target has drawn.
    var picture: String?
    /// A secret that the person types elsewhere.
    var secret: String?
    var hidden: [Hidden] = []
    var fields: [Field] = []
    var other: Other?
    var links: [Link] = []
    var leave: Leave?

    /// Takes the words of a question.
    init(testID: String, _ question: Message, action: String) {
        self.testID = testID
        self.headline = question.headline
        self.lead = question.explanation
        self.action = action
        self.submit = question.submit
    }
}
