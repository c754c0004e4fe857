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

struct Person: ResponseEncodable {
    /// What this service files the person under: no other service has the same.
    let id: String
    let roles: [String]
    let attributes: [String: String]

    init(_ person: SignedInPerson) {
        self.id = person.mappingID
        self.roles = person.roles
        self.attributes = Dictionary(uniqueKeysWithValues: person.attributes.map { ($0.key.rawValue, $0.value) })
    }
}

/// Why nothing comes of a request, for the person: what to do.
struct Refusal: HTTPResponseError {
    static let again = "This sign-in is over. Begin again."
    let status: HTTPResponse.Status
    let error: String

    init(_ status: HTTPResponse.Status, _ error: String) {
        self.status = status
        self.error = error
    }

    init(_ error: BackendError) {
        switch error.code {
        case .codeRefused, .notThisSignIn: self.init(.forbidden, Self.again)
        case .serverUnreachable: self.init(.serviceUnavailable, "Nobody answers. Begin again in a moment.")
        // A mistake of ours or of the server's: the log has it.
        default: self.init(.badGateway, "We cannot sign you in now. Tell us, if it stays so.")
        }
    }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        let body = try JSONEncoder().encode(["error": self.error])
        return Response(
            status: self.status, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}
