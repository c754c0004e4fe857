import _Primitives

/// Checks e-mail addresses: a dot-atom, `@` and a host, in ASCII (RFC 5322, section 3.4.1; RFC 5321, section 4.5.3.1).
///
/// The grammar also has quoted names, comments and literal addresses, but nobody uses such an address.
public struct EmailValidator: PersonalInformationValidator {
    /// The result for an e-mail address.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The address was accepted.
        case valid
        /// Nothing was typed.
        case empty
        /// The address has more bytes than ``EmailValidator/maxLength``.
        case tooLong
        /// The text is not an e-mail address.
        case invalidFormat
        /// The service accepts only verified addresses. The person first adds an address to the account.
        case notSuppliableHere
        public static let notSuppliable: Self? = .notSuppliableHere
    }

    /// The most bytes. Each byte is a character.
    public let maxLength: Int

    /// The longest address in a path of 256 bytes, without the brackets (RFC 5321, section 4.5.3.1.3).
    public static let longest = 254

    /// Creates a validator. A bound outside 1...``longest`` is moved into this range.
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

    /// Returns `true` for a character of an atom (RFC 5322, section 3.2.3).
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

extension EmailValidator: LengthValidator {
    package var bounds: ClosedRange<Int> { 1...self.maxLength }

    package init(bounds: ClosedRange<Int>) {
        self.init(maxLength: bounds.upperBound)
    }
}

/// Checks telephone numbers with their country code (ITU-T E.164): `+`, and digits that do not begin with a zero.
///
/// The validator removes spaces, hyphens, slashes, full stops and parentheses, with which people group digits.
public struct PhoneNumberValidator: PersonalInformationValidator {
    /// The result for a telephone number.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The number was accepted.
        case valid
        /// Nothing was typed.
        case empty
        /// The number has fewer digits than ``PhoneNumberValidator/minLength``.
        case tooShort
        /// The number has more digits than ``PhoneNumberValidator/maxLength``.
        case tooLong
        /// The text is not a number with its country code.
        case invalidFormat
        /// The service accepts only verified numbers. The person first adds a number to the account.
        case notSuppliableHere
        public static let notSuppliable: Self? = .notSuppliableHere
    }

    /// The fewest digits, including the country code.
    public let minLength: Int
    /// The most digits, including the country code.
    public let maxLength: Int

    /// The most digits of E.164.
    public static let longest = 15

    /// Creates a validator. Bounds outside 1...``longest`` are moved into this range.
    public init(minLength: Int = 7, maxLength: Int = Self.longest) {
        (self.minLength, self.maxLength) = lengths(minLength, min(maxLength, Self.longest))
    }

    public func judge(_ value: String?) -> JudgedInput<ResultCode> {
        guard !isBlank(value) else { return .refused(.empty) }
        // A digit and the separators up to the next digit take few bytes. A text with ten times as many bytes is not a
        // number.
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

extension PhoneNumberValidator: LengthValidator {
    package var bounds: ClosedRange<Int> { self.minLength...self.maxLength }

    package init(bounds: ClosedRange<Int>) {
        self.init(minLength: bounds.lowerBound, maxLength: bounds.upperBound)
    }
}
