import Ceremony
public import Records
import Settings
public import _Primitives

/// The part of another provider in the confirmation of a change, as the change's ceremony keeps the part.
enum ProviderConfirmation: Equatable {
    /// The browser is on its way to the provider and back.
    case away(UpstreamTrip)
    /// The provider has authenticated the person afresh.
    case confirmed

    /// The JSON document for ``CeremonyRecord/progress``.
    var stored: [UInt8] {
        switch self {
        case .confirmed: JSON.object(["confirmed": .bool(true)]).serialized
        case .away(let trip):
            JSON.object([
                "provider": .string(trip.provider), "state": .string(Base64URL.encode(trip.stateDigest)),
                "verifier": .string(trip.verifier.withBytes { String(decoding: $0, as: UTF8.self) }),
                "nonce": .string(trip.nonce.withBytes { String(decoding: $0, as: UTF8.self) }),
                "begunAt": .integer(trip.begunAt.milliseconds), "expiresAt": .integer(trip.expiresAt.milliseconds),
            ]).serialized
        }
    }

    /// Reads the part of another provider in the confirmation of a change; `nil` if there is none.
    ///
    /// Throws `StoreError` `corrupt`.
    init?(of record: CeremonyRecord) throws {
        guard record.detail.change != nil, record.kind == .authentication, let progress = record.progress,
            let reference = record.reference
        else { return nil }
        try self.init(stored: progress, reference: reference)
    }

    /// Reads the confirmation from its stored form.
    ///
    /// - Parameter reference: The reference of the change.
    ///
    /// Throws `StoreError` `corrupt`.
    init(stored bytes: [UInt8], reference: String) throws {
        let corrupt = StoreError(.corrupt, "what another provider has confirmed of a change is of no form")
        guard case .object(let object)? = try? JSON(parsing: bytes) else { throw corrupt }
        if object["confirmed"] == .bool(true) {
            self = .confirmed
            return
        }
        guard case .string(let provider)? = object["provider"], case .string(let state)? = object["state"],
            let digest = Base64URL.decode(state), case .string(let verifier)? = object["verifier"],
            case .string(let nonce)? = object["nonce"], case .integer(let begun)? = object["begunAt"],
            case .integer(let end)? = object["expiresAt"]
        else { throw corrupt }
        self = .away(
            UpstreamTrip(
                request: reference, provider: provider, stateDigest: digest, verifier: SecretBytes(utf8: verifier),
                nonce: SecretBytes(utf8: nonce), isSecond: false, begunAt: Timestamp(milliseconds: begun),
                expiresAt: Timestamp(milliseconds: end)))
    }
}

/// A change that another provider has confirmed. The change waits for its time or for its browser.
public struct DelayedChange: Sendable, Equatable {
    /// The reference by which the page names the change.
    public let reference: String
    /// The change.
    public let change: AccountChange
    /// The moment from which the change can be made.
    public let readyAt: Timestamp
    /// The moment from which the change cannot be made any more.
    public let expiresAt: Timestamp
}

extension ChangeConfirmations {
    /// Returns the moment from which a change can be made after another provider confirmed the change; `nil` without
    /// such a confirmation.
    func readyAt(_ record: CeremonyRecord) throws -> Timestamp? {
        guard record.phase == .created, try ProviderConfirmation(of: record) == .confirmed else { return nil }
        return record.changedAt + self.limits.providerConfirmationWait
    }

    /// Keeps a browser's trip to another provider, in place of any former trip. `false`, and nothing is kept, if no
    /// change of the account waits for this browser without a phone, or a provider has confirmed the change already.
    ///
    /// Cost: one store step.
    public func begin(_ trip: UpstreamTrip, browser: String, accountID: String) async throws -> Bool {
        let now = self.time.now()
        return try await self.changed(trip.request) { record in
            guard try WaitingChange(unconfirmed: record, browser: browser, accountID: accountID, at: now) != nil,
                try ProviderConfirmation(of: record) != .confirmed
            else { throw RefusedEvent(refusal: .over) }
            record.progress = ProviderConfirmation.away(trip).stored
            return CeremonyChange()
        }
    }

