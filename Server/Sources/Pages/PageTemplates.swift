import Mustache
import Synchronization
import Texts

/// The values on a page, with the template that shows the values.
///
/// Inner values and outer values have different names: a template looks for a missing name in the outer values. Three
/// braces stand in a template only around this target's own drawings: marks, emblems and QR codes.
package protocol PageView {
    /// The name of the template. The script and the style sheet know the page by this name.
    static var template: String { get }

    /// Returns the template with words of a language.
    static func markup(_ words: TemplateWords) -> String
}

/// The words of a template: sentences of a language. A value of a sentence is a part of the template, with the marks
/// around a name.
package struct TemplateWords: Sendable {
    let language: any Language

    func callAsFunction(_ text: SharedText) -> String { Self.markup(self.language.words(text)) }
    func callAsFunction(_ text: FieldText) -> String { Self.markup(self.language.words(text)) }
    func callAsFunction(_ text: SignInText) -> String { Self.markup(self.language.words(text)) }
    func callAsFunction(_ text: DecisionText) -> String { Self.markup(self.language.words(text)) }
    func callAsFunction(_ text: OpeningText) -> String { Self.markup(self.language.words(text)) }
    func callAsFunction(_ text: IdentityText) -> String { Self.markup(self.language.words(text)) }
    func callAsFunction(_ text: ActivationText) -> String { Self.markup(self.language.words(text)) }
    func callAsFunction(_ text: ChangeText) -> String { Self.markup(self.language.words(text)) }

    /// Returns a sentence as a part of a template. The values of the sentence are parts of the template already.
    private static func markup(_ sentence: Sentence) -> String {
        sentence.parts.reduce(into: "") { markup, part in
            switch part {
            case .words(let words): markup += escapedForHTML(words)
            case .value(let value): markup += value
            }
        }
    }
}

/// The templates of a language. A view brings the view's own template, and each template is read once.
final class PageTemplates: Sendable {
    private let words: TemplateWords
    /// The frame around every page's own content.
    private let frame: MustacheLibrary
    /// The templates that were read, by their views; `nil` for a template that cannot be read.
    private let read = Mutex<[ObjectIdentifier: MustacheTemplate?]>([:])

    init(language: any Language) {
        MustacheContentTypes.register(ScalarwiseHTML(), named: ScalarwiseHTML.name)
        let words = TemplateWords(language: language)
        self.words = words
        self.frame = MustacheLibrary(
            templates: ["frame": Self.template(Self.frame(words))].compactMapValues { $0 })
    }

    /// Returns the text of a page: the values of `page` in the template of a view.
    func render<View: PageView>(_ page: any MustacheParent, by view: View.Type) -> String {
        let template = self.read.withLock { read -> MustacheTemplate? in
            if let known = read[ObjectIdentifier(view)] { return known }
            let template = Self.template(View.markup(self.words))
            read.updateValue(template, forKey: ObjectIdentifier(view))
            return template
        }
        return template?.render(page, library: self.frame) ?? ""
    }

    /// Reads a template. No template is left out: a test renders every page.
    private static func template(_ markup: String) -> MustacheTemplate? {
        try? MustacheTemplate(string: ScalarwiseHTML.pragma + markup)
    }

    private static func frame(_ words: TemplateWords) -> String {
        """
        <!doctype html>
        <html lang="\(words.language.tag)">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="robots" content="noindex">
        <title>{{title}} · {{serviceName}}</title>
        <link rel="icon" type="image/svg+xml" href="{{icon}}">
        <link rel="stylesheet" href="{{stylesheet}}">
        <script src="{{script}}" data-heartbeat="{{heartbeat}}" defer></script>
        </head>
        <body data-page="{{template}}">
        <a class="skip" href="#main">\(words(.skipToContent))</a>
        <header class="top"><span class="brand">{{{mark}}}<span>{{serviceName}}</span></span></header>
        <main id="main" tabindex="-1">
        {{#content}}{{$main}}{{/main}}{{/content}}
        </main>
        <footer class="foot"><p>\(words(.youAreAt(host: "<strong>{{host}}</strong>")))</p></footer>
        </body>
        </html>
        """
    }
}

/// The content type that escapes by Unicode scalar the values filled into a template. A browser also reads a page by
/// scalar.
///
/// The library's own content type compares whole `Character`s. A quotation mark followed by a combining mark equals
/// none of the characters that the library knows, so the mark would close the attribute around the value.
private struct ScalarwiseHTML: MustacheContentType {
    static let name = "PAGE"
    /// The first line of every template. A partial begins with the library's content type again, so the frame needs the
    /// line, too.
    static let pragma = "{{% CONTENT_TYPE: \(Self.name)}}\n"

    func escapeText(_ text: String) -> String { escapedForHTML(text) }
}
