import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The app's settings for the requests of an operation.
public struct RequestOptions: Sendable, CustomStringConvertible, CustomReflectable {
    var requestHeaders: [(name: String, value: String)]?
    var serverURL: URL?
    var retryPolicy: RetryPolicy?
    var answerRetryPolicy: RetryPolicy?

    init() {}

    /// A description without the header fields, which may hold secrets.
    public var description: String { "RequestOptions" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// An operation that sends requests to a server.
public protocol ServerOperation: OperationBuilder {
    /// The settings of the requests, used by the SDK only.
    var requestOptions: RequestOptions { get set }
}

extension OperationBuilder where Operation: ServerOperation {
    /// Sets header fields for each request of the operation, for example an identifier with which the app finds the
    /// operation in a server's log. The fields go to the configured hosts only: a list of apps at another host is
    /// fetched without the fields.
    ///
    /// At most 16 fields, each with a name of at most 64 bytes and a value of 1 to 1,024 bytes of ASCII. A line break
    /// in a value, a name that occurs twice, and a name that the SDK or a provider sets (for example `Authorization`,
    /// `Host`, `Content-Type`, `Content-Length`, `Cookie`) end the operation with
    /// ``OperationError/Code-swift.struct/invalidRequestHeader`` before anything is sent. An operation that a token
    /// stands for begins with the fields of the ``OutOfBandOperation`` that redeemed the token.
    public func requestHeaders(_ headers: [(name: String, value: String)]) -> Self {
        self.changing { $0.requestOptions.requestHeaders = headers }
    }

    /// Sets the policy by which the operation's requests are repeated. The default is ``RetryPolicy/noRetry``.
    ///
    /// Requests that fetch, end or delete are repeated after each transient failure. A token and the signed answer of a
    /// registration by a link or a code are sent again only if they were certainly not sent. The policy of an
    /// ``OutOfBandOperation`` passes to the operation that its token stands for.
    public func retryPolicy(_ policy: RetryPolicy) -> Self { self.changing { $0.requestOptions.retryPolicy = policy } }
}

/// An operation that the app starts, at the configured server or at a server that the app names.
public protocol InAppOperation: ServerOperation {}

extension OperationBuilder where Operation: InAppOperation {
    /// Sets the server of the operation, in place of the server of ``ClientConfiguration/baseURL``: scheme, host and
    /// port. The paths stay those of the configuration, including the path of the base address.
    ///
    /// A server with a path, a query, a fragment or user information ends the operation with
    /// ``OperationError/Code-swift.struct/invalidServerURL``. A server without `https` that is not this device ends the
    /// operation with ``FidoErrorCode/insecureTransport``. In both cases nothing is sent. The server receives the
    /// authorization provider's token, so name only servers that you trust. An account belongs to the server at which
    /// it was registered: use the same server for its later operations. Out-of-band operations are always operations of
    /// the configured server.
    public func serverURL(_ url: URL) -> Self { self.changing { $0.requestOptions.serverURL = url } }
}

extension RequestOptions {
    /// Returns a core with these settings. The core keeps each setting that the operation does not set.
    ///
    /// Throws ``OperationError``: `invalidRequestHeader`, `invalidServerURL`, and `insecureTransport` as a FIDO error.
    func configure(_ core: ClientCore) throws(OperationError) -> ClientCore {
        if let headers = self.requestHeaders, let flaw = HeaderFields.flaw(ofAdded: headers) {
            throw OperationError(.invalidRequestHeader, flaw)
        }
        var baseURL = core.configuration.baseURL
        if let server = self.serverURL {
            guard let moved = baseURL.moved(to: server) else {
                throw OperationError(.invalidServerURL, "the server has more or less than scheme, host and port")
            }
            guard SecureChannel.isSecure(moved) else {
                throw OperationError.fido(.insecureTransport, "the server is neither https nor loopback")
            }
            baseURL = moved
        }
        return core.changed(
            baseURL: baseURL, requestHeaders: self.requestHeaders, retryPolicy: self.retryPolicy,
            answerRetryPolicy: self.answerRetryPolicy)
    }
}
