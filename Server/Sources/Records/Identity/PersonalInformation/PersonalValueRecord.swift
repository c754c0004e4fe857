public import PersonalInformation
public import _Primitives

/// A value of an attribute that an account has. An attribute may have several values, each with its owner's label.
public struct PersonalValueRecord: Sendable, Equatable {
    /// The party that added a value.
    public enum Source: String, Sendable, CaseIterable {
        /// An operator.
        case administrator
        /// The person: in a session, or by confirming an e-mail address.
        case person
    }

    /// The identifier by which phones refer to the value: random, 16 bytes as base64url.
    public var id: String
    /// The attribute of the value.
    public var attribute: PersonalAttribute
    /// The owner's label for the value. Sealed at rest.
    public var alias: String
    /// The value in its single spelling. Sealed at rest.
    public var value: String
    /// `true` if the value is offered first. Exactly one value of an attribute is primary.
    public var isPrimary: Bool
    /// `true` if the value was verified.
    public var isVerified: Bool
    /// The party that added the value.
    public var source: Source
    /// The moment when the value was added.
    public var createdAt: Timestamp

    /// Describes a value.
    public init(
        id: String, attribute: PersonalAttribute, alias: String, value: String, isPrimary: Bool = false,
        isVerified: Bool = false, source: Source, createdAt: Timestamp
    ) {
        self.id = id
        self.attribute = attribute
        self.alias = alias
        self.value = value
        self.isPrimary = isPrimary
        self.isVerified = isVerified
        self.source = source
        self.createdAt = createdAt
    }
}

/// The facts about a value that a phone is told, without the value itself.
public struct PersonalAlias: Sendable, Equatable {
    /// The value's identifier.
    public var id: String
    /// The attribute of the value.
    public var attribute: PersonalAttribute
    /// The owner's label for the value.
    public var text: String
    /// `true` if the value is offered first.
    public var isPrimary: Bool
    /// `true` if the value was verified.
    public var isVerified: Bool

    /// Describes a value.
    public init(id: String, attribute: PersonalAttribute, text: String, isPrimary: Bool, isVerified: Bool) {
        self.id = id
        self.attribute = attribute
        self.text = text
        self.isPrimary = isPrimary
        self.isVerified = isVerified
    }
}

/// An operator's changes to a value. A property that is `nil` stays as it is.
public struct PersonalValueChange: Sendable, Equatable {
    /// The owner's new label for the value.
    public var alias: String?
    /// `true` if the value becomes the primary value, in place of the earlier primary value.
    public var becomesPrimary = false
    /// `true` if the value is verified from now on, `false` if it is not.
    public var isVerified: Bool?

    /// Makes a change with these values and no others.
    public init(alias: String? = nil, becomesPrimary: Bool = false, isVerified: Bool? = nil) {
        self.alias = alias
        self.becomesPrimary = becomesPrimary
        self.isVerified = isVerified
    }
}
