import Testing
import UAF

@Suite("Founding decision, Strict policies; identity parity 15: what a role asks for")
struct AuthenticatorMatrixTests {
    private static let device = AuthenticatorModel(factor: .devicePossession, keyStore: .file).aaid
    private static let finger = AuthenticatorModel(factor: .fingerprint, keyStore: .file).aaid
    private static let face = AuthenticatorModel(factor: .face, keyStore: .file).aaid

    /// The model of the PIN is made up: which one it is, the table says and nothing else.
    private static func table() throws -> AuthenticatorTypeTable {
        try AuthenticatorTypeTable([
            .device: [self.device], .pin: [try AAID("C516#0FFF")], .biometric: [self.finger, self.face],
        ])
    }

    private static func pin() throws -> AAID { try AAID("C516#0FFF") }

    private static func valid(_ aaids: AAID...) -> [AuthenticatorMatrix.JudgedAssertion] {
        aaids.map { AuthenticatorMatrix.JudgedAssertion(aaid: $0, isValid: true) }
    }

    @Test(
        "What would ask for nothing, or for nobody's doing, is refused when it is saved",
        arguments: [
            ([], AuthenticatorMatrixError.Code.empty), ([[]], .empty), ([[.pin], []], .empty),
            ([[.device]], .silentAlone), ([[.pin, .device], [.device]], .silentAlone),
            ([[.pin, .pin]], .repeated), ([[.pin, .device], [.device, .pin]], .repeated),
            ([[.otp]], .unsupported), ([[.yubikey, .device], [.pin, .otp]], .unsupported),
            (Array(repeating: [.pin], count: 17), .tooMany),
        ] as [([[AuthenticatorType]], AuthenticatorMatrixError.Code)])
    func refused(alternatives: [[AuthenticatorType]], code: AuthenticatorMatrixError.Code) {
        #expect(throws: AuthenticatorMatrixError(code)) { try AuthenticatorMatrix(alternatives) }
        #expect(throws: AuthenticatorMatrixError(code)) {
            try AuthenticatorMatrix(names: alternatives.map { $0.map(\.rawValue) })
        }
    }

    @Test("It is delivered as it was configured, by the names that messages have")
    func delivered() throws {
        let matrix = try AuthenticatorMatrix([[.biometric, .device], [.pin, .device]])
        #expect(matrix.names == [["biometric", "device"], ["pin", "device"]])
        #expect(try AuthenticatorMatrix(names: matrix.names) == matrix)
        #expect(matrix.request(from: [.biometric, .device, .pin]).alternatives == matrix.alternatives)
        #expect(AuthenticatorType.allCases.map(\.rawValue) == ["device", "pin", "biometric", "otp", "yubikey"])
    }

    @Test("Of a later server's matrix what is not known makes its own alternative unusable, and no other")
    func unknown() throws {
        let matrix = try AuthenticatorMatrix(names: [["iris", "device"], ["pin", "device"], ["PIN"]])
        #expect(matrix.alternatives == [[.pin, .device]])
        for names in [[["iris"]], [["pin", "iris"], ["Device"]]] {
            #expect(throws: AuthenticatorMatrixError(.unsupported)) { try AuthenticatorMatrix(names: names) }
        }
        // Reserved types are known, and cannot be met.
        let reserved = try AuthenticatorMatrix(names: [["otp", "device"], ["yubikey"], ["pin", "device"]])
        #expect(reserved.alternatives.count == 3)
        #expect(reserved.request(from: Set(AuthenticatorType.allCases)).alternatives == [[.pin, .device]])
        #expect(reserved.request(from: [.device]).missing == [.otp, .yubikey, .pin])
    }

    @Test("A device is asked for what it can meet; where that is nothing, for everything, and told what is missing")
    func filtered() throws {
        let matrix = try AuthenticatorMatrix([[.biometric, .device], [.pin, .device], [.pin, .biometric]])
        #expect(matrix.request(from: [.pin, .device]).alternatives == [[.pin, .device]])
        #expect(matrix.request(from: [.pin, .device]).missing.isEmpty)
        let all = matrix.request(from: Set(AuthenticatorType.allCases))
        #expect(all.alternatives == matrix.alternatives && all.missing.isEmpty)
        #expect(matrix.request(from: [.device]).alternatives == matrix.alternatives)
        #expect(matrix.request(from: [.device]).missing == [.pin, .biometric])
        #expect(matrix.request(from: []).missing == [.pin, .biometric, .device])
    }

    @Test("A response is one whole alternative; one assertion that is to spare, missing or wrong fails all")
    func judged() throws {
        let table = try Self.table()
        let pin = try Self.pin()
        let matrix = try AuthenticatorMatrix([[.biometric, .device], [.pin, .device], [.pin, .biometric, .device]])
        func alternative(_ assertions: [AuthenticatorMatrix.JudgedAssertion]) -> Int? {
            matrix.alternative(of: assertions, by: table)
        }
        #expect(alternative(Self.valid(Self.finger, Self.device)) == 0)
        #expect(alternative(Self.valid(Self.device, Self.face)) == 0)
        #expect(alternative(Self.valid(Self.device, pin)) == 1)
        #expect(alternative(Self.valid(Self.device, pin, Self.face)) == 2)
        let unknown = try AAID("C516#0EEE")
        for assertions in [
            Self.valid(), Self.valid(pin), Self.valid(Self.device), Self.valid(pin, Self.finger),
            Self.valid(Self.finger),
            Self.valid(pin, Self.device, unknown), Self.valid(unknown), Self.valid(pin, Self.device, pin),
            Self.valid(pin, Self.device, Self.device), Self.valid(Self.finger, Self.face, Self.device),
            Self.valid(Self.finger, Self.face, Self.device, pin),
        ] {
            #expect(alternative(assertions) == nil, "\(assertions.map(\.aaid.text))")
        }
        for right in [Self.valid(pin, Self.device), Self.valid(Self.device, pin, Self.face)] {
            for index in right.indices {
                var wrong = right
                wrong[index].isValid = false
                #expect(alternative(wrong) == nil)
            }
        }
    }

    @Test("A type can be required: of the alternatives that have it, or of all")
    func requiring() throws {
        let matrix = try AuthenticatorMatrix([[.biometric, .device], [.pin, .device]])
        #expect(matrix.requiring(.pin).alternatives == [[.pin, .device]])
        let fingers = try AuthenticatorMatrix([[.biometric, .device], [.biometric]])
        #expect(fingers.requiring(.pin).alternatives == [[.biometric, .device, .pin], [.biometric, .pin]])
        let reserved = try AuthenticatorMatrix([[.pin, .otp], [.biometric], [.biometric, .pin, .yubikey]])
        #expect(
            reserved.requiring(.pin).alternatives == [
                [.pin, .otp], [.biometric, .pin], [.biometric, .pin, .yubikey],
            ])
    }

    @Test("A table has each model once")
    func tables() throws {
        #expect(throws: UAFError(.invalidValue, "")) {
            try AuthenticatorTypeTable([.pin: [Self.finger], .biometric: [Self.finger]])
        }
        #expect(throws: UAFError(.invalidValue, "")) { try AuthenticatorTypeTable([.pin: [Self.finger, Self.finger]]) }
        let table = try Self.table()
        let foreign = try AAID("0000#0000")
        #expect(table.type(of: Self.face) == .biometric && table.type(of: foreign) == nil)
        #expect(table.models(of: .biometric) == [Self.finger, Self.face] && table.models(of: .otp).isEmpty)
    }

    @Test("As a policy it takes any model of its types, and is read back from it")
    func policy() throws {
        let table = try Self.table()
        let matrix = try AuthenticatorMatrix([[.biometric, .device], [.otp], [.pin, .device]])
        let policy = try matrix.policy(by: table)
        #expect(
            policy.accepted.map { $0.map(\.aaid) } == [
                [[Self.finger, Self.face], [Self.device]], [[try Self.pin()], [Self.device]],
            ])
        for criterion in policy.accepted.joined() { try criterion.checkCombination() }
        #expect(
            try AuthenticatorMatrix(folding: policy, by: table).alternatives == [
                [.biometric, .device], [.pin, .device],
            ])
        // A server that names the keys of two devices: one alternative each, and one for the person.
        let key = try KeyID(bytes(32, 1))
        let twice = Policy(accepted: [
            [MatchCriteria(aaid: [Self.finger], keyIDs: [key])], [MatchCriteria(aaid: [Self.face], keyIDs: [key])],
        ])
        #expect(try AuthenticatorMatrix(folding: twice, by: table).alternatives == [[.biometric]])
        for foreign in [
            Policy(accepted: []), Policy(accepted: [[MatchCriteria()]]),
            Policy(accepted: [[MatchCriteria(aaid: [try AAID("0000#0000")])]]),
            Policy(accepted: [[MatchCriteria(aaid: [Self.finger, Self.device])]]),
            Policy(accepted: [[MatchCriteria(aaid: [Self.finger]), MatchCriteria()]]),
        ] {
            #expect(throws: AuthenticatorMatrixError(.unsupported)) {
                try AuthenticatorMatrix(folding: foreign, by: table)
            }
        }
        let none = try AuthenticatorTypeTable([.device: [Self.device]])
        #expect(throws: AuthenticatorMatrixError(.unsupported)) { try matrix.policy(by: none) }
    }
}

