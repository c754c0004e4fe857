import Crypto
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("uaf-sections §8.4: authentication response")
struct AuthenticationVerifierTests {
    @Test("A verified authentication says who signed, on which device, and which counters to store")
    func verified() throws {
        var scene = try Scene.authentication(try SoftwareKey(Names.fingerprint, 1), try SoftwareKey(Names.silent, 2))
        scene.keys[0].signCounter = 8
        scene.credentials[0].signCounter = 7
        scene.account = nil
        let verified = try scene.verifyAuthentication()
        #expect(verified.account == Names.account && verified.deviceRegistration == Names.device)
        #expect(verified.signatures.map(\.oldSignCounter) == [7, 0])
        #expect(verified.signatures.map(\.newSignCounter) == [8, 1])
        #expect(verified.signatures.map(\.id) == scene.credentials.map(\.id))
        #expect(verified.signatures.map(\.userVerification) == [.fingerprint, .none])
        #expect(verified.confirmedContentHash == nil && verified.facetID.text == Names.facet)
    }

    @Test(
        "Every algorithm and key format of the registration verifies",
        arguments: [SignatureAlgorithm.p256Raw, .p256DER], [PublicKeyFormat.eccX962Raw, .eccX962DER])
    func algorithms(algorithm: SignatureAlgorithm, format: PublicKeyFormat) throws {
        var key = try SoftwareKey(Names.pin)
        key.algorithm = algorithm
        key.format = format
        #expect(throws: Never.self) { try Scene.authentication(key).verifyAuthentication() }
    }

    static let changes: [Refused] = [
        Refused("a key that nobody registered", .unknownKeyID, .credential) { $0.credentials = [] },
        Refused("a known KeyID under another model", .unknownKeyID, .credential) {
            $0.credentials[0].id = CredentialID(aaid: Names.fingerprint, keyID: $0.keys[0].keyID)
        },
        Refused("another KeyID", .unknownKeyID, .credential) { $0.keys[0].keyID = try KeyID(bytes(32, 9)) },
        Refused("a key of another account", .unauthorized, .account) { $0.credentials[0].account = "account-2" },
        Refused("keys of two accounts", .unauthorized, .account) {
            try $0.addSilentKey()
            $0.account = nil
            $0.credentials[1].account = "account-2"
        },
        Refused("keys of two devices", .unauthorized, .account) {
            try $0.addSilentKey()
            $0.credentials[1].deviceRegistration = "device-2"
        },
        Refused("one key twice", .unacceptableContent, .credential) {
            $0.keys.append($0.keys[0])
            $0.policy.accepted[0].append(MatchCriteria(aaid: [Names.pin]))
        },
        Refused("a silent key alone, whatever the policy", .unacceptableAuthenticator, .policy) {
            $0.keys = [try SoftwareKey(Names.silent)]
            $0.credentials = [try $0.keys[0].credential()]
            $0.policy.accepted = [[MatchCriteria(aaid: [Names.silent])]]
        },
        Refused("a surplus key", .unacceptableAuthenticator, .policy) {
            try $0.addSilentKey()
            $0.policy.accepted[0].removeLast()
        },
        Refused("a key that the policy does not name", .unacceptableAuthenticator, .policy) {
            $0.policy.accepted = [[MatchCriteria(aaid: [Names.pin], keyIDs: [try KeyID(bytes(32, 9))])]]
        },
        Refused("an equal counter", .unacceptableContent, .signCounter) { $0.credentials[0].signCounter = 1 },
        Refused("a lower counter", .unacceptableContent, .signCounter) { $0.credentials[0].signCounter = 2 },
        Refused("no counter after one", .unacceptableContent, .signCounter) {
            $0.keys[0].signCounter = 0
            $0.credentials[0].signCounter = 1
        },
        Refused("a lower counter beside a good one", .unacceptableContent, .signCounter) {
            try $0.addSilentKey()
            $0.credentials[1].signCounter = 5
        },
        Refused("a wrong counter under a bad signature is a bad signature", .unacceptableContent, .signature) {
            $0.credentials[0].signCounter = 9
            $0.keys[0].signingKey = $0.keys[0].privateKey.other
        },
        Refused("a confirmation that nobody asked for", .unacceptableContent, .transaction) {
            $0.keys[0].mode = .transactionConfirmed
            $0.keys[0].transactionContentHash = bytes(32)
        },
        Refused("a content hash without confirmation", .unacceptableContent, .transaction) {
            $0.keys[0].transactionContentHash = bytes(32)
        },
    ]

