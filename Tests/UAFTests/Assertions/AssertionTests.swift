import Testing
import UAF
import _Primitives

/// A composite whose items can be moved, changed and left out.
struct Items {
    var list: [(tag: TLVTag, value: [UInt8])]

    init(_ bytes: some Collection<UInt8>) throws {
        var reader = TLVReader(ArraySlice(Array(bytes)))
        self.list = []
        while let field = try reader.readNext() { self.list.append((field.tag, Array(field.value))) }
        try reader.finish()
    }

    init(_ list: [(tag: TLVTag, value: [UInt8])] = []) { self.list = list }

    subscript(tag: TLVTag) -> [UInt8]? {
        get { self.list.first { $0.tag == tag }?.value }
        set {
            guard let index = self.list.firstIndex(where: { $0.tag == tag }) else {
                if let newValue { self.list.append((tag, newValue)) }
                return
            }
            if let newValue { self.list[index].value = newValue } else { self.list.remove(at: index) }
        }
    }

    func encoded() throws -> [UInt8] {
        var writer = TLVWriter()
        for item in self.list { try writer.append(item.tag, item.value) }
        return writer.bytes
    }

    func encoded(in tag: TLVTag) throws -> [UInt8] {
        var writer = TLVWriter()
        try writer.append(tag, try self.encoded())
        return writer.bytes
    }
}

enum SampleAssertion {
    static func keyRegistrationData(extensions: [AssertionExtension] = []) throws -> KeyRegistrationData {
        try KeyRegistrationData(
            aaid: try AAID("C516#0001"), authenticatorVersion: 0x0102, signatureAlgorithm: .p256Raw,
            publicKeyFormat: .eccX962Raw, finalChallengeHash: bytes(32, 3), keyID: try KeyID(bytes(32, 4)),
            signCounter: 0x0102_0304, registrationCounter: 9, publicKey: bytes(65, 5), extensions: extensions)
    }

    static func registration() throws -> RegistrationAssertion {
        RegistrationAssertion(
            keyRegistrationData: try self.keyRegistrationData(),
            attestation: Attestation(type: .basicSurrogate, signature: bytes(64, 6)))
    }

    static func signedData(extensions: [AssertionExtension] = []) throws -> SignedData {
        try SignedData(
            aaid: try AAID("C516#0001"), authenticatorVersion: 0x0102, mode: .transactionConfirmed,
            signatureAlgorithm: .p256DER, nonce: bytes(8, 1), finalChallengeHash: bytes(32, 3),
            transactionContentHash: bytes(32, 2), keyID: try KeyID(bytes(32, 4)), signCounter: 0x0A0B_0C0D,
            extensions: extensions)
    }

    static func authentication() throws -> AuthenticationAssertion {
        AuthenticationAssertion(signedData: try self.signedData(), signature: bytes(64, 6))
    }
}

/// One change to the items of an assertion and the code that it must be refused with.
struct BadItems: CustomTestStringConvertible, Sendable {
    let name: String
    let code: UAFError.Code
    let change: @Sendable (inout Items) -> Void

    init(_ name: String, _ code: UAFError.Code, _ change: @escaping @Sendable (inout Items) -> Void) {
        self.name = name
        self.code = code
        self.change = change
    }

    var testDescription: String { self.name }

    static func length(_ tag: TLVTag, _ count: Int, _ code: UAFError.Code = .invalidLength) -> BadItems {
        BadItems("\(tag) of \(count) bytes", code) { $0[tag] = bytes(count) }
    }
    static func missing(_ tag: TLVTag) -> BadItems { BadItems("no \(tag)", .missingTag) { $0[tag] = nil } }
    static func twice(_ tag: TLVTag) -> BadItems {
        BadItems("\(tag) twice", .duplicateTag) { items in items.list.append((tag, items[tag] ?? [])) }
    }
    static let unknownCritical = BadItems("an unknown critical tag", .unknownCriticalTag) {
        $0.list.append((TLVTag(rawValue: 0x3FFC), [1]))
    }
    static let extensionWithoutID = BadItems("an extension without id", .missingTag) {
        $0.list.append((.extension, [0x14, 0x2E, 0x00, 0x00]))
    }
    static let extensionWithoutData = BadItems("an extension without data", .missingTag) {
        $0.list.append((.criticalExtension, [0x13, 0x2E, 0x01, 0x00, 0x61]))
    }
    static let extensionIDNotUTF8 = BadItems("an extension whose id is not UTF-8", .invalidValue) {
        $0.list.append((.extension, [0x13, 0x2E, 0x01, 0x00, 0xFF, 0x14, 0x2E, 0x00, 0x00]))
    }
    static let longExtensionID = BadItems("an extension's id of 33 characters", .invalidValue) {
        $0.list.append((.extension, [0x13, 0x2E, 33, 0x00] + bytes(33, 0x61) + [0x14, 0x2E, 0x00, 0x00]))
    }
}

