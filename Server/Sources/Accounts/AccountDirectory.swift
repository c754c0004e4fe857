import Ceremony
import PersonalInformation
public import Records
public import Settings
public import _Primitives

/// Accounts and devices, as operators manage them. Every change is in the audit trail under the operator's name.
public struct AccountDirectory: Sendable {
    let store: any AccountStore & DeregistrationStore & NoticeStore
    let time: TimeSource
    private let random: RandomSource
    private let limits: Limits
    private let endOfSessions: @Sendable (_ now: Timestamp) -> SessionEnding

    /// Creates a directory of the accounts in a store.
    ///
    /// - Parameter endOfSessions: Returns the entries in an account's history for identity sessions that end at a
    ///   moment with a deleted device.
    public init(
        store: any AccountStore & DeregistrationStore & NoticeStore, time: TimeSource = .system,
        random: RandomSource = .system, limits: Limits = Limits(),
        endOfSessions: @escaping @Sendable (_ now: Timestamp) -> SessionEnding
    ) {
        self.endOfSessions = endOfSessions
        self.store = store
        self.time = time
        self.random = random
        self.limits = limits
    }

    /// Adds an account.
    ///
    /// Throws `invalidRequest` for a name that is empty, too long or cannot be shown on one line, and for an invalid
    /// e-mail address. A user name also has no spaces, no capitals but A to Z, and not the prefix
    /// ``AccountRecord/referencePrefix``. Throws `conflict` if the user name is taken.
    public func create(
        username: String, displayName: String?, email: AccountEmail? = nil, by operator: String
    ) async throws -> AccountRecord {
        let username = try self.checked(username: username)
        try self.check(displayName: displayName)
        try Self.check(email)
        let account = AccountRecord(
            id: self.random.identifier(), username: username, displayName: displayName, email: email,
            createdAt: self.time.now())
        do {
            try await self.store.createAccount(
                account,
                audit: AuditEvent(.accountCreated, at: account.createdAt, accountID: account.id, actor: `operator`))
        } catch let error as StoreError where error.code == .conflict {
            throw AccountError(.conflict, "The name is taken.")
        }
        return account
    }

    /// Returns the account of a person from elsewhere, not stored yet: without a user name, and without values that an
    /// account cannot have.
    public func newcomer(displayName: String?, email: AccountEmail?) -> AccountRecord {
        AccountRecord(
            id: self.random.identifier(), username: nil,
            displayName: displayName.flatMap { self.isName($0, limit: self.limits.nameCharacters) ? $0 : nil },
            email: email.flatMap { EmailValidator().accepts($0.address) ? $0 : nil }, createdAt: self.time.now())
    }

    /// Returns a user name in its canonical spelling, as in requests, on phones and in the audit trail.
    private func checked(username: String) throws -> AccountName {
        guard let name = AccountName(username, limits: self.limits),
            self.isName(name.text, limit: self.limits.usernameCharacters), !name.text.utf8.contains(UInt8(ascii: " ")),
            // The prefix marks people without a user name. A user name with the prefix would stand for another person.
            !name.text.hasBytes(atStart: AccountRecord.referencePrefix)
        else { throw AccountError(.invalidRequest, "a user name that is empty, too long or cannot be shown") }
        guard !name.hasOtherCapitals else {
            throw AccountError(.invalidRequest, "a user name with capital letters other than A to Z: write them small")
        }
        return name
    }

    private func check(displayName: String?) throws {
        if let displayName, !self.isName(displayName, limit: self.limits.nameCharacters) {
            throw AccountError(.invalidRequest, "a display name that is empty, too long or cannot be shown")
        }
    }

    /// Changes the user name or the display name of an account. A `nil` name stays as it is, and an empty display name
    /// removes the present name. Keys, devices, sessions, and the services' names for the person stay.
    ///
    /// Throws `notFound`, `invalidRequest` as ``create(username:displayName:email:by:)``, and `conflict` if the user
    /// name is taken.
    public func rename(
        _ name: AccountName, username: String? = nil, displayName: String? = nil, by operator: String
    ) async throws -> AccountRecord {
        let before = try await self.account(username: name)
        var account = before
        if let username { account.username = try self.checked(username: username) }
        if let displayName {
            account.displayName = displayName.isEmpty ? nil : displayName
            try self.check(displayName: account.displayName)
        }
        let now = self.time.now()
        var events: [AuditEvent] = []
        if account.username != before.username {
            events.append(AuditEvent(.accountRenamed, at: now, accountID: account.id, actor: `operator`))
        }
        if account.displayName.map(ExactText.init) != before.displayName.map(ExactText.init) {
            events.append(AuditEvent(.accountDisplayNameChanged, at: now, accountID: account.id, actor: `operator`))
        }
        guard !events.isEmpty else { return account }
        do {
            guard
                try await self.store.setAccountNames(
                    id: account.id, audit: events, username: account.username, displayName: account.displayName)
            else { throw AccountError(.notFound) }
        } catch let error as StoreError where error.code == .conflict {
            throw AccountError(.conflict, "The name is taken.")
        }
        account.updatedAt = now
        return account
    }

    private func isName(_ text: String, limit: Int) -> Bool {
        (1...limit).contains(text.unicodeScalars.count) && !text.unicodeScalars.contains(where: DisplayText.isForbidden)
            && text.unicodeScalars.first != " " && text.unicodeScalars.last != " "
    }

