import Ceremony
import UAF
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An account that may answer an authentication, with its ways to answer.
struct AuthenticationCandidate: Sendable {
    let record: StoredAccount
    /// The ways to answer, by the authenticator that the person chooses. The server's preference comes first.
    let ways: [(aaid: Aaid, keys: [KeyName])]
    /// The authenticators that could answer if the app asked the person for them.
    let unasked: Set<Aaid>
}

/// A person's denial on a screen, on its way out of the operation.
struct Denied: Error {
    let statement: DenialStatement
    /// The account whose device signs the denial; `nil` before the operation has an account.
    var account: StoredAccount?
}

/// One authentication from the server's request to its judgement, without the questions to the person. Each face asks
/// the person in its own way, and passes the answers in.
struct AuthenticationExchange: Sendable {
    /// The result of an accepted authentication.
    struct Accepted: Sendable {
        /// The server's token to act for the person: a secret.
        let token: String?
        /// The address that completes the sign-in of a browser on this device. Its code is a secret.
        let location: URL?
        /// The tokens that renew the session to which the authentication was bound: secrets.
        let tokens: [Token]
    }

    let core: ClientCore
    let recording: Recording
    let request: ReceivedRequest
    /// The session to which the authentication is bound; `nil` for an authentication without a session.
    var session: (any SessionProvider)?

    private var server: ServerExchange { ServerExchange(core: self.core, recording: self.recording) }

    /// Reads the request. Throws ``OperationFailure`` and the errors of fetching the facet list.
    func prepare() async throws -> PreparedAuthentication {
        try await self.core.messages(self.recording).prepareAuthentication(
            Array((self.request.message.uafRequest ?? "").utf8), channel: self.request.channel)
    }

    /// Checks the names under which the app enrolled the accounts of this server with `isMeant`. Throws ``EngineError``
    /// `appRenamed` if such accounts exist and all of them were enrolled under another name.
    ///
    /// Call this function first, because the server's list may lack the app's present name.
    func checkName(where isMeant: (StoredAccount) -> Bool) async throws {
        let records = await self.records(where: isMeant)
        guard records.allSatisfy({ self.core.module.formerName(of: $0.keys) != nil }) else { return }
        try self.core.checkName(of: records.first)
    }

    private func records(where isMeant: (StoredAccount) -> Bool) async -> [StoredAccount] {
        await self.core.register.records.filter { $0.key.server == self.core.configuration.baseURL && isMeant($0) }
    }

    /// Returns the accounts of this server and of the request's AppID with `isMeant`, with their ways to answer by the
    /// authenticators of this device with `canVerify`. Accounts without a way to answer are included.
    func candidates(
        _ prepared: PreparedAuthentication, where isMeant: (StoredAccount) -> Bool,
        canVerify: (AuthenticatorModel.Factor) -> Bool
    ) async -> [AuthenticationCandidate] {
        let supported = await self.core.module.authenticators.filter(\.isSupportedByHardware).map(\.model)
        let usable = supported.filter { canVerify($0.factor) }
        return await self.records(where: isMeant).filter { $0.appID.hasSameBytes(as: prepared.appID) }.map { record in
            // Keys of another name of the app must not be chosen.
            let keys = record.keys.filter { self.core.module.formerNames[$0] == nil }
            let ways = Self.ways(keys, prepared, usable)
            let possible = Set(Self.ways(keys, prepared, supported).map(\.aaid))
            return AuthenticationCandidate(record: record, ways: ways, unasked: possible.subtracting(ways.map(\.aaid)))
        }
    }

    /// Returns the ways in which an account can answer with the keys and models, by the authenticator that the person
    /// chooses.
    private static func ways(
        _ keys: [KeyName], _ prepared: PreparedAuthentication, _ models: [AuthenticatorModel]
    ) -> [(aaid: Aaid, keys: [KeyName])] {
        let aaids = models.map(\.aaid)
        return prepared.selections(among: keys.filter { aaids.contains($0.aaid) }).compactMap { keys in
            keys.first { AuthenticatorModel(aaid: $0.aaid)?.info.isSilent == false }
                .map { (aaid: $0.aaid.text, keys: keys) }
        }
    }

    /// Verifies the person, signs with the keys and sends the answer, after everything was shown. If the server does
    /// not know this device's identity keys, the answer announces them. `number` is the number that the person has typed.
    ///
    /// Throws ``OperationFailure``, ``UserVerificationError``, `CancellationError` and ``StorageError`` before the
    /// answer was sent; ``Unanswered`` afterwards.
    func sign(
        _ prepared: PreparedAuthentication, _ keys: [KeyName], of record: StoredAccount, number: String? = nil,
        _ verification: any UserInteraction, _: Disclosure.Complete
    ) async throws -> ServerResponse {
        // The keys stay in exclusive use until the server has judged: a later signature of the same key must not
        // overtake this signature.
        try await self.core.module.withExclusiveUse(of: keys) {
            let answer = try await prepared.authenticate(
                keys, announcing: await self.core.identities.untoldIdentity(of: record.key), number: number,
                verification: verification)
            self.recording.note(.personVerified)
            // This is the last moment to give up: nothing was sent yet.
            try Task.checkCancellation()
            return try await self.server.sendToTheEnd(
                answer.message, as: .authenticationSent, context: [:],
                path: self.core.configuration.authenticationResponsePath, retries: self.core.newAnswerRetries(),
                by: self.session.map { .provider($0.authorizationProvider) } ?? .anybody,
                askingAgainBy: await self.asker(record))
        }
    }

