public import JOSE
public import UAF
public import _Primitives

/// `POST /identity/in-app`: an app asks for its own sign-in. The answer is a ``SessionOffer``.
public struct InAppRequest: IdentityMessage {
    /// The version of the protocol that the phone speaks.
    public var version: Int
    /// The service, by its `client_id`.
    public var clientID: String
    /// One of the service's redirect addresses, to the letter (RFC 6749, section 3.1.2).
    public var redirectURI: String
    /// The requested scope; contains `openid`.
    public var scope: String
    /// The value that comes back with the authorization code.
    public var state: String?
    /// The value that comes back in the ID token.
    public var nonce: String?
    /// The PKCE code challenge, by `S256` (RFC 7636).
    public var codeChallenge: String

    /// Creates a request.
    public init(
        version: Int = ManagerKeySet.version, clientID: String, redirectURI: String, scope: String, state: String?,
        nonce: String?, codeChallenge: String
    ) {
        self.version = version
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.scope = scope
        self.state = state
        self.nonce = nonce
        self.codeChallenge = codeChallenge
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        self = try IdentityMessageError.reading { () throws(JSONError) in
            Self(
                version: try object.requiredInteger("version", as: Int.self),
                clientID: try object.requiredText("clientID", 1...256),
                redirectURI: try object.requiredText("redirectURI", 1...2048),
                scope: try object.requiredText("scope", 1...1024), state: try object.text("state", 0...2048),
                nonce: try object.text("nonce", 0...2048),
                codeChallenge: try object.requiredText("codeChallenge", 43...43))
        }
    }

    public var json: JSONObject {
        var object: JSONObject = [
            "version": .integer(Int64(self.version)), "clientID": .string(self.clientID),
            "redirectURI": .string(self.redirectURI), "scope": .string(self.scope),
        ]
        object["state"] = self.state.map { .string($0) }
        object["nonce"] = self.nonce.map { .string($0) }
        object["codeChallenge"] = .string(self.codeChallenge)
        return object
    }
}

/// `POST /identity/api-access`: an app asks to change its own account or activation. The answer is a ``SessionOffer``.
public struct AccessRequest: IdentityMessage {
    /// The version of the protocol that the phone speaks.
    public var version: Int
    /// The purpose of the change: any purpose but the two sign-ins.
    public var purpose: SessionDocument.Purpose
    /// For a merge: ``ProvenActivation/token`` of the invitation's activation.
    public var token: SecretBytes?
    /// For a merge: the invitation's activation, ``ProvenActivation/activation``.
    public var invitation: String?
    /// For a new factor that replaces a factor on this device: the key of the old factor, as in
    /// ``ActivationReceipt/biometricKey``. The document then names the replacement.
    public var replaces: KeyID?

    /// Creates a request.
    public init(
        version: Int = ManagerKeySet.version, purpose: SessionDocument.Purpose, token: SecretBytes? = nil,
        invitation: String? = nil, replaces: KeyID? = nil
    ) {
        self.version = version
        self.purpose = purpose
        self.token = token
        self.invitation = invitation
        self.replaces = replaces
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (
                version: try object.requiredInteger("version", as: Int.self),
                purpose: try object.requiredText("purpose", 1...32),
                token: object["token"] == nil ? nil : SecretBytes(try object.requiredBytes("token", 32...32)),
                invitation: try object.text("invitation", 1...64), replaces: try object.keyID("replaces")
            )
        }
        guard let purpose = SessionDocument.Purpose(exactly: read.purpose) else {
            throw IdentityMessageError(.unsupported, "purpose")
        }
        self.init(
            version: read.version, purpose: purpose, token: read.token, invitation: read.invitation,
            replaces: read.replaces)
    }

    public var json: JSONObject {
        var object: JSONObject = [
            "version": .integer(Int64(self.version)), "purpose": .string(self.purpose.rawValue),
        ]
        object["token"] = self.token.map { .string($0.withBytes { Base64URL.encode($0) }) }
        object["invitation"] = self.invitation.map { .string($0) }
        object["replaces"] = self.replaces.map { .bytes($0.bytes) }
        return object
    }
}

/// `POST /identity/api-access/{session}/complete`: an app uses its grant, once.
public struct CompleteRequest: IdentityMessage {
    /// ``Completion``, sealed for ``SealedMessage/Place/completion(session:)``.
    public var completion: SealedMessage

    /// Creates a request that uses a grant.
    public init(completion: SealedMessage) { self.completion = completion }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        self.completion = try SealedMessage(
            json: try IdentityMessageError.reading { () throws(JSONError) in try object.requiredObject("completion") })
    }

    public var json: JSONObject { ["completion": .object(self.completion.json)] }
}

/// The content of a request that uses a grant, for each purpose of the grant.
public enum Completion: IdentityMessage {
    /// A further factor: a UAF registration response with one assertion over ``SessionDocument/challenge``. A factor
    /// that replaces another names the other factor's key, as in ``AccessRequest/replaces``.
    case addFactor(response: String, replaces: KeyID? = nil)
    /// A new PIN with its number (`version`), and a UAF registration response with the PIN's assertion over
    /// ``SessionDocument/challenge``.
    case changePin(version: UInt32, response: String)
    /// An activation for another device.
    case newActivation(NewActivation)
    /// The deletion of the account.
    case delete

