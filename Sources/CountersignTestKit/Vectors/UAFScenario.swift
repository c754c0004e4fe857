public import UAF
public import _Primitives

/// An operation on both ends, played by a server's and an authenticator's software: any algorithm, key format,
/// attestation and mode, right or with one ``Damage``.
///
/// For whoever verifies UAF responses, and for whoever wants to compare two that do. ``vector(random:)`` gives the request,
/// the response, what the server knows, and the verdict. Equal seeds give equal vectors, except for the bytes of ECDSA
/// and RSASSA-PSS signatures, which are random by their nature.
public struct UAFScenario: Sendable {
    /// In which order items of free order stand (§3).
    public enum ItemOrder: String, CaseIterable, Sendable {
        /// As the standard lists them.
        case listed
        /// The other way round.
        case reversed
    }

    /// Registration or authentication.
    public var operation: UAF.Operation
    /// The algorithm of model, key and signatures.
    public var algorithm: SignatureAlgorithm
    /// How the public key is written.
    public var encoding: KeyEncoding
    /// How a registration is attested: ``AttestationType/basicSurrogate`` or ``AttestationType/basicFull``.
    public var attestation: AttestationType
    /// Whether an authentication confirms a transaction: mode 2.
    public var confirms: Bool
    /// The order of items within signed data and attestation.
    public var order: ItemOrder
    /// Extensions within the signed data.
    public var extensions: [AssertionExtension]
    /// The one thing that is wrong.
    public var damage: Damage?
    /// Whether a second authenticator of another model takes part, with nothing wrong.
    public var hasCompanion = false

    /// A registration.
    public static func registration(
        _ algorithm: SignatureAlgorithm, _ encoding: KeyEncoding, attestation: AttestationType = .basicSurrogate,
        order: ItemOrder = .listed, extensions: [AssertionExtension] = [], damage: Damage? = nil
    ) -> UAFScenario {
        UAFScenario(
            operation: .registration, algorithm: algorithm, encoding: encoding, attestation: attestation,
            confirms: false, order: order, extensions: extensions, damage: damage)
    }

    /// An authentication; with `confirms` of a transaction.
    public static func authentication(
        _ algorithm: SignatureAlgorithm, _ encoding: KeyEncoding, confirms: Bool = false, order: ItemOrder = .listed,
        extensions: [AssertionExtension] = [], damage: Damage? = nil
    ) -> UAFScenario {
        UAFScenario(
            operation: .authentication, algorithm: algorithm, encoding: encoding, attestation: .basicSurrogate,
            confirms: confirms, order: order, extensions: extensions, damage: damage)
    }

    /// Every algorithm with every way to write its keys.
    public static let keys: [(algorithm: SignatureAlgorithm, encoding: KeyEncoding)] =
        [SignatureAlgorithm.p256Raw, .p256DER].flatMap { algorithm in
            [KeyEncoding.x962Raw, .x962DER].map { (algorithm, $0) }
        }
        + [SignatureAlgorithm.rsaPSSRaw, .rsaPSSDER, .rsaPKCS1Raw, .rsaPKCS1DER].flatMap { algorithm in
            [KeyEncoding.rsaRaw, .rsaPKCS1, .rsaSubjectPublicKeyInfo].map { (algorithm, $0) }
        }

    /// Every scenario without damage, every damage with one algorithm of each kind of key, what comes out otherwise for
    /// each algorithm with all six, and responses of two assertions: the committed vectors.
    public static var all: [UAFScenario] {
        var scenarios: [UAFScenario] = []
        for (algorithm, encoding) in self.keys {
            for attestation in [AttestationType.basicSurrogate, .basicFull] {
                scenarios.append(.registration(algorithm, encoding, attestation: attestation))
            }
            for confirms in [false, true] {
                scenarios.append(.authentication(algorithm, encoding, confirms: confirms))
            }
        }
        let harmless = AssertionExtension(id: "com.example.harmless", data: [1, 2, 3], isCritical: false)
        for order in ItemOrder.allCases {
            scenarios += [
                .registration(.p256Raw, .x962Raw, order: order, extensions: [harmless]),
                .registration(.p256DER, .x962DER, attestation: .basicFull, order: order, extensions: [harmless]),
                .authentication(.rsaPSSRaw, .rsaRaw, confirms: true, order: order, extensions: [harmless]),
            ]
        }
        let families: [(SignatureAlgorithm, KeyEncoding)] = [
            (.p256Raw, .x962Raw), (.rsaPSSRaw, .rsaPKCS1), (.rsaPKCS1DER, .rsaSubjectPublicKeyInfo),
        ]
        for (algorithm, encoding) in families {
            scenarios += Damage.allCases.flatMap { Self.damaged($0, algorithm, encoding) }
        }
        let siblings: [(SignatureAlgorithm, KeyEncoding)] = [
            (.p256DER, .x962DER), (.rsaPSSDER, .rsaSubjectPublicKeyInfo), (.rsaPKCS1Raw, .rsaPKCS1),
        ]
        for (algorithm, encoding) in siblings {
            scenarios += Damage.allCases.filter(\.isOfAlgorithm).flatMap { Self.damaged($0, algorithm, encoding) }
        }
        let accompanied =
            [.registration(.p256Raw, .x962Raw), .authentication(.p256Raw, .x962Raw)]
            + Damage.besideCompanion.flatMap { Self.damaged($0, .p256Raw, .x962Raw) }
        return scenarios
            + accompanied.map { scenario in
                var scenario = scenario
                scenario.hasCompanion = true
                return scenario
            }
    }

