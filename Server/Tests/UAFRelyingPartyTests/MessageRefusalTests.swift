import Crypto
import Testing
import UAF
import UAFRelyingParty
import _Primitives

/// One change to an accepted scene and the refusal that it must bring.
struct Refused: CustomTestStringConvertible, Sendable {
    let name: String
    let code: UAFStatusCode
    let step: VerificationStep
    let change: @Sendable (inout Scene) throws -> Void

    init(
        _ name: String, _ code: UAFStatusCode, _ step: VerificationStep,
        _ change: @escaping @Sendable (inout Scene) throws -> Void
    ) {
        self.name = name
        self.code = code
        self.step = step
        self.change = change
    }

    var testDescription: String { "\(self.name): \(self.code)" }

    /// Expects `body` to throw this refusal.
    func expect(_ body: () throws -> Void) {
        #expect("\(self.name)") {
            try body()
        } throws: { error in
            guard let refusal = error as? UAFRefusal else { return false }
            return refusal.statusCode == self.code && refusal.step == self.step
        }
    }
}

private func replacing(_ text: String, _ other: String) -> ([UInt8]) -> [UInt8] {
    { bytes in
        var result: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            if rest.starts(with: text.utf8) {
                result += other.utf8
                rest = rest.dropFirst(text.utf8.count)
            } else {
                result.append(rest.removeFirst())
            }
        }
        return result
    }
}

extension Scene {
    /// Leaves a member of the final challenge parameters out; what is signed is the hash of the rest.
    fileprivate mutating func dropParameter(_ name: String) throws {
        let bytes = Base64URL.decode(self.params.encoded) ?? []
        guard case .object(var object) = try JSON(parsing: bytes) else { throw UAFError(.wrongType) }
        object[name] = nil
        self.fcParams = Base64URL.encode(JSON.object(object).serialized)
    }
}

/// Base64url with the padding that standard base64 would have; empty where it would have none.
private func padded(_ message: [UInt8]) -> [UInt8] {
    let name = Array("\"assertion\":\"".utf8)
    guard let start = message.indices.first(where: { message[$0...].starts(with: name) }),
        let end = message[(start + name.count)...].firstIndex(of: UInt8(ascii: "\"")),
        case let rest = (end - start - name.count) % 4, rest > 0
    else { return [] }
    return message[..<end] + bytes(4 - rest, UInt8(ascii: "=")) + message[end...]
}

