import Passwords
import Testing
import _Primitives

@Suite("RFC 6238, RFC 4226: codes of an authenticator app")
struct TOTPTests {
    private static let secret = Array("12345678901234567890".utf8)

    /// The secrets of RFC 6238, appendix B: the digits one to nine and zero, as many as the hash is long.
    private func totp(_ algorithm: TOTP.Algorithm, digits: Int = 8) throws -> TOTP {
        let count = [TOTP.Algorithm.sha1: 20, .sha256: 32, .sha512: 64][algorithm]!
        let secret = (0..<count).map { UInt8(ascii: "0") + UInt8(($0 + 1) % 10) }
        return try #require(TOTP(secret: secret, algorithm: algorithm, digits: digits, periodSeconds: 30))
    }

    @Test(
        "The codes of RFC 6238, appendix B",
        arguments: [
            (59, "94287082", "46119246", "90693936"), (1_111_111_109, "07081804", "68084774", "25091201"),
            (1_111_111_111, "14050471", "67062674", "99943326"), (1_234_567_890, "89005924", "91819424", "93441116"),
            (2_000_000_000, "69279037", "90698825", "38618901"), (20_000_000_000, "65353130", "77737706", "47863826"),
        ] as [(Int64, String, String, String)])
    func vectors(seconds: Int64, sha1: String, sha256: String, sha512: String) throws {
        let moment = Timestamp(seconds: seconds)
        for (algorithm, code) in [(TOTP.Algorithm.sha1, sha1), (.sha256, sha256), (.sha512, sha512)] {
            let totp = try self.totp(algorithm)
            #expect(totp.code(at: moment) == code)
            #expect(totp.acceptedStep(of: code, at: moment, after: nil) == seconds / 30)
        }
    }

