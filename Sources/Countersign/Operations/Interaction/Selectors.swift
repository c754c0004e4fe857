public import UAF
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Chooses the account of an out-of-band authentication: called when the server did not name one, or several fit.
///
/// The answer comes through the handler, from any thread, within the configured time; the call may wait for it or return
/// before. A class of the main actor can be one.
public protocol AccountSelector: Sendable {
    /// Chooses one of `context.accounts`. Where `context.transactionConfirmationData` is there, the person sees and
    /// confirms it here, and it is not shown again. A selector that answers without having read it, or a field of
    /// `payment`, has not shown it: then the authenticator selector must.
    func selectAccount(context: AccountSelectionContext, handler: AccountSelectionHandler) async
}

/// What an account selector needs to know.
public struct AccountSelectionContext: Sendable {
    /// The accounts that can meet the server's policy.
    public let accounts: [RegisteredAccount]
    /// The authenticators of the device, each with the accounts that it is registered for.
    public let authenticators: [AuthenticatorDescriptor]
    /// What the person is to confirm: the bytes of a text, or of a picture where the app has said that it shows such
    /// ones, as they will be signed. `nil` where there is nothing, and where a ``TransactionConfirmer`` shows it.
    ///
    /// Reading it is what tells the SDK that a screen has it: read it to show it, and before the answer. Whether there is
    /// something is ``hasContent``.
    public var transactionConfirmationData: Data? { self.exhibit.takeData() }
    /// What ``transactionConfirmationData`` is: `textPlain`, in UTF-8, or `imagePNG`.
    public var transactionConfirmationContentType: TransactionContentType? { self.exhibit.contentType }
    /// The fields of that text where it is a payment: show them as a table. `nil` for any other text. Reading a field
    /// counts as reading ``transactionConfirmationData`` does; asking whether it is a payment does not.
    public var payment: PaymentDetails? { self.exhibit.payment }
    /// Whether there is something to confirm that this screen has to show. Asking counts for nothing.
    public var hasContent: Bool { self.exhibit.hasContent }
    /// Who asks, as far as the server says.
    public let requester: Requester?
    /// Whether the content counts as shown: its bytes or a field of the payment have been read, or the app has said so.
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

    /// A context for an app's own tests: `compliant` says which authenticators each account can answer with. A text that
    /// is a payment has its fields. What an operation refuses before any screen is asked, such as a text with hidden
    /// letters or one that only begins like a payment, is handed on here as a text without fields.
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

    /// Says that a screen has the content, for an app that shows it by other means than its bytes or fields. Call it before
    /// the answer.
    public func contentWasShown() { self.exhibit.noteShown() }

    /// Whether the account can answer with that authenticator.
    public func isPolicyCompliant(username: Username, aaid: Aaid) -> Bool {
        username.normalizedUsername.flatMap { self.compliant[ExactText($0)] }?.contains(aaid) ?? false
    }
}

extension AccountSelectionContext: CustomStringConvertible, CustomReflectable {
    /// Without what is to be confirmed: writing a context into a log shows it to nobody.
    public var description: String { "AccountSelectionContext(\(self.accounts.count) accounts)" }
    public var customMirror: Mirror {
        Mirror(self, children: ["accounts": self.accounts, "authenticators": self.authenticators])
    }
}

/// Takes the answer of an account selector. The first call counts.
public struct AccountSelectionHandler: Sendable {
    let reply: Reply<Username>

    init(answer: Answer<Selection<Username>>, exhibit: Exhibit) { self.reply = Reply(to: answer, noting: exhibit) }
    /// A handler for an app's own tests: one of the two is called, once.
    public init(username: @escaping @Sendable (Username) -> Void, cancel: @escaping @Sendable () -> Void = {}) {
        self.reply = Reply(username, cancel: cancel)
    }

    /// Chooses the account.
    public func username(_ username: Username) { self.reply.give(username) }
    /// Gives up: the operation ends with `userCanceled`, and the server hears of it.
    public func cancel() { self.reply.cancel() }
}

/// Chooses the authenticator of an operation: always called, also for a single one, and again among the others where the
/// chosen one turns out to be gone, such as a reader that was pulled out.
///
/// The answer comes through the handler, from any thread, within the configured time; the call may wait for it or return
/// before. A class of the main actor can be one.
public protocol AuthenticatorSelector: Sendable {
    /// Chooses one of `context.authenticators`. Where `context.transactionConfirmationData` is there, the person sees
    /// and confirms it here. A selector that answers without having read it, or a field of `payment`, has not shown it:
    /// the operation ends with ``OperationError/Code/missingInteraction``.
    func selectAuthenticator(context: AuthenticatorSelectionContext, handler: AuthenticatorSelectionHandler) async
}

