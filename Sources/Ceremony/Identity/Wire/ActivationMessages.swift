public import JOSE
public import UAF
public import _Primitives

/// `POST /identity/activations/{id}/open`: a phone opens an activation after reading the activation's code.
public struct OpenRequest: IdentityMessage {
    /// The version of the protocol that the phone speaks.
    public var version: Int
    /// The claim from the code's secret.
    public var claim: SecretBytes
    /// The device's report about itself, as in ``StartRequest``.
    public var security: SecurityReport?

    /// Creates a request that opens an activation.
    public init(version: Int = ManagerKeySet.version, claim: SecretBytes, security: SecurityReport?) {
        self.version = version
        self.claim = claim
        self.security = security
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let start = try StartRequest(json: object)
        self.init(version: start.version, claim: start.claim, security: start.security)
    }

    public var json: JSONObject {
        StartRequest(version: self.version, claim: self.claim, security: self.security).json
    }
}

/// The answer to an ``OpenRequest``.
public struct OpenResponse: IdentityMessage, Hashable {
    /// The challenge for one proof of the activation's PIN. The next answer has another challenge.
    public var challenge: String
    /// The parameters with which the activation's PIN becomes a key. The code's secret takes the place of the phone's
    /// half, and the version is 0.
    public var pin: PinParameters

    /// Creates an answer.
    public init(challenge: String, pin: PinParameters) {
        self.challenge = challenge
        self.pin = pin
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (challenge: try object.requiredText("challenge", 16...128), pin: try object.requiredObject("pin"))
        }
        self.challenge = read.challenge
        self.pin = try PinParameters(message: read.pin)
    }

    public var json: JSONObject { ["challenge": .string(self.challenge), "pin": .object(self.pin.json)] }
}

/// `POST /identity/activations/{id}/prove`: a phone proves the activation's PIN, which a person typed.
public struct ProveRequest: IdentityMessage {
    /// The claim from the code's secret.
    public var claim: SecretBytes
    /// The thumbprint (RFC 7638) of the key that the device signs with. Only this device can use the token that the
    /// proof earns (decision 79).
    ///
    /// The key is the new key of the device that will enrol, or the key of the activation that will take the account
    /// into its own account.
    public var device: String
    /// ``Proof``, sealed for ``SealedMessage/Place/activationProof(activation:challenge:)``.
    public var proof: SealedMessage

    /// Creates a request that proves a PIN.
    public init(claim: SecretBytes, device: String, proof: SealedMessage) {
        self.claim = claim
        self.device = device
        self.proof = proof
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (
                claim: SecretBytes(try object.requiredBytes("claim", 32...32)),
                device: try object.requiredBytes("device", 32...32), proof: try object.requiredObject("proof")
            )
        }
        self.init(
            claim: read.claim, device: Base64URL.encode(read.device), proof: try SealedMessage(json: read.proof))
    }

    public var json: JSONObject {
        [
            "claim": .string(self.claim.withBytes { Base64URL.encode($0) }), "device": .string(self.device),
            "proof": .object(self.proof.json),
        ]
    }

    /// The sealed content of the request.
    public struct Proof: IdentityMessage {
        /// ECDSA with SHA-256 and the key of the activation's PIN over
        /// ``signedBytes(activation:challenge:device:)``: r ‖ s.
        public var signature: [UInt8]

        /// Creates a proof.
        public init(signature: [UInt8]) { self.signature = signature }

        public init(json object: JSONObject) throws(IdentityMessageError) {
            self.signature = try IdentityMessageError.reading { () throws(JSONError) in
                try object.requiredBytes("signature", 64...64)
            }
        }

        public var json: JSONObject { ["signature": .bytes(self.signature)] }

        /// Returns the bytes that the proof signs. `device` is ``ProveRequest/device``; a change of the device on the
        /// way makes the proof invalid.
        public static func signedBytes(activation: String, challenge: String, device: String) -> [UInt8] {
            Array(["countersign activation proof/2", activation, challenge, device].joined(separator: "\0").utf8)
        }
    }
}

