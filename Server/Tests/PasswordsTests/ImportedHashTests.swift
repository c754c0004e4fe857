import Foundation
import Passwords
import Testing
import _Primitives

extension HashVector {
    fileprivate static let pbkdf2 = [
        // RFC 7914, section 11, and RFC 6070, section 2, in the spelling of PHC strings.
        HashVector(
            "Password",
            "$pbkdf2-sha256$i=80000,l=64$TmFDbA$TdzY9guYviGDDO5e8icB+WQaRBjQTAQUrv8Ih2s0q1ah1CWhIlgzVJrbhBtRybMXaicr3ruh0HhHj2Kzl/M8jQ"
        ),
        HashVector(
            "passwordPASSWORDpassword",
            "$pbkdf2-sha1$i=4096,l=25$c2FsdFNBTFRzYWx0U0FMVHNhbHRTQUxUc2FsdFNBTFRzYWx0$PS7sT+QchJuAyNg2YsDkSospGpZM8vBwOA"
        ),
        // passlib's and Django's spellings, computed by OpenSSL.
        HashVector(
            "correct horse",
            "$pbkdf2-sha256$29000$AAECAwQFBgcICQoLDA0ODw$ZvLORN3Wu1.2s6Mb0kBKZ43bylSsC/t0Vz5rE9nJPNg"),
        HashVector(
            "Füße im Gras ♦",
            "$pbkdf2-sha512$25000$ZGVmZ2hpamtsbW5vcHFycw$jSh9de.WddPvGbpcKRULTSBrJhey0ncrCYfs/A6wq5e0Yf7TVVkYVqrohTdLckckD5Iind6r3Za3aYWdw.2AEQ"
        ),
        HashVector("pleaseletmein", "$pbkdf2$131000$BwgJCgsMDQ4PEBESExQVFg$oS8MbqzGq0d/WAyHCtd.8QWDD0w"),
        HashVector("lètmein", "pbkdf2_sha256$1000$seasalt2$ABPNVLVV1vRC5OnBCpgwRvsTOJaXds28OSzNig3GR2M="),
        HashVector("lètmein", "pbkdf2_sha1$1000$seasalt2$4O6tM3Kd5cOD3UmnpGuCKdAiHa8="),
    ]

    fileprivate static let scrypt = [
        // RFC 7914, section 12.
        HashVector(
            "pleaseletmein",
            "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofLVQylVYT8Pz2LUlwUkKpr55h6F3A1lHkDfzwF7RVdYhw"
        ),
        HashVector(
            "password",
            "$scrypt$ln=10,r=8,p=16$TmFDbA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWIurzDZLiKjiG/xCSedmDDaxyevuUqD7m2DYMvfoswGQA"
        ),
        // OpenSSL.
        HashVector(
            "Füße im Gras ♦", "$scrypt$ln=15,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$Ch4LHo9aKRku7UnZ7tDoWKMEtZphUjewOziHhAAF3Ho"
        ),
    ]

    fileprivate static let sha512Crypt = [
        // The specification's own (U. Drepper, Unix crypt using SHA-256 and SHA-512, the tests of the reference).
        HashVector(
            "Hello world!",
            "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1"),
        HashVector(
            "Hello world!",
            "$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v."
        ),
        // glibc's successor, libxcrypt.
        HashVector(
            "Füße im Gras ♦",
            "$6$rounds=1000$ab.cd/efGHIJ0129$QVEqjSgTs7KXvx1nIMlKVKxaDzSihMvfRaKWFq648kouER8CE/oM.Tx37MHrbkGc5rP20Wv9Xi02Qqz3RMqvk."
        ),
        HashVector(
            String(repeating: "x", count: 128),
            "$6$rounds=1000$abcdefgh$3HmHyvRKQW7I47i5SDwf.ZR7xXot//gWNoFrFS2Ms0B1JsnucoQQRc.VYji5EpoYDVUg0k./2JRH1WIE8ymaG/"
        ),
    ]
}

@Suite("Decision 27: hashes of PBKDF2, scrypt and sha512-crypt, which other systems left")
struct ImportedHashTests {
    private func error(_ text: String, limits: PasswordLimits = PasswordLimits()) -> PasswordHashError.Code? {
        do throws(PasswordHashError) {
            _ = try PasswordHash(parsing: text, limits: limits)
            return nil
        } catch { return error.code }
    }

