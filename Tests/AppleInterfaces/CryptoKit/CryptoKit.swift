// CryptoKit's own types: swift-crypto exports CryptoKit on Apple's systems.
@_exported import Crypto
public import Foundation
public import LocalAuthentication
public import Security

/// A declaration without code.
struct NoCode: Error {}

public enum SecureEnclave {
    public static var isAvailable: Bool { false }

    public enum P256: Sendable {
        public enum Signing: Sendable {
            public struct PrivateKey: Sendable {
                public let publicKey: Crypto.P256.Signing.PublicKey
                public var dataRepresentation: Data { Data() }

                public init(
                    compactRepresentable: Bool = true, accessControl: SecAccessControl,
                    authenticationContext: LAContext? = nil
                ) throws {
                    throw NoCode()
                }

                public init(dataRepresentation: Data, authenticationContext: LAContext? = nil) throws {
                    throw NoCode()
                }

                public func signature<D: DataProtocol>(for data: D) throws -> Crypto.P256.Signing.ECDSASignature {
                    throw NoCode()
                }
            }
        }

        public enum KeyAgreement: Sendable {
            public struct PrivateKey: Sendable {
                public let publicKey: Crypto.P256.KeyAgreement.PublicKey
                public var dataRepresentation: Data { Data() }

                public init(
                    compactRepresentable: Bool = true, accessControl: SecAccessControl,
                    authenticationContext: LAContext? = nil
                ) throws {
                    throw NoCode()
                }

                public init(dataRepresentation: Data, authenticationContext: LAContext? = nil) throws {
                    throw NoCode()
                }

                public func sharedSecretFromKeyAgreement(with publicKeyShare: Crypto.P256.KeyAgreement.PublicKey)
                    throws -> SharedSecret
                {
                    throw NoCode()
                }
            }
        }
    }
}
