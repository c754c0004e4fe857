import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Crypto
import Endpoints
import Foundation
import Hummingbird
import HummingbirdTLS
import HummingbirdTesting
import NIOSSL
import SwiftASN1
import Synchronization
import Testing
import UAFRelyingParty
import X509
import _Primitives

@testable import PhoneCommand

/// A certificate authority that lives as long as its test.
struct TestAuthority {
    /// A server's certificate and its key.
    struct Identity: Sendable {
        /// The certificate, DER.
        let certificate: [UInt8]
        /// The certificate's key, PEM.
        let key: String
        /// The pin of the certificate's key (RFC 7469, section 2.4).
        let pin: String
    }

    private let secret = P256.Signing.PrivateKey()
    private let name: DistinguishedName
    private let certificate: Certificate

    init() throws {
        self.name = try DistinguishedName { CommonName("Test authority") }
        let key = Certificate.PrivateKey(self.secret)
        self.certificate = try Self.certificate(
            key.publicKey, self.name, issuer: self.name, signedBy: key,
            try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true))
            })
    }

    /// A server's certificate for a host.
    func issue(for host: String = "localhost") throws -> Identity {
        let secret = P256.Signing.PrivateKey()
        let key = Certificate.PrivateKey(secret)
        let certificate = try Self.certificate(
            key.publicKey, try DistinguishedName { CommonName(host) }, issuer: self.name,
            signedBy: Certificate.PrivateKey(self.secret),
            try Certificate.Extensions { SubjectAlternativeNames([.dnsName(host)]) })
        return Identity(
            certificate: try Self.der(certificate), key: try key.serializeAsPEM().pemString,
            pin: Self.pin(secret.publicKey))
    }

    /// The authority's own certificate, DER.
    var der: [UInt8] { get throws { try Self.der(self.certificate) } }
    /// The pin of the authority's own key.
    var pin: String { Self.pin(self.secret.publicKey) }

    private static func der(_ certificate: Certificate) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }

    private static func pin(_ key: P256.Signing.PublicKey) -> String {
        Data(SHA256.hash(data: key.derRepresentation)).base64EncodedString()
    }

    /// Writes the authority's certificate for a phone, and deletes it again.
    func withFile<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let path = FileManager.default.temporaryDirectory.path + "/authority-\(RandomSource.system.token()).pem"
        try Data(try self.certificate.serializeAsPEM().pemString.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await body(path)
    }

    private static func certificate(
        _ key: Certificate.PublicKey, _ subject: DistinguishedName, issuer: DistinguishedName,
        signedBy signer: Certificate.PrivateKey, _ extensions: Certificate.Extensions
    ) throws -> Certificate {
        try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key,
            notValidBefore: Date(timeIntervalSinceNow: -3600), notValidAfter: Date(timeIntervalSinceNow: 86_400),
            issuer: issuer, subject: subject, signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions,
            issuerPrivateKey: signer)
    }
}

/// What ends TLS before a server, with the certificate that it is told to show to the next connection.
final class TLSFront: Sendable {
    typealias Backend = @Sendable (Request, ServerContext) async throws -> Response

    private let shown: Mutex<TestAuthority.Identity>
    private let backend = Mutex<Backend?>(nil)
    private let afterwards = Mutex<[String: TestAuthority.Identity]>([:])
    private let paths = Mutex<[String]>([])

    init(_ identity: TestAuthority.Identity) { self.shown = Mutex(identity) }

    /// The paths of the requests that came through.
    var requested: [String] { self.paths.withLock { $0 } }

    /// Shows another certificate to connections from now on.
    func show(_ identity: TestAuthority.Identity) { self.shown.withLock { $0 = identity } }

    /// Shows another certificate once a request to that path is answered.
    func show(_ identity: TestAuthority.Identity, after path: String) {
        self.afterwards.withLock { $0[path] = identity }
    }

    /// Runs a server behind this front, whose answers must bind as `rule` says.
    func withServer(
        _ rule: ChannelBindingRule, _ body: @Sendable (ServerFixture, URL) async throws -> Void
    ) async throws {
        let first = try self.shown.withLock { try Self.override($0) }
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: first.certificateChain ?? [], privateKey: try #require(first.privateKey))
        tls.sslContextCallback = { _, promise in
            promise.completeWithTask { try self.shown.withLock { try Self.override($0) } }
        }
        let application = Application(
            responder: CallbackResponder<ServerContext> { try await self.respond(to: $0, $1) },
            server: try .tls(.http1(), tlsConfiguration: tls),
            configuration: .init(address: .hostname("127.0.0.1", port: 0)))
        try await application.test(.live) { client in
            let address = "https://localhost:\(client.port ?? 0)"
            let server = try await ServerFixture(
                issuer: address, rules: { RuleSet(metadata: try .builtIn(), channelBinding: rule) })
            let responder = server.assembly.publicRouter().buildResponder()
            self.backend.withLock { $0 = { try await responder.respond(to: $0, context: $1) } }
            try await body(server, try #require(URL(string: address)))
        }
    }

    private func respond(to request: Request, _ context: ServerContext) async throws -> Response {
        self.paths.withLock { $0.append(request.uri.path) }
        guard let backend = self.backend.withLock({ $0 }) else { return Response(status: .badGateway) }
        let response = try await backend(request, context)
        if let other = self.afterwards.withLock({ $0.removeValue(forKey: request.uri.path) }) { self.show(other) }
        return response
    }

    private static func override(_ identity: TestAuthority.Identity) throws -> NIOSSLContextConfigurationOverride {
        var override = NIOSSLContextConfigurationOverride()
        override.certificateChain = [.certificate(try NIOSSLCertificate(bytes: identity.certificate, format: .der))]
        override.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem))
        return override
    }
}

extension ServerFixture {
    /// A phone with the terminal phone's own network, which trusts the authority in a file too.
    func phone(at address: URL, caFile: String?) async throws -> VirtualPhone {
        var configuration = ClientConfiguration(baseURL: address)
        configuration.facetID = "linux:program:countersign-phone"
        return try await VirtualPhone(
            configuration: configuration, transport: try HTTPTransport(caFile: caFile), clock: self.clock)
    }

    /// Enrols the phone for a new account, and confirms it.
    func enroll(_ phone: VirtualPhone, username: String = "alice") async throws {
        _ = try await self.assembly.directory.create(username: username, displayName: nil, by: "test")
        let enrolment = try await self.assembly.ceremonies.enrolments.createEnrolmentLink(
            username: username, by: "test")
        let result = try await phone.enroll(try OutOfBandPayload(link: enrolment.link))
        _ = try await self.assembly.ceremonies.enrolments.confirmEnrolment(
            id: enrolment.id, number: result.confirmation?.number ?? "", by: "test")
    }
}