@Suite("uaf-sections §8.2 steps 1 to 4: the message, the same for both operations")
struct MessageRefusalTests {
    static let changes: [Refused] = [
        Refused("no dictionary", .badRequest, .message) { $0.finish = { _ in Array("[]".utf8) } },
        Refused("two dictionaries", .badRequest, .message) { scene in
            scene.finish = { [UInt8(ascii: "[")] + $0.dropFirst().dropLast() + [UInt8(ascii: ",")] + $0.dropFirst() }
        },
        Refused("no array", .badRequest, .message) { $0.finish = { Array($0.dropFirst().dropLast()) } },
        Refused("not JSON", .badRequest, .message) { $0.finish = { Array($0.dropLast()) } },
        Refused("a null", .badRequest, .message) { $0.finish = replacing("\"state\"", "null") },
        Refused("the other operation", .badRequest, .message) { scene in
            scene.header.operation = scene.header.operation == .registration ? .authentication : .registration
        },
        Refused("deregistration", .badRequest, .message) { $0.header.operation = .deregistration },
        Refused("no header", .badRequest, .message) { $0.finish = replacing("\"header\"", "\"head\"") },
        Refused("no parameters", .badRequest, .message) { $0.finish = replacing("\"fcParams\"", "\"params\"") },
        Refused("no assertions", .badRequest, .message) { $0.finish = replacing("\"assertions\"", "\"others\"") },
        Refused("no assertion scheme", .badRequest, .message) {
            $0.finish = replacing("\"assertionScheme\"", "\"scheme\"")
        },
        Refused("no assertion in its dictionary", .badRequest, .message) {
            $0.finish = replacing("\"assertion\"", "\"other\"")
        },
        Refused("no version", .badRequest, .message) { $0.finish = replacing("\"upv\"", "\"version\"") },
        Refused("no major version", .badRequest, .message) { $0.finish = replacing("\"major\"", "\"first\"") },
        Refused("no minor version", .badRequest, .message) { $0.finish = replacing("\"minor\"", "\"second\"") },
        Refused("no operation", .badRequest, .message) { $0.finish = replacing("\"op\"", "\"operation\"") },
        Refused("parameters without an AppID", .unacceptableContent, .finalChallengeParams) {
            try $0.dropParameter("appID")
        },
        Refused("parameters without a challenge", .unacceptableContent, .finalChallengeParams) {
            try $0.dropParameter("challenge")
        },
        Refused("parameters without a facet", .unacceptableContent, .finalChallengeParams) {
            try $0.dropParameter("facetID")
        },
        Refused("parameters without a channel binding", .unacceptableContent, .finalChallengeParams) {
            try $0.dropParameter("channelBinding")
        },
        Refused("an extension without its identifier", .badRequest, .message) {
            $0.header.extensions = [Extension(id: "x", data: "", failIfUnknown: false)]
            $0.finish = replacing("\"id\"", "\"name\"")
        },
        Refused("an extension that does not say whether it must be known", .badRequest, .message) {
            $0.header.extensions = [Extension(id: "x", data: "", failIfUnknown: false)]
            $0.finish = replacing("\"fail_if_unknown\"", "\"fail\"")
        },
        Refused("padded assertion", .unacceptableContent, .assertion) { scene in
            // An extension that nobody minds, so that there is something to pad.
            scene.keys[0].unsignedExtensions = [AssertionExtension(id: "x", data: [1], isCritical: false)]
            scene.finish = padded
        },
        Refused("server data over its limit", .badRequest, .message) {
            $0.header.serverData = String(repeating: "x", count: 1537)
        },
        Refused("UAF 1.0", .unacceptableContent, .version) { $0.header.version = Version(major: 1, minor: 0) },
        Refused("UAF 1.2", .unacceptableContent, .version) { $0.header.version = Version(major: 1, minor: 2) },
        Refused("UAF 1.2 where 1.0 is spoken too", .unacceptableContent, .version) {
            $0.configuration.versions = [Version(major: 1, minor: 0), .uaf11]
            $0.header.version = Version(major: 1, minor: 2)
        },
        Refused("UAF 2.1", .unacceptableContent, .version) { $0.header.version = Version(major: 2, minor: 1) },
        Refused("an unknown extension that must be known", .unacceptableContent, .messageExtensions) {
            $0.header.extensions = [Extension(id: "x", data: "", failIfUnknown: true)]
        },
        Refused("an assertion's unknown extension that must be known", .unacceptableContent, .messageExtensions) {
            $0.keys[0].messageExtensions = [Extension(id: "x", data: "", failIfUnknown: true)]
        },
        Refused("a key attestation of Android that must be understood", .unacceptableContent, .messageExtensions) {
            $0.header.extensions = [
                Extension(id: "fido.uaf.android.key_attestation", data: "[]", failIfUnknown: true)
            ]
        },
        Refused("a SafetyNet statement that must be understood", .unacceptableContent, .messageExtensions) {
            $0.keys[0].messageExtensions = [Extension(id: "fido.uaf.safetynet", data: "p", failIfUnknown: true)]
        },
        Refused("foreign server data", .invalidRequest, .serverData) { $0.header.serverData = "state2" },
        Refused("server data lost", .invalidRequest, .serverData) { $0.header.serverData = nil },
        Refused("server data that was not sent", .invalidRequest, .serverData) { $0.serverData = nil },
        Refused("parameters that are not base64url", .unacceptableContent, .finalChallengeParams) {
            $0.fcParams = $0.params.encoded + "="
        },
        Refused("parameters that are not JSON", .unacceptableContent, .finalChallengeParams) { $0.fcParams = "AAAA" },
        Refused("another application", .unacceptableContent, .appID) {
            $0.params.appID = "https://evil.example/"
            // A header need not say it; one that does would differ already.
            $0.header.appID = ""
        },
        Refused("another application in header and parameters", .unacceptableContent, .appID) {
            $0.params.appID = "https://evil.example/"
            $0.header.appID = "https://evil.example/"
        },
        Refused("another application in the header", .unacceptableContent, .appID) {
            $0.header.appID = "https://evil.example/"
        },
        Refused("an empty AppID that stands for another caller", .unacceptableContent, .appID) { $0.appID = "" },
        Refused("a facet that is not trusted", .unacceptableContent, .facetID) {
            $0.params.facetID = try FacetID("linux:program:other")
        },
        Refused("a facet in another case", .unacceptableContent, .facetID) {
            $0.params.facetID = try FacetID("Linux:program:countersign-phone")
        },
        Refused("a web origin of another host", .unacceptableContent, .facetID) {
            $0.params.facetID = try FacetID("https://uaf.example.evil.example")
        },
        Refused("a web origin without TLS", .unacceptableContent, .facetID) {
            $0.params.facetID = try FacetID("http://uaf.example")
        },
        Refused("a web origin with a path", .unacceptableContent, .facetID) {
            $0.params.facetID = try FacetID("https://uaf.example/path")
        },
        Refused("a web origin with user information", .unacceptableContent, .facetID) {
            $0.params.facetID = try FacetID("https://uaf.example@evil.example")
        },
        Refused("another channel", .channelBindingRefused, .channelBinding) {
            $0.configuration.channelBinding = .matchIfPresent(
                .init(serverEndPoints: ["AAAA"], tlsServerCertificates: []))
            $0.params.channelBinding = ChannelBinding(serverEndPoint: "BBBB")
        },
        Refused("another certificate", .channelBindingRefused, .channelBinding) {
            $0.configuration.channelBinding = .required(
                .init(serverEndPoints: ["AAAA"], tlsServerCertificates: ["CCCC"]))
            $0.params.channelBinding = ChannelBinding(serverEndPoint: "AAAA", tlsServerCertificate: "DDDD")
        },
        Refused("no channel where one must be told", .channelBindingRefused, .channelBinding) {
            $0.configuration.channelBinding = .required(.init(serverEndPoints: ["AAAA"], tlsServerCertificates: []))
        },
        Refused("another challenge", .invalidRequest, .challenge) {
            $0.params.challenge = try Challenge(Base64URL.encode(bytes(32, 9)))
        },
        Refused("the beginning of the challenge", .invalidRequest, .challenge) {
            $0.params.challenge = try Challenge(Base64URL.encode(bytes(16, 1)))
        },
        Refused("no assertion", .unacceptableContent, .assertion) { $0.keys = [] },
        Refused("neither assertion nor parameters", .unacceptableContent, .finalChallengeParams) {
            $0.keys = []
            $0.fcParams = ""
        },
        Refused("a truncated assertion", .unacceptableContent, .assertion) { $0.keys[0].finish = { $0.dropLast() } },
        Refused("bytes after the assertion", .unacceptableContent, .assertion) { $0.keys[0].finish = { $0 + [0] } },
        Refused("two roots", .unacceptableContent, .assertion) { $0.keys[0].finish = { $0 + $0 } },
        Refused("an assertion of the other operation", .unacceptableContent, .assertion) { scene in
            let key = scene.keys[0]
            let isRegistration = scene.header.operation == .registration
            let hash = FinalChallengeParams.hash(ofEncoded: scene.params.encoded)
            let other = isRegistration ? try key.authentication(hash) : try key.registration(hash)
            scene.keys[0].finish = { _ in other.bytes }
        },
        Refused("an unknown critical tag", .unacceptableContent, .assertion) { scene in
            scene.keys[0].finish = { bytes in
                let length = UInt16(bytes[2]) + UInt16(bytes[3]) << 8 + 4
                return bytes[0...1] + [UInt8(truncatingIfNeeded: length), UInt8(length >> 8)] + bytes[4...]
                    + [0xFC, 0x3F, 0x00, 0x00]
            }
        },
        Refused("an unknown AAID", .unknownAAID, .metadata) { $0.keys[0].aaid = try AAID("C516#0FFF") },
        Refused("a revoked AAID", .revokedAuthenticator, .revocation) {
            $0.configuration.metadata.revoke(Names.pin)
        },
        Refused("another scheme than the metadata's", .unacceptableContent, .assertionScheme) {
            $0.keys[0].scheme = AssertionScheme(rawValue: "WAV1CBOR")
        },
        Refused("a model of another scheme than the message's", .unacceptableContent, .assertionScheme) {
            try $0.changeStatement { $0.assertionScheme = AssertionScheme(rawValue: "WAV1CBOR") }
            var criteria = MatchCriteria()
            criteria.authenticationAlgorithms = [.p256Raw]
            criteria.assertionSchemes = [.uafV1TLV, AssertionScheme(rawValue: "WAV1CBOR")]
            $0.policy.accepted = [[criteria]]
        },
        Refused("the metadata's scheme in small letters", .unacceptableContent, .assertionScheme) {
            $0.keys[0].scheme = AssertionScheme(rawValue: "uafv1tlv")
        },
        Refused("an AAID outside the policy", .unacceptableAuthenticator, .policy) {
            $0.policy.accepted = [[MatchCriteria(aaid: [Names.fingerprint])]]
        },
        Refused("a disallowed AAID", .unacceptableAuthenticator, .policy) {
            $0.policy.disallowed = [MatchCriteria(aaid: [Names.pin])]
        },
        Refused("a disallowed key", .unacceptableAuthenticator, .policy) {
            $0.policy.disallowed = [MatchCriteria(aaid: [Names.pin], keyIDs: [$0.keys[0].keyID])]
        },
        Refused("a version that is disallowed", .unacceptableAuthenticator, .policy) { scene in
            // By the metadata, of version 1, the ban would not mean it.
            scene.keys[0].authenticatorVersion = 2
            var ban = MatchCriteria(aaid: [Names.pin])
            ban.authenticatorVersion = 2
            scene.policy.disallowed = [ban]
        },
        Refused("a version below the criterion's", .unacceptableAuthenticator, .policy) { scene in
            // By the metadata, of version 2, the criterion would be met.
            scene.configuration.acceptsOutdatedAuthenticators = true
            try scene.changeStatement { $0.authenticatorVersion = 2 }
            scene.policy.accepted[0][0].authenticatorVersion = 2
        },
        Refused("a ban with an extension that must be understood", .unacceptableAuthenticator, .policy) {
            var ban = MatchCriteria(aaid: [Names.fingerprint])
            ban.extensions = [Extension(id: "x", data: "", failIfUnknown: true)]
            $0.policy.disallowed = [ban]
        },
        Refused("a policy that needs another one too", .unacceptableAuthenticator, .policy) {
            $0.policy.accepted[0].append(MatchCriteria(aaid: [Names.silent]))
        },
        Refused("another final challenge hash", .unacceptableContent, .finalChallengeHash) {
            $0.keys[0].finalChallengeHash = bytes(32)
        },
        Refused("the hash of the decoded parameters", .unacceptableContent, .finalChallengeHash) {
            $0.keys[0].finalChallengeHash = Array(SHA256.hash(data: Base64URL.decode($0.params.encoded) ?? []))
        },
        Refused("a mode that nobody knows", .unacceptableContent, .authenticationMode) {
            $0.keys[0].mode = AuthenticationMode(rawValue: 3)
        },
        Refused("an unknown critical extension that is signed", .unacceptableContent, .assertionExtensions) {
            $0.keys[0].signedExtensions = [AssertionExtension(id: "x", data: [], isCritical: true)]
        },
        Refused("an unknown critical extension that is not signed", .unacceptableContent, .assertionExtensions) {
            $0.keys[0].unsignedExtensions = [AssertionExtension(id: "x", data: [], isCritical: true)]
        },
        Refused("another algorithm", .unacceptableAlgorithm, .signatureAlgorithm) { $0.keys[0].algorithm = .p256DER },
        Self.unavailable(.sm2Raw), Self.unavailable(SignatureAlgorithm(rawValue: 0x13)),
        Refused("an authenticator older than its metadata", .unacceptableContent, .authenticatorVersion) {
            $0.keys[0].authenticatorVersion = 0
        },
    ]

