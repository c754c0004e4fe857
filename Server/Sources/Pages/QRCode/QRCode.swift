import CQREncode
public import _Primitives

/// A QR code (ISO/IEC 18004): error correction level M, and the smallest version that holds the text. Every picture of
/// the code has a quiet zone of four modules around it.
public struct QRCode: Sendable, Equatable {
    /// The number of modules on each side of the code, without the quiet zone.
    public let width: Int
    /// The modules row by row; `true` for a dark module.
    let modules: [Bool]
    /// The quiet zone that the standard demands, in modules.
    static let quietZone = 4

    /// Creates the code of a text. Digits, capitals and a few signs take less room than other letters.
    ///
    /// Throws ``QRCodeError/Code/empty`` if the text is empty or has a zero byte, and ``QRCodeError/Code/tooLong`` if
    /// the text does not fit the largest code. The largest code has room for 2,331 bytes of any letters.
    public init(text: String) throws(QRCodeError) {
        // The library reads up to a zero byte.
        guard !text.isEmpty, !text.utf8.contains(0) else { throw QRCodeError(.empty, "no text") }
        guard let code = QRcode_encodeString(text, 0, QR_ECLEVEL_M, QR_MODE_8, 1) else {
            throw QRCodeError(.tooLong, "\(text.utf8.count) bytes")
        }
        defer { QRcode_free(code) }
        let width = Int(code.pointee.width)
        self.width = width
        // The lowest bit of each byte tells the module's colour. The other bits tell the part of the code that the
        // module is in.
        self.modules = UnsafeBufferPointer(start: code.pointee.data, count: width * width).map { $0 & 1 == 1 }
    }

    /// Returns `true` if a module is dark. Everything outside the code is light, which makes the quiet zone.
    func isDark(_ column: Int, _ row: Int) -> Bool {
        guard (0..<self.width).contains(column), (0..<self.width).contains(row) else { return false }
        return self.modules[row * self.width + column]
    }

    /// Returns an SVG element for a page.
    ///
    /// The element has no style of its own, so that a strict content security policy leaves the element whole. The code
    /// is dark on white in a dark page too, because not every reader takes an inverted code. A screen reader says
    /// `label` in place of the picture.
    public func svg(label: String) -> String {
        let side = self.width + 2 * Self.quietZone
        // Whole pixels to a module keep the edges sharp. About 300 pixels in all are easy to read from an arm's length.
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

    /// The code for a terminal with a dark background: two modules to a character, a line feed after each line.
    ///
    /// The characters draw the light modules.
    public var terminalText: String {
        var text = ""
        let range = -Self.quietZone..<self.width + Self.quietZone
        for row in stride(from: range.lowerBound, to: range.upperBound, by: 2) {
            for column in range {
                // With an odd height the last line has no lower half, and the height is always odd. The lower half
                // stays undrawn.
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

/// The reason why no QR code could be made. Two errors are equal if their codes are equal.
public struct QRCodeError: CodedError {
    /// The kind of error, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case empty, tooLong, picture }
        private let base: Base
        /// The text is empty, or has a zero byte.
        public static let empty = Self(base: .empty)
        /// The text does not fit the largest code.
        public static let tooLong = Self(base: .tooLong)
        /// No picture of the requested scale can be made.
        public static let picture = Self(base: .picture)
        public var description: String { self.base.rawValue }
    }

    /// The kind of the error.
    public let code: Code
    /// A reason for the log: a size, never the text, which may hold a token.
    public let reason: String

    /// Creates an error with a code. `reason` must hold no part of the text.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
