import Store
public import UAF
public import _Primitives

/// A key that an activation signs with, as operators see it: nothing of the key itself.
public struct ListedFactor: Sendable, Equatable {
    /// Its identifier.
    public let id: String
    /// What it is.
    public let type: AuthenticatorType
    /// The authenticator's model, canonical letters.
    public let model: String
    /// Whether it may sign.
    public let isActive: Bool
    /// When it was registered.
    public let createdAt: Timestamp
    /// When a signature of it was accepted last.
    public let lastUsedAt: Timestamp?
}

/// What came of ending an activation's rest.
public enum LockoutLift: Sendable, Equatable {
    /// Nothing of it rests any more.
    case lifted
    /// It is disabled for good.
    case permanent
    /// An attempt is being judged.
    case judging
}

/// What came of taking a factor from an activation.
public enum FactorRemoval: Sendable, Equatable {
    /// It is gone.
    case removed
    /// An activation is nothing without this one.
    case needed(AuthenticatorType)
}

/// What operators do for a person whose app rests, or whose finger is lost. Whatever has another end than the app's own goes
/// by ``ActivationListings/end(_:accountID:by:)`` and another code.
public struct ActivationCare: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & IdentityStore

    /// What an activation cannot be without: there is no way to give it another device key, and another PIN is only given to
    /// whoever knows the present one.
    private static let needed: Set<AuthenticatorType> = [.device, .pin]

    private func activation(_ id: String, of accountID: String) async throws -> ActivationRecord? {
        guard let activation = try await self.store.activation(id: id),
            activation.device.accountID.hasSameBytes(as: accountID)
        else { return nil }
        return activation
    }

    /// Ends the rest that failed attempts have cost an activation. The attempts stay counted, in their row and in the window:
    /// only a right one ends a row. Where nothing rests nothing happens, and the trail has nothing. `nil` where the account has
    /// no such activation.
    ///
    /// A session that waits for the end of the rest goes on waiting; every other one begins and goes on at once.
    ///
    /// - Parameter operator: The name for the audit trail.
    ///
    /// Cost: one query, one store step.
    public func lift(_ id: String, accountID: String, by operator: String) async throws -> LockoutLift? {
        guard try await self.activation(id, of: accountID) != nil else { return nil }
        let now = self.time.now()
        let audit = AuditEvent(.lockoutLifted, at: now, accountID: accountID, actor: `operator`, detail: id)
        return try await self.store.step(onActivation: id) { activation, _ -> (ActivationChange, LockoutLift) in
            var change = ActivationChange()
            // One that was not settled in time never will be, and has failed.
            guard !activation.isJudged(at: now) else { return (change, .judging) }
            var lockout = Lockout(activation.lockout)
            let isResting = lockout.pending(at: now) != nil
            guard lockout.lift() else { return (change, .permanent) }
            guard isResting else { return (change, .lifted) }
            activation.lockout = lockout.record
            change.audit = audit
            return (change, .lifted)
        }
    }

    /// The factors of an activation, in the order in which they were registered; `nil` where the account has no such activation.
    /// Cost: two queries.
    public func factors(ofActivation id: String, accountID: String) async throws -> [ListedFactor]? {
        guard let activation = try await self.activation(id, of: accountID) else { return nil }
        return try await self.store.credentials(of: activation).compactMap { key in
            key.factorType.map {
                ListedFactor(
                    id: key.id, type: $0, model: key.aaid, isActive: key.isActive, createdAt: key.createdAt,
                    lastUsedAt: key.lastUsedAt)
            }
        }
    }

    /// Takes a factor from an activation: nothing that it signs counts from then on, and the person's devices are told. What the
    /// activation needs to be one stays. `nil` where the account has no such activation, or that has no such factor.
    ///
    /// - Parameter operator: The name for the audit trail.
    ///
    /// Cost: one query, one store step.
    public func remove(_ factor: String, ofActivation id: String, accountID: String, by operator: String) async throws
        -> FactorRemoval?
    {
        guard try await self.activation(id, of: accountID) != nil else { return nil }
        let now = self.time.now()
        let notice = self.newIdentifier()
        let step = try await self.store.step(onActivation: id) {
            activation, keys -> (ActivationChange, FactorRemoval?) in
            var change = ActivationChange()
            guard let key = keys.first(where: { $0.id.hasSameBytes(as: factor) }), let type = key.factorType else {
                return (change, nil)
            }
            let left = keys.filter { !$0.id.hasSameBytes(as: factor) }.factorTypes
            guard Self.needed.isSubset(of: left) else { return (change, .needed(type)) }
            change.withdrawnCredentials = [key.id]
            change.audit = AuditEvent(
                .factorRemoved, at: now, accountID: accountID, actor: `operator`, detail: "\(id) \(type.rawValue)")
            change.notice = NoticeRecord(
                id: notice, accountID: accountID, kind: .authenticatorsRemoved, at: now,
                subject: activation.device.name)
            return (change, .removed)
        }
        return step ?? nil
    }
}
