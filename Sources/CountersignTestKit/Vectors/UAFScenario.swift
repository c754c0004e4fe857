public import UAF
public import _Primitives

/// A UAF operation with both its ends, a server and an authenticator in software: any algorithm, key format,
/// attestation and mode, undamaged or with one ``Damage``.
///
/// The type is for authors of verifiers of UAF responses, and for a comparison of two verifiers. ``vector(random:)``
/// returns the request, the response, the server's data, and the verdict. Equal seeds give equal vectors, except for
/// the bytes of ECDSA and RSASSA-PSS signatures, which are random by their nature.
public struct UAFScenario: Sendable {
    /// The order of items with a free order (§3).
    public enum ItemOrder: String, CaseIterable, Sendable {
        /// The order of the standard's list.
        case listed
        /// The reversed order.
        case reversed
    }

    /// Registration or authentication.
    public var operation: UAF.Operation
    /// The algorithm of model, key and signatures.
    public var algorithm: SignatureAlgorithm
    /// The encoding of the public key.
    public var encoding: KeyEncoding
    /// The attestation of a registration: ``AttestationType/basicSurrogate`` or ``AttestationType/basicFull``.
    public var attestation: AttestationType
    /// `true` if an authentication confirms a transaction: mode 2.
    public var confirms: Bool
    /// The order of items within signed data and attestation.
    public var order: ItemOrder
    /// Extensions within the signed data.
    public var extensions: [AssertionExtension]
    /// The single damage; `nil` for none.
    public var damage: Damage?
    /// `true` if a second, undamaged authenticator of another model takes part.
    public var hasCompanion = false

    /// Creates a registration.
    public static func registration(
        _ algorithm: SignatureAlgorithm, _ encoding: KeyEncoding, attestation: AttestationType = .basicSurrogate,
        order: ItemOrder = .listed, extensions: [AssertionExtension] = [], damage: Damage? = nil
    ) -> UAFScenario {
        UAFScenario(
            operation: .registration, algorithm: algorithm, encoding: encoding, attestation: attestation,
            confirms: false, order: order, extensions: extensions, damage: damage)
    }

    /// Creates an authentication, with a transaction if `confirms` is set.
    public static func authentication(
        _ algorithm: SignatureAlgorithm, _ encoding: KeyEncoding, confirms: Bool = false, order: ItemOrder = .listed,
        extensions: [AssertionExtension] = [], damage: Damage? = nil
    ) -> UAFScenario {
        UAFScenario(
            operation: .authentication, algorithm: algorithm, encoding: encoding, attestation: .basicSurrogate,
            confirms: confirms, order: order, extensions: extensions, damage: damage)
    }

    /// All algorithms, each with every encoding of its keys.
    public static let keys: [(algorithm: SignatureAlgorithm, encoding: KeyEncoding)] =
        [SignatureAlgorithm.p256Raw, .p256DER].flatMap { algorithm in
            [KeyEncoding.x962Raw, .x962DER].map { (algorithm, $0) }
        }
        + [SignatureAlgorithm.rsaPSSRaw, .rsaPSSDER, .rsaPKCS1Raw, .rsaPKCS1DER].flatMap { algorithm in
            [KeyEncoding.rsaRaw, .rsaPKCS1, .rsaSubjectPublicKeyInfo].map { (algorithm, $0) }
        }

    /// The committed vectors: every scenario without damage, every damage with one algorithm of each kind of key, and
    /// responses with two assertions. A damage with different results for each algorithm occurs with all six
    /// algorithms.
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

    /// Returns a damage in each operation in which the damage can occur.
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

    /// A name that is unique in ``all``.
    public var id: String {
        var parts = [self.operation.rawValue.lowercased(), self.algorithm.name, self.encoding.rawValue]
        if self.operation == .registration { parts.append(self.attestation == .basicFull ? "full" : "surrogate") }
        if self.confirms { parts.append("transaction") }
        if !self.extensions.isEmpty { parts.append("extended-\(self.order.rawValue)") }
        if self.hasCompanion { parts.append("accompanied") }
        if let damage { parts.append(damage.rawValue) }
        return parts.joined(separator: "-")
    }

    /// Runs the scenario, and returns the vector.
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
    /// A short name of the algorithm, for test vectors.
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