@Suite("uaf-sections §3.2: registration assertion")
struct RegistrationAssertionTests {
    @Test("An assertion survives writing and reading, with extensions inside and outside")
    func roundTrip() throws {
        let inner = AssertionExtension(id: "inner", data: [1, 2], isCritical: true)
        let outer = AssertionExtension(id: "outer", data: [], isCritical: false)
        let assertion = RegistrationAssertion(
            keyRegistrationData: try SampleAssertion.keyRegistrationData(extensions: [inner]),
            attestation: Attestation(type: .basicFull, signature: bytes(70), certificates: [bytes(9), bytes(8)]),
            extensions: [outer])
        let read = try RegistrationAssertion(parsing: try assertion.serialized())
        #expect(read == assertion)
        #expect(read.keyRegistrationData.extensions == [inner])
        #expect(read.extensions == [outer])
        #expect(read.attestation.certificates == [bytes(9), bytes(8)])
    }

    @Test("The smallest key registration data has 181 bytes (§19)")
    func smallestSize() throws {
        #expect(try SampleAssertion.keyRegistrationData().signedBytes.count == 181)
    }

    @Test("Fields are little-endian and stand where the table says")
    func fields() throws {
        let data = try SampleAssertion.registration().keyRegistrationData
        let items = try Items(data.signedBytes.dropFirst(4))
        #expect(items[.assertionInfo] == [0x02, 0x01, 0x01, 0x01, 0x00, 0x00, 0x01])
        #expect(items[.counters] == [0x04, 0x03, 0x02, 0x01, 9, 0, 0, 0])
        #expect(data.signCounter == 0x0102_0304)
        #expect(data.authenticatorVersion == 0x0102)
        #expect(data.mode == .userVerified)
    }

    private static func assertion(_ krd: Items, attestation: Items? = nil) throws -> [UInt8] {
        var writer = TLVWriter()
        try writer.append(.keyRegistrationData, try krd.encoded())
        try writer.append(.attestationBasicSurrogate, try (attestation ?? Items([(.signature, bytes(64))])).encoded())
        return try Items(writer.bytes).encoded(in: .registrationAssertion)
    }

    private static func krd() throws -> Items {
        try Items(try SampleAssertion.keyRegistrationData().signedBytes.dropFirst(4))
    }

    @Test(
        "Key registration data that is wrong in one thing is refused",
        arguments: [
            .missing(.aaid),
            .missing(.assertionInfo),
            .missing(.finalChallengeHash),
            .missing(.keyID),
            .missing(.counters),
            .missing(.publicKey),
            .twice(.aaid),
            .twice(.assertionInfo),
            .twice(.keyID),
            .twice(.counters),
            .twice(.publicKey),
            .twice(.finalChallengeHash),
            .length(.aaid, 8),
            .length(.aaid, 10),
            .length(.aaid, 9, .invalidValue),
            .length(.assertionInfo, 5),
            .length(.assertionInfo, 8),
            .length(.finalChallengeHash, 31),
            .length(.finalChallengeHash, 33),
            .length(.keyID, 31),
            .length(.keyID, 2049),
            .length(.counters, 4),
            .length(.counters, 9),
            .length(.publicKey, 0),
            .length(.publicKey, 1025),
            .length(.userVerificationIndex, 33),
            .length(.userVerificationState, 0),
            .unknownCritical, .extensionWithoutID, .extensionWithoutData, .extensionIDNotUTF8, .longExtensionID,
        ] as [BadItems])
    func refuses(change: BadItems) throws {
        var krd = try Self.krd()
        change.change(&krd)
        let bytes = try Self.assertion(krd)
        #expect(throws: UAFError(change.code)) { try RegistrationAssertion(parsing: bytes) }
    }

