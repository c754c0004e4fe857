import Countersign
import Crypto
import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The handle of a key in the Secure Enclave.
///
/// A handle is version ‖ kind ‖ AES-GCM(enrolled set ‖ blob), under a key of the key's access token. The blob of a PIN or
/// a password is sealed a second time, under a key of the access token and the typed secret. Both boxes are bound to the
/// key's name. The blob is useless outside of this device's Secure Enclave.
struct EnclaveHandle {
    /// The kind of key, which determines the unlock that fits.
    enum Kind: UInt8 {
        case silent = 0
        case secret = 1
        /// The operating system verifies the person: the demand stands in the box.
        case system = 2
        case agreement = 3
    }

    private static let version: UInt8 = 1

    let kind: Kind
    let demand: PersonDemand
    /// The enrolled set at the creation of a key that ends with its set, otherwise empty.
    let enrolledSet: [UInt8]
    /// The blob; still sealed for ``Kind/secret``.
    let blob: [UInt8]

    init(_ kind: Kind, demand: PersonDemand = .nobody, enrolledSet: [UInt8] = [], blob: [UInt8]) {
        self.kind = kind
        self.demand = demand
        self.enrolledSet = enrolledSet
        self.blob = blob
    }

    /// Opens a handle. Throws ``DeviceKeyError`` `closed` for every reason alike: damage, another key's name, a wrong
    /// access token.
    init(_ handle: [UInt8], of name: DeviceKeyName) throws {
        guard handle.count > 2, handle[0] == Self.version, let kind = Kind(rawValue: handle[1]),
            let opened = Self.open(Array(handle[2...]), Self.key(nil, name), name, kind),
            opened.count >= 2, let demand = PersonDemand(rawValue: opened[0]),
            opened.count >= 2 + Int(opened[1])
        else { throw DeviceKeyError.closed }
        let end = 2 + Int(opened[1])
        self.init(kind, demand: demand, enrolledSet: Array(opened[2..<end]), blob: Array(opened[end...]))
    }

    /// Returns the handle for the key's name.
    func sealed(for name: DeviceKeyName, _ random: RandomSource) throws -> [UInt8] {
        let plain = [self.demand.rawValue, UInt8(self.enrolledSet.count)] + self.enrolledSet + self.blob
        return [Self.version, self.kind.rawValue]
            + (try Self.seal(plain, Self.key(nil, name), name, self.kind, random))
    }

    /// Returns a copy whose blob is sealed under a typed secret.
    static func underSecret(_ blob: [UInt8], _ secret: SecretBytes, of name: DeviceKeyName, _ random: RandomSource)
        throws -> Self
    {
        Self(.secret, blob: try Self.seal(blob, Self.key(secret, name), name, .secret, random))
    }

    /// Returns the blob under a typed secret. Throws ``DeviceKeyError`` `wrongSecret`.
    func blob(under secret: SecretBytes, of name: DeviceKeyName) throws -> [UInt8] {
        guard let blob = Self.open(self.blob, Self.key(secret, name), name, .secret) else {
            throw DeviceKeyError.wrongSecret
        }
        return blob
    }

    private static func key(_ secret: SecretBytes?, _ name: DeviceKeyName) -> SymmetricKey {
        let info = secret == nil ? "countersign enclave handle/1" : "countersign enclave handle under a typed secret/1"
        let material = SecretBytes(name.accessToken + (secret?.withBytes { Array($0) } ?? []))
        return material.withBytes {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: $0), salt: name.id, info: Array(info.utf8), outputByteCount: 32)
        }
    }

    private static func binding(_ name: DeviceKeyName, _ kind: Kind) -> [UInt8] {
        [Self.version, kind.rawValue] + Array(name.kind.utf8) + name.id
    }

    private static func seal(
        _ plain: [UInt8], _ key: SymmetricKey, _ name: DeviceKeyName, _ kind: Kind, _ random: RandomSource
    ) throws -> [UInt8] {
        let box = try AES.GCM.seal(
            plain, using: key, nonce: AES.GCM.Nonce(data: random.bytes(12)),
            authenticating: Self.binding(name, kind))
        return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
    }

    private static func open(_ sealed: [UInt8], _ key: SymmetricKey, _ name: DeviceKeyName, _ kind: Kind) -> [UInt8]? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed) else { return nil }
        return (try? AES.GCM.open(box, using: key, authenticating: Self.binding(name, kind))).map { Array($0) }
    }
}
