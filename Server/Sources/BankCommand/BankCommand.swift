import ArgumentParser
import AsyncHTTPClient
import Foundation
import Hummingbird
import HummingbirdTLS
import Logging
import NIOCore
import NIOSSL

/// The program `bank`: an example of a service that lets people sign in, and confirm transfers, with their phone. With
/// `--town-hall` the program is an example of a service that asks for a personalised identity.
///
/// The author of a service like this knows three things about the server: the address, the client credentials from the
/// operator, and the public documents. The documents are OpenID Connect for signing in, and two back-end calls for
/// transfers. The example uses nothing else. Its accounts are sample data and live in memory.
@main
struct BankCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bank",
        abstract: "An example bank: sign in with a phone, confirm transfers on it.",
        discussion: """
            The client secret is read from BANK_CLIENT_SECRET or from the file that --client-secret-file names; it is \
            never an argument. With --town-hall it is a town hall instead, which shows what people have confirmed to it \
            of themselves. It verifies ES256: it is registered with \
            --id-token-signed-response-alg ES256.

            Exit codes: 0 ended by a signal, 1 failed, 2 usage.
            """)

    static func main() async {
        do {
            var command = try Self.parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            let isMisuse = Self.exitCode(for: error) == .validationFailure
            guard isMisuse || error is BankFailure else { Self.exit(withError: error) }
            let text = isMisuse ? Self.fullMessage(for: error) : "Error: \(error)"
            FileHandle.standardError.write(Data("\(text)\n".utf8))
            Foundation.exit(isMisuse ? 2 : 1)
        }
    }

    @Flag(help: "Be a town hall, a service of personalised identities.")
    var townHall = false

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
        guard Self.isProtected(self.issuer, mayHavePath: true) else {
            throw ValidationError("--issuer takes an https address; http is for a provider on this machine alone.")
        }
        guard self.origin.map({ Self.isProtected($0) }) ?? true else {
            throw ValidationError("--origin takes an https address; http is for browsers on this machine alone.")
        }
    }

    /// Returns `true` if an address uses https, or belongs to this machine.
    ///
    /// The address consists of scheme, host and port alone, or also of a path if `mayHavePath` is `true`. Over any
    /// other connection everybody could read the client secret and people's tokens.
    static func isProtected(_ address: String, mayHavePath: Bool = false) -> Bool {
        guard let parts = URLComponents(string: address), let host = parts.host, !host.isEmpty, parts.user == nil,
            mayHavePath || ["", "/"].contains(parts.path), parts.query == nil, parts.fragment == nil
        else { return false }
        if parts.scheme == "https" { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        let isLoopback =
            ["localhost", "::1", "[::1]"].contains(host)
            || numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
        return parts.scheme == "http" && isLoopback
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
            guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
                throw BankFailure("the client secret's file \(file) cannot be read")
            }
            guard let line = text.split(whereSeparator: \.isNewline).first else {
                throw BankFailure("the client secret's file \(file) is empty")
            }
            return String(line)
        } else if let secret = ProcessInfo.processInfo.environment["BANK_CLIENT_SECRET"], !secret.isEmpty {
            return secret
        }
        throw ValidationError("Set BANK_CLIENT_SECRET, or name a file with --client-secret-file.")
    }

    func run() async throws {
        guard let address = self.listenAddress else { return }
        let isTLS = self.tlsCertificate != nil
        let origin = self.origin ?? "\(isTLS ? "https" : "http")://\(self.bind)"
        var logger = Logger(label: "bank")
        logger.logLevel = .notice
        let trace = try self.trace.map { path in
            try Self.reading("the trace file \(path) cannot be written") { try TraceFile(path: path) }
        }
        let secret = try self.clientSecret()
        let tls = try Self.reading("--tls-certificate and --tls-key are no certificate and its key in PEM") {
            try self.tlsConfiguration()
        }
        let calls = try Self.reading("--ca-file \(self.caFile ?? "") is no certificate in PEM") {
            try ProviderCalls(
                issuer: self.issuer, clientID: self.clientID, clientSecret: secret, caFile: self.caFile)
        }
        let house = self.townHall ? House.townHall : House.bank
        let provider = OpenIDClient(calls: calls, redirectURI: "\(origin)/callback", scope: house.scope)
        let confirmations = Confirmations(calls: calls)
        let ledger = Ledger()
        let settlement = Settlement(
            confirmations: confirmations, provider: provider, ledger: ledger, logger: logger)
        let (begun, continuation) = AsyncStream.makeStream(of: Transfer.self)
        let router = Router()
        if self.townHall {
            TownHall(origin: origin, provider: provider, sessions: SessionTable(), trace: trace).addRoutes(to: router)
        } else {
            Bank(
                origin: origin, provider: provider, confirmations: confirmations, sessions: SessionTable(),
                ledger: ledger, settlement: settlement, trace: trace, begun: continuation
            ).addRoutes(to: router)
        }
        var app = Application(
            router: router, server: try tls.map { try .tls(.http1(), tlsConfiguration: $0) } ?? .http1(),
            configuration: .init(address: .hostname(address.host, port: address.port), serverName: "bank"),
            onServerRunning: { _ in
                FileHandle.standardOutput.write(Data("\(house.name) is open at \(origin)\n".utf8))
            },
            logger: logger)
        app.addServices(Follower(settlement: settlement, begun: begun))
        do {
            try await app.runService()
        } catch {
            try? await calls.shutDown()
            guard error is IOError else { throw error }
            throw BankFailure("the bank cannot listen at \(self.bind): \(error)")
        }
        try await calls.shutDown()
    }

    /// Returns the result of `body`. Throws ``BankFailure`` with the sentence `problem` if `body` throws any error.
    private static func reading<Value>(_ problem: String, _ body: () throws -> Value) throws -> Value {
        do { return try body() } catch { throw BankFailure(problem) }
    }

    /// Returns the bank's own certificate and key; `nil` if the bank serves http.
    func tlsConfiguration() throws -> TLSConfiguration? {
        guard let certificate = self.tlsCertificate, let key = self.tlsKey else { return nil }
        let chain = try NIOSSLCertificate.fromPEMFile(certificate).map { NIOSSLCertificateSource.certificate($0) }
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain, privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
        // The library's default still accepts the earlier TLS versions, which are broken.
        tls.minimumTLSVersion = .tlsv12
        return tls
    }
}

/// The reason why the program ends, as one sentence.
struct BankFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
