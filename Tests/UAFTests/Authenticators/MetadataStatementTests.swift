import Testing
import UAF
import _Primitives

@Suite("UAF metadata §16: statements")
struct MetadataStatementTests {
    private static let text = """
        {"aaid":"abcd#0001","description":"An authenticator","authenticatorVersion":2,"upv":[{"major":1,"minor":1},
        {"major":1,"minor":0}],"assertionScheme":"UAFV1TLV","authenticationAlgorithm":1,"publicKeyAlgAndEncoding":256,
        "attestationTypes":[15879,15880],"userVerificationDetails":[[{"userVerification":2,"baDesc":{"FAR":0.001}}]],
        "keyProtection":6,"matcherProtection":2,"attachmentHint":1,"isSecondFactorOnly":false,"tcDisplay":5,
        "tcDisplayContentType":"text/plain","attestationRootCertificates":["AA+/\\nAA=="],"isKeyRestricted":false}
        """

    @Test("Every member that is judged by arrives")
    func members() throws {
        let statement = try MetadataStatement(parsing: Self.text.utf8)
        #expect(statement.aaid.text == "ABCD#0001")
        #expect(statement.description == "An authenticator")
        #expect(statement.authenticatorVersion == 2)
        #expect(statement.versions == [.uaf11, Version(major: 1, minor: 0)])
        #expect(statement.assertionScheme == .uafV1TLV)
        #expect(statement.authenticationAlgorithm == .p256Raw)
        #expect(statement.publicKeyFormat == .eccX962Raw)
        #expect(statement.attestationTypes == [.basicFull, .basicSurrogate])
        #expect(statement.keyProtection == [.hardware, .tee])
        #expect(statement.matcherProtection == .tee)
        #expect(statement.attachmentHint == .internal)
        #expect(!statement.isSecondFactorOnly && !statement.isKeyRestricted)
        #expect(statement.tcDisplay == [.any, .tee])
        #expect(statement.tcDisplayContentType == .textPlain)
        #expect(statement.attestationRootCertificates == [[0x00, 0x0F, 0xBF, 0x00]])
    }

    @Test("What a policy asks comes from the statement")
    func info() throws {
        let info = try MetadataStatement(parsing: Self.text.utf8).info
        #expect(info.aaid.text == "ABCD#0001" && info.userVerification == .fingerprint)
        #expect(info.authenticatorVersion == 2 && info.tcDisplayContentType == .textPlain)
    }

    @Test("A second-factor flag as text is read (§18, row 22)", arguments: [("true", true), ("false", false)])
    func flagAsText(text: String, value: Bool) throws {
        let bytes = try Sample(Self.text).setting("isSecondFactorOnly", .string(text))
        #expect(try MetadataStatement(parsing: bytes).isSecondFactorOnly == value)
    }

    @Test(
        "Alternatives of one method are a choice, one alternative of several is all of them, the rest is neither (§2.2)",
        arguments: [
            ("[[{\"userVerification\":2}],[{\"userVerification\":4}]]", [.fingerprint, .passcode]),
            ("[[{\"userVerification\":2},{\"userVerification\":4}]]", [.fingerprint, .passcode, .all]),
            ("[[{\"userVerification\":2},{\"userVerification\":4}],[{\"userVerification\":16}]]", nil),
            ("[[{\"userVerification\":512}]]", UserVerification.none),
        ] as [(String, UserVerification?)])
    func details(text: String, expected: UserVerification?) throws {
        let bytes = try Sample(Self.text).setting("userVerificationDetails", try JSON(parsing: text))
        let statement = try MetadataStatement(parsing: bytes)
        #expect(statement.userVerification == expected)
        #expect(statement.info.userVerification == expected ?? .all)
    }

    @Test("Mixed methods match no criterion of one method")
    func mixedMethods() throws {
        let text = "[[{\"userVerification\":2},{\"userVerification\":4}],[{\"userVerification\":16}]]"
        let bytes = try Sample(Self.text).setting("userVerificationDetails", try JSON(parsing: text))
        let candidate = PolicyCandidate(info: try MetadataStatement(parsing: bytes).info)
        var criteria = MatchCriteria()
        criteria.userVerification = UserVerification(rawValue: 0x3FF)
        #expect(!criteria.matches(candidate))
    }

    @Test("Flags that are missing have the standard's defaults")
    func defaults() throws {
        let sample = try Sample(Self.text)
        #expect(try MetadataStatement(parsing: sample.setting("isKeyRestricted", nil)).isKeyRestricted)
        #expect(
            try MetadataStatement(parsing: sample.setting("attestationRootCertificates", .array([])))
                .attestationRootCertificates.isEmpty)
    }

    @Test(
        "A broken statement is refused",
        arguments: [
            "aaid", "description", "authenticatorVersion", "upv", "assertionScheme", "authenticationAlgorithm",
            "publicKeyAlgAndEncoding", "attestationTypes", "userVerificationDetails", "keyProtection",
            "matcherProtection", "attachmentHint", "isSecondFactorOnly", "tcDisplay", "tcDisplayContentType",
            "attestationRootCertificates",
        ].map { BadChange($0, nil, .missingMember) } + [
            BadChange("aaid", .string("x"), .invalidValue),
            BadChange("description", .string(""), .outOfRange),
            BadChange("upv", .array([]), .outOfRange),
            BadChange("attestationTypes", .array([]), .outOfRange),
            BadChange("keyProtection", .string("software"), .wrongType),
            BadChange("isSecondFactorOnly", .string("no"), .wrongType),
            BadChange("userVerificationDetails", .array([]), .outOfRange),
            BadChange("userVerificationDetails.0", .array([]), .outOfRange),
            BadChange("userVerificationDetails.0", .object([:]), .wrongType),
            BadChange("userVerificationDetails.0.0.userVerification", nil, .missingMember),
            BadChange("attestationRootCertificates.0", .integer(1), .wrongType),
            BadChange("attestationRootCertificates.0", .string("%%"), .invalidValue),
            BadChange("attestationRootCertificates.0", .string(""), .invalidValue),
        ])
    func refuses(change: BadChange) throws {
        let bytes = try Sample(Self.text).setting(change.path, change.value)
        #expect(throws: UAFError(change.code)) { try MetadataStatement(parsing: bytes) }
    }

    @Test("A statement without display needs no content type")
    func noDisplay() throws {
        let sample = try Sample(try Sample(Self.text).setting("tcDisplay", .integer(0)))
        #expect(try MetadataStatement(parsing: sample.setting("tcDisplayContentType", nil)).tcDisplayContentType == nil)
    }
}