    /// Sets or removes the e-mail address of an account. The account's mailed links end. Values of `email` with the
    /// former address lose their verification, unless the address still is a verified address of the account. Throws
    /// `notFound`, and `invalidRequest` for an invalid address.
    public func setEmail(_ email: AccountEmail?, username: AccountName, by operator: String) async throws
        -> AccountRecord
    {
        try Self.check(email)
        var account = try await self.account(username: username)
        let event = AuditEvent(
            .accountEmailChanged, at: self.time.now(), accountID: account.id, actor: `operator`)
        guard try await self.store.setAccountEmail(email, id: account.id, audit: event) else {
            throw AccountError(.notFound)
        }
        (account.email, account.updatedAt) = (email, event.at)
        return account
    }

    private static func check(_ email: AccountEmail?) throws {
        guard let email, !EmailValidator().accepts(email.address) else { return }
        throw AccountError(.invalidRequest, "an e-mail address that is none: NAME@HOST in ASCII")
    }

    /// Returns the account of a user name as typed. Throws `notFound`.
    public func account(written username: String) async throws -> AccountRecord {
        guard let name = AccountName(username, limits: self.limits) else { throw AccountError(.notFound) }
        return try await self.account(username: name)
    }

    /// Returns the account of a user name, or of an operator's reference to an account without a user name
    /// (``AccountRecord/reference``). Throws `notFound`.
    public func account(username: AccountName) async throws -> AccountRecord {
        guard let account = try await self.store.account(reference: username) else { throw AccountError(.notFound) }
        return account
    }

    /// Returns the account of an identifier; `nil` if there is none.
    public func account(id: String) async throws -> AccountRecord? { try await self.store.account(id: id) }

    /// Returns a page of accounts in the order of their creation, after the account with the identifier `after`.
    public func accounts(after: String? = nil) async throws -> [AccountRecord] {
        try await self.store.accounts(after: after, limit: self.limits.pageSize)
    }

    /// Locks or unlocks an account. Locking also ends the account's sessions, grants, unfinished sign-ins and mailed
    /// links. Unlocking brings none of them back. Throws `notFound`.
    public func setLocked(_ isLocked: Bool, username: AccountName, by operator: String) async throws
        -> AccountRecord
    {
        var account = try await self.account(username: username)
        let event = AuditEvent(
            isLocked ? .accountLocked : .accountUnlocked, at: self.time.now(), accountID: account.id, actor: `operator`)
        guard try await self.store.setAccountLocked(isLocked, id: account.id, audit: event) else {
            throw AccountError(.notFound)
        }
        account.isLocked = isLocked
        return account
    }

    /// Deletes an account with everything but its trail. Throws `notFound`.
    public func delete(username: AccountName, by operator: String) async throws {
        let account = try await self.account(username: username)
        let event = AuditEvent(.accountDeleted, at: self.time.now(), accountID: account.id, actor: `operator`)
        guard try await self.store.deleteAccount(id: account.id, audit: event) else { throw AccountError(.notFound) }
    }

    /// Returns the devices of an account, pending devices included. Throws `notFound`.
    public func devices(username: AccountName) async throws -> [DeviceRecord] {
        try await self.store.devices(accountID: try await self.account(username: username).id)
    }

    /// Returns the account of an active device; `nil` if the account has no such device, or no longer.
    public func account(id: String, ofDevice device: String) async throws -> AccountRecord? {
        try await self.store.account(id: id, ofDevice: device)
    }

    /// Deletes a device with its keys, and ends the device's personalised identity, the sessions that the device has
    /// authenticated, and its open ceremonies. Throws `notFound`.
    public func deleteDevice(id: String, by operator: String) async throws {
        let now = self.time.now()
        let event = AuditEvent(.deviceDeleted, at: now, actor: `operator`, detail: id)
        guard try await self.store.deleteDevice(id: id, audit: event, ending: self.endOfSessions(now)) else {
            throw AccountError(.notFound)
        }
    }

    /// Returns the notices for the devices of an account, the newest first, at most ``Limits/activityRows``.
    ///
    /// Cost: one query.
    public func notices(accountID: String) async throws -> [NoticeRecord] {
        try await self.store.notices(accountID: accountID, limit: self.limits.activityRows)
    }
}

extension AuditEvent.Kind {
    fileprivate static let accountCreated = Self(rawValue: "account-created")
    fileprivate static let accountLocked = Self(rawValue: "account-locked")
    fileprivate static let accountUnlocked = Self(rawValue: "account-unlocked")
    fileprivate static let accountDeleted = Self(rawValue: "account-deleted")
    fileprivate static let deviceDeleted = Self(rawValue: "device-deleted")
}

extension AccountRecord {
    /// The name by which the person knows the account: the user name, or else the display name or the address; empty
    /// without any. A person from another provider may have no user name.
    var shownName: String { self.username?.text ?? self.displayName ?? self.email?.address ?? "" }
}

extension NoticeRecord.Kind {
    /// The kind, in the words for phones.
    public var name: String {
        switch self {
        case .signedIn: "signed-in"
        case .deviceAdded: "device-added"
        case .authenticatorAdded: "authenticator-added"
        case .authenticatorsRemoved: "authenticators-removed"
        case .passwordChanged: "password-changed"
        case .secondFactorChanged: "second-factor-changed"
        case .identityLinked: "identity-linked"
        case .deviceKeysReplaced: "device-keys-replaced"
        case .enrolmentAsked: "enrolment-asked"
        case .requestDisowned: "request-disowned"
        case .deviceApproved: "device-approved"
        case .recoveryCodeUsed: "recovery-code-used"
        case .deviceRested: "device-rested"
        case .deviceReturned: "device-returned"
        }
    }
}
