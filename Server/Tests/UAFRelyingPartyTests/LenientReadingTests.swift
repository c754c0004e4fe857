import Testing
import UAF
import UAFRelyingParty
import _Primitives

/// A deviation from the standard with the one option that takes it.
struct LenientReading: CustomTestStringConvertible, Sendable {
    let deviation: Refused
    let operations: [UAF.Operation]
    let isOn: @Sendable (inout LenientReadings) -> Void

    init(
        _ name: String, _ code: UAFStatusCode, _ step: VerificationStep,
        operations: [UAF.Operation] = [.registration, .authentication],
        on: @escaping @Sendable (inout LenientReadings) -> Void,
        _ change: @escaping @Sendable (inout Scene) throws -> Void
    ) {
        self.deviation = Refused(name, code, step, change)
        self.operations = operations
        self.isOn = on
    }

    var testDescription: String { self.deviation.name }

    /// All options but the one that takes this deviation.
    var allOthers: LenientReadings {
        var readings = LenientReadings()
        self.isOn(&readings)
        var others = LenientReadings()
        others.row2Base64 = !readings.row2Base64
        others.row3SignedDataAnywhere = !readings.row3SignedDataAnywhere
        others.row18ExpiredCertificates = !readings.row18ExpiredCertificates
        others.row20UnmarkedIssuers = !readings.row20UnmarkedIssuers
        others.row21VendorTags = readings.row21VendorTags.isEmpty ? [TLVTag(rawValue: 0x3FFC)] : []
        others.row26ShortNonces = !readings.row26ShortNonces
        others.section2NoChannelBinding = !readings.section2NoChannelBinding
        others.section7EmptyFacetID = !readings.section7EmptyFacetID
        others.section14AnyText = !readings.section14AnyText
        return others
    }
}

/// The items of a sequence of TLV items.
private func items(_ bytes: ArraySlice<UInt8>) throws -> [TLVField] {
    var reader = TLVReader(bytes)
    var fields: [TLVField] = []
    while let field = try reader.readNext() { fields.append(field) }
    try reader.finish()
    return fields
}

/// An assertion whose items `change` puts in another order, or to which it adds some.
private func rebuilt(_ assertion: [UInt8], _ change: ([[UInt8]]) -> [[UInt8]]) throws -> [UInt8] {
    let root = try items(assertion[...])[0]
    var writer = TLVWriter()
    try writer.append(root.tag, change(try items(root.value).map { Array($0.encoded) }).flatMap { $0 })
    return writer.bytes
}

/// The text with the letters of standard base64, padded, in lines.
private func standardBase64(_ text: String) -> String {
    let padded = text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    var lines = ""
    for (index, letter) in padded.enumerated() {
        lines.append(letter == "-" ? "+" : letter == "_" ? "/" : letter)
        if index % 64 == 63 { lines.append("\n") }
    }
    return lines
}

@Suite("uaf-sections §18: readings that a strict server does not make")
struct LenientReadingTests {
    private static let vendorTag: [UInt8] = [0xFC, 0x3F, 0x02, 0x00, 0xAA, 0xBB]

    static let readings: [LenientReading] = [
        LenientReading(
            "row 2: parameters with padding, line breaks and standard letters", .unacceptableContent,
            .finalChallengeParams, on: { $0.row2Base64 = true }
        ) {
            // A facet whose base64 has the letters that differ, and padding.
            $0.configuration.trustedFacets.insert(try FacetID("app:???>>>~~~"))
            $0.params.facetID = try FacetID("app:???>>>~~~")
            let text = standardBase64($0.params.encoded)
            guard text.contains("\n"), text.contains("+") || text.contains("/") || text.contains("=") else {
                throw UAFError(.invalidValue)
            }
            $0.fcParams = text
        },
        LenientReading(
            "row 2: an assertion in standard base64", .unacceptableContent, .assertion, on: { $0.row2Base64 = true }
        ) { scene in
            scene.finish = { message in
                let text = String(decoding: message, as: UTF8.self)
                let parts = text.split(separator: "\"assertion\":\"", maxSplits: 1)
                let rest = parts[1].split(separator: "\"", maxSplits: 1)
                let encoded = standardBase64(String(rest[0])).split(separator: "\n").joined(separator: "\\n")
                return Array("\(parts[0])\"assertion\":\"\(encoded)\\n\"\(rest[1])".utf8)
            }
        },
        LenientReading(
            "row 3: the signed data last", .unacceptableContent, .assertion, on: { $0.row3SignedDataAnywhere = true }
        ) { $0.keys[0].finish = { (try? rebuilt($0) { $0.reversed() }) ?? [] } },
        LenientReading(
            "row 21: a vendor's critical tag beside the signed data", .unacceptableContent, .assertion,
            on: { $0.row21VendorTags = [TLVTag(rawValue: 0x3FFC)] }
        ) { $0.keys[0].finish = { (try? rebuilt($0) { $0 + [Self.vendorTag] }) ?? [] } },
        LenientReading(
            "row 26: a nonce of seven bytes", .unacceptableContent, .assertion, operations: [.authentication],
            on: { $0.row26ShortNonces = true }
        ) { scene in
            let key = scene.keys[0]
            scene.keys[0].finish = { assertion in
                (try? rebuilt(assertion) { parts in
                    guard var fields = try? items(items(parts[0][...])[0].value).map({ Array($0.encoded) }),
                        let nonce = fields.firstIndex(where: { $0.starts(with: [0x0F, 0x2E]) })
                    else { return [] }
                    fields[nonce] = [0x0F, 0x2E, 7, 0] + bytes(7)
                    var writer = TLVWriter()
                    try? writer.append(.signedData, fields.flatMap { $0 })
                    let signed = writer.bytes
                    writer = TLVWriter()
                    try? writer.append(.signature, (try? key.privateKey.signature(signed, key.algorithm)) ?? [])
                    return [signed, writer.bytes]
                }) ?? []
            }
        },
        LenientReading(
            "section 2.1: no channel binding", .unacceptableContent, .finalChallengeParams,
            on: { $0.section2NoChannelBinding = true }
        ) {
            let text = """
                {"appID":"\(Names.appID)","challenge":"\($0.challenge.text)","facetID":"\(Names.facet)"}
                """
            $0.fcParams = Base64URL.encode(Array(text.utf8))
        },
        LenientReading(
            "section 7.1: an empty facet", .unacceptableContent, .finalChallengeParams,
            on: { $0.section7EmptyFacetID = true }
        ) { $0.params.facetID = .unknown },
    ]

