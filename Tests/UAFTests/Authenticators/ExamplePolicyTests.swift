import Testing
import UAF
import _Primitives

@Suite("uaf-sections §2.2: the standard's example policy against authenticators of several kinds")
struct ExamplePolicyTests {
    /// The seven alternatives of the standard's example registration request, and what it disallows.
    private static let policy = """
        {"accepted":[
        [{"userVerification":512,"keyProtection":1,"tcDisplay":1,"authenticationAlgorithms":[1],
        "assertionSchemes":["UAFV1TLV"]}],
        [{"userVerification":4,"keyProtection":1,"tcDisplay":1,"authenticationAlgorithms":[1],
        "assertionSchemes":["UAFV1TLV"]}],
        [{"userVerification":4,"keyProtection":1,"tcDisplay":1,"authenticationAlgorithms":[2]}],
        [{"userVerification":2,"keyProtection":4,"tcDisplay":1,"authenticationAlgorithms":[2]}],
        [{"userVerification":4,"keyProtection":2,"tcDisplay":1,"authenticationAlgorithms":[1,3]}],
        [{"userVerification":2,"keyProtection":2,"authenticationAlgorithms":[2]}],
        [{"userVerification":32,"keyProtection":2,"assertionSchemes":["UAFV1TLV"]},
        {"userVerification":2,"authenticationAlgorithms":[1,3],"assertionSchemes":["UAFV1TLV"]},
        {"userVerification":2,"authenticationAlgorithms":[1,3],"assertionSchemes":["UAFV1TLV"]},
        {"userVerification":4,"keyProtection":1,"authenticationAlgorithms":[1,3],"assertionSchemes":["UAFV1TLV"]}]],
        "disallowed":[
        {"userVerification":512,"keyProtection":16,"assertionSchemes":["UAFV1TLV"]},
        {"userVerification":256,"keyProtection":16},
        {"aaid":["ABCD#ABCD"],"keyIDs":["\(Parts.keyID)"]}]}
        """

    private static func matcher() throws -> PolicyMatcher {
        guard case .object(let object) = try JSON(parsing: self.policy) else {
            throw UAFError(.wrongType)
        }
        return PolicyMatcher(try Policy(json: object))
    }

    private static func candidate(
        _ aaid: String, _ verification: UserVerification, _ protection: KeyProtection,
        algorithm: SignatureAlgorithm = .p256Raw, display: TransactionConfirmationDisplay = .any, keys: [KeyID] = []
    ) throws -> PolicyCandidate {
        PolicyCandidate(
            info: AuthenticatorInfo(
                aaid: try AAID(aaid),
                authenticationAlgorithm: algorithm,
                attestationTypes: [.basicSurrogate],
                userVerification: verification,
                keyProtection: protection,
                matcherProtection: .software,
                attachmentHint: .internal,
                tcDisplay: display,
                isSecondFactorOnly: false),
            keyIDs: Set(keys))
    }

    private static func alternatives(_ candidates: PolicyCandidate...) throws -> [Int] {
        try self.matcher().selections(among: candidates).map(\.alternative)
    }

    @Test("A passcode in software meets the second alternative, with DER the third")
    func passcode() throws {
        #expect(try Self.alternatives(Self.candidate("1111#0001", .passcode, .software)) == [1])
        #expect(try Self.alternatives(Self.candidate("1111#0001", .passcode, .software, algorithm: .p256DER)) == [2])
    }

    @Test("A passcode in hardware meets the fifth, with RSA too")
    func passcodeInHardware() throws {
        #expect(try Self.alternatives(Self.candidate("1111#0001", .passcode, .hardware)) == [4])
        #expect(
            try Self.alternatives(Self.candidate("1111#0001", .passcode, .hardware, algorithm: .rsaPSSRaw)) == [4])
        #expect(try Self.alternatives(Self.candidate("1111#0001", .passcode, .hardware, algorithm: .p256DER)) == [])
    }

    @Test("A fingerprint in a trusted environment within hardware meets two alternatives")
    func fingerprint() throws {
        #expect(
            try Self.alternatives(Self.candidate("1111#0002", .fingerprint, [.hardware, .tee], algorithm: .p256DER))
                == [3, 5])
    }

    @Test("Without a display only the alternative that asks for none is met")
    func withoutDisplay() throws {
        #expect(
            try Self.alternatives(
                Self.candidate("1111#0002", .fingerprint, [.hardware, .tee], algorithm: .p256DER, display: [])) == [5])
    }

    @Test("A set of all methods is not one of them")
    func allMethods() throws {
        #expect(try Self.alternatives(Self.candidate("1111#0001", [.passcode, .fingerprint, .all], .software)) == [])
        #expect(try Self.alternatives(Self.candidate("1111#0001", [.passcode, .fingerprint], .software)) == [1])
    }

    @Test("The last alternative needs four authenticators at once, two of them of one kind")
    func fourAtOnce() throws {
        let location = try Self.candidate("1111#0003", .location, .hardware)
        let finger = try Self.candidate("1111#0004", .fingerprint, .software)
        let other = try Self.candidate("1111#0005", .fingerprint, .software)
        let passcode = try Self.candidate("1111#0006", .passcode, .software, display: [])
        #expect(try Self.alternatives(location, finger, passcode) == [])
        #expect(try Self.alternatives(location, finger, other, passcode) == [6])
        #expect(try Self.matcher().selection(needing: [passcode, other, location, finger])?.alternative == 6)
    }

    @Test("A silent authenticator whose keys are kept elsewhere is disallowed")
    func disallowedKind() throws {
        #expect(try Self.alternatives(Self.candidate("1111#0007", .none, .software)) == [0])
        #expect(try Self.alternatives(Self.candidate("1111#0007", .none, [.software, .remoteHandle])) == [])
    }

    @Test("The authenticator that holds the named key is disallowed, another of its model is not")
    func disallowedKey() throws {
        let key = try KeyID(base64URL: Parts.keyID)
        #expect(try Self.alternatives(Self.candidate("ABCD#ABCD", .passcode, .software, keys: [key])) == [])
        #expect(
            try Self.alternatives(Self.candidate("ABCD#ABCD", .passcode, .software, keys: [try KeyID(bytes(32, 9))]))
                == [1])
    }

    @Test("Our own models meet the second or the fifth alternative by what is known, and none by a body or silently")
    func ownModels() throws {
        let expected: [AuthenticatorModel.Factor: [Int]] = [
            .pin: [1], .password: [1], .devicePasscode: [1], .fingerprint: [], .face: [], .devicePossession: [],
        ]
        for model in AuthenticatorModel.allCases {
            // A finger or a face that the passcode can replace is worth a passcode.
            let factor = model.allowsPasscode ? .devicePasscode : model.factor
            // The second alternative is for keys in software, the fifth for keys in hardware.
            let alternatives = expected[factor]?.map { model.keyStore == .file ? $0 : 4 }
            #expect(try Self.alternatives(PolicyCandidate(info: model.info)) == alternatives)
        }
    }
}
