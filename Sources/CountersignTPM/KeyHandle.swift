import CTSS
import Crypto
import UAF
import UAFClient
import _Primitives

/// The stored form of a key: the key itself, encrypted by the chip for the chip alone, and data for finding out which
/// chip this was.
///
/// The form is a byte for the version, three bytes for the lock, the name of the chip's parent key after its length,
/// TPM2B_PUBLIC and TPM2B_PRIVATE (TPM 2.0 Library, part 2, sections 12.2.5 and 12.3.7).
struct KeyHandle: Sendable {
    private static let version: UInt8 = 1
    /// The longest handle: no structure of a key on P-256 comes near.
    private static let maximumLength = 1024

    let lock: StoredLock
    /// The name of the chip's parent key. A chip has another parent key once its owner's hierarchy was cleared.
    let parentName: [UInt8]
    /// TPM2B_PUBLIC
    let publicArea: [UInt8]
    /// TPM2B_PRIVATE
    let privateArea: [UInt8]

    init(lock: StoredLock, parentName: [UInt8], publicArea: [UInt8], privateArea: [UInt8]) {
        self.lock = lock
        self.parentName = parentName
        self.publicArea = publicArea
        self.privateArea = privateArea
    }

    var bytes: [UInt8] {
        [Self.version] + self.lock.bytes + [UInt8(self.parentName.count)] + self.parentName + self.publicArea
            + self.privateArea
    }

    /// Reads a handle. Throws ``UAFClient/DeviceKeyError`` `closed` for anything else.
    init(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        guard bytes.count <= Self.maximumLength, rest.popFirst() == Self.version,
            let lock = StoredLock(Array(rest.prefix(3))), let length = rest.dropFirst(3).first.map(Int.init)
        else { throw DeviceKeyError.closed }
        rest = rest.dropFirst(4)
        let parentName = Array(rest.prefix(length))
        rest = rest.dropFirst(length)
        let areas = rest
        guard parentName.count == length, let publicArea = TPM2B_PUBLIC(reading: &rest)?.serialized,
            let privateArea = TPM2B_PRIVATE(reading: &rest)?.serialized, rest.isEmpty
        else { throw DeviceKeyError.closed }
        // tpm2-tss reads some structures with other lengths than it writes.
        guard areas.elementsEqual(publicArea + privateArea) else { throw DeviceKeyError.closed }
        self.init(lock: lock, parentName: parentName, publicArea: publicArea, privateArea: privateArea)
    }

    /// Returns both halves of the key for a chip. Throws ``UAFClient/DeviceKeyError`` `closed` if the key has another
    /// name, another lock or another purpose. The chip itself finds out a changed public half.
    func areas(of name: DeviceKeyName, for purpose: KeyPurpose) throws -> (TPM2B_PUBLIC, TPM2B_PRIVATE) {
        var (publicBytes, privateBytes) = (self.publicArea[...], self.privateArea[...])
        guard let publicArea = TPM2B_PUBLIC(reading: &publicBytes),
            let privateArea = TPM2B_PRIVATE(reading: &privateBytes),
            constantTimeEqual(publicArea.policy, name.binding(self.lock)),
            publicArea.attributes.contains(purpose == .signing ? .sign : .decrypt)
        else { throw DeviceKeyError.closed }
        return (publicArea, privateArea)
    }
}

/// The lock of a key, without the secret.
enum StoredLock: Equatable, Sendable {
    case none
    case secret
    case system(AuthenticatorModel.Factor, allowingPasscode: Bool)

    init(_ lock: KeyLock) {
        self =
            switch lock {
            case .none: .none
            case .secret: .secret
            case .system(let factor, _, let allowingPasscode): .system(factor, allowingPasscode: allowingPasscode)
            }
    }

    init?(_ bytes: [UInt8]) {
        guard bytes.count == 3 else { return nil }
        switch (bytes[0], bytes[1], bytes[2]) {
        case (0, 0, 0): self = .none
        case (1, 0, 0): self = .secret
        case (2, let factor, let passcode) where passcode <= 1:
            guard let factor = AuthenticatorModel.Factor(rawValue: UInt16(factor)) else { return nil }
            self = .system(factor, allowingPasscode: passcode == 1)
        default: return nil
        }
    }

    var bytes: [UInt8] {
        switch self {
        case .none: [0, 0, 0]
        case .secret: [1, 0, 0]
        case .system(let factor, let allowingPasscode): [2, UInt8(factor.rawValue), allowingPasscode ? 1 : 0]
        }
    }
}

extension DeviceKeyName {
    /// The digest that binds a key to its name, its access token and its lock. The digest stands in the key's public
    /// area in place of a policy, and the chip binds the public area to the key.
    ///
    /// No policy has this digest: a policy's digest is one of 32 bytes of a former digest and a command's code.
    func binding(_ lock: StoredLock) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array("countersign key in a TPM/1: name".utf8))
        for part in [Array(self.kind.utf8), self.id, self.accessToken, lock.bytes] {
            hash.update(data: [UInt8(part.count >> 8 & 0xFF), UInt8(part.count & 0xFF)])
            hash.update(data: part)
        }
        return Array(hash.finalize())
    }

    /// Returns the secret that the chip compares: derived from the access token and from a typed secret, so neither is
    /// enough.
    func secret(_ typed: SecretBytes?) -> SecretBytes {
        var code = HMAC<SHA256>(key: SymmetricKey(data: self.accessToken))
        code.update(data: Array("countersign key in a TPM/1: secret".utf8))
        code.update(data: [typed == nil ? 0 : 1])
        typed?.withBytes { code.update(data: Array($0)) }
        var bytes = Array(code.finalize())
        // Chips drop zeros at the end of a secret.
        bytes[31] |= 1
        return SecretBytes(bytes)
    }
}
