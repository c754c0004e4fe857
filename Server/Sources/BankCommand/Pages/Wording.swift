import Foundation

/// Dates as people read them, in the bank's own time zone, with the machine's form beside them.
enum DateText {
    private static let locale = Locale(identifier: "en_GB")

    /// A day: 21 Nov 2026.
    static func day(_ date: Date) -> HTML {
        let text = date.formatted(self.style.day().month(.abbreviated).year())
        return "<time datetime=\"\(date.formatted(Date.ISO8601FormatStyle().year().month().day()))\">\(text)</time>"
    }

    /// A moment: 21 November 2026, 14:05 UTC.
    static func moment(_ date: Date) -> HTML {
        let day = date.formatted(self.style.day().month(.wide).year())
        let time = date.formatted(self.style.hour(.twoDigits(amPM: .omitted)).minute(.twoDigits))
        return "<time datetime=\"\(date.formatted(Date.ISO8601FormatStyle()))\">\(day), \(time) UTC</time>"
    }

    private static var style: Date.FormatStyle {
        var style = Date.FormatStyle(locale: self.locale)
        style.timeZone = .gmt
        return style
    }
}

/// An account's number in its printed form (ISO 13616): groups of four.
enum IBAN {
    static func grouped(_ iban: String) -> String {
        let letters = iban.filter { !$0.isWhitespace }
        return stride(from: 0, to: letters.count, by: 4)
            .map { String(letters.dropFirst($0).prefix(4)) }.joined(separator: " ")
    }
}