    /// An algorithm that the metadata, the key and the assertion agree on, and that nothing here can verify.
    private static func unavailable(_ algorithm: SignatureAlgorithm) -> Refused {
        Refused("\(algorithm), which is not there", .unacceptableAlgorithm, .signatureAlgorithm) { scene in
            scene.keys[0].algorithm = algorithm
            scene.credentials = try scene.keys.map { try $0.credential() }
            try scene.changeStatement { $0.authenticationAlgorithm = algorithm }
        }
    }

    /// What a URL reader makes the AppID's own host of, and what is no origin (§7.1).
    private static let malformedOrigins: [Refused] = [
        "https://uaf.example?x", "https://uaf.example#frag", "https://uaf.example:port", "https://uaf.example:99999",
        "https://uaf.example:", "https://uaf.example:0", "https://uaf.example:0443", "https://uaf.example:+443",
        "https://uaf.example:8443:443", "https://uaf.example::443", "https://uaf.example//", "https://uaf.example/?",
        "https://uaf.example\\@evil.example", "https://uaf.example ", "https://uaf.example\u{11}", "https://",
        "https://[uaf.example]", "https://uaf.example:443/x",
    ].map { origin in
        Refused("a web origin that is none, \(origin)", .unacceptableContent, .facetID) {
            $0.params.facetID = try FacetID(origin)
        }
    }

