/// Which authenticators a role asks for: alternatives, each of which is met by all of its types together and by no other.
///
/// It is a policy of UAF (§2.2), read strictly: a response has to be one alternative, whole and without a surplus
/// (founding decision, Strict policies).
public struct AuthenticatorMatrix: Hashable, Sendable {
    /// The alternatives, preferred ones first. Never empty, and none of them is.
    public let alternatives: [[AuthenticatorType]]

    /// The most alternatives.
    public static let maximumAlternatives = 16

    /// Takes what an administrator configures.
    ///
    /// Throws ``AuthenticatorMatrixError``: `empty`, `tooMany`, `repeated`, `silentAlone`, `unsupported`.
    public init(_ alternatives: [[AuthenticatorType]]) throws(AuthenticatorMatrixError) {
        guard !alternatives.isEmpty, alternatives.allSatisfy({ !$0.isEmpty }) else {
            throw AuthenticatorMatrixError(.empty)
        }
        guard alternatives.count <= Self.maximumAlternatives else { throw AuthenticatorMatrixError(.tooMany) }
        guard alternatives.allSatisfy({ Set($0).count == $0.count }),
            Set(alternatives.map { Set($0) }).count == alternatives.count
        else { throw AuthenticatorMatrixError(.repeated) }
        // They would sign without anybody's doing.
        guard alternatives.allSatisfy({ !$0.allSatisfy(\.isSilent) }) else {
            throw AuthenticatorMatrixError(.silentAlone)
        }
        guard alternatives.contains(where: { !$0.contains(where: \.isReserved) }) else {
            throw AuthenticatorMatrixError(.unsupported)
        }
        self.alternatives = alternatives
    }

    /// Reads what a server of perhaps a later version sends. An alternative with a type that is not known here is left
    /// out: this device could not meet it.
    ///
    /// Throws ``AuthenticatorMatrixError``: `unsupported` where none is left, and those of ``init(_:)``.
    public init(names: [[String]]) throws(AuthenticatorMatrixError) {
        let known = names.compactMap { alternative -> [AuthenticatorType]? in
            let types = alternative.compactMap(AuthenticatorType.init(rawValue:))
            return types.count == alternative.count ? types : nil
        }
        guard names.isEmpty || !known.isEmpty else { throw AuthenticatorMatrixError(.unsupported) }
        try self.init(known)
    }

    /// The names in messages.
    public var names: [[String]] { self.alternatives.map { $0.map(\.rawValue) } }

    /// The same with a type in every alternative: those that have it, or where none has, all of them with it.
    ///
    /// A change of the PIN asks for the present one, whatever the role does.
    public func requiring(_ type: AuthenticatorType) -> Self {
        let having = self.alternatives.filter { $0.contains(type) && !$0.contains(where: \.isReserved) }
        var required: [[AuthenticatorType]] = []
        for alternative in having.isEmpty ? self.alternatives.map({ $0.contains(type) ? $0 : $0 + [type] }) : having
        where !required.contains(where: { Set($0) == Set(alternative) }) {
            required.append(alternative)
        }
        // All rules hold still: none is empty or silent alone that was not, and one without reserved types stays.
        return Self(unchecked: required)
    }

    private init(unchecked alternatives: [[AuthenticatorType]]) { self.alternatives = alternatives }
}

// MARK: - What a device can do

extension AuthenticatorMatrix {
    /// What a device is asked for.
    public struct Request: Hashable, Sendable {
        /// The alternatives that the device can meet; all of them where it can meet none, so that the app can say what
        /// is missing. Never empty.
        public let alternatives: [[AuthenticatorType]]
        /// What the device lacks for every alternative; empty where it can meet one.
        public let missing: Set<AuthenticatorType>
    }

    /// What a device with authenticators of these types is asked for.
    public func request(from enrolled: Set<AuthenticatorType>) -> Request {
        let met = self.alternatives.filter { $0.allSatisfy { enrolled.contains($0) && !$0.isReserved } }
        guard met.isEmpty else { return Request(alternatives: met, missing: []) }
        return Request(
            alternatives: self.alternatives, missing: Set(self.alternatives.joined()).subtracting(enrolled))
    }
}

