import JOSE
import OAuth
import _Primitives

/// The signed and named values of clients (RFC 7523, RFC 8252, RFC 8707, RFC 9101, RFC 9396, RFC 9449).
///
/// Nearly all bytes fail at the signature. So each input is read twice: unchanged and unsigned, and as a payload signed
/// by the client's own key.
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

    /// Checks that an accepted proof is of this moment, has a bounded name, and cannot be remembered for ever.
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

    /// Checks that an accepted assertion was signed, and ends within its time.
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

    /// Checks that the parameters of an accepted object can be written and read as the parameters of any request, and
    /// contain no other request.
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

    /// Checks that parsed details are written in a single spelling with the same meaning.
    static func authorizationDetails(_ bytes: [UInt8]) -> Bool {
        let types = [AuthorizationDetailsType("payment"), AuthorizationDetailsType("a", required: ["b"], optional: [])]
        guard let details = try? AuthorizationDetails(self.text(bytes), types: types) else { return true }
        // A number is written in its shortest form, and a text can grow by its escapes. So the limits for reading do
        // not apply to writing.
        let limits = AuthorizationDetails.Limits(bytes: 131_072, count: 16)
        guard let again = try? AuthorizationDetails(details.text, types: types, limits: limits) else { return false }
        return again == details && again.text == details.text && details.areContained(in: again)
            && details.types.allSatisfy(["payment", "a"].containsBytes)
    }

    /// Checks that requested claims are written in a single spelling with the same meaning.
    static func claimsRequest(_ bytes: [UInt8]) -> Bool {
        guard let request = try? ClaimsRequest(self.text(bytes)) else { return true }
        // A text can grow by its escapes.
        guard request.text.utf8.count <= 8192 else { return true }
        guard let again = try? ClaimsRequest(request.text) else { return false }
        return again.text == request.text && Set(again.idToken) == Set(request.idToken)
            && Set(again.userinfo) == Set(request.userinfo)
    }

    /// Checks addresses: a normalised address stays unchanged, and an accepted address begins with its origin.
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
            // Without a request for private schemes, no client gets a private scheme.
            guard ((try? RedirectURI(text)) == nil) == [.privateScheme, .localhost].contains(address.kind) else {
                return false
            }
        }
        return true
    }

    /// Checks the keys of a client: all of them are public, and at least one can verify.
    static func clientKeys(_ bytes: [UInt8]) -> Bool {
        guard let keys = try? JWKSet(ofClient: bytes) else { return true }
        return !keys.keys.contains(where: \.isPrivate)
            && JWSAlgorithm.ofClients.contains { !keys.fitting($0).keys.isEmpty }
    }
}
