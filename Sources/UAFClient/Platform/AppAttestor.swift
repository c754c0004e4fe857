/// The service of the operating system that proves which app runs on the device, as Apple's App Attest (`DeviceCheck`,
/// class `DCAppAttestService`; decision 124).
///
/// The service has keys of the app that only this app on this device can use. Its maker signs a statement about a new
/// key, the attestation; the key itself signs later statements, the assertions. Both are objects for the server, which
/// alone judges them.
public protocol AppAttestor: Sendable {
    /// Makes a key and has the key attested. The call may ask a server of the operating system's maker.
    ///
    /// The statement is about `clientDataHash`, 32 bytes. Throws ``AppAttestorError``, or another error of the
    /// service, which counts as `unsupported`.
    func attestation(clientDataHash: [UInt8]) async throws -> AppAttestation

    /// Signs with a key that was attested before, and returns the object for the server. No network is needed.
    ///
    /// The signature is about `clientDataHash`, 32 bytes. `keyID` is the name from ``AppAttestation/keyID``. Throws
    /// ``AppAttestorError``: `keyGone` for a key that this installation of the app does not have.
    func assertion(clientDataHash: [UInt8], keyID: String) async throws -> [UInt8]
}

/// The statement of the operating system's maker about a key of the app.
public struct AppAttestation: Hashable, Sendable {
    /// The name of the key, as the service writes the name: for App Attest SHA-256 of the public key in Base64.
    public let keyID: String
    /// The object for the server, at most 8,192 bytes.
    public let object: [UInt8]

    /// Creates a statement.
    public init(keyID: String, object: [UInt8]) {
        self.keyID = keyID
        self.object = object
    }
}

/// The reason why an ``AppAttestor`` gave no evidence.
public enum AppAttestorError: Error, Hashable, Sendable, CaseIterable {
    /// The device or the system has no such service.
    case unsupported
    /// The service of the operating system's maker does not answer now. A later try can succeed.
    case unavailable
    /// This installation of the app does not have the key, for instance after a reinstallation.
    case keyGone
}
