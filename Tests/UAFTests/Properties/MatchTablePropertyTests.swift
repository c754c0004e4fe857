import Testing
import UAF

/// The table of §2.2 a second time: a row a member, with numbers in place of this product's types.
private struct MatchTable {
    let info: AuthenticatorInfo
    let keyIDs: Set<KeyID>

    private func shares(_ wanted: UInt32?, _ own: UInt32) -> Bool { wanted.map { $0 & own != 0 } ?? true }

    private func verifies(_ wanted: UInt32?) -> Bool {
        guard let wanted else { return true }
        let own = self.info.userVerification.rawValue
        let all: UInt32 = 0x400
        return wanted == own || (wanted & all == 0 && own & all == 0 && wanted & own != 0)
    }

    func rows(_ criteria: MatchCriteria) -> [Bool] {
        let aaid = self.info.aaid.text
        return [
            criteria.aaid.map { $0.map(\.text).contains(aaid) } ?? true,
            criteria.vendorID.map { $0.map { $0.uppercased() }.contains(String(aaid.prefix(4))) } ?? true,
            criteria.keyIDs.map { !self.keyIDs.isDisjoint(with: $0) } ?? true,
            self.verifies(criteria.userVerification?.rawValue),
            self.shares(criteria.keyProtection.map { UInt32($0.rawValue) }, UInt32(self.info.keyProtection.rawValue)),
            self.shares(
                criteria.matcherProtection.map { UInt32($0.rawValue) }, UInt32(self.info.matcherProtection.rawValue)),
            self.shares(criteria.attachmentHint?.rawValue, self.info.attachmentHint.rawValue),
            self.shares(criteria.tcDisplay.map { UInt32($0.rawValue) }, UInt32(self.info.tcDisplay.rawValue)),
            criteria.authenticationAlgorithms.map {
                $0.map(\.rawValue).contains(self.info.authenticationAlgorithm.rawValue)
            } ?? true,
            criteria.assertionSchemes.map { $0.map(\.rawValue).contains(self.info.assertionScheme.rawValue) } ?? true,
            criteria.attestationTypes.map { wanted in
                self.info.attestationTypes.contains { own in wanted.contains { $0.rawValue == own.rawValue } }
            } ?? true,
            criteria.authenticatorVersion.map { $0 <= self.info.authenticatorVersion ?? .max } ?? true,
            !criteria.extensions.contains { $0.failIfUnknown },
        ]
    }
}

@Suite("uaf-sections §2.2: match criteria against the table's rows, said a second time")
struct MatchTablePropertyTests {
    private static func some<Value>(_ random: inout SeededGenerator, _ make: (inout SeededGenerator) throws -> Value)
        rethrows -> Value?
    {
        Bool.random(using: &random) ? try make(&random) : nil
    }

    private static func aaid(_ random: inout SeededGenerator) throws -> AAID {
        try AAID(
            "\(["C516", "ffff", "AbCd"].randomElement(using: &random) ?? "")#000\(Int.random(in: 0...2, using: &random))"
        )
    }

    private static func key(_ random: inout SeededGenerator) throws -> KeyID {
        try KeyID(bytes(32, UInt8.random(in: 0...3, using: &random)))
    }

    private static func info(_ random: inout SeededGenerator) throws -> AuthenticatorInfo {
        AuthenticatorInfo(
            aaid: try self.aaid(&random),
            authenticatorVersion: self.some(&random) { UInt16.random(in: 0...3, using: &$0) },
            assertionScheme: AssertionScheme(rawValue: Bool.random(using: &random) ? "UAFV1TLV" : "WAV1CBOR"),
            authenticationAlgorithm: SignatureAlgorithm(rawValue: UInt16.random(in: 1...9, using: &random)),
            attestationTypes: [.basicFull, .basicSurrogate].shuffled(using: &random)
                .prefix(Int.random(in: 0...2, using: &random)).map { $0 },
            userVerification: UserVerification(rawValue: UInt32.random(in: 0...0xFFF, using: &random)),
            keyProtection: KeyProtection(rawValue: UInt16.random(in: 0...0x1F, using: &random)),
            matcherProtection: MatcherProtection(rawValue: UInt16.random(in: 0...7, using: &random)),
            attachmentHint: AttachmentHint(rawValue: UInt32.random(in: 0...0x1FF, using: &random)),
            tcDisplay: TransactionConfirmationDisplay(rawValue: UInt16.random(in: 0...0x1F, using: &random)),
            isSecondFactorOnly: Bool.random(using: &random))
    }

    /// Criteria of few members, so that they often match.
    private static func criteria(_ random: inout SeededGenerator) throws -> MatchCriteria {
        var criteria = MatchCriteria()
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            switch Int.random(in: 0...12, using: &random) {
            case 0: criteria.aaid = [try self.aaid(&random), try self.aaid(&random)]
            case 1: criteria.vendorID = [["c516", "FFFF", "abcd"].randomElement(using: &random) ?? ""]
            case 2: criteria.keyIDs = [try self.key(&random), try self.key(&random)]
            case 3: criteria.userVerification = UserVerification(rawValue: UInt32.random(in: 0...0xFFF, using: &random))
            case 4: criteria.keyProtection = KeyProtection(rawValue: UInt16.random(in: 0...0x1F, using: &random))
            case 5: criteria.matcherProtection = MatcherProtection(rawValue: UInt16.random(in: 0...7, using: &random))
            case 6: criteria.attachmentHint = AttachmentHint(rawValue: UInt32.random(in: 0...0x1FF, using: &random))
            case 7:
                criteria.tcDisplay = TransactionConfirmationDisplay(
                    rawValue: UInt16.random(in: 0...0x1F, using: &random))
            case 8:
                criteria.authenticationAlgorithms = (0..<3).map { _ in
                    SignatureAlgorithm(rawValue: UInt16.random(in: 1...9, using: &random))
                }
            case 9: criteria.assertionSchemes = [.uafV1TLV]
            case 10: criteria.attestationTypes = [Bool.random(using: &random) ? .basicFull : .basicSurrogate]
            case 11: criteria.authenticatorVersion = UInt16.random(in: 0...3, using: &random)
            default:
                criteria.extensions = [
                    Extension(id: "com.example.one", data: "", failIfUnknown: Bool.random(using: &random))
                ]
            }
        }
        return criteria
    }

    @Test("A candidate matches when, and only when, every row says so")
    func rows() throws {
        var random = SeededGenerator(seed: 20)
        var (matching, failing) = (0, [Int: Int]())
        for _ in 0..<5000 {
            let info = try Self.info(&random)
            let keyIDs = Set(try (0..<2).map { _ in try Self.key(&random) })
            let criteria = try Self.criteria(&random)
            let rows = MatchTable(info: info, keyIDs: keyIDs).rows(criteria)
            #expect(
                criteria.matches(PolicyCandidate(info: info, keyIDs: keyIDs)) == rows.allSatisfy { $0 },
                "\(criteria) and \(info)")
            matching += rows.allSatisfy { $0 } ? 1 : 0
            for (row, holds) in rows.enumerated() where !holds { failing[row, default: 0] += 1 }
        }
        // Every row has decided, and so has their agreement.
        #expect(matching > 500 && failing.count == 13)
    }
}
