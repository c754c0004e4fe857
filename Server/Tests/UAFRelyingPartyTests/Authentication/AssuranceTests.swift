import Testing
import UAF
import UAFRelyingParty
import _Primitives

/// A change to a scene in which everything says hardware, and what comes of it.
private struct Case: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let methods: [String]
    let level: AssuranceLevel
    let change: @Sendable (inout Scene) throws -> Void

    init(
        _ name: String, _ methods: [String], _ level: AssuranceLevel,
        _ change: @escaping @Sendable (inout Scene) throws -> Void
    ) {
        self.testDescription = name
        (self.methods, self.level, self.change) = (methods, level, change)
    }
}

/// A change to the metadata's ways of verification.
private func ways(_ ways: [[UserVerification]]) -> @Sendable (inout Scene) throws -> Void {
    { try $0.changeStatement { $0.userVerificationDetails = ways } }
}

/// What the authenticator says of this time: method, key protection and matcher protection, little-endian.
private func told(_ methods: UserVerification..., key: KeyProtection = .hardware, matcher: MatcherProtection = .tee)
    -> [AssertionExtension]
{
    func little(_ value: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }
    let data = methods.flatMap { little($0.rawValue) + little(key.rawValue) + little(matcher.rawValue) }
    return [AssertionExtension(id: AssertionExtension.userVerificationMethodsID, data: data, isCritical: false)]
}

@Suite("uaf-sections §4.3, §15 and §16, RFC 8176: what an authentication proves, by what was verified")
struct AssuranceTests {
    /// The evidence of one certificate.
    private static func evidence() throws -> AttestationEvidence {
        try AttestationEvidence(stored: [1, 3] + bytes(32))
    }

    /// A key that certificates attested, of a model whose metadata says hardware of everything.
    private static func scene() throws -> Scene {
        var scene = try Scene.authentication()
        scene.credentials[0].attestation = try Self.evidence()
        try scene.changeStatement {
            $0.userVerificationDetails = [[.fingerprint]]
            $0.keyProtection = [.hardware, .tee]
            $0.matcherProtection = .tee
            $0.isKeyRestricted = true
        }
        return scene
    }

    private static let all = ["fpt", "hwk", "mfa"]

