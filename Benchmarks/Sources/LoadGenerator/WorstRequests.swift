import Crypto
import Foundation
import ServerClients
import UAF
import _Primitives

/// A request of an allowed size with the highest known cost for its reader.
struct WorstRequest: Sendable {
    let name: String
    /// The requests to send in turn: the same request each time, or answers that count once each.
    let requests: [Request]
    /// The expected answer: the HTTP status, and the status of FIDO UAF if the answer has one. Another answer means
    /// that the request ended at a wrong place.
    let outcome: String
    /// `true` if the request goes to the administrators' socket.
    let isAdministrators: Bool

    init(_ name: String, _ outcome: String, _ request: Request, isAdministrators: Bool = false) {
        self.init(name, outcome, [request], isAdministrators: isAdministrators)
    }

    init(_ name: String, _ outcome: String, _ requests: [Request], isAdministrators: Bool = false) {
        self.name = name
        self.requests = requests
        self.outcome = outcome
        self.isAdministrators = isAdministrators
    }

    /// Returns requests for each reader of the server: texts that would be normalised, names that would be compared,
    /// nesting, many values, many parameters, and messages with many parts.
    static func all(relyingParty: RelyingParty) -> [WorstRequest] {
        let (json, answer) = (64 * 1024, 16 * 1024)
        var requests: [WorstRequest] = []
        // Each request is read to its end, so that more work follows the reading: a look-up of a token, a challenge or
        // a client's secret.
        let tokens = ["escapes", "one long text", "a text of marks, 28 a letter"]
        let objects = tokens + ["many members", "the most members", "many values", "many objects"]
        let credentials = ["64 parameters of one length", "a value of marks, 30 a letter", "percent signs", "scopes"]
        for (name, body) in Self.documents(json) {
            for kind in ["authentication", "registration", "deregistration"] {
                requests.append(
                    WorstRequest(
                        "redeem, \(kind), \(name)", tokens.contains(name) ? "404" : "400",
                        Self.post("/token/redeem/\(kind)", body)))
            }
            requests.append(WorstRequest("dispatch, \(name)", "400", relyingParty.dispatch(body: body)))
            requests.append(
                WorstRequest(
                    "dispatch, its context: \(name)", "400",
                    relyingParty.dispatch(body: Self.dispatch(context: Self.whole(name, json / 3)))))
        }
        for (name, body) in Self.documents(answer) {
            for path in ["/uaf/1.1/authentication", "/uaf/1.1/registration", "/uaf/1.1/request/authentication"] {
                let isRequest = path.hasSuffix("/request/authentication") && objects.contains(name)
                requests.append(
                    WorstRequest(
                        "\(path), \(name)", isRequest ? "200 1200" : "200 1400",
                        Self.post(path, body, type: Server.uafType)))
            }
        }
        for operation in ["Auth", "Reg"] {
            let path = operation == "Auth" ? "/uaf/1.1/authentication" : "/uaf/1.1/registration"
            for size in [60, 4000] {
                requests.append(
                    WorstRequest(
                        "\(path), assertions of \(size) letters", "200 1400",
                        Self.post(path, Self.assertions(operation, answer, each: size), type: Server.uafType)))
            }
        }
        for (name, text) in Self.forms(8000) {
            requests.append(
                WorstRequest("authorize, \(name)", "400", Request("GET", "/oauth2/authorize?\(text)")))
            for endpoint in ["token", "revoke", "introspect"] {
                requests.append(
                    WorstRequest(
                        "\(endpoint), \(name)", credentials.contains(name) ? "401" : "400",
                        Self.post("/oauth2/\(endpoint)", Array(text.utf8), type: "application/x-www-form-urlencoded")))
            }
        }
        requests.append(
            WorstRequest(
                "logout, a long id_token_hint", "200",
                Request("GET", "/oauth2/logout?id_token_hint=\(Self.repeated("AAAA", 7900))")))
        requests += Self.fields(14_000)
        return requests
    }

