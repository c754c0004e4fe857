import Accounts
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Settings
import Testing
import _Primitives

/// A call of the admin API, as its document describes it.
private struct AdminCall {
    let method: HTTPRequest.Method
    /// Below the API's own, with the names of parameters in braces.
    let path: String
    let members: JSONObject

    var hasBody: Bool { !self.members.members.isEmpty }

    /// The calls that the document has.
    static func all(_ client: any TestClientProtocol) async throws -> [AdminCall] {
        let document = try await client.send(.get, "/admin/v1/openapi.json").object
        var calls: [AdminCall] = []
        for path in try document.requiredObject("paths").members {
            guard case .object(let methods) = path.value else { continue }
            for method in methods.members {
                guard case .object(let operation) = method.value else { continue }
                let schema = try operation.object("requestBody")?.object("content")?.object("application/json")?
                    .object("schema")
                calls.append(
                    AdminCall(
                        method: try #require(HTTPRequest.Method(rawValue: method.name.uppercased())),
                        path: String(path.name.dropFirst()), members: try schema?.object("properties") ?? [:]))
            }
        }
        return calls
    }

    /// The path with something in the place of its parameters.
    func address(_ value: String) -> String { self.path.replacing(#/\{\w+\}/#, with: value) }

    /// A body with all or most of its members, each of its kind, and mostly what could stand there.
    func body(_ random: RandomSource) -> String {
        let others = ["alice", "", "\u{202E}x", "https://a.example/#", "a@b"]
        var object: JSONObject = [:]
        for member in self.members.members where random.number(below: 8) != 0 {
            guard case .object(let schema) = member.value else { continue }
            let usual =
                switch member.name {
                case "email": "a@b.example"
                case "clientUri", "redirectUris", "postLogoutRedirectUris": "https://a.example/in"
                case "idTokenSignedResponseAlg": "ES256"
                case "pkce": "nonce"
                default: "person-\(random.number(below: 1000))"
                }
            let text = random.number(below: 8) == 0 ? others[Int(random.number(below: UInt64(others.count)))] : usual
            object[member.name] =
                switch try? schema.string("type") {
                case "integer": .integer(Int64(bitPattern: random.number(below: .max)) >> 40)
                case "boolean": .bool(random.number(below: 2) == 0)
                case "array": .array([.string(text)])
                default: .string(text)
                }
        }
        return JSON.object(object).text
    }
}

@Suite("Sign-in parity F134: whatever comes, no request fails the server")
struct RandomInputTests {
    /// What a body begins as, before it is damaged.
    private static let bodies = [
        #"{"token":"abc","uafResponse":"[{\"header\":{\"upv\":{\"major\":1,\"minor\":1},\"op\":\"Auth\"}}]"}"#,
        #"{"op":"Auth","context":"{\"username\":\"alice\",\"policy\":\"x\"}","previousRequest":"y"}"#,
        #"{"dispatcher":"link","getUafRequest":{"op":"Auth","context":"{\"subject\":\"s\",\"transaction\":[{}]}"}}"#,
        #"{"dispatcher":"png-qr-code","getUafRequest":{"op":"Dereg","context":"{\"subject\":\"s\"}"}}"#,
        #"{"sessionId":"abc"}"#, #"{"secret":"abc","lifetimeSeconds":9007199254740993}"#,
        "response_type=code&client_id=abc&scope=openid%20profile&state=st&redirect_uri=http%3A%2F%2F127.0.0.1%2Fc",
        "grant_type=authorization_code&code=abc&code_verifier=def&client_id=g&client_secret=h",
        "request=abc&client=def&confirmation=ghi&id_token_hint=e30.e30.e30&post_logout_redirect_uri=https://a.example",
    ]
    private static let pieces = [
        "\u{0}", "\u{7F}", "\u{202E}", "e\u{301}\u{301}", "\u{10FFFF}", "%", "%00", "%ff", "%C3%28", "&&", "==", "\"",
        "\\", "{", "[", "null", "-0", "1e999", "99999999999999999999", "\\ud800", "'--", "<script>", "../", "//", ";",
    ]

    /// A text with some of its bytes changed, left out, doubled or put elsewhere.
    private static func damaged(_ text: String, _ random: RandomSource) -> [UInt8] {
        var bytes = Array(text.utf8)
        for _ in 0...random.number(below: 4) {
            let place = Int(random.number(below: UInt64(bytes.count + 1)))
            let end = min(bytes.count, place + Int(random.number(below: 12)))
            switch random.number(below: 6) {
            case 0: bytes.removeSubrange(place..<end)
            case 1: bytes.insert(contentsOf: random.bytes(3), at: place)
            case 2: bytes.insert(contentsOf: Array(bytes[place..<end]), at: place)
            case 3: bytes.insert(contentsOf: Self.one(of: Self.pieces, random).utf8, at: place)
            case 4: bytes = Array(bytes[place...] + bytes[..<place])
            default: if place < bytes.count { bytes[place] ^= 1 << UInt8(random.number(below: 8)) }
            }
        }
        return bytes
    }

    private static func one<Element>(of choices: [Element], _ random: RandomSource) -> Element {
        choices[Int(random.number(below: UInt64(choices.count)))]
    }

    /// What can stand in a request's first line.
    private static func query(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.filter { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }, as: UTF8.self)
    }

    /// Where the admin API is mounted.
    private static let administration = "/admin/v1/"

    @Test("Every address that is mounted, with every method of it, is among those that the damaged requests go to")
    func everyAddressIsDamaged() async throws {
        let server = try await ServerFixture()
        let router = server.assembly.publicRouter()
        var mounted: [String: Set<String>] = [:]
        // Files read nothing of a request, and HEAD is what the router makes of GET.
        for route in router.routes where route.method != .head {
            let path = route.path.description
            guard !path.hasPrefix(Self.administration), !path.hasPrefix("/assets/") else { continue }
            mounted[path, default: []].insert(route.method.rawValue)
        }
        var damaged: [String: Set<String>] = [:]
        for address in try await MountedAddress.all() where !address.path.hasPrefix(Self.administration) {
            damaged[address.pattern] = Set(address.allow.split(separator: ", ").map(String.init)).subtracting(["HEAD"])
        }
        #expect(mounted == damaged)
        // The admin API's go by its own document, which is made of what is mounted, and of nothing else.
        let operations = try await server.withSocketClient { try await AdminCall.all($0) }
        let named = Set(operations.map { "\($0.method.rawValue) \($0.path)" } + ["GET openapi.json"])
        let routes = router.routes.filter {
            $0.path.description.hasPrefix(Self.administration) && $0.method != .head
        }
        #expect(
            named
                == Set(
                    routes.map { "\($0.method.rawValue) \($0.path.description.dropFirst(Self.administration.count))" }))
    }

