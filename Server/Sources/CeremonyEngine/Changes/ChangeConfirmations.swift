import Crypto
public import Records
import Sealing
import Settings
import UAF
public import _Primitives

/// A browser's request for a change, before any confirmation.
public struct ChangeRequest: Sendable {
    /// The change.
    public let change: AccountChange
    /// The identifier of the changed account.
    public let accountID: String
    /// The page on which the change is made after the confirmation: a path of this server, with its query.
    public let page: String
    /// The value of the browser's cookie.
    public let browser: String
    /// The browser's network address, which the phone shows.
    public let address: String?
    /// The browser and its system in words, which the phone shows.
    public let browserWords: String?
    /// The network whose budget of codes the request spends.
    public let source: String
    /// The moment before which the confirming phone or password must have existed; `nil` for any.
    public let before: Timestamp?

    /// Describes a change that a browser asks for.
    public init(
        change: AccountChange, accountID: String, page: String, browser: String, address: String?,
        browserWords: String?, source: String, before: Timestamp? = nil
    ) {
        self.before = before
        self.change = change
        self.accountID = accountID
        self.page = page
        self.browser = browser
        self.address = address
        self.browserWords = browserWords
        self.source = source
    }
}

/// A change that a browser has asked for, as the browser's page sees the change.
public struct RequestedChange: Sendable, Equatable {
    /// The change.
    public let change: AccountChange
    /// The identifier of the changed account.
    public let accountID: String
    /// The page on which the change is made.
    public let page: String
    /// `true` if the account has no phone: its password confirms the change, or another provider if there is no
    /// password.
    public let isWithoutPhone: Bool
    /// The moment before which the confirming phone or password must have existed; `nil` for any.
    public let before: Timestamp?
    /// `true` if the password was right, and a mailed code is still to confirm the change.
    public let hasPassword: Bool
    /// The moment from which the change can be made, if another provider has confirmed the change; `nil` otherwise.
    public let readyAt: Timestamp?
    /// The change's state; `approved` means that the change can be made.
    public let state: SignInState
}

/// Confirmations of changes of accounts: a person's phone signs the text of a change as in a sign-in at our page, and
/// the asking browser then makes the change once.
///
/// If the account has a personalised identity, the identity's session document confirms the change. In every other
/// account a UAF transaction confirms the change. In an account without a phone the password confirms the change, with
/// the second factor if there is one, or else with a mailed code if the account has a confirmed address. Without a
/// password another provider does, and the change waits a day
/// (``ChangeConfirmations/confirmByProvider(_:browser:accountID:method:letter:)``).
public struct ChangeConfirmations: CeremonyPart {
    let environment: CeremonyEnvironment
    let store: any AccountStore & AccountChangeStore & CeremonyStore & IdentityStore
    let signIns: SignIns

    /// Begins the confirmation of a change, and returns the reference by which the page names the change.
    ///
    /// Throws `CeremonyError` `tooManyRequests`.
    ///
    /// Cost: three queries, one store step.
    public func begin(_ request: ChangeRequest) async throws -> String {
        let now = self.time.now()
        try self.signIns.spendCodes(of: request.source, at: now)
        let kind = try await self.kind(of: request.accountID, for: request.change, before: request.before)
        let waiting = WaitingChange(
            request.change, page: request.page, isWithoutPhone: kind == nil, before: request.before)
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
        // The page requests its codes later.
        try await self.store.createCeremony(ceremony, tokens: [], audit: nil)
        return reference
    }

    /// `true` if the account has a phone that confirms its changes, also if the phone is reported as lost: a report makes
    /// no other way worth more. A phone whose approval the person has disowned is no phone of the account. Cost: three
    /// queries.
    public func hasPhone(accountID: String) async throws -> Bool { try await self.kind(of: accountID) != nil }