    /// What breaks an authentication whatever its algorithm is.
    static let changesOfEveryAlgorithm: [Refused] = [
        Refused("a signature by another key", .unacceptableContent, .signature) {
            $0.keys[0].signingKey = $0.keys[0].privateKey.other
        },
        Refused("a signature of other bytes", .unacceptableContent, .signature) {
            $0.keys[0].signature = try $0.keys[0].privateKey.signature(bytes(3), $0.keys[0].algorithm)
        },
        Refused("a signature in the other encoding", .unacceptableContent, .signature) { scene in
            let made = try AuthenticationAssertion(parsing: try scene.keys[0].authentication(scene.hash).bytes)
            scene.keys[0].signature = try scene.keys[0].privateKey.signature(
                made.signedData.signedBytes, scene.keys[0].algorithm.otherEncoding)
        },
        Refused("a signature of zeros", .unacceptableContent, .signature) {
            $0.keys[0].signature = $0.keys[0].algorithm.signatureOfZeros
        },
        Refused("a signature with a byte behind it", .unacceptableContent, .signature) { scene in
            let made = try AuthenticationAssertion(parsing: try scene.keys[0].authentication(scene.hash).bytes)
            scene.keys[0].signature = made.signature + [0]
        },
        Refused("a signature without its last byte", .unacceptableContent, .signature) { scene in
            let made = try AuthenticationAssertion(parsing: try scene.keys[0].authentication(scene.hash).bytes)
            scene.keys[0].signature = made.signature.dropLast()
        },
        Refused("a bit of the signed data changed", .unacceptableContent, .signature) { scene in
            scene.keys[0].finish = { bytes in
                var bytes = bytes
                let counters = bytes.indices.first { bytes[$0...].starts(with: [0x0D, 0x2E, 0x04, 0x00]) }
                if let counters { bytes[counters + 4] += 1 }
                return bytes
            }
        },
        Refused("an algorithm that is not the registration's", .unacceptableAlgorithm, .signatureAlgorithm) {
            $0.credentials[0].signatureAlgorithm = $0.keys[0].algorithm.otherEncoding
        },
        Refused("a stored key that is broken", .unacceptableKey, .publicKey) {
            $0.credentials[0].publicKey = bytes(65)
        },
    ]

    @Test(
        "An authentication of any algorithm that is changed in one thing is refused", arguments: SignatureAlgorithm.all,
        changesOfEveryAlgorithm)
    func isRefused(algorithm: SignatureAlgorithm, refused: Refused) throws {
        var scene = try Scene(.authentication, algorithm: algorithm)
        try refused.change(&scene)
        refused.expect { _ = try scene.verifyAuthentication() }
    }

    @Test(
        "An ECDSA signature whose numbers are out of range is refused",
        arguments: SignatureAlgorithm.ecdsa, ECDSANumbers.allCases)
    func outOfRange(algorithm: SignatureAlgorithm, numbers: ECDSANumbers) throws {
        var scene = try Scene(.authentication, algorithm: algorithm)
        let made = try AuthenticationAssertion(parsing: try scene.keys[0].authentication(scene.hash).bytes)
        scene.keys[0].signature = try numbers.signature(algorithm, besides: made.signature)
        Refused("\(numbers)", .unacceptableContent, .signature) { _ in }.expect {
            _ = try scene.verifyAuthentication()
        }
    }

    @Test("Every algorithm is accepted with every format of its keys", arguments: SignatureAlgorithm.all)
    func algorithms(algorithm: SignatureAlgorithm) throws {
        for format in algorithm.formats {
            var key = try SoftwareKey(Names.pin, algorithm: algorithm)
            key.format = format
            var scene = try Scene.authentication(key)
            try scene.changeStatement { $0.authenticationAlgorithm = algorithm }
            #expect(try scene.verifyAuthentication().account == Names.account)
        }
    }

    @Test(
        "A key that nobody holds is one of its algorithm, and no signature is its own",
        arguments: SignatureAlgorithm.all)
    func unheldKey(algorithm: SignatureAlgorithm) throws {
        var scene = try Scene(.authentication, algorithm: algorithm)
        scene.credentials = scene.credentials.map {
            .unheld(
                $0.id, algorithm: $0.signatureAlgorithm, account: $0.account, deviceRegistration: $0.deviceRegistration)
        }
        let refused = #expect(throws: UAFRefusal.self) { try scene.verifyAuthentication() }
        #expect(refused?.statusCode == .unacceptableContent && refused?.step == .signature)
    }

