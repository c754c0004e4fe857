import UAF
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The device's part of a deregistration that a service has started. The server has deleted its keys in the step of
/// redeeming the token, and this type deletes the keys on the device.
///
/// A crash between the two steps breaks nothing. The token is stored before it is sent, and stays until the server's
/// answer is carried out. The server gives the same answer each time it sees the token. A phone that lost the answer,
/// or was switched off before carrying it out, therefore deletes its keys when the operation is executed again or the
/// app starts again. The device never deletes a key before the server has said that its own record of the key is gone.
struct DispatchedDeregistration: Sendable {
    /// The maximum time that an app's start waits for servers with pending answers.
    private static let patienceAtStart = Duration.seconds(5)

    let core: ClientCore
    let recording: Recording

    /// Redeems the token of a payload at the address of deregistrations. Throws the errors of
    /// ``ServerExchange/redeem(_:at:forDeviceKey:timeout:)``.
    func redeem(_ payload: OutOfBandPayload) async throws -> ReceivedRequest {
        try await self.redeem(
            PendingDeregistration(
                token: payload.redeemData.token, redeemURL: payload.redeemData.redeemURL,
                baseURL: self.core.configuration.baseURL, deviceKey: payload.deviceKey))
    }

    private func redeem(_ noted: PendingDeregistration, timeout: Duration? = nil) async throws -> ReceivedRequest {
        let exchange = ServerExchange(core: self.core, recording: self.recording)
        try exchange.checkRedeemAddress(noted.redeemURL)
        try await self.core.register.note(noted)
        do {
            return try await exchange.redeem(
                noted.token, at: noted.redeemURL, forDeviceKey: noted.deviceKey, timeout: timeout)
        } catch let error as EngineError
            where [.tokenUnknown, .tokenExpired, .tokenSpent, .tokenOfOtherDevice].contains(error.cause)
        {
            // No answer can arrive: the token deleted nothing, its answer is too old, or the token is for another device.
            try await self.core.register.settle(noted)
            throw error
        }
    }

    /// Deletes the keys that the message names. Keys of another server are never deleted, nor keys that could belong to
    /// another person if the message names no keys.
    ///
    /// Returns the accounts that lost a key, in their former state, and the service that requested the deregistration.
    func carryOut(_ request: ReceivedRequest, token: String) async throws -> (
        accounts: [StoredAccount], requester: Requester?
    ) {
        var gone: [(record: StoredAccount, keys: [KeyName])] = []
        // Without a message, the server had nothing to delete.
        if let message = request.message.uafRequest {
            gone = try await self.keys(
                named: try await self.core.messages(self.recording).prepareDeregistration(Array(message.utf8)))
        }
        let requester = await self.core.requester(of: request.message, for: gone.map(\.record))
        try await self.core.forget(gone, endingDeregistrationBy: token)
        return (gone.map(\.record), requester)
    }

    private func keys(named prepared: PreparedDeregistration) async throws -> [(record: StoredAccount, keys: [KeyName])]
    {
        let own = await self.core.register.records.filter { record in
            record.key.server == self.core.configuration.baseURL && record.appID.hasSameBytes(as: prepared.appID)
        }
        let found = own.map { record in
            (record: record, keys: record.keys.filter(prepared.isAbout))
        }.filter { !$0.keys.isEmpty }
        // A message without keys is about one account. The device does not guess among several accounts, because the
        // server may never have heard of the others.
        guard found.count <= 1 || prepared.request.authenticators.allSatisfy({ $0.keyID != nil }) else {
            throw EngineError(.malformed, "a deregistration that does not say whose keys")
        }
        return found
    }

    /// Carries out the deregistrations that began before the app ended, for at most five seconds in total. The limit
    /// holds for any number of tokens and requests, and even if the transport ignores time limits and cancellation.
    /// Deregistrations that have failed by then are tried again at the next start.
    static func resume(_ core: ClientCore) async {
        let pending = await core.register.deregistrations.filter { $0.baseURL == core.configuration.baseURL }
        guard !pending.isEmpty else { return }
        let end = Answer<Void>()
        let work = Task {
            // All deregistrations run at once, so that none waits for another server.
            await withTaskGroup(of: Void.self) { group in
                for noted in pending { group.addTask { await Self.resume(noted, core) } }
            }
            end.give(.success(()))
        }
        let limit = Task {
            try await core.platform.clock.sleep(for: Self.patienceAtStart)
            end.give(.success(()))
        }
        try? await end.value
        work.cancel()
        limit.cancel()
    }

    private static func resume(_ noted: PendingDeregistration, _ core: ClientCore) async {
        let deregistration = Self(core: core, recording: core.newRecording())
        guard
            let answer = try? await deregistration.redeem(noted, timeout: Self.patienceAtStart),
            answer.message.operation == .deregistration
        else { return }
        _ = try? await deregistration.carryOut(answer, token: noted.token)
    }
}