@Suite("Founding decision, Strict policies; identity parity 15: any matrix, any device, any response")
struct AuthenticatorMatrixPropertyTests {
    private static func alternatives(_ random: inout SeededGenerator) -> [[AuthenticatorType]] {
        (0..<Int.random(in: 0...5, using: &random)).map { _ in
            (0..<Int.random(in: 0...4, using: &random)).compactMap { _ in
                AuthenticatorType.allCases.randomElement(using: &random)
            }
        }
    }

    private static func subset(_ random: inout SeededGenerator) -> Set<AuthenticatorType> {
        Set(AuthenticatorType.allCases.filter { _ in Bool.random(using: &random) })
    }

    @Test("Of thousands of random configurations, none that is saved ever asks for nothing, or for a silent one alone")
    func neverEmpty() throws {
        var random = SeededGenerator(seed: 21)
        var saved = 0
        while saved < 1000 {
            let configured = Self.alternatives(&random)
            guard let matrix = try? AuthenticatorMatrix(configured) else { continue }
            saved += 1
            for variant in [matrix, matrix.requiring(.pin), try AuthenticatorMatrix(names: matrix.names)] {
                let enrolled = Self.subset(&random)
                let request = variant.request(from: enrolled)
                #expect(!variant.alternatives.isEmpty && !request.alternatives.isEmpty)
                for alternative in variant.alternatives + request.alternatives {
                    #expect(
                        !alternative.isEmpty && alternative != [.device] && Set(alternative).count == alternative.count)
                }
                for alternative in request.alternatives { #expect(variant.alternatives.contains(alternative)) }
                // Either the device can meet all of what it is asked for, or it lacks something for each.
                let canMeet = request.alternatives.map {
                    enrolled.isSuperset(of: $0) && !$0.contains(where: \.isReserved)
                }
                #expect(request.missing.isEmpty ? canMeet.allSatisfy { $0 } : !canMeet.contains(true))
            }
            for alternative in matrix.requiring(.pin).alternatives { #expect(alternative.contains(.pin)) }
        }
    }

    @Test("Responses are judged as the policy's own matcher judges them, but for what is not valid")
    func agreesWithTheMatcher() throws {
        let known = [AuthenticatorModel.Factor.devicePossession, .pin, .fingerprint, .face, .password].map {
            AuthenticatorModel(factor: $0, keyStore: .file)
        }
        let table = try AuthenticatorTypeTable([
            .device: [known[0].aaid], .pin: [known[1].aaid], .biometric: [known[2].aaid, known[3].aaid],
        ])
        var random = SeededGenerator(seed: 22)
        var (accepted, refused) = (0, 0)
        while accepted < 300 || refused < 300 {
            guard let matrix = try? AuthenticatorMatrix(Self.alternatives(&random)),
                let policy = try? matrix.policy(by: table)
            else { continue }
            let answering = (0..<Int.random(in: 0...4, using: &random)).compactMap { _ in
                known.randomElement(using: &random)
            }
            let assertions = answering.map {
                AuthenticatorMatrix.JudgedAssertion(aaid: $0.aaid, isValid: Int.random(in: 0..<6, using: &random) > 0)
            }
            let isRight = assertions.allSatisfy(\.isValid) && !answering.isEmpty
            let selection = PolicyMatcher(policy).selection(needing: answering.map { PolicyCandidate(info: $0.info) })
            let found = matrix.alternative(of: assertions, by: table)
            #expect((found != nil) == (isRight && selection != nil), "\(matrix.names) \(answering.map(\.factor))")
            if let found {
                accepted += 1
                let types = answering.compactMap { table.type(of: $0.aaid) }
                #expect(
                    Set(matrix.alternatives[found]) == Set(types) && types.count == matrix.alternatives[found].count)
            } else {
                refused += 1
            }
        }
    }
}

