public import Ceremony
import Settings
public import UAF
public import _Primitives

/// A way for back ends to get the token of a dispatch to a phone (decision 110).
///
/// A dispatcher is one type and one entry of ``Dispatchers``. The engine makes the token, writes the ceremony and
/// answers the back end. The dispatcher only gives the token a form.
public protocol Dispatcher: Sendable {
    /// The name by which back ends choose the dispatcher (`dispatcher`): lower-case letters of ASCII, digits and
    /// hyphens, at least one.
    var name: String { get }
    /// The way of the token. The server tells the channel to the phone that redeems the token, and the phone takes a
    /// token from a link only if the channel allows links. Several dispatchers can have the same channel.
    var channel: DispatchChannel { get }
    /// `true` if back ends may send data for the dispatcher (`dispatchInformation`). The default is `false`.
    var takesInformation: Bool { get }

    /// Returns the part of the answer that the back end gets at once. The engine calls the function before the ceremony
    /// is written.
    ///
    /// Throws ``CeremonyError`` with the code `invalidRequest` for data that the dispatcher does not accept: the back
    /// end gets 400 with the error's reason, and nothing is dispatched. After any other error the result of the
    /// dispatch is `internalError`; the log names no cause, so the dispatcher logs the cause itself.
    func dispatcherInformation(for operation: DispatchedOperation) throws -> DispatcherInformation
}

extension Dispatcher {
    public var takesInformation: Bool { false }
}

/// A dispatcher that sends tokens to a single target of its own, which a back end names (`dispatchTargetId`).
///
/// The targets are the dispatcher's own: the server passes the identifier of a target on as the back end sent the
/// identifier. The back end has to name the person too, and the dispatcher answers for the target being a device of
/// this person.
public protocol TargetedDispatcher: DeliveringDispatcher {
    /// Says what is delivered to a target later. The engine calls the function before the ceremony is written.
    ///
    /// Throws as ``Dispatcher/dispatcherInformation(for:)``.
    func delivery(of operation: DispatchedOperation, to target: String) async throws -> DispatchDelivery
}

/// The operation of a dispatch, as a dispatcher sees the operation.
public struct DispatchedOperation: Sendable {
    /// The token, and the address that redeems the token.
    public let payload: OutOfBandPayload
    /// The payload as a link of the server.
    public let link: String
    /// The identifier of the account of the person who is asked; `nil` if the phone decides who answers. Never `nil`
    /// for a ``DeliveringDispatcher``.
    public let accountID: String?
    /// The time until which the token can be redeemed.
    public let expiresAt: Timestamp
    /// The data of the back end for the dispatcher (`dispatchInformation`), not checked; always `nil` if the dispatcher
    /// takes no such data.
    public let dispatchInformation: JSONObject?

    /// Creates an operation. The engine makes the operations of a server; the authors of dispatchers try their
    /// dispatchers with operations of their own.
    public init(
        payload: OutOfBandPayload, link: String, accountID: String?, expiresAt: Timestamp,
        dispatchInformation: JSONObject? = nil
    ) {
        self.payload = payload
        self.link = link
        self.accountID = accountID
        self.expiresAt = expiresAt
        self.dispatchInformation = dispatchInformation
    }
}

/// The part of a dispatch's answer that a dispatcher makes.
public struct DispatcherInformation: Sendable, Equatable {
    /// The link for the phone; `nil` if the dispatcher makes none.
    public var link: String?
    /// The text of a QR code, from 1 to ``Limits/Fixed/qrCodeBytes`` bytes without a zero byte; `nil` if the dispatcher
    /// makes no QR code. The server draws the picture. After another text the result of the dispatch is
    /// `internalError`.
    public var qrContent: String?
    /// The text of `response` in `dispatcherInformation`. If `nil`, the picture of the QR code takes its place, or the
    /// link if no QR code exists.
    public var response: String?

    /// `true` if the server can draw the text of the QR code, or if there is no such text.
    var canBeDrawn: Bool {
        guard let content = self.qrContent?.utf8 else { return true }
        return !content.isEmpty && content.count <= Limits.Fixed.qrCodeBytes && !content.contains(0)
    }

    /// Creates the part of the answer.
    public init(link: String? = nil, qrContent: String? = nil, response: String? = nil) {
        self.link = link
        self.qrContent = qrContent
        self.response = response
    }
}

/// The answer of a dispatcher to the question what a target gets.
public enum DispatchDelivery: Sendable, Equatable {
    /// The message for ``DeliveringDispatcher/deliver(_:)``.
    case message(DispatchMessage)
    /// The person has no such target: the result is `dispatchTargetNotFound`.
    case targetNotFound
    /// The target no longer receives messages: the result is `dispatchTargetExpired`.
    case targetExpired
}

/// A message to a target.
public struct DispatchMessage: Sendable, Equatable {
    /// The identifier of the target.
    public let target: String
    /// The content in the dispatcher's own form. The content has the token, a secret.
    public let content: [UInt8]

    /// Creates a message.
    public init(target: String, content: [UInt8]) {
        self.target = target
        self.content = content
    }
}
