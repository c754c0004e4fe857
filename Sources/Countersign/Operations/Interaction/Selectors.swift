public import Ceremony
public import UAF
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A screen on which the person chooses the account of an out-of-band authentication. The SDK calls the selector if the
/// server did not name an account, or if several accounts fit.
///
/// The answer comes through the handler, from any thread, within the configured time. The call may wait for the answer
/// or return earlier. A class of the main actor can conform to this protocol.
public protocol AccountSelector: Sendable {
    /// Chooses one of `context.accounts`. If `context.transactionConfirmationData` is not `nil`, the person sees and
    /// confirms the content here, and the content is not shown again.
    ///
    /// A selector that answers without having read the content, or a field of `payment`, has not shown the content: the
    /// authenticator selector must show it then.
    func selectAccount(context: AccountSelectionContext, handler: AccountSelectionHandler) async
}

/// The information for an account selector.
public struct AccountSelectionContext: Sendable {
    /// The accounts that can meet the server's policy.
    public let accounts: [RegisteredAccount]
    /// All authenticators of the device, each with the accounts for which it is registered. Not every authenticator can
    /// answer: see ``isPolicyCompliant(username:aaid:)``.
    public let authenticators: [AuthenticatorDescriptor]
    /// The content that the person must confirm: the bytes of a text, or of a picture if the app has declared that it
    /// shows such pictures. The bytes are the bytes that will be signed. `nil` if the operation has no content, and if
    /// a ``TransactionConfirmer`` shows the content.
    ///
    /// Reading this property tells the SDK that a screen has the content. Read it only to show the content, and before
    /// the answer. To learn if the operation has content, use ``hasContent``.
    public var transactionConfirmationData: Data? { self.exhibit.takeData() }
    /// The content type of ``transactionConfirmationData``: `textPlain`, in UTF-8, or `imagePNG`.
    public var transactionConfirmationContentType: TransactionContentType? { self.exhibit.contentType }
    /// The fields of the text if the text is a payment: show the fields as a table. `nil` for any other text.
    ///
    /// Reading a field counts like reading ``transactionConfirmationData``; comparing this property with `nil` does not
    /// count.
    public var payment: PaymentDetails? { self.exhibit.payment }
    /// `true` if this screen must show content for confirmation. Reading this property does not count as showing.
    public var hasContent: Bool { self.exhibit.hasContent }
    /// The service and browser that request the operation, as far as the server says.
    public let requester: Requester?
    /// `true` if the content counts as shown: its bytes or a field of the payment were read, or the app has said so.
    public var isContentRead: Bool { self.exhibit.isShown }
    let exhibit: Exhibit
    let compliant: [ExactText: Set<Aaid>]

    init(
        accounts: [RegisteredAccount], authenticators: [AuthenticatorDescriptor], exhibit: Exhibit,
        requester: Requester?,
        compliant: [ExactText: Set<Aaid>]
    ) {
        self.accounts = accounts
        self.authenticators = authenticators
        self.exhibit = exhibit
        self.requester = requester
        self.compliant = compliant
    }

    /// Creates a context for an app's own tests: `compliant` states the authenticators with which each account can
    /// answer.
    ///
    /// A text that is a payment has its fields. Some texts are refused by an operation before any screen is asked, such
    /// as a text with hidden letters or a text that only begins like a payment. This context passes such texts on as
    /// texts without fields.
    public init(
        accounts: [RegisteredAccount], authenticators: [AuthenticatorDescriptor], compliant: [Username: Set<Aaid>],
        transactionConfirmationData: Data? = nil,
        transactionConfirmationContentType: TransactionContentType = .textPlain, requester: Requester? = nil
    ) {
        self.init(
            accounts: accounts, authenticators: authenticators,
            exhibit: Exhibit(transactionConfirmationData, transactionConfirmationContentType), requester: requester,
            compliant: Dictionary(
                compliant.map { (ExactText($0.key.normalizedUsername ?? $0.key), $0.value) },
                uniquingKeysWith: { $0.union($1) }))
    }

    /// Declares that a screen shows the content, for an app that shows the content by other means than its bytes or
    /// fields. Call this function before the answer.
    public func contentWasShown() { self.exhibit.noteShown() }

    /// Returns `true` if the account can answer with the authenticator.
    public func isPolicyCompliant(username: Username, aaid: Aaid) -> Bool {
        username.normalizedUsername.flatMap { self.compliant[ExactText($0)] }?.contains(aaid) ?? false
    }
}

extension AccountSelectionContext: CustomStringConvertible, CustomReflectable {
    /// A description without the content to be confirmed: a context in a log is not shown to the person.
    public var description: String { "AccountSelectionContext(\(self.accounts.count) accounts)" }
    public var customMirror: Mirror {
        Mirror(self, children: ["accounts": self.accounts, "authenticators": self.authenticators])
    }
}

