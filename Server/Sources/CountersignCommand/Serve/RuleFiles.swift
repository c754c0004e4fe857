import CountersignServer
import UAFRelyingParty

/// Where an operator keeps metadata and policies.
struct RuleFiles: Sendable {
    let metadataFolder: String?
    let policiesFolder: String?

    /// Reads both folders as they are now. Throws `MetadataFolderError` and `PolicyFileError`.
    func load() throws -> RuleSet {
        var metadata = try MetadataCatalog.builtIn()
        if let folder = self.metadataFolder { try metadata.add(folder: folder) }
        guard let folder = self.policiesFolder else { return RuleSet(metadata: metadata) }
        return RuleSet(metadata: metadata, policies: try PolicyCatalog(folder: folder, metadata: metadata))
    }
}
