import Crypto
import Foundation
import Settings
import _Primitives

/// The target of Web Push: the address that a push service has given to a device, and the keys that the device has made
/// (W3C Push API, `PushSubscription.toJSON`).
///
/// The text is `{"endpoint": "https://…", "keys": {"p256dh": "…", "auth": "…"}}`. Browsers add `expirationTime`, a number
/// or `null`, which the dispatcher does not need: the push service tells the end of a subscription. There are no further
/// members.
public struct PushSubscription: Sendable, Equatable {
    /// The address that takes messages.
    public let endpoint: String
    /// The origin of the address (RFC 6454, section 6.2): the push service.
    public let origin: String
    /// The device's public key: an uncompressed point on P-256, 65 bytes.
    public let key: [UInt8]
    /// The secret of the subscription, 16 bytes.
    public let secret: [UInt8]

    /// Reads the text; `nil` for another text, a point off the curve, and an address that is no web address.
    public init?(_ text: String) {
        guard case .object(let object)? = try? JSON(parsing: text.utf8, leavesOutNull: true), Self.hasMembers(object),
            let endpoint = try? object.requiredString("endpoint"), let keys = try? object.requiredObject("keys"),
            keys.members.count == 2, let key = (try? keys.requiredString("p256dh")).flatMap({ Base64URL.decode($0) }),
            let secret = (try? keys.requiredString("auth")).flatMap({ Base64URL.decode($0) }), secret.count == 16,
            key.count == 65, (try? P256.KeyAgreement.PublicKey(x963Representation: key)) != nil,
            let origin = Self.origin(of: endpoint)
        else { return nil }
        self.endpoint = endpoint
        self.origin = origin
        self.key = key
        self.secret = secret
    }

    private static func hasMembers(_ object: JSONObject) -> Bool {
        switch object["expirationTime"] {
        case nil: object.members.count == 2
        case .integer?, .number?: object.members.count == 3
        default: false
        }
    }

    private static func origin(of endpoint: String) -> String? {
        guard endpoint.utf8.count <= Limits.Fixed.pushEndpointBytes,
            endpoint.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let parts = URLComponents(string: endpoint),
            let scheme = parts.scheme?.asciiLowercased, scheme == "https" || scheme == "http",
            let host = parts.percentEncodedHost?.asciiLowercased, !host.isEmpty, parts.user == nil,
            parts.password == nil, parts.fragment == nil
        else { return nil }
        let usual = scheme == "https" ? 443 : 80
        let port = parts.port.flatMap { $0 == usual ? nil : ":\($0)" } ?? ""
        return "\(scheme)://\(host)\(port)"
    }
}
