import UAF
import _Primitives

/// The server under load, called as its own clients call it.
struct Server: Sendable {
    static let uafType = "application/fido+uaf;charset=UTF-8"

    let port: UInt16
    let adminToken: String

    func connect() throws -> HTTPConnection { try HTTPConnection(host: "localhost", port: self.port) }

    // MARK: - Administration

    private var adminHeaders: [String] { ["Authorization: Bearer \(self.adminToken)"] }

    private func admin(_ path: String, _ body: JSONObject, on connection: inout HTTPConnection) throws -> JSONObject {
        let response = try connection.post(
            "/admin/v1\(path)", headers: self.adminHeaders, body: JSON.object(body).serialized)
        guard (200..<300).contains(response.status) else {
            throw LoadError("\(path): \(response.status) \(String(decoding: response.body, as: UTF8.self))")
        }
        guard !response.body.isEmpty, case .object(let object) = try JSON(parsing: response.body) else { return [:] }
        return object
    }

    /// Makes an account, and enrols a device for it with link, answer and number, as a person would.
    func enrol(_ username: String, on connection: inout HTTPConnection) throws -> SoftwareDevice {
        _ = try self.admin("/accounts", ["username": .string(username)], on: &connection)
        let activation = try self.admin("/activations", ["username": .string(username)], on: &connection)
        let link = try activation.requiredString("link")
        guard let encoded = link.split(separator: "=", maxSplits: 1).last, let payload = Base64URL.decode(encoded),
            case .object(let document) = try JSON(parsing: payload)
        else { throw LoadError("no payload in the link") }
        let token = try document.requiredObject("nma_data").requiredString("token")
        let redeemed = try self.redeem(token, operation: "registration", on: &connection)
        guard let message = redeemed.uafRequest else { throw LoadError("redeem: \(redeemed.statusCode)") }
        let device = try SoftwareDevice(username: username)
        let answer = try connection.post(
            "/uaf/1.1/registration", type: Self.uafType,
            body: try device.registration(for: RegistrationRequest(parsing: message.utf8)))
        let judged = try ServerResponse(parsing: answer.body)
        guard let number = judged.confirmation?.number else { throw LoadError("registration: \(judged.statusCode)") }
        _ = try self.admin(
            "/activations/\(try activation.requiredString("id"))/confirm", ["number": .string(number)],
            on: &connection)
        return device
    }

    /// Makes a relying party. Returns its credentials for HTTP Basic, and its id.
    func addClient(redirectURI: String, on connection: inout HTTPConnection) throws -> (id: String, basic: String) {
        let client = try self.admin(
            "/clients",
            ["name": .string("Load generator"), "redirectUris": .array([.string(redirectURI)])], on: &connection)
        let id = try client.requiredString("clientId")
        return (id, Self.base64("\(id):\(try client.requiredString("clientSecret"))"))
    }

    private static func base64(_ text: String) -> String {
        let letters = Base64URL.encode(Array(text.utf8)).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return String(letters) + String(repeating: "=", count: (4 - letters.count % 4) % 4)
    }

    // MARK: - The phone's side

    func redeem(_ token: String, operation: String = "authentication", on connection: inout HTTPConnection) throws
        -> ReturnUAFRequest
    {
        let response = try connection.post(
            "/token/redeem/\(operation)", body: JSON.object(["token": .string(token)]).serialized)
        guard response.status == 200 else {
            throw LoadError("redeem: \(response.status) \(String(decoding: response.body, as: UTF8.self))")
        }
        return try ReturnUAFRequest(parsing: response.body)
    }

    /// Asks for a fresh challenge and answers it. Both are durable at the server before it acknowledges.
    func authenticate(_ device: inout SoftwareDevice, on connection: inout HTTPConnection) throws {
        let asked = try connection.post(
            "/uaf/1.1/request/authentication", type: Self.uafType,
            body: GetUAFRequest(operation: .authentication, context: ["username": .string(device.username)]).serialized)
        guard let message = try ReturnUAFRequest(parsing: asked.body).uafRequest else {
            throw LoadError("no challenge: \(asked.status) \(String(decoding: asked.body, as: UTF8.self))")
        }
        let answer = try connection.post(
            "/uaf/1.1/authentication", type: Self.uafType,
            body: try device.authentication(for: AuthenticationRequest(parsing: message.utf8)))
        let judged = try ServerResponse(parsing: answer.body)
        guard judged.statusCode == .ok else {
            throw LoadError("refused: \(judged.statusCode) \(judged.description ?? "")")
        }
    }
}