// MARK: - As a policy

extension AuthenticatorMatrix {
    /// The policy that any models of the types meet. An alternative with a type of which there is no model is left out.
    ///
    /// Throws ``AuthenticatorMatrixError`` `unsupported` where none is left.
    public func policy(by table: AuthenticatorTypeTable) throws(AuthenticatorMatrixError) -> Policy {
        let accepted = self.alternatives.map { $0.map(table.models) }.filter { $0.allSatisfy { !$0.isEmpty } }
        guard !accepted.isEmpty else { throw AuthenticatorMatrixError(.unsupported) }
        return Policy(accepted: accepted.map { $0.map { MatchCriteria(aaid: $0) } })
    }

    /// What a policy asks for, by the types of the models that its criteria name. An alternative with a criterion that
    /// names none, or models of other types too, is left out.
    ///
    /// Throws ``AuthenticatorMatrixError``: `unsupported` where none is left, and those of ``init(_:)``.
    public init(folding policy: Policy, by table: AuthenticatorTypeTable) throws(AuthenticatorMatrixError) {
        var alternatives: [[AuthenticatorType]] = []
        for criteria in policy.accepted {
            let types = criteria.compactMap { criterion -> AuthenticatorType? in
                guard let models = criterion.aaid, let first = models.first, let type = table.type(of: first) else {
                    return nil
                }
                return models.allSatisfy { table.type(of: $0) == type } ? type : nil
            }
            // A server names the keys of each device in an alternative of its own; to a person they are one.
            guard types.count == criteria.count, !alternatives.contains(where: { Set($0) == Set(types) }) else {
                continue
            }
            alternatives.append(types)
        }
        guard !alternatives.isEmpty else { throw AuthenticatorMatrixError(.unsupported) }
        try self.init(alternatives)
    }
}

// MARK: - Judging

extension AuthenticatorMatrix {
    /// An assertion of a response, after its signature was looked at.
    public struct JudgedAssertion: Hashable, Sendable {
        /// The model that made it.
        public var aaid: AAID
        /// Whether everything about it is right.
        public var isValid: Bool

        /// Describes an assertion.
        public init(aaid: AAID, isValid: Bool) {
            self.aaid = aaid
            self.isValid = isValid
        }
    }

    /// Which alternative a response is, from 0; `nil` where it is none.
    ///
    /// It is one where its assertions are valid, each of them, and are of the alternative's types, one of each: one that
    /// is to spare, of an unknown model or wrong fails all. Every assertion is looked at, so that the time does not tell
    /// which of them was wrong.
    public func alternative(of assertions: [JudgedAssertion], by table: AuthenticatorTypeTable) -> Int? {
        var isValid = !assertions.isEmpty
        var types: Set<AuthenticatorType> = []
        for assertion in assertions {
            let type = table.type(of: assertion.aaid)
            let isNew = type.map { types.insert($0).inserted } ?? false
            isValid = isValid && isNew
            isValid = assertion.isValid && isValid
        }
        var found: Int?
        for (index, alternative) in self.alternatives.enumerated() where Set(alternative) == types { found = index }
        return isValid ? found : nil
    }
}

/// Why a matrix cannot be configured, read or asked for. Two are equal when their codes are.
public struct AuthenticatorMatrixError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case empty, tooMany, repeated, silentAlone, unsupported }
        private let base: Base
        /// No alternative, or one that asks for nothing.
        public static let empty = Self(base: .empty)
        /// More alternatives than ``AuthenticatorMatrix/maximumAlternatives``.
        public static let tooMany = Self(base: .tooMany)
        /// An alternative that is there twice, or a type twice in one.
        public static let repeated = Self(base: .repeated)
        /// An alternative of authenticators that sign without anybody's doing.
        public static let silentAlone = Self(base: .silentAlone)
        /// No alternative that a device could meet.
        public static let unsupported = Self(base: .unsupported)
        public var description: String { self.base.rawValue }
    }

    /// What is wrong.
    public let code: Code

    /// An error with that code.
    public init(_ code: Code) { self.code = code }

    public var description: String { "AuthenticatorMatrixError.\(self.code)" }
}
