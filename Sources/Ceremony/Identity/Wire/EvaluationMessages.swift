public import _Primitives

/// `POST /identity/sessions/{id}/pin-evaluation` and `POST /identity/activations/{id}/pin-evaluation`: a phone asks what the
/// PIN service makes of a PIN (``PinQuestion``).
public struct EvaluationRequest: IdentityMessage {
    /// What an activation that is not this phone's yet is known by. A session's phone is known by its proof.
    public struct Opening: Sendable {
        /// What the code's secret gives.
        public var claim: SecretBytes
        /// What the proof of the code's PIN has earned (``ProvenActivation/token``): whoever has only seen the code has none.
        public var token: SecretBytes

        /// Names both.
        public init(claim: SecretBytes, token: SecretBytes) {
            self.claim = claim
            self.token = token
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
        let security: JSONObject?
        (self.blinded, self.opening, security) = try IdentityMessageError.reading { () throws(JSONError) in
            let isOpening = object["claim"] != nil || object["token"] != nil
            return (
                try object.requiredBytes("blinded", bytes...bytes),
                isOpening
                    ? Opening(
                        claim: SecretBytes(try object.requiredBytes("claim", 32...32)),
                        token: SecretBytes(try object.requiredBytes("token", 32...32))) : nil,
                try object.object("security")
            )
        }
        self.security = try security.map { json throws(IdentityMessageError) in try SecurityReport(json: json) }
    }

    public var json: JSONObject {
        var object: JSONObject = ["blinded": .bytes(self.blinded)]
        object["claim"] = self.opening.map { .string($0.claim.withBytes { Base64URL.encode($0) }) }
        object["token"] = self.opening.map { .string($0.token.withBytes { Base64URL.encode($0) }) }
        object["security"] = self.security.map { .object($0.json) }
        return object
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
