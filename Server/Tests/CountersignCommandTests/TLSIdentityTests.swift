import Crypto
import Foundation
import Hummingbird
import HummingbirdTLS
import HummingbirdTesting
import Logging
import NIOCore
import NIOSSL
import SwiftASN1
import Synchronization
import Testing
import X509
import _Primitives

@testable import CountersignCommand

/// A certificate authority, and the files of certificates that it has issued.
final class IssuedFiles: Sendable {
    let folder = "/tmp/countersign-\(UUID().uuidString.prefix(8))"
    private let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    private let name: DistinguishedName

    init() throws {
        self.name = try DistinguishedName { CommonName("Test authority") }
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        let authority = try self.certificate(
            self.key.publicKey, self.name,
            try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true))
            }, validFor: 86_400)
        try self.write(try authority.serializeAsPEM().pemString, "authority")
    }

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }

    func path(_ name: String) -> String { "\(self.folder)/\(name).pem" }

    func write(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: self.path(name)))
    }

    /// Writes `NAME.pem` and `NAME-key.pem`.
    func issue(
        _ name: String, for host: String = "localhost", validFor seconds: Double = 86_400,
        uses: [ExtendedKeyUsage.Usage] = []
    ) throws {
        let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
        let certificate = try self.certificate(
            key.publicKey, try DistinguishedName { CommonName(name) },
            try Certificate.Extensions {
                SubjectAlternativeNames([.dnsName(host)])
                if !uses.isEmpty { try ExtendedKeyUsage(uses) }
            }, validFor: seconds)
        try self.write(try certificate.serializeAsPEM().pemString, name)
        try self.write(try key.serializeAsPEM().pemString, "\(name)-key")
    }

    /// Writes `NAME.pem`, whose issuer the authority has issued, `NAME-chain.pem` with both certificates, and
    /// `NAME-key.pem`.
    func issueBelow(_ name: String) throws {
        let (key, middleKey) = (
            Certificate.PrivateKey(P256.Signing.PrivateKey()), Certificate.PrivateKey(P256.Signing.PrivateKey())
        )
        let middleName = try DistinguishedName { CommonName("Middle authority") }
        let middle = try self.certificate(
            middleKey.publicKey, middleName,
            try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true))
            }, validFor: 86_400)
        let leaf = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key.publicKey,
            notValidBefore: Date(timeIntervalSinceNow: -7200), notValidAfter: Date(timeIntervalSinceNow: 86_400),
            issuer: middleName, subject: try DistinguishedName { CommonName(name) },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions { SubjectAlternativeNames([.dnsName("localhost")]) },
            issuerPrivateKey: middleKey)
        let (own, above) = (try leaf.serializeAsPEM().pemString, try middle.serializeAsPEM().pemString)
        try self.write(own, name)
        try self.write("\(own)\n\(above)", "\(name)-chain")
        try self.write(try key.serializeAsPEM().pemString, "\(name)-key")
    }

    /// Writes a certificate that nobody but its own key vouches for, and the key.
    func issueSelfSigned(_ name: String) throws -> P256.Signing.PrivateKey {
        let key = P256.Signing.PrivateKey()
        let own = Certificate.PrivateKey(key)
        let subject = try DistinguishedName { CommonName(name) }
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: own.publicKey,
            notValidBefore: Date(timeIntervalSinceNow: -7200), notValidAfter: Date(timeIntervalSinceNow: 86_400),
            issuer: subject, subject: subject, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions(), issuerPrivateKey: own)
        try self.write(try certificate.serializeAsPEM().pemString, name)
        try self.write(try own.serializeAsPEM().pemString, "\(name)-key")
        return key
    }

    private func certificate(
        _ key: Certificate.PublicKey, _ subject: DistinguishedName, _ extensions: Certificate.Extensions,
        validFor seconds: Double
    ) throws -> Certificate {
        try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key,
            notValidBefore: Date(timeIntervalSinceNow: -7200), notValidAfter: Date(timeIntervalSinceNow: seconds),
            issuer: self.name, subject: subject, signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions,
            issuerPrivateKey: self.key)
    }
}

@Suite("countersign serve: the certificate, and its renewal without a restart")
struct TLSIdentityTests {
    private func failure(_ certificate: String, _ key: String) -> CommandFailure? {
        #expect(throws: CommandFailure.self) { try TLSIdentity(certificate: certificate, key: key) }
    }

    @Test("a file that is none, and a key of another certificate, are told by their names")
    func refused() throws {
        let files = try IssuedFiles()
        try files.issue("one")
        try files.issue("two")
        try files.write("no PEM", "broken")
        _ = try TLSIdentity(certificate: files.path("one"), key: files.path("one-key"))
        let mismatch = self.failure(files.path("one"), files.path("two-key"))
        #expect(mismatch?.problem.contains("two-key.pem is not that of the first certificate") == true)
        #expect(mismatch?.problem.contains("one.pem") == true && mismatch?.remedy != nil)
        for name in ["broken", "missing"] {
            #expect(self.failure(files.path(name), files.path("one-key"))?.problem.contains("\(name).pem") == true)
            #expect(self.failure(files.path("one"), files.path(name))?.problem.contains("\(name).pem") == true)
        }
    }

