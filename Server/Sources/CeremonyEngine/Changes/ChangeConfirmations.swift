import Crypto
import Store
import UAF
import _Primitives

/// A change that a browser asks for, before anybody has confirmed the change.
public struct ChangeRequest: Sendable {
    /// The change.
    public let change: AccountChange
    /// The identifier of the account that is changed.
    public let accountID: String
    /// The page on which the change is made once it is confirmed: a path of this server, with its query.
    public let page: String
    /// The value of the browser's cookie.
    public let browser: String
    /// The browser's network address, which the phone shows.
    public let address: String?
    /// The browser and its system in words, which the phone shows.
    public let browserWords: String?
    /// The network whose budget of codes is spent.
    public let source: String

    /// Describes a change that a browser asks for.
    public init(
        change: AccountChange, accountID: String, page: String, browser: String, address: String?,
        browserWords: String?, source: String
    ) {
        self.change = change
        self.accountID = accountID
        self.page = page
        self.browser = browser
        self.address = address
        self.browserWords = browserWords
        self.source = source
    }
}

/// A change that a browser has asked for, as its page sees the change.
public struct RequestedChange: Sendable, Equatable {
    /// The change.
    public let change: AccountChange
    /// The identifier of the account that is changed.
    public let accountID: String
    /// The page on which the change is made.
    public let page: String
    /// `true` if the account has no phone, so that its password confirms the change.
    public let isByPassword: Bool
    /// The change's state; `approved` means that the change can be made.
    public let state: SignInState
}