    /// A name, and what Unicode calls equivalent to it: another name (§7.1, decision 2).
    private static let equivalents: [(name: String, other: String)] = [
        ("K", "\u{212A}"), (";", "\u{37E}"), ("\u{E9}", "e\u{301}"),
    ]

    @Test("AppIDs and facets are compared by their bytes", arguments: Self.equivalents)
    func namesAreBytes(name: String, other: String) throws {
        func scene(appID: String, sent: String, trusted: String, facet: String) throws -> Scene {
            var scene = try Scene.registration()
            scene.appID = appID
            scene.header.appID = sent
            scene.params.appID = sent
            scene.configuration = RelyingPartyConfiguration(
                metadata: scene.configuration.metadata, trustedFacets: [try FacetID(trusted)])
            scene.params.facetID = try FacetID(facet)
            return scene
        }
        let (appID, facet) = ("https://uaf.example/facets#\(name)", "linux:program:\(name)")
        _ = try scene(appID: appID, sent: appID, trusted: facet, facet: facet).verifyRegistration()
        Refused("another AppID", .unacceptableContent, .appID) { _ in }.expect {
            _ = try scene(
                appID: appID, sent: "https://uaf.example/facets#\(other)", trusted: facet, facet: facet
            ).verifyRegistration()
        }
        Refused("another facet", .unacceptableContent, .facetID) { _ in }.expect {
            _ = try scene(appID: appID, sent: appID, trusted: facet, facet: "linux:program:\(other)")
                .verifyRegistration()
        }
    }

