public import _Primitives

/// An authorization request that a client has sent before any browser came with the request (RFC 9126).
public struct PushedRequestRecord: Sendable, Equatable {
    /// SHA-256 of the reference that the client got for the request, 32 bytes.
    public let digest: [UInt8]
    /// The client that pushed the request. The request is worth nothing for another client.
    public let client: String
    /// The parameters, encoded, without the client's authentication. Sealed at rest: hints name people.
    public let parameters: String
    /// The digest of the browser that came with the request; `nil` if no browser has come yet.
    public let browserDigest: [UInt8]?
    /// The moment when the request expires.
    public let expiresAt: Timestamp

    /// Makes a record of these values. A new record has no browser.
    public init(
        digest: [UInt8], client: String, parameters: String, browserDigest: [UInt8]? = nil, expiresAt: Timestamp
    ) {
        self.digest = digest
        self.client = client
        self.parameters = parameters
        self.browserDigest = browserDigest
        self.expiresAt = expiresAt
    }
}

/// Keeps pushed requests until a browser has come with the request and has got its answer.
///
/// A pushed request becomes an ``AuthorizationRequestRecord``. Any end of this record ends the pushed request too. So a
/// pushed request is worth one answer, and the browser can come with it again until then. A pushed request goes with
/// its client, and ``AuthorizationStore/sweepAuthorizations(at:idleSince:limit:)`` deletes it once it has ended.
public protocol PushedRequestStore: Sendable {
    /// Keeps a new request.
    func addPushedRequest(_ request: PushedRequestRecord) async throws

    /// Returns the request with the digest, expired or not; `nil` if none exists.
    func pushedRequest(digest: [UInt8]) async throws -> PushedRequestRecord?

    /// Makes `request`, made from the pushed request, wait for the person of its browser. If the same browser comes
    /// again, it gets the request that already waits. Returns the identifier of the waiting request; `nil` if the
    /// pushed request is gone, or another browser came with it before. The caller checks the end of the pushed request.
    ///
    /// Must be atomic: of any number of browsers one gets an answer. The pushed request ends with `request` at the
    /// latest.
    func begin(_ request: AuthorizationRequestRecord, pushed digest: [UInt8]) async throws -> String?

    /// Ends a pushed request and the request that waits because of it, when the browser with the digest is answered at
    /// once. Returns `true` if this call ended the pushed request: of two calls at once, a single call returns `true`.
    /// Returns `false` if another browser came with it before.
    func endPushedRequest(digest: [UInt8], browserDigest: [UInt8]) async throws -> Bool
}
