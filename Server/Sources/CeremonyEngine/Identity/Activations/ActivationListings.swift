import Records
import Settings
public import UAF
public import _Primitives

/// An activation as the person and operators see the activation: without its keys.
public struct ListedActivation: Sendable, Equatable {
    /// The identifier of the activation.
    public let id: String
    /// The person's name for the activation.
    public let name: String
    /// The factors with which the activation can sign.
    public let factors: [AuthenticatorType]
    /// The time of the enrolment.
    public let createdAt: Timestamp
    /// The time when the activation's factors were last accepted.
    public let lastUsedAt: Timestamp?
    /// The end of the lockout after failed attempts; `nil` without a lockout, and for a permanent lockout.
    public let lockedUntil: Timestamp?
    /// `true` if the activation may no longer authenticate.
    public let isDisabled: Bool
}

/// An unused code for another device, as the person and operators see the code.
public struct ListedOffer: Sendable, Equatable {
    /// The identifier of the future activation.
    public let id: String
    /// The planned name of the device.
    public let name: String?
    /// The time when the code was made.
    public let createdAt: Timestamp
    /// The time until which the code can be used.
    public let expiresAt: Timestamp
}

/// The failed attempts of an activation or of a code, as operators see them.
public struct ListedAttempts: Sendable, Equatable {
    /// The number of consecutive failed attempts. An attempt counts as failed as long as its judgement lasts.
    public let failuresInARow: Int
    /// The number of failed attempts within the relevant window (`lockoutWindow`).
    public let recentFailures: Int
    /// The number of further failures after which the activation is disabled for good; 0 if the activation is disabled.
    public let left: Int
    /// The end of the lockout, until which no attempt is judged; `nil` without a lockout, and for a permanent lockout.
    public let lockedUntil: Timestamp?
    /// The remaining time of the lockout.
    public let rest: Duration?

    init(_ record: LockoutRecord, at now: Timestamp, _ limits: Limits) {
        let recent = record.failures.count { $0 + limits.lockoutWindow > now }
        self.failuresInARow = record.failuresInARow
        self.recentFailures = recent
        self.left =
            record.isPermanent
            ? 0
            : max(
                0,
                min(limits.lockoutFailuresInARow - record.failuresInARow, limits.lockoutFailuresInWindow - recent))
        self.lockedUntil = record.isPermanent ? nil : record.lockedUntil.flatMap { $0 > now ? $0 : nil }
        self.rest = self.lockedUntil.map { $0 - now }
    }
}

/// The object behind an identifier of an account's activations.
public enum ShownActivation: Sendable, Equatable {
    /// A personalised app.
    case activation(ListedActivation, ListedAttempts)
    /// A code that can still be used.
    case offer(ListedOffer, ListedAttempts)
}

/// The state of a code for another device. The raw values are the words of the page's channel.
public enum OfferState: String, Sendable {
    /// The code can be used.
    case waiting
    /// A device is personalised by the code, or the account of the code's invitation was merged into another account.
    case done
    /// The code can no longer be used: its time is over, the code was withdrawn, or its PIN was wrong too often.
    case over
}

