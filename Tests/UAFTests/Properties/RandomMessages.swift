import UAF
import _Primitives

/// Makes messages of every shape that the limits of §1 allow, the same ones for the same seed.
struct RandomMessages {
    private var random: SeededGenerator

    init(seed: Int) { self.random = SeededGenerator(seed: UInt64(seed) &* 7919 &+ 1) }

    // MARK: Parts

    private mutating func flag(_ chance: Double = 0.5) -> Bool {
        Double.random(in: 0..<1, using: &self.random) < chance
    }

    private mutating func count(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self.random) }

    /// Letters of several alphabets, with all that JSON has to escape.
    private mutating func text(_ length: ClosedRange<Int>) -> String {
        let letters: [Unicode.Scalar] = [
            "a", "Z", "0", " ", "\"", "\\", "/", "\n", "\t", "\u{1}", "é", "ß", "字", "🔑", "{", "]", ":", "=",
        ]
        var scalars = String.UnicodeScalarView()
        for _ in 0..<self.count(length) { scalars.append(letters.randomElement(using: &self.random) ?? "a") }
        return String(scalars)
    }

    private mutating func maybe<Value>(_ make: (inout RandomMessages) throws -> Value) rethrows -> Value? {
        guard self.flag() else { return nil }
        return try make(&self)
    }

    private mutating func list<Value>(_ counts: ClosedRange<Int>, _ make: (inout RandomMessages) throws -> Value)
        rethrows
        -> [Value]
    {
        var values: [Value] = []
        for _ in 0..<self.count(counts) { values.append(try make(&self)) }
        return values
    }

    mutating func aaid() throws -> AAID {
        let digits = Array("0123456789abcdefABCDEF")
        var text = ""
        for index in 0..<9 { text.append(index == 4 ? "#" : digits.randomElement(using: &self.random) ?? "0") }
        return try AAID(text)
    }

    mutating func keyID() throws -> KeyID { try KeyID(self.random.bytes(self.count(32...64))) }

    mutating func challenge() throws -> Challenge {
        try Challenge(Base64URL.encode(self.random.bytes(self.count(8...64))))
    }

    private mutating func fieldExtension() -> UAF.Extension {
        UAF.Extension(id: self.text(1...32), data: self.text(0...40), failIfUnknown: self.flag())
    }

    mutating func header(_ operation: UAF.Operation) -> OperationHeader {
        OperationHeader(
            version: Version(
                major: UInt16.random(in: 0...3, using: &self.random),
                minor: UInt16.random(in: 0...9, using: &self.random)),
            operation: operation, appID: self.text(0...512), serverData: self.maybe { $0.text(1...1536) },
            extensions: self.list(0...3) { $0.fieldExtension() })
    }

    mutating func criteria() throws -> MatchCriteria {
        var criteria = MatchCriteria()
        criteria.aaid = try self.maybe { try $0.list(1...3) { try $0.aaid() } }
        criteria.vendorID = self.maybe { $0.list(1...3) { $0.text(1...8) } }
        criteria.keyIDs = try self.maybe { try $0.list(1...3) { try $0.keyID() } }
        criteria.userVerification = self.maybe { UserVerification(rawValue: $0.random.next32()) }
        criteria.keyProtection = self.maybe { KeyProtection(rawValue: $0.random.next16()) }
        criteria.matcherProtection = self.maybe { MatcherProtection(rawValue: $0.random.next16()) }
        criteria.attachmentHint = self.maybe { AttachmentHint(rawValue: $0.random.next32()) }
        criteria.tcDisplay = self.maybe { TransactionConfirmationDisplay(rawValue: $0.random.next16()) }
        criteria.authenticationAlgorithms = self.maybe {
            $0.list(1...3) { SignatureAlgorithm(rawValue: $0.random.next16()) }
        }
        criteria.assertionSchemes = self.maybe { $0.list(1...2) { AssertionScheme(rawValue: $0.text(1...10)) } }
        criteria.attestationTypes = self.maybe { $0.list(1...3) { AttestationType(rawValue: $0.random.next16()) } }
        criteria.authenticatorVersion = self.maybe { $0.random.next16() }
        criteria.extensions = self.list(0...2) { $0.fieldExtension() }
        return criteria
    }

    mutating func policy() throws -> Policy {
        Policy(
            accepted: try self.list(1...3) { try $0.list(1...3) { try $0.criteria() } },
            disallowed: try self.list(0...2) { try $0.criteria() })
    }

    // MARK: Messages

    mutating func registrationRequest() throws -> RegistrationRequest {
        RegistrationRequest(
            header: self.header(.registration), challenge: try self.challenge(), username: self.text(1...128),
            policy: try self.policy())
    }

    mutating func authenticationRequest() throws -> AuthenticationRequest {
        AuthenticationRequest(
            header: self.header(.authentication), challenge: try self.challenge(),
            transaction: self.list(0...2) { messages in
                let count = messages.count(1...60)
                return Transaction(
                    contentType: messages.flag() ? .textPlain : .imagePNG, content: messages.random.bytes(count))
            }, policy: try self.policy())
    }

    mutating func deregistrationRequest() throws -> DeregistrationRequest {
        var header = self.header(.deregistration)
        header.version = .uaf11
        let keys = try self.list(1...4) { DeregisterAuthenticator.key(try $0.aaid(), try $0.keyID()) }
        let others = [DeregisterAuthenticator.everything, .allKeys(of: try self.aaid())]
        return DeregistrationRequest(
            header: header, authenticators: self.flag(0.7) ? keys : [others[self.count(0...1)]])
    }

    private mutating func assertions() -> [EncodedAssertion] {
        self.list(0...3) { messages in
            let count = messages.count(1...400)
            return EncodedAssertion(
                scheme: messages.flag(0.8) ? .uafV1TLV : AssertionScheme(rawValue: messages.text(1...10)),
                bytes: messages.random.bytes(count), extensions: messages.list(0...2) { $0.fieldExtension() })
        }
    }

    mutating func registrationResponse() -> RegistrationResponse {
        RegistrationResponse(
            header: self.header(.registration), fcParams: self.text(1...200), assertions: self.assertions())
    }

    mutating func authenticationResponse() -> AuthenticationResponse {
        AuthenticationResponse(
            header: self.header(.authentication), fcParams: self.text(1...200), assertions: self.assertions())
    }

    mutating func finalChallengeParams() throws -> FinalChallengeParams {
        FinalChallengeParams(
            appID: self.text(1...512), challenge: try self.challenge(), facetID: try FacetID(self.text(1...512)),
            channelBinding: ChannelBinding(
                serverEndPoint: self.maybe { $0.text(1...40) }, tlsServerCertificate: self.maybe { $0.text(1...40) },
                tlsUnique: self.maybe { $0.text(1...40) }, channelIDPublicKey: self.maybe { $0.text(1...40) }))
    }

    mutating func serverResponse() -> ServerResponse {
        ServerResponse(
            statusCode: UAFStatusCode(rawValue: self.count(1200...1500)), description: self.maybe { $0.text(1...80) },
            additionalTokens: self.list(0...3) {
                Token(kind: Token.Kind(rawValue: $0.text(1...12)), value: $0.text(1...200))
            }, location: self.maybe { $0.text(1...200) }, newUAFRequest: self.maybe { $0.text(1...200) },
            confirmation: self.maybe {
                ServerResponse.Confirmation(number: String($0.count(0...999_999)), expiresInSeconds: $0.count(0...600))
            }, deviceKey: self.maybe { $0.text(1...128) })
    }

    mutating func returnRequest() -> ReturnUAFRequest {
        ReturnUAFRequest(
            statusCode: UAFStatusCode(rawValue: self.count(1200...1500)),
            operation: self.maybe { UAF.Operation(rawValue: $0.text(1...8)) },
            uafRequest: self.maybe { $0.text(1...300) },
            lifetimeMilliseconds: self.maybe { Int64($0.count(0...1_000_000)) },
            requester: self.maybe { messages in
                ReturnUAFRequest.Requester(
                    service: messages.maybe { $0.text(1...80) }, origin: messages.maybe { $0.text(1...80) },
                    address: messages.maybe { $0.text(1...40) }, browser: messages.maybe { $0.text(1...80) },
                    browserID: messages.maybe { $0.text(1...40) })
            }, dispatchChannel: self.maybe { $0.text(1...64) })
    }

    mutating func sendResponse() -> SendUAFResponse {
        SendUAFResponse(
            uafResponse: self.text(1...400),
            context: self.maybe { ["deviceName": .string($0.text(0...60)), "clientErrorCode": .integer(3)] })
    }

    mutating func keyRegistrationData() throws -> KeyRegistrationData {
        try KeyRegistrationData(
            aaid: try self.aaid(), authenticatorVersion: self.random.next16(),
            mode: AuthenticationMode(rawValue: UInt8(self.count(0...255))),
            signatureAlgorithm: SignatureAlgorithm(rawValue: self.random.next16()),
            publicKeyFormat: PublicKeyFormat(rawValue: self.random.next16()),
            finalChallengeHash: self.random.bytes(32), keyID: try self.keyID(), signCounter: self.random.next32(),
            registrationCounter: self.random.next32(), publicKey: self.random.bytes(65),
            extensions: self.assertionExtensions())
    }

    mutating func signedData() throws -> SignedData {
        let nonce = self.count(8...64)
        let hash = self.flag() ? 32 : 0
        return try SignedData(
            aaid: try self.aaid(), authenticatorVersion: self.random.next16(),
            mode: AuthenticationMode(rawValue: UInt8(self.count(0...255))),
            signatureAlgorithm: SignatureAlgorithm(rawValue: self.random.next16()), nonce: self.random.bytes(nonce),
            finalChallengeHash: self.random.bytes(32), transactionContentHash: self.random.bytes(hash),
            keyID: try self.keyID(), signCounter: self.random.next32(), extensions: self.assertionExtensions())
    }

    mutating func assertionExtensions() -> [AssertionExtension] {
        self.list(0...3) { messages in
            let count = messages.count(0...50)
            return AssertionExtension(
                id: messages.text(1...32), data: messages.random.bytes(count), isCritical: messages.flag())
        }
    }

    mutating func attestation() -> Attestation {
        let certificates = self.list(1...3) { messages in
            let count = messages.count(1...60)
            return messages.random.bytes(count)
        }
        return self.flag()
            ? Attestation(type: .basicFull, signature: self.random.bytes(70), certificates: certificates)
            : Attestation(type: self.flag() ? .basicSurrogate : .ecdaa, signature: self.random.bytes(64))
    }
}

extension SeededGenerator {
    fileprivate mutating func next16() -> UInt16 { UInt16.random(in: 0...UInt16.max, using: &self) }
    fileprivate mutating func next32() -> UInt32 { UInt32.random(in: 0...UInt32.max, using: &self) }
}
