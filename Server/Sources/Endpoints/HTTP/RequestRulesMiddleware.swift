import HTTPTypes
import Hummingbird
import NIOCore
import _Primitives

/// The signal of a request's route to the listener, before the route reads a body whose client waits for permission:
/// the listener sends `100 Continue`.
public struct RequestBodyAwaited: Sendable {
    /// Creates the signal.
    public init() {}
}

/// Refuses requests that break the rules of HTTP/1.1, before any route reads the request.
///
/// The connection ends with such a refusal. A proxy in front may have understood the request otherwise, and the next
/// bytes may be part of the request.
struct RequestRulesMiddleware: RouterMiddleware {
    typealias Context = ServerContext

    private static let host = HTTPField.Name("Host")

    func handle(
        _ request: Request, context: ServerContext, next: (Request, ServerContext) async throws -> Response
    ) async throws -> Response {
        guard let host = request.head.authority, Self.host.map({ request.headers[$0] == nil }) ?? true,
            Self.isHost(host)
        else {
            throw Self.refusal(.badRequest, "invalid-host", "A request names one host, as Host: NAME[:PORT].")
        }
        if let coding = request.headers[.transferEncoding], !coding.asciiLowercased.hasSameBytes(as: "chunked") {
            throw Self.refusal(.notImplemented, "transfer-coding", "Bodies come as they are, or in chunks.")
        }
        let path = request.uri.description
        guard path.utf8.first == UInt8(ascii: "/") || path.hasSameBytes(as: "*") else {
            throw Self.refusal(.badRequest, "invalid-target", "A request's address is a path of this server.")
        }
        guard let expectation = request.headers[.expect] else { return try await next(request, context) }
        guard expectation.asciiLowercased.hasSameBytes(as: "100-continue") else {
            throw Self.refusal(
                .expectationFailed, "expectation-failed", "Nothing but 100-continue can be expected.")
        }
        var request = request
        request.body = RequestBody(asyncSequence: AwaitedBody(base: request.body, channel: context.channel))
        return try await next(request, context)
    }

    private static func refusal(_ status: HTTPResponse.Status, _ name: String, _ detail: String) -> Problem {
        Problem(status, name, detail, headers: [.connection: "close"])
    }

    /// Returns `true` if a text is `uri-host [":" port]` (RFC 9110, section 7.2; RFC 3986, section 3.2.2).
    static func isHost(_ text: String) -> Bool {
        var bytes = Substring(text).utf8
        if bytes.first == UInt8(ascii: "[") {
            guard let end = bytes.firstIndex(of: UInt8(ascii: "]")),
                AddressBlock(String(text[bytes.index(after: bytes.startIndex)..<end])) != nil
            else { return false }
            bytes = bytes[bytes.index(after: end)...]
        } else {
            let end = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
            guard end > bytes.startIndex, bytes[..<end].allSatisfy(Self.isOfName) else { return false }
            bytes = bytes[end...]
        }
        guard let colon = bytes.first else { return true }
        let port = bytes.dropFirst()
        return colon == UInt8(ascii: ":") && port.count <= 5
            && port.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            && (port.isEmpty || Int(Substring(port)).map { $0 <= 65535 } ?? false)
    }

    /// Returns `true` for unreserved characters, sub-delimiters and percent signs.
    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~!$&'()*+,;=%".utf8.contains(byte)
        }
    }
}

/// A body whose sender waits for permission to send.
private struct AwaitedBody: AsyncSequence, Sendable {
    let base: RequestBody
    let channel: any Channel

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: RequestBody.AsyncIterator
        var channel: (any Channel)?

        mutating func next() async throws -> ByteBuffer? {
            self.channel?.triggerUserOutboundEvent(RequestBodyAwaited(), promise: nil)
            self.channel = nil
            return try await self.base.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: self.base.makeAsyncIterator(), channel: self.channel)
    }
}