    @Test("The codes of RFC 4226, appendix D, by the step")
    func counters() throws {
        let totp = try self.totp(.sha1, digits: 6)
        let codes = [
            "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489",
        ]
        for (step, code) in codes.enumerated() { #expect(totp.code(at: Timestamp(seconds: Int64(step) * 30)) == code) }
    }

    @Test("A code is taken in its step and in those beside it, and in no other")
    func window() throws {
        let totp = try self.totp(.sha1)
        let moment = Timestamp(seconds: 1_111_111_111)
        let present: Int64 = 1_111_111_111 / 30
        for offset in Int64(-3)...3 {
            let code = try #require(totp.code(at: Timestamp(seconds: (present + offset) * 30)))
            #expect(totp.acceptedStep(of: code, at: moment, after: nil) == (abs(offset) <= 1 ? present + offset : nil))
        }
        var limits = PasswordLimits()
        limits.totpWindow = 0
        let before = try #require(totp.code(at: Timestamp(seconds: (present - 1) * 30)))
        #expect(totp.acceptedStep(of: before, at: moment, after: nil, limits: limits) == nil)
        // The edges of a step, and of time.
        #expect(totp.code(at: Timestamp(milliseconds: 59_999)) == totp.code(at: Timestamp(seconds: 30)))
        #expect(totp.code(at: Timestamp(seconds: 60)) != totp.code(at: Timestamp(seconds: 30)))
        let first = try #require(totp.code(at: Timestamp(seconds: 0)))
        #expect(totp.acceptedStep(of: first, at: Timestamp(seconds: 0), after: nil) == 0)
        #expect(totp.code(at: Timestamp(milliseconds: -1)) == nil)
        #expect(totp.acceptedStep(of: first, at: Timestamp(milliseconds: -1), after: nil) == nil)
        #expect(totp.code(at: Timestamp(milliseconds: .max)) != nil)
    }

    @Test("No code is taken twice, nor one from before it")
    func reuse() throws {
        let totp = try self.totp(.sha1)
        let moment = Timestamp(seconds: 3000)
        let code = try #require(totp.code(at: moment))
        let before = try #require(totp.code(at: Timestamp(seconds: 2970)))
        let next = try #require(totp.code(at: Timestamp(seconds: 3030)))
        let step = try #require(totp.acceptedStep(of: code, at: moment, after: nil))
        #expect(totp.acceptedStep(of: code, at: moment, after: step) == nil)
        #expect(totp.acceptedStep(of: before, at: moment, after: step) == nil)
        #expect(totp.acceptedStep(of: next, at: moment, after: step) == step + 1)
        #expect(totp.acceptedStep(of: code, at: moment, after: step - 1) == step)
    }

    @Test("Spaces do not matter; any other change does")
    func typed() throws {
        let totp = try self.totp(.sha1)
        let moment = Timestamp(seconds: 59)
        for text in ["94287082", " 9428 7082 ", "942 870 82"] {
            #expect(totp.acceptedStep(of: text, at: moment, after: nil) == 1)
        }
        for text in [
            "", "9428708", "094287082", "942870820", "94287083", "94287082x", "94287082\n", "９4287082",
            "94287082\u{301}",
            "94287082" + String(repeating: " ", count: 60), String(repeating: " ", count: 100_000) + "94287082",
        ] {
            #expect(totp.acceptedStep(of: text, at: moment, after: nil) == nil)
        }
    }

    @Test("A new secret has 160 bits and another each time, and its address says how to use it")
    func address() throws {
        let totp = TOTP(random: .system)
        #expect(totp.secret.count == 20)
        #expect(TOTP(random: .system).secret != totp.secret)
        #expect((totp.algorithm, totp.digits, totp.periodSeconds) == (.sha1, 6, 30))
        let known = try #require(TOTP(secret: Self.secret, algorithm: .sha1, digits: 6, periodSeconds: 30))
        #expect(
            known.address(issuer: "Bank & Söhne", account: "zoë@bank.example:x")
                == "otpauth://totp/Bank%20%26%20S%C3%B6hne:zo%C3%AB%40bank.example%3Ax"
                + "?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Bank%20%26%20S%C3%B6hne"
                + "&algorithm=SHA1&digits=6&period=30")
        #expect(known.typedSecret == "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ")
        let cut = known.address(issuer: "b", account: String(repeating: "é", count: 1000))
        #expect(cut.utf8.count < 300)
        #expect(cut.contains("%C3%A9?secret="))
    }

    @Test("A secret that does not fill its last letter")
    func base32() throws {
        // RFC 4648, section 10, behind ten bytes that fill theirs.
        for (tail, letters) in [
            ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB"),
        ] {
            let secret = Array("1234567890".utf8) + Array(tail.utf8)
            let totp = try #require(TOTP(secret: secret, algorithm: .sha1, digits: 6, periodSeconds: 30))
            #expect(totp.address(issuer: "b", account: "a").contains("?secret=GEZDGNBVGY3TQOJQ\(letters)&"))
        }
    }

    @Test("Secrets, digits and periods that make no codes are refused")
    func impossible() {
        let secret = Self.secret
        #expect(TOTP(secret: Array(secret.prefix(9)), algorithm: .sha1, digits: 6, periodSeconds: 30) == nil)
        #expect(TOTP(secret: [UInt8](repeating: 1, count: 129), algorithm: .sha1, digits: 6, periodSeconds: 30) == nil)
        #expect(TOTP(secret: secret, algorithm: .sha1, digits: 5, periodSeconds: 30) == nil)
        #expect(TOTP(secret: secret, algorithm: .sha1, digits: 9, periodSeconds: 30) == nil)
        #expect(TOTP(secret: secret, algorithm: .sha1, digits: 6, periodSeconds: 0) == nil)
    }

    @Test("Nothing that prints it shows the secret")
    func showsNothing() throws {
        let totp = try self.totp(.sha1)
        var dumped = ""
        dump(totp, to: &dumped)
        for text in ["\(totp)", String(reflecting: totp), dumped] {
            #expect(!text.contains("GEZD") && !text.contains("1234"))
        }
    }
}
