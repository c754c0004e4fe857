import UAF

/// The assurance of an authentication (`acr`). This is the only table of levels.
///
/// | Level | Person verified | Attested: the key is in hardware | Attested: the verification is in hardware |
/// |---|---|---|---|
/// | ``oneFactor`` | no | no | |
/// | ``oneFactorInHardware`` | no | yes | |
/// | ``twoFactor`` | yes | yes or no | no |
/// | ``twoFactorInHardware`` | yes | yes | yes |
///
/// A password is one factor, and a password with a code is two factors: ``oneFactor`` and ``twoFactor``.
public enum AssuranceLevel: String, Hashable, Sendable, CaseIterable {
    /// Possession of a key that may be kept in software, or knowledge of a password.
    case oneFactor = "urn:countersign:acr:one-factor"
    /// Possession of a key that an attestation places in hardware.
    case oneFactorInHardware = "urn:countersign:acr:one-factor-hardware"
    /// Possession of a key, with something known or inherent that unlocked the key; or a password and a code.
    case twoFactor = "urn:countersign:acr:two-factor"
    /// Two factors by attested hardware: the hardware keeps the key, and compares the user's input.
    case twoFactorInHardware = "urn:countersign:acr:two-factor-hardware"

    /// The levels that are at least as sure as this level in every respect. The levels have no linear order. A key in
    /// software that a person has unlocked is not in hardware. A key in hardware that nobody had to unlock proves
    /// nothing about a person.
    public var met: [AssuranceLevel] {
        switch self {
        case .oneFactor: [.oneFactor, .oneFactorInHardware, .twoFactor, .twoFactorInHardware]
        case .oneFactorInHardware: [.oneFactorInHardware, .twoFactorInHardware]
        case .twoFactor: [.twoFactor, .twoFactorInHardware]
        case .twoFactorInHardware: [.twoFactorInHardware]
        }
    }

    /// Other parties' words for levels, with the required level of this server; `nil` if nothing that this server
    /// verifies is enough.
    ///
    /// | Word | Meaning | Requirement |
    /// |---|---|---|
    /// | AAL1 | possession of a registered authenticator (NIST SP 800-63B, section 4.1) | any level |
    /// | AAL2 | two factors (section 4.2) | a verified person |
    /// | AAL3 | two factors, hardware, nobody in between (section 4.3) | out of reach: another page can show the code |
    /// | IAL1, LOA1 | a self-asserted identity (SP 800-63A) | any level |
    /// | IAL2, LOA3 | an identity proved by documents | out of reach: the operator's knowledge of people is unknown |
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

/// The methods and the level of a person's authentication, derived from the verified signatures.
public struct AuthenticationAssurance: Hashable, Sendable {
    /// `amr`, without repetitions, in the names of RFC 8176: the methods that verified the user, the storage of the
    /// keys, `mfa`.
    public let methods: [String]
    /// `acr`, the level.
    public let level: AssuranceLevel

    /// The assurance of the same authentication as one factor: the level without the verification of a person, and the
    /// methods without `mfa`.
    public var asOneFactor: AuthenticationAssurance {
        let level: AssuranceLevel =
            switch self.level {
            case .oneFactor, .twoFactor: .oneFactor
            case .oneFactorInHardware, .twoFactorInHardware: .oneFactorInHardware
            }
        return AuthenticationAssurance(methods: self.methods.filter { $0 != "mfa" }, level: level)
    }

    private init(methods: [String], level: AssuranceLevel) {
        self.methods = methods
        self.level = level
    }

