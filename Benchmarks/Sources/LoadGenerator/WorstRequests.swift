import Foundation
import ServerClients
import _Primitives

/// A request of an allowed size that costs its reader the most that is known of.
struct WorstRequest: Sendable {
    let name: String
    let request: Request

    /// What each reader of the server gets: texts that would be normalised, names that would be compared, nesting, many
    /// values, many parameters, and messages whose parts are many.
    static func all(relyingParty: RelyingParty) -> [WorstRequest] {
        let (json, answer) = (64 * 1024, 16 * 1024)
        var requests: [WorstRequest] = []
        for (name, body) in Self.documents(json) {
            requests.append(
                WorstRequest(name: "redeem, \(name)", request: Self.post("/token/redeem/authentication", body)))
            requests.append(WorstRequest(name: "dispatch, \(name)", request: relyingParty.dispatch(body: body)))
            requests.append(
                WorstRequest(
                    name: "dispatch, its context: \(name)",
                    request: relyingParty.dispatch(body: Self.dispatch(context: Self.whole(name, json / 3)))))
        }
        for (name, body) in Self.documents(answer) {
            for path in ["/uaf/1.1/authentication", "/uaf/1.1/registration", "/uaf/1.1/request/authentication"] {
                requests.append(
                    WorstRequest(name: "\(path), \(name)", request: Self.post(path, body, type: Server.uafType)))
            }
        }
        for operation in ["Auth", "Reg"] {
            let path = operation == "Auth" ? "/uaf/1.1/authentication" : "/uaf/1.1/registration"
            for size in [60, 4000] {
                requests.append(
                    WorstRequest(
                        name: "\(path), assertions of \(size) letters",
                        request: Self.post(path, Self.assertions(operation, answer, each: size), type: Server.uafType)))
            }
        }
        for (name, text) in Self.forms(8000) {
            requests.append(
                WorstRequest(name: "authorize, \(name)", request: Request("GET", "/oauth2/authorize?\(text)")))
            requests.append(
                WorstRequest(
                    name: "token, \(name)",
                    request: Self.post("/oauth2/token", Array(text.utf8), type: "application/x-www-form-urlencoded")))
        }
        for (name, value) in [
            ("combining marks", "a=e" + Self.repeated("\u{301}\u{323}", 14_000)),
            ("many cookies", Self.repeated("a=b; ", 14_000)),
            ("semicolons", Self.repeated(";", 14_000)),
        ] {
            requests.append(
                WorstRequest(
                    name: "cookie, \(name)",
                    request: Request("GET", "/sign-in?request=x", headers: ["Cookie: \(value)"])))
        }
        requests.append(
            WorstRequest(
                name: "forwarded addresses",
                request: Request(
                    "GET", "/sign-in?request=x", headers: ["X-Forwarded-For: " + Self.repeated("127.0.0.1,", 14_000)])))
        return requests
    }

    private static func post(_ path: String, _ body: [UInt8], type: String = "application/json") -> Request {
        Request("POST", path, headers: [], type: type, body: body)
    }

    private static func repeated(_ piece: String, _ bytes: Int) -> String {
        String(repeating: piece, count: bytes / piece.utf8.count)
    }

    private static func numbered(_ bytes: Int, _ piece: (Int) -> String) -> String {
        var text = ""
        var number = 0
        while text.utf8.count < bytes {
            text += piece(number)
            number += 1
        }
        return text
    }

    private static func whole(_ name: String, _ bytes: Int) -> String {
        String(decoding: Self.documents(bytes).first { $0.name == name }?.body ?? [], as: UTF8.self)
    }

