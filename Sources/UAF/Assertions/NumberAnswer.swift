import Crypto
import _Primitives

/// The number that a person has typed on the phone to answer a request that the person has begun elsewhere.
///
/// The answer is an extension of the data that an authenticator signs (§3.1): the SHA-256 of the number, bound to the
/// final challenge. Only a receiver that knows the number can judge the answer. A receiver that does not know the
/// extension ignores the extension (§15): the extension is never critical.
public struct NumberAnswer: Hashable, Sendable {
    /// The `id` of the extension. A change of the form needs another `id`.
    public static let id = "countersign.number.1"

    private let hash: [UInt8]
    private let finalChallengeHash: [UInt8]

    /// Returns the extension for the data that an authenticator signs.
    ///
    /// - Parameters:
    ///   - number: The typed digits.
    ///   - finalChallenge: The text of the final challenge parameters that the assertion answers.
    public static func assertionExtension(number: String, finalChallenge: String) -> AssertionExtension {
        AssertionExtension(
            id: Self.id, data: Self.hash(number, FinalChallengeParams.hash(ofEncoded: finalChallenge)),
            isCritical: false)
    }

    /// Finds the answer among the extensions of an assertion; `nil` if the assertion has none.
    ///
    /// Throws ``UAFError``: `duplicateTag` for two answers, `invalidLength` for other data than a hash.
    public init?(among extensions: [AssertionExtension], finalChallengeHash: [UInt8]) throws(UAFError) {
        let found = extensions.filter { $0.id.hasSameBytes(as: Self.id) }
        guard let data = found.first?.data else { return nil }
        guard found.count == 1 else { throw UAFError(.duplicateTag, "a typed number") }
        guard data.count == SHA256.byteCount else { throw UAFError(.invalidLength, "a typed number") }
        self.hash = data
        self.finalChallengeHash = finalChallengeHash
    }

    /// Returns `true` if the person has typed this number. The time of the comparison says nothing about the number.
    public func isNumber(_ number: String) -> Bool {
        constantTimeEqual(self.hash, Self.hash(number, self.finalChallengeHash))
    }

    private static func hash(_ number: String, _ finalChallengeHash: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: Array(Self.id.utf8) + finalChallengeHash + Array(number.utf8)))
    }
}
