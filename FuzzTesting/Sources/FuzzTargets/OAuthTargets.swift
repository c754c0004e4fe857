import JOSE
import OAuth
import _Primitives

/// What clients sign and name (RFC 7523, RFC 8252, RFC 8707, RFC 9101, RFC 9396, RFC 9449).
///
/// Nearly all bytes fall at the signature. So they are read as they are, which nobody has signed, and once more as a
/// payload that the client's own key has.
enum OAuthTargets {
    private struct Client {
        let key: SigningKey
        let keys: JWKSet
        let publicJSON: JSONObject
    }

    private static let issuer = "https://server.example"
    private static let client: Client? = {
        guard let bytes = try? SigningKey.make(.es256, random: .system),
            let key = try? SigningKey(kept: bytes, algorithm: .es256, keyID: nil), let publicKey = key.publicKey,
            let json = publicKey.publicJSON
        else { return nil }
        return Client(key: key, keys: JWKSet([publicKey]), publicJSON: json)
    }()
    private static let window = ValidityWindow(
        now: Timestamp(seconds: 1_800_000_000), skew: .seconds(10), longest: .seconds(300))

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// A proof that is taken is of this moment, has a bounded name, and cannot be remembered for ever.
    static func dpopProof(_ bytes: [UInt8]) -> Bool {
        guard let client = self.client, let target = TargetURI(self.issuer + "/token"),
            let signed = try? JWS.sign(
                bytes, type: "dpop+jwt", header: ["jwk": .object(client.publicJSON)], with: client.key)
        else { return false }
        for field in [self.text(bytes), signed] {
            guard
                let proof = try? DPoPProof(verifying: [field], method: "POST", target: target, within: self.window)
            else { continue }
            guard proof.issuedAt >= self.window.now - self.window.longest,
                proof.issuedAt <= self.window.now + self.window.skew, (1...256).contains(proof.identifier.utf8.count),
                proof.repeatableUntil <= self.window.now + self.window.skew + self.window.longest
            else { return false }
        }
        return true
    }

    /// An assertion that is taken was signed, and ends within its time.
    static func clientAssertion(_ bytes: [UInt8]) -> Bool {
        guard let client = self.client, let signed = try? JWS.sign(bytes, with: client.key) else { return false }
        func verified(_ compact: String) -> VerifiedClientAssertion? {
            let parameters: Parameters = [
                "client_assertion_type": UnverifiedClientAssertion.type, "client_assertion": compact,
            ]
            return try? UnverifiedClientAssertion(header: nil, parameters: parameters).verified(
                by: client.keys, for: .issuer(self.issuer), allowing: JWSAlgorithm.ofClients, within: self.window)
        }
        guard verified(self.text(bytes)) == nil else { return false }
        guard let assertion = verified(signed) else { return true }
        return !assertion.clientID.isEmpty && assertion.repeatableUntil > self.window.now
            && assertion.repeatableUntil <= self.window.now + self.window.longest + self.window.skew + self.window.skew
    }

    /// The parameters of an object that is taken can be written and read as any request's, and hold no other request.
    static func requestObject(_ bytes: [UInt8]) -> Bool {
        guard let client = self.client, let signed = try? JWS.sign(bytes, with: client.key) else { return false }
        func verified(_ compact: String) -> VerifiedRequestObject? {
            try? UnverifiedRequestObject(compact).verified(
                by: client.keys, clientID: "bank", issuer: self.issuer, allowing: JWSAlgorithm.ofClients,
                within: self.window)
        }
        guard verified(self.text(bytes)) == nil else { return false }
        guard let parameters = verified(signed)?.parameters else { return true }
        // Escapes and percent signs each make a text up to three times as long.
        let limits = Parameters.Limits(bytes: 131_072)
        return parameters["request"] == nil && parameters["request_uri"] == nil && parameters["client_id"] == "bank"
            && (try? Parameters(parsing: parameters.encoded, limits: limits, repeating: ["resource"])) == parameters
    }

    /// Details that are read are written in one spelling, which reads as the same.
    static func authorizationDetails(_ bytes: [UInt8]) -> Bool {
        let types = [AuthorizationDetailsType("payment"), AuthorizationDetailsType("a", required: ["b"], optional: [])]
        guard let details = try? AuthorizationDetails(self.text(bytes), types: types) else { return true }
        // A number is written shortest and a text can grow by its escapes: the limits of reading are not for writing.
        let limits = AuthorizationDetails.Limits(bytes: 131_072, count: 16)
        guard let again = try? AuthorizationDetails(details.text, types: types, limits: limits) else { return false }
        return again == details && again.text == details.text && details.areContained(in: again)
            && details.types.allSatisfy(["payment", "a"].containsBytes)
    }

    /// Claims that are asked for are written in one spelling, which asks for the same.
    static func claimsRequest(_ bytes: [UInt8]) -> Bool {
        guard let request = try? ClaimsRequest(self.text(bytes)) else { return true }
        // A text can grow by its escapes.
        guard request.text.utf8.count <= 8192 else { return true }
        guard let again = try? ClaimsRequest(request.text) else { return false }
        return again.text == request.text && Set(again.idToken) == Set(request.idToken)
            && Set(again.userinfo) == Set(request.userinfo)
    }

    /// Addresses: what is normalised stays as it is, what is taken is what it says.
    static func addresses(_ bytes: [UInt8]) -> Bool {
        let text = self.text(bytes)
        if let target = TargetURI(text) {
            guard TargetURI(target.text) == target, target.text.hasBytes(atStart: target.origin + "/") else {
                return false
            }
        }
        if let resource = try? ResourceIndicator(text), resource.text.utf8.contains(UInt8(ascii: "#")) { return false }
        if let address = try? RedirectURI(text, allowing: Set(RedirectURI.Kind.allCases)) {
            guard address.answers(text) == address, address.text.hasBytes(atStart: address.origin) else { return false }
            // Without asking nobody gets a private scheme.
            guard ((try? RedirectURI(text)) == nil) == [.privateScheme, .localhost].contains(address.kind) else {
                return false
            }
        }
        return true
    }

    /// Keys of a client: all of them public, and one at least to verify with.
    static func clientKeys(_ bytes: [UInt8]) -> Bool {
        guard let keys = try? JWKSet(ofClient: bytes) else { return true }
        return !keys.keys.contains(where: \.isPrivate)
            && JWSAlgorithm.ofClients.contains { !keys.fitting($0).keys.isEmpty }
    }
}