    /// Returns the kind of ceremony in which the account's phone signs; `nil` for an account without a phone.
    ///
    /// A phone that is reported as lost counts, although it cannot answer: otherwise a stranger with the password could
    /// report the phone, and then change the account without it. Only the return of a device is confirmed without these
    /// phones, because the account then has no more than before the report.
    ///
    /// A phone whose approval the person has disowned is somebody else's and never counts: the means that disowned the
    /// approval are older than the phone.
    ///
    /// - Parameter moment: Only phones and keys from before this moment count; `nil` for all.
    private func kind(
        of accountID: String, for change: AccountChange? = nil, before moment: Timestamp? = nil
    ) async throws -> CeremonyRecord.Kind? {
        let activations = try await self.store.activations(accountID: accountID)
        let keys = try await self.store.credentials(accountID: accountID)
        let lost = try await self.store.devices(accountID: accountID).filter { !$0.standing.mayAuthenticate }
        func kind(without lost: [DeviceRecord]) -> CeremonyRecord.Kind? {
            let lost = Set(lost.map(\.id))
            let isActivated = activations.contains {
                $0.isKept && !lost.contains($0.device.id) && moment.isAfter($0.device.createdAt)
            }
            if isActivated { return .identity }
            let others = lost.union(activations.map(\.device.id))
            let isAny = keys.contains {
                $0.isActive && !others.contains($0.deviceID) && moment.isAfter($0.createdAt)
            }
            return isAny ? .authentication : nil
        }
        // A phone in use answers before a phone that cannot.
        if let kind = kind(without: lost) { return kind }
        if case .returnOfDevice? = change { return nil }
        return kind(without: lost.filter(\.standing.isDisowned))
    }

    /// `true` if every means of a change's confirmation existed before a moment and still exists: the device that
    /// answered, and for a UAF answer all keys of the device.
    private func wasConfirmed(_ reference: String, before moment: Timestamp) async throws -> Bool {
        guard let record = try await self.store.ceremony(.reference(reference)), let device = record.deviceID,
            let account = record.accountID
        else { return false }
        if let activation = try await self.store.activations(accountID: account)
            .first(where: { $0.device.id.hasSameBytes(as: device) })
        {
            return activation.isActive && activation.device.createdAt < moment
        }
        let keys = try await self.store.credentials(accountID: account).filter {
            $0.deviceID.hasSameBytes(as: device)
        }
        return !keys.isEmpty && keys.allSatisfy { $0.createdAt < moment }
    }

    /// Returns a change that a browser has asked for; `nil` if there is none, or another browser has asked.
    ///
    /// Cost: one query.
    public func requested(_ reference: String, browser: String) async throws -> RequestedChange? {
        guard let record = try await self.store.ceremony(.reference(reference)),
            let waiting = try WaitingChange(of: record, browser: browser), let accountID = record.accountID
        else { return nil }
        var state = self.signIns.state(of: record, at: self.time.now())
        // A change waits longer for its page than a sign-in for its browser: the person may have to type something.
        if record.outcome == .succeeded, !record.isConsumed {
            state = self.isTimely(record) ? .approved : .expired
        }
        let readyAt = try self.readyAt(record)
        if let readyAt, state == .waiting, readyAt <= self.time.now() { state = .approved }
        return RequestedChange(
            change: waiting.change, accountID: accountID, page: waiting.page, isWithoutPhone: waiting.isWithoutPhone,
            before: waiting.before, hasPassword: record.phase == .created && record.methods == Self.partlyConfirmed,
            readyAt: readyAt, state: state)
    }

    /// The methods of a change whose password was right, by their RFC 8176 names, while a mailed code is missing.
    private static let partlyConfirmed = ["pwd"]

    /// Confirms a change of an account without a phone, shortly after the caller has judged the password, and the
    /// second factor or mailed code if needed, as right. `methods` are their RFC 8176 names. Returns `true` if there
    /// was such a change.
    public func confirmByPassword(
        _ reference: String, browser: String, accountID: String, methods: [String]
    ) async throws -> Bool {
        let now = self.time.now()
        return try await self.changedWithoutPhone(
            reference, browser: browser, accountID: accountID, at: now
        ) { record in
            record.endUnredeemed(.succeeded, at: now)
            record.methods = methods
        }
    }

    /// Notes that the password of an account without a phone was right a moment ago. A mailed code must still confirm
    /// the change. Returns `true` if there was such a change.
    public func notePassword(_ reference: String, browser: String, accountID: String) async throws -> Bool {
        try await self.changedWithoutPhone(
            reference, browser: browser, accountID: accountID, at: self.time.now()
        ) { $0.methods = Self.partlyConfirmed }
    }