    /// A damage in each operation that it can happen in.
    private static func damaged(_ damage: Damage, _ algorithm: SignatureAlgorithm, _ encoding: KeyEncoding)
        -> [UAFScenario]
    {
        guard damage.applies(to: algorithm) else { return [] }
        return [UAF.Operation.registration, .authentication].filter(damage.operations.contains).map { operation in
            operation == .registration
                ? .registration(
                    algorithm, encoding, attestation: damage.isOfChain ? .basicFull : .basicSurrogate, damage: damage)
                : .authentication(algorithm, encoding, confirms: damage.needsTransaction, damage: damage)
        }
    }

    /// A name that no other scenario of ``all`` has.
    public var id: String {
        var parts = [self.operation.rawValue.lowercased(), self.algorithm.name, self.encoding.rawValue]
        if self.operation == .registration { parts.append(self.attestation == .basicFull ? "full" : "surrogate") }
        if self.confirms { parts.append("transaction") }
        if !self.extensions.isEmpty { parts.append("extended-\(self.order.rawValue)") }
        if self.hasCompanion { parts.append("accompanied") }
        if let damage { parts.append(damage.rawValue) }
        return parts.joined(separator: "-")
    }

    /// Plays the scenario.
    public func vector(random: RandomSource) throws -> TestVector {
        var draft = try AssertionDraft(self, random: random)
        try self.damage?.apply(to: &draft)
        if self.hasCompanion {
            draft.companions = [
                try AssertionDraft(
                    self.operation == .registration
                        ? .registration(.p256DER, .x962DER) : .authentication(.p256DER, .x962DER), random: random)
            ]
        }
        return TestVector(
            id: self.id, title: self.title, operation: self.operation, damage: self.damage?.rawValue,
            metadata: draft.metadata + draft.companions.flatMap(\.metadata), revoked: draft.revoked,
            revocations: draft.revocations, trustedFacets: draft.trustedFacets,
            serverEndPoints: draft.serverEndPoints, time: "2026-06-01T00:00:00Z", account: AssertionDraft.account,
            registered: draft.registered + draft.companions.flatMap(\.registered), request: try draft.request(),
            response: try draft.response(),
            status: self.damage?.status ?? .ok, step: self.damage?.step)
    }

    private var title: String {
        let operation =
            self.operation == .registration
            ? "registration with \(self.attestation == .basicFull ? "full" : "surrogate") attestation"
            : self.confirms ? "confirmation of a transaction" : "authentication"
        return "\(self.algorithm.name), key \(self.encoding.rawValue), \(operation)"
            + (self.extensions.isEmpty ? "" : ", an unknown extension, items \(self.order.rawValue)")
            + (self.hasCompanion ? ", a second authenticator beside it" : "")
            + (self.damage.map { ": \($0.words)" } ?? "")
    }
}

extension SignatureAlgorithm {
    /// A short name for the algorithms of test vectors.
    var name: String {
        switch self {
        case .p256Raw: "p256-raw"
        case .p256DER: "p256-der"
        case .rsaPSSRaw: "pss-raw"
        case .rsaPSSDER: "pss-der"
        case .rsaPKCS1Raw: "pkcs1-raw"
        case .rsaPKCS1DER: "pkcs1-der"
        default: "alg-\(self.rawValue)"
        }
    }
}
