import _Primitives

/// A name for a value of an account, without the value itself. The owner of the value gave the name, and chooses the
/// value by the name.
public struct PersonalInformationAlias: Hashable, Sendable {
    /// The person's name for the value, for display.
    public let alias: String
    /// `true` if the app should offer this value first.
    public let isPrimary: Bool
    /// The server's identifier of the value. Two aliases are equal if their identifiers are equal.
    public let id: String

    /// Creates an alias.
    public init(id: String, alias: String, isPrimary: Bool) {
        self.id = id
        self.alias = alias
        self.isPrimary = isPrimary
    }

    public static func == (left: Self, right: Self) -> Bool { left.id.hasSameBytes(as: right.id) }
    public func hash(into hasher: inout Hasher) { self.id.hashBytes(into: &hasher) }
}

/// The server's final judgement of an attribute. Each code tells the app what to do.
public enum AuthenticationInformationErrorCode: String, Hashable, Sendable, CaseIterable {
    /// The attribute has no error. Leave the answer unchanged.
    case none
    /// The supplied value does not have the form of the attribute. Let the person type the value again.
    case invalid
    /// An answer was given for an attribute that was not requested, or a value was typed although the account has a
    /// value or the person cannot supply the attribute here. Supply no value.
    case notAvailable
    /// The account has no value, and the person typed none. Let the person type a value.
    case dataMissing
    /// The account has several values and none was chosen, or the chosen value is not among them. Let the person
    /// choose.
    case noAliasSelected
}

/// An attribute that a service requests, with the account's values.
public struct RequestedAttribute: Hashable, Sendable {
    /// The attribute.
    public var attribute: PersonalAttribute
    /// `true` if the service needs the attribute.
    public var isRequired: Bool
    /// `true` if the person can supply a missing value during the sign-in.
    public var isSuppliable: Bool
    /// The account's values, of which the service gets one; empty if the account has none.
    public var aliases: Set<PersonalInformationAlias>

    /// Creates a request. By default a person can supply every attribute that needs no verification.
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

/// A person's answer to an attribute.
public enum AttributeAnswer: Hashable, Sendable {
    /// The service gets this value of the account, by the server's identifier.
    case alias(id: String)
    /// The account gets this value, in its single spelling, and the service gets the value too.
    case value(String)
}

/// All attributes that a service requests.
public struct RequestedInformation: Hashable, Sendable {
    /// The attributes in the order of ``PersonalAttribute``, each once.
    public let attributes: [RequestedAttribute]

    /// Creates a request from attributes in any order. If an attribute occurs twice, the first counts.
    public init(_ attributes: [RequestedAttribute]) {
        self.attributes = PersonalAttribute.allCases.compactMap { attribute in
            attributes.first { $0.attribute == attribute }
        }
    }

    /// The result of a person's answers.
    public struct Confirmation: Hashable, Sendable {
        /// The attributes for the service. An optional attribute without an answer is left out.
        public let confirmed: [PersonalAttribute: AttributeAnswer]
        /// All errors at once. The answers are confirmed only if this is empty.
        public let errors: [PersonalAttribute: AuthenticationInformationErrorCode]
    }

    /// Judges the answers to the request. The server decides with this function, and a phone can use the function
    /// before.
    ///
    /// The only value of a required attribute needs no answer. The only value of an optional attribute needs an answer,
    /// because the person decides about giving the value away.
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

    /// Judges one answer; `nil` if an answer is neither present nor necessary.
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
