import JOSE
import Store
public import _Primitives

/// A signing key, as an operator sees it.
public struct SigningKeyState: Sendable, Equatable {
    /// The name in the key set (`kid`).
    public let name: String
    /// What it signs with.
    public let algorithm: String
    /// From when on it signs.
    public let signsFrom: Timestamp
    /// From when on the next one of its algorithm does; `nil` while there is none.
    public let signsUntil: Timestamp?
    /// Until when it stays in the key set; `nil` while it is the last of its algorithm.
    public let publishedUntil: Timestamp?
}

/// How keys come, sign in their turn, and go.
extension OpenIDProvider {
    /// The public signing keys (`/oauth2/jwks`), retired ones too as long as what they signed may be checked.
    public var keySet: JSONObject { self.keys.publicKeys(at: self.time.now()).publicJSON }

    /// Reads the signing keys again: another node may have rotated them. Called from time to time.
    ///
    /// Cost: one query.
    public func refreshKeys() async throws { try self.keys.replace(by: await self.store.providerKeys()) }

    /// Makes a new signing key of every algorithm that clients have their ID tokens signed with. They are in the key set at
    /// once, and sign when everybody has had the time to read them there (``Limits/OAuth/keyAnnouncement``); then those in
    /// use retire.
    ///
    /// - Parameters:
    ///   - areSeen: Whether others may have seen the keys in use. The new keys then sign at once, and every former key is
    ///     erased: nothing that a former key has signed is good any more, neither as a token nor as a hint. Other nodes
    ///     hear of that when they read the keys again (``Limits/sweepInterval``).
    ///   - operator: Who does it, for the audit trail.
    ///
    /// Cost: one query, a key generation for each algorithm, one store step.
    public func rotateSigningKeys(areSeen: Bool = false, by operator: String? = nil) async throws {
        try await self.refreshKeys()
        let all = SigningKeyRecord.Face.allCases.flatMap { face in
            self.keys.activeAlgorithms(of: face).map { ($0, face) }
        }
        _ = try await self.rotate(all, replacing: nil, areSeen: areSeen, by: `operator`)
    }

    /// Does the same by itself to the keys that will have signed for as long as a key does
    /// (``Limits/OAuth/signingKeyLifetime``) once a new one can. Called from time to time, on any number of nodes: one of
    /// them rotates. Gives the names of the keys that this call has made.
    ///
    /// Cost: nothing but on that day; then as ``rotateSigningKeys(by:)``.
    public func rotateDueSigningKeys() async throws -> [String] {
        guard !self.dueKeys.isEmpty else { return [] }
        // Another node may have done it.
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

    /// Gives the names of the new keys where they are in the store: another node may have been first.
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
            // Keys that others have seen retire in this step, and are forgotten in it.
            forgettingRetiredBefore: areSeen ? now + Limits.Fixed.clockTick : now - self.formerKeyRetention,
            audit: AuditEvent(
                .signingKeyRotated, at: now, actor: `operator`, detail: names.joined(separator: " ")))
        try self.keys.replace(by: stored)
        return names.filter { name in stored.signingKeys.contains { $0.id.hasSameBytes(as: name) } }
    }

    /// Every key that signs, will sign, or has signed what may still be checked, the newest first.
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

    /// Makes the keys that sign what a client of these settings is given, as ``provideSigningKey(_:of:by:)`` does.
    func provideSigningKeys(of settings: ClientSettings, by operator: String?) async throws {
        for algorithm in settings.answerAlgorithms {
            try await self.provideSigningKey(algorithm, of: settings.face, by: `operator`)
        }
    }

    /// Makes a signing key of an algorithm if there is none. A client is told that its ID tokens have this algorithm only
    /// afterwards. So no sign-in waits for a new key, and the key set has the key before the key signs. Two nodes that make
    /// a key at the same time end with the same key.
    ///
    /// Cost: nothing where there is one; else a query, a key generation and a store step.
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