/// The answer to a ``ProveRequest``.
public enum ProveResponse: IdentityMessage {
    /// The PIN was right.
    case proven(ProvenActivation)
    /// The PIN was wrong. Another attempt is possible after the lockout, with another challenge.
    case lockout(LockoutNotice, challenge: String)

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (
                proven: try object.object("proven"), lockout: try object.object("lockout"),
                challenge: try object.text("challenge", 16...128)
            )
        }
        switch (read.proven, read.lockout, read.challenge) {
        case (let proven?, nil, nil): self = .proven(try ProvenActivation(json: proven))
        case (nil, let lockout?, let challenge?):
            self = .lockout(try LockoutNotice(json: lockout), challenge: challenge)
        default: throw IdentityMessageError(.malformed, "proven")
        }
    }

    public var json: JSONObject {
        switch self {
        case .proven(let proven): ["proven": .object(proven.json)]
        case .lockout(let lockout, let challenge):
            ["lockout": .object(lockout.json), "challenge": .string(challenge)]
        }
    }
}

/// The data of an activation whose PIN was proven.
public struct ProvenActivation: IdentityMessage {
    /// The token that opens the enrolment or the merge until ``until``, for the device in the proof
    /// (``ProveRequest/device``).
    public var token: SecretBytes
    /// The end of the token's validity.
    public var until: Timestamp
    /// The new activation: the server's name for this app from now on.
    public var activation: String
    /// The account, by a name for this server and its phones only.
    public var account: String
    /// The challenge of the UAF registration of the new factors.
    public var challenge: String
    /// The AppID of the UAF assertions.
    public var appID: String
    /// The name of the account in the UAF registration.
    public var username: String
    /// `true` if an app that is already personalised at this server can take the activation's account into its own
    /// account instead of enrolling.
    public var mayMerge: Bool
    /// The public key with which the PIN service evaluates the new activation's PIN; `nil` if no PIN service exists.
    /// With a key the PIN uses `pin/2` (``PinQuestion``), without a key `pin/1`.
    public var pinServiceKey: [UInt8]?

    /// Creates the data of an activation.
    public init(
        token: SecretBytes, until: Timestamp, activation: String, account: String, challenge: String, appID: String,
        username: String, mayMerge: Bool, pinServiceKey: [UInt8]? = nil
    ) {
        self.token = token
        self.until = until
        self.activation = activation
        self.account = account
        self.challenge = challenge
        self.appID = appID
        self.username = username
        self.mayMerge = mayMerge
        self.pinServiceKey = pinServiceKey
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        self = try IdentityMessageError.reading { () throws(JSONError) in
            let bytes = PinQuestion.serviceKeyBytes
            return Self(
                token: SecretBytes(try object.requiredBytes("token", 32...32)),
                until: try object.requiredMoment("until"), activation: try object.requiredText("activation", 1...64),
                account: try object.requiredText("account", 1...64),
                challenge: try object.requiredText("challenge", 16...128), appID: try object.requiredText("appID"),
                username: try object.requiredText("username", 1...128),
                mayMerge: try object.requiredBool("mayMerge"),
                pinServiceKey: object["pinServiceKey"] == nil
                    ? nil : try object.requiredBytes("pinServiceKey", bytes...bytes))
        }
    }

    public var json: JSONObject {
        var object: JSONObject = [
            "token": .string(self.token.withBytes { Base64URL.encode($0) }), "until": .moment(self.until),
            "activation": .string(self.activation), "account": .string(self.account),
            "challenge": .string(self.challenge), "appID": .string(self.appID), "username": .string(self.username),
            "mayMerge": .bool(self.mayMerge),
        ]
        object["pinServiceKey"] = self.pinServiceKey.map { .bytes($0) }
        return object
    }
}

/// `POST /identity/activations/{id}/enroll`: the keys of the new activation.
public struct EnrollRequest: IdentityMessage {
    /// ``Enrolment``, sealed for ``SealedMessage/Place/enrolment(activation:token:)``, the token in base64url.
    public var enrolment: SealedMessage