    /// JSON of just under that many bytes.
    private static func documents(_ limit: Int) -> [(name: String, body: [UInt8])] {
        let bytes = limit - 256
        let marks = "e" + Self.repeated("\u{301}\u{323}", 120)
        return [
            (
                "two names of combining marks",
                "{\"e\(Self.repeated("\u{301}\u{323}", bytes / 2))1\":1,\"e\(Self.repeated("\u{301}\u{323}", bytes / 2 - 64))2\":1}"
            ),
            ("many names of combining marks", "{" + Self.numbered(bytes - 512) { "\"\(marks)\($0)\":0," } + "\"z\":0}"),
            ("a text of combining marks", "{\"token\":\"e\(Self.repeated("\u{301}\u{323}", bytes))\"}"),
            (
                "a text of marks, 28 a letter",
                "{\"token\":\"\(Self.repeated("e" + Self.repeated("\u{301}\u{323}", 56), bytes))\"}"
            ),
            ("many members", "{" + Self.numbered(bytes - 64) { "\"n\($0)\":0," } + "\"z\":0}"),
            ("many values", "{\"a\":[" + Self.numbered(min(bytes, 19_000)) { _ in "0," } + "0]}"),
            ("many objects", "{\"a\":[" + Self.numbered(min(bytes, 29_000)) { _ in "{}," } + "{}]}"),
            ("nesting", Self.repeated("{\"a\":", bytes)),
            ("escapes", "{\"token\":\"\(Self.repeated("\\u00e9", bytes))\"}"),
            ("one long text", "{\"token\":\"\(Self.repeated("A", bytes))\"}"),
        ].map { ($0, Array($1.utf8)) }
    }

    private static func dispatch(context: String) -> [UInt8] {
        JSON.object([
            "dispatcher": .string("link"),
            "getUafRequest": .object(["op": .string("Auth"), "context": .string(context)]),
        ]).serialized
    }

    private static func assertions(_ operation: String, _ limit: Int, each size: Int) -> [UInt8] {
        let assertion = "{\"assertionScheme\":\"UAFV1TLV\",\"assertion\":\"\(Self.repeated("AT6A", size))\"},"
        let list = String(Self.repeated(assertion, limit - 600).dropLast())
        return Array(
            ("[{\"header\":{\"upv\":{\"major\":1,\"minor\":1},\"op\":\"\(operation)\"},\"fcParams\":\"AAAA\",\"assertions\":[\(list)]}]")
                .utf8)
    }

    private static func forms(_ bytes: Int) -> [(name: String, text: String)] {
        [
            ("many parameters", Self.numbered(bytes - 16) { "a\($0)=1&" }),
            ("64 parameters of one length", Self.numbered(min(bytes, 64 * 16)) { "parameter\(100_000 + $0)=&" }),
            ("a name of combining marks", "a=1&e" + Self.repeated("%CC%81", bytes - 16) + "=1"),
            ("a value of combining marks", "client_id=e" + Self.repeated("%CC%81", bytes - 16)),
            (
                "a value of marks, 30 a letter",
                "client_id=" + Self.repeated("e" + Self.repeated("%CC%81", 180), bytes - 16)
            ),
            ("percent signs", "client_id=" + Self.repeated("%41", bytes - 16)),
            ("scopes", "client_id=x&scope=" + Self.numbered(bytes - 64) { "s\($0)+" }),
        ]
    }
}

extension Run {
    /// Processor time of the server for each of these requests, in milliseconds: the mean of 100, the costliest first. A
    /// request that the server fails at is an error.
    func worst(_ relyingParty: RelyingParty) throws -> [(name: String, milliseconds: Double)] {
        var means: [(name: String, milliseconds: Double)] = []
        for worst in WorstRequest.all(relyingParty: relyingParty) {
            var connection = try self.server.connect()
            let before = processorSeconds(of: self.process)
            for _ in 0..<100 {
                let answer: HTTPConnection.Response
                do { answer = try connection.exchange(worst.request) } catch {
                    // Refused before it was read to its end: the server closes then.
                    connection = try self.server.connect()
                    continue
                }
                guard answer.status < 500 else { throw LoadError("\(worst.name): \(answer.status)") }
                if answer.header("connection") == "close" { connection = try self.server.connect() }
            }
            means.append((worst.name, (processorSeconds(of: self.process) - before) / 100 * 1000))
        }
        return means.sorted { $0.milliseconds > $1.milliseconds }
    }
}
