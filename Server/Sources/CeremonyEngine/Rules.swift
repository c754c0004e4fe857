import Store
import Synchronization
public import UAF
public import UAFRelyingParty
import _Primitives

/// What an engine makes requests and judges answers by: the models, the policies, and what follows from them. It is
/// replaced as a whole.
struct Rules: Sendable {
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
    /// What invented accounts are drawn from, as far as these rules have been asked.
    let ableSets = AbleSets()

    /// Throws `RequestError` where the configured factors make no policy of the models.
    init(
        _ configuration: CeremonyEngine.Configuration, metadata: MetadataCatalog, policies: PolicyCatalog,
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

extension CeremonyEngine {
    var requests: RequestBuilder { self.rules.value.requests }
    var relyingParty: RelyingPartyConfiguration { self.rules.value.relyingParty }

    /// The models that take part now.
    public var metadata: MetadataCatalog { self.rules.value.metadata }
    /// The protocol versions that are spoken, the lowest first.
    public var versions: [Version] { self.relyingParty.versions.sorted() }
    /// The policies that can be named now.
    public var policies: PolicyCatalog { self.rules.value.policies }

    /// Goes by other models, policies and TLS channels from now on, for every request and answer that comes after.
    /// Throws `RequestError`, and changes nothing, where the configured factors make no policy of the models.
    public func replaceRules(
        metadata: MetadataCatalog, policies: PolicyCatalog, channelBinding: ChannelBindingRule
    ) throws {
        self.rules.replace(
            by: try Rules(
                self.configuration, metadata: metadata, policies: policies, channelBinding: channelBinding))
    }

    /// The policy by which a request was made, for its answer. Throws 1491 where it is not known any more: nobody can say
    /// then what the answer should have met.
    func policy(ofRequest name: String?, for operation: UAF.Operation) throws -> Policy {
        do { return try self.rules.value.policy(named: name, for: operation) } catch {
            throw Answered(.invalidRequest)
        }
    }
}