    @Test("Damaged requests of an administrator: none fails, and each refusal is a problem document")
    func damagedAdministration() async throws {
        let server = try await ServerFixture()
        let secret = try #require(try await server.assembly.administrators.makeLinkIfNone())
        let token = try await server.assembly.administrators.redeem(secret: secret, source: "here")
        let operations = try await server.withSocketClient { try await AdminCall.all($0) }
        #expect(operations.count > 25)
        try await server.withPublicClient { client in
            _ = try await client.send(
                .post, "/admin/v1/accounts", ["username": .string("alice")],
                headers: [.authorization: "Bearer \(token)"])
            var answered: Set<Int> = []
            for operation in operations {
                // There is little to damage where there is no body.
                for seed in 0..<(operation.hasBody ? 80 : 8) {
                    let random = RandomSource.repeatable("\(operation.method) \(operation.path) \(seed)")
                    let body = operation.body(random)
                    // Every fourth is whole: it reaches what stands behind the reading.
                    let isDamaged = random.number(below: 4) != 0
                    let bytes = isDamaged ? Self.damaged(body, random) : Array(body.utf8)
                    let path = operation.address(Self.one(of: ["alice", "unknown", "%00", "%2F", "a%CC%81"], random))
                    let query =
                        random.number(below: 3) == 0 ? "?" + Self.query(Self.damaged("after=1&limit=2", random)) : ""
                    let answer = try await client.execute(
                        uri: Self.administration + path + query, method: operation.method,
                        headers: [.authorization: "Bearer \(token)", .contentType: "application/json"],
                        body: operation.hasBody ? ByteBuffer(bytes: bytes) : nil)
                    let shown = "\(seed): \(operation.method) \(path)\(query) \(String(decoding: bytes, as: UTF8.self))"
                    answered.insert(Int(answer.status.code))
                    #expect(answer.status.code < 500 && answer.status.code != 401, "\(shown)")
                    if answer.status.code >= 400 {
                        #expect(answer.headers[.contentType] == "application/problem+json", "\(shown)")
                    }
                }
            }
            #expect(answered.isSuperset(of: [200, 201, 204, 400, 404]), "the requests get no further than a check")
        }
    }