    /// Returns the caller that asks for a lost judgement: this device by its own proof, so the server gives a token or a
    /// continuation again. `nil` if the server does not know the device's keys, and for an authentication that is bound to
    /// a session: the session's former secret may be worth nothing by then.
    private func asker(_ record: StoredAccount) async -> RequestCaller? {
        guard self.session == nil else { return nil }
        return self.core.caller(nil, for: await self.core.register.record(of: record.key))
    }

    /// Carries out the server's judgement of an answer with the keys. Throws ``Unanswered`` unless the server has
    /// accepted the answer; keys that the server does not know are forgotten first.
    func conclude(_ response: ServerResponse, _ keys: [KeyName], _ record: StoredAccount) async throws -> Accepted {
        switch response.statusCode {
        case .ok:
            // The operation is done, whatever the storage reports now: an error could cause a second payment. Data that
            // cannot be stored now is stored after the next answer of these keys, and the person is asked about the
            // browser once more.
            for key in keys { try? await self.core.module.notify(key, .ok) }
            try? await self.core.settle(keys, of: record.key, record.appID)
            await self.core.identities.note(
                response, tellingOf: await self.core.register.record(of: record.key)?.identity, of: record.key)
            if let browser = self.request.message.requester?.browserID {
                try? await self.core.register.approve(browser: browser, by: record.key)
            }
            await DispatchTargetExchange.createOwedTarget(of: record.key, self.core, self.recording)
            return Accepted(
                token: response.additionalTokens.first { $0.kind == .jwt }?.value,
                location: self.server.continuation(response.location), tokens: response.additionalTokens)
        case .unknownKeyID:
            // If the storage fails, the next answer with these keys ends here again.
            try? await self.core.forget(Self.unknown(among: keys, in: response), of: record)
        default: break
        }
        guard !response.isNumberWrong else {
            throw Unanswered(
                cause: EngineError(.wrongNumber, status: response.statusCode, "another number was shown"),
                isJudgementLost: false)
        }
        throw Unanswered(cause: EngineError(refusedWith: response.statusCode), isJudgementLost: false)
    }

    /// Returns the keys of an answer that the server does not know: the keys that its deregistration message names, or
    /// all keys if the server sent no such message.
    private static func unknown(among keys: [KeyName], in response: ServerResponse) -> [KeyName] {
        guard let message = response.newUAFRequest,
            let request = try? RequestMessage(parsing: message.utf8).request(among: [.uaf11]),
            case .deregistration(let deregistration) = request
        else { return keys }
        let named = keys.filter { key in
            deregistration.authenticators.contains { $0.aaid == key.aaid && $0.keyID == key.keyID }
        }
        return named.isEmpty ? keys : named
    }

    /// Sends the person's denial of the request, signed by this device for an account of the person.
    ///
    /// Throws ``EngineError``: `notAuthorized` if the server does not know the device's keys or the keys do not sign
    /// (the request is given up then), `refused` if the server does not accept the denial for another reason, and
    /// `malformed` for a request that is no authentication. Also throws the errors of the transport.
    func deny(_ statement: DenialStatement, by record: StoredAccount?, timeout: Duration? = nil) async throws {
        guard let authentication = self.request.authentication else {
            throw EngineError(.malformed, "the request is no authentication")
        }
        guard let signed = await self.signed(statement, authentication.challenge.text, by: record) else {
            await self.report(.userCancelled, nil)
            throw EngineError(.notAuthorized, "the server does not know the device's keys")
        }
        let response = try await self.server.deny(authentication, signed, timeout: timeout)
        guard response.statusCode == .ok else {
            guard response.statusCode == .unauthorized else { throw EngineError(refusedWith: response.statusCode) }
            // The next authentication announces the keys again.
            if let record, let keys = record.identity {
                try? await self.core.register.note(isKnown: false, keys, of: record.key)
            }
            throw EngineError(.notAuthorized, "the server does not take the signature of this device")
        }
    }

    /// Sends the person's denial as ``deny(_:by:timeout:)``, within the time for a report. Ignores failures: the
    /// operation ends in the same way.
    func report(_ denied: Denied) async {
        let limit = min(self.server.timeout, ServerExchange.patienceForReports)
        try? await self.deny(denied.statement, by: denied.account, timeout: limit)
    }

    /// Returns the account that denies the request: an account of this server whose keys the request names, or any
    /// account if the request names no keys. An account whose device the server knows comes first. `nil` if this device
    /// has no such account.
    func denier(where isMeant: (StoredAccount) -> Bool) async -> StoredAccount? {
        let named = self.request.authentication.map(\.policy.accepted.namedKeys) ?? []
        let records = await self.records(where: isMeant).filter { record in
            named.isEmpty || record.keys.contains { named.contains($0.keyID) }
        }
        return records.first(where: \.isIdentityKnown) ?? records.first
    }

    private func signed(_ statement: DenialStatement, _ challenge: String, by record: StoredAccount?) async -> String? {
        guard let record, record.isIdentityKnown,
            let identity = try? await self.core.identities.identity(of: record.key)
        else { return nil }
        return try? await identity.denial(statement, of: challenge)
    }

    /// Tells the server that no answer will come, with the reason. Sends nothing if the request cannot be read.
    func report(_ code: ErrorCode, _ asmStatus: ASMStatusCode?) async {
        guard let header = self.request.header(of: .authentication) else { return }
        await self.server.reportFailure(
            AuthenticationResponse(header: header, fcParams: "", assertions: []).serialized, code: code,
            asmStatus: asmStatus, path: self.core.configuration.authenticationResponsePath)
    }
}

extension [[MatchCriteria]] {
    /// The keys that the alternatives of a policy name.
    fileprivate var namedKeys: Set<KeyID> { Set(self.joined().flatMap { $0.keyIDs ?? [] }) }
}
