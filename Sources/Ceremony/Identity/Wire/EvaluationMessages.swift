public import JOSE
public import _Primitives

/// `POST /identity/sessions/{id}/pin-evaluation` and `POST /identity/activations/{id}/pin-evaluation`: a phone asks the
/// PIN service to evaluate a PIN (``PinQuestion``).
public struct EvaluationRequest: IdentityMessage {
    /// The proof of access to an activation that has no phone yet.
    ///
    /// In a session, the device proof identifies the phone. At an activation, the device proof belongs to the key in
    /// this value, and its `kid` is the new activation.
    public struct Opening: Sendable {
        /// The claim from the code's secret.
        public var claim: SecretBytes
        /// The token from the proof of the code's PIN (``ProvenActivation/token``). A person who has only seen the code
        /// has no token.
        public var token: SecretBytes
        /// The key whose thumbprint the proof named (``ProveRequest/device``), P-256. The token is worthless without
        /// this key.
        public var signingKey: JWK

        /// Creates the proof of access.
        public init(claim: SecretBytes, token: SecretBytes, signingKey: JWK) {
            self.claim = claim
            self.token = token
            self.signingKey = signingKey
        }
    }

    /// ``PinQuestion/blinded``.
    public var blinded: [UInt8]
    /// The proof of access to an activation; `nil` in a session.
    public var opening: Opening?
    /// The device's report about itself; `nil` if the app checks nothing. The server judges the report before it counts
    /// anything, because a question costs an attempt.
    public var security: SecurityReport?

    /// Creates a request.
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
    /// Reads a device's key, which is on P-256. Throws ``IdentityMessageError`` `malformed` for any other key.
    init(ofDevice json: JSONObject, named name: String) throws(IdentityMessageError) {
        do throws(JOSEError) { self = try JWK(publicJSON: json) } catch {
            throw IdentityMessageError(.malformed, name)
        }
        guard case .p256 = self.material else { throw IdentityMessageError(.malformed, name) }
    }
}

/// The answer to an ``EvaluationRequest``.
public struct EvaluationResponse: IdentityMessage, Hashable {
    /// The evaluation for ``PinQuestion/key(evaluated:)``.
    public var evaluated: [UInt8]

    /// Creates an answer.
    public init(evaluated: [UInt8]) { self.evaluated = evaluated }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let bytes = PinQuestion.evaluatedBytes
        self.evaluated = try IdentityMessageError.reading { () throws(JSONError) in
            try object.requiredBytes("evaluated", bytes...bytes)
        }
    }

    public var json: JSONObject { ["evaluated": .bytes(self.evaluated)] }
}
