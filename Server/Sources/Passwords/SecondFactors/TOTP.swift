import Crypto
public import _Primitives

/// Time-based one-time codes (RFC 6238) of one secret, as authenticator apps make them.
public struct TOTP: Sendable, CustomStringConvertible, CustomReflectable {
    /// The hash function of the HMAC. Many apps know only SHA-1, whatever the address says. Collisions of SHA-1 do not
    /// weaken HMAC.
    public enum Algorithm: String, Sendable, CaseIterable {
        case sha1 = "SHA1"
        case sha256 = "SHA256"
        case sha512 = "SHA512"
    }

    /// The secret, which the store keeps sealed.
    public let secret: SecretBytes
    /// The hash function.
    public let algorithm: Algorithm
    /// The number of digits of a code.
    public let digits: Int
    /// The length of a step in seconds. Each step has its own code.
    public let periodSeconds: Int64

    /// Creates a new secret of 160 bits, for SHA-1.
    public init(random: RandomSource, limits: PasswordLimits = PasswordLimits()) {
        self.secret = SecretBytes(random.bytes(PasswordLimits.Fixed.totpSecretBytes))
        self.algorithm = .sha1
        self.digits = limits.totpDigits
        self.periodSeconds = limits.totpPeriodSeconds
    }

    /// Creates the codes of a secret from the store or from elsewhere. `nil` if the secret has fewer than 80 bits or
    /// more than 1024, if the number of digits is not six to eight, or if the period is not positive.
    public init?(secret: [UInt8], algorithm: Algorithm, digits: Int, periodSeconds: Int64) {
        guard PasswordLimits.Fixed.totpStoredSecretBytes.contains(secret.count),
            PasswordLimits.Fixed.totpDigits.contains(digits), periodSeconds > 0
        else { return nil }
        self.secret = SecretBytes(secret)
        self.algorithm = algorithm
        self.digits = digits
        self.periodSeconds = periodSeconds
    }

    /// Returns the code of a moment; `nil` before 1970.
    public func code(at moment: Timestamp) -> String? {
        self.step(at: moment).map { String(decoding: self.code(ofStep: $0), as: UTF8.self) }
    }

    /// Judges a typed code, and returns its step if the code is right. A right code belongs to the present step or one
    /// of the ``PasswordLimits/totpWindow`` steps before and after, and to a later step than `last`. Spaces within the
    /// code do not matter.
    ///
    /// The store keeps the step as `last` for this secret, in the same business step that signs the person in. So no
    /// code counts twice, and no earlier code counts afterwards (RFC 6238, section 5.2). All codes of the window are
    /// made and compared in constant time, for any typed text.
    public func acceptedStep(
        of typed: String, at moment: Timestamp, after last: Int64?, limits: PasswordLimits = PasswordLimits()
    ) -> Int64? {
        guard typed.utf8.count <= PasswordLimits.Fixed.typedCodeBytes, let present = self.step(at: moment) else {
            return nil
        }
        let typed = typed.utf8.filter { $0 != UInt8(ascii: " ") }
        var accepted: Int64?
        for step in max(0, present - limits.totpWindow)...(present + limits.totpWindow) {
            let isEqual = constantTimeEqual(self.code(ofStep: step), typed)
            if isEqual, step > last ?? -1 { accepted = step }
        }
        return accepted
    }

    /// Returns the address of this secret for an authenticator app, for a QR code: `otpauth://totp/…`. Names that are
    /// too long are cut.
    public func address(issuer: String, account: String) -> String {
        let (issuer, account) = (Self.escaped(issuer), Self.escaped(account))
        return
            "otpauth://totp/\(issuer):\(account)?secret=\(self.secret.withBytes { Base32.encode($0) })&issuer=\(issuer)"
            + "&algorithm=\(self.algorithm.rawValue)&digits=\(self.digits)&period=\(self.periodSeconds)"
    }

    /// The secret for typing, if a person cannot scan: Base32 in groups of four.
    public var typedSecret: String {
        let letters = Array(self.secret.withBytes { Base32.encode($0) }.utf8)
        return stride(from: 0, to: letters.count, by: 4)
            .map { String(decoding: letters[$0..<min($0 + 4, letters.count)], as: UTF8.self) }.joined(separator: " ")
    }

    private func step(at moment: Timestamp) -> Int64? {
        moment.milliseconds < 0 ? nil : moment.seconds / self.periodSeconds
    }

    /// Returns the code of a step by RFC 4226, section 5.3, with the step as the counter.
    private func code(ofStep step: Int64) -> [UInt8] {
        let counter = (0..<8).map { UInt8(truncatingIfNeeded: step >> (56 - 8 * $0)) }
        let hash = self.secret.withBytes { secret in
            let key = SymmetricKey(data: secret)
            return switch self.algorithm {
            case .sha1: Array(HMAC<Insecure.SHA1>.authenticationCode(for: counter, using: key))
            case .sha256: Array(HMAC<SHA256>.authenticationCode(for: counter, using: key))
            case .sha512: Array(HMAC<SHA512>.authenticationCode(for: counter, using: key))
            }
        }
        let offset = Int(hash[hash.count - 1] & 0x0F)
        var number = hash[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        var code = [UInt8](repeating: 0, count: self.digits)
        for index in code.indices.reversed() {
            code[index] = UInt8(ascii: "0") + UInt8(number % 10)
            number /= 10
        }
        return code
    }

    /// Returns a name in percent-encoding: all characters but the unreserved characters of RFC 3986, section 2.3, are
    /// encoded.
    private static func escaped(_ name: String) -> String {
        var text = ""
        for scalar in name.unicodeScalars {
            var bytes = ""
            for byte in String(scalar).utf8 {
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "~"):
                    bytes.unicodeScalars.append(Unicode.Scalar(byte))
                default: bytes += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
                }
            }
            guard text.utf8.count + bytes.utf8.count <= PasswordLimits.Fixed.totpLabelBytes else { break }
            text += bytes
        }
        return text
    }

    /// The kind of code, never the secret.
    public var description: String {
        "TOTP(\(self.algorithm.rawValue), \(self.digits) digits, \(self.periodSeconds) s)"
    }
    /// A mirror without children, so that `dump` shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Base32 (RFC 4648, section 6) without padding, the form of a secret for authenticator apps.
enum Base32 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    static func encode(_ bytes: UnsafeRawBufferPointer) -> String {
        var letters: [UInt8] = []
        var (buffer, bits): (UInt32, UInt32) = (0, 0)
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= 5 {
                bits -= 5
                letters.append(Self.alphabet[Int(buffer >> bits & 0x1F)])
            }
        }
        if bits > 0 { letters.append(Self.alphabet[Int(buffer << (5 - bits) & 0x1F)]) }
        return String(decoding: letters, as: UTF8.self)
    }
}
