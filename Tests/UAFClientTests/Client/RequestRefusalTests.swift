import CountersignTestKit
import Testing
import UAF
import UAFClient
import _Primitives

/// Exactly one change of an accepted request, and the code that it is refused with.
struct RequestChange: Sendable, CustomTestStringConvertible {
    let name: String
    let code: ErrorCode
    let operations: [RequestScene.Operation]
    let apply: @Sendable (inout RequestScene) -> Void

    var testDescription: String { self.name }

    init(
        _ name: String, _ code: ErrorCode, _ operations: [RequestScene.Operation] = RequestScene.Operation.allCases,
        _ apply: @escaping @Sendable (inout RequestScene) -> Void
    ) {
        self.name = name
        self.code = code
        self.operations = operations
        self.apply = apply
    }

    /// A member of the message is another.
    init(
        _ name: String, _ code: ErrorCode, _ operations: [RequestScene.Operation] = RequestScene.Operation.allCases,
        at path: String, _ value: JSON?
    ) {
        self.init(name, code, operations) { $0.set(path, value) }
    }
}

@Suite("uaf-sections §21: requests that a client must refuse")
struct RequestRefusalTests {
    private static let answered: [RequestScene.Operation] = [.registration, .authentication]

    static let malformed: [RequestChange] = [
        RequestChange("not JSON", .protocolError) { $0.bytes = Array("[{]".utf8) },
        RequestChange("not UTF-8", .protocolError) { $0.bytes = [0x5B, 0x22, 0xFF, 0x22, 0x5D] },
        RequestChange("a null", .protocolError) { scene in
            let text = String(decoding: scene.message.serialized, as: UTF8.self)
            scene.bytes = Array((text.dropLast(2) + #","x":null}]"#).utf8)
        },
        RequestChange("a name twice", .protocolError) { scene in
            let text = String(decoding: scene.message.serialized, as: UTF8.self)
            scene.bytes = Array((text.dropLast(2) + #","header":{}}]"#).utf8)
        },
        RequestChange("more than 64 KiB", .protocolError) { scene in
            scene.bytes = scene.message.serialized + [UInt8](repeating: 0x20, count: 65_536)
        },
        RequestChange("no array", .protocolError) { scene in
            scene.bytes = Array(scene.message.serialized.dropFirst().dropLast())
        },
        RequestChange("no dictionary", .protocolError, at: "0", nil),
        RequestChange("two dictionaries of one version", .protocolError) { scene in
            if case .array(let values) = scene.message { scene.message = .array(values + values) }
        },
        RequestChange("no header", .protocolError, at: "0.header", nil),
        RequestChange("no version", .protocolError, at: "0.header.upv", nil),
        RequestChange("half a version", .protocolError, at: "0.header.upv.minor", nil),
        RequestChange("a version that is a text", .protocolError, at: "0.header.upv", .string("1.1")),
        RequestChange("no operation", .protocolError, at: "0.header.op", nil),
        RequestChange("an unknown operation", .protocolError, at: "0.header.op", .string("reg")),
        RequestChange("server data over its limit", .protocolError, at: "0.header.serverData", Self.text(1537)),
        RequestChange("empty server data", .protocolError, at: "0.header.serverData", .string("")),
        RequestChange("an AppID over its limit", .protocolError, at: "0.header.appID", Self.text(513)),
        RequestChange("an AppID that is a number", .protocolError, at: "0.header.appID", .integer(1)),
        RequestChange("an empty list of extensions", .protocolError, at: "0.header.exts", .array([])),
        RequestChange("an extension without its flag", .protocolError, at: "0.header.exts", Self.extensions(flag: nil)),
        RequestChange(
            "an extension with a long id", .protocolError, at: "0.header.exts", Self.extensions(id: Self.text(33))),
        RequestChange("no challenge", .protocolError, Self.answered, at: "0.challenge", nil),
        RequestChange(
            "a challenge of 7 bytes", .protocolError, Self.answered, at: "0.challenge", .string("AAAAAAAAAA")),
        RequestChange(
            "a challenge of 65 bytes", .protocolError, Self.answered, at: "0.challenge",
            .string(Base64URL.encode([UInt8](repeating: 0, count: 65)))),
        RequestChange(
            "a padded challenge", .protocolError, Self.answered, at: "0.challenge", .string("AAAAAAAAAAAAAAAAAAAAAA==")),
        RequestChange("no username", .protocolError, [.registration], at: "0.username", nil),
        RequestChange("an empty username", .protocolError, [.registration], at: "0.username", .string("")),
        RequestChange("a username over its limit", .protocolError, [.registration], at: "0.username", Self.text(129)),
        RequestChange("no policy", .protocolError, Self.answered, at: "0.policy", nil),
        RequestChange(
            "a policy that accepts nothing", .protocolError, Self.answered, at: "0.policy.accepted", .array([])),
        RequestChange("an empty alternative", .protocolError, Self.answered, at: "0.policy.accepted.0", .array([])),
        RequestChange(
            "an AAID that is none", .protocolError, Self.answered, at: "0.policy.accepted.0.0.aaid.0",
            .string("C516-0001")
        ),
        RequestChange(
            "a short KeyID in the policy", .protocolError, Self.answered, at: "0.policy.accepted.0.0.keyIDs",
            .array([.string("AAAA")])),
        RequestChange(
            "a method below zero", .protocolError, Self.answered, at: "0.policy.accepted.0.0.userVerification",
            .integer(-1)),
        RequestChange("an empty transaction list", .protocolError, [.authentication], at: "0.transaction", .array([])),
        RequestChange(
            "a transaction without a type", .protocolError, [.authentication], at: "0.transaction.0.contentType", nil),
        RequestChange(
            "padded transaction content", .protocolError, [.authentication], at: "0.transaction.0.content",
            .string("UGE=")),
        RequestChange("nothing to deregister", .protocolError, [.deregistration], at: "0.authenticators", .array([])),
        RequestChange("no KeyID to deregister", .protocolError, [.deregistration], at: "0.authenticators.0.keyID", nil),
        RequestChange(
            "a KeyID without its model", .protocolError, [.deregistration], at: "0.authenticators.0.aaid", .string("")),
        RequestChange(
            "all keys of a model beside another entry", .protocolError, [.deregistration], at: "0.authenticators.1",
            .object(["aaid": .string("C516#0006"), "keyID": .string("")])),
        RequestChange(
            "all keys beside another entry", .protocolError, [.deregistration], at: "0.authenticators.1",
            .object(["aaid": .string(""), "keyID": .string("")])),
    ]

    static let unsuitable: [RequestChange] = [
        RequestChange("UAF 1.0, which is not configured", .unsupportedVersion, at: "0.header.upv.minor", .integer(0)),
        RequestChange("UAF 1.2", .unsupportedVersion, at: "0.header.upv.minor", .integer(2)),
        RequestChange("UAF 2.1", .unsupportedVersion, at: "0.header.upv.major", .integer(2)),
        RequestChange(
            "an unknown extension that must be understood", .protocolError, at: "0.header.exts",
            Self.extensions(flag: true)),
        RequestChange(
            "a criterion with an unknown extension that must be understood", .noSuitableAuthenticator, Self.answered,
            at: "0.policy.accepted.0.0.exts", Self.extensions(flag: true)),
        RequestChange(
            "a ban with an unknown extension that must be understood", .protocolError, Self.answered,
            at: "0.policy.disallowed",
            .array([
                .object(["aaid": .array([.string("ABCD#0001")]), "exts": Self.extensions(flag: true)])
            ])),
        RequestChange(
            "a vendor that is a number", .protocolError, Self.answered, at: "0.policy.accepted.0.0.vendorID",
            .integer(1)),
        RequestChange(
            "a banned vendor, written bare", .noSuitableAuthenticator, Self.answered, at: "0.policy.disallowed",
            .array([.object(["vendorID": .string("c516")])])),
        RequestChange(
            "a text that is not UTF-8", .invalidTransactionContent, [.authentication], at: "0.transaction.0.content",
            .string(Base64URL.encode([0x50, 0xFF]))),
        RequestChange(
            "a text over 200 characters", .invalidTransactionContent, [.authentication],
            at: "0.transaction.0.content", .string(Base64URL.encode([UInt8](repeating: 0x78, count: 201)))),
        RequestChange(
            "a text with a control character", .invalidTransactionContent, [.authentication],
            at: "0.transaction.0.content", .string(Base64URL.encode(Array("Pay \u{1B}[2K5".utf8)))),
        RequestChange(
            "a model that is not here", .noSuitableAuthenticator, Self.answered, at: "0.policy.accepted.0.0.aaid.0",
            .string("ABCD#0001")),
        RequestChange(
            "a second authenticator that is not here", .noSuitableAuthenticator, Self.answered,
            at: "0.policy.accepted.0.1", .object(["aaid": .array([.string("ABCD#0001")])])),
        RequestChange(
            "two authenticators of one model", .noSuitableAuthenticator, Self.answered, at: "0.policy.accepted.0.1",
            .object(["aaid": .array([.string("C516#0001")])])),
        RequestChange(
            "a disallowed model", .noSuitableAuthenticator, Self.answered, at: "0.policy.disallowed",
            .array([.object(["aaid": .array([.string("C516#0001")])])])),
        RequestChange(
            "a key that is not here", .noSuitableAuthenticator, [.authentication], at: "0.policy.accepted.0.0.keyIDs.0",
            .string(Base64URL.encode([UInt8](repeating: 1, count: 32)))),
        RequestChange(
            "a second factor alone", .noSuitableAuthenticator, [.authentication], at: "0.policy.accepted.0.0",
            .object(["aaid": .array([.string("C516#0006")])])),
        RequestChange(
            "content of a type that is not shown", .invalidTransactionContent, [.authentication],
            at: "0.transaction.0.contentType", .string("text/html")),
        RequestChange(
            "a picture, where the app shows none", .invalidTransactionContent, [.authentication], at: "0.transaction.0",
            .object(Picture.transaction.json)),
    ]

    /// Changes of a request with a picture that the app shows.
    static let pictures: [RequestChange] = [
        RequestChange("a picture without characteristics", .invalidTransactionContent, [.authentication]) {
            $0.set("0.transaction.0.tcDisplayPNGCharacteristics", nil)
        },
        RequestChange("a picture for a wider display", .invalidTransactionContent, [.authentication]) {
            $0.set("0.transaction.0.tcDisplayPNGCharacteristics.width", .integer(3))
        },
        RequestChange("a picture that is not of the kind it says", .invalidTransactionContent, [.authentication]) {
            $0.set("0.transaction.0.content", .string(Picture.grey))
        },
        RequestChange("a picture of which a byte is missing", .invalidTransactionContent, [.authentication]) {
            $0.set("0.transaction.0.content", .string(Base64URL.encode(Array(Picture.bytes.dropLast()))))
        },
        RequestChange("a picture with another palette than it says", .invalidTransactionContent, [.authentication]) {
            $0.set(
                "0.transaction.0.tcDisplayPNGCharacteristics.plte",
                .array([.object(["r": .integer(1), "g": .integer(2), "b": .integer(3)])]))
        },
        RequestChange("a picture with broken characteristics", .protocolError, [.authentication]) {
            $0.set("0.transaction.0.tcDisplayPNGCharacteristics.bitDepth", .integer(256))
        },
        RequestChange("a text that calls itself a picture", .invalidTransactionContent, [.authentication]) {
            $0.set("0.transaction.0.content", .string("UGF5"))
        },
        RequestChange("an app that shows another kind of picture", .invalidTransactionContent, [.authentication]) {
            $0.displays[0].height = 2
        },
    ]

    /// Changes around the facet list of the AppID.
    static let facets: [RequestChange] = [
        RequestChange("an app that is not in the list", .untrustedFacetID) { $0.facet = "linux:program:other" },
        RequestChange("the app's name in another case", .untrustedFacetID) { $0.facet = "linux:program:TEST" },
        RequestChange("a web origin of another host", .untrustedFacetID) {
            $0.askAsListed("https://app.example.com")
        },
        RequestChange("a web origin without TLS", .untrustedFacetID) { $0.askAsListed("http://id.example.com") },
        RequestChange("a list that is not there", .untrustedFacetID) { $0.facetList.status = 404 },
        RequestChange("a list of another content type", .untrustedFacetID) {
            $0.facetList.contentType = "application/json"
        },
        RequestChange("a list without a content type", .untrustedFacetID) { $0.facetList.contentType = nil },
        RequestChange("a redirect without the header", .untrustedFacetID) {
            $0.answers[RequestScene.appID] = FacetListAnswer(
                status: 302, contentType: nil, location: "/moved", body: [])
        },
        RequestChange("a list that is no JSON", .untrustedFacetID) { $0.facetList.body.removeLast() },
        RequestChange("a list over 64 KiB", .untrustedFacetID) {
            $0.facetList.body += [UInt8](repeating: 0x20, count: 65_536)
        },
        RequestChange("a list of another version", .untrustedFacetID) { scene in
            let text = String(decoding: scene.facetList.body, as: UTF8.self)
            scene.facetList.body = Array(text.replacing(#""minor":1"#, with: #""minor":0"#).utf8)
        },
        RequestChange("an AppID without TLS", .untrustedFacetID) {
            $0.set("0.header.appID", .string("http://id.example.com/facets"))
        },
        RequestChange("an AppID of another app", .untrustedFacetID) {
            $0.set("0.header.appID", .string("linux:program:other"))
        },
        RequestChange("an AppID with user information", .untrustedFacetID) {
            $0.set("0.header.appID", .string("https://somebody@id.example.com/facets"))
        },
        RequestChange("an AppID whose list does not exist", .untrustedFacetID) {
            $0.set("0.header.appID", .string("https://id.example.com/other"))
            $0.answers["https://id.example.com/other"] = FacetListAnswer(status: 404, contentType: nil, body: [])
        },
    ]

    private static func text(_ length: Int) -> JSON { .string(String(repeating: "x", count: length)) }
    private static func extensions(id: JSON = .string("x"), flag: Bool? = false) -> JSON {
        var object: JSONObject = ["id": id, "data": .string("")]
        object["fail_if_unknown"] = flag.map { .bool($0) }
        return .array([.object(object)])
    }

    private static func device() async throws -> (Device, [KeyName]) {
        let device = try Device()
        var keys: [KeyName] = []
        for model in [Device.pin, Device.possession] {
            keys.append(try await device.register(model, appID: RequestScene.appID).name)
        }
        return (device, keys)
    }

    @Test("The requests that are changed here are accepted as they are", arguments: RequestScene.Operation.allCases)
    func accepted(operation: RequestScene.Operation) async throws {
        let (device, keys) = try await Self.device()
        try await RequestScene(operation, keys).check(device)
        var ignored = try RequestScene(operation, keys)
        ignored.set("0.header.exts", Self.extensions(flag: false))
        try await ignored.check(device)
    }

    @Test("What the changes of facets are beside is accepted: another address, app, or place of the list")
    func acceptedFacets() async throws {
        let (device, keys) = try await Self.device()
        var scene = try RequestScene(.registration, keys)
        scene.set("0.header.appID", .string("https://id.example.com/other"))
        scene.askAsListed("linux:program:other")
        scene.answers["https://id.example.com/other"] = FacetListAnswer(
            status: 302, contentType: nil, location: "/moved", redirectAuthorized: "true", body: [])
        try await scene.check(device)
    }

    @Test(
        "A refusal repeats nothing of an extension's id, which a server chooses",
        arguments: RequestScene.Operation.allCases)
    func foreignText(operation: RequestScene.Operation) async throws {
        let (device, keys) = try await Self.device()
        var scene = try RequestScene(operation, keys)
        scene.set("0.header.exts", Self.extensions(id: .string("hostile\u{1B}[2J"), flag: true))
        let ended = await failure { try await scene.check(device) }
        #expect(ended == OperationFailure(.protocolError, "") && ended?.reason.contains("hostile") == false)
    }

    @Test("One change refuses the request", arguments: malformed + unsuitable + facets)
    func isRefused(change: RequestChange) async throws {
        for operation in change.operations {
            let (device, keys) = try await Self.device()
            var scene = try RequestScene(operation, keys)
            change.apply(&scene)
            let ended = await failure { try await scene.check(device) }
            #expect(ended == OperationFailure(change.code, ""), "\(operation): \(ended?.description ?? "accepted")")
            // Nobody was asked and nothing has changed.
            #expect(ended?.asmStatus == nil)
            #expect(await device.module.registrations(appID: RequestScene.appID).map(\.name) == keys)
        }
    }

    @Test("A picture that the app shows is accepted, and with one change refused", arguments: pictures)
    func pictureIsRefused(change: RequestChange) async throws {
        let (device, keys) = try await Self.device()
        var scene = try RequestScene(.authentication, keys)
        scene.set("0.transaction.0", .object(Picture.transaction.json))
        scene.displays = [Picture.display]
        try await scene.check(device)
        change.apply(&scene)
        #expect(await failure { try await scene.check(device) } == OperationFailure(change.code, ""))
    }

    @Test("An authenticator that holds the account's key already is not registered again")
    func registeredAlready() async throws {
        let (device, keys) = try await Self.device()
        var scene = try RequestScene(.registration, keys)
        let key = try #require(keys.first { $0.aaid == Device.pin.aaid })
        func disallow(_ keyID: KeyID) {
            scene.set(
                "0.policy.disallowed",
                .array([
                    .object([
                        "aaid": .array([.string(key.aaid.text)]), "keyIDs": .array([.string(keyID.base64URL)]),
                    ])
                ]))
        }
        disallow(try KeyID([UInt8](repeating: 3, count: 32)))
        try await scene.check(device)
        disallow(key.keyID)
        #expect(await failure { try await scene.check(device) } == OperationFailure(.noSuitableAuthenticator, ""))
    }

    @Test("A bare vendorID is a list of one (§18 row 30), and a text of 200 characters in two lines is shown")
    func lenient() async throws {
        let (device, keys) = try await Self.device()
        for operation in [RequestScene.Operation.registration, .authentication] {
            var scene = try RequestScene(operation, keys)
            scene.set("0.policy.accepted.0.0", .object(["vendorID": .string("c516")]))
            try await scene.check(device)
            scene.set("0.policy.accepted.0.0", .object(["vendorID": .string("ABCD")]))
            #expect(await failure { try await scene.check(device) } == OperationFailure(.noSuitableAuthenticator, ""))
        }
        var scene = try RequestScene(.authentication, keys)
        let text = "Ü\n" + String(repeating: "€", count: 198)
        scene.set("0.transaction.0.content", .string(Base64URL.encode(Array(text.utf8))))
        try await scene.check(device)
    }

    @Test("An authenticator that holds a disallowed key takes no part with another one (§2.2)")
    func heldKey() async throws {
        let (device, keys) = try await Self.device()
        let pin = try #require(keys.first { $0.aaid == Device.pin.aaid })
        let other = try await device.register(Device.pin, appID: RequestScene.appID, username: "bob").name
        var scene = try RequestScene(.authentication, [pin])
        try await scene.check(device)
        func disallow(_ keyID: KeyID) {
            scene.set(
                "0.policy.disallowed",
                .array([
                    .object([
                        "aaid": .array([.string(pin.aaid.text)]), "keyIDs": .array([.string(keyID.base64URL)]),
                    ])
                ]))
        }
        disallow(other.keyID)
        #expect(await failure { try await scene.check(device) } == OperationFailure(.noSuitableAuthenticator, ""))
        disallow(try KeyID([UInt8](repeating: 3, count: 32)))
        try await scene.check(device)
    }

    @Test("UAF 1.0 is taken where it is configured, answered as 1.0, and its facet list is that of 1.0")
    func configuredVersion() async throws {
        let device = try Device()
        let client = MessageClient(
            module: device.module, facetID: try FacetID(Device.facet), versions: [.uaf10, .uaf11]
        ) { _ in
            FacetListAnswer(
                status: 200, contentType: "application/fido.trusted-apps+json",
                body: Array(
                    #"{"trustedFacets":[{"version":{"major":1,"minor":0},"ids":["linux:program:test"]}]}"#.utf8))
        }
        var scene = try RequestScene(.registration, [])
        #expect(
            await failure { try await client.checkPolicy(scene.message.serialized) }
                == OperationFailure(.untrustedFacetID, ""))
        scene.set("0.header.upv.minor", .integer(0))
        let prepared = try await client.prepareRegistration(scene.message.serialized)
        let answer = try await prepared.register([Device.pin], verification: TestPerson())
        #expect(try RegistrationResponse(parsing: answer.message).header.version == .uaf10)
        // Of both the higher one.
        var both = scene.message
        scene.set("0.header.upv.minor", .integer(1))
        scene.set("0.header.appID", .string(""))
        guard case .array(let old) = both, case .array(let new) = scene.message else {
            throw JSONError(.wrongType, "a request")
        }
        both = .array(old + new)
        let higher = try await client.prepareRegistration(both.serialized)
        #expect(higher.request.header.version == .uaf11)
    }
}
