import Ceremony
import UAF
import UAFClient
import _Primitives

/// One registration from the server's request to its judgement, without the questions to the person. Each face asks the
/// person in its own way, and passes the answers in.
struct RegistrationExchange: Sendable {
    /// The owner of new keys.
    struct Owner: Sendable {
        let account: AccountKey
        /// The name in the server's request.
        let username: Username
        /// The data of the device, from the app. A device that has an account already keeps its own data.
        let device: StoredDevice?
        /// `true` if the keys join the device that has authenticated in the app. Otherwise the enrolment makes a new
        /// device at the server, with a proof of the device that it replaces.
        let joinsDevice: Bool
    }

    let core: ClientCore
    let recording: Recording
    let request: ReceivedRequest

    private var server: ServerExchange { ServerExchange(core: self.core, recording: self.recording) }

    /// Reads the request.
    ///
    /// Throws ``OperationFailure``, the errors of fetching the facet list, and ``EngineError`` `appNotProven` if the
    /// server requires evidence about the app that this platform never has.
    func prepare() async throws -> PreparedRegistration {
        let prepared = try await self.core.messages(self.recording).prepareRegistration(
            Array((self.request.message.uafRequest ?? "").utf8), channel: self.request.channel)
        guard self.request.message.appAttestation?.need != .required || self.core.platform.appAttestor != nil else {
            throw EngineError(.appNotProven(.noAttestor), "the server requires evidence, and there is no AppAttestor")
        }
        return prepared
    }

    /// Returns the combinations that meet the policy, given the device's keys of the account: the combinations with the
    /// factors of `canEnroll`, and the combinations with all factors of this device. The `options` decide which models
    /// of finger and face take part. Throws ``StorageError``.
    func selections(
        _ prepared: PreparedRegistration, over record: StoredAccount?, options: BiometricOptions,
        canEnroll: (AuthenticatorModel.Factor) -> Bool
    ) async throws -> (usable: [[AuthenticatorModel]], possible: [[AuthenticatorModel]]) {
        let supported = await self.core.module.authenticators(with: options)
            .filter { $0.isSupportedByHardware && $0.makesKeys }.map(\.model)
        // A key that cannot answer any more does not prevent a registration.
        let spent = try await self.core.module.spentKeys(of: record)
        return (
            await prepared.selections(among: supported.filter { canEnroll($0.factor) }, passingOver: spent),
            await prepared.selections(among: supported, passingOver: spent)
        )
    }

    /// Makes the keys and sends them. Unless the server has accepted the keys, no key is left.
    ///
    /// Throws ``OperationFailure``, ``UserVerificationError``, `CancellationError`, ``StorageError`` and ``EngineError``
    /// `appNotProven` before anything was sent; ``Unanswered`` afterwards.
    func register(
        _ prepared: PreparedRegistration, _ selection: [AuthenticatorModel], for owner: Owner,
        options: BiometricOptions, verification: any UserInteraction
    ) async throws -> ServerResponse {
        let record = await self.core.register.record(of: owner.account)
        try await self.makeRoom(for: selection.count, of: record)
        // A key that joins a device announces no identity keys: the registered keys have already signed the device's
        // identity.
        let device: AnnouncedDevice =
            owner.joinsDevice ? .nobody : record?.identity.map { AnnouncedDevice.kept($0) } ?? .new
        let answer = try await prepared.register(
            selection, announcing: device, options: options, verification: verification)
        if selection.contains(where: { !$0.info.isSilent }) { self.recording.note(.personVerified) }
        do {
            let evidence = try await self.evidence(
                prepared, signingKey: (owner.joinsDevice ? record?.identity : answer.device)?.signingKey
            ) { for key in answer.keys { try? await self.core.module.notify(key, .requestTimeout) } }
            return try await self.send(answer, evidence, for: owner, prepared.appID)
        } catch {
            if let device = answer.device { await self.core.identities.forgetUnlessKept(device, of: owner.account) }
            throw error
        }
    }

    /// Deletes unconfirmed keys of an account if the device is full, so that they do not prevent a further enrolment of
    /// the account.
    private func makeRoom(for count: Int, of record: StoredAccount?) async throws {
        guard let record, await !self.core.module.hasRoom(for: count) else { return }
        let confirmed = await self.core.module.confirmedKeys(of: record)
        // An account keeps a key with which a person answers.
        guard confirmed.contains(where: { AuthenticatorModel(aaid: $0.aaid)?.info.isSilent == false }) else { return }
        try await self.core.forget(record.keys.filter { !confirmed.contains($0) }, of: record)
    }

