import Records
import Synchronization
import UAF
import UAFRelyingParty
import _Primitives

/// The rules by which an engine makes requests and judges answers: the models, the policies, and derived values. The
/// rules are replaced as a whole.
final class Rules: Sendable {
    let metadata: MetadataCatalog
    let policies: PolicyCatalog
    let requests: RequestBuilder
    let relyingParty: RelyingPartyConfiguration
    /// The policy of an authentication without a policy name.
    let authenticationPolicy: Policy
    /// The policy of a registration without a policy name.
    let registrationPolicy: Policy
    /// The number of keys in the longest alternative of any policy. An answer with more keys meets no policy.
    let mostKeys: Int

    /// Creates the rules. Throws `RequestError` if the configured factors make no policy of the models.
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
        // Answers are compared with the general policies. The account itself refuses a key of another account.
        self.authenticationPolicy = self.requests.policy(of: configuration.factors)
        self.registrationPolicy = self.requests.policy(of: configuration.enrolmentFactors)
        self.mostKeys =
            ([self.authenticationPolicy, self.registrationPolicy] + policies.names.compactMap { policies[$0] })
            .flatMap(\.accepted).map(\.count).max() ?? 0
        try self.requests.check(self.authenticationPolicy)
        try self.requests.check(self.registrationPolicy)
    }

    /// Returns the policy with a name, or the operation's default policy. Policies are chosen only here. Throws
    /// `invalidRequest` for a name that is not, or no longer, known.
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

/// The present rules of an engine.
final class CurrentRules: Sendable {
    private let rules: Mutex<Rules>

    init(_ rules: Rules) { self.rules = Mutex(rules) }

    var value: Rules { self.rules.withLock { $0 } }

    func replace(by rules: Rules) { self.rules.withLock { $0 = rules } }
}
