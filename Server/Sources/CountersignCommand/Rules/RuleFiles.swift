import CountersignServer
import NIOSSL
import UAFRelyingParty

/// The places where an operator keeps metadata, policies, and the certificates that phones must see.
struct RuleFiles: Sendable {
    var metadataFolder: String?
    var policiesFolder: String?
    var channelCertificates: [String] = []
    var channelMayBeUntold = false

    /// Reads the present content of all files. Throws `MetadataFolderError`, `PolicyFileError` and
    /// ``ChannelCertificateError``.
    func load() throws -> RuleSet {
        var metadata = try MetadataCatalog.builtIn()
        if let folder = self.metadataFolder { try metadata.add(folder: folder) }
        let channelBinding = try self.channelBinding()
        guard let folder = self.policiesFolder else {
            return RuleSet(metadata: metadata, channelBinding: channelBinding)
        }
        return RuleSet(
            metadata: metadata, policies: try PolicyCatalog(folder: folder, metadata: metadata),
            channelBinding: channelBinding)
    }

    /// Reads the certificates that phones must see, and returns the rule on TLS channels. Without certificates every
    /// channel is allowed.
    func channelBinding() throws(ChannelCertificateError) -> ChannelBindingRule {
        guard !self.channelCertificates.isEmpty else { return .ignore }
        var certificates: [[UInt8]] = []
        for file in self.channelCertificates {
            // A file holds a chain, the server's own certificate first.
            guard let leaf = try? NIOSSLCertificate.fromPEMFile(file).first?.toDERBytes() else {
                throw ChannelCertificateError(file: file)
            }
            certificates.append(leaf)
        }
        guard let channel = ChannelBindingRule.AcceptedChannel(certificates: certificates) else {
            throw ChannelCertificateError(file: self.channelCertificates.joined(separator: ", "))
        }
        return self.channelMayBeUntold ? .matchIfPresent(channel) : .required(channel)
    }
}

/// The error for a file that should hold a certificate, and does not, or cannot be read.
struct ChannelCertificateError: Error, CustomStringConvertible {
    let file: String
    var description: String { "there is no certificate in \(self.file)" }
}