    private static let cases: [Case] = [
        Case("all in hardware", all, .twoFactorInHardware) { _ in },
        // The attestation.
        Case("surrogate attestation", ["fpt", "swk", "mfa"], .twoFactor) {
            $0.credentials[0].attestation = AttestationEvidence()
        },
        // Where the key is kept.
        Case("a key in software", ["fpt", "swk", "mfa"], .twoFactor) {
            try $0.changeStatement { $0.keyProtection = .software }
        },
        Case("a secure element", all, .twoFactorInHardware) {
            try $0.changeStatement { $0.keyProtection = [.hardware, .secureElement] }
        },
        Case("hardware and software", ["fpt", "swk", "mfa"], .twoFactor) {
            try $0.changeStatement { $0.keyProtection = [.hardware, .software] }
        },
        Case("a remote handle alone", ["fpt", "swk", "mfa"], .twoFactor) {
            try $0.changeStatement { $0.keyProtection = .remoteHandle }
        },
        // What compares.
        Case("a matcher in software", all, .twoFactor) {
            try $0.changeStatement { $0.matcherProtection = .software }
        },
        Case("a matcher on the chip", all, .twoFactorInHardware) {
            try $0.changeStatement { $0.matcherProtection = .onChip }
        },
        Case("a key that anything may use", all, .twoFactor) { try $0.changeStatement { $0.isKeyRestricted = false } },
        Case("a verification of a moment ago", all, .twoFactor) {
            try $0.changeStatement { $0.isFreshUserVerificationRequired = false }
        },
        // What verifies.
        Case("a passcode", ["pin", "hwk", "mfa"], .twoFactorInHardware, ways([[.passcode]])),
        Case("a pattern", ["pin", "hwk", "mfa"], .twoFactorInHardware, ways([[.pattern]])),
        Case("a voice", ["vbm", "hwk", "mfa"], .twoFactorInHardware, ways([[.voiceprint]])),
        Case("a face", ["face", "hwk", "mfa"], .twoFactorInHardware, ways([[.faceprint]])),
        Case("an eye, of which part is not told", ["user", "hwk", "mfa"], .twoFactorInHardware, ways([[.eyeprint]])),
        Case("a hand", ["user", "hwk", "mfa"], .twoFactorInHardware, ways([[.handprint]])),
        Case("presence is no factor", ["user", "hwk"], .oneFactorInHardware, ways([[.presence]])),
        Case("nor is a place", ["geo", "hwk"], .oneFactorInHardware, ways([[.location]])),
        Case("two together", ["fpt", "pin", "hwk", "mfa"], .twoFactorInHardware, ways([[.fingerprint, .passcode]])),
        Case(
            "one of two, which is not told", ["user", "hwk", "mfa"], .twoFactorInHardware,
            ways([[.fingerprint], [.passcode]])),
        Case(
            "one of two that have one in common", ["pin", "hwk", "mfa"], .twoFactorInHardware,
            ways([[.fingerprint, .passcode], [.passcode, .faceprint]])),
        Case("two that have one name", ["pin", "hwk", "mfa"], .twoFactorInHardware, ways([[.passcode, .pattern]])),
        Case("a matcher in hardware that is in software, too", all, .twoFactor) {
            try $0.changeStatement { $0.matcherProtection = [.tee, .software] }
        },
        Case("a factor or presence", ["user", "hwk"], .oneFactorInHardware, ways([[.fingerprint], [.presence]])),
        Case("a method that nobody knows", ["user", "hwk"], .oneFactorInHardware, ways([[.init(rawValue: 0x8000)]])),
        Case("a model for second factors alone", ["fpt", "hwk"], .oneFactorInHardware) {
            try $0.changeStatement { $0.isSecondFactorOnly = true }
        },
        // What is told of this time.
        Case("told: one of two", ["fpt", "hwk", "mfa"], .twoFactorInHardware) {
            try ways([[.fingerprint], [.passcode]])(&$0)
            $0.keys[0].signedExtensions = told(.fingerprint)
        },
        Case("told: presence, of a model that has it", ["user", "hwk"], .oneFactorInHardware) {
            try ways([[.fingerprint, .presence]])(&$0)
            $0.keys[0].signedExtensions = told(.presence)
        },
        Case("told: what the model cannot do", ["hwk"], .oneFactorInHardware) {
            $0.keys[0].signedExtensions = told(.faceprint)
        },
        Case("told: what it can and what it cannot", ["hwk"], .oneFactorInHardware) {
            $0.keys[0].signedExtensions = told(.fingerprint, .faceprint)
        },
        Case("told: nobody", ["hwk"], .oneFactorInHardware) { $0.keys[0].signedExtensions = told(.none) },
        Case("told: a key in software", ["fpt", "swk", "mfa"], .twoFactor) {
            $0.keys[0].signedExtensions = told(.fingerprint, key: .software)
        },
        Case("told: a matcher in software", all, .twoFactor) {
            $0.keys[0].signedExtensions = told(.fingerprint, matcher: .software)
        },
        Case("told: more than the metadata says", ["fpt", "swk", "mfa"], .twoFactor) {
            try $0.changeStatement {
                $0.keyProtection = .software
                $0.matcherProtection = .software
            }
            $0.keys[0].signedExtensions = told(.fingerprint, key: .secureElement, matcher: .onChip)
        },
        Case("told, but not signed", all, .twoFactorInHardware) { $0.keys[0].unsignedExtensions = told(.none) },
        Case("told in a form that is not read", all, .twoFactorInHardware) {
            $0.keys[0].signedExtensions = [
                AssertionExtension(id: AssertionExtension.userVerificationMethodsID, data: [1], isCritical: false)
            ]
        },
    ]

