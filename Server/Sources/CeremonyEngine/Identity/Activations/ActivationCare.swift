import Records
public import UAF
public import _Primitives

/// A signing key of an activation, as operators see the key: without the key itself.
public struct ListedFactor: Sendable, Equatable {
    /// The identifier of the factor.
    public let id: String
    /// The type of the factor.
    public let type: AuthenticatorType
    /// The authenticator's model, in canonical letters.
    public let model: String
    /// `true` if the factor may sign.
    public let isActive: Bool
    /// The time of the registration.
    public let createdAt: Timestamp
    /// The time of the factor's last accepted signature.
    public let lastUsedAt: Timestamp?
}

/// The result of lifting an activation's lockout.
public enum LockoutLift: Sendable, Equatable {
    /// No lockout is left.
    case lifted
    /// The activation is disabled for good.
    case permanent
    /// An attempt is being judged.
    case judging
}

/// The result of removing a factor from an activation.
public enum FactorRemoval: Sendable, Equatable {
    /// The factor is removed.
    case removed
    /// The factor stays, because an activation cannot exist without a factor of this type.
    case needed(AuthenticatorType)
}

/// Help from operators for a person whose app is locked out, or who has lost a finger. In any other case an operator
/// ends the activation (``ActivationListings/end(_:accountID:by:)``) and gives out another code.
public struct ActivationCare: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & IdentityStore

    /// The factors that an activation always needs. An activation cannot get another device key, and only a person who
    /// knows the present PIN can set another PIN.
    private static let needed: Set<AuthenticatorType> = [.device, .pin]

    private func activation(_ id: String, of accountID: String) async throws -> ActivationRecord? {
        guard let activation = try await self.store.activation(id: id),
            activation.device.accountID.hasSameBytes(as: accountID)
        else { return nil }
        return activation
    }

    /// Lifts the lockout of an activation after failed attempts. `nil` if the account has no such activation.
    ///
    /// The attempts stay counted, in their row and in the window: only a right attempt ends a row. Without a lockout
    /// the call does nothing, and the trail gets no entry.
    ///
    /// A session that waits for the end of the lockout goes on waiting. Every other session begins and continues at
    /// once.
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
            // An attempt that was not settled in time will never be settled, and has failed.
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

    /// Returns the factors of an activation, in the order of their registration; `nil` if the account has no such
    /// activation. Cost: two queries.
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

    /// Removes a factor from an activation. From then on no signature of the factor counts, and the person's devices
    /// are told. A factor that the activation needs stays. `nil` if the account has no such activation, or the
    /// activation no such factor.
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
