public import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The content of a QR code or a link for a phone: a token, and the address that redeems the token.
///
/// On the wire the payload is a JSON object of `nma_data`, `nma_data_content_type` and `nma_data_version`. A QR code
/// carries the base64url of the JSON, a link with this base64url in its query, or a sign-in's short form (``compact``).
/// Reading is strict: a further member, a second version, a relative address or a token with white space is refused.
///
/// `nma_data` is an object, or this object encrypted to a device's key (``encryptedJSON(to:random:)``).
///
/// Two payloads are equal if their contents are equal, wherever each of them was read.
public struct OutOfBandPayload: Hashable, Sendable {
    /// The token and the address that redeems the token (`token`, `redeem_url`).
    public struct RedeemData: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
        /// A secret that works once; 1 to 256 visible ASCII characters.
        public let token: String
        /// The address that redeems the token: absolute, `https` or `http`, with a host, without user information or
        /// fragment.
        ///
        /// The reader's configuration decides whether this host may see the token.
        public let redeemURL: URL

        /// Throws ``OutOfBandPayloadError/Code/malformedPayload`` for a token or an address outside the limits above.
        public init(token: String, redeemURL: URL) throws(OutOfBandPayloadError) {
            guard (1...256).contains(token.utf8.count), token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw OutOfBandPayloadError(.malformedPayload, "token is empty, too long or not visible ASCII")
            }
            let scheme = redeemURL.scheme?.asciiLowercased
            guard scheme == "https" || scheme == "http", let host = redeemURL.host(), !host.isEmpty,
                (0...65_535).contains(redeemURL.port ?? 443), redeemURL.user() == nil, redeemURL.password() == nil,
                redeemURL.fragment() == nil,
                redeemURL.absoluteString.utf8.count <= 2048
            else {
                throw OutOfBandPayloadError(.malformedPayload, "redeem_url is not an absolute web address")
            }
            self.token = token
            self.redeemURL = redeemURL
        }

        /// The address alone, because the token is a secret.
        public var description: String { "RedeemData(\(self.redeemURL.absoluteString))" }
        public var customMirror: Mirror { Mirror(self, children: ["redeemUrl": self.redeemURL]) }
    }

    /// The content type of `nma_data`: always `application/json`, because a decoder never returns an encrypted payload.
    public let contentType: String
    /// The version of the payload: `1`.
    public let version: String
    /// The token and the address that redeems the token.
    public let redeemData: RedeemData
    /// The other members of `nma_data`, chosen by the service, as the text of a JSON object; `nil` if `nma_data` has no
    /// other member.
    ///
    /// Order, names and values are those of the service, also if the payload was encrypted. The text has no white space
    /// and the shortest escapes. A number that is not a whole number of 64 bits has the precision of a `Double` (RFC
    /// 7493, section 2.2).
    public let data: String?
    /// The name of the only device that may redeem the token, by the thumbprint (RFC 7638) of the device's encryption key
    /// (`device_key` in `nma_data`); `nil` for a token that any device may redeem.
    ///
    /// The device proves the redemption with its own key (`Device-Proof`), so the token is worth nothing to a reader of
    /// the payload.
    public let deviceKey: String?

    /// `true` if the payload was read from a link. Writing a payload loses this property.
    ///
    /// Anybody can put the token of their own page into a link and send the link to a person to tap. The SDK therefore
    /// accepts from a link only a token that the server made for a link.
    public private(set) var isFromLink = false

    /// The most bytes that a payload's JSON may have. A QR code holds fewer.
    public static let maximumLength = 4096

    /// Creates a payload of version 1.
    ///
    /// `data`, if given, is the text of a JSON object with at least one member, and without the members `token`,
    /// `redeem_url` and `device_key`. `deviceKey`, if given, has 1 to 64 letters of base64url. Any other text, and a
    /// payload of more than ``maximumLength`` bytes, throws ``OutOfBandPayloadError/Code/malformedPayload``.
    public init(redeemData: RedeemData, data: String? = nil, deviceKey: String? = nil) throws(OutOfBandPayloadError) {
        var attributes: JSONObject = [:]
        if let data {
            guard case .object(let object)? = try? JSON(parsing: data, limits: Self.limits(beside: 5)),
                !object.members.isEmpty, !Self.ownMembers.contains(where: { object[$0] != nil })
            else {
                throw OutOfBandPayloadError(.malformedPayload, "data is not an object of further members")
            }
            attributes = object
        }
        try self.init(redeemData: redeemData, attributes: attributes, deviceKey: deviceKey)
    }

    private init(
        redeemData: RedeemData, attributes: JSONObject, deviceKey: String?
    ) throws(OutOfBandPayloadError) {
        guard deviceKey.map(Self.isKeyName) ?? true else {
            throw OutOfBandPayloadError(.malformedPayload, "device_key is no name of a key")
        }
        self.contentType = Self.plainType
        self.version = "1"
        self.redeemData = redeemData
        self.deviceKey = deviceKey
        self.data = attributes.members.isEmpty ? nil : JSON.object(attributes).text
        // The check also runs after reading. A text that was read can be shorter than the text that this type writes
        // for the same payload, and the written text must not be too long either.
        guard (self.data ?? "").utf8.count <= Self.maximumLength, self.json.utf8.count <= Self.maximumLength else {
            throw OutOfBandPayloadError(.malformedPayload, "longer than \(Self.maximumLength) bytes")
        }
    }

    /// The members of `nma_data` that are not the service's.
    private static let ownMembers = ["token", "redeem_url", "device_key"]

    /// Returns `true` for 1 to 64 letters of base64url.
    private static func isKeyName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    private static let limits = JSONLimits(bytes: maximumLength, depth: 6, values: 128)

    /// Returns the limits of an object that is to be `nma_data` of a text within ``limits``. The text has `others` values
    /// beside the object and its members.
    static func limits(beside others: Int) -> JSONLimits {
        JSONLimits(bytes: self.maximumLength, depth: self.limits.depth - 1, values: self.limits.values - others)
    }
}