    private func changedWithoutPhone(
        _ reference: String, browser: String, accountID: String, at now: Timestamp,
        _ change: @escaping @Sendable (inout CeremonyRecord) -> Void
    ) async throws -> Bool {
        try await self.changed(reference) { record in
            guard try WaitingChange(unconfirmed: record, browser: browser, accountID: accountID, at: now) != nil else {
                throw RefusedEvent(refusal: .over)
            }
            change(&record)
            return CeremonyChange()
        }
    }

    /// Takes a confirmed change for the browser that asked, and returns `true` if the change may be made now. `false`
    /// leaves the confirmation as it is.
    ///
    /// A confirmation is valid for one change, of one account, in one browser, for ``Limits/freshSignIn`` from the
    /// approval. A change that another provider has confirmed is valid from its waiting time on until it expires, and
    /// only while the account has no phone. The step keeps the change, so that the person can later disown a stranger's
    /// change. The steps that set a password, a second factor or recovery codes keep these changes themselves.
    ///
    /// - Parameter letter: Returns the letter that tells the person of the change, and the number of letters that may
    ///   wait.
    ///
    /// Cost: one query, one store step; for a decision about another change up to three queries more, and after the
    /// confirmation of another provider up to two.
    public func take(
        _ change: AccountChange, _ reference: String, browser: String, accountID: String,
        letter: @escaping @Sendable (AccountChangeRecord) -> (MailRecord, most: Int)?
    ) async throws -> Bool {
        let requested = try await self.requested(reference, browser: browser)
        if let requested, let moment = requested.before, !requested.isWithoutPhone {
            guard try await self.wasConfirmed(reference, before: moment) else { return false }
        }
        // The account may have got a phone after another provider confirmed the change.
        if requested?.readyAt != nil, try await self.hasPhone(accountID: accountID) { return false }
        let id = self.newIdentifier()
        return try await self.changed(reference) { record in
            guard let waiting = try WaitingChange(of: record, browser: browser), waiting.change == change,
                record.accountID?.hasSameBytes(as: accountID) == true
            else { throw RefusedEvent(refusal: .over) }
            if let readyAt = try self.readyAt(record) {
                let now = self.time.now()
                guard readyAt <= now, now < record.expiresAt else { throw RefusedEvent(refusal: .over) }
                record.endUnredeemed(.succeeded, at: record.changedAt)
            } else {
                guard record.outcome == .succeeded, self.isTimely(record), self.isShown(record, waiting) else {
                    throw RefusedEvent(refusal: .over)
                }
            }
            guard !record.isConsumed else { throw RefusedEvent(refusal: .over) }
            record.isConsumed = true
            var step = CeremonyChange()
            if let addition = change.addition {
                let made = AccountChangeRecord(
                    id: id, accountID: accountID, addition: addition, words: change.words, madeAt: record.changedAt)
                step.accountChange = (made, letter(made))
            }
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

    /// `false` if a phone has confirmed the change by a UAF answer without signing the text. No other confirmation
    /// needs the check: the session document of an identity contains the text, and without a phone nothing is signed.
    private func isShown(_ record: CeremonyRecord, _ waiting: WaitingChange) -> Bool {
        guard record.kind == .authentication, !waiting.isWithoutPhone else { return true }
        guard let signed = record.contentHash, let content = record.detail.content else { return false }
        return constantTimeEqual(signed, Array(SHA256.hash(data: content)))
    }

    func changed(_ reference: String, judge: @escaping CeremonyJudge) async throws -> Bool {
        do { return try await self.store.change(.reference(reference), judge: judge) != nil } catch is RefusedEvent {
            return false
        }
    }
}

extension Timestamp? {
    /// `true` if there is no moment, or the moment is after the other moment.
    fileprivate func isAfter(_ other: Timestamp) -> Bool { self.map { other < $0 } ?? true }
}

extension AuditEvent.Kind {
    /// A change of an account was confirmed, and is made. The detail is the kind and the methods.
    static let changeConfirmed = Self(rawValue: "change-confirmed")
}
