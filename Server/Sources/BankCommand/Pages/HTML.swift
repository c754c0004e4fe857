/// Markup. Interpolating a text escapes the text; interpolating markup does not escape the markup.
struct HTML: ExpressibleByStringInterpolation, Sendable {
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var markup = ""

        init(literalCapacity: Int, interpolationCount: Int) { self.markup.reserveCapacity(literalCapacity) }

        mutating func appendLiteral(_ literal: String) { self.markup += literal }
        mutating func appendInterpolation(_ text: String) { self.markup += HTML.escape(text) }
        mutating func appendInterpolation(_ html: HTML) { self.markup += html.markup }
        mutating func appendInterpolation(_ list: [HTML]) { for html in list { self.markup += html.markup } }
    }

    let markup: String

    init(stringLiteral value: String) { self.markup = value }
    init(stringInterpolation: StringInterpolation) { self.markup = stringInterpolation.markup }

    static let nothing: HTML = ""

    private static func escape(_ text: String) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}
