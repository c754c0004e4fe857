import Crypto
import CryptoExtras
import Endpoints
import Foundation
import Hummingbird
import HummingbirdTLS
import JOSE
import NIOCore
import NIOSSL
import OAuthProvider
import Records
import SwiftASN1
import X509
import _Primitives

/// A listener that asks clients for their certificates (RFC 8705).
///
/// The handshake proves the key of any certificate, and judges nothing else. A self-made certificate of a client is as
/// good as its registration. An OAuth error tells the client of a wrong certificate.
struct MutualTLS: Sendable {
    let identity: TLSIdentity
    let authorities: ClientAuthorities?

    /// The configuration of the listener.
    var configuration: TLSChannelConfiguration {
        var tls = self.identity.configuration
        tls.certificateVerification = .optionalVerification
        tls.trustRoots = .certificates([])
        return TLSChannelConfiguration(tlsConfiguration: tls) { _, promise in promise.succeed(.certificateVerified) }
    }
}

/// Tells each request the certificate of its connection.
struct CertificateResponder<Base: HTTPResponder>: HTTPResponder where Base.Context == ServerContext {
    let base: Base
    let authorities: ClientAuthorities?

    func respond(to request: Request, context: ServerContext) async throws -> Response {
        var context = context
        let shown = try await context.channel.nioSSL_peerCertificate().get()
        // An unreadable certificate counts as no certificate.
        let certificate = shown.flatMap { try? $0.toDERBytes() }.flatMap {
            try? ClientCertificate(derEncoded: $0, authorities: self.authorities)
        }
        context.connection = .mutual(certificate)
        return try await self.base.respond(to: request, context: context)
    }
}

/// The authorities whose certificates prove a client's identity (RFC 8705, section 2.1).
struct ClientAuthorities: Sendable {
    private let certificates: [Certificate]

    /// Reads a file of certificates. Throws ``CommandFailure``, which names the fault of the file.
    init(file: String) throws {
        let texts = FileManager.default.contents(atPath: file).map { String(decoding: $0, as: UTF8.self) }
        guard let documents = texts.flatMap({ try? PEMDocument.parseMultiple(pemString: $0) }), !documents.isEmpty,
            let certificates = try? documents.map({ try Certificate(pemDocument: $0) })
        else {
            throw CommandFailure(
                .failed, "there is no certificate in \(file), or it cannot be read",
                remedy: "--mtls-ca takes the certificates of authorities, PEM each.")
        }
        self.certificates = certificates
    }

    /// Returns the reason why none of the authorities vouches for a client's certificate now; `nil` if an authority
    /// does.
    ///
    /// An authority below another authority is in the file itself: the server believes no certificate that a client
    /// sends along.
    ///
    /// Cost: a signature for each authority with the name of the certificate's issuer.
    func distrust(of certificate: Certificate) async -> String? {
        do {
            if let uses = try certificate.extensions.extendedKeyUsage, !uses.contains(.clientAuth), !uses.contains(.any)
            {
                return "its certificate is not for clients (extended key usage)"
            }
        } catch {
            return "what its certificate is for cannot be read (extended key usage)"
        }
        var verifier = Verifier(rootCertificates: CertificateStore(self.certificates)) {
            RFC5280Policy()
        }
        switch await verifier.validate(leaf: certificate, intermediates: CertificateStore()) {
        case .validCertificate: return nil
        case .couldNotValidate: return "its certificate is of none of the authorities of --mtls-ca, or not valid now"
        }
    }
}

extension ClientCertificate {
    /// Reads a certificate. Throws if the bytes are no certificate.
    init(derEncoded bytes: [UInt8], authorities: ClientAuthorities?) throws {
        let certificate = try Certificate(derEncoded: bytes)
        self.init(
            thumbprint: Base64URL.encode(Array(SHA256.hash(data: bytes))),
            names: [ClientCertificateName(.subject, certificate.subject.description)]
                + Self.alternativeNames(of: certificate),
            key: Self.key(certificate.publicKey), notBefore: Self.moment(certificate.notValidBefore),
            notAfter: Self.moment(certificate.notValidAfter),
            distrust: {
                guard let authorities else { return "there are no authorities: --mtls-ca names them" }
                return await authorities.distrust(of: certificate)
            })
    }

    private static func moment(_ date: Date) -> Timestamp {
        Timestamp(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
    }

    private static func alternativeNames(of certificate: Certificate) -> [ClientCertificateName] {
        guard let names = try? certificate.extensions.subjectAlternativeNames else { return [] }
        return names.compactMap { name in
            switch name {
            case .dnsName(let text): ClientCertificateName(.dns, text)
            case .uniformResourceIdentifier(let text): ClientCertificateName(.uri, text)
            case .rfc822Name(let text): ClientCertificateName(.email, text)
            case .ipAddress(let octets):
                (try? SocketAddress(packedIPAddress: ByteBuffer(bytes: octets.bytes), port: 0))?.ipAddress
                    .map { ClientCertificateName(.ip, $0) }
            default: nil
            }
        }
    }

    /// Returns the key in the form that clients register; `nil` for a kind of key that clients cannot register.
    private static func key(_ key: Certificate.PublicKey) -> JWK? {
        if let key = P256.Signing.PublicKey(key) {
            let point = Array(key.rawRepresentation)
            return try? JWK(.p256(x: Array(point.prefix(32)), y: Array(point.suffix(32)), d: nil))
        }
        if let key = Curve25519.Signing.PublicKey(key) {
            return try? JWK(.ed25519(x: Array(key.rawRepresentation), d: nil))
        }
        guard let numbers = try? _RSA.Signing.PublicKey(key)?.getKeyPrimitives() else { return nil }
        return try? JWK(
            .rsa(
                n: Array(numbers.modulus.drop { $0 == 0 }), e: Array(numbers.publicExponent.drop { $0 == 0 }),
                privateNumbers: nil))
    }
}
