public import UAF
import UAFClient

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What the content of a transaction is (UAF Protocol 1.1, dictionary Transaction).
public typealias TransactionContentType = UAF.Transaction.ContentType

/// A kind of PNG pictures, by what their files say of themselves (UAF, DisplayPNGCharacteristicsDescriptor).
public typealias PictureDisplay = UAF.DisplayPNGCharacteristics

/// Chooses the account of an out-of-band authentication: called when the server did not name one, or several fit.
///
/// The call returns at once; the answer comes through the handler, from any thread, within the configured time.
public protocol AccountSelector: Sendable {
    /// Chooses one of `context.accounts`. Where `context.transactionConfirmationData` is there, the person sees and
    /// confirms it here; it is not shown again.
    func selectAccount(context: AccountSelectionContext, handler: AccountSelectionHandler)
}

/// What an account selector needs to know.
public struct AccountSelectionContext: Sendable {
    /// The accounts that can meet the server's policy.
    public let accounts: [Account]
    /// The authenticators of the device, each with the accounts that it is registered for.
    public let authenticators: [AuthenticatorDescriptor]
    /// What the person is to confirm: the bytes of a text, or of a picture where the app has said that it shows such
    /// ones, as they will be signed. `nil` where there is nothing.
    public let transactionConfirmationData: Data?
    /// What ``transactionConfirmationData`` is: `textPlain`, in UTF-8, or `imagePNG`.
    public let transactionConfirmationContentType: TransactionContentType?
    /// The fields of that text where it is a payment: show them as a table. `nil` for any other text.
    public let payment: PaymentDetails?
    /// Who asks, as far as the server says.
    public let requester: Requester?
    let compliant: [Username: Set<Aaid>]

    /// Whether the account can answer with that authenticator.
    public func isPolicyCompliant(username: Username, aaid: Aaid) -> Bool {
        self.compliant[username]?.contains(aaid) ?? false
    }
}

/// Takes the answer of an account selector. The first call counts.
public struct AccountSelectionHandler: Sendable {
    let answer: Answer<Username>

    /// Chooses the account.
    public func username(_ username: Username) { self.answer.give(.success(username)) }
    /// Gives up: the operation ends with `userCanceled`, and the server hears of it.
    public func cancel() { self.answer.give(.failure(UserVerificationError.cancelled)) }
}

/// Chooses the authenticator of an operation: always called, also for a single one, and again among the others where the
/// chosen one turns out to be gone, such as a reader that was pulled out.
///
/// The call returns at once; the answer comes through the handler, from any thread, within the configured time.
public protocol AuthenticatorSelector: Sendable {
    /// Chooses one of `context.authenticators`. Where `context.transactionConfirmationData` is there, the person sees
    /// and confirms it here.
    func selectAuthenticator(context: AuthenticatorSelectionContext, handler: AuthenticatorSelectionHandler)
}

/// What an authenticator selector needs to know.
public struct AuthenticatorSelectionContext: Sendable {
    /// Whose operation it is.
    public let account: Account
    /// The authenticators of the device, those of the server's preference first.
    public let authenticators: [AuthenticatorDescriptor]
    /// What the person is to confirm, unless an account selector has shown it: the bytes of a text, or of a picture where
    /// the app has said that it shows such ones, as they will be signed.
    public let transactionConfirmationData: Data?
    /// What ``transactionConfirmationData`` is: `textPlain`, in UTF-8, or `imagePNG`.
    public let transactionConfirmationContentType: TransactionContentType?
    /// The fields of that text where it is a payment: show them as a table. `nil` for any other text.
    public let payment: PaymentDetails?
    /// Who asks, as far as the server says.
    public let requester: Requester?
    let compliant: Set<Aaid>

    /// Whether the operation can be done with that authenticator. Another choice ends it with
    /// ``FidoErrorCode/noSuitableAuthenticator``.
    public func isPolicyCompliant(authenticatorAaid aaid: Aaid) -> Bool { self.compliant.contains(aaid) }
}

/// Takes the answer of an authenticator selector. The first call counts.
public struct AuthenticatorSelectionHandler: Sendable {
    let answer: Answer<Aaid>

    /// Chooses the authenticator.
    public func aaid(_ aaid: Aaid) { self.answer.give(.success(aaid)) }
    /// Gives up: the operation ends with `userCanceled`, and the server hears of it.
    public func cancel() { self.answer.give(.failure(UserVerificationError.cancelled)) }
}

/// Confirms that a browser which this account has not used before is the person's own. Called apart from all other
/// questions; without one, ``Requester/isNewBrowser`` is all that tells.
///
/// The call returns at once; the answer comes through the handler, from any thread, within the configured time.
public protocol RequesterVerifier: Sendable {
    /// Asks whether `context.requester` is the person's own doing.
    func verifyRequester(context: RequesterVerificationContext, handler: RequesterVerificationHandler)
}

/// What a requester verifier needs to know.
public struct RequesterVerificationContext: Sendable {
    /// Whose operation it is.
    public let account: Account
    /// Who asks.
    public let requester: Requester
}

/// Takes the answer of a requester verifier. The first call counts.
public struct RequesterVerificationHandler: Sendable {
    let answer: Answer<Bool>

    /// It is the person's own browser: remembered for the account once the operation has succeeded.
    public func approve() { self.answer.give(.success(true)) }
    /// It is not, or the person gives up: the operation ends with `userCanceled`, and the server hears of it.
    public func cancel() { self.answer.give(.failure(UserVerificationError.cancelled)) }
}

/// Who started an operation and from where, for the person to compare. Every text is one line without control or
/// format characters; the origin's host is in ASCII.
public struct Requester: Hashable, Sendable {
    /// The service's name.
    public let service: String?
    /// The service's web origin.
    public let origin: String?
    /// The browser's network address.
    public let address: String?
    /// The browser and its system, in words.
    public let browser: String?
    /// An opaque name of the browser, the same for the same browser.
    public let browserId: String?
    /// Whether the account, or each account in question, has not confirmed anything from that browser before.
    public let isNewBrowser: Bool
    /// How the token came: `link`, `link-png-qr-code`, `png-qr-code` or `typed`.
    public let channel: String?
}
