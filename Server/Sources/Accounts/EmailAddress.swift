import Store

/// The e-mail addresses that accounts can have: a dot-atom, `@` and a host, in ASCII (RFC 5322, section 3.4.1; RFC
/// 5321, section 4.5.3.1). Quoted names, comments and literal addresses, which the grammar has too, nobody has for
/// their own.
enum EmailAddress {
    static func isValid(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count <= Limits.Fixed.emailBytes, let at = bytes.lastIndex(of: UInt8(ascii: "@")) else {
            return false
        }
        let name = bytes[..<at]
        let host = bytes[bytes.index(after: at)...]
        guard name.count <= Limits.Fixed.emailNameBytes, host.count <= Limits.Fixed.hostBytes else { return false }
        return Self.parts(name).allSatisfy { !$0.isEmpty && $0.allSatisfy(Self.isAtomText) }
            && Self.parts(host).allSatisfy { label in
                (1...Limits.Fixed.hostLabelBytes).contains(label.count) && label.first != UInt8(ascii: "-")
                    && label.last != UInt8(ascii: "-")
                    && label.allSatisfy { Self.isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }
            }
    }

    private static func parts(_ bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    }

    /// RFC 5322, section 3.2.3.
    private static func isAtomText(_ byte: UInt8) -> Bool {
        Self.isLetterOrDigit(byte) || "!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }
}
