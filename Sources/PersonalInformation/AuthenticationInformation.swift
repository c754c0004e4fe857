import Foundation
import _Primitives

/// One attribute that a service asks for: what a screen shows of it, and where the person's answer goes.
///
/// A screen looks at it in this order: is it required; are data missing, so that a value is to be typed
/// (``setValue(value:)``); are there several values, so that one is to be chosen (``setSelection(_:)``). Otherwise there
/// is nothing to do but to say what the service will get. What was said can be taken back (``withdrawAnswer()``).
public final class AuthenticationInformation<Value: Sendable, Validator: PersonalInformationValidator>:
    // Safe to share: every access to `state` is within `lock`, and everything else never changes.
    @unchecked Sendable
where Validator.Value == Value {
    private struct State {
        var supplied: String?
        var selection: PersonalInformationAlias?
        var error = AuthenticationInformationErrorCode.none
    }

    /// Whether the service cannot do without. The authentication ends only when every required attribute is confirmed.
    public let isRequired: Bool
    /// Whether the account has no value, so that the person has to be asked for one.
    public let isDataMissing: Bool
    /// Whether a missing value can be supplied here. Where it cannot, the person adds it at the account's page first
    /// (`/account` of the server): an e-mail address is confirmed there by a link in mail. Who can sign in to no service
    /// without the value has it entered by the people who run the server.
    public let isSuppliable: Bool
    /// What judges a value, for a screen to show its bounds.
    public let validator: Validator
    /// The account's values, of which the service gets one. With more than one the person chooses; the only one of a
    /// required attribute is chosen already.
    public let aliases: Set<PersonalInformationAlias>

    /// What is chosen without a question.
    private let only: PersonalInformationAlias?
    private let lock = NSLock()
    private var state: State

    package init(_ request: RequestedAttribute, validator: Validator) {
        self.isRequired = request.isRequired
        self.isDataMissing = request.aliases.isEmpty
        self.isSuppliable = request.isSuppliable || Validator.ResultCode.notSuppliable == nil
        self.validator = validator
        self.aliases = request.aliases
        self.only = request.aliases.count == 1 && request.isRequired ? request.aliases.first : nil
        self.state = State(selection: self.only)
    }

    /// What was wrong when the request was prepared last.
    public var error: AuthenticationInformationErrorCode { self.lock.withLock { self.state.error } }

    /// Takes what the person has typed.
    ///
    /// With any other answer than `valid` no value is held any more, whatever was there before. The server has the last
    /// word when the request is prepared.
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

    /// Takes the value that the person has chosen, and returns it. `nil`, which changes nothing, for `nil` and for an
    /// alias that is not among ``aliases``: a mistake in the app's code. What takes a choice back is ``withdrawAnswer()``.
    @discardableResult public func setSelection(_ alias: PersonalInformationAlias?) -> PersonalInformationAlias? {
        guard let alias, let index = self.aliases.firstIndex(of: alias) else { return nil }
        let adopted = self.aliases[index]
        // What was typed before has not the last word any more.
        self.lock.withLock { (self.state.selection, self.state.supplied) = (adopted, nil) }
        return adopted
    }

    /// Takes back what the person has said: nothing is typed and nothing is chosen any more, as before they were asked. So a
    /// person who has confirmed an optional attribute, and then thinks better of it, does not give it away.
    ///
    /// The only value of a required attribute was chosen before anybody said anything, and stays chosen.
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
    /// The type alone: what a person types is no matter of a log.
    public var description: String { "AuthenticationInformation" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// An attribute, whatever the type of its values.
package protocol ConfirmableAttribute: AnyObject, Sendable {
    /// What the person has said so far.
    var answer: AttributeAnswer? { get }
    /// Says what the server found.
    func report(_ error: AuthenticationInformationErrorCode)
}
