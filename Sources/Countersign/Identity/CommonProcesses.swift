import Ceremony
import JOSE
import _Primitives

/// The functions that all processes of identities share: codes, sessions and the security check.
///
/// All functions throw ``CountersignError`` and nothing else. Never call the blocking forms (`…Synchronous`) on the
/// main thread or in a task.
public struct CommonProcesses: Sendable {
    let life: SDKLife

    /// Reads a scanned, pasted or opened text: a code, or a link of any scheme with a code behind its `#`. The function
    /// sends nothing and detects every change to a code.
    ///
    /// Throws ``CountersignError``: `malformedData` if the text is not a code; `unknownManager`;
    /// `serverSignatureInvalid` for a code that the server has not made, or for a code signed with a key that is less
    /// than a day old and that this device does not know yet; `protocolVersionUnsupported`.
    ///
    /// The function throws the reason for missing keys if the server's keys were never fetched, if they are no longer
    /// valid, or if they lack the code's key and could not be fetched the last time: `connectionError` and the other
    /// errors of the network, or `serverSignatureInvalid` if the root key that the app names is not the server's. To
    /// avoid these errors for a genuine code, call ``refreshServerKeys()`` before this function.
    public func parseProcessInitializationData(_ text: String) throws -> ProcessInitializationData {
        let core = try self.life.core()
        return try CountersignError.running {
            let (text, isFromLink) = ProcessInitializationData.code(in: text)
            let server = try ProcessCode.uncheckedServer(of: text)
            let failure = core.servers.failures.last(of: server).map(CountersignError.translating)
            guard let keys = try core.servers.keptKeys(of: server) else {
                throw Self.missingKeys(failure)
            }
            // Keys that could not be fetched the last time may lack the new key of a genuine code.
            if let failure, let name = try ProcessCode.uncheckedKeyID(of: text), keys.signingKeys[name] == nil {
                throw Self.missingKeys(failure)
            }
            let code = try ProcessCode(parsing: text, keys: keys.signingKeys)
            // The keys belong to one server, and the code names this server.
            guard code.server.hasSameBytes(as: server) else { throw CountersignError(.serverSignatureInvalid) }
            return ProcessInitializationData(code, isFromLink: isFromLink)
        }
    }

    /// Returns the error of a code whose key is missing, for the last failure to fetch the server's keys.
    private static func missingKeys(_ failure: CountersignError?) -> CountersignError {
        guard let failure else { return CountersignError(.connectionError, "the server's keys were never fetched") }
        // A fetch that failed because the answer was malformed does not mean that the code is wrong.
        return failure.errorCode == .malformedData ? CountersignError(.connectionError, failure.reason) : failure
    }

    /// Tries to fetch the keys of the servers whose keys are older than ten minutes, so that codes are checked with the
    /// server's current keys.
    ///
    /// The SDK itself fetches the keys once a day, at initialisation and before sending anything, and when an answer is
    /// signed with an unknown key.
    ///
    /// Throws ``CountersignError``: the errors of the network, for the first server that does not answer and whose
    /// older keys are not valid any more. While older keys are valid, a server without an answer is no error, because
    /// the older keys verify most codes; ``parseProcessInitializationData(_:)`` reports the failure for a code with a
    /// newer key. The function asks every other server all the same.
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

    /// Does the same as ``refreshServerKeys()``, but blocks.
    public func refreshServerKeysSynchronous() throws { try Blocking.wait { try await self.refreshServerKeys() } }

    /// Gives up a process. The page that waits for the process learns this at once. The holder forgets the person's
    /// input even if the server does not answer or refuses.
    ///
    /// Throws ``CountersignError``: `sessionExpired` and related errors if the process has already ended.
    public func abort(_ holder: any IdentitySessionHolder) async throws {
        try await self.life.running { core in
            // The input of a person who gives up is no longer needed, whatever the result of the request is.
            defer { Self.close(holder) }
            try await IdentitySessions(core: core).abort(holder.identitySession.claimed)
        }
    }

    /// Closes the holder of a process that is given up: nothing is signed, nothing is sent again, and the typed PINs
    /// are deleted.
    private static func close(_ holder: any IdentitySessionHolder) {
        (holder as? AuthenticateRequest)?.unanswered.forget()
        (holder as? ServiceLoginResult)?.unanswered.forget()
        (holder as? AuthenticationUserInformation)?.move(to: nil)
        (holder as? ApiAccess)?.forget()
    }

    /// Does the same as ``abort(_:)``, but blocks.
    public func abortSynchronous(_ holder: any IdentitySessionHolder) throws {
        try Blocking.wait { try await self.abort(holder) }
    }

    /// Gives the person more time, at most until ``IdentitySession/lastRequestBefore``. The session of the holder then
    /// has the new deadlines.
    ///
    /// Throws ``CountersignError``: `sessionExpired`; `grantExpired` if the permitted operation (``ApiAccess``) was not
    /// done in time; `sessionConsumed`, `sessionAborted` and `sessionSuperseded` if the process has ended;
    /// `wrongProcess` for a ``ServiceLoginResult``, whose code is fetched at once and cannot be prolonged (the process
    /// continues unchanged); ``CountersignLockoutError`` if another process has locked out the activation.
    @discardableResult public func prolongSession(holder: any IdentitySessionHolder) async throws -> IdentitySession {
        try await self.life.running { core in
            let session = holder.identitySession
            session.prolong(to: try await IdentitySessions(core: core).prolong(session.claimed))
            return session
        }
    }

    /// Does the same as ``prolongSession(holder:)``, but blocks.
    @discardableResult public func prolongSessionSynchronous(holder: any IdentitySessionHolder) throws
        -> IdentitySession
    {
        try Blocking.wait { try await self.prolongSession(holder: holder) }
    }

    /// Inspects the device with the app's ``SecurityInspection``. The findings that a server receives come from a
    /// separate inspection.
    ///
    /// Throws ``CountersignError``: `invalidConfiguration` if the app has no inspection, `unexpected` if the inspection
    /// fails.
    public func executeSecurityCheck() async throws -> SecurityCheckResult {
        try await self.life.running { core in
            guard let result = try await core.securityCheck() else {
                throw CountersignError(.invalidConfiguration, "no security inspection")
            }
            return result
        }
    }

    /// Does the same as ``executeSecurityCheck()``, but blocks.
    public func executeSecurityCheckSynchronous() throws -> SecurityCheckResult {
        try Blocking.wait { try await self.executeSecurityCheck() }
    }
}
