import Countersign
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Synchronization
import Testing
import _Primitives

/// A browser: it keeps cookies, and sends them back to the one server that there is.
final class TestBrowser: Sendable {
    let client: any TestClientProtocol
    let userAgent: String
    private let jar = Mutex<[String: String]>([:])

    init(
        _ client: any TestClientProtocol,
        userAgent: String = "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 Safari/537.36"
    ) {
        self.client = client
        self.userAgent = userAgent
    }

    /// The cookies that it would send.
    var cookies: [String: String] { self.jar.withLock { $0 } }

    func forgetCookies() { self.jar.withLock { $0 = [:] } }

    /// Follows a link. `address` may be absolute.
    func get(_ address: String, headers: HTTPFields = [:]) async throws -> TestResponse {
        try await self.send(.get, address, headers: headers, body: nil)
    }

    /// Asks what a link would answer, as a preview does.
    func head(_ address: String) async throws -> TestResponse {
        try await self.send(.head, address, headers: [:], body: nil)
    }

    /// Sends a form.
    func post(_ address: String, form: String, headers: HTTPFields = [:]) async throws -> TestResponse {
        var headers = headers
        headers[.contentType] = "application/x-www-form-urlencoded"
        return try await self.send(.post, address, headers: headers, body: form)
    }

    private func send(_ method: HTTPRequest.Method, _ address: String, headers: HTTPFields, body: String?) async throws
        -> TestResponse
    {
        var headers = headers
        headers[.userAgent] = self.userAgent
        let cookies = self.cookies
        if !cookies.isEmpty {
            headers[.cookie] = cookies.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(
                separator: "; ")
        }
        let start = address.firstRange(of: "://")?.upperBound
        let path = start.map { String(address[$0...].drop { $0 != "/" }) } ?? address
        let response = try await self.client.execute(
            uri: path, method: method, headers: headers, body: body.map { ByteBuffer(string: $0) })
        for line in response.headers[values: .setCookie] {
            let pair = line.split(separator: ";")[0].split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = String(pair[1])
            self.jar.withLock { $0[String(pair[0])] = value.isEmpty ? nil : value }
        }
        return response
    }
}

extension TestResponse {
    /// The body as text.
    var text: String { String(buffer: self.body) }

    /// What an element with a `data-testid` has in an attribute.
    func attribute(_ name: String, of testID: String) throws -> String {
        let tag = try Regex("<[^<>]*data-testid=\"\(testID)\"[^<>]*>")
        let element = try #require(self.text.firstMatch(of: tag), "no element \(testID)")
        let value = try Regex("\(name)=\"([^\"]*)\"")
        let match = try #require(String(self.text[element.range]).firstMatch(of: value), "no attribute \(name)")
        return String(try #require(match.output[1].substring)).replacing("&amp;", with: "&")
    }

    /// The text of an element with a `data-testid`.
    func words(of testID: String) throws -> String {
        let match = try #require(self.text.firstMatch(of: try Regex("data-testid=\"\(testID)\"[^<>]*>([^<]*)<")))
        return String(try #require(match.output[1].substring))
    }

    /// The parameters of the address that it redirects to.
    var redirectParameters: [String: String] {
        let query = (self.headers[.location] ?? "").split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        return Dictionary(
            query.split(separator: "&").map { part in
                let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                return (pair[0], (pair.count > 1 ? pair[1] : "").removingPercentEncoding ?? "")
            }, uniquingKeysWith: { first, _ in first })
    }
}

/// Takes the SDK's requests to the routes of a server in the same process.
struct RouterTransport: Transport {
    let client: any TestClientProtocol

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        var headers = HTTPFields()
        for header in request.headers {
            if let name = HTTPField.Name(header.name) { headers[name] = header.value }
        }
        let response = try await self.client.execute(
            uri: request.url.path(percentEncoded: true)
                + (request.url.query(percentEncoded: true).map { "?\($0)" } ?? ""),
            method: HTTPRequest.Method(rawValue: request.method) ?? .get, headers: headers,
            body: request.body.isEmpty ? nil : ByteBuffer(bytes: request.body))
        return TransportResponse(
            status: response.status.code, headers: response.headers.map { ($0.name.rawName, $0.value) },
            body: Array(response.body.readableBytesView))
    }

    /// Gives the whole answer as one piece, when the server has ended it.
    func stream<Value: Sendable>(
        _ request: TransportRequest, _ read: @escaping @Sendable (TransportStream) async throws -> Value
    ) async throws -> Value {
        let response = try await self.send(request)
        let pieces = AsyncStream([UInt8].self) { pieces in
            pieces.yield(response.body)
            pieces.finish()
        }
        return try await read(TransportStream(status: response.status, headers: response.headers, pieces: pieces))
    }
}
