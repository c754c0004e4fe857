import UAF
import UAFClient
import _Primitives

extension ClientCore {
    /// What is kept of an account of that name, in its one spelling, at whichever server: for operations a name occurs once
    /// on a device.
    func record(named username: Username) async -> StoredAccount? {
        await self.register.records.first { $0.username.hasSameBytes(as: username) }
    }

    /// Who asks the server about an account: who the app says, else this device for itself.
    ///
    /// Throws ``OperationError``: `missingInteraction` without a name, and without a provider where the server does not know the
    /// device's keys; `unknownUsername` where this device has no such account, and nobody else asks.
    func caller(_ provider: (any AuthorizationProvider)?, named username: Username?) async throws(OperationError) -> (
        Username, RequestCaller
    ) {
        guard let username = username?.normalizedUsername else {
            throw OperationError(.missingInteraction, "no username, or nobody's")
        }
        let record = await self.record(named: username)
        guard record != nil || provider != nil else { throw OperationError(unknown: username) }
        if provider == nil {
            do { try self.checkName(of: record) } catch { throw OperationError(translating: error) }
        }
        guard let caller = self.caller(provider, for: record) else {
            throw OperationError(
                .missingInteraction, "an authorization provider is needed, or keys that the server knows")
        }
        return (username, caller)
    }

    /// The device's authenticators as the app sees them.
    func descriptors() async -> [AuthenticatorDescriptor] {
        let records = await self.register.records
        return await self.module.authenticators.map { status in
            let aaid = status.model.aaid
            let accounts = records.filter { $0.keys.contains { $0.aaid == aaid } }.map(\.account)
            return AuthenticatorDescriptor(
                aaid: aaid.text, kind: AuthenticatorDescriptor.Kind(status.model.factor),
                registration: AuthenticatorDescriptor.RegistrationInfo(registeredAccounts: accounts),
                isUserEnrolled: status.isUserEnrolled, isSupportedByHardware: status.isSupportedByHardware)
        }
    }

    /// The device's authenticators, those in `aaids` first and in their order.
    func descriptors(preferring aaids: [Aaid]) async -> [AuthenticatorDescriptor] {
        let all = await self.descriptors()
        let preferred = aaids.reduce(into: [Aaid]()) { if !$0.contains($1) { $0.append($1) } }
        return preferred.compactMap { aaid in all.first { $0.aaid == aaid } }
            + all.filter { !preferred.contains($0.aaid) }
    }
}
