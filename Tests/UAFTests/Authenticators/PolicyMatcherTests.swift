import Testing
import UAF

@Suite("uaf-sections §2.2: authenticators against criteria and policies")
struct PolicyMatcherTests {
    private static let pin = AuthenticatorModel(factor: .pin, keyStore: .file)
    private static let fingerprint = AuthenticatorModel(factor: .fingerprint, keyStore: .file)
    private static let device = AuthenticatorModel(factor: .devicePossession, keyStore: .file)

    private static func candidate(_ model: AuthenticatorModel, _ keys: KeyID...) -> PolicyCandidate {
        PolicyCandidate(info: model.info, keyIDs: Set(keys))
    }

    private static func criteria(_ models: AuthenticatorModel..., keyIDs: [KeyID]? = nil) -> MatchCriteria {
        MatchCriteria(aaid: models.map(\.aaid), keyIDs: keyIDs)
    }

    /// Criteria of which every member fits the PIN authenticator.
    private static func fitting() throws -> MatchCriteria {
        var criteria = MatchCriteria(aaid: [try AAID("0000#0000"), self.pin.aaid], keyIDs: [try KeyID(bytes(32, 1))])
        criteria.vendorID = ["0000", "c516"]
        criteria.userVerification = [.passcode, .fingerprint]
        criteria.keyProtection = [.software, .hardware]
        criteria.matcherProtection = [.software, .tee]
        criteria.attachmentHint = [.internal, .external]
        criteria.tcDisplay = [.any, .tee]
        criteria.authenticationAlgorithms = [.p256DER, .p256Raw]
        criteria.assertionSchemes = [.uafV1TLV]
        criteria.attestationTypes = [.basicFull, .basicSurrogate]
        criteria.authenticatorVersion = 1
        criteria.extensions = [Extension(id: "x", data: "", failIfUnknown: false)]
        return criteria
    }

    @Test("Criteria of which every member fits match, and so do criteria of none")
    func fits() throws {
        let candidate = Self.candidate(Self.pin, try KeyID(bytes(32, 1)), try KeyID(bytes(32, 2)))
        #expect(try Self.fitting().matches(candidate))
        #expect(MatchCriteria().matches(candidate))
    }

    @Test("One member that does not fit is enough")
    func oneMisfit() throws {
        let candidate = Self.candidate(Self.pin, try KeyID(bytes(32, 1)))
        let otherKey = try KeyID(bytes(32, 9))
        let changes: [(inout MatchCriteria) -> Void] = [
            { $0.aaid = [Self.fingerprint.aaid] },
            { $0.vendorID = ["0000"] },
            { $0.keyIDs = [otherKey] },
            { $0.userVerification = .fingerprint },
            { $0.userVerification = [.passcode, .all] },
            { $0.keyProtection = .hardware },
            { $0.matcherProtection = .onChip },
            { $0.attachmentHint = .external },
            { $0.tcDisplay = .hardware },
            { $0.authenticationAlgorithms = [.p256DER] },
            { $0.assertionSchemes = [AssertionScheme(rawValue: "WAV1CBOR")] },
            { $0.attestationTypes = [.basicFull] },
            { $0.authenticatorVersion = 2 },
            { $0.extensions = [Extension(id: "x", data: "", failIfUnknown: true)] },
            { $0.keyProtection = [] },
        ]
        for (index, change) in changes.enumerated() {
            var criteria = try Self.fitting()
            change(&criteria)
            #expect(!criteria.matches(candidate), "change \(index)")
        }
    }

    @Test("A version that is not known does not speak against an authenticator")
    func unknownVersion() {
        var info = Self.pin.info
        info.authenticatorVersion = nil
        var criteria = MatchCriteria()
        criteria.authenticatorVersion = 7
        #expect(criteria.matches(PolicyCandidate(info: info)))
    }

