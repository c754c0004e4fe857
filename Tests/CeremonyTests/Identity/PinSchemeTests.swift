import Ceremony
import Crypto
import Foundation
import Testing
import _Primitives

@Suite("Decision 58: the PIN that only the server can judge")
struct PinSchemeTests {
    /// One line of the vectors, which a program without anything of ours has made.
    private struct Vector: CustomTestStringConvertible, Sendable {
        let pin, server, activation: String
        let version: UInt32
        let phoneHalf, privateKey, publicKey: [UInt8]
        let rounds, blockSize, parallelism: Int

        init(_ object: JSONObject) throws {
            self.pin = try object.requiredString("pin")
            self.server = try object.requiredString("server")
            self.activation = try object.requiredString("activation")
            self.version = try object.requiredInteger("version")
            self.phoneHalf = try object.hexadecimal("phoneHalf")
            self.privateKey = try object.hexadecimal("privateKey")
            self.publicKey = try object.hexadecimal("publicKey")
            self.rounds = try object.requiredInteger("rounds")
            self.blockSize = try object.requiredInteger("blockSize")
            self.parallelism = try object.requiredInteger("parallelism")
        }

        var testDescription: String { "\(self.pin) at \(self.activation), \(self.version)" }

        static func all() throws -> [Vector] { try VectorFile.objects("pin-1").map(Vector.init) }
    }

    private static let secret = SecretBytes(Array(0..<32 as Range<UInt8>))
    private static let context = PinScheme.Context(server: "https://id.example", activation: "a", version: 1)

    private static func key(
        _ pin: String = "123456", secret: SecretBytes = Self.secret, context: PinScheme.Context = Self.context
    ) throws -> P256.Signing.PrivateKey {
        try PinScheme.pin1.key(
            pin: SecretBytes(utf8: pin), phoneHalf: secret, parameters: PinParameters(), context: context)
    }

    @Test("The keys are those that another implementation has made")
    func vectors() throws {
        let vectors = try Vector.all()
        #expect(vectors.count == 8)
        for vector in vectors {
            let key = try PinScheme.pin1.key(
                pin: SecretBytes(utf8: vector.pin), phoneHalf: SecretBytes(vector.phoneHalf),
                parameters: PinParameters(
                    rounds: vector.rounds, blockSize: vector.blockSize, parallelism: vector.parallelism),
                context: PinScheme.Context(
                    server: vector.server, activation: vector.activation, version: vector.version))
            #expect(Array(key.rawRepresentation) == vector.privateKey, "\(vector.testDescription)")
            #expect(Array(key.publicKey.x963Representation) == vector.publicKey, "\(vector.testDescription)")
        }
        #expect(Set(vectors.map(\.publicKey)).count == vectors.count)
    }

    @Test("The same PIN and phone's half give the same key; whatever else is another, a wrong PIN too, gives another")
    func oneKeyEach() throws {
        let right = try Self.key()
        let signature = try right.signature(for: Array("x".utf8))
        #expect(try Self.key().publicKey.isValidSignature(signature, for: Array("x".utf8)))
        var other = Self.context
        other.activation = "b"
        // The fields of the context cannot run into one another.
        let shifted = PinScheme.Context(server: "https://id.examplea", activation: "b", version: 1)
        let joined = PinScheme.Context(server: "https://id.example", activation: "ab", version: 1)
        let keys = [
            try Self.key("123457"), try Self.key("12345"), try Self.key("1234567"), try Self.key("abc"),
            try Self.key(secret: SecretBytes([UInt8](repeating: 1, count: 32))), try Self.key(context: other),
            try Self.key(context: shifted), try Self.key(context: joined),
        ]
        for key in keys { #expect(!key.publicKey.isValidSignature(signature, for: Array("x".utf8))) }
        #expect(Set((keys + [right]).map(\.rawRepresentation)).count == keys.count + 1)
    }

    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]

    /// The number that many above or below another; `by` is small.
    private static func number(_ number: [UInt8], _ by: Int) -> [UInt8] {
        var (bytes, carry) = (number, by)
        for index in bytes.indices.reversed() {
            let sum = Int(bytes[index]) + carry
            bytes[index] = UInt8(truncatingIfNeeded: sum)
            carry = sum >> 8
        }
        return bytes
    }

