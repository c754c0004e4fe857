import Crypto
import CryptoExtras
import Foundation
import JOSE
import SwiftASN1
import X509
import _Primitives

/// A file with the public keys of a client: a JWK set (RFC 7517), or certificates and public keys in PEM (RFC 7468).
///
/// Only the key of a certificate counts, as long as the key is registered. Names and times in a certificate are the
/// client's own word, because the server asks no authority about the certificate.
struct PublicKeyFile {
    /// The JWK set. The server checks the requirements for the keys.
    let keySet: JSONObject

    /// Reads a file. Throws ``PublicKeyFileError`` with a sentence for the operator.
    init(path: String) throws(PublicKeyFileError) {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw PublicKeyFileError("\(path) cannot be read.")
        }
        if case .object(let set)? = try? JSON(parsing: Array(bytes), leavesOutNull: true), !set.members.isEmpty {
            self.keySet = set
            return
        }
        guard let documents = try? PEMDocument.parseMultiple(pemString: String(decoding: bytes, as: UTF8.self)),
            !documents.isEmpty
        else { throw PublicKeyFileError("\(path) holds neither a JWK set nor certificates or public keys in PEM.") }
        var keys: [JWK] = []
        for document in documents {
            let key = try Self.key(of: document, in: path)
            // A renewed certificate often has the key of the certificate before.
            if !keys.contains(where: { $0.thumbprint == key.thumbprint }) { keys.append(key) }
        }
        self.keySet = JWKSet(keys).publicJSON
    }

    private static func key(of document: PEMDocument, in path: String) throws(PublicKeyFileError) -> JWK {
        let kind = document.discriminator
        guard !kind.hasBytes(atEnd: "PRIVATE KEY") else {
            throw PublicKeyFileError(
                "\(path) holds a private key, which nobody but the service may have: give its certificate or its public key."
            )
        }
        do {
            let material =
                switch kind {
                case Certificate.defaultPEMDiscriminator:
                    try Self.material(of: Certificate(pemDocument: document).publicKey)
                case Certificate.PublicKey.defaultPEMDiscriminator:
                    try Self.material(of: Certificate.PublicKey(pemDocument: document))
                default: throw JOSEError(.unsupportedKey, kind)
                }
            var key = try JWK(material, use: "sig")
            // Other programs that make a JWK of the key choose the same name, too (RFC 7638).
            key.keyID = key.thumbprint
            return key
        } catch {
            throw PublicKeyFileError("\(path) holds a \(kind) whose key is none of RSA, P-256 and Ed25519.")
        }
    }

    private static func material(of key: Certificate.PublicKey) throws -> JWK.Material {
        if let key = P256.Signing.PublicKey(key) {
            let point = Array(key.rawRepresentation)
            return .p256(x: Array(point[..<32]), y: Array(point[32...]), d: nil)
        }
        if let key = Curve25519.Signing.PublicKey(key) {
            return .ed25519(x: Array(key.rawRepresentation), d: nil)
        }
        guard let key = _RSA.Signing.PublicKey(key) else { throw JOSEError(.unsupportedKey, "another curve") }
        let numbers = try key.getKeyPrimitives()
        return .rsa(n: Array(numbers.modulus), e: Array(numbers.publicExponent), privateNumbers: nil)
    }
}

/// The reason why no keys can be read from a file: a sentence for the operator.
struct PublicKeyFileError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
