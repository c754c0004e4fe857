public import Ceremony
import UAF
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a deregistration that a service has started took from this device.
public struct DeregistrationResult: Hashable, Sendable {
    /// The accounts that lost a key, oldest first; empty where this device had none of the keys. One that lost its last
    /// is gone from ``LocalData/accounts``.
    public let accounts: [RegisteredAccount]
    /// The service that had it done, fit to be shown.
    public let requester: Requester?
}

/// Redeems a payload's token, once, and hands over the operation that it stands for.
public struct OutOfBandOperation: OperationBuilder {
    let core: ClientCore
    private let once = OneShot()
    fileprivate var payload: OutOfBandPayload?

    init(core: ClientCore) { self.core = core }

    /// What a token stood for.
    public enum Redeemed: Sendable {
        /// A registration, to be configured and executed.
        case registration(OutOfBandRegistration)
        /// An authentication, to be configured and executed.
        case authentication(OutOfBandAuthentication)
        /// A deregistration, which is done: the server has deleted keys, and so has this device.
        case deregistration(DeregistrationResult)
    }

    /// Calls back with a registration.
    public func onRegistration(_ body: @escaping @Sendable (OutOfBandRegistration) -> Void) -> WithCallbacks {
        WithCallbacks(operation: self).onRegistration(body)
    }
    /// Calls back with an authentication.
    public func onAuthentication(_ body: @escaping @Sendable (OutOfBandAuthentication) -> Void) -> WithCallbacks {
        WithCallbacks(operation: self).onAuthentication(body)
    }
    /// Calls back when a service has had keys deleted, at the server and here.
    public func onDeregistration(_ body: @escaping @Sendable (DeregistrationResult) -> Void) -> WithCallbacks {
        WithCallbacks(operation: self).onDeregistration(body)
    }
    /// Calls back with the error.
    public func onError(_ body: @escaping @Sendable (OperationError) -> Void) -> WithCallbacks {
        WithCallbacks(operation: self).onError(body)
    }

    /// Redeems the token. Throws ``OperationError``.
    ///
    /// The token goes to the configured hosts alone. A payload that came by a link, with a token that the server did
    /// not make for one, ends here with ``OperationError/Code/codeCameByLink``; the server has heard of it.
    public func execute() async throws -> Redeemed {
        guard self.once.take() else { throw OperationError(.operationReused) }
        guard let payload else { throw OperationError(.missingInteraction, "no payload") }
        do {
            let redeemData = payload.redeemData
            let recording = self.core.newRecording()
            let exchange = ServerExchange(core: self.core, recording: recording)
            let deregistration = DispatchedDeregistration(core: self.core, recording: recording)
            let answer =
                self.isForDeregistrations(redeemData.redeemURL)
                ? try await deregistration.redeem(redeemData.token, at: redeemData.redeemURL)
                : try await exchange.redeemOnce(redeemData.token, at: redeemData.redeemURL)
            // The server has deleted its keys already, however the token came here.
            if answer.message.operation == .deregistration {
                let (accounts, requester) = try await deregistration.carryOut(answer, token: redeemData.token)
                return .deregistration(DeregistrationResult(accounts: accounts.map(\.account), requester: requester))
            }
            // Only the redeemed token says how it was meant to travel.
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
                return .registration(OutOfBandRegistration(core: self.core, answer: answer, recording: recording))
            case .authentication:
                return .authentication(OutOfBandAuthentication(core: self.core, answer: answer, recording: recording))
            default: throw OperationError.fido(.protocolError, "the operation is none that is known")
            }
        } catch {
            throw OperationError(translating: error)
        }
    }

    /// Whether an address is the one where a token is written down before it leaves, in whichever way the configuration
    /// spells its path.
    private func isForDeregistrations(_ url: URL) -> Bool {
        let configuration = self.core.configuration
        return configuration.address(configuration.deregistrationRedeemPath)?.path().hasSameBytes(as: url.path())
            ?? false
    }

    /// The operation with callbacks: what is left to give it can still be chained, in any order.
    public struct WithCallbacks: OperationBuilder {
        private var operation: OutOfBandOperation
        private var registration: (@Sendable (OutOfBandRegistration) -> Void)?
        private var authentication: (@Sendable (OutOfBandAuthentication) -> Void)?
        private var deregistration: (@Sendable (DeregistrationResult) -> Void)?
        private var failure: (@Sendable (OperationError) -> Void)?

        init(operation: OutOfBandOperation) { self.operation = operation }

        /// The same with a changed operation. The SDK's alone.
        public func changing(_ change: (inout OutOfBandOperation) -> Void) -> Self {
            var copy = self
            change(&copy.operation)
            return copy
        }

        /// Calls back with a registration.
        public func onRegistration(_ body: @escaping @Sendable (OutOfBandRegistration) -> Void) -> Self {
            var copy = self
            copy.registration = body
            return copy
        }
        /// Calls back with an authentication.
        public func onAuthentication(_ body: @escaping @Sendable (OutOfBandAuthentication) -> Void) -> Self {
            var copy = self
            copy.authentication = body
            return copy
        }
        /// Calls back when a service has had keys deleted, at the server and here.
        public func onDeregistration(_ body: @escaping @Sendable (DeregistrationResult) -> Void) -> Self {
            var copy = self
            copy.deregistration = body
            return copy
        }
        /// Calls back with the error.
        public func onError(_ body: @escaping @Sendable (OperationError) -> Void) -> Self {
            var copy = self
            copy.failure = body
            return copy
        }

        /// Starts it and returns; it ends in one call at the most, of the callback for what the token stood for or of
        /// `onError`, where that one was given. Where the token stands for an operation whose callback was not given, the
        /// token is used up, the server hears that there will be no answer, and the error is `missingInteraction`; a
        /// deregistration is carried out all the same. Dropping the handle cancels nothing.
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
    /// What ``OutOfBandPayloadDecode`` read.
    public func payload(_ payload: OutOfBandPayload) -> Self { self.changing { $0.payload = payload } }
}
