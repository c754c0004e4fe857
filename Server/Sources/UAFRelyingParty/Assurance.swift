import UAF

/// How sure an authentication is (`acr`). The one table of levels.
///
/// | Level | Somebody was verified | Attested: the key is in hardware | … and so is what verifies |
/// |---|---|---|---|
/// | ``oneFactor`` | no | no | |
/// | ``oneFactorInHardware`` | no | yes | |
/// | ``twoFactor`` | yes | yes or no | no |
/// | ``twoFactorInHardware`` | yes | yes | yes |
///
/// A password is one factor, and with a code beside it two: ``oneFactor`` and ``twoFactor``.
public enum AssuranceLevel: String, Hashable, Sendable, CaseIterable {
    /// Possession of a key, which as far as is known is kept in software, or a password.
    case oneFactor = "urn:countersign:acr:one-factor"
    /// Possession of a key that an attestation places in hardware.
    case oneFactorInHardware = "urn:countersign:acr:one-factor-hardware"
    /// Possession of a key, and something known or inherent that unlocked it; or a password and a code.
    case twoFactor = "urn:countersign:acr:two-factor"
    /// Both, by hardware that an attestation vouches for: it keeps the key, and compares what the user gives.
    case twoFactorInHardware = "urn:countersign:acr:two-factor-hardware"

    /// The levels that are as sure as this one in every respect. They have no order: a key in software that a person has
    /// unlocked is not in hardware, and a key in hardware that nobody had to unlock says nothing of a person.
    public var met: [AssuranceLevel] {
        switch self {
        case .oneFactor: [.oneFactor, .oneFactorInHardware, .twoFactor, .twoFactorInHardware]
        case .oneFactorInHardware: [.oneFactorInHardware, .twoFactorInHardware]
        case .twoFactor: [.twoFactor, .twoFactorInHardware]
        case .twoFactorInHardware: [.twoFactorInHardware]
        }
    }

    /// The words of others for levels, with the level of ours that each needs at least: none where nothing that this server
    /// verifies is enough.
    ///
    /// | Word | What it says | What it needs |
    /// |---|---|---|
    /// | AAL1 | possession of what was registered (NIST SP 800-63B, section 4.1) | any level |
    /// | AAL2 | two factors (section 4.2) | a verified person |
    /// | AAL3 | two factors, hardware, and nobody in between (section 4.3) | nothing: a code can be read off another's page |
    /// | IAL1, LOA1 | whoever it says it is (SP 800-63A) | any level |
    /// | IAL2, LOA3 | somebody whose identity was proved by documents | nothing: how an operator knows a person is not known here |
    public static let words: [(name: String, needed: AssuranceLevel?)] =
        AssuranceLevel.allCases.map { ($0.rawValue, $0) } + [
            ("http://idmanagement.gov/ns/assurance/aal/1", .oneFactor),
            ("http://idmanagement.gov/ns/assurance/aal/2", .twoFactor),
            ("http://idmanagement.gov/ns/assurance/aal/3", nil),
            ("http://idmanagement.gov/ns/assurance/ial/1", .oneFactor),
            ("http://idmanagement.gov/ns/assurance/ial/2", nil),
            ("http://idmanagement.gov/ns/assurance/loa/1", .oneFactor),
            ("http://idmanagement.gov/ns/assurance/loa/3", nil),
            ("aal1", .oneFactor), ("aal2", .twoFactor), ("aal3", nil),
            ("ial1", .oneFactor), ("ial2", nil), ("loa1", .oneFactor), ("loa3", nil),
        ]
}

/// How somebody was authenticated: by which methods and how surely, from what was verified.
public struct AuthenticationAssurance: Hashable, Sendable {
    /// `amr`, the names of RFC 8176, none twice: what verified the user, where the keys are kept, `mfa`.
    public let methods: [String]
    /// `acr`.
    public let level: AssuranceLevel

    /// Of the signatures of one response: each method of any counts, and the level is that of the surest.
    public init(_ signatures: some Sequence<SignatureAssurance>) {
        let signatures = Array(signatures)
        let isVerified = signatures.contains(where: \.isUserVerified)
        let keys = [
            (signatures.contains(where: \.isKeyInHardware), "hwk"),
            (signatures.contains { !$0.isKeyInHardware }, "swk"), (isVerified, "mfa"),
        ]
        // Methods are our own words, and none is told twice.
        var seen: Set<String> = []
        self.methods = (signatures.flatMap(\.methods) + keys.filter(\.0).map(\.1)).filter { seen.insert($0).inserted }
        self.level =
            if isVerified {
                signatures.contains { $0.isUserVerified && $0.isVerificationInHardware }
                    ? .twoFactorInHardware : .twoFactor
            } else {
                signatures.contains(where: \.isKeyInHardware) ? .oneFactorInHardware : .oneFactor
            }
    }
}