    /// Derives the assurance from the signatures of one response. The methods of all signatures count, and the level is
    /// the level of the surest signature. A verified person is surer than a key in hardware.
    public init(_ signatures: some Sequence<SignatureAssurance>) {
        let signatures = Array(signatures)
        let isVerified = signatures.contains(where: \.isUserVerified)
        let keys = [
            (signatures.contains(where: \.isKeyInHardware), "hwk"),
            (signatures.contains { !$0.isKeyInHardware }, "swk"), (isVerified, "mfa"),
        ]
        // The names of methods are our own words, and no name is repeated.
        var seen: Set<String> = []  // check: unicode-words
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

/// The facts that one verified signature proves about its user and about the storage of its key.
///
/// Three sources count, and the weakest decides. The metadata names the model's abilities: an ability outside the
/// metadata does not count. The registration's attestation proves that the key belongs to the model: without a verified
/// attestation certificate, the key counts as a key in software, whatever the metadata claims. The authenticator may
/// sign how it verified its user this time (`fido.uaf.uvm`, §15): this source can reduce the assurance but never raise
/// it.
public struct SignatureAssurance: Hashable, Sendable {
    /// The methods that verified the user, in the names of RFC 8176; `user` if the authenticator may have used any of
    /// several methods.
    public let methods: [String]
    /// `true` if something known or inherent unlocked the key.
    public let isUserVerified: Bool
    /// `true` if an attestation proves that the key is kept in hardware.
    public let isKeyInHardware: Bool
    /// `true` if an attestation proves the same for the comparison of the user's input, and proves that nothing else
    /// signs with the key.
    public let isVerificationInHardware: Bool

    init(model: ModelAssurance, isAttested: Bool, told: [UserVerificationMethod]) {
        var ways = model.ways
        if !told.isEmpty {
            let possible = ways.joined().reduce(into: UserVerification()) { $0.formUnion($1) }
            ways = [told.map { $0.userVerification.intersection(possible) }]
        }
        // A method that is part of every way was used in any case.
        let certain = ways.dropFirst().reduce(ways.first ?? []) { common, way in common.filter(way.contains) }
        let names = certain.compactMap { VerificationMethod($0)?.name }
        let isSilent = ways.joined().contains { $0.isSilent || $0.isEmpty }
        self.methods = isSilent ? [] : names.isEmpty ? [VerificationMethod.someMethod] : names
        // A model made only as a second factor verifies nobody alone.
        self.isUserVerified =
            !isSilent && !model.isSecondFactorOnly
            && ways.allSatisfy { $0.contains(where: VerificationMethod.isFactor) }
        self.isKeyInHardware = isAttested && model.isKeyInHardware && told.allSatisfy(\.keyProtection.isHardware)
        self.isVerificationInHardware =
            self.isKeyInHardware && model.isVerificationInHardware && told.allSatisfy(\.matcherProtection.isHardware)
    }
}

/// The statements in a model's metadata that determine assurance (§16).
struct ModelAssurance: Hashable, Sendable {
    /// The ways in which the model verifies its user. Each way is a list of methods that are used together.
    let ways: [[UserVerification]]
    let isSecondFactorOnly: Bool
    let isKeyInHardware: Bool
    /// `true` if the metadata proves a verification in hardware for this signature. An unrestricted key and an earlier
    /// verification prove nothing about this signature.
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
    /// The name; `nil` if RFC 8176 has no name for the method.
    let name: String?
    /// `true` if the method checks something known or inherent.
    let isFactor: Bool

    /// The name for a user's presence, detected in any way.
    static let someMethod = "user"

    /// The table of methods. `pin` stands for everything that a user enters to unlock a key on a device, also letters
    /// and patterns. The names do not distinguish parts of an eye.
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

    /// Finds the method; `nil` for several methods in one value, and for unknown methods.
    init?(_ verification: UserVerification) {
        guard let method = Self.all[verification.subtracting(.all)] else { return nil }
        self = method
    }

    static func isFactor(_ verification: UserVerification) -> Bool { Self(verification)?.isFactor ?? false }
}

extension KeyProtection {
    /// `true` if software can never read the key.
    fileprivate var isHardware: Bool {
        !self.isDisjoint(with: [.hardware, .tee, .secureElement]) && !self.contains(.software)
    }
}

extension MatcherProtection {
    /// `true` if no software of the device's system compares the input.
    fileprivate var isHardware: Bool { !self.isDisjoint(with: [.tee, .onChip]) && !self.contains(.software) }
}
