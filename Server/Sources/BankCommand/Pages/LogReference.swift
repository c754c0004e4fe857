import Foundation

/// A short number that a person who asks for help reads out. The bank's log has the number in the line about the fault.
struct LogReference: Sendable, CustomStringConvertible {
    // Without letters that look or sound like others (Crockford's Base32).
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

    let description: String

    init() {
        let letters = (0..<8).map { _ in Self.alphabet[Int.random(in: 0..<Self.alphabet.count)] }
        self.description = "\(String(letters[..<4]))-\(String(letters[4...]))"
    }

    /// The line of a page that shows the number.
    var line: HTML { "<p class=\"muted\">Number for questions: <code>\(self.description)</code></p>" }
}