    /// Takes a browser's trip to another provider, once, by the digest of its state; `nil` if there is none, or its
    /// time is over.
    ///
    /// Cost: one query, one store step.
    public func takeTrip(_ reference: String, stateDigest: [UInt8], browser: String, provider: String) async throws
        -> UpstreamTrip?
    {
        let now = self.time.now()
        guard let asked = try await self.store.ceremony(.reference(reference)),
            case .away(let trip)? = try ProviderConfirmation(of: asked),
            constantTimeEqual(trip.stateDigest, stateDigest), trip.provider.hasSameBytes(as: provider),
            now < trip.expiresAt
        else { return nil }
        let isTaken = try await self.changed(reference) { record in
            guard let accountID = record.accountID,
                try WaitingChange(unconfirmed: record, browser: browser, accountID: accountID, at: now) != nil,
                try ProviderConfirmation(of: record) == .away(trip)
            else { throw RefusedEvent(refusal: .over) }
            record.progress = nil
            return CeremonyChange()
        }
        return isTaken ? trip : nil
    }

    /// Confirms a change of an account with neither phone nor password, shortly after another provider authenticated
    /// the person and the trip was taken. Returns `true` if there was such a change.
    ///
    /// The change then waits for ``Limits/providerConfirmationWait``. A change that disowns another change does not
    /// wait, because a disownment gives access to no person.
    ///
    /// - Parameters:
    ///   - method: The word for the provider, for the trail.
    ///   - letter: The letter that tells the person of the change, with the number of letters that may wait.
    ///
    /// Cost: one store step.
    public func confirmByProvider(
        _ reference: String, browser: String, accountID: String, method: String, letter: (MailRecord, most: Int)?
    ) async throws -> Bool {
        let now = self.time.now()
        return try await self.changed(reference) { record in
            guard
                let waiting = try WaitingChange(
                    unconfirmed: record, browser: browser, accountID: accountID, at: now), record.progress == nil
            else { throw RefusedEvent(refusal: .over) }
            record.methods = [method]
            if case .disownment = waiting.change {
                record.endUnredeemed(.succeeded, at: now)
                return CeremonyChange()
            }
            record.progress = ProviderConfirmation.confirmed.stored
            record.changedAt = now
            record.expiresAt = now + self.limits.changeQuestionLifetime
            var step = CeremonyChange()
            step.letter = letter
            step.audit = [
                AuditEvent(
                    .changeDelayed, at: now, accountID: accountID, ceremonyID: record.id,
                    detail: "\(waiting.change.kind) methods=\(method)", address: record.detail.address)
            ]
            return step
        }
    }

    /// Returns the changes of an account that another provider has confirmed and no browser has made yet, the latest
    /// first, at most ``Limits/activityRows``.
    ///
    /// Cost: one query.
    public func delayed(accountID: String) async throws -> [DelayedChange] {
        try await self.store.delayedChanges(
            accountID: accountID, at: self.time.now(), limit: self.limits.activityRows
        ).compactMap { record in
            guard let readyAt = try self.readyAt(record), let reference = record.reference,
                let stored = record.detail.change
            else { return nil }
            return DelayedChange(
                reference: reference, change: try WaitingChange(stored: stored).change, readyAt: readyAt,
                expiresAt: record.expiresAt)
        }
    }

    /// Stops a change of an account that another provider has confirmed. Returns `true` if there was such a change.
    ///
    /// Cost: one store step.
    public func stopDelayed(_ reference: String, accountID: String, address: String?) async throws -> Bool {
        let now = self.time.now()
        return try await self.changed(reference) { record in
            guard record.accountID?.hasSameBytes(as: accountID) == true, let stored = record.detail.change,
                try self.readyAt(record) != nil
            else { throw RefusedEvent(refusal: .over) }
            let change = try WaitingChange(stored: stored).change
            record.endUnredeemed(.cancelled, at: now)
            var step = CeremonyChange()
            step.audit = [
                AuditEvent(
                    .changeStopped, at: now, accountID: accountID, ceremonyID: record.id, detail: change.kind,
                    address: address)
            ]
            return step
        }
    }
}

extension AuditEvent.Kind {
    /// Another provider has confirmed a change of an account, and the change now waits. The detail is its kind and the
    /// provider.
    static let changeDelayed = Self(rawValue: "change-delayed")
    /// The person has stopped a change that another provider had confirmed. The detail is its kind.
    static let changeStopped = Self(rawValue: "change-stopped")
}
