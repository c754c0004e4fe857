import AsyncHTTPClient
import CountersignServer
import Crypto
import Endpoints
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTLS
import HummingbirdTesting
import JOSE
import NIOCore
import NIOHTTP1
import NIOSSL
import OAuth
import OAuthProvider
import Records
import SQLStore
import Sealing
import Settings
import Testing
import X509
import _Primitives

@testable import CountersignCommand

/// A server's second listener, over a store of its own, and calls to it with certificates out of files.
private struct MutualListener: Sendable {
    let store: OpenStore
    let assembly: ServerAssembly
    let files: IssuedFiles
    let port: Int

    struct Answer {
        let status: UInt
        let body: JSONObject
        var error: String? { try? self.body.string("error") }
    }

    /// Runs a listener that shows `server` of `files`, and believes their authority.
    static func run(
        _ files: IssuedFiles, hasAuthorities: Bool = true, limits: Limits = Limits(),
        trustedProxies: [AddressBlock] = [], _ body: @Sendable (MutualListener) async throws -> Void
    ) async throws {
        let store = try OpenStore(
            folder: DataFolder(path: files.folder + "/data"), keyFile: KeyFile(path: files.folder + "/key"),
            limits: limits)
        var configuration = ServerAssembly.Configuration(
            issuer: "https://localhost:8080", facets: [], trustedProxies: trustedProxies, limits: limits)
        configuration.mutualTLS = .init(origin: "https://localhost:8443", hasAuthorities: hasAuthorities)
        let assembly = try await store.assembly(configuration)
        let mutual = MutualTLS(
            identity: try TLSIdentity(certificate: files.path("server"), key: files.path("server-key")),
            authorities: hasAuthorities ? try ClientAuthorities(file: files.path("authority")) : nil)
        let application = Application(
            responder: CertificateResponder(
                base: assembly.mutualRouter().buildResponder(), authorities: mutual.authorities),
            server: try .tls(.bounded(Limits()), configuration: mutual.configuration),
            configuration: .init(address: .hostname("127.0.0.1", port: 0)))
        try await application.test(.live) { client in
            try await body(
                MutualListener(store: store, assembly: assembly, files: files, port: try #require(client.port)))
        }
        await store.database.close()
    }

    func register(_ method: String, name: ClientCertificateName? = nil, keys: JWK? = nil) async throws -> String {
        var settings = ClientSettings(
            idTokenAlgorithm: .es256, grantTypes: ["authorization_code", "client_credentials"],
            authenticationMethod: method,
            keySet: keys.map { JSON.object(JWKSet([$0]).publicJSON).text },
            tokens: TokenSettings(scopes: ["read"], certificateBound: true))
        settings.certificateName = name
        return try await self.assembly.provider.clients.register(
            name: "Bank", redirectURIs: ["https://bank.example/"], settings: settings
        ).client.id
    }

    /// Sends a form, or asks, with the certificate and key of that name in a folder.
    func send(
        _ path: String, _ form: OAuth.Parameters?, certificate name: String?, of files: IssuedFiles? = nil,
        bearer: String? = nil, forwardedFor: String? = nil
    ) async throws -> Answer {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(self.files.path("authority"))
        if let name {
            let files = files ?? self.files
            tls.certificateChain = try NIOSSLCertificate.fromPEMFile(files.path(name)).map { .certificate($0) }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(file: files.path("\(name)-key"), format: .pem))
        }
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: .init(tlsConfiguration: tls))
        var request = HTTPClientRequest(url: "https://localhost:\(self.port)\(path)")
        if let forwardedFor { request.headers.add(name: "X-Forwarded-For", value: forwardedFor) }
        if let bearer { request.headers.add(name: "Authorization", value: "Bearer \(bearer)") }
        if let form {
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            request.body = .bytes(Array(form.encoded.utf8))
        }
        let result: Result<Answer, any Error>
        do {
            let response = try await client.execute(request, timeout: .seconds(30))
            let body = try await response.body.collect(upTo: 1 << 20)
            let object = (try? JSON(parsing: Array(body.readableBytesView)))?.objectOrEmpty ?? [:]
            result = .success(Answer(status: response.status.code, body: object))
        } catch {
            result = .failure(error)
        }
        try await client.shutdown()
        return try result.get()
    }

