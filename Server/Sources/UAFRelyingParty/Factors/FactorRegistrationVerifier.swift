public import UAF
public import _Primitives

/// What a ceremony of a personalised identity has asked a device to register.
public struct ExpectedFactorRegistration: Sendable {
    /// The challenge. The caller consumes it, once, before it accepts anything.
    public var challenge: Challenge
    /// The AppID of the request; empty: the caller's facetID stands for it.
    public var appID: String
    /// The name of the account at the client.
    public var username: String
    /// The types that have to be there, each once: device and PIN of a new activation, the PIN alone where it is changed.
    public var required: Set<AuthenticatorType>
    /// The types that may be there beside them.
    public var optional: Set<AuthenticatorType>

    /// Keeps what was asked for.
    public init(
        challenge: Challenge, appID: String, username: String, required: Set<AuthenticatorType>,
        optional: Set<AuthenticatorType> = []
    ) {
        self.challenge = challenge
        self.appID = appID
        self.username = username
        self.required = required
        self.optional = optional
    }
}

/// New factors whose every rule was checked. Only ``FactorRegistrationVerifier`` makes them.
///
/// The public key of the PIN is never to be written unsealed, and its registration not to be kept: whoever has both and the
/// phone's storage can try PINs.
public struct VerifiedFactorRegistration: Sendable {
    private let factors: [AuthenticatorType: VerifiedRegistration.Key]
    /// Who called the client.
    public let facetID: FacetID

    init(_ factors: [AuthenticatorType: VerifiedRegistration.Key], facetID: FacetID) {
        self.factors = factors
        self.facetID = facetID
    }

    /// Which factors there are.
    public var types: Set<AuthenticatorType> { Set(self.factors.keys) }

    /// The new key of a type; `nil` where there is none.
    public subscript(type: AuthenticatorType) -> VerifiedRegistration.Key? { self.factors[type] }
}

/// Judges the registration of factors of personalised identities (§8.2). It is no answer to a guess: what is refused is
/// refused with its reason, and nothing is counted by it.
public struct FactorRegistrationVerifier: Sendable {
    /// What is accepted.
    public let configuration: RelyingPartyConfiguration
    /// Which models are of which type.
    public let table: AuthenticatorTypeTable

    /// Judges by `configuration`, and by the models of this product.
    public init(_ configuration: RelyingPartyConfiguration, table: AuthenticatorTypeTable = .product) {
        self.configuration = configuration
        self.table = table
    }

    /// Holds a response against every rule; the first that is broken refuses all of it.
    ///
    /// `existing` are those of the response's ``UnverifiedRegistration/credentials`` that are registered already, to
    /// whomever. The store must refuse a second registration of a key itself too. `now` is the time at which certificates
    /// must be valid.
    public func verify(
        _ response: UnverifiedRegistration, expected: ExpectedFactorRegistration, existing: Set<CredentialID>,
        at now: Timestamp
    ) throws(UAFRefusal) -> VerifiedFactorRegistration {
        let types = response.credentials.map { self.table.type(of: $0.aaid) }
        let found = Set(types.compactMap { $0 })
        guard found.count == types.count, expected.required.isSubset(of: found),
            found.isSubset(of: expected.required.union(expected.optional))
        else { throw UAFRefusal(.unacceptableAuthenticator, .policy, "other factors than were asked for") }
        // What was found is what may be there: the policy that it has to meet.
        let verified = try RegistrationVerifier(self.configuration, takesServerPin: true).verify(
            response,
            expected: ExpectedRegistration(
                challenge: expected.challenge, appID: expected.appID, username: expected.username,
                policy: Policy(accepted: [types.map { MatchCriteria(aaid: $0.map(self.table.models) ?? []) }]),
                serverData: nil),
            existing: existing, at: now)
        var factors: [AuthenticatorType: VerifiedRegistration.Key] = [:]
        for (type, key) in zip(types, verified.keys) {
            guard let type else { continue }
            // A counter would have to be kept beside each PIN, and nothing could count but the phone.
            guard type != .pin || key.signCounter == 0 && key.registrationCounter == 0 else {
                throw UAFRefusal(
                    .unacceptableContent, .signCounter, "a PIN that counts", credential: key.id)
            }
            factors[type] = key
        }
        return VerifiedFactorRegistration(factors, facetID: verified.facetID)
    }
}
