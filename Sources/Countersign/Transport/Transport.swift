import Ceremony
public import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One request of the SDK, as plain values.
public struct TransportRequest: Sendable {
    /// `GET`, `POST`, `PATCH` or `DELETE`.
    public var method: String
    /// The request's address: `https`, or `http` on `localhost` or a literal loopback address. The SDK has checked the
    /// address before the transport receives the request.
    public var url: URL
    /// The header fields, in the order in which they are sent.
    public var headers: [(name: String, value: String)]
    /// The body; empty for `GET` and `DELETE`.
    public var body: [UInt8]
    /// The maximum time of the whole exchange.
    public var timeout: Duration
    /// The maximum number of bytes of a body that the SDK reads; a longer answer is an error.
    public var maximumResponseLength: Int

    /// Creates a request of the given parts.
    public init(
        method: String, url: URL, headers: [(name: String, value: String)], body: [UInt8], timeout: Duration,
        maximumResponseLength: Int = 65_536
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.maximumResponseLength = maximumResponseLength
    }
}

extension TransportRequest: CustomStringConvertible, CustomReflectable {
    /// The method, host and length only: header fields and body carry tokens, and a path can name a session.
    public var description: String {
        "TransportRequest(\(self.method) \(self.url.host() ?? ""), \(self.body.count) bytes)"
    }
    public var customMirror: Mirror { Mirror(self, children: ["method": self.method, "bytes": self.body.count]) }
}

/// The server's answer, as plain values.
public struct TransportResponse: Sendable {
    /// The HTTP status code; a redirect is an answer like any other.
    public var status: Int
    /// Header fields.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var body: [UInt8]
    /// The certificate, DER, that the server has shown on the very connection of this answer. `nil` for an unencrypted
    /// connection, and if the implementation cannot see the certificate.
    ///
    /// The device's answer to a request is bound to this certificate (ChannelBinding, UAF Protocol 1.1 §3.1.8). The
    /// certificate of another connection, even to the same server, would hide an attacker on this connection.
    public var serverCertificate: [UInt8]?

    /// Creates an answer of the given parts.
    public init(
        status: Int, headers: [(name: String, value: String)], body: [UInt8], serverCertificate: [UInt8]? = nil
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.serverCertificate = serverCertificate
    }

    /// Returns the value of the first header field with the name; letter case does not matter.
    public func header(_ name: String) -> String? {
        self.headers.first { $0.name.asciiLowercased.hasSameBytes(as: name.asciiLowercased) }?.value
    }
}

extension TransportResponse: CustomStringConvertible, CustomReflectable {
    /// The status and length only: header fields and body carry tokens.
    public var description: String { "TransportResponse(\(self.status), \(self.body.count) bytes)" }
    public var customMirror: Mirror { Mirror(self, children: ["status": self.status, "bytes": self.body.count]) }
}

/// The SDK's access to the network.
///
/// Duties of an implementation:
/// - It checks the server's certificate and name; no setting turns the check off.
/// - It follows no redirect, keeps and sends no cookie, and caches nothing.
/// - It stops at ``TransportRequest/timeout``, at ``TransportRequest/maximumResponseLength`` and when the task is
///   cancelled.
/// - It throws ``TransportError`` if no complete answer arrived.
/// - It enforces pins (``pinned(to:)``), or says that it cannot.
public protocol Transport: Sendable {
    /// Sends a request and returns the answer, whatever the answer's status is.
    func send(_ request: TransportRequest) async throws -> TransportResponse

    /// Sends a request and gives the answer to `read` while the answer arrives, whatever the answer's status is.
    ///
    /// The duties are those of ``send(_:)``, with other limits: ``TransportRequest/timeout`` ends with the header
    /// fields, and ``TransportRequest/maximumResponseLength`` limits the bytes that have arrived and were not read yet.
    /// The caller limits the silence between two pieces, and cancels the task then. The connection is closed when
    /// `read` returns or throws, and when the task is cancelled.
    ///
    /// An implementation without this function throws ``TransportError`` `cannotStream` before anything is sent, and
    /// the caller asks again by ``send(_:)`` instead.
    ///
    /// - Returns: The result of `read`.
    func stream<Value: Sendable>(
        _ request: TransportRequest, _ read: @escaping @Sendable (TransportStream) async throws -> Value
    ) async throws -> Value

    /// Returns a transport that sends as this transport does, but only to servers with pinned keys.
    ///
    /// The returned transport compares the key of each connection after the handshake and before the first byte of the
    /// request: ``TLSPins/includeKey(ofCertificate:)``. For another key, and for a connection without TLS, the transport
    /// throws ``TransportError`` `tlsPinMismatch` with ``TransportError/isUnsent``, and sends nothing.
    ///
    /// The default throws ``TransportError`` `cannotPin`. A client whose configuration has pins does not start over such
    /// a transport.
    func pinned(to pins: TLSPins) throws -> any Transport
}

