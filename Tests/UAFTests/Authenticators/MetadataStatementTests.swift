import Testing
import UAF
import _Primitives

@Suite("uaf-sections §16: statements")
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
        #expect(!candidate.info.isSilent)
    }

    @Test(
        "A model that may verify nobody is silent, however its methods are mixed",
        arguments: [
            "[[{\"userVerification\":2},{\"userVerification\":4}],[{\"userVerification\":512}]]",
            "[[{\"userVerification\":512}],[{\"userVerification\":2},{\"userVerification\":4}]]",
            "[[{\"userVerification\":512},{\"userVerification\":4}],[{\"userVerification\":2}]]",
            "[[{\"userVerification\":2}],[{\"userVerification\":512}]]",
        ])
    func mixedSilence(text: String) throws {
        let bytes = try Sample(Self.text).setting("userVerificationDetails", try JSON(parsing: text))
        #expect(try MetadataStatement(parsing: bytes).info.isSilent)
    }

    @Test("Flags that are missing have the standard's defaults")
    func defaults() throws {
        let sample = try Sample(Self.text)
        #expect(try MetadataStatement(parsing: sample.setting("isKeyRestricted", nil)).isKeyRestricted)
        #expect(
            try MetadataStatement(parsing: sample.setting("attestationRootCertificates", .array([])))
                .attestationRootCertificates.isEmpty)
    }

    @Test("The names of later statements mean the numbers")
    func names() throws {
        let later = """
            {"schema":3,"protocolFamily":"uaf","aaid":"ABCD#0001","description":"An authenticator",
            "authenticatorVersion":2,"upv":[{"major":1,"minor":1},{"major":1,"minor":0}],
            "authenticationAlgorithms":["secp256r1_ecdsa_sha256_raw"],"publicKeyAlgAndEncodings":["ecc_x962_raw"],
            "attestationTypes":["basic_full","basic_surrogate"],
            "userVerificationDetails":[[{"userVerificationMethod":"fingerprint_internal","baDesc":{"FAR":0.001}}]],
            "keyProtection":["hardware","tee"],"matcherProtection":["tee"],"attachmentHint":["internal"],
            "tcDisplay":["any","tee"],"tcDisplayContentType":"text/plain",
            "attestationRootCertificates":["AA+/AA=="],"isKeyRestricted":false}
            """
        #expect(try MetadataStatement(parsing: later.utf8) == MetadataStatement(parsing: Self.text.utf8))
        let sample = try Sample(later)
        #expect(try MetadataStatement(parsing: sample.setting("tcDisplay", .array([]))).tcDisplay.isEmpty)
        for change in [
            BadChange("authenticationAlgorithms", .array([.string("secp256r1")]), .invalidValue),
            BadChange("authenticationAlgorithms", .array([.integer(1), .integer(2)]), .invalidValue),
            BadChange("authenticationAlgorithms", .array([]), .outOfRange),
            BadChange("authenticationAlgorithms", nil, .missingMember),
            BadChange("attestationTypes.0", .bool(true), .wrongType),
            BadChange("keyProtection.0", .integer(65536), .wrongType),
            BadChange("keyProtection.0", .string("paper"), .invalidValue),
            BadChange("userVerificationDetails.0.0.userVerificationMethod", .string("fingerprint"), .invalidValue),
            BadChange("protocolFamily", .string("fido2"), .invalidValue),
            BadChange("schema", .integer(2), .missingMember),
            BadChange("schema", nil, .missingMember),
            BadChange("isSecondFactorOnly", .integer(0), .wrongType),
            BadChange("attachmentHint", .string("internal"), .wrongType),
            BadChange("attachmentHint.0", .string("glued"), .invalidValue),
            BadChange("tcDisplay", nil, .missingMember),
            BadChange("matcherProtection", nil, .missingMember),
        ] {
            let bytes = sample.setting(change.path, change.value)
            #expect(throws: UAFError(change.code), "\(change.path)") { try MetadataStatement(parsing: bytes) }
        }
    }

    /// An entry as the metadata service of FIDO writes it: all members of schema 3 that a UAF statement has there.
    private static let serviceEntry = """
        {"aaid":"4e4e#0001","metadataStatement":{
        "legalHeader":"https://fidoalliance.org/metadata/metadata-statement-legal-header/","aaid":"4e4e#0001",
        "description":"Fingerprint or passcode","authenticatorVersion":256,"protocolFamily":"uaf","schema":3,
        "upv":[{"major":1,"minor":0},{"major":1,"minor":1}],"authenticationAlgorithms":["rsa_emsa_pkcs1_sha256_raw"],
        "publicKeyAlgAndEncodings":["rsa_2048_raw"],"attestationTypes":["basic_surrogate"],
        "userVerificationDetails":[[{"userVerificationMethod":"passcode_internal",
        "caDesc":{"base":10,"minLength":4,"maxRetries":5,"blockSlowdown":60}}],
        [{"userVerificationMethod":"fingerprint_internal","baDesc":{"selfAttestedFRR":0,"selfAttestedFAR":0.00002,
        "maxTemplates":0,"maxRetries":5,"blockSlowdown":0}}]],
        "keyProtection":["hardware","tee"],"matcherProtection":["tee"],"cryptoStrength":112,
        "attachmentHint":["internal"],"tcDisplay":["any"],"tcDisplayContentType":"text/plain",
        "attestationRootCertificates":[],"icon":"data:image/png;base64,iVBORw0KGgo="},
        "statusReports":[{"status":"NOT_FIDO_CERTIFIED","effectiveDate":"2018-05-19"}],
        "timeOfLastStatusChange":"2018-05-19"}
        """

    @Test("An entry of the metadata service is read as it stands there, and may lack the attachment too (schema 3)")
    func serviceEntries() throws {
        let entry = try MetadataEntry(parsing: Self.serviceEntry.utf8)
        let statement = entry.statement
        #expect(statement.aaid.text == "4E4E#0001" && statement.authenticatorVersion == 256)
        #expect(statement.assertionScheme == .uafV1TLV && !statement.isSecondFactorOnly)
        #expect(statement.authenticationAlgorithm == .rsaPKCS1Raw && statement.publicKeyFormat == .rsa2048Raw)
        #expect(statement.attestationTypes == [.basicSurrogate] && statement.attestationRootCertificates.isEmpty)
        #expect(statement.userVerification == [.fingerprint, .passcode])
        #expect(statement.keyProtection == [.hardware, .tee] && statement.matcherProtection == .tee)
        #expect(statement.attachmentHint == .internal && statement.tcDisplay == .any)
        #expect(statement.tcDisplayContentType == .textPlain)
        #expect(entry.reports.map(\.status.rawValue) == ["NOT_FIDO_CERTIFIED"])

        let without = try Sample(Self.serviceEntry).setting("metadataStatement.attachmentHint", nil)
        let unattached = try MetadataEntry(parsing: without).statement
        var expected = statement
        expected.attachmentHint = []
        #expect(unattached == expected)
        var criteria = MatchCriteria()
        criteria.attachmentHint = .internal
        #expect(criteria.matches(PolicyCandidate(info: statement.info)))
        #expect(!criteria.matches(PolicyCandidate(info: unattached.info)))
    }

    @Test("Extensions and fresh verification arrive")
    func optionalMembers() throws {
        let sample = try Sample(Self.text)
        #expect(try MetadataStatement(parsing: Self.text.utf8).isFreshUserVerificationRequired)
        #expect(try MetadataStatement(parsing: Self.text.utf8).supportedExtensionIDs.isEmpty)
        let flag = sample.setting("isFreshUserVerificationRequired", .bool(false))
        #expect(try !MetadataStatement(parsing: flag).isFreshUserVerificationRequired)
        // The standard's example has an object where the type says text.
        let extensions = try JSON(
            parsing: "[{\"id\":\"fido.uaf.uvm\",\"data\":{\"a\":1},\"fail_if_unknown\":false}]")
        #expect(
            try MetadataStatement(parsing: sample.setting("supportedExtensions", extensions)).supportedExtensionIDs
                == ["fido.uaf.uvm"])
    }

    private static func entry(_ reports: String) throws -> MetadataEntry {
        try MetadataEntry(
            parsing: "{\"aaid\":\"ABCD#0001\",\"metadataStatement\":\(self.text),\"statusReports\":\(reports)}".utf8)
    }

    @Test("Reports are told in their order, with any status and a day of the calendar")
    func reports() throws {
        let days = ["2024-02-29", "2000-02-29", "2026-12-31", "0001-01-01"]
        let reports = days.map { "{\"status\":\"LATER\",\"effectiveDate\":\"\($0)\"}" }
        #expect(try Self.entry("[\(reports.joined(separator: ","))]").reports.map(\.effectiveDate) == days)
        #expect(try Self.entry("[]").reports.isEmpty)
    }

    @Test(
        "A report of a day that is none is refused with its entry: it might hide what others report",
        arguments: [
            "2026-02-29", "1900-02-29", "2026-00-10", "2026-13-10", "2026-04-31", "2026-01-00", "2026-1-1", "20260101",
            "2026-01-01T00:00:00Z", "2026/01/01", "+026-01-01", "zzzz-zz-zz", "~", "9999", "2026-01-0\u{664}",
        ])
    func badDays(day: String) throws {
        let report = "{\"status\":\"UPDATE_AVAILABLE\",\"effectiveDate\":\"\(day)\"}"
        #expect(throws: UAFError(.invalidValue)) { try Self.entry("[{\"status\":\"REVOKED\"},\(report)]") }
    }

    @Test("An entry is a statement with reports, or a statement alone, of one model")
    func entries() throws {
        #expect(try MetadataEntry(parsing: Self.text.utf8).reports.isEmpty)
        #expect(try MetadataEntry(parsing: Self.text.utf8).statement == MetadataStatement(parsing: Self.text.utf8))
        #expect(
            try Self.entry("[{\"status\":\"REVOKED\"}]").reports == [MetadataEntry.StatusReport(status: .revoked)])
        #expect(throws: UAFError(.missingMember)) { try Self.entry("[{}]") }
        #expect(throws: UAFError(.invalidValue)) {
            try MetadataEntry(parsing: "{\"aaid\":\"ABCD#0002\",\"metadataStatement\":\(Self.text)}".utf8)
        }
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
