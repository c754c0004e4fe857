public import JOSE
package import Records
import Settings
public import _Primitives

/// The `typ` of the provider's signed texts. Each kind is refused if another is expected.
package enum TokenType {
    static let idToken = "JWT"
    /// RFC 9068, section 2.1.
    static let accessToken = "at+jwt"
    static let deviceToken = "device+jwt"
    /// RFC 9701, section 5.
    static let introspection = "token-introspection+jwt"
    /// An answer of the userinfo endpoint. The type keeps the answer from being taken for an ID token.
    static let userinfo = "userinfo+jwt"
    /// OpenID Connect Back-Channel Logout 1.0, section 2.4.
    static let logoutToken = "logout+jwt"
    /// A statement to a back end of how a session has ended (decision 122).
    static let sessionStatus = "session-status+jwt"
    /// An access token of the app sign-in service: no address of OpenID Connect takes it.
    package static let signInServiceAccess = "sign-in-access+jwt"
    /// A token of a service account of the app sign-in service. No address of this server takes it.
    package static let serviceAccountAccess = "service-account-access+jwt"
    /// The statement by which this server authenticates at other providers. The type keeps the statement from being
    /// taken for an ID token.
    static let clientAuthentication = "client-authentication+jwt"
}

/// A signing key, as an operator sees it.
public struct SigningKeyState: Sendable, Equatable {
    /// The name in the key set (`kid`).
    public let name: String
    /// The key's signing algorithm.
    public let algorithm: String
    /// The time from which the key signs.
    public let signsFrom: Timestamp
    /// The time from which the next key of the algorithm signs; `nil` if no next key exists.
    public let signsUntil: Timestamp?
    /// The time until which the key stays in the key set; `nil` if the key is the last of its algorithm.
    public let publishedUntil: Timestamp?
}

/// The signing keys of the provider: creates, rotates and retires the keys, and verifies by them.
public final class Keys: Sendable {
    private let store: any SigningKeyStore
    private let limits: Limits
    private let time: TimeSource
    private let random: RandomSource
    /// This node's copy of the keys, with which texts are signed.
    package let signing: SigningKeys

    /// Opens the keys of a store. At the first start of a store, `open` creates the signing key and the secret of the
    /// pairwise subjects.
    ///
    /// - Parameter epoch: The store's epoch (`Sealing.epoch`).
    static func open(
        _ store: any SigningKeyStore, epoch: String, limits: Limits, time: TimeSource, random: RandomSource
    ) async throws -> Keys {
        let offered = ProviderKeys(
            subjectSecret: SecretBytes(random.bytes(32)),
            signingKeys: [try await SigningKeys.newKey(.es256, random: random, at: time.now())])
        let signing = try SigningKeys(
            try await store.providerKeys(orFirst: offered), epoch: epoch,
            retention: limits.oauth.retiredKeyRetention)
        return Keys(store: store, limits: limits, time: time, random: random, signing: signing)
    }

    private init(
        store: any SigningKeyStore, limits: Limits, time: TimeSource, random: RandomSource, signing: SigningKeys
    ) {
        self.store = store
        self.limits = limits
        self.time = time
        self.random = random
        self.signing = signing
    }

    /// The public signing keys (`/oauth2/jwks`), with retired keys for as long as their signatures may be checked.
    public var keySet: JSONObject { self.signing.publicKeys(at: self.time.now()).publicJSON }

    /// Reads the signing keys again, as another node may have rotated them. Called from time to time.
    ///
    /// Cost: one query.
    public func refresh() async throws { try self.signing.replace(by: await self.store.providerKeys()) }

