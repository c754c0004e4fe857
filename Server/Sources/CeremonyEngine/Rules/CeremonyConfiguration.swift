public import Store
public import UAF
public import UAFRelyingParty

/// What a deployment chooses.
public struct CeremonyConfiguration: Sendable {
    /// The server's own address, without a slash at its end. Links begin with it.
    public var issuer: String
    /// What phones show as the asking service at an enrolment.
    public var serviceName: String
    /// The UAF AppID. Empty: the calling app's facet stands for it, which only a loopback server may use.
    public var appID: String
    /// Who may call for the application.
    public var trustedFacets: [FacetID]
    /// Which factors a sign-in or a transaction takes.
    public var factors: FactorMatrix
    /// Which factors an enrolment makes.
    public var enrolmentFactors: FactorMatrix
    /// The models of authenticators at the start.
    public var metadata: MetadataCatalog
    /// The policies that relying parties can name, at the start.
    public var policies: PolicyCatalog
    /// What the TLS channel must have been through which a phone got its request, at the start.
    public var channelBinding: ChannelBindingRule
    /// The times, counts and sizes.
    public var limits: Limits
    /// What responses may have that the standard is against. What may be confirmed is not asked here: it is any text
    /// that `TransactionText` takes.
    public var lenientReadings: LenientReadings
    /// Extensions of responses that are understood or known to be harmless, by their identifiers.
    /// The operator's own words.
    public var knownExtensions: Set<String>
    /// The protocol versions that responses may have. Requests are of UAF 1.1.
    public var versions: Set<Version> = [.uaf11]
    /// Whether a registration may be attested otherwise than the policy prefers.
    public var acceptsLessPreferredAttestation = false
    /// Whether authenticators may be older than their metadata trusts.
    public var acceptsOutdatedAuthenticators = false

    /// Called with the name of an app that ``trustedFacets`` does not have, one line of at most 128 characters that
    /// somebody has sent; once a minute at most.
    public var facetRefused: @Sendable (String) -> Void = { _ in }
    /// Told when a phone's PIN needs the PIN service, and there is none.
    public var pinServiceMissing: @Sendable () -> Void = {}
    /// Called where the stored text about invented accounts cannot be read as their document, once for each such text: the
    /// standard document stands in for it.
    public var inventedAccountsRefused: @Sendable () -> Void = {}

    /// What personalised identities go by.
    public var identities = IdentityRules()
    /// Whether people are sent mail.
    public var sendsMail = false

    /// Each of the product's own authenticators that a person answers with, alone.
    public static let everyFactor: FactorMatrix = [[.pin], [.password], [.fingerprint], [.face], [.devicePasscode]]

    /// A configuration with the product's own authenticators.
    public init(
        issuer: String, serviceName: String, appID: String, trustedFacets: [FacetID],
        factors: FactorMatrix = Self.everyFactor, enrolmentFactors: FactorMatrix = Self.everyFactor,
        metadata: MetadataCatalog, policies: PolicyCatalog = PolicyCatalog(),
        channelBinding: ChannelBindingRule = .ignore, limits: Limits = Limits(),
        // The operator's own words.
        lenientReadings: LenientReadings = LenientReadings(), knownExtensions: Set<String> = ["fido.uaf.uvm"]
    ) {
        self.issuer = issuer
        self.serviceName = serviceName
        self.appID = appID
        self.trustedFacets = trustedFacets
        self.factors = factors
        self.enrolmentFactors = enrolmentFactors
        self.metadata = metadata
        self.policies = policies
        self.channelBinding = channelBinding
        self.knownExtensions = knownExtensions
        self.limits = limits
        self.lenientReadings = lenientReadings
    }
}

extension CeremonyConfiguration {
    /// The AppID of the factors of personalised identities: the address of the facets also where phones come without TLS.
    var identityAppID: String { "\(self.issuer)/uaf/1.1/facets" }
}
