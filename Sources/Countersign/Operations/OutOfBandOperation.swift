public import Ceremony
import UAF
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The result of a deregistration that a service has started: the accounts on this device that lost keys.
public struct DeregistrationResult: Hashable, Sendable {
    /// The accounts that lost a key, oldest first; empty if this device had none of the keys. An account that lost its
    /// last key is no longer in ``LocalData/accounts``.
    public let accounts: [RegisteredAccount]
    /// The service that requested the deregistration, fit to be shown.
    public let requester: Requester?
}

/// An operation that redeems a payload's token, once, and returns the operation that the token stands for.
public struct OutOfBandOperation: ServerOperation {
    let core: ClientCore
    private let once = OneShot()
    fileprivate var payload: OutOfBandPayload?
    /// The settings of the requests, used by the SDK only.
    public var requestOptions = RequestOptions()

    init(core: ClientCore) { self.core = core }

    /// The operation that a token stands for.
    public enum Redeemed: Sendable {
        /// A registration, which the app configures and executes.
        case registration(OutOfBandRegistration)
        /// An authentication, which the app configures and executes.
        case authentication(OutOfBandAuthentication)
        /// A deregistration, which is already done: the server has deleted keys, and so has this device.
        case deregistration(DeregistrationResult)
    }

    /// Sets the callback for a registration.
    public func onRegistration(_ body: @escaping @Sendable (OutOfBandRegistration) -> Void) -> WithCallbacks {
        WithCallbacks(operation: self).onRegistration(body)
    }
    /// Sets the callback for an authentication.
    public func onAuthentication(_ body: @escaping @Sendable (OutOfBandAuthentication) -> Void) -> WithCallbacks {
        WithCallbacks(operation: self).onAuthentication(body)
    }
    /// Sets the callback for a deregistration: a service has deleted keys at the server and on this device.
    public func onDeregistration(_ body: @escaping @Sendable (DeregistrationResult) -> Void) -> WithCallbacks {
        WithCallbacks(operation: self).onDeregistration(body)
    }
    /// Sets the callback for an error.
    public func onError(_ body: @escaping @Sendable (OperationError) -> Void) -> WithCallbacks {
        WithCallbacks(operation: self).onError(body)
    }

    /// Redeems the token. Throws ``OperationError``.
    ///
    /// The device proves the redemption of a token that was dispatched to it. A token that was dispatched to another
    /// device ends here with ``OperationError/Code/notAuthorized``, and is not used up.
    ///
    /// The token is sent only to the configured hosts. If the payload came by a link, but the server did not make the
    /// token for a link, the operation ends here with ``OperationError/Code/codeCameByLink``; the server has been told.
    public func execute() async throws -> Redeemed {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let payload else { throw OperationError(.missingInteraction, "no payload") }
        let core = try self.requestOptions.configure(self.core)
        do {
            let redeemData = payload.redeemData
            let recording = core.newRecording()
            let exchange = ServerExchange(core: core, recording: recording)
            let deregistration = DispatchedDeregistration(core: core, recording: recording)
            let answer =
                core.configuration.isForDeregistrations(redeemData.redeemURL)
                ? try await deregistration.redeem(payload)
                : try await exchange.redeemOnce(payload)
            // The server has already deleted its keys, independent of the way in which the token arrived.
            if answer.message.operation == .deregistration {
                let (accounts, requester) = try await deregistration.carryOut(answer, token: redeemData.token)
                return .deregistration(DeregistrationResult(accounts: accounts.map(\.account), requester: requester))
            }
            // Only the redeemed token reveals the channel for which the token was made.
            guard !payload.isFromLink || answer.isForLinks else {
                await exchange.decline(answer)
                throw OperationError(.codeCameByLink, answer.message.dispatchChannel ?? "")
            }
            guard !Task.isCancelled else {
                await exchange.decline(answer, as: .userCancelled)
                throw CancellationError()
            }
            switch answer.message.operation {
            case .registration:
                return .registration(OutOfBandRegistration(core: core, answer: answer, recording: recording))
            case .authentication:
                return .authentication(OutOfBandAuthentication(core: core, answer: answer, recording: recording))
            default: throw OperationError.fido(.protocolError, "the operation is none that is known")
            }
        } catch {
            throw OperationError(translating: error)
        }
    }

    /// An out-of-band operation with callbacks. The remaining settings can still be chained, in any order.
    public struct WithCallbacks: OperationBuilder {
        private var operation: OutOfBandOperation
        private var registration: (@Sendable (OutOfBandRegistration) -> Void)?
        private var authentication: (@Sendable (OutOfBandAuthentication) -> Void)?
        private var deregistration: (@Sendable (DeregistrationResult) -> Void)?
        private var failure: (@Sendable (OperationError) -> Void)?

        init(operation: OutOfBandOperation) { self.operation = operation }

        /// Returns a copy with a changed operation. Used by the SDK only.
        public func changing(_ change: (inout OutOfBandOperation) -> Void) -> Self {
            var copy = self
            change(&copy.operation)
            return copy
        }

        /// Sets the callback for a registration.
        public func onRegistration(_ body: @escaping @Sendable (OutOfBandRegistration) -> Void) -> Self {
            var copy = self
            copy.registration = body
            return copy
        }
        /// Sets the callback for an authentication.
        public func onAuthentication(_ body: @escaping @Sendable (OutOfBandAuthentication) -> Void) -> Self {
            var copy = self
            copy.authentication = body
            return copy
        }
        /// Sets the callback for a deregistration: a service has deleted keys at the server and on this device.
        public func onDeregistration(_ body: @escaping @Sendable (DeregistrationResult) -> Void) -> Self {
            var copy = self
            copy.deregistration = body
            return copy
        }
        /// Sets the callback for an error.
        public func onError(_ body: @escaping @Sendable (OperationError) -> Void) -> Self {
            var copy = self
            copy.failure = body
            return copy
        }

        /// Starts the operation and returns. The operation ends with at most one call: the callback for the token's
        /// operation, or `onError`, if the callback was set.
        ///
        /// If the token stands for an operation without a callback, the token is used up, the server is told that no
        /// answer will come, and the error is `missingInteraction`. A deregistration is carried out all the same.
        /// Dropping the handle cancels nothing.
        @discardableResult
        public func execute() -> OperationHandle {
            OperationHandle {
                do {
                    switch try await self.operation.execute() {
                    case .registration(let operation):
                        guard let registration else {
                            await operation.decline()
                            throw OperationError(.missingInteraction, "onRegistration")
                        }
                        registration(operation)
                    case .authentication(let operation):
                        guard let authentication else {
                            await operation.decline()
                            throw OperationError(.missingInteraction, "onAuthentication")
                        }
                        authentication(operation)
                    case .deregistration(let result):
                        guard let deregistration else {
                            throw OperationError(.missingInteraction, "onDeregistration")
                        }
                        deregistration(result)
                    }
                } catch {
                    self.failure?(OperationError(translating: error))
                }
            }
        }
    }
}

extension OperationBuilder where Operation == OutOfBandOperation {
    /// Sets the payload that ``OutOfBandPayloadDecode`` read.
    public func payload(_ payload: OutOfBandPayload) -> Self { self.changing { $0.payload = payload } }
}

extension ClientConfiguration {
    /// Returns `true` if the address redeems tokens of deregistrations: such a token must be stored before the token is
    /// sent. The spelling of the path in the configuration does not matter.
    func isForDeregistrations(_ url: URL) -> Bool {
        self.address(self.deregistrationRedeemPath)?.path().hasSameBytes(as: url.path()) ?? false
    }
}
