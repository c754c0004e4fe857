import PersonalInformation
import _Primitives

extension AdditionalEmail {
    /// The refusal of a further address of an account that has the address, or has enough addresses.
    package static let refusal = StoreError(.conflict, "an account has that address, or has enough of them")
}

/// An account's values of `email`, compared with an address of the account.
package struct EmailValues: Sendable, Equatable {
    /// The identifiers of the values that equal the address, ignoring the case of letters.
    package let equal: [String]
    private let count: Int

    /// Compares values with an address.
    package init(_ values: [(id: String, value: String)], address: String) {
        let address = address.asciiLowercased
        self.equal = values.filter { $0.value.asciiLowercased.hasSameBytes(as: address) }.map(\.id)
        self.count = values.count
    }

    /// Returns the identifiers of the values that are no longer verified after a confirmation was removed: the values
    /// that equal the address, unless the account still has the address in confirmed form.
    package func withdrawn(isConfirmed: Bool) -> [String] { isConfirmed ? [] : self.equal }

    /// The effect of a confirmed address on the account's values.
    package enum Confirmation: Sendable, Equatable {
        /// The confirmation adds no value, and this is its result: a value equals the address, or there is no room.
        case noValue(AddressConfirmation)
        /// The address becomes a value with this label.
        case value(alias: String)
    }

    /// Returns the effect of the confirmation of the address.
    ///
    /// - Parameter most: The largest number of values of an attribute.
    package func confirmation(most: Int) -> Confirmation {
        guard self.equal.isEmpty else { return .noValue(.complete) }
        guard self.count < most else { return .noValue(.withoutValue) }
        let name = PersonalAttribute.email.rawValue
        return .value(alias: self.count == 0 ? name : "\(name) \(self.count + 1)")
    }
}