/// What an authenticator selector needs to know.
public struct AuthenticatorSelectionContext: Sendable {
    /// Whose operation it is.
    public let account: RegisteredAccount
    /// The authenticators of the device, those of the server's preference first.
    public let authenticators: [AuthenticatorDescriptor]
    /// What the person is to confirm, unless an account selector has shown it or a ``TransactionConfirmer`` does: the
    /// bytes of a text, or of a picture where the app has said that it shows such ones, as they will be signed.
    ///
    /// Reading it is what tells the SDK that a screen has it: read it to show it, and before the answer. Whether there is
    /// something is ``hasContent``.
    public var transactionConfirmationData: Data? { self.exhibit.takeData() }
    /// What ``transactionConfirmationData`` is: `textPlain`, in UTF-8, or `imagePNG`.
    public var transactionConfirmationContentType: TransactionContentType? { self.exhibit.contentType }
    /// The fields of that text where it is a payment: show them as a table. `nil` for any other text. Reading a field
    /// counts as reading ``transactionConfirmationData`` does; asking whether it is a payment does not.
    public var payment: PaymentDetails? { self.exhibit.payment }
    /// Whether there is something to confirm that this screen has to show. Asking counts for nothing.
    public var hasContent: Bool { self.exhibit.hasContent }
    /// Who asks, as far as the server says.
    public let requester: Requester?
    /// Whether the content counts as shown: its bytes or a field of the payment have been read, or the app has said so.
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

    /// A context for an app's own tests: `compliant` are the authenticators that the operation can be done with. A text
    /// that is a payment has its fields. What an operation refuses before any screen is asked, such as a text with hidden
    /// letters or one that only begins like a payment, is handed on here as a text without fields.
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

    /// Says that a screen has the content, for an app that shows it by other means than its bytes or fields. Call it before
    /// the answer.
    public func contentWasShown() { self.exhibit.noteShown() }

    /// Whether the operation can be done with that authenticator. Another choice ends it with
    /// ``FidoErrorCode/noSuitableAuthenticator``.
    public func isPolicyCompliant(authenticatorAaid aaid: Aaid) -> Bool { self.compliant.contains(aaid) }
}

extension AuthenticatorSelectionContext: CustomStringConvertible, CustomReflectable {
    /// Without what is to be confirmed: writing a context into a log shows it to nobody.
    public var description: String { "AuthenticatorSelectionContext(\(self.authenticators.count) authenticators)" }
    public var customMirror: Mirror {
        Mirror(self, children: ["account": self.account, "authenticators": self.authenticators])
    }
}

/// Takes the answer of an authenticator selector. The first call counts.
public struct AuthenticatorSelectionHandler: Sendable {
    let reply: Reply<Aaid>

    init(answer: Answer<Selection<Aaid>>, exhibit: Exhibit) { self.reply = Reply(to: answer, noting: exhibit) }
    /// A handler for an app's own tests: one of the two is called, once.
    public init(aaid: @escaping @Sendable (Aaid) -> Void, cancel: @escaping @Sendable () -> Void = {}) {
        self.reply = Reply(aaid, cancel: cancel)
    }

    /// Chooses the authenticator.
    public func aaid(_ aaid: Aaid) { self.reply.give(aaid) }
    /// Gives up: the operation ends with `userCanceled`, and the server hears of it.
    public func cancel() { self.reply.cancel() }
}

/// Confirms that a browser which this account has not used before is the person's own. Called apart from all other
/// questions; without one, an operation that such a browser has asked for ends with
/// ``OperationError/Code/missingInteraction``.
///
/// The answer comes through the handler, from any thread, within the configured time; the call may wait for it or return
/// before. A class of the main actor can be one.
public protocol RequesterVerifier: Sendable {
    /// Asks whether `context.requester` is the person's own doing.
    func verifyRequester(context: RequesterVerificationContext, handler: RequesterVerificationHandler) async
}

/// What a requester verifier needs to know.
public struct RequesterVerificationContext: Sendable {
    /// Whose operation it is.
    public let account: RegisteredAccount
    /// Who asks.
    public let requester: Requester

    /// A context, for an app's own tests too.
    public init(account: RegisteredAccount, requester: Requester) {
        self.account = account
        self.requester = requester
    }
}

/// Takes the answer of a requester verifier. The first call counts.
public struct RequesterVerificationHandler: Sendable {
    let reply: Reply<Void>

    init(answer: Answer<Void>) { self.reply = Reply(to: answer) }
    /// A handler for an app's own tests: one of the two is called, once.
    public init(approve: @escaping @Sendable () -> Void, cancel: @escaping @Sendable () -> Void = {}) {
        self.reply = Reply({ approve() }, cancel: cancel)
    }

    /// It is the person's own browser: remembered for the account once the operation has succeeded.
    public func approve() { self.reply.give(()) }
    /// It is not, or the person gives up: the operation ends with `userCanceled`, and the server hears of it.
    public func cancel() { self.reply.cancel() }
}
