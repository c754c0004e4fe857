import JOSE
public import Settings
public import UAF
public import UAFRelyingParty

/// The choices of a deployment.
public struct CeremonyConfiguration: Sendable {
    /// The server's own address, without a slash at its end. Links begin with it.
    public var issuer: String
    /// The name of the asking service on phones at an enrolment.
    public var serviceName: String
    /// The UAF AppID. If empty, the calling app's facet takes its place; only a loopback server may leave the AppID
    /// empty.
    public var appID: String
    /// The facets of apps that may act for the AppID.
    public var trustedFacets: [FacetID]
    /// The operator's apps that open this server's links. Their facets are among ``trustedFacets``.
    public var apps: [AppEntry] = []
    /// The factors that a sign-in or a transaction accepts.
    public var factors: FactorMatrix
    /// The factors that an enrolment registers.
    public var enrolmentFactors: FactorMatrix
    /// The models of authenticators at the start.
    public var metadata: MetadataCatalog
    /// The policies that relying parties can name, at the start.
    public var policies: PolicyCatalog
    /// The rule for the TLS channel through which a phone got its request, at the start.
    public var channelBinding: ChannelBindingRule
    /// The times, counts and sizes.
    public var limits: Limits
    /// The deviations from the standard that responses may have. The rule for confirmed texts is elsewhere: every text
    /// that `TransactionText` accepts may be confirmed.
    public var lenientReadings: LenientReadings
    /// The response extensions that are understood or known to be harmless, by their identifiers.
    ///
    /// The operator's own words.
    public var knownExtensions: Set<String>  // check: unicode-words
    /// The protocol versions of responses. Requests have UAF 1.1.
    public var versions: Set<Version> = [.uaf11]
    /// `true` if a registration may have another attestation than the policy prefers.
    public var acceptsLessPreferredAttestation = false
    /// `true` if authenticators may be older than their metadata trusts.
    public var acceptsOutdatedAuthenticators = false

    /// Called with the name of an app that is missing in ``trustedFacets``, at most once in ``Limits/pauseOfReports``
    /// for each source. The name comes from the sender, and is one line of at most 128 characters.
    public var facetRefused: @Sendable (String) -> Void = { _ in }
    /// Called if a phone's PIN needs the PIN service, and there is none.
    public var pinServiceMissing: @Sendable () -> Void = {}
    /// Called if the stored text about invented accounts is no readable document, once for each such text. The standard
    /// document takes its place.
    public var inventedAccountsRefused: @Sendable () -> Void = {}

    /// The rule by which registrations need evidence about their app; `nil` if the server wants no evidence.
    public var appAttestation: AppAttestationPolicy?

    /// The rules for personalised identities.
    public var identities = IdentityRules()
    /// `true` if the server sends mail to people.
    public var sendsMail = false

    /// The matrix by which any single one of the product's own authenticators that ask the person suffices.
    public static let everyFactor: FactorMatrix = [[.pin], [.password], [.fingerprint], [.face], [.devicePasscode]]

    /// Creates a configuration with the product's own authenticators.
    public init(
        issuer: String, serviceName: String, appID: String, trustedFacets: [FacetID],
        factors: FactorMatrix = Self.everyFactor, enrolmentFactors: FactorMatrix = Self.everyFactor,
        metadata: MetadataCatalog, policies: PolicyCatalog = PolicyCatalog(),
        channelBinding: ChannelBindingRule = .ignore, limits: Limits = Limits(),
        // The operator's own words.
        // check: unicode-words
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
    /// The AppID of the factors of personalised identities: the address of the facets, even if phones connect without
    /// TLS.
    var identityAppID: String { "\(self.issuer)/uaf/1.1/facets" }
}

extension JWK {
    /// Creates the public key of an uncompressed point of P-256; `nil` if the bytes are no such point.
    init?(point: [UInt8]) {
        guard point.count == 65, point[0] == 4,
            let key = try? JWK(.p256(x: Array(point[1..<33]), y: Array(point[33...]), d: nil))
        else { return nil }
        self = key
    }
}
