import Ceremony
import UAF
import _Primitives

/// An operation by which this device has a new device of its person enrolled, and approves the new device. No operator is
/// needed. Configure the operation and execute it once.
///
/// ```swift
/// try await client.operations.deviceApproval.username("alice")
///     .onProgress { progress in
///         if case .code(let code) = progress { showQRCode(code.qrContent) }
///     }
///     .transactionConfirmer(screens).numberMatcher(screens)
///     .authenticatorSelector(screens).pinUserVerifier(screens)
///     .execute()
/// ```
///
/// The new device enrols by the code as by every enrolment link (``OutOfBandRegistration``) and shows its number. This
/// device then shows a text with the name, the model and the network of the new device, asks for the number, and signs
/// both with a key that verifies the person. One wrong number ends the enrolment. All devices of the person get a notice
/// (``AccountNotice/Kind-swift.struct/deviceApproved``), and the person gets a letter. For 24 hours (settable at the
/// server) the new device approves and removes no device.
///
/// Ends with ``OperationError``: `deviceLimited` if this device itself was approved a short time ago (see
/// ``OperationError/limitedUntil``), `tokenExpired` if nobody used the code in time, `newDeviceNotAdded` if the new device
/// gave up or another device has declined, `wrongNumber`, `unknownUsername`, `notAuthorized` if the server does not know
/// this device's own keys (authenticate once, and the server learns the keys), `missingInteraction`, and the errors of
/// an ``OutOfBandAuthentication``. After each error that is not the loss of the server's judgement, the new device is not
/// enrolled.
public struct DeviceApproval: AuthenticationOperation {
    /// The pause between two questions about the new device.
    private static let pause = Duration.seconds(2)
    /// The number of questions about the new device that can stay without an answer, one after the other: a network is
    /// away for half a minute while a person walks from phone to phone.
    private static let patience = 15

    private let core: ClientCore
    private let once = OneShot()
    fileprivate var username: Username?
    fileprivate var progress: (@Sendable (DeviceApprovalProgress) -> Void)?
    /// The screens, used by the SDK only.
    public var screens = Screens()
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// Has the new device enrolled. Returns after the server has accepted the approval.
    ///
    /// If the operation fails or is cancelled after its beginning, the server has been told: the code and the new device's
    /// number are worth nothing any more.
    public func perform() async throws(OperationError) -> AuthenticationSuccess {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let username = self.username?.normalizedUsername else {
            throw OperationError(.missingInteraction, "no username, or nobody's")
        }
        guard let progress = self.progress else {
            throw OperationError(.missingInteraction, "no callback for the code")
        }
        guard self.screens.authenticatorSelector != nil, self.screens.numberMatcher != nil else {
            throw OperationError(.missingInteraction, "no authenticator selector, or no number matcher")
        }
        let core = try self.requestOptions.configure(self.core)
        guard let record = await core.record(named: username) else { throw OperationError(unknown: username) }
        do {
            try core.checkName(of: record)
            let exchange = try DeviceApprovalExchange(core: core, record: record)
            let (id, code) = try await exchange.begin()
            do {
                progress(.code(code))
                progress(.answered(try await self.newDevice(id, exchange)))
                return try await self.approve(try await exchange.question(id), username, exchange.core)
            } catch {
                await exchange.decline(id)
                throw error
            }
        } catch {
            throw OperationError(translating: error)
        }
    }

    /// Waits until the new device has answered.
    private func newDevice(_ id: String, _ exchange: DeviceApprovalExchange) async throws
        -> DeviceApprovalProgress.NewDevice
    {
        var unanswered = 0
        while true {
            do {
                switch try await exchange.state(id) {
                case .waits: unanswered = 0
                case .answered(let device): return device
                case .expired: throw OperationError(.tokenExpired, "the code was not used in time")
                case .ended: throw OperationError(.newDeviceNotAdded, "the enrolment has ended")
                }
            } catch {
                guard OperationError(translating: error).code == .networkError, unanswered < Self.patience else {
                    throw error
                }
                unanswered += 1
            }
            try await exchange.core.platform.clock.sleep(for: Self.pause)
        }
    }

    /// Asks the person, and has a key sign the answer.
    private func approve(_ payload: OutOfBandPayload, _ username: Username, _ core: ClientCore) async throws
        -> AuthenticationSuccess
    {
        let recording = core.newRecording()
        let exchange = ServerExchange(core: core, recording: recording)
        guard !core.configuration.isForDeregistrations(payload.redeemData.redeemURL) else {
            throw OperationError.fido(.protocolError, "the question is of a deregistration")
        }
        let request = try await exchange.redeemOnce(payload)
        guard request.message.operation == .authentication, request.message.numberLength != nil else {
            await exchange.decline(request)
            throw OperationError.fido(.protocolError, "the question does not ask for the number")
        }
        return try await AuthenticationRun(
            core: core, recording: recording, request: request, username: username, screens: self.screens
        ).run()
    }
}

extension OperationBuilder where Operation == DeviceApproval {
    /// Sets the name of the person whose new device is enrolled. Required.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
    /// Sets the callback for the code and for the new device's answer. Required, because the app has to show the code.
    public func onProgress(_ body: @escaping @Sendable (DeviceApprovalProgress) -> Void) -> Self {
        self.changing { $0.progress = body }
    }
}
