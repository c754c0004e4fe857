package import PersonalInformation
package import _Primitives

/// A value for services that rests with a disowned change.
package struct RestingValue: Sendable, Equatable {
    /// The attribute of the value.
    package let attribute: PersonalAttribute
    /// The value, as the change has added it.
    private let text: String

    /// Names an e-mail address.
    package static func email(_ address: String) -> Self { Self(attribute: .email, text: address) }

    /// Names a phone number.
    package static func phone(_ number: String) -> Self { Self(attribute: .phoneNumber, text: number) }

    /// Returns the identifiers of the values that equal this value. Two e-mail addresses are equal in any case of A to
    /// Z. Phone numbers are equal byte by byte.
    package func identifiers(among values: [(id: String, text: String)]) -> [String] {
        values.filter { self.folded($0.text).hasSameBytes(as: self.folded(self.text)) }.map(\.id)
    }

    private func folded(_ text: String) -> String {
        switch self.attribute {
        case .email: text.asciiLowercased
        default: text
        }
    }
}

/// A password that rests with a disowned change, and the unknown password in its place.
package struct RestingPassword: Sendable, Equatable {
    /// The earliest moment at which a resting password was set.
    package let setSince: Timestamp
    /// `true` if the disowned change has set the password.
    private let isOfChange: Bool

    private init(setSince: Timestamp, isOfChange: Bool) {
        self.setSince = setSince
        self.isOfChange = isOfChange
    }

    /// Describes the password that a change has set at `moment` or later.
    package init(ofChangeAt moment: Timestamp) { self.init(setSince: moment, isOfChange: true) }

    /// Describes the password beside a second factor that rests: the account's password, whenever it was set. A
    /// password alone would be less than the account had. `nil` if no second factor rests.
    package init?(besideFactors count: Int) {
        guard count > 0 else { return nil }
        self.init(setSince: Timestamp(milliseconds: 0), isOfChange: false)
    }

    /// Returns `true` if the change takes over a password that rests with another change: the other change was disowned
    /// first, and has taken this change's password to rest. From then on only a reclaim of its own change brings the
    /// password back.
    ///
    /// - Parameter moved: The number of passwords that the account had, and that rest from now on.
    package func takesOverResting(moved: Int) -> Bool { moved == 0 && self.isOfChange }

    /// Returns `true` if an unknown password takes the place of the account's password.
    ///
    /// - Parameter takenOver: The number of resting passwords that the change has taken over.
    package func isReplaced(moved: Int, takenOver: Int) -> Bool { moved > 0 || takenOver > 0 }
}
