import UAF
import _Primitives

/// A TLV item before encoding.
struct TLVItem {
    var tag: TLVTag
    var value: [UInt8]

    init(_ tag: TLVTag, _ value: [UInt8]) {
        self.tag = tag
        self.value = value
    }

    init(_ tag: TLVTag, _ items: [TLVItem]) throws {
        self.init(tag, try Self.written(items))
    }

    init(_ entry: AssertionExtension) throws {
        try self.init(
            entry.isCritical ? .criticalExtension : .extension,
            [TLVItem(.extensionID, Array(entry.id.utf8)), TLVItem(.extensionData, entry.data)])
    }

    static func written(_ items: [TLVItem]) throws -> [UInt8] {
        var writer = TLVWriter()
        for item in items { try writer.append(item.tag, item.value) }
        return writer.bytes
    }
}

/// The right contents of a scenario. A ``Damage`` changes one part of the contents.
struct AssertionDraft {
    static let account = "alice"
    static let facet = "https://app.example.com"
    static let otherAAID = "FFFF#C5FF"

    let scenario: UAFScenario
    let random: RandomSource

    // The server's data and messages.
    var metadata: [JSONObject]
    var revoked: [AAID] = []
    var revocations: JSONObject?
    var trustedFacets = [Self.facet]
    var serverEndPoints: [String]?
    var registered: [TestVector.RegisteredKey] = []
    var policy: Policy
    var sentTransaction: [Transaction]
    private let challenge: Challenge
    private let sentHeader: OperationHeader

    // The client's part of the message.
    var header: OperationHeader
    var parameters: FinalChallengeParams
    /// A replacement for the encoded parameters.
    var parametersText: String?
    var scheme = AssertionScheme.uafV1TLV

    // The authenticator's data.
    let aaid: AAID
    let keyID: KeyID
    let keyPair: TestKeyPair
    var certificates: TestCertificates
    var attestation: AttestationType
    var authenticatorVersion: UInt16 = 1
    var mode: AuthenticationMode
    var algorithm: SignatureAlgorithm
    var format: PublicKeyFormat
    var publicKey: [UInt8]
    var signCounter: UInt32
    var contentHash: [UInt8]
    var nonceLength = 16
    /// A replacement for the true hash.
    var finalChallengeHash: [UInt8]?
    /// The signing key.
    var signer: TestKeyPair
    /// A function that makes the signature in place of the signer.
    var signsAs: (([UInt8]) throws -> [UInt8])?
    /// The certificates of a full attestation.
    var chain: [[UInt8]]

    /// Further authenticators without damage, whose assertions come first.
    var companions: [AssertionDraft] = []

    // The last changes, from the inside to the outside.
    var changeSigned: (inout [TLVItem]) throws -> Void = { _ in }
    var changeSignature: (inout [UInt8]) -> Void = { _ in }
    var changeItems: (inout [TLVItem]) throws -> Void = { _ in }
    var rootTag: TLVTag
    var changeBytes: (inout [UInt8]) -> Void = { _ in }
    var changeDictionary: (inout JSONObject) throws -> Void = { _ in }
    var wrap: (JSON) -> [JSON] = { [$0] }
    var changeText: (String) -> String = { $0 }

