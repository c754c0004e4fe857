import Ceremony
public import PersonalInformation
import _Primitives

/// What an authentication is for: the sentence that a person agrees to says it.
public enum AuthenticationPurpose: String, Hashable, Sendable, CaseIterable {
    /// A browser elsewhere is signed in.
    case userLogin
    /// This app is signed in.
    case serviceLogin
    /// A finger or a face is added.
    case addFactor
    /// The PIN is changed.
    case changePin
    /// A further device is given an activation.
    case newActivation
    /// The account is deleted, for good.
    case delete
    /// An invitation's account goes into this one.
    case merge

    init(_ purpose: SessionDocument.Purpose) {
        switch purpose {
        case .userLogin: self = .userLogin
        case .serviceLogin: self = .serviceLogin
        case .addFactor: self = .addFactor
        case .changePin: self = .changePin
        case .newActivation: self = .newActivation
        case .delete: self = .delete
        case .merge: self = .merge
        }
    }
}

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
