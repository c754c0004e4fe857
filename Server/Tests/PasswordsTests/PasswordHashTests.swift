import Foundation
import Passwords
import Testing
import _Primitives

/// A password and its hash by another implementation.
struct HashVector: Sendable, CustomTestStringConvertible {
    let password: String
    let text: String
    var testDescription: String { String(self.text.prefix(40)) }

    init(_ password: String, _ text: String) {
        self.password = password
        self.text = text
    }

    static let argon2id = [
        // The known answers of Argon2's reference implementation (phc-winner-argon2, src/test.c).
        HashVector(
            "password", "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"),
        HashVector("password", "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"),
        HashVector("password", "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc"),
        HashVector(
            "password", "$argon2id$v=19$m=65536,t=1,p=1$c29tZXNhbHQ$9qWtwbpyPd3vm1rB1GThgPzZ3/ydHL92zKL+15XZypg"),
        HashVector(
            "password", "$argon2id$v=19$m=65536,t=4,p=1$c29tZXNhbHQ$kCXUjmjvc5XMqQedpMTsOv+zyJEf5PhtGiUghW9jFyw"),
        HashVector(
            "differentpassword",
            "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$C4TWUs9rDEvq7w3+J4umqA32aWKB1+DSiRuBfYxFj94"),
        HashVector(
            "password", "$argon2id$v=19$m=65536,t=2,p=1$ZGlmZnNhbHQ$vfMrBczELrFdWP0ZsfhWsRPaHppYdP3MVEMIVlqoFBw"),
        // argon2-cffi 25.1.0 for Python: its defaults, four lanes with letters beyond ASCII, eight lanes and a short
        // tag.
        HashVector(
            "pleaseletmein",
            "$argon2id$v=19$m=65536,t=3,p=4$c2l4dGVlbiBieXRlcyBvaw$Xjb42ZyCNLOxjIzPl5K/LnZJaDKhKKF23Yq8XOhavpA"),
        HashVector(
            "Füße im Gras ♦",
            "$argon2id$v=19$m=65536,t=3,p=4$AAECAwQFBgcICQoLDA0ODw$/k+p8VXdirYp7ZHobwV5F1a7nmJxkkElWoOZ2aHQz40"),
        HashVector(
            "correct horse battery staple",
            "$argon2id$v=19$m=102400,t=2,p=8$AAECAwQFBgcICQoLDA0ODw$d/VOqhZTKwCM/uQ6epxznw"),
        // passlib 1.7.4 for Python.
        HashVector(
            "pleaseletmein",
            "$argon2id$v=19$m=8192,t=2,p=2$cGFzc2xpYi1zYWx0LTAwMQ$s9xhFIgDV37NdcV9S8ClUyYgIXz1QjyrDQXNN01LrS4"),
    ]

    static let argon2i = [
        // The reference implementation's, of both versions.
        HashVector("password", "$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$iekCn0Y3spW+sCcFanM2xBT63UP2sghkUoHLIUpWRS8"),
        HashVector("password", "$argon2i$v=19$m=256,t=2,p=2$c29tZXNhbHQ$T/XOJ2mh1/TIpJHfCdQan76Q5esCFVoT5MAeIM1Oq2E"),
        HashVector("password", "$argon2i$v=16$m=256,t=2,p=1$c29tZXNhbHQ$/U3YPXYsSb3q9XxHvc0MLxur+GP960kN9j7emXX8zwY"),
        HashVector("password", "$argon2i$m=256,t=2,p=1$c29tZXNhbHQ$/U3YPXYsSb3q9XxHvc0MLxur+GP960kN9j7emXX8zwY"),
    ]

