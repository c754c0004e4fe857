import Store
public import UAF
public import _Primitives

/// An activation as its person and operators see it: nothing of its keys.
public struct ListedActivation: Sendable, Equatable {
    /// Its identifier.
    public let id: String
    /// What the person calls it.
    public let name: String
    /// What it can sign with.
    public let factors: [AuthenticatorType]
    /// Since when it is there.
    public let createdAt: Timestamp
    /// When its factors were accepted last.
    public let lastUsedAt: Timestamp?
    /// Until when it rests after failed attempts; `nil` where it does not.
    public let lockedUntil: Timestamp?
    /// Whether it may not authenticate any more.
    public let isDisabled: Bool
}

/// A code for another device that can still be used, as its person and operators see it.
public struct ListedOffer: Sendable, Equatable {
    /// What the activation will be called by.
    public let id: String
    /// What the device is to be called.
    public let name: String?
    /// When it was made.
    public let createdAt: Timestamp
    /// Until when it can be used.
    public let expiresAt: Timestamp
}

/// The failed attempts of an activation, or of a code, as operators see them.
public struct ListedAttempts: Sendable, Equatable {
    /// Attempts that failed, one after the other. The one that is being judged counts as failed until then.
    public let failuresInARow: Int
    /// Attempts that failed within the window that counts (`lockoutWindow`).
    public let recentFailures: Int
    /// How many more may fail before the last that there is.
    public let left: Int
    /// Until when nothing is judged; `nil` where nothing rests, or for good.
    public let lockedUntil: Timestamp?
    /// How much of that is left.
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

/// What an identifier of an account's activations stands for.
public enum ShownActivation: Sendable, Equatable {
    /// A personalised app.
    case activation(ListedActivation, ListedAttempts)
    /// A code that can still be used.
    case offer(ListedOffer, ListedAttempts)
}

/// What has become of a code for another device. The raw values are the words of the page's channel.
public enum OfferState: String, Sendable {
    /// It can be used.
    case waiting
    /// A device is personalised by it.
    case done
    /// It can be used no longer: its time is over, it was taken back, or its PIN was wrong too often.
    case over
}

/// What accounts have of activations, for those who look at them, and their end by somebody else than their own phone.
public struct ActivationListings: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & IdentityStore
    let hub: CeremonyHub
    let budgets: Budgets

    /// The activations of an account, the oldest first. Cost: two queries.
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

    /// An activation of an account, or a code that can still be used, with its failed attempts; `nil` where the account has
    /// neither of that identifier. Cost: two queries.
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

    /// The activation of that identifier, where it is the account's.
    private func activation(_ id: String, of accountID: String) async throws -> ActivationRecord? {
        guard let activation = try await self.store.activation(id: id),
            activation.device.accountID.hasSameBytes(as: accountID)
        else { return nil }
        return activation
    }

    /// Calls an activation by another name; `false` where the account has none of that identifier. Throws `invalidRequest`
    /// for a name that cannot be shown.
    ///
    /// - Parameter operator: Who does it, for the trail; `nil` for the person.
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

    /// As ``rename(_:to:accountID:by:)``, for the person, on a page. Throws `tooManyRequests` also: each is an entry of the
    /// trail, and `source` has a budget as it has of codes.
    public func renameOnPage(_ id: String, to name: String, accountID: String, source: String) async throws -> Bool {
        try self.countChange(source: source)
        return try await self.rename(id, to: name, accountID: accountID)
    }

    /// Counts a change that a person makes on a page: each is an entry of the trail, and `source` has a budget as it has of
    /// codes. Throws `tooManyRequests`.
    public func countChange(source: String) throws {
        try CeremonyError.throwShortage(self.budgets.codes.spend(source, at: self.time.now()))
    }

    /// The codes of an account that can still be used, the oldest first. Cost: one query.
    public func offers(accountID: String) async throws -> [ListedOffer] {
        try await self.store.offers(accountID: accountID, at: self.time.now()).map {
            ListedOffer(id: $0.id, name: $0.name, createdAt: $0.createdAt, expiresAt: $0.expiresAt)
        }
    }

    /// Takes an activation back, or a code for one that nobody has used; `false` where the account has neither of that
    /// identifier.
    ///
    /// - Parameter operator: Who does it, for the trail; `nil` for the person.
    public func end(_ id: String, accountID: String, by operator: String? = nil) async throws -> Bool {
        let now = self.time.now()
        let audit = AuditEvent(.activationRevoked, at: now, accountID: accountID, actor: `operator`, detail: id)
        guard let activation = try await self.activation(id, of: accountID) else {
            guard try await self.store.withdrawOffer(id: id, accountID: accountID, audit: audit) else { return false }
            self.hub.wake(id)
            return true
        }
        return try await self.store.revokeActivation(
            id: id, audit: audit,
            notice: NoticeRecord(
                id: self.newIdentifier(), accountID: accountID, kind: .authenticatorsRemoved, at: now,
                subject: activation.device.name),
            ending: CeremonyRecord.ending(.failed, at: now, limits: self.limits))
    }

    /// What has become of a code. It says the same of one that never was as of one that is forgotten.
    public func state(ofOffer id: String) async throws -> OfferState { try await self.reading(id).state }

    /// The states of a code from now to the last.
    public func events(ofOffer id: String) -> CeremonyEvents<OfferState> {
        CeremonyEvents(hub: self.hub, id: id, time: self.time) {
            let (state, until) = try await self.reading(id)
            return (state, state != .waiting, until)
        }
    }

    private func reading(_ id: String) async throws -> (state: OfferState, until: Timestamp?) {
        guard let offer = try await self.store.offer(id: id) else {
            // The row of a code goes with its time, whatever it became.
            return (try await self.store.activation(id: id) == nil ? .over : .done, nil)
        }
        switch offer.state {
        case .enrolled, .merged: return (.done, nil)
        case .revoked: return (.over, nil)
        case .offered: return self.time.now() < offer.expiresAt ? (.waiting, offer.expiresAt) : (.over, nil)
        }
    }
}
