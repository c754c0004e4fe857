public import Records

/// Shortcuts for tests: no password was asked for, and nobody is notified.
extension PasswordStore {
    /// Gives an account a secret for time-based codes, with recovery codes.
    public func setSecondFactor(_ totp: TOTPRecord, recoveryCodes: [[UInt8]], audit: AuditEvent) async throws -> Bool {
        try await self.setFactors(
            FactorChange(
                accountID: totp.accountID, totp: totp, recoveryCodes: recoveryCodes, shown: nil, audit: audit))
    }

    /// Replaces the recovery codes of an account.
    public func setRecoveryCodes(_ codes: [[UInt8]], accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.setFactors(
            FactorChange(accountID: accountID, totp: nil, recoveryCodes: codes, shown: nil, audit: audit))
    }
}