    static let bcrypt = [
        // crypt_blowfish 1.3 (wrapper.c) and the PHP manual's example of `crypt`.
        HashVector("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
        HashVector("rasmuslerdorf", "$2a$07$usesomesillystringfore2uDLvp1Ii2e./U9C8sBjqp8I90dH6hi"),
        // bcrypt 5.0.0 for Python.
        HashVector("pleaseletmein", "$2b$05$abcdefghijklmnopqrstuu2EjsH9/6E2HK9wvYowfGqPX5wGi4UDS"),
        HashVector("pleaseletmein", "$2y$05$abcdefghijklmnopqrstuu2EjsH9/6E2HK9wvYowfGqPX5wGi4UDS"),
        HashVector("Füße im Gras ♦", "$2b$05$abcdefghijklmnopqrstuuNuTNwPR/RQ5i6ZInd/4ojVwi8URBIBC"),
        HashVector("Füße im Gras ♦", "$2a$05$abcdefghijklmnopqrstuuNuTNwPR/RQ5i6ZInd/4ojVwi8URBIBC"),
        HashVector(
            String(repeating: "x", count: 72), "$2b$05$abcdefghijklmnopqrstuujf8SX2ahXLwp9w/B.Y5XdysS6yR576q"),
    ]
}

extension PasswordLimits {
    /// As they are, but for threads that give way to whatever else a machine does that runs tests.
    static var forTests: PasswordLimits {
        var limits = PasswordLimits()
        limits.niceness = 0
        return limits
    }
}

@Suite("RFC 9106, decision 27: a stored hash is read strictly, and only as far as its cost is bounded")
struct PasswordHashTests {
    private func error(_ text: String, limits: PasswordLimits = PasswordLimits()) -> PasswordHashError.Code? {
        do throws(PasswordHashError) {
            _ = try PasswordHash(parsing: text, limits: limits)
            return nil
        } catch { return error.code }
    }

    @Test("Other implementations' hashes verify, and with another password do not", arguments: HashVector.argon2id)
    func argon2id(vector: HashVector) async throws { try await self.verify(vector) }

    @Test("So do those of Argon2i", arguments: HashVector.argon2i)
    func argon2i(vector: HashVector) async throws { try await self.verify(vector) }

    @Test("So do those of bcrypt", arguments: HashVector.bcrypt)
    func bcrypt(vector: HashVector) async throws { try await self.verify(vector) }

    private func verify(_ vector: HashVector) async throws {
        let pool = try HashingPool(limits: .forTests, random: .system)
        let hash = try PasswordHash(parsing: vector.text)
        #expect(hash.text == vector.text)
        #expect(hash.needsUpgrade(to: PasswordLimits().hashing))
        let right = try Password(typed: vector.password)
        let isUpgraded = !vector.text.hasPrefix("$2") || vector.password.utf8.count < 72
        #expect(try await pool.verify(right, against: hash) == .right(needsUpgrade: isUpgraded))
        let wrong = try Password(typed: "~" + vector.password.dropFirst())
        #expect(try await pool.verify(wrong, against: hash) == .wrong)
    }

