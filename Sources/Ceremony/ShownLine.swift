import Foundation

extension DisplayText {
    /// A name from elsewhere as it is kept and signed: one line that can be shown, in Normalization Form C, of `length`
    /// characters (Unicode scalars) at most, with the ellipsis of one that was cut. At least one character fits.
    public static func name(_ text: String, length: Int) -> String {
        // Counted once it is normalised, which can shorten a name and lengthen it. No composed character stands for more
        // than four, and what is longer is cut before, as normalising takes the square of a run of combining marks.
        let line = Self.line(text, maximumLength: 4 * length)
        // Most names are of ASCII, where nothing is composed.
        let isNormal = line.utf8.allSatisfy { $0 < 0x80 }
        return Self.cut(isNormal ? line : line.precomposedStringWithCanonicalMapping, to: length)
    }

    /// A line in its normal form, cut at its end where it has more than `length` characters: the ellipsis is one of them.
    public static func cut(_ line: String, to length: Int) -> String {
        let scalars = line.unicodeScalars
        guard scalars.count > length else { return line }
        var end = scalars.index(scalars.startIndex, offsetBy: length - 1)
        // A letter is not left without its marks: it would be another one.
        while end > scalars.startIndex, scalars[end].combines { end = scalars.index(before: end) }
        return String(scalars[..<end]) + "…"
    }
}

extension Unicode.Scalar {
    /// Whether it is drawn on the letter before it.
    fileprivate var combines: Bool {
        switch self.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }
}
