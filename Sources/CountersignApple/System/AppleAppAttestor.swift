#if canImport(DeviceCheck)
    public import Countersign
    import DeviceCheck
    import Foundation
    import UAFClient

    /// Apple's App Attest. An app needs the entitlement `com.apple.developer.devicecheck.appattest-environment` for the
    /// production environment.
    public struct AppleAppAttestor: AppAttestor {
        /// Creates the service. Throws ``AppAttestorError`` `unsupported` on a device or a system without it, and in
        /// most extensions of apps.
        public init() throws {
            guard DCAppAttestService.shared.isSupported else { throw AppAttestorError.unsupported }
        }

        /// Makes a key and has the key attested; see `AppAttestor`.
        public func attestation(clientDataHash: [UInt8]) async throws -> AppAttestation {
            try await Self.translating {
                let keyID = try await DCAppAttestService.shared.generateKey()
                let object = try await DCAppAttestService.shared.attestKey(
                    keyID, clientDataHash: Data(clientDataHash))
                return AppAttestation(keyID: keyID, object: Array(object))
            }
        }

        /// Signs with a key that was attested before; see `AppAttestor`.
        public func assertion(clientDataHash: [UInt8], keyID: String) async throws -> [UInt8] {
            try await Self.translating {
                Array(
                    try await DCAppAttestService.shared.generateAssertion(
                        keyID, clientDataHash: Data(clientDataHash)))
            }
        }

        private static func translating<Value>(_ body: () async throws -> Value) async throws -> Value {
            do {
                return try await body()
            } catch let error as DCError {
                throw AppAttestRefusal.error(code: error.code.rawValue)
            }
        }
    }
#endif