@Suite("Decision 63: which models are of which type")
struct ProductTypeTests {
    private static let table = AuthenticatorTypeTable.product

    @Test("A device is one wherever its keys are, and so are a finger and a face that nothing stands in for")
    func types() {
        for model in AuthenticatorModel.table {
            let type: AuthenticatorType? =
                switch (model.factor, model.allowsPasscode) {
                case (.devicePossession, _): .device
                case (.fingerprint, false), (.face, false): .biometric
                default: nil
                }
            #expect(Self.table.type(of: model.aaid) == type, "\(model.aaid)")
            #expect(model.type == type)
        }
        #expect(Self.table.models(of: .device).count == 4 && Self.table.models(of: .biometric).count == 8)
        #expect(Self.table.models(of: .otp).isEmpty && Self.table.models(of: .yubikey).isEmpty)
    }

    @Test("The PIN is the one that the server judges, and no model of a device's")
    func pin() throws {
        #expect(ServerPinModel.aaid.text == "C516#0007")
        #expect(Self.table.models(of: .pin) == [ServerPinModel.aaid])
        #expect(Self.table.type(of: ServerPinModel.aaid) == .pin)
        #expect(AuthenticatorModel(aaid: ServerPinModel.aaid) == nil)
        #expect(!ServerPinModel.info.isSilent && !ServerPinModel.info.isSecondFactorOnly)
        #expect(ServerPinModel.info.tcDisplay.isEmpty)
    }

    @Test("Restricted to models, it has no others")
    func restricted() {
        let files = Set(
            AuthenticatorModel.allCases.filter { $0.keyStore == .file }.map(\.aaid) + [ServerPinModel.aaid])
        let table = Self.table.restricted(to: files)
        #expect(table.models(of: .device).count == 1 && table.models(of: .biometric).count == 2)
        #expect(table.models(of: .pin) == [ServerPinModel.aaid])
        let chip = AuthenticatorModel(factor: .devicePossession, keyStore: .tpm).aaid
        #expect(table.type(of: chip) == nil && Self.table.type(of: chip) == .device)
        #expect(Self.table.restricted(to: []).type(of: ServerPinModel.aaid) == nil)
    }
}
