public import Ceremony
public import JOSE
import Settings
public import _Primitives

/// The content of a push message: a pointer to something that waits at the server.
///
/// No provider can read a name, a text, an amount or a service in the content. The content has at most the three members
/// of an out-of-band payload whose `nma_data` is encrypted to the device's key (decision 113). For a device without a
/// key, the version alone says that something waits. Then the app asks the server for what waits.
public struct PushContent: Sendable, Equatable {
    /// The members of the message, by name. All values are texts, because Firebase carries nothing else.
    public let members: JSONObject
    /// The moment from which the message is worth nothing.
    public let expiresAt: Timestamp

    /// Makes the content that carries no payload.
    public init(pointingUntil expiresAt: Timestamp) {
        self.members = ["nma_data_version": .string("1")]
        self.expiresAt = expiresAt
    }

    /// Makes the content that carries a payload, encrypted to a device's key.
    ///
    /// Throws as ``OutOfBandPayload/encryptedJSON(to:random:)``.
    public init(_ payload: OutOfBandPayload, to key: JWK, until expiresAt: Timestamp, random: RandomSource) throws {
        guard case .object(let members) = try JSON(parsing: try payload.encryptedJSON(to: key, random: random)) else {
            throw OutOfBandPayloadError(.malformedPayload, "the encrypted payload is no object")
        }
        self.members = members
        self.expiresAt = expiresAt
    }

    /// Reads the content from a message of the outbox. Throws `JSONError`.
    public init(stored bytes: [UInt8]) throws(JSONError) {
        guard case .object(let object) = try JSON(parsing: bytes) else {
            throw JSONError(.wrongType, "the message is no object")
        }
        self.members = try object.requiredObject("members")
        self.expiresAt = Timestamp(milliseconds: try object.requiredInteger("expires"))
    }

    /// The content as a message of the outbox.
    public var stored: [UInt8] {
        JSON.object([
            "members": .object(self.members), "expires": .integer(self.expiresAt.milliseconds),
        ]).serialized
    }

    /// The whole seconds from `now` until the end of the message, at least 0.
    func seconds(from now: Timestamp) -> Int64 { max(0, (self.expiresAt - now).milliseconds / 1000) }
}
