import Endpoints
import Foundation
import NIOSSL
import Settings

extension ServeConfiguration {
    /// Returns the way to addresses that other parties have named. Throws ``CommandFailure``.
    func checkedCalls(_ limits: Limits) throws -> CheckedCalls {
        CheckedCalls(
            allowed: try Self.blocks(self.outgoingNetworks),
            allowedToDevices: try Self.blocks(self.pushNetworks),
            mayCallLoopback: Loopback.contains(URLComponents(string: self.issuer)?.host ?? ""), limits: limits,
            tls: try self.outgoingTLS())
    }

    /// Returns the push services; `nil` if none is set up. Throws ``CommandFailure``.
    func pushServices(calls: CheckedCalls, _ limits: Limits) throws -> PushSettings.Services? {
        try self.push.completed(by: try self.apps()).open(tls: try self.outgoingTLS(), calls: calls, limits: limits)
    }

    /// Returns blocks of addresses. Throws ``CommandFailure`` for another text.
    static func blocks(_ texts: [String]) throws -> [AddressBlock] {
        try texts.map { text in
            guard let block = AddressBlock(text) else {
                throw CommandFailure(.usage, "\(text) is not a block of addresses such as 10.0.0.0/8")
            }
            return block
        }
    }

    /// Returns TLS with the certification authorities that calls trust. Throws ``CommandFailure`` that names the file.
    func outgoingTLS() throws -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        guard let path = self.caFile else { return tls }
        do {
            let authorities = try NIOSSLCertificate.fromPEMFile(path)
            guard !authorities.isEmpty else { throw CommandFailure(.usage, "\(path) has no certificate in PEM") }
            tls.additionalTrustRoots = [.certificates(authorities)]
            return tls
        } catch is NIOSSLError {
            throw CommandFailure(
                .usage, "\(path) cannot be read as certificates in PEM", remedy: "--ca-file names the file.")
        }
    }
}
