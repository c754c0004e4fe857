public import PersonalInformation
public import _Primitives

/// The bounds of a server's validators for phones: lengths in characters, for the attributes with a length. An
/// attribute without an entry has the bounds of this version.
public struct ValidatorBounds: IdentityMessage, Hashable {
    /// The lengths, by attribute.
    public var lengths: [PersonalAttribute: ClosedRange<Int>]

    /// Creates the bounds of a server's rules.
    public init(_ rules: PersonalInformationRules) {
        self.lengths = rules.lengths
    }

    /// Creates the bounds of a server's rules for the attributes of a session. A screen shows no other attributes.
    public init(_ rules: PersonalInformationRules, of attributes: Set<PersonalAttribute>) {
        self.init(rules)
        self.lengths = self.lengths.filter { attributes.contains($0.key) }
    }

    /// Returns the rules of a phone: the server's lengths, and the other rules of this version.
    public func rules(birthdate: BirthdateValidator) -> PersonalInformationRules {
        PersonalInformationRules(birthdate: birthdate).with(lengths: self.lengths)
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        var lengths: [PersonalAttribute: ClosedRange<Int>] = [:]
        for (name, value) in object.members {
            guard let attribute = PersonalAttribute(exactly: name) else { continue }
            guard case .array(let bounds) = value, bounds.count == 2, case .integer(let lower) = bounds[0],
                case .integer(let upper) = bounds[1], (0...4096).contains(lower), (lower...4096).contains(upper)
            else { throw IdentityMessageError(.malformed, "bounds") }
            lengths[attribute] = Int(lower)...Int(upper)
        }
        self.lengths = lengths
    }

    public var json: JSONObject {
        var object: JSONObject = [:]
        for attribute in PersonalAttribute.allCases {
            object[attribute.rawValue] = self.lengths[attribute].map {
                .array([.integer(Int64($0.lowerBound)), .integer(Int64($0.upperBound))])
            }
        }
        return object
    }
}