    /// A server that shows an identity. `body` is given its address, and what its log has.
    private func withServer(
        _ identity: TLSIdentity, _ body: @Sendable (String) async throws -> Void
    ) async throws {
        let router = Router()
        router.get("/admin/v1/accounts") { _, _ in "{}" }
        let application = Application(
            router: router, server: try .tls(.http1(), tlsConfiguration: identity.configuration),
            configuration: .init(address: .hostname("127.0.0.1", port: 0)))
        try await application.test(.live) { client in
            try await body("https://localhost:\(try #require(client.port))")
        }
    }

    private func call(_ address: String, _ authority: String?) async throws {
        let server = try AdminConnection.server(at: address, named: "COUNTERSIGN_ADMIN_URL")
        _ = try await AdminConnection(place: .network(server, token: "t"), caFile: authority).call("GET", "/accounts")
    }

    @Test("a renewed certificate is shown to new connections; one that cannot be used changes nothing, and is logged")
    func renewal() async throws {
        let (files, others) = (try IssuedFiles(), try IssuedFiles())
        try files.issue("server")
        let identity = try TLSIdentity(certificate: files.path("server"), key: files.path("server-key"))
        let lines = Mutex<[String]>([])
        let handler = LineLog(.text, level: .info) { line in lines.withLock { $0.append(line) } }
        let logger = Logger(label: "test") { _ in handler }
        let (old, new) = (files.path("authority"), others.path("authority"))
        // By another authority, so that it is plain which of them is shown.
        try others.issue("server")
        let certificate = try String(contentsOfFile: others.path("server"), encoding: .utf8)
        let key = try String(contentsOfFile: others.path("server-key"), encoding: .utf8)
        try await self.withServer(identity) { address in
            try await self.call(address, old)
            try files.write(certificate, "server")
            identity.reload(logger: logger)
            let kept = lines.withLock { $0.last ?? "" }
            #expect(kept.contains("error Certificate and key stay as they were") && kept.contains("server-key.pem"))
            #expect(kept.contains("advice=") && kept.contains("LoadCredential"), "\(kept)")
            let early = await #expect(throws: CommandFailure.self) { try await self.call(address, new) }
            #expect(early?.status == .unreachable)

            try files.write(key, "server-key")
            identity.reload(logger: logger)
            #expect(lines.withLock { $0.last ?? "" }.contains("notice Certificate and key were read again"))
            try await self.call(address, new)
            // The connection that began with the old one goes on.
            try await self.call(address, old)
        }
    }

    @Test("countersign admin says in words what is wrong with a server's certificate, and takes --ca-file")
    func words() async throws {
        let files = try IssuedFiles()
        try files.issue("right")
        try files.issue("named", for: "other.example")
        try files.issue("expired", validFor: -3600)
        for (name, authority, words) in [
            ("right", nil, "not one that this machine trusts"),
            ("expired", "authority", "not one that this machine trusts"),
            ("named", "authority", "for another name"),
        ] {
            let identity = try TLSIdentity(certificate: files.path(name), key: files.path("\(name)-key"))
            let path = authority.map { files.path($0) }
            try await self.withServer(identity) { address in
                let failure = await #expect(throws: CommandFailure.self) { try await self.call(address, path) }
                #expect(failure?.status == .unreachable && failure?.problem.contains(words) == true, "\(name)")
                #expect(failure?.problem.contains("NIOSSL") == false && failure?.remedy != nil)
            }
        }
        let missing = await #expect(throws: CommandFailure.self) {
            try await self.call("https://localhost:1", files.path("missing"))
        }
        #expect(missing?.status == .notFound && missing?.problem.contains("missing.pem") == true)
        let noPEM = await #expect(throws: CommandFailure.self) {
            try await self.call("https://localhost:1", files.path("right-key"))
        }
        #expect(noPEM?.status == .usage)
    }

    @Test("a token follows no redirection: the server that sends elsewhere is told")
    func redirection() async throws {
        let router = Router()
        router.get("**") { _, _ in Response.redirect(to: "/elsewhere", type: .temporary) }
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)))
        try await application.test(.live) { client in
            let address = "http://127.0.0.1:\(try #require(client.port))"
            let failure = await #expect(throws: CommandFailure.self) { try await self.call(address, nil) }
            #expect(failure?.problem.contains("sends elsewhere (307)") == true && failure?.remedy != nil)
        }
    }

    @Test("a server that does not speak TLS is told as that")
    func plain() async throws {
        let files = try IssuedFiles()
        let router = Router()
        router.get("/") { _, _ in "" }
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)))
        try await application.test(.live) { client in
            let address = "https://localhost:\(try #require(client.port))"
            let failure = await #expect(throws: CommandFailure.self) {
                try await self.call(address, files.path("authority"))
            }
            #expect(failure?.problem.contains("does not speak TLS") == true)
        }
    }
}
