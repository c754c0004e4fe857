public import UAFRelyingParty

/// What an operator can change while the server runs.
public struct RuleSet: Sendable {
    /// The models of authenticators that may take part, and what of them is revoked.
    public var metadata: MetadataCatalog
    /// The policies that relying parties may name.
    public var policies: PolicyCatalog
    /// What the TLS channel must have been through which a phone got its request.
    public var channelBinding: ChannelBindingRule

    /// Joins them; without a rule the channel may have been any.
    public init(
        metadata: MetadataCatalog, policies: PolicyCatalog = PolicyCatalog(),
        channelBinding: ChannelBindingRule = .ignore
    ) {
        self.metadata = metadata
        self.policies = policies
        self.channelBinding = channelBinding
    }
}
