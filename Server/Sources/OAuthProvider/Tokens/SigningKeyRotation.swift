import JOSE
import Records
import Settings
public import _Primitives

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

/// Creates, rotates and retires signing keys.
extension OpenIDProvider {
    /// The public signing keys (`/oauth2/jwks`), with retired keys for as long as their signatures may be checked.
    public var keySet: JSONObject { self.keys.publicKeys(at: self.time.now()).publicJSON }

    /// Reads the signing keys again, as another node may have rotated them. Called from time to time.
    ///
    /// Cost: one query.
    public func refreshKeys() async throws { try self.keys.replace(by: await self.store.providerKeys()) }

    /// Creates a new signing key of every algorithm that has a signing key, for each face. The new keys are in the key
    /// set at once. They sign after all clients have had the time to read them (``Limits/OAuth/keyAnnouncement``), and
    /// then the present keys retire.
    ///
    /// - Parameters:
    ///   - areSeen: `true` if others may have seen the keys in use. The new keys then sign at once, and every former
    ///     key is erased: no signature of a former key is valid any more, neither as a token nor as a hint. Other nodes
    ///     learn of the change when they read the keys again (``Limits/sweepInterval``).
    ///   - operator: The operator, for the audit trail.
    ///
    /// Cost: one query, a key generation for each algorithm, one store step.
    public func rotateSigningKeys(areSeen: Bool = false, by operator: String? = nil) async throws {
        try await self.refreshKeys()
        let all = SigningKeyRecord.Face.allCases.flatMap { face in
            self.keys.activeAlgorithms(of: face).map { ($0, face) }
        }
        _ = try await self.rotate(all, replacing: nil, areSeen: areSeen, by: `operator`)
    }

    /// Rotates the keys that are due: a key that will have signed for its whole lifetime
    /// (``Limits/OAuth/signingKeyLifetime``) by the time a new key can sign. Called from time to time, on any number of
    /// nodes, of which one rotates. Returns the names of the keys that this call has created.
    ///
    /// Cost: nothing except on that day; then as ``rotateSigningKeys(by:)``.
    public func rotateDueSigningKeys() async throws -> [String] {
        guard !self.dueKeys.isEmpty else { return [] }
        // Another node may already have rotated the keys.
        try await self.refreshKeys()
        let due = self.dueKeys
        guard !due.isEmpty else { return [] }
        return try await self.rotate(due.map { ($0.algorithm, $0.face) }, replacing: due.map(\.name), by: nil)
    }

    private var dueKeys: [SigningKeys.Turn] {
        let limits = self.limits.oauth
        let lifetime = max(limits.signingKeyLifetime, self.formerKeyRetention)
        let takeover = self.time.now() + limits.keyAnnouncement
        return self.keys.turns.filter { $0.end == nil && $0.start + lifetime <= takeover }
    }

    /// Returns the names of the new keys if they are in the store: another node may have been first.
    private func rotate(
        _ algorithms: [(JWSAlgorithm, SigningKeyRecord.Face)], replacing present: [String]?, areSeen: Bool = false,
        by operator: String?
    ) async throws -> [String] {
        let now = self.time.now()
        var keys: [SigningKeyRecord] = []
        for (algorithm, face) in algorithms {
            keys.append(try await SigningKeys.newKey(algorithm, of: face, random: self.random, at: now))
        }
        let names = keys.map(\.id)
        let stored = try await self.store.rotateSigningKeys(
            to: keys, replacing: present, from: areSeen ? now : now + self.limits.oauth.keyAnnouncement,
            // Keys that others have seen retire in this step, and are erased in the same step.
            forgettingRetiredBefore: areSeen ? now + Limits.Fixed.clockTick : now - self.formerKeyRetention,
            audit: AuditEvent(
                .signingKeyRotated, at: now, actor: `operator`, detail: names.joined(separator: " ")))
        try self.keys.replace(by: stored)
        return names.filter { name in stored.signingKeys.contains { $0.id.hasSameBytes(as: name) } }
    }

    /// Every key that signs, will sign, or has signatures that may still be checked, the newest first.
    public var signingKeys: [SigningKeyState] {
        let now = self.time.now()
        let published = SigningKeyRecord.Face.allCases.flatMap {
            self.keys.publicKeys(of: $0, at: now).keys.compactMap(\.keyID)
        }
        return self.keys.turns.filter { published.containsBytes(of: $0.name) }.map { turn in
            SigningKeyState(
                name: turn.name, algorithm: turn.algorithm.rawValue, signsFrom: turn.start, signsUntil: turn.end,
                publishedUntil: turn.end.map { $0 + self.limits.oauth.retiredKeyRetention })
        }
    }

    /// Creates the keys that sign the tokens of a client with these settings, as ``provideSigningKey(_:of:by:)`` does.
    func provideSigningKeys(of settings: ClientSettings, by operator: String?) async throws {
        for algorithm in settings.answerAlgorithms {
            try await self.provideSigningKey(algorithm, of: settings.face, by: `operator`)
        }
    }

    /// Creates a signing key of an algorithm if none exists. A client's ID tokens get this algorithm only afterwards.
    ///
    /// So no sign-in waits for a new key, and the key set has the key before the key signs. Two nodes that create a key
    /// at the same time end with the same key.
    ///
    /// Cost: nothing if a key exists; else a query, a key generation and a store step.
    func provideSigningKey(_ algorithm: JWSAlgorithm, of face: SigningKeyRecord.Face = .openID, by operator: String?)
        async throws
    {
        guard !self.keys.activeAlgorithms(of: face).contains(algorithm) else { return }
        try await self.refreshKeys()
        guard !self.keys.activeAlgorithms(of: face).contains(algorithm) else { return }
        let now = self.time.now()
        let key = try await SigningKeys.newKey(algorithm, of: face, random: self.random, at: now)
        try self.keys.replace(
            by: await self.store.addSigningKey(
                key, audit: AuditEvent(.signingKeyAdded, at: now, actor: `operator`, detail: key.id)))
    }
}
