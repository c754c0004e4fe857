import UAF
import UAFClient
import _Primitives

extension ClientCore {
    /// Returns the stored data of the account with the name in normalized spelling, at any server. For operations, a
    /// name occurs once on a device.
    func record(named username: Username) async -> StoredAccount? {
        await self.register.records.first { $0.username.hasSameBytes(as: username) }
    }

    /// Returns the stored data of the account with the name; of all accounts without a name.
    func records(named username: Username?) async -> [StoredAccount] {
        let records = await self.register.records
        guard let name = username?.normalizedUsername else { return username == nil ? records : [] }
        return records.filter { $0.username.hasSameBytes(as: name) }
    }

    /// Returns the caller for requests to the server about an account: the app's provider, or else the device itself.
    ///
    /// Throws ``OperationError``: `missingInteraction` without a name, and without a provider if the server does not
    /// know the device's keys; `unknownUsername` if this device has no such account and no provider is given.
    func caller(_ provider: (any AuthorizationProvider)?, named username: Username?) async throws(OperationError) -> (
        Username, RequestCaller
    ) {
        guard let username = username?.normalizedUsername else {
            throw OperationError(.missingInteraction, "no username, or nobody's")
        }
        let provider = provider.withHeaders
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

    /// Fetches a list about an account, in the name of the app's provider or else of the device itself.
    ///
    /// Throws ``OperationError``, as ``caller(_:named:)`` and for a failed exchange.
    func list<Item: Sendable>(
        of username: Username?, by provider: (any AuthorizationProvider)?,
        _ fetch: (AccountExchange, Username) async throws -> [Item]
    ) async throws(OperationError) -> [Item] {
        let (username, caller) = try await self.caller(provider, named: username)
        do {
            return try await fetch(
                AccountExchange(core: self, recording: self.newRecording(), caller: caller), username)
        } catch {
            throw OperationError(translating: error)
        }
    }

    /// Returns the device's authenticators for the app, for a registration with the `options`.
    func descriptors(with options: BiometricOptions = BiometricOptions()) async -> [AuthenticatorDescriptor] {
        let records = await self.register.records
        return await self.module.authenticators(with: options).map { status in
            let aaid = status.model.aaid
            let accounts = records.filter { $0.keys.contains { $0.aaid == aaid } }.map(\.account)
            return AuthenticatorDescriptor(
                aaid: aaid.text, kind: AuthenticatorDescriptor.Kind(status.model.factor),
                registration: AuthenticatorDescriptor.RegistrationInfo(registeredAccounts: accounts),
                isUserEnrolled: status.isUserEnrolled, isSupportedByHardware: status.isSupportedByHardware,
                allowsDevicePasscode: status.model.allowsPasscode)
        }
    }

    /// Returns the device's authenticators: first the authenticators in `aaids`, in the order of `aaids`, then the
    /// others.
    func descriptors(preferring aaids: [Aaid], with options: BiometricOptions = BiometricOptions()) async
        -> [AuthenticatorDescriptor]
    {
        let all = await self.descriptors(with: options)
        let preferred = aaids.reduce(into: [Aaid]()) { if !$0.contains($1) { $0.append($1) } }
        return preferred.compactMap { aaid in all.first { $0.aaid == aaid } }
            + all.filter { !preferred.contains($0.aaid) }
    }
}

extension StoredAccount {
    /// Returns the key of the factor that was registered last, or `nil` without such a key.
    func latestKey(of factor: AuthenticatorModel.Factor) -> KeyName? {
        self.keys.last { AuthenticatorModel(aaid: $0.aaid)?.factor == factor }
    }
}
