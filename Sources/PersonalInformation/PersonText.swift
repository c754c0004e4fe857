import Foundation
import _Primitives

/// One line of text about a person, as it was typed, on its way to its one spelling.
enum PersonText {
    /// Nothing, or nothing that can be shown: what is left holds a character that hides, reorders or has no agreed
    /// picture, or begins with a mark that would be drawn on whatever stands before it.
    case unreadable
    /// Longer than can be read without harm.
    case tooLong
    /// In Normalization Form C, with one space between words and none around them.
    case line(String)

    /// Reads what may become a line of at most `maximum` characters (Unicode scalars).
    ///
    /// White space and invisible characters at both ends, which come with what is pasted, are left out; what is within
    /// is never rewritten but for its normal form and the width of its spaces. Where it has to be ASCII, a letter of which
    /// the normal form makes one of ASCII, such as the KELVIN SIGN, is unreadable as every other.
    init(_ written: String?, maximum: Int, isASCII: Bool = false) {
        let kept = Self.trimmed((written ?? "").unicodeScalars)
        guard let first = kept.first, !isASCII || kept.allSatisfy(\.isASCII) else {
            self = .unreadable
            return
        }
        // Bounded before it is composed: no composed character stands for more than four, and a run of marks costs the
        // square of its length.
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
