import CTSS

/// Numbers of the standard (TPM 2.0 Library, part 2) whose definitions in C do not reach Swift, and their neighbours.
enum TPMNumber {
    static let ecc: TPM2_ALG_ID = 0x0023
    static let aes: TPM2_ALG_ID = 0x0006
    static let cfb: TPM2_ALG_ID = 0x0043
    static let sha256: TPM2_ALG_ID = 0x000B
    static let ecdsa: TPM2_ALG_ID = 0x0018
    static let none: TPM2_ALG_ID = 0x0010
    static let p256: TPM2_ECC_CURVE = 0x0003
    /// TPM_ST_HASHCHECK
    static let hashCheck: TPM2_ST = 0x8024
    /// TPM_ST_ATTEST_CERTIFY
    static let attestCertify: TPM2_ST = 0x8017
    /// TPM_RH_NULL
    static let nullHierarchy: TPMI_RH_HIERARCHY = 0x4000_0007
    /// TPM_PT_LOCKOUT_COUNTER; TPM_PT_MAX_AUTH_FAIL is the next property.
    static let lockoutCounter: UInt32 = 0x20E
    /// TPM_GENERATED_VALUE: the first bytes of every structure that a chip has made itself.
    static let generated: UInt32 = 0xFF54_4347
}

/// The attributes of a key (TPMA_OBJECT).
struct KeyAttributes: OptionSet {
    let rawValue: UInt32

    static let fixedTPM = Self(rawValue: 1 << 1)
    static let fixedParent = Self(rawValue: 1 << 4)
    static let sensitiveDataOrigin = Self(rawValue: 1 << 5)
    static let userWithAuth = Self(rawValue: 1 << 6)
    /// The chip's own lock does not count wrong secrets of the key.
    static let noDA = Self(rawValue: 1 << 10)
    static let restricted = Self(rawValue: 1 << 16)
    static let decrypt = Self(rawValue: 1 << 17)
    static let sign = Self(rawValue: 1 << 18)

    /// The chip has made the key, and never gives the key out.
    static let bornInChip: Self = [.fixedTPM, .fixedParent, .sensitiveDataOrigin]
}

/// The purpose of a key, which the chip enforces.
enum KeyPurpose: Equatable {
    /// Stands above other keys in the chip, and does nothing else.
    case parent
    /// Signs statements of the chip, and nothing else.
    case attestation
    case signing
    case agreement
}

extension TPM2B_PUBLIC {
    /// A template of a key on P-256. `policy` is a digest that nothing satisfies: data about the key, bound to the key.
    init(_ purpose: KeyPurpose, policy: [UInt8] = [], isGuessable: Bool = false, salt: [UInt8] = []) {
        self.init()
        self.publicArea.type = TPMNumber.ecc
        self.publicArea.nameAlg = TPMNumber.sha256
        var attributes: KeyAttributes = [.bornInChip, .userWithAuth]
        if !isGuessable { attributes.insert(.noDA) }
        var parameters = TPMS_ECC_PARMS()
        parameters.symmetric.algorithm = TPMNumber.none
        parameters.scheme.scheme = TPMNumber.none
        switch purpose {
        case .parent:
            attributes.formUnion([.restricted, .decrypt])
            parameters.symmetric.algorithm = TPMNumber.aes
            parameters.symmetric.keyBits.aes = 128
            parameters.symmetric.mode.aes = TPMNumber.cfb
        case .attestation: attributes.formUnion([.restricted, .sign])
        case .signing: attributes.insert(.sign)
        case .agreement: attributes.insert(.decrypt)
        }
        if attributes.contains(.sign) {
            parameters.scheme.scheme = TPMNumber.ecdsa
            parameters.scheme.details.ecdsa.hashAlg = TPMNumber.sha256
        }
        parameters.curveID = TPMNumber.p256
        parameters.kdf.scheme = TPMNumber.none
        self.publicArea.objectAttributes = attributes.rawValue
        policy.withUnsafeBytes { self.publicArea.authPolicy.set($0) }
        self.publicArea.parameters.eccDetail = parameters
        self.publicArea.unique.ecc.x.set(salt[...])
    }

    /// The public key: an uncompressed point on P-256, 65 bytes.
    var point: [UInt8] { [4] + self.publicArea.unique.ecc.x.padded + self.publicArea.unique.ecc.y.padded }