    /// Creates a request that enrols.
    public init(enrolment: SealedMessage) { self.enrolment = enrolment }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        self.enrolment = try SealedMessage(
            json: try IdentityMessageError.reading { () throws(JSONError) in try object.requiredObject("enrolment") })
    }

    public var json: JSONObject { ["enrolment": .object(self.enrolment.json)] }

    /// The sealed content of the request. The device's signing key proves itself by the ``DeviceProof`` of the request,
    /// with the new activation as `kid`.
    public struct Enrolment: IdentityMessage {
        /// ``ProvenActivation/token``.
        public var token: SecretBytes
        /// The person's name for the device.
        public var name: String
        /// The device's own signing key (P-256).
        public var signingKey: JWK
        /// The key with which the device opens messages (P-256).
        public var encryptionKey: JWK
        /// The `uafProtocolMessage`: a registration response with one assertion of each factor.
        public var response: String
        /// The scheme that made the PIN's key in the response. The server cannot see a difference, and relies on the
        /// phone's statement.
        public var pinScheme: PinScheme

        /// Creates the content.
        public init(
            token: SecretBytes, name: String, signingKey: JWK, encryptionKey: JWK, response: String,
            pinScheme: PinScheme = .pin1
        ) {
            self.token = token
            self.name = name
            self.signingKey = signingKey
            self.encryptionKey = encryptionKey
            self.response = response
            self.pinScheme = pinScheme
        }

        public init(json object: JSONObject) throws(IdentityMessageError) {
            let read = try IdentityMessageError.reading { () throws(JSONError) in
                (
                    token: SecretBytes(try object.requiredBytes("token", 32...32)),
                    name: try object.requiredText("name", 1...256), signing: try object.requiredObject("signingKey"),
                    encryption: try object.requiredObject("encryptionKey"),
                    response: try object.requiredText("response", 1...24 * 1024),
                    scheme: try object.text("pinScheme", 1...32) ?? PinScheme.pin1.rawValue
                )
            }
            guard let scheme = PinScheme(exactly: read.scheme) else {
                throw IdentityMessageError(.unsupported, "pinScheme")
            }
            self.init(
                token: read.token, name: read.name, signingKey: try JWK(ofDevice: read.signing, named: "signingKey"),
                encryptionKey: try JWK(ofDevice: read.encryption, named: "encryptionKey"), response: read.response,
                pinScheme: scheme)
        }

        public var json: JSONObject {
            [
                "token": .string(self.token.withBytes { Base64URL.encode($0) }), "name": .string(self.name),
                "signingKey": .object(self.signingKey.publicJSON ?? [:]),
                "encryptionKey": .object(self.encryptionKey.publicJSON ?? [:]), "response": .string(self.response),
                "pinScheme": .string(self.pinScheme.rawValue),
            ]
        }
    }
}

/// An activation in the server's answers: after an enrolment or a change, and for every `GET /identity/activation`.
public struct ActivationReceipt: IdentityMessage, Hashable {
    /// The identifier of the activation.
    public var activation: String
    /// The person's name for the activation.
    public var name: String
    /// The activation's factors, by type.
    public var factors: [String]
    /// The key of the activation's finger or face; `nil` if the activation has none, or if the server does not say.
    public var biometricKey: KeyID?
    /// The number of the PIN that is in force; `nil` if the activation has no PIN.
    public var pinVersion: UInt32?
    /// The moment of creation.
    public var createdAt: Timestamp

    /// Creates a record.
    public init(
        activation: String, name: String, factors: [String], biometricKey: KeyID?, pinVersion: UInt32?,
        createdAt: Timestamp
    ) {
        self.activation = activation
        self.name = name
        self.factors = factors
        self.biometricKey = biometricKey
        self.pinVersion = pinVersion
        self.createdAt = createdAt
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        self = try IdentityMessageError.reading { () throws(JSONError) in
            Self(
                activation: try object.requiredText("activation", 1...64),
                name: try object.requiredText("name", 1...256), factors: try object.strings("factors") ?? [],
                biometricKey: try object.keyID("biometricKey"),
                pinVersion: try object.integer("pinVersion", as: UInt32.self),
                createdAt: try object.requiredMoment("createdAt"))
        }
    }

    public var json: JSONObject {
        var object: JSONObject = [
            "activation": .string(self.activation), "name": .string(self.name),
            "factors": .array(self.factors.map { .string($0) }),
        ]
        object["biometricKey"] = self.biometricKey.map { .bytes($0.bytes) }
        object["pinVersion"] = self.pinVersion.map { .integer(Int64($0)) }
        object["createdAt"] = .moment(self.createdAt)
        return object
    }
}

extension PinParameters {
    /// Reads the parameters from a message.
    init(message object: JSONObject) throws(IdentityMessageError) {
        do throws(PinSchemeError) { try self.init(json: object) } catch {
            throw IdentityMessageError(error.code == .unsupported ? .unsupported : .malformed, "pin")
        }
    }
}
