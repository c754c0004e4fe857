import CTSS
import Crypto
import _Primitives

/// A chip's statement that a key is in the chip (TPM 2.0 Library, part 3, TPM2_Certify).
public struct TPMCertification: Hashable, Sendable {
    /// The statement (TPMS_ATTEST, part 2, section 10.12.12).
    public let statement: [UInt8]
    /// The statement's signature by ``attestationKey``: ECDSA with SHA-256, two numbers of 32 bytes.
    public let signature: [UInt8]
    /// The key of the chip that has signed: an uncompressed point on P-256, 65 bytes. The chip signs with this key only
    /// statements that the chip itself has made.
    public let attestationKey: [UInt8]
    /// The public area of the certified key (TPMT_PUBLIC, part 2, section 12.2.4).
    public let publicArea: [UInt8]

    /// Creates a certification from its parts, for example as received.
    public init(statement: [UInt8], signature: [UInt8], attestationKey: [UInt8], publicArea: [UInt8]) {
        self.statement = statement
        self.signature = signature
        self.attestationKey = attestationKey
        self.publicArea = publicArea
    }

    /// Returns `true` if the certification is whole: ``attestationKey`` has signed that `publicKey` is a key which a
    /// chip has made, which the chip never gives out, and which signs anything; and the statement is bound to `message`.
    ///
    /// The certification does not prove that ``attestationKey`` is a chip's. The caller knows this from elsewhere.
    ///
    /// - Parameter publicKey: An uncompressed point on P-256, 65 bytes.
    public func isOf(_ publicKey: [UInt8], over message: [UInt8]) -> Bool {
        guard let key = try? P256.Signing.PublicKey(x963Representation: self.attestationKey),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: self.signature),
            key.isValidSignature(signature, for: self.statement), let stated = TPMS_ATTEST(self.statement),
            stated.magic == TPMNumber.generated, stated.type == TPMNumber.attestCertify
        else { return false }
        // TPM2B_PUBLIC is TPMT_PUBLIC after its length.
        guard self.publicArea.count <= 1024 else { return false }
        var area = ([UInt8(self.publicArea.count >> 8), UInt8(self.publicArea.count & 0xFF)] + self.publicArea)[...]
        guard let certified = TPM2B_PUBLIC(reading: &area), area.isEmpty, certified.isSigningKey,
            certified.point == publicKey
        else { return false }
        // The name is the number of the hash, and the hash of the public area (part 1, section 16).
        let name = [0, UInt8(TPMNumber.sha256)] + Array(SHA256.hash(data: self.publicArea))
        return stated.certifiedName == name && stated.data == Array(SHA256.hash(data: message))
    }
}

extension TPM2B_PUBLIC {
    /// `true` for a key on P-256 that a chip has made, keeps, and signs with.
    fileprivate var isSigningKey: Bool {
        self.publicArea.type == TPMNumber.ecc && self.publicArea.nameAlg == TPMNumber.sha256
            && self.publicArea.parameters.eccDetail.curveID == TPMNumber.p256
            && self.attributes.isSuperset(of: [.bornInChip, .sign])
            && self.attributes.isDisjoint(with: [.restricted, .decrypt])
    }
}

extension TPMS_ATTEST {
    /// The name of the certified key.
    fileprivate var certifiedName: [UInt8] {
        let name = self.attested.certify.name
        return withUnsafeBytes(of: name.name) { Array($0.prefix(Int(name.size))) }
    }

    /// The data that the caller has had certified with the key.
    fileprivate var data: [UInt8] {
        let data = self.extraData
        return withUnsafeBytes(of: data.buffer) { Array($0.prefix(Int(data.size))) }
    }
}
