import Logging
import NIOCore
import NIOSSL
import Synchronization
import _Primitives

/// The public listener's certificate and key: as the files had them at the start, and again at each reload.
///
/// A connection keeps the certificate with which the connection began. A new connection gets the newest certificate.
final class TLSIdentity: Sendable {
    private struct Pair {
        let chain: [NIOSSLCertificateSource]
        let key: NIOSSLPrivateKeySource
        /// The time for which the first certificate is valid.
        let validity: Range<Timestamp>
    }

    /// The cipher suites of TLS 1.2: the suites that BCP 195 recommends, and no other (RFC 9325, section 4.2).
    ///
    /// A key that becomes known later opens no recorded connection, and no suite has a padding that an attacker could
    /// probe. TLS 1.3 has good suites alone.
    private static let recommendedSuites = "ECDHE+AESGCM"

    private let certificate: String
    private let key: String
    private let current: Mutex<Pair>

    /// Reads both files. Throws ``CommandFailure``, which names the file and its fault.
    init(certificate: String, key: String) throws {
        self.certificate = certificate
        self.key = key
        self.current = Mutex(try Self.read(certificate, key))
    }

    /// Reads both files again. The log has the result.
    ///
    /// If the files cannot be used, the earlier certificate and key stay.
    func reload(logger: Logger) {
        do {
            let newest = try Self.read(self.certificate, self.key)
            self.current.withLock { $0 = newest }
            logger.notice("Certificate and key were read again, for new connections")
        } catch {
            let failure = error as? CommandFailure
            var metadata: Logger.Metadata = ["reason": "\(failure?.problem ?? "\(error)")"]
            metadata["advice"] = failure?.remedy.map { "\($0)" }
            logger.error("Certificate and key stay as they were", metadata: metadata)
        }
    }

    /// The time for which the server's own certificate is valid.
    var validity: Range<Timestamp> { self.current.withLock { $0.validity } }

    /// The TLS configuration of a listener.
    var configuration: TLSConfiguration {
        var tls = self.current.withLock { Self.configuration($0) }
        tls.minimumTLSVersion = .tlsv12
        tls.cipherSuites = Self.recommendedSuites
        tls.sslContextCallback = { _, promise in
            let newest = self.current.withLock { $0 }
            var override = NIOSSLContextConfigurationOverride.noChanges
            override.certificateChain = newest.chain
            override.privateKey = newest.key
            promise.succeed(override)
        }
        return tls
    }

    private static func configuration(_ pair: Pair) -> TLSConfiguration {
        .makeServerConfiguration(certificateChain: pair.chain, privateKey: pair.key)
    }

    private static func read(_ certificate: String, _ key: String) throws -> Pair {
        func failure(_ problem: String, _ remedy: String) -> CommandFailure {
            CommandFailure(.failed, problem, remedy: remedy)
        }
        guard let chain = try? NIOSSLCertificate.fromPEMFile(certificate), !chain.isEmpty else {
            throw failure(
                "there is no certificate in \(certificate), or it cannot be read",
                "--tls-certificate takes a PEM chain.")
        }
        guard let privateKey = try? NIOSSLPrivateKey(file: key, format: .pem) else {
            throw failure(
                "there is no private key in \(key), or it cannot be read",
                "--tls-key takes the PEM private key of the chain's first certificate, without a passphrase.")
        }
        let start = Timestamp(seconds: Int64(chain[0].notValidBefore))
        let end = max(start, Timestamp(seconds: Int64(chain[0].notValidAfter)))
        let pair = Pair(chain: chain.map { .certificate($0) }, key: .privateKey(privateKey), validity: start..<end)
        // Each file can be read, but a key that does not belong to the certificate is of no use.
        guard (try? NIOSSLContext(configuration: Self.configuration(pair))) != nil else {
            throw failure(
                "the key in \(key) is not that of the first certificate in \(certificate)",
                """
                The server's own certificate comes first in its chain, and --tls-key is the key that it was made for. A \
                copy that the service manager hands over (LoadCredential) stays that of the start: restart the server.
                """)
        }
        return pair
    }
}
