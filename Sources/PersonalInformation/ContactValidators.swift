import _Primitives

/// Judges e-mail addresses: a dot-atom, `@` and a host, in ASCII (RFC 5322, section 3.4.1; RFC 5321, section 4.5.3.1).
///
/// Quoted names, comments and literal addresses, which the grammar has too, nobody has for their own.
public struct EmailValidator: PersonalInformationValidator {
    /// What an e-mail address comes to.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The address was accepted.
        case valid
        /// Nothing was typed.
        case empty
        /// More bytes than ``EmailValidator/maxLength``.
        case tooLong
        /// Not an e-mail address.
        case invalidFormat
        /// The service takes verified addresses alone: the person adds one to the account first.
        case notSuppliableHere
        public static let notSuppliable: Self? = .notSuppliableHere
    }

    /// The most bytes, each of which is a character.
    public let maxLength: Int

    /// What a path of 256 bytes holds without its brackets (RFC 5321, section 4.5.3.1.3).
    public static let longest = 254

    /// Makes a validator. A bound that makes no sense is brought into 1...``longest``.
    public init(maxLength: Int = Self.longest) { self.maxLength = min(lengths(1, maxLength).maximum, Self.longest) }

    public func judge(_ value: String?) -> JudgedInput<ResultCode> {
        guard !isBlank(value) else { return .refused(.empty) }
        switch PersonText(value, maximum: self.maxLength, isASCII: true) {
        case .unreadable: return .refused(.invalidFormat)
        case .tooLong: return .refused(.tooLong)
        case .line(let address):
            guard address.utf8.count <= self.maxLength else { return .refused(.tooLong) }
            return Self.isAddress(Array(address.utf8)) ? .accepted(spelling: address) : .refused(.invalidFormat)
        }
    }

    private static func isAddress(_ bytes: [UInt8]) -> Bool {
        guard let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return false }
        let name = bytes[..<at]
        let host = bytes[bytes.index(after: at)...]
        // RFC 5321, section 4.5.3.1.1; RFC 1035, section 2.3.4.
        guard name.count <= 64, host.count <= 253 else { return false }
        return Self.parts(name).allSatisfy { !$0.isEmpty && $0.allSatisfy(Self.isAtomText) }
            && Self.parts(host).allSatisfy { label in
                (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
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

/// Judges telephone numbers with their country's code (ITU-T E.164): `+`, and digits that do not begin with a zero.
///
/// Spaces, hyphens, slashes, full stops and parentheses, by which people group digits, are left out.
public struct PhoneNumberValidator: PersonalInformationValidator {
    /// What a telephone number comes to.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The number was accepted.
        case valid
        /// Nothing was typed.
        case empty
        /// Fewer digits than ``PhoneNumberValidator/minLength``.
        case tooShort
        /// More digits than ``PhoneNumberValidator/maxLength``.
        case tooLong
        /// Not a number with its country's code.
        case invalidFormat
        /// The service takes verified numbers alone: the person adds one to the account first.
        case notSuppliableHere
        public static let notSuppliable: Self? = .notSuppliableHere
    }

    /// The fewest digits, the country's among them.
    public let minLength: Int
    /// The most digits, the country's among them.
    public let maxLength: Int

    /// The most digits of E.164.
    public static let longest = 15

    /// Makes a validator. Bounds that make no sense are brought into 1...``longest``.
    public init(minLength: Int = 7, maxLength: Int = Self.longest) {
        (self.minLength, self.maxLength) = lengths(minLength, min(maxLength, Self.longest))
    }

    public func judge(_ value: String?) -> JudgedInput<ResultCode> {
        guard !isBlank(value) else { return .refused(.empty) }
        // A digit and what stands between it and the next take few bytes; ten times as many is no number.
        guard let value, value.utf8.count <= 256 else { return .refused(.tooLong) }
        guard case .line(let line) = PersonText(value, maximum: 256, isASCII: true) else {
            return .refused(.invalidFormat)
        }
        let letters = line.utf8.filter { !" -/.()".utf8.contains($0) }
        let digits = letters.dropFirst()
        guard letters.first == UInt8(ascii: "+"), digits.first != UInt8(ascii: "0"),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return .refused(.invalidFormat) }
        guard digits.count >= self.minLength else { return .refused(.tooShort) }
        guard digits.count <= self.maxLength else { return .refused(.tooLong) }
        return .accepted(spelling: String(decoding: letters, as: UTF8.self))
    }
}
