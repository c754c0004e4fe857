import Ceremony
public import PersonalInformation
import _Primitives

/// An attribute that goes to a service with a signature.
public struct ConfirmedAttribute: Hashable, Sendable {
    /// Which one.
    public let attribute: PersonalAttribute
    /// The words by which the person knows the value, to be shown: one line. `nil` for a value that was typed.
    public let alias: String?
}

extension SessionDocument {
    /// What goes to the service, in the order of the attributes.
    var confirmedAttributes: [ConfirmedAttribute] {
        PersonalAttribute.allCases.compactMap { attribute in
            switch self.attributes[attribute] {
            case .alias(_, let text): ConfirmedAttribute(attribute: attribute, alias: DisplayText.line(text))
            case .supplied: ConfirmedAttribute(attribute: attribute, alias: nil)
            case nil: nil
            }
        }
    }
}
