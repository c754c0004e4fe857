import Ceremony
import UAF
import UAFClient
import _Primitives

/// One registration from the server's request to its judgement, but for what is asked of the person: a face asks, each in
/// its own way, and hands in what was answered.
struct RegistrationExchange: Sendable {
    /// Whose the new keys are.
    struct Owner: Sendable {
        let account: AccountKey
        /// The name that the server's request has.
        let username: Username
        /// What the device is called; counts where it has no name yet.
        let deviceName: String?
        /// Whether the keys join the device that has authenticated in the app. Without, the enrolment makes a device of its
        /// own at the server, with a proof of what it takes the place of.
        let joinsDevice: Bool
    }

    let core: ClientCore
    let recording: Recording
    let request: ReceivedRequest

    private var server: ServerExchange { ServerExchange(core: self.core, recording: self.recording) }

    /// Reads the request. Throws ``OperationFailure`` and what the fetch of the facet list throws.
    func prepare() async throws -> PreparedRegistration {
        try await self.core.messages(self.recording).prepareRegistration(
            Array((self.request.message.uafRequest ?? "").utf8), channel: self.request.channel)
    }

    /// What meets the policy over what the device has of the account: with the factors that `canEnroll`, and with all of
    /// this device. Throws ``StorageError``.
    func selections(
        _ prepared: PreparedRegistration, over record: StoredAccount?,
        canEnroll: (AuthenticatorModel.Factor) -> Bool
    ) async throws -> (usable: [[AuthenticatorModel]], possible: [[AuthenticatorModel]]) {
        let supported = await self.core.module.authenticators.filter { $0.isSupportedByHardware && $0.makesKeys }
            .map(\.model)
        // A key that cannot answer any more stands in nobody's way.
        let spent = try await self.core.spentKeys(of: record)
        return (
            await prepared.selections(among: supported.filter { canEnroll($0.factor) }, passingOver: spent),
            await prepared.selections(among: supported, passingOver: spent)
        )
    }

    /// Makes the keys and sends them. Unless the server has taken them, none is left.
    ///
    /// Throws ``OperationFailure``, ``UserVerificationError``, `CancellationError` and ``StorageError``, and nothing has
    /// left; ``Unanswered`` once it has.
    func register(
        _ prepared: PreparedRegistration, _ selection: [AuthenticatorModel], for owner: Owner,
        options: BiometricOptions, verification: any UserInteraction
    ) async throws -> ServerResponse {
        let record = await self.core.register.record(of: owner.account)
        try await self.core.makeRoom(for: selection.count, of: record)
        // A key that joins a device tells nothing of it: what that has to say of itself, its registered keys have signed.
        let device: AnnouncedDevice =
            owner.joinsDevice ? .nobody : record?.identity.map { AnnouncedDevice.kept($0) } ?? .new
        let answer = try await prepared.register(
            selection, announcing: device, options: options, verification: verification)
        if selection.contains(where: { !$0.info.isSilent }) { self.recording.note(.personVerified) }
        do {
            return try await self.send(answer, for: owner, prepared.appID)
        } catch {
            if let device = answer.device { await self.core.forgetUnlessKept(device, of: owner.account) }
            throw error
        }
    }

    private func send(_ answer: PreparedAnswer, for owner: Owner, _ appID: String) async throws -> ServerResponse {
        let response: ServerResponse
        var proof: EnrolmentProof?
        do {
            var context: JSONObject = [:]
            context["deviceName"] = owner.deviceName.map { .string($0) }
            if !owner.joinsDevice {
                proof = try await EnrolmentProof(
                    for: answer.keys, of: await self.core.register.record(of: owner.account), self.core)
                proof?.add(to: &context)
            }
            response = try await self.server.sendToTheEnd(
                answer.message, as: .registrationSent, context: context,
                path: self.core.configuration.registrationResponsePath)
        } catch {
            // The server may have the key all the same, and lists it until its operator takes it away: a key that nobody
            // knows of would be worse, and a new enrolment is the way out of both.
            for key in answer.keys { try? await self.core.module.notify(key, .requestTimeout) }
            throw Unanswered(cause: error, isJudgementLost: true)
        }
        do {
            guard response.statusCode == .ok || response.statusCode == .accepted else {
                throw EngineError(refusedWith: response.statusCode)
            }
            let confirmed = await self.core.confirmedKeys(
                of: await self.core.register.record(of: owner.account))
            // A device that has no room for keys of its own speaks for itself later, or not: it has its key all the same.
            let gone = try await self.core.register.add(
                answer.keys, to: owner.account, named: owner.username, appID: appID,
                deviceName: owner.deviceName, confirmed: confirmed,
                enrolment: proof?.enrolment(of: answer.keys), identity: answer.device)
            if let device = answer.device { await self.core.forgetUnlessKept(device, of: owner.account) }
            await self.core.note(response, tellingOf: answer.device, of: owner.account)
            // The account is there: what the storage fails at now is done at the next start, or by the first answer.
            for key in gone {
                try? await self.core.module.deregister(appID: appID, aaid: key.aaid, keyID: key.keyID)
            }
        } catch {
            for key in answer.keys { try? await self.core.module.notify(key, .requestTimeout) }
            throw Unanswered(cause: error, isJudgementLost: false)
        }
        for key in answer.keys { try? await self.core.module.notify(key, response.statusCode) }
        if response.statusCode == .ok { try? await self.core.settle(answer.keys, of: owner.account, appID) }
        return response
    }

    /// Tells the server that there will be no answer, and why. Nothing is sent where the request cannot be read.
    func report(_ code: ErrorCode, _ asmStatus: ASMStatusCode?) async {
        guard let header = self.request.header(of: .registration) else { return }
        await self.server.reportFailure(
            RegistrationResponse(header: header, fcParams: "", assertions: []).serialized, code: code,
            asmStatus: asmStatus, path: self.core.configuration.registrationResponsePath)
    }
}