    @Test(
        "A deviation is refused, even with all other readings on, and accepted with its own alone", arguments: readings)
    func oneReading(reading: LenientReading) throws {
        for operation in reading.operations {
            var scene = try Scene(operation, [try SoftwareKey(Names.pin)])
            try reading.deviation.change(&scene)
            let verify = { (scene: Scene) throws -> Void in
                if operation == .registration {
                    _ = try scene.verifyRegistration()
                } else {
                    _ = try scene.verifyAuthentication()
                }
            }
            reading.deviation.expect { try verify(scene) }
            scene.configuration.lenientReadings = reading.allOthers
            reading.deviation.expect { try verify(scene) }
            scene.configuration.lenientReadings = LenientReadings()
            reading.isOn(&scene.configuration.lenientReadings)
            #expect(throws: Never.self, "\(operation)") { try verify(scene) }
        }
    }

    @Test("What is right is accepted with all readings on, and what is wrong otherwise is still refused")
    func allReadings() throws {
        var all = LenientReadings()
        for reading in Self.readings { reading.isOn(&all) }
        all.row18ExpiredCertificates = true
        all.row20UnmarkedIssuers = true
        for operation in [UAF.Operation.registration, .authentication] {
            var scene = try Scene(operation, [try SoftwareKey(Names.pin)])
            scene.configuration.lenientReadings = all
            let verify = { (scene: Scene) throws -> Void in
                if operation == .registration {
                    _ = try scene.verifyRegistration()
                } else {
                    _ = try scene.verifyAuthentication()
                }
            }
            #expect(throws: Never.self) { try verify(scene) }
            var wrong = scene
            wrong.keys[0].finish = { (try? rebuilt($0) { $0 + [[0xFD, 0x3F, 0, 0]] }) ?? [] }
            Refused("another tag", .unacceptableContent, .assertion) { _ in }.expect { try verify(wrong) }
            wrong = scene
            wrong.keys[0].finish = { (try? rebuilt($0) { $0 + [$0[0]] }) ?? [] }
            Refused("signed data twice", .unacceptableContent, .assertion) { _ in }.expect { try verify(wrong) }
            wrong = scene
            wrong.fcParams = wrong.params.encoded + "!"
            Refused("no base64", .unacceptableContent, .finalChallengeParams) { _ in }.expect { try verify(wrong) }
            wrong = scene
            wrong.params.facetID = try FacetID("linux:program:other")
            Refused("facet", .unacceptableContent, .facetID) { _ in }.expect { try verify(wrong) }
            wrong = scene
            wrong.configuration.channelBinding = .required(.init(serverEndPoints: ["A"], tlsServerCertificates: []))
            Refused("channel", .channelBindingRefused, .channelBinding) { _ in }.expect { try verify(wrong) }
            wrong = scene
            wrong.keys[0].signingKey = wrong.keys[0].privateKey.other
            let isRegistration = operation == .registration
            Refused(
                "signature", isRegistration ? .unacceptableAttestation : .unacceptableContent,
                isRegistration ? .attestation : .signature
            ) { _ in }.expect { try verify(wrong) }
        }
    }

    @Test("The hash is that of the letters that were sent, with their padding and line breaks (§18, row 1)")
    func hashOfSentLetters() throws {
        var scene = try Scene.authentication()
        scene.configuration.lenientReadings.row2Base64 = true
        scene.fcParams = standardBase64(scene.params.encoded)
        scene.keys[0].finalChallengeHash = FinalChallengeParams.hash(ofEncoded: scene.params.encoded)
        Refused("hash", .unacceptableContent, .finalChallengeHash) { _ in }.expect {
            _ = try scene.verifyAuthentication()
        }
    }

    @Test("A text to be confirmed is ASCII of at most 200 characters, unless the reading of section 14 is on")
    func transactionText() throws {
        let metadata = try MetadataCatalog.builtIn()
        let strict = RequestBuilder(metadata: metadata, appID: Names.appID)
        var readings = LenientReadings()
        readings.section14AnyText = true
        let lenient = RequestBuilder(metadata: metadata, appID: Names.appID, lenientReadings: readings)
        let challenge = try Challenge(Base64URL.encode(bytes(32)))
        func request(_ builder: RequestBuilder, _ text: String) throws -> AuthenticationRequest {
            try builder.authenticationRequest(
                challenge: challenge, factors: [[.pin]], credentials: nil,
                transaction: [
                    Transaction(content: Array("Pay".utf8)), Transaction(content: Array(text.utf8)),
                ], serverData: nil)
        }
        for text in ["Zahle 10 CHF an Müller", String(repeating: "a", count: 201), ""] {
            #expect {
                _ = try request(strict, text)
            } throws: { ($0 as? RequestError)?.code == .transactionText }
            #expect(throws: Never.self) { try request(lenient, text) }
        }
        #expect(throws: Never.self) { try request(strict, String(repeating: "a", count: 200)) }
    }
}
