public import UAF
import _Primitives

/// The factors that a ceremony of a personalised identity has requested from a device.
public struct ExpectedFactors: Sendable {
    /// The challenge: the hash of the session document. The caller replaces the challenge after every attempt.
    public var challenge: Challenge
    /// The AppID of the request; if empty, the caller's facetID takes its place.
    public var appID: String
    /// The alternatives of factors that the role requires.
    public var matrix: AuthenticatorMatrix
    /// The account whose keys must sign, in the caller's naming.
    public var account: String
    /// The registration of the device whose keys must sign, in the caller's naming.
    public var deviceRegistration: String

    /// Keeps the contents of a request.
    public init(
        challenge: Challenge, appID: String, matrix: AuthenticatorMatrix, account: String, deviceRegistration: String
    ) {
        self.challenge = challenge
        self.appID = appID
        self.matrix = matrix
        self.account = account
        self.deviceRegistration = deviceRegistration
    }
}

/// The verdict on the factors of one attempt. Nobody learns the reason of a refusal, neither the sender nor a log.
public enum FactorVerdict: Hashable, Sendable {
    /// The factors are exactly one complete alternative of the matrix, and all of them are right.
    case accepted(VerifiedFactors)
    /// The factors are refused.
    case refused
}

/// Factors that are all right. Only ``FactorVerifier`` makes a value of this type.
public struct VerifiedFactors: Hashable, Sendable {
    /// The index of the alternative in the matrix, from 0.
    public let alternative: Int
    /// Each factor once, in the order of device, PIN and finger or face.
    public let factors: [Factor]
    /// The caller of the client: a web origin or an app.
    public let facetID: FacetID
    /// The final challenge as it was sent. Every factor has signed its hash.
    public let finalChallenge: String

    /// One factor.
    public struct Factor: Hashable, Sendable {
        /// The type that the role requested.
        public let type: AuthenticatorType
        /// The signature. The caller stores its new counter, only if the stored counter is still the old counter.
        public let signature: VerifiedAuthentication.Signature
        /// The assertion as it was sent, for evidence; `nil` for a PIN: an assertion by a PIN would allow others to try
        /// PINs.
        public let assertion: [UInt8]?
    }

    /// The methods and the level of the person's authentication.
    public var assurance: AuthenticationAssurance {
        AuthenticationAssurance(self.factors.map(\.signature.assurance))
    }
}

/// Judges the factors of personalised identities: a policy of UAF, read strictly (§2.2, §8.4; founding decision, Strict
/// policies).
///
/// The verifier does the same work for every response. It verifies one signature for each type that a device can have.
/// If the response or the device lacks a type, the verifier uses a key that nobody holds. Every rule is checked for
/// every factor, and the results are combined at the end. So neither the answer nor the time reveals which factor was
/// wrong, missing or superfluous; above all, they do not reveal whether a PIN was right.
public struct FactorVerifier: Sendable {
    /// A function that returns `true` if a signature belongs to a key.
    package typealias SignatureCheck =
        @Sendable (_ key: SignatureVerification, _ signature: [UInt8], _ message: [UInt8]) -> Bool

    /// The types that a device can have.
    static let types: [AuthenticatorType] = [.device, .pin, .biometric]

    /// The settings of acceptance.
    public let configuration: RelyingPartyConfiguration
    /// The models of each type.
    public let table: AuthenticatorTypeTable
    private let isSignature: SignatureCheck

    /// Makes a verifier with `configuration` and with the models of this product.
    public init(_ configuration: RelyingPartyConfiguration, table: AuthenticatorTypeTable = .product) {
        self.init(configuration, table: table) { $0.isValid($1, over: $2) }
    }

    /// Makes a verifier with another function for the verification of signatures.
    package init(
        _ configuration: RelyingPartyConfiguration, table: AuthenticatorTypeTable = .product,
        isSignature: @escaping SignatureCheck
    ) {
        self.configuration = configuration
        self.table = table
        self.isSignature = isSignature
    }

    /// Checks a response against every rule, each to its end.
    ///
    /// - Parameters:
    ///   - response: The device's response; `nil` if the response could not be read, which costs as much and is
    ///     refused.
    ///   - expected: The request.
    ///   - keys: The valid keys of the device registration, the PIN's key among them. Several keys of one type are no
    ///     error: the response names its key.
    public func judge(
        _ response: UnverifiedAuthentication?, expected: ExpectedFactors, keys: [RegisteredCredential]
    ) -> FactorVerdict {
        let message = self.message(of: response, expected)
        let assertions = response.map { Array(zip($0.assertions, $0.envelope.assertions)) } ?? []
        let types = assertions.map { self.table.type(of: $0.0.signedData.aaid) }
        var factors: [VerifiedFactors.Factor] = []
        // An assertion outside the three types, or a second assertion of a type, is wrong.
        var judged = assertions.map {
            AuthenticatorMatrix.JudgedAssertion(aaid: $0.0.signedData.aaid, isValid: false)
        }
        for type in Self.types {
            let index = types.firstIndex(of: type)
            let (isValid, signature) = self.judge(
                index.map { assertions[$0] }, as: type, hash: message?.hash, expected, keys)
            guard let index, let signature else { continue }
            judged[index].isValid = isValid
            factors.append(
                VerifiedFactors.Factor(
                    type: type, signature: signature, assertion: type == .pin ? nil : assertions[index].1.bytes))
        }
        let alternative = expected.matrix.alternative(of: judged, by: self.table)
        guard let response, let message, let alternative else { return .refused }
        return .accepted(
            VerifiedFactors(
                alternative: alternative, factors: factors, facetID: message.params.facetID,
                finalChallenge: response.envelope.fcParams))
    }

