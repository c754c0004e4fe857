public import UAF
public import _Primitives

/// The registration that a ceremony of a personalised identity has requested from a device.
public struct ExpectedFactorRegistration: Sendable {
    /// The challenge. The caller consumes the challenge once, before the caller accepts anything.
    public var challenge: Challenge
    /// The AppID of the request; if empty, the caller's facetID takes its place.
    public var appID: String
    /// The name of the account at the client.
    public var username: String
    /// The required types, each once: device and PIN for a new activation, the PIN alone for a changed PIN.
    public var required: Set<AuthenticatorType>
    /// The further types that the response may have.
    public var optional: Set<AuthenticatorType>

    /// Keeps the contents of a request.
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

/// New factors that satisfied every rule. Only ``FactorRegistrationVerifier`` makes a value of this type.
///
/// Never write the public key of the PIN unsealed, and do not keep its registration: a person with both and the phone's
/// storage can try PINs.
public struct VerifiedFactorRegistration: Sendable {
    private let factors: [AuthenticatorType: VerifiedRegistration.Key]
    /// The caller of the client: a web origin or an app.
    public let facetID: FacetID

    init(_ factors: [AuthenticatorType: VerifiedRegistration.Key], facetID: FacetID) {
        self.factors = factors
        self.facetID = facetID
    }

    /// The types of the factors.
    public var types: Set<AuthenticatorType> { Set(self.factors.keys) }

    /// The new key of a type; `nil` if the type was not registered.
    public subscript(type: AuthenticatorType) -> VerifiedRegistration.Key? { self.factors[type] }
}

/// Judges the registration of factors of personalised identities (§8.2). A registration is no answer to a guess, so a
/// refusal states its reason and counts no attempt.
public struct FactorRegistrationVerifier: Sendable {
    /// The settings of acceptance.
    public let configuration: RelyingPartyConfiguration
    /// The models of each type.
    public let table: AuthenticatorTypeTable

    /// Makes a verifier with `configuration` and with the models of this product.
    public init(_ configuration: RelyingPartyConfiguration, table: AuthenticatorTypeTable = .product) {
        self.configuration = configuration
        self.table = table
    }

    /// Checks a response against every rule. The first broken rule refuses the whole response.
    ///
    /// `existing` are the keys among the response's ``UnverifiedRegistration/credentials`` that are registered already,
    /// for any account. The store must also refuse a second registration of a key. `now` is the time at which
    /// certificates must be valid.
    public func verify(
        _ response: UnverifiedRegistration, expected: ExpectedFactorRegistration, existing: Set<CredentialID>,
        at now: Timestamp
    ) throws(UAFRefusal) -> VerifiedFactorRegistration {
        let types = response.credentials.map { self.table.type(of: $0.aaid) }
        let found = Set(types.compactMap { $0 })
        guard found.count == types.count, expected.required.isSubset(of: found),
            found.isSubset(of: expected.required.union(expected.optional))
        else { throw UAFRefusal(.unacceptableAuthenticator, .policy, "other factors than were asked for") }
        // The policy to satisfy consists of the types that were found, since all of them are allowed.
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
            // The server would have to keep a counter beside each PIN, and only the phone could count.
            guard type != .pin || key.signCounter == 0 && key.registrationCounter == 0 else {
                throw UAFRefusal(
                    .unacceptableContent, .signCounter, "a PIN that counts", credential: key.id)
            }
            factors[type] = key
        }
        return VerifiedFactorRegistration(factors, facetID: verified.facetID)
    }
}
