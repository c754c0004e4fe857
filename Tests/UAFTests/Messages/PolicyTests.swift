import Testing
import UAF
import _Primitives

@Suite("uaf-sections §2.2: policy and match criteria on the wire")
struct PolicyTests {
    private static let all = """
        {"accepted":[[{"aaid":["C516#0001"],"vendorID":["C516"],"keyIDs":["\(Parts.keyID)"],"userVerification":1023,
        "keyProtection":31,"matcherProtection":7,"attachmentHint":511,"tcDisplay":31,"authenticationAlgorithms":[1,2],
        "assertionSchemes":["UAFV1TLV"],"attestationTypes":[15879,15880],"authenticatorVersion":3,
        "exts":[{"id":"x","data":"","fail_if_unknown":true}]}]],"disallowed":[{"aaid":["0000#0000"]}]}
        """

    private static func object(_ bytes: [UInt8]) throws -> JSONObject {
        guard case .object(let object) = try JSON(parsing: bytes) else { return [:] }
        return object
    }

    @Test("Every member arrives and survives writing")
    func roundTrip() throws {
        let policy = try Policy(json: try Self.object(Array(Self.all.utf8)))
        let criteria = policy.accepted[0][0]
        #expect(criteria.aaid == [try AAID("C516#0001")])
        #expect(criteria.vendorID == ["C516"])
        #expect(criteria.keyIDs == [try KeyID(base64URL: Parts.keyID)])
        #expect(criteria.userVerification == UserVerification(rawValue: 1023))
        #expect(criteria.keyProtection == KeyProtection(rawValue: 31))
        #expect(criteria.matcherProtection == MatcherProtection(rawValue: 7))
        #expect(criteria.attachmentHint == AttachmentHint(rawValue: 511))
        #expect(criteria.tcDisplay == TransactionConfirmationDisplay(rawValue: 31))
        #expect(criteria.authenticationAlgorithms == [.p256Raw, .p256DER])
        #expect(criteria.assertionSchemes == [.uafV1TLV])
        #expect(criteria.attestationTypes == [.basicFull, .basicSurrogate])
        #expect(criteria.authenticatorVersion == 3)
        #expect(criteria.extensions.count == 1)
        #expect(policy.disallowed == [MatchCriteria(aaid: [try AAID("0000#0000")])])
        #expect(try Policy(json: policy.json) == policy)
    }

    @Test("Criteria without members match everything and survive writing")
    func emptyCriteria() throws {
        let policy = Policy(accepted: [[MatchCriteria()]])
        #expect(try Policy(json: policy.json) == policy)
    }

    @Test(
        "Broken policies are refused",
        arguments: [
            BadChange("accepted", nil, .missingMember),
            BadChange("accepted", .array([]), .outOfRange),
            BadChange("accepted.0", .array([]), .outOfRange),
            BadChange("accepted.0", .object([:]), .wrongType),
            BadChange("accepted.0.0", .string("x"), .wrongType),
            BadChange("disallowed", .array([]), .outOfRange),
            BadChange("disallowed", .object([:]), .wrongType),
            BadChange("accepted.0.0.aaid", .string("C516#0001"), .wrongType),
            BadChange("accepted.0.0.aaid", .array([]), .outOfRange),
            BadChange("accepted.0.0.aaid", .array([.string("C516")]), .invalidValue),
            BadChange("accepted.0.0.aaid", .array([.integer(1)]), .wrongType),
            BadChange("accepted.0.0.vendorID", .array([.string("")]), .outOfRange),
            BadChange("accepted.0.0.keyIDs", .array([.string("AAAA")]), .outOfRange),
            BadChange("accepted.0.0.keyIDs", .array([.string("A A")]), .invalidBase64URL),
            BadChange("accepted.0.0.userVerification", .integer(4_294_967_296), .wrongType),
            BadChange("accepted.0.0.userVerification", .string("2"), .wrongType),
            BadChange("accepted.0.0.keyProtection", .integer(65536), .wrongType),
            BadChange("accepted.0.0.matcherProtection", .integer(-1), .wrongType),
            BadChange("accepted.0.0.attachmentHint", .number(1.5), .wrongType),
            BadChange("accepted.0.0.tcDisplay", .integer(65536), .wrongType),
            BadChange("accepted.0.0.authenticationAlgorithms", .array([]), .outOfRange),
            BadChange("accepted.0.0.authenticationAlgorithms", .array([.integer(65536)]), .wrongType),
            BadChange("accepted.0.0.assertionSchemes", .array([.string("")]), .outOfRange),
            BadChange("accepted.0.0.attestationTypes", .array([.string("x")]), .wrongType),
            BadChange("accepted.0.0.authenticatorVersion", .integer(65536), .wrongType),
        ])
    func refuses(change: BadChange) throws {
        let object = try Self.object(try Sample(Self.all).setting(change.path, change.value))
        #expect(throws: UAFError(change.code)) { try Policy(json: object) }
    }

    @Test("Beside an AAID only keys, hint, version and extensions may stand")
    func combinationWithAAID() throws {
        var criteria = MatchCriteria(aaid: [try AAID("C516#0001")], keyIDs: [try KeyID(bytes(32))])
        criteria.attachmentHint = .internal
        criteria.authenticatorVersion = 1
        criteria.extensions = [Extension(id: "x", data: "", failIfUnknown: false)]
        #expect(throws: Never.self) { try criteria.checkCombination() }
        let changes: [(inout MatchCriteria) -> Void] = [
            { $0.vendorID = ["C516"] }, { $0.userVerification = .passcode }, { $0.keyProtection = .software },
            { $0.matcherProtection = .software }, { $0.tcDisplay = .any },
            { $0.authenticationAlgorithms = [.p256Raw] }, { $0.assertionSchemes = [.uafV1TLV] },
            { $0.attestationTypes = [.basicSurrogate] },
        ]
        for change in changes {
            var changed = criteria
            change(&changed)
            #expect(throws: UAFError(.criteriaCombination)) { try changed.checkCombination() }
        }
    }

    @Test("Without an AAID algorithms and schemes must stand")
    func combinationWithoutAAID() {
        var criteria = MatchCriteria()
        criteria.userVerification = .fingerprint
        #expect(throws: UAFError(.criteriaCombination)) { try criteria.checkCombination() }
        criteria.authenticationAlgorithms = [.p256Raw]
        #expect(throws: UAFError(.criteriaCombination)) { try criteria.checkCombination() }
        criteria.assertionSchemes = [.uafV1TLV]
        #expect(throws: Never.self) { try criteria.checkCombination() }
    }
}