    @Test("bcrypt sees 72 bytes, and what is behind them changes nothing")
    func bcryptIsCut() async throws {
        let pool = try HashingPool(limits: .forTests, random: .system)
        let hash = try PasswordHash(parsing: try #require(HashVector.bcrypt.last).text)
        let longer = try Password(typed: String(repeating: "x", count: 72) + "and more")
        // What was typed behind them may be wrong: it does not become the password.
        #expect(try await pool.verify(longer, against: hash) == .right(needsUpgrade: false))
        let whole = try Password(typed: String(repeating: "x", count: 72))
        // The 72 bytes may be the beginning of a longer password, which they do not become.
        #expect(try await pool.verify(whole, against: hash) == .right(needsUpgrade: false))
        let shorter = try Password(typed: String(repeating: "x", count: 71))
        #expect(try await pool.verify(shorter, against: hash) == .wrong)
    }

    @Test("A single changed bit of the stored tag is another password's")
    func everyByteCounts() async throws {
        let pool = try HashingPool(limits: .forTests, random: .system)
        let password = try Password(typed: "password")
        let text = HashVector.argon2id[1].text
        for index in [0, 20, 42] {
            var letters = Array(text.utf8)
            let place = letters.count - 43 + index
            // The last letter holds four bits alone.
            letters[place] = letters[place] == UInt8(ascii: "A") ? UInt8(ascii: "E") : UInt8(ascii: "A")
            let other = try PasswordHash(parsing: String(decoding: letters, as: UTF8.self))
            #expect(try await pool.verify(password, against: other) == .wrong)
        }
    }

    private static let salt = "c29tZXNhbHQ"
    private static let tag = "nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"

    @Test(
        "What is not in the form of a hash is refused",
        arguments: [
            "", "$", "password", "{SSHA}c29tZXNhbHQ", "argon2id$v=19$m=256,t=2,p=1$\(salt)$\(tag)",
            " $argon2id$v=19$m=256,t=2,p=1$\(salt)$\(tag)", "$argon2id$v=19$m=256,t=2,p=1$\(salt)$\(tag)\n",
            "$argon2id$v=19$m=256,t=2,p=1$\(salt)$\(tag)$", "$argon2id$v=19$m=256,t=2,p=1$\(salt)",
            "$argon2id$v=19$m=256,t=2,p=1$$\(tag)", "$argon2id$v=19$m=256,t=2,p=1$\(salt)$",
            "$argon2id$v=19$m=0256,t=2,p=1$\(salt)$\(tag)", "$argon2id$v=19$m=+256,t=2,p=1$\(salt)$\(tag)",
            "$argon2id$v=19$m=256,p=1,t=2$\(salt)$\(tag)", "$argon2id$v=19$m=256,t=2$\(salt)$\(tag)",
            "$argon2id$v=19$m=256,t=2,p=1,$\(salt)$\(tag)", "$argon2id$v=19$m=256,t=2,p=1,keyid=AA$\(salt)$\(tag)",
            "$argon2id$v=19$m=256,t=0,p=1$\(salt)$\(tag)", "$argon2id$v=19$m=256,t=2,p=0$\(salt)$\(tag)",
            "$argon2id$v=19$m=15,t=2,p=2$\(salt)$\(tag)", "$argon2id$v=19$m=7,t=2,p=1$\(salt)$\(tag)",
            "$argon2id$v=19$m=,t=2,p=1$\(salt)$\(tag)", "$argon2id$v=19$m=25６,t=2,p=1$\(salt)$\(tag)",
            "$argon2id$v=19$m=99999999999,t=2,p=1$\(salt)$\(tag)", "$argon2id$v=19$m=256,t=2,p=1$\(salt)=$\(tag)",
            "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbH$\(tag)", "$argon2id$v=19$m=256,t=2,p=1$\(salt)$\(tag.dropLast())5",
            "$argon2id$v=19$m=256,t=2,p=1$\(salt)$nf65EOgLrQMR_uIPnA4rEsF5h7TKyQwu9U1bMCHGi-4",
            "$argon2id$v=19$m=256,t=2,p=1$\(salt)$nf65EOgLrQMR/uIPnA4r", "$argon2id$v=19$m=256,t=2,p=1$c29tZQ$\(tag)",
            "$argon2id$v=19$v=19$m=256,t=2,p=1$\(salt)$\(tag)",
            "$argon2id$v=19$m=256,t=2,p=1$\(salt)$\(String(repeating: "A", count: 88))",
            "$argon2id$v=19$m=256,t=2,p=1$\(String(repeating: "A", count: 600))$\(tag)",
            "$2b$5$abcdefghijklmnopqrstuu2EjsH9/6E2HK9wvYowfGqPX5wGi4UDS",
            "$2b$+5$abcdefghijklmnopqrstuu2EjsH9/6E2HK9wvYowfGqPX5wGi4UDS",
            "$2b$03$abcdefghijklmnopqrstuu2EjsH9/6E2HK9wvYowfGqPX5wGi4UDS",
            "$2b$32$abcdefghijklmnopqrstuu2EjsH9/6E2HK9wvYowfGqPX5wGi4UDS",
            "$2b$05$abcdefghijklmnopqrstuu2EjsH9/6E2HK9wvYowfGqPX5wGi4UD",
            "$2b$05$abcdefghijklmnopqrstuu2EjsH9/6E2HK9wvYowfGqPX5wGi4UDSS",
            "$2b$05$abcdefghijklmnopqrstuv2EjsH9/6E2HK9wvYowfGqPX5wGi4UDS",
            "$2b$05$abcdefghijklmnopqrstuu2EjsH9/6E2HK9wvYowfGqPX5wGi4UDT",
            "$2b$05$abcdefghijklmnopqrstuu2EjsH9+6E2HK9wvYowfGqPX5wGi4UDS",
            "$2b$05$abcdefghijklmnopqrstuu2EjsH9/6E2HK9wvYowfGqPX5wGi4UDS$",
        ])
    func malformed(text: String) {
        #expect(self.error(text) == .malformed)
    }

    @Test(
        "Schemes that are not verified here are refused by name",
        arguments: [
            "$$$", "$argon2d$v=19$m=256,t=2,p=1$\(salt)$\(tag)", "$argon2id$v=18$m=256,t=2,p=1$\(salt)$\(tag)",
            "$argon2id$v=019$m=256,t=2,p=1$\(salt)$\(tag)",
            "$2x$05$abcdefghijklmnopqrstuu2EjsH9/6E2HK9wvYowfGqPX5wGi4UDS",
            "$2$05$abcdefghijklmnopqrstuu2EjsH9/6E2HK9wvYowfGqPX5wGi4UDS", "$5$rounds=5000$salt$hash", "$1$salt$hash",
            "$ARGON2ID$v=19$m=256,t=2,p=1$\(salt)$\(tag)", "$pbkdf2-md5$29000$c2FsdA$aGFzaA",
        ])
    func unknown(text: String) {
        #expect(self.error(text) == .unknownScheme)
    }

    @Test(
        "What costs more than the limits is refused before any work",
        arguments: [
            "$argon2id$v=19$m=4194304,t=2,p=1$\(salt)$\(tag)",
            "$argon2id$v=19$m=4294967295,t=4294967295,p=1$\(salt)$\(tag)",
            "$argon2id$v=19$m=131073,t=1,p=1$\(salt)$\(tag)", "$argon2i$v=19$m=131072,t=5,p=1$\(salt)$\(tag)",
            "$argon2id$v=19$m=8,t=65537,p=1$\(salt)$\(tag)", "$argon2id$v=19$m=256,t=1,p=17$\(salt)$\(tag)",
            "$2b$15$abcdefghijklmnopqrstuu2EjsH9/6E2HK9wvYowfGqPX5wGi4UDS",
            "$2b$31$abcdefghijklmnopqrstuu2EjsH9/6E2HK9wvYowfGqPX5wGi4UDS",
        ])
    func tooCostly(text: String) {
        #expect(self.error(text) == .tooCostly)
    }

    @Test("The limits are what they say, and what is made now can always be read")
    func limitsHold() throws {
        for (text, limit) in [
            ("$argon2id$v=19$m=131072,t=4,p=16$\(Self.salt)$\(Self.tag)", PasswordLimits()),
            ("$argon2id$v=19$m=8,t=65536,p=1$\(Self.salt)$\(Self.tag)", PasswordLimits()),
            ("$2b$14$abcdefghijklmnopqrstuu2EjsH9/6E2HK9wvYowfGqPX5wGi4UDS", PasswordLimits()),
        ] { #expect(self.error(text, limits: limit) == nil) }
        var limits = PasswordLimits()
        limits.hashing = Argon2Parameters(memoryKiB: 1024 * 1024, passes: 3, lanes: 32)
        #expect(self.error("$argon2id$v=19$m=1048576,t=3,p=32$\(Self.salt)$\(Self.tag)", limits: limits) == nil)
        #expect(self.error("$argon2id$v=19$m=1048576,t=2,p=32$\(Self.salt)$\(Self.tag)", limits: limits) == .tooCostly)
    }

    @Test("Whatever differs from what is made now is to be hashed anew")
    func upgrades() throws {
        let (salt, tag) = ("AAECAwQFBgcICQoLDA0ODw", Self.tag)
        let present = Argon2Parameters(memoryKiB: 256, passes: 2, lanes: 1)
        func needsUpgrade(_ text: String) throws -> Bool { try PasswordHash(parsing: text).needsUpgrade(to: present) }
        #expect(try !needsUpgrade("$argon2id$v=19$m=256,t=2,p=1$\(salt)$\(tag)"))
        for text in [
            "$argon2id$v=19$m=255,t=2,p=1$\(salt)$\(tag)", "$argon2id$v=19$m=256,t=3,p=1$\(salt)$\(tag)",
            "$argon2id$v=19$m=256,t=2,p=2$\(salt)$\(tag)", "$argon2i$v=19$m=256,t=2,p=1$\(salt)$\(tag)",
            "$argon2id$v=16$m=256,t=2,p=1$\(salt)$\(tag)", "$argon2id$v=19$m=256,t=2,p=1$\(Self.salt)$\(tag)",
            "$argon2id$v=19$m=256,t=2,p=1$\(salt)$AAECAwQFBgcICQoLDA0ODw",
            "$2b$05$abcdefghijklmnopqrstuu2EjsH9/6E2HK9wvYowfGqPX5wGi4UDS",
        ] { #expect(try needsUpgrade(text), "\(text)") }
    }

    @Test("Nothing that prints a hash shows it")
    func showsNothing() throws {
        let vectors = try #require(HashVector.argon2id.first)
        let hash = try PasswordHash(parsing: vectors.text)
        var dumped = ""
        dump(hash, to: &dumped)
        for text in ["\(hash)", String(reflecting: hash), dumped] {
            #expect(!text.contains("CTFhFdXPJO") && !text.contains("c29tZXNhbHQ"), "\(text)")
        }
    }

    @Test("A hash with any change is refused, or is one in its one spelling")
    func neverReadsTwoSpellings() {
        var random = SystemRandomNumberGenerator()
        let vectors = HashVector.argon2id + HashVector.argon2i + HashVector.bcrypt
        let inserts = ["$", ",", "=", "0", "1", "9", "A", "/", "-", " ", "\u{301}", "v=19", "m=8", "$2b$", ""]
        var taken = 0
        // `make soak` draws more.
        let draws = ProcessInfo.processInfo.environment["COUNTERSIGN_LONG_DRAWS"] == nil ? 5_000 : 20_000
        for _ in 0..<draws {
            var bytes = Array(vectors.randomElement(using: &random)!.text.utf8)
            let start = Int.random(in: 0..<bytes.count, using: &random)
            let end = min(bytes.count, start + Int.random(in: 0...2, using: &random))
            bytes.replaceSubrange(start..<end, with: inserts.randomElement(using: &random)!.utf8)
            let text = String(decoding: bytes, as: UTF8.self)
            guard let hash = try? PasswordHash(parsing: text) else { continue }
            taken += 1
            switch hash.scheme {
            case .argon2id(let cost), .argon2i(let cost):
                let limits = PasswordLimits()
                if cost.memoryKiB > limits.storedMemoryKiB || cost.memoryKiB * cost.passes > limits.storedWorkKiB
                    || !text.hasBytes(atStart: "$argon2i")
                    || !text.contains("$m=\(cost.memoryKiB),t=\(cost.passes),p=\(cost.lanes)$")
                {
                    Issue.record("\(text)")
                }
            case .bcrypt(let cost): if cost > 14 || text.utf8.count != 60 { Issue.record("\(text)") }
            case .pbkdf2, .scrypt, .sha512Crypt: Issue.record("\(text)")
            }
        }
        #expect(taken > 50)
    }
}
