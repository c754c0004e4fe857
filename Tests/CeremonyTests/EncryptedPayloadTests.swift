import Ceremony
import Crypto
import JOSE
import Testing
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite("Operations parity 28, 30; RFC 7516; RFC 7518, section 4.6: the encrypted out-of-band payload")
struct EncryptedPayloadTests {
    /// A device with one encryption key.
    private final class Device {
        let key: P256.KeyAgreement.PrivateKey
        let publicKey: JWK
        /// The number of secrets that the key has agreed on.
        private(set) var agreements = 0

        init(_ key: P256.KeyAgreement.PrivateKey = P256.KeyAgreement.PrivateKey()) throws {
            let point = Array(key.publicKey.rawRepresentation)
            self.key = key
            self.publicKey = try JWK(
                .p256(x: Array(point[..<32]), y: Array(point[32...]), d: nil), use: "enc", algorithm: "ECDH-ES")
        }

        func agree(_ keyID: String, _ point: [UInt8]) throws -> SecretBytes {
            guard keyID.hasSameBytes(as: self.publicKey.thumbprint) else { throw JOSEError(.unknownKey, "kid") }
            self.agreements += 1
            return try Self.secret(self.key, P256.KeyAgreement.PublicKey(x963Representation: point))
        }

        static func secret(_ own: P256.KeyAgreement.PrivateKey, _ other: P256.KeyAgreement.PublicKey) throws
            -> SecretBytes
        {
            SecretBytes(try own.sharedSecretFromKeyAgreement(with: other).withUnsafeBytes { Array($0) })
        }
    }

    private static let address = "https://id.example.com/token/redeem/authentication"

