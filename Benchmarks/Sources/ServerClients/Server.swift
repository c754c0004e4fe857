package import UAF
package import _Primitives

/// The server under load, with the calls of its usual clients.
package struct Server: Sendable {
    package static let uafType = "application/fido+uaf;charset=UTF-8"

    package let port: UInt16
    private let socketPath: String

    package init(_ process: ServerProcess) {
        self.port = process.port
        self.socketPath = process.socketPath
    }

    /// Connects as a phone, a browser or a back end.
    package func connect() throws -> HTTPConnection { try HTTPConnection(port: self.port) }
    /// Connects from an address of this machine as a peer that reads little.
    package func connect(from source: String) throws -> HTTPConnection {
        try HTTPConnection(port: self.port, from: source, hasSmallWindow: true)
    }
    /// Connects as the operator on the server's own machine.
    package func connectOperator() throws -> HTTPConnection { try HTTPConnection(socketPath: self.socketPath) }

    // MARK: - Administration

    private func admin(
        _ path: String, _ body: JSONObject, method: String = "POST", on connection: inout HTTPConnection
    ) throws -> JSONObject {
        let response = try connection.exchange(
            Request(method, "/admin/v1\(path)", body: JSON.object(body).serialized))
        guard (200..<300).contains(response.status) else {
            throw LoadError("\(path): \(response.status) \(String(decoding: response.body, as: UTF8.self))")
        }
        guard !response.body.isEmpty, case .object(let object) = try JSON(parsing: response.body) else { return [:] }
        return object
    }

    /// Makes an account, and enrols a device for the account with link, answer and number, as a person would.
    package func enrol(
        _ username: String, operator: inout HTTPConnection, phone: inout HTTPConnection
    ) throws -> SoftwareDevice {
        let activation = try self.activation(username, operator: &`operator`)
        let redeemed = try self.redeem(
            Self.token(ofLink: activation.link), operation: "registration", on: &phone)
        guard let message = redeemed.uafRequest else { throw LoadError("redeem: \(redeemed.statusCode)") }
        let device = try SoftwareDevice(username: username)
        let answer = try phone.exchange(
            Request(
                "POST", "/uaf/1.1/registration", type: Self.uafType,
                body: try device.registration(for: RegistrationRequest(parsing: message.utf8))))
        let judged = try ServerResponse(parsing: answer.body)
        guard let number = judged.confirmation?.number else { throw LoadError("registration: \(judged.statusCode)") }
        try self.confirm(activation.id, number: number, operator: &`operator`)
        return device
    }

    /// Makes an account and a link that enrols a device for the account.
    package func activation(_ username: String, operator: inout HTTPConnection) throws -> (id: String, link: String) {
        _ = try self.admin("/accounts", ["username": .string(username)], on: &`operator`)
        let activation = try self.admin("/activations", ["username": .string(username)], on: &`operator`)
        return (try activation.requiredString("id"), try activation.requiredString("link"))
    }

    /// Makes an account with a password that was hashed elsewhere.
    package func addAccount(_ username: String, passwordHash: String, operator: inout HTTPConnection) throws {
        _ = try self.admin("/accounts", ["username": .string(username)], on: &`operator`)
        _ = try self.admin(
            "/accounts/\(username)/password/hash", ["hash": .string(passwordHash)], method: "PUT", on: &`operator`)
    }

    /// Confirms an enrolment with the number that the device shows.
    package func confirm(_ activation: String, number: String, operator: inout HTTPConnection) throws {
        _ = try self.admin("/activations/\(activation)/confirm", ["number": .string(number)], on: &`operator`)
    }

    /// Makes a relying party. Returns its id, and its credentials for HTTP Basic unless the client is an app.
    package func addClient(
        redirectURI: String, grantTypes: [String], isPublic: Bool, idTokenAlgorithm: String, signInMethods: [String],
        idTokenAtRefresh: Bool = true
    ) throws -> (id: String, basic: String?) {
        var connection = try self.connectOperator()
        let client = try self.admin(
            "/clients",
            [
                "name": .string("Load generator"), "redirectUris": .array([.string(redirectURI)]),
                "idTokenSignedResponseAlg": .string(idTokenAlgorithm),
                "idTokenAtRefresh": .bool(idTokenAtRefresh),
                "grantTypes": .array(grantTypes.map(JSON.string)),
                "signInMethods": .array(signInMethods.map(JSON.string)),
                // The scopes that the client may have in its own name.
                "scopes": .array(grantTypes.contains("client_credentials") ? [.string("accounts.read")] : []),
                "tokenEndpointAuthMethod": .string(isPublic ? "none" : "client_secret_basic"),
            ], on: &connection)
        let id = try client.requiredString("clientId")
        guard !isPublic else { return (id, nil) }
        return (id, Self.base64("\(id):\(try client.requiredString("clientSecret"))"))
    }

    /// Allows so many clients to register themselves. Returns their registration token.
    package func registrationToken(clients: Int) throws -> String {
        var connection = try self.connectOperator()
        return try self.admin("/registration-tokens", ["clients": .integer(Int64(clients))], on: &connection)
            .requiredString("token")
    }

    /// Makes a client of the app sign-in service. Returns its id.
    package func addSignInServiceClient(
        redirectURI: String, algorithm: String, _ settings: JSONObject, signInMethods: [String] = ["password"]
    ) throws -> String {
        var connection = try self.connectOperator()
        return try self.admin(
            "/clients",
            [
                "name": .string("Load generator"), "redirectUris": .array([.string(redirectURI)]),
                "idTokenSignedResponseAlg": .string(algorithm), "tokenEndpointAuthMethod": .string("none"),
                "signInMethods": .array(signInMethods.map(JSON.string)), "signInService": .object(settings),
            ], on: &connection
        ).requiredString("clientId")
    }

    /// Makes a client a service of personalised identities.
    package func setService(_ client: String, to profile: JSONObject) throws {
        var connection = try self.connectOperator()
        _ = try self.admin("/clients/\(client)/service", profile, method: "PUT", on: &connection)
    }

    /// Makes an account, and a code that personalises an app for the account.
    package func offerIdentity(
        to username: String, operator: inout HTTPConnection
    ) throws -> (code: String, pin: String) {
        _ = try self.admin("/accounts", ["username": .string(username)], on: &`operator`)
        let offer = try self.admin("/identity/activations", ["username": .string(username)], on: &`operator`)
        return (try offer.requiredString("code"), try offer.requiredString("pin"))
    }

    /// Returns the one-time token in a link for phones.
    static func token(ofLink link: String) throws -> String {
        guard let encoded = link.split(separator: "=", maxSplits: 1).last, let payload = Base64URL.decode(encoded),
            case .object(let document) = try JSON(parsing: payload)
        else { throw LoadError("no payload in the link") }
        return try document.requiredObject("nma_data").requiredString("token")
    }

    private static func base64(_ text: String) -> String {
        let letters = Base64URL.encode(Array(text.utf8)).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return String(letters) + String(repeating: "=", count: (4 - letters.count % 4) % 4)
    }

    // MARK: - The phone's side

    package func redemption(of token: String, operation: String = "authentication") -> Request {
        Request("POST", "/token/redeem/\(operation)", body: JSON.object(["token": .string(token)]).serialized)
    }

    package func redeem(_ token: String, operation: String = "authentication", on connection: inout HTTPConnection)
        throws
        -> ReturnUAFRequest
    {
        let response = try connection.exchange(self.redemption(of: token, operation: operation))
        guard response.status == 200 else {
            throw LoadError("redeem: \(response.status) \(String(decoding: response.body, as: UTF8.self))")
        }
        return try ReturnUAFRequest(parsing: response.body)
    }

    /// Returns a request for a challenge that contains only a name.
    package func challengeRequest(for device: SoftwareDevice) -> Request {
        Request(
            "POST", "/uaf/1.1/request/authentication", headers: ["X-Forwarded-For: \(device.address)"],
            type: Self.uafType,
            body: GetUAFRequest(operation: .authentication, context: ["username": .string(device.username)]).serialized)
    }

    package func authenticationAnswer(_ body: [UInt8]) -> Request {
        Request("POST", "/uaf/1.1/authentication", type: Self.uafType, body: body)
    }

    /// Asks for a fresh challenge and answers the challenge. The server makes the answer durable before it
    /// acknowledges.
    package func authenticate(_ device: inout SoftwareDevice, on connection: inout HTTPConnection) throws {
        let asked = try connection.exchange(self.challengeRequest(for: device))
        guard asked.status == 200, let message = try ReturnUAFRequest(parsing: asked.body).uafRequest else {
            throw LoadError("no challenge: \(asked.status) \(String(decoding: asked.body, as: UTF8.self))")
        }
        let answer = try connection.exchange(
            self.authenticationAnswer(try device.authentication(for: AuthenticationRequest(parsing: message.utf8))))
        let judged = try ServerResponse(parsing: answer.body)
        guard judged.statusCode == .ok else {
            throw LoadError("refused: \(judged.statusCode) \(judged.description ?? "")")
        }
    }
}

/// Returns a random client address behind the proxy that the caller plays, because the server limits each source.
func newAddress() -> String {
    let number = RandomSource.system.bytes(3)
    return "10.\(number[0]).\(number[1]).\(number[2])"
}

/// Returns the header by which a proxy names the source of a request: a new source.
package func forwardedHeader() -> String { "X-Forwarded-For: \(newAddress())" }
