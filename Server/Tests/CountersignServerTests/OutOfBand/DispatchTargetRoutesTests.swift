import Accounts
import CeremonyEngine
import CountersignServer
import CountersignTestKit
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("Operations parity 83 to 85: devices state, change and end their targets by their own proof (decision 114)")
struct DispatchTargetRoutesTests {
    private static func server(limits: Limits = Limits()) async throws -> ServerFixture {
        let dispatchers = try Dispatchers.standard.adding(PigeonDispatcher()).adding(PigeonDispatcher(name: "raven"))
        return try await ServerFixture(limits: limits, configure: { $0.dispatchers = dispatchers })
    }

    /// A server with alice's phone, which is named "Alice's phone".
    private static func with(
        limits: Limits = Limits(), _ body: @escaping @Sendable (TargetPhone) async throws -> Void
    ) async throws {
        let server = try await Self.server(limits: limits)
        try await server.withPublicClient { client in
            _ = try await server.assembly.directory.create(username: "alice", displayName: nil, by: "test")
            try await body(try await TargetPhone("Alice's phone", at: server, client))
        }
    }

    private static func kinds(_ phone: TargetPhone) async throws -> [String] {
        try await phone.server.database.auditEntries(after: 0, limit: 999).map(\.event)
            .filter { $0.kind.rawValue.hasPrefix("dispatch-target") && $0.accountID == phone.accountID }
            .map(\.kind.rawValue)
    }

    // MARK: Row 83

    @Test("A created target is 201 with the device's identifier, and a second time the same")
    func created() async throws {
        try await Self.with { phone in
            for target in ["loft 7", "loft 8"] {
                let (response, object) = try await phone.send(
                    .post, TargetPhone.path, phone.statement(target: target))
                #expect(response.status == .created && object == ["id": .string(phone.id)])
                let stored = try await phone.target()
                #expect(stored.name == "Phone" && stored.dispatcher == "pigeon" && stored.address == target)
                #expect(stored.isPushWanted && stored.seenAt == phone.server.clock.now())
            }
            var bare = try phone.statement(name: "Quiet", dispatcher: nil, target: nil)
            bare["push"] = .bool(false)
            #expect(try await phone.send(.post, TargetPhone.path, bare).response.status == .created)
            let stored = try await phone.target()
            #expect(stored.name == "Quiet" && stored.dispatcher == nil && stored.address == nil)
            #expect(!stored.isPushWanted)
            #expect(try await Self.kinds(phone) == Array(repeating: "dispatch-target-created", count: 3))
            try await phone.expectKeys()
        }
    }

    /// What is wrong with a statement.
    enum Fault: String, CaseIterable, Sendable {
        case takenName, emptyName, controlInName, longName
        case otherForm, unknownDispatcher, noDispatcher
        case otherSigningKey, otherEncryptionKey, swapped, equal, offCurve, otherCurve, noKey, somebodyElses
        case longAddress, emptyAddress

        var problem: String {
            switch self {
            case .takenName: "name-taken"
            case .otherForm, .unknownDispatcher, .noDispatcher: "dispatcher-unknown"
            case .emptyName, .controlInName, .longName, .longAddress, .emptyAddress: "target-invalid"
            default: "keys-differ"
            }
        }

