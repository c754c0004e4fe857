import UAF
import UAFClient
import _Primitives

extension ClientCore {
    /// What is kept of an account of that name, in its one spelling, at whichever server: for operations a name occurs once
    /// on a device.
    func record(named username: Username) async -> StoredAccount? {
        await self.register.records.first { $0.username.hasSameBytes(as: username) }
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