// MARK: - Reading

extension OutOfBandPayload {
    /// Reads the JSON object.
    ///
    /// - Parameter agree: The device's keys, for an encrypted payload. Without keys, an encrypted payload is refused.
    /// - Throws: ``OutOfBandPayloadError``: `malformedPayload`, `unsupportedVersion`, `decryptionError`.
    public init(json: String, agreeing agree: KeyAgreement? = nil) throws(OutOfBandPayloadError) {
        try self.init(utf8: Array(json.utf8), agree)
    }

    /// Reads the base64url text of the JSON object, with or without padding.
    ///
    /// Throws as ``init(json:agreeing:)``.
    public init(base64URLEncoded text: String, agreeing agree: KeyAgreement? = nil) throws(OutOfBandPayloadError) {
        var letters = Substring(text)
        if letters.utf8.count % 4 == 0 {
            if letters.hasSuffix("==") { letters.removeLast(2) } else if letters.hasSuffix("=") { letters.removeLast() }
        }
        guard letters.utf8.count <= (Self.maximumLength + 2) / 3 * 4 else {
            throw OutOfBandPayloadError(.malformedPayload, "longer than \(Self.maximumLength) bytes")
        }
        guard let bytes = Base64URL.decode(letters) else {
            throw OutOfBandPayloadError(.malformedPayload, "not base64url")
        }
        try self.init(utf8: bytes, agree)
    }

    /// Reads the payload from a link: an absolute address with one query item `dispatchTokenResponse`.
    ///
    /// The link's own host does not matter; the token goes to ``RedeemData/redeemURL``. Throws as
    /// ``init(json:agreeing:)``.
    public init(link: String, agreeing agree: KeyAgreement? = nil) throws(OutOfBandPayloadError) {
        guard link.utf8.count <= 2 * Self.maximumLength, let parts = URLComponents(string: link), parts.scheme != nil
        else {
            throw OutOfBandPayloadError(.malformedPayload, "not a link")
        }
        let values = (parts.queryItems ?? []).filter { $0.name == Self.linkParameter }
        guard values.count == 1, let value = values[0].value else {
            throw OutOfBandPayloadError(.malformedPayload, "the link carries no payload, or several")
        }
        try self.init(withoutLink: value, agree)
        self.isFromLink = true
    }

    /// Reads the content of a QR code: a link, the short form, or the base64url text. Only a link contains a colon.
    ///
    /// Throws as ``init(json:agreeing:)``.
    public init(scanned text: String, agreeing agree: KeyAgreement? = nil) throws(OutOfBandPayloadError) {
        if text.utf8.contains(UInt8(ascii: ":")) {
            try self.init(link: text, agreeing: agree)
        } else {
            try self.init(withoutLink: text, agree)
        }
    }

    private init(withoutLink text: String, _ agree: KeyAgreement?) throws(OutOfBandPayloadError) {
        if text.utf8.contains(CompactPayload.separator) {
            try self.init(redeemData: CompactPayload.redeemData(text))
        } else {
            try self.init(base64URLEncoded: text, agreeing: agree)
        }
    }

    private init(utf8 bytes: [UInt8], _ agree: KeyAgreement?) throws(OutOfBandPayloadError) {
        let object: JSONObject
        let contentType: String
        do {
            guard case .object(let read) = try JSON(parsing: bytes, limits: Self.limits) else {
                throw OutOfBandPayloadError(.malformedPayload, "not an object")
            }
            object = read
            contentType = try object.requiredString("nma_data_content_type")
            guard try object.requiredString("nma_data_version") == "1" else {
                throw OutOfBandPayloadError(.unsupportedVersion, "nma_data_version is not 1")
            }
        } catch {
            throw OutOfBandPayloadError(reading: error)
        }
        guard object.members.count == 3 else {
            throw OutOfBandPayloadError(.malformedPayload, "other members beside the three")
        }
        switch contentType {
        case Self.plainType: try self.init(content: try Self.plainContent(of: object))
        case Self.encryptedType: try self.init(content: try Self.decryptedContent(of: object, agree))
        default: throw OutOfBandPayloadError(.malformedPayload, "unknown nma_data_content_type")
        }
    }

