import Countersign
import Foundation

/// The app's own back end, as in `Examples/BackEnd`. The back end keeps the secrets of a sign-in, and exchanges the
/// code.
struct TownHallBackEnd: Sendable {
    let address: URL
    var transport: any Transport = URLSessionTransport()

    /// A sign-in that the back end has begun.
    struct SignIn: Decodable {
        /// The name of the sign-in at the back end: a secret of this app and the back end.
        let handle: String
        let clientID: String
        let redirectURI: String
        let scope: String
        let state: String
        let nonce: String
        let codeChallenge: String
    }

    /// A person that is signed in to the back end.
    struct Session: Decodable {
        /// The token that the app sends with each further request.
        let token: String
        let greeting: String
    }

    /// A refusal of the back end, with the next step.
    struct Refusal: Error, Decodable {
        let error: String
    }

    func begin() async throws -> SignIn { try await self.post("sign-in", [:]) }

    func finish(_ signIn: SignIn, with code: AuthorizationCode) async throws -> Session {
        try await self.post(
            "sign-in/finish",
            ["handle": signIn.handle, "code": code.code, "state": code.state ?? "", "issuer": code.issuer])
    }

    private func post<Answer: Decodable>(_ path: String, _ body: [String: String]) async throws -> Answer {
        do {
            let response = try await self.transport.send(
                TransportRequest(
                    method: "POST", url: self.address.appending(path: path),
                    headers: [("Content-Type", "application/json"), ("Accept", "application/json")],
                    body: Array(try JSONEncoder().encode(body)), timeout: .seconds(20)))
            let data = Data(response.body)
            guard response.status == 200 else { throw try JSONDecoder().decode(Refusal.self, from: data) }
            return try JSONDecoder().decode(Answer.self, from: data)
        } catch let refusal as Refusal {
            throw refusal
        } catch {
            throw Refusal(error: "The town hall does not answer. Try again later.")
        }
    }
}
