import Ceremony
import UAF
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An account that an authentication may be of, and its ways to answer.
struct AuthenticationCandidate: Sendable {
    let record: StoredAccount
    /// By the authenticator that the person chooses; the server's preference first.
    let ways: [(aaid: Aaid, keys: [KeyName])]
    /// The authenticators that could answer if somebody asked the person for them.
    let unasked: Set<Aaid>
}

/// One authentication from the server's request to its judgement, but for what is asked of the person: a face asks, each
/// in its own way, and hands in what was answered.
struct AuthenticationExchange: Sendable {
    /// What came of it.
    struct Accepted: Sendable {
        /// The token that the server gave to act for the person: a secret.
        let token: String?
        /// The address that ends the sign-in of a browser on this device: its code is a secret.
        let location: URL?
    }

    let core: ClientCore
    let recording: Recording
    let request: ReceivedRequest

    private var server: ServerExchange { ServerExchange(core: self.core, recording: self.recording) }

    /// Reads the request. Throws ``OperationFailure`` and what the fetch of the facet list throws.
    func prepare() async throws -> PreparedAuthentication {
        try await self.core.messages(self.recording).prepareAuthentication(
            Array((self.request.message.uafRequest ?? "").utf8), channel: self.request.channel)
    }

    /// Throws ``EngineError`` `appRenamed` where accounts of this server that `isMeant` are there, and all were enrolled by the
    /// app under another name: to be asked first, as the server's list may not have this one.
    func checkName(where isMeant: (StoredAccount) -> Bool) async throws {
        let records = await self.records(where: isMeant)
        guard records.allSatisfy({ self.core.module.formerName(of: $0.keys) != nil }) else { return }
        try self.core.checkName(of: records.first)
    }

    private func records(where isMeant: (StoredAccount) -> Bool) async -> [StoredAccount] {
        await self.core.register.records.filter { $0.key.server == self.core.configuration.baseURL && isMeant($0) }
    }

    /// The accounts of this server that `isMeant`, also those that have no way to answer, by the authenticators of this
    /// device that `canVerify`.
    func candidates(
        _ prepared: PreparedAuthentication, where isMeant: (StoredAccount) -> Bool,
        canVerify: (AuthenticatorModel.Factor) -> Bool
    ) async -> [AuthenticationCandidate] {
        let supported = await self.core.module.authenticators.filter(\.isSupportedByHardware).map(\.model)
        let usable = supported.filter { canVerify($0.factor) }
        return await self.records(where: isMeant).filter { $0.appID.hasSameBytes(as: prepared.appID) }.map { record in
            // Keys of another name of the app are not the ones to choose.
            let keys = record.keys.filter { self.core.module.formerNames[$0] == nil }
            let ways = Self.ways(keys, prepared, usable)
            let possible = Set(Self.ways(keys, prepared, supported).map(\.aaid))
            return AuthenticationCandidate(record: record, ways: ways, unasked: possible.subtracting(ways.map(\.aaid)))
        }
    }

    /// How an account can answer with those keys and models, by the authenticator that the person chooses.
    private static func ways(
        _ keys: [KeyName], _ prepared: PreparedAuthentication, _ models: [AuthenticatorModel]
    ) -> [(aaid: Aaid, keys: [KeyName])] {
        let aaids = models.map(\.aaid)
        return prepared.selections(among: keys.filter { aaids.contains($0.aaid) }).compactMap { keys in
            keys.first { AuthenticatorModel(aaid: $0.aaid)?.info.isSilent == false }
                .map { (aaid: $0.aaid.text, keys: keys) }
        }
    }

    /// Verifies the person, signs with the keys and sends the answer, once everything was shown. Where the server does not
    /// know the keys by which this device speaks for itself, it is told.
    ///
    /// Throws ``OperationFailure``, ``UserVerificationError``, `CancellationError` and ``StorageError``, and the answer has
    /// not left; ``Unanswered`` once it has.
    func sign(
        _ prepared: PreparedAuthentication, _ keys: [KeyName], of record: StoredAccount,
        _ verification: any UserInteraction, _: Disclosure.Complete
    ) async throws -> ServerResponse {
        // Until the server has judged: a later signature of the same key must not overtake this one.
        try await self.core.module.withExclusiveUse(of: keys) {
            let answer = try await prepared.authenticate(
                keys, announcing: await self.core.untoldIdentity(of: record.key), verification: verification)
            self.recording.note(.personVerified)
            // The last moment to give up: nothing has left yet.
            try Task.checkCancellation()
            do {
                return try await self.server.sendToTheEnd(
                    answer.message, as: .authenticationSent, context: [:],
                    path: self.core.configuration.authenticationResponsePath)
            } catch {
                throw Unanswered(cause: error, isJudgementLost: true)
            }
        }
    }

    /// Carries out what the server has judged of an answer with those keys. Throws ``Unanswered``.
    func conclude(_ response: ServerResponse, _ keys: [KeyName], _ record: StoredAccount) async throws -> Accepted {
        switch response.statusCode {
        case .ok:
            // It is done, whatever the storage says now: an error would have a payment made twice. What is not written
            // down here is written down after the next answer of these keys, and a browser is asked about once more.
            for key in keys { try? await self.core.module.notify(key, .ok) }
            try? await self.core.settle(keys, of: record.key, record.appID)
            await self.core.note(
                response, tellingOf: await self.core.register.record(of: record.key)?.identity, of: record.key)
            if let browser = self.request.message.requester?.browserID {
                try? await self.core.register.approve(browser: browser, by: record.key)
            }
            return Accepted(
                token: response.additionalTokens.first { $0.kind == .jwt }?.value,
                location: self.server.continuation(response.location))
        case .unknownKeyID:
            // Where the storage fails, the next answer with these keys ends here again.
            try? await self.core.forget(Self.unknown(among: keys, in: response), of: record)
        default: break
        }
        throw Unanswered(cause: EngineError(refusedWith: response.statusCode), isJudgementLost: false)
    }

    /// Which keys of an answer the server does not know: those that its message has the device delete, where it sent
    /// one about them, else all.
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

    /// Tells the server that there will be no answer, and why. Nothing is sent where the request cannot be read.
    func report(_ code: ErrorCode, _ asmStatus: ASMStatusCode?) async {
        guard let header = self.request.header(of: .authentication) else { return }
        await self.server.reportFailure(
            AuthenticationResponse(header: header, fcParams: "", assertions: []).serialized, code: code,
            asmStatus: asmStatus, path: self.core.configuration.authenticationResponsePath)
    }
}
