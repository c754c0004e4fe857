import Crypto
import JOSE
import UAF
public import _Primitives

/// The permanent state of an identity server, as a file of a test. With the file, a later version of the SDK meets a
/// server whose state an earlier version has stored.
extension VirtualIdentityServer {
    /// The server's address, the root key that vouches for the server's keys, and the personalised devices with their
    /// public keys. Running processes are left out.
    public var memory: JSONObject {
        [
            "identifier": .string(self.identifier),
            "root": .string(self.keptRoot.withBytes { Base64URL.encode(Array($0)) }),
            "activations": .array(
                self.activations.sorted { $0.key < $1.key }.map { name, activation in
                    .object([
                        "activation": .string(name), "name": .string(activation.name),
                        "signingKey": .object(activation.signingKey.publicJSON ?? [:]),
                        "pinVersion": .integer(Int64(activation.pinVersion)),
                        "keys": .array(activation.keys.map { .object(Self.json($0.key, $0.value)) }),
                    ])
                }),
        ]
    }

    /// Creates the server with this ``memory``.
    ///
    /// Its other keys are new, and its root vouches for the new keys. Throws `JSONError`, `JOSEError` and `UAFError`
    /// for any other object.
    public init(memory: JSONObject, clock: FakeClock = FakeClock()) throws {
        var activations: [String: Activation] = [:]
        for case .object(let activation) in try memory.array("activations") ?? [] {
            var keys: [KeyID: (aaid: AAID, key: P256.Signing.PublicKey, counter: UInt32)] = [:]
            for case .object(let key) in try activation.array("keys") ?? [] {
                keys[try KeyID(base64URL: try key.requiredString("keyID"))] = (
                    try AAID(try key.requiredString("aaid")),
                    try P256Encoding.publicKey(try key.bytes("publicKey"), format: .eccX962Raw),
                    try key.requiredInteger("signCounter")
                )
            }
            activations[try activation.requiredString("activation")] = Activation(
                signingKey: try JWK(publicJSON: try activation.requiredObject("signingKey")),
                name: try activation.requiredString("name"), keys: keys,
                pinVersion: try activation.requiredInteger("pinVersion"))
        }
        try self.init(
            identifier: try memory.requiredString("identifier"), clock: clock,
            root: SecretBytes(try memory.bytes("root")), activations: activations)
    }

    private static func json(_ id: KeyID, _ key: (aaid: AAID, key: P256.Signing.PublicKey, counter: UInt32))
        -> JSONObject
    {
        [
            "keyID": .string(id.base64URL), "aaid": .string(key.aaid.description),
            "publicKey": .string(Base64URL.encode(Array(key.key.x963Representation))),
            "signCounter": .integer(Int64(key.counter)),
        ]
    }
}

extension JSONObject {
    fileprivate func bytes(_ name: String) throws -> [UInt8] {
        guard let bytes = Base64URL.decode(try self.requiredString(name)) else { throw JSONError(.wrongType, name) }
        return bytes
    }
}
