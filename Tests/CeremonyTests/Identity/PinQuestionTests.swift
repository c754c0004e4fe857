import Ceremony
import Crypto
import Foundation
import Testing
import _Primitives

@Suite("Decision 69: the PIN that a service beside the server evaluates")
struct PinQuestionTests {
    /// One line of the vectors, which a program without anything of ours has made.
    private struct Vector: CustomTestStringConvertible, Sendable {
        let pin, server, activation: String
        let version: UInt32
        let phoneHalf, master, serviceKey, privateKey: [UInt8]

        init(_ object: JSONObject) throws {
            self.pin = try object.requiredString("pin")
            self.server = try object.requiredString("server")
            self.activation = try object.requiredString("activation")
            self.version = try object.requiredInteger("version")
            self.phoneHalf = try object.hexadecimal("phoneHalf")
            self.master = try object.hexadecimal("master")
            self.serviceKey = try object.hexadecimal("serviceKey")
            self.privateKey = try object.hexadecimal("privateKey")
        }

        var testDescription: String { "\(self.pin) at \(self.activation), \(self.version)" }

        static func all() throws -> [Vector] { try VectorFile.objects("pin-2").map(Vector.init) }
    }

    private static let master = SecretBytes(Array(0..<48 as Range<UInt8>))
    private static let secret = SecretBytes(Array(0..<32 as Range<UInt8>))
    private static let context = PinScheme.Context(server: "https://id.example", activation: "a", version: 1)

    private static func question(
        _ pin: String = "123456", secret: SecretBytes = Self.secret, scheme: PinScheme = .pin2, serviceKey: [UInt8]
    ) throws -> PinQuestion {
        try PinQuestion(
            pin: SecretBytes(utf8: pin), phoneHalf: secret, parameters: PinParameters(scheme: scheme),
            context: Self.context, serviceKey: serviceKey)
    }

    @Test("The keys are those that another implementation has made, which evaluates nothing blindly")
    func vectors() throws {
        let vectors = try Vector.all()
        #expect(vectors.count == 6)
        for vector in vectors {
            let service = try PinServiceKey(master: SecretBytes(vector.master), activation: vector.activation)
            #expect(service.publicKey == vector.serviceKey, "\(vector.testDescription)")
            let question = try PinQuestion(
                pin: SecretBytes(utf8: vector.pin), phoneHalf: SecretBytes(vector.phoneHalf),
                parameters: PinParameters(scheme: .pin2),
                context: PinScheme.Context(
                    server: vector.server, activation: vector.activation, version: vector.version),
                serviceKey: vector.serviceKey)
            let key = try question.key(evaluated: service.evaluate(question.blinded))
            #expect(Array(key.rawRepresentation) == vector.privateKey, "\(vector.testDescription)")
        }
        #expect(Set(vectors.map(\.privateKey)).count == vectors.count)
    }

    @Test("What leaves the phone is another each time, and the key is the same; that of another PIN is another")
    func blinding() throws {
        let service = try PinServiceKey(master: Self.master, activation: "a")
        let first = try Self.question(serviceKey: service.publicKey)
        let second = try Self.question(serviceKey: service.publicKey)
        let wrong = try Self.question("123457", serviceKey: service.publicKey)
        #expect(first.blinded != second.blinded && first.blinded.count == PinQuestion.blindedBytes)
        let evaluated = try service.evaluate(first.blinded)
        #expect(evaluated.count == PinQuestion.evaluatedBytes && service.publicKey.count == PinQuestion.serviceKeyBytes)
        let key = try first.key(evaluated: evaluated).rawRepresentation
        #expect(try second.key(evaluated: service.evaluate(second.blinded)).rawRepresentation == key)
        #expect(try wrong.key(evaluated: service.evaluate(wrong.blinded)).rawRepresentation != key)
        // Asked once more about the same, the service says the same.
        #expect(try first.key(evaluated: service.evaluate(first.blinded)).rawRepresentation == key)
    }

    @Test("An evaluation by another key, of another question, or with any byte changed is refused by its proof (108)")
    func otherKey() throws {
        let service = try PinServiceKey(master: Self.master, activation: "a")
        let question = try Self.question(serviceKey: service.publicKey)
        let right = try service.evaluate(question.blinded)
        var wrong = [
            try PinServiceKey(master: Self.master, activation: "b").evaluate(question.blinded),
            try PinServiceKey(
                master: SecretBytes([UInt8](repeating: 7, count: 48)), activation: "a"
            ).evaluate(question.blinded),
            try service.evaluate(Self.question(serviceKey: service.publicKey).blinded),
            [], Array(right.dropLast()), right + [0], [UInt8](repeating: 0, count: PinQuestion.evaluatedBytes),
        ]
        for index in right.indices {
            var changed = right
            changed[index] ^= 1
            wrong.append(changed)
        }
        for evaluated in wrong {
            #expect(throws: PinSchemeError(.notProven)) { try question.key(evaluated: evaluated) }
        }
        #expect(throws: Never.self) { try question.key(evaluated: right) }
    }

    @Test("What is no question, no key and no point is refused by its code")
    func refused() throws {
        let service = try PinServiceKey(master: Self.master, activation: "a")
        let key = service.publicKey
        #expect(throws: PinSchemeError(.invalidInput)) { try Self.question("", serviceKey: key) }
        #expect(throws: PinSchemeError(.invalidInput)) { try Self.question(scheme: .pin1, serviceKey: key) }
        #expect(throws: PinSchemeError(.invalidInput)) {
            try Self.question(secret: SecretBytes([UInt8](repeating: 1, count: 31)), serviceKey: key)
        }
        for bytes in [[], [UInt8](repeating: 0, count: 49), [UInt8](repeating: 0xFF, count: 49), key + [0]] {
            #expect(throws: PinSchemeError(.malformed)) { try Self.question(serviceKey: bytes) }
            #expect(throws: PinSchemeError(.malformed)) { try PinQuestion.check(serviceKey: bytes) }
            #expect(throws: PinSchemeError(.malformed)) { try service.evaluate(bytes) }
        }
        #expect(throws: PinSchemeError(.invalidInput)) {
            try PinServiceKey(master: SecretBytes([UInt8](repeating: 1, count: 47)), activation: "a")
        }
        for name in ["", String(repeating: "a", count: 65)] {
            #expect(throws: PinSchemeError(.invalidInput)) {
                try PinServiceKey(master: Self.master, activation: name)
            }
        }
        // Nobody makes this key alone.
        #expect(throws: PinSchemeError(.unsupported)) {
            try PinScheme.pin2.key(
                pin: SecretBytes(utf8: "1"), phoneHalf: Self.secret, parameters: PinParameters(scheme: .pin2),
                context: Self.context)
        }
    }
}