    @Test("What needs no key is refused without one, and nothing else is")
    func withoutKeys() throws {
        var scene = try Scene.authentication()
        scene.credentials = []
        let response = try UnverifiedAuthentication(parsing: try scene.authenticationMessage())
        func check(_ response: UnverifiedAuthentication) throws {
            _ = try AuthenticationVerifier(scene.configuration).check(
                response,
                expected: ExpectedAuthentication(
                    challenge: scene.challenge, appID: scene.appID, policy: scene.policy, serverData: scene.serverData,
                    account: scene.account))
        }
        #expect(throws: Never.self) { try check(response) }
        scene.keys.append(scene.keys[0])
        let twice = try UnverifiedAuthentication(parsing: try scene.authenticationMessage())
        let refused = #expect(throws: UAFRefusal.self) { try check(twice) }
        #expect(refused?.statusCode == .unacceptableContent && refused?.step == .credential)
        #expect(refused?.credential == twice.credentials[0])
    }

    @Test("An authentication changed in one thing is refused", arguments: changes)
    func isRefused(refused: Refused) throws {
        var scene = try Scene.authentication()
        try refused.change(&scene)
        refused.expect { _ = try scene.verifyAuthentication() }
    }

    @Test("Counters that both sides have at zero are not supported and accepted")
    func noCounters() throws {
        var scene = try Scene.authentication()
        scene.keys[0].signCounter = 0
        #expect(try scene.verifyAuthentication().signatures[0].newSignCounter == 0)
    }

    @Test("A counter may jump, up to its last value")
    func jumpingCounter() throws {
        var scene = try Scene.authentication()
        scene.keys[0].signCounter = .max
        scene.credentials[0].signCounter = .max - 1
        #expect(try scene.verifyAuthentication().signatures[0].newSignCounter == .max)
    }

    @Test("The same response a second time is refused by its counter")
    func replay() throws {
        var scene = try Scene.authentication()
        scene.credentials[0].signCounter = try scene.verifyAuthentication().signatures[0].newSignCounter
        Refused("replay", .unacceptableContent, .signCounter) { _ in }.expect { _ = try scene.verifyAuthentication() }
    }

    static let transactionChanges: [Refused] = [
        Refused("mode 1 for a transaction", .unacceptableContent, .transaction) {
            $0.keys[0].mode = .userVerified
            $0.keys[0].transactionContentHash = []
        },
        Refused("another content", .unacceptableContent, .transaction) {
            $0.keys[0].transactionContentHash = Transaction(content: Array("Pay 1000 EUR".utf8)).contentHash
        },
        Refused("no content hash", .unacceptableContent, .transaction) { $0.keys[0].transactionContentHash = [] },
        Refused("the hash of the content's base64url", .unacceptableContent, .transaction) {
            $0.keys[0].transactionContentHash = Array(
                SHA256.hash(data: Array(Base64URL.encode($0.transaction[0].content).utf8)))
        },
        Refused("a transaction that the server did not send", .unacceptableContent, .transaction) {
            $0.transaction = []
        },
        Refused("a second authenticator that did not confirm", .unacceptableContent, .transaction) {
            let finger = try SoftwareKey(Names.fingerprint, 3)
            $0.keys.append(finger)
            $0.credentials.append(try finger.credential())
            $0.policy.accepted[0].append(MatchCriteria(aaid: [Names.fingerprint]))
        },
        Refused("a silent authenticator that claims to confirm", .unacceptableContent, .transaction) {
            try $0.addSilentKey()
            $0.keys[1].mode = .transactionConfirmed
            $0.keys[1].transactionContentHash = $0.transaction[0].contentHash
        },
        Refused("an authenticator without a display", .unacceptableContent, .transaction) {
            try $0.changeStatement {
                $0.tcDisplay = []
                $0.tcDisplayContentType = nil
            }
        },
        Refused("a mode that nobody knows", .unacceptableContent, .authenticationMode) {
            $0.keys[0].mode = AuthenticationMode(rawValue: 0)
        },
    ]

    @Test("A confirmation changed in one thing is refused (step 7)", arguments: transactionChanges)
    func confirmationIsRefused(refused: Refused) throws {
        var scene = try Scene.confirmation()
        try refused.change(&scene)
        refused.expect { _ = try scene.verifyAuthentication() }
    }

    @Test("A confirmation says what was confirmed")
    func confirmation() throws {
        let scene = try Scene.confirmation()
        let verified = try scene.verifyAuthentication()
        #expect(verified.confirmedContentHash == scene.transaction[0].contentHash)
        #expect(verified.signatures[0].mode == .transactionConfirmed)
    }

    @Test("Any of the renderings that were sent may be confirmed")
    func renderings() throws {
        var scene = try Scene.confirmation()
        scene.transaction.insert(Transaction(contentType: .imagePNG, content: bytes(40)), at: 0)
        #expect(try scene.verifyAuthentication().confirmedContentHash == scene.transaction[1].contentHash)
    }

