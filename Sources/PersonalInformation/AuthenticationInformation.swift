import Foundation
import _Primitives

/// An attribute that a service requests: the data for a screen, and the person's answer.
///
/// A screen checks three properties in this order. Is the attribute required? Are data missing, so the person has to
/// type a value (``setValue(value:)``)? Does the account have several values, so the person has to choose a value
/// (``setSelection(_:)``)? Otherwise the screen only tells the person which value the service will get. The person can
/// withdraw an answer (``withdrawAnswer()``).
public final class AuthenticationInformation<Value: Sendable, Validator: PersonalInformationValidator>:
    // Safe to share: every access to `state` is within `lock`, and everything else never changes.
    @unchecked Sendable
where Validator.Value == Value {
    private struct State {
        var supplied: String?
        var selection: PersonalInformationAlias?
        var error = AuthenticationInformationErrorCode.none
    }

    /// The attribute.
    public let attribute: PersonalAttribute
    /// `true` if the service needs the attribute. The authentication can succeed only after every required attribute
    /// is confirmed.
    public let isRequired: Bool
    /// `true` if the account has no value, so only the person can give a value, if ``isSuppliable`` is `true`.
    public let isDataMissing: Bool
    /// `true` if the person can supply a missing value here.
    ///
    /// If `false`, the person first adds the value on the account's page (`/account` of the server), for example an
    /// e-mail address, which a link in a mail confirms there. If the person can sign in to no service without the
    /// value, the operators of the server enter the value. The server's word alone counts: a server may forbid any
    /// attribute.
    public let isSuppliable: Bool
    /// The validator of values. A screen can show its bounds.
    public let validator: Validator
    /// The account's values, of which the service gets one.
    ///
    /// The person chooses among several values. A single value of a required attribute is chosen automatically.
    public let aliases: Set<PersonalInformationAlias>

    /// The value that is chosen without a question.
    private let only: PersonalInformationAlias?
    private let lock = NSLock()
    private var state: State

    package init(_ request: RequestedAttribute, validator: Validator) {
        self.attribute = request.attribute
        self.isRequired = request.isRequired
        self.isDataMissing = request.aliases.isEmpty
        self.isSuppliable = request.isSuppliable
        self.validator = validator
        self.aliases = request.aliases
        self.only = request.aliases.count == 1 && request.isRequired ? request.aliases.first : nil
        self.state = State(selection: self.only)
    }

    /// The error at the last preparation of the request; `none` before the first preparation.
    public var error: AuthenticationInformationErrorCode { self.lock.withLock { self.state.error } }

    /// Sets the value that the person has typed.
    ///
    /// Set a value only if ``isDataMissing`` is `true`: the server refuses a typed value beside values of the account.
    /// Any result other than `valid` also discards an earlier value. The server makes the final decision when the
    /// request is prepared. If ``isSuppliable`` is `false` for an attribute whose codes cannot say so, the function
    /// judges the form of the value alone, and the server refuses the value (`notAvailable`).
    @discardableResult public func setValue(value: Value?) -> Validator.ResultCode {
        if !self.isSuppliable, let refusal = Validator.ResultCode.notSuppliable {
            self.lock.withLock { self.state.supplied = nil }
            return refusal
        }
        switch self.validator.judge(value) {
        case .accepted(let spelling):
            self.lock.withLock { self.state.supplied = spelling }
            return .valid
        case .refused(let code):
            self.lock.withLock { self.state.supplied = nil }
            return code
        }
    }

    /// Chooses one of the values, and returns the value.
    ///
    /// Returns `nil` without a change for `nil` and for an alias outside ``aliases``, which is a mistake in the app's
    /// code. To withdraw a choice, use ``withdrawAnswer()``.
    @discardableResult public func setSelection(_ alias: PersonalInformationAlias?) -> PersonalInformationAlias? {
        guard let alias, let index = self.aliases.firstIndex(of: alias) else { return nil }
        let adopted = self.aliases[index]
        // The choice replaces an earlier typed value.
        self.lock.withLock { (self.state.selection, self.state.supplied) = (adopted, nil) }
        return adopted
    }

    /// Withdraws the person's answer: no value is typed or chosen any more, as before the question. A person who has
    /// confirmed an optional attribute can therefore change their mind and keep the attribute private.
    ///
    /// The only value of a required attribute was chosen without the person, and stays chosen.
    public func withdrawAnswer() {
        self.lock.withLock {
            self.state.supplied = nil
            self.state.selection = self.only
        }
    }
}

extension AuthenticationInformation: ConfirmableAttribute {
    package var answer: AttributeAnswer? {
        self.lock.withLock { self.state.supplied.map { .value($0) } ?? self.state.selection.map { .alias(id: $0.id) } }
    }

    package func report(_ error: AuthenticationInformationErrorCode) { self.lock.withLock { self.state.error = error } }
}

extension AuthenticationInformation: CustomStringConvertible, CustomReflectable {
    /// The type alone, because a person's input does not belong in a log.
    public var description: String { "AuthenticationInformation" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// An attribute with any type of values.
package protocol ConfirmableAttribute: AnyObject, Sendable {
    /// The attribute.
    var attribute: PersonalAttribute { get }
    /// The person's answer so far.
    var answer: AttributeAnswer? { get }
    /// Stores the server's result.
    func report(_ error: AuthenticationInformationErrorCode)
}