/// The receiver of the answer of an account selector. The first call counts.
public struct AccountSelectionHandler: Sendable {
    let reply: Reply<Username>

    init(answer: Answer<Selection<Username>>, exhibit: Exhibit) { self.reply = Reply(to: answer, noting: exhibit) }
    /// Creates a handler for an app's own tests. One of the closures is called, once.
    public init(
        username: @escaping @Sendable (Username) -> Void, cancel: @escaping @Sendable () -> Void = {},
        deny: @escaping @Sendable (DenialStatement) -> Void = { _ in }
    ) {
        self.reply = Reply(username, cancel: cancel, deny: deny)
    }

    /// Chooses the account.
    public func username(_ username: Username) { self.reply.give(username) }
    /// Gives up: the operation ends with `userCanceled`, and the server is told.
    public func cancel() { self.reply.cancel() }
    /// Denies the request: the server gets the person's denial, signed by this device, and the operation ends with
    /// `userCanceled`. See ``Denial``.
    public func deny(_ statement: DenialStatement = .unwanted) { self.reply.deny(statement) }
}

/// A screen on which the person chooses the authenticator of an operation. The SDK always calls the selector, even for
/// a single authenticator. If the chosen authenticator turns out to be gone, such as a reader that was pulled out, the
/// SDK calls the selector again with the others.
///
/// The answer comes through the handler, from any thread, within the configured time. The call may wait for the answer
/// or return earlier. A class of the main actor can conform to this protocol.
public protocol AuthenticatorSelector: Sendable {
    /// Chooses one of `context.authenticators`. If `context.transactionConfirmationData` is not `nil`, the person sees
    /// and confirms the content here.
    ///
    /// A selector that answers without having read the content, or a field of `payment`, has not shown the content: the
    /// operation ends with ``OperationError/Code/missingInteraction``.
    func selectAuthenticator(context: AuthenticatorSelectionContext, handler: AuthenticatorSelectionHandler) async
}

/// The information for an authenticator selector.
public struct AuthenticatorSelectionContext: Sendable {
    /// The account of the operation.
    public let account: RegisteredAccount
    /// All authenticators of the device: first the authenticators with which the operation can be done, in the order of
    /// the server's preference. Offer only these: see ``isPolicyCompliant(authenticatorAaid:)``.
    public let authenticators: [AuthenticatorDescriptor]
    /// The content that the person must confirm: the bytes of a text, or of a picture if the app has declared that it
    /// shows such pictures. The bytes are the bytes that will be signed. `nil` if the operation has no content, if an
    /// account selector has shown the content, or if a ``TransactionConfirmer`` shows it.
    ///
    /// Reading this property tells the SDK that a screen has the content. Read it only to show the content, and before
    /// the answer. To learn if the operation has content, use ``hasContent``.
    public var transactionConfirmationData: Data? { self.exhibit.takeData() }
    /// The content type of ``transactionConfirmationData``: `textPlain`, in UTF-8, or `imagePNG`.
    public var transactionConfirmationContentType: TransactionContentType? { self.exhibit.contentType }
    /// The fields of the text if the text is a payment: show the fields as a table. `nil` for any other text.
    ///
    /// Reading a field counts like reading ``transactionConfirmationData``; comparing this property with `nil` does not
    /// count.
    public var payment: PaymentDetails? { self.exhibit.payment }
    /// `true` if this screen must show content for confirmation. Reading this property does not count as showing.
    public var hasContent: Bool { self.exhibit.hasContent }
    /// The service and browser that request the operation, as far as the server says.
    public let requester: Requester?
    /// `true` if the content counts as shown: its bytes or a field of the payment were read, or the app has said so.
    public var isContentRead: Bool { self.exhibit.isShown }
    let exhibit: Exhibit
    let compliant: Set<Aaid>

    init(
        account: RegisteredAccount, authenticators: [AuthenticatorDescriptor], exhibit: Exhibit, requester: Requester?,
        compliant: Set<Aaid>
    ) {
        self.account = account
        self.authenticators = authenticators
        self.exhibit = exhibit
        self.requester = requester
        self.compliant = compliant
    }