/// Confirmations of changes of accounts: a person's phone signs the text of a change, in the same way as a sign-in of our
/// page, and the browser that asked then makes the change once.
///
/// A change of an account that has a personalised identity is confirmed by the identity's session document, every other by
/// a UAF transaction. Of an account without a phone the password and a second factor confirm the change.
public struct ChangeConfirmations: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & CeremonyStore & IdentityStore
    let signIns: SignIns

    /// Begins to have a change confirmed, and returns the reference by which the page names the change.
    ///
    /// Throws `CeremonyError` `tooManyRequests`.
    ///
    /// Cost: two queries, one store step.
    public func begin(_ request: ChangeRequest) async throws -> String {
        let now = self.time.now()
        try self.signIns.spendCodes(of: request.source, at: now)
        let kind = try await self.kind(of: request.accountID)
        let waiting = WaitingChange(request.change, page: request.page, isByPassword: kind == nil)
        let reference = self.newIdentifier()
        let ceremony = CeremonyRecord(
            id: self.newIdentifier(), kind: kind ?? .authentication, reference: reference,
            browserDigest: Sealing.digest(ofSecret: request.browser), accountID: request.accountID, createdAt: now,
            expiresAt: now + self.limits.ceremonyLifetime,
            detail: CeremonyDetail(
                service: self.configuration.serviceName, origin: self.configuration.issuer, address: request.address,
                browser: request.browserWords, browserID: self.signIns.browserID(of: request.browser),
                contentType: Transaction.ContentType.textPlain.rawValue, content: Array(request.change.text.utf8),
                change: waiting.stored))
        // The page has the codes made that it shows.
        try await self.store.createCeremony(ceremony, tokens: [], audit: nil)
        return reference
    }

    /// `true` if the account has a phone that can confirm a change. Cost: two queries.
    public func hasPhone(accountID: String) async throws -> Bool { try await self.kind(of: accountID) != nil }

    /// The kind of ceremony in which the account's phone signs; `nil` for an account without a phone.
    private func kind(of accountID: String) async throws -> CeremonyRecord.Kind? {
        let activations = try await self.store.activations(accountID: accountID)
        if activations.contains(where: \.isActive) { return .identity }
        let devices = Set(activations.map(\.device.id))
        let keys = try await self.store.credentials(accountID: accountID)
        return keys.contains { $0.isActive && !devices.contains($0.deviceID) } ? .authentication : nil
    }

    /// A change that a browser has asked for; `nil` where there is none, or another browser has asked.
    ///
    /// Cost: one query.
    public func requested(_ reference: String, browser: String) async throws -> RequestedChange? {
        guard let record = try await self.store.ceremony(.reference(reference)),
            let waiting = try record.waitingChange(ofBrowser: browser), let accountID = record.accountID
        else { return nil }
        var state = self.signIns.state(of: record, at: self.time.now())
        // A change waits longer for its page than a sign-in for its browser: its person may have to type something.
        if record.outcome == .succeeded, !record.isConsumed {
            state = self.isTimely(record) ? .approved : .expired
        }
        return RequestedChange(
            change: waiting.change, accountID: accountID, page: waiting.page, isByPassword: waiting.isByPassword,
            state: state)
    }

    /// Confirms a change of an account without a phone, whose password and second factor were right a moment ago.
    /// `methods` are their RFC 8176 names. Says whether there was such a change.
    public func confirmByPassword(
        _ reference: String, browser: String, accountID: String, methods: [String]
    ) async throws -> Bool {
        let now = self.time.now()
        return try await self.changed(reference) { record in
            guard let waiting = try record.waitingChange(ofBrowser: browser), waiting.isByPassword,
                record.accountID?.hasSameBytes(as: accountID) == true, record.phase == .created, now < record.expiresAt
            else { throw RefusedEvent(refusal: .over) }
            // No phone takes part: nothing was redeemed, and no machine has a step for that.
            record.phase = .ended
            record.outcome = .succeeded
            record.changedAt = now
            record.methods = methods
            return CeremonyChange()
        }
    }

    /// Takes a confirmed change for the browser that asked: says whether the change may be made now. A confirmation is good
    /// for one change, of one account, in one browser, for ``Limits/freshSignIn`` from the approval.
    ///
    /// Cost: one store step.
    public func take(
        _ change: AccountChange, _ reference: String, browser: String, accountID: String
    ) async throws -> Bool {
        try await self.changed(reference) { record in
            guard let waiting = try record.waitingChange(ofBrowser: browser), waiting.change == change,
                record.accountID?.hasSameBytes(as: accountID) == true, record.outcome == .succeeded,
                !record.isConsumed, self.isTimely(record), self.isShown(record, waiting)
            else { throw RefusedEvent(refusal: .over) }
            record.isConsumed = true
            var step = CeremonyChange()
            step.audit = [
                AuditEvent(
                    .changeConfirmed, at: self.time.now(), accountID: accountID, ceremonyID: record.id,
                    detail: "\(change.kind) methods=\(record.methods.joined(separator: ","))",
                    address: record.detail.address)
            ]
            return step
        }
    }

    private func isTimely(_ record: CeremonyRecord) -> Bool {
        self.time.now() < record.changedAt + self.limits.freshSignIn
    }

    /// `true` if the phone has signed the text. An identity's session document has the text in it.
    private func isShown(_ record: CeremonyRecord, _ waiting: WaitingChange) -> Bool {
        guard record.kind == .authentication, !waiting.isByPassword else { return true }
        guard let signed = record.contentHash, let content = record.detail.content else { return false }
        return constantTimeEqual(signed, Array(SHA256.hash(data: content)))
    }

    private func changed(_ reference: String, judge: @escaping CeremonyJudge) async throws -> Bool {
        do { return try await self.store.change(.reference(reference), judge: judge) != nil } catch is RefusedEvent {
            return false
        }
    }
}

extension CeremonyRecord {
    /// The change that a browser has asked for; `nil` for every other browser, and where the ceremony is a sign-in.
    fileprivate func waitingChange(ofBrowser browser: String) throws -> WaitingChange? {
        guard let stored = self.detail.change,
            constantTimeEqual(Sealing.digest(ofSecret: browser), self.browserDigest ?? [])
        else { return nil }
        return try WaitingChange(stored: stored)
    }
}

extension AuditEvent.Kind {
    /// A change of an account was confirmed, and is made; the detail is its kind and the methods.
    static let changeConfirmed = Self(rawValue: "change-confirmed")
}
