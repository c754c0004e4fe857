import Foundation
import JOSE
import Testing
import _Primitives

@testable import CountersignCommand

/// The files are of OpenSSL 3.0; the names of their keys (RFC 7638) were computed by Python's `cryptography` and `hashlib`.
@Suite("Keys of clients from files, as operators have them")
struct PublicKeyFileTests {
    private static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBkDCCATWgAwIBAgIUZhK1nhKYv9vCz83yTNCngg9YhkkwCgYIKoZIzj0EAwIw
        HTEbMBkGA1UEAwwSc3RhdGVtZW50cy5leGFtcGxlMB4XDTI2MTEyMzA4MjgwMFoX
        DTM2MTEyMDA4MjgwMFowHTEbMBkGA1UEAwwSc3RhdGVtZW50cy5leGFtcGxlMFkw
        EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAENEaBvrk/Cn8rc70pRwtZfHbliF1lT4oL
        CfNP8YdKKR1sA/+U9rqoKjhDzJJbaHMnpsAXwCK+IYDZDxin+3iyTqNTMFEwHQYD
        VR0OBBYEFFp/sd9JCtjFp72ectacgnYtsGmJMB8GA1UdIwQYMBaAFFp/sd9JCtjF
        p72ectacgnYtsGmJMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIh
        ALbl1lsoSPU1R8j9OKAu6m8fzpRc6yysGezfJ2CrIIJ7AiEA6faIiIjjUMoqptLW
        59ZH8U/EG0XKK7TG295MptNGSRU=
        -----END CERTIFICATE-----
        """
    private static let rsa = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAnifNnZmbd1qlB/C6/46g
        xGX8aQ0C6fr2u1jxV9fYlitXs8IZMwRP/RxhtjVkET9BUZtA4jbOiN+ToMaoyQDj
        n+gl5WLcER4W/P40Wigh+wwxPWTbkk/DYA3nz+hat4FXyqDO6wMNL+kzJS+7Ogv7
        FAsLU8O7Dse6+7C4SXJAMdj62cUnQuPYdx+n17Uu76U1IGVrRMHVPkF858j0XoNw
        PTkXccLCfEkTC3Rvtl0i96oXjO+FR7HPNHVxh//GwakREd7Ix82lEhPxJ1eVtgFc
        vobIxR43dDOQqi71DLmRc9F6+JEoLCKfwjvGUDvFD8eHOEjhh84YGybLFMpJshOA
        AwIDAQAB
        -----END PUBLIC KEY-----
        """
    private static let ed25519 = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEAEhvHXz6hIuMlh2nGWsKQDeYXLeiAFDUFKv9RlJaDokM=
        -----END PUBLIC KEY-----
        """
    private static let names = [
        "mjZSN9Zd4VDJwALZAuX0vDzhOgTkh3AHsZQykdAzJuw", "lyYmZxsFdj6JZ6QyWcuxH3PGwizqSg-_8q83PT6qvIo",
        "nDB6ieMtiXpN-XGIpbn-rx8g30zrjVD8BfMZwf8rt2s",
    ]

    private static func read(_ text: String) throws -> PublicKeyFile {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path(percentEncoded: false)
        try Data(text.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try PublicKeyFile(path: path)
    }

    @Test("certificates and public keys in PEM, each key once, by the name that everybody computes")
    func pem() throws {
        let text = [Self.certificate, Self.rsa, Self.ed25519, Self.certificate].joined(separator: "\n")
        let set = try JWKSet(parsing: JSON.object(Self.read(text).keySet).serialized)
        #expect(set.keys.map(\.keyID) == Self.names)
        #expect(set.keys.map(\.thumbprint) == Self.names)
        #expect(set.keys.allSatisfy { $0.use == "sig" && !$0.isPrivate })
    }

    @Test("a JWK set as it is")
    func jwks() throws {
        let text =
            #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"k"}]}"#
        #expect(try JWKSet(parsing: JSON.object(Self.read(text).keySet).serialized).keys.map(\.keyID) == ["k"])
    }

    @Test("anything else is refused in a sentence that says what is missing")
    func refused() throws {
        let other = """
            -----BEGIN PUBLIC KEY-----
            MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEnUn0eIZxYkTdVLYHFSpzIV3DVZNjKqd6
            -----END PUBLIC KEY-----
            """
        for (text, sentence) in [
            ("", "neither a JWK set nor"), ("{}", "neither a JWK set nor"), ("keys", "neither a JWK set nor"),
            (Self.rsa.replacing("PUBLIC KEY", with: "PRIVATE KEY"), "holds a private key"),
            (Self.rsa.replacing("PUBLIC KEY", with: "EC PRIVATE KEY"), "holds a private key"),
            (Self.rsa.replacing("PUBLIC KEY", with: "CERTIFICATE"), "holds a CERTIFICATE whose key is none of"),
            (other, "holds a PUBLIC KEY whose key is none of"),
            (Self.certificate + "\n" + Self.rsa.replacing("PUBLIC KEY", with: "X509 CRL"), "holds a X509 CRL"),
        ] {
            let error = #expect(throws: PublicKeyFileError.self) { try Self.read(text) }
            #expect(error?.description.contains(sentence) == true, "\(error?.description ?? "")")
        }
        let error = #expect(throws: PublicKeyFileError.self) { try PublicKeyFile(path: "/nowhere/keys.pem") }
        #expect(error?.description == "/nowhere/keys.pem cannot be read.")
    }
}
