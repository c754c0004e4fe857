import JOSE
import Testing
import _Primitives

@Suite("RFC 7518, section 5: encryption of content")
struct ContentCipherTests {
    private static let text = Array(
        ("A cipher system must not be required to be secret, and it must be able to fall into the hands of the enemy "
            + "without inconvenience").utf8)
    private static let beside = Array("The second principle of Auguste Kerckhoffs".utf8)
    private static let vector = Self.bytes("1af38c2dc2b96ffdd86694092341bc04")

    private static func bytes(_ hex: String) -> [UInt8] {
        stride(from: 0, to: hex.utf8.count, by: 2).map { UInt8(hex.dropFirst($0).prefix(2), radix: 16)! }
    }

    /// Appendices B.1 and B.3: the key is as many bytes as it has, counted from 0.
    private static let published: [(ContentEncryption, keyLength: UInt8, ciphertext: String, tag: String)] = [
        (
            .a128CBCHS256, 32,
            "c80edfa32ddf39d5ef00c0b468834279a2e46a1b8049f792f76bfe54b903a9c9a94ac9b47ad2655c5f10f9aef71427e2"
                + "fc6f9b3f399a221489f16362c703233609d45ac69864e3321cf82935ac4096c86e133314c54019e8ca7980dfa4b9cf1b"
                + "384c486f3a54c51078158ee5d79de59fbd34d848b3d69550a67646344427ade54b8851ffb598f7f80074b9473c82e2db",
            "652c3fa36b0a7c5b3219fab3a30bc1c4"
        ),
        (
            .a256CBCHS512, 64,
            "4affaaadb78c31c5da4b1b590d10ffbd3dd8d5d302423526912da037ecbcc7bd822c301dd67c373bccb584ad3e9279c2"
                + "e6d12a1374b77f077553df829410446b36ebd97066296ae6427ea75c2e0846a11a09ccf5370dc80bfecbad28c73f09b3"
                + "a3b75e662a2594410ae496b2e2e6609e31e6e02cc837f053d21f37ff4f51950bbe2638d09dd7a4930930806d0703b1f6",
            "4dd3b4c088a7f45c216839645b2012bf2e6269a8c56a816dbc1b267761955bc5"
        ),
    ]

    @Test("encrypts and opens the examples of appendix B", arguments: published)
    func examples(encryption: ContentEncryption, keyLength: UInt8, ciphertext: String, tag: String) throws {
        let cipher = try ContentCipher(encryption, key: Array(0..<keyLength))
        let sealed = ContentCipher.Sealed(ciphertext: Self.bytes(ciphertext), tag: Self.bytes(tag))
        #expect(try cipher.seal(Self.text, vector: Self.vector, beside: Self.beside) == sealed)
        #expect(cipher.open(sealed, vector: Self.vector, beside: Self.beside) == Self.text)
    }

    @Test("opens nothing of which a byte was changed, of the content, the tag, the vector or what stands beside it")
    func changes() throws {
        for encryption in ContentEncryption.all {
            let isCBC = encryption == .a128CBCHS256 || encryption == .a256CBCHS512
            let length: UInt8 = encryption == .a128GCM ? 16 : encryption == .a256CBCHS512 ? 64 : 32
            let cipher = try ContentCipher(encryption, key: Array(0..<length))
            let vector = Array(Self.vector.prefix(isCBC ? 16 : 12))
            let sealed = try cipher.seal(Self.text, vector: vector, beside: Self.beside)
            for index in sealed.ciphertext.indices {
                var changed = sealed
                changed.ciphertext[index] ^= 1
                #expect(cipher.open(changed, vector: vector, beside: Self.beside) == nil)
            }
            for index in sealed.tag.indices {
                var changed = sealed
                changed.tag[index] ^= 1
                #expect(cipher.open(changed, vector: vector, beside: Self.beside) == nil)
            }
            for index in vector.indices {
                var changed = vector
                changed[index] ^= 1
                #expect(cipher.open(sealed, vector: changed, beside: Self.beside) == nil)
            }
            #expect(cipher.open(sealed, vector: vector, beside: Self.beside + [0]) == nil)
            #expect(cipher.open(sealed, vector: vector, beside: []) == nil)
        }
    }

    @Test("takes keys of its own length alone")
    func keys() {
        for encryption in ContentEncryption.all {
            #expect(throws: JOSEError(.invalidKey, "")) { try ContentCipher(encryption, key: [1, 2, 3]) }
        }
    }
}
