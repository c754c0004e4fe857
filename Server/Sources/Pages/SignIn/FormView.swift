/// The values for the template of a form. Inner values and outer values have different names: a template looks for a
/// missing name in the outer values.
struct FormView {
    struct Hidden {
        let hiddenName: String
        let hiddenValue: String
    }

    struct Field {
        let id: String
        let label: String
        let type: String
        let autocomplete: String
        var value = ""
        var isReadOnly = false
        var isNumber = false
        var hint: String?
    }

    struct Link {
        let target: String
        let linkID: String
        let words: String
    }

    /// Another button of the form. The person can press the button without filling in a field.
    struct Other {
        let name: String
        let about: String
        let words: String
    }

    struct Leave {
        let requestID: String
        let client: String?
        let clientName: String
    }

    let testID: String
    let headline: String
    let lead: String
    var problem: String?
    /// The number of the refusal in the log.
    var reference: String?
    let action: String
    let submit: String
    /// A picture that this target has drawn.
    var picture: String?
    /// A secret that the person types elsewhere.
    var secret: String?
    var hidden: [Hidden] = []
    var fields: [Field] = []
    var other: Other?
    var links: [Link] = []
    var leave: Leave?
}
