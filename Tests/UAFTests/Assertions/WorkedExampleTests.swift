import Testing
import UAF
import _Primitives

/// Bytes of hexadecimal digits; blanks and line breaks between them are for the eye.
private func hex(_ text: String) throws -> [UInt8] {
    let digits = text.filter { !$0.isWhitespace }
    var bytes: [UInt8] = []
    var rest = Substring(digits)
    while !rest.isEmpty {
        bytes.append(try #require(UInt8(rest.prefix(2), radix: 16)))
        rest = rest.dropFirst(2)
    }
    return bytes
}

@Suite("uaf-sections §19: assertions byte by byte")
struct WorkedExampleTests {
    private static let hash = String(repeating: "AA", count: 32)
    private static let keyID = String(repeating: "BB", count: 32)
    private static let point = "04" + String(repeating: "CC", count: 64)
    private static let signature = String(repeating: "DD", count: 64)

    /// Key registration data of 177 bytes, each field a line.
    private static let keyRegistrationData = """
        033E B100
          0B2E 0900 41424344 23 41424344
          0E2E 0700 0001 01 0100 0001
          0A2E 2000 \(hash)
          092E 2000 \(keyID)
          0D2E 0800 01000000 01000000
          0C2E 4100 \(point)
        """

    /// Signed data of 118 bytes with a nonce of 8 bytes and no transaction.
    private static let signedData = """
        043E 7600
          0B2E 0900 41424344 23 41424344
          0E2E 0500 0001 01 0100
          0F2E 0800 0102030405060708
          0A2E 2000 \(hash)
          102E 0000
          092E 2000 \(keyID)
          0D2E 0400 02000000
        """

    private static func registration(_ attestation: String, length: String) -> String {
        "013E \(length) \(self.keyRegistrationData) \(attestation)"
    }

    @Test("A registration with surrogate attestation")
    func surrogate() throws {
        let text = Self.registration("083E 4400 062E 4000 \(Self.signature)", length: "FD00")
        let bytes = try hex(text)
        let assertion = try RegistrationAssertion(parsing: bytes)
        let data = assertion.keyRegistrationData
        #expect(data.aaid.text == "ABCD#ABCD")
        #expect(data.authenticatorVersion == 256)
        #expect(data.mode == .userVerified)
        #expect(data.signatureAlgorithm == .p256Raw)
        #expect(data.publicKeyFormat == .eccX962Raw)
        #expect(try data.finalChallengeHash == hex(Self.hash))
        #expect(try data.keyID.bytes == hex(Self.keyID))
        #expect(data.signCounter == 1)
        #expect(data.registrationCounter == 1)
        #expect(try data.publicKey == hex(Self.point))
        #expect(try data.signedBytes == hex(Self.keyRegistrationData))
        #expect(assertion.attestation.type == .basicSurrogate)
        #expect(try assertion.attestation.signature == hex(Self.signature))
        #expect(assertion.attestation.certificates.isEmpty)
        #expect(assertion.extensions.isEmpty)
    }

    @Test("The same registration, made from its fields")
    func madeFromFields() throws {
        let data = try KeyRegistrationData(
            aaid: try AAID("ABCD#ABCD"),
            authenticatorVersion: 256,
            signatureAlgorithm: .p256Raw,
            publicKeyFormat: .eccX962Raw,
            finalChallengeHash: try hex(Self.hash),
            keyID: try KeyID(try hex(Self.keyID)),
            signCounter: 1,
            registrationCounter: 1,
            publicKey: try hex(Self.point))
        #expect(try data.signedBytes == hex(Self.keyRegistrationData))
        let assertion = RegistrationAssertion(
            keyRegistrationData: data,
            attestation: Attestation(type: .basicSurrogate, signature: try hex(Self.signature)))
        let text = Self.registration("083E 4400 062E 4000 \(Self.signature)", length: "FD00")
        #expect(try assertion.serialized() == hex(text))
    }

    @Test("A registration with full attestation keeps its certificates in their order")
    func full() throws {
        let attestation = """
            073E 5400
              062E 4000 \(Self.signature)
              052E 0300 010203
              052E 0500 0405060708
            """
        let assertion = try RegistrationAssertion(parsing: try hex(Self.registration(attestation, length: "0D01")))
        #expect(assertion.attestation.type == .basicFull)
        #expect(assertion.attestation.certificates == [[1, 2, 3], [4, 5, 6, 7, 8]])
    }

    @Test("An authentication")
    func authentication() throws {
        let text = "023E BE00 \(Self.signedData) 062E 4000 \(Self.signature)"
        let assertion = try AuthenticationAssertion(parsing: try hex(text))
        let data = assertion.signedData
        #expect(data.aaid.text == "ABCD#ABCD")
        #expect(data.authenticatorVersion == 256)
        #expect(data.mode == .userVerified)
        #expect(data.signatureAlgorithm == .p256Raw)
        #expect(data.nonce == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(try data.finalChallengeHash == hex(Self.hash))
        #expect(data.transactionContentHash.isEmpty)
        #expect(try data.keyID.bytes == hex(Self.keyID))
        #expect(data.signCounter == 2)
        #expect(try data.signedBytes == hex(Self.signedData))
        #expect(try assertion.signature == hex(Self.signature))
        #expect(try assertion.serialized() == hex(text))
    }

    @Test("A signed extension, critical or not, stands within the signed data")
    func signedExtensions() throws {
        let signed = """
            043E 9000
              0B2E 0900 41424344 23 41424344
              0E2E 0500 0001 01 0100
              0F2E 0800 0102030405060708
              0A2E 2000 \(Self.hash)
              102E 0000
              092E 2000 \(Self.keyID)
              0D2E 0400 02000000
              113E 0A00 132E 0100 61 142E 0100 09
              123E 0800 132E 0000 142E 0000
            """
        // An id must have a letter: the second extension has none.
        #expect(throws: UAFError(.invalidLength)) {
            try AuthenticationAssertion(
                parsing: try hex("023E D800 \(signed) 062E 4000 \(Self.signature)"))
        }
        let good = signed.replacing("043E 9000", with: "043E 9200").replacing(
            "123E 0800 132E 0000 142E 0000", with: "123E 0A00 132E 0200 6263 142E 0000")
        let assertion = try AuthenticationAssertion(
            parsing: try hex("023E DA00 \(good) 062E 4000 \(Self.signature)"))
        #expect(
            assertion.signedData.extensions == [
                AssertionExtension(id: "a", data: [9], isCritical: true),
                AssertionExtension(id: "bc", data: [], isCritical: false),
            ])
    }

    @Test("Big-endian lengths and counters are not guessed at (§18, row 8)")
    func bigEndian() throws {
        let text = "023E 00BE \(Self.signedData) 062E 4000 \(Self.signature)"
        #expect(throws: UAFError(.truncatedField)) { try AuthenticationAssertion(parsing: try hex(text)) }
        let counters = Self.signedData.replacing("0D2E 0400 02000000", with: "0D2E 0400 00000002")
        let assertion = try AuthenticationAssertion(
            parsing: try hex("023E BE00 \(counters) 062E 4000 \(Self.signature)"))
        #expect(assertion.signedData.signCounter == 0x0200_0000)
    }
}