        /// Makes the statement of a phone wrong. `other` is a phone of another person.
        func damage(_ body: inout JSONObject, _ phone: TargetPhone, _ other: TargetPhone) throws {
            let (signing, encryption) = (try phone.signatureKey, try phone.encryptionKey)
            func keys(_ signing: JWK, _ encryption: JWK) throws {
                body["signatureKey"] = .object(try TargetPhone.json(signing))
                body["encryptionKey"] = .object(try TargetPhone.json(encryption))
            }
            let fresh = try JWK(point: Array(P256.Signing.PrivateKey().publicKey.x963Representation))
            switch self {
            case .takenName: body["name"] = .string("Her second")
            case .emptyName: body["name"] = .string("")
            case .controlInName: body["name"] = .string("Pho\nne")
            case .longName: body["name"] = .string(String(repeating: "a", count: 129))
            case .otherForm: body["dispatcher"] = .string("link")
            case .unknownDispatcher: body["dispatcher"] = .string("dove")
            case .noDispatcher: body["dispatcher"] = nil
            case .otherSigningKey: try keys(fresh, encryption)
            case .otherEncryptionKey: try keys(signing, fresh)
            case .swapped: try keys(encryption, signing)
            case .equal: try keys(signing, signing)
            case .offCurve:
                var json = try TargetPhone.json(encryption)
                json["y"] = json["x"]
                body["encryptionKey"] = .object(json)
            case .otherCurve:
                let point = Array(P384.Signing.PrivateKey().publicKey.x963Representation)
                body["signatureKey"] = .object([
                    "kty": .string("EC"), "crv": .string("P-384"), "x": .string(Base64URL.encode(point[1..<49])),
                    "y": .string(Base64URL.encode(point[49...])),
                ])
            case .noKey: body["encryptionKey"] = .object([:])
            case .somebodyElses: try keys(other.signatureKey, other.encryptionKey)
            case .longAddress: body["target"] = .string(String(repeating: "a", count: 5000))
            case .emptyAddress: body["target"] = .string("")
            }
        }
    }

