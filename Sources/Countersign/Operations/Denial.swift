public import Ceremony
import UAF
import _Primitives

/// An operation that denies a request which was started elsewhere. Configure the operation and execute it once.
///
/// A denial is an answer: the device signs the request's challenge and the person's statement with its own key. The
/// service learns that the person has denied the request, and can tell a denial from an operation that was given up. The
/// person is asked nothing, and unlocks no key.
///
/// ```swift
/// // "It was not me", for a question of the list or for any payload:
/// try await client.operations.denial.payload(question.payload).statement(.notMe).execute()
/// // For a request that was already redeemed:
/// try await authentication.denial.statement(.wrongContent).execute()
/// ```
///
/// `DenialStatement.notMe` also keeps the service from asking the person by the devices' own questions and messages for
/// an hour, longer each time and a day at most. All devices of the person get a notice
/// (``AccountNotice/Kind-swift.struct/requestDisowned``). QR codes, links and typed codes work as before.
///
/// A screen denies a request with the `deny` function of its handler, as in
/// ``TransactionConfirmationHandler/deny(_:)``.
///
/// Ends with ``OperationError``: `notAuthorized` if the server does not know the device's own keys (the server is told
/// that the person gave up; authenticate once, and the server learns the keys), the errors of redeeming a token,
/// `missingInteraction` without exactly one request, and ``FidoErrorCode/protocolError`` if the request is no
/// authentication. A registration is given up then, and the token of a deregistration is not used.
public struct Denial: SingleOperation, ServerOperation {
    enum Source: Sendable {
        case payload(OutOfBandPayload)
        case request(ReceivedRequest, Recording)
    }

    private let core: ClientCore
    private let once = OneShot()
    fileprivate var sources: [Source]
    fileprivate var statement = DenialStatement.unwanted
    fileprivate var username: Username?
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore, _ source: Source? = nil) {
        self.core = core
        self.sources = source.map { [$0] } ?? []
    }

    /// Sends the denial. Returns after the server has accepted the denial.
    public func perform() async throws(OperationError) {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard self.sources.count == 1, let source = self.sources.first else {
            throw OperationError(.missingInteraction, "not exactly one request")
        }
        let core = try self.requestOptions.configure(self.core)
        do {
            let (request, recording) = try await self.request(source, core)
            let name = self.username.map { $0.normalizedUsername ?? $0 }
            let exchange = AuthenticationExchange(core: core, recording: recording, request: request)
            let denier = await exchange.denier { record in name.map { $0.hasSameBytes(as: record.username) } ?? true }
            try await exchange.deny(self.statement, by: denier)
        } catch {
            throw OperationError(translating: error)
        }
    }

    /// Returns the request to authenticate. Redeems the token of a payload.
    private func request(_ source: Source, _ core: ClientCore) async throws -> (ReceivedRequest, Recording) {
        switch source {
        case .request(let request, let recording): return (request, recording)
        case .payload(let payload):
            guard !core.configuration.isForDeregistrations(payload.redeemData.redeemURL) else {
                throw OperationError.fido(.protocolError, "a deregistration cannot be denied")
            }
            let recording = core.newRecording()
            let exchange = ServerExchange(core: core, recording: recording)
            let request = try await exchange.redeemOnce(payload)
            guard request.message.operation == .authentication else {
                await exchange.decline(request, as: .userCancelled)
                throw OperationError.fido(.protocolError, "only an authentication can be denied")
            }
            return (request, recording)
        }
    }
}

extension OperationBuilder where Operation == Denial {
    /// Sets the payload of the request. Not for the denial of an ``OutOfBandAuthentication``, which has its request.
    public func payload(_ payload: OutOfBandPayload) -> Self { self.changing { $0.sources.append(.payload(payload)) } }
    /// Sets the person's statement. The default is `DenialStatement.unwanted`.
    public func statement(_ statement: DenialStatement) -> Self { self.changing { $0.statement = statement } }
    /// Sets the name of the person who denies the request. Needed only if several accounts of this device fit the
    /// request.
    public func username(_ username: Username) -> Self { self.changing { $0.username = username } }
}

extension Denial: CustomStringConvertible, CustomReflectable {
    /// A description without the payload, which holds a token.
    public var description: String { "Denial" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
