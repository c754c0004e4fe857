import Ceremony
import Crypto
import JOSE
import OAuth
import PersonalInformation
import UAF
import UAFClient
import _Primitives

/// A parser of input from outside.
///
/// A parser must answer or throw, whatever the bytes are. A parsed value must survive writing and reading again.
public enum FuzzTarget: String, CaseIterable, Sendable {
    case json
    case base64url
    case tlv
    case registrationAssertion = "registration-assertion"
    case authenticationAssertion = "authentication-assertion"
    case registrationRequest = "registration-request"
    case registrationResponse = "registration-response"
    case authenticationRequest = "authentication-request"
    case authenticationResponse = "authentication-response"
    case deregistrationRequest = "deregistration-request"
    case anyRequest = "any-request"
    case requestMessage = "request-message"
    case png
    case serverCertificate = "server-certificate"
    case finalChallengeParams = "final-challenge-params"
    case transport
    case policy
    case facetList = "facet-list"
    case metadata
    case metadataEntry = "metadata-entry"
    case lenientResponse = "lenient-response"
    case keysAndSignatures = "keys-and-signatures"
    case outOfBandPayload = "out-of-band-payload"
    case scannedPayload = "scanned-payload"
    case encryptedPayload = "encrypted-payload"
    case displayText = "display-text"
    case traceparent
    case transactionText = "transaction-text"
    case payment
    case sessionDocument = "session-document"
    case identityMessage = "identity-message"
    case personalInformation = "personal-information"
    case jws
    case jwe
    case jwk
    case jwtClaims = "jwt-claims"
    case parameters
    case dpopProof = "dpop-proof"
    case clientAssertion = "client-assertion"
    case requestObject = "request-object"
    case authorizationDetails = "authorization-details"
    case claimsRequest = "claims-request"
    case addresses
    case clientKeys = "client-keys"
    case eventStream = "event-stream"

