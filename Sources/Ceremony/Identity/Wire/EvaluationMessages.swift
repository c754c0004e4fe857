public import _Primitives

/// `POST /identity/sessions/{id}/pin-evaluation` and `POST /identity/activations/{id}/pin-evaluation`: a phone asks what the
/// PIN service makes of a PIN (``PinQuestion``).
public struct EvaluationRequest: IdentityMessage {
    /// ``PinQuestion/blinded``.
    public var blinded: [UInt8]
    /// At an activation: what the code's secret gives. A session's phone is known by its proof.
    public var claim: SecretBytes?

    /// Asks.
    public init(blinded: [UInt8], claim: SecretBytes? = nil) {
        self.blinded = blinded
        self.claim = claim
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let bytes = PinQuestion.blindedBytes
        (self.blinded, self.claim) = try IdentityMessageError.reading { () throws(JSONError) in
            (
                try object.requiredBytes("blinded", bytes...bytes),
                object["claim"] == nil ? nil : SecretBytes(try object.requiredBytes("claim", 32...32))
            )
        }
    }

    public var json: JSONObject {
        var object: JSONObject = ["blinded": .bytes(self.blinded)]
        object["claim"] = self.claim.map { .string($0.withBytes { Base64URL.encode($0) }) }
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
