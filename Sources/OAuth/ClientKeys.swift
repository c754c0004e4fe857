public import JOSE
import _Primitives

extension JWKSet {
    /// Reads the 1 to 64 keys that a client registers (`jwks`, RFC 7591, section 2).
    ///
    /// The initializer is stricter than other readers of keys, so a client learns about a wrong key at a time when the
    /// key can be corrected. It refuses private and symmetric keys, and two keys of the same name. It refuses
    /// verification keys that this server would never use: RSA of fewer than 2048 bits or more than 8192, and all
    /// curves but P-256 and Ed25519 (FAPI 2.0 Security Profile, section 5.4.1). Keys marked for encryption may be of
    /// any kind; the set leaves out encryption keys of an unknown kind. A member that is null counts as absent.
    ///
    /// - Parameter verifies: `true` if at least one key has to be for verification. Otherwise a key for encryption is
    ///   enough.
    ///
    /// Throws ``OAuthError`` `invalid_client_metadata`.
    public init(ofClient bytes: some Collection<UInt8>, verifies: Bool = true) throws(OAuthError) {
        let members: [JSON]
        do throws(JSONError) {
            guard case .object(let object) = try JSON(parsing: bytes, leavesOutNull: true) else {
                throw JSONError(.wrongType, "no object")
            }
            members = try object.array("keys") ?? []
        } catch {
            throw Self.refusal("is no JSON object with a list of keys", detail: error.reason)
        }
        guard (1...64).contains(members.count) else { throw Self.refusal("has no key, or too many") }
        var keys: [JWK] = []
        for member in members {
            guard case .object(let json) = member else { throw Self.refusal("is no JSON object with a list of keys") }
            do {
                keys.append(try JWK(publicJSON: json))
            } catch {
                let isForEncryption = json["use"] == .string("enc")
                guard isForEncryption, error.code == .unsupportedKey else {
                    throw Self.refusal(
                        "has a key that is not taken here: public keys on P-256 or Ed25519, or of RSA with 2048 to 8192 "
                            + "bits", detail: error.reason)
                }
            }
        }
        for (index, key) in keys.enumerated() {
            if let name = key.keyID, keys[..<index].contains(where: { $0.keyID?.hasSameBytes(as: name) == true }) {
                throw Self.refusal("has two keys of one name")
            }
        }
        self.init(keys)
        try self.checkUse(verifies: verifies)
    }

    /// Refuses a client's set if this server would use no key of the set.
    ///
    /// - Parameter verifies: `true` if at least one key has to be for verification. Otherwise a key for encryption is
    ///   enough.
    ///
    /// Throws ``OAuthError`` `invalid_client_metadata`.
    public func checkUse(verifies: Bool) throws(OAuthError) {
        let isUsed = self.keys.contains { key in
            JWSAlgorithm.ofClients.contains(where: key.fits)
                || !verifies && KeyManagementAlgorithm.all.contains(where: key.fits)
        }
        guard isUsed else { throw Self.refusal("has no key to verify with") }
    }

    private static func refusal(_ reason: String, detail: String? = nil) -> OAuthError {
        OAuthError(.invalidClientMetadata, "The key set \(reason).", detail: detail)
    }
}
