public import Ceremony
import UAF
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The operations of a client. Each is a builder that is executed once.
///
/// `execute()` with `await` returns or throws. Without `await` it returns at once and ends in exactly one call of
/// `onSuccess` or `onError`.
public struct Operations: Sendable {
    let core: ClientCore

    /// Reads what a QR code, a link or a message brought. Sends nothing.
    public var outOfBandPayloadDecode: OutOfBandPayloadDecode { OutOfBandPayloadDecode(core: self.core) }
    /// Redeems a payload's token and finds out what is to be done.
    public var outOfBandOperation: OutOfBandOperation { OutOfBandOperation(core: self.core) }
    /// Registers an authenticator for a person whom the server knows by an authorization provider.
    public var registration: Registration { Registration(core: self.core) }
    /// Authenticates a person whose name the app knows.
    public var authentication: Authentication { Authentication(core: self.core) }
    /// Deletes an account's keys of this device, at the server and here.
    public var deregistration: Deregistration { Deregistration(core: self.core) }
    /// What has happened on a person's account: notices, and the browsers that are signed in.
    public var accountActivity: AccountActivity { AccountActivity(core: self.core) }
    /// Ends a browser's session that ``accountActivity`` has listed.
    public var sessionRevocation: SessionRevocation { SessionRevocation(core: self.core) }
}

/// Reads an out-of-band payload, from exactly one of its forms.
public struct OutOfBandPayloadDecode: SingleOperation {
    private enum Input {
        case json(String)
        case base64UrlEncoded(String)
        case link(String)
        case scanned(String)
        case typedCode(String)
    }

    let core: ClientCore
    /// The SDK's alone.
    public var run = OperationRun<OutOfBandPayload, OutOfBandPayloadError>()
    private var inputs: [Input] = []

    init(core: ClientCore) { self.core = core }

    /// The payload as JSON.
    public func json(_ text: String) -> Self { self.with { $0.inputs.append(.json(text)) } }
    /// The payload as base64url of JSON, padded or not.
    public func base64UrlEncoded(_ text: String) -> Self { self.with { $0.inputs.append(.base64UrlEncoded(text)) } }
    /// A link that the operating system opened the app with. Give such a link as it is, never its payload alone: a code
    /// that was made for scanning is refused from a link, since somebody else may have sent it.
    public func link(_ text: String) -> Self { self.with { $0.inputs.append(.link(text)) } }
    /// What the app's own camera read from a QR code: the payload alone, as a sign-in page shows it, or a link.
    public func scanned(_ text: String) -> Self { self.with { $0.inputs.append(.scanned(text)) } }
    /// A sign-in code that a person typed, as the page shows it or without its dash, in either case: a token for the
    /// configured server.
    public func typedCode(_ text: String) -> Self { self.with { $0.inputs.append(.typedCode(text)) } }

    /// Reads the payload; `operationReused` also where none or several forms are given.
    public func perform() async throws(OutOfBandPayloadError) -> OutOfBandPayload {
        guard self.run.begin(), self.inputs.count == 1 else {
            throw OutOfBandPayloadError(.operationReused, "executed before, or not exactly one input")
        }
        switch self.inputs[0] {
        case .json(let text): return try OutOfBandPayload(json: text)
        case .base64UrlEncoded(let text): return try OutOfBandPayload(base64URLEncoded: text)
        case .link(let text): return try OutOfBandPayload(link: text)
        case .scanned(let text): return try OutOfBandPayload(scanned: text)
        case .typedCode(let text): return try self.payload(typedCode: text)
        }
    }