    /// Returns the evidence about the app for which the server has asked: an assertion by the attested key that the
    /// server has named, or an attestation of a new key. `nil` if the server wants none, or can do without.
    ///
    /// - Parameter signingKey: The device's own signing key, to which the evidence is bound; `nil` for a device without
    ///   keys of its own, which has no evidence.
    /// - Parameter discard: Deletes the new keys. Called before the function throws.
    ///
    /// Throws ``EngineError`` `appNotProven` and `CancellationError`.
    private func evidence(
        _ prepared: PreparedRegistration, signingKey: [UInt8]?, discard: () async -> Void
    ) async throws -> AppEvidence? {
        guard let wish = self.request.message.appAttestation, let attestor = self.core.platform.appAttestor else {
            return nil
        }
        do {
            guard let signingKey else { throw AppAttestorError.unsupported }
            let hash = AppEvidence.clientDataHash(
                finalChallengeHash: prepared.finalChallengeHash, signingKey: signingKey)
            let evidence = try await Self.evidence(from: attestor, wish, hash)
            // The service can take a while, and need not end with its task.
            try Task.checkCancellation()
            return evidence
        } catch {
            let isCancelled = error is CancellationError || Task.isCancelled
            guard wish.need == .required || isCancelled else { return nil }
            await discard()
            if isCancelled { throw CancellationError() }
            throw EngineError(
                .appNotProven(error as? AppAttestorError == .unavailable ? .unavailable : .unsupported),
                "no evidence about the app: \((error as? AppAttestorError).map { "\($0)" } ?? "\(type(of: error))")")
        }
    }

    private static func evidence(
        from attestor: any AppAttestor, _ wish: AppAttestationWish, _ hash: [UInt8]
    ) async throws -> AppEvidence {
        if let keyID = wish.keyID {
            do {
                return .assertion(try await attestor.assertion(clientDataHash: hash, keyID: keyID))
            } catch AppAttestorError.keyGone {
                // A new key takes the place of the lost key.
            }
        }
        let attestation = try await attestor.attestation(clientDataHash: hash)
        return .attestation(attestation.object, keyID: attestation.keyID)
    }

    private func send(
        _ answer: PreparedAnswer, _ evidence: AppEvidence?, for owner: Owner, _ appID: String
    ) async throws -> ServerResponse {
        let response: ServerResponse
        var proof: EnrolmentProof?
        do {
            var context: JSONObject = [:]
            context["deviceName"] = owner.device.map { .string($0.name) }
            context[AppEvidence.contextMember] = evidence.map { .object($0.json) }
            if !owner.joinsDevice {
                proof = try await EnrolmentProof(
                    for: answer.keys, of: await self.core.register.record(of: owner.account),
                    self.core.module, random: self.core.platform.random)
                proof?.add(to: &context)
            }
            response = try await self.server.sendToTheEnd(
                answer.message, as: .registrationSent, context: context,
                path: self.core.configuration.registrationResponsePath, retries: self.core.newRetries(),
                // The judgement of keys that join a device is all that the server answers, and needs no proof. The number
                // of an enrolment is told once.
                askingAgainBy: owner.joinsDevice ? .anybody : nil)
        } catch {
            // The server may have the key all the same, and lists it until its operator removes it. A key that nobody
            // knows of would be worse, and a new enrolment solves both cases.
            for key in answer.keys { try? await self.core.module.notify(key, .requestTimeout) }
            // Cancelled between two tries, the answer was not sent.
            if error is CancellationError { throw error }
            // Without the key, an unsent answer ends a registration as a lost one does.
            throw Unanswered(cause: (error as? Unanswered)?.cause ?? error, isJudgementLost: true)
        }
        do {
            guard !response.isAppRefused else {
                throw EngineError(
                    .appNotProven(.refused), status: response.statusCode, "the server refused the app's evidence")
            }
            guard response.statusCode == .ok || response.statusCode == .accepted else {
                throw EngineError(refusedWith: response.statusCode)
            }
            let confirmed = await self.core.module.confirmedKeys(
                of: await self.core.register.record(of: owner.account))
            // A device without room for identity keys gets them later, or never. The device has the registered key all
            // the same.
            let gone = try await self.core.register.add(
                answer.keys, to: owner.account, named: owner.username, appID: appID,
                device: owner.device, confirmed: confirmed,
                enrolment: proof?.enrolment(of: answer.keys), identity: answer.device)
            if let device = answer.device { await self.core.identities.forgetUnlessKept(device, of: owner.account) }
            await self.core.identities.note(response, tellingOf: answer.device, of: owner.account)
            // The account exists: steps at which the storage fails now are repeated at the next start, or with the
            // first answer.
            for key in gone {
                try? await self.core.module.deregister(appID: appID, aaid: key.aaid, keyID: key.keyID)
            }
        } catch {
            for key in answer.keys { try? await self.core.module.notify(key, .requestTimeout) }
            throw Unanswered(cause: error, isJudgementLost: false)
        }
        for key in answer.keys { try? await self.core.module.notify(key, response.statusCode) }
        if response.statusCode == .ok {
            try? await self.core.settle(answer.keys, of: owner.account, appID)
            await DispatchTargetExchange.createOwedTarget(of: owner.account, self.core, self.recording)
        }
        return response
    }

    /// Tells the server that no answer will come, with the reason. Sends nothing if the request cannot be read.
    func report(_ code: ErrorCode, _ asmStatus: ASMStatusCode?) async {
        guard let header = self.request.header(of: .registration) else { return }
        await self.server.reportFailure(
            RegistrationResponse(header: header, fcParams: "", assertions: []).serialized, code: code,
            asmStatus: asmStatus, path: self.core.configuration.registrationResponsePath)
    }
}
