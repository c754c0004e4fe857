import Store
import Synchronization
import UAF
import UAFRelyingParty
import _Primitives

/// What an engine makes requests and judges answers by: the models, the policies, and what follows from them. It is
/// replaced as a whole.
final class Rules: Sendable {
    let metadata: MetadataCatalog
    let policies: PolicyCatalog
    let requests: RequestBuilder
    let relyingParty: RelyingPartyConfiguration
    /// The policy of an authentication that names none.
    let authenticationPolicy: Policy
    /// The policy of a registration that names none.
    let registrationPolicy: Policy
    /// How many keys the longest alternative of any policy needs: no answer with more can meet one.
    let mostKeys: Int

    /// Throws `RequestError` where the configured factors make no policy of the models.
    init(
        _ configuration: CeremonyConfiguration, metadata: MetadataCatalog, policies: PolicyCatalog,
        channelBinding: ChannelBindingRule
    ) throws {
        self.metadata = metadata
        self.policies = policies
        var readings = configuration.lenientReadings
        readings.section14AnyText = true
        self.requests = RequestBuilder(
            metadata: metadata, appID: configuration.appID, lenientReadings: readings)
        self.relyingParty = RelyingPartyConfiguration(
            metadata: metadata, versions: configuration.versions, trustedFacets: Set(configuration.trustedFacets),
            channelBinding: channelBinding, knownExtensions: configuration.knownExtensions,
            acceptsLessPreferredAttestation: configuration.acceptsLessPreferredAttestation,
            acceptsOutdatedAuthenticators: configuration.acceptsOutdatedAuthenticators, lenientReadings: readings)
        // Answers are held against the general policies: a key of another account is refused by the account itself.
        self.authenticationPolicy = self.requests.policy(of: configuration.factors)
        self.registrationPolicy = self.requests.policy(of: configuration.enrolmentFactors)
        self.mostKeys =
            ([self.authenticationPolicy, self.registrationPolicy] + policies.names.compactMap { policies[$0] })
            .flatMap(\.accepted).map(\.count).max() ?? 0
        try self.requests.check(self.authenticationPolicy)
        try self.requests.check(self.registrationPolicy)
    }

    /// The policy of that name, or the operation's default one: the one place where a policy is chosen. Throws
    /// `invalidRequest` for a name that is not known (any more).
    func policy(named name: String?, for operation: UAF.Operation) throws(CeremonyError) -> Policy {
        guard let name else {
            return operation == .registration ? self.registrationPolicy : self.authenticationPolicy
        }
        guard let policy = self.policies[name] else {
            throw CeremonyError(.invalidRequest, "a policy that is not known")
        }
        return policy
    }
}

/// The rules that an engine goes by now.
final class CurrentRules: Sendable {
    private let rules: Mutex<Rules>

    init(_ rules: Rules) { self.rules = Mutex(rules) }

    var value: Rules { self.rules.withLock { $0 } }

    func replace(by rules: Rules) { self.rules.withLock { $0 = rules } }
}
