public import UAF

/// The reason that a UAF response is not accepted. Two refusals are equal if status code and step are equal.
public struct UAFRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The status code for the peer (§5.1).
    public let statusCode: UAFStatusCode
    /// The rule that refused: a stable name of few values.
    public let step: VerificationStep
    /// The explanation for the log, not for the peer.
    public let reason: String
    /// The key of the refused assertion; `nil` if the refusal is about the whole response.
    public let credential: CredentialID?
    /// The refused caller; `nil` if another rule refused. The sender of the response has chosen this value.
    public let facetID: FacetID?

    init(
        _ statusCode: UAFStatusCode, _ step: VerificationStep, _ reason: String, credential: CredentialID? = nil,
        facetID: FacetID? = nil
    ) {
        self.facetID = facetID
        self.statusCode = statusCode
        self.step = step
        self.reason = reason
        self.credential = credential
    }

    /// Returns the same refusal, with the key that the refusal is about.
    func about(_ credential: CredentialID) -> UAFRefusal {
        UAFRefusal(self.statusCode, self.step, self.reason, credential: credential, facetID: self.facetID)
    }

    public var description: String { "UAFRefusal \(self.statusCode) at \(self.step): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool {
        left.statusCode == right.statusCode && left.step == right.step
    }
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.statusCode)
        hasher.combine(self.step)
    }
}

/// The rules for a response, in the order of the standard (§8.2 for registration, §8.4 for authentication).
public enum VerificationStep: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// 8.2 step 1: an array of one dictionary with all members.
    case message
    /// 8.2 step 1: a version that this server speaks.
    case version
    /// 8.2 step 1, §15: no unknown extension of the message, or of an assertion's entry in the message, that the server
    /// must understand.
    case messageExtensions
    /// 8.2 step 2: the server's own data, unchanged and in time.
    case serverData
    /// 8.2 step 3: readable final challenge parameters.
    case finalChallengeParams
    /// 8.2 step 4: the application that the request named.
    case appID
    /// 8.2 step 4: a caller that may speak for the application.
    case facetID
    /// 8.2 step 4: the TLS channel that the server knows.
    case channelBinding
    /// 8.2 step 4: the challenge that the request gave.
    case challenge
    /// 8.2 step 5: at least one assertion, and every assertion well-formed.
    case assertion
    /// 8.2 step 6: a model that the metadata knows.
    case metadata
    /// 8.2 step 6: a model, a key and certificates that are not revoked.
    case revocation
    /// 8.2 step 6: the scheme of the metadata.
    case assertionScheme
    /// 8.4 step 3: a registered key; in a registration, an unregistered key. Each key occurs once in the response.
    case credential
    /// 8.4 step 3: a key of the expected account, all keys of one account and device.
    case account
    /// 8.2 step 7: an alternative of the policy that is met exactly, without a disallowed authenticator and not by
    /// silent authenticators alone.
    case policy
    /// 8.2 step 10: the hash of the final challenge parameters.
    case finalChallengeHash
    /// 8.2 step 11: a trusted version of the authenticator.
    case authenticatorVersion
    /// 8.2 step 13: the mode that the operation needs.
    case authenticationMode
    /// 8.4 step 7: the shown content is the signed content.
    case transaction
    /// 8.2 step 13, 8.4 step 8: the algorithm of metadata and registration.
    case signatureAlgorithm
    /// 8.2 step 13: a good key in a format of its algorithm.
    case publicKey
    /// 8.2 steps 9 and 14: the type and chain of the attestation, and its signature.
    case attestation
    /// 8.2 step 15: no unknown extension within an assertion that the server must understand, and a right announcement
    /// of the device's keys if an announcement is present.
    case assertionExtensions
    /// 8.4 step 9: the signature.
    case signature
    /// 8.4 step 5: a growing counter. The refusal comes after the signature was verified: the key may have been cloned.
    case signCounter

    public var description: String { self.rawValue }
}

/// The name of a key, unique among all keys of all accounts (§18, row 27).
public struct CredentialID: Hashable, Sendable, CustomStringConvertible {
    /// The authenticator's model.
    public let aaid: AAID
    /// The key's name within the model.
    public let keyID: KeyID

    /// Makes the name of a key.
    public init(aaid: AAID, keyID: KeyID) {
        self.aaid = aaid
        self.keyID = keyID
    }

    public var description: String { "\(self.aaid)/\(self.keyID)" }
}