    /// Returns header fields that the server compares, folds or splits on a request's way.
    private static func fields(_ bytes: Int) -> [WorstRequest] {
        let marks = "e" + Self.repeated("\u{301}\u{323}", bytes)
        let page = "/sign-in?request=x"
        var requests: [WorstRequest] = []
        for (field, name, value, outcome) in [
            ("Cookie", "combining marks", "a=" + marks, "404"),
            ("Cookie", "many", Self.repeated("a=b; ", bytes), "404"),
            ("Cookie", "semicolons", Self.repeated(";", bytes), "404"),
            ("X-Forwarded-For", "many addresses", Self.repeated("127.0.0.1,", bytes), "404"),
            ("Connection", "combining marks", marks, "404"), ("Connection", "many", Self.repeated("a,", bytes), "404"),
            ("Expect", "combining marks", marks, "417"), ("Upgrade", "combining marks", marks, "404"),
            ("Accept", "combining marks", marks, "404"), ("Accept", "many", Self.repeated("*/*,", bytes), "404"),
            ("User-Agent", "combining marks", marks, "404"), ("Authorization", "combining marks", marks, "404"),
            ("traceparent", "combining marks", marks, "404"),
        ] {
            requests.append(
                WorstRequest("\(field), \(name)", outcome, Request("GET", page, headers: ["\(field): \(value)"])))
        }
        for (name, type) in [
            ("combining marks", marks), ("semicolons", "application/json" + Self.repeated(";", bytes)),
        ] {
            requests.append(
                WorstRequest("Content-Type, \(name)", "415", Self.post("/token/redeem/authentication", [], type: type)))
        }
        let userinfo = ["Authorization: Bearer " + marks]
        requests.append(
            WorstRequest("userinfo, combining marks", "401", Request("GET", "/oauth2/userinfo", headers: userinfo)))
        requests.append(
            WorstRequest(
                "a path of combining marks", "401",
                Request("GET", "/status/e" + Self.repeated("%CC%81", 8000) + "/events")))
        return requests
    }

    /// A text of the maximum length for a person's confirmation, in letters that fall apart when they are normalised.
    static let longText = String(repeating: "e\u{323}\u{302} ", count: 50)
    /// The fields that make the longest text.
    static let longPayment: JSONObject = [
        "amount": .string("999999999.99"), "currency": .string("EUR"),
        "payee": .string(String(repeating: "\u{1EC7} ", count: 20) + "x"),
        "iban": .string("DE89370400440532013000"), "reference": .string(String(repeating: "r", count: 60)),
    ]

    /// Returns the largest requests of administrators.
    static func administrators() -> [WorstRequest] {
        let bytes = 64 * 1024 - 256
        let addresses = (0..<(bytes / 48)).map { JSON.string("https://relying-party.example/signed-in/\(10_000 + $0)") }
        func post(_ path: String, _ body: JSONObject) -> Request {
            Self.post("/admin/v1\(path)", JSON.object(body).serialized)
        }
        let marks = "e" + Self.repeated("\u{301}", bytes)
        return [
            WorstRequest(
                "admin, a client of many addresses", "400",
                post("/clients", ["name": .string("x"), "redirectUris": .array(addresses)]), isAdministrators: true),
            WorstRequest(
                "admin, a client of 64 keys", "201",
                post(
                    "/clients",
                    [
                        "name": .string("x"), "redirectUris": .array([addresses[0]]), "jwks": Self.keySet(64),
                        "tokenEndpointAuthMethod": .string("private_key_jwt"), "profile": .string("fapi2"),
                        "idTokenSignedResponseAlg": .string("ES256"),
                        "idTokenEncryptedResponseAlg": .string("ECDH-ES"),
                    ]), isAdministrators: true),
            WorstRequest(
                "admin, a long name", "400", post("/accounts", ["username": .string(Self.repeated("a", bytes))]),
                isAdministrators: true),
            WorstRequest(
                "admin, a name of combining marks", "400",
                Self.post("/admin/v1/accounts", Array("{\"username\":\"\(marks)\"}".utf8)),
                isAdministrators: true),
        ]
    }

    /// Returns the registration of a client with the maximum number of keys. The keys are of the kind with the
    /// costliest check, and the client uses them for everything possible.
    static func registration(token: String) -> WorstRequest {
        let metadata: JSONObject = [
            "redirect_uris": .array([.string("https://relying-party.example/signed-in")]),
            "token_endpoint_auth_method": .string("private_key_jwt"), "jwks": Self.keySet(64),
            "id_token_signed_response_alg": .string("ES256"), "id_token_encrypted_response_alg": .string("ECDH-ES"),
        ]
        return WorstRequest(
            "registration with 64 keys", "201",
            Request(
                "POST", "/oauth2/register", headers: ["Authorization: Bearer \(token)"],
                body: JSON.object(metadata).serialized))
    }