    @Test("A trusted web origin is in its normal form, however it was given")
    func trustedOrigins() throws {
        var scene = try Scene.registration()
        scene.params.facetID = try FacetID("https://app.example")
        let given = try FacetID("HTTPS://App.example:443/")
        scene.configuration.trustedFacets = [given]
        _ = try scene.verifyRegistration()
        scene.configuration.trustedFacets = []
        scene.configuration.trustedFacets.insert(given)
        _ = try scene.verifyRegistration()
    }

    @Test(
        "A host with letters outside ASCII is no host, of an AppID or of a facet",
        arguments: [
            ("https://key.example/facets", "https://\u{212A}ey.example"),
            ("https://\u{212A}ey.example/facets", "https://key.example"),
            ("https://\u{E9}.example/facets", "https://\u{E9}.example"),
        ])
    func hostsAreASCII(appID: String, facet: String) throws {
        var scene = try Scene.registration()
        scene.appID = appID
        scene.header.appID = appID
        scene.params.appID = appID
        scene.params.facetID = try FacetID(facet)
        Refused("a host that is none", .unacceptableContent, .facetID) { _ in }.expect {
            _ = try scene.verifyRegistration()
        }
    }

    @Test("A registration as made is accepted")
    func registrationIsAccepted() throws {
        let verified = try Scene.registration().verifyRegistration()
        #expect(verified.username == "alice" && verified.keys.count == 1)
    }