    /// Creates a context for an app's own tests: `compliant` holds the authenticators with which the operation can be
    /// done.
    ///
    /// A text that is a payment has its fields. Some texts are refused by an operation before any screen is asked, such
    /// as a text with hidden letters or a text that only begins like a payment. This context passes such texts on as
    /// texts without fields.
    public init(
        account: RegisteredAccount, authenticators: [AuthenticatorDescriptor], compliant: Set<Aaid>,
        transactionConfirmationData: Data? = nil,
        transactionConfirmationContentType: TransactionContentType = .textPlain, requester: Requester? = nil
    ) {
        self.init(
            account: account, authenticators: authenticators,
            exhibit: Exhibit(transactionConfirmationData, transactionConfirmationContentType), requester: requester,
            compliant: compliant)
    }

    /// Declares that a screen shows the content, for an app that shows the content by other means than its bytes or
    /// fields. Call this function before the answer.
    public func contentWasShown() { self.exhibit.noteShown() }

    /// Returns `true` if the operation can be done with the authenticator. Choosing another authenticator ends the
    /// operation with ``FidoErrorCode/noSuitableAuthenticator``, or with ``OperationError/Code/missingInteraction`` if
    /// only a screen of the app is missing.
    public func isPolicyCompliant(authenticatorAaid aaid: Aaid) -> Bool { self.compliant.contains(aaid) }
}

extension AuthenticatorSelectionContext: CustomStringConvertible, CustomReflectable {
    /// A description without the content to be confirmed: a context in a log is not shown to the person.
    public var description: String { "AuthenticatorSelectionContext(\(self.authenticators.count) authenticators)" }
    public var customMirror: Mirror {
        Mirror(self, children: ["account": self.account, "authenticators": self.authenticators])
    }
}

/// The receiver of the answer of an authenticator selector. The first call counts.
public struct AuthenticatorSelectionHandler: Sendable {
    let reply: Reply<Aaid>

    init(answer: Answer<Selection<Aaid>>, exhibit: Exhibit) { self.reply = Reply(to: answer, noting: exhibit) }
    /// Creates a handler for an app's own tests. One of the closures is called, once.
    public init(
        aaid: @escaping @Sendable (Aaid) -> Void, cancel: @escaping @Sendable () -> Void = {},
        deny: @escaping @Sendable (DenialStatement) -> Void = { _ in }
    ) {
        self.reply = Reply(aaid, cancel: cancel, deny: deny)
    }

    /// Chooses the authenticator.
    public func aaid(_ aaid: Aaid) { self.reply.give(aaid) }
    /// Gives up: the operation ends with `userCanceled`, and the server is told.
    public func cancel() { self.reply.cancel() }
    /// Denies the request: the server gets the person's denial, signed by this device, and the operation ends with
    /// `userCanceled`. See ``Denial``.
    /// In a registration the denial is a cancellation, because the device has no key yet.
    public func deny(_ statement: DenialStatement = .unwanted) { self.reply.deny(statement) }
}

/// A screen on which the person confirms a browser as their own, if the account has not used the browser before. The
/// SDK asks this question apart from all other questions. Without a verifier, an operation of such a browser ends with
/// ``OperationError/Code/missingInteraction``.
///
/// The answer comes through the handler, from any thread, within the configured time. The call may wait for the answer
/// or return earlier. A class of the main actor can conform to this protocol.
public protocol RequesterVerifier: Sendable {
    /// Asks the person if `context.requester` is the person's own browser.
    func verifyRequester(context: RequesterVerificationContext, handler: RequesterVerificationHandler) async
}

/// The information for a requester verifier.
public struct RequesterVerificationContext: Sendable {
    /// The account of the operation.
    public let account: RegisteredAccount
    /// The service and browser that request the operation.
    public let requester: Requester

    /// Creates a context. Public also for an app's own tests.
    public init(account: RegisteredAccount, requester: Requester) {
        self.account = account
        self.requester = requester
    }
}

/// The receiver of the answer of a requester verifier. The first call counts.
public struct RequesterVerificationHandler: Sendable {
    let reply: Reply<Void>

    init(answer: Answer<Void>) { self.reply = Reply(to: answer) }
    /// Creates a handler for an app's own tests. One of the closures is called, once.
    public init(
        approve: @escaping @Sendable () -> Void, cancel: @escaping @Sendable () -> Void = {},
        deny: @escaping @Sendable (DenialStatement) -> Void = { _ in }
    ) {
        self.reply = Reply({ approve() }, cancel: cancel, deny: deny)
    }

    /// Approves the browser as the person's own. The account remembers the browser once the operation has succeeded.
    public func approve() { self.reply.give(()) }
    /// Refuses the browser, or gives up: the operation ends with `userCanceled`, and the server is told.
    public func cancel() { self.reply.cancel() }
    /// Denies the request: the server gets the person's denial, signed by this device, and the operation ends with
    /// `userCanceled`. See ``Denial``.
    public func deny(_ statement: DenialStatement = .unwanted) { self.reply.deny(statement) }
}