    init(_ scenario: UAFScenario, random: RandomSource) throws {
        self.scenario = scenario
        self.random = random
        let isRegistration = scenario.operation == .registration
        self.aaid = try AAID("FFFF#C5\(scenario.algorithm.rawValue < 16 ? "0" : "")\(scenario.algorithm.rawValue)")
        self.keyID = try KeyID(random.bytes(32))
        let isRSA = ![.p256Raw, .p256DER].contains(scenario.algorithm)
        self.keyPair = isRSA ? try TestKeyPair(rsa: .first) : try TestKeyPair(p256: random)
        self.certificates = try TestCertificates(rsa: isRSA, aaid: self.aaid, random: random)
        self.attestation = scenario.attestation
        let isFull = scenario.attestation == .basicFull
        self.mode = scenario.confirms ? .transactionConfirmed : .userVerified
        self.algorithm = scenario.algorithm
        self.format = scenario.encoding.format
        self.publicKey = try self.keyPair.publicKey(scenario.encoding)
        self.signCounter = isRegistration ? 0 : 8
        self.signer = isFull ? self.certificates.leafKey : self.keyPair
        self.chain = isFull ? self.certificates.chain : []
        self.rootTag = isRegistration ? .registrationAssertion : .authenticationAssertion

        self.challenge = Challenge(random: random)
        self.sentHeader = OperationHeader(
            operation: scenario.operation, appID: "https://app.example.com/uaf/facets",
            serverData: random.token(byteCount: 24))
        self.header = self.sentHeader
        self.parameters = FinalChallengeParams(
            appID: self.sentHeader.appID, challenge: self.challenge, facetID: try FacetID(Self.facet))
        self.policy = Policy(
            accepted: [[MatchCriteria(aaid: [self.aaid], keyIDs: isRegistration ? nil : [self.keyID])]])
        let transaction = Transaction(content: Array("Pay 10.00 EUR to Jo Gardener".utf8))
        self.sentTransaction = scenario.confirms ? [transaction] : []
        self.contentHash = scenario.confirms ? transaction.contentHash : []
        self.metadata = [
            Self.statement(
                self.aaid, algorithm: scenario.algorithm, format: scenario.encoding.format,
                attestations: [scenario.attestation], roots: isFull ? [self.certificates.root] : [])
        ]
        if !isRegistration { self.registered = [self.registeredKey()] }
    }

    /// Returns the key as the server has registered the key.
    func registeredKey(account: String = Self.account, signCounter: UInt32 = 7) -> TestVector.RegisteredKey {
        TestVector.RegisteredKey(
            aaid: self.aaid, keyID: self.keyID, publicKey: self.publicKey, publicKeyFormat: self.format,
            signatureAlgorithm: self.algorithm, signCounter: signCounter, account: account)
    }

    static func statement(
        _ aaid: AAID, algorithm: SignatureAlgorithm, format: PublicKeyFormat, attestations: [AttestationType],
        roots: [[UInt8]]
    ) -> JSONObject {
        [
            "aaid": .string(aaid.text), "description": .string("An authenticator of the test vectors"),
            "authenticatorVersion": .integer(1),
            "upv": .array([.object(["major": .integer(1), "minor": .integer(1)])]),
            "assertionScheme": .string("UAFV1TLV"), "authenticationAlgorithm": .integer(Int64(algorithm.rawValue)),
            "publicKeyAlgAndEncoding": .integer(Int64(format.rawValue)),
            "attestationTypes": .array(attestations.map { .integer(Int64($0.rawValue)) }),
            "userVerificationDetails": .array([.array([.object(["userVerification": .integer(4)])])]),
            "keyProtection": .integer(1), "matcherProtection": .integer(1), "attachmentHint": .integer(1),
            "isSecondFactorOnly": .bool(false), "tcDisplay": .integer(1),
            "tcDisplayContentType": .string("text/plain"),
            "attestationRootCertificates": .array(roots.map { .string(standardBase64($0)) }),
        ]
    }

    /// Returns bytes in standard base64 with padding, the form of certificates in metadata (§13).
    private static func standardBase64(_ bytes: [UInt8]) -> String {
        let text = Base64URL.encode(bytes).replacing("-", with: "+").replacing("_", with: "/")
        return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    }

    // MARK: - Messages

    /// Returns the dictionary of the request.
    func request() throws -> JSONObject {
        var policy = self.policy
        let others = self.companions.flatMap { $0.policy.accepted[0] }
        policy.accepted = policy.accepted.map { $0 + others }
        let message: [UInt8] =
            self.scenario.operation == .registration
            ? RegistrationRequest(
                header: self.sentHeader, challenge: self.challenge, username: Self.account, policy: policy
            ).serialized
            : AuthenticationRequest(
                header: self.sentHeader, challenge: self.challenge, transaction: self.sentTransaction,
                policy: policy
            ).serialized
        guard case .array(let dictionaries) = try JSON(parsing: message),
            case .object(let dictionary)? = dictionaries.first
        else { throw UAFError(.wrongType, "request") }
        return dictionary
    }

