import Crypto
public import UAF

/// An app of an operator, whose attestations a server takes.
public struct AttestedApp: Hashable, Sendable {
    /// The service of Apple that attested a key.
    public enum Environment: String, Hashable, Sendable, CaseIterable {
        /// Apps of the App Store, of TestFlight and of an enterprise.
        case production
        /// Apps that Xcode installed.
        case development

        /// The 16 bytes that stand for a model of authenticators (WebAuthn: AAGUID).
        var model: [UInt8] {
            switch self {
            case .production: Array("appattest".utf8) + [UInt8](repeating: 0, count: 7)
            case .development: Array("appattestdevelop".utf8)
            }
        }
    }

    /// The team's identifier at Apple: ten capital letters and digits.
    public let teamID: String
    /// The bundle identifier, 1 to 155 letters, digits, hyphens and periods.
    public let bundleID: String
    /// The environment whose keys count.
    public let environment: Environment

    /// Names an app. Throws ``UAFError`` `invalidValue` for a team or a bundle of another form.
    public init(teamID: String, bundleID: String, environment: Environment) throws(UAFError) {
        let isTeam = teamID.utf8.allSatisfy {
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
        guard isTeam, teamID.utf8.count == VerificationLimits.teamIDCharacters else {
            throw UAFError(.invalidValue, "an identifier of a team")
        }
        let isBundle = bundleID.unicodeScalars.allSatisfy {
            $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "-" || $0 == ".")
        }
        guard isBundle, (1...VerificationLimits.bundleIDCharacters).contains(bundleID.utf8.count) else {
            throw UAFError(.invalidValue, "an identifier of a bundle")
        }
        self.teamID = teamID
        self.bundleID = bundleID
        self.environment = environment
    }

    /// Reads `TEAM.BUNDLE`, or `TEAM.BUNDLE=ENVIRONMENT`; the environment is otherwise `production`.
    ///
    /// Throws ``UAFError`` `invalidValue` for another text.
    public init(_ text: String) throws(UAFError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts[0].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard name.count == 2,
            let environment = parts.count == 1 ? .production : Environment(rawValue: String(parts[1]))
        else { throw UAFError(.invalidValue, "an app, which is TEAM.BUNDLE or TEAM.BUNDLE=ENVIRONMENT") }
        try self.init(teamID: String(name[0]), bundleID: String(name[1]), environment: environment)
    }

    /// The team and the bundle, joined by a period, as App Attest names the app.
    public var name: String { "\(self.teamID).\(self.bundleID)" }

    /// The hash by which authenticator data names the app (`rpIdHash`).
    var hash: [UInt8] { Array(SHA256.hash(data: Array(self.name.utf8))) }
}

/// A key of an app that an attestation vouched for, with the number of its last assertion.
public struct AttestedAppKey: Hashable, Sendable {
    /// The app that has the key.
    public let app: AttestedApp
    /// An uncompressed point on P-256, 65 bytes.
    public let publicKey: [UInt8]
    /// The number of the last assertion that counted; 0 after the attestation.
    public let counter: UInt32

    /// Takes a key from storage. Throws ``UAFError`` `invalidKey` for bytes that are not an uncompressed point on
    /// P-256.
    public init(app: AttestedApp, publicKey: [UInt8], counter: UInt32) throws(UAFError) {
        guard publicKey.count == 65, (try? P256.Signing.PublicKey(x963Representation: publicKey)) != nil else {
            throw UAFError(.invalidKey, "a key of an app")
        }
        self.init(attested: app, publicKey: publicKey, counter: counter)
    }

    /// The name of the key at App Attest: SHA-256 of the point, 32 bytes.
    public var keyID: [UInt8] { Array(SHA256.hash(data: self.publicKey)) }

    init(attested app: AttestedApp, publicKey: [UInt8], counter: UInt32) {
        self.app = app
        self.publicKey = publicKey
        self.counter = counter
    }

    /// Verifies an assertion of the key, and returns the key with the assertion's number. The caller stores the
    /// returned value before it acts on the assertion, so that no assertion counts twice.
    ///
    /// - Parameters:
    ///   - assertion: The object of `DCAppAttestService.generateAssertion`, at most 8,192 bytes.
    ///   - clientDataHash: The hash that the app gave to the function.
    ///
    /// Throws ``AppAttestationRefusal``: `malformed`, `foreignApp`, `signature`, or `counter` for a number that is not
    /// greater than the last number.
    public func verify(
        assertion: [UInt8], clientDataHash: [UInt8]
    ) throws(AppAttestationRefusal) -> AttestedAppKey {
        let object = try AppAssertionObject(encoded: assertion)
        let data = try AppAuthenticatorData(object.authenticatorData)
        guard data.appHash == self.app.hash else { throw .foreignApp }
        guard let key = try? P256.Signing.PublicKey(x963Representation: self.publicKey),
            let signature = try? P256.Signing.ECDSASignature(derRepresentation: object.signature),
            // The key signs the hash as its message, and so hashes it once more.
            key.isValidSignature(
                signature, for: Array(SHA256.hash(data: object.authenticatorData + clientDataHash)))
        else { throw .signature }
        guard data.counter > self.counter else { throw .counter }
        return AttestedAppKey(attested: self.app, publicKey: self.publicKey, counter: data.counter)
    }
}
