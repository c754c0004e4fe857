import Ceremony
public import PersonalInformation
import _Primitives

/// An attribute that a service receives with a signature.
public struct ConfirmedAttribute: Hashable, Sendable {
    /// The kind of the attribute.
    public let attribute: PersonalAttribute
    /// The words by which the person knows the value, to be shown: one line. `nil` for a value that the person typed.
    public let alias: String?
}

extension SessionDocument {
    /// The attributes that the service receives, in the order of the attributes.
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
