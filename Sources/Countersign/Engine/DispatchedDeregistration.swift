import UAF
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A deregistration that a service has started, on this device: the server has deleted its keys in the step that
/// redeemed the token, and this deletes them here.
///
/// A crash between the two breaks nothing. The token is written down before it leaves, and stays until what the server
/// answered is carried out; the server gives the same answer whenever the token is shown again. So a phone that lost the
/// answer, or was switched off with the answer in its hands, deletes its keys when the operation is executed again or the
/// app starts again. A key is never deleted here before the server has said that it is gone there.
struct DispatchedDeregistration: Sendable {
    /// How long the start of an app waits at the most for servers that it has answers to fetch from.
    private static let patienceAtStart = Duration.seconds(5)

    let core: ClientCore
    let recording: Recording

    /// Redeems a token at the address of deregistrations. Throws as ``ServerExchange/redeem(_:at:timeout:)`` does.
    func redeem(_ token: String, at url: URL, timeout: Duration? = nil) async throws -> ReceivedRequest {
        let exchange = ServerExchange(core: self.core, recording: self.recording)
        try exchange.checkRedeemAddress(url)
        let noted = PendingDeregistration(
            token: token, redeemURL: url, baseURL: self.core.configuration.baseURL)
        try await self.core.register.note(noted)
        do {
            return try await exchange.redeem(token, at: url, timeout: timeout)
        } catch let error as EngineError where [.tokenUnknown, .tokenExpired, .tokenSpent].contains(error.cause) {
            // There is no answer to be had: nothing was deleted by it, or too long ago to be told.
            try await self.core.register.settle(noted)
            throw error
        }
    }

    /// Deletes what the message names, and nothing that is another server's or, where it does not name keys, could be
    /// another person's. Returns the accounts that lost a key, as they were, and who had it done.
    func carryOut(_ request: ReceivedRequest, token: String) async throws -> (
        accounts: [StoredAccount], requester: Requester?
    ) {
        var gone: [(record: StoredAccount, keys: [KeyName])] = []
        // Without a message there was nothing to delete.
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
        // A message that names no key is about one account. Which of several it is, is not guessed: the server may never
        // have heard of the others.
        guard found.count <= 1 || prepared.request.authenticators.allSatisfy({ $0.keyID != nil }) else {
            throw EngineError(.malformed, "a deregistration that does not say whose keys")
        }
        return found
    }

    /// Carries out what was begun before the app ended, for five seconds at the most: however many tokens there are,
    /// however many requests each needs, and whatever the transport makes of a time limit or of being cancelled. What has
    /// failed by then is tried again at the next start.
    static func resume(_ core: ClientCore) async {
        let pending = await core.register.deregistrations.filter { $0.baseURL == core.configuration.baseURL }
        guard !pending.isEmpty else { return }
        let end = Answer<Void>()
        let work = Task {
            // All at once, so that none waits for another's server.
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
            let answer = try? await deregistration.redeem(
                noted.token, at: noted.redeemURL, timeout: Self.patienceAtStart),
            answer.message.operation == .deregistration
        else { return }
        _ = try? await deregistration.carryOut(answer, token: noted.token)
    }
}
