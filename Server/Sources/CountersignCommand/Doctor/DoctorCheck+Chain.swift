import Foundation
import NIOSSL
import SwiftASN1
@_spi(FixedExpiryValidationTime) import X509
import _Primitives

/// The check of the certificates between the server's own certificate and an authority.
extension DoctorCheck {
    static let chain = DoctorCheck(
        name: "chain",
        looksAt:
            "whether each certificate's file leads to an authority that this machine trusts: a browser may find a missing certificate by itself, and a phone does not",
        remedy: """
            Put the certificates between yours and the authority into the same file, after yours (many issuers call that file \
            fullchain.pem), and have it read: systemctl reload countersign (SIGHUP). --ca-file names an authority of your own.
            """
    ) { scene in
        let configuration = scene.configuration
        var (problems, seen) = ([String](), [String]())
        for case let path? in [configuration.tlsCertificate, configuration.mtlsCertificate]
        where !seen.containsBytes(of: path) {
            seen.append(path)
            let chain = try DoctorCheck.certificates(in: path)
            guard let leaf = chain.first else {
                return .unknown("There is no certificate in \(path), or it cannot be read.")
            }
            let own = try configuration.caFile.map(DoctorCheck.certificates) ?? []
            // The times of the certificate have a check of their own.
            let moment = min(
                max(Date(timeIntervalSince1970: Double(scene.time.now().seconds)), leaf.notValidBefore),
                leaf.notValidAfter)
            var verifier = Verifier(rootCertificates: CertificateStore.systemTrustRoots.appending(contentsOf: own)) {
                RFC5280Policy(fixedExpiryValidationTime: moment)
            }
            let result = await verifier.validate(leaf: leaf, intermediates: CertificateStore(chain.dropFirst()))
            guard case .couldNotValidate = result, let last = chain.last else { continue }
            problems.append(
                "The chain in \(path) lacks a certificate: it ends with one by “\(last.issuer)”, which is neither in the file nor an authority that this machine trusts."
            )
        }
        guard problems.isEmpty else { return .bad(problems) }
        return .good(seen.isEmpty ? "The server ends no TLS itself." : seen.joined(separator: ", "))
    }

    private static func certificates(in path: String) throws -> [Certificate] {
        guard let read = try? NIOSSLCertificate.fromPEMFile(path) else { return [] }
        return try read.map { try Certificate(derEncoded: $0.toDERBytes()) }
    }
}
