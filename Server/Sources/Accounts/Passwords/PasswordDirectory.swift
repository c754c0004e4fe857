import Passwords
import Records
import Texts
public import _Primitives

/// Passwords as operators manage them. Every change is in the audit trail under the operator's name. No call shows a
/// password or a hash.
public struct PasswordDirectory: Sendable {
    /// The facts about an account's password for an operator.
    public struct Summary: Sendable, Equatable {
        /// The origin of the password.
        public enum Source: String, Sendable, CaseIterable {
            case none
            /// An operator has set the password for one sign-in.
            case oneTime = "one-time"
            /// The hash is of Argon2id, the present function. An imported hash of Argon2id is no exception.
            case own
            /// The hash is of another function, from another system. The next sign-in makes a new hash.
            case imported
        }

        public let source: Source
        /// The time when the password was set.
        public let setAt: Timestamp?
        /// `true` if the account also needs a code.
        public let hasSecondFactor: Bool
        /// The number of unused recovery codes.
        public let recoveryCodes: Int
    }

    private let accounts: PasswordAccounts

    /// Creates the management of these accounts' passwords.
    public init(_ accounts: PasswordAccounts) { self.accounts = accounts }

    /// Returns the facts about a person's password. Throws `notFound`.
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

    /// Sets a password for one sign-in, at which the person chooses another. The password works for
    /// ``Limits/PasswordAccounts/oneTimePasswordLifetime``. Every session of the person ends.
    ///
    /// Throws `notFound`; `invalidRequest` for an unacceptable password; `HashingError`.
    public func setOneTime(_ password: String, username: String, by operator: String) async throws {
        let known = try await self.account(username)
        let hash: String
        do { hash = try await self.accounts.newHash(typed: password, for: HashingTurn()) } catch let refusal
            as PasswordRefusal
        {
            // Operators read English.
            throw AccountError(
                .invalidRequest, English().words(refusal.problem(self.accounts.hashing)).plain)
        }
        let now = self.accounts.time.now()
        let record = PasswordRecord(accountID: known.account.id, hash: hash, setAt: now, isOneTime: true)
        try await self.set(record, AuditEvent(.passwordSet, at: now, accountID: record.accountID, actor: `operator`))
    }

    /// Sets a person's password by a hash from another system: Argon2id, Argon2i, bcrypt, PBKDF2, scrypt or
    /// sha512-crypt. Every session of the person ends.
    ///
    /// Throws `notFound`, and `invalidRequest` for an invalid hash, another function or an excessive cost.
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

    /// Removes a person's password. Every session of the person ends. Throws `notFound`, also without a password.
    public func remove(username: String, by operator: String) async throws {
        let id = try await self.account(username).account.id
        let event = AuditEvent(.passwordRemoved, at: self.accounts.time.now(), accountID: id, actor: `operator`)
        guard try await self.accounts.store.removePassword(accountID: id, audit: event) else {
            throw AccountError(.notFound)
        }
    }

    /// Removes a person's second factor with its recovery codes, after its loss. No session ends. Throws `notFound`,
    /// also without a second factor.
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
    /// Returns the fault of an imported hash, as a sentence for the operator.
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