    @Test(
        "An attestation that is wrong in one thing is refused",
        arguments: [
            .missing(.signature),
            .twice(.signature),
            .length(.signature, 0),
            .length(.signature, 1025),
            .unknownCritical,
            BadItems("a certificate in a surrogate attestation", .unknownCriticalTag) {
                $0[.attestationCertificate] = [1]
            },
        ] as [BadItems])
    func refusesAttestation(change: BadItems) throws {
        var attestation = Items([(.signature, bytes(64))])
        change.change(&attestation)
        let bytes = try Self.assertion(try Self.krd(), attestation: attestation)
        #expect(throws: UAFError(change.code)) { try RegistrationAssertion(parsing: bytes) }
    }

    @Test(
        "An assertion that is wrong outside the signed data is refused",
        arguments: [
            .missing(.attestationBasicSurrogate),
            .twice(.attestationBasicSurrogate),
            .twice(.keyRegistrationData),
            .unknownCritical,
            BadItems("no key registration data", .unexpectedTag) { $0[.keyRegistrationData] = nil },
            BadItems("nothing", .missingTag) { $0.list = [] },
            BadItems("the attestation before the data (§18, row 3)", .unexpectedTag) { $0.list.reverse() },
            BadItems("two kinds of attestation", .duplicateTag) {
                $0[.attestationECDAA] = [0x06, 0x2E, 0x01, 0x00, 0xAA]
            },
            BadItems("full attestation without certificate", .missingTag) {
                $0[.attestationBasicSurrogate] = nil
                $0[.attestationBasicFull] = [0x06, 0x2E, 0x01, 0x00, 0xAA]
            },
        ] as [BadItems])
    func refusesOutside(change: BadItems) throws {
        var items = try Items(try SampleAssertion.registration().serialized().dropFirst(4))
        change.change(&items)
        let bytes = try items.encoded(in: .registrationAssertion)
        #expect(throws: UAFError(change.code)) { try RegistrationAssertion(parsing: bytes) }
    }

    @Test("Another root, two roots and trailing bytes are refused")
    func roots() throws {
        let bytes = try SampleAssertion.registration().serialized()
        #expect(throws: UAFError(.unexpectedTag)) { try RegistrationAssertion(parsing: [0x02] + bytes.dropFirst()) }
        #expect(throws: UAFError(.trailingBytes)) { try RegistrationAssertion(parsing: bytes + bytes) }
        #expect(throws: UAFError(.trailingBytes)) { try RegistrationAssertion(parsing: bytes + [0]) }
        #expect(throws: UAFError(.missingTag)) { try RegistrationAssertion(parsing: []) }
        let authentication = try SampleAssertion.authentication().serialized()
        #expect(throws: UAFError(.unexpectedTag)) { try RegistrationAssertion(parsing: authentication) }
    }

    @Test("Every shortened assertion is refused")
    func everyPrefix() throws {
        let bytes = try SampleAssertion.registration().serialized()
        for count in 0..<bytes.count {
            #expect(throws: UAFError.self) { try RegistrationAssertion(parsing: Array(bytes.prefix(count))) }
        }
    }

    @Test("Unknown tags that are not critical are skipped and stay in the signed bytes")
    func unknownTag() throws {
        var krd = try Self.krd()
        krd.list.insert((TLVTag(rawValue: 0x0108), [1, 2, 3]), at: 2)
        let read = try RegistrationAssertion(parsing: try Self.assertion(krd))
        #expect(read.keyRegistrationData.signedBytes == (try krd.encoded(in: .keyRegistrationData)))
    }

