public import PersonalInformation
public import _Primitives

/// A value that an account has of an attribute. There may be several, each with a word of its owner's.
public struct PersonalValueRecord: Sendable, Equatable {
    /// Who brought a value.
    public enum Source: String, Sendable, CaseIterable {
        /// An operator.
        case administrator
        /// The person, on the way to a service.
        case person
    }

    /// Random, 16 bytes as base64url: what phones call the value by.
    public var id: String
    /// What it is a value of.
    public var attribute: PersonalAttribute
    /// What its owner calls it. Sealed at rest.
    public var alias: String
    /// The value in its one spelling. Sealed at rest.
    public var value: String
    /// Whether it is the one that is offered first: exactly one of an attribute's is.
    public var isPrimary: Bool
    /// Whether somebody has seen to it that it is true.
    public var isVerified: Bool
    /// Who brought it.
    public var source: Source
    /// When it came.
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

/// A value without the value: what a phone is told of it.
public struct PersonalAlias: Sendable, Equatable {
    /// The value's identifier.
    public var id: String
    /// What it is a value of.
    public var attribute: PersonalAttribute
    /// What its owner calls it.
    public var text: String
    /// Whether it is the one that is offered first.
    public var isPrimary: Bool
    /// Whether somebody has seen to it that it is true.
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

/// What an operator changes of a value; what is `nil` stays as it is.
public struct PersonalValueChange: Sendable, Equatable {
    /// What its owner calls it.
    public var alias: String?
    /// That it is the one that is offered first, in the place of the one that was.
    public var becomesPrimary = false
    /// Whether it is true.
    public var isVerified: Bool?

    /// These changes and no others.
    public init(alias: String? = nil, becomesPrimary: Bool = false, isVerified: Bool? = nil) {
        self.alias = alias
        self.becomesPrimary = becomesPrimary
        self.isVerified = isVerified
    }
}