    @Test("Alternatives come in the policy's order, each with different authenticators")
    func selections() {
        let policy = Policy(accepted: [
            [Self.criteria(Self.fingerprint), Self.criteria(Self.device)],
            [Self.criteria(Self.pin), Self.criteria(Self.device)],
        ])
        let candidates = [Self.candidate(Self.pin), Self.candidate(Self.device), Self.candidate(Self.fingerprint)]
        let selections = PolicyMatcher(policy).selections(among: candidates)
        #expect(selections.map(\.alternative) == [0, 1])
        #expect(selections.map(\.candidates) == [[2, 1], [0, 1]])
    }

    @Test("One authenticator cannot meet two criteria of an alternative")
    func differentAuthenticators() {
        let any = Self.criteria(Self.pin, Self.fingerprint)
        let matcher = PolicyMatcher(Policy(accepted: [[any, any]]))
        #expect(matcher.selections(among: [Self.candidate(Self.pin)]).isEmpty)
        let both = matcher.selections(among: [Self.candidate(Self.pin), Self.candidate(Self.fingerprint)])
        #expect(both.count == 1)
    }

    @Test("A search goes back where its first choice leaves the next criterion without one")
    func backtracking() {
        let policy = Policy(accepted: [[Self.criteria(Self.pin, Self.fingerprint), Self.criteria(Self.pin)]])
        let selections = PolicyMatcher(policy).selections(
            among: [Self.candidate(Self.pin), Self.candidate(Self.fingerprint)])
        #expect(selections.map(\.candidates) == [[1, 0]])
    }

    @Test("An authenticator that is disallowed never takes part")
    func disallowed() {
        let policy = Policy(
            accepted: [[Self.criteria(Self.pin)], [Self.criteria(Self.fingerprint)]],
            disallowed: [Self.criteria(Self.pin)])
        let candidates = [Self.candidate(Self.pin), Self.candidate(Self.fingerprint)]
        #expect(PolicyMatcher(policy).selections(among: candidates).map(\.alternative) == [1])
        #expect(!PolicyMatcher(policy).allows(candidates[0]))
        #expect(PolicyMatcher(policy).selection(needing: [candidates[0]])?.alternative == nil)
    }

    @Test("A ban that is not understood bans everything; what is accepted and not understood matches nothing")
    func unreadableBan() {
        var ban = Self.criteria(Self.fingerprint)
        var policy = Policy(accepted: [[Self.criteria(Self.pin)]], disallowed: [ban])
        let candidate = Self.candidate(Self.pin)
        #expect(PolicyMatcher(policy).allows(candidate))
        ban.extensions = [Extension(id: "x", data: "", failIfUnknown: true)]
        policy.disallowed = [ban]
        #expect(!PolicyMatcher(policy).allows(candidate))
        #expect(PolicyMatcher(policy).selections(among: [candidate]).isEmpty)
        ban.extensions = [Extension(id: "x", data: "", failIfUnknown: false)]
        policy.disallowed = [ban]
        #expect(PolicyMatcher(policy).allows(candidate))
    }

    @Test("An authenticator that holds a registered key is not offered again")
    func alreadyRegistered() throws {
        let key = try KeyID(bytes(32, 1))
        let policy = Policy(
            accepted: [[Self.criteria(Self.pin)]], disallowed: [Self.criteria(Self.pin, keyIDs: [key])])
        let matcher = PolicyMatcher(policy)
        #expect(matcher.selections(among: [Self.candidate(Self.pin, key)]).isEmpty)
        #expect(matcher.selections(among: [Self.candidate(Self.pin, try KeyID(bytes(32, 2)))]).count == 1)
        #expect(matcher.selections(among: [Self.candidate(Self.pin)]).count == 1)
    }

    @Test("A verifier takes no authenticator to spare and none too few")
    func exactly() {
        let policy = Policy(accepted: [
            [Self.criteria(Self.pin), Self.criteria(Self.device)], [Self.criteria(Self.fingerprint)],
        ])
        let matcher = PolicyMatcher(policy)
        let (pin, device, finger) = (
            Self.candidate(Self.pin), Self.candidate(Self.device), Self.candidate(Self.fingerprint)
        )
        #expect(matcher.selection(needing: [device, pin])?.alternative == 0)
        #expect(matcher.selection(needing: [finger])?.alternative == 1)
        #expect(matcher.selection(needing: [pin])?.alternative == nil)
        #expect(matcher.selection(needing: [pin, device, finger])?.alternative == nil)
        #expect(matcher.selection(needing: [])?.alternative == nil)
    }

