import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Store
import Testing
import _Primitives

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

    @Test(
        "Two hundred damaged requests to each address: none fails, and each refusal has the form of its kind",
        arguments: MountedAddress.all)
    func damagedRequests(address: MountedAddress) async throws {
        var limits = Limits()
        // What is refused for being too much is not read.
        limits.openDispatchBurst = 1000
        limits.signInBurst = 1000
        let server = try await ServerFixture(limits: limits)
        let methods = address.allow.split(separator: ", ").compactMap { HTTPRequest.Method(rawValue: String($0)) }
        try await server.withPublicClient { client in
            let headers = try await address.headers(address.contentType, server)
            for seed in 0..<200 {
                let random = RandomSource.repeatable("\(address.path) \(seed)")
                var headers = headers
                let damaged = Self.damaged(Self.one(of: Self.bodies, random), random)
                headers[.cookie] = Self.query(Self.damaged("countersign_browser=abc; countersign_session=def", random))
                if random.number(below: 3) == 0 {
                    headers[.authorization] = Self.query(Self.damaged("Bearer_e30.e30.e30", random))
                }
                if random.number(below: 4) == 0 {
                    headers[.contentType] = Self.one(of: ["text/plain", "application/json", "a/b;c=\"", ""], random)
                }
                let method = Self.one(of: methods, random)
                let query =
                    random.number(below: 2) == 0 ? "?" + Self.query(Self.damaged("request=abc&client=d", random)) : ""
                let answer = try await client.execute(
                    uri: address.path + query, method: method, headers: headers,
                    body: method == .post ? ByteBuffer(bytes: damaged) : nil)
                let shown = "\(seed): \(method) \(query) \(String(decoding: damaged, as: UTF8.self))"
                #expect(answer.status.code < 500, "\(shown)")
                guard answer.status.code >= 400, method != .head else { continue }
                let type = answer.headers[.contentType] ?? ""
                #expect(
                    ["application/problem+json", "application/json", "text/html; charset=utf-8"].contains(type),
                    "\(type) \(shown)")
            }
        }
    }
}
