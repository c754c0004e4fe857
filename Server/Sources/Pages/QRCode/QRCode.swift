import CQREncode

/// A QR code (ISO/IEC 18004): error correction level M, the smallest version that holds the text, a quiet zone of four
/// modules around every picture that is made of it.
public struct QRCode: Sendable, Equatable {
    /// How many modules the code has on each side, without the quiet zone.
    public let width: Int
    /// Row by row, `true` where a module is dark.
    let modules: [Bool]
    /// The quiet zone that the standard demands, in modules.
    static let quietZone = 4

    /// The code of a text; digits, capitals and a few signs take less room than other letters. Throws
    /// ``QRCodeError/Code/empty``, which a text with a zero byte is, too, and ``QRCodeError/Code/tooLong`` (more than
    /// 2,331 bytes).
    public init(text: String) throws(QRCodeError) {
        // The library reads up to a zero byte.
        guard !text.isEmpty, !text.utf8.contains(0) else { throw QRCodeError(.empty, "no text") }
        guard let code = QRcode_encodeString(text, 0, QR_ECLEVEL_M, QR_MODE_8, 1) else {
            throw QRCodeError(.tooLong, "\(text.utf8.count) bytes")
        }
        defer { QRcode_free(code) }
        let width = Int(code.pointee.width)
        self.width = width
        // The lowest bit of each byte tells the module's colour; the others tell what it is part of.
        self.modules = UnsafeBufferPointer(start: code.pointee.data, count: width * width).map { $0 & 1 == 1 }
    }

    /// Whether a module is dark. Everything outside the code is light, which makes the quiet zone.
    func isDark(_ column: Int, _ row: Int) -> Bool {
        guard (0..<self.width).contains(column), (0..<self.width).contains(row) else { return false }
        return self.modules[row * self.width + column]
    }

    /// An SVG element to be set into a page: it has no style of its own, so that a strict content security policy
    /// leaves it whole, and is dark on white in a dark page too, because not every reader takes an inverted code.
    ///
    /// `label` is what a screen reader says in place of the picture.
    public func svg(label: String) -> String {
        let side = self.width + 2 * Self.quietZone
        // Whole pixels to a module keep the edges sharp; about 300 in all are easy to read from an arm's length.
        let scale = max(2, 316 / side)
        let numbers = (0...side).map { Array(String($0).utf8) }
        var path: [UInt8] = []
        for row in 0..<self.width {
            var column = 0
            while column < self.width {
                guard self.isDark(column, row) else {
                    column += 1
                    continue
                }
                let start = column
                while self.isDark(column, row) { column += 1 }
                let run = numbers[column - start]
                path.append(UInt8(ascii: "M"))
                path += numbers[start + Self.quietZone]
                path.append(UInt8(ascii: " "))
                path += numbers[row + Self.quietZone]
                path.append(UInt8(ascii: "h"))
                path += run
                path += Array("v1h-".utf8)
                path += run
                path.append(UInt8(ascii: "z"))
            }
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(side) \(side)" width="\(side * scale)" \
            height="\(side * scale)" role="img" \
            aria-label="\(escapedForHTML(label))" shape-rendering="crispEdges">\
            <rect width="\(side)" height="\(side)" fill="#fff"/><path d="\(String(decoding: path, as: UTF8.self))" fill="#000"/></svg>
            """
    }

    /// The code for a terminal with a dark background, two modules to a character, a line feed after each line.
    ///
    /// Light modules are the drawn ones.
    public var terminalText: String {
        var text = ""
        let range = -Self.quietZone..<self.width + Self.quietZone
        for row in stride(from: range.lowerBound, to: range.upperBound, by: 2) {
            for column in range {
                // The last line has no lower half when the height is odd, which it always is: it stays undrawn.
                let lowerIsDark = row + 1 >= range.upperBound || self.isDark(column, row + 1)
                switch (self.isDark(column, row), lowerIsDark) {
                case (false, false): text += "█"
                case (false, true): text += "▀"
                case (true, false): text += "▄"
                case (true, true): text += " "
                }
            }
            text += "\n"
        }
        return text
    }
}

/// Why no QR code could be made. Two are equal when their codes are.
public struct QRCodeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case empty, tooLong, picture }
        private let base: Base
        /// There is no text.
        public static let empty = Self(base: .empty)
        /// The text does not fit the largest code.
        public static let tooLong = Self(base: .tooLong)
        /// No picture of that scale can be made.
        public static let picture = Self(base: .picture)
        public var description: String { self.base.rawValue }
    }

    /// What went wrong.
    public let code: Code
    /// For the log: a size, never the text, which may hold a token.
    public let reason: String

    /// An error with that code; `reason` must hold nothing of the text.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public var description: String { "QRCodeError.\(self.code): \(self.reason)" }
    /// By code alone, so that a test can write the error that it expects.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}

/// A text as it may stand in an attribute or an element of a page.
func escapedForHTML(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "<": escaped += "&lt;"
        case ">": escaped += "&gt;"
        case "&": escaped += "&amp;"
        case "\"": escaped += "&quot;"
        case "'": escaped += "&#39;"
        default: escaped.unicodeScalars.append(scalar)
        }
    }
    return escaped
}