    /// Returns the response's text.
    func response() throws -> String {
        let text = self.parametersText ?? self.parameters.encoded
        let hash = FinalChallengeParams.hash(ofEncoded: text)
        var bytes = try self.assertion(hash: self.finalChallengeHash ?? hash)
        self.changeBytes(&bytes)
        let assertions =
            try self.companions.map { EncodedAssertion(bytes: try $0.assertion(hash: hash)) }
            + [EncodedAssertion(scheme: self.scheme, bytes: bytes)]
        let message =
            self.scenario.operation == .registration
            ? RegistrationResponse(header: self.header, fcParams: text, assertions: assertions).serialized
            : AuthenticationResponse(header: self.header, fcParams: text, assertions: assertions).serialized
        guard case .array(let dictionaries) = try JSON(parsing: message),
            case .object(var dictionary)? = dictionaries.first
        else { throw UAFError(.wrongType, "response") }
        try self.changeDictionary(&dictionary)
        return self.changeText(JSON.array(self.wrap(.object(dictionary))).text)
    }

    private func assertion(hash: [UInt8]) throws -> [UInt8] {
        let isRegistration = self.scenario.operation == .registration
        var signed = try (isRegistration ? self.keyRegistrationData(hash) : self.signedData(hash))
        signed += try self.scenario.extensions.map { try TLVItem($0) }
        try self.changeSigned(&signed)
        if self.scenario.order == .reversed { signed.reverse() }
        let data = try TLVItem(isRegistration ? .keyRegistrationData : .signedData, signed)

        let bytes = try TLVItem.written([data])
        var signature = try self.signsAs?(bytes) ?? self.signer.sign(bytes, self.algorithm)
        self.changeSignature(&signature)
        let proof = TLVItem(.signature, signature)
        var items = [data]
        if isRegistration {
            // The chain keeps its order, with the leaf first.
            let certificates = self.chain.map { TLVItem(.attestationCertificate, $0) }
            items.append(
                try TLVItem(
                    TLVTag(rawValue: self.attestation.rawValue),
                    self.scenario.order == .reversed ? certificates + [proof] : [proof] + certificates))
        } else {
            items.append(proof)
        }
        try self.changeItems(&items)
        return try TLVItem.written([try TLVItem(self.rootTag, items)])
    }

    private func keyRegistrationData(_ hash: [UInt8]) throws -> [TLVItem] {
        [
            TLVItem(.aaid, Array(self.aaid.text.utf8)),
            TLVItem(
                .assertionInfo,
                Self.littleEndian(self.authenticatorVersion) + [self.mode.rawValue]
                    + Self.littleEndian(self.algorithm.rawValue) + Self.littleEndian(self.format.rawValue)),
            TLVItem(.finalChallengeHash, hash), TLVItem(.keyID, self.keyID.bytes),
            TLVItem(.counters, Self.littleEndian(self.signCounter) + Self.littleEndian(UInt32(1))),
            TLVItem(.publicKey, self.publicKey),
        ]
    }

    private func signedData(_ hash: [UInt8]) throws -> [TLVItem] {
        [
            TLVItem(.aaid, Array(self.aaid.text.utf8)),
            TLVItem(
                .assertionInfo,
                Self.littleEndian(self.authenticatorVersion) + [self.mode.rawValue]
                    + Self.littleEndian(self.algorithm.rawValue)),
            TLVItem(.authenticatorNonce, self.random.bytes(self.nonceLength)), TLVItem(.finalChallengeHash, hash),
            TLVItem(.transactionContentHash, self.contentHash), TLVItem(.keyID, self.keyID.bytes),
            TLVItem(.counters, Self.littleEndian(self.signCounter)),
        ]
    }

    static func littleEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}