    /// Creates a new signing key of every algorithm that has a signing key, for each face. The new keys are in the key
    /// set at once. They sign after all clients have had the time to read them (``Limits/OAuth/keyAnnouncement``), and
    /// then the present keys retire.
    ///
    /// - Parameters:
    ///   - areSeen: `true` if others may have seen the keys in use. The new keys then sign at once, and every former
    ///     key is erased: no signature of a former key is valid any more, neither as a token nor as a hint. Other nodes
    ///     learn of the change when they read the keys again (``Limits/sweepInterval``). A receipt of a former key needs
    ///     the audit trail from then on.
    ///   - seen: The moment since which others may have seen the keys; `nil` for now.
    ///   - operator: The operator, for the audit trail.
    ///
    /// Cost: one query, a key generation for each algorithm, one store step.
    public func rotate(areSeen: Bool = false, since seen: Timestamp? = nil, by operator: String? = nil) async throws {
        try await self.refresh()
        let all = SigningKeyRecord.Face.allCases.flatMap { face in
            self.signing.activeAlgorithms(of: face).map { ($0, face) }
        }
        let seenSince = areSeen ? seen ?? self.time.now() : nil
        _ = try await self.rotate(all, replacing: nil, seenSince: seenSince, by: `operator`)
    }

    /// Rotates the keys that are due: a key that will have signed for its whole lifetime
    /// (``Limits/OAuth/signingKeyLifetime``) by the time a new key can sign. Called from time to time, on any number of
    /// nodes, of which one rotates. Returns the names of the keys that this call has created.
    ///
    /// Cost: nothing except on that day; then as ``rotate(areSeen:by:)``.
    public func rotateDue() async throws -> [String] {
        guard !self.dueKeys.isEmpty else { return [] }
        // Another node may already have rotated the keys.
        try await self.refresh()
        let due = self.dueKeys
        guard !due.isEmpty else { return [] }
        return try await self.rotate(due.map { ($0.algorithm, $0.face) }, replacing: due.map(\.name), by: nil)
    }

    /// The time for which a key that no longer signs still verifies ID tokens at sign-out: long enough for every
    /// session of the key's time to end, and never shorter than the key's time in the key set.
    var formerKeyRetention: Duration { max(self.limits.oauth.retiredKeyRetention, self.limits.sessionLifetime) }

    private var dueKeys: [SigningKeys.Turn] {
        let limits = self.limits.oauth
        let lifetime = max(limits.signingKeyLifetime, self.formerKeyRetention)
        let takeover = self.time.now() + limits.keyAnnouncement
        return self.signing.turns.filter { $0.end == nil && $0.start + lifetime <= takeover }
    }

    /// Returns the names of the new keys if they are in the store: another node may have been first.
    private func rotate(
        _ algorithms: [(JWSAlgorithm, SigningKeyRecord.Face)], replacing present: [String]?,
        seenSince: Timestamp? = nil, by operator: String?
    ) async throws -> [String] {
        let now = self.time.now()
        let areSeen = seenSince != nil
        var keys: [SigningKeyRecord] = []
        for (algorithm, face) in algorithms {
            keys.append(try await SigningKeys.newKey(algorithm, of: face, random: self.random, at: now))
        }
        let names = keys.map(\.id)
        let stored = try await self.store.rotateSigningKeys(
            to: keys, replacing: present, from: areSeen ? now : now + self.limits.oauth.keyAnnouncement,
            // Keys that others have seen retire in this step, and are erased in the same step.
            forgettingRetiredBefore: areSeen ? now + Limits.Fixed.clockTick : now - self.formerKeyRetention,
            seenSince: seenSince,
            audit: AuditEvent(
                .signingKeyRotated, at: now, actor: `operator`, detail: names.joined(separator: " ")))
        try self.signing.replace(by: stored)
        return names.filter { name in stored.signingKeys.contains { $0.id.hasSameBytes(as: name) } }
    }

    /// Every key that signs, will sign, or has signatures that may still be checked, the newest first.
    public var signingKeys: [SigningKeyState] {
        let now = self.time.now()
        let published = SigningKeyRecord.Face.allCases.flatMap {
            self.signing.publicKeys(of: $0, at: now).keys.compactMap(\.keyID)
        }
        return self.signing.turns.filter { published.containsBytes(of: $0.name) }.map { turn in
            SigningKeyState(
                name: turn.name, algorithm: turn.algorithm.rawValue, signsFrom: turn.start, signsUntil: turn.end,
                publishedUntil: turn.end.map { $0 + self.limits.oauth.retiredKeyRetention })
        }
    }

