import CountersignBackend
import Foundation
import Hummingbird
import PersonalInformation

struct Begun: ResponseEncodable {
    let handle, clientID, redirectURI, scope, state, nonce, codeChallenge: String

    init(handle: String, _ offer: InAppSignInOffer) {
        self.handle = handle
        self.clientID = offer.clientID
        self.redirectURI = offer.redirectURI
        self.scope = offer.scope
        self.state = offer.state
        self.nonce = offer.nonce
        self.codeChallenge = offer.codeChallenge
    }
}

struct Brought: Decodable { let handle, code, state, issuer: String }

struct Session: ResponseEncodable { let token, greeting: String }

/// The data of a person that the app gets: a greeting, and the person's roles. All other data stays in the back end.
struct Welcome: ResponseEncodable {
    let greeting: String
    let roles: [String]

    init(_ person: SignedInPerson) {
        self.greeting = "Hello, \(person.attributes[.givenName] ?? "you")!"
        self.roles = person.roles
    }
}

/// The refusal of a request: the status, and the next step for the person.
struct Refusal: HTTPResponseError {
    static let again = "This sign-in is over. Begin again."
    let status: HTTPResponse.Status
    let error: String
    /// The time in seconds after which another try makes sense.
    let wait: Int64?

    init(_ status: HTTPResponse.Status, _ error: String, wait: Int64? = nil) {
        self.status = status
        self.error = error
        self.wait = wait
    }

    /// Makes the refusal for a full store, which has no room before `wait`.
    init(full wait: Duration) {
        self.init(
            .serviceUnavailable, "Too many people come at once. Begin again later.",
            wait: max(1, wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0)))
    }

    init(_ error: BackendError) {
        switch error.code {
        case .codeRefused, .notThisSignIn: self.init(.forbidden, Self.again)
        case .serverUnreachable: self.init(.serviceUnavailable, "Nobody answers. Begin again in a moment.")
        // The fault is in this program or the server. The log has the details.
        default: self.init(.badGateway, "We cannot sign you in now. Tell us, if it stays so.")
        }
    }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        let body = try JSONEncoder().encode(["error": self.error])
        var headers: HTTPFields = [.contentType: "application/json"]
        if let wait { headers[.retryAfter] = "\(wait)" }
        return Response(
            status: self.status, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}