    @Test(
        "The right password verifies and is to be hashed anew, and another password does not",
        arguments: HashVector.pbkdf2 + HashVector.scrypt + HashVector.sha512Crypt)
    func verify(vector: HashVector) async throws {
        let pool = try HashingPool(limits: .forTests, random: .system)
        let hash = try PasswordHash(parsing: vector.text)
        #expect(hash.text == vector.text)
        let right = try Password(typed: vector.password)
        #expect(try await pool.verify(right, against: hash) == .right(needsUpgrade: true))
        for text in ["~" + vector.password.dropFirst(), vector.password + "x"] {
            #expect(try await pool.verify(try Password(typed: text), against: hash) == .wrong)
        }
        #expect(try await pool.verify(nil, against: hash) == .wrong)
    }

    @Test("A password of more than 128 bytes is never the one of a hash by sha512-crypt, and nothing fails")
    func longPasswords() async throws {
        let pool = try HashingPool(limits: .forTests, random: .system)
        // The first is the hash of 128 letters, of which the longer passwords begin; the second is that of 129 letters.
        let texts = [
            try #require(HashVector.sha512Crypt.last).text,
            "$6$rounds=1000$abcdefgh$.Bw/0SL9q/vcUNOtvvXK821KnFtRucXoJTXkSqZW5JMOXDbTn1rwqUsF.n7Gcam2re63P1U2hQfWu7WOCq2BR/",
        ]
        for text in texts {
            for password in ["x", "é", "♦", "𝄞"].map({ String(repeating: $0, count: 256) })
                + [String(repeating: "x", count: 129)]
            {
                let hash = try PasswordHash(parsing: text)
                #expect(try await pool.verify(try Password(typed: password), against: hash) == .wrong)
            }
        }
    }

    private static let key = "ABPNVLVV1vRC5OnBCpgwRvsTOJaXds28OSzNig3GR2M"
    private static let crypt =
        "svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1"

    @Test(
        "Another spelling of a hash is refused",
        arguments: [
            "$pbkdf2-sha256$", "$pbkdf2-sha256$29000", "$pbkdf2-sha256$29000$c2FsdA", "$pbkdf2-sha256$0$c2FsdA$\(key)",
            "$pbkdf2-sha256$029000$c2FsdA$\(key)", "$pbkdf2-sha256$+1$c2FsdA$\(key)", "$pbkdf2-sha256$1$c2FsdA$\(key)=",
            "$pbkdf2-sha256$1$c2FsdA=$\(key)", "$pbkdf2-sha256$1$$\(key)", "$pbkdf2-sha256$1$c2FsdA$aGFzaA",
            "$pbkdf2-sha256$1$c2+sdA$\(key)", "$pbkdf2-sha256$1$c2FsdB$\(key)", "$pbkdf2-sha256$1$c2FsdA$\(key)$",
            "$pbkdf2-sha256$i=1$c2FsdA$\(key)", "$pbkdf2-sha256$i=1,l=31$c2FsdA$\(key)",
            "$pbkdf2-sha256$l=32,i=1$c2FsdA$\(key)", "$pbkdf2-sha256$i=1,l=32,v=1$c2FsdA$\(key)",
            "$pbkdf2-sha256$i=0,l=32$c2FsdA$\(key)", "$pbkdf2-sha256$i=1,l=32$c2.sdA$\(key)",
            "$pbkdf2-sha1$29000$c2FsdA$\(key)", "pbkdf2_sha256", "pbkdf2_sha256$1$salt", "pbkdf2_sha256$1$salt$\(key)",
            "pbkdf2_sha256$1$salt$\(key)==", "pbkdf2_sha256$1$$\(key)=", "pbkdf2_sha256$1$s lt$\(key)=",
            "pbkdf2_sha256$1$sält$\(key)=", "pbkdf2_sha256$01$salt$\(key)=", "$scrypt$ln=14,r=8,p=1$c2FsdA",
            "$scrypt$r=8,ln=14,p=1$c2FsdA$\(key)", "$scrypt$ln=14,r=8$c2FsdA$\(key)",
            "$scrypt$ln=0,r=8,p=1$c2FsdA$\(key)", "$scrypt$ln=14,r=0,p=1$c2FsdA$\(key)",
            "$scrypt$ln=14,r=8,p=0$c2FsdA$\(key)", "$scrypt$ln=16,r=1,p=1$c2FsdA$\(key)",
            "$scrypt$ln=14,r=8,p=1$$\(key)", "$scrypt$ln=14,r=8,p=1$c2FsdA$aGFzaA", "$6$", "$6$saltstring",
            "$6$saltstring$short", "$6$$\(crypt)", "$6$rounds=999$saltstring$\(crypt)",
            "$6$rounds=1000000000$saltstring$\(crypt)", "$6$rounds=05000$saltstring$\(crypt)",
            "$6$rounds=$saltstring$\(crypt)", "$6$saltstringsaltstr$\(crypt)", "$6$salt:tring$\(crypt)",
            "$6$saltstring$\(crypt.dropLast())2", "$6$saltstring$\(crypt)1", "$6$saltstring$\(crypt)$",
            "$6$rounds=5000$rounds=5000$saltstring$\(crypt)",
        ])
    func malformed(text: String) {
        #expect(self.error(text) == .malformed)
    }

