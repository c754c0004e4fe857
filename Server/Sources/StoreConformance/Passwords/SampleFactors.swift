public import Store

/// What tests begin with: nobody was asked for a password, and nobody is told.
extension PasswordStore {
    /// Gives an account a secret for time-based codes, with recovery codes.
    public func setSecondFactor(_ totp: TOTPRecord, recoveryCodes: [[UInt8]], audit: AuditEvent) async throws -> Bool {
        try await self.setFactors(
            FactorChange(
                accountID: totp.accountID, totp: totp, recoveryCodes: recoveryCodes, shown: nil, audit: audit))
    }

    /// Gives an account recovery codes in place of those that it had.
    public func setRecoveryCodes(_ codes: [[UInt8]], accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.setFactors(
            FactorChange(accountID: accountID, totp: nil, recoveryCodes: codes, shown: nil, audit: audit))
    }
}
