import Foundation

extension DisplayText {
    /// Returns a name from elsewhere in the form in which the product stores and signs names.
    ///
    /// The result is one line that can be shown, in Normalization Form C, of at most `length` characters (Unicode
    /// scalars). A shortened name ends in an ellipsis, which counts as a character. `length` is at least one.
    public static func name(_ text: String, length: Int) -> String {
        // The length is counted after normalising, which can shorten or lengthen a name. No composed character stands
        // for more than four characters. A longer name is cut before normalising, because normalising takes the square
        // of a run of combining marks.
        let line = Self.line(text, maximumLength: 4 * length)
        // Most names are plain ASCII, in which nothing is composed.
        let isNormal = line.utf8.allSatisfy { $0 < 0x80 }
        return Self.cut(isNormal ? line : line.precomposedStringWithCanonicalMapping, to: length)
    }

    /// Returns a line, cut at the end if the line has more than `length` characters (Unicode scalars). The ellipsis
    /// counts as a character. The caller gives the line in Normalization Form C; `length` is at least one.
    public static func cut(_ line: String, to length: Int) -> String {
        let scalars = line.unicodeScalars
        guard scalars.count > length else { return line }
        var end = scalars.index(scalars.startIndex, offsetBy: length - 1)
        // The cut does not separate a letter from its marks, because the bare letter would be another letter.
        while end > scalars.startIndex, scalars[end].combines { end = scalars.index(before: end) }
        return String(scalars[..<end]) + "…"
    }
}

extension Unicode.Scalar {
    /// `true` if the character is drawn on the letter before it.
    fileprivate var combines: Bool {
        switch self.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }
}
