public import Countersign
import Foundation

/// The entry of the number that the place of the request shows.
public struct NumberEntry: Hashable, Sendable {
    /// The number of digits.
    public let length: Int
    /// The lines about the request.
    public let request: [Approval.Row]
    /// The reason for asking again; `nil` for the first question.
    public let error: ScreenError?
    private(set) var digits: String = ""

    /// Creates the entry of a number.
    public init(_ context: NumberMatchContext) {
        self.length = context.length
        self.request = Approval.rows(account: context.account, requester: context.requester)
        self.error = context.lastRecoverableError.map { ScreenError($0) }
    }

    /// The typed digits in groups of three, as the page shows the number.
    public var shown: String {
        var shown = ""
        for (index, digit) in self.digits.enumerated() {
            if index > 0, index.isMultiple(of: 3) { shown += " " }
            shown.append(digit)
        }
        return shown
    }

    /// Types a digit from 0 to 9. Other numbers, and digits past ``length``, change nothing.
    public mutating func press(_ digit: Int) {
        guard (0...9).contains(digit), self.digits.utf8.count < self.length else { return }
        self.digits += "\(digit)"
    }

    /// Erases the last digit.
    public mutating func erase() { self.digits = String(self.digits.dropLast()) }

    /// The whole number; `nil` before the last digit. Nothing is sent before the person goes on.
    public var number: String? { self.digits.utf8.count == self.length ? self.digits : nil }
}

/// A choice of an account or of an authenticator.
public struct ScreenChoice: Hashable, Sendable {
    /// An entry of the choice.
    public struct Option: Hashable, Sendable, Identifiable {
        /// The answer to the SDK: the account's name, or the authenticator's model.
        public let id: String
        /// The words of an authenticator; `nil` for an account, whose name is shown.
        public let label: ScreenText?
        /// The address of the account's server, for two accounts of one name.
        public let server: String?
    }

    /// The title.
    public let title: ScreenText
    /// The entries that can answer the request.
    public let options: [Option]

    /// Creates the choice of an account, of the accounts with an authenticator that the server accepts.
    public init(_ context: AccountSelectionContext) {
        self.title = .accountTitle
        self.options = context.accounts.filter { account in
            context.authenticators.contains {
                context.isPolicyCompliant(username: account.username, aaid: $0.aaid)
            }
        }.map { Option(id: $0.username, label: nil, server: $0.server.baseURL.host()) }
    }

    /// Creates the choice of an authenticator, of the authenticators that the server accepts and that the device can use
    /// now.
    public init(_ context: AuthenticatorSelectionContext) {
        self.title = .authenticatorTitle
        self.options = context.authenticators.filter {
            context.isPolicyCompliant(authenticatorAaid: $0.aaid) && $0.isSupportedByHardware && $0.isUserEnrolled
        }.map { Option(id: $0.aaid, label: Self.label($0.kind), server: nil) }
    }

    private static func label(_ kind: AuthenticatorDescriptor.Kind) -> ScreenText {
        switch kind {
        case .pin: .pin
        case .password: .password
        case .fingerprint: .fingerprint
        case .face: .face
        case .devicePasscode: .devicePasscode
        default: .devicePossession
        }
    }
}
