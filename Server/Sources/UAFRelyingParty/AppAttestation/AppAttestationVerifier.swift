import Crypto
import Foundation
import SwiftASN1
public import UAF
import X509
public import _Primitives

/// The reason that an attestation or an assertion of an app is refused.
public enum AppAttestationRefusal: String, Error, Hashable, Sendable, CaseIterable {
    /// The bytes are not the object that App Attest makes, or too many.
    case malformed
    /// No trusted root stands above the key's certificate, or a certificate of the path is not valid.
    case untrusted
    /// The object was made for other data: for another ceremony, another challenge, or another key of a device.
    case otherClientData
    /// The object is about another key than the key that was named.
    case otherKey
    /// The app's team and bundle are not on the list.
    case foreignApp
    /// The app is on the list, but not with the environment that attested the key.
    case otherEnvironment
    /// The counter is not 0 in an attestation, or has not risen since the last assertion.
    case counter
    /// The signature of an assertion is wrong.
    case signature
    /// There is no attestation and no assertion, and the policy requires one.
    case missing
    /// The device of an assertion has no attested key.
    case unknownKey
    /// The app that the operating system's maker names is not the app that the answer names as its facet.
    case otherFacet
}

/// Verifies the attestations that Apple's App Attest makes of keys of apps ("Validating apps that connect to your
/// server", Apple Developer Documentation, "Verify the attestation").
///
/// The verifier asks nobody: the certificates lead to a root that was given. Apple publishes no revocations for these
/// certificates.
public struct AppAttestationVerifier: Sendable {
    /// The root of Apple's App Attestation, DER: "Apple App Attestation Root CA", valid until 15 March 2045, SHA-256
    /// `1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932`.
    public static let appleRoot: [UInt8] = {
        let text = """
            MIICITCCAaegAwIBAgIQC/O+DvHN0uD7jG5yH2IXmDAKBggqhkjOPQQDAzBSMSYwJAYDVQQDDB1BcHBsZSBBcHAgQXR0ZXN0YXRp
            b24gUm9vdCBDQTETMBEGA1UECgwKQXBwbGUgSW5jLjETMBEGA1UECAwKQ2FsaWZvcm5pYTAeFw0yMDAzMTgxODMyNTNaFw00NTAz
            MTUwMDAwMDBaMFIxJjAkBgNVBAMMHUFwcGxlIEFwcCBBdHRlc3RhdGlvbiBSb290IENBMRMwEQYDVQQKDApBcHBsZSBJbmMuMRMw
            EQYDVQQIDApDYWxpZm9ybmlhMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAERTHhmLW07ATaFQIEVwTtT4dyctdhNbJhFs/Ii2FdCgAH
            GbpphY3+d8qjuDngIN3WVhQUBHAoMeQ/cLiP1sOUtgjqK9auYen1mMEvRq9Sk3Jm5X8U62H+xTD3FE9TgS41o0IwQDAPBgNVHRMB
            Af8EBTADAQH/MB0GA1UdDgQWBBSskRBTM72+aEH/pwyp5frq5eWKoTAOBgNVHQ8BAf8EBAMCAQYwCgYIKoZIzj0EAwMDaAAwZQIw
            QgFGnByvsiVbpTKwSga0kP0e8EeDS4+sQmTvb7vn53O5+FRXgeLhpJ06ysC5PrOyAjEAp5U4xDgEgllF7En3VcE3iexZZtKeYnpq
            tijVoyFraWVIyd/dganmrduC1bmTBGwD
            """
        return Data(base64Encoded: text, options: .ignoreUnknownCharacters).map { Array($0) } ?? []
    }()

    /// The nonce's extension of a leaf.
    private static let nonceExtension: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 8, 2]

    private let roots: [AttestationCertificate]
    /// The apps whose keys are taken.
    let apps: [AttestedApp]

    /// Makes a verifier for apps.
    ///
    /// - Parameters:
    ///   - apps: The apps whose keys are taken. With none, every attestation is refused.
    ///   - roots: The certificates to trust, DER.
    ///
    /// Throws ``UAFError`` `invalidValue` for bytes that are no certificate.
    public init(apps: [AttestedApp], roots: [[UInt8]] = [Self.appleRoot]) throws(UAFError) {
        self.apps = apps
        self.roots = try roots.map { (der) throws(UAFError) in try AttestationCertificate(der) }
    }

    /// Verifies an attestation, and returns the attested key with the counter 0.
    ///
    /// - Parameters:
    ///   - attestation: The object of `DCAppAttestService.attestKey`, at most 8,192 bytes.
    ///   - keyID: The name of the key that the app sent beside the object: SHA-256 of the point, 32 bytes.
    ///   - clientDataHash: The hash that the app gave to the function. The caller makes the hash from its own
    ///     challenge.
    ///   - now: The time at which all certificates of the path have to be valid.
    ///
    /// Throws ``AppAttestationRefusal``: every case but `signature`, `missing`, `unknownKey` and `otherFacet`.
    public func verify(
        attestation: [UInt8], keyID: [UInt8], clientDataHash: [UInt8], at now: Timestamp
    ) throws(AppAttestationRefusal) -> AttestedAppKey {
        let object = try AppAttestationObject(encoded: attestation)
        let leaf = try self.leaf(of: object, at: now)
        // Step 2 to 4 of Apple's list: SEQUENCE { [1] EXPLICIT OCTET STRING }.
        let nonce = SHA256.hash(data: object.authenticatorData + clientDataHash)
        guard leaf.nonce?.elementsEqual([0x30, 0x24, 0xA1, 0x22, 0x04, 0x20] + nonce) == true else {
            throw .otherClientData
        }
        // Step 5.
        guard SHA256.hash(data: leaf.point).elementsEqual(keyID) else { throw .otherKey }
        // Step 6 to 9.
        let data = try AppAuthenticatorData(object.authenticatorData)
        let apps = self.apps.filter { $0.hash == data.appHash }
        guard !apps.isEmpty else { throw .foreignApp }
        guard data.counter == 0 else { throw .counter }
        let credential = try data.credential(of: leaf.point)
        guard let app = apps.first(where: { $0.environment == credential.environment }) else {
            throw .otherEnvironment
        }
        guard credential.keyID == keyID else { throw .otherKey }
        return AttestedAppKey(attested: app, publicKey: leaf.point, counter: 0)
    }

    /// Returns the point and the nonce's extension of a leaf below a root, which is step 1.
    private func leaf(
        of object: AppAttestationObject, at now: Timestamp
    ) throws(AppAttestationRefusal) -> (point: [UInt8], nonce: ArraySlice<UInt8>?) {
        let chain: AttestationChain
        do throws(UAFRefusal) {
            chain = try AttestationChain(object.certificates)
            let path = try chain.validPath(to: self.roots, readings: LenientReadings(), at: now)
            // A root that was trusted as a root attests nothing itself.
            guard path.count > 1 else { throw UAFRefusal(.unacceptableAttestation, .attestation, "a root alone") }
        } catch { throw .untrusted }
        guard let key = try? P256.Signing.PublicKey(derRepresentation: chain.subjectPublicKeyInfo) else {
            throw .malformed
        }
        return (Array(key.x963Representation), chain.leafExtensions[oid: Self.nonceExtension]?.value)
    }
}