    @Test("A silent authenticator beside one that confirmed only says that it is there")
    func silentBesideConfirmation() throws {
        var scene = try Scene.confirmation()
        try scene.addSilentKey()
        #expect(try scene.verifyAuthentication().signatures.map(\.mode) == [.transactionConfirmed, .userVerified])
    }

    @Test("Whoever answers is found by the key where the request named nobody")
    func usernameless() throws {
        var scene = try Scene.authentication()
        scene.account = nil
        scene.credentials[0].account = "somebody"
        #expect(try scene.verifyAuthentication().account == "somebody")
    }

    @Test("Keys that did not sign do not matter")
    func otherCredentials() throws {
        var scene = try Scene.authentication()
        var other = try SoftwareKey(Names.fingerprint, 9).credential()
        other.account = "account-2"
        scene.credentials.append(other)
        #expect(try scene.verifyAuthentication().signatures.count == 1)
    }

    @Test("The standard's own example is accepted, once (§19)")
    func goldenVector() throws {
        let message = """
            [{"assertions":[{"assertion":"Aj7WAAQ-jgALLgkAQUJDRCNBQkNEDi4FAAABAQEADy4gAHwyJAEX8t1b2wOxbaKOC5ZL7ACqbLo_T\
            tiQfK3DzDsHCi4gAFwCUz-dOuafXKXJLbkUrIzjAU6oDbP8B9iLQRmCf58fEC4AAAkuIABkwI-f3bIe_Uin6IKIFvqLgAOrpk6_nr0oVAK9h\
            Il82A0uBAACAAAABi5AADwDOcBvPslX2bRNy4SvFhAwhEAoBSGUitgMUNChgUSMxss3K3ukekq1paG7Fv1v5mBmDCZVPt2NCTnjUxrjTp4",\
            "assertionScheme":"UAFV1TLV"}],"fcParams":"eyJhcHBJRCI6Imh0dHBzOi8vdWFmLXRlc3QtMS5ub2tub2t0ZXN0LmNvbTo4NDQz\
            L1NhbXBsZUFwcC91YWYvZmFjZXRzIiwiY2hhbGxlbmdlIjoiSFExVmtUVVFDMU5KRE9vNk9PV2R4ZXdyYjlpNVd0aGpmS0llaEZ4cGV1VSI\
            sImNoYW5uZWxCaW5kaW5nIjp7fSwiZmFjZXRJRCI6ImNvbS5ub2tub2suYW5kcm9pZC5zYW1wbGVhcHAifQ","header":{"appID":"http\
            s://uaf-test-1.noknoktest.com:8443/SampleApp/uaf/facets","op":"Auth","serverData":"5s7n8","upv":{"major":1,"\
            minor":1}}}]
            """
        let key = """
            BJsvEtUsVKh7tmYHhJ2FBm3kHU-OCdWiUYVijgYa81MfkjQ1z6UiHbKP9_nRzIN9anprHqDGcR6q7O20q_yctZA
            """
        var scene = try Scene.authentication()
        var statement = try #require(scene.configuration.metadata[Names.pin])
        statement.aaid = try AAID("ABCD#ABCD")
        scene.configuration.metadata.add(statement)
        scene.configuration.trustedFacets = [try FacetID("com.noknok.android.sampleapp")]
        let response = try UnverifiedAuthentication(parsing: message.utf8)
        let id = try #require(response.credentials.first)
        var credential = RegisteredCredential(
            id: id, publicKey: try #require(Base64URL.decode(key)), publicKeyFormat: .eccX962Raw,
            signatureAlgorithm: .p256Raw, signCounter: 1, account: Names.account, deviceRegistration: Names.device)
        let expected = ExpectedAuthentication(
            challenge: try Challenge("HQ1VkTUQC1NJDOo6OOWdxewrb9i5WthjfKIehFxpeuU"),
            appID: "https://uaf-test-1.noknoktest.com:8443/SampleApp/uaf/facets",
            policy: Policy(accepted: [[MatchCriteria(aaid: [id.aaid], keyIDs: [id.keyID])]]), serverData: "5s7n8",
            account: Names.account)
        let verifier = AuthenticationVerifier(scene.configuration)
        let verified = try verifier.verify(response, expected: expected, credentials: [credential])
        #expect(verified.signatures[0].newSignCounter == 2)
        credential.signCounter = 2
        #expect(throws: UAFRefusal.self) {
            try verifier.verify(response, expected: expected, credentials: [credential])
        }
    }
}

extension Scene {
    /// A device-possession key beside the others, which the policy asks for.
    mutating func addSilentKey() throws {
        let key = try SoftwareKey(Names.silent, 2)
        self.keys.append(key)
        self.credentials.append(try key.credential())
        self.policy.accepted[0].append(MatchCriteria(aaid: [Names.silent]))
    }
}
