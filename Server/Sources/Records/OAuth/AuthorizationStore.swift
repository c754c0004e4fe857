public import _Primitives

/// A sign-in that ends a request, as the records of the sign-in.
public struct CompletedAuthorization: Sendable, Equatable {
    /// The answered request, by its identifier.
    public let request: String
    /// The session that begins, with its first authentication.
    public let session: SessionRecord
    /// The grant for the client.
    public let grant: GrantRecord
    /// The code for the grant.
    public let code: CodeRecord
    /// The language that the person gets from now on (``AccountRecord/language``); `nil` to leave the language.
    public let language: String?

    /// Makes a sign-in of these records.
    public init(
        request: String, session: SessionRecord, grant: GrantRecord, code: CodeRecord, language: String? = nil
    ) {
        self.language = language
        self.request = request
        self.session = session
        self.grant = grant
        self.code = code
    }
}

/// The result of taking a code.
public enum CodeTaking: Sendable, Equatable {
    /// This call, and no other, has the code.
    case taken(CodeRecord, StandingGrant)
    /// The code had been taken before. Its grant is gone now.
    case replayed
    /// The code does not exist (any more), its grant or the session in which the code was made has ended, or its client
    /// is switched off. Or the code was taken before, and the call was not right. Nothing was changed.
    case unknown
}

/// Keeps authorization requests with their finished sign-ins, grants and codes.
///
/// A grant depends on its authentication and, unless the grant lasts, on its session. A code depends on its grant. A
/// grant made by another grant's session or device secret depends on that other grant (``GrantRecord/origin``). The end
/// of a row ends every row that depends on the row, at once and on every node.
public protocol AuthorizationStore: FinishedSignInStore {
    /// Keeps a new request.
    func addRequest(_ request: AuthorizationRequestRecord) async throws

    /// Returns the request with the identifier, expired or not; `nil` if none exists.
    func request(_ id: String) async throws -> AuthorizationRequestRecord?

    /// Gives a waiting request another browser's secret. Exactly one call with a digest returns `true`, however many
    /// calls arrive at once. Returns `false`, and changes nothing, if the request is gone or has another digest.
    func moveRequest(_ id: String, from digest: [UInt8], to next: [UInt8]) async throws -> Bool

    /// Removes a request. Returns `true` if this call removed the request: of two calls at once, a single call returns
    /// `true`.
    func removeRequest(_ id: String) async throws -> Bool

    /// Ends a request with a sign-in: removes the request, ends the session whose cookie the browser showed, begins the
    /// new session, keeps the grant and its code, and remembers the subject for ``account(subject:client:)``. All or
    /// nothing. Clients are told of the ended session only if it was another person's (``OutboxStore``).
    ///
    /// Throws ``StoreError/Code/notFound`` if the request is gone (for the second of two calls at once), or the device
    /// of the authentication is gone, or its account. Throws the same if the account is locked, or was locked at any
    /// time since the authentication. Throws the same if the session that the request waited in, the sign-in by a
    /// password or by another provider, or the grant's consent has ended, or if the client is a service of personalised
    /// identities and the authentication was not for this service.
    func complete(_ completed: CompletedAuthorization, replacing cookieDigest: [UInt8]?) async throws

    /// Ends a request with an authentication added to an existing session. Removes the request, adds the first
    /// authentication of ``CompletedAuthorization/session``, gives the session its new cookie, keeps the grant and its
    /// code, and remembers the subject. All or nothing. A session remembers its last
    /// ``Limits/Fixed/authenticationsPerSession`` authentications.
    ///
    /// Throws ``StoreError/Code/notFound`` if the session has ended or has another cookie than the digest's, and as
    /// ``complete(_:replacing:)`` does.
    func stepUp(_ completed: CompletedAuthorization, from cookieDigest: [UInt8]) async throws

    /// Keeps a grant of the session that the grant names, with its code. Notes that the session was used at `moment`,
    /// and remembers the subject.
    ///
    /// Throws ``StoreError/Code/notFound`` if the session or the grant's consent has ended, or if the client is a
    /// service of personalised identities and the authentication was not for this service.
    func addGrant(_ grant: GrantRecord, code: CodeRecord, usedAt moment: Timestamp, audit: AuditEvent) async throws

    /// Takes a code, for good: the code stays taken even if its taker then finds an error. The first call takes the
    /// code, right or not, and also a code whose own time is over (``CodeRecord/expiresAt``): the taker checks both.
    ///
    /// Must be atomic: of any number of calls for the same code exactly one gets ``CodeTaking/taken(_:_:)``. The next
    /// right call ends the grant with all dependent rows and all grants made from it (RFC 6749, section 4.1.2). A later
    /// call that is not right gets ``CodeTaking/unknown``, and changes nothing: an old code by itself, out of a
    /// browser's history, ends no grant.
    ///
    /// - Parameters:
    ///   - replay: The audit event of a code that was taken before; the store adds the account to the event. The event
    ///     is kept once for a grant.
    ///   - isRight: Returns `true` if all other values that the client shows with the code are right for the code.
    ///     Asked only about a code that was taken before.
    func takeCode(
        digest: [UInt8], at moment: Timestamp, replay: AuditEvent,
        isRight: @escaping @Sendable (CodeRecord, StandingGrant) -> Bool
    ) async throws -> CodeTaking

    /// Returns the account that a client knows by this subject; `nil` if the client knows no such account.
    func account(subject: String, client: String) async throws -> String?

    /// Returns the clients that were told a subject of an account, by their identifiers, in their order after `client`,
    /// at most `limit`.
    func clients(knowingAccount id: String, after client: String?, limit: Int) async throws -> [String]

    /// Deletes rows that have ended by `moment`, at most `limit` of each kind: authorization requests, pushed requests,
    /// device codes, backchannel requests, grants, sessions, authentications, names of revoked tokens, and rows of
    /// ``ReplayStore``. Returns the number of deleted rows. An authentication ends with the last row made from it. If
    /// the number is less than `limit`, no ended row was left.
    ///
    /// - Parameter idleSince: Sessions that were not used after this moment have ended too.
    func sweepAuthorizations(at moment: Timestamp, idleSince: Timestamp, limit: Int) async throws -> Int
}
