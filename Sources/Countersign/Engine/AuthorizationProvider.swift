public import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The credentials that authenticate a person's requests to the server. An authentication creates the provider; a
/// registration, for instance, uses it.
///
/// The SDK checks the fields of each provider before it sends them. A field with a line break, a field that is too long
/// (8,192 bytes) and a field that the SDK itself sets end the operation with
/// ``OperationError/Code-swift.struct/invalidRequestHeader``, and nothing is sent.
public protocol AuthorizationProvider: Sendable {
    /// The header fields for requests to any server and at any time; empty if the fields depend on either.
    var headers: [(name: String, value: String)] { get }

    /// Returns the header fields for one request.
    ///
    /// - Parameters:
    ///   - url: The address of the request.
    ///   - time: The device's wall clock at the request.
    ///
    /// By default the function returns ``headers``. Throws if the provider has no valid credentials; the operation ends
    /// then, and nothing is sent.
    func headers(for url: URL, at time: Timestamp) throws -> [(name: String, value: String)]
}

extension AuthorizationProvider {
    public func headers(for url: URL, at time: Timestamp) throws -> [(name: String, value: String)] { self.headers }
}

/// A JSON web token of the server, sent as a bearer token (RFC 6750, section 2.1).
public struct JwtAuthorizationProvider: AuthorizationProvider, CustomStringConvertible, CustomReflectable {
    /// The token: a secret.
    public let jwt: String

    /// Creates a provider with the token.
    public init(_ jwt: String) { self.jwt = jwt }

    /// The token as `Authorization: Bearer`; empty if the text is not a bearer token.
    public var headers: [(name: String, value: String)] {
        self.isBearerToken ? [("Authorization", "Bearer \(self.jwt)")] : []
    }

    /// Returns ``headers``. A text that is not a bearer token ends the operation with
    /// ``OperationError/Code-swift.struct/invalidRequestHeader``: a bearer token has letters, digits and `-._~+/`, with
    /// `=` at its end, and neither blanks nor line breaks.
    public func headers(for url: URL, at time: Timestamp) throws -> [(name: String, value: String)] {
        guard self.isBearerToken else { throw EngineError(.unusableHeader, "the text is no bearer token") }
        return self.headers
    }

    private var isBearerToken: Bool {
        var token = self.jwt.utf8[...]
        while token.last == UInt8(ascii: "=") { token.removeLast() }
        return !token.isEmpty
            && token.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: "-._~+/".utf8.contains(byte)
                }
            }
    }

    /// A description without the token.
    public var description: String { "JwtAuthorizationProvider" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// This device itself: the device signs each request with its own key for the account (`Device-Proof`, a JWS of RFC
/// 7515), and the person is asked nothing.
///
/// ``Deregistration``, ``AccountNotices``, ``TransactionReceipts`` and ``WaitingQuestions`` accept this provider. The
/// device also signs their requests without any provider, if the server knows the device's keys. With this provider, a
/// deregistration ends with ``OperationError/Code-swift.struct/notAuthorized`` and sends nothing if the server does not
/// know the keys. All other operations need the person, and end in the same way.
public struct JwsAuthorizationProvider: AuthorizationProvider {
    /// Creates the provider.
    public init() {}

    /// Empty: each request has a signature of its own.
    public var headers: [(name: String, value: String)] { [] }

    /// Throws: the SDK signs requests of the four operations by itself, and no other operation accepts the device
    /// alone.
    public func headers(for url: URL, at time: Timestamp) throws -> [(name: String, value: String)] {
        throw EngineError(.notAuthorized, "the server does not know the device's keys, or needs the person")
    }
}

extension Optional where Wrapped == any AuthorizationProvider {
    /// The provider that supplies header fields; `nil` without a provider, and for the device itself.
    var withHeaders: Self { self is JwsAuthorizationProvider ? nil : self }
}