    @Test("User verification index and state arrive")
    func userVerification() throws {
        var krd = try Self.krd()
        krd[.userVerificationIndex] = bytes(32, 8)
        krd[.userVerificationState] = bytes(1, 9)
        let data = try RegistrationAssertion(parsing: try Self.assertion(krd)).keyRegistrationData
        #expect(data.userVerificationIndex == bytes(32, 8))
        #expect(data.userVerificationState == bytes(1, 9))
    }

    @Test("The signed bytes are the received ones whatever the order of the tags", arguments: 0..<40)
    func anyOrder(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var krd = try Self.krd()
        krd.list.shuffle(using: &random)
        let read = try RegistrationAssertion(parsing: try Self.assertion(krd))
        #expect(read.keyRegistrationData.signedBytes == (try krd.encoded(in: .keyRegistrationData)))
        #expect(read.keyRegistrationData.keyID == (try KeyID(bytes(32, 4))))
        #expect(read.keyRegistrationData.signCounter == 0x0102_0304)
    }

    @Test("A hash that is not 32 bytes cannot be written")
    func badHash() throws {
        #expect(throws: UAFError(.invalidLength)) {
            try KeyRegistrationData(
                aaid: try AAID("C516#0001"), authenticatorVersion: 1, signatureAlgorithm: .p256Raw,
                publicKeyFormat: .eccX962Raw, finalChallengeHash: bytes(20), keyID: try KeyID(bytes(32)),
                signCounter: 0, registrationCounter: 0, publicKey: bytes(65))
        }
    }
}

@Suite("uaf-sections §3.3: authentication assertion")
struct AuthenticationAssertionTests {
    @Test("An assertion survives writing and reading, with extensions inside and outside")
    func roundTrip() throws {
        let inner = AssertionExtension(id: "fido.uaf.uvm", data: bytes(8), isCritical: false)
        let outer = AssertionExtension(id: "outer", data: [], isCritical: true)
        let assertion = AuthenticationAssertion(
            signedData: try SampleAssertion.signedData(extensions: [inner]), signature: bytes(71), extensions: [outer])
        let read = try AuthenticationAssertion(parsing: try assertion.serialized())
        #expect(read == assertion)
        #expect(read.signedData.extensions == [inner] && read.extensions == [outer])
    }

    @Test("The smallest signed data has 122 bytes (§19)")
    func smallestSize() throws {
        let data = try SignedData(
            aaid: try AAID("C516#0001"), authenticatorVersion: 1, mode: .userVerified, signatureAlgorithm: .p256Raw,
            nonce: bytes(8), finalChallengeHash: bytes(32), keyID: try KeyID(bytes(32)), signCounter: 1)
        #expect(data.signedBytes.count == 122)
        #expect(data.transactionContentHash.isEmpty)
    }

    @Test("Fields are little-endian and stand where the table says")
    func fields() throws {
        let data = try SampleAssertion.signedData()
        let items = try Items(data.signedBytes.dropFirst(4))
        #expect(items[.assertionInfo] == [0x02, 0x01, 0x02, 0x02, 0x00])
        #expect(items[.counters] == [0x0D, 0x0C, 0x0B, 0x0A])
        #expect(data.signCounter == 0x0A0B_0C0D)
        #expect(data.mode == .transactionConfirmed)
    }

    private static func items() throws -> Items {
        try Items(try SampleAssertion.signedData().signedBytes.dropFirst(4))
    }

    private static func assertion(_ signed: Items) throws -> [UInt8] {
        try Items([(.signedData, try signed.encoded()), (.signature, bytes(64))]).encoded(in: .authenticationAssertion)
    }