/// What one verified signature proves about its user and about the place of its key.
///
/// Three things say so, and the least of them counts. The metadata says what the model can do: nothing that it does not
/// name is believed. The attestation of the registration says that the key is of that model: without one whose
/// certificates were verified, the key is in software, whatever the metadata claims. And the authenticator says in what it
/// signed how it verified its user this time (`fido.uaf.uvm`, §15): that takes away and never adds.
public struct SignatureAssurance: Hashable, Sendable {
    /// What verified the user, as RFC 8176 calls it; `user` where it is not known which of several ways it was.
    public let methods: [String]
    /// Whether something known or inherent unlocked the key.
    public let isUserVerified: Bool
    /// Whether an attestation says that the key is kept in hardware.
    public let isKeyInHardware: Bool
    /// Whether it says that of what compares the user's input, too, and of nothing else signing with the key.
    public let isVerificationInHardware: Bool

    init(model: ModelAssurance, isAttested: Bool, told: [UserVerificationMethod]) {
        var ways = model.ways
        if !told.isEmpty {
            let possible = ways.joined().reduce(into: UserVerification()) { $0.formUnion($1) }
            ways = [told.map { $0.userVerification.intersection(possible) }]
        }
        // What is in every way was used whichever it was.
        let certain = ways.dropFirst().reduce(ways.first ?? []) { common, way in common.filter(way.contains) }
        let names = certain.compactMap { VerificationMethod($0)?.name }
        let isSilent = ways.joined().contains { $0.isSilent || $0.isEmpty }
        self.methods = isSilent ? [] : names.isEmpty ? [VerificationMethod.someMethod] : names
        // A model that is made to stand beside another factor verifies nobody by itself.
        self.isUserVerified =
            !isSilent && !model.isSecondFactorOnly
            && ways.allSatisfy { $0.contains(where: VerificationMethod.isFactor) }
        self.isKeyInHardware = isAttested && model.isKeyInHardware && told.allSatisfy(\.keyProtection.isHardware)
        self.isVerificationInHardware =
            self.isKeyInHardware && model.isVerificationInHardware && told.allSatisfy(\.matcherProtection.isHardware)
    }
}

/// What a model's metadata says that assurance rests on (§16).
struct ModelAssurance: Hashable, Sendable {
    /// The ways in which it verifies its user, each a list of methods that are used together.
    let ways: [[UserVerification]]
    let isSecondFactorOnly: Bool
    let isKeyInHardware: Bool
    /// A key that anything on the device may use, and a verification of a moment ago, say nothing of this signature's.
    let isVerificationInHardware: Bool

    init(_ statement: MetadataStatement) {
        self.ways = statement.userVerificationDetails
        self.isSecondFactorOnly = statement.isSecondFactorOnly
        self.isKeyInHardware = statement.keyProtection.isHardware
        self.isVerificationInHardware =
            statement.matcherProtection.isHardware && statement.isKeyRestricted
            && statement.isFreshUserVerificationRequired
    }
}

/// A method of verification (§4.3) in the words of RFC 8176.
private struct VerificationMethod {
    /// `nil`: RFC 8176 has no name for it.
    let name: String?
    /// Whether it is something known or inherent.
    let isFactor: Bool

    /// The user was there, however that was found.
    static let someMethod = "user"

    /// `pin` is what unlocks a key on a device, letters and patterns too; which part of an eye it is, is not told.
    private static let all: [UserVerification: VerificationMethod] = [
        .presence: Self(name: Self.someMethod, isFactor: false), .fingerprint: Self(name: "fpt", isFactor: true),
        .passcode: Self(name: "pin", isFactor: true), .voiceprint: Self(name: "vbm", isFactor: true),
        .faceprint: Self(name: "face", isFactor: true), .location: Self(name: "geo", isFactor: false),
        .eyeprint: Self(name: nil, isFactor: true), .pattern: Self(name: "pin", isFactor: true),
        .handprint: Self(name: nil, isFactor: true), .passcodeExternal: Self(name: "pin", isFactor: true),
        .patternExternal: Self(name: "pin", isFactor: true),
    ]

    private init(name: String?, isFactor: Bool) {
        self.name = name
        self.isFactor = isFactor
    }

    /// `nil` for several methods in one, and for those that are not known.
    init?(_ verification: UserVerification) {
        guard let method = Self.all[verification.subtracting(.all)] else { return nil }
        self = method
    }

    static func isFactor(_ verification: UserVerification) -> Bool { Self(verification)?.isFactor ?? false }
}

extension KeyProtection {
    /// Whether the key never is where software can read it.
    fileprivate var isHardware: Bool {
        !self.isDisjoint(with: [.hardware, .tee, .secureElement]) && !self.contains(.software)
    }
}

extension MatcherProtection {
    /// Whether no software of the device's system compares.
    fileprivate var isHardware: Bool { !self.isDisjoint(with: [.tee, .onChip]) && !self.contains(.software) }
}
