/// An amount of money with exactly as many decimals as its currency has: `EUR 120.00`, `JPY 120`.
public struct PaymentAmount: Hashable, Sendable {
    /// The currency's three letters (ISO 4217).
    public let currency: String
    /// The number, with the currency's decimals after a full stop and without grouping.
    public let value: String

    /// The most digits before the full stop. With four decimals, the number of minor units still fits 64 bits.
    public static let maximumWholeDigits = 14

    /// `currency`, a space and the number, as in a payment's text.
    public var text: String { "\(self.currency) \(self.value)" }

    /// Creates an amount from `120`, `120.5` or `120.50`, and adds the missing decimals.
    ///
    /// Throws ``PaymentError`` `currency` for an unknown currency. Throws `amount` for anything but ASCII digits with
    /// at most one full stop, more decimals than the currency has, leading zeros, zero, and more than
    /// ``maximumWholeDigits``.
    public init(_ value: String, currency: String) throws(PaymentError) {
        guard let decimals = Self.decimals(of: currency) else { throw PaymentError(.currency) }
        let parts = value.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(Self.isDigit) }) else {
            throw PaymentError(.amount, "not a decimal number")
        }
        guard parts[0].count <= Self.maximumWholeDigits else { throw PaymentError(.amount, "too large") }
        guard parts[0].count == 1 || parts[0].first != UInt8(ascii: "0") else {
            throw PaymentError(.amount, "leading zeros")
        }
        let fraction = parts.count == 2 ? Array(parts[1]) : []
        guard fraction.count <= decimals else { throw PaymentError(.amount, "more than \(decimals) decimals") }
        guard (Array(parts[0]) + fraction).contains(where: { $0 != UInt8(ascii: "0") }) else {
            throw PaymentError(.amount, "zero")
        }
        let whole = String(decoding: parts[0], as: UTF8.self)
        let zeros = String(repeating: "0", count: decimals - fraction.count)
        let filled = String(decoding: fraction, as: UTF8.self) + zeros
        self.currency = currency
        self.value = decimals == 0 ? whole : "\(whole).\(filled)"
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Returns the number of decimals of a currency; `nil` for letters that are not a currency.
    ///
    /// The product has its own list, because phone and server must judge alike. The system's list differs from version
    /// to version.
    static func decimals(of currency: String) -> Int? {
        guard currency.utf8.count == 3, self.currencies.contains(currency) else { return nil }
        if self.withoutDecimals.contains(currency) { return 0 }
        if self.withThreeDecimals.contains(currency) { return 3 }
        return self.withFourDecimals.contains(currency) ? 4 : 2
    }

    /// The currencies of ISO 4217, table A.1 of 2026, without precious metals, baskets, bonds and codes for tests.
    static let currencies = Set(
        """
        AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF \
        CLF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD \
        HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD \
        MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN \
        PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY \
        TTD TWD TZS UAH UGX USD UYI UYU UYW UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
        """
        .split(separator: " ").map { String($0) })
    private static let withoutDecimals: Set = [
        "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF",
        "XPF",
    ]
    private static let withThreeDecimals: Set = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"]
    private static let withFourDecimals: Set = ["CLF", "UYW"]
}
