/// Text laid out for a terminal of a given width.
enum BoxText {
    /// Returns lines of at most `width` columns, broken at spaces if possible. Line feeds of the text stay.
    static func wrap(_ text: String, width: Int) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).flatMap {
            Self.wrapLine(String($0), width: width)
        }
    }

    private static func wrapLine(_ line: String, width: Int) -> [String] {
        var lines: [String] = []
        var current = ""
        for word in line.split(separator: " ", omittingEmptySubsequences: false) {
            var word = String(word)
            if !current.isEmpty, self.columns(current) + 1 + self.columns(word) > width {
                lines.append(current)
                current = ""
            }
            while self.columns(word) > width {
                var head = ""
                while let next = word.first, self.columns(head) + self.columns(String(next)) <= width {
                    head.append(word.removeFirst())
                }
                guard !head.isEmpty else { break }
                lines.append(head)
            }
            current = current.isEmpty ? word : "\(current) \(word)"
        }
        lines.append(current)
        return lines
    }

    /// Returns a frame of `width` columns with a title around a text.
    static func box(title: String, text: String, width: Int) -> [String] {
        let inner = width - 4
        let lines = self.wrap(text, width: inner).map { "│ \(self.filled($0, inner)) │" }
        return [self.head(title, inner)] + lines + ["╰\(String(repeating: "─", count: inner + 2))╯"]
    }

    /// Returns a frame of `width` columns with a title around names and their values, with a rule between the two
    /// columns. A value of several lines stays in its column, so that no part of the value appears as a name.
    static func table(title: String, rows: [(name: String, value: String)], width: Int) -> [String] {
        let inner = width - 4
        let names = rows.map { self.columns($0.name) }.max() ?? 0
        let values = inner - names - 3
        let lines = rows.flatMap { row in
            self.wrap(row.value, width: values).enumerated().map { index, line in
                "│ \(self.filled(index == 0 ? row.name : "", names)) │ \(self.filled(line, values)) │"
            }
        }
        let foot = "╰\(String(repeating: "─", count: names + 2))┴\(String(repeating: "─", count: values + 2))╯"
        return [self.head(title, inner)] + lines + [foot]
    }

    private static func head(_ title: String, _ inner: Int) -> String {
        let head = self.wrap(title, width: inner - 2).first ?? ""
        return "╭─ \(head) \(String(repeating: "─", count: max(0, inner - self.columns(head) - 1)))╮"
    }

    /// Returns the text with spaces up to `width` columns.
    private static func filled(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - self.columns(text)))
    }

    /// Returns the number of columns of a text: two for wide letters, none for marks on the letter before.
    static func columns(_ text: String) -> Int {
        text.unicodeScalars.reduce(0) { columns, scalar in
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .enclosingMark, .format, .control: columns
            default: columns + (self.isWide(scalar) ? 2 : 1)
            }
        }
    }

    /// Returns `true` for pictographs and for the blocks that East Asian Width (Unicode Annex 11) calls wide.
    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
