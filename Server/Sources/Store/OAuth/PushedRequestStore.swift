public import _Primitives

/// An authorization request that a client has sent before any browser came with it (RFC 9126).
public struct PushedRequestRecord: Sendable, Equatable {
    /// SHA-256 of what the client was given for it, 32 bytes.
    public let digest: [UInt8]
    /// The client that pushed it: for no other is it worth anything.
    public let client: String
    /// The parameters, encoded, without what the client authenticated with. Sealed at rest: hints name people.
    public let parameters: String
    /// The digest of the browser that came with it; `nil` where none has come yet.
    public let browserDigest: [UInt8]?
    /// From then on it is worth nothing.
    public let expiresAt: Timestamp

    /// A record of these values. One that is new has no browser.
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

/// Keeps pushed requests until a browser has come with them and been answered.
///
/// What ends the ``AuthorizationRequestRecord`` that became of one ends the pushed request with it, whatever that is: so
/// it is worth one answer, and the browser can come with it again until then. It goes with its client, and
/// ``AuthorizationStore/sweepAuthorizations(at:idleSince:limit:)`` deletes it once it has ended.
public protocol PushedRequestStore: Sendable {
    /// Keeps a new request.
    func addPushedRequest(_ request: PushedRequestRecord) async throws

    /// The request of that digest, expired or not.
    func pushedRequest(digest: [UInt8]) async throws -> PushedRequestRecord?

    /// Has `request` wait for the person of its browser, as what became of the pushed one. The same browser, which comes
    /// again, gets the request that waits already. Answers with the identifier of the one that waits; `nil` where the
    /// pushed request is gone, or another browser came with it before.
    ///
    /// Must be atomic: of any number of browsers one gets an answer. The pushed request ends with `request` at the latest.
    func begin(_ request: AuthorizationRequestRecord, pushed digest: [UInt8]) async throws -> String?

    /// Ends a pushed request, and what waits because of it, as the browser of that digest is answered at once. Says
    /// whether this call ended it: of two at once, one is told `true`. `false` where another browser came with it before.
    func endPushedRequest(digest: [UInt8], browserDigest: [UInt8]) async throws -> Bool
}
