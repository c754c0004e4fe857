import Crypto
import Foundation
import Testing
import UAF
import _Primitives

@Suite("UAF Protocol 1.1 §3.1.8: what a certificate tells of the TLS channel")
struct ServerCertificateTests {
    /// DER of a tag and its content.
    private static func element(_ tag: UInt8, _ content: [UInt8]...) -> [UInt8] {
        let bytes = Array(content.joined())
        let length: [UInt8] =
            bytes.count < 0x80 ? [UInt8(bytes.count)] : [0x82, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
        return [tag] + length + bytes
    }

    /// A certificate as far as its signature's algorithm goes.
    private static func certificate(_ identifier: [UInt8], parameters: [UInt8] = []) -> [UInt8] {
        self.element(
            0x30, self.element(0x30, [UInt8](repeating: 0, count: 200)),
            self.element(0x30, self.element(0x06, identifier), parameters), self.element(0x03, [0, 1, 2, 3]))
    }

    private static func pss(_ hash: [UInt8]) -> [UInt8] {
        self.element(0x30, self.element(0xA0, self.element(0x30, self.element(0x06, hash))))
    }

    private static let rsa: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1]
    private static let ecdsa: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 4]
    private static let nist: [UInt8] = [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2]

    @Test(
        "The hash is the signature's own, SHA-256 for MD5 and SHA-1, and none where there is none to name",
        arguments: [
            ("RSA, MD5", certificate(rsa + [4]), 256), ("RSA, SHA-1", certificate(rsa + [5]), 256),
            ("RSA, SHA-256", certificate(rsa + [11]), 256), ("RSA, SHA-384", certificate(rsa + [12]), 384),
            ("RSA, SHA-512", certificate(rsa + [13]), 512), ("RSA, SHA-224", certificate(rsa + [14]), 0),
            ("ECDSA, SHA-1", certificate(ecdsa + [1]), 256), ("ECDSA, SHA-256", certificate(ecdsa + [3, 2]), 256),
            ("ECDSA, SHA-384", certificate(ecdsa + [3, 3]), 384), ("ECDSA, SHA-512", certificate(ecdsa + [3, 4]), 512),
            ("PSS, SHA-1", certificate(rsa + [10], parameters: element(0x30)), 256),
            ("PSS, SHA-1 named", certificate(rsa + [10], parameters: pss([0x2B, 0x0E, 3, 2, 26])), 256),
            ("PSS, SHA-256", certificate(rsa + [10], parameters: pss(nist + [1])), 256),
            ("PSS, SHA-384", certificate(rsa + [10], parameters: pss(nist + [2])), 384),
            ("PSS, SHA-512", certificate(rsa + [10], parameters: pss(nist + [3])), 512),
            ("PSS, another", certificate(rsa + [10], parameters: pss(nist + [4])), 0),
            ("PSS without parameters", certificate(rsa + [10]), 0), ("Ed25519", certificate([0x2B, 0x65, 0x70]), 0),
        ])
    func hash(name: String, der: [UInt8], bits: Int) throws {
        let binding = ChannelBinding(serverCertificate: der)
        #expect(binding.tlsServerCertificate == Base64URL.encode(der), "\(name)")
        let expected: [UInt8]? =
            switch bits {
            case 256: Array(SHA256.hash(data: der))
            case 384: Array(SHA384.hash(data: der))
            case 512: Array(SHA512.hash(data: der))
            default: nil
            }
        #expect(binding.serverEndPoint == expected.map { Base64URL.encode($0) }, "\(name)")
        #expect(binding.tlsUnique == nil && binding.channelIDPublicKey == nil)
    }

    @Test("A certificate that OpenSSL made, ECDSA with SHA-384")
    func real() throws {
        let der = try #require(Data(base64Encoded: Self.realCertificate).map { Array($0) })
        #expect(
            ChannelBinding(serverCertificate: der)
                == ChannelBinding(
                    serverEndPoint: Base64URL.encode(Array(SHA384.hash(data: der))),
                    tlsServerCertificate: Base64URL.encode(der)))
    }

    @Test("What is no certificate binds nothing, and no bytes do any harm")
    func malformed() throws {
        let der = Self.certificate(Self.ecdsa + [3, 2])
        for length in der.indices {
            #expect(ChannelBinding(serverCertificate: Array(der[..<length])) == ChannelBinding())
        }
        #expect(ChannelBinding(serverCertificate: der + [0]) == ChannelBinding())
        #expect(ChannelBinding(serverCertificate: [UInt8](repeating: 0x30, count: 20_000)) == ChannelBinding())
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2000 {
            var changed = der
            for _ in 0..<3 {
                changed[Int.random(in: der.indices, using: &random)] = .random(in: 0...255, using: &random)
            }
            let binding = ChannelBinding(serverCertificate: changed)
            #expect(binding == ChannelBinding() || binding.tlsServerCertificate == Base64URL.encode(changed))
        }
    }

    private static let realCertificate = """
        MIIBiDCCAS+gAwIBAgIUOSfJ8FXy8FhUzAWiXUtFkcj8l4YwCgYIKoZIzj0EAwMwGTEXMBUGA1UEAwwOaWQuZXhhbXBsZS5jb20w\
        IBcNMjYxMTIxMTMwNzUzWhgPMjEyNjEwMjgxMzA3NTNaMBkxFzAVBgNVBAMMDmlkLmV4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYI\
        KoZIzj0DAQcDQgAETiURImuQzng9eIYRBDsHLLOkCXq0JMmAHIZwjQvRSUeSIfk8EIMfNyPJ89QIDAVCAJDEIJ4c+NvpWBmUPX+z\
        GKNTMFEwHQYDVR0OBBYEFCSM/Lel6Y52H8LHGrSLR1+sc3aVMB8GA1UdIwQYMBaAFCSM/Lel6Y52H8LHGrSLR1+sc3aVMA8GA1Ud\
        EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwMDRwAwRAIgW0jHCX+ph5eQ7IX6L2T29ezgCJe0p7CafRHzpl7JNoMCIHKOgud+EXKE5lHV\
        UyzEhwKWc5PDGqcObpymP2cRTpcz
        """
}
