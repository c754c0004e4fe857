import Foundation
import _Primitives

/// A line of text about a person, as typed, before its conversion to the single spelling.
enum PersonText {
    /// Nothing, or a text that cannot be shown. The text holds a character that hides, reorders or has no agreed
    /// picture, or begins with a mark that would be drawn on the character before the text.
    case unreadable
    /// The text is too long for safe reading.
    case tooLong
    /// The line in Normalization Form C, with one space between words and no space around the line.
    case line(String)

    /// Reads a text that may become a line of at most `maximum` characters (Unicode scalars).
    ///
    /// The initializer removes white space and invisible characters at both ends, which often come with pasted text.
    /// Inside the text, only the normal form and the width of spaces change. If the text has to be ASCII, a letter
    /// whose normal form is ASCII, such as the KELVIN SIGN, is unreadable like any other letter.
    init(_ written: String?, maximum: Int, isASCII: Bool = false) {
        let kept = Self.trimmed((written ?? "").unicodeScalars)
        guard let first = kept.first, !isASCII || kept.allSatisfy(\.isASCII) else {
            self = .unreadable
            return
        }
        // The length is limited before composing. No composed character stands for more than four characters, and a run
        // of marks costs the square of its length.
        guard kept.count <= 4 * maximum, String(kept).isStreamSafe else {
            self = .tooLong
            return
        }
        let line = String(kept).precomposedStringWithCanonicalMapping.unicodeScalars
            .split { $0.properties.generalCategory == .spaceSeparator }
            .map { String($0) }.joined(separator: " ")
        guard !first.isDrawnOnAnother, !line.unicodeScalars.contains(where: \.isUnfitToShow) else {
            self = .unreadable
            return
        }
        self = .line(line)
    }

    private static func trimmed(_ scalars: String.UnicodeScalarView) -> Substring.UnicodeScalarView {
        var kept = scalars[...]
        while let first = kept.first, first.isLeftOutAtEnds { kept.removeFirst() }
        while let last = kept.last, last.isLeftOutAtEnds { kept.removeLast() }
        return kept
    }
}

extension Unicode.Scalar {
    fileprivate var isLeftOutAtEnds: Bool {
        switch self.properties.generalCategory {
        case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    fileprivate var isDrawnOnAnother: Bool {
        switch self.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }
}