    /// Asks for a token of the client's own.
    func own(_ client: String, certificate name: String?, of files: IssuedFiles? = nil) async throws -> Answer {
        try await self.send(
            "/oauth2/token", ["grant_type": "client_credentials", "scope": "read", "client_id": client],
            certificate: name, of: files)
    }

    /// A code of a person who has signed in to the client, and its verifier.
    func code(of client: String) async throws -> OAuth.Parameters {
        let now = TimeSource.system.now()
        let (verifier, secret) = (CodeVerifier(random: .system), RandomSource.system.token(byteCount: 32))
        try await self.store.database.createAccount(
            AccountRecord(id: "alice", username: AccountName(stored: "alice"), displayName: nil, createdAt: now),
            audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: now))
        let authentication = AuthenticationRecord(
            id: "authentication", account: "alice", method: "phone", at: now, acr: "a", amr: [])
        let digest = Sealing.digest(ofSecret: secret)
        try await self.store.database.addRequest(
            AuthorizationRequestRecord(
                id: "request", browserDigest: digest, client: client, redirectURI: "https://bank.example/",
                scope: "openid", state: nil, nonce: nil, codeChallenge: verifier.challenge.digest,
                expiresAt: now + .seconds(60)))
        try await self.store.database.complete(
            CompletedAuthorization(
                request: "request",
                session: SessionRecord(
                    id: "session", cookieDigest: digest, authentications: [authentication], usedAt: now,
                    expiresAt: now + .seconds(600)),
                grant: GrantRecord(
                    id: RandomSource.system.identifier(), client: client,
                    subject: self.assembly.provider.keys.subject(ofAccount: "alice", client: client),
                    authentication: "authentication", session: "session", scope: "openid",
                    expiresAt: now + .seconds(360)),
                code: CodeRecord(
                    digest: digest, redirectURI: "https://bank.example/", nonce: nil,
                    challenge: verifier.challenge.digest, expiresAt: now + .seconds(60))), replacing: nil)
        return [
            "grant_type": "authorization_code", "client_id": client, "code": secret,
            "code_verifier": verifier.text, "redirect_uri": "https://bank.example/",
        ]
    }
}

extension JSON {
    fileprivate var objectOrEmpty: JSONObject {
        guard case .object(let object) = self else { return [:] }
        return object
    }
}

@Suite("RFC 8705 over real sockets: a listener that asks clients for their certificates (F131)")
struct MutualTLSListenerTests {
    private static let issued = "tls_client_auth"

    private static func files() throws -> IssuedFiles {
        let files = try IssuedFiles()
        try files.issue("server")
        try files.issue("client", for: "client.bank.example")
        return files
    }

    @Test("a client proves itself by a certificate of an authority, and by no expired, foreign or other one")
    func authorities() async throws {
        let (files, others) = (try Self.files(), try Self.files())
        try files.issue("expired", for: "client.bank.example", validFor: -3600)
        try files.issue("other", for: "other.bank.example")
        try files.issue("only-server", for: "client.bank.example", uses: [.serverAuth])
        try files.issue("only-client", for: "client.bank.example", uses: [.clientAuth])
        try await MutualListener.run(files) { listener in
            let host = ClientCertificateName(.dns, "client.bank.example")
            let client = try await listener.register(Self.issued, name: host)
            for name in ["client", "only-client"] {
                let answer = try await listener.own(client, certificate: name)
                #expect(answer.status == 200, "\(name)")
            }
            for (name, place) in [
                ("expired", files), ("other", files), ("only-server", files), ("client", others), (nil, files),
            ] as [(String?, IssuedFiles)] {
                let answer = try await listener.own(client, certificate: name, of: place)
                #expect(answer.status == 401 && answer.error == "invalid_client", "\(name ?? "none")")
            }
            // By the name of the subject, as text.
            let named = try await listener.register(Self.issued, name: ClientCertificateName(.subject, "CN=other"))
            #expect(try await listener.own(named, certificate: "other").status == 200)
            #expect(try await listener.own(named, certificate: "client").status == 401)
        }
    }