    @Test("A candidate that is no scalar of P-256 is passed over, and the counter goes on")
    func retries() throws {
        let zero = [UInt8](repeating: 0, count: 32)
        let unfit = [
            zero, Self.order, Self.number(Self.order, 1), [UInt8](repeating: 0xFF, count: 32),
            [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1] + zero.prefix(24), [], [UInt8](repeating: 1, count: 31),
            [UInt8](repeating: 1, count: 33),
        ]
        let one = Self.number(zero, 1)
        for fit in [one, Self.number(Self.order, -1), Self.number(Self.order, -2), Self.number(Self.order, -0x52)] {
            var asked: [UInt8] = []
            let key = try PinScheme.firstKey { counter in
                asked.append(counter)
                return SecretBytes(Int(counter) < unfit.count ? unfit[Int(counter)] : fit)
            }
            #expect(Array(key.rawRepresentation) == fit && asked == Array(0...UInt8(unfit.count)))
        }
        var count = 0
        #expect(throws: PinSchemeError(.unavailable)) {
            try PinScheme.firstKey { _ in
                count += 1
                return SecretBytes(zero)
            }
        }
        #expect(count == 256)
    }

    @Test("Which numbers are scalars agrees with what the curve's own code takes")
    func scalars() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            var bytes = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
            // Around the order, where it is decided.
            bytes.replaceSubrange(
                0..<Int.random(in: 0...32, using: &random),
                with: Self.order.prefix(Int.random(in: 0...32, using: &random)))
            bytes = Array((bytes + Self.order).prefix(32))
            let isTaken = (try? P256.Signing.PrivateKey(rawRepresentation: bytes)) != nil
            let key = try? PinScheme.firstKey { SecretBytes($0 == 0 ? bytes : []) }
            #expect((key != nil) == isTaken, "\(bytes)")
        }
    }

    @Test("What is too long, too short or empty is refused before any work")
    func refused() throws {
        let parameters = try PinParameters()
        let long = String(repeating: "1", count: 129)
        for (pin, secret, context) in [
            ("", Self.secret, Self.context), (long, Self.secret, Self.context),
            ("1", SecretBytes([UInt8](repeating: 1, count: 31)), Self.context),
            ("1", SecretBytes([UInt8](repeating: 1, count: 33)), Self.context),
            ("1", Self.secret, .init(server: "", activation: "a", version: 1)),
            ("1", Self.secret, .init(server: "s", activation: "", version: 1)),
            ("1", Self.secret, .init(server: String(repeating: "s", count: 513), activation: "a", version: 1)),
            ("1", Self.secret, .init(server: "s", activation: String(repeating: "a", count: 65), version: 1)),
        ] {
            #expect(throws: PinSchemeError(.invalidInput)) {
                try PinScheme.pin1.key(
                    pin: SecretBytes(utf8: pin), phoneHalf: secret, parameters: parameters, context: context)
            }
        }
    }

    @Test(
        "Parameters that are cheaper than ours, or that no phone can do, are refused; the others are written and read")
    func parameters() throws {
        #expect(try PinParameters().json.members.map(\.name) == ["scheme", "rounds", "blockSize", "parallelism"])
        #expect(
            JSON.object(try PinParameters().json).text
                == #"{"scheme":"pin/1","rounds":32768,"blockSize":8,"parallelism":1}"#)
        for (rounds, blockSize, parallelism) in [
            (1 << 15, 8, 1), (1 << 16, 8, 4), (1 << 17, 16, 2), (1 << 18, 8, 4), (1 << 15, 9, 1),
        ] {
            let parameters = try PinParameters(rounds: rounds, blockSize: blockSize, parallelism: parallelism)
            #expect(try PinParameters(json: parameters.json) == parameters)
        }
        for (rounds, blockSize, parallelism) in [
            (1 << 14, 8, 1), (1 << 19, 8, 1), ((1 << 15) + 2, 8, 1), (1 << 15, 7, 1),
            (1 << 15, 17, 1), (1 << 15, 8, 0), (1 << 15, 8, 5), (1 << 18, 9, 1), (0, 8, 1), (-32768, 8, 1),
            (.max, 8, 1),
            (.min, 8, 1), (1 << 15, .max, 1), (1 << 15, 8, .max),
        ] {
            #expect(throws: PinSchemeError(.unsupported), "\(rounds) \(blockSize) \(parallelism)") {
                try PinParameters(rounds: rounds, blockSize: blockSize, parallelism: parallelism)
            }
        }
    }

    @Test(
        "What is not the parameters of a scheme is refused by its code",
        arguments: [
            ("{}", PinSchemeError.Code.malformed),
            (#"{"scheme":"pin/1","rounds":32768,"blockSize":8}"#, .malformed),
            (#"{"scheme":"pin/1","rounds":"32768","blockSize":8,"parallelism":1}"#, .malformed),
            (#"{"scheme":1,"rounds":32768,"blockSize":8,"parallelism":1}"#, .malformed),
            (#"{"scheme":"pin/1","rounds":32768,"blockSize":8,"parallelism":1,"more":1}"#, .malformed),
            (#"{"scheme":"pin/1","rounds":99999999999999999999,"blockSize":8,"parallelism":1}"#, .malformed),
            (#"{"scheme":"pin/3","rounds":32768,"blockSize":8,"parallelism":1}"#, .unsupported),
            (#"{"scheme":"PIN/1","rounds":32768,"blockSize":8,"parallelism":1}"#, .unsupported),
            (#"{"scheme":"pin/1","rounds":1024,"blockSize":8,"parallelism":1}"#, .unsupported),
        ])
    func refusedParameters(text: String, code: PinSchemeError.Code) throws {
        guard case .object(let object) = try JSON(parsing: text) else {
            Issue.record("no object: \(text)")
            return
        }
        #expect(throws: PinSchemeError(code)) { try PinParameters(json: object) }
    }
}