/// The activations of accounts, for viewers, and the ways to end an activation without its own phone.
public struct ActivationListings: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & IdentityStore
    let hub: CeremonyHub
    let budgets: Budgets

    /// Returns the activations of an account, the oldest first. Cost: two queries.
    public func activations(accountID: String) async throws -> [ListedActivation] {
        let now = self.time.now()
        let keys = try await self.store.credentials(accountID: accountID)
        return try await self.store.activations(accountID: accountID).map { Self.listed($0, keys, at: now) }
    }

    private static func listed(
        _ activation: ActivationRecord, _ keys: [CredentialRecord], at now: Timestamp
    ) -> ListedActivation {
        let types = keys.filter { $0.deviceID.hasSameBytes(as: activation.device.id) }.factorTypes
        let until = activation.lockout.lockedUntil.flatMap { $0 > now ? $0 : nil }
        return ListedActivation(
            id: activation.device.id, name: activation.device.name,
            factors: AuthenticatorType.allCases.filter(types.contains),
            createdAt: activation.device.createdAt, lastUsedAt: activation.lastUsedAt,
            lockedUntil: activation.lockout.isPermanent ? nil : until, isDisabled: !activation.isActive)
    }

    /// Returns an activation of an account, or a code that can still be used, with the failed attempts; `nil` if the
    /// account has neither of this identifier. Cost: two queries.
    public func shown(_ id: String, accountID: String) async throws -> ShownActivation? {
        let now = self.time.now()
        if let activation = try await self.activation(id, of: accountID) {
            let keys = try await self.store.credentials(accountID: accountID)
            return .activation(
                Self.listed(activation, keys, at: now), ListedAttempts(activation.lockout, at: now, self.limits))
        }
        return try await self.store.offers(accountID: accountID, at: now)
            .first { $0.id.hasSameBytes(as: id) }
            .map {
                .offer(
                    ListedOffer(id: $0.id, name: $0.name, createdAt: $0.createdAt, expiresAt: $0.expiresAt),
                    ListedAttempts($0.lockout, at: now, self.limits))
            }
    }

    /// Returns the activation with an identifier, if the activation belongs to the account.
    private func activation(_ id: String, of accountID: String) async throws -> ActivationRecord? {
        guard let activation = try await self.store.activation(id: id),
            activation.device.accountID.hasSameBytes(as: accountID)
        else { return nil }
        return activation
    }

    /// Renames an activation; `false` if the account has no activation of this identifier. Throws `invalidRequest` for
    /// a name that cannot be shown.
    ///
    /// - Parameter operator: The name of the operator, for the trail; `nil` for the person.
    public func rename(_ id: String, to name: String, accountID: String, by operator: String? = nil) async throws
        -> Bool
    {
        guard ShownName.isAccepted(name) else {
            throw CeremonyError(
                .invalidRequest,
                "a name is one line of 1 to \(Limits.Fixed.shownNameCharacters) characters that can be shown")
        }
        guard try await self.activation(id, of: accountID) != nil else { return false }
        return try await self.store.renameActivation(
            id: id, name: name,
            audit: AuditEvent(
                .activationRenamed, at: self.time.now(), accountID: accountID, actor: `operator`, detail: id))
    }

    /// Renames an activation as ``rename(_:to:accountID:by:)`` does, for the person, on a page. Also throws
    /// `tooManyRequests`: each change is an entry of the trail, and `source` has a budget of changes as of codes.
    public func renameOnPage(_ id: String, to name: String, accountID: String, source: String) async throws -> Bool {
        try self.countChange(source: source)
        return try await self.rename(id, to: name, accountID: accountID)
    }

    /// Counts a change that a person makes on a page. Each change is an entry of the trail, and `source` has a budget
    /// of changes as of codes. Throws `tooManyRequests`.
    public func countChange(source: String) throws {
        try CeremonyError.throwShortage(self.budgets.codes.spend(source, at: self.time.now()))
    }

    /// Returns the codes of an account that can still be used, the oldest first. Cost: one query.
    public func offers(accountID: String) async throws -> [ListedOffer] {
        try await self.store.offers(accountID: accountID, at: self.time.now()).map {
            ListedOffer(id: $0.id, name: $0.name, createdAt: $0.createdAt, expiresAt: $0.expiresAt)
        }
    }

    /// Ends an activation with its device, keys and sessions, and leaves a notice for the person's devices. Or
    /// withdraws an unused code. `false` if the account has neither of this identifier.
    ///
    /// - Parameter operator: The name of the operator, for the trail; `nil` for the person.
    public func end(_ id: String, accountID: String, by operator: String? = nil) async throws -> Bool {
        let now = self.time.now()
        let audit = AuditEvent(.activationRevoked, at: now, accountID: accountID, actor: `operator`, detail: id)
        guard let activation = try await self.activation(id, of: accountID) else {
            guard try await self.store.withdrawOffer(id: id, accountID: accountID, audit: audit) else { return false }
            self.hub.wake(.ceremony(id))
            return true
        }
        return try await self.store.revokeActivation(
            id: id, audit: audit,
            notice: NoticeRecord(
                id: self.newIdentifier(), accountID: accountID, kind: .authenticatorsRemoved, at: now,
                subject: activation.device.name),
            ending: self.environment.endOfSessions(at: now))
    }

    /// Returns the state of a code. A code that never existed is `over`, like a forgotten code without an activation.
    public func state(ofOffer id: String) async throws -> OfferState { try await self.reading(id).state }

    /// Returns the states of a code, from the present state to the last.
    public func events(ofOffer id: String) -> CeremonyEvents<OfferState> {
        CeremonyEvents(hub: self.hub, topic: .ceremony(id), time: self.time) {
            let (state, until) = try await self.reading(id)
            return (state, state != .waiting, until)
        }
    }

    private func reading(_ id: String) async throws -> (state: OfferState, until: Timestamp?) {
        guard let offer = try await self.store.offer(id: id) else {
            // The row of a code is deleted after its time, whatever the code became.
            return (try await self.store.activation(id: id) == nil ? .over : .done, nil)
        }
        switch offer.state {
        case .enrolled, .merged: return (.done, nil)
        case .revoked: return (.over, nil)
        case .offered: return self.time.now() < offer.expiresAt ? (.waiting, offer.expiresAt) : (.over, nil)
        }
    }
}
