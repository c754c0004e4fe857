import _Primitives

/// The target address of a request, without query and fragment, in the single spelling of all equivalent addresses (RFC
/// 9110, section 7.1; RFC 9449, sections 4.2 and 4.3; RFC 3986, sections 6.2.2 and 6.2.3).
///
/// Scheme and host are in lower case, and a default port is dropped. Escapes of unreserved characters are decoded, and
/// other escapes have digits in upper case. `.` and `..` are resolved, and an empty path is `/`. Two addresses are
/// equal if their bytes are equal.
public struct TargetURI: Hashable, Sendable, CustomStringConvertible {
    /// The address in the single spelling.
    public let text: String
    /// Scheme, host and port: `https://bank.example`, `http://127.0.0.1:8081`. The scheme's default port is left out.
    public let origin: String

    /// Reads an absolute `https` or `http` address of at most 2048 characters; `nil` for another text, and for an
    /// address with a user.
    public init?(_ text: String) {
        guard (1...2048).contains(text.utf8.count), URISyntax.isWritten(text) else { return nil }
        let end = text.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? text.utf8.endIndex
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = text[..<colon].asciiLowercased
        guard scheme.hasSameBytes(as: "https") || scheme.hasSameBytes(as: "http"), colon < end else { return nil }
        let rest = text[colon..<end].utf8.dropFirst()
        guard rest.starts(with: "//".utf8) else { return nil }
        let place = rest.dropFirst(2)
        let path = place.firstIndex(of: UInt8(ascii: "/")) ?? place.endIndex
        guard let authority = URISyntax.Authority(text[place.startIndex..<path]) else { return nil }
        let isDefault = authority.port.hasSameBytes(as: scheme.hasSameBytes(as: "https") ? "443" : "80")
        let port = authority.port.isEmpty || isDefault ? "" : ":" + authority.port
        self.origin = scheme + "://" + authority.host.asciiLowercased + port
        self.text = self.origin + Self.path(text[path..<end])
    }

    public var description: String { self.text }

    /// Returns the path without dot segments (RFC 3986, section 5.2.4), with its escapes normalised.
    private static func path(_ text: Substring) -> String {
        var segments: [String] = []
        let written = Self.unescaped(text).splitBytes(at: "/").dropFirst()
        for (index, segment) in written.enumerated() {
            let isLast = index == written.count - 1
            if segment.hasSameBytes(as: "..") { _ = segments.popLast() }
            if segment.hasSameBytes(as: "..") || segment.hasSameBytes(as: ".") {
                if isLast { segments.append("") }
            } else {
                segments.append(String(segment))
            }
        }
        return segments.isEmpty ? "/" : segments.map { "/" + $0 }.joined()
    }

    /// Returns the text with escapes of unreserved characters decoded, and with digits in upper case in all other
    /// escapes. The escapes in the text are complete.
    private static func unescaped(_ text: Substring) -> String {
        var letters: [UInt8] = []
        var rest = text.utf8
        while let letter = rest.popFirst() {
            guard letter == UInt8(ascii: "%"), let high = rest.popFirst(), let low = rest.popFirst() else {
                letters.append(letter)
                continue
            }
            let byte = FormEncoding.digit(high).flatMap { high in FormEncoding.digit(low).map { high << 4 | $0 } }
            if let byte, FormEncoding.isUnreserved(byte) {
                letters.append(byte)
            } else {
                letters.append(letter)
                letters.append(contentsOf: String(decoding: [high, low], as: UTF8.self).asciiUppercased.utf8)
            }
        }
        return String(decoding: letters, as: UTF8.self)
    }
}

/// The syntax of addresses (RFC 3986).
enum URISyntax {
    /// Returns `true` if all characters are unreserved, reserved or a percent sign (section 2), and two digits follow
    /// each percent sign.
    static func isWritten(_ text: String) -> Bool {
        text.utf8.allSatisfy { FormEncoding.isUnreserved($0) || ":/?#[]@!$&'()*+,;=%".utf8.contains($0) }
            && text.splitBytes(at: "%").dropFirst().allSatisfy {
                $0.utf8.prefix(2).count == 2 && $0.utf8.prefix(2).allSatisfy { FormEncoding.digit($0) != nil }
            }
    }

    /// Returns `true` if a text is a scheme (section 3.1): a letter, then letters, digits, `+`, `-` and `.`.
    static func isScheme(_ text: some StringProtocol) -> Bool {
        guard let first = text.utf8.first, self.isLetter(first) else { return false }
        return text.utf8.allSatisfy { self.isLetter($0) || self.isDigit($0) || "+-.".utf8.contains($0) }
    }

    static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }
    static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Host and port (section 3.2), without a user.
    struct Authority {
        /// A name, or a literal address in its brackets, as written.
        let host: Substring
        /// A number without leading zeros; empty if the address has no port.
        let port: Substring

        /// Reads host and port; `nil` for a text without a host or with an invalid port.
        ///
        /// A text with a user is refused too, because neither a host nor a port has an `@`. A colon without a port is
        /// refused unless `allowingEmptyPort` is set.
        init?(_ text: Substring, allowingEmptyPort: Bool = true) {
            let host: Substring
            if text.utf8.first == UInt8(ascii: "[") {
                guard let end = text.utf8.firstIndex(of: UInt8(ascii: "]")) else { return nil }
                host = text[...end]
            } else {
                host = text[..<(text.utf8.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex)]
            }
            let rest = text[host.endIndex...]
            guard Self.isHost(host), rest.isEmpty || Self.isPort(rest, allowingEmpty: allowingEmptyPort) else {
                return nil
            }
            self.host = host
            self.port = rest.dropFirst()
        }

        private static func isPort(_ text: Substring, allowingEmpty: Bool) -> Bool {
            guard text.utf8.first == UInt8(ascii: ":") else { return false }
            let digits = text.dropFirst()
            if digits.isEmpty { return allowingEmpty }
            guard digits.utf8.allSatisfy(URISyntax.isDigit), let number = UInt16(digits) else { return false }
            return number > 0 && digits.utf8.first != UInt8(ascii: "0")
        }

        private static func isHost(_ host: Substring) -> Bool {
            if host.utf8.first == UInt8(ascii: "[") {
                return host.utf8.dropFirst().dropLast().allSatisfy {
                    FormEncoding.digit($0) != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
                } && host.utf8.count > 4
            }
            return !host.isEmpty
                && host.utf8.allSatisfy { FormEncoding.isUnreserved($0) && $0 != UInt8(ascii: "~") }
        }
    }
}