    @Test("An authentication as made is accepted")
    func authenticationIsAccepted() throws {
        #expect(try Scene.authentication().verifyAuthentication().account == Names.account)
    }

    @Test("A registration changed in one thing is refused", arguments: changes + malformedOrigins)
    func registrationIsRefused(refused: Refused) throws {
        var scene = try Scene.registration()
        try refused.change(&scene)
        refused.expect { _ = try scene.verifyRegistration() }
    }

    @Test("An authentication changed in one thing is refused", arguments: changes + malformedOrigins)
    func authenticationIsRefused(refused: Refused) throws {
        var scene = try Scene.authentication()
        // The store knows every key that signs here; an unknown one has a test of its own.
        let key = scene.keys[0]
        try refused.change(&scene)
        if let changed = scene.keys.first, changed.aaid != key.aaid {
            scene.credentials[0].id = CredentialID(aaid: changed.aaid, keyID: changed.keyID)
        }
        refused.expect { _ = try scene.verifyAuthentication() }
    }

    @Test("What is harmless is accepted")
    func harmless() throws {
        let changes: [(inout Scene) throws -> Void] = [
            { $0.header.appID = "" },
            { $0.header.extensions = [Extension(id: "x", data: "", failIfUnknown: false)] },
            { $0.header.extensions = [Extension(id: "fido.uaf.safetynet", data: "a", failIfUnknown: false)] },
            {
                $0.header.extensions = [
                    Extension(id: "fido.uaf.android.key_attestation", data: "p", failIfUnknown: false)
                ]
            },
            { $0.header.extensions = [Extension(id: "fido.uaf.uvm", data: "", failIfUnknown: true)] },
            { $0.keys[0].messageExtensions = [Extension(id: "x", data: "", failIfUnknown: false)] },
            { $0.keys[0].signedExtensions = [AssertionExtension(id: "x", data: [1], isCritical: false)] },
            { $0.keys[0].signedExtensions = [AssertionExtension(id: "fido.uaf.uvm", data: [1], isCritical: true)] },
            { $0.keys[0].unsignedExtensions = [AssertionExtension(id: "x", data: [1], isCritical: false)] },
            { $0.keys[0].authenticatorVersion = 2 },
            // A criterion asks the assertion, not the metadata, which is of version 1.
            {
                $0.keys[0].authenticatorVersion = 2
                $0.policy.accepted[0][0].authenticatorVersion = 2
            },
            {
                var ban = MatchCriteria(aaid: [Names.pin])
                ban.authenticatorVersion = 2
                $0.policy.disallowed = [ban]
            },
            { $0.params.facetID = try FacetID("https://uaf.example:65535") },
            {
                $0.appID = "https://[2001:db8::1]:8443/facets"
                $0.header.appID = $0.appID
                $0.params.appID = $0.appID
                $0.params.facetID = try FacetID("https://[2001:DB8::1]")
            },
            { $0.params.channelBinding = ChannelBinding(tlsUnique: "AAAA") },
            { $0.params.facetID = try FacetID("https://uaf.example") },
            { $0.params.facetID = try FacetID("https://UAF.example:443/") },
            { $0.params.facetID = try FacetID("https://uaf.example:8443") },
            {
                $0.configuration.acceptsOutdatedAuthenticators = true
                $0.keys[0].authenticatorVersion = 0
            },
            {
                $0.configuration.versions.insert(Version(major: 1, minor: 0))
                $0.header.version = Version(major: 1, minor: 0)
            },
            {
                $0.serverData = nil
                $0.header.serverData = nil
            },
            {
                $0.appID = ""
                $0.params.appID = Names.facet
                $0.header.appID = Names.facet
            },
            {
                $0.configuration.channelBinding = .required(
                    .init(serverEndPoints: ["AAAA"], tlsServerCertificates: []))
                $0.params.channelBinding = ChannelBinding(serverEndPoint: "AAAA")
            },
            {
                $0.configuration.channelBinding = .matchIfPresent(.init(serverEndPoints: [], tlsServerCertificates: []))
            },
        ]
        for (index, change) in changes.enumerated() {
            var registration = try Scene.registration()
            try change(&registration)
            #expect(throws: Never.self, "registration \(index)") { try registration.verifyRegistration() }
            var authentication = try Scene.authentication()
            try change(&authentication)
            #expect(throws: Never.self, "authentication \(index)") { try authentication.verifyAuthentication() }
        }
    }