    /// Returns the final challenge, if the message is an answer to the request.
    private func message(of response: UnverifiedAuthentication?, _ expected: ExpectedFactors) -> (
        params: FinalChallengeParams, hash: [UInt8]
    )? {
        guard let response else { return nil }
        return try? self.configuration.check(
            response.envelope,
            against: ExpectedMessage(challenge: expected.challenge, appID: expected.appID, serverData: nil))
    }

    /// Checks one factor against every rule. A missing factor is replaced by a key that nobody holds.
    private func judge(
        _ assertion: (AuthenticationAssertion, EncodedAssertion)?, as type: AuthenticatorType, hash: [UInt8]?,
        _ expected: ExpectedFactors, _ keys: [RegisteredCredential]
    ) -> (isValid: Bool, signature: VerifiedAuthentication.Signature?) {
        let id = assertion.map { CredentialID(aaid: $0.0.signedData.aaid, keyID: $0.0.signedData.keyID) }
        let key = keys.first { $0.id == id }
        let held = key.flatMap {
            try? SignatureVerification(
                publicKey: $0.publicKey, format: $0.publicKeyFormat, algorithm: $0.signatureAlgorithm)
        }
        // A signature of a wrong length would be refused before the work, so the unsent signature takes its place.
        let signature = assertion.flatMap {
            $0.0.signature.count == Self.unsent.signature.count ? $0.0.signature : nil
        }
        let isSigned =
            (held ?? .unheld).map {
                self.isSignature(
                    $0, signature ?? Self.unsent.signature, assertion?.0.signedData.signedBytes ?? Self.unsent.message)
            } ?? false
        guard let (assertion, encoded) = assertion, let id else { return (false, nil) }
        let data = assertion.signedData
        // All rules are evaluated alike: the program builds an array to its end.
        let rules = [
            isSigned, held != nil, signature != nil,
            key?.account.hasSameBytes(as: expected.account) ?? false,
            key?.deviceRegistration.hasSameBytes(as: expected.deviceRegistration) ?? false,
            data.signatureAlgorithm == key?.signatureAlgorithm,
            hash.map { constantTimeEqual(data.finalChallengeHash, $0) } ?? false,
            // Identity ceremonies have no transactions: the challenge stands for everything that was shown.
            data.mode == .userVerified && data.transactionContentHash.isEmpty,
            self.isAccepted(data, encoded), self.isUnderstood(data.extensions),
            self.isUnderstood(assertion.extensions), !self.isRevoked(key, held),
            Self.isCounter(data.signCounter, after: key?.signCounter ?? 0, of: type),
        ]
        guard let key, let model = self.configuration.metadata.entry(id.aaid) else { return (false, nil) }
        return (
            rules.allSatisfy { $0 },
            VerifiedAuthentication.Signature(
                id: id, oldSignCounter: key.signCounter, newSignCounter: data.signCounter, mode: data.mode,
                authenticatorVersion: data.authenticatorVersion, userVerification: model.info.userVerification,
                userVerificationMethods: data.extensions.flatMap(\.userVerificationMethods), model: model.assurance,
                isAttested: key.attestation.isFull)
        )
    }

    /// Returns `true` if the model and its version satisfy the rules (§8.4, steps 1 and 2).
    private func isAccepted(_ data: SignedData, _ encoded: EncodedAssertion) -> Bool {
        do throws(UAFRefusal) {
            try self.configuration.check(encoded.extensions)
            let model = try self.configuration.model(of: data.aaid, scheme: encoded.scheme)
            try self.configuration.check(version: data.authenticatorVersion, of: model.statement)
            return true
        } catch {
            return false
        }
    }

    private func isUnderstood(_ extensions: [AssertionExtension]) -> Bool {
        do throws(UAFRefusal) {
            try self.configuration.check(extensions)
            return true
        } catch {
            return false
        }
    }

    private func isRevoked(_ key: RegisteredCredential?, _ verification: SignatureVerification?) -> Bool {
        let metadata = self.configuration.metadata
        let isKeyRevoked = verification.map { metadata.isRevoked(key: $0.subjectPublicKeyInfo) } ?? false
        let isEvidenceRevoked = key.map { metadata.isRevoked($0.attestation, of: $0.id.aaid) } ?? false
        return isKeyRevoked || isEvidenceRevoked
    }

    /// Returns `true` if the counter is valid. If both counters are 0, counters are not supported; otherwise the
    /// counter must grow (§8.4 step 5). The PIN has no counter.
    private static func isCounter(_ new: UInt32, after old: UInt32, of type: AuthenticatorType) -> Bool {
        new == 0 && old == 0 || new > old && type != .pin
    }

    /// The data that is verified if a device has sent nothing, of the usual length (ECDSA on P-256, raw).
    private static let unsent = (
        message: [UInt8](repeating: 0, count: 160), signature: [UInt8](repeating: 1, count: 64)
    )
}