    @Test("a client proves itself by a certificate that it has made itself, of a key that it has registered")
    func selfSigned() async throws {
        let files = try Self.files()
        let key = try files.issueSelfSigned("own")
        _ = try files.issueSelfSigned("another")
        let point = Array(key.publicKey.rawRepresentation)
        let registered = try JWK(.p256(x: Array(point.prefix(32)), y: Array(point.suffix(32)), d: nil))
        try await MutualListener.run(files, hasAuthorities: false) { listener in
            let client = try await listener.register("self_signed_tls_client_auth", keys: registered)
            #expect(try await listener.own(client, certificate: "own").status == 200)
            for name in ["another", "client", nil] {
                let answer = try await listener.own(client, certificate: name)
                #expect(answer.status == 401 && answer.error == "invalid_client", "\(name ?? "none")")
            }
        }
    }

    @Test("a token is bound to the certificate: it opens nothing with another one, or without")
    func bound() async throws {
        let files = try Self.files()
        try files.issue("renewed", for: "client.bank.example")
        try await MutualListener.run(files) { listener in
            let host = ClientCertificateName(.dns, "client.bank.example")
            let client = try await listener.register(Self.issued, name: host)
            let form = try await listener.code(of: client)
            let given = try await listener.send("/oauth2/token", form, certificate: "client")
            #expect(given.status == 200 && given.body["token_type"] == .string("Bearer"))
            let token = try given.body.requiredString("access_token")
            func userinfo(_ name: String?) async throws -> MutualListener.Answer {
                try await listener.send("/oauth2/userinfo", nil, certificate: name, bearer: token)
            }
            #expect(try await userinfo("client").status == 200)
            for name in ["renewed", nil] {
                let answer = try await userinfo(name)
                #expect(answer.status == 401 && answer.error == "invalid_token", "\(name ?? "none")")
            }
            let usual = try await Application(router: listener.assembly.publicRouter()).test(.router) { client in
                try await client.execute(
                    uri: "/oauth2/userinfo", method: .get, headers: [.authorization: "Bearer \(token)"]
                ) { $0.status }
            }
            #expect(usual == .unauthorized)
            let told = try await listener.send(
                "/oauth2/introspect", ["token": token, "client_id": client], certificate: "renewed")
            let der = try NIOSSLCertificate.fromPEMFile(files.path("client"))[0].toDERBytes()
            let thumbprint = Base64URL.encode(Array(SHA256.hash(data: der)))
            #expect(told.body["active"] == .bool(true))
            #expect(told.body["cnf"] == .object(["x5t#S256": .string(thumbprint)]))
        }
    }

    @Test("the listener has what clients call, and nothing that people see")
    func addresses() async throws {
        let files = try Self.files()
        try await MutualListener.run(files) { listener in
            for path in ["/", "/oauth2/authorize", "/oauth2/jwks", "/.well-known/openid-configuration", "/admin/setup"]
            {
                #expect(try await listener.send(path, nil, certificate: "client").status == 404, "\(path)")
            }
            let aliases = try #require(try listener.assembly.provider.discovery.object("mtls_endpoint_aliases"))
            #expect(aliases["token_endpoint"] != nil)
            for (name, value) in aliases.members {
                guard case .string(let address) = value else {
                    Issue.record("\(name) is no address")
                    continue
                }
                let path = String(address.dropFirst("https://localhost:8443".count))
                let answer = try await listener.send(path, [:], certificate: "client")
                #expect(answer.status != 404 && answer.status < 500, "\(name)")
            }
        }
    }