    @Test("The least of attestation, metadata and what was told counts", arguments: cases)
    private func assurance(of made: Case) throws {
        var scene = try Self.scene()
        try made.change(&scene)
        let verified = try scene.verifyAuthentication()
        #expect(verified.assurance.methods == made.methods)
        #expect(verified.assurance.level == made.level)
    }

    @Test("Two keys: every method of either, and the level of the surer one; a silent key verifies nobody")
    func twoKeys() throws {
        func assurance(_ change: (inout Scene) throws -> Void) throws -> AuthenticationAssurance {
            var scene = try Scene.authentication(
                try SoftwareKey(Names.pin, 1), try SoftwareKey(Names.silent, 2))
            try change(&scene)
            return try scene.verifyAuthentication().assurance
        }
        let software = try assurance { _ in }
        #expect(software.methods == ["pin", "swk", "mfa"] && software.level == .twoFactor)
        // Only the device's key is in hardware: a thief who copies the other's file can guess the PIN.
        let mixed = try assurance {
            $0.credentials[1].attestation = try Self.evidence()
            var silent = try #require($0.configuration.metadata[Names.silent])
            silent.keyProtection = .hardware
            // What compares nothing compares nothing in hardware either.
            silent.matcherProtection = .tee
            silent.isKeyRestricted = true
            silent.isFreshUserVerificationRequired = true
            $0.configuration.metadata.add(silent)
        }
        #expect(mixed.methods == ["pin", "hwk", "swk", "mfa"] && mixed.level == .twoFactor)
    }

    @Test("Every level has a name of its own, and none is reached by the product's own models beyond software")
    func levels() throws {
        #expect(Set(AssuranceLevel.allCases.map(\.rawValue)).count == AssuranceLevel.allCases.count)
        #expect(AssuranceLevel.allCases.allSatisfy { $0.rawValue.hasPrefix("urn:countersign:acr:") })
        for model in AuthenticatorModel.allCases where model.factor != .devicePossession {
            var scene = try Scene.authentication(try SoftwareKey(model.aaid))
            // A certificate makes no software hardware. A key in a chip attests itself, without a certificate.
            if model.keyStore == .file { scene.credentials[0].attestation = try Self.evidence() }
            #expect(model.info.attestationTypes == [.basicSurrogate])
            let assurance = try scene.verifyAuthentication().assurance
            #expect(assurance.level == .twoFactor && assurance.methods.contains("swk"))
        }
    }

    @Test("A level is met by those that are as sure in every respect, and by no others")
    func whatMeetsALevel() {
        let met = AssuranceLevel.allCases.map { level in AssuranceLevel.allCases.map(level.met.contains) }
        #expect(
            met == [
                // By one factor, one in hardware, two factors, two in hardware.
                [true, true, true, true], [false, true, false, true], [false, false, true, true],
                [false, false, false, true],
            ])
    }

    @Test("The words of others are met by what was verified, and those about documents and about AAL3 by nothing")
    func words() {
        #expect(Set(AssuranceLevel.words.map(\.name)).count == AssuranceLevel.words.count)
        func needed(_ suffix: String) -> [AssuranceLevel?] {
            AssuranceLevel.words.filter { $0.name.hasSuffix(suffix) }.map(\.needed)
        }
        for name in ["aal/1", "aal1", "ial/1", "ial1", "loa/1", "loa1"] { #expect(needed(name) == [.oneFactor]) }
        for name in ["aal/2", "aal2"] { #expect(needed(name) == [.twoFactor]) }
        for name in ["aal/3", "aal3", "ial/2", "ial2", "loa/3", "loa3"] { #expect(needed(name) == [nil]) }
        for level in AssuranceLevel.allCases { #expect(needed(level.rawValue) == [level]) }
    }
}