extension Transport {
    /// Throws ``TransportError`` `cannotPin`: the transport compares no keys.
    public func pinned(to pins: TLSPins) throws -> any Transport {
        throw TransportError(.cannotPin, "\(Self.self) cannot enforce pins", isUnsent: true)
    }

    /// Returns the transport for a configuration: a pinned transport, or this transport if the configuration has no
    /// pins. Throws as ``pinned(to:)``.
    func enforcing(_ pins: TLSPins?) throws -> any Transport { try pins.map(self.pinned) ?? self }
}

/// The reason why no complete answer arrived. Two errors are equal if their codes are equal.
public struct TransportError: CodedError {
    /// The kind of the error, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case unreachable, timedOut, untrustedServer, tlsPinMismatch, tooLarge, insecure, cannotStream, cannotPin
        }
        private let base: Base
        /// The connection could not be made, or broke. Transient.
        public static let unreachable = Self(base: .unreachable)
        /// No complete answer arrived in time. Transient.
        public static let timedOut = Self(base: .timedOut)
        /// The server's certificate or name is not valid.
        public static let untrustedServer = Self(base: .untrustedServer)
        /// The server's key is not among the pinned keys, or the connection has no TLS; nothing was sent.
        public static let tlsPinMismatch = Self(base: .tlsPinMismatch)
        /// The answer is longer than the SDK's limit.
        public static let tooLarge = Self(base: .tooLarge)
        /// The address is neither `https` nor loopback; nothing was sent.
        public static let insecure = Self(base: .insecure)
        /// The transport gives answers only as a whole (``Transport/stream(_:_:)``); nothing was sent.
        public static let cannotStream = Self(base: .cannotStream)
        /// The transport cannot enforce pins (``Transport/pinned(to:)``); nothing was sent.
        public static let cannotPin = Self(base: .cannotPin)
        public var description: String { self.base.rawValue }
    }

    /// The kind of the error, which also determines the remedy.
    public let code: Code
    /// The reason for the log: never a part of a body.
    public let reason: String
    /// `true` if no part of the request has left this device, with certainty. For example, the server's name was not
    /// found, or no connection was made. `false` if the transport does not know.
    ///
    /// A ``RetryPolicy`` repeats a request that works only once, such as a signed answer, only after an error of this
    /// kind.
    public let isUnsent: Bool

    /// Creates an error with the code; `reason` goes only to the log. `isUnsent` is `true` only if no part of the request
    /// has left this device, with certainty.
    public init(_ code: Code, _ reason: String, isUnsent: Bool = false) {
        self.code = code
        self.reason = reason
        self.isUnsent = isUnsent
    }
}

/// A channel that sends requests over a transport, but never unencrypted.
struct SecureChannel: Sendable {
    let transport: any Transport
    /// The header fields that the app adds to the requests of an operation; `nil` for none.
    var added: AddedHeaders?

    init(transport: any Transport) { self.transport = transport }

    /// Returns `true` if an address is `https`, or `http` on a literal loopback address or `localhost`.
    static func isSecure(_ url: URL) -> Bool {
        guard let host = url.host()?.asciiLowercased, !host.isEmpty else { return false }
        switch url.scheme?.asciiLowercased {
        case "https": return true
        case "http": return self.isLoopback(host)
        default: return false
        }
    }

    /// Checks the address and sends the request: a plain `http` address throws before any byte is sent.
    ///
    /// `event` is recorded when only the network stands between the request and its address.
    func send(_ request: TransportRequest, _ recording: Recording, noting event: TraceEvent? = nil) async throws
        -> TransportResponse
    {
        guard Self.isSecure(request.url) else {
            throw TransportError(.insecure, "the address is neither https nor loopback", isUnsent: true)
        }
        if let event { recording.note(event) }
        let response = try await self.transport.send(self.complete(request, recording))
        recording.hear(response.header("traceresponse"))
        guard response.body.count <= request.maximumResponseLength else {
            throw TransportError(.tooLarge, "\(response.body.count) bytes")
        }
        return response
    }

    /// Returns a request with the app's header fields and the recording's.
    func complete(_ request: TransportRequest, _ recording: Recording) -> TransportRequest {
        var request = request
        // The app's fields are for its servers. A facet list can be at another host.
        if let added, let authority = request.url.authority, added.authorities.containsBytes(of: authority) {
            request.headers += added.fields
        }
        request.headers.append(recording.header)
        return request
    }

    private static func isLoopback(_ host: String) -> Bool {
        if ["localhost", "::1", "[::1]"].contains(host) { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
