import ArgumentParser
import AsyncHTTPClient
import Ceremony
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import Settings
import Synchronization
import _Primitives

/// Calls of the administration interface.
struct AdminConnection: Sendable {
    enum Place: Sendable {
        case network(PublicAddress, token: String)
        case socket(path: String)
    }

    let place: Place
    /// A certificate authority beside the system's authorities, PEM.
    var caFile: String?

    /// The HTTP clients by the authority's file. Each client lives as long as the command.
    private static let clients = Mutex<[ExactText: HTTPClient]>([:])

    /// Returns a client that sends no secret after a redirect, and reports at once if nobody listens.
    private func client() throws -> HTTPClient {
        let key = ExactText(self.caFile ?? "")
        return try Self.clients.withLock { clients in
            if let client = clients[key] { return client }
            var configuration = HTTPClient.Configuration(
                redirectConfiguration: .disallow, timeout: .init(connect: TimeAmount(Limits.Commands.connectTime)))
            configuration.connectionPool.retryConnectionEstablishment = false
            if let caFile = self.caFile {
                guard let authority = try? NIOSSLCertificate.fromPEMFile(caFile), !authority.isEmpty else {
                    throw CommandFailure(
                        FileManager.default.fileExists(atPath: caFile) ? .usage : .notFound,
                        "there is no certificate authority in \(caFile)",
                        remedy: "--ca-file takes its certificate, PEM.")
                }
                var tls = TLSConfiguration.makeClientConfiguration()
                tls.additionalTrustRoots = [.certificates(authority)]
                configuration.tlsConfiguration = tls
            }
            let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
            clients[key] = client
            return client
        }
    }

    /// Reads the address of a server that may receive secrets.
    ///
    /// Throws a usage ``CommandFailure`` for any other address. The failure names the setting `name` and not the
    /// address, because the address may hold a secret.
    static func server(at address: String, named name: String) throws -> PublicAddress {
        guard let server = PublicAddress(address) else {
            throw CommandFailure(.usage, "\(name) takes an address such as https://sign-in.example.com")
        }
        guard server.isProtected else {
            throw CommandFailure(
                .usage, "\(server.text) is not https, and not this machine",
                remedy: "A token would go over the network for everybody to read.")
        }
        return server
    }

    /// Sends a request and returns the answer's body; an empty object if the answer has no body.
    ///
    /// A refusal becomes a ``CommandFailure`` with the server's own words and the exit code that fits. `time` is the
    /// time that an answer may take.
    func call(
        _ method: String, _ path: String, _ body: JSONObject? = nil, within time: Duration = Limits.Commands.answerTime
    ) async throws -> JSON {
        var request: HTTPClientRequest
        switch self.place {
        case .network(let server, let token):
            request = HTTPClientRequest(url: server.text + "/admin/v1" + path)
            request.headers.add(name: "Authorization", value: "Bearer \(token)")
        case .socket(let socket):
            guard let url = URL(httpURLWithSocketPath: socket, uri: "/admin/v1" + path) else {
                throw CommandFailure(.usage, "no socket can have the path \(socket)")
            }
            request = HTTPClientRequest(url: url.absoluteString)
            // A path is no host, and every request of HTTP/1.1 names a host.
            request.headers.add(name: "Host", value: "localhost")
            // Without a running server, the command itself answers at the socket, and that listener ends with the
            // command. The next listener at the path is another, so the client keeps no connection.
            request.headers.add(name: "Connection", value: "close")
        }
        request.method = .init(rawValue: method)
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: JSON.object(body).serialized))
        }
        let response: HTTPClientResponse
        let bytes: ByteBuffer
        do {
            response = try await self.client().execute(request, timeout: TimeAmount(time))
            bytes = try await response.body.collect(upTo: Limits.Commands.answerBytes)
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw self.tlsFailure(error)
                ?? CommandFailure(
                    .unreachable, "the server does not answer (\(Self.cause(of: error)))", remedy: self.remedy)
        }
        guard !(300..<400).contains(response.status.code) else {
            throw CommandFailure(
                .failed, "the server sends elsewhere (\(response.status.code)); a token goes nowhere else",
                remedy: "Name the server's own address.")
        }
        let answer = bytes.readableBytes == 0 ? JSON.object([:]) : try Self.parse(bytes)
        guard (200..<300).contains(response.status.code) else { throw Self.failure(response.status.code, answer) }
        return answer
    }

    /// Returns the cause of a missing answer, in a few words.
    private static func cause(of error: any Error) -> String {
        switch error {
        case let error as HTTPClientError: error.shortDescription
        case is NIOSSLError, is NIOSSLExtraError: "TLS failed"
        case let error as IOError: String(cString: strerror(error.errnoCode))
        default: "no connection"
        }
    }

    /// Returns the meaning of a TLS failure, in words; `nil` for every other failure.
    private func tlsFailure(_ error: any Error) -> CommandFailure? {
        guard case .network(let server, _) = self.place, error is NIOSSLError || error is NIOSSLExtraError else {
            return nil
        }
        let reason = "\(error)"
        if reason.contains("CERTIFICATE_VERIFY_FAILED") {
            return CommandFailure(
                .unreachable, "the certificate that \(server.text) shows is not one that this machine trusts",
                remedy:
                    "It has expired, or an authority has issued it that is not known here: --ca-file names that authority's certificate."
            )
        }
        if (error as? NIOSSLExtraError) == .failedToValidateHostname {
            return CommandFailure(
                .unreachable, "the certificate that \(server.text) shows is for another name",
                remedy: "COUNTERSIGN_ADMIN_URL takes a name that the certificate is for.")
        }
        if reason.contains("WRONG_VERSION_NUMBER") {
            return CommandFailure(
                .unreachable, "what answers at \(server.text) does not speak TLS",
                remedy: "Is it the port of a server behind a proxy? COUNTERSIGN_ADMIN_URL takes the proxy's address.")
        }
        return CommandFailure(
            .unreachable, "no TLS connection to \(server.text) comes about",
            remedy: "Does it speak TLS 1.2 or later there? `openssl s_client -connect HOST:PORT` shows more.")
    }

    private var remedy: String {
        switch self.place {
        case .network(let server, _): "Is it running at \(server.text)?"
        case .socket: "Is `countersign serve` running with this data folder?"
        }
    }

    private static func parse(_ bytes: ByteBuffer) throws -> JSON {
        do {
            return try JSON(
                parsing: Array(bytes.readableBytesView),
                limits: JSONLimits(bytes: Limits.Commands.answerBytes, values: Limits.Commands.answerValues))
        } catch {
            throw CommandFailure(.failed, "the server's answer is not JSON (\(error.code))")
        }
    }

    private static func failure(_ status: UInt, _ answer: JSON) -> CommandFailure {
        var problem = "the server answers \(status)"
        if case .object(let object) = answer {
            if let title = try? object.string("title") { problem = DisplayText.line(title) }
            if let detail = try? object.string("detail") {
                problem += ": \(DisplayText.line(detail, maximumLength: Limits.Commands.shownReasonCharacters))"
            }
        }
        switch status {
        case 401:
            return CommandFailure(.failed, problem, remedy: "COUNTERSIGN_ADMIN_TOKEN is not a token of this server.")
        case 404: return CommandFailure(.notFound, problem)
        case 423, 429: return CommandFailure(.lockedOut, problem)
        case 503: return CommandFailure(.unreachable, problem)
        default: return CommandFailure(.failed, problem)
        }
    }
}
