#if canImport(CryptoKit)
    import CryptoKit
    import Foundation
    import LocalAuthentication
    import Security

    /// The Secure Enclave of the device, by CryptoKit.
    struct SystemEnclave: EnclaveChip {
        /// `true` on a device with a Secure Enclave. A simulator has none.
        static var isAvailable: Bool { SecureEnclave.isAvailable }

        func makeSigningKey(_ access: KeyAccess) throws -> EnclaveKey {
            try SystemRefusal.translating {
                let key = try SecureEnclave.P256.Signing.PrivateKey(accessControl: try access.control(isForKey: true))
                return EnclaveKey(
                    blob: Array(key.dataRepresentation), publicKey: Array(key.publicKey.x963Representation))
            }
        }

        func makeAgreementKey() throws -> EnclaveKey {
            try SystemRefusal.translating {
                let key = try SecureEnclave.P256.KeyAgreement.PrivateKey(
                    accessControl: try KeyAccess.silent.control(isForKey: true))
                return EnclaveKey(
                    blob: Array(key.dataRepresentation), publicKey: Array(key.publicKey.x963Representation))
            }
        }

        func sign(_ message: [UInt8], by blob: [UInt8], approvedBy approval: (any PersonApproval)?) throws -> [UInt8] {
            try SystemRefusal.translating {
                let key = try SecureEnclave.P256.Signing.PrivateKey(
                    dataRepresentation: Data(blob), authenticationContext: (approval as? ContextApproval)?.context)
                return Array(try key.signature(for: Data(message)).rawRepresentation)
            }
        }

        func agree(with point: [UInt8], by blob: [UInt8]) throws -> [UInt8] {
            try SystemRefusal.translating {
                let key = try SecureEnclave.P256.KeyAgreement.PrivateKey(dataRepresentation: Data(blob))
                let other = try P256.KeyAgreement.PublicKey(x963Representation: Data(point))
                return try key.sharedSecretFromKeyAgreement(with: other).withUnsafeBytes { Array($0) }
            }
        }
    }
#endif