    @Test("The number of selections is bounded")
    func bounded() {
        let candidates = (0..<12).map { _ in Self.candidate(Self.pin) }
        let any = MatchCriteria()
        let policy = Policy(accepted: Array(repeating: [any, any, any, any], count: 3))
        #expect(PolicyMatcher(policy).selections(among: candidates, limit: 5).count <= 5)
        let many = Policy(accepted: [Array(repeating: any, count: 9)])
        #expect(PolicyMatcher(many).selections(among: candidates).isEmpty)
    }

    @Test("A criterion that few candidates meet is met, however many orders of the others there are before it")
    func lateCriteria() {
        let any = MatchCriteria()
        let pin = Self.criteria(Self.pin)
        let policy = Policy(accepted: [Array(repeating: any, count: 6) + [pin, pin]])
        let candidates = (0..<8).map { Self.candidate($0 < 2 ? Self.pin : Self.device) }
        let selections = PolicyMatcher(policy).selections(among: candidates)
        #expect(selections.map { $0.candidates.sorted() } == [Array(0..<8)])
        #expect(PolicyMatcher(policy).selection(needing: candidates)?.candidates == [2, 3, 4, 5, 6, 7, 0, 1])
    }

    @Test("A thousand alternatives that cannot be met cost one look at each pair, and no search through the orders")
    func unmeetable() {
        let (any, pin) = (MatchCriteria(), Self.criteria(Self.pin))
        // Two criteria want the only PIN. The orders of the others would take a search for ever.
        let alternative = Array(repeating: any, count: 6) + [pin, pin]
        let matcher = PolicyMatcher(Policy(accepted: Array(repeating: alternative, count: 1000)))
        let candidates = (0..<24).map { Self.candidate($0 == 0 ? Self.pin : Self.device) }
        #expect(matcher.selections(among: candidates).isEmpty)
        var pairs = 0
        let needed = matcher.selection(needing: Array(candidates[..<8])) { _, _ in
            pairs += 1
            return true
        }
        // In each alternative, six criteria fit eight candidates, and two criteria fit one.
        #expect(needed == nil && pairs == 1000 * (6 * 8 + 2))
    }

    @Test("The policy that accepts anything accepts silent authenticators too (§2.2)")
    func anything() {
        var any = MatchCriteria()
        any.userVerification = UserVerification(rawValue: 0x3FF)
        let matcher = PolicyMatcher(Policy(accepted: [[any]]))
        for model in AuthenticatorModel.allCases {
            #expect(matcher.selections(among: [Self.candidate(model)]).count == 1)
        }
    }
}

