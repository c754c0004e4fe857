public import JOSE
public import _Primitives

/// `POST /identity/sessions/{id}/pin-evaluation` and `POST /identity/activations/{id}/pin-evaluation`: a phone asks what the
/// PIN service makes of a PIN (``PinQuestion``).
public struct EvaluationRequest: IdentityMessage {
    /// What an activation that is not this phone's yet is known by. A session's phone is known by its proof; this one's
    /// proves the key that is in here, and its `kid` is the new activation.
    public struct Opening: Sendable {
        /// What the code's secret gives.
        public var claim: SecretBytes
        /// What the proof of the code's PIN has earned (``ProvenActivation/token``): whoever has only seen the code has none.
        public var token: SecretBytes
        /// The key that the proof has named (``ProveRequest/device``), P-256: the token is worth nothing without it.
        public var signingKey: JWK

        /// Names all.
        public init(claim: SecretBytes, token: SecretBytes, signingKey: JWK) {
            self.claim = claim
            self.token = token
            self.signingKey = signingKey
        }
    }

    /// ``PinQuestion/blinded``.
    public var blinded: [UInt8]
    /// At an activation.
    public var opening: Opening?
    /// What the device says about itself; `nil` where the app looks at nothing. It is judged before anything is counted: a
    /// question costs an attempt.
    public var security: SecurityReport?

    /// Asks.
    public init(blinded: [UInt8], opening: Opening? = nil, security: SecurityReport?) {
        self.blinded = blinded
        self.opening = opening
        self.security = security
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let bytes = PinQuestion.blindedBytes
        let isOpening = ["claim", "token", "signingKey"].contains { object[$0] != nil }
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (
                blinded: try object.requiredBytes("blinded", bytes...bytes), security: try object.object("security")
            )
        }
        self.blinded = read.blinded
        self.opening = isOpening ? try Opening(json: object) : nil
        self.security = try read.security.map { json throws(IdentityMessageError) in try SecurityReport(json: json) }
    }

    public var json: JSONObject {
        var object: JSONObject = ["blinded": .bytes(self.blinded)]
        object["claim"] = self.opening.map { .string($0.claim.withBytes { Base64URL.encode($0) }) }
        object["token"] = self.opening.map { .string($0.token.withBytes { Base64URL.encode($0) }) }
        object["signingKey"] = self.opening.map { .object($0.signingKey.publicJSON ?? [:]) }
        object["security"] = self.security.map { .object($0.json) }
        return object
    }
}

extension EvaluationRequest.Opening {
    fileprivate init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (
                claim: SecretBytes(try object.requiredBytes("claim", 32...32)),
                token: SecretBytes(try object.requiredBytes("token", 32...32)),
                key: try object.requiredObject("signingKey")
            )
        }
        self.init(
            claim: read.claim, token: read.token, signingKey: try JWK(ofDevice: read.key, named: "signingKey"))
    }
}

extension JWK {
    /// Reads a key of a device, which is on P-256. Throws ``IdentityMessageError`` `malformed` for any other.
    init(ofDevice json: JSONObject, named name: String) throws(IdentityMessageError) {
        do throws(JOSEError) { self = try JWK(publicJSON: json) } catch {
            throw IdentityMessageError(.malformed, name)
        }
        guard case .p256 = self.material else { throw IdentityMessageError(.malformed, name) }
    }
}

/// The answer to an ``EvaluationRequest``.
public struct EvaluationResponse: IdentityMessage, Hashable {
    /// What ``PinQuestion/key(evaluated:)`` takes.
    public var evaluated: [UInt8]

    /// Answers.
    public init(evaluated: [UInt8]) { self.evaluated = evaluated }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let bytes = PinQuestion.evaluatedBytes
        self.evaluated = try IdentityMessageError.reading { () throws(JSONError) in
            try object.requiredBytes("evaluated", bytes...bytes)
        }
    }

    public var json: JSONObject { ["evaluated": .bytes(self.evaluated)] }
}
