import _Primitives

/// The server's request for a new key (RegistrationRequest, §2.3).
public struct RegistrationRequest: Hashable, Sendable {
    /// `header`, of operation `Reg`.
    public var header: OperationHeader
    /// `challenge`
    public var challenge: Challenge
    /// `username`: 1 to 128 characters.
    public var username: String
    /// `policy`
    public var policy: Policy

    /// Creates a request. The reader checks the limits.
    public init(header: OperationHeader, challenge: Challenge, username: String, policy: Policy) {
        self.header = header
        self.challenge = challenge
        self.username = username
        self.policy = policy
    }

    /// Reads the message: an array of exactly one dictionary of operation `Reg`.
    public init(parsing bytes: some Collection<UInt8>) throws(UAFError) {
        try self.init(try MemberReader(message: bytes, "registrationRequest"))
    }

    init(_ members: MemberReader) throws(UAFError) {
        self.header = try OperationHeader(members, expecting: .registration)
        self.challenge = try Challenge(try members.requiredString("challenge"))
        self.username = try members.requiredString("username", 1...128)
        self.policy = try Policy(try members.requiredMembers("policy"))
    }

    /// The message, UTF-8.
    public var serialized: [UInt8] {
        JSON.message([
            "header": self.header.json, "challenge": .string(self.challenge.text), "username": .string(self.username),
            "policy": .object(self.policy.json),
        ]).serialized
    }
}

/// A client's answer with the attested keys (RegistrationResponse, §2.3).
public struct RegistrationResponse: Hashable, Sendable {
    /// `header`, of operation `Reg`, with the appID filled in.
    public var header: OperationHeader
    /// `fcParams`, exactly as received or made. The assertions sign these letters.
    public var fcParams: String
    /// `assertions`. An empty list means that the client reports a failure (§18, row 15); `fcParams` may then be empty
    /// too.
    public var assertions: [EncodedAssertion]

    /// Creates a response. The reader checks the limits.
    public init(header: OperationHeader, fcParams: String, assertions: [EncodedAssertion]) {
        self.header = header
        self.fcParams = fcParams
        self.assertions = assertions
    }

    /// Reads the message: an array of exactly one dictionary of operation `Reg`. `fcParams` is not decoded.
    public init(parsing bytes: some Collection<UInt8>, reading: LenientReadings = LenientReadings())
        throws(UAFError)
    {
        let members = try MemberReader(message: bytes, "registrationResponse")
        self.header = try OperationHeader(members, expecting: .registration)
        (self.fcParams, self.assertions) = try EncodedAssertion.response(members, reading)
    }

    /// The message, UTF-8.
    public var serialized: [UInt8] {
        EncodedAssertion.message(header: self.header, fcParams: self.fcParams, assertions: self.assertions)
    }
}

/// An encoded assertion in a message (AuthenticatorRegistrationAssertion, §2.3, and AuthenticatorSignAssertion, §2.4).
public struct EncodedAssertion: Hashable, Sendable {
    /// `assertionScheme`
    public var scheme: AssertionScheme
    /// `assertion`: 1 to 4096 bytes, base64url on the wire.
    public var bytes: [UInt8]
    /// `exts`
    public var extensions: [Extension]
    /// `tcDisplayPNGCharacteristics`, in a registration only: the pictures that the authenticator shows, 0 to 16.
    public var pngCharacteristics: [DisplayPNGCharacteristics]

    /// Creates an encoded assertion from the bytes of an assertion.
    public init(
        scheme: AssertionScheme = .uafV1TLV, bytes: [UInt8], extensions: [Extension] = [],
        pngCharacteristics: [DisplayPNGCharacteristics] = []
    ) {
        self.scheme = scheme
        self.bytes = bytes
        self.extensions = extensions
        self.pngCharacteristics = pngCharacteristics
    }

    init(_ members: MemberReader, _ reading: LenientReadings) throws(UAFError) {
        self.scheme = AssertionScheme(rawValue: try members.requiredString("assertionScheme"))
        let text = try members.requiredString("assertion")
        guard let bytes = reading.base64URL(text), (1...4096).contains(bytes.count) else {
            throw UAFError(.malformedAssertion, "\(members.place).assertion")
        }
        self.bytes = bytes
        self.extensions = try Extension.list(members)
        self.pngCharacteristics =
            try members.list("tcDisplayPNGCharacteristics") { (display) throws(UAFError) in
                try DisplayPNGCharacteristics(display)
            } ?? []
        guard self.pngCharacteristics.count <= 16 else {
            throw UAFError(.outOfRange, "\(members.place).tcDisplayPNGCharacteristics")
        }
    }

    private var json: JSON {
        var object: JSONObject = [
            "assertionScheme": .string(self.scheme.rawValue), "assertion": .string(Base64URL.encode(self.bytes)),
        ]
        object["exts"] = Extension.json(self.extensions)
        if !self.pngCharacteristics.isEmpty {
            object["tcDisplayPNGCharacteristics"] = .array(self.pngCharacteristics.map(\.json))
        }
        return .object(object)
    }

    /// Reads the two members that both responses have.
    static func response(_ members: MemberReader, _ reading: LenientReadings) throws(UAFError)
        -> (String, [EncodedAssertion])
    {
        let assertions = try members.requiredList("assertions", allowsEmpty: true) { (element) throws(UAFError) in
            try EncodedAssertion(element, reading)
        }
        let fcParams = try members.requiredString("fcParams", (assertions.isEmpty ? 0 : 1)...Int.max)
        return (fcParams, assertions)
    }

    static func message(header: OperationHeader, fcParams: String, assertions: [EncodedAssertion]) -> [UInt8] {
        JSON.message([
            "header": header.json, "fcParams": .string(fcParams), "assertions": .array(assertions.map(\.json)),
        ]).serialized
    }
}