    private static func keySet(_ count: Int) -> JSON {
        let keys = (0..<count).map { number in
            let point = P256.Signing.PrivateKey().publicKey.rawRepresentation
            return JSON.object([
                "kty": .string("EC"), "crv": .string("P-256"), "kid": .string("key-\(number)"),
                "x": .string(Base64URL.encode(Array(point.prefix(32)))),
                "y": .string(Base64URL.encode(Array(point.suffix(32)))),
            ])
        }
        return .object(["keys": .array(keys)])
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

    /// Returns JSON of just under that many bytes.
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
            (
                "the most members",
                "{" + Self.numbered(bytes - 64) { "\"\(String($0, radix: 16))\":0," } + "\"_\":0}"
            ),
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

/// The server's cost for each of the worst requests.
struct WorstCosts {
    /// Processor time in milliseconds, the costliest first.
    let means: [(name: String, milliseconds: Double)]

    /// The maximum cost of a request, in milliseconds.
    private static let bound = 3.0

    func add(to report: inout Report) {
        report.add(
            "processor time of the worst request of an allowed size, mean of 100",
            String(format: "%.2f ms", self.means.first?.milliseconds ?? 0), String(format: "≤ %.0f ms", Self.bound))
        report.note(
            "The ten worst: "
                + self.means.prefix(10).map { String(format: "%@ %.2f ms", $0.name, $0.milliseconds) }
                .joined(separator: "; "))
    }

    func check() throws {
        let above = self.means.filter { $0.milliseconds > Self.bound }.map(\.name)
        guard above.isEmpty else {
            throw LoadError(
                String(format: "a request costs more than %.0f ms: ", Self.bound) + above.joined(separator: "; "))
        }
    }
}

extension Run {
    /// The number of requests to send, and the minimum number of answers. A mean over fewer answers would mean nothing.
    private static let (sent, leastAnswered) = (100, 90)

    /// Returns the server's processor time for each of these requests, in milliseconds: the mean of 100, the costliest
    /// first. An answer of another status than expected, or too few answers, is an error.
    func worst(_ relyingParty: RelyingParty, _ device: inout SoftwareDevice, subject: String) throws
        -> WorstCosts
    {
        let all =
            try WorstRequest.all(relyingParty: relyingParty)
            + self.answers(of: &device, relyingParty, subject: subject) + WorstRequest.administrators()
            + [WorstRequest.registration(token: self.server.registrationToken(clients: Self.sent))]
        var unexpected: [String] = []
        let means = try all.map { worst in
            func connect() throws -> HTTPConnection {
                worst.isAdministrators ? try self.server.connectOperator() : try self.server.connect()
            }
            var connection = try connect()
            var outcomes: [String: Int] = [:]
            let before = processorSeconds(of: self.process)
            for number in 0..<Self.sent {
                guard
                    let answer = try? connection.exchange(
                        worst.requests[number % worst.requests.count].ofAnotherSource)
                else {
                    // The server refused the request before its end, and then closes the connection.
                    connection = try connect()
                    continue
                }
                let code = (try? ServerResponse(parsing: answer.body)).map { " \($0.statusCode.rawValue)" } ?? ""
                outcomes["\(answer.status)\(code)", default: 0] += 1
                if answer.header("connection") == "close" { connection = try connect() }
            }
            let cost = processorSeconds(of: self.process) - before
            guard outcomes.count == 1, outcomes[worst.outcome] ?? 0 >= Self.leastAnswered else {
                unexpected.append("\(worst.name): expected \(worst.outcome), got \(outcomes) of \(Self.sent)")
                return (name: worst.name, milliseconds: 0.0)
            }
            return (name: worst.name, milliseconds: cost / Double(Self.sent) * 1000)
        }
        guard unexpected.isEmpty else { throw LoadError(unexpected.joined(separator: "; ")) }
        return WorstCosts(means: means.sorted { $0.milliseconds > $1.milliseconds })
    }

    /// Returns right answers of a registered key, which are read to their end: bare, and to the longest texts.
    private func answers(of device: inout SoftwareDevice, _ relyingParty: RelyingParty, subject: String) throws
        -> [WorstRequest]
    {
        var connection = try self.server.connect()
        var bare: [Request] = []
        for _ in 0..<Self.sent {
            let asked = try connection.exchange(self.server.challengeRequest(for: device))
            let message = try ReturnUAFRequest(parsing: asked.body).uafRequest ?? ""
            bare.append(
                self.server.authenticationAnswer(
                    try device.authentication(for: AuthenticationRequest(parsing: message.utf8))))
        }
        var worst = [WorstRequest("a signed answer", "200 1200", bare)]
        var browser = try self.server.connect()
        let waiting = try relyingParty.beginSignIn(on: &browser)
        let page = Request("GET", "/sign-in?request=\(waiting.request)", headers: waiting.cookies)
        worst.append(WorstRequest("a sign-in page that draws its codes", "200", page))
        for (name, request) in [
            ("a text", relyingParty.dispatch(subject, text: WorstRequest.longText)),
            ("a payment", relyingParty.dispatch(subject, payment: WorstRequest.longPayment)),
        ] {
            var confirmed: [Request] = []
            for _ in 0..<Self.sent {
                let token = try relyingParty.dispatched(in: try connection.exchange(request)).token
                let message = try self.server.redeem(token, on: &connection).uafRequest ?? ""
                confirmed.append(
                    self.server.authenticationAnswer(
                        try device.authentication(for: AuthenticationRequest(parsing: message.utf8))))
            }
            worst.append(WorstRequest("dispatch of \(name)", "200", request))
            worst.append(WorstRequest("a signed answer to \(name)", "200 1200", confirmed))
        }
        return worst
    }
}
