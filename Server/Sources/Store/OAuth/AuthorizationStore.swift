public import _Primitives

/// A sign-in that a request ends with: what the five records of it are.
public struct CompletedAuthorization: Sendable, Equatable {
    /// The request that is answered, by its identifier.
    public let request: String
    /// The session that begins, with the authentication that it begins with.
    public let session: SessionRecord
    /// What the client may have.
    public let grant: GrantRecord
    /// What the client is given for it.
    public let code: CodeRecord

    /// A sign-in of these records.
    public init(request: String, session: SessionRecord, grant: GrantRecord, code: CodeRecord) {
        self.request = request
        self.session = session
        self.grant = grant
        self.code = code
    }
}

/// What taking a code came to.
public enum CodeTaking: Sendable, Equatable {
    /// This call, and no other, has the code.
    case taken(CodeRecord, StandingGrant)
    /// The code had been taken before. Its grant is gone now.
    case replayed
    /// There is no such code (any more), or the session that it was made in has ended.
    case unknown
}

/// Keeps authorization requests, grants and codes.
///
/// A grant hangs on its authentication and, unless the grant lasts, on its session. A code hangs on its grant. A grant that
/// was got by another grant's session or device secret hangs on that other grant (``GrantRecord/origin``). The end of a row
/// ends every row that hangs on the row, at once and on every node.
public protocol AuthorizationStore: Sendable {
    /// Keeps a new request.
    func addRequest(_ request: AuthorizationRequestRecord) async throws

    /// The request of that identifier, expired or not.
    func request(_ id: String) async throws -> AuthorizationRequestRecord?

    /// Has a request that waits go on with another browser's secret: of any number of calls with one digest, one is told
    /// `true`. `false`, and nothing has changed, where the request is gone or has another digest.
    func moveRequest(_ id: String, from digest: [UInt8], to next: [UInt8]) async throws -> Bool

    /// Removes a request. Says whether this call removed it: of two at once, one is told `true`.
    func removeRequest(_ id: String) async throws -> Bool

    /// Ends a request with a sign-in: removes it, ends the session whose cookie the browser showed, begins the new
    /// session, keeps the grant and its code, and remembers the subject for ``account(subject:client:)``. All or nothing.
    ///
    /// Throws ``StoreError/Code/notFound`` where the request is gone (of two at once, one), or the device of the
    /// authentication is, or its account; and where the account is locked, or was at any time since the authentication.
    func complete(_ completed: CompletedAuthorization, replacing cookieDigest: [UInt8]?) async throws

    /// Ends a request with an authentication that is added to a session which goes on: removes the request, adds the first
    /// authentication of ``CompletedAuthorization/session``, gives the session its new cookie, keeps the grant and its
    /// code, and remembers the subject. All or nothing. A session remembers its last
    /// ``Limits/Fixed/authenticationsPerSession`` authentications.
    ///
    /// Throws ``StoreError/Code/notFound`` where the session has ended or has another cookie than that of the digest, and
    /// as ``complete(_:replacing:)`` does.
    func stepUp(_ completed: CompletedAuthorization, from cookieDigest: [UInt8]) async throws

    /// Keeps a grant of the session that it names with its code, notes that the session was used at `moment`, and remembers
    /// the subject.
    ///
    /// Throws ``StoreError/Code/notFound`` where the session has ended.
    func addGrant(_ grant: GrantRecord, code: CodeRecord, usedAt moment: Timestamp, audit: AuditEvent) async throws

    /// Takes a code, for good: it stays taken whatever its taker then finds wrong with it.
    ///
    /// Must be atomic: of any number of calls for one code exactly one gets ``CodeTaking/taken(_:_:)``; the next that is
    /// right ends the grant with all that hangs on it and that came of it (RFC 6749, section 4.1.2). One that is not is told that there is
    /// no such code, and changes nothing: an old code by itself, out of a browser's history, ends nobody's grant.
    ///
    /// - Parameters:
    ///   - replay: The audit event of a code that was taken before; the store adds the account to it. It is kept once for
    ///     a grant.
    ///   - isRight: Whether everything else that is shown with the code is right for it.
    func takeCode(
        digest: [UInt8], at moment: Timestamp, replay: AuditEvent,
        isRight: @escaping @Sendable (CodeRecord, StandingGrant) -> Bool
    ) async throws -> CodeTaking

    /// The account that a client knows by this subject.
    func account(subject: String, client: String) async throws -> String?

    /// The clients that were told a subject of an account, by their identifiers, in their order after `client`, at most `limit`.
    func clients(knowingAccount id: String, after client: String?, limit: Int) async throws -> [String]

    /// Deletes requests, grants, sessions, authentications, names of revoked tokens and what ``ReplayStore`` remembers that
    /// have ended by `moment`, at most `limit` of each kind, and says how many. An authentication ends with the last of what
    /// was made of it.
    ///
    /// - Parameter idleSince: Sessions that were not used after this moment have ended too.
    func sweepAuthorizations(at moment: Timestamp, idleSince: Timestamp, limit: Int) async throws -> Int
}
