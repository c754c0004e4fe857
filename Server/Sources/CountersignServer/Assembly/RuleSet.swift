public import UAFRelyingParty

/// The rules that an operator can change while the server runs.
public struct RuleSet: Sendable {
    /// The models of authenticators that may take part, with the revoked models and certificates.
    public var metadata: MetadataCatalog
    /// The policies that relying parties may name.
    public var policies: PolicyCatalog
    /// The rule for the TLS channel through which a phone got its request.
    public var channelBinding: ChannelBindingRule

    /// Creates a set of rules. Without a rule for the channel, every channel is allowed.
    public init(
        metadata: MetadataCatalog, policies: PolicyCatalog = PolicyCatalog(),
        channelBinding: ChannelBindingRule = .ignore
    ) {
        self.metadata = metadata
        self.policies = policies
        self.channelBinding = channelBinding
    }
}
