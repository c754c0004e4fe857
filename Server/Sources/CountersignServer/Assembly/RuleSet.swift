import CeremonyEngine
public import Logging
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

extension ServerAssembly {
    /// Reads metadata and policies again. From then on the server applies the new rules.
    ///
    /// Throws the fault of the files: `MetadataFolderError`, `PolicyFileError` or `RequestError`. Then all rules stay
    /// as before. The log has the result in both cases.
    @discardableResult
    public func reloadRules(logger: Logger) throws -> RuleSet {
        do {
            let rules = try self.configuration.rules()
            try self.ceremonies.replaceRules(
                metadata: rules.metadata, policies: rules.policies, channelBinding: rules.channelBinding)
            logger.notice(
                "Metadata and policies were reloaded",
                metadata: ["models": "\(rules.metadata.aaids.count)", "policies": "\(rules.policies.names.count)"])
            return rules
        } catch {
            logger.error("Metadata and policies stay as they were", metadata: ["reason": "\(error)"])
            throw error
        }
    }
}
