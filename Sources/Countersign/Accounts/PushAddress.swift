import Crypto
import _Primitives

/// The address at which a push service reaches the app on this device.
///
/// The servers keep the address encrypted. Whoever has the address may be able to push to the device, so that the
/// description has only the dispatcher's name.
public struct PushAddress: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The name of the server's dispatcher for the push service: 1 to 64 lower-case letters, digits and hyphens.
    public let dispatcher: String
    /// The address in the push service's own form, such as a token or a URL: 1 to 4,096 bytes of visible ASCII.
    public let address: String

    /// Creates an address. A registration or a change with another dispatcher's name or another address than the
    /// members allow ends with ``OperationError/Code/missingInteraction``.
    public init(dispatcher: String, address: String) {
        self.dispatcher = dispatcher
        self.address = address
    }

    /// Returns the address of a token of Firebase Cloud Messaging: the dispatcher is `firebase-cloud-messaging`.
    public static func firebaseCloudMessaging(registrationToken: String) -> Self {
        Self(dispatcher: "firebase-cloud-messaging", address: registrationToken)
    }

    /// The reason why no server accepts the address; `nil` if a server can. The reason has no part of the address.
    var flaw: String? {
        guard (1...64).contains(self.dispatcher.utf8.count), self.dispatcher.utf8.allSatisfy(Self.isInName) else {
            return "the dispatcher's name is none"
        }
        let bytes = self.address.utf8
        guard (1...4096).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return "the push address does not have 1 to 4,096 visible letters"
        }
        return nil
    }

    /// The SHA-256 of the address in base64url, as a server tells the address to the device.
    var hash: String { Base64URL.encode(Array(SHA256.hash(data: Array(self.address.utf8)))) }

    private static func isInName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
    }

    /// The dispatcher's name only.
    public var description: String { "PushAddress(\(self.dispatcher))" }
    public var customMirror: Mirror { Mirror(self, children: ["dispatcher": self.dispatcher]) }
}
