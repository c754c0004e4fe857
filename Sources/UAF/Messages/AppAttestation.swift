import Crypto
public import _Primitives

// Evidence of the app that runs on a device, beside a registration (decision 124). The standard has no place for such
// evidence: the server's wish is a member of its request, and the evidence a member of the answer's context (§6.2).

/// The server's wish that an app proves itself with a registration (decision 124).
public struct AppAttestationWish: Hashable, Sendable {
    /// The consequence of missing evidence.
    public enum Need: String, Hashable, Sendable, CaseIterable {
        /// The server registers the device all the same.
        case optional
        /// The server refuses the registration. A server that excepts some apps says `optional` in its requests, because
        /// the server does not know yet which app answers.
        case required
    }

    /// `need`: the consequence of missing evidence.
    public var need: Need
    /// `keyId`: the attested key that the server knows of this device, 1 to ``AppEvidence/keyIDCharacters`` characters.
    /// An assertion by the key is enough then. `nil` if the server knows no such key.
    public var keyID: String?

    /// Creates a wish.
    public init(_ need: Need, keyID: String? = nil) {
        self.need = need
        self.keyID = keyID
    }

    init(_ members: MemberReader) throws(UAFError) {
        guard let need = Need(rawValue: try members.requiredString("need", 1...64)) else {
            throw UAFError(.invalidValue, "\(members.place).need")
        }
        self.need = need
        self.keyID = try members.string("keyId", 1...AppEvidence.keyIDCharacters)
    }

    var json: JSONObject {
        var object: JSONObject = ["need": .string(self.need.rawValue)]
        object["keyId"] = self.keyID.map { .string($0) }
        return object
    }
}

/// The evidence of an app beside the answer to a registration (decision 124). No value was verified.
public enum AppEvidence: Hashable, Sendable {
    /// The statement of the operating system's maker about a new key of the app, with the name of the key.
    case attestation([UInt8], keyID: String)
    /// A signature by a key that was attested before.
    case assertion([UInt8])

    /// The maximum length of a key's name in characters. App Attest uses 44 characters.
    public static let keyIDCharacters = 128
    /// The maximum size of an attestation or an assertion in bytes. An attestation of App Attest has about 6 KB.
    public static let maximumBytes = 8_192
    /// The member of an answer's `context` that has the evidence.
    public static let contextMember = "appAttestation"

    /// Returns the hash that the evidence signs, 32 bytes. The hash binds the evidence to one ceremony and to one
    /// device.
    ///
    /// - Parameters:
    ///   - finalChallengeHash: SHA-256 of the final challenge parameters that the registration's assertion answers.
    ///   - signingKey: The device's own signing key (``DeviceKeyAnnouncement/signingKey``).
    public static func clientDataHash(finalChallengeHash: [UInt8], signingKey: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: Array("countersign.app-attestation.1".utf8) + finalChallengeHash + signingKey))
    }

    /// Reads the evidence from the member of a context.
    ///
    /// Throws ``UAFError``: `missingMember` without evidence, `invalidValue` for both kinds at once, and the errors of
    /// a member's type, form or length.
    public init(json object: JSONObject) throws(UAFError) {
        let members = MemberReader(object, Self.contextMember)
        let attestation = try members.bytes("attestation", 1...Self.maximumBytes)
        let assertion = try members.bytes("assertion", 1...Self.maximumBytes)
        switch (attestation, assertion) {
        case (let object?, nil):
            self = .attestation(object, keyID: try members.requiredString("keyId", 1...Self.keyIDCharacters))
        case (nil, let object?): self = .assertion(object)
        case (nil, nil): throw UAFError(.missingMember, "\(members.place).attestation")
        case (_?, _?): throw UAFError(.invalidValue, "\(members.place) has both kinds")
        }
    }

    /// The member of a context.
    public var json: JSONObject {
        switch self {
        case .attestation(let object, let keyID):
            ["attestation": .string(Base64URL.encode(object)), "keyId": .string(keyID)]
        case .assertion(let object): ["assertion": .string(Base64URL.encode(object))]
        }
    }
}
