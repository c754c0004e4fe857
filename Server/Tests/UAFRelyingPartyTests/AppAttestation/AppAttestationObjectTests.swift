import Testing
import UAFRelyingParty

/// Numbers that are the same in every run (SplitMix64).
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

@Suite("decision 124, RFC 8949: the object of an attestation of an app")
struct AppAttestationObjectTests {
    private static let sample = TestCBOR.attestation([bytes(30), bytes(300)], receipt: bytes(5), bytes(37))

    private static func random(_ random: inout SeededGenerator) -> ([[UInt8]], [UInt8], [UInt8]) {
        func some() -> [UInt8] {
            let count = [0, 1, 23, 24, 25, 255, 256, 257, 700].randomElement(using: &random) ?? 0
            return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        }
        return ((0..<Int.random(in: 1...6, using: &random)).map { _ in some() }, some(), some())
    }

    private static func encoded(_ object: AppAttestationObject) -> [UInt8] {
        TestCBOR.attestation(object.certificates, receipt: object.receipt, object.authenticatorData)
    }

    @Test("The parts come out as they went in, for lengths on both sides of each form", arguments: 0..<40)
    func roundTrip(seed: UInt64) throws {
        var random = SeededGenerator(state: seed)
        let (certificates, receipt, data) = Self.random(&random)
        let object = try AppAttestationObject(
            encoded: TestCBOR.attestation(certificates, receipt: receipt, data))
        #expect(object.certificates == certificates)
        #expect(object.receipt == receipt)
        #expect(object.authenticatorData == data)
    }

    @Test("An object has one form: changed bytes are refused, or are the form of what was read", arguments: 0..<40)
    func oneForm(seed: UInt64) throws {
        var random = SeededGenerator(state: seed)
        let (certificates, receipt, data) = Self.random(&random)
        let genuine = TestCBOR.attestation(certificates, receipt: receipt, data)
        for _ in 0..<200 {
            var changed = genuine
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                // The head of the object has most of its structure.
                let bound = Bool.random(using: &random) ? min(64, changed.count) : changed.count
                let index = Int.random(in: 0..<bound, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: changed[index] = UInt8.random(in: .min ... .max, using: &random)
                case 1: changed.insert(UInt8.random(in: .min ... .max, using: &random), at: index)
                default: changed.remove(at: index)
                }
            }
            guard let object = try? AppAttestationObject(encoded: changed) else { continue }
            #expect(Self.encoded(object) == changed)
        }
    }

    @Test("An object that ends too early is refused, wherever it ends, and so is a byte too many")
    func lengths() {
        for count in Self.sample.indices {
            #expect(throws: AppAttestationRefusal.malformed) {
                try AppAttestationObject(encoded: Array(Self.sample[..<count]))
            }
        }
        #expect(throws: Never.self) { try AppAttestationObject(encoded: Self.sample) }
        #expect(throws: AppAttestationRefusal.malformed) { try AppAttestationObject(encoded: Self.sample + [0]) }
    }

    @Test("8,192 bytes are read, and one more is not")
    func size() throws {
        let rest = TestCBOR.attestation([[1]], receipt: bytes(1000), []).count - 1000
        let largest = TestCBOR.attestation([[1]], receipt: bytes(8192 - rest), [])
        #expect(largest.count == 8192)
        #expect(throws: Never.self) { try AppAttestationObject(encoded: largest) }
        #expect(throws: AppAttestationRefusal.malformed) {
            try AppAttestationObject(encoded: TestCBOR.attestation([[1]], receipt: bytes(8193 - rest), []))
        }
    }

    private static func sample(x5c: [UInt8], authData: [UInt8] = TestCBOR.byteString([1])) -> [UInt8] {
        TestCBOR.map([
            ("fmt", TestCBOR.text("apple-appattest")),
            ("attStmt", TestCBOR.map([("x5c", x5c), ("receipt", TestCBOR.byteString([]))])),
            ("authData", authData),
        ])
    }

    @Test(
        "Longer forms, indefinite lengths, other types, other names, another order and other numbers are refused",
        arguments: [
            Self.sample(x5c: [0x98, 0x01, 0x41, 0x01]), Self.sample(x5c: [0x99, 0x00, 0x01, 0x41, 0x01]),
            Self.sample(x5c: [0x9A, 0x00, 0x00, 0x00, 0x01, 0x41, 0x01]),
            Self.sample(x5c: [0x9B, 0, 0, 0, 0, 0, 0, 0, 1, 0x41, 0x01]),
            Self.sample(x5c: [0x81, 0x58, 0x01, 0x01]), Self.sample(x5c: [0x81, 0x59, 0x00, 0x18] + bytes(24)),
            Self.sample(x5c: [0x9F, 0x41, 0x01, 0xFF]), Self.sample(x5c: [0x81, 0x5F, 0x41, 0x01, 0xFF]),
            Self.sample(x5c: [0x81, 0xC0, 0x41, 0x01]), Self.sample(x5c: [0x81, 0x61, 0x61]),
            Self.sample(x5c: [0x81, 0x5A, 0xFF, 0xFF, 0xFF, 0xFF]),
            Self.sample(x5c: [0x81, 0x5B] + bytes(8, 0xFF)), Self.sample(x5c: [0x41, 0x01]),
            Self.sample(x5c: [0x81, 0x00]), Self.sample(x5c: [0x81, 0x20]), Self.sample(x5c: [0x81, 0xF6]),
            Self.sample(x5c: TestCBOR.array([])),
            Self.sample(x5c: TestCBOR.array([[UInt8]](repeating: [0x41, 0x01], count: 7))),
            Self.sample(x5c: [0x81, 0x41, 0x01], authData: TestCBOR.text("a")),
            TestCBOR.attestation([[1]], receipt: [], [1], format: "packed"),
            TestCBOR.map([("fmt", TestCBOR.text("apple-appattest")), ("authData", TestCBOR.byteString([1]))]),
            TestCBOR.map([
                ("authData", TestCBOR.byteString([1])), ("fmt", TestCBOR.text("apple-appattest")),
                (
                    "attStmt",
                    TestCBOR.map([("x5c", [0x81, 0x41, 0x01]), ("receipt", TestCBOR.byteString([]))])
                ),
            ]),
            TestCBOR.map([
                ("fmt", TestCBOR.text("apple-appattest")), ("fmt", TestCBOR.text("apple-appattest")),
                ("authData", TestCBOR.byteString([1])),
            ]),
        ] as [[UInt8]])
    func otherForms(encoded: [UInt8]) {
        #expect(throws: Never.self) { try AppAttestationObject(encoded: Self.sample(x5c: [0x81, 0x41, 0x01])) }
        #expect(throws: AppAttestationRefusal.malformed) { try AppAttestationObject(encoded: encoded) }
    }
}
