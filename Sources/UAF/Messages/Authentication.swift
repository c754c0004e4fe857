import Crypto
public import _Primitives

/// The server's request for a signature (AuthenticationRequest, §2.4).
public struct AuthenticationRequest: Hashable, Sendable {
    /// `header`, of operation `Auth`.
    public var header: OperationHeader
    /// `challenge`
    public var challenge: Challenge
    /// `transaction`: the same content in one or more renderings; empty if the request has nothing to confirm.
    public var transaction: [Transaction]
    /// `policy`
    public var policy: Policy

    /// Creates a request. The reader checks the limits.
    public init(header: OperationHeader, challenge: Challenge, transaction: [Transaction] = [], policy: Policy) {
        self.header = header
        self.challenge = challenge
        self.transaction = transaction
        self.policy = policy
    }

    /// Reads the message: an array of exactly one dictionary of operation `Auth`.
    public init(parsing bytes: some Collection<UInt8>) throws(UAFError) {
        try self.init(try MemberReader(message: bytes, "authenticationRequest"))
    }

    init(_ members: MemberReader) throws(UAFError) {
        self.header = try OperationHeader(members, expecting: .authentication)
        self.challenge = try Challenge(try members.requiredString("challenge"))
        self.transaction =
            try members.list("transaction") { (element) throws(UAFError) in try Transaction(element) } ?? []
        self.policy = try Policy(try members.requiredMembers("policy"))
    }

    /// The message, UTF-8.
    public var serialized: [UInt8] {
        var object: JSONObject = ["header": self.header.json, "challenge": .string(self.challenge.text)]
        if !self.transaction.isEmpty { object["transaction"] = .array(self.transaction.map { .object($0.json) }) }
        object["policy"] = .object(self.policy.json)
        return JSON.message(object).serialized
    }
}

/// A client's answer with the signatures (AuthenticationResponse, §2.4).
public struct AuthenticationResponse: Hashable, Sendable {
    /// `header`, of operation `Auth`, with the appID filled in.
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

    /// Reads the message: an array of exactly one dictionary of operation `Auth`. `fcParams` is not decoded.
    public init(parsing bytes: some Collection<UInt8>, reading: LenientReadings = LenientReadings())
        throws(UAFError)
    {
        let members = try MemberReader(message: bytes, "authenticationResponse")
        self.header = try OperationHeader(members, expecting: .authentication)
        (self.fcParams, self.assertions) = try EncodedAssertion.response(members, reading)
    }

    /// The message, UTF-8.
    public var serialized: [UInt8] {
        EncodedAssertion.message(header: self.header, fcParams: self.fcParams, assertions: self.assertions)
    }
}

/// The content that the person sees and confirms (Transaction, §2.4).
public struct Transaction: Hashable, Sendable {
    /// The media type of a transaction's content.
    public struct ContentType: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name on the wire.
        public let rawValue: String
        /// Creates a content type from any name. A display that does not know the name cannot show the content.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// `text/plain`
        public static let textPlain = Self(rawValue: "text/plain")
        /// `image/png`
        public static let imagePNG = Self(rawValue: "image/png")

        public var description: String { self.rawValue }
    }

    /// `contentType`
    public var contentType: ContentType
    /// `content`: the bytes, base64url on the wire. The caller decides which bytes are valid.
    public var content: [UInt8]
    /// `tcDisplayPNGCharacteristics`: the display for which a picture was drawn.
    public var pngCharacteristics: DisplayPNGCharacteristics?

    /// Creates a transaction from the bytes of a content.
    public init(
        contentType: ContentType = .textPlain, content: [UInt8], pngCharacteristics: DisplayPNGCharacteristics? = nil
    ) {
        self.contentType = contentType
        self.content = content
        self.pngCharacteristics = pngCharacteristics
    }

    init(_ members: MemberReader) throws(UAFError) {
        self.contentType = ContentType(rawValue: try members.requiredString("contentType"))
        self.content = try members.requiredBytes("content", 1...Int.max)
        self.pngCharacteristics = try members.members("tcDisplayPNGCharacteristics").map {
            (display) throws(UAFError) in try DisplayPNGCharacteristics(display)
        }
    }

    /// Reads the dictionary alone, as sent by a relying party's back end.
    public init(json object: JSONObject) throws(UAFError) { try self.init(MemberReader(object, "transaction")) }

    /// The dictionary of the transaction.
    public var json: JSONObject {
        var object: JSONObject = [
            "contentType": .string(self.contentType.rawValue), "content": .string(Base64URL.encode(self.content)),
        ]
        object["tcDisplayPNGCharacteristics"] = self.pngCharacteristics?.json
        return object
    }

    /// SHA-256 of the content's bytes, the value of TAG_TRANSACTION_CONTENT_HASH (§14).
    public var contentHash: [UInt8] { Array(SHA256.hash(data: self.content)) }
}
