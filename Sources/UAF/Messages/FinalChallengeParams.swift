import Crypto
import _Primitives

/// The context that an assertion is bound to: application, challenge, caller and channel (FinalChallengeParams, §2.1).
public struct FinalChallengeParams: Hashable, Sendable {
    /// `appID`, with an empty AppID replaced by the facetID: 1 to 512 characters.
    public var appID: String
    /// `challenge`, the request's text.
    public var challenge: Challenge
    /// `facetID`: the caller of the client.
    public var facetID: FacetID
    /// `channelBinding`: the TLS channel as seen by the client.
    public var channelBinding: ChannelBinding

    /// Creates the parameters.
    public init(
        appID: String, challenge: Challenge, facetID: FacetID, channelBinding: ChannelBinding = ChannelBinding()
    ) {
        self.appID = appID
        self.challenge = challenge
        self.facetID = facetID
        self.channelBinding = channelBinding
    }

    /// Reads the member `fcParams` of a response: base64url of JSON. Row 2 and sections 2 and 7 of the readings apply.
    public init(encoded text: String, reading: LenientReadings = LenientReadings()) throws(UAFError) {
        guard let bytes = reading.base64URL(text) else { throw UAFError(.invalidBase64URL, "fcParams") }
        let members = try MemberReader(body: bytes, "fcParams")
        self.appID = try members.requiredString("appID", 1...512)
        self.challenge = try Challenge(try members.requiredString("challenge"))
        let facetID = try members.requiredString("facetID", (reading.section7EmptyFacetID ? 0 : 1)...512)
        self.facetID = facetID.isEmpty ? .unknown : try FacetID(facetID)
        if reading.section2NoChannelBinding, members.object["channelBinding"] == nil {
            self.channelBinding = ChannelBinding()
        } else {
            self.channelBinding = try ChannelBinding(try members.requiredMembers("channelBinding"))
        }
    }

    /// The member `fcParams`: base64url of JSON. Compute the text once and use the same text everywhere, because its
    /// hash is signed.
    public var encoded: String {
        let object: JSONObject = [
            "appID": .string(self.appID), "challenge": .string(self.challenge.text),
            "facetID": .string(self.facetID.text), "channelBinding": self.channelBinding.json,
        ]
        return Base64URL.encode(JSON.object(object).serialized)
    }

    /// Returns the SHA-256 of the letters of `fcParams` exactly as sent, without decoding (§18, row 1).
    public static func hash(ofEncoded text: String) -> [UInt8] {
        var text = text
        return text.withUTF8 { letters in
            var hash = SHA256()
            hash.update(bufferPointer: UnsafeRawBufferPointer(letters))
            return Array(hash.finalize())
        }
    }
}

/// The client's view of its TLS channel (ChannelBinding, §2.1). All members may be missing.
public struct ChannelBinding: Hashable, Sendable {
    /// `serverEndPoint`: base64url of a hash of the server's certificate.
    public var serverEndPoint: String?
    /// `tlsServerCertificate`: base64url of the server's certificate, DER.
    public var tlsServerCertificate: String?
    /// `tlsUnique`: base64url of the TLS Finished structure. Deprecated.
    public var tlsUnique: String?
    /// `cid_pubkey`: `unused`, or base64url of a JSON web key.
    public var channelIDPublicKey: String?

    /// Creates a channel binding; without arguments, the empty binding.
    public init(
        serverEndPoint: String? = nil, tlsServerCertificate: String? = nil, tlsUnique: String? = nil,
        channelIDPublicKey: String? = nil
    ) {
        self.serverEndPoint = serverEndPoint
        self.tlsServerCertificate = tlsServerCertificate
        self.tlsUnique = tlsUnique
        self.channelIDPublicKey = channelIDPublicKey
    }

    init(_ members: MemberReader) throws(UAFError) {
        self.serverEndPoint = try members.string("serverEndPoint")
        self.tlsServerCertificate = try members.string("tlsServerCertificate")
        self.tlsUnique = try members.string("tlsUnique")
        self.channelIDPublicKey = try members.string("cid_pubkey")
    }

    var json: JSON {
        var object = JSONObject()
        object["serverEndPoint"] = self.serverEndPoint.map { .string($0) }
        object["tlsServerCertificate"] = self.tlsServerCertificate.map { .string($0) }
        object["tlsUnique"] = self.tlsUnique.map { .string($0) }
        object["cid_pubkey"] = self.channelIDPublicKey.map { .string($0) }
        return .object(object)
    }
}