    @Test(
        "A taken name, an unknown dispatcher, other keys and a wrong address are 422, and nothing changes",
        arguments: Fault.allCases)
    func refused(fault: Fault) async throws {
        try await Self.with { phone in
            _ = try await TargetPhone("Her second", at: phone.server, phone.client)
            _ = try await phone.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            let bobs = try await TargetPhone("Bob's phone", of: "bob", at: phone.server, phone.client)
            var body = try phone.statement()
            try fault.damage(&body, phone, bobs)
            let before = try await phone.target()
            let (response, problem) = try await phone.send(.post, TargetPhone.path, body)
            #expect(response.status == .unprocessableContent && problem.problem == fault.problem)
            #expect(try !problem.requiredString("detail").isEmpty)
            var after = try await phone.target()
            after.seenAt = before.seenAt
            #expect(after == before)
            #expect(try await Self.kinds(phone).isEmpty)
            try await phone.expectKeys()
            try await bobs.expectKeys()
            // The same name is free for another person.
            #expect(
                try await bobs.send(.post, TargetPhone.path, bobs.statement(name: "Her second")).response.status
                    == .created)
        }
    }

    @Test("A JWK with a private member is no public key")
    func privateKey() async throws {
        try await Self.with { phone in
            var body = try phone.statement()
            var json = try TargetPhone.json(phone.signatureKey)
            json["d"] = .string(Base64URL.encode(Array(phone.signing.rawRepresentation)))
            body["signatureKey"] = .object(json)
            let (response, problem) = try await phone.send(.post, TargetPhone.path, body)
            #expect(response.status == .unprocessableContent && problem.problem == "keys-differ")
        }
    }

    @Test(
        "Every other body is 400 and changes nothing",
        arguments: [
            "", "null", "[]", "{}", "{", "{\"name\":1}", "{\"name\":null}", "{\"push\":\"yes\"}", "{\"dispatcher\":7}",
            "{\"dispatcher\":[]}", "{\"target\":{}}", "{\"dispatcher\":null}", "{\"target\":null}",
            "{\"name\":\"a\",\"name\":\"a\"}", "{\"id\":\"x\"}",
            "{\"name\":\"\\ud800\"}", "{\"username\":\"alice\"}",
        ])
    func badBodies(body: String) async throws {
        try await Self.with { phone in
            let before = try await phone.target()
            for (method, path) in [(HTTPRequest.Method.post, TargetPhone.path), (.patch, phone.own)] {
                // An empty change is a change of nothing.
                guard method == .post || body != "{}" else { continue }
                let bytes = Array(body.utf8)
                let response = try await phone.send(method, path, bytes, phone.proof(method, path, bytes)).response
                #expect(response.status == (body.isEmpty ? .unsupportedMediaType : .badRequest), "\(method)")
            }
            var after = try await phone.target()
            after.seenAt = before.seenAt
            #expect(after == before)
        }
    }

    @Test("Another type of body is 415, and a body that is too long is 413, before any proof is judged")
    func otherBodies() async throws {
        try await Self.with { phone in
            let bytes = JSON.object(try phone.statement()).serialized
            let long = Array(repeating: UInt8(ascii: " "), count: Limits().bodyBytes + 1)
            for (method, path) in [(HTTPRequest.Method.post, TargetPhone.path), (.patch, phone.own)] {
                let other = try await phone.send(
                    method, path, bytes, phone.proof(method, path, bytes), contentType: "text/plain")
                #expect(other.response.status == .unsupportedMediaType)
                #expect(try await phone.send(method, path, long, nil).response.status == .contentTooLarge)
            }
        }
    }

    // MARK: Row 84

    @Test("A device reads what is known of it: the address is told by its hash alone")
    func reads() async throws {
        try await Self.with { phone in
            let key = try await phone.server.database.credentials(accountID: phone.accountID)[0]
            var expected: JSONObject = [
                "id": .string(phone.id), "name": .string("Alice's phone"), "push": .bool(true),
                "credentials": .array([
                    .object(["aaid": .string(key.aaid), "keyID": .string(Base64URL.encode(key.keyID))])
                ]),
            ]
            let (fresh, known) = try await phone.send(.get, phone.own)
            #expect(fresh.status == .ok && fresh.headers[.cacheControl] == "no-store")
            #expect(Set(known.members.map(\.name)) == Set(expected.members.map(\.name)))
            for member in expected.members { #expect(known[member.name] == member.value) }
            _ = try await phone.send(.post, TargetPhone.path, phone.statement(name: "Phone"))
            let (_, stated) = try await phone.send(.get, phone.own)
            expected["name"] = .string("Phone")
            expected["dispatcher"] = .string("pigeon")
            expected["target"] = .string(Base64URL.encode(Array(SHA256.hash(data: Array("loft 7".utf8)))))
            for member in expected.members { #expect(stated[member.name] == member.value) }
            #expect(!JSON.object(stated).text.contains("loft 7"))
        }
    }

    @Test("A change is 204 and changes what it names, and what is left out stays")
    func modified() async throws {
        try await Self.with { phone in
            _ = try await phone.send(.post, TargetPhone.path, phone.statement())
            let second = try await TargetPhone("Her second", at: phone.server, phone.client)
            var expected = try await phone.target()
            func change(_ body: JSONObject, _ edit: (inout DispatchTargetRecord) -> Void) async throws {
                let response = try await phone.send(.patch, phone.own, body).response
                #expect(response.status == .noContent && response.body.readableBytes == 0)
                edit(&expected)
                #expect(try await phone.target() == expected)
            }
            try await change(["name": .string("Renamed")]) { $0.name = "Renamed" }
            try await change(["push": .bool(false)]) { $0.isPushWanted = false }
            phone.server.clock.advance(by: .seconds(5))
            let now = phone.server.clock.now()
            try await change(["target": .string("loft 9")]) { ($0.address, $0.changedAt) = ("loft 9", now) }
            try await change(["dispatcher": .string("raven")]) { ($0.dispatcher, $0.address) = ("raven", nil) }
            try await change(["target": .string("tower"), "push": .bool(true)]) {
                ($0.address, $0.isPushWanted) = ("tower", true)
            }
            for (body, problem) in [
                (["name": .string("Her second")], "name-taken"),
                (["dispatcher": .string("dove")], "dispatcher-unknown"),
                (["target": .string("")], "target-invalid"), (["name": .string("")], "target-invalid"),
                (
                    [
                        "dispatcher": .string("pigeon"),
                        "target": .string(String(repeating: "a", count: Limits.Fixed.pushAddressBytes + 1)),
                    ], "target-invalid"
                ),
            ] as [(JSONObject, String)] {
                let (response, object) = try await phone.send(.patch, phone.own, body)
                #expect(response.status == .unprocessableContent && object.problem == problem)
                #expect(try await phone.target() == expected)
            }
            for member in ["signatureKey", "encryptionKey"] {
                let body: JSONObject = [member: .object(try TargetPhone.json(second.signatureKey))]
                #expect(try await phone.send(.patch, phone.own, body).response.status == .badRequest)
            }
            #expect(try await Self.kinds(phone).count { $0 == "dispatch-target-changed" } == 5)
            try await phone.expectKeys()
            try await second.expectKeys()
        }
    }

    /// The methods and addresses of a device's own target, with bodies that they take.
    private static func requests(_ phone: TargetPhone) -> [(HTTPRequest.Method, [UInt8])] {
        [(.get, []), (.patch, Array("{\"name\":\"Changed\"}".utf8)), (.delete, [])]
    }

    @Test("A wrong key, a changed body, a replay and a missing proof are 401, and nothing changes")
    func unproven() async throws {
        try await Self.with { phone in
            _ = try await phone.send(.post, TargetPhone.path, phone.statement())
            let second = try await TargetPhone("Her second", at: phone.server, phone.client)
            _ = try await phone.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            let bobs = try await TargetPhone("Bob's phone", of: "bob", at: phone.server, phone.client)
            let before = try await phone.target()
            func refused(
                _ method: HTTPRequest.Method, _ bytes: [UInt8], _ proof: String?, _ name: String = "not-proven",
                _ headers: HTTPFields = [:]
            ) async throws {
                let (response, problem) = try await phone.send(method, phone.own, bytes, proof, headers: headers)
                #expect(response.status == .unauthorized && problem.problem == name, "\(method)")
                #expect(response.headers[.wwwAuthenticate] == "Device-Proof")
                #expect(try await phone.target() == before)
            }
            let token = try await phone.server.deviceAuthorization(username: "carol")
            for (method, bytes) in Self.requests(phone) {
                let stranger = P256.Signing.PrivateKey()
                try await refused(
                    method, bytes, try phone.proof(method, phone.own, bytes, signedBy: stranger))
                for other in [second, bobs] {
                    try await refused(method, bytes, try other.proof(method, phone.own, bytes))
                    try await refused(
                        method, bytes, try phone.proof(method, phone.own, bytes, signedBy: other.signing))
                }
                try await refused(method, bytes, try phone.proof(method, second.own, bytes))
                try await refused(method, bytes, try phone.proof(.post, phone.own, bytes))
                try await refused(method, bytes, nil)
                try await refused(method, bytes, nil, "not-proven", [.authorization: token])
                try await refused(
                    method, bytes, try phone.proof(method, phone.own, bytes), "not-proven", [.authorization: token])
            }
            let patch = Array("{\"name\":\"Changed\"}".utf8)
            try await refused(.patch, patch, try phone.proof(.patch, phone.own, Array("{\"name\":\"Other\"}".utf8)))
            let spent = try phone.proof(.get, phone.own)
            #expect(try await phone.send(.get, phone.own, [], spent).response.status == .ok)
            try await refused(.get, [], spent, "replay-refused")
        }
    }

    @Test(
        "An old proof and a proof of another clock are 401, and the server's time is told if only the time is wrong",
        arguments: [Duration.seconds(-61), .seconds(-600), .seconds(600)])
    func otherTime(offset: Duration) async throws {
        try await Self.with { phone in
            let before = try await phone.target()
            for (method, bytes) in Self.requests(phone) {
                let proof = try phone.proof(method, phone.own, bytes, offset: offset)
                let (response, problem) = try await phone.send(method, phone.own, bytes, proof)
                #expect(response.status == .unauthorized && problem.problem == "clock-skew")
                #expect(problem["now"] == .integer(phone.server.clock.now().milliseconds))
                let stranger = P256.Signing.PrivateKey()
                let wrong = try phone.proof(method, phone.own, bytes, offset: offset, signedBy: stranger)
                let (_, other) = try await phone.send(method, phone.own, bytes, wrong)
                #expect(other.problem == "not-proven" && other["now"] == nil)
            }
            let body = try phone.statement()
            #expect(
                try await phone.send(.post, TargetPhone.path, body, offset: offset).object.problem == "clock-skew")
            #expect(try await phone.target() == before)
        }
    }

    @Test("Of fifty changes at once with one proof one counts")
    func fiftyAtOnce() async throws {
        try await Self.with { phone in
            let bytes = Array("{\"name\":\"Changed\"}".utf8)
            let proof = try phone.proof(.patch, phone.own, bytes)
            let answers = try await withThrowingTaskGroup(of: String.self, returning: [String].self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        let (response, object) = try await phone.send(.patch, phone.own, bytes, proof)
                        return "\(response.status.code) \(object.problem ?? "")"
                    }
                }
                var answers: [String] = []
                for try await answer in group { answers.append(answer) }
                return answers
            }
            #expect(answers.count { $0 == "204 " } == 1)
            #expect(answers.count { $0 == "401 replay-refused" } == 49)
            #expect(try await Self.kinds(phone) == ["dispatch-target-changed"])
        }
    }

    @Test("A locked account is 403, and a removed device is 401")
    func lockedAndRemoved() async throws {
        try await Self.with { phone in
            let audit = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: phone.server.clock.now())
            _ = try await phone.server.database.setAccountLocked(true, id: phone.accountID, audit: audit)
            for (method, bytes) in Self.requests(phone) {
                let proof = try phone.proof(method, phone.own, bytes)
                let (response, problem) = try await phone.send(method, phone.own, bytes, proof)
                #expect(response.status == .forbidden && problem.problem == "locked")
            }
            _ = try await phone.server.database.setAccountLocked(false, id: phone.accountID, audit: audit)
            try await phone.server.assembly.directory.deleteDevice(id: phone.id, by: "test")
            for (method, bytes) in Self.requests(phone) {
                let proof = try phone.proof(method, phone.own, bytes)
                #expect(try await phone.send(method, phone.own, bytes, proof).object.problem == "not-proven")
            }
            let again = try await phone.send(.post, TargetPhone.path, phone.statement())
            #expect(again.object.problem == "not-proven")
        }
    }

    @Test("Past its budget of changes a device is 429, and reads on")
    func budget() async throws {
        var limits = Limits()
        (limits.targetChangeBurst, limits.targetChangesPerMinute) = (2, 6)
        try await Self.with(limits: limits) { phone in
            for status in [HTTPResponse.Status.noContent, .noContent, .tooManyRequests] {
                let (response, object) = try await phone.send(.patch, phone.own, ["push": .bool(false)])
                #expect(response.status == status)
                if status == .tooManyRequests {
                    #expect(object.problem == "too-many-requests" && response.headers[.retryAfter] == "10")
                }
            }
            #expect(try await phone.send(.get, phone.own).response.status == .ok)
            phone.server.clock.advance(by: .seconds(10))
            #expect(try await phone.send(.patch, phone.own, ["push": .bool(true)]).response.status == .noContent)
        }
    }

    // MARK: Row 85

    @Test("A deleted target is 204: dispatcher and address are gone, the keys stay, and a second time it is the same")
    func deleted() async throws {
        try await Self.with { phone in
            _ = try await phone.send(.post, TargetPhone.path, phone.statement())
            for _ in 0..<2 {
                let response = try await phone.send(.delete, phone.own).response
                #expect(response.status == .noContent && response.body.readableBytes == 0)
                let stored = try await phone.target()
                #expect(stored.dispatcher == nil && stored.address == nil && stored.name == "Phone")
            }
            #expect(try await phone.server.database.credentials(accountID: phone.accountID).count == 1)
            try await phone.expectKeys()
            let (known, document) = try await phone.send(.get, phone.own)
            #expect(known.status == .ok && document["dispatcher"] == nil && document["target"] == nil)
            #expect(try await Self.kinds(phone).count { $0 == "dispatch-target-deleted" } == 2)
            let (refused, problem) = try await phone.send(.patch, phone.own, ["target": .string("loft")])
            #expect(refused.status == .unprocessableContent && problem.problem == "dispatcher-unknown")
            #expect(try await phone.send(.post, TargetPhone.path, phone.statement()).response.status == .created)
        }
    }

    @Test("A target that nobody has is 404")
    func unknown() async throws {
        try await Self.with { phone in
            for (method, bytes) in Self.requests(phone) {
                let path = "\(TargetPhone.path)/nobody"
                let (response, problem) = try await phone.send(method, path, bytes, phone.proof(method, path, bytes))
                #expect(response.status == .notFound && problem.problem == "not-found")
            }
        }
    }

    /// Asks at the operations listener for alice's devices.
    private static func query(
        _ server: ServerFixture, _ query: String, _ headers: HTTPFields
    ) async throws -> (response: TestResponse, object: JSONObject) {
        let router = server.assembly.operationsRouter(isListening: { true }, assertWritable: {})
        return try await Application(router: router).test(.router) { client in
            try await client.send(.get, "\(TargetPhone.path)\(query)", headers: headers)
        }
    }

    @Test(
        "A back end learns the devices on the operations listener, by identifiers that are its own, and not in public")
    func queried() async throws {
        let server = try await Self.server()
        try await server.withPublicClient { client in
            let bank = try await server.relyingParty()
            let shop = try await server.relyingParty()
            let virtual = try await server.enrolledPhone(client)
            for party in [bank, shop] { try await server.signInTwice(TestBrowser(client), party, virtual) }
            let phone = try await TargetPhone("Alice's second", at: server, client)
            _ = try await phone.send(.post, TargetPhone.path, phone.statement(name: "Pocket"))
            func list(_ party: RelyingParty, _ name: String? = nil) async throws -> [JSONObject] {
                let subject = server.assembly.provider.keys.subject(ofAccount: phone.accountID, client: party.id)
                let (response, object) = try await Self.query(
                    server, "?username=\(name ?? subject)", [.authorization: party.authorization])
                #expect(response.status == (name == nil ? .ok : .notFound))
                return try (object.array("dispatchTargets") ?? []).compactMap {
                    if case .object(let object) = $0 { object } else { nil }
                }
            }
            let (banks, shops) = (try await list(bank), try await list(shop))
            #expect(banks.count == 1 && shops.count == 1)
            #expect(banks[0].members.map(\.name) == ["id", "dispatcher"])
            #expect(try banks[0].requiredString("dispatcher") == "pigeon")
            let ids = try (banks + shops).map { try $0.requiredString("id") }
            #expect(Set(ids + [phone.id]).count == 3)
            #expect(try await list(bank, "nobody").isEmpty)
            let shops0 = server.assembly.provider.keys.subject(ofAccount: phone.accountID, client: shop.id)
            #expect(try await list(bank, shops0).isEmpty)
            // The permission for names.
            _ = try await server.assembly.provider.clients.change(
                bank.id, ClientChange(tokens: TokenSettingsChange(scopes: ["countersign.device-names"])), by: "test")
            #expect(try await list(bank).map { try $0.requiredString("name") } == ["Pocket"])
            #expect(try await list(shop)[0]["name"] == nil)
            // A dispatch by the identifier reaches the device, and another client's identifier reaches nobody.
            for (id, result) in [(ids[0], "dispatched"), (ids[1], "dispatchTargetNotFound")] {
                let subject = server.assembly.provider.keys.subject(ofAccount: phone.accountID, client: bank.id)
                let (_, answer) = try await client.send(
                    .post, "/token/dispatch/authentication",
                    [
                        "dispatcher": .string("pigeon"), "dispatchTargetId": .string(id),
                        "getUafRequest": .object([
                            "context": .string(JSON.object(["subject": .string(subject)]).text)
                        ]),
                    ], headers: [.authorization: bank.authorization])
                #expect(try answer.requiredString("dispatchResult") == result)
            }
            // The public listener has no such address.
            let (hidden, _) = try await client.send(
                .get, "\(TargetPhone.path)?username=alice", headers: [.authorization: bank.authorization])
            #expect(hidden.status == .methodNotAllowed && hidden.headers[.allow] == "POST")
        }
    }

    @Test("Without a client the query is 401, and another query is 400")
    func badQueries() async throws {
        let server = try await Self.server()
        let party = try await server.relyingParty()
        #expect(try await Self.query(server, "?username=x", [:]).response.status == .unauthorized)
        let wrong = "Basic " + Data("\(party.id):wrong".utf8).base64EncodedString()
        #expect(try await Self.query(server, "?username=x", [.authorization: wrong]).response.status == .unauthorized)
        for query in ["", "?", "?username=", "?user=x", "?username=x&username=y", "?username=x&more=1", "?%"] {
            let response = try await Self.query(server, query, [.authorization: party.authorization]).response
            #expect(response.status == .badRequest, "\(query)")
        }
    }
}

extension JWK {
    /// The public key of an uncompressed point on P-256.
    fileprivate init(point: [UInt8]) throws {
        try self.init(.p256(x: Array(point[1..<33]), y: Array(point[33...]), d: nil))
    }
}
