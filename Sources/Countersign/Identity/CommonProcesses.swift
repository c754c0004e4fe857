import Ceremony
import _Primitives

/// What all processes of identities have in common. It throws ``CountersignError``, and nothing else; the forms that block
/// (`…Synchronous`) are never called on the main thread, or in a task.
public struct CommonProcesses: Sendable {
    let life: SDKLife

    /// Reads what was scanned, pasted or opened: a code, or a link of any scheme with a code behind its `#`. Nothing is sent:
    /// whoever changes a letter of a code is found out here.
    ///
    /// Throws ``CountersignError``: `malformedData` for what is no code; `unknownManager`; `serverSignatureInvalid` for a code
    /// that the server has not made, or by a key that it has had for less than a day and this device does not know yet;
    /// `protocolVersionUnsupported`. Where the server's keys were never fetched, why they could not be: `connectionError` and
    /// the other errors of the network; `serverSignatureInvalid` where the root key that the app names is not the server's.
    /// Before it, ``refreshServerKeys()`` is the remedy for what is one.
    public func parseProcessInitializationData(_ text: String) throws -> ProcessInitializationData {
        let core = try self.life.core()
        return try CountersignError.running {
            let (text, isFromLink) = ProcessInitializationData.code(in: text)
            let server = try ProcessCode.uncheckedServer(of: text)
            guard let keys = try core.servers.keptKeys(of: server) else {
                let failure = core.servers.failures.last(of: server).map(CountersignError.translating)
                // That an answer was none of the server's is nothing that is wrong with the code.
                guard let failure, failure.errorCode != .malformedData else {
                    throw CountersignError(
                        .connectionError, failure?.reason ?? "the server's keys were never fetched")
                }
                throw failure
            }
            let code = try ProcessCode(parsing: text, keys: keys.signingKeys)
            // The keys are those of one server, and the code says that it is of this one.
            guard code.server.hasSameBytes(as: server) else { throw CountersignError(.serverSignatureInvalid) }
            return ProcessInitializationData(code, isFromLink: isFromLink)
        }
    }

    /// Fetches the keys of the servers whose keys are older than ten minutes, so that a code is judged by those that the server
    /// has now. By itself the SDK does so once a day, when it is initialised and before it sends anything, and where an answer is
    /// signed by a key that it does not know.
    ///
    /// Throws ``CountersignError``: the errors of the network, for the first server that fails. Every other one was asked all
    /// the same.
    public func refreshServerKeys() async throws {
        try await self.life.running { core in
            var failure: (any Error)?
            for server in core.configuration.servers {
                do {
                    _ = try await core.exchange(with: server.idmIdentifier)
                        .keys(noOlderThan: ManagerExchange.keyAnnouncement)
                } catch {
                    failure = failure ?? error
                }
            }
            if let failure { throw failure }
        }
    }

    /// As ``refreshServerKeys()``. It blocks.
    public func refreshServerKeysSynchronous() throws { try Blocking.wait { try await self.refreshServerKeys() } }

    /// Gives a process up. The page that waits for it hears of it at once, and what the person has typed into the holder is
    /// forgotten, also where the server does not answer or refuses.
    ///
    /// Throws ``CountersignError``: `sessionExpired` and its neighbours where it has ended already.
    public func abort(_ holder: any IdentitySessionHolder) async throws {
        try await self.life.running { core in
            // Who gives up has no more use for what they have typed, whatever comes of the request.
            defer { Self.close(holder) }
            try await IdentitySessions(core: core).abort(holder.identitySession.claimed)
        }
    }

    /// Nothing is signed in a process that is given up, nothing is sent again, and the PINs that were typed are of no use.
    private static func close(_ holder: any IdentitySessionHolder) {
        (holder as? AuthenticateRequest)?.unanswered.forget()
        (holder as? ServiceLoginResult)?.unanswered.forget()
        (holder as? AuthenticationUserInformation)?.move(to: nil)
        (holder as? ApiAccess)?.forget()
    }

    /// As ``abort(_:)``. It blocks.
    public func abortSynchronous(_ holder: any IdentitySessionHolder) throws {
        try Blocking.wait { try await self.abort(holder) }
    }

    /// Gives the person more time, until ``IdentitySession/lastRequestBefore`` at the most. The session of the holder has the
    /// new deadlines.
    ///
    /// Throws ``CountersignError``: `sessionExpired`; `grantExpired` where what was permitted (``ApiAccess``) was not done in
    /// time; `sessionConsumed`, `sessionAborted` and `sessionSuperseded` for a process that is over; `wrongProcess` for a
    /// ``ServiceLoginResult``, whose code is fetched at once and has no more time: the process goes on as it is;
    /// ``CountersignLockoutError`` where the activation rests because of another process.
    @discardableResult public func prolongSession(holder: any IdentitySessionHolder) async throws -> IdentitySession {
        try await self.life.running { core in
            let session = holder.identitySession
            session.prolong(to: try await IdentitySessions(core: core).prolong(session.claimed))
            return session
        }
    }

    /// As ``prolongSession(holder:)``. It blocks.
    @discardableResult public func prolongSessionSynchronous(holder: any IdentitySessionHolder) throws
        -> IdentitySession
    {
        try Blocking.wait { try await self.prolongSession(holder: holder) }
    }

    /// Looks at the device, by the app's ``SecurityInspection``. What a server is told of it is a look of its own.
    ///
    /// Throws ``CountersignError`` `invalidConfiguration` where the app has none.
    public func executeSecurityCheck() async throws -> SecurityCheckResult {
        try await self.life.running { core in
            guard let result = try await core.securityCheck() else {
                throw CountersignError(.invalidConfiguration, "no security inspection")
            }
            return result
        }
    }

    /// As ``executeSecurityCheck()``. It blocks.
    public func executeSecurityCheckSynchronous() throws -> SecurityCheckResult {
        try Blocking.wait { try await self.executeSecurityCheck() }
    }
}