@Suite("uaf-sections §2.9: this product's authenticators")
struct AuthenticatorModelTests {
    @Test("The table of AAIDs")
    func table() {
        let expected: [(AuthenticatorModel.Factor, Bool, String)] = [
            (.pin, false, "C516#0001"),
            (.password, false, "C516#0002"),
            (.fingerprint, false, "C516#0003"),
            (.face, false, "C516#0004"),
            (.devicePasscode, false, "C516#0005"),
            (.devicePossession, false, "C516#0006"),
            (.fingerprint, true, "C516#0103"),
            (.face, true, "C516#0104"),
        ]
        #expect(
            AuthenticatorModel.allCases.map(\.aaid.text)
                == ["#0", "#2", "#3"].flatMap { store in expected.map { $0.2.replacing("#0", with: store) } })
        for (factor, allowsPasscode, text) in expected {
            let model = AuthenticatorModel(factor: factor, keyStore: .file, allowsPasscode: allowsPasscode)
            #expect(model.aaid.text == text)
            #expect(AuthenticatorModel(aaid: model.aaid) == model)
        }
    }

    @Test("A factor, where its keys are and whether the passcode may stand in have an AAID of their own each")
    func wholeTable() throws {
        let expected: [(AuthenticatorModel, String)] = [
            (AuthenticatorModel(factor: .fingerprint, keyStore: .file, allowsPasscode: true), "C516#0103"),
            (AuthenticatorModel(factor: .pin, keyStore: .secretService), "C516#1001"),
            (AuthenticatorModel(factor: .devicePossession, keyStore: .tpm), "C516#2006"),
            (AuthenticatorModel(factor: .face, keyStore: .secureEnclave), "C516#3004"),
            (AuthenticatorModel(factor: .face, keyStore: .secureEnclave, allowsPasscode: true), "C516#3104"),
        ]
        for (model, text) in expected { #expect(model.aaid.text == text) }
        #expect(Set(AuthenticatorModel.table.map(\.aaid)).count == 4 * 8)
        for model in AuthenticatorModel.table { #expect(AuthenticatorModel(aaid: model.aaid) == model) }
        // A passcode in place of a passcode, a PIN or nothing is none.
        #expect(AuthenticatorModel(factor: .pin, keyStore: .file, allowsPasscode: true).aaid.text == "C516#0001")
    }

    @Test("What the passcode may stand in for is worth a passcode, and meets no policy that wants finger or face")
    func passcodeFallback() {
        for model in AuthenticatorModel.table where [.fingerprint, .face].contains(model.factor) {
            var wanted = MatchCriteria()
            wanted.userVerification = model.factor == .face ? .faceprint : .fingerprint
            let matcher = PolicyMatcher(Policy(accepted: [[wanted]]))
            let isTaken = !matcher.selections(among: [PolicyCandidate(info: model.info)]).isEmpty
            #expect(isTaken == !model.allowsPasscode)
            #expect(model.info.userVerification == .passcode || !model.allowsPasscode)
        }
    }

    @Test("Keys that no chip holds are software, and a chip's are hardware")
    func protection() {
        for model in AuthenticatorModel.table {
            let isHardware = [.tpm, .secureEnclave].contains(model.keyStore)
            #expect(model.info.keyProtection.contains(.hardware) == isHardware)
            #expect(model.info.keyProtection.contains(.software) == !isHardware)
            let isTyped = [.pin, .password].contains(model.factor)
            switch model.keyStore {
            case .file, .secretService: #expect(model.info.matcherProtection == .software)
            // A TPM compares the secret that it is given. Software compares a finger or a passcode of the system's.
            case .tpm where model.factor != .devicePossession:
                #expect(model.info.matcherProtection == (isTyped ? .onChip : .software))
            // The Secure Enclave compares a finger, a face and the passcode. Software compares a PIN or a password.
            case .secureEnclave where model.factor != .devicePossession:
                #expect(model.info.matcherProtection == (isTyped ? .software : .tee))
            case .tpm, .secureEnclave: break
            }
        }
    }

    @Test("Other AAIDs are of no model of ours")
    func others() throws {
        #expect(AuthenticatorModel(aaid: try AAID("C516#0099")) == nil)
        #expect(AuthenticatorModel(aaid: try AAID("ABCD#0001")) == nil)
    }

    @Test("An AAID's text is canonical: it reads back to itself", arguments: AuthenticatorModel.allCases)
    func canonical(model: AuthenticatorModel) throws {
        #expect(try AAID(model.aaid.text) == model.aaid)
    }

    @Test("Device possession is silent and cannot show a transaction, the others can")
    func silent() {
        for model in AuthenticatorModel.allCases {
            let isSilent = model.factor == .devicePossession
            #expect(model.info.isSilent == isSilent)
            #expect(model.info.tcDisplay.isEmpty == isSilent)
            #expect(model.info.isSecondFactorOnly == isSilent)
            #expect((model.info.tcDisplayContentType == .textPlain) == !isSilent)
        }
    }
}