    @Test("How the user was verified is told from what is signed, and never refused (§15)")
    func userVerificationMethods() throws {
        let entry: [UInt8] = [0x02, 0x00, 0x00, 0x00, 0x06, 0x00, 0x02, 0x00]
        let method = UserVerificationMethod(
            userVerification: .fingerprint, keyProtection: [.hardware, .tee], matcherProtection: .tee)
        for (data, methods) in [
            (entry, [method]), (entry + entry, [method, method]), ([], []), (bytes(7), []), (entry + [0], []),
        ] {
            for operation in [UAF.Operation.registration, .authentication] {
                var scene = try Scene(operation, [try SoftwareKey(Names.pin)])
                scene.keys[0].signedExtensions = [
                    AssertionExtension(id: "x", data: entry, isCritical: false),
                    AssertionExtension(id: "fido.uaf.uvm", data: data, isCritical: true),
                ]
                scene.keys[0].unsignedExtensions = [
                    AssertionExtension(id: "fido.uaf.uvm", data: entry, isCritical: true)
                ]
                let told =
                    operation == .registration
                    ? try scene.verifyRegistration().keys[0].userVerificationMethods
                    : try scene.verifyAuthentication().signatures[0].userVerificationMethods
                #expect(told == methods)
            }
        }
    }

    @Test("A client that failed is told apart before anything is judged (§18, row 15)")
    func clientFailure() throws {
        var scene = try Scene.authentication()
        scene.keys = []
        let withParams = try UnverifiedAuthentication(parsing: try scene.authenticationMessage())
        #expect(withParams.isClientFailure && withParams.serverData == "state")
        #expect(withParams.challenge == scene.challenge)
        scene.fcParams = ""
        let without = try UnverifiedAuthentication(parsing: try scene.authenticationMessage())
        #expect(without.isClientFailure && without.challenge == nil && without.credentials.isEmpty)
        var registration = try Scene.registration()
        registration.keys = []
        let failed = try UnverifiedRegistration(parsing: try registration.registrationMessage())
        #expect(failed.isClientFailure && failed.serverData == "state" && failed.challenge == scene.challenge)
    }

    @Test("A refusal says which key it is about, and nothing of the message")
    func refusalNamesKey() throws {
        var scene = try Scene.authentication()
        scene.keys[0].signature = bytes(64, 1)
        let id = scene.credentials[0].id
        #expect {
            _ = try scene.verifyAuthentication()
        } throws: { error in
            guard let refusal = error as? UAFRefusal else { return false }
            return refusal.credential == id && refusal.description.hasPrefix("UAFRefusal 1498 at signature:")
        }
    }

    @Test("Random bytes and damaged messages are refused, never a crash", arguments: 0..<20)
    func neverCrashes(seed: UInt64) throws {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }
        let scene = try Scene.authentication()
        let message = try scene.authenticationMessage()
        for _ in 0..<50 {
            var damaged = message
            for _ in 0...random(3) { damaged[random(damaged.count)] = UInt8(random(256)) }
            guard damaged != message, let read = try? UnverifiedAuthentication(parsing: damaged) else { continue }
            // Members that nobody judges may change; whatever is accepted must be this key's doing.
            let verified = try? AuthenticationVerifier(scene.configuration).verify(
                read,
                expected: ExpectedAuthentication(
                    challenge: scene.challenge, appID: scene.appID, policy: scene.policy, serverData: scene.serverData,
                    account: scene.account), credentials: scene.credentials)
            if let verified { #expect(verified.signatures[0].newSignCounter == 1) }
        }
    }
}
