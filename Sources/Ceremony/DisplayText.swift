import _Primitives

/// Makes text from elsewhere safe to show to a reader.
public enum DisplayText {
    /// Returns `true` if the character may not stand in a text that a person has to trust.
    ///
    /// A forbidden character hides or reorders other characters, or has no agreed picture. The line feed is forbidden
    /// as well, because most places show a single line.
    public static func isForbidden(_ scalar: Unicode.Scalar) -> Bool { scalar.isUnfitToShow }

    /// Returns one line that is safe on a terminal.
    ///
    /// The function removes escape sequences and replaces every other forbidden character by U+FFFD. A line with more
    /// characters (Unicode scalars) than `maximumLength` is cut after that number, and an ellipsis follows.
    public static func line(_ text: String, maximumLength: Int = 200) -> String {
        // Most names need no closer look: a printable ASCII text has no control character.
        let isPlain = text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        guard !isPlain || text.utf8.count > maximumLength else { return text }
        var shown = String.UnicodeScalarView()
        for (number, scalar) in Self.withoutEscapeSequences(text).enumerated() {
            guard number < maximumLength else {
                shown.append("…")
                break
            }
            shown.append(Self.isForbidden(scalar) ? "\u{FFFD}" : scalar)
        }
        return String(shown)
    }

    /// Returns several safe lines, each as from ``line(_:maximumLength:)``.
    public static func lines(_ text: String, maximumLength: Int = 200) -> [String] {
        // The text is split at the byte. A run of combining marks is one character, and comparing such a character
        // costs the square of the run's length.
        text.splitBytes(at: "\n").map { Self.line(String($0), maximumLength: maximumLength) }
    }

    /// Returns JSON with the same meaning that is safe on a terminal: the strings' forbidden characters become escapes.
    ///
    /// `text` must be JSON in a single line. A line feed between two values would become an escape, and break the JSON.
    public static func json(_ text: String) -> String {
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            guard Self.isForbidden(scalar) else {
                shown.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                shown.append(
                    contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".unicodeScalars)
            }
        }
        return String(shown)
    }

    /// The most characters of a host's label and of a whole host (RFC 1035, section 2.3.4), both in their ASCII form.
    private static let hostLimits = (label: 63, host: 253)

    /// Returns an origin in the form in which a person should compare it: scheme, host and port, without a path.
    ///
    /// A text that does not begin with a scheme and a host appears as from ``line(_:maximumLength:)``.
    /// Host labels with letters outside ASCII appear in their `xn--` form (RFC 3492). A letter of another script
    /// therefore cannot pass for a similar letter.
    ///
    /// A host is too long if a label has more than 63 characters or the whole host more than 253. The function shows
    /// U+FFFD in place of such a host, because a part of the host could pass for another host.
    public static func origin(_ origin: String) -> String {
        let parts = origin.splitBytes(at: "/", maxSplits: 3)
        guard parts.count >= 3, parts[0].hasBytes(atEnd: ":"), parts[1].isEmpty else { return Self.line(origin) }
        let scheme = Self.line(String(parts[0]), maximumLength: Self.hostLimits.label)
        guard let host = Self.host(parts[2]) else { return "\(scheme)//\u{FFFD}" }
        return "\(scheme)//\(Self.line(host, maximumLength: Self.hostLimits.host + 6))"
    }

    /// Returns a host, with its port, in its ASCII form; `nil` if the host is too long.
    ///
    /// Encoding takes time that grows with the square of a label's length, so the function never encodes a label that
    /// is too long.
    private static func host(_ authority: Substring) -> String? {
        let ending = authority.utf8.lastIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
        let port = authority[ending...]
        let isPort = port.utf8.count <= 6 && port.utf8.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
        let name = isPort ? authority[..<ending] : authority
        guard name.utf8.count <= 4 * Self.hostLimits.host else { return nil }
        var labels: [String] = []
        for label in name.splitBytes(at: ".") {
            guard label.unicodeScalars.count <= Self.hostLimits.label else { return nil }
            let isASCII = label.utf8.allSatisfy { $0 < 0x80 }
            // A name is shown as people write it, in lower case. Nothing is compared.
            let shown = isASCII ? String(label) : "xn--" + Punycode.encode(label.lowercased())  // check: unicode-words
            guard shown.utf8.count <= Self.hostLimits.label else { return nil }
            labels.append(shown)
        }
        let host = labels.joined(separator: ".")
        return host.utf8.count <= Self.hostLimits.host ? host + (isPort ? port : "") : nil
    }

    /// Removes ECMA-48 control sequences, control strings and two-character escapes.
    private static func withoutEscapeSequences(_ text: String) -> [Unicode.Scalar] {
        var kept: [Unicode.Scalar] = []
        var scalars = text.unicodeScalars.makeIterator()
        var next = scalars.next()
        while let scalar = next {
            next = scalars.next()
            switch scalar.value {
            case 0x1B where next == "[", 0x9B:
                if scalar.value == 0x1B { next = scalars.next() }
                while let parameter = next, (0x20...0x3F).contains(parameter.value) { next = scalars.next() }
                if let final = next, (0x40...0x7E).contains(final.value) { next = scalars.next() }
            case 0x1B where next.map { "]PX^_".unicodeScalars.contains($0) } ?? false, 0x90, 0x98, 0x9D, 0x9E, 0x9F:
                // The control string goes on up to the string terminator, a bell, or the end of the text.
                while let inside = next, inside.value != 0x07, inside.value != 0x9C, inside.value != 0x1B {
                    next = scalars.next()
                }
                if next?.value == 0x1B { next = scalars.next() }
                if next != nil { next = scalars.next() }
            case 0x1B: next = scalars.next()
            default: kept.append(scalar)
            }
        }
        return kept
    }
}

/// The ASCII form of a host's label (RFC 3492). The type only encodes, because nothing here reads the form back.
enum Punycode {
    static func encode(_ label: String) -> String {
        let input = label.unicodeScalars.map { Int($0.value) }
        var output = input.filter { $0 < 0x80 }.map { UInt8($0) }
        let basicCount = output.count
        var handled = basicCount
        if basicCount > 0 { output.append(UInt8(ascii: "-")) }
        var code = 128
        var delta = 0
        var bias = 72
        while handled < input.count {
            guard let smallest = input.filter({ $0 >= code }).min() else { break }
            delta += (smallest - code) * (handled + 1)
            code = smallest
            for scalar in input {
                if scalar < code { delta += 1 }
                guard scalar == code else { continue }
                var rest = delta
                var k = 36
                while true {
                    let threshold = min(max(k - bias, 1), 26)
                    if rest < threshold { break }
                    output.append(Self.digit(threshold + (rest - threshold) % (36 - threshold)))
                    rest = (rest - threshold) / (36 - threshold)
                    k += 36
                }
                output.append(Self.digit(rest))
                bias = Self.adapt(delta, points: handled + 1, isFirst: handled == basicCount)
                delta = 0
                handled += 1
            }
            delta += 1
            code += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func digit(_ value: Int) -> UInt8 {
        UInt8(value < 26 ? value + 97 : value - 26 + 48)
    }

    private static func adapt(_ delta: Int, points: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / points
        var k = 0
        while delta > 455 {
            delta /= 35
            k += 36
        }
        return k + 36 * delta / (delta + 38)
    }
}
