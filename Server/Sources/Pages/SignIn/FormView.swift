/// What the template of a form sees. The names of inner values are none of the outer ones: a template looks for what is
/// missing further out.
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

    /// Another button of the form, for which no field has to be filled in.
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
    /// A picture, drawn here.
    var picture: String?
    /// A secret, to be typed elsewhere.
    var secret: String?
    var hidden: [Hidden] = []
    var fields: [Field] = []
    var other: Other?
    var links: [Link] = []
    var leave: Leave?
}
