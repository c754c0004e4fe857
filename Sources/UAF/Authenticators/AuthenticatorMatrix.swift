/// The authenticators that a role requires, as alternatives. All types of an alternative together meet the alternative,
/// and no other set of types does.
///
/// The matrix is a strict UAF policy (§2.2): a response must meet one alternative completely and without a surplus
/// (founding decision, Strict policies).
public struct AuthenticatorMatrix: Hashable, Sendable {
    /// The alternatives, preferred alternatives first. Never empty, and no alternative is empty.
    public let alternatives: [[AuthenticatorType]]

    /// The largest number of alternatives.
    public static let maximumAlternatives = 16

    /// Creates a matrix from an administrator's configuration.
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
        // Such an alternative would sign without an action of a person.
        guard alternatives.allSatisfy({ !$0.allSatisfy(\.isSilent) }) else {
            throw AuthenticatorMatrixError(.silentAlone)
        }
        guard alternatives.contains(where: { !$0.contains(where: \.isReserved) }) else {
            throw AuthenticatorMatrixError(.unsupported)
        }
        self.alternatives = alternatives
    }

    /// Creates a matrix from the names of a server, possibly of a later version. The initializer leaves out an
    /// alternative with an unknown type, because this device could not meet such an alternative.
    ///
    /// Throws ``AuthenticatorMatrixError``: `unsupported` if no alternative remains, and the errors of ``init(_:)``.
    public init(names: [[String]]) throws(AuthenticatorMatrixError) {
        let known = names.compactMap { alternative -> [AuthenticatorType]? in
            let types = alternative.compactMap(AuthenticatorType.init(rawValue:))
            return types.count == alternative.count ? types : nil
        }
        guard names.isEmpty || !known.isEmpty else { throw AuthenticatorMatrixError(.unsupported) }
        try self.init(known)
    }

    /// The names of the types, for messages.
    public var names: [[String]] { self.alternatives.map { $0.map(\.rawValue) } }

    /// Returns the matrix with a type in every alternative: only the alternatives that already have the type, without
    /// alternatives that have a reserved type. If none of these exists, every alternative stays and gets the type.
    ///
    /// A change of the PIN requires the present PIN, even if the role does not.
    public func requiring(_ type: AuthenticatorType) -> Self {
        let having = self.alternatives.filter { $0.contains(type) && !$0.contains(where: \.isReserved) }
        var required: [[AuthenticatorType]] = []
        for alternative in having.isEmpty ? self.alternatives.map({ $0.contains(type) ? $0 : $0 + [type] }) : having
        where !required.contains(where: { Set($0) == Set(alternative) }) {
            required.append(alternative)
        }
        // All rules still hold: the change makes no alternative empty or silent alone, and an alternative without
        // reserved types remains.
        return Self(unchecked: required)
    }

    private init(unchecked alternatives: [[AuthenticatorType]]) { self.alternatives = alternatives }
}

// MARK: - What a device can do

extension AuthenticatorMatrix {
    /// The request to a device: the alternatives, and the missing types.
    public struct Request: Hashable, Sendable {
        /// The alternatives that the device can meet.
        ///
        /// If the device can meet none, all alternatives, so the app can name the missing types. Never empty.
        public let alternatives: [[AuthenticatorType]]
        /// The types that occur in any alternative and that the device lacks; empty if the device can meet an
        /// alternative.
        public let missing: Set<AuthenticatorType>
    }

    /// Returns the request to a device that has authenticators of the `enrolled` types.
    public func request(from enrolled: Set<AuthenticatorType>) -> Request {
        let met = self.alternatives.filter { $0.allSatisfy { enrolled.contains($0) && !$0.isReserved } }
        guard met.isEmpty else { return Request(alternatives: met, missing: []) }
        return Request(
            alternatives: self.alternatives, missing: Set(self.alternatives.joined()).subtracting(enrolled))
    }
}

// MARK: - As a policy

extension AuthenticatorMatrix {
    /// Returns the policy that any models of the types meet. The policy leaves out an alternative with a type that has
    /// no model.
    ///
    /// Throws ``AuthenticatorMatrixError`` `unsupported` if no alternative remains.
    public func policy(by table: AuthenticatorTypeTable) throws(AuthenticatorMatrixError) -> Policy {
        let accepted = self.alternatives.map { $0.map(table.models) }.filter { $0.allSatisfy { !$0.isEmpty } }
        guard !accepted.isEmpty else { throw AuthenticatorMatrixError(.unsupported) }
        return Policy(accepted: accepted.map { $0.map { MatchCriteria(aaid: $0) } })
    }

    /// Creates the matrix of a policy, from the types of the models in the policy's criteria. The initializer leaves
    /// out an alternative if a criterion names no model or models of several types.
    ///
    /// Throws ``AuthenticatorMatrixError``: `unsupported` if no alternative remains, and the errors of ``init(_:)``.
    public init(folding policy: Policy, by table: AuthenticatorTypeTable) throws(AuthenticatorMatrixError) {
        var alternatives: [[AuthenticatorType]] = []
        for criteria in policy.accepted {
            let types = criteria.compactMap { criterion -> AuthenticatorType? in
                guard let models = criterion.aaid, let first = models.first, let type = table.type(of: first) else {
                    return nil
                }
                return models.allSatisfy { table.type(of: $0) == type } ? type : nil
            }
            // A server lists the keys of each device in a separate alternative. For a person, these alternatives are
            // the same.
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
    /// An assertion of a response, after the check of its signature.
    public struct JudgedAssertion: Hashable, Sendable {
        /// The model that made the assertion.
        public var aaid: AAID
        /// `true` if the whole assertion is right.
        public var isValid: Bool

        /// Creates a judged assertion.
        public init(aaid: AAID, isValid: Bool) {
            self.aaid = aaid
            self.isValid = isValid
        }
    }

    /// Returns the alternative that the response meets, from 0; `nil` if the response meets none.
    ///
    /// A response meets an alternative if all assertions are valid, and if the response has exactly one assertion for
    /// each of the alternative's types. A surplus assertion, an assertion of an unknown model and a wrong assertion
    /// each fail the whole response. The function always checks every assertion, so the time does not reveal the wrong
    /// assertion.
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

/// The reason why a matrix cannot be configured, read or requested. Two errors are equal if their codes are equal.
public struct AuthenticatorMatrixError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case empty, tooMany, repeated, silentAlone, unsupported }
        private let base: Base
        /// The matrix has no alternative, or has an empty alternative.
        public static let empty = Self(base: .empty)
        /// The matrix has more alternatives than ``AuthenticatorMatrix/maximumAlternatives``.
        public static let tooMany = Self(base: .tooMany)
        /// An alternative occurs twice, or a type occurs twice in one alternative.
        public static let repeated = Self(base: .repeated)
        /// An alternative has only authenticators that sign without an action of a person.
        public static let silentAlone = Self(base: .silentAlone)
        /// No alternative can be met by a device.
        public static let unsupported = Self(base: .unsupported)
        public var description: String { self.base.rawValue }
    }

    /// The kind of error.
    public let code: Code

    /// Creates an error with the code.
    public init(_ code: Code) { self.code = code }

    public var description: String { "AuthenticatorMatrixError.\(self.code)" }
}