    /// Ten letters of Crockford's base 32: no I, L, O, U; the letters that look like digits are read as these.
    private func payload(typedCode text: String) throws(OutOfBandPayloadError) -> OutOfBandPayload {
        let letters = text.asciiUppercased.filter { $0 != "-" && !$0.isWhitespace }
            .map { ["I": "1", "L": "1", "O": "0"][$0] ?? $0 }
        guard letters.count == 10, letters.allSatisfy({ "0123456789ABCDEFGHJKMNPQRSTVWXYZ".contains($0) }) else {
            throw OutOfBandPayloadError(.malformedPayload, "not a sign-in code")
        }
        let configuration = self.core.configuration
        guard let url = configuration.address(configuration.authenticationRedeemPath) else {
            throw OutOfBandPayloadError(.malformedPayload, "the configured address is not one")
        }
        return try OutOfBandPayload(
            redeemData: OutOfBandPayload.RedeemData(token: String(letters), redeemUrl: url))
    }
}

extension OutOfBandPayloadDecode: CustomStringConvertible, CustomReflectable {
    /// Without its input, which holds a token.
    public var description: String { "OutOfBandPayloadDecode" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Redeems a payload's token, once, and hands over the operation that it stands for.
public struct OutOfBandOperation: Sendable {
    let core: ClientCore
    private let once = OneShot()
    private var payload: OutOfBandPayload?
    private var onRegistration: (@Sendable (OutOfBandRegistration) -> Void)?
    private var onAuthentication: (@Sendable (OutOfBandAuthentication) -> Void)?
    private var onDeregistration: (@Sendable (DeregistrationResult) -> Void)?
    private var onError: (@Sendable (OperationError) -> Void)?

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

    /// What ``OutOfBandPayloadDecode`` read.
    public func payload(_ payload: OutOfBandPayload) -> Self { self.with { $0.payload = payload } }
    /// Called with a registration, for `execute()` without `await`.
    public func onRegistration(_ body: @escaping @Sendable (OutOfBandRegistration) -> Void) -> Self {
        self.with { $0.onRegistration = body }
    }
    /// Called with an authentication, for `execute()` without `await`.
    public func onAuthentication(_ body: @escaping @Sendable (OutOfBandAuthentication) -> Void) -> Self {
        self.with { $0.onAuthentication = body }
    }
    /// Called when a service has had keys deleted, at the server and here, for `execute()` without `await`.
    public func onDeregistration(_ body: @escaping @Sendable (DeregistrationResult) -> Void) -> Self {
        self.with { $0.onDeregistration = body }
    }
    /// Called with the error, for `execute()` without `await`.
    public func onError(_ body: @escaping @Sendable (OperationError) -> Void) -> Self {
        self.with { $0.onError = body }
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
                redeemData.redeemUrl.path() == self.core.configuration.deregistrationRedeemPath
                ? try await deregistration.redeem(redeemData.token, at: redeemData.redeemUrl)
                : try await exchange.redeem(redeemData.token, at: redeemData.redeemUrl)
            // The server has deleted its keys already, however the token came here.
            if answer.message.operation == .deregistration {
                return .deregistration(try await deregistration.carryOut(answer, token: redeemData.token))
            }
            // Only the redeemed token says how it was meant to travel.
            guard !payload.isFromLink || answer.isForLinks else {
                await exchange.decline(answer)
                throw OperationError(.codeCameByLink, answer.message.dispatchChannel ?? "")
            }
            try Task.checkCancellation()
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

    /// Redeems the token and calls one of `onRegistration`, `onAuthentication`, `onDeregistration` and `onError`, once.
    /// A deregistration is carried out also where nobody wants to hear of it.
    public func execute() {
        Task {
            do {
                switch try await self.execute() as Redeemed {
                case .registration(let operation):
                    guard let onRegistration else {
                        throw OperationError(.missingInteraction, "onRegistration")
                    }
                    onRegistration(operation)
                case .authentication(let operation):
                    guard let onAuthentication else {
                        throw OperationError(.missingInteraction, "onAuthentication")
                    }
                    onAuthentication(operation)
                case .deregistration(let result):
                    guard let onDeregistration else {
                        throw OperationError(.missingInteraction, "onDeregistration")
                    }
                    onDeregistration(result)
                }
            } catch {
                self.onError?(OperationError(translating: error))
            }
        }
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}
