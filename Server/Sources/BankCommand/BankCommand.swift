import ArgumentParser
import AsyncHTTPClient
import Foundation
import Hummingbird
import HummingbirdTLS
import Logging
import NIOSSL

/// The program `bank`: an example of a service that lets people sign in, and confirm transfers, with their phone.
///
/// It is written as somebody would who knows nothing about the server but its address, the client credentials that an
/// operator handed over, and the public documents: OpenID Connect for signing in, and two back-end calls for
/// transfers. Its accounts are sample data and live in memory.
@main
struct BankCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bank",
        abstract: "An example bank: sign in with a phone, confirm transfers on it.",
        discussion: """
            The client secret is read from BANK_CLIENT_SECRET or from the file that --client-secret-file names; it is \
            never an argument.
            """)

    @Option(help: "Address of the OpenID provider, whose discovery document is read.")
    var issuer = "http://localhost:8080"

    @Option(name: .customLong("client-id"), help: "Client id that the provider's operator handed over.")
    var clientID: String

    @Option(help: "File whose first line is the client secret.")
    var clientSecretFile: String?

    @Option(help: "Address and port to listen on.")
    var bind = "127.0.0.1:8081"

    @Option(help: "Address under which browsers reach the bank (default: made of --bind).")
    var origin: String?

    @Option(help: "PEM file of an additional certificate authority to trust when calling the provider.")
    var caFile: String?

    @Option(help: "PEM file of the bank's own certificate chain; with --tls-key it serves https.")
    var tlsCertificate: String?

    @Option(help: "PEM file of the certificate's private key.")
    var tlsKey: String?

    @Option(help: "File to append one line of JSON to for each message of a sign-in or a transfer.")
    var trace: String?

    func validate() throws {
        guard self.listenAddress != nil else { throw ValidationError("--bind takes HOST:PORT, as in 127.0.0.1:8081.") }
        guard (self.tlsCertificate == nil) == (self.tlsKey == nil) else {
            throw ValidationError("--tls-certificate and --tls-key go together.")
        }
    }

    private var listenAddress: (host: String, port: Int)? {
        guard let colon = self.bind.lastIndex(of: ":"), let port = Int(self.bind[self.bind.index(after: colon)...]),
            (0...65535).contains(port)
        else { return nil }
        let host = self.bind[..<colon].trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        return host.isEmpty ? nil : (host, port)
    }

    private func clientSecret() throws -> String {
        if let file = self.clientSecretFile {
            let text = try String(contentsOfFile: file, encoding: .utf8)
            if let line = text.split(whereSeparator: \.isNewline).first { return String(line) }
        } else if let secret = ProcessInfo.processInfo.environment["BANK_CLIENT_SECRET"], !secret.isEmpty {
            return secret
        }
        throw ValidationError("Set BANK_CLIENT_SECRET, or name a file with --client-secret-file.")
    }

    func run() async throws {
        guard let address = self.listenAddress else { return }
        let isTLS = self.tlsCertificate != nil
        let origin = self.origin ?? "\(isTLS ? "https" : "http")://\(self.bind)"
        let trace = try self.trace.map { try TraceFile(path: $0) }
        let calls = try ProviderCalls(
            issuer: self.issuer, clientID: self.clientID, clientSecret: self.clientSecret(), caFile: self.caFile)
        let bank = Bank(
            origin: origin,
            provider: OpenIDProvider(calls: calls, redirectURI: "\(origin)/callback"),
            confirmations: Confirmations(calls: calls),
            sessions: SessionTable(),
            ledger: Ledger(),
            trace: trace)

        var logger = Logger(label: "bank")
        logger.logLevel = .notice
        let router = Router()
        bank.addRoutes(to: router)
        let app = Application(
            router: router,
            server: try self.tlsConfiguration().map { try .tls(.http1(), tlsConfiguration: $0) } ?? .http1(),
            configuration: .init(address: .hostname(address.host, port: address.port), serverName: "bank"),
            onServerRunning: { _ in
                FileHandle.standardOutput.write(Data("The bank is open at \(origin)\n".utf8))
            },
            logger: logger)
        do {
            try await app.runService()
        } catch {
            try? await calls.shutDown()
            throw error
        }
        try await calls.shutDown()
    }

    /// The bank's own certificate; `nil` where it serves http.
    private func tlsConfiguration() throws -> TLSConfiguration? {
        guard let certificate = self.tlsCertificate, let key = self.tlsKey else { return nil }
        let chain = try NIOSSLCertificate.fromPEMFile(certificate).map { NIOSSLCertificateSource.certificate($0) }
        return TLSConfiguration.makeServerConfiguration(
            certificateChain: chain, privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
    }
}
