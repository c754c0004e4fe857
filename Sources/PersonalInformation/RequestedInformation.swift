import _Primitives

/// A value that an account has, without the value: a word that its owner gave it, to be chosen by.
public struct PersonalInformationAlias: Hashable, Sendable {
    /// What the person called the value, to be shown.
    public let alias: String
    /// Whether this is the value to be offered first.
    public let isPrimary: Bool
    /// The server's name for the value: two aliases are the same when theirs are.
    public let id: String

    /// Describes a value.
    public init(id: String, alias: String, isPrimary: Bool) {
        self.id = id
        self.alias = alias
        self.isPrimary = isPrimary
    }

    public static func == (left: Self, right: Self) -> Bool { left.id.hasSameBytes(as: right.id) }
    public func hash(into hasher: inout Hasher) { self.id.hashBytes(into: &hasher) }
}

/// What is wrong with an attribute, by the server's last word. Each says what the app should do.
public enum AuthenticationInformationErrorCode: String, Hashable, Sendable, CaseIterable {
    /// Nothing: leave it as it is.
    case none
    /// The value that was supplied has not the form that the attribute has. Have the person type it again.
    case invalid
    /// A value was supplied for an attribute that none was asked for. Supply none.
    case notAvailable
    /// A value is needed, and none was supplied. Have the person type one.
    case dataMissing
    /// There are several values, and none of them was chosen. Have the person choose.
    case noAliasSelected
}

/// An attribute that a service asks for, and what the account has of it.
public struct RequestedAttribute: Hashable, Sendable {
    /// Which one.
    public var attribute: PersonalAttribute
    /// Whether the service cannot do without.
    public var isRequired: Bool
    /// Whether a value that the account has not can be supplied on the way.
    public var isSuppliable: Bool
    /// The account's values, of which the service gets one. Empty: the account has none.
    public var aliases: Set<PersonalInformationAlias>

    /// Describes a request. By default what needs no verification can be supplied.
    public init(
        _ attribute: PersonalAttribute, isRequired: Bool = true, isSuppliable: Bool? = nil,
        aliases: Set<PersonalInformationAlias> = []
    ) {
        self.attribute = attribute
        self.isRequired = isRequired
        self.isSuppliable = isSuppliable ?? !attribute.needsVerification
        self.aliases = aliases
    }
}

/// What a person says to an attribute.
public enum AttributeAnswer: Hashable, Sendable {
    /// The service shall have this value of the account, by the server's name for it.
    case alias(id: String)
    /// The account shall have this value, in its one spelling, and the service too.
    case value(String)
}

/// All that a service asks of a person.
public struct RequestedInformation: Hashable, Sendable {
    /// The attributes in the order of ``PersonalAttribute``, none twice.
    public let attributes: [RequestedAttribute]

    /// Takes the attributes in any order; of one that is there twice the first counts.
    public init(_ attributes: [RequestedAttribute]) {
        self.attributes = PersonalAttribute.allCases.compactMap { attribute in
            attributes.first { $0.attribute == attribute }
        }
    }

    /// What a person's answers come to.
    public struct Confirmation: Hashable, Sendable {
        /// What goes to the service. What is optional and was not answered is not among it.
        public let confirmed: [PersonalAttribute: AttributeAnswer]
        /// What is wrong, all of it at once. Nothing is confirmed unless this is empty.
        public let errors: [PersonalAttribute: AuthenticationInformationErrorCode]
    }

    /// Holds answers against what was asked: the server's judgement, which a phone can have beforehand.
    ///
    /// The only value that there is of a required attribute needs no answer; that of an optional one does, because to
    /// give it away is the person's choice.
    public func judge(_ answers: [PersonalAttribute: AttributeAnswer], by rules: PersonalInformationRules)
        -> Confirmation
    {
        var confirmed: [PersonalAttribute: AttributeAnswer] = [:]
        var errors: [PersonalAttribute: AuthenticationInformationErrorCode] = [:]
        for (attribute, _) in answers where !self.attributes.contains(where: { $0.attribute == attribute }) {
            errors[attribute] = .notAvailable
        }
        for request in self.attributes {
            switch Self.judge(answers[request.attribute], to: request, by: rules) {
            case .some(.success(let answer)): confirmed[request.attribute] = answer
            case .some(.failure(let refusal)): errors[request.attribute] = refusal.code
            case .none: break
            }
        }
        return Confirmation(confirmed: errors.isEmpty ? confirmed : [:], errors: errors)
    }

    private struct Refusal: Error { let code: AuthenticationInformationErrorCode }

    /// `nil` where nothing was said and nothing has to be.
    private static func judge(
        _ answer: AttributeAnswer?, to request: RequestedAttribute, by rules: PersonalInformationRules
    ) -> Result<AttributeAnswer, Refusal>? {
        func refused(_ code: AuthenticationInformationErrorCode) -> Result<AttributeAnswer, Refusal> {
            .failure(Refusal(code: code))
        }
        switch answer {
        case .value(let text):
            guard request.aliases.isEmpty, request.isSuppliable else { return refused(.notAvailable) }
            return rules.accept(text, for: request.attribute) ? .success(.value(text)) : refused(.invalid)
        case .alias(let id):
            guard !request.aliases.isEmpty else { return refused(.dataMissing) }
            let isThere = request.aliases.contains { $0.id.hasSameBytes(as: id) }
            return isThere ? .success(.alias(id: id)) : refused(.noAliasSelected)
        case nil:
            guard request.isRequired else { return nil }
            guard let only = request.aliases.first else { return refused(.dataMissing) }
            return request.aliases.count == 1 ? .success(.alias(id: only.id)) : refused(.noAliasSelected)
        }
    }
}
