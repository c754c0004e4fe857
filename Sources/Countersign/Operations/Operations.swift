public import Ceremony
import UAF
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The operations of a client. Each operation is a builder that is executed once.
///
/// Call `try await` with its `execute()`. After a callback was set, `execute()` returns at once, and the operation ends
/// with a callback. If both a success and an error callback are set, exactly one of them is called. If only one is set,
/// it is called only for its own kind of end.
public struct Operations: Sendable {
    let core: ClientCore

    /// Reads the text of a QR code, a link or a message as a payload, and decrypts a payload that is encrypted to this
    /// device. Sends nothing and asks nobody.
    public var outOfBandPayloadDecode: OutOfBandPayloadDecode { OutOfBandPayloadDecode(core: self.core) }
    /// Redeems a payload's token and returns the operation that the token stands for.
    public var outOfBandOperation: OutOfBandOperation { OutOfBandOperation(core: self.core) }
    /// Denies a request that was started elsewhere, for example a request that the person did not begin.
    public var denial: Denial { Denial(core: self.core) }
    /// Has a new device of the person enrolled, and approves the new device: a code, its number, and a signature.
    public var deviceApproval: DeviceApproval { DeviceApproval(core: self.core) }
    /// Registers an authenticator for a person whose identity an authorization provider proves to the server.
    public var registration: Registration { Registration(core: self.core) }
    /// Registers an authenticator with the answer to a back end's request for an enrolment, or with the link of this
    /// answer.
    public var authCloudApiRegistration: AuthCloudApiRegistration { AuthCloudApiRegistration(core: self.core) }
    /// Authenticates a person with a known name.
    public var authentication: Authentication { Authentication(core: self.core) }
    /// Deletes an account's keys of this device, at the server and on the device.
    public var deregistration: Deregistration { Deregistration(core: self.core) }
    /// Replaces an account's PIN on this device. Sends nothing.
    public var pinChange: PinChange { PinChange(core: self.core) }
    /// Replaces an account's password on this device. Sends nothing.
    public var passwordChange: PasswordChange { PasswordChange(core: self.core) }
    /// Changes the name, the push address or the push setting of this device, at the server of each account.
    public var deviceInformationChange: DeviceInformationChange { DeviceInformationChange(core: self.core) }
    /// Compares this device with the server of each account.
    public var deviceInformationCheck: DeviceInformationCheck { DeviceInformationCheck(core: self.core) }
    /// Repairs differences between this device and the servers of its accounts.
    public var deviceInformationSync: DeviceInformationSync { DeviceInformationSync(core: self.core) }
    /// Fetches the activity of a person's account: notices, the browsers that are signed in, and the lasting grants of
    /// services.
    public var accountActivity: AccountActivity { AccountActivity(core: self.core) }
    /// Fetches only the notices of a person's account. The device itself authenticates the request, if the server knows
    /// its keys.
    public var accountNotices: AccountNotices { AccountNotices(core: self.core) }
    /// Fetches the receipts of what a person has confirmed. The device itself authenticates the request, if the server
    /// knows its keys.
    public var transactionReceipts: TransactionReceipts { TransactionReceipts(core: self.core) }
    /// Fetches everything that waits for this device, of all accounts and servers.
    public var pendingOutOfBandOperations: PendingOutOfBandOperations { PendingOutOfBandOperations(core: self.core) }
    /// Tells the app each change of the operations that wait for this device.
    public var pendingOutOfBandOperationsWatch: PendingOutOfBandOperationsWatch {
        PendingOutOfBandOperationsWatch(core: self.core)
    }
    /// Fetches the questions of services to a person, without a browser. The questions are also a part of
    /// ``pendingOutOfBandOperations``.
    public var waitingQuestions: WaitingQuestions { WaitingQuestions(core: self.core) }
    /// Ends a browser's session that ``accountActivity`` has listed, or all sessions of the account.
    public var sessionRevocation: SessionRevocation { SessionRevocation(core: self.core) }
    /// Revokes a service's grant that continues without a browser.
    public var grantRevocation: GrantRevocation { GrantRevocation(core: self.core) }
}

/// An operation that reads an out-of-band payload from exactly one of its forms.
///
/// A service can encrypt the payload to a device's own key (`application/jose`). The key's name in the payload finds the
/// account of this device. The person is not asked, because the key has no lock.
public struct OutOfBandPayloadDecode: SingleOperation {
    fileprivate enum Input {
        case json(String)
        case base64URLEncoded(String)
        case link(String)
        case scanned(String)
        case typedCode(String)
    }

    let core: ClientCore
    private let once = OneShot()
    fileprivate var inputs: [Input] = []

    init(core: ClientCore) { self.core = core }

    /// Reads the payload. Throws `operationReused` also if no form or several forms are given, and `decryptionError` for
    /// a payload that no key of this device opens.
    public func perform() async throws(OutOfBandPayloadError) -> OutOfBandPayload {
        guard self.once.take(), self.inputs.count == 1 else {
            throw OutOfBandPayloadError(.operationReused, "executed before, or not exactly one input")
        }
        let (identities, records) = (self.core.identities, await self.core.register.records)
        let agree: OutOfBandPayload.KeyAgreement = { try identities.agree(with: $1, byKey: $0, among: records) }
        switch self.inputs[0] {
        case .json(let text): return try OutOfBandPayload(json: text, agreeing: agree)
        case .base64URLEncoded(let text): return try OutOfBandPayload(base64URLEncoded: text, agreeing: agree)
        case .link(let text): return try OutOfBandPayload(link: text, agreeing: agree)
        case .scanned(let text): return try OutOfBandPayload(scanned: text, agreeing: agree)
        case .typedCode(let text): return try self.payload(typedCode: text)
        }
    }

    /// Reads ten letters of Crockford's base 32: no I, L, O, U. A letter that looks like a digit is read as the digit.
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
            redeemData: OutOfBandPayload.RedeemData(token: String(letters), redeemURL: url))
    }
}

extension OperationBuilder where Operation == OutOfBandPayloadDecode {
    /// Sets the payload as JSON.
    public func json(_ text: String) -> Self { self.changing { $0.inputs.append(.json(text)) } }
    /// Sets the payload as base64url of JSON, padded or not.
    public func base64URLEncoded(_ text: String) -> Self { self.changing { $0.inputs.append(.base64URLEncoded(text)) } }
    /// Sets a link with which the operating system opened the app. Pass the link unchanged, never its payload alone: a
    /// code that was made for scanning is refused from a link, because an attacker may have sent the link.
    public func link(_ text: String) -> Self { self.changing { $0.inputs.append(.link(text)) } }
    /// Sets the text that the app's own camera read from a QR code: the payload alone, as a sign-in page shows it, or a
    /// link.
    public func scanned(_ text: String) -> Self { self.changing { $0.inputs.append(.scanned(text)) } }
    /// Sets a sign-in code that a person typed, as the page shows it or without its dash, in upper or lower case. The
    /// code is a token for the configured server.
    public func typedCode(_ text: String) -> Self { self.changing { $0.inputs.append(.typedCode(text)) } }
}

extension OutOfBandPayloadDecode: CustomStringConvertible, CustomReflectable {
    /// A description without the input, which holds a token.
    public var description: String { "OutOfBandPayloadDecode" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
