public import UAF
import _Primitives

/// What a ceremony of a personalised identity has asked a device for, and of which device.
public struct ExpectedFactors: Sendable {
    /// The challenge: the hash of the session document. The caller replaces it after every attempt.
    public var challenge: Challenge
    /// The AppID of the request; empty: the caller's facetID stands for it.
    public var appID: String
    /// What the role asks for.
    public var matrix: AuthenticatorMatrix
    /// Whose keys must sign, as the caller names accounts.
    public var account: String
    /// The registration of the device whose keys must sign, as the caller names them.
    public var deviceRegistration: String

    /// Keeps what was asked for.
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

/// What is said of the factors of one attempt. Why they are refused, nobody is told: not who sent them, and no log.
public enum FactorVerdict: Hashable, Sendable {
    /// They are one alternative of the matrix, whole and without a surplus, and all of them are right.
    case accepted(VerifiedFactors)
    /// They are not.
    case refused
}

/// Factors that are all right. Only ``FactorVerifier`` makes them.
public struct VerifiedFactors: Hashable, Sendable {
    /// Which alternative of the matrix they are, from 0.
    public let alternative: Int
    /// Each of them, once: in the order of device, PIN and finger or face.
    public let factors: [Factor]
    /// Who called the client.
    public let facetID: FacetID
    /// What every factor has signed the hash of, as it was sent.
    public let finalChallenge: String

    /// One factor.
    public struct Factor: Hashable, Sendable {
        /// What the role asked for.
        public let type: AuthenticatorType
        /// What signed. The caller stores its new counter, only if the stored one is still the old one.
        public let signature: VerifiedAuthentication.Signature
        /// The assertion as it was sent, for evidence; `nil` for a PIN: with what a PIN has signed, PINs can be tried.
        public let assertion: [UInt8]?
    }

    /// By which methods, and how surely, the person was authenticated.
    public var assurance: AuthenticationAssurance {
        AuthenticationAssurance(self.factors.map(\.signature.assurance))
    }
}

/// Judges the factors of personalised identities: a policy of UAF, read strictly (§2.2, §8.4; founding decision, Strict
/// policies).
///
/// It does the same work for every response: one signature is verified for each type that a device can have, against a key
/// that nobody has where the response, or the device, has none of it. Every rule is held against every factor, and then all
/// of them are put together. So neither the answer nor the time tells which factor was wrong, missing or to spare; above all
/// not whether a PIN was right.
public struct FactorVerifier: Sendable {
    /// Says whether a signature is a key's.
    package typealias SignatureCheck =
        @Sendable (_ key: SignatureVerification, _ signature: [UInt8], _ message: [UInt8]) -> Bool

    /// The types that a device can have.
    static let types: [AuthenticatorType] = [.device, .pin, .biometric]

    /// What is accepted.
    public let configuration: RelyingPartyConfiguration
    /// Which models are of which type.
    public let table: AuthenticatorTypeTable
    private let isSignature: SignatureCheck

    /// Judges by `configuration`, and by the models of this product.
    public init(_ configuration: RelyingPartyConfiguration, table: AuthenticatorTypeTable = .product) {
        self.init(configuration, table: table) { $0.isValid($1, over: $2) }
    }

    /// As the other one, with something else in the place of what verifies signatures.
    package init(
        _ configuration: RelyingPartyConfiguration, table: AuthenticatorTypeTable = .product,
        isSignature: @escaping SignatureCheck
    ) {
        self.configuration = configuration
        self.table = table
        self.isSignature = isSignature
    }

    /// Holds a response against every rule, to the end of each.
    ///
    /// - Parameters:
    ///   - response: What the device has sent; `nil` where that could not be read, which costs as much and is refused.
    ///   - expected: What it was asked for.
    ///   - keys: The keys of the device registration that count now, the PIN's among them. More than one of a type are no
    ///     error: the response names which.
    public func judge(
        _ response: UnverifiedAuthentication?, expected: ExpectedFactors, keys: [RegisteredCredential]
    ) -> FactorVerdict {
        let message = self.message(of: response, expected)
        let assertions = response.map { Array(zip($0.assertions, $0.envelope.assertions)) } ?? []
        let types = assertions.map { self.table.type(of: $0.0.signedData.aaid) }
        var factors: [VerifiedFactors.Factor] = []
        // What is not among the three, because it is of another type or the second of its own, is wrong.
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

    /// The final challenge, where the message is an answer to what was asked.
    private func message(of response: UnverifiedAuthentication?, _ expected: ExpectedFactors) -> (
        params: FinalChallengeParams, hash: [UInt8]
    )? {
        guard let response else { return nil }
        return try? self.configuration.check(
            response.envelope,
            against: ExpectedMessage(challenge: expected.challenge, appID: expected.appID, serverData: nil))
    }

    /// Holds one factor, or in its place one that there is not, against every rule.
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
        // What is no signature by its length would be refused before the work.
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
        // All of them, one as the other: an array is made to its end.
        let rules = [
            isSigned, held != nil, signature != nil,
            key?.account.hasSameBytes(as: expected.account) ?? false,
            key?.deviceRegistration.hasSameBytes(as: expected.deviceRegistration) ?? false,
            data.signatureAlgorithm == key?.signatureAlgorithm,
            hash.map { constantTimeEqual(data.finalChallengeHash, $0) } ?? false,
            // Identity ceremonies have no transactions: the challenge stands for all that was shown.
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

    /// The rules for models and their versions (§8.4, steps 1 and 2).
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

    /// A counter that both sides have at 0 is not supported; else it must grow (§8.4 step 5). The PIN has none.
    private static func isCounter(_ new: UInt32, after old: UInt32, of type: AuthenticatorType) -> Bool {
        new == 0 && old == 0 || new > old && type != .pin
    }

    /// What is verified where a device has sent nothing: of the length of what it sends (ECDSA on P-256, raw).
    private static let unsent = (
        message: [UInt8](repeating: 0, count: 160), signature: [UInt8](repeating: 1, count: 64)
    )
}