    private static func plainContent(of object: JSONObject) throws(OutOfBandPayloadError) -> JSONObject {
        do {
            return try object.requiredObject("nma_data")
        } catch {
            throw OutOfBandPayloadError(reading: error)
        }
    }

    private init(content: JSONObject) throws(OutOfBandPayloadError) {
        var attributes = content
        let token: String
        let address: String
        let deviceKey: String?
        do {
            token = try attributes.requiredString("token")
            address = try attributes.requiredString("redeem_url")
            deviceKey = try attributes.string("device_key")
        } catch {
            throw OutOfBandPayloadError(reading: error)
        }
        // A program that turns this text into an address could fold a letter outside ASCII into another host.
        guard address.utf8.allSatisfy({ $0 < 0x80 }), address.utf8.count <= 2048,
            let redeemURL = URL(string: address, encodingInvalidCharacters: false)
        else { throw OutOfBandPayloadError(.malformedPayload, "redeem_url is no address") }
        for name in Self.ownMembers { attributes[name] = nil }
        try self.init(
            redeemData: RedeemData(token: token, redeemURL: redeemURL), attributes: attributes, deviceKey: deviceKey)
    }
}

// MARK: - Writing

extension OutOfBandPayload {
    /// The path, at a server, of the links that open an app.
    public static let linkPath = "/open"
    private static let linkParameter = "dispatchTokenResponse"

    /// The JSON text, with the members in the order of the documentation. The text contains the token.
    public var json: String { Self.text(.object(self.content), of: Self.plainType) }

    /// The members of `nma_data`: token, address, the device's key and the service's members.
    var content: JSONObject {
        var content: JSONObject = [
            "token": .string(self.redeemData.token),
            "redeem_url": .string(self.redeemData.redeemURL.absoluteString),
        ]
        content["device_key"] = self.deviceKey.map(JSON.string)
        if let data, case .object(let attributes)? = try? JSON(parsing: data, limits: Self.limits) {
            for member in attributes.members { content[member.name] = member.value }
        }
        return content
    }

    /// Returns the JSON text of a payload whose `nma_data` is `data`.
    static func text(_ data: JSON, of contentType: String) -> String {
        JSON.object([
            "nma_data": data, "nma_data_content_type": .string(contentType), "nma_data_version": .string("1"),
        ]).text
    }

    /// The JSON text in base64url without padding. The text contains the token.
    public var base64URLEncoded: String { Base64URL.encode(self.json.utf8) }

    /// Returns the link that a phone opens: `<base>/open?dispatchTokenResponse=…`. The link contains the token.
    ///
    /// `base` is the issuer's address. A slash at the end of `base` does not matter.
    public func link(base: String) -> String {
        let trimmed = base.hasSuffix("/") ? String(base.dropLast()) : base
        return "\(trimmed)\(Self.linkPath)?\(Self.linkParameter)=\(self.base64URLEncoded)"
    }
}

// MARK: - Comparing

extension OutOfBandPayload {
    public static func == (left: Self, right: Self) -> Bool {
        left.contentType == right.contentType && left.version == right.version && left.redeemData == right.redeemData
            && left.data.map(ExactText.init) == right.data.map(ExactText.init)
            && left.deviceKey.map(ExactText.init) == right.deviceKey.map(ExactText.init)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.redeemData)
        hasher.combine(self.data.map(ExactText.init))
        hasher.combine(self.deviceKey.map(ExactText.init))
    }
}

// MARK: - Errors

/// The reason why an out-of-band payload could not be read. Two errors are equal if their codes are equal.
public struct OutOfBandPayloadError: CodedError {
    /// The kind of error, from which the app chooses what to do.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        fileprivate enum Base: String, CaseIterable {
            case malformedPayload, unsupportedVersion, decryptionError, operationReused
        }
        fileprivate let base: Base
        /// The text is not a payload of this product. Say that the code was not recognised and let the person scan
        /// again.
        public static let malformedPayload = Self(base: .malformedPayload)
        /// The payload comes from a newer server. Ask the person to update the app.
        public static let unsupportedVersion = Self(base: .unsupportedVersion)
        /// The payload is encrypted, and no key of this device opens the payload.
        ///
        /// The payload was meant for another device, was changed on its way, or the enrolment is gone. Ask the person to
        /// use the other device or to enrol again.
        public static let decryptionError = Self(base: .decryptionError)
        /// The operation was executed before, or was given no input or several inputs. The app's code has a mistake.
        public static let operationReused = Self(base: .operationReused)
        public var description: String { self.base.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// A text for the log, never with a part of the payload.
    public let reason: String

    /// Creates an error with the code; `reason` must hold no secret.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    init(reading error: any Error) {
        self = error as? Self ?? Self(.malformedPayload, (error as? JSONError)?.description ?? "unreadable")
    }
}

extension OutOfBandPayloadError.Code: CaseIterable {
    /// All codes of this version.
    public static var allCases: [Self] { Base.allCases.map(Self.init) }
}