    private static func payload(data: String? = nil) throws -> OutOfBandPayload {
        try OutOfBandPayload(
            redeemData: OutOfBandPayload.RedeemData(token: "s3cret", redeemURL: try #require(URL(string: address))),
            data: data)
    }

    private static func frame(_ data: JSON, version: String = "1") -> String {
        JSON.object([
            "nma_data": data, "nma_data_content_type": .string("application/jose"),
            "nma_data_version": .string(version),
        ]).text
    }

    private static func compact(of json: String) throws -> String {
        guard case .object(let object) = try JSON(parsing: json) else { throw JSONError(.wrongType, "payload") }
        return try object.requiredString("nma_data")
    }

    /// The code of the error with which the text is refused; `nil` if the text is read.
    private static func code(_ json: String, on device: Device) -> OutOfBandPayloadError.Code? {
        do throws(OutOfBandPayloadError) {
            _ = try OutOfBandPayload(json: json, agreeing: device.agree)
            return nil
        } catch {
            return error.code
        }
    }

    // MARK: A sender that shares no code with the product's encoder

    /// Encrypts any text with any header. `change` gives other members than those of a right header.
    private static func sealed(
        _ plaintext: String = #"{"token":"s3cret","redeem_url":"\#(address)"}"#, to device: Device,
        change: (name: String, value: JSON?)? = nil
    ) throws -> [String] {
        let ephemeral = P256.KeyAgreement.PrivateKey()
        let point = Array(ephemeral.publicKey.rawRepresentation)
        var header: JSONObject = [
            "alg": .string("ECDH-ES"), "enc": .string("A256GCM"), "kid": .string(device.publicKey.thumbprint),
            "epk": .object([
                "kty": .string("EC"), "crv": .string("P-256"), "x": .string(Base64URL.encode(point[..<32])),
                "y": .string(Base64URL.encode(point[32...])),
            ]),
        ]
        if let change { header[change.name] = change.value }
        let secret = try Device.secret(ephemeral, device.key.publicKey)
        let encryption = (try? header.string("enc")) ?? "A256GCM"
        // RFC 7518, section 4.6.2, with one round of the hash and no party names.
        let fixed =
            [0, 0, 0, UInt8(encryption.utf8.count)] + Array(encryption.utf8) + [UInt8](repeating: 0, count: 8)
            + [0, 0, 1, 0]
        let key = SHA256.hash(data: secret.withBytes { [0, 0, 0, 1] + Array($0) } + fixed)
        let protected = Base64URL.encode(JSON.object(header).serialized)
        let box = try AES.GCM.seal(
            Array(plaintext.utf8), using: SymmetricKey(data: key), authenticating: Array(protected.utf8))
        return [
            protected, "", Base64URL.encode(Array(box.nonce)), Base64URL.encode(box.ciphertext),
            Base64URL.encode(box.tag),
        ]
    }

    private static func json(_ parts: [String]) -> String { self.frame(.string(parts.joined(separator: "."))) }

    // MARK: What opens

    @Test("The device of the key reads the payload from each form, and a link stays a link")
    func opens() throws {
        let device = try Device()
        var paddings: Set<Int> = []
        for length in 1...6 {
            let payload = try Self.payload(data: #"{"a":"\#(String(repeating: "x", count: length))"}"#)
            let json = try payload.encryptedJSON(to: device.publicKey)
            #expect(!json.contains("s3cret") && !json.contains("id.example.com"))
            #expect(try payload.encryptedJSON(to: device.publicKey) != json)
            let unpadded = Base64URL.encode(json.utf8)
            let padded = unpadded + String(repeating: "=", count: (4 - unpadded.utf8.count % 4) % 4)
            paddings.insert(padded.count - unpadded.count)
            let link = "https://app.example.com/open?dispatchTokenResponse=\(padded)"
            for read in [
                try OutOfBandPayload(json: json, agreeing: device.agree),
                try OutOfBandPayload(base64URLEncoded: unpadded, agreeing: device.agree),
                try OutOfBandPayload(base64URLEncoded: padded, agreeing: device.agree),
                try OutOfBandPayload(scanned: unpadded, agreeing: device.agree),
            ] { #expect(read == payload && !read.isFromLink) }
            for read in [
                try OutOfBandPayload(link: link, agreeing: device.agree),
                try OutOfBandPayload(scanned: link, agreeing: device.agree),
            ] { #expect(read == payload && read.isFromLink) }
        }
        #expect(paddings == [0, 1, 2])
    }

    @Test("A payload that another implementation has encrypted to the key of RFC 7518, appendix C, opens")
    func foreign() throws {
        let bob = try #require(Base64URL.decode("VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw"))
        let device = try Device(P256.KeyAgreement.PrivateKey(rawRepresentation: bob))
        #expect(device.publicKey.thumbprint == "Vy57XrArUrW0NbpI12tEzDHABxMwrTh6HHXRenSpnCo")
        let compact = #"""
            eyJraWQiOiJWeTU3WHJBclVyVzBOYnBJMTJ0RXpESEFCeE13clRoNkhIWFJlblNwbkNvIiwiZW5jIjoiQTI1NkdDTSIsImFsZyI6\#
            IkVDREgtRVMiLCJjdHkiOiJqc29uIiwiZXBrIjp7Imt0eSI6IkVDIiwiY3J2IjoiUC0yNTYiLCJ4IjoiYUtmVFY4UTdsekJXM0ho\#
            dmxpM1RaZjBNMk9NTjdVWnJpRjUxeXYxV0ZDYyIsInkiOiJKN1p4UF9PZjZiM0JzYVlmMGx4dUNTTWhULWhUWURRcHJCUjZtT1JS\#
            Wk1VIn19..4VZLZ7QAcUf_O9n8.IRR50Q0pWddh7KNoloMqB63CtxgBWEFuO9igryE9RBp6YJDUNVTCEpGeZS56Y8MTMEu8I0KYo\#
            uQb8Wumvr1Raim5S3aGrwf25pVJFAll5G5go8IKmVlFAcIi04xFjCFr2HilUeuXTU1VOVZPf1nqpN281Xg93vLXXPvAPWgAayz3K\#
            rQ4.P7e13SvI-v_9VDDaxXkLyg
            """#
        let read = try OutOfBandPayload(json: Self.frame(.string(compact)), agreeing: device.agree)
        #expect(read == (try Self.payload(data: #"{"zeta":"first","alpha":{"nested":[1,true,"ü"]}}"#)))
    }

    @Test(
        "The service's members arrive unchanged and in their order, from both forms",
        arguments: [
            #"{"a":""}"#, #"{"zeta":"first","alpha":{"nested":[1,true,"ü"]},"mid":false}"#,
            #"{"n":9223372036854775807,"m":-9223372036854775808,"zero":0,"half":0.5,"tenth":-0.1}"#,
            #"{"text":"line\nbreak \"quoted\" \\ \u0001 🎉"}"#, #"{"list":[],"object":{},"lists":[[],[{}]]}"#,
            "{\"\u{E9}\":\"e\u{301}\",\"e\u{301}\":\"\u{E9}\"}", #"{"Token":"x","redeemUrl":"y","nma_data":"z"}"#,
        ])
    func customAttributes(data: String) throws {
        let device = try Device()
        let content = #"{"token":"s3cret","redeem_url":"\#(Self.address)",\#(data.dropFirst())"#
        let plain =
            #"{"nma_data":\#(content),"nma_data_content_type":"application/json","nma_data_version":"1"}"#
        let read = [
            try OutOfBandPayload(json: plain),
            try OutOfBandPayload(base64URLEncoded: Base64URL.encode(plain.utf8)),
            try OutOfBandPayload(json: Self.json(try Self.sealed(content, to: device)), agreeing: device.agree),
            try OutOfBandPayload(
                json: Self.payload(data: data).encryptedJSON(to: device.publicKey), agreeing: device.agree),
        ]
        for payload in read {
            #expect(payload.data.map { Array($0.utf8) } == Array(data.utf8))
            #expect(payload.contentType == "application/json" && payload == read[0])
        }
    }

    @Test("Both forms take members of the same depth and number, and nothing is written that no reader takes")
    func sameLimits() throws {
        let device = try Device()
        for (data, isTaken) in [
            (#"{"x":[[[[1]]]]}"#, true), (#"{"x":[[[[[1]]]]]}"#, false),
            (#"{"x":[\#([String](repeating: "1", count: 121).joined(separator: ","))]}"#, true),
            (#"{"x":[\#([String](repeating: "1", count: 122).joined(separator: ","))]}"#, false),
        ] {
            let content = #"{"token":"s3cret","redeem_url":"\#(Self.address)",\#(data.dropFirst())"#
            let plain =
                #"{"nma_data":\#(content),"nma_data_content_type":"application/json","nma_data_version":"1"}"#
            let encrypted = Self.json(try Self.sealed(content, to: device))
            #expect(Self.code(plain, on: device) == (isTaken ? nil : .malformedPayload))
            #expect(Self.code(encrypted, on: device) == (isTaken ? nil : .malformedPayload))
            #expect(((try? Self.payload(data: data)) != nil) == isTaken)
        }
    }

    // MARK: What does not open

    @Test("Another device's payload, and a device without keys, are a decryption error")
    func anotherDevice() throws {
        let (device, other) = (try Device(), try Device())
        let json = try Self.payload().encryptedJSON(to: device.publicKey)
        #expect(Self.code(json, on: device) == nil)
        #expect(Self.code(json, on: other) == .decryptionError && other.agreements == 0)
        #expect(throws: OutOfBandPayloadError(.decryptionError, "")) { try OutOfBandPayload(json: json) }
        // The name of the device's key does not help a payload that was encrypted to another key.
        let renamed = try Self.sealed(to: other, change: ("kid", .string(device.publicKey.thumbprint)))
        #expect(Self.code(Self.json(renamed), on: device) == .decryptionError)
        #expect(throws: OutOfBandPayloadError(.decryptionError, "")) {
            try OutOfBandPayload(json: json) { _, _ in throw CancellationError() }
        }
    }

    @Test("Each flipped bit of the parts, and of the text, is a decryption error")
    func flippedBits() throws {
        let device = try Device()
        let compact = try Self.compact(of: Self.payload(data: #"{"a":1}"#).encryptedJSON(to: device.publicKey))
        #expect(Self.code(Self.frame(.string(compact)), on: device) == nil)
        let parts = try compact.split(separator: ".", omittingEmptySubsequences: false).map {
            try #require(Base64URL.decode($0))
        }
        var texts: [String] = []
        for part in parts.indices {
            for bit in 0..<(parts[part].count * 8) {
                var changed = parts
                changed[part][bit / 8] ^= 1 << UInt8(bit % 8)
                texts.append(changed.map { Base64URL.encode($0) }.joined(separator: "."))
            }
        }
        for index in compact.utf8.indices {
            for bit in 0..<7 {
                var letters = Array(compact.utf8)
                letters[compact.utf8.distance(from: compact.startIndex, to: index)] ^= 1 << UInt8(bit)
                texts.append(String(decoding: letters, as: UTF8.self))
            }
        }
        let read = texts.filter { Self.code(Self.frame(.string($0)), on: device) != .decryptionError }
        #expect(read.isEmpty && texts.count > 5000)
    }

    private static let x = "gI0GAILBdu7T53akrFmMyGcsF3n5dO7MmwNBHKW5SV0"

    @Test(
        "Other algorithms, extensions, names and points are a decryption error, and the key is not used",
        arguments: [
            ("alg", .string("ECDH-ES+A256KW")), ("alg", .string("dir")), ("alg", .string("RSA-OAEP-256")),
            ("alg", .string("none")), ("alg", nil), ("alg", .integer(1)),
            ("enc", .string("A128GCM")), ("enc", .string("A256CBC-HS512")), ("enc", nil),
            ("zip", .string("DEF")), ("crit", .array([.string("exp")])),
            ("kid", nil), ("kid", .string("")), ("kid", .string("another")), ("kid", .integer(1)),
            ("epk", nil), ("epk", .object([:])), ("epk", .string("x")),
            // A point off the curve.
            (
                "epk",
                .object([
                    "kty": .string("EC"), "crv": .string("P-256"), "x": .string(x),
                    "y": .string("SLW_xSffzlPWrHEVI30DHM_4egVwt3NQqeUD7nMFppo"),
                ])
            ),
            (
                "epk",
                .object([
                    "kty": .string("EC"), "crv": .string("P-256"),
                    "x": .string(String(repeating: "A", count: 43)), "y": .string(String(repeating: "A", count: 43)),
                ])
            ),
            ("epk", .object(["kty": .string("EC"), "crv": .string("P-384"), "x": .string(x), "y": .string(x)])),
            ("epk", .object(["kty": .string("OKP"), "crv": .string("X25519"), "x": .string(x)])),
            ("x", .string(String(repeating: "x", count: 1024))),
        ] as [(String, JSON?)])
    func otherHeaders(name: String, value: JSON?) throws {
        let device = try Device()
        #expect(Self.code(Self.json(try Self.sealed(to: device)), on: device) == nil)
        let before = device.agreements
        let json = Self.json(try Self.sealed(to: device, change: (name, value)))
        #expect(Self.code(json, on: device) == .decryptionError)
        #expect(device.agreements == before)
    }

    @Test("Other forms, two recipients, and parts too many or of another length are a decryption error")
    func otherForms() throws {
        let device = try Device()
        let parts = try Self.sealed(to: device)
        let recipient = JSON.object(["header": .object(["kid": .string("a")]), "encrypted_key": .string("AA")])
        let general = JSON.object([
            "protected": .string(parts[0]), "recipients": .array([recipient, recipient]), "iv": .string(parts[2]),
            "ciphertext": .string(parts[3]), "tag": .string(parts[4]),
        ])
        let header = String(decoding: try #require(Base64URL.decode(parts[0])), as: UTF8.self)
        let twice = Base64URL.encode(Array(#"{"alg":"ECDH-ES",\#(header.dropFirst())"#.utf8))
        let short = Base64URL.encode([UInt8](repeating: 1, count: 8))
        var values: [JSON] = [
            general, .string(general.text), .string(""), .string("...."), .integer(1), .bool(true), .array([]),
            .object(["token": .string("t"), "redeem_url": .string(Self.address)]),
        ]
        values.append(.string(parts.dropLast().joined(separator: ".")))
        values.append(.string((parts + [""]).joined(separator: ".")))
        for (part, text) in [
            (0, twice), (0, ""), (0, parts[0] + " "), (1, "AAAA"), (2, short), (2, ""), (4, short),
            (4, parts[4] + "="),
        ] {
            var changed = parts
            changed[part] = text
            values.append(.string(changed.joined(separator: ".")))
        }
        for value in values { #expect(Self.code(Self.frame(value), on: device) == .decryptionError) }
        #expect(device.agreements == 0)
    }

    @Test("The frame of an encrypted payload is as strict as the frame of a plain payload")
    func frames() throws {
        let device = try Device()
        let json = try Self.payload().encryptedJSON(to: device.publicKey)
        let compact = JSON.string(try Self.compact(of: json))
        #expect(Self.code(Self.frame(compact, version: "2"), on: device) == .unsupportedVersion)
        #expect(Self.code(json.dropLast() + #","x":1}"#, on: device) == .malformedPayload)
        #expect(
            Self.code(json.replacing("application/jose", with: "application/JOSE"), on: device) == .malformedPayload)
        let long = Self.frame(.string(String(repeating: "A", count: OutOfBandPayload.maximumLength)))
        #expect(Self.code(long, on: device) == .malformedPayload)
        #expect(device.agreements == 0)
    }

    @Test(
        "A decrypted content that is no payload is refused as malformed",
        arguments: [
            "", "x", "[]", "null", "{}", #"{"token":"t"}"#, #"{"token":"t","redeem_url":"ftp://id.example.com/x"}"#,
            #"{"token":"a b","redeem_url":"https://id.example.com/x"}"#,
            #"{"token":"t","redeem_url":"https://id.example.com/x","x":null}"#,
        ])
    func malformedContent(content: String) throws {
        let device = try Device()
        #expect(Self.code(Self.json(try Self.sealed(content, to: device)), on: device) == .malformedPayload)
    }

    // MARK: Writing

    @Test("Nothing is encrypted to a key that is for something else, and no text is longer than readers take")
    func refusesToWrite() throws {
        let device = try Device()
        var signing = device.publicKey
        signing.use = "sig"
        let octets = try JWK(.octets([UInt8](repeating: 1, count: 32)))
        for key in [signing, octets] {
            #expect(throws: JOSEError(.invalidKey, "")) { try Self.payload().encryptedJSON(to: key) }
        }
        let (fits, tooLong) = (String(repeating: "y", count: 2000), String(repeating: "y", count: 3500))
        let json = try Self.payload(data: #"{"a":"\#(fits)"}"#).encryptedJSON(to: device.publicKey)
        #expect(Self.code(json, on: device) == nil)
        #expect(throws: OutOfBandPayloadError(.malformedPayload, "")) {
            try Self.payload(data: #"{"a":"\#(tooLong)"}"#).encryptedJSON(to: device.publicKey)
        }
    }
}
