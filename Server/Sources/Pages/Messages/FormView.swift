import Texts

/// The values for the template of a form. Inner values and outer values have different names: a template looks for a
/// missing name in the outer values.
struct FormView: PageView {
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

    static let template = "form"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card form" aria-labelledby="title" data-testid="{{testID}}">
        <h1 id="title">{{headline}}</h1>
        <p class="lead">{{lead}}</p>
        {{#problem}}
        <p class="notice bad" id="problem" role="alert" data-testid="problem">{{.}}</p>
        {{/problem}}
        {{#reference}}
        <p class="reference small">\(words(.helpNumber("<code>{{.}}</code>")))</p>
        {{/reference}}
        {{#picture}}<div class="qr" data-testid="qr-code">{{{.}}}</div>{{/picture}}
        {{#secret}}<p class="typed"><code data-testid="secret">{{.}}</code></p>{{/secret}}
        <form method="post" action="{{action}}">
        {{#hidden}}<input type="hidden" name="{{hiddenName}}" value="{{hiddenValue}}">{{/hidden}}
        {{#fields}}
        <div class="field">
        <label for="{{id}}">{{label}}</label>
        <input id="{{id}}" name="{{id}}" type="{{type}}" autocomplete="{{autocomplete}}" autocapitalize="none" \
        spellcheck="false" value="{{value}}" required{{#isReadOnly}} readonly{{/isReadOnly}}{{#isNumber}} inputmode="numeric"{{/isNumber}}\
        {{#hint}} aria-describedby="{{id}}-hint"{{/hint}} data-testid="{{id}}">
        {{#hint}}<p class="small" id="{{id}}-hint">{{.}}</p>{{/hint}}
        </div>
        {{/fields}}
        <p class="actions"><button type="submit" data-testid="submit">{{submit}}</button></p>
        {{#other}}
        <p class="small">{{about}}</p>
        <p><button type="submit" class="quiet" name="{{name}}" value="yes" formnovalidate data-testid="{{name}}">{{words}}</button></p>
        {{/other}}
        </form>
        {{#links}}
        <p class="other"><a href="{{target}}" data-testid="{{linkID}}">{{words}}</a></p>
        {{/links}}
        {{#leave}}
        <form class="leave" id="leave" method="post" action="/sign-in/cancel">
        <input type="hidden" name="request" value="{{requestID}}">
        {{#client}}<input type="hidden" name="client" value="{{.}}">{{/client}}
        <button type="submit" class="quiet" data-testid="cancel"><span>\
        \(words(.cancelAndGoBack(client: "<bdi>{{clientName}}</bdi>")))</span></button>
        </form>
        {{/leave}}
        </section>
        {{/main}}{{/frame}}
        """
    }
}