    @Test(
        "What costs more than the limits is refused before any work",
        arguments: [
            "$pbkdf2-sha256$2000001$c2FsdA$\(key)", "$pbkdf2-sha256$9999999999$c2FsdA$\(key)",
            "$pbkdf2-sha512$1000001$c2FsdA$\(key)", "$pbkdf2-sha1$i=1000001,l=32$c2FsdA$\(key)",
            "pbkdf2_sha256$2000001$salt$\(key)=", "$scrypt$ln=18,r=8,p=1$c2FsdA$\(key)",
            "$scrypt$ln=17,r=8,p=3$c2FsdA$\(key)", "$scrypt$ln=10,r=8,p=17$c2FsdA$\(key)",
            "$scrypt$ln=1,r=17,p=1$c2FsdA$\(key)", "$scrypt$ln=63,r=8,p=1$c2FsdA$\(key)",
            "$scrypt$ln=9999999999,r=8,p=1$c2FsdA$\(key)", "$scrypt$ln=31,r=16,p=16$c2FsdA$\(key)",
            "$6$rounds=1000001$saltstring$\(crypt)", "$6$rounds=999999999$saltstring$\(crypt)",
        ])
    func tooCostly(text: String) {
        #expect(self.error(text) == .tooCostly)
    }

    @Test(
        "What the usual systems make by default is read",
        arguments: [
            "$pbkdf2-sha256$2000000$c2FsdA$\(key)", "$pbkdf2-sha512$1000000$c2FsdA$\(key)",
            "pbkdf2_sha256$1200000$salt$\(key)=", "$scrypt$ln=17,r=8,p=1$c2FsdA$\(key)",
            "$scrypt$ln=14,r=8,p=5$c2FsdA$\(key)", "$6$rounds=656000$saltstring$\(crypt)",
            "$6$rounds=1000000$saltstring$\(crypt)",
        ])
    func defaults(text: String) {
        #expect(self.error(text) == nil)
    }

    @Test("Every cost of scrypt that is read can be verified")
    func everyCost() async throws {
        let pool = try HashingPool(limits: .forTests, random: .system)
        let password = try Password(typed: "password")
        for (bits, size, parallelism) in [(1, 1, 1), (1, 1, 16), (1, 16, 1), (2, 16, 16), (15, 1, 1), (6, 11, 3)] {
            let hash = try PasswordHash(parsing: "$scrypt$ln=\(bits),r=\(size),p=\(parallelism)$c2FsdA$\(Self.key)")
            #expect(try await pool.verify(password, against: hash) == .wrong)
        }
    }

    @Test("A hash with any change is refused, or is one in its one spelling, within the limits")
    func neverReadsTwoSpellings() {
        var random = SystemRandomNumberGenerator()
        let vectors = HashVector.pbkdf2 + HashVector.scrypt + HashVector.sha512Crypt
        let inserts = ["$", ",", "=", "0", "1", "9", "A", "/", ".", "+", "-", " ", "\u{301}", "i=1", "ln=8", "$6$", ""]
        let limits = PasswordLimits()
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
            case .pbkdf2(_, let iterations):
                let isNamed = text.contains("$\(iterations)$") || text.contains("$i=\(iterations),")
                if iterations > limits.storedPBKDF2Iterations || !isNamed { Issue.record("\(text)") }
            case .scrypt(let cost):
                if (128 << cost.costBits) * cost.blockSize > limits.storedMemoryKiB * 1024
                    || !text.contains("$ln=\(cost.costBits),r=\(cost.blockSize),p=\(cost.parallelism)$")
                {
                    Issue.record("\(text)")
                }
            case .sha512Crypt(let rounds):
                let isNamed = rounds == 5000 && !text.contains("rounds=") || text.contains("$rounds=\(rounds)$")
                if rounds > limits.storedSHA512CryptRounds || !isNamed { Issue.record("\(text)") }
            case .argon2id, .argon2i, .bcrypt: Issue.record("\(text)")
            }
        }
        #expect(taken > 50)
    }

    @Test("Nothing that prints a hash shows it")
    func showsNothing() throws {
        for vector in HashVector.pbkdf2 + HashVector.scrypt + HashVector.sha512Crypt {
            let hash = try PasswordHash(parsing: vector.text)
            var dumped = ""
            dump(hash, to: &dumped)
            let end = String(vector.text.suffix(12))
            for text in ["\(hash)", String(reflecting: hash), dumped] { #expect(!text.contains(end), "\(text)") }
        }
    }
}