    @Test(
        "Signed data that is wrong in one thing is refused",
        arguments: [
            .missing(.aaid),
            .missing(.assertionInfo),
            .missing(.authenticatorNonce),
            .missing(.finalChallengeHash),
            .missing(.transactionContentHash),
            .missing(.keyID),
            .missing(.counters),
            .twice(.aaid),
            .twice(.assertionInfo),
            .twice(.authenticatorNonce),
            .twice(.finalChallengeHash),
            .twice(.transactionContentHash),
            .twice(.keyID),
            .twice(.counters),
            .length(.aaid, 8),
            .length(.aaid, 9, .invalidValue),
            .length(.assertionInfo, 7),
            .length(.assertionInfo, 4),
            .length(.authenticatorNonce, 7),
            .length(.authenticatorNonce, 1025),
            .length(.finalChallengeHash, 31),
            .length(.transactionContentHash, 31),
            .length(.transactionContentHash, 33),
            .length(.keyID, 31),
            .length(.counters, 8),
            .length(.counters, 3),
            .length(.userVerificationIndex, 33),
            .length(.userVerificationState, 33),
            .unknownCritical, .extensionWithoutID, .extensionWithoutData,
            .extensionIDNotUTF8, .longExtensionID,
        ] as [BadItems])
    func refuses(change: BadItems) throws {
        var signed = try Self.items()
        change.change(&signed)
        let bytes = try Self.assertion(signed)
        #expect(throws: UAFError(change.code)) { try AuthenticationAssertion(parsing: bytes) }
    }

    @Test(
        "An assertion that is wrong outside the signed data is refused",
        arguments: [
            .missing(.signature),
            .twice(.signature),
            .twice(.signedData),
            .length(.signature, 0),
            .unknownCritical,
            BadItems("no signed data", .unexpectedTag) { $0[.signedData] = nil },
            BadItems("the signature before the data (§18, row 3)", .unexpectedTag) { $0.list.reverse() },
        ] as [BadItems])
    func refusesOutside(change: BadItems) throws {
        var items = try Items(try SampleAssertion.authentication().serialized().dropFirst(4))
        change.change(&items)
        let bytes = try items.encoded(in: .authenticationAssertion)
        #expect(throws: UAFError(change.code)) { try AuthenticationAssertion(parsing: bytes) }
    }

    @Test("Another root, two roots and trailing bytes are refused")
    func roots() throws {
        let bytes = try SampleAssertion.authentication().serialized()
        #expect(throws: UAFError(.unexpectedTag)) { try AuthenticationAssertion(parsing: [0x01] + bytes.dropFirst()) }
        #expect(throws: UAFError(.trailingBytes)) { try AuthenticationAssertion(parsing: bytes + bytes) }
        let registration = try SampleAssertion.registration().serialized()
        #expect(throws: UAFError(.unexpectedTag)) { try AuthenticationAssertion(parsing: registration) }
    }

    @Test("The signed bytes are the received ones whatever the order of the tags", arguments: 0..<40)
    func anyOrder(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var signed = try Self.items()
        signed.list.shuffle(using: &random)
        let read = try AuthenticationAssertion(parsing: try Self.assertion(signed))
        #expect(read.signedData.signedBytes == (try signed.encoded(in: .signedData)))
        #expect(read.signedData.signCounter == 0x0A0B_0C0D)
    }

    @Test("Every shortened assertion is refused")
    func everyPrefix() throws {
        let bytes = try SampleAssertion.authentication().serialized()
        for count in 0..<bytes.count {
            #expect(throws: UAFError.self) { try AuthenticationAssertion(parsing: Array(bytes.prefix(count))) }
        }
    }
}

@Suite("uaf-sections §3: bytes from nowhere")
struct RandomBytesTests {
    @Test("Random bytes and damaged assertions are refused or read, never a crash", arguments: 0..<60)
    func neverCrashes(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed) + 1000)
        let registration = try SampleAssertion.registration().serialized()
        let authentication = try SampleAssertion.authentication().serialized()
        for _ in 0..<100 {
            let noise = random.bytes(Int.random(in: 0...64, using: &random))
            _ = try? RegistrationAssertion(parsing: noise)
            _ = try? AuthenticationAssertion(parsing: noise)
            var damaged = Bool.random(using: &random) ? registration : authentication
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            // What is still read must be written back to the same signed bytes.
            if let read = try? RegistrationAssertion(parsing: damaged) {
                #expect(damaged[4...].starts(with: read.keyRegistrationData.signedBytes))
            }
            if let read = try? AuthenticationAssertion(parsing: damaged) {
                #expect(damaged[4...].starts(with: read.signedData.signedBytes))
            }
        }
    }
}