    @Test("nobody says by a header where they are: what stands in front passes bytes through, and adds none")
    func forwardedHeaders() async throws {
        var limits = Limits()
        limits.oauth.deviceCodeBurst = 1
        limits.oauth.deviceCodesPerMinute = 1
        let proxies = ["127.0.0.0/8", "::1/128"].compactMap { AddressBlock($0) }
        try await MutualListener.run(Self.files(), limits: limits, trustedProxies: proxies) { listener in
            let device = try await listener.assembly.provider.clients.register(
                name: "Television", redirectURIs: ["https://bank.example/"],
                settings: ClientSettings(
                    idTokenAlgorithm: .es256, grantTypes: ["urn:ietf:params:oauth:grant-type:device_code"],
                    authenticationMethod: "none"))
            var statuses: [UInt] = []
            for address in ["192.0.2.1", "192.0.2.2", "192.0.2.3"] {
                let answer = try await listener.send(
                    "/oauth2/device_authorization", ["client_id": device.client.id, "scope": "openid"],
                    certificate: nil, forwardedFor: address)
                statuses.append(answer.status)
            }
            #expect(statuses == [200, 429, 429])
        }
    }

    /// Asks for a token twice, the second time over a connection that takes the first one's session up again, and says what
    /// came of each.
    private static let resuming = """
        import json, socket, ssl, sys
        port, authority, certificate, key, form = sys.argv[1:]
        answers = []
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = ssl.create_default_context(cafile=authority)
            context.minimum_version = context.maximum_version = version
            if certificate:
                context.load_cert_chain(certificate, key)
            session = None
            for _ in range(2):
                with socket.create_connection(("127.0.0.1", int(port)), 30) as plain:
                    with context.wrap_socket(plain, server_hostname="localhost", session=session) as connection:
                        connection.sendall((
                            "POST /oauth2/token HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n"
                            "Content-Type: application/x-www-form-urlencoded\\r\\n"
                            f"Content-Length: {len(form)}\\r\\n\\r\\n{form}").encode())
                        status = int(connection.recv(4096).split()[1])
                        session = connection.session
                        answers.append([status, connection.session_reused])
        print(json.dumps(answers))
        """

    @Test("over a session that is taken up again a client has the certificate of its first connection, or none")
    func resumption() async throws {
        let files = try Self.files()
        try await MutualListener.run(files) { listener in
            let host = ClientCertificateName(.dns, "client.bank.example")
            let client = try await listener.register(Self.issued, name: host)
            for (certificate, status) in [("client", 200), ("", 401)] {
                let process = Process()
                process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
                process.arguments = [
                    "-c", Self.resuming, "\(listener.port)", files.path("authority"),
                    certificate.isEmpty ? "" : files.path(certificate),
                    certificate.isEmpty ? "" : files.path("\(certificate)-key"),
                    "grant_type=client_credentials&scope=read&client_id=\(client)",
                ]
                let output = Pipe()
                process.standardOutput = output
                await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                    process.terminationHandler = { _ in continuation.resume() }
                    do { try process.run() } catch { continuation.resume() }
                }
                let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                let line = "[\(status), false], [\(status), true]"
                #expect(text == "[\(line), \(line)]\n", "\(certificate)")
            }
        }
    }

    @Test("a file without authorities keeps the server from starting, and says so")
    func noAuthorities() throws {
        let files = try Self.files()
        try files.write("no PEM", "broken")
        for name in ["broken", "missing"] {
            let failure = #expect(throws: CommandFailure.self) { try ClientAuthorities(file: files.path(name)) }
            #expect(failure?.problem.contains("\(name).pem") == true && failure?.remedy?.contains("--mtls-ca") == true)
        }
    }
}