    /// The attributes of the key.
    var attributes: KeyAttributes { KeyAttributes(rawValue: self.publicArea.objectAttributes) }

    /// The digest in place of a policy.
    var policy: [UInt8] {
        let policy = self.publicArea.authPolicy
        return withUnsafeBytes(of: policy.buffer) { Array($0.prefix(Int(policy.size))) }
    }

    /// The structure as the standard writes it.
    var serialized: [UInt8] {
        var copy = self
        return written { Tss2_MU_TPM2B_PUBLIC_Marshal(&copy, $0, $1, $2) }
    }

    /// Reads the structure at the beginning of `bytes`, and removes what was read. `nil` for anything else.
    init?(reading bytes: inout ArraySlice<UInt8>) {
        var value = TPM2B_PUBLIC()
        guard read(&bytes, { Tss2_MU_TPM2B_PUBLIC_Unmarshal($0, $1, $2, &value) }) else { return nil }
        self = value
    }
}

extension TPM2B_PRIVATE {
    /// The structure as the standard writes it.
    var serialized: [UInt8] {
        var copy = self
        return written { Tss2_MU_TPM2B_PRIVATE_Marshal(&copy, $0, $1, $2) }
    }

    /// Reads the structure at the beginning of `bytes`, and removes what was read. `nil` for anything else.
    init?(reading bytes: inout ArraySlice<UInt8>) {
        var value = TPM2B_PRIVATE()
        guard read(&bytes, { Tss2_MU_TPM2B_PRIVATE_Unmarshal($0, $1, $2, &value) }) else { return nil }
        self = value
    }
}

extension TPMS_ATTEST {
    /// Reads a chip's statement. `nil` for anything else, and for further bytes after the statement.
    init?(_ bytes: [UInt8]) {
        var value = TPMS_ATTEST()
        var rest = bytes[...]
        guard read(&rest, { Tss2_MU_TPMS_ATTEST_Unmarshal($0, $1, $2, &value) }), rest.isEmpty else { return nil }
        self = value
    }
}

extension TPM2B_DIGEST {
    /// Sets the value: a digest or the secret of a key, at most 64 bytes.
    mutating func set(_ bytes: UnsafeRawBufferPointer) {
        self.size = UInt16(bytes.count)
        withUnsafeMutableBytes(of: &self.buffer) { $0.copyMemory(from: bytes) }
    }
}

extension TPM2B_ECC_PARAMETER {
    /// Sets the value: at most 128 bytes.
    mutating func set(_ bytes: ArraySlice<UInt8>) {
        self.size = UInt16(bytes.count)
        withUnsafeMutableBytes(of: &self.buffer) { $0.copyBytes(from: bytes) }
    }

    /// The number in 32 bytes. Chips may leave out zeros at the beginning.
    var padded: [UInt8] {
        let bytes = withUnsafeBytes(of: self.buffer) { Array($0.prefix(Int(self.size))) }
        return [UInt8](repeating: 0, count: max(0, 32 - bytes.count)) + bytes.suffix(32)
    }
}

extension TPMT_SIG_SCHEME {
    /// ECDSA with SHA-256.
    static var ecdsa: Self {
        var scheme = Self()
        scheme.scheme = TPMNumber.ecdsa
        scheme.details.ecdsa.hashAlg = TPMNumber.sha256
        return scheme
    }
}

extension TPMT_SIGNATURE {
    /// The two numbers of a signature by ECDSA, 32 bytes each.
    var numbers: [UInt8] { self.signature.ecdsa.signatureR.padded + self.signature.ecdsa.signatureS.padded }
}

/// Returns the bytes that a function of tpm2-tss writes: at most 4 KiB, more than any structure here has.
private func written(_ write: (UnsafeMutablePointer<UInt8>?, Int, UnsafeMutablePointer<Int>?) -> TSS2_RC) -> [UInt8] {
    var size = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
        count = write(buffer.baseAddress, buffer.count, &size) == 0 ? size : 0
    }
    return bytes
}

/// Reads a structure from the beginning of `bytes` by a function of tpm2-tss, and removes what was read.
private func read(
    _ bytes: inout ArraySlice<UInt8>, _ read: (UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<Int>?) -> TSS2_RC
) -> Bool {
    var size = 0
    let isRead = bytes.withUnsafeBufferPointer { read($0.baseAddress, $0.count, &size) == 0 }
    guard isRead, size <= bytes.count else { return false }
    bytes = bytes.dropFirst(size)
    return true
}