    /// Gives `bytes` to the parser. Returns `false` if the parser read the bytes, but a property of the result does not
    /// hold.
    public func holds(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .json: Self.json(bytes)
        case .base64url: Base64URL.decode(utf8: bytes).map { Array(Base64URL.encode($0).utf8) == bytes } ?? true
        case .tlv: Self.tlv(bytes)
        case .registrationAssertion: Self.registrationAssertion(bytes)
        case .authenticationAssertion: Self.authenticationAssertion(bytes)
        case .registrationRequest: self.survives(bytes, RegistrationRequest.init(parsing:), \.serialized)
        case .registrationResponse: self.survives(bytes, { try RegistrationResponse(parsing: $0) }, \.serialized)
        case .authenticationRequest: self.survives(bytes, AuthenticationRequest.init(parsing:), \.serialized)
        case .authenticationResponse: self.survives(bytes, { try AuthenticationResponse(parsing: $0) }, \.serialized)
        case .deregistrationRequest: self.survives(bytes, DeregistrationRequest.init(parsing:), \.serialized)
        case .anyRequest: Self.anyRequest(bytes)
        case .requestMessage: Self.requestMessage(bytes)
        case .png: Self.png(bytes)
        case .serverCertificate: Self.serverCertificate(bytes)
        case .finalChallengeParams:
            self.survives(bytes, { try FinalChallengeParams(encoded: Self.text($0)) }, { Array($0.encoded.utf8) })
        case .transport: self.transport(bytes)
        case .policy: Self.policy(bytes)
        case .facetList: FacetListTarget.holds(bytes)
        case .metadata: Self.metadata(bytes)
        case .metadataEntry: Self.metadataEntry(bytes)
        case .lenientResponse: Self.lenientResponse(bytes)
        case .keysAndSignatures: Self.keysAndSignatures(bytes)
        case .outOfBandPayload: Self.outOfBandPayload(bytes)
        case .scannedPayload: Self.scannedPayload(bytes)
        case .encryptedPayload: EncryptedPayloadTarget.holds(bytes)
        case .displayText: Self.displayText(bytes)
        case .traceparent: Self.traceparent(bytes)
        case .transactionText: Self.transactionText(bytes)
        case .payment: Self.payment(bytes)
        case .sessionDocument: Self.sessionDocument(bytes)
        case .identityMessage: IdentityMessageTarget.holds(bytes)
        case .personalInformation: Self.personalInformation(bytes)
        case .jws: Self.jws(bytes)
        case .jwe: Self.jwe(bytes)
        case .jwk: Self.jwk(bytes)
        case .jwtClaims: Self.jwtClaims(bytes)
        case .parameters: Self.parameters(bytes)
        case .dpopProof: OAuthTargets.dpopProof(bytes)
        case .clientAssertion: OAuthTargets.clientAssertion(bytes)
        case .requestObject: OAuthTargets.requestObject(bytes)
        case .authorizationDetails: OAuthTargets.authorizationDetails(bytes)
        case .claimsRequest: OAuthTargets.claimsRequest(bytes)
        case .addresses: OAuthTargets.addresses(bytes)
        case .clientKeys: OAuthTargets.clientKeys(bytes)
        case .eventStream: EventStreamTarget.holds(bytes)
        }
    }

    private static let key = P256.Signing.PrivateKey()

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Returns `true` if a parsed value is written to bytes that read as the same value.
    private func survives<Value: Equatable>(
        _ bytes: [UInt8], _ parse: ([UInt8]) throws -> Value, _ serialize: (Value) -> [UInt8]
    ) -> Bool {
        guard let value = try? parse(bytes) else { return true }
        let written = serialize(value)
        guard let again = try? parse(written) else { return false }
        return again == value && serialize(again) == written
    }

    private static func json(_ bytes: [UInt8]) -> Bool {
        guard let value = try? JSON(parsing: bytes) else { return true }
        // A number is written in its shortest form, and a text can grow by its escapes. So the limits for reading do
        // not apply to writing.
        let limits = JSONLimits(bytes: 1_000_000, depth: 64, values: 100_000)
        return (try? JSON(parsing: value.serialized, limits: limits)) == value
    }

    private static func tlv(_ bytes: [UInt8]) -> Bool {
        // The reader gets a part of a longer array, and must see nothing of the rest.
        let padded = [0xAA, 0xAA] + bytes + [UInt8](repeating: 0x05, count: 64)
        let part = padded[2..<(2 + bytes.count)]
        var reader = TLVReader(part)
        var writer = TLVWriter()
        var position = part.startIndex
        do {
            while let field = try reader.readNext() {
                try writer.append(field.tag, field.value)
                // Items follow each other without a gap, and end at the end of the part.
                guard field.encoded.startIndex == position, field.encoded.endIndex <= part.endIndex,
                    field.value.endIndex == field.encoded.endIndex,
                    field.value.count == field.encoded.count - 4
                else { return false }
                position = field.encoded.endIndex
            }
            try reader.finish()
        } catch { return true }
        return writer.bytes == bytes && position == part.endIndex
    }

    private static func registrationAssertion(_ bytes: [UInt8]) -> Bool {
        guard let assertion = try? RegistrationAssertion(parsing: bytes) else { return true }
        guard bytes.dropFirst(4).starts(with: assertion.keyRegistrationData.signedBytes),
            let written = try? assertion.serialized()
        else { return false }
        return (try? RegistrationAssertion(parsing: written)) == assertion
    }

    private static func authenticationAssertion(_ bytes: [UInt8]) -> Bool {
        guard let assertion = try? AuthenticationAssertion(parsing: bytes) else { return true }
        guard bytes.dropFirst(4).starts(with: assertion.signedData.signedBytes),
            let written = try? assertion.serialized()
        else { return false }
        return (try? AuthenticationAssertion(parsing: written)) == assertion
    }

    private static func anyRequest(_ bytes: [UInt8]) -> Bool {
        guard let request = try? UAFRequest(parsing: bytes) else { return true }
        // The policy of any request is checked against every authenticator of ours.
        let candidates = AuthenticatorModel.allCases.map { PolicyCandidate(info: $0.info) }
        switch request {
        case .registration(let request):
            return PolicyMatcher(request.policy).selections(among: candidates).allSatisfy {
                Set($0.candidates).count == request.policy.accepted[$0.alternative].count
            }
        case .authentication(let request):
            return PolicyMatcher(request.policy).selections(among: candidates).count <= 64
        case .deregistration(let request):
            return !request.authenticators.isEmpty
        }
    }

    /// Checks a separate policy, as in a server's configuration, against every authenticator of ours.
    private static func policy(_ bytes: [UInt8]) -> Bool {
        guard case .object(let object)? = try? JSON(parsing: bytes), let policy = try? Policy(json: object) else {
            return true
        }
        guard (try? Policy(json: policy.json)) == policy else { return false }
        let candidates = AuthenticatorModel.allCases.map { PolicyCandidate(info: $0.info) }
        let matcher = PolicyMatcher(policy)
        return matcher.selections(among: candidates).allSatisfy { selection in
            let criteria = policy.accepted[selection.alternative]
            return zip(criteria, selection.candidates).allSatisfy { criterion, index in
                criterion.matches(candidates[index]) && matcher.allows(candidates[index])
            }
        }
    }

    /// Checks a message of several versions: the chosen request has a version that was wanted.
    private static func requestMessage(_ bytes: [UInt8]) -> Bool {
        guard let message = try? RequestMessage(parsing: bytes),
            let request = try? message.request(among: [.uaf11])
        else { return true }
        return request.header.version == .uaf11 && message.versions.contains(.uaf11)
    }

    private static func png(_ bytes: [UInt8]) -> Bool {
        guard let picture = try? DisplayPNGCharacteristics(ofPNG: bytes) else { return true }
        return picture.width > 0 && picture.height > 0 && picture.shows(picture)
    }

    /// Checks a certificate: a certificate that binds a channel binds all its bytes.
    private static func serverCertificate(_ bytes: [UInt8]) -> Bool {
        let binding = ChannelBinding(serverCertificate: bytes)
        return binding.tlsServerCertificate.map { $0 == Base64URL.encode(bytes) } ?? (binding.serverEndPoint == nil)
    }

    private func transport(_ bytes: [UInt8]) -> Bool {
        self.survives(bytes, GetUAFRequest.init(parsing:), \.serialized)
            && self.survives(bytes, ReturnUAFRequest.init(parsing:), \.serialized)
            && self.survives(bytes, SendUAFResponse.init(parsing:), \.serialized)
            && self.survives(bytes, ServerResponse.init(parsing:), \.serialized)
    }

    private static func metadata(_ bytes: [UInt8]) -> Bool {
        guard let statement = try? MetadataStatement(parsing: bytes) else { return true }
        return statement.info.aaid == statement.aaid && (try? AAID(statement.aaid.text)) == statement.aaid
    }

    /// Checks a statement with its reports: a report has a date or none, never anything else.
    private static func metadataEntry(_ bytes: [UInt8]) -> Bool {
        guard let entry = try? MetadataEntry(parsing: bytes) else { return true }
        return entry.reports.allSatisfy { report in
            report.effectiveDate.map { $0.utf8.count == 10 && $0.utf8.filter { $0 == UInt8(ascii: "-") }.count == 2 }
                ?? true
        }
    }

    /// Checks all lenient readings together: a text that the strict readings accept has the same meaning in the lenient
    /// readings.
    private static func lenientResponse(_ bytes: [UInt8]) -> Bool {
        var reading = LenientReadings()
        reading.row2Base64 = true
        reading.row3SignedDataAnywhere = true
        reading.row18ExpiredCertificates = true
        reading.row20UnmarkedIssuers = true
        reading.row21VendorTags = [TLVTag(rawValue: 0x3FFC), TLVTag(rawValue: 0x3FFD)]
        reading.row26ShortNonces = true
        reading.section2NoChannelBinding = true
        reading.section7EmptyFacetID = true
        reading.section14AnyText = true
        func reads<Value: Equatable>(_ parse: (LenientReadings) throws -> Value) -> Bool {
            let lenient = try? parse(reading)
            return (try? parse(LenientReadings())).map { $0 == lenient } ?? true
        }
        func inside(_ fcParams: String, _ assertions: [EncodedAssertion]) -> Bool {
            reads { try FinalChallengeParams(encoded: fcParams, reading: $0) }
                && assertions.allSatisfy { assertion in
                    reads { try RegistrationAssertion(parsing: assertion.bytes, reading: $0) }
                        && reads { try AuthenticationAssertion(parsing: assertion.bytes, reading: $0) }
                }
        }
        guard reads({ try RegistrationResponse(parsing: bytes, reading: $0) }),
            reads({ try AuthenticationResponse(parsing: bytes, reading: $0) })
        else { return false }
        if let response = try? RegistrationResponse(parsing: bytes, reading: reading) {
            return inside(response.fcParams, response.assertions)
        }
        if let response = try? AuthenticationResponse(parsing: bytes, reading: reading) {
            return inside(response.fcParams, response.assertions)
        }
        return true
    }

    private static func keysAndSignatures(_ bytes: [UInt8]) -> Bool {
        for format in [PublicKeyFormat.eccX962Raw, .eccX962DER] {
            guard let key = try? P256Encoding.publicKey(bytes, format: format) else { continue }
            guard (try? P256Encoding.bytes(of: key, format: format)) == bytes else { return false }
        }
        for format in [PublicKeyFormat.eccX962Raw, .eccX962DER] {
            guard let point = try? ECDSAEncoding.point(bytes, format: format, kind: .secp256k1) else { continue }
            let written = try? ECDSAEncoding.bytes(ofPoint: point, format: format, kind: .secp256k1)
            guard written == bytes else { return false }
        }
        for algorithm in [UAF.SignatureAlgorithm.p256Raw, .p256DER] {
            guard let signature = try? P256Encoding.signature(bytes, algorithm: algorithm) else { continue }
            // The cryptographic library has no unique DER form for the number zero. Every writable number must be the
            // same.
            guard let written = try? P256Encoding.bytes(of: signature, algorithm: algorithm), written == bytes else {
                return false
            }
        }
        return true
    }

    private static func outOfBandPayload(_ bytes: [UInt8]) -> Bool {
        let text = self.text(bytes)
        for payload in [
            try? OutOfBandPayload(json: text), try? OutOfBandPayload(base64URLEncoded: text),
            try? OutOfBandPayload(link: text),
        ] {
            guard let payload else { continue }
            guard (try? OutOfBandPayload(json: payload.json)) == payload,
                (try? OutOfBandPayload(base64URLEncoded: payload.base64URLEncoded)) == payload
            else { return false }
        }
        return true
    }

    /// Checks the text of a QR code, in the short form or another form. The short form of a parsed text has the same
    /// meaning.
    private static func scannedPayload(_ bytes: [UInt8]) -> Bool {
        guard let payload = try? OutOfBandPayload(scanned: self.text(bytes)), let compact = payload.compact else {
            return true
        }
        return (try? OutOfBandPayload(scanned: compact))?.redeemData == payload.redeemData
    }

    /// Checks foreign text on a screen: the text cannot act there, and JSON reads as before.
    private static func displayText(_ bytes: [UInt8]) -> Bool {
        let text = self.text(bytes)
        func isShown(_ line: String, _ length: Int) -> Bool {
            line.unicodeScalars.count <= length + 1 && !line.unicodeScalars.contains(where: DisplayText.isForbidden)
        }
        guard isShown(DisplayText.line(text), 200), DisplayText.lines(text).allSatisfy({ isShown($0, 200) }),
            isShown(DisplayText.origin(text), 1024)
        else { return false }
        guard let value = try? JSON(parsing: bytes) else { return true }
        let shown = DisplayText.json(value.text)
        let limits = JSONLimits(bytes: 1_000_000, depth: 64, values: 100_000)
        return isShown(shown, 1_000_000) && (try? JSON(parsing: Array(shown.utf8), limits: limits)) == value
    }

    private static func traceparent(_ bytes: [UInt8]) -> Bool {
        guard let context = TraceContext(header: self.text(bytes)) else { return true }
        return TraceContext(header: context.header()) == context
    }

    private static func transactionText(_ bytes: [UInt8]) -> Bool {
        if let received = try? TransactionText(received: bytes) {
            if received.bytes != bytes { return false }
            if let payment = try? Payment(recognizing: received), payment.text != received { return false }
        }
        guard let made = try? TransactionText(normalizing: self.text(bytes)) else { return true }
        return (try? TransactionText(received: made.bytes)) == made
    }

    /// Checks that a parsed document keeps exactly the same bytes, and that a phone accepts the document only with the
    /// document's own challenge.
    private static func sessionDocument(_ bytes: [UInt8]) -> Bool {
        guard let document = try? SessionDocument(parsing: bytes) else { return true }
        let received = try? SessionDocument(received: bytes, challenge: document.challenge)
        return document.bytes == bytes && received == document
    }

    /// Checks that the server accepts everything that the phone accepts, in a single spelling.
    private static func personalInformation(_ bytes: [UInt8]) -> Bool {
        let text = self.text(bytes)
        func holds(_ validator: some PersonalInformationValidator<String>) -> Bool {
            guard case .accepted(let spelling) = validator.judge(text) else { return !validator.accepts(text) }
            return validator.accepts(spelling) && !spelling.unicodeScalars.contains(where: \.isUnfitToShow)
        }
        return holds(NameValidator()) && holds(UsernameValidator()) && holds(SalutationValidator())
            && holds(NationalityValidator()) && holds(EmailValidator()) && holds(PhoneNumberValidator())
            && (!AddressValidator().accepts(text) || text.utf8.filter { $0 == UInt8(ascii: "\n") }.count == 4)
    }

    /// Checks a text recognised as a payment: the text is the payment's only spelling.
    private static func payment(_ bytes: [UInt8]) -> Bool {
        guard let text = try? TransactionText(received: bytes), let payment = try? Payment(recognizing: text) else {
            return true
        }
        return payment.text == text && payment.fields.count >= 3
    }

    private static func jws(_ bytes: [UInt8]) -> Bool {
        guard let token = try? UnverifiedJWS(compact: self.text(bytes)) else { return true }
        // No bytes can have a signature by a key made just now.
        return (try? token.verified(by: VerificationKey(self.key.publicKey))) == nil
    }

    private static func jwe(_ bytes: [UInt8]) -> Bool {
        let point = Array(self.key.publicKey.rawRepresentation)
        guard
            let key = try? JWK(
                .p256(
                    x: Array(point.prefix(32)), y: Array(point.suffix(32)), d: Array(self.key.rawRepresentation)))
        else { return false }
        // No bytes can be encrypted to this key either.
        return
            (try? JWE(
                opening: self.text(bytes), with: key, allowing: [.ecdhES, .rsaOAEP256],
                encryptions: [.a128GCM, .a256GCM]))
            == nil
    }

    private static func jwk(_ bytes: [UInt8]) -> Bool {
        guard let set = try? JWKSet(parsing: bytes) else { return true }
        return set.keys.count <= 64
    }

    private static let claimKey = try? JWK(.octets([UInt8](repeating: 7, count: 32)))

    /// Checks the claims of a signed token: they are the claims of the signed bytes.
    private static func jwtClaims(_ bytes: [UInt8]) -> Bool {
        guard let claimKey, let key = try? SigningKey(claimKey, algorithm: .hs256),
            let reader = try? VerificationKey(claimKey, algorithm: .hs256),
            let compact = try? JWS.sign(bytes, with: key),
            let token = try? UnverifiedJWS(compact: compact).verified(by: reader)
        else { return bytes.count > 40_000 }
        guard let claims = try? JWTClaims(token) else { return true }
        // The issuer is nobody's. Only a token without an end, or with an end in the far future, outlives the time.
        let later = TimeSource { Timestamp(seconds: 253_402_300_799) }
        guard (try? claims.check(issuer: "\u{0}", audience: "fuzz", at: later)) == nil else { return false }
        return (try? JSON(parsing: bytes)) == .object(claims.members)
    }

    private static func parameters(_ bytes: [UInt8]) -> Bool {
        let text = self.text(bytes)
        if let parameters = try? Parameters(parsing: text) {
            // Percent signs make a text up to three times as long.
            let limits = Parameters.Limits(bytes: 3 * text.utf8.count + 64)
            guard (try? Parameters(parsing: parameters.encoded, limits: limits)) == parameters else { return false }
        }
        if let parameters = try? Parameters(parsing: text, repeating: ["resource"]) {
            let limits = Parameters.Limits(bytes: 3 * text.utf8.count + 64)
            guard
                (try? Parameters(parsing: parameters.encoded, limits: limits, repeating: ["resource"])) == parameters,
                parameters.values("resource").first == parameters["resource"]
            else { return false }
        }
        _ = try? Scope(text)
        _ = try? RedirectURI(text)
        _ = try? ClientCredentials(basic: text)
        return true
    }
}