    @Test(
        "Sixty damaged requests or more to each address: none fails, and each refusal has the form of its kind",
        arguments: try await MountedAddress.all())
    func damagedRequests(address: MountedAddress) async throws {
        var limits = Limits()
        // What is refused for being too much is not read.
        limits.openDispatchBurst = 1000
        limits.signInBurst = 1000
        let server = try await ServerFixture(limits: limits)
        let methods = address.allow.split(separator: ", ").compactMap { HTTPRequest.Method(rawValue: String($0)) }
        // `make soak` draws more.
        let draws = ProcessInfo.processInfo.environment["COUNTERSIGN_LONG_DRAWS"] == nil ? 60 : 200
        try await server.withPublicClient { client in
            let headers = try await address.headers(address.contentType, server)
            for seed in 0..<draws {
                let random = RandomSource.repeatable("\(address.path) \(seed)")
                var headers = headers
                let damaged = Self.damaged(Self.one(of: Self.bodies, random), random)
                headers[.cookie] = Self.query(Self.damaged("countersign_browser=abc; countersign_session=def", random))
                if random.number(below: 3) == 0 {
                    headers[.authorization] = Self.query(Self.damaged("Bearer_e30.e30.e30", random))
                }
                if random.number(below: 3) == 0, let name = HTTPField.Name("Device-Proof") {
                    headers[name] = Self.query(Self.damaged("eyJhbGciOiJFUzI1NiIsImtpZCI6ImEifQ.e30.AAAA", random))
                }
                if random.number(below: 4) == 0 {
                    headers[.contentType] = Self.one(of: ["text/plain", "application/json", "a/b;c=\"", ""], random)
                }
                let method = Self.one(of: methods, random)
                let query =
                    random.number(below: 2) == 0 ? "?" + Self.query(Self.damaged("request=abc&client=d", random)) : ""
                let answer = try await client.execute(
                    uri: address.path + query, method: method, headers: headers,
                    body: method == .post || method == .patch ? ByteBuffer(bytes: damaged) : nil)
                let shown = "\(seed): \(method) \(query) \(String(decoding: damaged, as: UTF8.self))"
                #expect(answer.status.code < 500, "\(shown)")
                guard answer.status.code >= 400, method != .head else { continue }
                let type = answer.headers[.contentType] ?? ""
                // Phones of personalised identities are told by what the server has signed.
                let forms =
                    address.path.hasPrefix("/identity/")
                    ? ["application/problem+json", "application/jose"]
                    : ["application/problem+json", "application/json", "text/html; charset=utf-8"]
                #expect(forms.contains(type), "\(type) \(shown)")
            }
        }
    }
}
