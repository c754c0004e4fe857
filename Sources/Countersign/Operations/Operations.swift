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
/// `try await` its `execute()`. Given a callback first, its `execute()` returns at once and ends in one call: exactly one
/// where success and error each have their callback, none where the one alone that was given is not the end's.
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
    /// The notices of a person's account alone, which the device asks for by itself.
    public var accountNotices: AccountNotices { AccountNotices(core: self.core) }
    /// What services ask a person, without a browser.
    public var waitingQuestions: WaitingQuestions { WaitingQuestions(core: self.core) }
    /// Ends a browser's session that ``accountActivity`` has listed.
    public var sessionRevocation: SessionRevocation { SessionRevocation(core: self.core) }
    /// Takes back what a service has of a person that goes on without a browser.
    public var grantRevocation: GrantRevocation { GrantRevocation(core: self.core) }
}

/// Reads an out-of-band payload, from exactly one of its forms.
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

    /// Reads the payload; `operationReused` also where none or several forms are given.
    public func perform() async throws(OutOfBandPayloadError) -> OutOfBandPayload {
        guard self.once.take(), self.inputs.count == 1 else {
            throw OutOfBandPayloadError(.operationReused, "executed before, or not exactly one input")
        }
        switch self.inputs[0] {
        case .json(let text): return try OutOfBandPayload(json: text)
        case .base64URLEncoded(let text): return try OutOfBandPayload(base64URLEncoded: text)
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
            redeemData: OutOfBandPayload.RedeemData(token: String(letters), redeemURL: url))
    }
}

extension OperationBuilder where Operation == OutOfBandPayloadDecode {
    /// The payload as JSON.
    public func json(_ text: String) -> Self { self.changing { $0.inputs.append(.json(text)) } }
    /// The payload as base64url of JSON, padded or not.
    public func base64URLEncoded(_ text: String) -> Self { self.changing { $0.inputs.append(.base64URLEncoded(text)) } }
    /// A link that the operating system opened the app with. Give such a link as it is, never its payload alone: a code
    /// that was made for scanning is refused from a link, since somebody else may have sent it.
    public func link(_ text: String) -> Self { self.changing { $0.inputs.append(.link(text)) } }
    /// What the app's own camera read from a QR code: the payload alone, as a sign-in page shows it, or a link.
    public func scanned(_ text: String) -> Self { self.changing { $0.inputs.append(.scanned(text)) } }
    /// A sign-in code that a person typed, as the page shows it or without its dash, in either case: a token for the
    /// configured server.
    public func typedCode(_ text: String) -> Self { self.changing { $0.inputs.append(.typedCode(text)) } }
}

extension OutOfBandPayloadDecode: CustomStringConvertible, CustomReflectable {
    /// Without its input, which holds a token.
    public var description: String { "OutOfBandPayloadDecode" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
