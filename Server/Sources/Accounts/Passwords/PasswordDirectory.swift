import Passwords
import Store
public import _Primitives

/// Passwords as operators manage them. Every change is in the audit trail under the operator's name, and none shows a
/// password or a hash.
public struct PasswordDirectory: Sendable {
    /// What an operator may know of an account's password.
    public struct Summary: Sendable, Equatable {
        /// Where the password comes from.
        public enum Source: String, Sendable, CaseIterable {
            case none
            /// An operator has set it for one sign-in.
            case oneTime = "one-time"
            /// It is hashed by the present function.
            case own
            /// It is as another system has hashed it: the next sign-in hashes it anew.
            case imported
        }

        public let source: Source
        /// When it was set.
        public let setAt: Timestamp?
        /// Whether a code is asked for beside it.
        public let hasSecondFactor: Bool
        /// How many recovery codes are left.
        public let recoveryCodes: Int
    }

    private let accounts: PasswordAccounts

    /// Manages these accounts' passwords.
    public init(_ accounts: PasswordAccounts) { self.accounts = accounts }

    /// What there is of a person's. Throws `notFound`.
    public func summary(username: String) async throws -> Summary {
        let known = try await self.account(username)
        return Summary(
            source: known.password.map(self.source) ?? .none, setAt: known.password?.setAt,
            hasSecondFactor: known.totp != nil,
            recoveryCodes: known.recoveryCodes)
    }

    private func source(of password: PasswordRecord) -> Summary.Source {
        guard !password.isOneTime else { return .oneTime }
        let hash = try? PasswordHash(parsing: password.hash, limits: self.accounts.hashing)
        guard case .argon2id? = hash?.scheme else { return .imported }
        return .own
    }

    /// Gives a person a password for one sign-in, at which they choose another one. Every session of theirs ends.
    ///
    /// Throws `notFound`; `invalidRequest` for a password that nobody may choose; `HashingError`.
    public func setOneTime(_ password: String, username: String, by operator: String) async throws {
        let known = try await self.account(username)
        let hash: String
        do { hash = try await self.accounts.newHash(typed: password, for: HashingTurn()) } catch let refusal
            as PasswordRefusal
        {
            throw AccountError(.invalidRequest, refusal.words(self.accounts.hashing))
        }
        let now = self.accounts.time.now()
        let record = PasswordRecord(accountID: known.account.id, hash: hash, setAt: now, isOneTime: true)
        try await self.set(record, AuditEvent(.passwordSet, at: now, accountID: record.accountID, actor: `operator`))
    }

    /// Gives a person the password that another system has hashed: Argon2id, Argon2i or bcrypt. Every session of theirs
    /// ends.
    ///
    /// Throws `notFound`, and `invalidRequest` for a hash that is none, is of another function, or costs too much.
    public func importHash(_ text: String, username: String, by operator: String) async throws {
        let known = try await self.account(username)
        do { _ = try PasswordHash(parsing: text, limits: self.accounts.hashing) } catch {
            throw AccountError(.invalidRequest, error.words(self.accounts.hashing))
        }
        let now = self.accounts.time.now()
        let record = PasswordRecord(accountID: known.account.id, hash: text, setAt: now)
        try await self.set(
            record, AuditEvent(.passwordImported, at: now, accountID: record.accountID, actor: `operator`))
    }

    private func set(_ record: PasswordRecord, _ audit: AuditEvent) async throws {
        let change = PasswordChange(to: record, endsSessions: true, audit: audit)
        guard try await self.accounts.store.setPassword(change) else { throw AccountError(.notFound) }
    }

    /// Takes a person's password away. Every session of theirs ends. Throws `notFound`, also where there is none.
    public func remove(username: String, by operator: String) async throws {
        let id = try await self.account(username).account.id
        let event = AuditEvent(.passwordRemoved, at: self.accounts.time.now(), accountID: id, actor: `operator`)
        guard try await self.accounts.store.removePassword(accountID: id, audit: event) else {
            throw AccountError(.notFound)
        }
    }

    /// Takes away what a person is asked for beside the password: they have lost it. Throws `notFound`, also where there
    /// is nothing.
    public func removeSecondFactor(username: String, by operator: String) async throws {
        let id = try await self.account(username).account.id
        let event = AuditEvent(.secondFactorRemoved, at: self.accounts.time.now(), accountID: id, actor: `operator`)
        guard try await self.accounts.store.removeSecondFactor(accountID: id, audit: event) else {
            throw AccountError(.notFound)
        }
    }

    private func account(_ username: String) async throws -> PasswordAccount {
        guard let name = AccountName(username, limits: self.accounts.limits),
            let known = try await self.accounts.store.passwordAccount(username: name)
        else { throw AccountError(.notFound) }
        return known
    }
}

extension PasswordHashError {
    /// What is wrong with a hash that an operator imports.
    fileprivate func words(_ limits: PasswordLimits) -> String {
        switch self.code {
        case .unknownScheme:
            "Hashes of Argon2id, Argon2i, bcrypt ($2a$, $2b$, $2y$), PBKDF2, scrypt and sha512-crypt ($6$) are taken."
        case .tooCostly:
            "The hash costs too much: at most \(limits.storedMemoryKiB) KiB, \(limits.storedWorkKiB) KiB "
                + "times passes, a cost of \(limits.storedBcryptCost) for bcrypt, \(limits.storedPBKDF2Iterations) "
                + "iterations for PBKDF2 (half as many for SHA-512) and \(limits.storedSHA512CryptRounds) rounds for "
                + "sha512-crypt."
        default:
            "This is no hash of a password: it begins with $argon2id$, $argon2i$, $2a$, $2b$, $2y$, $pbkdf2-sha256$, "
                + "$pbkdf2-sha512$, $pbkdf2$, pbkdf2_sha256$, $scrypt$ or $6$."
        }
    }
}