    /// The activation for another device. The phone makes the secret and the key of the PIN, so the server knows
    /// neither.
    public struct NewActivation: IdentityMessage {
        /// ``ProcessCode/digest(ofClaim:)`` of the secret.
        public var claimDigest: [UInt8]
        /// The public key (P-256) that the activation's PIN gives, with the code's secret in place of the phone's half,
        /// and with the version 0.
        public var pinKey: JWK
        /// The parameters with which the PIN became the key.
        public var pin: PinParameters
        /// The name of the activation that the key is bound to (``PinScheme/Context``). The server makes the activation
        /// with this name.
        public var activation: String
        /// The name for the other device.
        public var name: String?
        /// The secret of the code, for the server's letter to the person's address; `nil` if the server sends no
        /// letter. The code in the letter would be useless without the secret, so the phone gives the secret to the
        /// server for this letter.
        public var secretForMail: SecretBytes?

        /// Creates an activation.
        public init(
            claimDigest: [UInt8], pinKey: JWK, pin: PinParameters, activation: String, name: String?,
            secretForMail: SecretBytes?
        ) {
            self.claimDigest = claimDigest
            self.pinKey = pinKey
            self.pin = pin
            self.activation = activation
            self.name = name
            self.secretForMail = secretForMail
        }

        public init(json object: JSONObject) throws(IdentityMessageError) {
            let read = try IdentityMessageError.reading { () throws(JSONError) in
                (
                    digest: try object.requiredBytes("claimDigest", 32...32), key: try object.requiredObject("pinKey"),
                    pin: try object.requiredObject("pin"),
                    activation: try object.requiredText("activation", 16...64), name: try object.text("name", 1...256),
                    secret: object["secret"] == nil ? nil : SecretBytes(try object.requiredBytes("secret", 32...32))
                )
            }
            let key: JWK
            do throws(JOSEError) { key = try JWK(publicJSON: read.key) } catch {
                throw IdentityMessageError(.malformed, "pinKey")
            }
            guard case .p256 = key.material else { throw IdentityMessageError(.malformed, "pinKey") }
            self.init(
                claimDigest: read.digest, pinKey: key, pin: try PinParameters(message: read.pin),
                activation: read.activation, name: read.name, secretForMail: read.secret)
        }

        public var json: JSONObject {
            var object: JSONObject = [
                "claimDigest": .bytes(self.claimDigest), "pinKey": .object(self.pinKey.publicJSON ?? [:]),
                "pin": .object(self.pin.json), "activation": .string(self.activation),
            ]
            object["name"] = self.name.map { .string($0) }
            object["secret"] = self.secretForMail.map { .string($0.withBytes { Base64URL.encode($0) }) }
            return object
        }
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (
                purpose: try object.requiredText("purpose", 1...32),
                response: try object.text("response", 1...24 * 1024),
                version: try object.integer("version", as: UInt32.self), activation: try object.object("activation"),
                replaces: try object.keyID("replaces")
            )
        }
        switch (SessionDocument.Purpose(exactly: read.purpose), read.response, read.version, read.activation) {
        case (.addFactor, let response?, nil, nil):
            self = .addFactor(response: response, replaces: read.replaces)
        case (.changePin, let response?, let version?, nil): self = .changePin(version: version, response: response)
        case (.newActivation, nil, nil, let activation?):
            self = .newActivation(try NewActivation(json: activation))
        case (.delete, nil, nil, nil): self = .delete
        default: throw IdentityMessageError(.malformed, "purpose")
        }
    }

    public var json: JSONObject {
        switch self {
        case .addFactor(let response, let replaces):
            var object: JSONObject = [
                "purpose": .string(SessionDocument.Purpose.addFactor.rawValue), "response": .string(response),
            ]
            object["replaces"] = replaces.map { .bytes($0.bytes) }
            return object
        case .changePin(let version, let response):
            return [
                "purpose": .string(SessionDocument.Purpose.changePin.rawValue), "version": .integer(Int64(version)),
                "response": .string(response),
            ]
        case .newActivation(let activation):
            return [
                "purpose": .string(SessionDocument.Purpose.newActivation.rawValue),
                "activation": .object(activation.json),
            ]
        case .delete: return ["purpose": .string(SessionDocument.Purpose.delete.rawValue)]
        }
    }
}

/// The answer to a ``CompleteRequest``: the state after the change.
public struct CompleteResponse: IdentityMessage, Hashable {
    /// The activation after the change; `nil` if the activation was deleted with its account.
    public var activation: ActivationReceipt?
    /// For another device: the part of the code that the server signed
    /// (``ProcessCode/signed(kind:server:id:claimDigest:expiresAt:by:)``).
    public var code: String?

    /// Creates an answer.
    public init(activation: ActivationReceipt?, code: String? = nil) {
        self.activation = activation
        self.code = code
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (activation: try object.object("activation"), code: try object.text("code", 1...2048))
        }
        self.activation = try read.activation.map { json throws(IdentityMessageError) in
            try ActivationReceipt(json: json)
        }
        self.code = read.code
    }

    public var json: JSONObject {
        var object: JSONObject = [:]
        object["activation"] = self.activation.map { .object($0.json) }
        object["code"] = self.code.map { .string($0) }
        return object
    }
}