    /// Creates a signing key of an algorithm if none exists. A client's ID tokens get this algorithm only afterwards.
    ///
    /// So no sign-in waits for a new key, and the key set has the key before the key signs. Two nodes that create a key
    /// at the same time end with the same key.
    ///
    /// Cost: nothing if a key exists; else a query, a key generation and a store step.
    func provide(
        _ algorithm: JWSAlgorithm, of face: SigningKeyRecord.Face = .openID, at moment: Timestamp? = nil,
        by operator: String?
    ) async throws {
        guard !self.signing.activeAlgorithms(of: face).contains(algorithm) else { return }
        try await self.refresh()
        guard !self.signing.activeAlgorithms(of: face).contains(algorithm) else { return }
        let now = moment ?? self.time.now()
        let key = try await SigningKeys.newKey(algorithm, of: face, random: self.random, at: now)
        try self.signing.replace(
            by: await self.store.addSigningKey(
                key, audit: AuditEvent(.signingKeyAdded, at: now, actor: `operator`, detail: key.id)))
    }

    /// Checks that a text can be signed with the algorithm, by the keys of a face. Another node may have just created
    /// an unknown key for its first client.
    ///
    /// Throws ``StoreError/Code/corrupt`` if no such key exists: a fault of this server, which no client can correct.
    /// Cost: nothing if the key is known; else a query.
    package func require(_ algorithm: JWSAlgorithm, of face: SigningKeyRecord.Face = .openID) async throws {
        guard !self.signing.activeAlgorithms(of: face).contains(algorithm) else { return }
        try await self.refresh()
        guard self.signing.activeAlgorithms(of: face).contains(algorithm) else {
            throw StoreError(.corrupt, "no signing key of \(algorithm.rawValue), which a client is to get")
        }
    }

    /// Returns the claims of a token that a key of this provider signed. An unknown key may be another node's new key:
    /// the keys are then read again, at most once a second. Throws `JOSEError`.
    ///
    /// - Parameter retention: The time after its end for which a key verifies; `nil` for the time of the key in the key
    ///   set.
    func verified(
        _ compact: String, type: String, of face: SigningKeyRecord.Face = .openID, keptFor retention: Duration? = nil,
        at now: Timestamp
    ) async throws -> (claims: JWTClaims, keyID: String?) {
        do {
            return try self.signing.verified(compact, type: type, of: face, keptFor: retention, at: now)
        } catch let error as JOSEError where error.code == .unknownKey && self.signing.mayLookUp(at: now) {
            try await self.refresh()
            return try self.signing.verified(compact, type: type, of: face, keptFor: retention, at: now)
        }
    }

    // MARK: For receipts

    /// Signs a receipt of a confirmed transaction, with the ES256 key for receipts. Adds the issuer, and creates the key
    /// for the first receipt.
    ///
    /// Cost: one signature; for the first receipt of a store a key generation and a store step.
    public func sign(receipt claims: JSONObject, issuer: String, at now: Timestamp) async throws -> String {
        // The key signs from the time of the first receipt on. A receipt before its key's time would verify nowhere.
        try await self.provide(.es256, of: .receipt, at: now, by: nil)
        var claims = claims
        claims["iss"] = .string(issuer)
        return try self.signing.sign(claims, type: ReceiptFormat.type, algorithm: .es256, of: .receipt, at: now)
    }

    // MARK: For personalised identities

    /// Returns the key that signs codes and answers of personalised identities at a moment: the ES256 key that signs ID
    /// tokens. Each kind of signed text has a type of its own (RFC 8725, section 3.11), so none can stand for another.
    ///
    /// Throws `StoreError` `corrupt` if this node knows no such key.
    public func identitySigningKey(at now: Timestamp) throws -> SigningKey { try self.signing.key(.es256, at: now) }

    /// Returns the public ES256 keys whose signatures are valid at a moment, and the public ES256 keys that will sign.
    public func identityPublicKeys(at now: Timestamp) -> JWKSet { self.signing.publicKeys(at: now).fitting(.es256) }
}

extension AuditEvent.Kind {
    /// The first signing key of an algorithm was added; the detail is the key's name.
    static let signingKeyAdded = Self(rawValue: "signing-key-added")
    /// New signing keys were added; the detail is their names.
    static let signingKeyRotated = Self(rawValue: "signing-key-rotated")
}
